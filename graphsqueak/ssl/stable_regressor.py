"""StableHFSRegressor: values of nodes by regularized harmonic functions."""

import warnings

import numpy as np

from graphsqueak.ssl.base import GraphRegressor, UnreachedWarning, check_eta
from graphsqueak.ssl.choice import choose_for_values
from graphsqueak.ssl.labels import real_labels
from graphsqueak.ssl.stable import stable_scores

__all__ = ["StableHFSRegressor"]


class StableHFSRegressor(GraphRegressor):
    """Stable-HFS for numbers: f + ybar, f centered over every component.

    Parameters
    ----------
    eta : float or "auto"
        "auto" takes the one of least squared leave-one-out error.
    affinity, n_neighbors, metric, tol, random_state
        As of `HFSClassifier`.

    Attributes
    ----------
    transduction_ : ndarray (n_nodes,)
        A value for every node; `mean_` where no label reaches.
    reached_ : ndarray of bool
    eta_, mean_ : float

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
        eta="auto",
        affinity="precomputed",
        n_neighbors=10,
        metric="euclidean",
        tol=1e-6,
        random_state=None,
    ):
        self.eta = eta
        self.affinity, self.n_neighbors, self.metric = affinity, n_neighbors, metric
        self.tol, self.random_state = tol, random_state

    def fit(self, X, y):
        """Learn from the graph (or points) X and the values y, NaN where there is none."""
        graph = self._read(X)
        return self._fit_graph(graph, real_labels(y, graph))

    def _fit_graph(self, graph, labels):
        rng = np.random.default_rng(self.random_state)
        self.eta_ = choose_for_values(graph, labels, eta=check_eta(self.eta), rng=rng)
        fit = stable_scores(
            graph,
            labels.nodes,
            labels.value[:, None],
            labels.nodes.size * self.eta_,
            tol=self.tol,
            random_state=rng,
        )
        self.ids_, self.n_nodes_ = graph.ids, graph.n_nodes
        self.mean_ = float(labels.value.mean())
        self.reached_ = fit.reached
        self.transduction_ = (fit.centered + fit.offset).ravel()
        n_lost = int(np.count_nonzero(~fit.reached))
        if n_lost:
            warnings.warn(
                UnreachedWarning(
                    f"{n_lost} of {graph.n_nodes} nodes lie in components without a value; they "
                    "are predicted as the mean of all values (see reached_)"
                ),
                stacklevel=3,
            )
        return self
