"""Weak links between strong parts keep their weight, by every method, through merges and trees."""

import networkx
import numpy as np
import pytest

from graphsqueak import AccuracyWarning, EdgeList, StreamSparsifier, sparsify
from graphsqueak.graph.forest import find_bridges, make_sets, union_edges
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.sparsifiers.resistance import estimate
from graphsqueak.sparsifiers.resistance.bounds import cut_bounds
from graphsqueak.sparsifiers.resistance.sketch import solve_random_rhs
from graphsqueak.sparsifiers.stream import finalize
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.subsample import sample_to_budget
from tests import reference


def blocks(n_blocks, n_nodes, n_edges, *, links, weight, joined="chain", seed=5_081):
    """Random blocks of unit edges; each block is linked to the one before, or to an earlier one."""
    rng = np.random.default_rng(seed)
    low, high = np.triu_indices(n_nodes, 1)
    tail, head, weights = [], [], []
    for block in range(n_blocks):
        chosen = rng.choice(low.size, n_edges, replace=False)
        tail.append(low[chosen] + block * n_nodes)
        head.append(high[chosen] + block * n_nodes)
        weights.append(np.ones(n_edges))
        if block:
            other = block - 1 if joined == "chain" else rng.integers(block)
            tail.append(rng.integers(n_nodes, size=links) + other * n_nodes)
            head.append(rng.integers(n_nodes, size=links) + block * n_nodes)
            weights.append(np.full(links, weight))
    order = rng.permutation(sum(map(len, tail)))
    columns = (np.concatenate(part)[order] for part in (tail, head, weights))
    return EdgeList.from_validated(*columns, n_blocks * n_nodes).simplified()


def lognormal(sigma, *, n_nodes=300, n_edges=9000, seed=77):
    rng = np.random.default_rng(seed)
    tail, head = rng.integers(n_nodes, size=(2, n_edges))
    tail, head = np.r_[tail, np.arange(n_nodes - 1)], np.r_[head, np.arange(1, n_nodes)]
    weight = np.exp(sigma * rng.standard_normal(tail.size))
    return EdgeList(tail=tail, head=head, weight=weight, n_nodes=n_nodes).simplified()


def clusters(gap, *, n_clusters=5, size=60, seed=41):
    """Gaussian similarities of points in the plane, in clusters that far apart."""
    rng = np.random.default_rng(seed)
    centers = gap * np.repeat(rng.standard_normal((n_clusters, 2)), size, axis=0)
    points = rng.standard_normal((n_clusters * size, 2)) + centers
    tail, head = np.triu_indices(len(points), 1)
    weight = np.exp(-((points[tail] - points[head]) ** 2).sum(axis=1) / 2)
    near = weight > 1e-14
    return EdgeList.from_validated(tail[near], head[near], weight[near], len(points))


def cut(graph, n_nodes):
    """Weight between the first n_nodes and the others."""
    return graph.weight[(graph.tail < n_nodes) != (graph.head < n_nodes)].sum()


def errors(graph, n_seeds=3, **arguments):
    return [
        reference.grounded_epsilon(graph, sparsify(graph, random_state=17 * seed, **arguments))
        for seed in range(n_seeds)
    ]


@pytest.mark.parametrize("links", [1, 3, 10])
def test_two_blocks(links):
    """The links' weight makes no difference to the error; that of ten links has a sigma of 0.3."""
    usual = np.median(errors(blocks(2, 150, 3000, links=links, weight=1.0), keep=0.25))
    for weight in (0.1, 1e-3, 1e-6, 1e-9, 1e-12):
        graph = blocks(2, 150, 3000, links=links, weight=weight)
        found = errors(graph, keep=0.25)
        assert np.median(found) <= 1.3 * usual, weight
        assert max(found) <= usual + 6 * 0.3, weight


@pytest.mark.parametrize("joined", ["chain", "tree"])
def test_chains_and_trees_of_blocks(joined):
    usual = np.median(errors(blocks(8, 50, 700, links=2, weight=1.0, joined=joined), keep=0.3))
    for weight in (1e-3, 1e-9):
        graph = blocks(8, 50, 700, links=2, weight=weight, joined=joined)
        assert max(errors(graph, keep=0.3)) <= 1.3 * usual, weight


def test_weights_that_span_decades():
    usual = np.median(errors(lognormal(0.0), keep=0.25))
    assert max(errors(lognormal(4.0), keep=0.25)) <= 1.3 * usual


