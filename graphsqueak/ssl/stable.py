"""Stable-HFS: regularized least squares among functions that sum to zero [C17, Section 4.4.1].

*The equation.* For labels y on the nodes S, |S| = l, with sample weights s_i,

    min over f with 1' f = 0 of   sum_S s_i (f_i - y_i)^2 + alpha f' L f,      alpha = l eta.

*Closed form.* With A = alpha L + I_S (the sample weights on the diagonal at S), the Lagrange
conditions are A f = y - mu 1, mu on all nodes, so that

    v = A^-1 1,   z = A^-1 y~,   f = z - (1' z / 1' v) v,

where y~ = y - ybar on the labeled nodes only. (The thesis' projected form (Pi A)^+ y~ is not the
solution: Pi A is not symmetric and its pseudo-inverse leaves the space; (Pi A Pi)^+ y~ is.) On a
disconnected graph the space is that of functions that sum to zero over every component, each
with its own mean, v and mu; a component without a label has f = 0. A single constraint for all
components would be wrong: components whose labels are of one class would move each other.

In the code, `StableSystem` has A / alpha and the right-hand sides, `constrain` subtracts the
multiple of v, and M b denotes the minimizer for labels b that are not centered.

*Leave-one-out* takes no further fit. On the labeled nodes Stable-HFS is a linear smoother,
f_S = M y~ with an l x l matrix M. Without label i it is
M'_ij = M_ij / (1 - M_ii), as for any penalized least squares, so that

    f_i without i  =  ( (M y)_i - M_ii y_i - ybar_i ((M 1)_i - M_ii) ) / (1 - M_ii)

exactly, where ybar_i is the mean of the other labels of the component and alpha stays fixed. M y is
the fit itself, and M 1 = 1 - (1' 1 / 1' v) v since A 1 = I_S 1. The columns of classes sum to one,
so that the last column follows from the others: C columns are solved, including v.

*The diagonal of M* takes a column per label. With many labels it is sketched: for random signs s,
the mean of s_i (M s)_i is M_ii with variance sum_(j != i) M_ij^2 over the number of probes. This is
small, since a row of M is either concentrated on its diagonal or spread over many labels.

*Another eta*, rho times as large, has the smoother M (M + rho (I - M))^-1. With few labels M is
known, and no further solve is needed. With many labels the probes are not solved again: the
diagonal of that function of M is approximated by the mean of its values at M_ii plus and minus the
norm of the rest of the row.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

from typing import NamedTuple, Protocol

import numpy as np

from graphsqueak.solvers import LaplacianSolver
from graphsqueak.solvers.components import component_sums

__all__ = [
    "LOO_TOL",
    "MAX_LEVERAGE",
    "Fit",
    "HFSSolver",
    "LooResult",
    "LooSolver",
    "Problem",
    "StableSystem",
    "diagonal_at_other_eta",
    "inv_mean_degree",
    "label_means",
    "labeled_components",
    "mean_of_degrees",
    "probe_signs",
    "stable_scores",
]

# Relative residual of the solves of leave-one-out. With 1e-3, few labels select another prior
# weight: 8 % of the nodes of a block model with 24 labels are decided otherwise.
LOO_TOL = 1e-4
# The same with a sketched diagonal, whose own error is a few percent. With 1e-4, a fit takes 20 %
# longer.
SKETCHED_LOO_TOL = 1e-3
# Largest M_ii: leave-one-out divides by 1 - M_ii, which is known to the precision of its solves.
MAX_LEVERAGE = 1 - np.finfo(np.float32).eps
# Replaces a total weight of 0.
MIN_WEIGHT = np.finfo(np.float64).tiny


class Problem(NamedTuple):
    """Labels of some nodes; `ClassLabels` and `RealLabels` have the same attributes.

    Attributes
    ----------
    nodes : array of int, shape (l,)
        Numbers of the labeled nodes.
    targets : array of float, shape (l, C)
        Their labels: a column per class (0 or 1), or one column of values.
    sample_weight : array of float, shape (l,), or None
        Weight of each label in the loss and in the mean; None is 1 for all.
    """

    nodes: np.ndarray
    targets: np.ndarray
    sample_weight: np.ndarray | None = None


class Fit(NamedTuple):
    """Stable-HFS on a graph, with an entry per node.

    Attributes
    ----------
    centered : array of float, shape (n_nodes, C)
        The scores f, 0 in components without a label.
    offset : array of float, shape (n_nodes, C)
        Mean label of the node's component; that of all labels in components without one.
    has_label : array of bool, shape (n_nodes,)
        Whether the node's component has a label.
    """

    centered: np.ndarray
    offset: np.ndarray
    has_label: np.ndarray


class LooResult(NamedTuple):
    """Scores of labeled nodes without their own label, and means of the other labels.

    Attributes
    ----------
    scores : array of float, shape (l, C)
        NaN if the component has no other label.
    mean : array of float, shape (l, C)
        Mean of the other labels of the component; NaN if there is none.
    mean_of_all : array of float, shape (l, C)
        Mean of the other labels of all components.
    """

    scores: np.ndarray
    mean: np.ndarray
    mean_of_all: np.ndarray


class HFSSolver(Protocol):
    """Solutions of Stable-HFS for a given eta, on a graph in memory, in several passes or in one.

    Attributes
    ----------
    inv_mean_degree : float
        1 / (mean degree) of the graph: the unit of l eta.
    """

    inv_mean_degree: float

    def loo(self, eta: float) -> LooResult:
        """Return leave-one-out scores."""

    def fit(self, eta: float) -> Fit:
        """Return the fit to all labels."""


class LooSolver:
    """Stable-HFS on a graph in memory: an `HFSSolver`.

    Parameters
    ----------
    graph : EdgeList
    labels : Problem, ClassLabels or RealLabels
    tol : float
        Relative residual of the fit.
    random_state : int, Generator or None
        Seed of the probes and of the solver, the same for every eta.
    inv_mean_degree : float, optional
        Default: that of the graph.

    Examples
    --------
    On a path whose ends are labeled, each end alone gives the same score everywhere:

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList(tail=[0, 1], head=[1, 2])
    >>> labels = Problem(np.array([0, 2]), np.array([[1.0], [0.0]]))
    >>> solver = LooSolver(path, labels, tol=1e-8, random_state=7)
    >>> result = solver.loo(eta=0.5)
    >>> abs(result.scores.ravel().round(6)), result.mean.ravel()
    (array([0., 0.]), array([0., 1.]))
    """

    def __init__(self, graph, labels, *, tol, random_state, inv_mean_degree=None):
        if inv_mean_degree is None:
            inv_mean_degree = mean_of_degrees(graph.degrees())
        self.inv_mean_degree = inv_mean_degree
        self._labels = labels
        self._signs = probe_signs(labels.nodes.size, np.random.default_rng(random_state))
        is_sketched = self._signs.shape[1] < labels.nodes.size
        self._loo_tol = max(tol, SKETCHED_LOO_TOL if is_sketched else LOO_TOL)
        self._solver = LaplacianSolver(
            graph, tol=tol, random_state=np.random.default_rng(random_state)
        )
        # Solvers of the first and of the last eta.
        self._first = None
        self._last = None
        # M for the first eta, or else its diagonal and the norms of the rest of its rows.
        self._smoother = None
        self._diagonal = None
        self._row_norm = None

    def loo(self, eta):
        """Return leave-one-out scores, to a tolerance that is enough to select eta by."""
        if self._first is None:
            raw, diagonal = self._probe(eta)
        elif self._smoother is not None:
            # M is known, and another eta takes no solve.
            ratio = eta / self._first.eta
            raw, diagonal = _other_smoother(self._smoother, ratio, self._labels.targets)
        else:
            raw = self._smooth(eta, np.zeros((self._labels.nodes.size, 0)))
            diagonal = diagonal_at_other_eta(self._diagonal, self._row_norm, eta / self._first.eta)
        return self._first.system.without_own_label(raw, diagonal)

    def fit(self, eta):
        """Return the fit to all labels, to the solver's tolerance."""
        return self._at(eta).fit()

    def _probe(self, eta):
        """Return M b for the targets and for ones, and the diagonal of M, at the labeled nodes."""
        n_columns = self._labels.targets.shape[1] + 1
        raw, probes = np.split(self._smooth(eta, self._signs), [n_columns], axis=1)
        if probes.shape[1] == len(probes):
            self._smoother = probes
            return raw, np.diag(probes)
        products = self._signs * probes
        self._diagonal = np.clip(products.mean(axis=1), 0.0, MAX_LEVERAGE)
        self._row_norm = products.std(axis=1, ddof=1)
        return raw, self._diagonal

    def _smooth(self, eta, signs):
        return self._at(eta).smooth(signs, tol=self._loo_tol)

    def _at(self, eta):
        """Return the solver of one eta."""
        for known in (self._first, self._last):
            if known is not None and known.eta == eta:
                return known
        # The first solver has chosen its backend already.
        solver = self._solver if self._first is None else self._first.solver
        self._last = _EtaSolver(solver, self._labels, eta)
        if self._first is None:
            self._first = self._last
        return self._last


