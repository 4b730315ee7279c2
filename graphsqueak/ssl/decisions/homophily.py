"""Homophily: how much the edges of a graph reveal about the classes of its nodes.

h is the correlation of the classes at the two ends of an edge ("adjusted" homophily [P23]): 1 if
neighbors always agree, 0 if they agree as often as two random nodes. `measure_homophily` estimates
it from the labeled pairs (i, j) at k steps from each other. With y~ the classes minus their means
over the labeled degrees and v the variance of the classes,

    r_k = sum W_ij y~_i y~_j / (v sum W_ij),   W = A for k = 1, A D^-1 A without i = j for k = 2,

has a mean of about h^k. With few labels there are few labeled pairs of neighbors, but often pairs
with common neighbors. The estimate is the mean of the density proportional to

    exp(-((r_1 - h) / s_1)^2 / 2 - ((r_2 - h^2) / s_2)^2 / 2)

and its standard error is the standard deviation. The density extends from the smallest h that is
possible with these class sizes (no edges inside the classes; inside the largest one as few as the
others leave) to 1.

*Standard errors.* s_k is the larger of two estimates: from the scatter of the labeled nodes, and
from pairs whose correlation is h^k. If a class is rare, y~_i y~_j is small for most pairs and
large if both are in that class, so that its variance grows with h. The density is not divided by
s_1 s_2, which would favor small h in this case. The labels outside the largest class, m of them,
carry the information: s_k^2 is multiplied by (m + 1) / (m - 1).

*The sign.* r_2 does not determine the sign of h. It is that of the correlation z of the classes
with the scores that labeled nodes get without their own labels, in standard deviations: values of
h with the other sign are discounted by exp(-z^2 / 2).

*The warning* does not depend on h. However small h is, a graph is informative if each node has many
neighbors that contribute a little. There is a warning if the labeled nodes, each without its own
label, are classified about as by chance: if their mean accuracy per class is less than two standard
errors above 1/C.

References
----------
[P23] Platonov, Kuznedelev, Babenko, Prokhorenkova. Characterizing graph datasets for node
      classification. NeurIPS 2023.
"""

import warnings
from typing import NamedTuple

import numpy as np

from graphsqueak.graph.edge_list import EdgeList

__all__ = [
    "Homophily",
    "HomophilyWarning",
    "measure_homophily",
    "warn_of_homophily",
    "warn_of_values",
]


class HomophilyWarning(UserWarning):
    """Labeled nodes are not predicted better than by chance without their own labels."""


class Accuracy(NamedTuple):
    """Mean over the classes of the accuracy on left-out labels, and its standard error.

    `by_chance` is that of decisions at random.
    """

    value: float
    error: float
    by_chance: float


class Homophily(NamedTuple):
    """Estimate of the correlation of the classes of neighbors.

    Attributes
    ----------
    value, error : float
        The estimate and its standard error; NaN if there are fewer than two classes.
    left_out : Accuracy or None
        None without scores of labeled nodes without their own labels.
    """

    value: float
    error: float
    left_out: Accuracy | None = None

    @property
    def is_little(self):
        """Whether left-out labels are not predicted better than by chance."""
        if self.left_out is None:
            return False
        # Two standard errors: with a graph that reveals nothing, 98 % of the fits are below.
        return self.left_out.value <= self.left_out.by_chance + 2 * self.left_out.error


