"""What the demo measures: six ways to label mails, on the same draws of labels.

A dense graph is given (every mail joined to a sixth of all others). Exact Stable-HFS holds all of
it. Sparse-HFS reads it once and keeps a twentieth. SubSampling gets as many nodes as have a
twentieth of the edges between them. The last row may choose its graph and joins 10 neighbors.
"""

import time
import warnings
from typing import NamedTuple

import numpy as np

from graphsqueak.sources import neighbor_edges
from graphsqueak.system.progress import reporter

__all__ = [
    "KEEP",
    "Study",
    "all_edges",
    "draws_of_labels",
    "edges_at_labels",
    "edges_between_samples",
    "edges_used",
    "fit_once",
    "label_mails",
    "neighbor_count",
    "summary",
]

KEEP = 0.05
_ETA = 0.03  # over the mean degree: the same smoothness for all
_FEW_NEIGHBORS = 10
_BYTES_PER_EDGE = 16  # two numbers of nodes and a weight


class Study(NamedTuple):
    """What all methods share."""

    mails: object  # Points
    stream: object  # the dense neighbor graph, read again at every pass
    n_edges: int
    mean_degree: float


def neighbor_count(mails):
    """k = n / 6: dense."""
    return len(mails.labels) // 6


def draws_of_labels(truth, n_labels, n_draws, seed):
    """Arrays y, -1 where no label is given; every draw has both classes."""
    rng = np.random.default_rng([seed, n_labels])
    draws = []
    while len(draws) < n_draws:
        chosen = rng.choice(truth.size, n_labels, replace=False)
        if np.unique(truth[chosen]).size > 1:
            y = np.full(truth.size, -1)
            y[chosen] = truth[chosen]
            draws.append(y)
    return draws


def label_mails(study, *, n_draws, seed, progress=False):
    """A row (dict) per method and number of labels: accuracy, edges, bytes and seconds.

    `n_draws` maps a number of labels to how often it is drawn; all methods get the same draws.
    """
    truth = study.mails.labels
    dense = study.stream.to_edge_list()
    few = neighbor_edges(study.mails.points, _FEW_NEIGHBORS).to_edge_list()
    draws = {count: draws_of_labels(truth, count, n, seed) for count, n in n_draws.items()}
    rows, n_done = [], 0
    methods = _methods(study, dense, few, seed)
    n_fits = len(methods) * sum(n_draws.values())
    with reporter(progress, "labeling", unit="fits") as report:
        for name, make, graph, held in methods:
            for count in draws:
                fits = []
                for y in draws[count]:
                    report(n_done, n_done / n_fits, f"{name}, {count:,} labels")
                    fits.append(fit_once(make(), graph, held, y, truth))
                    n_done += 1
                rows.append({"method": name, "labels": count} | summary(fits, study.n_edges))
    return rows


def _methods(study, dense, few, seed):
    """Name, how to make the estimator, the graph that it is given, and the edges that it needs."""
    from graphsqueak import ssl

    n_nodes, budget = dense.n_nodes, int(KEEP * study.n_edges)
    eta = {"eta": _ETA / study.mean_degree, "random_state": seed}
    own_eta = {"eta": _ETA / few.degrees().mean(), "random_state": seed}
    n_samples = int(np.sqrt(KEEP) * n_nodes)
    in_tally = 2 * n_nodes  # sums at labels, one per node and class, count as edges
    return [
        ("exact Stable-HFS", lambda: ssl.StableHFSClassifier(**eta), dense, all_edges),
        (
            "label-aware Sparse-HFS",
            lambda: ssl.SparseHFSClassifier(n_edges=budget - in_tally, **eta),
            study.stream,
            edges_used,
        ),
        (
            "plain sparsifier",
            lambda: ssl.SparseHFSClassifier(n_edges=budget, label_share=0.0, **eta),
            study.stream,
            edges_used,
        ),
        (
            "SubSampling",
            lambda: ssl.SubsampledHFSClassifier(n_samples=n_samples, random_state=seed),
            dense,
            edges_between_samples,
        ),
        ("1-NN", lambda: ssl.NearestLabelClassifier(), dense, edges_at_labels),
        ("just use k = 10", lambda: ssl.StableHFSClassifier(**own_eta), few, all_edges),
    ]


def fit_once(model, graph, held, y, truth):
    """Accuracy, its mean over classes, edges needed and seconds."""
    from graphsqueak.ssl.base import UnreachedWarning

    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreachedWarning)  # a mail without a word has no neighbor
        model.fit(graph, y)
    seconds = time.perf_counter() - began
    hidden = y < 0
    right = model.transduction_[hidden] == truth[hidden]
    recalls = [right[truth[hidden] == kind].mean() for kind in (0, 1)]
    return right.mean(), np.mean(recalls), held(model, graph, y), seconds


def all_edges(model, graph, y):
    """The whole graph."""
    return graph.n_edges


def edges_used(model, graph, y):
    """What the estimator says it kept."""
    return model.n_edges_used_


def edges_at_labels(model, graph, y):
    """Those with a labeled end."""
    known = y >= 0
    return np.count_nonzero(known[graph.tail] | known[graph.head])


def edges_between_samples(model, graph, y):
    """In expectation, over the nodes drawn."""
    n_samples = max(model.n_samples, np.count_nonzero(y >= 0))
    return graph.n_edges * (n_samples / graph.n_nodes) ** 2


def summary(fits, n_all):
    """Means over fits, and the standard error of the accuracy."""
    accuracy, balanced, edges, seconds = (np.array(column) for column in zip(*fits, strict=True))
    spread = accuracy.std(ddof=1) / np.sqrt(accuracy.size) if accuracy.size > 1 else 0.0
    return {
        "accuracy": float(accuracy.mean()),
        "error": float(spread),
        "balanced_accuracy": float(balanced.mean()),
        "edges": int(edges.mean()),
        "share": float(edges.mean() / n_all),
        "bytes": int(edges.mean() * _BYTES_PER_EDGE),
        "seconds": float(seconds.mean()),
        "draws": len(fits),
    }
