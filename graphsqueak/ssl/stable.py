"""Stable-HFS: regularized least squares among functions that sum to zero [C17, Section 4.4.1].

    min over f with 1' f = 0 of   sum_S (f_i - y_i)^2 + alpha f' L f,      alpha = l eta.

With A = alpha L + I_S, its Lagrange conditions are A f = y - mu 1, mu on all nodes, so that

    v = A^-1 1,   z = A^-1 y~,   f = z - (1' z / 1' v) v,

where y~ = y - ybar on the labeled nodes only. (The thesis' projected form (Pi A)^+ y~ is not the
solution: Pi A is not symmetric and its pseudo-inverse leaves the space; (Pi A Pi)^+ y~ is.) On a
disconnected graph the space is that of functions that sum to zero over every component, each
with its own mean, v and mu; a component without a label has f = 0. A single constraint for all
components would be wrong: pure components then pull at each other.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.solvers import LaplacianSolver

__all__ = ["Fit", "label_means", "smoothed", "stable_scores"]


class Fit(NamedTuple):
    """`centered` scores f, the label mean (`offset`) of each node's component, who is `reached`."""

    centered: np.ndarray
    offset: np.ndarray
    reached: np.ndarray


def stable_scores(graph, labeled, targets, alpha, *, copies=None, tol=1e-8, random_state=None):
    """Solve Stable-HFS for every column of `targets` (l, C); two solves, C + 1 columns in all.

    Parameters
    ----------
    graph : EdgeList
    labeled : array of int
        Numbers of the labeled nodes.
    targets : array of float, shape (l, C)
        Their labels: a column per class (0 or 1), or one of values.
    alpha : float
        l eta > 0; multiplying all weights of the graph by t is the same as multiplying alpha by t.
    copies : array of float, shape (n_nodes,), optional
        How many nodes each one stands for, in the loss and in the constraint: a node that stands
        for several is several that are tied together. Default: 1.

    Returns
    -------
    Fit
        With `centered` and `offset` of shape (n_nodes, C). Where no label reaches, `centered` is 0
        and `offset` the mean of all labels.

    Examples
    --------
    A path of three nodes with labels 1 and 0 at its ends. f = (t, 0, -t) by symmetry, and
    2 (t - 1/2)^2 + 2 t^2 is smallest at t = 1/4:

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList(tail=[0, 1], head=[1, 2])
    >>> fit = stable_scores(path, np.array([0, 2]), np.array([[1.0], [0.0]]), alpha=1.0)
    >>> fit.centered.ravel(), fit.offset.ravel()
    (array([ 0.25,  0.  , -0.25]), array([0.5, 0.5, 0.5]))
    """
    component = graph.components()
    own, times = component[labeled], _times(copies, labeled)
    mean, has_label = label_means(targets, own, times, component)
    centered = smoothed(
        graph,
        labeled,
        targets - mean[own],
        alpha,
        copies=copies,
        tol=tol,
        random_state=random_state,
    )
    return Fit(centered, mean[component], has_label[component])


def smoothed(graph, labeled, columns, alpha, *, copies=None, tol=1e-8, random_state=None):
    """M b for every column b (l, K): the minimizer above for labels b that are not centered.

    One solve with K + 1 columns. Zero where no label reaches.
    """
    component = graph.components()
    n_components = int(component.max(initial=-1)) + 1
    own, times = component[labeled], _times(copies, labeled)
    has_label = np.bincount(own, times.ravel(), n_components) > 0
    weight = np.ones(graph.n_nodes) if copies is None else copies
    rhs = np.zeros((graph.n_nodes, columns.shape[1] + 1))
    rhs[labeled, :-1] = times * columns / alpha
    rhs[:, -1] = has_label[component] * weight / alpha
    ridge = np.zeros(graph.n_nodes)
    ridge[labeled] = times.ravel() / alpha
    solution = LaplacianSolver(graph, ridge=ridge, tol=tol, random_state=random_state).solve(rhs)
    if n_components == 1:
        total = (weight @ solution)[None, :]
    else:
        total = _sums(component, weight[:, None] * solution, n_components)
    shift = np.zeros_like(total[:, :-1])
    np.divide(total[:, :-1], total[:, -1:], out=shift, where=has_label[:, None])
    return solution[:, :-1] - shift[component] * solution[:, -1:]


def label_means(targets, own, times, component):
    """Mean label of every component, that of all labels where it has none; and which have one."""
    n_components = int(component.max(initial=-1)) + 1
    counts = np.bincount(own, times.ravel(), n_components)
    has_label = counts > 0
    everywhere = (times * targets).sum(axis=0) / times.sum()
    mean = np.tile(everywhere, (n_components, 1))
    mean[has_label] = _sums(own, times * targets, n_components)[has_label]
    mean[has_label] /= counts[has_label, None]
    return mean, has_label


def _times(copies, labeled):
    return np.ones((labeled.size, 1)) if copies is None else copies[labeled][:, None]


def _sums(component, values, n_components):
    """Sum of every column over each component."""
    columns = [np.bincount(component, column, n_components) for column in values.T]
    return np.stack(columns, axis=1)
