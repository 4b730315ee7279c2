"""The exact certificate contains the truth, whatever the spread of the weights."""

from fractions import Fraction

import numpy as np
import pytest

from graphsqueak import EdgeList, certify, sources
from graphsqueak.sparsifiers.certificate.dense_pencil import dense_ratios
from tests import reference
from tests.sparsifiers.certificate.graded import bridged, random_pair, reweighted

BRIDGES = [1e-3, 1e-6, 1e-9, 1e-12, 1e-13, 1e-14, 1e-15, 1e-30, 1e-100]


def ratios_of(graph, sparsifier, ridge=0.0):
    return dense_ratios(graph.laplacian().toarray(), sparsifier.laplacian().toarray(), ridge)


@pytest.mark.parametrize("bridge", BRIDGES)
@pytest.mark.parametrize("factor", [1.5, 0.25])
def test_a_light_bridge_is_measured(bridge, factor):
    """The only ratio other than 1 is that of the bridge."""
    graph, sparsifier = bridged(bridge, factor=factor)
    truth = abs(factor - 1)
    found = certify(graph, sparsifier)
    assert found.delta == 0
    assert found.epsilon_lower <= truth <= found.epsilon_upper
    assert found.epsilon_upper - found.epsilon_lower <= 1e-9
    assert found.lambda_min <= min(factor, 1.0) <= found.lambda_min + 1e-9
    assert found.lambda_max - 1e-9 <= max(factor, 1.0) <= found.lambda_max
    assert found.kappa_lower <= max(factor, 1 / factor) <= found.kappa
    assert str(found) == f"epsilon {truth:.4g}, exact"
    if factor > 1:
        assert set(found.maximizing_pair) == {63, 64}


@pytest.mark.slow
def test_random_graphs_with_weights_over_many_decades():
    """500 graphs against a reference that does not lose digits; the bounds contain it, narrowly.

    The reference is accurate to 1e-10, see below.
    """
    for seed in range(500):
        graph, sparsifier, ridge = random_pair(34_100 + seed)
        truth = reference.laplacian_ratios(graph, sparsifier, ridge)
        found = certify(graph, sparsifier, ridge=ridge)
        slack = 1e-10 * truth[-1]
        epsilon = max(1 - truth[0], truth[-1] - 1)
        assert found.lambda_min - slack <= truth[0], seed
        assert truth[-1] <= found.lambda_max + slack, seed
        assert found.epsilon_lower - slack <= epsilon <= found.epsilon_upper + slack, seed
        assert found.lambda_max <= truth[-1] * (1 + 1e-8), seed
        assert found.lambda_min >= truth[0] - 1e-8 * truth[-1], seed
        assert found.ratios == pytest.approx(truth, rel=0, abs=slack), seed


def test_the_stated_error_is_not_exceeded():
    """The errors of all ratios, in units of the error that is stated, over 200 graphs."""
    largest = 0.0
    for seed in range(200):
        graph, sparsifier, ridge = random_pair(35_100 + seed)
        found = ratios_of(graph, sparsifier, ridge)
        truth = reference.laplacian_ratios(graph, sparsifier, ridge)
        largest = max(largest, np.abs(found.values - truth).max() / found.error)
        assert found.error <= 1e-9 * truth[-1]
    assert largest <= 0.5


@pytest.mark.parametrize("decades", [0, 15])
def test_the_ratios_of_a_tree_are_those_of_its_edges(decades):
    rng = np.random.default_rng(34_002)
    tree = EdgeList(
        tail=[int(rng.integers(node)) for node in range(1, 200)],
        head=np.arange(1, 200),
        weight=10.0 ** rng.uniform(-decades, 0, size=199),
    )
    change = rng.uniform(0.1, 3.0, size=199)
    found = ratios_of(tree, reweighted(tree, tree.weight * change))
    assert found.values == pytest.approx(np.sort(change), rel=1e-12)


@pytest.mark.parametrize(
    "graph",
    [
        sources.path(300).to_edge_list(),
        sources.cycle(300).to_edge_list(),
        sources.complete(80).to_edge_list(),
        EdgeList(tail=np.zeros(299, dtype=int), head=np.arange(1, 300)),
    ],
    ids=["path", "cycle", "complete", "star"],
)
def test_equal_weights_lose_nothing(graph):
    """Edges of equal weight are merged in random order: a path does not become one long cluster."""
    rng = np.random.default_rng(34_003)
    sparsifier = reweighted(graph, rng.uniform(0.5, 2.0, size=graph.n_edges))
    found = ratios_of(graph, sparsifier)
    truth = reference.laplacian_ratios(graph, sparsifier)
    assert found.values == pytest.approx(truth, rel=1e-11)
    assert found.error <= 2e-9