def measure_homophily(graph, labels, held_out=None):
    """Estimate the homophily of a graph from its labeled nodes.

    Parameters
    ----------
    graph : EdgeList
    labels : ClassLabels
    held_out : tuple of arrays (k, C) and (k,), optional
        Scores of labeled nodes without their own labels, and their classes.

    Returns
    -------
    Homophily

    Examples
    --------
    Two classes that alternate on a path:

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.ssl.labels import ClassLabels
    >>> path = EdgeList(tail=range(99), head=range(1, 100))
    >>> labels = ClassLabels(np.arange(100), np.arange(100) % 2, np.array([0, 1]))
    >>> round(measure_homophily(path, labels).value, 1)
    -0.9
    """
    n_labels = labels.nodes.size
    n_classes = labels.classes.size
    degrees = graph.degrees()
    one_hot = labels.one_hot()
    labeled_degree = degrees[labels.nodes].sum()
    if n_classes < 2 or labeled_degree == 0:
        return Homophily(np.nan, np.nan)
    # Class frequencies at the ends of edges.
    mean = degrees[labels.nodes] @ one_hot / labeled_degree
    class_variance = 1 - mean @ mean
    if class_variance <= 0:
        return Homophily(np.nan, np.nan)

    # Frequencies for the null distribution, shrunk towards equal ones: none may be 0.
    frequency = (n_labels * mean + 1) / (n_labels + n_classes)
    grid = np.linspace(_lowest_homophily(frequency), 1, 401)
    n_outside_largest = n_labels - np.bincount(labels.code).max()
    small_sample_factor = (n_outside_largest + 1) / max(n_outside_largest - 1, 0.1)
    deviance = np.zeros(grid.size)
    for steps, pairs in enumerate(_pair_sums(graph, degrees, labels, one_hot - mean), start=1):
        total = class_variance * pairs.weight.sum()
        if total <= 0:
            continue
        correlation = pairs.product.sum() / total
        scatter = pairs.product - correlation * class_variance * pairs.weight
        # Not all pairs agree for certain (rule of succession): the variance is positive.
        homophily = np.minimum(grid**steps, n_labels / (n_labels + 1))
        expected = pairs.squared_weight * _product_variance(frequency, homophily)
        # Each pair is counted from both of its ends.
        variance = 2 * np.maximum((scatter**2).sum(), expected) / total**2
        deviance += (correlation - grid**steps) ** 2 / (small_sample_factor * variance)
    left_out = None
    if held_out is not None and len(held_out[0]):
        skill = _score_correlation(*held_out)
        deviance += np.where(grid > 0, min(skill, 0.0), max(skill, 0.0)) ** 2
        left_out = _left_out_accuracy(*held_out)

    density = np.exp(-(deviance - deviance.min()) / 2)
    density /= density.sum()
    value = float(density @ grid)
    error = float(np.sqrt(density @ (grid - value) ** 2))
    return Homophily(value, error, left_out)


def warn_of_homophily(found, *, stacklevel):
    """Warn if the graph reveals little about the classes, with what to do instead."""
    if found.is_little:
        warnings.warn(
            HomophilyWarning(
                "the graph reveals little about the classes: labeled nodes are classified about as "
                "by chance without their own labels (mean accuracy per class "
                f"{found.left_out.value:.2f} +- {found.left_out.error:.2f}, by chance "
                f"{found.left_out.by_chance:.2f}; homophily {found.value:.2f} +- "
                f"{found.error:.2f}); learn from features of the nodes, or from those and their "
                "neighbors' (NeighborMeans), or try a graph that joins nodes two steps apart"
            ),
            stacklevel=stacklevel + 1,
        )


def warn_of_values(predicted, mean, values, sample_weight=None, *, stacklevel):
    """Warn if left-out values are predicted no better than by the mean of the others.

    That is, if the mean decrease of the squared error is below two standard errors.

    Parameters
    ----------
    predicted, mean, values : array of shape (k,)
        Predictions of labeled nodes without their own values, means of the other values, and the
        values.
    sample_weight : array of shape (k,), optional
    """
    decrease = (mean - values) ** 2 - (predicted - values) ** 2
    average = np.average(decrease, weights=sample_weight)
    variance = np.average((decrease - average) ** 2, weights=sample_weight)
    if average <= 2 * np.sqrt(variance / decrease.size):
        total = np.average((mean - values) ** 2, weights=sample_weight)
        warnings.warn(
            HomophilyWarning(
                "the graph reveals little about the values: without their own values, labeled "
                "nodes are predicted about as by the mean of the others (R^2 "
                f"{average / total if total > 0 else 0.0:.2f}); learn from features of the nodes, "
                "or from those and their neighbors' (NeighborMeans)"
            ),
            stacklevel=stacklevel + 1,
        )


def _left_out_accuracy(scores, code):
    """Return `Accuracy` of scores of labeled nodes without their own labels."""
    is_valid = np.isfinite(scores[:, 0])
    scores = scores[is_valid]
    code = code[is_valid]
    n_labels = np.bincount(code, minlength=scores.shape[1])
    n_right = np.bincount(code[scores.argmax(axis=1) == code], minlength=scores.shape[1])
    n_right = n_right[n_labels > 0]
    n_labels = n_labels[n_labels > 0]
    # Not all labels of a class are right or wrong for certain (rule of succession).
    p_right = (n_right + 1) / (n_labels + 2)
    variance = (p_right * (1 - p_right) / n_labels).sum() / n_labels.size**2
    return Accuracy(
        value=float((n_right / n_labels).mean()),
        error=float(np.sqrt(variance)),
        by_chance=1 / scores.shape[1],
    )