def test_similarities_of_clusters_far_apart():
    """Over 30 seeds the median error is 0.30 to 0.36; single ones are larger at the largest gap."""
    usual = np.median(errors(clusters(0.0), keep=0.1))
    for gap in (2.0, 4.0):
        assert np.median(errors(clusters(gap), keep=0.1)) <= 1.3 * usual, gap


@pytest.mark.slow
def test_a_bridge_between_large_blocks_is_exact():
    for weight in (1e-3, 1e-12):
        graph = blocks(2, 1010, 60_000, links=1, weight=weight)
        found = cut(sparsify(graph, keep=0.15, random_state=3), 1010)
        assert found == pytest.approx(weight, rel=1e-12)


@pytest.mark.parametrize("method", ["stream", "batch", "kors", "kelner-levin"])
def test_every_method_keeps_weak_links(method):
    graph = blocks(2, 150, 3000, links=3, weight=1e-6)
    budget = {"epsilon": 0.9} if method == "kelner-levin" else {"keep": 0.25}
    for seed in range(5):
        found = cut(sparsify(graph, method=method, random_state=seed, **budget), 150)
        assert 0.3 <= found / 3e-6 <= 3.0


def test_merged_streams_and_trees_keep_weak_links():
    graph = blocks(3, 100, 1500, links=3, weight=1e-9)
    half = graph.n_edges // 2
    usual = np.median(errors(graph, keep=0.3))
    for seed in range(3):
        parts = [
            StreamSparsifier(n_edges=1350, random_state=seed + i).partial_fit(part)
            for i, part in enumerate((graph.part(0, half), graph.part(half)))
        ]
        merged = parts[0].merge(parts[1]).sparsifier()
        assert reference.grounded_epsilon(graph, merged) <= 1.5 * usual


def test_potentials_are_right_along_every_edge():
    """|b' (x - x')| <= e sqrt(r) for every edge and every column, e of the size asked for."""
    rng = np.random.default_rng(90_001)
    for graph in (
        blocks(2, 60, 600, links=1, weight=1e-3),
        blocks(4, 40, 300, links=2, weight=1e-6),
        lognormal(2.0, n_nodes=120, n_edges=900),
    ):
        flow = rng.choice((-1.0, 1.0), (graph.n_edges, 8)) * np.sqrt(graph.weight)[:, None]
        rhs = np.zeros((graph.n_nodes, 8))
        np.add.at(rhs, graph.tail, flow)
        np.add.at(rhs, graph.head, -flow)
        found = solve_random_rhs(LaplacianSolver(graph), rhs, seed=8).points
        error = reference.pseudo_solve(graph, rhs) - found
        apart = np.abs(error[graph.tail] - error[graph.head])
        r = reference.resistances(graph, np.column_stack([graph.tail, graph.head]))
        assert (apart / np.sqrt(r)[:, None]).max() <= 4 * 0.05


def test_cut_bounds_never_exceed_a_resistance():
    for seed in range(30):
        rng = np.random.default_rng(7_919 * seed + 3)
        graph = lognormal(
            rng.uniform(0, 1.5), n_nodes=30, n_edges=int(rng.integers(5, 120)), seed=seed
        )
        exact = reference.resistances(graph, np.column_stack([graph.tail, graph.head]))
        bound = cut_bounds(graph.tail, graph.head, graph.weight, graph.n_nodes)
        assert np.all(bound <= exact * (1 + 1e-6))
        assert np.all(bound >= 0.999 / graph.degrees().sum())


def test_links_that_come_out_too_heavy_are_noticed(monkeypatch):
    """No random cut sees three links of weight 0.001, a thousand times too heavy."""
    graph = blocks(2, 150, 3000, links=3, weight=1e-3)
    sample = finalize.sample_to_budget

    def too_heavy(*arguments, **keywords):
        edges, bridge = sample(*arguments, **keywords)
        across = (edges.tail < 150) != (edges.head < 150)
        return edges._replace(weight=np.where(across, 1000 * edges.weight, edges.weight)), bridge

    monkeypatch.setattr(finalize, "sample_to_budget", too_heavy)
    with pytest.warns(AccuracyWarning, match="a cut is off by"):
        sparsify(graph, keep=0.25, random_state=1)


