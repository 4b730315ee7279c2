"""The thesis' synthetic experiment (Figure 4.1): when is a dense neighbor graph worth its edges?

    python benchmarks/fig_4_1.py [--quick | --points N] [--json] [--figure]

12,100 points in the plane in four clusters, the two upper ones of one class; two labels in the
uppermost and two in the lowermost cluster; the unweighted k-NN graph for k = 100, ..., 12,000,
streamed from a k-d tree. For each k: the accuracy of Stable-HFS on all edges and of Sparse-HFS on
the same stream, means of 10 draws of labels, and the fraction of the edges that Sparse-HFS kept.
Clusters are further apart than wide. Below k = n / 4 they are not connected and labels cannot
spread; nodes in a component without a label count as wrong. At k = n the graph is complete.
"""

import argparse
import json
import time
import warnings

import numpy as np
from sklearn.neighbors import KDTree

import graphsqueak as gs
from graphsqueak.sources import EdgeSource
from graphsqueak.ssl.base import UnreachedWarning

SEED = 41_004
N_POINTS = 12_100  # of the thesis
BLOCK = 500  # points whose neighbors are found at a time
IN_MEMORY = 6e7  # edges up to which the graph is loaded, for exact Stable-HFS
KS = (100, 1000, 2000, 3000, 3500, 4000, 4500, 5000, 6000, 8000, 12_000)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the points")
    parser.add_argument("--points", type=int, default=N_POINTS, help="number of points")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--figure", action="store_true", help="write docs/fig_4_1.svg")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--per-node", type=int, default=20, help="edges per node that are kept")
    parser.add_argument("--most", type=float, default=IN_MEMORY, help="edges of the exact solution")
    parser.add_argument("--k", type=int, nargs="*", help="numbers of neighbors")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UnreachedWarning)
    n = N_POINTS // 10 if arguments.quick else arguments.points
    ks = arguments.k or [round(n * k / N_POINTS) for k in KS]
    points, truth, cluster = stacked(n)
    rows = []
    for k in ks:
        row = measure(points, truth, cluster, k, arguments)
        rows.append(row)
        if not arguments.json:
            print_row(row, header=len(rows) == 1)
    if arguments.json:
        print(json.dumps({"benchmark": "fig_4_1", "rows": rows}))
    if arguments.figure:
        draw(rows, points, truth)


def stacked(n):
    """Four round clusters on top of each other, well apart; shuffled."""
    rng = np.random.default_rng(SEED)
    cluster = np.sort(rng.integers(4, size=n))
    radius, angle = np.sqrt(rng.random(n)), 2 * np.pi * rng.random(n)
    points = 0.45 * radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    points[:, 1] += 2 * cluster
    order = rng.permutation(n)
    return points[order], (cluster >= 2).astype(int)[order], cluster[order]


class NeighborStream(EdgeSource):
    """Unweighted k-NN edges, block by block; an edge that both ends choose comes once."""

    def __init__(self, points, k):
        super().__init__()
        self.points, self.k, self.tree = points, k, KDTree(points)
        self.n_nodes = len(points)
        self.reach = np.empty(len(points))  # distance to the k-th neighbor
        for start in range(0, len(points), BLOCK):
            block = points[start : start + BLOCK]
            self.reach[start : start + BLOCK] = self.tree.query(block, k + 1)[0][:, -1]

    def _batches(self):
        n = self.n_nodes
        for start in range(0, n, BLOCK):
            block = self.points[start : start + BLOCK]
            near = self.tree.query(block, self.k + 1, sort_results=False)[1].ravel()
            tail = np.repeat(np.arange(start, start + len(block)), self.k + 1)
            apart = self.points[tail] - self.points[near]
            mutual = np.sqrt((apart**2).sum(axis=1)) <= self.reach[near]
            kept = (tail != near) & (~mutual | (tail < near))
            ones = np.ones(np.count_nonzero(kept))
            yield gs.EdgeList.from_validated(tail[kept], near[kept], ones, n)


def measure(points, truth, cluster, k, arguments):
    n_nodes = len(points)
    source = NeighborStream(points, k)
    exact_too = n_nodes * k <= arguments.most
    if exact_too:
        source = source.to_edge_list()
    found = {"exact": [], "sparse": []}
    used, seconds = [], []
    for number in range(arguments.draws):
        rng = np.random.default_rng([SEED, k, number])
        ends = [rng.choice(np.flatnonzero(cluster == c), 2, replace=False) for c in (0, 3)]
        nodes = np.concatenate(ends)
        y = np.full(n_nodes, -1)
        y[nodes] = truth[nodes]
        rest = y == -1
        began = time.perf_counter()
        budget = arguments.per_node * n_nodes
        clf = gs.SparseHFSClassifier(n_edges=budget, max_passes=1, unknown=-1, random_state=number)
        clf.fit(source, y)
        seconds.append(time.perf_counter() - began)
        found["sparse"].append(np.mean(clf.predict()[rest] == truth[rest]))
        used.append((clf.n_edges_used_ + clf.n_sums_) / clf.n_edges_seen_)
        n_edges = clf.n_edges_seen_
        if exact_too:
            exact = gs.StableHFSClassifier(unknown=-1, random_state=number).fit(source, y)
            found["exact"].append(np.mean(exact.predict()[rest] == truth[rest]))
    return {
        "k": k,
        "edges": n_edges,
        "share": float(np.mean(used)),
        "exact": float(np.mean(found["exact"])) if found["exact"] else None,
        "sparse": float(np.mean(found["sparse"])),
        "seconds": float(np.median(seconds)),
    }


def print_row(row, *, header):
    if header:
        print(f"{'k':>6}{'edges':>12}{'share':>9}{'exact':>8}{'sparse':>8}{'seconds':>9}")
    exact = "-" if row["exact"] is None else f"{row['exact']:.4f}"
    print(
        f"{row['k']:>6}{row['edges']:>12,}{100 * row['share']:>8.2f}%{exact:>8}"
        f"{row['sparse']:>8.4f}{row['seconds']:>9.2f}",
        flush=True,
    )


def draw(rows, points, truth):
    """Draw the three panels of the figure of the thesis: points, accuracy, and the edges kept."""
    from figure_style import BLUE, GRAY, RED, draw_nodes, save, style
    from matplotlib import pyplot as plt

    with style():
        figure, (cloud, left, right) = plt.subplots(
            1, 3, figsize=(9, 3), width_ratios=(0.35, 1, 1), layout="constrained"
        )
        for label, color in ((1, BLUE), (0, RED)):
            draw_nodes(cloud, points[truth == label][:150], color=color, size=3)
        cloud.set_title("points")
        ks = [row["k"] for row in rows]
        left.plot(ks, [row["exact"] for row in rows], "o", color=GRAY, markersize=8)
        left.plot(ks, [row["sparse"] for row in rows], "s-", color=BLUE, markersize=4)
        left.set(xlabel="neighbors per point", title="accuracy")
        left.annotate("all edges", (ks[-1], 0.9), color=GRAY, ha="right")
        left.annotate("Sparse-HFS", (ks[-1], 0.96), color=BLUE, ha="right")
        fractions = [100 * row["share"] for row in rows]
        right.semilogy(ks, fractions, "s-", color=BLUE, markersize=4)
        right.set(xlabel="neighbors per point", title="edges kept (%)")
        right.yaxis.set_major_formatter("{x:g}")
        right.annotate(
            f"{fractions[-1]:.1f} %", (ks[-1], 1.2 * fractions[-1]), color=BLUE, ha="right"
        )
        save(figure, "fig_4_1.svg")


if __name__ == "__main__":
    main()