def stable_scores(
    graph, labeled, targets, alpha, *, sample_weight=None, tol=1e-8, random_state=None
):
    """Solve Stable-HFS for every column of the targets; one solve with C + 1 columns.

    Parameters
    ----------
    graph : EdgeList
    labeled, targets, sample_weight
        As in `Problem`.
    alpha : float
        l eta > 0; multiplying all weights of the graph by t is the same as multiplying alpha by t.
    tol : float
        Relative residual of the solve.
    random_state : int, Generator or None
        Seed of the solver.

    Returns
    -------
    Fit

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
    labels = Problem(labeled, targets, sample_weight)
    return _EtaSolver(solver, labels, alpha / labeled.size).fit()


def label_means(targets, labeled, component, *, sample_weight=None):
    """Return the mean label of every component; the mean of all labels where it has none."""
    n_components = int(component.max(initial=-1)) + 1
    weight = _as_column(sample_weight, labeled.size)
    weight_in_component = component_sums(component[labeled], n_components, weight)
    total = component_sums(component[labeled], n_components, weight * targets)
    mean_of_all = (weight * targets).sum(axis=0) / weight.sum()
    has_label = weight_in_component > 0
    return np.where(has_label, total / np.where(has_label, weight_in_component, 1.0), mean_of_all)


def labeled_components(component, labeled):
    """Return whether each component has a label.

    >>> component = np.array([0, 0, 1, 1])
    >>> labeled_components(component, np.array([0]))[component]
    array([ True,  True, False, False])
    """
    has_label = np.zeros(int(component.max(initial=-1)) + 1, dtype=bool)
    has_label[component[labeled]] = True
    return has_label


def inv_mean_degree(graph):
    """Return 1 / (mean weighted degree).

    In this unit alpha does not depend on the scale of the weights.

    >>> from graphsqueak.graph import EdgeList
    >>> inv_mean_degree(EdgeList(tail=[0, 1], head=[1, 0], weight=[2.0, 2.0]))
    0.25
    """
    return mean_of_degrees(graph.degrees())


def mean_of_degrees(degrees):
    """Return `inv_mean_degree` from the degrees; nodes without an edge do not count."""
    total = degrees.sum()
    return float(np.count_nonzero(degrees) / total) if total > 0 else 1.0


def probe_signs(n_labels, rng, *, n_probes=16):
    """Return columns that give the diagonal of M: random signs, or one column per label.

    Up to 2 `n_probes` labels get a column each, which is exact.

    >>> rng = np.random.default_rng(7)
    >>> probe_signs(32, rng).shape, probe_signs(33, rng).shape
    ((32, 32), (33, 16))
    """
    if n_labels <= 2 * n_probes:
        return np.eye(n_labels)
    return rng.choice([-1.0, 1.0], size=(n_labels, n_probes))


class StableSystem:
    """The equations over alpha: (L + diag(`ridge`)) x = `right_side`, then `constrain`.

    Parameters
    ----------
    component : array of int
        Component of every node.
    labels : Problem, ClassLabels or RealLabels
    alpha : float
        l eta > 0.

    Attributes
    ----------
    component : array of int, shape (n_nodes,)
    sample_weight : array of float, shape (l, 1)
    ridge : array of float, shape (n_nodes,)
    has_label : array of bool, shape (n_nodes,)
        Whether the node's component has a label.
    mean : array of float, shape (n_components, C)
        Mean label of every component.

    Examples
    --------
    Two nodes and an edge, one of them labeled:

    >>> labels = Problem(np.array([0]), np.array([[1.0]]))
    >>> system = StableSystem(np.zeros(2, dtype=int), labels, 2.0)
    >>> system.ridge, system.right_side(labels.targets).tolist()
    (array([0.5, 0. ]), [[0.5, 0.5], [0.0, 0.5]])
    """

    def __init__(self, component, labels, alpha):
        self.component = component
        self.sample_weight = _as_column(labels.sample_weight, labels.nodes.size)
        self._labeled = labels.nodes
        self._targets = labels.targets
        self._alpha = alpha
        self._component_has_label = labeled_components(component, labels.nodes)
        self.mean = label_means(
            labels.targets, labels.nodes, component, sample_weight=labels.sample_weight
        )
        self.has_label = self._component_has_label[component]
        self.ridge = np.zeros(component.size)
        self.ridge[labels.nodes] = self.sample_weight[:, 0] / alpha

    def right_side(self, columns):
        """Return the right-hand sides for labels `columns` (l, K), and for v, over alpha."""
        rhs = np.zeros((self.component.size, columns.shape[1]))
        rhs[self._labeled] = self.sample_weight * columns
        return self.append_ones(rhs)

    def append_ones(self, rhs):
        """Return `rhs` (n_nodes, K) and a column of ones, for v, over alpha."""
        return np.column_stack([rhs, self.has_label.astype(np.float64)]) / self._alpha

    def constrain(self, solution, level=0.0, at=slice(None)):
        """Subtract multiples of v, the last column, so that the others sum to zero.

        `level`, a row per component, is added to the solution first. Returns the columns at the
        nodes `at`, and M 1 there.
        """
        has_label = self._component_has_label[:, None]
        n_components = has_label.size
        size = component_sums(self.component, n_components, np.ones((self.component.size, 1)))
        level = np.broadcast_to(level, (n_components, solution.shape[1]))
        total = component_sums(self.component, n_components, solution) + size * level
        total_of_v = total[:, -1:]
        # f = z - (1' z / 1' v) v, in every component that has a label.
        shift = np.divide(total, total_of_v, out=np.zeros(total.shape), where=has_label)
        component = self.component[at]
        values = solution[at] + level[component]
        v = values[:, -1:]
        # M 1 = 1 - (1' 1 / 1' v) v
        ratio = np.divide(size, total_of_v, out=np.zeros(size.shape), where=has_label)
        constant = has_label[component] - ratio[component] * v
        return values[:, :-1] - shift[component, :-1] * v, constant

    def subtract_constants(self, rhs):
        """Subtract from `rhs` the image of a constant per component and column; return these.

        The constant is the one that minimizes the energy. The norm of the rest is smaller, so that
        it takes fewer iterations.
        """
        n_components = self._component_has_label.size
        total = component_sums(self.component, n_components, rhs)
        weight = np.bincount(self.component, self.ridge, n_components)[:, None]
        level = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
        labeled = self._labeled
        rhs[labeled] -= self.ridge[labeled, None] * level[self.component[labeled]]
        return level

    def fit_from(self, centered):
        """Return `Fit` from f, the minimizer for the centered targets."""
        return Fit(centered, self.mean[self.component], self.has_label)

    def fit_from_raw(self, values):
        """Return `Fit` from `values`, M b for the columns b of targets and ones, and any others."""
        n_columns = self._targets.shape[1]
        constant = values[:, n_columns : n_columns + 1]
        return self.fit_from(values[:, :n_columns] - self.mean[self.component] * constant)

    def loo_from_raw(self, values, signs):
        """Return `LooResult` from `values`, M b for the columns b of targets, ones and `signs`."""
        raw, probes = np.split(values[self._labeled], [self._targets.shape[1] + 1], axis=1)
        products = signs * probes
        is_exact = signs.shape[1] == len(signs)
        diagonal = products.sum(axis=1) if is_exact else products.mean(axis=1)
        return self.without_own_label(raw, diagonal)

    def without_own_label(self, raw, diagonal):
        """Return `LooResult` by the closed form of the module docstring.

        Parameters
        ----------
        raw : array of float, shape (l, C + 1)
            M b at the labeled nodes, for the columns b of targets and ones.
        diagonal : array of float, shape (l,)
            Diagonal of M.
        """
        component = self.component[self._labeled]
        n_components = self._component_has_label.size
        weighted = self.sample_weight * self._targets
        is_alone = np.bincount(component)[component] == 1
        total_weight = component_sums(component, n_components, self.sample_weight)[component]
        other_weight = total_weight - self.sample_weight
        other_weight[is_alone] = np.nan
        total = component_sums(component, n_components, weighted)[component]
        mean = (total - weighted) / other_weight
        # There may be no other label.
        other_weight = np.maximum(self.sample_weight.sum() - self.sample_weight, MIN_WEIGHT)
        mean_of_all = (weighted.sum(axis=0) - weighted) / other_weight

        # A sketched diagonal may lie outside [0, 1].
        leverage = np.clip(diagonal, 0.0, MAX_LEVERAGE)[:, None]
        scores = raw[:, :-1] - leverage * self._targets - mean * (raw[:, -1:] - leverage)
        return LooResult(scores / (1 - leverage), mean, mean_of_all)


class _EtaSolver:
    """Stable-HFS for one eta: M b for any columns, and a fit that starts from their solution.

    Parameters
    ----------
    solver : LaplacianSolver
        Solver of the graph, with any ridge.
    labels : Problem, ClassLabels or RealLabels
    eta : float
    """

    def __init__(self, solver, labels, eta):
        self.eta = eta
        self.system = StableSystem(solver.component, labels, labels.nodes.size * eta)
        self.solver = solver.with_ridge(self.system.ridge)
        self._labeled = labels.nodes
        # y~ = y - ybar
        self._mean = self.system.mean[solver.component[labels.nodes]]
        self._centered = labels.targets - self._mean
        self._n_columns = self._centered.shape[1]
        # Columns of classes sum to one: the last follows from the others.
        targets = labels.targets
        is_redundant = self._n_columns > 1 and bool((targets.sum(axis=1) == 1).all())
        self._n_solved = self._n_columns - is_redundant
        # Solution for the targets and v, from which a second solve starts.
        self._start = None

    def fit(self):
        """Return `Fit` to the solver's tolerance."""
        values = self._values(self._centered[:, :0], self.solver, np.float64)
        return self.system.fit_from(values[:, :-1])

    def smooth(self, signs, *, tol):
        """Return M b at the labeled nodes, for the columns b of targets, ones and `signs`."""
        solver = self.solver.with_tol(tol)
        # This residual does not need double precision, and a float32 solve is faster.
        values = self._values(signs, solver, np.float32, self._labeled)
        # Keep what the solver has learned about the graph for the fit.
        self.solver = solver.with_tol(self.solver.tol)
        n_columns = self._n_columns
        # M y = M y~ + ybar M 1
        values[:, :n_columns] += self._mean * values[:, n_columns : n_columns + 1]
        return values

    def _values(self, others, solver, dtype, at=slice(None)):
        """Return M b at some nodes, for columns b of centered targets, ones and `others`."""
        n_solved = self._n_solved
        rhs = self.system.right_side(np.column_stack([self._centered[:, :n_solved], others]))
        level = self.system.subtract_constants(rhs)
        solution = solver.solve(rhs.astype(dtype, copy=False), start=self._start)
        if self._start is None:
            self._start = solution[:, [*range(n_solved), -1]]
        values, constant = self.system.constrain(solution, level, at)
        parts = [values[:, :n_solved], constant, values[:, n_solved:]]
        if n_solved < self._n_columns:
            parts.insert(1, -values[:, :n_solved].sum(axis=1))
        return np.column_stack(parts)


