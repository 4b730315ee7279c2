"""A kernel has a serial and a parallel form, which agree; compiled code is kept where it can be."""

import importlib.util
import io
import sys

import numba
import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.graph.forest import join, roots
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sparsifiers.resistance.degrees import degree_sketch
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges, coalesce
from graphsqueak.system.kernels import WORTH_SHARING, run, shared

SEED = 271_829
MODULE = """
import numba
from graphsqueak.system.kernels import compiled, shared

@compiled
def twice(x):
    return 2 * x

@shared
def fill(out):
    for i in numba.prange(out.size):
        out[i] = i
"""

needs_threads = pytest.mark.skipif(
    numba.config.NUMBA_NUM_THREADS == 1, reason="a single thread shares nothing"
)


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Import the module above anew, as another process would."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    path = tmp_path / "some_kernels.py"
    path.write_text(MODULE)

    def load_again():
        spec = importlib.util.spec_from_file_location("some_kernels", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "some_kernels", module)
        spec.loader.exec_module(module)
        return module

    return load_again


def signatures(form):
    return len(form.signatures)


@needs_threads
def test_the_parallel_form_is_compiled_when_enough_was_shared(load):
    fill, out = load().fill, np.zeros(5)
    run(fill, WORTH_SHARING - 1, out)
    for _ in range(40):
        run(fill, WORTH_SHARING, out)
    assert out.tolist() == [0, 1, 2, 3, 4]
    assert (signatures(fill.serial), signatures(fill.parallel)) == (1, 0)
    for _ in range(20):
        run(fill, WORTH_SHARING, out)
    assert signatures(fill.parallel) == 1


@needs_threads
def test_a_parallel_form_on_disk_is_used_at_once(load):
    run(load().fill, 10**12, np.zeros(5))
    fill, out = load().fill, np.zeros(5)
    run(fill, WORTH_SHARING, out)
    assert sum(fill.parallel.stats.cache_hits.values()) == 1
    assert signatures(fill.serial) == 0
    assert out.tolist() == [0, 1, 2, 3, 4]


def test_who_is_allowed_one_thread_compiles_no_parallel_form(load):
    fill, allowed = load().fill, numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        run(fill, 10**12, np.zeros(5))
    finally:
        numba.set_num_threads(allowed)
    assert (signatures(fill.serial), signatures(fill.parallel)) == (1, 0)


def test_nothing_needs_to_be_written(load, tmp_path, monkeypatch):
    """Neither the package nor the user's home can be written to."""
    nowhere = tmp_path / "__pycache__"
    nowhere.write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(nowhere / "cache"))
    monkeypatch.setenv("HOME", str(nowhere))
    module, out = load(), np.zeros(3)
    assert module.twice.stats.cache_path is None
    assert module.twice(21) == 42
    run(module.fill, 10**12, out)
    assert out.tolist() == [0, 1, 2]


def every_kernel():
    modules = [module for name, module in sys.modules.items() if name.startswith("graphsqueak.")]
    found = [value for module in modules for value in vars(module).values()]
    return [value for value in found if isinstance(value, shared)]


def results():
    """Bytes of what all kernels take part in."""
    graph = gs.sources.erdos_renyi(3000, 60_000, random_state=SEED).to_edge_list()
    sparse = gs.sparsify(graph, keep=0.5, random_state=SEED)
    blocks = gs.sources.block_model(300, 20_000, random_state=SEED).to_edge_list()
    between = (blocks.tail < 150) != (blocks.head < 150)
    weight = np.where(between, 1e-7, 1.0)  # a weak cut
    weak = gs.EdgeList(tail=blocks.tail, head=blocks.head, weight=weight, n_nodes=300)
    often = gs.StreamOptions(chunk_size=64)  # small streams shrink, too
    small = gs.sparsify(weak, n_edges=900, random_state=SEED, options=often)
    by_degree = gs.StreamOptions(degree_approx_min_nodes=1)
    dense = gs.sources.erdos_renyi(300, 20_000, random_state=SEED).to_edge_list()
    large = gs.sparsify(dense, n_edges=3000, random_state=SEED, options=by_degree)
    in_place = gs.StreamOptions(degree_approx_min_nodes=1, inplace_min_edges=1, chunk_size=1024)
    many = gs.sparsify(dense, n_edges=3000, random_state=SEED, options=in_place)
    ends, forest = (dense.tail, dense.head, dense.weight), join(roots(300), dense.tail, dense.head)
    stars = degree_sketch(*ends, forest, dense.degrees(), seed=SEED, aggregation_min_nodes=1).points
    rng = np.random.default_rng(SEED)
    solver = LaplacianSolver(sparse, solver="cholesky", ridge=0.1, random_state=SEED)
    solved = solver.solve(rng.standard_normal((sparse.n_nodes, 9)))
    pairs = gs.effective_resistance(sparse, pairs=[(0, 1)], method="sketch", random_state=SEED)
    points = rng.standard_normal((300, 5))
    clusters = gs.sources.block_model(1_200, 12_000, n_blocks=3, random_state=SEED)
    places = gs.analysis.spectral_embedding(clusters.to_edge_list(), random_state=SEED).points
    near = [gs.neighbor_edges(rows, 4).to_edge_list() for rows in (points, small.to_scipy())]
    certificate = gs.certify(graph, sparse, steps=4, random_state=SEED)
    product = StreamedLaplacian(graph, sparse).multiply(rng.standard_normal((3000, 2)))
    kept = SampledEdges(*ends, np.ones(dense.n_edges, np.uint8), forest)
    merged = coalesce(SampledEdges(*map(np.repeat, kept, [2] * 5)), 300, few=0).weight
    table = "".join(f"{entity} {entity % 7}\n" for entity in range(300)).encode()
    shared_by = gs.read_pairs(io.BytesIO(table))
    gs.sparsify(shared_by, n_edges=900, random_state=SEED)
    projected = shared_by.multiply(rng.standard_normal((300, 2)))
    graphs = (sparse, small, large, many, *near)
    arrays = [solved, pairs, stars, projected, places, product, merged]
    arrays += [edges.weight for edges in graphs]
    return [array.tobytes() for array in arrays] + [certificate.history]


@pytest.mark.slow
def test_serial_and_parallel_forms_give_the_same_bytes(monkeypatch):
    alone = results()
    for kernel in every_kernel():
        monkeypatch.setattr(kernel, "serial", kernel.parallel)
    assert results() == alone
    left_out = {k.parallel.__name__ for k in every_kernel() if not signatures(k.parallel)}
    assert not left_out
