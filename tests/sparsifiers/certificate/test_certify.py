"""The certificate: never below a true error, never above it by more than it may."""

import tracemalloc

import numpy as np
import pytest

from graphsqueak import (
    EdgeList,
    InputError,
    StreamSparsifier,
    certify,
    read_edges,
    sources,
    sparsify,
    write_edges,
)
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.sparsifiers.certificate import certify as certify_module
from graphsqueak.sparsifiers.certificate.block_lanczos import gaussian_start
from graphsqueak.sparsifiers.certificate.outer_bounds import OuterBounds, smallest_component
from tests import reference

DELTA = 0.05


def random_pair(seed):
    """A weighted graph of up to 400 nodes, in one piece or three, its sparsifier and a ridge."""
    rng = np.random.default_rng(seed)
    n_nodes = int(20 * 20 ** rng.random())
    n_edges = int(n_nodes * rng.integers(4, 30))
    tail, head = rng.integers(n_nodes, size=(2, n_edges))
    if seed % 4 == 1:
        inside = tail % 3 == head % 3
        tail, head = tail[inside], head[inside]
    weight = rng.lognormal(sigma=rng.choice([0.0, 1.0, 2.0]), size=tail.size)
    graph = EdgeList(tail=tail, head=head, weight=weight, n_nodes=n_nodes).simplified()
    ridge = float(rng.uniform(1, 30)) if seed % 4 == 2 else 0.0
    keep = max(rng.uniform(0.3, 0.9), min(1.0, 1.2 * n_nodes / graph.n_edges))
    return graph, sparsify(graph, keep=keep, ridge=ridge, random_state=seed), ridge


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::graphsqueak.errors.AccuracyWarning")
@pytest.mark.parametrize("start", range(0, 200, 25))
def test_the_truth_lies_between_the_bounds(start):
    """200 pairs; the upper bound may fail in 5 % of them, plus six sigma of that share."""
    n_failures, gaps = 0, []
    for seed in range(70_100 + start, 70_125 + start):
        graph, sparsifier, ridge = random_pair(seed)
        truth = certify(graph, sparsifier, ridge=ridge).epsilon_upper
        found = certify(
            graph, sparsifier, ridge=ridge, delta=DELTA, method="lanczos", random_state=seed
        )
        assert found.epsilon_lower <= truth * (1 + 1e-9) + 1e-12
        assert not found.unresolved, seed
        n_failures += found.epsilon_upper < truth * (1 - 1e-9)
        gaps.append(found.epsilon_upper / max(truth, 1e-9) - 1)
    assert n_failures <= 25 * DELTA + 6 * np.sqrt(25 * DELTA * (1 - DELTA))
    assert np.median(gaps) <= 0.1


@pytest.mark.parametrize("ridge", [0.0, 3.5])
def test_dense_ratios_are_those_of_scipy(ridge):
    for seed in (70_001, 70_004, 70_005):
        graph, sparsifier, _ = random_pair(seed)
        found = certify(graph, sparsifier, ridge=ridge)
        truth = reference.epsilon(graph, sparsifier, ridge)
        assert found.delta == 0
        assert found.epsilon_lower == pytest.approx(truth, abs=1e-8)
        assert found.epsilon_upper == pytest.approx(truth, abs=1e-8)
        assert found.epsilon_lower <= found.epsilon_upper


def test_a_start_is_isotropic():
    """Components of M^+ start along M-orthonormal vectors: covariance I, entrywise at 6 sigma."""
    graph, _, _ = random_pair(70_008)
    ridge = 0.7
    matrix = graph.laplacian().toarray() + ridge * np.eye(graph.n_nodes)
    start = gaussian_start(graph, ridge, 4000, np.random.default_rng(606))
    whitened = np.linalg.solve(np.linalg.cholesky(matrix), start)
    covariance = whitened @ whitened.T / 4000
    spread = np.sqrt((1 + np.eye(graph.n_nodes)) / 4000)
    assert (np.abs(covariance - np.eye(graph.n_nodes)) <= 6 * spread).all()


def test_the_smallest_component_is_a_quantile():
    rng = np.random.default_rng(90_125)
    t = smallest_component(0.1, 3, 20)
    below = 0
    for _ in range(3000):
        basis, _ = np.linalg.qr(rng.standard_normal((20, 3)))
        below += np.linalg.norm(basis[0]) < t
    assert abs(below - 300) <= 6 * np.sqrt(3000 * 0.1 * 0.9)


