"""What demo --full measures: seven ways to label mails, on the same draws of labels.

A dense graph is given (every mail joined to a sixth of all others). Exact Stable-HFS holds all of
it. Sparse-HFS keeps a twentieth and reads it three times, or once. SubSampling gets as many nodes
as have a twentieth of the edges between them. The last row may choose its graph and joins 10
neighbors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from graphsqueak import datasets
from graphsqueak.demo.measure import (
    Held,
    Row,
    all_edges,
    draws_of_labels,
    edges_at_labels,
    edges_between_samples,
    edges_used,
    fit_once,
    summarize_fits,
)
from graphsqueak.graph import EdgeList
from graphsqueak.sources import EdgeSource, neighbor_edges
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.system.progress import Progress, reporter

__all__ = [
    "DRAWS",
    "FEW_NEIGHBORS",
    "KEEP",
    "PASSES",
    "QUICK_DRAWS",
    "MailGraph",
    "label_mails",
    "load_mails",
    "neighbor_count",
    "sparsify_mails",
]

KEEP = 0.05
DRAWS = {20: 8, 100: 5, 1000: 3}  # number of labels to draws: fewer labels, more luck, more draws
QUICK_DRAWS = {20: 1, 100: 1}
PASSES = 3
_ETA = 0.03  # over the mean degree: the same smoothness for all
FEW_NEIGHBORS = 10
_QUICK_STEP = 8  # every eighth mail


@dataclass(frozen=True)
class MailGraph:
    """The dense neighbor graph of the mails, and its sparsifier.

    Attributes
    ----------
    mails : Points
    stream : EdgeSource
        The dense graph, computed again at every pass.
    sparsifier : EdgeList
        A twentieth of its edges.
    n_edges : int
        Edges of the dense graph.
    mean_degree : float
        Of the dense graph, by weight.
    seconds : float
        Of the one pass.
    """

    mails: datasets.Points
    stream: EdgeSource
    sparsifier: EdgeList
    n_edges: int
    mean_degree: float
    seconds: float


def load_mails(*, quick: bool = False) -> datasets.Points:
    """Load the shipped mails, or every eighth of them.

    >>> load_mails(quick=True).labels.size
    735
    """
    mails = datasets.load_spam()
    if not quick:
        return mails
    few = slice(None, None, _QUICK_STEP)
    return replace(mails, points=mails.points[few], labels=mails.labels[few], ids=mails.ids[few])


def neighbor_count(mails: datasets.Points) -> int:
    """k = n / 6: dense."""
    return len(mails.labels) // 6


def sparsify_mails(
    mails: datasets.Points, *, seed: int | None, progress: Progress = False
) -> MailGraph:
    """Read the dense neighbor graph of the mails once and keep a twentieth of its edges.

    Parameters
    ----------
    mails : Points
    seed : int or None
    progress : bool or callable
        False says nothing, True draws a bar, a function is called now and then.

    Returns
    -------
    MailGraph
    """
    from graphsqueak.sparsifiers import StreamSparsifier
    from graphsqueak.sparsifiers.run import run_stream

    began = time.perf_counter()
    source = neighbor_edges(mails.points, neighbor_count(mails), progress=progress)
    stream = run_stream(StreamSparsifier(keep=KEEP, random_state=seed), source, progress=progress)
    sparsifier = stream.sparsifier()
    return MailGraph(
        mails=mails,
        stream=source,
        sparsifier=sparsifier,
        n_edges=stream.n_edges_seen_,
        mean_degree=stream.degrees_.mean().item(),
        seconds=time.perf_counter() - began,
    )


def label_mails(
    graph: MailGraph,
    *,
    n_draws: Mapping[int, int],
    seed: int | None,
    progress: Progress = False,
) -> list[Row]:
    """Label the mails by every method and measure it.

    Parameters
    ----------
    graph : MailGraph
    n_draws : mapping of int to int
        How often each number of labels is drawn; all methods get the same draws.
    seed : int or None
    progress : bool or callable
        False says nothing, True draws a bar, a function is called before every fit.

    Returns
    -------
    list of Row
        One per method and number of labels.
    """
    truth = graph.mails.labels
    with reporter(progress, "building both graphs again"):
        dense = graph.stream.to_edge_list()
        few = neighbor_edges(graph.mails.points, FEW_NEIGHBORS).to_edge_list()
    draws = {count: draws_of_labels(truth, count, n, seed) for count, n in n_draws.items()}
    rows, n_done = [], 0
    methods = _methods(graph, dense, few, seed)
    n_fits = len(methods) * sum(n_draws.values())
    with reporter(progress, "labeling", unit="fits") as report:
        for method in methods:
            for count in draws:
                fits = []
                for y in draws[count]:
                    report(n_done, n_done / n_fits, f"{method.name}, {count:,} labels")
                    fits.append(fit_once(method.make(), method.graph, method.held, y, truth))
                    n_done += 1
                rows.append(summarize_fits(method.name, count, fits, graph.n_edges))
    return rows


class _Method(NamedTuple):
    name: str
    make: Callable[[], Any]  # the estimator
    graph: GraphLike  # what it is given
    held: Held


def _methods(graph, dense, few, seed):
    from graphsqueak import ssl

    n_nodes, budget = dense.n_nodes, int(KEEP * graph.n_edges)
    eta = _ETA / graph.mean_degree
    own_eta = _ETA / few.degrees().mean()
    n_samples = int(np.sqrt(KEEP) * n_nodes)
    return [
        _Method(
            "exact Stable-HFS",
            lambda: ssl.StableHFSClassifier(eta=eta, random_state=seed),
            dense,
            all_edges,
        ),
        _Method(
            "5 % and three passes",
            lambda: ssl.SparseHFSClassifier(
                n_edges=budget, max_passes=PASSES, eta=eta, random_state=seed
            ),
            dense,
            edges_used,
        ),
        _Method(
            "5 % and one pass",
            lambda: ssl.SparseHFSClassifier(
                n_edges=budget, max_passes=1, eta=eta, random_state=seed
            ),
            graph.stream,
            edges_used,
        ),
        _Method(
            "plain sparsifier",
            lambda: ssl.SparseHFSClassifier(
                n_edges=budget, priority_fraction=0.0, max_passes=1, eta=eta, random_state=seed
            ),
            graph.stream,
            edges_used,
        ),
        _Method(
            "SubSampling",
            lambda: ssl.SubsampledHFSClassifier(n_samples=n_samples, random_state=seed),
            dense,
            edges_between_samples,
        ),
        _Method("1-NN", lambda: ssl.NearestLabelClassifier(), dense, edges_at_labels),
        _Method(
            "just use k = 10",
            lambda: ssl.StableHFSClassifier(eta=own_eta, random_state=seed),
            few,
            all_edges,
        ),
    ]
