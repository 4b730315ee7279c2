"""Kernels: the serial and the parallel form agree, and compiled code is cached if possible."""

import importlib.util
import io
import sys
import threading
import time

import numba
import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.graph.forest import make_sets, union_edges
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sparsifiers.resistance.degrees import degree_sketch
from graphsqueak.sparsifiers.stream.coalesce import coalesce
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.system.kernels import (
    WORTH_SHARING,
    parallel_njit,
    prefetch_map,
    run_kernel,
)

SEED = 271_829
MODULE = """
import numba
from graphsqueak.system.kernels import njit_cached, parallel_njit

@njit_cached
def twice(x):
    return 2 * x

@njit_cached
def total(x):
    result = 0.0
    for i in range(x.size):
        result += x[i]
    return result

@parallel_njit
def fill(out):
    for i in numba.prange(out.size):
        out[i] = i
"""

needs_threads = pytest.mark.skipif(
    numba.config.NUMBA_NUM_THREADS == 1, reason="a single thread shares nothing"
)


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Import the module above again, as another process would."""
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
    run_kernel(fill, WORTH_SHARING - 1, out)
    for _ in range(40):
        run_kernel(fill, WORTH_SHARING, out)
    assert out.tolist() == [0, 1, 2, 3, 4]
    assert (signatures(fill.serial), signatures(fill.parallel)) == (1, 0)
    for _ in range(20):
        run_kernel(fill, WORTH_SHARING, out)
    assert signatures(fill.parallel) == 1


@needs_threads
def test_a_parallel_form_on_disk_is_used_at_once(load):
    run_kernel(load().fill, 10**12, np.zeros(5))
    fill, out = load().fill, np.zeros(5)
    run_kernel(fill, WORTH_SHARING, out)
    assert sum(fill.parallel.stats.cache_hits.values()) == 1
    assert signatures(fill.serial) == 0
    assert out.tolist() == [0, 1, 2, 3, 4]


def test_one_thread_compiles_no_parallel_form(load):
    fill, allowed = load().fill, numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        run_kernel(fill, 10**12, np.zeros(5))
    finally:
        numba.set_num_threads(allowed)
    assert (signatures(fill.serial), signatures(fill.parallel)) == (1, 0)


def test_kernels_work_without_a_cache(load, tmp_path, monkeypatch):
    """Neither the package nor the user's home can be written to."""
    nowhere = tmp_path / "__pycache__"
    nowhere.write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(nowhere / "cache"))
    monkeypatch.setenv("HOME", str(nowhere))
    module, out = load(), np.zeros(3)
    assert module.twice.stats.cache_path is None
    assert module.twice(21) == 42
    run_kernel(module.fill, 10**12, out)
    assert out.tolist() == [0, 1, 2]


def test_processes_that_compile_at_the_same_time_do_not_swap_code(load, monkeypatch):
    """Both find an empty cache, and the second one saves while the first one does."""
    from numba.core.caching import IndexDataCacheFile

    first = load()
    second = load()
    contiguous = np.arange(6.0)
    strided = np.arange(12.0)[::2]
    save_data = IndexDataCacheFile._save_data
    load_index = IndexDataCacheFile._load_index

    def second_process_first(cache_file, name, data):
        monkeypatch.setattr(IndexDataCacheFile, "_save_data", save_data)
        monkeypatch.setattr(IndexDataCacheFile, "_load_index", lambda cache_file: {})
        second.total(strided)
        monkeypatch.setattr(IndexDataCacheFile, "_load_index", load_index)
        save_data(cache_file, name, data)

    monkeypatch.setattr(IndexDataCacheFile, "_save_data", second_process_first)
    first.total(contiguous)
    later = load()
    assert later.total(strided) == strided.sum()
    assert later.total(contiguous) == contiguous.sum()


def every_kernel():
    modules = [module for name, module in sys.modules.items() if name.startswith("graphsqueak.")]
    found = [value for module in modules for value in vars(module).values()]
    return [value for value in found if isinstance(value, parallel_njit)]