@pytest.mark.parametrize("method", ["dense", "lanczos"])
class TestWhatIsWrong:
    """Sparsifiers that are none, and the place where they fail."""

    graph = sources.barbell(30).to_edge_list()

    def bridge(self):
        component = self.graph.tail < 30
        return int(np.flatnonzero(component != (self.graph.head < 30))[0])

    def test_a_lost_bridge(self, method):
        kept = np.arange(self.graph.n_edges) != self.bridge()
        found = certify(self.graph, selected(self.graph, kept), method=method)
        assert found.epsilon_lower == 1
        assert found.epsilon_upper == np.inf
        assert "lost a bridge" in found.problem

    def test_a_joined_component(self, method):
        kept = np.arange(self.graph.n_edges) != self.bridge()
        found = certify(selected(self.graph, kept), self.graph, method=method)
        assert found.epsilon_lower == np.inf
        edge = self.bridge()
        assert f"joins {self.graph.tail[edge]} and {self.graph.head[edge]}" in found.problem

    def test_a_doubled_weight(self, method):
        weight = self.graph.weight.copy()
        weight[self.bridge()] *= 2
        double = EdgeList(tail=self.graph.tail, head=self.graph.head, weight=weight)
        found = certify(self.graph, double, method=method, random_state=60)
        assert found.epsilon_upper == pytest.approx(1.0, rel=0.02)
        edge = self.bridge()
        assert set(found.maximizing_pair) == {
            int(self.graph.tail[edge]),
            int(self.graph.head[edge]),
        }

    def test_another_graph(self, method):
        other = sources.cycle(60).to_edge_list()
        found = certify(self.graph, other, method=method, random_state=6)
        assert found.epsilon_lower > 1
        assert not found.meets(0.99)

    def test_ids_in_another_order(self, method):
        names = np.array([f"n{i}" for i in range(60)], dtype=object)
        turned = 59 - np.arange(60)
        graph = EdgeList(tail=self.graph.tail, head=self.graph.head, ids=names)
        same = EdgeList(
            tail=turned[self.graph.tail], head=turned[self.graph.head], ids=names[turned]
        )
        assert certify(graph, same, method=method).epsilon_upper < 1e-6
        stranger = EdgeList(tail=self.graph.tail, head=self.graph.head, ids=names + "x")
        with pytest.raises(InputError, match=r"'n[0-9]+' of the graph is not in the sparsifier"):
            certify(graph, stranger, method=method)

    def test_no_edges_and_isolated_nodes(self, method):
        nothing = EdgeList(tail=[], head=[], n_nodes=3)
        assert certify(nothing, nothing, method=method).epsilon_upper == 0
        pair = EdgeList(tail=[0], head=[1], n_nodes=4)
        assert certify(pair, pair, method=method).epsilon_upper < 1e-6


def selected(graph, kept):
    return EdgeList(
        tail=graph.tail[kept], head=graph.head[kept], weight=graph.weight[kept], n_nodes=60
    )


def test_threads_do_not_change_the_certificate():
    import numba

    graph = sources.erdos_renyi(3000, 60_000, random_state=4).to_edge_list()
    sparsifier = sparsify(graph, keep=0.5, random_state=4)
    before = numba.get_num_threads()
    found = []
    for n_threads in (1, before):
        numba.set_num_threads(n_threads)
        found.append(certify(graph, sparsifier, max_iter=6, random_state=4).history)
    numba.set_num_threads(before)
    assert np.array_equal(*found)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_steps():
    """40 vectors beside the solver, whose own peak one solve shows; 16 a step would be 400."""
    graph = sources.erdos_renyi(30_000, 60_000, random_state=44_001).to_edge_list()
    tree = sparsify(graph, keep=0.6, method="subgraph", random_state=44_002)
    b = tree.laplacian() @ np.arange(30_000.0)

    def solve():
        solver = LaplacianSolver(tree, solver="cholesky", random_state=3)
        return solver.solve(b), solver

    alone = peak_of(solve)
    whole = peak_of(lambda: certify(graph, tree, max_iter=25, rtol=1e-9, random_state=44_003))
    assert whole - alone <= 38 * 8 * graph.n_nodes  # 40, of which the solve above has some


