"""Stable-HFS: regularized least squares among functions that sum to zero [C17, Section 4.4.1].

    min over f with 1' f = 0 of   sum_S (f_i - y_i)^2 + alpha f' L f,      alpha = l eta.

With A = alpha L + I_S, its Lagrange conditions are A f = y - mu 1, mu on all nodes, so that

    v = A^-1 1,   z = A^-1 y~,   f = z - (1' z / 1' v) v,

where y~ = y - ybar on the labeled nodes only. (The thesis' projected form (Pi A)^+ y~ is not the
solution: Pi A is not symmetric and its pseudo-inverse leaves the space; (Pi A Pi)^+ y~ is.) On a
disconnected graph the space is that of functions that sum to zero over every component, each
with its own mean, v and mu; a component without a label has f = 0. A single constraint for all
components would be wrong: pure components then pull at each other.

f is also the mean of a Gaussian posterior: prior covariance L^+ / eta' on the functions that sum to
zero, independent noise on the labels. Up to the noise variance its covariance is
C = A^-1 - v v' / 1' v, over every component. Its diagonal is a sum of squares, since

    A^-1 = A^-1 (alpha B' W B + I_S) A^-1,

so that random signs q on edges and labels give E [ (A^-1 ((alpha W)^(1/2) B)' q)^2 ] on the
diagonal: k probes, k columns of one solve, relative standard deviation sqrt(2 / k).

*Leave-one-out* needs no other fit. Seen from the labeled nodes S, Stable-HFS is a linear smoother:
f_S = M y~, where M b are the values on S of the minimizer for labels b. Without label i it is
M'_ij = M_ij / (1 - M_ii), as in any penalized least squares, so that

    f_i without i  =  ( (M y)_i - M_ii y_i - ybar_i ((M 1)_i - M_ii) ) / (1 - M_ii),

exactly, where ybar_i is the mean of the other labels of the component and alpha stays fixed. M y
and M 1 are columns of the fit's own solve. The diagonal takes a column per label; with many labels
it is sketched instead: for random signs s, the mean of s_i (M s)_i is M_ii with variance
sum_(j != i) M_ij^2 over the number of probes: little, since the weight of a row of M is mostly on
its diagonal or spread over many labels.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.solvers import LaplacianSolver
from graphsqueak.solvers.components import component_sums
from graphsqueak.ssl.labels import labeled_components

__all__ = [
    "NOT_LEFT_OUT",
    "Fit",
    "LeftOut",
    "StableSystem",
    "centered_fit",
    "label_means",
    "leave_one_out",
    "left_out_scores",
    "natural_unit",
    "posterior_deviation",
    "probe_signs",
    "smooth_labels",
    "stable_scores",
    "unit_of_degrees",
]

_CLOSEST = 1e-6  # of M_ii to one
_FEW = 32  # labels that get a column each


class Fit(NamedTuple):
    """Stable-HFS on a graph: an entry per node.

    `centered` scores f, the mean label of the node's component (`offset`), and whether a label
    lies in it (`reached`).
    """

    centered: np.ndarray
    offset: np.ndarray
    reached: np.ndarray


class LeftOut(NamedTuple):
    """The `fit` to all labels, and what labeled nodes get without their own.

    `scores` and label `mean`, of shape (l, C); NaN where the component has no other label.
    """

    fit: Fit | None
    scores: np.ndarray | None
    mean: np.ndarray | None


NOT_LEFT_OUT = LeftOut(None, None, None)  # of an eta that comes too late to be tried


def stable_scores(graph, labeled, targets, alpha, *, copies=None, tol=1e-8, random_state=None):
    """Solve Stable-HFS for every column of `targets` (l, C); one solve with C + 1 columns.

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
    tol : float
        Relative residual of the solve.
    random_state : int, Generator or None
        Seeds the solver.

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
    mean = label_means(targets, labeled, component, copies=copies)
    centered = smooth_labels(
        graph,
        labeled,
        targets - mean[component[labeled]],
        alpha,
        copies=copies,
        tol=tol,
        random_state=random_state,
    )
    return Fit(centered, mean[component], labeled_components(component, labeled)[component])