def results():
    """Return results, as bytes, that use every parallel kernel."""
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
    in_forest = union_edges(make_sets(300), dense.tail, dense.head)
    sample = SampledEdges(dense.tail, dense.head, dense.weight, in_forest)
    coarse = degree_sketch(sample, dense.degrees(), seed=SEED).points
    rng = np.random.default_rng(SEED)
    solver = LaplacianSolver(sparse, solver="cholesky", ridge=0.1, random_state=SEED)
    solved = solver.solve(rng.standard_normal((sparse.n_nodes, 9)))
    pairs = gs.effective_resistance(sparse, pairs=[(0, 1)], method="sketch", random_state=SEED)
    points = rng.standard_normal((300, 5))
    clusters = gs.sources.block_model(1_200, 12_000, n_blocks=3, random_state=SEED)
    places = gs.analysis.spectral_embedding(clusters.to_edge_list(), random_state=SEED).points
    near = [gs.neighbor_edges(rows, 4).to_edge_list() for rows in (points, small.to_scipy())]
    certificate = gs.certify(graph, sparse, max_iter=4, random_state=SEED)
    product = StreamedLaplacian(graph, sparse).multiply(rng.standard_normal((3000, 2)))
    twice = SampledEdges(
        *(np.repeat(column, 2) for column in (dense.tail, dense.head, dense.weight, in_forest))
    )
    merged = twice.weight[: coalesce(twice, 300)]
    table = "".join(f"{entity} {entity % 7}\n" for entity in range(300)).encode()
    shared_by = gs.read_projection(io.BytesIO(table))
    gs.sparsify(shared_by, n_edges=900, random_state=SEED)
    projected = shared_by.multiply(rng.standard_normal((300, 2)))
    graphs = (sparse, small, large, many, *near)
    arrays = [solved, pairs, coarse, projected, places, product, merged]
    arrays += [edges.weight for edges in graphs]
    return [array.tobytes() for array in arrays] + [certificate.history]


@pytest.mark.slow
def test_serial_and_parallel_forms_agree_bit_for_bit(monkeypatch):
    alone = results()
    for kernel in every_kernel():
        monkeypatch.setattr(kernel, "serial", kernel.parallel)
    assert results() == alone
    left_out = {k.parallel.__name__ for k in every_kernel() if not signatures(k.parallel)}
    assert not left_out


def test_order_is_kept_when_later_items_finish_first():
    def work(number):
        time.sleep(0.01 * (number % 3 == 0))
        return number

    assert list(prefetch_map(work, range(30), n_workers=3)) == list(range(30))
    assert list(prefetch_map(work, range(5), n_spare=1_000)) == list(range(5))  # one thread is left


@pytest.mark.parametrize("fails_in", ["items", "function"])
def test_errors_arrive_in_their_place(fails_in):
    def items():
        for number in range(10):
            if fails_in == "items" and number == 5:
                raise ZeroDivisionError
            yield number

    def work(number):
        if fails_in == "function" and number == 5:
            raise ZeroDivisionError
        return number

    ahead = prefetch_map(work, items(), n_workers=2)
    assert [next(ahead) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ZeroDivisionError):
        next(ahead)


def test_few_items_are_drawn_ahead():
    drawn = []

    def items():
        for number in range(1000):
            drawn.append(number)
            yield number

    ahead = prefetch_map(lambda number: number, items(), n_workers=2)
    assert next(ahead) == 0
    time.sleep(0.1)
    assert len(drawn) <= 4
    ahead.close()


def test_threads_end_when_the_consumer_stops_early():
    before = threading.active_count()
    for _ in range(20):
        ahead = prefetch_map(lambda number: number, range(10**6), n_workers=2)
        assert next(ahead) == 0
        ahead.close()
    for _ in range(200):
        if threading.active_count() <= before:
            break
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_items_are_closed_when_the_consumer_stops():
    """Some libraries let one reader be open at a time: the next one must not find this one so."""
    closed = []

    def items():
        try:
            yield from range(100)
        finally:
            closed.append(True)

    ahead = prefetch_map(lambda number: number, items(), n_workers=2)
    next(ahead)
    ahead.close()
    assert closed == [True]


def test_no_thread_is_started_if_one_is_allowed():
    allowed = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        [worker] = prefetch_map(lambda _: threading.get_ident(), [None])
    finally:
        numba.set_num_threads(allowed)
    assert worker == threading.get_ident()
