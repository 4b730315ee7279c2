"""Merge trees on workers: two against one, and one against this process.

    python benchmarks/bench_distributed.py [--quick] [--json] [--rounds N] [--folder DIR]
        [--tree SHAPE]

Edges lie in 16 Parquet files; a guided tree, or one of another shape, sparsifies them

*here*: in one process on one thread, the merge tree without Dask,
*one worker*, *two workers*: processes of one thread each, started by Dask before the clock runs,
*one pass*: no tree, one thread, for what a tree costs beyond that.

The thread is the unit: this benchmark and its workers run with one thread each for numba, BLAS and
Arrow, so that two workers have twice what one has and no more. Every run reads the same files,
which are in the page cache, takes the same seed and must give the same bytes.
"""

import argparse
import json
import os
import sys

ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)

import tempfile  # noqa: E402
import time  # noqa: E402
from contextlib import ExitStack  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

from graphsqueak import EdgeList, StreamSparsifier, read_edges, write_edges  # noqa: E402
from graphsqueak.sources.files.splitting import split  # noqa: E402
from graphsqueak.sparsifiers.tree.parts import Piece, grow_tree, leaf, merge  # noqa: E402
from graphsqueak.trees.backends import open_backend  # noqa: E402

SEED = 1_618_033
N_PARTS = 16


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="an eighth of the edges")
    parser.add_argument("--rounds", type=int, default=1, help="how often; the best time counts")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--folder", type=Path, help="keep the parts there, and use them again")
    parser.add_argument("--tree", default="guided", help="shape of the tree; default guided")
    arguments = parser.parse_args()
    n_edges = 5_000_000 if arguments.quick else 40_000_000
    settings = {"n_edges": n_edges // 40}
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        if not list(folder.glob("*.parquet")):
            write_parts(folder, n_edges, n_edges // 400)
        pieces = split(read_edges(folder), N_PARTS)
        seconds, facts = timed_rounds(pieces, settings, arguments.rounds, arguments.tree)
        steps = step_costs(pieces, settings)
    best = {name: min(times) for name, times in seconds.items()}
    rows = [
        {"run": name, "seconds": best[name], "million edges/s": n_edges / best[name] / 1e6}
        for name in best
    ]
    ratios = {
        "two workers over one (wanted 1.7)": best["one worker"] / best["two workers"],
        "one worker over here (wanted 0.85)": best["here"] / best["one worker"],
    } | facts
    if arguments.json:
        record = {"benchmark": "distributed", "edges": n_edges, "parts": len(pieces)}
        print(json.dumps(record | {"rows": rows, "ratios": ratios, "steps": steps}))
        return
    print(f"{n_edges:,} edges in {len(pieces)} parts, {settings['n_edges']:,} kept")
    for row in rows:
        print(
            "  ".join(
                f"{key} {value if isinstance(value, str) else f'{value:.4g}'}"
                for key, value in row.items()
            )
        )
    for name, value in (ratios | steps).items():
        print(f"{name}: {value if isinstance(value, bool) else f'{value:,.4g}'}")


def write_parts(folder, n_edges, n_nodes):
    """Uniform random edges; node ids are spread out, as those of users are."""
    rng = np.random.default_rng(SEED)
    ids = rng.permutation(10 * n_nodes)[:n_nodes]
    for number in range(N_PARTS):
        tail = rng.integers(n_nodes, size=n_edges // N_PARTS)
        head = (tail + rng.integers(1, n_nodes, size=tail.size)) % n_nodes
        part = EdgeList(tail=tail, head=head, n_nodes=n_nodes, ids=ids)
        write_edges(part, folder / f"part{number:02d}.parquet")


def timed_rounds(pieces, settings, n_rounds, shape):
    """Seconds of every run; whether all gave the same bytes; memory and traffic of two workers."""
    how = {"settings": settings, "seed": SEED, "shape": shape}
    seconds, results = {}, set()
    with ExitStack() as stack:
        backends = {
            "here": stack.enter_context(open_backend()),
            "one worker": stack.enter_context(open_backend(workers=1)),
            "two workers": stack.enter_context(open_backend(workers=2)),
        }
        for backend in backends.values():  # compiled code is loaded before the clock runs
            grow_tree([pieces[0], pieces[1], pieces[2]], **how, backend=backend)
        for _ in range(n_rounds):
            for name, backend in backends.items():
                began = time.perf_counter()
                run = grow_tree(pieces, **how, backend=backend).run
                seconds.setdefault(name, []).append(time.perf_counter() - began)
                results.add(run.result)
                costs = {"MiB a worker": run.worker_peak_bytes >> 20}
                costs |= {"MiB moved": run.moved_bytes >> 20}
            began = time.perf_counter()
            stream = StreamSparsifier(**settings, random_state=SEED)
            for piece in pieces:
                stream.partial_fit(piece)
            seconds.setdefault("one pass", []).append(time.perf_counter() - began)
    return seconds, {"same bytes": len(results) == 1} | costs


def step_costs(pieces, settings):
    """What one leaf, one merge and the last shrink cost."""
    began = time.perf_counter()
    states = [leaf(Piece(i, pieces[i]), SEED + i, settings=settings) for i in range(2)]
    reading = time.perf_counter() - began
    began = time.perf_counter()
    merged = merge(states, SEED)
    merging = time.perf_counter() - began
    streams = [StreamSparsifier.from_bytes(state) for state in states]
    n_read = sum(stream.n_edges_seen_ for stream in streams)
    n_kept = sum(stream.n_kept_ for stream in streams)
    root = StreamSparsifier.from_bytes(merged)
    began = time.perf_counter()
    root.sparsifier()
    return {
        "edges a leaf reads per second": n_read / reading,
        "kept edges a merge takes in per second": n_kept / merging,
        "seconds of the last shrink": time.perf_counter() - began,
        "bytes of a state per kept edge": len(states[0]) / streams[0].n_kept_,
    }


if __name__ == "__main__":
    main()
