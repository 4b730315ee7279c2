"""Solves on graphs that are read: the right numbers, from any source, through stops."""

import io
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numba
import numpy as np
import pytest
import scipy.sparse.linalg

from graphsqueak import (
    ConvergenceWarning,
    EdgeList,
    InputError,
    LaplacianSolver,
    StreamedSolver,
    StreamSparsifier,
    certify,
    read_edges,
    sources,
    sparsify,
    write_edges,
)
from graphsqueak.outofcore.convergence import Convergence
from graphsqueak.system.packing import pack
from tests import reference
from tests.comparison import differences
from tests.outofcore.graphs import examples, right_hand_sides

ROOT = Path(__file__).parent.parent.parent
SEED = 94_000


def test_the_solution_is_that_of_scipy():
    """A system with a ridge, by a sparse factorization, to 1e-8."""
    graph = sources.erdos_renyi(800, 40_000, random_state=SEED).to_edge_list()
    B = np.random.default_rng(SEED).standard_normal((800, 6))
    matrix = (graph.laplacian() + 0.3 * scipy.sparse.eye_array(800)).tocsc()
    truth = scipy.sparse.linalg.splu(matrix).solve(B)
    solver = StreamedSolver(graph, keep=0.1, ridge=0.3, tol=1e-10, random_state=SEED)
    assert np.abs(solver.solve(B) - truth).max() <= 1e-8 * np.abs(truth).max()
    assert solver.residual_ <= 1e-10
    true = np.linalg.norm(B - matrix @ solver.solve(B), axis=0) / np.linalg.norm(B, axis=0)
    assert true.max() <= 1.01e-10


@pytest.mark.parametrize("name", ["dense", "heavy", "clusters", "grid", "pieces"])
def test_singular_systems_of_all_kinds(name):
    graph = examples()[name]
    B = right_hand_sides(graph, 4, SEED + 1)
    solver = StreamedSolver(graph, keep=0.4, tol=1e-11, random_state=SEED)
    truth = reference.pseudo_solve(graph, B)
    assert np.abs(solver.solve(B) - truth).max() <= 1e-8 * np.abs(truth).max()


@pytest.mark.parametrize("name", ["dense", "pieces"])
def test_a_ridge_at_some_nodes(name):
    """Some components get one, others stay singular."""
    graph = examples()[name]
    ridge = np.zeros(graph.n_nodes)
    ridge[[0, 3, 9]] = 2.5  # all in one of three pieces
    B = right_hand_sides(graph, 2, SEED + 2)
    B[:12:3] += 1.0
    solver = StreamedSolver(graph, keep=0.4, ridge=ridge, tol=1e-11, random_state=SEED)
    truth = reference.pseudo_solve(graph, B, ridge)
    assert np.abs(solver.solve(B) - truth).max() <= 1e-8 * np.abs(truth).max()


def test_all_sources_of_one_graph(tmp_path):
    graph = examples()["heavy"]
    write_edges(graph, tmp_path / "edges.tsv")
    (tmp_path / "parts").mkdir()
    for part, rows in enumerate(np.array_split(np.arange(graph.n_edges), 3)):
        piece = graph.part(int(rows[0]), int(rows[-1]) + 1)
        write_edges(piece, tmp_path / "parts" / f"{part}.parquet")
    b = right_hand_sides(graph, 1, SEED + 3)[:, 0]
    truth = reference.pseudo_solve(graph, b)
    adjacency = graph.to_scipy()
    for source in (
        graph,
        adjacency,
        graph.to_networkx(),
        read_edges(tmp_path / "edges.tsv"),
        read_edges(tmp_path / "edges.tsv", ids="text", batch_size=700),
        read_edges(tmp_path / "parts"),
    ):
        solver = StreamedSolver(source, n_edges=1500, tol=1e-11, random_state=SEED)
        rows = solver.sparsifier_.ids.astype(np.int64)
        x = np.empty(b.size)
        x[rows] = solver.solve(b[rows])
        assert np.abs(x - truth).max() <= 1e-8 * np.abs(truth).max()
        assert solver.n_passes_ == 1 + len(solver.history_)


