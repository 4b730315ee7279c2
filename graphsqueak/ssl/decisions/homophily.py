"""Whether neighbors agree: how much a graph can tell about the classes.

h is the correlation of the classes at the two ends of an edge: 1 where neighbors agree always, 0
where they do as often as strangers ("adjusted" homophily [P23]). Of labeled pairs (i, j) that are k
steps apart, with y~ the classes minus their means over the labeled degrees,

    r_k = sum W_ij y~_i y~_j / (v sum W_ij),   W = A for k = 1, A D^-1 A without i = j for k = 2,

has the mean h^k, about. Few labels have hardly a labeled neighbor, but often neighbors in common.
exp(-((r_1 - h) / s_1)^2 / 2 - ((r_2 - h^2) / s_2)^2 / 2), made a density, has the estimate as its
mean and the error as its spread, from the lowest h that classes of these shares can have (no edges
inside them, or inside the largest only what the others leave) to 1. s_k is the larger of what the
labeled nodes show and of what pairs with this h^k would give: where a class is rare, y~_i y~_j is
mostly small, and large where both are of that class, so that its spread grows with h. (Dividing by
s_1 s_2 would favor small h there, and miss a large one.) The labels outside the largest class, m,
bear what is known: s_k^2 is (m + 1) / (m - 1) times as large.

r_2 does not tell the sign, which is that of the correlation of the classes with the scores that
labeled nodes get without their own, as far as it is not noise. Where it is clear the graph is of
use, however small h is: many neighbors that each say little.

References
----------
[P23] Platonov, Kuznedelev, Babenko, Prokhorenkova. Characterizing graph datasets for node
      classification. NeurIPS 2023.
"""

import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse

__all__ = ["Homophily", "HomophilyWarning", "measure_homophily", "warn_of_homophily"]

_LITTLE, _KNOWN = 0.2, 0.2  # homophily that is warned of, and its error that allows to
_CLEAR, _CLEAR_SHARE = 4.0, 0.7  # standard deviations, and share of what they are at most
_N_SIGNS = 16  # for the sum of squares of W
_LEAST = 0.05  # variance, in units of that without homophily
_FEWEST_SCORES = 8  # that tell of skill


class HomophilyWarning(UserWarning):
    """Neighbors agree hardly more often than strangers: the graph is the wrong tool."""


class Homophily(NamedTuple):
    """Correlation of the classes of neighbors, its standard error, and what scores tell.

    `skill` is by how many standard deviations the scores that labeled nodes get without their own
    label are better than chance, 0 where there are none. `is_little`: the graph is no help.
    """

    value: float
    error: float
    skill: float
    is_little: bool


