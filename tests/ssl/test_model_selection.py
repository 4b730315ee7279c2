"""The rules behind the defaults: eta, prior weight and cut, and leave-one-out, by which they go."""

import math

import numpy as np
import pytest

from graphsqueak.sources import grid
from graphsqueak.ssl import StableHFSClassifier
from graphsqueak.ssl.decisions.thresholds import least_error_threshold, select_prior_weight
from graphsqueak.ssl.labels import ClassLabels
from graphsqueak.ssl.model_selection import select_for_classes
from graphsqueak.ssl.stable import (
    LooResult,
    LooSolver,
    Problem,
    _other_diagonal,
    inv_mean_degree,
    smooth_labels,
    stable_scores,
)
from tests import reference
from tests.ssl.graphs import leave_one_out, random_graph, three_parts


class Scored:
    """A solver whose leave-one-out scores are given by a function of eta."""

    def __init__(self, score, inv_mean_degree=1.0):
        self.score, self.inv_mean_degree = score, inv_mean_degree

    def loo(self, eta):
        scores = self.score(eta)
        return LooResult(scores, np.zeros_like(scores))


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
    assert choice.error_rate == 0
    assert 0.1 < cut < 1.0
    spread, weight = np.std([-first, first]), {}
    for level in np.array([0, 1, 2]) * spread:
        margins = (2 * first - level / 2) * np.where(code, 1, -1)
        weight[level] = math.exp(-sum(1 / (1 + math.exp(x / spread)) for x in margins))
    expected = sum(level * w for level, w in weight.items()) / sum(weight.values())
    assert choice.prior_weight == pytest.approx(expected)


def test_a_label_of_weight_two_counts_as_two_labels_for_the_threshold():
    """All weights are two, so that the spread of the scores is that of the repeated ones."""
    rng = np.random.default_rng(41_079)
    code = np.repeat([0, 1], [14, 6])
    scores = rng.normal(size=(20, 2)) + np.eye(2)[code]
    prior = np.bincount(code) / 20 - 0.5
    found = select_prior_weight(scores, code, prior, "auto", sample_weight=np.full(20, 2.0))
    twice = select_prior_weight(np.repeat(scores, 2, axis=0), np.repeat(code, 2), prior, "auto")
    np.testing.assert_allclose(found, twice)
    assert abs(select_prior_weight(scores, code, prior, "auto")[0] - found[0]) > 0.01


def test_the_threshold_moves_little_where_a_score_does():
    """The best value alone would jump by half a spread."""
    code = np.repeat([0, 1], [28, 12])
    first = np.random.default_rng(41_078).normal(size=40) + 1.2 * code
    levels = []
    for first[-1] in np.linspace(-2, 2, 201):
        levels.append(choose(first, code).prior_weight / first.std())
    assert np.abs(np.diff(levels)).max() < 0.1


def test_even_classes_and_a_given_eta_need_no_scores():
    def score_held_out(eta):
        raise AssertionError("scored without need")

    labels = labels_of(np.repeat([0, 1, 2], 10))
    choice = select_for_classes(Scored(score_held_out), labels, eta=0.5, prior_weight="auto")
    assert choice.eta == 0.5


def test_the_threshold_is_half_of_the_mean_of_those_with_the_fewest_mistakes():
    """By a fine grid of thresholds, with weights, and in any unit."""
    rng = np.random.default_rng(41_077)
    scores = rng.normal(size=500)
    for n_labels in (2, 5, 40):
        held_out = rng.normal(size=n_labels)
        is_second = held_out + rng.normal(size=n_labels) > 0
        weight = rng.integers(1, 4, size=n_labels)
        grid = np.linspace(*np.quantile(scores, [0.02, 0.98]), 100_001)
        is_wrong = (held_out[:, None] > grid) != is_second[:, None]
        mistakes = weight @ is_wrong
        expected = grid[mistakes == mistakes.min()].mean() / 2
        found = least_error_threshold(scores, held_out, is_second, sample_weight=weight)
        assert found == pytest.approx(expected, abs=1e-4)
        mirrored = least_error_threshold(-scores, -held_out, ~is_second, sample_weight=weight)
        assert mirrored == pytest.approx(-found)
        scaled = least_error_threshold(scores / 7, held_out / 7, is_second, sample_weight=weight)
        assert scaled == pytest.approx(found / 7)


def test_equal_scores_leave_the_threshold_at_zero():
    assert (
        least_error_threshold(np.zeros(50), np.zeros(4), np.array([True, True, False, False]))
        == 0.0
    )


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


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 20.0])
def test_leave_one_out_is_what_refitting_gives(alpha):
    graph, labeled = three_parts(41_777)
    targets = np.random.default_rng(3_004).normal(size=(labeled.size, 2))
    scores, mean = leave_one_out(graph, labeled, targets, alpha)
    for i, node in enumerate(labeled):
        others = np.delete(np.arange(labeled.size), i)
        fit = stable_scores(graph, labeled[others], targets[others], alpha, tol=1e-12)
        np.testing.assert_allclose(scores[i], fit.centered[node], atol=1e-7)
        np.testing.assert_allclose(mean[i], fit.offset[node], atol=1e-9)


