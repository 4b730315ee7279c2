"""Model selection: eta by the mean degree, and the prior weight by left-out labels."""

import math

import numpy as np
import pytest

from graphsqueak.graph import EdgeList
from graphsqueak.ssl import StableHFSClassifier
from graphsqueak.ssl.labels import ClassLabels
from graphsqueak.ssl.model_selection import select_for_classes
from graphsqueak.ssl.stable import LooResult, LooSolver
from tests.ssl.graphs import hide, random_graph


class Scored:
    """A solver whose leave-one-out scores are given by a function of eta."""

    def __init__(self, score, inv_mean_degree=1.0):
        self.score, self.inv_mean_degree = score, inv_mean_degree

    def loo(self, eta):
        scores = self.score(eta)
        return LooResult(scores, np.zeros_like(scores), np.zeros_like(scores))


def labels_of(code):
    return ClassLabels(np.arange(code.size), code, np.unique(code))


def choose(first, code, *, unit=1.0):
    """The choice by nodes whose held-out scores for class 1 are given, whatever eta is."""
    scores = np.column_stack([-np.asarray(first), first])
    solver = Scored(lambda eta: scores, unit)
    return select_for_classes(solver, labels_of(code), eta="auto", prior_weight="auto")


def test_the_threshold_is_a_mean_by_mistakes():
    """Nine of class 0 below 0.1, three of class 1 at 1: t must move the cut in between."""
    first = np.array([-2.0] * 6 + [0.1] * 3 + [1.0] * 3)
    code = np.repeat([0, 1], [9, 3])
    choice = choose(first, code)
    cut = choice.prior_weight * (9 - 3) / 12 / 2  # scores are equal where 2 f = t (m_0 - m_1)
    assert 0.1 < cut < 1.0
    spread, weight = np.std([-first, first]), {}
    for level in np.array([0, 1, 2]) * spread:
        margins = (2 * first - level / 2) * np.where(code, 1, -1)
        weight[level] = math.exp(-sum(1 / (1 + math.exp(x / spread)) for x in margins))
    expected = sum(level * w for level, w in weight.items()) / sum(weight.values())
    assert choice.prior_weight == pytest.approx(expected)


def test_the_threshold_moves_little_where_a_score_does():
    """The best value alone would jump by half a spread."""
    code = np.repeat([0, 1], [28, 12])
    first = np.random.default_rng(41_078).normal(size=40) + 1.2 * code
    levels = []
    for first[-1] in np.linspace(-2, 2, 201):
        levels.append(choose(first, code).prior_weight / first.std())
    assert np.abs(np.diff(levels)).max() < 0.1


def test_components_of_one_class_count_as_such_and_do_not_select():
    """A node whose component has other labels of one class is left out of the choice."""
    code = np.repeat([0, 1], [9, 7])
    first = np.where(code, 1.0, -1.0)
    chosen = choose(first, code)
    scores = np.column_stack([-np.append(first, 0.0), np.append(first, 0.0)])
    mean = np.zeros((17, 2))
    mean[-1] = 0.0, 1.0
    solver = Scored(lambda eta: scores)
    solver.loo = lambda eta: LooResult(scores, mean, mean)
    found = select_for_classes(
        solver, labels_of(np.append(code, 0)), eta="auto", prior_weight="auto"
    )
    assert found.is_mixed.tolist() == [True] * 16 + [False]
    np.testing.assert_allclose(found.loo_scores[-1], [-0.5, 0.5])
    np.testing.assert_array_equal(found.loo_scores[:-1], chosen.loo_scores)


def test_a_threshold_that_is_given_is_not_moved_and_one_that_is_not_is_cut_at():
    """The second class is what scores above threshold_ before the threshold is subtracted."""
    graph = random_graph(7_003)
    y = np.full(graph.n_nodes, -1)
    y[:12] = [0, 1, 1] * 4
    free = StableHFSClassifier(tol=1e-12, random_state=1).fit(graph, y)
    given = StableHFSClassifier(eta=free.eta_, prior_weight=free.prior_weight_, tol=1e-12)
    given.fit(graph, y)
    assert given.threshold_ == 0.0 != free.threshold_
    np.testing.assert_allclose(free.scores_[:, 1], given.scores_[:, 1] - free.threshold_, atol=1e-9)
    np.testing.assert_array_equal(free.transduction_ == 1, given.scores_[:, 1] > free.threshold_)


def test_l_eta_is_two_over_the_mean_degree_with_too_few_labels_to_choose_by():
    choice = choose(np.array([-1.0, 1.0]), np.array([0, 1]), unit=0.25)
    assert choice.eta * 2 == pytest.approx(2 * 0.25)


def many_parts(rng, *, purity):
    """Forty components of ten nodes; nodes have the main class of their component with `purity`."""
    part = np.repeat(np.arange(40), 10)
    node = np.arange(400)
    # A ring and ten random edges in every component.
    following = 10 * part + (node + 1) % 10
    head = np.append(following, 10 * part + rng.integers(10, size=400))
    graph = EdgeList(tail=np.tile(node, 2), head=head, n_nodes=400)
    main = rng.integers(2, size=40)[part]
    return graph, np.where(rng.random(400) < purity, main, 1 - main)


@pytest.mark.filterwarnings("ignore:.*without a label")
def test_the_labels_of_a_component_count_where_there_are_many():
    """The most frequent label of each of 40 components is right in 80 % of its nodes."""
    right = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        graph, truth = many_parts(rng, purity=0.8)
        y = hide(truth, rng.choice(400, 160, replace=False))
        right.append(
            (StableHFSClassifier(random_state=7).fit(graph, y).transduction_ == truth)[y < 0]
        )
    # The most frequent of four labels is the main class in 90 % of the components: 0.74. The
    # variance over components is 0.9 * 0.1 * 0.6^2, and that of six nodes in each 0.16 / 6.
    deviation = np.sqrt((0.0324 + 0.16 / 6) / (24 * 40))
    assert np.mean(right) > 0.74 - 6 * deviation


def test_the_mean_of_the_only_component_adds_nothing():
    graph = random_graph(7_004)
    y = np.full(graph.n_nodes, -1)
    y[:16] = [0, 1, 1, 2] * 4
    labels = labels_of(np.array([0, 1, 1, 2] * 4))
    solver = LooSolver(graph, labels, tol=1e-8, random_state=1)
    loo = solver.loo(0.05)
    np.testing.assert_allclose(loo.mean, loo.mean_of_all, atol=1e-12)
    assert not select_for_classes(solver, labels, eta="auto", prior_weight="auto").adds_means