def test_what_is_given_comes_back():
    graph = examples()["dense"]
    solver = StreamedSolver(graph, keep=0.4, random_state=SEED)
    b = right_hand_sides(graph, 1, SEED + 4)[:, 0].astype(np.float32)
    assert solver.solve(b).shape == b.shape
    assert solver.solve(b).dtype == np.float32
    before = solver.n_passes_
    assert not solver.solve(np.zeros((graph.n_nodes, 2))).any()
    assert (solver.n_passes_, solver.residual_, solver.history_) == (before, 0.0, [])
    b = right_hand_sides(graph, 1, SEED + 4)
    tiny, huge = solver.solve(1e-200 * b), solver.solve(1e200 * b)
    assert np.allclose(tiny * 1e200, huge / 1e200, rtol=1e-4)


def test_graphs_of_next_to_nothing():
    alone = EdgeList(tail=[], head=[], n_nodes=3)
    assert not StreamedSolver(alone, n_edges=4).solve(np.zeros((3, 2))).any()
    assert np.allclose(StreamedSolver(alone, n_edges=4, ridge=2.0).solve(np.ones(3)), 0.5)
    for weight in (1e-300, 1e300):
        pair = EdgeList(tail=[0], head=[1], weight=[weight])
        x = StreamedSolver(pair, n_edges=4).solve(np.array([1.0, -1.0]))
        assert np.allclose(x * weight, [0.5, -0.5])


def test_steps_one_by_one_and_a_warm_start():
    graph = examples()["dense"]
    B = right_hand_sides(graph, 3, SEED + 5)
    solver = StreamedSolver(graph, keep=0.4, tol=1e-9, random_state=SEED)
    laplacian, n_passes = graph.laplacian(), 0
    for now in solver.iterate(B):
        n_passes += 1
        assert now.n_passes == n_passes
        assert np.allclose(now.residual, B - laplacian @ now.x, atol=1e-12)
        assert np.allclose(
            now.relative, np.linalg.norm(now.residual, axis=0) / np.linalg.norm(B, axis=0)
        )
    assert now.is_measured
    assert now.relative.max() <= 1e-9
    alone = solver.precondition(B)
    truth = reference.pseudo_solve(solver.sparsifier_, B)
    assert np.abs(alone - truth).max() <= 1e-2 * np.abs(truth).max()
    again = list(solver.iterate(B, x0=now.x))
    assert [step.n_passes for step in again] == [1]
    near = now.x + 1e-6 * right_hand_sides(graph, 3, SEED + 6)
    x = solver.solve(B, x0=near)
    assert len(solver.history_) < n_passes
    assert np.abs(x - reference.pseudo_solve(graph, B)).max() <= 1e-7
    with pytest.raises(InputError, match=r"x0 has shape \(150, 1\); the right-hand side has"):
        solver.solve(B, x0=B[:, 0])


@pytest.mark.parametrize("name", ["dense", "heavy", "clusters", "pieces"])
def test_the_energy_that_is_left_is_bracketed(name):
    """lambda_min r'M^+r <= |x - x*|_A^2 <= lambda_max r'M^+r, and b'x + x'r never is too much.

    Solves on the sparsifier are within a thousandth, hence the hundredth.
    """
    graph = examples()[name]
    solver = StreamedSolver(graph, keep=0.4, tol=1e-5, random_state=SEED)
    certificate = certify(graph, solver.sparsifier_)
    B = right_hand_sides(graph, 3, SEED + 9)
    laplacian, truth = graph.laplacian(), reference.pseudo_solve(graph, B)
    for now in solver.iterate(B):
        error = now.x - truth
        left, told = (error * (laplacian @ error)).sum(axis=0), now.energy
        assert (0.99 * certificate.lambda_min * told <= left).all()
        assert (left <= 1.01 * certificate.lambda_max * told).all()
        known = ((B + now.residual) * now.x).sum(axis=0)
        assert (known <= (B * truth).sum(axis=0) * (1 + 1e-10)).all()
        assert np.allclose(known + left, (B * truth).sum(axis=0))


