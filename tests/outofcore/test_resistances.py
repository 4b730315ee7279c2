"""Resistances of a streamed graph are within the tolerance, and within the proved bounds."""

from types import SimpleNamespace

import numpy as np
import pytest

from graphsqueak import (
    ConvergenceWarning,
    EdgeList,
    InputError,
    certify,
    effective_resistance,
    read_edges,
    sources,
    sparsify,
    write_edges,
)
from graphsqueak.outofcore import StreamedSolver, resistances
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from tests import reference
from tests.outofcore.graphs import Counted, examples

SEED = 95_000


@pytest.mark.parametrize("name", ["dense", "heavy", "clusters", "grid", "pieces"])
def test_pairs_are_as_accurate_as_requested(name):
    """300 pairs are solved for in three blocks."""
    graph = examples()[name]
    rng = np.random.default_rng(SEED)
    pairs = rng.integers(graph.n_nodes, size=(300, 2))
    pairs[0] = 5
    truth = reference.resistances(graph, pairs)
    label = graph.components()
    truth[label[pairs[:, 0]] != label[pairs[:, 1]]] = np.inf
    truth[pairs[:, 0] == pairs[:, 1]] = 0.0
    for rtol in (0.05, 1e-3, 1e-8):
        found = effective_resistance(graph, pairs, keep=0.4, rtol=rtol, random_state=SEED)
        np.testing.assert_allclose(found, truth, rtol=rtol)


