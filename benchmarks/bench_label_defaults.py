"""Defaults of `StableHFSClassifier` against seven graph-only methods, on graphs of many kinds.

    python -m benchmarks.bench_label_defaults [--split tuning|checking] [--part NAME] [--draws N]
                                              [--only GRAPH ...] [--json]

The graphs and their split are in `label_graphs`. Defaults are tuned on the first half only.

`accuracy`: a row per graph and number of labels: 1, 5 and 20 per class, 50 and 200 at random.
Accuracy over nodes without a label, mean over draws, and what each baseline gains over the default
(a positive number is a loss of the default). The last rows are means over all cells, and the
fraction of cells in which the default is within 1.5 points of the best baseline.
`rare`: graphs with a class of 3 % at most, 100, 300 and 1,000 random labels: average precision with
and without class_weight="balanced", expected and true number of positives, and precision and recall
of recall=0.8.
`calibration`: 20, 100 and 300 random labels: expected calibration error (ten bins of equally many
nodes, by the probability of the predicted class), of default probabilities and of fractions of
the scores; accuracy of both; area under the ROC curve of 1 / confidence for errors.
`homophily`: how often the warning fires where the graph is at most as accurate as the largest class
("hurts"), and where it is more accurate by 3 points ("helps").
`passes`: nodes decided otherwise than in memory, if little more than a spanning tree is kept.
"""

import argparse
import json
import sys
import time
import warnings

import numpy as np
import scipy.sparse
from sklearn.metrics import average_precision_score, roc_auc_score

import graphsqueak as gs
from benchmarks.label_graphs import describe, is_rare, load_graphs
from benchmarks.real_data import add_data_option
from graphsqueak.graph import EdgeList
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.ssl import HomophilyWarning

SEED = 20_261_119


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--split", choices=["tuning", "checking"], default="tuning")
    parser.add_argument("--part", choices=[*PARTS, "graphs"], default="accuracy")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--only", nargs="+", help="names of graphs")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_data_option(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name, graph, truth in load_graphs(arguments.split, arguments.only):
        if arguments.part == "graphs":
            found = [describe(graph, truth)]
        else:
            found = PARTS[arguments.part](as_edges(graph), truth, arguments.draws)
        for row in found:
            rows.append({"graph": name} | row)
            if not arguments.json:
                print(shown(rows[-1]), flush=True)
    summary = SUMMARIES.get(arguments.part, lambda rows: [])(rows)
    if arguments.json:
        print(json.dumps({"benchmark": "label_defaults", "rows": rows, "summary": summary}))
    else:
        for row in summary:
            print(shown(row))


def shown(row):
    return "  ".join(
        f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}"
        for key, value in row.items()
    )


def as_edges(graph):
    half = scipy.sparse.triu(graph, k=1).tocoo()
    return EdgeList(tail=half.row, head=half.col, weight=half.data, n_nodes=graph.shape[0])


def draw_labels(truth, n_labels, per_class, seed):
    """Return y with labels at random nodes, at least two of every class if not `per_class`."""
    rng = np.random.default_rng([SEED, seed, n_labels])
    y = np.full(truth.size, -1)
    classes = np.unique(truth[truth >= 0])
    if per_class:
        for value in classes:
            chosen = rng.permutation(np.flatnonzero(truth == value))[:n_labels]
            y[chosen] = value
        return y
    order = rng.permutation(np.flatnonzero(truth >= 0))
    chosen = order[:n_labels]
    few = [order[truth[order] == value][:2] for value in classes]
    chosen = np.unique(np.concatenate([chosen, *few]))
    y[chosen] = truth[chosen]
    return y


def settings(truth):
    """Yield the numbers of labels that leave at least half of the nodes unlabeled."""
    n_known = np.count_nonzero(truth >= 0)
    n_classes = np.unique(truth[truth >= 0]).size
    for n_labels, per_class in ((1, True), (5, True), (20, True), (50, False), (200, False)):
        total = n_labels * n_classes if per_class else n_labels
        if total <= n_known / 2:
            yield n_labels, per_class