class TestWhatIsWrong:
    """Mistakes are answered as LaplacianSolver and certify answer them."""

    graph = examples()["pieces"]

    def test_an_inconsistent_right_hand_side(self):
        b = np.ones(self.graph.n_nodes)
        with pytest.raises(InputError) as there:
            LaplacianSolver(self.graph).solve(b)
        with pytest.raises(InputError) as here:
            StreamedSolver(self.graph, keep=0.5, random_state=SEED).solve(b)
        assert str(here.value) == str(there.value)

    def test_a_sparsifier_of_another_graph(self):
        b = right_hand_sides(self.graph, 1, SEED)
        joined = EdgeList(tail=np.arange(153), head=np.arange(1, 154))
        with pytest.raises(InputError, match="two components of the graph; it belongs to another"):
            StreamedSolver(self.graph, sparsifier=joined).solve(b)
        bare = EdgeList(tail=[0], head=[3], n_nodes=154)
        with pytest.raises(InputError, match="it has lost a bridge, or belongs to another"):
            StreamedSolver(self.graph, sparsifier=bare).solve(np.eye(154)[0] - np.eye(154)[3])
        more = EdgeList(tail=[0], head=[3], n_nodes=200)
        with pytest.raises(InputError, match="node 154 of the sparsifier is not in the graph"):
            StreamedSolver(self.graph, sparsifier=more)
        x = StreamedSolver(self.graph, sparsifier=bare, ridge=500.0, tol=1e-10).solve(b)
        assert np.allclose(x, reference.pseudo_solve(self.graph, b, 500.0), atol=1e-9)

    def test_a_ridge_at_one_node_excuses_no_other_component(self):
        """The component without a ridge must not fall apart."""
        graph = EdgeList(tail=[0, 1, 3, 4], head=[1, 2, 4, 5])
        split = EdgeList(tail=[0, 1, 3], head=[1, 2, 4], n_nodes=6)
        ridge = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        b = np.array([1.0, 0.0, 0.0, 1.0, -1.0, 0.0])
        with pytest.raises(InputError, match="it has lost a bridge, or belongs to another"):
            StreamedSolver(graph, sparsifier=split, ridge=ridge).solve(b)
        x = StreamedSolver(graph, sparsifier=graph, ridge=ridge, tol=1e-10).solve(b)
        assert np.allclose(x, reference.pseudo_solve(graph, b, ridge), atol=1e-9)

    def test_a_sparsifier_in_another_order(self):
        graph = examples()["dense"]
        kept = sparsify(graph, keep=0.4, random_state=SEED)
        turn = np.random.default_rng(SEED).permutation(graph.n_nodes)
        turned = EdgeList(
            tail=np.argsort(turn)[kept.tail],
            head=np.argsort(turn)[kept.head],
            weight=kept.weight,
            ids=turn,
        )
        b = right_hand_sides(graph, 1, SEED)
        x = StreamedSolver(graph, sparsifier=turned, tol=1e-11).solve(b)
        assert np.allclose(x, reference.pseudo_solve(graph, b), atol=1e-9)

    def test_arguments(self):
        for budget in ({}, {"keep": 0.1, "n_edges": 5}):
            with pytest.raises(InputError, match="give exactly one of n_edges, epsilon and keep"):
                StreamedSolver(self.graph, **budget)
        with pytest.raises(InputError, match="give sparsifier, or one of"):
            StreamedSolver(self.graph, keep=0.5, sparsifier=self.graph)
        with pytest.raises(InputError, match="max_passes=1 must be at least 2"):
            StreamedSolver(self.graph, keep=0.5, max_passes=1)
        with pytest.raises(InputError, match="resume=True needs checkpoint,"):
            StreamedSolver(self.graph, keep=0.5, resume=True)
        with pytest.raises(InputError, match=r"ridge has shape \(3,\)"):
            StreamedSolver(self.graph, keep=0.5, ridge=[1.0, 2.0, 3.0])

    def test_a_pipe(self):
        with pytest.raises(InputError, match="a pipe can be read once: write it to a file first"):
            StreamedSolver(read_edges(io.BytesIO(b"0 1\n1 2\n")), keep=0.5)


class Changing(sources.EdgeSource):
    """A graph one of whose weights is another from pass `when` on."""

    def __init__(self, graph, when):
        super().__init__()
        self.graph, self.when, self.n_begun = graph, when, 0

    def _batches(self):
        self.n_begun += 1
        weight = self.graph.weight.copy()
        if self.n_begun >= self.when:
            weight[17] *= 1 + 1e-12
        yield EdgeList.from_validated(self.graph.tail, self.graph.head, weight, self.graph.n_nodes)


def test_a_graph_that_changes_between_passes(tmp_path):
    graph = examples()["dense"]
    b = right_hand_sides(graph, 1, SEED)
    solver = StreamedSolver(Changing(graph, when=4), keep=0.4, random_state=SEED)
    with pytest.raises(InputError, match="the input had other edges in an earlier pass, as many"):
        solver.solve(b)
    path = tmp_path / "edges.tsv"
    write_edges(graph, path)
    solver = StreamedSolver(read_edges(path), keep=0.4, random_state=SEED)
    write_edges(graph.part(1), path)
    with pytest.raises(InputError, match="has changed since it was read before"):
        solver.solve(b)


