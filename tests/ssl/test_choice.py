"""The rules behind the defaults: threshold, discount of sampled edges, weights of neighbors."""

import numpy as np
import pytest

from graphsqueak.ssl import StableHFSClassifier
from graphsqueak.ssl.base import neighbor_graph
from graphsqueak.ssl.choice import choose_for_classes, cut_in_valley
from graphsqueak.ssl.label_stream import _discount
from tests.ssl.graphs import random_graph


def choose(first, code, *, unit=1.0):
    """The choice by nodes whose held-out scores for class 1 are given, whatever eta is."""
    scores = np.column_stack([-np.asarray(first), first])
    return choose_for_classes(
        lambda eta: scores, code, np.bincount(code), unit=unit, eta="auto", threshold="auto"
    )


def test_the_threshold_is_the_middle_of_those_with_the_fewest_mistakes():
    """Nine of class 0 below 0.5, three of class 1 above 1.5: t must move the cut in between."""
    first = np.array([-2.0] * 6 + [0.5] * 3 + [1.5] * 3)
    code = np.repeat([0, 1], [9, 3])
    choice = choose(first, code)
    cut = choice.threshold * (9 - 3) / 12 / 2  # scores are equal where 2 f = t (m_0 - m_1)
    assert choice.mistakes == 0
    assert 0.5 < cut < 1.5
    levels = np.array([0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4]) * np.std([-first, first])
    good = [t for t in levels if 0.5 < t / 4 < 1.5]
    assert choice.threshold == pytest.approx(np.mean(good))


def test_even_classes_and_a_given_eta_need_no_scores():
    def score_held_out(eta):
        raise AssertionError("scored without need")

    code, counts = np.repeat([0, 1, 2], 10), np.array([10, 10, 10])
    choice = choose_for_classes(score_held_out, code, counts, unit=1.0, eta=0.5, threshold="auto")
    assert choice.eta == 0.5


def test_two_classes_are_cut_half_way_to_where_no_node_lies():
    """Labels allow cuts from -1 to 5; only from 3 to 4 is there no node, and 3.5 / 2 is taken."""
    rng = np.random.default_rng(41_077)
    scores = np.concatenate([rng.uniform(-4, 3, size=4000), rng.uniform(4, 6, size=1000)])
    held_out, is_second = np.array([-3.0, -1.0, 5.0, 5.5]), np.array([False, False, True, True])
    assert cut_in_valley(scores, held_out, is_second) == pytest.approx(3.5 / 2, abs=0.1)
    assert cut_in_valley(-scores, -held_out, ~is_second) == pytest.approx(-3.5 / 2, abs=0.1)
    assert cut_in_valley(scores / 7, held_out / 7, is_second) == pytest.approx(
        3.5 / 14, abs=0.1 / 7
    )


def test_labels_come_before_the_valley():
    """A cut where no node lies would misclassify two labels of four; one below them none."""
    scores = np.concatenate([np.linspace(-4, 3, 4000), np.linspace(4, 6, 1000)])
    held_out, is_second = np.array([-3.0, -1.0, 2.0, 2.5]), np.array([False, False, True, True])
    assert -1.0 <= 2 * cut_in_valley(scores, held_out, is_second) <= 2.0


def test_all_scores_alike_leave_the_cut():
    assert cut_in_valley(np.zeros(50), np.zeros(4), np.array([True, True, False, False])) == 0.0


def test_a_threshold_that_is_given_is_not_moved_and_one_that_is_not_is_cut_at():
    """The second class is what scores above cut_ before the cut."""
    graph = random_graph(7_003)
    y = np.full(graph.n_nodes, -1)
    y[:12] = [0, 1, 1] * 4
    free = StableHFSClassifier(random_state=1).fit(graph, y)
    given = StableHFSClassifier(eta=free.eta_, threshold=free.threshold_, random_state=1)
    given.fit(graph, y)
    assert given.cut_ == 0.0 != free.cut_
    np.testing.assert_allclose(free.scores_[:, 1], given.scores_[:, 1] - free.cut_, atol=1e-9)
    np.testing.assert_array_equal(free.transduction_ == 1, given.scores_[:, 1] > free.cut_)


def test_l_eta_is_two_over_the_mean_degree_with_too_few_labels_to_choose_by():
    choice = choose(np.array([-1.0, 1.0]), np.array([0, 1]), unit=0.25)
    assert choice.eta * 2 == pytest.approx(2 * 0.25)


@pytest.mark.parametrize(("n_left", "power"), [(100, 1.0), (30 * 128, 0.25)])
def test_sampled_edges_count_the_less_the_coarser_the_sparsifier(n_left, power):
    """Mean degree 20/3 is below 16; at 256, 2 eps = 4 / 16."""
    rest = random_graph(7_003)
    share = rest.n_edges / 5000
    weight = _discount(rest, n_left, 5000).weight
    np.testing.assert_allclose(weight, rest.weight * share**power)
    np.testing.assert_array_equal(_discount(rest, n_left, rest.n_edges).weight, rest.weight)


@pytest.mark.parametrize("dimension", [1, 30])
def test_the_nearest_neighbor_weighs_twenty_times_the_furthest_in_any_dimension(dimension):
    points = np.random.default_rng(88_210).normal(size=(400, dimension))
    _, index = neighbor_graph(points, n_neighbors=10, metric="euclidean")
    distance = index.kneighbors()[0]
    ratio = np.median(distance[:, 0] ** 2 / distance[:, -1] ** 2)
    assert np.exp(index.sharpness_ * (1 - ratio)) == pytest.approx(20)
