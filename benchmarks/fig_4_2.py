"""Accuracy against bytes and seconds on real mail: Figure 4.2 and Table 4.1 of the thesis.

    python benchmarks/fig_4_2.py [--quick] [--json] [--draws N] [--mail PATH] [--figure]

The shipped SpamAssassin mails, or, with --mail, another corpus (TREC 2007 as in the thesis, any
layout that `graphsqueak spam` reads). Every method with several values of its parameter, and 20,
100 and 1,000 labels; means over the same draws:

*exact*       Stable-HFS on the graph of k neighbors, all edges in memory;
*aware*       Sparse-HFS in one pass at 5 % of the edges, with exact sums at labeled nodes;
*plain*       Sparse-HFS at 5 % of the edges, on a sparsifier as in the thesis;
*SubSampling* HFS on a fifth of the nodes (the thesis: 15,000 of 75,419) of the same graphs;
*EigFun*      q eigenfunctions of the mails in 64 dimensions (truncated SVD, as its authors do);
*1-NN*        the label of the nearest labeled mail;
*k = 10*      exact on a graph of 10 neighbors.

Seconds are those of a fit, given the lists of neighbors, including one pass if there is one. Bytes
are 16 per edge in memory, and 8 (n d + n q + b^2) for EigFun. All methods use eta = 0.03 / (mean
degree) and thresholds from the labels.
"""

import argparse
import json
import math
import time
from dataclasses import asdict

import numpy as np

from graphsqueak import datasets, neighbor_edges, ssl
from graphsqueak.demo import evaluation, workflow
from graphsqueak.report.table import text_table