def diagonal_at_other_eta(diagonal, row_norm, ratio):
    """Return an approximation of the diagonal of M for an eta that is `ratio` times as large.

    `row_norm` is the norm of each row without its diagonal.

    Examples
    --------
    If M is diagonal, this is exact: 0.5 / (0.5 + 3 (1 - 0.5)).

    >>> diagonal_at_other_eta(np.array([0.5]), np.array([0.0]), 3.0)
    array([0.25])
    """
    deviation = np.minimum(row_norm, np.minimum(diagonal, 1 - diagonal))
    values = diagonal + deviation * np.array([[-1.0], [1.0]])
    return (values / (values + ratio * (1 - values))).mean(axis=0)


def _other_smoother(smoother, ratio, targets):
    """Return M b for targets and ones, and the diagonal of M, for `ratio` times the eta.

    >>> _other_smoother(np.array([[0.5]]), 3.0, np.array([[2.0]]))
    (array([[0.5 , 0.25]]), array([0.25]))
    """
    # M + rho (I - M)
    mixed = smoother + ratio * (np.eye(len(smoother)) - smoother)
    other = np.linalg.solve(mixed.T, smoother.T).T
    return other @ np.column_stack([targets, np.ones(len(targets))]), np.diag(other)


def _as_column(sample_weight, n_labels):
    """Return the weights as a column; ones if there are none."""
    if sample_weight is None:
        return np.ones((n_labels, 1))
    return np.asarray(sample_weight)[:, None]
