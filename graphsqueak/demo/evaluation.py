"""Accuracy and cost of classifiers on random draws of labels."""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from graphsqueak.ssl import UnreachedWarning

__all__ = [
    "EdgeCount",
    "Fit",
    "Row",
    "all_edges",
    "draw_labels",
    "edges_at_labels",
    "edges_between_samples",
    "edges_used",
    "fit_and_score",
    "summarize_fits",
]

EdgeCount: TypeAlias = Callable[[Any, Any, np.ndarray], float]
"""count(model, graph, y) returns how many edges a fitted estimator needs in memory."""


class Fit(NamedTuple):
    """Figures of one fit; `balanced_accuracy` is the mean recall of both classes."""

    accuracy: float
    balanced_accuracy: float
    edges: float
    seconds: float


@dataclass(frozen=True)
class Row:
    """Means over the fits of one method with one number of labels.

    Attributes
    ----------
    method : str
    labels : int
        Number of mails with a label.
    accuracy, error, balanced_accuracy : float
        Accuracy on the mails without a label, its standard error, and the mean recall of both
        classes.
    edges : int
        Edges that the method needs in memory.
    edge_fraction : float
        The same as a fraction of the edges of the dense graph.
    bytes : int
        The same in bytes: 16 per edge, for two node numbers and a weight.
    seconds : float
        Time of one fit.
    draws : int
        Number of fits.
    """

    method: str
    labels: int
    accuracy: float
    error: float
    balanced_accuracy: float
    edges: int
    edge_fraction: float
    bytes: int
    seconds: float
    draws: int


def draw_labels(
    truth: np.ndarray, n_labels: int, n_draws: int, seed: int | None
) -> list[np.ndarray]:
    """Return arrays y, -1 if a label is unknown; every draw has both classes."""
    rng = np.random.default_rng(None if seed is None else [seed, n_labels])
    draws: list[np.ndarray] = []
    while len(draws) < n_draws:
        labeled = rng.choice(truth.size, n_labels, replace=False)
        if np.unique(truth[labeled]).size > 1:
            y = np.full(truth.size, -1)
            y[labeled] = truth[labeled]
            draws.append(y)
    return draws


def fit_and_score(
    model: Any, graph: Any, count_edges: EdgeCount, y: np.ndarray, truth: np.ndarray
) -> Fit:
    """Fit an estimator to `graph` and `y`, and compare it with `truth` where y is -1."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        # A mail without a word has no neighbors.
        warnings.simplefilter("ignore", UnreachedWarning)
        model.fit(graph, y)
    seconds = time.perf_counter() - began
    is_hidden = y < 0
    is_right = model.transduction_[is_hidden] == truth[is_hidden]
    recalls = [is_right[truth[is_hidden] == label].mean() for label in (0, 1)]
    return Fit(is_right.mean(), np.mean(recalls), count_edges(model, graph, y), seconds)


def all_edges(model: Any, graph: Any, y: np.ndarray) -> int:
    """Return the number of edges of the graph."""
    return graph.n_edges


def edges_used(model: Any, graph: Any, y: np.ndarray) -> int:
    """Return the number of edges that the estimator reports, with its exact sums."""
    return model.n_edges_used_ + model.n_sums_


def edges_at_labels(model: Any, graph: Any, y: np.ndarray) -> int:
    """Return the number of edges with a labeled end."""
    is_labeled = y >= 0
    return int(np.count_nonzero(is_labeled[graph.tail] | is_labeled[graph.head]))


def edges_between_samples(model: Any, graph: Any, y: np.ndarray) -> float:
    """Return the expected number of edges between randomly sampled nodes."""
    n_samples = max(model.n_samples, np.count_nonzero(y >= 0))
    return graph.n_edges * (n_samples / graph.n_nodes) ** 2


def summarize_fits(method: str, n_labels: int, fits: Sequence[Fit], n_edges: float) -> Row:
    """Return the means over the fits of a method; the dense graph has `n_edges` edges."""
    accuracy, balanced_accuracy, edges, seconds = np.array(fits, dtype=np.float64).T
    error = accuracy.std(ddof=1) / np.sqrt(accuracy.size) if accuracy.size > 1 else 0.0
    return Row(
        method=method,
        labels=n_labels,
        accuracy=float(accuracy.mean()),
        error=float(error),
        balanced_accuracy=float(balanced_accuracy.mean()),
        edges=int(edges.mean()),
        edge_fraction=float(edges.mean() / n_edges),
        bytes=int(16 * edges.mean()),
        seconds=float(seconds.mean()),
        draws=len(fits),
    )
