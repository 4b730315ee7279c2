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

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.solvers import LaplacianSolver
from graphsqueak.solvers.components import component_sums

__all__ = [
    "Fit",
    "StableSolver",
    "StableSystem",
    "centered_fit",
    "label_means",
    "labeled_components",
    "natural_unit",
    "posterior_deviation",
    "smooth_labels",
    "stable_scores",
    "unit_of_degrees",
]


class Fit(NamedTuple):
    """Stable-HFS on a graph: an entry per node.

    `centered` scores f, the mean label of the node's component (`offset`), and whether a label
    lies in it (`reached`).
    """

    centered: np.ndarray
    offset: np.ndarray
    reached: np.ndarray


def stable_scores(
    graph, labeled, targets, alpha, *, copies=None, trust=None, tol=1e-8, random_state=None
):
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
    trust : array of float, shape (l,), optional
        How much each label weighs in the loss and in the mean. Default: 1.
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
    solver = LaplacianSolver(graph, tol=tol, random_state=random_state)
    return StableSolver(solver, labeled, targets, alpha, copies=copies, trust=trust).fit()


def smooth_labels(graph, labeled, columns, alpha, *, copies=None, tol=1e-8, random_state=None):
    """M b for every column b (l, K): the minimizer above for labels b that are not centered.

    One solve with K + 1 columns. Zero where no label reaches.
    """
    rhs = np.zeros((graph.n_nodes, columns.shape[1]))
    rhs[labeled] = _times(labeled, copies, None) * columns
    return _solve_constrained(
        graph, labeled, rhs, alpha, copies=copies, tol=tol, random_state=random_state
    )


def label_means(targets, labeled, component, *, copies=None, trust=None):
    """Mean label of every component; that of all labels where it has none."""
    n_components, own = int(component.max(initial=-1)) + 1, component[labeled]
    times = _times(labeled, copies, trust)
    counts = component_sums(own, n_components, times)
    everywhere = (times * targets).sum(axis=0) / times.sum()
    total = component_sums(own, n_components, times * targets)
    return np.where(counts > 0, total / np.where(counts > 0, counts, 1.0), everywhere)


def labeled_components(component, labeled):
    """Whether each component has a label; labels reach the nodes of those that have.

    >>> component, labeled = np.array([0, 0, 1, 1]), np.array([0])
    >>> labeled_components(component, labeled)[component]
    array([ True,  True, False, False])
    """
    has_label = np.zeros(int(component.max(initial=-1)) + 1, dtype=bool)
    has_label[component[labeled]] = True
    return has_label


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


def centered_fit(values, component, labeled, targets, *, trust=None):
    """`Fit` from `values`, M b for the columns b of `targets` and of ones."""
    n_columns = targets.shape[1]
    mean = label_means(targets, labeled, component, trust=trust)[component]
    centered = values[:, :n_columns] - mean * values[:, n_columns : n_columns + 1]
    return Fit(centered, mean, labeled_components(component, labeled)[component])


def posterior_deviation(graph, labeled, alpha, *, trust=None, n_probes=64, rng):
    """Posterior standard deviation of every score, in units of the noise of one label.

    Infinite where no label reaches.

    >>> from graphsqueak.graph import EdgeList
    >>> path, rng = EdgeList(tail=[0, 1, 2], head=[1, 2, 3]), np.random.default_rng(7)
    >>> spread = posterior_deviation(path, np.array([0]), 1.0, n_probes=2000, rng=rng)
    >>> bool((np.diff(spread) != 0).all())
    True
    """
    component = graph.components()
    reached = labeled_components(component, labeled)[component]
    edge_signs = rng.choice((-1.0, 1.0), size=(graph.n_edges, n_probes))
    rhs = graph.incidence().T @ (np.sqrt(alpha * graph.weight)[:, None] * edge_signs)
    signs = rng.choice((-1.0, 1.0), size=(labeled.size, n_probes))
    rhs[labeled] += np.sqrt(_times(labeled, None, trust)) * signs
    rhs[~reached] = 0.0
    settings = {"trust": trust, "tol": 1e-4, "random_state": rng}
    probes = _solve_constrained(graph, labeled, rhs, alpha, **settings)
    variance = np.einsum("xk,xk->x", probes, probes) / n_probes
    return np.where(reached, np.sqrt(variance), np.inf)


def _solve_constrained(graph, labeled, rhs, alpha, *, copies=None, trust=None, tol, random_state):
    """A^-1 b - (1' A^-1 b / 1' v) v for every column b, which is zero where no label reaches."""
    system = StableSystem(graph.components(), labeled, alpha, copies=copies, trust=trust)
    solver = LaplacianSolver(graph, ridge=system.ridge, tol=tol, random_state=random_state)
    return system.constrained(solver.solve(system.right_side(rhs)))[0]