def test_an_edge_that_comes_back_is_no_heavier_than_the_cut_it_restores(monkeypatch):
    """Resistances across the links as a loose solve would have them: far too small."""
    graph = blocks(2, 150, 3000, links=3, weight=1e-3)
    sketch_resistances = estimate.sketch_resistances

    def loose(sketch, tail, head, weight):
        across = (tail < 150) != (head < 150)
        return np.where(across, 0.02, sketch_resistances(sketch, tail, head, weight))

    monkeypatch.setattr(estimate, "sketch_resistances", loose)
    assert cut(sparsify(graph, keep=0.25, random_state=1), 150) <= 1.2 * 3e-3


@pytest.mark.parametrize("method", ["rounding", "pivotal", "independent"])
def test_a_restored_edge_is_as_heavy_as_the_lighter_of_its_cuts(method):
    """Three blocks in a chain, linked weakly and strongly; one link of each is restored.

    Their resistances are so small that both links would be restored far too heavy. The weak one is
    limited to the weight of all links of the first block, less than that of the middle block.
    """
    graph = blocks(3, 20, 190, links=3, weight=1e-3)
    tail, head = graph.tail.astype(np.int32), graph.head.astype(np.int32)
    link = tail // 20 != head // 20
    weight = np.where(link & (head >= 40), 1.0, graph.weight)
    edges = SampledEdges(tail, head, weight, union_edges(make_sets(60), tail, head))
    resistance = np.where(link, 1e-9, 0.1)  # inside, a block of 20 nodes is complete
    for seed in range(5):
        own = edges.copy()
        sampled, _ = sample_to_budget(
            own,
            own.weight * resistance,
            540,
            60,
            bridge=np.zeros_like(edges.in_forest),
            method=method,
            seed=seed,
        )
        restored = sampled.weight[sampled.tail // 20 != sampled.head // 20]
        np.testing.assert_allclose(restored, [weight[link & (tail < 20)].sum(), 3.0], rtol=1e-12)


def test_bridges_are_those_of_networkx():
    for seed in range(40):
        rng = np.random.default_rng(104_729 * seed + 1)
        n_nodes, n_edges = 40, int(rng.integers(10, 70))
        graph = EdgeList(
            tail=rng.integers(n_nodes, size=n_edges),
            head=rng.integers(n_nodes, size=n_edges),
            n_nodes=n_nodes,
        ).simplified()
        in_forest = union_edges(make_sets(n_nodes), graph.tail, graph.head)
        found = find_bridges(graph.tail, graph.head, in_forest, n_nodes, seed=seed)
        pairs = zip(graph.tail[found].tolist(), graph.head[found].tolist(), strict=True)
        expected = networkx.bridges(graph.to_networkx())
        assert {frozenset(pair) for pair in pairs} == {frozenset(pair) for pair in expected}


def literal_cut_bounds(graph):
    """Merge clusters along edges from the heaviest on; short A, B and the rest to three nodes."""
    ends = list(zip(graph.tail.tolist(), graph.head.tolist(), graph.weight.tolist(), strict=True))
    cluster = {node: frozenset([node]) for node in range(graph.n_nodes)}
    bound = {}
    for e in np.argsort(-graph.weight, kind="stable").tolist():
        A, B = cluster[ends[e][0]], cluster[ends[e][1]]
        if A == B:
            continue
        between = sum(w for u, v, w in ends if (u in A and v in B) or (u in B and v in A))
        a = sum(w for u, v, w in ends if (u in A) != (v in A)) - between
        b = sum(w for u, v, w in ends if (u in B) != (v in B)) - between
        parallel = a * b / (a + b) if a > 1e-12 and b > 1e-12 else 0.0
        for other, (u, v, _) in enumerate(ends):
            if (u in A and v in B) or (u in B and v in A):
                bound[other] = 1 / (between + parallel)
        for node in A | B:
            cluster[node] = A | B
    return np.array([bound[e] for e in range(len(ends))])


def test_bounds_of_cuts_are_those_of_three_shorted_nodes():
    for seed in range(12):
        rng = np.random.default_rng(7_919 * seed + 3)
        graph = lognormal(
            rng.uniform(0, 1.5), n_nodes=25, n_edges=int(rng.integers(5, 100)), seed=seed
        )
        found = cut_bounds(graph.tail, graph.head, graph.weight, graph.n_nodes)
        np.testing.assert_allclose(found, literal_cut_bounds(graph), rtol=1e-9)
