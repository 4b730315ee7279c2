"""A long run through a pipe, killed and resumed, against one that nobody disturbed.

    python benchmarks/soak.py [--quick] [--json] [--edges MILLIONS] [--checkpoint-interval SECONDS]

Edges are made on the fly and piped as text into `graphsqueak sparsify -` with a checkpoint every
five seconds (every second with --quick): where 300 million edges take half a minute, a checkpoint
every 30 seconds would come too late. Five times the process is killed (signal 9) at a random moment
after a checkpoint, and started again on the same pipe from its beginning. Reported: whether the
result is the same to the byte as that of the unbroken run, and the most memory that run took, also
beside a run of a third of its length.

Then shapes at the edge, each in a process of its own: ten million isolated nodes, a star with ten
million leaves, a hundred million parallel edges between two nodes (a tenth with --quick). At last
more than 2^31 edges between nodes whose ids are above 2^40, in memory: nothing may overflow.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from graphsqueak import EdgeList, StreamSparsifier

SEED = 314_159
BATCH = 1_000_000
PROGRAM = [sys.executable, "-m", "graphsqueak", "sparsify"]
KILLS = 5
FLAT = 1.15  # memory over that of a run of a third of the length


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20 million edges")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--edges", type=int, help="millions of edges (default: 300)")
    parser.add_argument("--checkpoint-interval", type=float, help="seconds between two checkpoints")
    parser.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        make(arguments.make[0], int(arguments.make[1]))
        return
    n_edges = 10**6 * (arguments.edges or (20 if arguments.quick else 300))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        every = str(arguments.checkpoint_interval or (1 if arguments.quick else 5))
        place = Path(folder)
        for row in chain(
            soak(place, n_edges, every), shapes(place, arguments.quick), many(arguments.quick)
        ):
            rows.append(row)
            if not arguments.json:
                print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if arguments.json:
        print(json.dumps({"benchmark": "soak", "rows": rows}))
    sys.exit(not all(row["good"] for row in rows))


def soak(folder, n_edges, every):
    straight, resumed, saved = (folder / name for name in ("straight.tsv", "out.tsv", "run.ckpt"))
    options = ["-", "--n-edges", str(max(n_edges // 150, 200_000)), "--seed", "8", "--quiet"]
    with piped("random", BATCH, [*options, "--force", "-o", str(straight)]) as process:
        watched(process)  # compiled code is ready from here on
    peaks = []
    for length in (n_edges // 3, n_edges):
        began = time.perf_counter()
        with piped("random", length, [*options, "--force", "-o", str(straight)]) as process:
            peaks.append(watched(process))
    growth = peaks[1] / peaks[0]
    yield {
        "what": "unbroken",
        "million edges": n_edges // 10**6,
        "seconds": round(time.perf_counter() - began, 1),
        "peak MiB": peaks[1] >> 20,
        "peak over that of a third": round(growth, 3),
        "good": process.returncode == 0 and growth < FLAT,
    }
    options += [
        "--force",
        "-o",
        str(resumed),
        "--checkpoint",
        str(saved),
        "--checkpoint-interval",
        every,
        "--resume",
    ]
    moments, n_killed, n_resumed, peak, same = random.Random(SEED), 0, 0, 0, True
    while True:
        n_resumed += saved.exists()
        with piped("random", n_edges, options) as process:
            delay = moments.uniform(0.0, float(every) / 3) if n_killed < KILLS else np.inf
            peak = max(peak, watched(process, saved, delay))
        if process.returncode == -signal.SIGKILL:
            n_killed += 1
            continue
        same &= process.returncode == 0 and resumed.read_bytes() == straight.read_bytes()
        if n_killed == KILLS or not same:
            break
        saved.unlink()  # it was quicker than the kill: from the beginning
    yield {
        "what": "killed and resumed",
        "kills": n_killed,
        "resumed from a checkpoint": n_resumed,
        "peak MiB": peak >> 20,
        "same bytes": same,
        "good": n_resumed >= KILLS and same,
    }


def shapes(folder, quick):
    share = 10 if quick else 1
    alone = folder / "alone.mtx"
    size = 10**7 // share
    banner = "%%MatrixMarket matrix coordinate pattern symmetric"
    alone.write_text(f"{banner}\n{size} {size} 1\n2 1\n")
    cases = {
        "isolated nodes": (str(alone), None, size, 5, 1),
        "star": ("-", "star", size, size, size),
        "parallel edges": ("-", "twins", 10**8 // share, 5, 1),
    }
    for name, (source, kind, size, budget, kept) in cases.items():
        options = [source, "--n-edges", str(budget), "--json", "--force", "-o"]
        options += [str(folder / "shape.parquet")]
        began = time.perf_counter()
        with piped(kind, size, options) as process:
            out = process.stdout.read()
            process.wait()
        record = json.loads(out or "{}")
        yield {
            "what": name,
            "size": size,
            "seconds": round(time.perf_counter() - began, 1),
            "peak MiB": record.get("peak_rss_bytes", 0) >> 20,
            "kept": record.get("edges_kept"),
            "good": record.get("edges_kept") == kept,
        }


def many(quick):
    """The same few million edges over and over, until there are more than 32 bits can count."""
    n_nodes, n_batch = 50_000, 2**22
    rng = np.random.default_rng(SEED)
    tail = rng.integers(n_nodes, size=n_batch, dtype=np.int32)
    head = (tail + rng.integers(1, n_nodes, size=n_batch, dtype=np.int32)) % n_nodes
    ids = 2**40 + rng.permutation(n_nodes)
    batch = EdgeList.from_validated(tail, head, np.ones(n_batch), n_nodes, ids)
    stream, began = StreamSparsifier(n_edges=500_000, random_state=8), time.perf_counter()
    n_times = 20 if quick else 2**31 // n_batch + 2
    for _ in range(n_times):
        stream.partial_fit(batch)
    small = stream.sparsifier()
    n_edges = n_times * n_batch
    right = stream.n_edges_seen_ == n_edges and np.array_equal(np.sort(small.ids), np.sort(ids))
    yield {
        "what": "many edges",
        "edges": n_edges,
        "seconds": round(time.perf_counter() - began, 1),
        "kept": small.n_edges,
        "weight over edges": round(float(small.weight.sum() / n_edges), 4),
        "good": bool(right and 0.99 < small.weight.sum() / n_edges < 1.01),
    }


class piped:  # noqa: N801 - used as a context manager
    """Run sparsify on what `make` writes; both processes are gone at the end."""

    def __init__(self, kind, n_edges, options):
        self._maker = None
        if kind is not None:
            maker = [sys.executable, __file__, "--make", kind, str(n_edges)]
            self._maker = subprocess.Popen(maker, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        source = self._maker.stdout if self._maker else None
        self._process = subprocess.Popen([*PROGRAM, *options], stdin=source, stdout=subprocess.PIPE)
        if source:
            source.close()

    def __enter__(self):
        return self._process

    def __exit__(self, *_):
        for process in filter(None, (self._process, self._maker)):
            if process.poll() is None:
                process.kill()
            process.wait()
        self._process.stdout.close()


def watched(process, saved=None, delay=np.inf):
    """The most resident memory that the process had by its end.

    It is killed `delay` seconds after it has written the checkpoint `saved`.
    """
    most, before, kill_at = 0, written(saved), np.inf
    while process.poll() is None:
        if kill_at == np.inf and written(saved) != before:
            kill_at = time.perf_counter() + delay
        if time.perf_counter() > kill_at:
            process.kill()
            break
        most = max(most, peak_memory(process.pid))
        time.sleep(0.1)
    process.wait()
    return most


def written(saved):
    return saved.stat().st_mtime_ns if saved is not None and saved.exists() else None


def peak_memory(pid):
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM")), 0)


def make(kind, n_edges):
    """Write edges as text to standard output, the same at every call."""
    for place in range(0, n_edges, BATCH):
        size = min(BATCH, n_edges - place)
        if kind == "random":
            rng = np.random.default_rng([SEED, place])
            ends = rng.integers(100_000, size=(2, size))
        elif kind == "star":
            ends = np.zeros(size, int), np.arange(place + 1, place + size + 1)
        else:
            ends = np.zeros(size, int), np.ones(size, int)
        frame = pl.DataFrame({"u": ends[0], "v": ends[1]})
        sys.stdout.buffer.write(frame.write_csv(include_header=False, separator="\t").encode())


if __name__ == "__main__":
    main()
