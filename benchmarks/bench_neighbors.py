"""How fast points become a stream of edges, against the bare products and scikit-learn.

    python benchmarks/bench_neighbors.py [--quick] [--json]

The points are 20,000 sparse TF-IDF vectors mixed from the shipped SpamAssassin mails (70 % of the
words of one, 30 % of another), k = 1,000. Every pair is multiplied from both sides, so the bare
products are all n^2 of them, not half. They are measured twice, on as many threads as we use:

*scipy*   X[block] @ X.T for blocks of 256 rows in a thread pool, results thrown away;
*loop*    our own inner loop (an inverted index added into a row of sums) and nothing else: no
          distances, no selection, no edges.

`first` is the time to go through all batches of `neighbor_edges` once, `again` a second time. A
sample of the rows is compared with scikit-learn's brute force; if they differ, it fails. Peak
memory is that of a process that does nothing else.
"""

import argparse
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import scipy.sparse

from graphsqueak import datasets, neighbor_edges
from graphsqueak.sources.neighbors.points import prepare_points
from graphsqueak.system.memory import peak_rss

SEED = 271_828
TARGET = 1.3
BLOCK = 256


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="6,000 points, k = 300")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--measure", nargs=2, type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        n, k = arguments.measure
        n_edges = count_edges(neighbor_edges(mixed_mails(n), k))
        print(json.dumps({"edges": n_edges, "peak_rss_bytes": peak_rss()}))
        return
    n, k = (6_000, 300) if arguments.quick else (20_000, 1_000)
    row = run(n, k, n_repeats=3)
    if arguments.json:
        print(json.dumps({"benchmark": "neighbors", "rows": [row]}))
        return
    for name, value in row.items():
        print(f"{name:<24} {value:,.4g}" if not isinstance(value, str) else f"{name:<24} {value}")


def run(n, k, *, n_repeats):
    points = mixed_mails(n)
    count_edges(neighbor_edges(points[:500], 5))
    bare_loop(points[:500])
    seconds = {name: [] for name in ("scipy", "loop", "first", "again")}
    for _ in range(n_repeats):
        seconds["scipy"].append(timed(bare_scipy, points)[0])
        seconds["loop"].append(timed(bare_loop, points)[0])
        began = time.perf_counter()
        source = neighbor_edges(points, k)
        n_edges = count_edges(source)
        seconds["first"].append(time.perf_counter() - began)
        seconds["again"].append(timed(count_edges, source)[0])
    compare_with_scikit_learn(source, points, k)
    best = {name: float(np.median(values)) for name, values in seconds.items()}
    command = [sys.executable, __file__, "--measure", str(n), str(k)]
    alone = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return {
        "points": n,
        "neighbors": k,
        "edges": n_edges,
        "threads": numba.get_num_threads(),
        **{f"{name}_seconds": round(value, 3) for name, value in best.items()},
        "first_to_scipy": round(best["first"] / best["scipy"], 2),
        "first_to_loop": round(best["first"] / best["loop"], 2),
        "target": TARGET,
        "edges_per_second": round(n_edges / best["first"]),
        "peak_rss_bytes": alone["peak_rss_bytes"],
    }


def mixed_mails(n):
    """Mails of mixed words: as long, and as alike, as real ones."""
    rng = np.random.default_rng(SEED)
    mails = datasets.load_spam().points
    parts = []
    for share in (0.7, 0.3):
        part = mails[rng.integers(mails.shape[0], size=n)].tocsr()
        part.data *= rng.random(part.nnz) < share
        part.eliminate_zeros()
        parts.append(part)
    return (parts[0] + parts[1]).tocsr()


def count_edges(source):
    return sum(batch.n_edges for batch in source)


def bare_scipy(points):
    rows = unit_rows(points)
    columns = rows.T.tocsr()

    def multiply(start):
        return (rows[start : start + BLOCK] @ columns).nnz

    with ThreadPoolExecutor(numba.get_num_threads()) as pool:
        return sum(pool.map(multiply, range(0, rows.shape[0], BLOCK)))


def unit_rows(points):
    ready = prepare_points(points, "cosine")
    return scipy.sparse.csr_array((ready.data, ready.indices, ready.indptr), shape=points.shape)


def bare_loop(points):
    ready = prepare_points(points, "cosine")
    return _products(*ready[:6], np.empty(ready.n))


def compare_with_scikit_learn(source, points, k):
    """Of 200 points: the neighbors of each in the graph, and all edges between any two of them."""
    from sklearn.metrics.pairwise import cosine_distances
    from sklearn.neighbors import NearestNeighbors

    graph = source.to_edge_list().to_scipy()
    points = points.astype(np.float64)
    rows = np.linspace(0, points.shape[0] - 1, 200).astype(int)
    search = NearestNeighbors(n_neighbors=k + 1, metric="cosine", algorithm="brute").fit(points)
    reach = search.kneighbors(points[rows])[0][:, -1] + 1e-12  # the point itself comes first
    distance = cosine_distances(points[rows], points)
    weight = 1 - distance  # the cosine
    listed = distance <= reach[:, None]
    listed[np.arange(rows.size), rows] = False
    found = graph[rows].toarray()
    same = np.allclose(found[listed], weight[listed], rtol=1e-6)
    if not same or not np.array_equal(found[:, rows] > 0, listed[:, rows] | listed[:, rows].T):
        raise SystemExit("the graph differs from scikit-learn's neighbors")


def timed(function, argument):
    began = time.perf_counter()
    result = function(argument)
    return time.perf_counter() - began, result


@numba.njit(nogil=True, parallel=True)
def _products(indptr, indices, data, columns, members, values, last_of_row):
    n = last_of_row.size
    for chunk in numba.prange(-(-n // 8)):
        total = np.empty(n)
        for i in range(8 * chunk, min(8 * chunk + 8, n)):
            total[:] = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                for q in range(columns[indices[p]], columns[indices[p] + 1]):
                    total[members[q]] += data[p] * values[q]
            last_of_row[i] = total[n - 1]
    return last_of_row


if __name__ == "__main__":
    main()
