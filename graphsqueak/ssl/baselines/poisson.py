"""Poisson learning [CCTS20]: labels are sources and sinks of a flow.

    L u = sum over labeled i of (y_i - ybar) e_i,       D-weighted mean of u zero,

with a column per class, and ybar the mean label, in each component separately. No label is a
boundary value, so that a single label per class does not give a spike. With many labels Stable-HFS
is more accurate.

References
----------
[CCTS20] Calder, Cook, Thorpe, Slepcev. Poisson learning: graph based semi-supervised learning at
         very low label rates. ICML 2020.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from graphsqueak.solvers import LaplacianSolver
from graphsqueak.solvers.components import component_sums
from graphsqueak.ssl.base import GraphClassifier
from graphsqueak.ssl.decisions.class_sizes import class_fractions, meet_sizes
from graphsqueak.ssl.stable import label_means, labeled_components
from graphsqueak.validation import explain_keywords

__all__ = ["PoissonClassifier"]


@explain_keywords()
@dataclass(kw_only=True, eq=False, repr=False)
class PoissonClassifier(GraphClassifier):
    """Baseline classifier for very few labels per class (Poisson learning).

    Use it to compare with Stable-HFS if there are one to five labels per class.

    Parameters
    ----------
    class_sizes : None, "labels", "auto" or mapping from classes to sizes
        Sizes that the predicted classes have, as in `StableHFSClassifier`.
    unknown : "prior" or a label
        Prediction in components without a label: the most frequent class, or for example -1.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Number of nearest neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    tol : float
        Relative residual of the solve.
    random_state : int, Generator or None
        Seed of the solver.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, has_label_in_component_, classes_, ids_
        As in `HFSClassifier`.

    Examples
    --------
    >>> import networkx as nx
    >>> PoissonClassifier().fit(nx.path_graph(5), ["a", -1, -1, -1, "b"]).transduction_[[1, 3]]
    array(['a', 'b'], dtype='<U21')
    """

    class_sizes: str | Mapping | None = None
    tol: float = 1e-6

    def _scores(self, graph, labels):
        component = graph.components()
        targets = labels.one_hot()
        degrees = graph.degrees()[:, None]
        mean = label_means(targets, labels.nodes, component)
        has_label = labeled_components(component, labels.nodes)[component]
        sources = np.zeros((graph.n_nodes, labels.classes.size))
        sources[labels.nodes] = targets - mean[component[labels.nodes]]
        solver = LaplacianSolver(graph, tol=self.tol, random_state=self.random_state)
        scores = solver.solve(solver.centered(sources))
        # Weighted by degrees, the mean over each component is zero.
        total = component_sums(component, len(mean), degrees * scores)
        volume = component_sums(component, len(mean), degrees)
        scores -= (total / np.where(volume > 0, volume, 1.0))[component]
        # The labels of one class alone give no flow: the prior decides.
        has_one_class = has_label & (mean.max(axis=1) == 1.0)[component]
        scores[has_one_class] = (mean - 1 / labels.classes.size)[component[has_one_class]]
        scores[~has_label] = 0.0
        if self.class_sizes is not None:
            sizes = class_fractions(self.class_sizes, labels, scores[has_label])
            scores[has_label] = meet_sizes(scores[has_label], sizes)
        return scores - scores.mean(axis=1, keepdims=True), has_label
