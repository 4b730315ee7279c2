"""Comparison of seven methods that label mails, on the same draws of labels (demo --full).

The dense graph joins every mail to a sixth of all others. Exact Stable-HFS needs all of its edges
in memory. Sparse-HFS keeps 5 %, in three passes or in one. SubSampling gets as many nodes as have
5 % of the edges between them. The last method may choose its graph: 10 neighbors per mail.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from graphsqueak import ssl
from graphsqueak.datasets import Points
from graphsqueak.demo.evaluation import (
    EdgeCount,
    Row,
    all_edges,
    draw_labels,
    edges_at_labels,
    edges_between_samples,
    edges_used,
    fit_and_score,
    summarize_fits,
)
from graphsqueak.demo.workflow import KEEP, MAX_PASSES, N_NEIGHBORS_CHOSEN, n_neighbors_dense
from graphsqueak.graph import EdgeList
from graphsqueak.sources import EdgeSource, neighbor_edges
from graphsqueak.system.progress import Progress, reporter

__all__ = ["DRAWS", "QUICK_DRAWS", "compare_methods"]

# Number of draws by number of labels: the fewer labels, the more the accuracy varies.
DRAWS = {20: 8, 100: 5, 1000: 3}
QUICK_DRAWS = {20: 1, 100: 1}


def compare_methods(
    mails: Points,
    *,
    n_draws: Mapping[int, int],
    seed: int | None,
    progress: Progress = False,
) -> list[Row]:
    """Label the mails with every method and measure accuracy, edges and seconds.

    Parameters
    ----------
    mails : Points
    n_draws : mapping of int to int
        Number of draws by number of labels; all methods get the same draws.
    seed : int or None
    progress : bool or callable
        True draws a bar, a function is called before every fit.

    Returns
    -------
    list of Row
        One per method and number of labels.
    """
    truth = mails.labels
    with reporter(progress, "building both graphs"):
        stream = neighbor_edges(mails.points, n_neighbors_dense(mails))
        dense = stream.to_edge_list()
        chosen = neighbor_edges(mails.points, N_NEIGHBORS_CHOSEN).to_edge_list()
    draws = {n_labels: draw_labels(truth, n_labels, n, seed) for n_labels, n in n_draws.items()}
    methods = _methods(stream, dense, chosen, seed)
    n_fits = len(methods) * sum(n_draws.values())
    n_done = 0
    rows = []
    with reporter(progress, "labeling", unit="fits") as report:
        for method in methods:
            for n_labels, labels_of_draws in draws.items():
                fits = []
                for y in labels_of_draws:
                    report(n_done, n_done / n_fits, f"{method.name}, {n_labels:,} labels")
                    fit = fit_and_score(method.model, method.graph, method.count_edges, y, truth)
                    fits.append(fit)
                    n_done += 1
                rows.append(summarize_fits(method.name, n_labels, fits, dense.n_edges))
    return rows


class _Method(NamedTuple):
    name: str
    model: Any
    graph: EdgeList | EdgeSource
    count_edges: EdgeCount


def _methods(stream, dense, chosen, seed):
    # Relative to the mean degree, so that the smoothness is the same on every graph.
    eta = 0.03 / dense.degrees().mean()
    eta_chosen = 0.03 / chosen.degrees().mean()
    # Among this fraction of the nodes are KEEP of all edges, on average.
    n_samples = int(np.sqrt(KEEP) * dense.n_nodes)
    stable_hfs = partial(ssl.StableHFSClassifier, random_state=seed)
    sparse_hfs = partial(
        ssl.SparseHFSClassifier, n_edges=int(KEEP * dense.n_edges), eta=eta, random_state=seed
    )
    three_passes = sparse_hfs(max_passes=MAX_PASSES)
    one_pass = sparse_hfs(max_passes=1)
    label_agnostic = sparse_hfs(max_passes=1, priority_fraction=0.0)
    subsampled = ssl.SubsampledHFSClassifier(n_samples=n_samples, random_state=seed)
    nearest = ssl.NearestLabelClassifier()
    return [
        _Method("exact Stable-HFS", stable_hfs(eta=eta), dense, all_edges),
        _Method("5 % and three passes", three_passes, dense, edges_used),
        _Method("5 % and one pass", one_pass, stream, edges_used),
        _Method("plain sparsifier", label_agnostic, stream, edges_used),
        _Method("SubSampling", subsampled, dense, edges_between_samples),
        _Method("1-NN", nearest, dense, edges_at_labels),
        _Method("just use k = 10", stable_hfs(eta=eta_chosen), chosen, all_edges),
    ]