SEED = 314_159
DIMENSIONS, BINS = 64, 50
ETA = 0.03


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of the mails, one draw")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--draws", type=int, default=3, help="of labels (default: 3)")
    parser.add_argument("--mail", help="a corpus on disk instead of the shipped one")
    parser.add_argument("--figure", action="store_true", help="write docs/fig_4_2.svg")
    arguments = parser.parse_args()
    points, truth, name = mails(arguments.mail)
    if arguments.quick:
        points, truth = points[::4], truth[::4]
    n = truth.size
    many = [k for k in (100, 300, 1000, 3000) if k <= 0.6 * n]  # the thesis: n / 75 to n / 10
    counts = [count for count in (20, 100, 1000) if count <= n // 4]
    n_draws = 1 if arguments.quick else arguments.draws
    draws = {count: evaluation.draw_labels(truth, count, n_draws, SEED) for count in counts}
    warm_up(points, truth)
    rows = []
    for k in many:
        rows += on_graph(points, truth, k, draws)
        if not arguments.json:
            print_rows(rows[-len(draws) * 4 :], header=k == many[0])
    rows += [*few_neighbors(points, truth, draws), *nearest(points, truth, draws)]
    rows += eigenfunctions(points, truth, draws)
    if arguments.figure:
        draw(rows, truth)
    if arguments.json:
        print(json.dumps({"benchmark": "fig_4_2", "data": name, "nodes": n, "rows": rows}))
        return
    print_rows([row for row in rows if row["method"] in ("EigFun", "1-NN", "k = 10")])
    print(
        "\nTable 4.1, 100 labels: the formula's number of steps or entries, and what was measured\n"
    )
    print(text_table(table_4_1(rows, n, many[-1]), header=TABLE_HEADER))


def mails(path):
    """Points, labels and a name; mails without a label are left out."""
    if path is None:
        data = datasets.load_spam()
    else:
        better = {"drop_common": 0, "drop_rare": 0, "min_mails": 3}
        better |= {"sublinear": True, "punctuation": True}
        data = datasets.load_mail(path, deduplicate=True, **better)
    known = data.labels >= 0
    return data.points[known], data.labels[known], data.description


def warm_up(points, truth):
    """A few mails, so that no method pays for compiled code."""
    few, labels = points[::8], truth[::8]
    draws = {
        count: evaluation.draw_labels(labels, count, 1, SEED)
        for count in (20, min(300, labels.size // 2))
    }
    on_graph(few, labels, 100, draws)
    nearest(few, labels, draws)
    eigenfunctions(few, labels, draws)


def on_graph(points, truth, k, draws):
    """Rows of the methods that get the graph of k neighbors."""
    began = time.perf_counter()
    stream = neighbor_edges(points, k, weight="thesis")
    dense = stream.to_edge_list()
    search = time.perf_counter() - began
    n, budget = dense.n_nodes, int(workflow.KEEP * dense.n_edges)
    eta = {"eta": ETA / dense.degrees().mean(), "random_state": SEED}
    exact = ssl.StableHFSClassifier(**eta)
    plain = ssl.SparseHFSClassifier(
        n_edges=max(budget, 2 * n), priority_fraction=0.0, max_passes=1, **eta
    )
    aware = ssl.SparseHFSClassifier(n_edges=max(budget, 2 * n), max_passes=1, **eta)
    sampled = ssl.SubsampledHFSClassifier(n_samples=n // 5, random_state=SEED)
    shared = {"k": k, "neighbor_seconds": search}
    rows = [
        *fitted("exact", exact, dense, evaluation.all_edges, truth, draws, shared),
        *fitted("aware", aware, stream, evaluation.edges_used, truth, draws, shared),
        *fitted("plain", plain, stream, evaluation.edges_used, truth, draws, shared),
        *fitted(
            "SubSampling", sampled, dense, evaluation.edges_between_samples, truth, draws, shared
        ),
    ]
    for row in rows:
        row["edge_fraction"] = row["edges"] / dense.n_edges
    return rows


def few_neighbors(points, truth, draws):
    began = time.perf_counter()
    graph = neighbor_edges(points, 10).to_edge_list()
    shared = {"k": 10, "neighbor_seconds": time.perf_counter() - began}
    model = ssl.StableHFSClassifier(eta=ETA / graph.degrees().mean(), random_state=SEED)
    return fitted("k = 10", model, graph, evaluation.all_edges, truth, draws, shared)


def nearest(points, truth, draws):
    """1-NN by the graph in which every mail has half of all others for neighbors."""
    graph = neighbor_edges(points, truth.size // 2, weight="thesis").to_edge_list()
    model = ssl.NearestLabelClassifier()
    return fitted("1-NN", model, graph, evaluation.edges_at_labels, truth, draws, {})


def eigenfunctions(points, truth, draws):
    from sklearn.decomposition import TruncatedSVD

    began = time.perf_counter()
    reduced = TruncatedSVD(DIMENSIONS, random_state=SEED).fit_transform(points)
    preparing = time.perf_counter() - began
    rows = []
    for q in (10, 50, 200, 1000):
        model = ssl.EigenfunctionClassifier(n_components=q, affinity="knn", random_state=SEED)
        shared = {"q": q, "neighbor_seconds": 0.0}
        own = fitted("EigFun", model, reduced, lambda *_: 0, truth, draws, shared)
        for row in own:
            row["bytes"] = 8 * (truth.size * (DIMENSIONS + q) + BINS**2)
            row["seconds"] += preparing
        rows += own
    return rows


def fitted(name, model, graph, held, truth, draws, shared):
    rows = []
    for count, given in draws.items():
        fits = [evaluation.fit_and_score(model, graph, held, y, truth) for y in given]
        rows.append(asdict(evaluation.summarize_fits(name, count, fits, np.inf)) | shared)
    return rows


def print_rows(rows, *, header=False):
    names = ("method", "parameter", "labels", "accuracy", "+-", "balanced", "MB", "seconds")
    if header:
        print("{:<12}{:>10}{:>8}{:>10}{:>8}{:>10}{:>10}{:>9}".format(*names))
    for row in rows:
        parameter = next((f"{key} = {row[key]}" for key in ("k", "q") if key in row), "")
        print(
            f"{row['method']:<12}{parameter:>10}{row['labels']:>8}{row['accuracy']:>10.3f}"
            f"{row['error']:>8.3f}{row['balanced_accuracy']:>10.3f}{row['bytes'] / 1e6:>10.2f}"
            f"{row['seconds']:>9.2f}",
            flush=True,
        )


TABLE_HEADER = ("method", "space", "entries", "MB", "time", "steps", "seconds")


def table_4_1(rows, n, k):
    """Return space and time by the formulas of the thesis, and measured megabytes and seconds."""
    log, s = math.log(n), n // 5
    own = {
        row["method"]: row
        for row in rows
        if row["labels"] == 100 and (row.get("k", k) == k and row.get("q", 200) == 200)
    }
    m = own["exact"]["edges"]
    formulas = {
        "plain": ("n log n", n * log, "m log^2 n", m * log**2),
        "aware": ("n log n", n * log, "m log^2 n", m * log**2),
        "exact": ("m", m, "m n", m * n),
        "EigFun": (
            *("nd + nq + b^2", n * (DIMENSIONS + 200) + BINS**2),
            *("(q + d) b^3 + q^3 + nq", (200 + DIMENSIONS) * BINS**3 + 200**3 + 200 * n),
        ),
        "SubSampling": ("s k", s * k, "m + s^2 k + n", m + s * s * k + n),
    }
    return [
        (
            *(name, space, f"{entries:,.0f}", f"{own[name]['bytes'] / 1e6:.1f}"),
            *(steps, f"{number:.2g}", f"{own[name]['seconds']:.2f}"),
        )
        for name, (space, entries, steps, number) in formulas.items()
    ]


def draw(rows, truth):
    """Draw accuracy against memory, a panel for each number of labels."""
    from figure_style import BLUE, GRAY, RED, save, style
    from matplotlib import pyplot as plt

    looks = {
        "exact": (GRAY, "o-", "all edges"),
        "aware": (BLUE, "s-", "one pass, 5 %"),
        "plain": (RED, "D-", "plain sparsifier, 5 %"),
        "SubSampling": (GRAY, "^-", "SubSampling"),
        "EigFun": (GRAY, "x-", "EigFun"),
        "1-NN": (GRAY, "P", "1-NN"),
        "k = 10": (GRAY, "v", "k = 10"),
    }
    # Places of the names in the first panel, in points from the last mark of each method.
    offsets = {
        "exact": (-20, 34),
        "aware": (-66, 47),
        "plain": (-108, 55),
        "SubSampling": (-70, -14),
        "EigFun": (4, -10),
        "1-NN": (-8, -15),
        "k = 10": (-14, 8),
    }
    counts = sorted({row["labels"] for row in rows})
    with style():
        figure, panels = plt.subplots(
            1, len(counts), figsize=(10, 3.4), layout="constrained", sharey=True
        )
        for ax, n_labels in zip(panels, counts, strict=True):
            for method, (color, look, name) in looks.items():
                points = [r for r in rows if r["method"] == method and r["labels"] == n_labels]
                points.sort(key=lambda row: row["bytes"])
                x = [row["bytes"] / 1e6 for row in points]
                y = [row["accuracy"] for row in points]
                ax.plot(x, y, look, color=color, markersize=4, linewidth=1)
                if n_labels == counts[0]:
                    ax.annotate(
                        name,
                        (x[-1], y[-1]),
                        xytext=offsets[method],
                        textcoords="offset points",
                        color=color,
                        fontsize=8,
                    )
            ax.axhline(max(truth.mean(), 1 - truth.mean()), color=GRAY, linewidth=0.8, ls=":")
            ax.set(xscale="log", title=f"{n_labels:,} labels", xlabel="megabytes in memory")
            ax.xaxis.set_major_formatter("{x:g}")
            ax.xaxis.set_minor_formatter("")
        panels[0].set_ylabel("accuracy")
        save(figure, "fig_4_2.svg")


if __name__ == "__main__":
    main()