# Baselines: scores of shape (n_nodes, C) from an adjacency matrix and one column per class.


def solve_lazy_walk(graph, columns, stay):
    """Return (D - stay A)^-1 times the columns: a Laplacian with a ridge, times `stay`."""
    degrees = np.maximum(graph.degrees(), 1e-12)
    solver = LaplacianSolver(graph, ridge=(1 - stay) / stay * degrees, tol=1e-6, random_state=0)
    return solver.solve(columns / stay)


def label_spreading(graph, columns, *, alpha=0.9):
    """(I - alpha D^-1/2 A D^-1/2)^-1 Y."""
    root = np.sqrt(np.maximum(graph.degrees(), 1e-12))[:, None]
    return root * solve_lazy_walk(graph, root * columns, alpha)


def page_rank(graph, columns, *, damping=0.85):
    """Personalized PageRank from the labels of each class, (I - damping A D^-1)^-1 Y."""
    degrees = np.maximum(graph.degrees(), 1e-12)[:, None]
    return degrees * solve_lazy_walk(graph, columns / columns.sum(axis=0), damping)


def diffusion(graph, columns, *, n_steps=10):
    """Heat after some steps of a random walk with labels held fixed, minus its mean per class."""
    degrees = np.maximum(graph.degrees(), 1e-12)
    transition = scipy.sparse.diags_array(1 / degrees) @ graph.to_scipy()
    labeled = columns.any(axis=1)
    heat = np.where(labeled[:, None], columns, columns[labeled].mean(axis=0))
    for _ in range(n_steps):
        heat = transition @ heat
        heat[labeled] = columns[labeled]
    return heat - heat.mean(axis=0)


BASELINES = {
    "spreading": label_spreading,
    "PageRank": page_rank,
    "diffusion": diffusion,
    "Poisson": gs.ssl.PoissonClassifier,
    "harmonic": gs.ssl.HFSClassifier,
    "harmonic, masses": lambda: gs.ssl.HFSClassifier(class_mass=True),
    "nearest": gs.ssl.NearestLabelClassifier,
}


def baseline_predictions(name, graph, y):
    if name not in ("spreading", "PageRank", "diffusion"):
        return BASELINES[name]().fit(graph, y).transduction_
    classes = np.unique(y[y >= 0])
    columns = (y[:, None] == classes).astype(float)
    return classes[BASELINES[name](graph, columns).argmax(axis=1)]


def default_model():
    return gs.ssl.StableHFSClassifier(random_state=0)


def accuracy_rows(graph, truth, n_draws):
    if is_rare(truth):
        return
    for n_labels, per_class in settings(truth):
        found = {name: [] for name in ("default", *BASELINES)}
        seconds = 0.0
        for seed in range(n_draws):
            y = draw_labels(truth, n_labels, per_class, seed)
            hidden = (y < 0) & (truth >= 0)
            start = time.process_time()
            predictions = default_model().fit(graph, y).transduction_
            seconds += time.process_time() - start
            found["default"].append(np.mean(predictions[hidden] == truth[hidden]))
            for name in BASELINES:
                predictions = baseline_predictions(name, graph, y)
                found[name].append(np.mean(predictions[hidden] == truth[hidden]))
        own = np.mean(found["default"])
        gains = {name: float(np.mean(found[name]) - own) for name in BASELINES}
        yield (
            {
                "labels": f"{n_labels} per class" if per_class else f"{n_labels}",
                "default": float(own),
                "best": max(gains, key=gains.get),
            }
            | gains
            | {"seconds": seconds / n_draws}
        )


def summarize_accuracy(rows):
    for labels in ("1 per class", "all"):
        chosen = [row for row in rows if labels in ("all", row["labels"])]
        best = np.array([max(row[name] for name in BASELINES) for row in chosen])
        yield {
            "cells": f"{labels}: {len(chosen)}",
            "default": float(np.mean([row["default"] for row in chosen])),
            "within 1.5 of the best": float(np.mean(best <= 0.015)),
        } | {name: float(np.mean([row[name] for row in chosen])) for name in BASELINES}