def peak_of(call):
    call()  # compiles, and builds what is built once
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_a_graph_that_is_read_takes_more_columns_and_fewer_passes(monkeypatch):
    """30 are what sixteen columns and a basis of all blocks need at most; one or two need 43."""
    graph = sources.erdos_renyi(2500, 400_000, random_state=44_007)
    sparsifier = sparsify(graph, n_edges=25_000, random_state=44_008)
    kept = certify(graph, sparsifier, random_state=44_009)
    monkeypatch.setattr(certify_module, "MAX_GRAPH_BYTES", 2**20)
    read = certify(graph, sparsifier, random_state=44_009)
    held = certify(graph.to_edge_list(), sparsifier, random_state=44_009)
    assert kept.passes == 1
    assert read.passes <= 30 < held.passes
    for found in (kept, read, held):
        assert found.epsilon_upper <= 1.02 * found.epsilon_lower
        assert found.epsilon_lower <= kept.epsilon_upper
        assert kept.epsilon_lower <= found.epsilon_upper


def test_too_few_steps_report_which_end_is_unresolved():
    graph = sources.erdos_renyi(2500, 40_000, random_state=44_004).to_edge_list()
    sparsifier = sparsify(graph, keep=0.3, random_state=44_005)
    short = certify(graph, sparsifier, max_iter=30, random_state=44_006)
    assert short.epsilon_upper > 1.02 * short.epsilon_lower
    assert short.unresolved.startswith("after 30 steps the sparsifier is too heavy by at least ")
    assert short.unresolved.endswith(f" and at most {short.epsilon_upper:.4g}")
    assert short.unresolved in short.in_words()
    assert ("unresolved", short.unresolved, "") in short.rows()
    enough = certify(graph, sparsifier, random_state=44_006)
    assert enough.epsilon_upper <= 1.02 * enough.epsilon_lower
    assert not enough.unresolved


@pytest.mark.parametrize("is_held", [True, False])
def test_a_graph_is_solved_with_where_the_sparsifier_is_far_too_heavy(is_held, tmp_path):
    """The truth is within the bounds of all starts; delta leaves 1 failure in 40,000 to chance."""
    graph = sources.chung_lu(900, 12_000, random_state=55_811).to_edge_list().simplified()
    stream = StreamSparsifier(n_edges=1_400, random_state=55_812)
    sparsifier = stream.partial_fit(graph).sparsifier()
    exact = certify(graph, sparsifier)
    assert exact.epsilon_upper > 1.5
    source = graph
    if not is_held:
        write_edges(graph, tmp_path / "graph.tsv")
        source = read_edges(tmp_path / "graph.tsv")
    for seed in range(5):
        found = certify(source, sparsifier, method="lanczos", delta=5e-6, random_state=seed)
        assert found.epsilon_lower <= exact.epsilon_upper * (1 + 1e-9)
        assert exact.epsilon_upper <= found.epsilon_upper <= 1.02 * found.epsilon_lower
        assert found.lambda_max == 1 + found.epsilon_upper
        assert found.lambda_min <= exact.lambda_min
        assert found.maximizing_pair == exact.maximizing_pair
        assert found.passes < found.steps


def test_solving_with_the_graph_does_not_forget_how_much_too_light_the_sparsifier_is():
    """0.99 too light and 0.6 too heavy: the inverse pencil bounds the 0.6, and 0.99 is the error.

    A graph in memory is read once for products, and once more for the inverse pencil.
    """
    graph = sources.chung_lu(900, 12_000, random_state=55_811).to_edge_list().simplified()
    stream = StreamSparsifier(n_edges=1_400, random_state=55_812)
    sparsifier = stream.partial_fit(graph).sparsifier()
    factor = 1.6 / certify(graph, sparsifier).lambda_max
    lighter = EdgeList(
        tail=sparsifier.tail, head=sparsifier.head, weight=factor * sparsifier.weight, n_nodes=900
    )
    exact = certify(graph, lighter)
    assert exact.lambda_max - 1 < 0.61 < 0.98 < exact.epsilon_upper
    for seed in range(3):
        found = certify(graph, lighter, method="lanczos", rtol=1e-3, delta=5e-6, random_state=seed)
        assert found.passes == 2
        for lower, upper in found.history:
            assert lower <= exact.epsilon_upper * (1 + 1e-9)
            assert exact.epsilon_lower * (1 - 1e-9) <= upper
        assert found.epsilon_upper == found.history[-1][1] <= 1.001 * found.epsilon_lower
        assert exact.lambda_max * (1 - 1e-9) <= found.lambda_max <= 1 + found.epsilon_upper