def test_one_percent_takes_two_passes_per_block():
    """Solves are not more accurate than necessary."""
    graph = sources.erdos_renyi(1500, 150_000, random_state=SEED).to_edge_list()
    kept = sparsify(graph, n_edges=15_000, random_state=SEED)
    pairs = np.random.default_rng(SEED).integers(graph.n_nodes, size=(30, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    source = Counted(graph)
    found = effective_resistance(source, pairs, sparsifier=kept, rtol=0.005, random_state=SEED)
    assert source.n_begun <= 2
    np.testing.assert_allclose(found, reference.resistances(graph, pairs), rtol=0.005)


def test_a_sparsifier_wrong_by_a_factor_only_takes_more_passes():
    """Weights between two halves five times too large: resistances seem small, and are not."""
    graph = sources.block_model(400, 12_000, n_blocks=2, within=0.98, random_state=SEED)
    graph = graph.to_edge_list()
    kept = sparsify(graph, keep=0.3, random_state=SEED)
    factor = np.where(kept.tail % 2 != kept.head % 2, 5.0, 1.0)
    wrong = EdgeList(tail=kept.tail, head=kept.head, weight=factor * kept.weight, n_nodes=400)
    pairs = np.random.default_rng(SEED).integers(200, size=(12, 2)) * 2 + [0, 1]
    truth = reference.resistances(graph, pairs)
    for rtol in (0.1, 0.01):
        for pair, exact in zip(pairs, truth, strict=True):
            options = {"sparsifier": wrong, "rtol": rtol, "random_state": SEED}
            assert effective_resistance(graph, [pair], **options) == pytest.approx(exact, rel=rtol)


def test_files_and_names(tmp_path):
    graph = examples()["heavy"]
    names = np.array([f"n{node}" for node in range(graph.n_nodes)], dtype=object)
    write_edges(
        EdgeList(tail=graph.tail, head=graph.head, weight=graph.weight, ids=names),
        tmp_path / "edges.tsv",
    )
    source = read_edges(tmp_path / "edges.tsv")
    found = effective_resistance(
        source, [("n3", "n77")], n_edges=1500, rtol=1e-6, random_state=SEED
    )
    assert found == pytest.approx(reference.resistances(graph, [(3, 77)]), rel=1e-6)
    options = {"n_edges": 3000, "bounds": True, "random_state": SEED}
    low, high = effective_resistance(source, [("n3", "n77")], **options)[0]
    assert low <= found[0] <= high
    low, high = effective_resistance(source, **options).T
    every = effective_resistance(source)
    assert low.shape == every.shape
    assert (low <= every).all()
    assert (every <= high).all()
    with pytest.raises(InputError, match="names node 'n777'; it is not in the graph"):
        effective_resistance(source, [("n3", "n777")], n_edges=1500)


def test_all_edges_are_sketched_without_bias():
    """Relative error sqrt(2 / k) per edge; Foster's sum exact; each edge at six sigma."""
    graph = sources.erdos_renyi(120, 900, random_state=SEED).to_edge_list()
    weight = np.random.default_rng(SEED).lognormal(size=graph.n_edges)
    graph = EdgeList(tail=graph.tail, head=graph.head, weight=weight, n_nodes=120)
    truth = reference.resistances(graph, np.c_[graph.tail, graph.head])
    n_probes = 700
    found = effective_resistance(graph, keep=0.5, n_probes=n_probes, rtol=0.02, random_state=SEED)
    sigma = np.sqrt(2 / n_probes)
    assert (np.abs(found / truth - 1) <= 6 * sigma).all()
    assert 0.5 * sigma <= np.std(found / truth - 1) <= 1.5 * sigma
    free = graph.n_nodes - graph.components().max() - 1
    assert weight @ found == pytest.approx(free, rel=0.01)  # clipped at 1 / w here and there
    by_blocks = effective_resistance(graph, keep=0.5, n_probes=64, random_state=SEED)
    assert (by_blocks <= 1 / weight).all()


def test_no_edges_and_edges_that_cancel():
    alone = EdgeList(tail=[], head=[], n_nodes=3)
    assert effective_resistance(alone, n_edges=5).shape == (0,)
    assert effective_resistance(alone, [(0, 1), (2, 2)], n_edges=5).tolist() == [np.inf, 0.0]
    twice = EdgeList(tail=[0, 1], head=[1, 0])
    for seed in range(6):  # the two flows cancel in half of them
        found = effective_resistance(twice, n_edges=5, n_probes=1, random_state=seed)
        assert found.tolist() in ([0.5, 0.5], [0.0, 0.0])


def test_unsupported_options_are_errors():
    graph = examples()["dense"]
    with pytest.raises(InputError, match="method='exact' needs the graph in memory"):
        effective_resistance(graph, keep=0.5, method="exact")
    with pytest.raises(InputError, match="pairs on a streamed graph are solved for"):
        effective_resistance(graph, [(0, 1)], keep=0.5, n_probes=3)
    with pytest.raises(InputError, match="is about L \\+ ridge I and does not bound cuts"):
        certify(graph, graph, ridge=1.0).bounds_on([1.0], quantity="cuts")
    ring = sources.cycle(150).to_edge_list()
    with pytest.raises(InputError, match="it belongs to another graph"):
        effective_resistance(examples()["pieces"], [(0, 3)], sparsifier=ring, bounds=True)
    with pytest.raises(InputError, match="bounds come from a sparsifier; give one"):
        effective_resistance(graph, [(0, 1)], bounds=True)


def test_too_coarse_a_sparsifier_is_a_warning():
    graph = sources.small_world(40, 40, 12_000, random_state=SEED).to_edge_list()
    with pytest.warns(ConvergenceWarning, match="less accurate than rtol after"):
        effective_resistance(graph, [(0, 777)], n_edges=1650, rtol=1e-12, random_state=SEED)


def small_graph(seed):
    """8 to 40 nodes, in one piece or several, weights that span up to some decades."""
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(8, 40))
    tail, head = rng.integers(n_nodes, size=(2, n_nodes * int(rng.integers(2, 12))))
    weight = rng.lognormal(sigma=rng.choice([0.0, 1.0, 3.0]), size=tail.size)
    inside = (tail % 3 == head % 3) | (seed % 4 > 0)
    columns = (tail[inside], head[inside], weight[inside])
    return EdgeList(tail=columns[0], head=columns[1], weight=columns[2], n_nodes=n_nodes)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::graphsqueak.AccuracyWarning")
def test_bounds_always_contain_the_true_values():
    """200 random small graphs, exact certificates: cuts, conductances, eigenvalues, resistances."""
    rng = np.random.default_rng(SEED + 1)
    widest = 0.0
    for seed in range(95_100, 95_300):
        graph = small_graph(seed)
        n_edges = max(int(rng.uniform(0.4, 0.9) * graph.n_edges), graph.n_nodes)
        sparsifier = sparsify(graph, n_edges=n_edges, random_state=seed)
        certificate = certify(graph, sparsifier)
        label = graph.components()
        pairs = rng.integers(graph.n_nodes, size=(40, 2))
        pairs = pairs[(label[pairs[:, 0]] == label[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])]
        sides = rng.random((graph.n_nodes, 20)) < rng.random(20)
        cuts = [g.weight @ (sides[g.tail] != sides[g.head]) for g in (graph, sparsifier)]
        volumes = [sides.T @ g.degrees() for g in (graph, sparsifier)]
        filled = volumes[0] > 0
        shares = [cut[filled] / volume[filled] for cut, volume in zip(cuts, volumes, strict=True)]
        n_zero = label.max() + 1
        values = [np.linalg.eigvalsh(g.laplacian().toarray())[n_zero:] for g in (graph, sparsifier)]
        lengths = [effective_resistance(g, pairs, method="exact") for g in (graph, sparsifier)]
        for of, (truth, held) in {
            "cuts": cuts,
            "conductances": shares,
            "eigenvalues": values,
            "resistances": lengths,
        }.items():
            low, high = certificate.bounds_on(held, quantity=of)
            assert (low <= truth).all(), (seed, of)
            assert (truth <= high).all(), (seed, of)
        widest = max(widest, certificate.lambda_max / certificate.lambda_min)
    assert widest > 2  # some of them are coarse


def test_bounds_do_not_use_a_certificate_of_another_matrix():
    """A certificate of L + ridge I is replaced by one of L; any other is used as it is."""
    graph = examples()["dense"]
    kept = bare(sparsify(graph, keep=0.5, random_state=SEED))
    pairs = [(0, 5), (3, 9)]
    expected = effective_resistance(graph, pairs, sparsifier=kept, bounds=True)
    with_ridge = kept.with_certificate(certify(graph, kept, ridge=50.0))
    found = effective_resistance(graph, pairs, sparsifier=with_ridge, bounds=True)
    np.testing.assert_array_equal(found, expected)
    wide = certify(graph, EdgeList(tail=kept.tail, head=kept.head, weight=2 * kept.weight))
    other = effective_resistance(graph, pairs, sparsifier=kept.with_certificate(wide), bounds=True)
    np.testing.assert_allclose(other, 2 * expected, rtol=1e-6)


def test_sketched_leverages_sum_to_the_edges_of_a_forest():
    """Nodes less components, exactly where no resistance is near 1 / w: of two complete graphs."""
    tail, head = np.triu_indices(9, 1)
    graph = EdgeList(tail=np.r_[tail, tail + 9], head=np.r_[head, head + 9])
    found = effective_resistance(graph, keep=1.0, n_probes=300, random_state=SEED)
    assert found.max() < 0.5
    assert found.sum() == pytest.approx(16, rel=1e-9)


def test_sketched_edges_have_at_most_the_resistance_of_the_edge_alone():
    """Every edge of a tree has 1 / w, and half of all sketches of eight signs say more."""
    rng = np.random.default_rng(SEED)
    tree = EdgeList(
        tail=[int(rng.integers(node)) for node in range(1, 40)],
        head=np.arange(1, 40),
        weight=rng.lognormal(size=39),
    )
    cycle = sources.cycle(40).to_edge_list()
    for graph in (tree, cycle):
        found = effective_resistance(graph, keep=1.0, n_probes=8, random_state=SEED)
        assert (found <= 1 / graph.weight).all()


def test_random_right_hand_sides_do_not_depend_on_batches_or_blocks():
    """An edge has the signs of its number in the stream, other ones in every column."""
    source = sources.erdos_renyi(60, 500, random_state=SEED, batch_size=70)
    graph = source.to_edge_list()
    solver = StreamedSolver(graph, keep=0.9, tol=1e-10, random_state=SEED)

    def flows_of(given, n_probes, **options):
        laplacian = StreamedLaplacian(given, solver.sparsifier_)
        rng = np.random.default_rng(SEED)
        blocks = resistances.random_potentials(laplacian, solver, n_probes, 0.5, rng, **options)
        return [flows for flows, _ in blocks]

    (one,) = flows_of(graph, 100)
    (many,) = flows_of(source, 100)
    np.testing.assert_array_equal(one, many)
    parts = flows_of(graph, 100, max_columns=64)
    assert [part.shape[1] for part in parts] == [64, 36]
    np.testing.assert_array_equal(np.hstack(parts), one)
    # Y Y' / k is L on average; a pair of nodes without an edge has no correlation.
    laplacian = graph.laplacian().toarray()
    degree = np.sqrt(np.outer(graph.degrees(), graph.degrees()))
    sigma = (degree + np.abs(laplacian)) / np.sqrt(100)
    assert (np.abs(one @ one.T / 100 - laplacian) <= 6 * sigma).all()
    columns = one / np.linalg.norm(one, axis=0)
    alike = np.abs(columns.T @ columns)[np.triu_indices(100, 1)]
    assert alike.max() <= 6 / np.sqrt(59)


@pytest.mark.parametrize("rtol", [0.1, 0.01])
def test_solves_of_a_sketch_add_a_quarter_of_its_error(rtol):
    """The energy of what is wrong with the potentials, up to the ratios of the sparsifier."""
    graph = examples()["dense"]
    solver = StreamedSolver(graph, keep=0.2, tol=1e-14, random_state=SEED)
    most = certify(graph, bare(solver.sparsifier_)).lambda_max
    rng = np.random.default_rng(SEED)
    laplacian = StreamedLaplacian(graph, solver.sparsifier_)
    ((flows, points),) = resistances.random_potentials(laplacian, solver, 20, rtol, rng)
    error = points - reference.pseudo_solve(graph, flows)
    energy = (error * (graph.laplacian() @ error)).sum(axis=0)
    assert energy.max() > 1e-12
    assert (energy <= 1.01 * most * (rtol / 4) ** 2).all()


def bare(graph):
    """The same edges without a certificate."""
    return EdgeList(tail=graph.tail, head=graph.head, weight=graph.weight, n_nodes=graph.n_nodes)


def test_pairs_are_accurate_if_twice_the_largest_ratio_would_not_matter():
    """A ratio is observed along directions (1 / 0.25), or by the energy that a pass finds."""
    x = np.array([[1.0, 2.0], [0.0, -1.0], [-1.0, 0.5]])
    tail, head = np.array([0, 0]), np.array([2, 1])

    def after(n_passes, energy, lowest):
        residual = np.zeros_like(x)
        return SimpleNamespace(
            x=x, residual=residual, energy=np.full(2, energy), lowest=lowest, n_passes=n_passes
        )

    for energy, enough in ((0.99 * 0.01 * 2 / 7, True), (1.01 * 0.01 * 3 / 7, False)):
        estimates = resistances.PairEstimates(tail, head, 0.01)
        assert (estimates.update(after(1, energy, 0.25)) == enough).all()
        np.testing.assert_allclose(estimates.known, [2.0, 3.0])
    # After a first pass with energy 0.5 and the known part unchanged: (0 + energy) / 0.5 < 1.
    estimates = resistances.PairEstimates(tail, head, 0.01)
    estimates.update(after(1, 0.5, np.inf))
    assert estimates.update(after(2, 0.0199, np.inf)).all()
    for energy, enough in ((0.99 * 0.01 * 2 / 7, True), (1.01 * 0.01 * 3 / 7, False)):
        estimates = resistances.PairEstimates(tail, head, 0.01)
        estimates.update(after(1, 1.0, np.inf))
        assert (estimates.update(after(2, energy, 0.25)) == enough).all()