def rare_rows(graph, truth, n_draws):
    if not is_rare(truth):
        return
    truth = truth == np.argmin(np.bincount(truth))
    for n_labels in (100, 300, 1000):
        found = []
        for seed in range(n_draws):
            y = draw_labels(truth.astype(int), n_labels, False, seed)
            hidden = y < 0
            plain = default_model().fit(graph, y)
            balanced = default_model().set_params(class_weight="balanced").fit(graph, y)
            row = {
                "positive labels": int(np.count_nonzero(y == 1)),
                "AP": average_precision_score(truth[hidden], plain.decision_function()[hidden]),
                "AP balanced": average_precision_score(
                    truth[hidden], balanced.decision_function()[hidden]
                ),
                "expected / true": float(
                    plain.label_distributions_[hidden, 1].sum() / truth[hidden].sum()
                ),
            }
            row |= flags_for_recall(plain, y, truth, hidden)
            found.append(row)
        yield (
            {"labels": n_labels}
            | {key: float(np.nanmean([row[key] for row in found])) for key in found[0]}
            | {"recalls": " ".join(f"{row['recall']:.2f}" for row in found)}
        )


def flags_for_recall(model, y, truth, hidden):
    known = np.flatnonzero(y >= 0).tolist()
    try:
        _, flagged, _ = gs.ssl.find_positives(model, 1, known=known, recall=0.8)
    except gs.InputError:
        return {"recall": np.nan, "precision": np.nan, "flagged": np.nan}
    flagged = flagged[hidden]
    return {
        "recall": float(truth[hidden][flagged].sum() / truth[hidden].sum()),
        "precision": float(truth[hidden][flagged].mean()) if flagged.any() else np.nan,
        "flagged": float(flagged.mean()),
    }


def calibration_error(confidence, is_right):
    bins = np.array_split(np.argsort(confidence, kind="stable"), 10)
    gaps = [abs(confidence[bin_].sum() - is_right[bin_].sum()) for bin_ in bins]
    return float(np.sum(gaps) / confidence.size)


def calibration_rows(graph, truth, n_draws):
    for n_labels in (20, 100, 300):
        if n_labels > np.count_nonzero(truth >= 0) / 2:
            continue
        found = []
        for seed in range(n_draws):
            y = draw_labels(truth, n_labels, False, seed)
            hidden = (y < 0) & (truth >= 0)
            model = default_model().fit(graph, y)
            is_right = model.transduction_[hidden] == truth[hidden]
            confidence = model.label_distributions_[hidden].max(axis=1)
            scores = model.scores_[hidden]
            fractions = np.clip(scores + 1 / scores.shape[1], 0, None)
            fractions /= fractions.sum(axis=1, keepdims=True)
            by_score = model.classes_[scores.argmax(axis=1)] == truth[hidden]
            margins = np.diff(np.sort(scores, axis=1)[:, -2:], axis=1).ravel()
            found.append(
                {
                    "ECE": calibration_error(confidence, is_right),
                    "ECE fractions": calibration_error(fractions.max(axis=1), by_score),
                    "accuracy": float(is_right.mean()),
                    "accuracy by score": float(by_score.mean()),
                    "AUC of errors": error_auc(is_right, 1 - confidence),
                    "AUC margin": error_auc(is_right, -margins),
                }
            )
        yield {"labels": n_labels} | {
            key: float(np.nanmean([row[key] for row in found])) for key in found[0]
        }


def error_auc(is_right, doubt):
    if is_right.all() or not is_right.any():
        return np.nan
    return float(roc_auc_score(~is_right, doubt))