def test_the_unit_of_weights_does_not_matter():
    """Not a digit changes when all weights are multiplied by a power of two."""
    graph, sparsifier, _ = random_pair(34_005)
    found = ratios_of(graph, sparsifier).values
    for unit in (2.0**-300, 2.0**300):
        scaled = (
            reweighted(graph, graph.weight * unit),
            reweighted(sparsifier, sparsifier.weight * unit),
        )
        assert np.array_equal(ratios_of(*scaled).values, found)


def test_the_ridge_is_a_node_joined_to_all_others():
    graph, sparsifier, _ = random_pair(34_005)
    ridge = 1e-7
    n_nodes = graph.n_nodes

    def grounded(edges):
        return EdgeList(
            tail=np.append(edges.tail, np.arange(n_nodes)),
            head=np.append(edges.head, np.full(n_nodes, n_nodes)),
            weight=np.append(edges.weight, np.full(n_nodes, ridge)),
        )

    with_ridge = ratios_of(graph, sparsifier, ridge)
    with_node = ratios_of(grounded(graph), grounded(sparsifier))
    assert with_ridge.values.size == n_nodes
    assert with_ridge.values == pytest.approx(with_node.values, rel=1e-12)


def test_components_may_differ_with_a_ridge():
    """A lost bridge of weight w under a ridge r: the indicator of a block of s nodes decides.

    Both blocks are complete graphs of weight 1, in which x is constant to rounding. Its ratio is
    that of two nodes with ridge s r each, joined by w, to the same without w, for x = (1, -1).
    """
    graph, _ = bridged(1e-9)
    kept = np.arange(graph.n_edges) < graph.n_edges - 1
    split = EdgeList(tail=graph.tail[kept], head=graph.head[kept], n_nodes=128)
    found = certify(graph, split, ridge=1e-12)
    lowest = 2 * 64 * 1e-12 / (2 * 64 * 1e-12 + 4 * 1e-9)
    assert not found.problem
    assert found.lambda_min == pytest.approx(lowest, rel=1e-7)
    assert found.lambda_max == pytest.approx(1.0, rel=1e-9)


def test_ratios_far_apart_do_not_hide_behind_rounding():
    """An edge 1e18 times too heavy: the lowest ratio is lost to rounding, and its bound is 0."""
    graph, sparsifier = bridged(1e-3, factor=0.5)
    weight = sparsifier.weight.copy()
    weight[0] = 1e18
    found = certify(graph, reweighted(sparsifier, weight))
    assert found.lambda_min == 0
    assert found.kappa == np.inf
    truth = reference.laplacian_ratios(graph, reweighted(sparsifier, weight))[-1] - 1
    assert found.epsilon_lower <= truth * (1 + 1e-12)
    assert truth <= found.epsilon_upper * (1 + 1e-12)


def test_the_reference_is_right():
    """By Sylvester's law of inertia in rational arithmetic, on graphs of seven nodes.

    The number of negative pivots of L_H - s L_G is the number of ratios below s. It changes between
    the reference times 1 - 1e-10 and times 1 + 1e-10.
    """
    for seed in range(4):
        rng = np.random.default_rng(34_200 + seed)
        tail, head = np.triu_indices(7, 1)
        graph = EdgeList(tail=tail, head=head, weight=10.0 ** rng.uniform(-15, 0, size=21))
        sparsifier = reweighted(graph, graph.weight * rng.uniform(0.5, 2.0, size=21))
        for rank, ratio in enumerate(reference.laplacian_ratios(graph, sparsifier)):
            assert n_ratios_below(graph, sparsifier, ratio * (1 - 1e-10)) <= rank
            assert n_ratios_below(graph, sparsifier, ratio * (1 + 1e-10)) > rank


def n_ratios_below(graph, sparsifier, shift):
    n_nodes = graph.n_nodes
    matrix = [[Fraction(0)] * n_nodes for _ in range(n_nodes)]
    for edges, sign in ((graph, -Fraction(float(shift))), (sparsifier, Fraction(1))):
        for u, v, w in zip(edges.tail, edges.head, edges.weight, strict=True):
            entry = sign * Fraction(float(w))
            matrix[u][u] += entry
            matrix[v][v] += entry
            matrix[u][v] -= entry
            matrix[v][u] -= entry
    n_negative = 0
    for k in range(n_nodes - 1):  # the last node is grounded
        n_negative += matrix[k][k] < 0
        for i in range(k + 1, n_nodes - 1):
            quotient = matrix[i][k] / matrix[k][k]
            for j in range(k + 1, n_nodes - 1):
                matrix[i][j] -= quotient * matrix[k][j]
    return n_negative