def test_leave_one_out_with_no_unlabeled_node():
    graph, labeled = random_graph(7_741, n_nodes=6, n_edges=12), np.arange(6)
    targets = np.random.default_rng(51).normal(size=(6, 1))
    scores = leave_one_out(graph, labeled, targets, 0.5).scores
    refit = [
        stable_scores(graph, np.delete(labeled, i), np.delete(targets, i, axis=0), 0.5).centered[i]
        for i in range(6)
    ]
    np.testing.assert_allclose(scores, refit, atol=1e-6)


def test_a_sketched_diagonal_gives_leave_one_out_within_its_noise():
    """The error of a score is that of M_ii times (y_i - ybar_i - score_i) / (1 - M_ii)."""
    graph, labeled = random_graph(5_518, n_nodes=80, n_edges=300), np.arange(0, 80, 2)
    targets = np.random.default_rng(77_310).normal(size=(40, 1))
    exact = leave_one_out(graph, labeled, targets, 0.3)
    smoother = smooth_labels(graph, labeled, np.eye(40), 0.3, tol=1e-12)[labeled]
    own = np.diag(smoother)
    for seed in range(3):
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(40, 39))
        sketch = leave_one_out(graph, labeled, targets, 0.3, signs=signs)
        spread = np.sqrt(((smoother**2).sum(axis=1) - own**2) / 39)
        factor = np.abs(targets - exact.mean - exact.scores).ravel() / (1 - own)
        wrong = np.abs(sketch.scores - exact.scores).ravel()
        room = 6 * spread
        assert (wrong <= factor * room / (1 - room / (1 - own)) + 1e-9).all()


def test_leave_one_out_to_few_digits_and_the_fit_that_goes_on_from_there():
    """Float32 and a tolerance of 1e-4 first; then the whole fit, by the dense reference."""
    graph, labeled = three_parts(30_517)
    targets = np.eye(3)[[0, 1, 2, 0, 1, 1]]
    solver = LooSolver(graph, Problem(labeled, targets), tol=1e-10, random_state=7)
    exact = leave_one_out(graph, labeled, targets, 0.3)
    rough, fit = solver.loo(0.3 / 6), solver.fit(0.3 / 6)
    np.testing.assert_allclose(rough.scores, exact.scores, atol=0.02)
    centered, mean, reached = reference.stable_hfs(graph, labeled, targets, 0.3)
    np.testing.assert_allclose(fit.centered, centered, atol=1e-7)
    np.testing.assert_allclose(fit.offset, mean)
    np.testing.assert_array_equal(fit.has_label, reached)


@pytest.mark.parametrize("ratio", [0.1, 10.0])
def test_the_smoother_of_few_labels_tells_that_of_another_eta(ratio):
    graph, labeled = random_graph(6_204, n_nodes=80, n_edges=200), np.arange(0, 60, 3)
    targets = np.eye(2)[np.arange(20) % 2]
    weight = np.random.default_rng(9_313).uniform(0.5, 2.0, size=20)
    labels = Problem(labeled, targets, weight)
    solver = LooSolver(graph, labels, tol=1e-10, random_state=7)
    solver.loo(0.3 / 20)
    other = solver.loo(0.3 / 20 * ratio)
    exact = leave_one_out(graph, labeled, targets, 0.3 * ratio, sample_weight=weight)
    np.testing.assert_allclose(other.scores, exact.scores, atol=0.01)
    np.testing.assert_allclose(other.mean, exact.mean)


@pytest.mark.parametrize("ratio", [0.1, 10.0])
def test_a_probed_diagonal_tells_that_of_another_eta(ratio):
    """Of 60 labels, which are not known one by one; the spread of rows halves what is missed."""
    graph = grid(25, 25).to_edge_list()
    labeled, eye = np.sort(np.random.default_rng(3_511).permutation(625)[:60]), np.eye(60)
    alpha = 2.0 * inv_mean_degree(graph)
    before, after = (
        smooth_labels(graph, labeled, eye, alpha * times, tol=1e-12)[labeled]
        for times in (1.0, ratio)
    )
    own, wanted = np.diag(before), np.diag(after)
    spread = np.sqrt((before**2).sum(axis=1) - own**2)
    missed, without = (
        np.abs(_other_diagonal(own, size, ratio) - wanted).mean() for size in (spread, 0 * spread)
    )
    assert missed < 0.1 * np.abs(own - wanted).mean()
    assert missed < 0.7 * without
