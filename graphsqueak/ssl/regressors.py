"""Values of nodes, by Stable-HFS on a graph and on its sparsifier."""

import warnings
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.ssl.base import GraphEstimator, UnreachedWarning
from graphsqueak.ssl.decisions.label_weights import node_weights, weighted_labels
from graphsqueak.ssl.labels import is_missing, real_labels
from graphsqueak.ssl.model_selection import select_for_values
from graphsqueak.ssl.selection.graph_nodes import GraphNodes
from graphsqueak.ssl.stable import Fit, LooSolver
from graphsqueak.ssl.streaming import StreamedEstimator
from graphsqueak.system.progress import Progress

__all__ = ["GraphRegressor", "SparseHFSRegressor", "StableHFSRegressor"]

# Difference of two last steps, relative to the norm of the values, at which no pass is added.
MAX_RELATIVE_CHANGE = 0.002


class GraphRegressor(RegressorMixin, GraphEstimator):
    """Values of nodes; NaN in y means none."""

    def fit(
        self,
        X: GraphLike | ArrayLike,
        y: ArrayLike | Mapping,
        sample_weight: ArrayLike | Mapping | None = None,
    ) -> Self:
        """Learn the values of all nodes.

        Parameters
        ----------
        X : EdgeList, EdgeSource, table of edges, scipy adjacency matrix, networkx graph, or points
        y : array of shape (n_nodes,), or mapping from node ids to values
            NaN where there is no value. A pandas Series, or a table with the columns node and
            label, is a mapping. Arrays go by position if that says which node is meant
            (`graphsqueak.ssl.alignment`).
        sample_weight : array of shape (n_nodes,), or mapping from node ids to weights, optional
            Weight of each value in the loss. A value of weight 0 is ignored.

        Returns
        -------
        self
        """
        graph = self._read(self._graph_of(X))
        weights = self._values_for(X, sample_weight, "sample_weight")
        return self._fit_graph(graph, self._read_labels(self._values_for(X, y), weights, graph))

    def _read_labels(self, y, sample_weight, graph):
        """Return the problem: values of the nodes of the graph, with their weights."""
        return weighted_labels(real_labels(y, graph), sample_weight, graph)

    def _columns(self):
        columns = super()._columns()
        return {"node": columns["node"], "value": columns["label"]}

    def predict(self, X: ArrayLike | Iterable | None = None) -> np.ndarray:
        """Values of the nodes of the graph (no argument), or of new points or nodes.

        Parameters
        ----------
        X : points, or links as in `predict_new`, optional
        """
        self._check_fitted()
        if X is None or isinstance(X, GraphNodes):
            return self.transduction_ if X is None else self.transduction_[X.nodes]
        mean, reached = self._averages(self._links(X), self.transduction_[:, None])
        return np.where(reached, mean.ravel(), self.mean_)

    def predict_new(self, links: ArrayLike | Iterable) -> np.ndarray:
        """Values of new nodes from their edges to known ones, without a new fit.

        Parameters
        ----------
        links : array or sparse matrix (n_new, n_nodes), or triples (new node, known id, weight)
            As in `HFSClassifier.predict_new`.
        """
        return self.predict(links)

    def score(
        self,
        X: ArrayLike | None,
        y: ArrayLike | Mapping,
        sample_weight: ArrayLike | Mapping | None = None,
    ) -> float:
        """Coefficient of determination over the points, or the nodes, where `y` is not NaN.

        Parameters
        ----------
        X : points, or None where the model was fitted to a graph
        y : array of shape (n_nodes,), or mapping from node ids to values
            Matched to nodes as in `fit`, and so is `sample_weight`.
        sample_weight : array of shape (n_nodes,), or mapping from node ids to weights, optional
        """
        self._check_fitted()
        from sklearn.metrics import r2_score

        given = ("y", y), ("sample_weight", sample_weight)
        answers, nodes, (y, weights) = self._answers_for(X, *given)
        known = real_labels(y, nodes)
        weight = None if weights is None else node_weights(weights, known.nodes, nodes)
        return r2_score(known.value, answers[known.nodes], sample_weight=weight)


class ValueAnswer(NamedTuple):
    """The eta that was selected, and its fit."""

    eta: float
    fit: Fit


