"""Draws of labels, fits to them, and what the fits cost: a row for every method."""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

__all__ = [
    "Fit",
    "Held",
    "Row",
    "all_edges",
    "draws_of_labels",
    "edges_at_labels",
    "edges_between_samples",
    "edges_used",
    "fit_once",
    "summarize_fits",
]

_BYTES_PER_EDGE = 16  # two numbers of nodes and a weight

Held: TypeAlias = Callable[[Any, Any, np.ndarray], float]
"""held(model, graph, y): how many edges a fitted estimator must have held."""


class Fit(NamedTuple):
    """What one fit gave: accuracy, its mean over classes, edges needed and seconds."""

    accuracy: float
    balanced_accuracy: float
    edges: float
    seconds: float


@dataclass(frozen=True)
class Row:
    """A method at a number of labels: means over fits, and the accuracy's standard error.

    Attributes
    ----------
    method : str
    labels : int
        Mails with a label.
    accuracy, error, balanced_accuracy : float
        Over the mails without a label; `balanced_accuracy` is the mean over both classes.
    edges : int
        Edges that the method must hold.
    share : float
        The same, as a share of the dense graph's edges.
    bytes : int
        The same, in memory.
    seconds : float
        Of one fit.
    draws : int
        Fits.
    """

    method: str
    labels: int
    accuracy: float
    error: float
    balanced_accuracy: float
    edges: int
    share: float
    bytes: int
    seconds: float
    draws: int


def draws_of_labels(
    truth: np.ndarray, n_labels: int, n_draws: int, seed: int | None
) -> list[np.ndarray]:
    """Arrays y, -1 where no label is given; every draw has both classes."""
    rng = np.random.default_rng(None if seed is None else [seed, n_labels])
    draws: list[np.ndarray] = []
    while len(draws) < n_draws:
        chosen = rng.choice(truth.size, n_labels, replace=False)
        if np.unique(truth[chosen]).size > 1:
            y = np.full(truth.size, -1)
            y[chosen] = truth[chosen]
            draws.append(y)
    return draws


def fit_once(model: Any, graph: Any, held: Held, y: np.ndarray, truth: np.ndarray) -> Fit:
    """Fit an estimator to `graph` and `y`, and compare it with `truth` where y is -1."""
    from graphsqueak.ssl import UnreachedWarning

    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreachedWarning)  # a mail without a word has no neighbor
        model.fit(graph, y)
    seconds = time.perf_counter() - began
    hidden = y < 0
    right = model.transduction_[hidden] == truth[hidden]
    recalls = [right[truth[hidden] == kind].mean() for kind in (0, 1)]
    return Fit(right.mean(), np.mean(recalls), held(model, graph, y), seconds)


def all_edges(model: Any, graph: Any, y: np.ndarray) -> int:
    """The whole graph."""
    return graph.n_edges


def edges_used(model: Any, graph: Any, y: np.ndarray) -> int:
    """What the estimator says it kept, exact sums among it."""
    return model.n_edges_used_ + model.n_sums_


def edges_at_labels(model: Any, graph: Any, y: np.ndarray) -> int:
    """Those with a labeled end."""
    known = y >= 0
    return int(np.count_nonzero(known[graph.tail] | known[graph.head]))


def edges_between_samples(model: Any, graph: Any, y: np.ndarray) -> float:
    """In expectation, over the nodes drawn."""
    n_samples = max(model.n_samples, np.count_nonzero(y >= 0))
    return graph.n_edges * (n_samples / graph.n_nodes) ** 2


def summarize_fits(method: str, labels: int, fits: Sequence[Fit], n_all: float) -> Row:
    """Means over the fits of a method; `n_all` edges are a share of one."""
    accuracy, balanced, edges, seconds = (np.array(column) for column in zip(*fits, strict=True))
    spread = accuracy.std(ddof=1) / np.sqrt(accuracy.size) if accuracy.size > 1 else 0.0
    return Row(
        method=method,
        labels=labels,
        accuracy=float(accuracy.mean()),
        error=float(spread),
        balanced_accuracy=float(balanced.mean()),
        edges=int(edges.mean()),
        share=float(edges.mean() / n_all),
        bytes=int(edges.mean() * _BYTES_PER_EDGE),
        seconds=float(seconds.mean()),
        draws=len(fits),
    )