class StableSolver:
    """Stable-HFS for one alpha: M b for any columns, and a fit that begins where those have ended.

    Parameters
    ----------
    solver : LaplacianSolver
        Of the graph, with any ridge.
    labeled, targets, alpha, copies, trust
        As of `stable_scores`.
    """

    def __init__(self, solver, labeled, targets, alpha, *, copies=None, trust=None):
        about = {"copies": copies, "trust": trust}
        self._system = StableSystem(solver.component, labeled, alpha, **about)
        self.solver = solver.with_ridge(self._system.ridge)
        self._labeled, self._targets = labeled, targets
        self._times = _times(labeled, copies, trust)
        self._mean = label_means(targets, labeled, solver.component, **about)
        self._centered = targets - self._mean[solver.component[labeled]]
        self._is_shared = targets.shape[1] > 1 and bool((targets.sum(axis=1) == 1).all())
        self._known = None

    def fit(self):
        """`Fit` to the solver's tolerance."""
        values = self._values(self._centered[:, :0], self.solver, np.float64)
        component = self._system.component
        reached = labeled_components(component, self._labeled)[component]
        return Fit(values[:, :-1], self._mean[component], reached)

    def smooth(self, signs, *, tol=None, at=slice(None)):
        """M b at some nodes, for the columns b of the targets, of ones and of `signs`.

        To a tolerance, if given.
        """
        solver, dtype = self.solver, np.float64
        if tol is not None:
            solver, dtype = solver.with_tol(tol), np.float32
        values = self._values(signs, solver, dtype, at)
        self.solver = solver.with_tol(self.solver.tol)
        n_columns = self._targets.shape[1]
        constant = values[:, n_columns : n_columns + 1]
        values[:, :n_columns] += self._mean[self._system.component[at]] * constant
        return values

    def _values(self, others, solver, dtype, at=slice(None)):
        """M b at some nodes, for the columns b of centered targets, of ones and of `others`."""
        n_solved = self._targets.shape[1] - self._is_shared
        columns = np.column_stack([self._centered[:, :n_solved], others])
        solution, level = self._solution(columns, solver, dtype, start=self._known)
        if self._known is None:
            self._known = solution[:, [*range(n_solved), -1]]
        values, constant = self._system.constrained(solution, level, at)
        left = [-values[:, :n_solved].sum(axis=1)] if self._is_shared else []
        return np.column_stack([values[:, :n_solved], *left, constant, values[:, n_solved:]])

    def _solution(self, columns, solver, dtype, *, start=None):
        """The solution for labels `columns`, and for v, minus a level of each component; and it."""
        system, labeled = self._system, self._labeled
        rhs = np.zeros((system.component.size, columns.shape[1]))
        rhs[labeled] = self._times * columns
        rhs = system.right_side(rhs)
        level = system.constants(rhs)
        rhs[labeled] -= system.ridge[labeled, None] * level[system.component[labeled]]
        return solver.solve(rhs.astype(dtype, copy=False), start=start), level


class StableSystem:
    """The equations above over alpha: (L + diag(`ridge`)) x = `right_side`, then `constrained`.

    Parameters
    ----------
    component : array of int
        Of every node.
    labeled, alpha, copies, trust
        As of `stable_scores`.

    Examples
    --------
    Two nodes and an edge, one of them labeled:

    >>> system = StableSystem(np.zeros(2, dtype=int), np.array([0]), 2.0)
    >>> system.ridge, system.right_side(np.array([[1.0], [0.0]])).tolist()
    (array([0.5, 0. ]), [[0.5, 0.5], [0.0, 0.5]])
    """

    def __init__(self, component, labeled, alpha, *, copies=None, trust=None):
        self.component, self._alpha = component, alpha
        self._has_label = labeled_components(component, labeled)
        self._is_plain = copies is None
        self._weight = np.ones(component.size) if self._is_plain else copies
        self.ridge = np.zeros(component.size)
        self.ridge[labeled] = _times(labeled, copies, trust)[:, 0] / alpha

    def right_side(self, rhs):
        """`rhs` and a column for v, which no label reaches where it is zero."""
        own = self._has_label[self.component] * self._weight
        return np.column_stack([rhs, own]) / self._alpha

    def constrained(self, solution, level=0.0, at=slice(None)):
        """The solution's columns but the last, v, each with so much of v that it sums to zero.

        At some nodes, and M 1 there, a column. `level`, a row for every component, is what the
        solution lacks.
        """
        has_label, size = self._has_label, self._totals(np.ones((self.component.size, 1)))
        level = np.broadcast_to(level, (has_label.size, solution.shape[1]))
        total, none = self._totals(solution) + size * level, np.zeros(level.shape)
        shift = np.divide(total, total[:, -1:], out=none, where=has_label[:, None])
        own = self.component[at]
        values = solution[at] + level[own]
        values, v = values[:, :-1] - shift[own, :-1] * values[:, -1:], values[:, -1:]
        ratio = np.divide(size, total[:, -1:], out=np.zeros(size.shape), where=has_label[:, None])
        return values, has_label[own, None] - ratio[own] * v

    def _totals(self, block):
        block = block if self._is_plain else self._weight[:, None] * block
        return component_sums(self.component, self._has_label.size, block)

    def constants(self, rhs):
        """For every column the constant over each component that is nearest to its solution.

        The rest is what has to be solved for, and less than the whole.
        """
        n_components = self._has_label.size
        total = component_sums(self.component, n_components, rhs)
        weight = np.bincount(self.component, self.ridge, n_components)[:, None]
        return np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)


def _times(labeled, copies, trust):
    """What each label weighs in the loss, a column."""
    times = np.ones(labeled.size) if copies is None else copies[labeled]
    return (times if trust is None else times * trust)[:, None]
