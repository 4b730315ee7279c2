"""Labels from few: our classifiers against those of other packages, and what sparsifying costs.

    python benchmarks/bench_ssl.py [--quick] [--json] [--seeds N] [--part peers|dense] [--only NAME]

`peers`: every method gets the same graph and the same labels (20 draws, balanced on digits), all at
their defaults. Accuracy and balanced accuracy over the nodes without a label, mean and standard
error over draws; seconds are medians; `peak MB` is the largest growth of traced memory in one fit.
`dense`: k-NN graphs with k = n / 6, whose signal is weak. 5 % of the edges, and beside them what is
left of label-aware sparsification when parts of it are switched off, and a smaller k.
"""

import argparse
import json
import statistics
import time
import tracemalloc
import warnings

import numpy as np
from real_data import add_data_option, load_present
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics import balanced_accuracy_score
from ssl_data import (
    SEED,
    blobs,
    cora,
    drawn,
    largest_component,
    neighbors,
    polblogs,
    spam,
    spam_graph,
    spambase,
    spambase_graph,
)

import graphsqueak as gs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two data sets, three draws")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_data_option(parser)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="", help="data sets whose name begins so")
    parser.add_argument("--part", choices=["peers", "dense", "both"], default="both")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    n_seeds = 3 if arguments.quick else arguments.seeds
    rows = []
    if arguments.part != "dense":
        for row in peer_rows(arguments.quick, n_seeds, arguments.only):
            rows.append(row)
            if not arguments.json:
                print_peers(row)
    if arguments.part != "peers":
        for row in dense_rows(arguments.quick, min(n_seeds, 10), arguments.only):
            rows.append(row)
            if not arguments.json:
                print_dense(row)
    if arguments.json:
        print(json.dumps({"benchmark": "ssl", "rows": rows}))


def peer_rows(quick, n_seeds, only):
    for name, graph, truth in graphs(quick):
        if not name.startswith(only):
            continue
        for n_labels in (20, 100, 1000):
            if n_labels > len(truth) // 2 or (quick and n_labels > 100):
                continue
            yield {"data": name, "labels": n_labels} | compare(
                graph, truth, n_labels, n_seeds, balanced=name == "digits"
            )


def graphs(quick):
    """Name, adjacency matrix and true classes."""
    points, truth = load_digits(return_X_y=True)
    yield "digits", neighbors(points, 10), truth
    points, truth = make_moons(1000, noise=0.1, random_state=SEED)
    yield "moons", neighbors(points, 10), truth
    if quick:
        return
    points, truth = blobs(1000)
    yield "blobs 30/70", neighbors(points, 10), truth
    real = {"polblogs": polblogs, "cora": cora, "spambase": spambase_graph}
    for name, (graph, truth) in load_present(real):
        yield name, *largest_component(graph, truth)
    yield "spam", *largest_component(*spam_graph())


def compare(graph, truth, n_labels, n_seeds, balanced):
    out = {}
    for seed in range(n_seeds):
        nodes = drawn(truth, n_labels, seed, balanced)
        y = np.full(truth.size, -1)
        y[nodes] = truth[nodes]
        rest = y == -1
        for name, predict in methods(graph, y, nodes).items():
            began = time.perf_counter()
            predicted = np.asarray(predict())
            seconds = time.perf_counter() - began
            record = out.setdefault(name, {"accuracy": [], "balanced": [], "seconds": []})
            record["accuracy"].append(float(np.mean(predicted[rest] == truth[rest])))
            record["balanced"].append(balanced_accuracy_score(truth[rest], predicted[rest]))
            record["seconds"].append(seconds)
            if seed == 0:
                record["peak MB"] = traced(predict)
    rows = {name: summary(record) for name, record in out.items()}
    best = max(row["accuracy"] for name, row in rows.items() if not name.startswith("ours"))
    ours = rows["ours: stable"]
    margin = (ours["accuracy"] - best) / max(ours["error"], 1e-9)
    return {"methods": rows, "ours minus best peer, in standard errors": margin}


def traced(predict):
    tracemalloc.start()
    predict()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def summary(record):
    accuracy = record["accuracy"]
    return {
        "accuracy": statistics.mean(accuracy),
        "error": float(np.std(accuracy, ddof=1) / np.sqrt(len(accuracy))) if accuracy[1:] else 0.0,
        "balanced": statistics.mean(record["balanced"]),
        "seconds": statistics.median(record["seconds"]),
        "peak MB": record["peak MB"],
    }


def methods(graph, y, nodes):
    """Each a function of nothing that predicts all nodes."""
    edges = gs.EdgeList.from_scipy(graph)
    ours = {
        "ours: stable": lambda: gs.StableHFSClassifier(random_state=SEED).fit(edges, y).predict(),
        "ours: hfs": lambda: gs.HFSClassifier(random_state=SEED).fit(edges, y).predict(),
        "ours: 1-NN": lambda: gs.NearestLabelClassifier().fit(edges, y).predict(),
        "ours: simple": lambda: gs.SimpleHFSClassifier(random_state=SEED).fit(edges, y).predict(),
    }
    return (
        ours | sklearn_peers(graph, y) | sknetwork_peers(graph, y) | learning_peers(graph, y, nodes)
    )


