"""SubsampledHFSClassifier: harmonic functions on some of the nodes, the others follow."""

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.ssl.harmonic import harmonic_scores
from graphsqueak.ssl.nearest_label import NearestLabelClassifier, closest
from graphsqueak.validation import check_count

__all__ = ["SubsampledHFSClassifier"]


class SubsampledHFSClassifier(NearestLabelClassifier):
    """SubSampling of the thesis: HFS on the subgraph of `n_samples` nodes [C17, Section 4.4.3].

    The nodes are the labeled ones and others drawn uniformly. Every other node takes the label of
    the closest node that got one (as of `NearestLabelClassifier`). Thinned so, a graph easily falls
    apart: that is what the baseline shows.

    Parameters
    ----------
    n_samples : int
        Nodes of the subgraph.
    unknown, affinity, n_neighbors, metric, random_state
        As of `HFSClassifier`.

    Examples
    --------
    >>> import networkx as nx
    >>> y = ["a", -1, -1, -1, "b"]
    >>> SubsampledHFSClassifier(n_samples=5).fit(nx.path_graph(5), y).label_distributions_[1]
    array([0.75, 0.25])
    """

    def __init__(
        self,
        *,
        n_samples=1000,
        unknown="prior",
        affinity="precomputed",
        n_neighbors=10,
        metric="euclidean",
        random_state=None,
    ):
        super().__init__(
            unknown=unknown,
            affinity=affinity,
            n_neighbors=n_neighbors,
            metric=metric,
            random_state=random_state,
        )
        self.n_samples = n_samples

    def _scores(self, graph, labels):
        wanted = min(check_count("n_samples", self.n_samples), graph.n_nodes)
        rng = np.random.default_rng(self.random_state)
        others = np.setdiff1d(np.arange(graph.n_nodes), labels.nodes)
        n_more = max(wanted - labels.nodes.size, 0)
        more = rng.choice(others, min(n_more, others.size), replace=False)
        chosen = np.sort(np.concatenate([labels.nodes, more]))
        inside = np.full(graph.n_nodes, -1)
        inside[chosen] = np.arange(chosen.size)
        both = (inside[graph.tail] >= 0) & (inside[graph.head] >= 0)
        part = EdgeList.from_clean(
            inside[graph.tail[both]], inside[graph.head[both]], graph.weight[both], chosen.size
        )
        shares = harmonic_scores(part, inside[labels.nodes], labels.one_hot(), random_state=rng)
        known = np.isfinite(shares[:, 0])
        nearest, reached = closest(graph, chosen[known], self._points())
        scores = shares[known][nearest] - 1 / labels.classes.size
        scores[~reached] = 0.0
        return scores, reached