def measure_homophily(graph, labels, held_out=None):
    """How much more often than strangers the neighbors in a graph agree: `Homophily`.

    Parameters
    ----------
    graph : EdgeList
    labels : ClassLabels
    held_out : tuple of arrays (k, C) and (k,), optional
        Scores of labeled nodes without their own labels, and their classes.

    Examples
    --------
    Two classes that take turns on a path:

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.ssl.labels import ClassLabels
    >>> path = EdgeList(tail=range(99), head=range(1, 100))
    >>> labels = ClassLabels(np.arange(100), np.arange(100) % 2, np.array([0, 1]))
    >>> round(measure_homophily(path, labels).value, 1)
    -0.9
    """
    nodes, one_hot, degrees = labels.nodes, labels.one_hot(), graph.degrees()
    share = degrees[nodes] @ one_hot / max(degrees[nodes].sum(), np.finfo(float).tiny)
    size = 1 - share @ share
    if labels.classes.size < 2 or share.sum() == 0 or size <= 0:
        return Homophily(np.nan, np.nan, 0.0, is_little=False)
    edges = _labeled_rows(graph, nodes)
    inverse = 1 / np.where(degrees > 0, degrees, 1.0)
    returns = edges.multiply(edges) @ inverse
    centered, n_classes = one_hot - share, labels.classes.size
    signs = np.random.default_rng(nodes.size).choice([-1.0, 1.0], size=(nodes.size, _N_SIGNS))
    block = np.column_stack([centered, np.ones(nodes.size), signs])
    two_steps = edges @ (inverse[:, None] * (edges.T @ block)) - returns[:, None] * block
    likely = (nodes.size * share + 1) / (nodes.size + n_classes)
    grid = np.linspace(_lowest(likely), 1, 401)
    n_rare = nodes.size - np.bincount(labels.code).max()
    surprise, few = np.zeros(grid.size), (n_rare + 1) / max(n_rare - 1, 0.1)
    for power, product in ((1, edges[:, nodes] @ block), (2, two_steps)):
        agreement, pairs, squares = np.split(product, [n_classes, n_classes + 1], axis=1)
        total = size * pairs.sum()
        if total <= 0:
            continue
        agreement = (centered * agreement).sum(axis=1)
        mean = agreement.sum() / total
        by_rows = 2 * ((agreement - mean * size * pairs[:, 0]) ** 2).sum()
        by_chance = 2 * (squares**2).mean(axis=1).sum() * _product_variance(likely, grid**power)
        variance = few * np.maximum(by_rows, by_chance) / total**2
        surprise += (mean - grid**power) ** 2 / variance
    skill = 0.0 if held_out is None else _correlation(*held_out)
    surprise += np.where(grid > 0, min(skill, 0.0), max(skill, 0.0)) ** 2
    density = np.exp(-(surprise - surprise.min()) / 2)
    density /= density.sum()
    value = float(density @ grid)
    error = float(np.sqrt(density @ (grid - value) ** 2))
    is_clear = skill > min(_CLEAR, _CLEAR_SHARE * np.sqrt((nodes.size - 1) * (n_classes - 1)))
    return Homophily(value, error, skill, value < _LITTLE and error < _KNOWN and not is_clear)


def warn_of_homophily(found, *, stacklevel):
    """Say where neighbors agree hardly more often than strangers, and what to do instead."""
    if found.is_little:
        warnings.warn(
            HomophilyWarning(
                f"neighbors agree hardly more often than strangers (homophily {found.value:.2f} "
                f"+- {found.error:.2f}, where 1 is always), so that this graph tells little about "
                "the classes: learn from features of the nodes, or from those and their neighbors' "
                "(NeighborMeans), or try a graph that joins nodes two steps apart"
            ),
            stacklevel=stacklevel + 1,
        )


def _lowest(share):
    """The homophily of a graph with as few edges inside classes of these shares as there can be."""
    together = share @ share
    return (max(2 * share.max() - 1, 0.0) - together) / (1 - together)


def _product_variance(share, homophily):
    """Variance of y~_i y~_j over pairs of neighbors, for every homophily.

    They are of the same class, drawn by `share`, as often as the homophily says, else independent.
    """
    size = 1 - share @ share
    covariance = np.diag(share) - np.outer(share, share)
    apart, alike = (covariance**2).sum(), share @ (1 - 2 * share + share @ share) ** 2
    told = np.clip(homophily, 0.0, 1.0)
    return np.maximum((1 - told) * apart + told * alike - (told * size) ** 2, _LEAST * apart)


def _correlation(scores, code):
    """Of scores and classes, in standard deviations over all ways of giving out the classes."""
    valid = np.isfinite(scores[:, 0])
    scores, one_hot = scores[valid], np.eye(scores.shape[1])[code[valid]]
    if len(scores) < _FEWEST_SCORES:
        return 0.0
    scores, one_hot = scores - scores.mean(axis=0), one_hot - one_hot.mean(axis=0)
    variance = ((scores.T @ scores) * (one_hot.T @ one_hot)).sum() / (len(scores) - 1)
    return float((scores * one_hot).sum() / np.sqrt(variance)) if variance > 0 else 0.0


def _labeled_rows(graph, nodes):
    """The rows (l, n_nodes) of the adjacency matrix that belong to these nodes."""
    among = np.full(graph.n_nodes, -1)
    among[nodes] = np.arange(nodes.size)
    out, back = (np.flatnonzero(among[end] >= 0) for end in (graph.tail, graph.head))
    row = np.concatenate([among[graph.tail[out]], among[graph.head[back]]])
    column = np.concatenate([graph.head[out], graph.tail[back]])
    weight = np.concatenate([graph.weight[out], graph.weight[back]])
    return scipy.sparse.csr_array((weight, (row, column)), shape=(nodes.size, graph.n_nodes))