class _Pairs(NamedTuple):
    """Sums over the pairs (i, j) of labeled nodes, for each i.

    `product` is sum_j W_ij y~_i y~_j, `weight` is sum_j W_ij, and `squared_weight` is an estimate
    of the sum of all W_ij^2.
    """

    product: np.ndarray
    weight: np.ndarray
    squared_weight: float


def _pair_sums(graph, degrees, labels, centered, *, n_probes=16):
    """Return the sums over pairs at one step and at two steps from each other.

    The matrix W is applied to blocks only: at two steps it may be dense. The sum of its squares is
    the mean of |W q|^2 over random signs q, with a relative error of about sqrt(2 / n_probes).
    """
    n_labels = labels.nodes.size
    n_classes = centered.shape[1]
    rng = np.random.default_rng(n_labels)
    # A fixed seed: the estimate depends on the graph and the labels only.
    signs = rng.choice([-1.0, 1.0], size=(n_labels, n_probes))
    block = np.column_stack([centered, np.ones(n_labels), signs])
    adjacency = _labeled_rows(graph, labels.nodes)
    inverse = 1 / np.where(degrees > 0, degrees, 1.0)
    one_step = adjacency[:, labels.nodes] @ block
    # The diagonal of A D^-1 A: walks that return.
    diagonal = adjacency.multiply(adjacency) @ inverse
    two_steps = adjacency @ (inverse[:, None] * (adjacency.T @ block)) - diagonal[:, None] * block
    return [
        _Pairs(
            product=(centered * image[:, :n_classes]).sum(axis=1),
            weight=image[:, n_classes],
            squared_weight=(image[:, n_classes + 1 :] ** 2).mean(axis=1).sum(),
        )
        for image in (one_step, two_steps)
    ]


def _lowest_homophily(frequency):
    """Return the homophily of a graph with as few edges inside the classes as possible."""
    by_chance = frequency @ frequency
    # If the largest class has more edge ends than all others, the rest must stay inside it.
    inside = max(2 * frequency.max() - 1, 0.0)
    return (inside - by_chance) / (1 - by_chance)


def _product_variance(frequency, homophily):
    """Return the variance of y~_i y~_j over pairs of neighbors, for each homophily.

    A pair is of the same class, drawn by `frequency`, with probability `homophily` (0 if it is
    negative); otherwise both classes are independent.
    """
    covariance = np.diag(frequency) - np.outer(frequency, frequency)
    independent = (covariance**2).sum()
    squared_frequency = frequency @ frequency
    equal = frequency @ (1 - 2 * frequency + squared_frequency) ** 2
    probability = np.clip(homophily, 0.0, 1.0)
    mean = probability * (1 - squared_frequency)
    return (1 - probability) * independent + probability * equal - mean**2


def _score_correlation(scores, code):
    """Return the correlation of scores and classes, in standard deviations over permutations."""
    is_valid = np.isfinite(scores[:, 0])
    one_hot = np.eye(scores.shape[1])[code[is_valid]]
    scores = scores[is_valid]
    n_scores = len(scores)
    if n_scores < 2:
        return 0.0
    scores = scores - scores.mean(axis=0)
    one_hot = one_hot - one_hot.mean(axis=0)
    # Variance of the sum of products if the classes are permuted at random.
    variance = ((scores.T @ scores) * (one_hot.T @ one_hot)).sum() / (n_scores - 1)
    return float((scores * one_hot).sum() / np.sqrt(variance)) if variance > 0 else 0.0


def _labeled_rows(graph, nodes):
    """Return the rows (l, n_nodes) of the adjacency matrix that belong to `nodes`."""
    is_labeled = np.zeros(graph.n_nodes, dtype=bool)
    is_labeled[nodes] = True
    # The matrix of all edges may take much more memory.
    is_used = is_labeled[graph.tail] | is_labeled[graph.head]
    used = EdgeList.from_validated(
        graph.tail[is_used], graph.head[is_used], graph.weight[is_used], graph.n_nodes
    )
    return used.to_scipy()[nodes]