def smooth_labels(graph, labeled, columns, alpha, *, copies=None, tol=1e-8, random_state=None):
    """M b for every column b (l, K): the minimizer above for labels b that are not centered.

    One solve with K + 1 columns. Zero where no label reaches.
    """
    rhs = np.zeros((graph.n_nodes, columns.shape[1]))
    rhs[labeled] = _copies_of(copies, labeled) * columns
    return _solve_constrained(
        graph, labeled, rhs, alpha, copies=copies, tol=tol, random_state=random_state
    )


def label_means(targets, labeled, component, *, copies=None):
    """Mean label of every component; that of all labels where it has none."""
    n_components, own = int(component.max(initial=-1)) + 1, component[labeled]
    times = _copies_of(copies, labeled)
    counts = component_sums(own, n_components, times)
    everywhere = (times * targets).sum(axis=0) / times.sum()
    total = component_sums(own, n_components, times * targets)
    return np.where(counts > 0, total / np.where(counts > 0, counts, 1.0), everywhere)


def natural_unit(graph):
    """1 / (mean weighted degree): alpha in this unit does not depend on the scale of the weights.

    >>> from graphsqueak.graph import EdgeList
    >>> natural_unit(EdgeList(tail=[0, 1], head=[1, 0], weight=[2.0, 2.0]))
    0.25
    """
    return unit_of_degrees(graph.degrees())


def unit_of_degrees(degrees):
    """`natural_unit` from the degrees alone."""
    total = degrees.sum()
    return float(np.count_nonzero(degrees) / total) if total > 0 else 1.0


def leave_one_out(graph, labeled, targets, alpha, *, n_probes=16, tol=1e-8, random_state=None):
    """Fit to all labels, and what each labeled node would get without its own.

    Parameters
    ----------
    graph, labeled, targets, alpha, tol
        As of `stable_scores`.
    n_probes : int
        Columns for the diagonal of M, if there are more than 32 labels.
    random_state : int, Generator or None
        Seeds the probes and the solver.

    Returns
    -------
    LeftOut

    Examples
    --------
    On a path whose ends are labeled, each end alone says the same everywhere:

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList(tail=[0, 1], head=[1, 2])
    >>> out = leave_one_out(path, np.array([0, 2]), np.array([[1.0], [0.0]]), alpha=1.0)
    >>> out.scores.ravel().round(6) + 0.0, out.mean.ravel()
    (array([0., 0.]), array([0., 1.]))
    """
    rng = np.random.default_rng(random_state)
    signs = probe_signs(len(targets), rng, n_probes=n_probes)
    columns = np.column_stack([targets, np.ones(len(targets)), signs])
    values = smooth_labels(graph, labeled, columns, alpha, tol=tol, random_state=rng)
    return left_out_scores(values, signs, graph.components(), labeled, targets)


def probe_signs(n_labels, rng, *, n_probes=16):
    """Columns that tell the diagonal of M: one for each of few labels, else random signs."""
    if n_labels <= max(n_probes, _FEW):
        return np.eye(n_labels)
    return rng.choice([-1.0, 1.0], size=(n_labels, n_probes))


def centered_fit(values, component, labeled, targets):
    """`Fit` from `values`, M b for the columns b of `targets` and of ones."""
    n_columns = targets.shape[1]
    mean = label_means(targets, labeled, component)[component]
    centered = values[:, :n_columns] - mean * values[:, n_columns : n_columns + 1]
    return Fit(centered, mean, labeled_components(component, labeled)[component])