class StableHFSRegressor(GraphRegressor):
    """Stable-HFS for numbers: f + ybar, f centered over every component.

    Parameters
    ----------
    eta : float or "auto"
        Weight of the smoothness term; "auto" takes the one of least squared leave-one-out error.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    tol : float
        Relative residual of the solves.
    random_state : int, Generator or None
        Seeds the solver, and the sketch of leave-one-out.

    Attributes
    ----------
    transduction_ : ndarray (n_nodes,)
        A value for every node; `mean_` where no label reaches.
    has_label_in_component_ : ndarray of bool
        Whether a label lies in the node's component.
    eta_, mean_ : float
        The weight that was used, and the mean of all labels.

    Examples
    --------
    >>> import networkx as nx
    >>> y = [0.0, np.nan, np.nan, np.nan, 4.0]
    >>> StableHFSRegressor(eta=1e-6).fit(nx.path_graph(5), y).transduction_.round(2)
    array([0., 1., 2., 3., 4.])
    """

    def __init__(
        self,
        *,
        eta: float | str = "auto",
        affinity: str = "precomputed",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        tol: float = 1e-6,
        random_state: RandomState = None,
    ) -> None:
        self.eta = eta
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.tol = tol
        self.random_state = random_state

    def _fit_graph(self, graph, labels):
        solver = LooSolver(
            graph,
            labels.nodes,
            labels.targets,
            sample_weight=labels.sample_weight,
            tol=self.tol,
            random_state=self.random_state,
        )
        return self._accept(graph, labels, self._answer(solver, graph, labels))

    def _answer(self, solver, graph, labels, *, eta=None):
        """Select eta and fit."""
        eta = select_for_values(solver, labels, eta=self.eta if eta is None else eta)
        return ValueAnswer(eta, solver.fit(eta))

    def _accept(self, graph, labels, answer):
        """Set the fitted attributes."""
        self._remember_nodes(graph)
        fit = answer.fit
        self.eta_ = answer.eta
        self.mean_ = float(np.average(labels.value, weights=labels.sample_weight))
        self.has_label_in_component_ = fit.reached
        self.transduction_ = (fit.centered + fit.offset).ravel()
        n_lost = int(np.count_nonzero(~fit.reached))
        if n_lost:
            warnings.warn(
                UnreachedWarning(
                    f"{n_lost} of {graph.n_nodes} nodes lie in components without a value; they "
                    "are predicted as the mean of all values (see has_label_in_component_)"
                ),
                stacklevel=4,
            )
        return self


class SparseHFSRegressor(StreamedEstimator, StableHFSRegressor):
    """Stable-HFS regression on a graph that is read and never held.

    Where the edges can be read again, in a few passes with a sparsifier as preconditioner; else on
    a sparsifier that favors the edges at labeled nodes.

    Parameters
    ----------
    n_edges : int, optional
        Budget: edges to hold. At most one of the three is given.
    epsilon : float, optional
        Accuracy of cuts from which the number of edges is predicted. Default: 0.5.
    keep : float, optional
        Share of all edges.
    priority_fraction : "auto" or float in [0, 1)
        Share of the budget for edges at labeled nodes; "auto" is a half in a single pass (values,
        unlike classes, cannot be summed by class), and none where there are several.
    max_passes : "auto" or int
        How often the edges are read at most. "auto" reads on until the values have settled, four
        times at most (a pipe once); 1 is a single read.
    window : float, optional
        Label on the edges of the last `window` of time. Edges must have times
        (`read_edges(..., time=...)` or `TimedEdges`). Where they can be read again this is exact,
        and takes one read more; else it is a stream with a window.
    half_life : float, optional
        The same with weights that fall to a half in this time.
    eta : float or "auto"
        Weight of the smoothness term; "auto" takes the one of least squared leave-one-out error.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    tol : float
        Relative residual of the solves.
    random_state : int or None
        Seeds everything that is drawn.
    progress : bool or callable
        Tell how far the stream has been read.

    Attributes
    ----------
    transduction_, has_label_in_component_, eta_, mean_
        As of `StableHFSRegressor`.
    sparsifier_, n_edges_seen_, n_edges_used_, n_passes_
        As of `SparseHFSClassifier`.

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> y = np.full(100, np.nan)
    >>> y[:2] = 1.0, 3.0
    >>> model = SparseHFSRegressor(n_edges=1000, random_state=7).fit(complete(100), y)
    >>> round(float(model.transduction_[50]), 3)
    2.0
    """

    def __init__(
        self,
        *,
        n_edges: int | None = None,
        epsilon: float | None = None,
        keep: float | None = None,
        priority_fraction: float | str = "auto",
        max_passes: int | str = "auto",
        window: float | None = None,
        half_life: float | None = None,
        eta: float | str = "auto",
        affinity: str = "precomputed",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        tol: float = 1e-6,
        random_state: int | None = None,
        progress: Progress = False,
    ) -> None:
        super().__init__(
            eta=eta,
            affinity=affinity,
            n_neighbors=n_neighbors,
            metric=metric,
            tol=tol,
            random_state=random_state,
        )
        self.n_edges = n_edges
        self.epsilon = epsilon
        self.keep = keep
        self.priority_fraction = priority_fraction
        self.max_passes = max_passes
        self.window = window
        self.half_life = half_life
        self.progress = progress

    _is_unlabeled = staticmethod(is_missing)

    def _is_settled(self, answer, other, solver):
        change = np.linalg.norm(answer.fit.centered - other.fit.centered)
        return change <= MAX_RELATIVE_CHANGE * np.linalg.norm(answer.fit.centered)
