"""The shape of Friendster: 65 million nodes, 1.8 billion edges, three edges a node kept.

    python benchmarks/bench_friendster.py [--share S] [--folder DIR] [--json]
                                          [--checkpoint-interval SECONDS]
    python benchmarks/bench_friendster.py --quick

The stream is made as it is read and never stored: edge e is a function of the seed and of e alone.
Ids are 0, ..., n - 1. The node of rank i is an end with probability proportional to (i + c)^-s,
s = 2/3, so that the number of nodes of degree d falls as d^-2.5, and c makes the largest degree
about 5,214, as in com-Friendster; ids are the ranks, shuffled. --share 0.2 runs a fifth of both,
nodes and edges.

With --folder the run saves a checkpoint there at this interval and, stopped in any way, goes
on from the last one when it is started again with the same options. What is printed as it goes, and
at the end, tells of the edges since this start.
"""

import argparse
import json
import math
import time
import warnings
from pathlib import Path

import numpy as np

from graphsqueak import AccuracyWarning
from graphsqueak.randomness import uniform
from graphsqueak.sources.synthetic.closed_forms import SyntheticSource
from graphsqueak.sparsifiers.config import SparsifyConfig
from graphsqueak.sparsifiers.run import open_stream, run_stream
from graphsqueak.system.kernels import njit_cached
from graphsqueak.system.memory import peak_rss

N_NODES, N_EDGES, KEPT_PER_NODE = 65_608_366, 1_806_067_135, 3
LARGEST_DEGREE = 5214
ROOT = 3
EXPONENT = 1 - 1 / ROOT
SEED = 65_608_366
QUICK = 0.002
LINES = 100  # printed as the edges go by


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=1.0, help="of the nodes and of the edges")
    parser.add_argument("--folder", type=Path, help="where checkpoints are, and go")
    parser.add_argument(
        "--checkpoint-interval", type=float, default=900.0, help="seconds between checkpoints"
    )
    parser.add_argument("--quick", action="store_true", help=f"a share of {QUICK:g}")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    options = parser.parse_args()
    warnings.simplefilter("ignore", AccuracyWarning)
    row = measure(
        QUICK if options.quick else options.share,
        folder=options.folder,
        checkpoint_interval=options.checkpoint_interval,
        report=not options.json,
    )
    if options.json:
        print(json.dumps({"benchmark": "friendster", "rows": [row]}))
    else:
        print("  ".join(f"{key} {value}" for key, value in row.items()))


def measure(share, *, folder, checkpoint_interval, report):
    """One run, or the rest of one, and its figures."""
    n_nodes, n_edges = round(share * N_NODES), round(share * N_EDGES)
    checkpoint = None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        checkpoint = folder / f"friendster_{n_nodes}.ckpt"
    config = SparsifyConfig(
        n_edges=KEPT_PER_NODE * n_nodes,
        checkpoint=checkpoint,
        resume=checkpoint is not None,
        random_state=SEED,
    )
    source = friendster(n_nodes, n_edges)
    making = time_of_source(source)
    stream = open_stream(config)
    n_before = stream.n_edges_seen_
    tell = Lines(n_edges, n_before) if report else False
    processor, began = time.process_time(), time.perf_counter()
    run_stream(
        stream,
        source,
        progress=tell,
        checkpoint=checkpoint,
        checkpoint_interval=checkpoint_interval,
    )
    passed = time.perf_counter() - began
    sparsifier = stream.sparsifier(consume=True)
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    n_new = stream.n_edges_seen_ - n_before
    return {
        "share": share,
        "nodes": sparsifier.n_nodes,
        "edges": stream.n_edges_seen_,
        "of these since the start": n_new,
        "kept": sparsifier.n_edges,
        "resparsifications": stream.n_resparsifications_,
        "seconds": round(seconds, 1),
        "of these the last shrink": round(seconds - passed, 1),
        "processor seconds": round(processor, 1),
        "ns/edge": round(1e9 * seconds / max(n_new, 1), 1),
        "of these to make it": round(1e9 * making, 1),
        "peak GiB": round(peak_rss() / 2**30, 2),
        "components": stream.n_components_,
        "error of random cuts": round(stream.cut_error_lower_, 5),
        "error predicted": round(stream.epsilon_predicted_, 3),
    }


class Lines:
    """Progress as one line for every hundredth of the edges."""

    def __init__(self, n_edges, n_before):
        self._every, self._next = n_edges / LINES, n_before
        self._began = time.perf_counter()

    def __call__(self, n_read, fraction, note=""):
        if n_read >= self._next:
            self._next = n_read + self._every
            seconds = time.perf_counter() - self._began
            peak = peak_rss() / 2**30
            print(f"{seconds:8.0f} s  {n_read:,} edges  {note}  peak {peak:.2f} GiB", flush=True)


def friendster(n_nodes, n_edges):
    """The stream of a share of the graph."""
    ratio = LARGEST_DEGREE * n_nodes / (2 * n_edges * (1 - EXPONENT))  # to the smallest degree
    offset = n_nodes / (max(ratio, 2.0) ** (1 / EXPONENT) - 1)
    step = coprime_near(round(n_nodes * (math.sqrt(5) - 1) / 2), n_nodes)

    def ends(start, stop):
        tail, head = np.empty((2, stop - start), dtype=np.int32)
        _draw(np.uint64(SEED), start, n_nodes, offset, step, tail, head)
        return tail, head

    return SyntheticSource(n_nodes, n_edges, ends)


def coprime_near(number, n_nodes):
    """The first number from here on that shares no factor with n_nodes."""
    while math.gcd(number, n_nodes) > 1:
        number += 1
    return number


def time_of_source(source):
    """Seconds that it takes to make an edge, which no file would take."""
    source.ends(0, 1)
    began = time.perf_counter()
    source.ends(0, source.batch_size)
    return (time.perf_counter() - began) / source.batch_size


@njit_cached
def _draw(seed, start, n_nodes, offset, step, tail, head):
    """Ranks by inversion of the distribution, as if it were continuous; never twice the same."""
    low = offset ** (1 / ROOT)
    span = (n_nodes + offset) ** (1 / ROOT) - low
    for e in range(tail.size):
        u = v = 0
        word = 0
        while u == v:
            first = uniform(seed, np.uint64(start + e), np.uint64(word))
            second = uniform(seed, np.uint64(start + e), np.uint64(word + 1))
            u = min(np.int64((low + first * span) ** ROOT - offset), n_nodes - 1)
            v = min(np.int64((low + second * span) ** ROOT - offset), n_nodes - 1)
            word += 2
        tail[e], head[e] = u * step % n_nodes, v * step % n_nodes


if __name__ == "__main__":
    main()
