"""Sparsify 16 Parquet files with a merge tree, on Dask workers of one thread each.

Workers are started before the clock. Spark is not measured.
"""

from contextlib import contextmanager
from functools import partial

import numba
import numpy as np
import pyarrow as pa
import threadpoolctl

from benchmarks.runner import OURS, Run, case
from graphsqueak import EdgeList, StreamSparsifier, read_edges, write_edges
from graphsqueak.sources.files.splitting import split
from graphsqueak.sparsifiers.tree.parts import grow_tree
from graphsqueak.trees.backends import open_backend

N_PARTS = 16
EDGES_PER_NODE = 400
EDGES_KEPT_PER_NODE = 10
SHORT = (5_000_000,)
FULL = (5_000_000, 40_000_000)


@case("distributed", short=SHORT, full=FULL)
def guided(run: Run, n_edges: int) -> None:
    """Sparsify with a guided tree, on one and two Dask workers, and in one pass."""
    _measure(run, n_edges, "guided")


@case("distributed", full=FULL)
def balanced(run: Run, n_edges: int) -> None:
    """Sparsify with a balanced tree, on one and two Dask workers, and in one pass."""
    _measure(run, n_edges, "balanced")


def _measure(run, n_edges, shape):
    n_nodes = n_edges // EDGES_PER_NODE
    _write_parts(run.folder, n_edges, n_nodes, run.seed)
    pieces = split(read_edges(run.folder), N_PARTS)
    n_kept = EDGES_KEPT_PER_NODE * n_nodes
    with (
        _one_thread(),
        open_backend() as here,
        open_backend(workers=1) as one,
        open_backend(workers=2) as two,
    ):
        tree = partial(_grow, pieces, n_kept, run.seed, shape)
        contenders = {
            OURS: partial(tree, two),
            "one worker": partial(tree, one),
            "this process": partial(tree, here),
            "this process, one pass": partial(_one_pass, pieces, n_kept, run.seed),
            "Dask uniform sample, two workers": partial(
                _dask_sample, run.folder, n_kept / n_edges, run.seed
            ),
        }
        outputs = run.time(contenders)
    found = outputs[OURS]
    for name in ("one worker", "this process"):
        if outputs[name].result != found.result:
            raise AssertionError(f"the result of {name} differs from that of two workers")
    run.record(OURS, "peak memory per worker", found.worker_peak_bytes / 2**20, unit="MiB")
    run.record(OURS, "moved", found.moved_bytes / 2**20, unit="MiB")


@contextmanager
def _one_thread():
    """Let this process use one thread, as each worker does."""
    n_threads = numba.get_num_threads()
    n_arrow_threads = pa.cpu_count()
    numba.set_num_threads(1)
    pa.set_cpu_count(1)
    try:
        with threadpoolctl.threadpool_limits(1):
            yield
    finally:
        numba.set_num_threads(n_threads)
        pa.set_cpu_count(n_arrow_threads)


def _write_parts(folder, n_edges, n_nodes, seed):
    """Write uniform random edges; node ids are spread out, as those of users are."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(10 * n_nodes)[:n_nodes]
    for number in range(N_PARTS):
        tail = rng.integers(n_nodes, size=n_edges // N_PARTS)
        head = (tail + rng.integers(1, n_nodes, size=tail.size)) % n_nodes
        part = EdgeList(tail=tail, head=head, n_nodes=n_nodes, ids=ids)
        write_edges(part, folder / f"part{number:02d}.parquet")


def _grow(pieces, n_kept, seed, shape, backend):
    settings = {"n_edges": n_kept}
    return grow_tree(pieces, settings=settings, seed=seed, shape=shape, backend=backend).run


def _one_pass(pieces, n_kept, seed):
    stream = StreamSparsifier(n_edges=n_kept, random_state=seed)
    for piece in pieces:
        stream.partial_fit(piece)
    return stream.sparsifier()


def _dask_sample(folder, fraction, seed):
    """Sample rows uniformly on the workers that were started last."""
    import dask.dataframe

    frame = dask.dataframe.read_parquet(folder)
    return frame.sample(frac=fraction, random_state=seed).compute()