def test_both_runs_of_an_inverted_certificate_have_the_whole_delta(monkeypatch):
    """Each of the two proves one end, and its bounds halve delta themselves."""
    deltas = []

    class Recorded(OuterBounds):
        def __init__(self, run, *, delta):
            deltas.append(delta)
            super().__init__(run, delta=delta)

    monkeypatch.setattr(certify_module, "OuterBounds", Recorded)
    graph = sources.chung_lu(900, 12_000, random_state=55_811).to_edge_list().simplified()
    stream = StreamSparsifier(n_edges=1_400, random_state=55_812)
    certify(graph, stream.partial_fit(graph).sparsifier(), method="lanczos", delta=0.03)
    assert deltas == [0.03, 0.03]


def test_kappa_is_known_from_both_ends_where_few_edges_are_left():
    """A cycle of 60 less one edge: the path's ratios lie between 1 / 60 and 1.

    Around the cycle, n - 1 edges in series stand beside the one that is missing. A common factor
    changes epsilon and not kappa.
    """
    cycle = sources.cycle(60).to_edge_list()
    path = EdgeList(tail=np.arange(59), head=np.arange(1, 60), weight=np.full(59, 3.0))
    exact = certify(cycle, path)
    assert exact.kappa == pytest.approx(60)
    assert exact.kappa_lower == pytest.approx(60)
    assert exact.optimal_scale * (exact.lambda_max + exact.lambda_min) == pytest.approx(2)
    better = EdgeList(tail=path.tail, head=path.head, weight=path.weight * exact.optimal_scale)
    assert certify(cycle, better).epsilon_upper == pytest.approx(59 / 61)
    assert exact.epsilon_rescaled == pytest.approx(59 / 61)
    found = certify(cycle, better, method="lanczos", random_state=3)
    assert found.kappa_lower <= 60 * (1 + 1e-6)
    assert 60 * (1 - 1e-6) <= found.kappa <= 1.1 * 60


def test_without_a_sparsifier_there_is_no_kappa():
    cycle = sources.cycle(60).to_edge_list()
    split = EdgeList(tail=[0, 1], head=[1, 2], n_nodes=60)
    assert certify(cycle, split).kappa == np.inf
    assert certify(cycle, split).optimal_scale == 0


@pytest.mark.parametrize(
    ("keep", "options"),
    [(0.4, {"method": "dense"}), (0.4, {"method": "lanczos"}), (0.12, {"method": "lanczos"})],
)
def test_fields_are_python_objects(keep, options):
    """numpy scalars would show in repr; the third case solves with the graph."""
    graph = sources.chung_lu(900, 12_000, random_state=55_811).to_edge_list().simplified()
    stream = StreamSparsifier(n_edges=int(keep * graph.n_edges), random_state=55_812)
    found = certify(graph, stream.partial_fit(graph).sparsifier(), random_state=3, **options)
    assert "np." not in repr(found)
    assert {type(value) for value in found.figures().values()} == {float}
    assert {type(bound) for bounds in found.history for bound in bounds} <= {float}
    assert {type(node) for node in found.minimizing_pair + found.maximizing_pair} == {int}
    assert (found.passes == 2) == (keep == 0.12)


@pytest.mark.parametrize("method", ["dense", "lanczos"])
def test_a_graph_without_edges_has_an_exact_certificate(method):
    nothing = EdgeList(tail=[], head=[], n_nodes=5)
    found = certify(nothing, nothing, method=method)
    assert (found.lambda_min, found.lambda_max, found.delta) == (1.0, 1.0, 0.0)


def test_a_pipe_is_an_input_error():
    class Pipe(sources.EdgeSource):
        is_rereadable = False

    with pytest.raises(InputError, match="write the edges to a file"):
        certify(Pipe(), sources.path(4).to_edge_list())