def sklearn_peers(graph, y):
    """On the given graph: scikit-learn takes a function in place of a kernel."""
    from sklearn.semi_supervised import LabelPropagation, LabelSpreading

    def given(X, Y):
        return graph

    index = np.arange(y.size)[:, None]
    return {
        "sklearn spreading": lambda: LabelSpreading(kernel=given).fit(index, y).transduction_,
        "sklearn propagation": lambda: LabelPropagation(kernel=given).fit(index, y).transduction_,
    }


def sknetwork_peers(graph, y):
    try:
        from sknetwork.classification import DiffusionClassifier, PageRankClassifier
    except ImportError:
        return {}
    return {
        "skn diffusion": lambda: DiffusionClassifier().fit_predict(graph, y),
        "skn diffusion 50": lambda: DiffusionClassifier(n_iter=50).fit_predict(graph, y),
        "skn pagerank": lambda: PageRankClassifier().fit_predict(graph, y),
    }


def learning_peers(graph, y, nodes):
    try:
        import graphlearning as gl
    except ImportError:
        return {}
    return {
        "gl laplace": lambda: gl.ssl.laplace(graph).fit_predict(nodes, y[nodes]),
        "gl poisson": lambda: gl.ssl.poisson(graph).fit_predict(nodes, y[nodes]),
    }


def dense_rows(quick, n_seeds, only):
    """Sparse-HFS at 5 % of the edges, part by part."""
    sets = [("digits", load_digits(return_X_y=True))]
    if not quick:
        sets += load_present({"spambase": spambase})
    if not quick:
        sets.append(("spam", spam()))
    for name, (points, truth) in sets:
        if not name.startswith(only):
            continue
        by_cosine = name == "spam"
        dense, small = (joined(points, k, by_cosine) for k in (len(truth) // 6, 10))
        for n_labels in (20,) if quick else (20, 100, 1000):
            out, used = {}, []
            for seed in range(n_seeds):
                nodes = drawn(np.asarray(truth), n_labels, seed, balanced=False)
                y = np.full(len(truth), -1)
                y[nodes] = truth[nodes]
                for method, value, share in variants(dense, small, y, seed):
                    right = np.mean(value[y == -1] == truth[y == -1])
                    out.setdefault(method, []).append(float(right))
                    if method == "label-aware":
                        used.append(share)
            row = {method: statistics.mean(values) for method, values in out.items()}
            yield {
                "data": f"{name} k=n/6",
                "labels": n_labels,
                "edges": dense.n_edges,
                "used": statistics.mean(used),
                "gap": row["exact"] - row["label-aware"],
                "methods": row,
            }


def joined(points, k, by_cosine):
    if by_cosine:
        return gs.neighbor_edges(points, k).to_edge_list()
    return gs.EdgeList.from_scipy(neighbors(points, k))


def variants(dense, small, y, seed):
    """Method, predictions and share of the edges used."""
    exact = gs.StableHFSClassifier(random_state=SEED)
    yield "exact", exact.fit(dense, y).predict(), 1.0
    yield "smaller k", gs.StableHFSClassifier(random_state=SEED).fit(small, y).predict(), 0.0
    uncalibrated = gs.StreamOptions(rescale_to_degrees=False)
    n_edges = int(0.05 * dense.n_edges)
    for number in range(3):
        state = SEED + 10 * seed + number
        coarse = gs.sparsify(dense, n_edges=n_edges, options=uncalibrated, random_state=state)
        yield "plain", gs.StableHFSClassifier(random_state=state).fit(coarse, y).predict(), 0.05
        for method, share in (("calibrated", 0.0), ("priority", 0.5), ("label-aware", "auto")):
            clf = gs.SparseHFSClassifier(
                keep=0.05, priority_fraction=share, max_passes=1, random_state=state
            )
            clf.fit(dense, y)
            yield method, clf.predict(), (clf.n_edges_used_ + clf.n_sums_) / dense.n_edges


def print_peers(row):
    print(f"\n{row['data']}, {row['labels']} labels")
    ordered = sorted(row["methods"].items(), key=lambda item: -item[1]["accuracy"])
    for name, record in ordered:
        print(
            f"  {name:<22}{record['accuracy']:.4f} +- {record['error']:.4f}  balanced "
            f"{record['balanced']:.4f}  {1000 * record['seconds']:8.1f} ms  "
            f"{record['peak MB']:6.1f} MB",
            flush=True,
        )
    margin = row["ours minus best peer, in standard errors"]
    print(f"  ours (stable) minus the best peer: {margin:+.1f} standard errors")


def print_dense(row):
    shown = "  ".join(f"{name} {value:.3f}" for name, value in row["methods"].items())
    print(
        f"{row['data']:<16}{row['labels']:>5} labels  {shown}  gap {100 * row['gap']:+.1f} points, "
        f"{100 * row['used']:.1f} % used (edges and class sums)",
        flush=True,
    )


if __name__ == "__main__":
    main()
