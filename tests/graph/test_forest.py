"""Arrays of nodes that grow, and what a spanning forest tells about its graph."""

import networkx
import numpy as np
import pytest

from graphsqueak.graph.forest import (
    extended,
    find_bridges,
    heavy_forest,
    join,
    roots,
    weak_cuts,
)


def test_arrays_that_grow_from_the_same_one_do_not_share_what_is_new():
    """The second one must not be written into the memory that the first one has taken."""
    start = extended(np.arange(8), np.arange(8, 10))
    one = extended(start, np.array([100]))
    other = extended(start, np.array([200, 201]))
    further = extended(one, np.array([300]))
    assert start.tolist() == list(range(10))
    assert one.tolist() == [*range(10), 100]
    assert other.tolist() == [*range(10), 200, 201]
    assert further.tolist() == [*range(10), 100, 300]


@pytest.mark.parametrize("seed", range(5))
def test_bridges_are_those_of_networkx(seed):
    rng = np.random.default_rng(81_000 + seed)
    graph = networkx.gnm_random_graph(60, 70, seed=81_000 + seed)
    edges = rng.permutation(np.array(graph.edges, dtype=np.int32))
    tail, head = np.ascontiguousarray(edges.T)
    in_forest = join(roots(60), tail, head)
    found = find_bridges(tail, head, in_forest, 60, seed=seed)
    expected = {frozenset(edge) for edge in networkx.bridges(graph)}
    assert {frozenset(edge) for edge in edges[found].tolist()} == expected
    assert 5 < len(expected) < 60


@pytest.mark.parametrize("decades", [0, 3, 12, 200])
def test_a_heavy_forest_has_every_component_and_nearly_the_largest_weight(decades):
    """Edges are taken by classes of binary exponents, several exponents in one beyond 64 of them.

    A greedy forest has as many edges of every class as the forest of maximal weight.
    """
    rng = np.random.default_rng(81_100 + decades)
    tail, head = np.triu_indices(40, 1)
    kept = (tail % 2 == head % 2) & (rng.random(tail.size) < 0.3)
    tail, head = tail[kept].astype(np.int32), head[kept].astype(np.int32)
    weight = 10.0 ** rng.uniform(-decades / 2, decades / 2, tail.size)
    forest = heavy_forest(tail, head, weight, 40)
    assert join(roots(40), tail[forest], head[forest]).all()
    heaviest = np.argsort(-weight)
    best = heaviest[join(roots(40), tail[heaviest], head[heaviest])]
    assert forest.size == best.size
    lowest, highest = np.frexp([weight.min(), weight.max()])[1]
    n_together = 2 ** max(int(highest - lowest).bit_length() - 6, 0)
    ratio = np.sort(weight[best]) / np.sort(weight[forest])
    assert ratio.max() <= 2.0**n_together


def test_weak_cuts_are_those_of_the_lightest_edges_of_a_path():
    """Bit k of a node changes along the path at one edge, another one of the eight lightest."""
    weight = 2.0 ** np.random.default_rng(81_200).permutation(12)
    sides = weak_cuts(np.arange(12), np.arange(1, 13), weight, 13)
    crossed = np.bitwise_xor(sides[:-1], sides[1:])
    lightest = np.argsort(weight)[:8]
    assert sorted(crossed[lightest].tolist()) == [1 << k for k in range(8)]
    assert not np.delete(crossed, lightest).any()
