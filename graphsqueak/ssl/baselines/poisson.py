"""Poisson learning [CCTS20]: labels as sources and sinks of a flow.

    L u = sum over labeled i of (y_i - ybar) e_i,       D-weighted mean of u zero,

a column per class, ybar the mean label; every component by itself. No label is a boundary value, so
that a single label a class does not make a spike; with many labels Stable-HFS uses them better.

References
----------
[CCTS20] Calder, Cook, Thorpe, Slepcev. Poisson learning: graph based semi-supervised learning at
         very low label rates. ICML 2020.
"""

from collections.abc import Mapping

import numpy as np

from graphsqueak.randomness import RandomState
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.solvers.components import component_sums
from graphsqueak.ssl.base import GraphClassifier
from graphsqueak.ssl.decisions.class_sizes import class_fractions, meet_sizes
from graphsqueak.ssl.stable import label_means, labeled_components

__all__ = ["PoissonClassifier"]


class PoissonClassifier(GraphClassifier):
    """Poisson learning, a baseline for very few labels [CCTS20].

    Parameters
    ----------
    class_sizes : None, "labels", "auto" or mapping from classes to sizes
        Sizes that the classes are to have, as of `StableHFSClassifier`.
    unknown : "prior" or a label
        Prediction where no label reaches: the most frequent class, or for example -1.
    affinity : {"precomputed", "knn"}
        "precomputed" takes graphs, "knn" points, which it joins to their nearest.
    n_neighbors : int
        How many those are.
    metric : str
        By which distance, a name of scikit-learn.
    tol : float
        Relative residual of the solve.
    random_state : int, Generator or None
        Seeds the solver.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, reached_, classes_, ids_
        As of `HFSClassifier`.

    Examples
    --------
    >>> import networkx as nx
    >>> PoissonClassifier().fit(nx.path_graph(5), ["a", -1, -1, -1, "b"]).transduction_[[1, 3]]
    array(['a', 'b'], dtype='<U21')
    """

    def __init__(
        self,
        *,
        class_sizes: str | Mapping | None = None,
        unknown: object = "prior",
        affinity: str = "precomputed",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        tol: float = 1e-6,
        random_state: RandomState = None,
    ) -> None:
        self.class_sizes, self.unknown = class_sizes, unknown
        self.affinity, self.n_neighbors, self.metric = affinity, n_neighbors, metric
        self.tol, self.random_state = tol, random_state

    def _scores(self, graph, labels):
        component, targets, degrees = graph.components(), labels.one_hot(), graph.degrees()
        mean = label_means(targets, labels.nodes, component)
        reached = labeled_components(component, labels.nodes)[component]
        sources = np.zeros((graph.n_nodes, labels.classes.size))
        sources[labels.nodes] = targets - mean[component[labels.nodes]]
        solver = LaplacianSolver(graph, tol=self.tol, random_state=self.random_state)
        scores = solver.solve(solver.centered(sources))
        total = component_sums(component, len(mean), degrees[:, None] * scores)
        volume = component_sums(component, len(mean), degrees[:, None])
        scores -= (total / np.where(volume > 0, volume, 1.0))[component]
        pure = reached & (mean.max(axis=1) == 1.0)[component]
        scores[pure] = (mean - 1 / labels.classes.size)[component[pure]]
        scores[~reached] = 0.0
        if self.class_sizes is not None:
            shares = class_fractions(self.class_sizes, labels, scores[reached])
            scores[reached] = meet_sizes(scores[reached], shares)
        return scores - scores.mean(axis=1, keepdims=True), reached