def summarize_calibration(rows):
    for n_labels in (20, 100, 300):
        chosen = [row for row in rows if row["labels"] == n_labels]
        keys = [key for key in chosen[0] if key not in ("graph", "labels")]
        yield (
            {"mean": n_labels}
            | {key: float(np.nanmean([row[key] for row in chosen])) for key in keys}
            | {"ECE at most 0.12": float(np.mean([row["ECE"] <= 0.12 for row in chosen]))}
        )


def homophily_rows(graph, truth, n_draws):
    # Where a class is rare, the ranking may be good and the accuracy below that class's absence.
    if is_rare(truth):
        return
    for n_labels in (50, 200):
        counts = dict.fromkeys(("hurts", "warned, hurts", "helps", "warned, helps"), 0)
        if n_labels > np.count_nonzero(truth >= 0) / 2:
            continue
        for seed in range(n_draws):
            y = draw_labels(truth, n_labels, False, seed)
            hidden = (y < 0) & (truth >= 0)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model = default_model().fit(graph, y)
            is_warned = any(issubclass(one.category, HomophilyWarning) for one in caught)
            gain = np.mean(model.transduction_[hidden] == truth[hidden])
            gain -= np.bincount(truth[hidden]).max() / hidden.sum()
            kind = "hurts" if gain <= 0 else "helps" if gain >= 0.03 else None
            if kind is not None:
                counts[kind] += 1
                counts[f"warned, {kind}"] += is_warned
        yield {"labels": n_labels} | counts


def summarize_homophily(rows):
    for n_labels in (50, 200):
        chosen = [row for row in rows if row["labels"] == n_labels]
        keys = [key for key in chosen[0] if key not in ("graph", "labels")]
        yield {"sum": n_labels} | {key: sum(row[key] for row in chosen) for key in keys}


def pass_rows(graph, truth, n_draws):
    if is_rare(truth):
        return
    for edges_per_node in (1.1, 1.3, 3.0):
        found = []
        n_kept = int(edges_per_node * graph.n_nodes)
        if n_kept >= graph.n_edges:
            continue
        for seed in range(n_draws):
            y = draw_labels(truth, 100, False, seed)
            hidden = (y < 0) & (truth >= 0)
            exact = default_model().fit(graph, y).transduction_
            streamed = gs.ssl.SparseHFSClassifier(n_edges=n_kept, random_state=seed).fit(graph, y)
            changed = int(np.count_nonzero(streamed.transduction_ != exact))
            found.append(
                {
                    "passes": streamed.n_passes_,
                    "accuracy": float(np.mean(exact[hidden] == truth[hidden])),
                    "lost": float(
                        np.mean(exact[hidden] == truth[hidden])
                        - np.mean(streamed.transduction_[hidden] == truth[hidden])
                    ),
                    "changed": changed,
                    "unstable": streamed.n_unstable_,
                }
            )
        yield {"edges per node": edges_per_node} | {
            key: float(np.mean([row[key] for row in found])) for key in found[0]
        }


PARTS = {
    "accuracy": accuracy_rows,
    "rare": rare_rows,
    "calibration": calibration_rows,
    "homophily": homophily_rows,
    "passes": pass_rows,
}


def summarize_rare(rows):
    recalls = [
        float(recall)
        for row in rows
        if row["positive labels"] >= 10
        for recall in row["recalls"].split()
    ]
    changes = [abs(row["AP balanced"] - row["AP"]) for row in rows]
    yield {
        "largest change of AP": float(max(changes)),
        "draws with 10 positives or more": len(recalls),
        "recall of 0.7 to 0.9": float(np.mean([0.7 <= recall <= 0.9 for recall in recalls])),
        "mean recall": float(np.mean(recalls)),
    }


SUMMARIES = {
    "rare": lambda rows: list(summarize_rare(rows)),
    "accuracy": lambda rows: list(summarize_accuracy(rows)),
    "calibration": lambda rows: list(summarize_calibration(rows)),
    "homophily": lambda rows: list(summarize_homophily(rows)),
}

if __name__ == "__main__":
    sys.exit(main())
