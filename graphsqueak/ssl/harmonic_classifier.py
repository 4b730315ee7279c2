"""HFSClassifier: labels spread harmonically, the labeled nodes held fixed [ZGL03]."""

import numpy as np

from graphsqueak.ssl.base import GraphClassifier
from graphsqueak.ssl.harmonic import harmonic_scores

__all__ = ["HFSClassifier"]


class HFSClassifier(GraphClassifier):
    """Harmonic function solution: L_UU f_U = W_US Y, and the largest column wins.

    With few labels nearly every node is nearly a constant mixture, and one class takes all; class
    mass normalization rescales class c by q_c / sum_U f_c, q_c = (n_c + 1) / (l + C), so that
    the classes share the nodes as they share the labels [ZGL03, Section 4]. Stable-HFS is the
    better answer to the same problem.

    Parameters
    ----------
    class_mass : bool
        Normalize class masses.
    unknown : "prior" or a label
        Prediction where no label reaches: the most frequent class, or for example -1. The
        distribution there is uniform.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors, metric
        Of the neighbor graph of points.
    tol : float
        Relative residual of the solves.
    random_state : int, Generator or None

    Attributes
    ----------
    transduction_ : ndarray (n_nodes,)
        A label for every node.
    label_distributions_, scores_ : ndarray (n_nodes, C)
    reached_ : ndarray of bool
        Whether a label lies in the node's component.
    classes_, ids_ : ndarray

    Examples
    --------
    >>> import networkx as nx
    >>> clf = HFSClassifier().fit(nx.path_graph(5), ["a", -1, -1, -1, "b"])
    >>> clf.label_distributions_[1]
    array([0.75, 0.25])
    >>> clf.transduction_[[1, 3]]
    array(['a', 'b'], dtype='<U21')
    """

    def __init__(
        self,
        *,
        class_mass=False,
        unknown="prior",
        affinity="precomputed",
        n_neighbors=10,
        metric="euclidean",
        tol=1e-6,
        random_state=None,
    ):
        self.class_mass = class_mass
        self.unknown = unknown
        self.affinity, self.n_neighbors, self.metric = affinity, n_neighbors, metric
        self.tol, self.random_state = tol, random_state

    def _scores(self, graph, labels):
        shares = harmonic_scores(
            graph, labels.nodes, labels.one_hot(), tol=self.tol, random_state=self.random_state
        )
        reached = np.isfinite(shares[:, 0])
        shares[~reached] = 1 / labels.classes.size
        if self.class_mass:
            shares = _normalized(shares, reached, labels)
        return shares - 1 / labels.classes.size, reached


def _normalized(shares, reached, labels):
    """Class mass normalization, rows scaled to sum to one again."""
    unlabeled = reached.copy()
    unlabeled[labels.nodes] = False
    counts = np.bincount(labels.code, minlength=labels.classes.size)
    mass = shares[unlabeled].sum(axis=0)
    wanted = (counts + 1) / (counts.sum() + counts.size)
    scaled = shares * np.divide(wanted, mass, out=np.ones_like(mass), where=mass > 0)
    return scaled / scaled.sum(axis=1, keepdims=True)
