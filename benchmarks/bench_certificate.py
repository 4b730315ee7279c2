"""The certificate of a graph on disk: convergence, time per pass, memory.

    python benchmarks/bench_certificate.py [--quick] [--json]

*large*: 100,000 nodes and 20 M edges in a Parquet file, sparsified in one pass and then certified
to a gap of 2 %. A pass is compared with a bare scan, in which our reader hands out the same batches
and nobody looks at them, and with pyarrow's own. *epsilon*: every graph of bench_quality and the
shared real ones, sparsified with epsilon = 0.5: what is proved, edges used, runs needed, and the
error of a sparsifier with 1.1 times fewer edges, which should miss epsilon.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import bench_quality
import numpy as np
import pyarrow.parquet as pq
import zoo
from real_data import add_data_option

from graphsqueak import StreamSparsifier, certify, read_edges, sources, sparsify, write_edges
from graphsqueak.sparsifiers.config import SparsifyConfig
from graphsqueak.sparsifiers.run import certify_and_search
from graphsqueak.system.memory import peak_rss

SEED = 271_828
EPSILON = 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the edges")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_data_option(parser)
    arguments = parser.parse_args()
    size = 10 if arguments.quick else 1
    record = large(20_000_000 // size, 100_000 // size)
    rows = [proved(name, graph) for name, graph in all_graphs(500 if arguments.quick else 2000)]
    if arguments.json:
        print(json.dumps({"benchmark": "certificate", **record, "epsilon": rows}))
        return
    for step, (lower, upper) in enumerate(record.pop("history"), start=1):
        print(f"step {step:3d}  epsilon {lower:.4f} to {upper:.4f}")
    for name, value in record.items():
        print(f"{name:<28} {value:,.4g}")
    print(f"epsilon = {EPSILON}; share: edges over n (2 / epsilon)^2 / 2")
    for row in rows:
        print(
            f"{row['graph']:<20} {row['nodes']:>7,} nodes  kept {row['kept']:>9,} of "
            f"{row['edges']:>9,}  share {row['share']:.2f}  epsilon {row['epsilon_lower']:.3f} to "
            f"{row['epsilon_upper']:.3f}  with fewer {row['epsilon_with_fewer']:.3f}  "
            f"runs {row['runs']}  {row['seconds']:6.1f} s"
        )


def all_graphs(n):
    """The graphs of bench_quality, and, in a full run, the other shared real ones."""
    yield from bench_quality.graphs(n)
    if n >= 2000:
        yield from zoo.load(["4elt", "wing", "minnesota"])


def proved(name, graph):
    """sparsify() with epsilon, certified and corrected."""
    began = time.perf_counter()
    stream = StreamSparsifier(epsilon=EPSILON, random_state=SEED).partial_fit(graph)
    config = SparsifyConfig(epsilon=EPSILON, random_state=SEED)
    made = certify_and_search(graph, stream, stream.sparsifier(consume=True), config)
    seconds = time.perf_counter() - began
    fewer = sparsify(
        graph, n_edges=int(made.sparsifier.n_edges / 1.1), method="stream", random_state=SEED
    )
    return {
        "graph": name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "kept": made.sparsifier.n_edges,
        "share": made.sparsifier.n_edges / (graph.n_nodes * (2 / EPSILON) ** 2 / 2),
        "epsilon_lower": made.certificate.epsilon_lower,
        "epsilon_upper": made.certificate.epsilon_upper,
        "runs": made.n_runs,
        "epsilon_with_fewer": certify(graph, fewer, random_state=SEED).epsilon_upper,
        "seconds": seconds,
    }


def large(n_edges, n_nodes):
    graph = sources.erdos_renyi(n_nodes, n_edges, random_state=SEED)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.parquet"
        write_edges(graph, path)
        certify(small := sources.complete(2100), small.to_edge_list(), max_iter=1)  # compiles
        edges = read_edges(path)
        sparsifier = sparsify(edges, n_edges=40 * n_nodes, random_state=SEED)
        arrow = seconds_of(lambda: [None for _ in pq.ParquetFile(path).iter_batches(2**20)])
        scan = seconds_of(lambda: [None for _ in edges])
        passes = []

        def watch(done, fraction, note):
            passes.append((time.perf_counter(), done))

        found = certify(edges, sparsifier, random_state=SEED, progress=watch)
    reading = reading_seconds(passes)
    return {
        "edges": n_edges,
        "kept": sparsifier.n_edges,
        "steps": found.steps,
        "passes": found.passes,
        "epsilon_lower": found.epsilon_lower,
        "epsilon_upper": found.epsilon_upper,
        "seconds": found.seconds,
        "seconds_per_pass": reading,
        "bare_scan_seconds": scan,
        "pyarrow_seconds": arrow,
        "pass_over_bare_scan": reading / scan,
        "step_over_bare_scan": found.seconds / found.passes / scan,
        "peak_rss_MiB": peak_rss() / 2**20,
        "history": found.history,
    }


def seconds_of(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def reading_seconds(moments):
    """Mean time from the first to the last batch of a pass, and a batch for the one before it."""
    when = np.array([moment for moment, _ in moments])
    done = np.array([count for _, count in moments])
    starts = np.flatnonzero(np.diff(done, prepend=done[-1]) <= 0)
    ends = np.append(starts[1:], done.size) - 1
    n_batches = ends - starts
    return float(np.mean((when[ends] - when[starts]) * (n_batches + 1) / n_batches))


if __name__ == "__main__":
    main()
