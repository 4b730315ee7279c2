"""A window of a stream beside a fresh run on exactly its edges, and decay beside the decayed graph.

    python benchmarks/bench_window.py [--quick] [--json] [--seeds N]

Every graph lasts three windows, so that a ring of 16 panes has been filled twice. eps comes from
all generalized eigenvalues of (L_H, L_G), G being the edges of the span that the result says it
has (for decay: all edges, decayed), and is the median over seeds. `held` is the largest number of
edges kept at any time, in budgets; a window may hold 19.
"""

import argparse
import json
import statistics

import numpy as np
import scipy.linalg

from graphsqueak import (
    EdgeList,
    StreamOptions,
    StreamSparsifier,
    TimedEdges,
    TimedSparsifier,
    sources,
)

SEED = 40_503
WINDOW, N_WINDOWS = 1000.0, 3
# The watermark is checked as often, relative to the budget, as for a large graph.
OPTIONS = StreamOptions(chunk_size=2**11)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller graphs, one seed")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    n_nodes, n_seeds = (200, 1) if arguments.quick else (1000, arguments.seeds)
    rows = []
    for name, edges in graphs(n_nodes):
        for budget in (8 * n_nodes, 20 * n_nodes):
            for forgets in ({"window": WINDOW}, {"half_life": WINDOW / 8}):
                found = [measure(edges, budget, forgets, SEED + k) for k in range(n_seeds)]
                fresh, ring, held = (
                    statistics.median(values) for values in zip(*found, strict=True)
                )
                row = {"graph": name, "forgets by": next(iter(forgets)), "edges": budget}
                row |= {"fresh": fresh, "ring": ring, "ratio": ring / fresh, "held": held}
                rows.append(row)
                if not arguments.json:
                    print_row(row, header=len(rows) == 1)
    if arguments.json:
        print(json.dumps({"benchmark": "window", "rows": rows}))


def print_row(row, *, header):
    if header:
        print(f"{'graph':<20} {'forgets by':<10} {'edges':>6} {'fresh':>6} {'ring':>6} ratio  held")
    print(
        f"{row['graph']:<20} {row['forgets by']:<10} {row['edges']:>6} {row['fresh']:6.3f} "
        f"{row['ring']:6.3f} {row['ratio']:5.2f} {row['held']:5.1f}"
    )


def measure(edges, budget, forgets, seed):
    """eps of a fresh run and of the ring, and the most budgets that the ring held."""
    settings = {"n_edges": budget, "options": OPTIONS, "random_state": seed}
    stream = TimedSparsifier(**settings, **forgets)
    held = 0
    for start in range(0, edges.n_edges, 4096):
        stream.partial_fit(edges.part(start, start + 4096))
        held = max(held, stream.n_kept_)
    ring = stream.sparsifier()
    weight, (since, _) = edges.weight, stream.span_
    if "half_life" in forgets:
        weight = weight * np.exp2((edges.time - edges.time.max()) / forgets["half_life"])
    chosen = edges.time >= since
    own = EdgeList(
        tail=edges.tail[chosen],
        head=edges.head[chosen],
        weight=weight[chosen],
        n_nodes=edges.n_nodes,
    )
    fresh = StreamSparsifier(**settings).partial_fit(own).sparsifier()
    return epsilon(own, fresh), epsilon(own, ring), held / budget


def epsilon(graph, sparsifier):
    """The largest relative error of a quadratic form; both have the same components."""
    component = graph.components()
    fill = (component[:, None] == component) * graph.degrees().mean() / graph.n_nodes
    whole, sparse = (matrix.laplacian().toarray() + fill for matrix in (graph, sparsifier))
    values = scipy.linalg.eigh(sparse, whole, eigvals_only=True)
    return max(values[-1] - 1, 1 - values[0])


def graphs(n):
    """Name and edges with times, of about 150 edges a node and window."""
    m = N_WINDOWS * 150 * n
    rng = np.random.default_rng(SEED)
    yield "Erdos-Renyi", timed(sources.erdos_renyi(n, m, random_state=SEED))
    yield "block model", timed(sources.block_model(n, m, random_state=SEED))
    yield "Chung-Lu", timed(sources.chung_lu(n, m, random_state=SEED))
    near = sources.gaussian_neighbors(n, n // 4, random_state=SEED).to_edge_list()
    again = rng.integers(near.n_edges, size=m)
    repeated = EdgeList(tail=near.tail[again], head=near.head[again], weight=near.weight[again])
    yield "neighbors, repeated", timed(repeated)
    plain = sources.erdos_renyi(n, m, random_state=SEED + 1).to_edge_list()
    heavy = rng.lognormal(sigma=2.0, size=plain.n_edges)
    yield "lognormal weights", timed(EdgeList(tail=plain.tail, head=plain.head, weight=heavy))
    yield "moving communities", moving(n, m)


def timed(source):
    """The same edges in random order, at uniform times."""
    rng, edges = np.random.default_rng(SEED + 2), sources.as_edge_list(source)
    order = rng.permutation(edges.n_edges)
    time = np.sort(rng.uniform(0, N_WINDOWS * WINDOW, edges.n_edges))
    columns = {"tail": edges.tail[order], "head": edges.head[order]}
    return TimedEdges(**columns, weight=edges.weight[order], time=time, n_nodes=edges.n_nodes)


def moving(n, m):
    """Most edges lie within a fifth of the nodes, which moves on a circle once a window."""
    rng = np.random.default_rng(SEED + 3)
    time = np.sort(rng.uniform(0, N_WINDOWS * WINDOW, m))
    center = (time / WINDOW * n).astype(np.int64)
    spread = np.where(rng.random(m) < 0.9, n // 5, n)
    tail, head = ((center + (rng.random(m) * spread).astype(np.int64)) % n for _ in range(2))
    return TimedEdges(tail=tail, head=head, time=time, n_nodes=n)


if __name__ == "__main__":
    main()