def test_too_coarse_a_sparsifier_says_so_and_may_grow():
    graph = sources.small_world(40, 40, 12_000, random_state=SEED).to_edge_list()
    b = right_hand_sides(graph, 2, SEED + 7)
    solver = StreamedSolver(graph, n_edges=1700, max_passes=15, random_state=SEED)
    with (
        pytest.warns(ConvergenceWarning, match=r"too coarse: at this rate about \d+ more passes"),
        pytest.warns(ConvergenceWarning, match=r"stopped after 15 passes .* max_passes=15 was"),
    ):
        x = solver.solve(b)
    true = np.linalg.norm(b - graph.laplacian() @ x, axis=0) / np.linalg.norm(b, axis=0)
    assert solver.residual_ == pytest.approx(true.max(), rel=1e-6)
    grown = StreamedSolver(graph, n_edges=1700, max_edges=9000, max_passes=40, random_state=SEED)
    x = grown.solve(b)
    assert 1700 < grown.sparsifier_.n_edges <= 9000
    assert grown.n_passes_ > 1 + len(grown.history_)
    assert np.linalg.norm(b - graph.laplacian() @ x) <= 1e-6 * np.linalg.norm(b)


def test_rounding_ends_it():
    """No residual reaches 1e-17; it notices long before max_passes."""
    graph = examples()["dense"]
    b = right_hand_sides(graph, 1, SEED)
    solver = StreamedSolver(graph, keep=0.4, tol=1e-17, max_passes=90, random_state=SEED)
    with pytest.warns(ConvergenceWarning, match="do not reduce it|too coarse"):
        solver.solve(b)
    assert len(solver.history_) < 60
    assert solver.residual_ < 1e-14


def test_a_solve_holds_few_blocks():
    """Ten of the size of b at a time, among them the four parts of a product."""
    graph = sources.erdos_renyi(2000, 40_000, random_state=SEED).to_edge_list()
    solver = StreamedSolver(graph, n_edges=12_000, random_state=SEED)
    block = right_hand_sides(graph, 64, SEED)
    solver.solve(block)
    peaks = []
    # A kernel may be compiled in one of the solves, which takes memory of its own.
    for _ in range(2):
        tracemalloc.start()
        try:
            solver.solve(block)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert min(peaks) < 12 * block.nbytes


def test_threads_do_not_change_the_bytes():
    graph = sources.erdos_renyi(3000, 150_000, random_state=SEED)
    B = np.random.default_rng(SEED).standard_normal((3000, 16))
    before, found = numba.get_num_threads(), []
    for n_threads in (1, before):
        numba.set_num_threads(n_threads)
        solver = StreamedSolver(graph, keep=0.2, ridge=0.1, tol=1e-4, random_state=SEED)
        found.append(solver.solve(B).tobytes())
    numba.set_num_threads(before)
    assert found[0] == found[1]