def left_out_scores(values, signs, component, labeled, targets):
    """`LeftOut` from `values`, M b for the columns b of `targets`, of ones and of `signs`."""
    n_labels, n_columns = targets.shape
    fit, own = centered_fit(values, component, labeled, targets), component[labeled]
    raw, constant, probes = np.split(values[labeled], [n_columns, n_columns + 1], axis=1)
    products = signs * probes
    is_exact = signs.shape[1] == n_labels
    diagonal = products.sum(axis=1) if is_exact else products.mean(axis=1)
    diagonal = np.clip(diagonal, 0.0, 1 - _CLOSEST)[:, None]
    others = np.bincount(own)[own][:, None] - 1.0
    others[others == 0] = np.nan
    rest = (fit.offset[labeled] * (others + 1) - targets) / others
    scores = raw - diagonal * targets - rest * (constant - diagonal)
    return LeftOut(fit, scores / (1 - diagonal), rest)


def posterior_deviation(graph, labeled, alpha, *, n_probes=64, rng):
    """Posterior standard deviation of every score, in units of the noise of one label.

    Infinite where no label reaches.

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList(tail=[0, 1, 2], head=[1, 2, 3])
    >>> rng = np.random.default_rng(7)
    >>> spread = posterior_deviation(path, np.array([0]), 1.0, n_probes=2000, rng=rng)
    >>> bool((np.diff(spread) != 0).all())
    True
    """
    component = graph.components()
    reached = labeled_components(component, labeled)[component]
    edge_signs = rng.choice((-1.0, 1.0), size=(graph.n_edges, n_probes))
    rhs = graph.incidence().T @ (np.sqrt(alpha * graph.weight)[:, None] * edge_signs)
    rhs[labeled] += rng.choice((-1.0, 1.0), size=(labeled.size, n_probes))
    rhs[~reached] = 0.0
    probes = _solve_constrained(graph, labeled, rhs, alpha, tol=1e-4, random_state=rng)
    variance = np.einsum("xk,xk->x", probes, probes) / n_probes
    return np.where(reached, np.sqrt(variance), np.inf)


def _solve_constrained(graph, labeled, rhs, alpha, *, copies=None, tol, random_state):
    """A^-1 b - (1' A^-1 b / 1' v) v for every column b, which is zero where no label reaches."""
    system = StableSystem(graph.components(), labeled, alpha, copies=copies)
    solver = LaplacianSolver(graph, ridge=system.ridge, tol=tol, random_state=random_state)
    return system.constrained(solver.solve(system.right_side(rhs)))


class StableSystem:
    """The equations above over alpha: (L + diag(`ridge`)) x = `right_side`, then `constrained`.

    Parameters
    ----------
    component : array of int
        Of every node.
    labeled, alpha, copies
        As of `stable_scores`.

    Examples
    --------
    Two nodes and an edge, one of them labeled:

    >>> system = StableSystem(np.zeros(2, dtype=int), np.array([0]), 2.0)
    >>> system.ridge, system.right_side(np.array([[1.0], [0.0]])).tolist()
    (array([0.5, 0. ]), [[0.5, 0.5], [0.0, 0.5]])
    """

    def __init__(self, component, labeled, alpha, *, copies=None):
        self.component, self._alpha = component, alpha
        self._has_label = labeled_components(component, labeled)
        self._weight = np.ones(component.size) if copies is None else copies
        self.ridge = np.zeros(component.size)
        self.ridge[labeled] = self._weight[labeled] / alpha

    def right_side(self, rhs):
        """`rhs` and a column for v, which no label reaches where it is zero."""
        own = self._has_label[self.component] * self._weight
        return np.column_stack([rhs, own]) / self._alpha

    def constrained(self, solution):
        """The solution's columns but the last, v, each with so much of v that it sums to zero."""
        component, has_label, weight = self.component, self._has_label, self._weight
        if has_label.size == 1:
            total = (weight @ solution)[None, :]
        else:
            total = component_sums(component, has_label.size, weight[:, None] * solution)
        shift = np.zeros_like(total[:, :-1])
        np.divide(total[:, :-1], total[:, -1:], out=shift, where=has_label[:, None])
        return solution[:, :-1] - shift[component] * solution[:, -1:]


def _copies_of(copies, labeled):
    return np.ones((labeled.size, 1)) if copies is None else copies[labeled][:, None]
