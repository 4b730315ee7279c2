"""Regression on the nodes of a graph by Stable-HFS, in memory and streamed [C17, Section 4.4].

With f the minimizer of the equation in `stable`, centered over every component, and ybar the mean
value of the component, the prediction is f + ybar. eta has the least squared leave-one-out error
of a few candidates (`model_selection`).

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.base import RegressorMixin

from graphsqueak.ssl.base import warn_of_unlabeled_components
from graphsqueak.ssl.labels import is_missing, real_labels
from graphsqueak.ssl.model_selection import etas_for_values, select_for_values
from graphsqueak.ssl.stable import Fit
from graphsqueak.ssl.stable_estimator import StableHFSEstimator
from graphsqueak.ssl.streaming import MAX_CHANGE, StreamedEstimator
from graphsqueak.validation import explain_keywords

__all__ = ["SparseHFSRegressor", "StableHFSRegressor"]


class _Answer(NamedTuple):
    """The eta that was selected, and the fit with it."""

    eta: float
    fit: Fit


@explain_keywords()
@dataclass(kw_only=True, eq=False, repr=False)
class StableHFSRegressor(RegressorMixin, StableHFSEstimator):
    """Semi-supervised regression on the nodes of a graph that fits in memory.

    Use it if some nodes have a known value, values vary smoothly over the edges, and the values of
    the other nodes are wanted. If the graph does not fit in memory, use `SparseHFSRegressor`.
    NaN in y marks a node without a value.

    Parameters
    ----------
    eta : float or "auto"
        Weight of the smoothness term. "auto" has the least squared leave-one-out error.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Number of nearest neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    tol : float
        Relative residual of the solves.
    random_state : int, Generator or None
        Seed of the solver and of the sketch of leave-one-out.

    Attributes
    ----------
    transduction_ : ndarray (n_nodes,)
        A value for every node; `mean_` in components without a label.
    has_label_in_component_ : ndarray of bool
        Whether the node's component has a label.
    eta_, mean_ : float
        The eta that was used, and the mean of all labels.

    Examples
    --------
    >>> import networkx as nx
    >>> y = [0.0, np.nan, np.nan, np.nan, 4.0]
    >>> StableHFSRegressor(eta=1e-6).fit(nx.path_graph(5), y).transduction_.round(2)
    array([0., 1., 2., 3., 4.])
    """

    _read_labels = staticmethod(real_labels)
    # Instead of that of RegressorMixin, which does not match values to nodes.
    score = StableHFSEstimator.score

    def _candidate_etas(self, labels, inv_mean_degree):
        return etas_for_values(self.eta, inv_mean_degree, labels.nodes.size)

    def _answer(self, solver, graph, labels, etas):
        eta = select_for_values(solver, labels, etas)
        return _Answer(eta, solver.fit(eta))

    def _accept(self, graph, labels, answer):
        """Set the fitted attributes."""
        self._remember_nodes(graph)
        fit = answer.fit
        self.eta_ = answer.eta
        self.mean_ = float(np.average(labels.value, weights=labels.sample_weight))
        self.has_label_in_component_ = fit.has_label
        self.transduction_ = (fit.centered + fit.offset).ravel()
        warn_of_unlabeled_components(
            fit.has_label, "value; they are predicted as the mean of all values"
        )
        return self

    def _columns(self):
        columns = super()._columns()
        return {"node": columns["node"], "value": columns["label"]}

    def _node_values(self):
        return self.transduction_[:, None]

    def _decide(self, values, has_label):
        return np.where(has_label, values.ravel(), self.mean_)


@explain_keywords()
@dataclass(kw_only=True, eq=False, repr=False)
class SparseHFSRegressor(StreamedEstimator, StableHFSRegressor):
    """Semi-supervised regression on the nodes of a graph that is too large for memory.

    Use it like `StableHFSRegressor`, on edges that are streamed and never loaded. If the source
    can be read again, a few passes with a sparsifier as preconditioner approximate the solution on
    the whole graph. Otherwise the values are those on a sparsifier in which edges at labeled nodes
    are oversampled.

    Parameters
    ----------
    n_edges : int, optional
        Edge budget of the sparsifier. Give at most one of n_edges, epsilon and keep.
    epsilon : float, optional
        Accuracy of cuts from which the edge budget is predicted. Default: 0.5.
    keep : float, optional
        Edge budget as a fraction of all edges.
    priority_fraction : "auto" or float in [0, 1)
        Fraction of the budget that is reserved for edges at labeled nodes. "auto" is 0.5 in a
        single pass and 0 otherwise. (Exact class sums, as in `SparseHFSClassifier`, do not exist
        for values.)
    max_passes : "auto" or int
        Largest number of passes over the edges. "auto" stops when the values no longer change, and
        after four passes at most (a pipe: one pass).
    window : float, optional
        Fit to the edges of the last `window` of time. Edges must have times
        (`read_edges(..., time=...)` or `TimedEdges`). If the source can be read again this is
        exact and takes one more pass; otherwise it is a sliding window of a stream.
    half_life : float, optional
        Fit to edges whose weights decay by half in this time, with the same requirements.
    eta : float or "auto"
        Weight of the smoothness term. "auto" has the least squared leave-one-out error.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Number of nearest neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    tol : float
        Relative residual of the solves.
    random_state : int or None
        Seed of all random numbers.
    progress : bool or callable
        Report how much of the stream has been read.

    Attributes
    ----------
    transduction_, has_label_in_component_, eta_, mean_
        As in `StableHFSRegressor`.
    sparsifier_, n_edges_seen_, n_edges_used_, n_passes_
        As in `SparseHFSClassifier`.

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> y = np.full(100, np.nan)
    >>> y[:2] = 1.0, 3.0
    >>> model = SparseHFSRegressor(n_edges=1000, random_state=7).fit(complete(100), y)
    >>> round(float(model.transduction_[50]), 3)
    2.0
    """

    _is_unlabeled = staticmethod(is_missing)

    def _has_converged(self, answer, other):
        # Offsets are exact after the first pass.
        change = np.linalg.norm(answer.fit.centered - other.fit.centered)
        return change <= MAX_CHANGE * np.linalg.norm(answer.fit.centered)