class TestCheckpoints:
    """A stop and a resume give the bytes of a run without a stop."""

    def problem(self, tmp_path):
        graph = examples()["heavy"]
        write_edges(graph, tmp_path / "edges.tsv")
        b = right_hand_sides(graph, 3, SEED + 8)
        order = read_edges(tmp_path / "edges.tsv").to_edge_list().ids
        return tmp_path / "edges.tsv", b[order]

    def solver(self, path, **options):
        settings = {"n_edges": 1200, "tol": 1e-9, "random_state": SEED} | options
        return StreamedSolver(read_edges(path, ids="text"), **settings)

    def stopped(self, path, b, n_passes, **options):
        for now in self.solver(path, **options).iterate(b / 2):
            if now.n_passes == n_passes:
                return

    @pytest.mark.parametrize("n_passes", [1, 3])
    def test_a_stop_and_a_resume(self, tmp_path, n_passes):
        path, b = self.problem(tmp_path)
        checkpoint = tmp_path / "run.ckpt"
        whole = list(self.solver(path).iterate(b / 2))
        self.stopped(path, b, n_passes, checkpoint=checkpoint)
        again = self.solver(path, checkpoint=checkpoint, resume=True)
        rest = list(again.iterate(b / 2))
        assert [now.n_passes for now in rest] == [now.n_passes for now in whole][n_passes:]
        assert rest[-1].x.tobytes() == whole[-1].x.tobytes()
        assert len(again.history_) == len(whole)
        other = self.solver(path, checkpoint=checkpoint, resume=True).solve(b[:, :1])
        assert other.tobytes() == self.solver(path).solve(b[:, :1]).tobytes()

    def test_what_was_done_is_not_done_again(self, tmp_path):
        path, b = self.problem(tmp_path)
        checkpoint = tmp_path / "run.ckpt"
        first = self.solver(path, checkpoint=checkpoint)
        x = first.solve(b)
        again = self.solver(path, checkpoint=checkpoint, resume=True)
        assert again.solve(b).tobytes() == x.tobytes()
        assert (again.n_passes_, again.residual_) == (first.n_passes_, first.residual_)

    def test_what_does_not_fit_is_refused(self, tmp_path):
        path, b = self.problem(tmp_path)
        checkpoint = tmp_path / "run.ckpt"
        self.stopped(path, b, 2, checkpoint=checkpoint)
        for other in ({"n_edges": 1300}, {"random_state": 1}):
            with pytest.raises(InputError, match="written with other options or another random"):
                self.solver(path, checkpoint=checkpoint, resume=True, **other)
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join([*lines[:5], *lines[6:]]))
        with pytest.raises(InputError, match="the input had 4,000 edges in an earlier pass and"):
            self.solver(path, checkpoint=checkpoint, resume=True).solve(b)
        with open(checkpoint, "wb") as file:
            pack(file, {"format": "graphsqueak solve 2", "n_nodes": 2}, {})
        with pytest.raises(InputError, match="holds no state of a solve"):
            self.solver(path, checkpoint=checkpoint, resume=True)
        StreamSparsifier(n_edges=5).partial_fit(examples()["dense"]).save(checkpoint)
        with pytest.raises(InputError, match="is not a checkpoint of a streamed solve"):
            self.solver(path, checkpoint=checkpoint, resume=True)
        checkpoint.write_bytes(checkpoint.read_bytes()[:-40])
        with pytest.raises(InputError, match="is not a complete checkpoint"):
            self.solver(path, checkpoint=checkpoint, resume=True)
        with pytest.raises(InputError, match="does not exist; create it"):
            self.solver(path, checkpoint=tmp_path / "missing" / "run.ckpt")

    @pytest.mark.slow
    def test_a_kill_in_pass_three(self, tmp_path):
        path, b = self.problem(tmp_path)
        np.save(tmp_path / "b.npy", b)
        settings = {"n_edges": 1200, "tol": 1e-9, "random_state": SEED}
        whole = StreamedSolver(read_edges(path), **settings).solve(b)
        script = f"""
import os, signal, sys
import numpy as np
from graphsqueak import StreamedSolver, read_edges
def told(n_edges, share, note):
    if sys.argv[1] == "kill" and note.startswith("pass 3"):
        os.kill(os.getpid(), signal.SIGKILL)
solver = StreamedSolver(read_edges({str(path)!r}), n_edges=1200, tol=1e-9, random_state={SEED},
    checkpoint="run.ckpt", resume=sys.argv[1] == "resume", progress=told)
np.save(sys.argv[1] + ".npy", solver.solve(np.load("b.npy")))
"""
        for word, code in (("kill", -9), ("resume", 0)):
            done = subprocess.run(
                [sys.executable, "-c", script, word],
                cwd=tmp_path,
                # The same environment: it may select the BLAS kernels, hence the last bits.
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                check=False,
            )
            assert done.returncode == code
        assert np.load(tmp_path / "resume.npy").tobytes() == whole.tobytes()


def test_a_resumed_iteration_is_as_fast_as_it_was():
    """The rate is that of the passes since the preconditioner changed, after a stop as well."""
    course = Convergence(is_measured=False)
    for t in range(8):
        course.note(0.99**t, is_measured=False)
    course.forget_rate()
    for t in range(7):
        course.note(0.5**t, is_measured=t == 6)
    course.has_warned = True
    resumed = Convergence()
    resumed.restore(json.loads(json.dumps(course.numbers())))
    assert differences(resumed, course) == []
    assert resumed.passes_left(0.5**10) == pytest.approx(4)
    assert not resumed.is_stuck()
