"""Harmonic functions: every node without a label is the weighted mean of its neighbors [ZGL03].

With the nodes split into labeled S and unlabeled U, and W = W_US the weights between them,

    L_UU f_U = W Y,      f_S = Y.

L_UU is the Laplacian of the graph inside U plus the diagonal of its weights to S: a Laplacian with
a ridge, which is what `LaplacianSolver` solves. It is singular exactly on the components without a
label, where f is not determined; they are left out.

With few labels f_U is nearly constant, and the largest column is the same for nearly all nodes.
Class mass normalization rescales class c by q_c / sum_U f_c, q_c = (n_c + 1) / (l + C), so that the
class masses are in proportion to the number of labels n_c [ZGL03, Section 4].

References
----------
[ZGL03] Zhu, Ghahramani, Lafferty. Semi-supervised learning using Gaussian fields and harmonic
        functions. ICML 2003.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.ssl.base import GraphClassifier
from graphsqueak.ssl.stable import labeled_components
from graphsqueak.validation import explain_keywords

__all__ = ["HFSClassifier", "harmonic_scores", "induced_subgraph"]


@explain_keywords()
@dataclass(kw_only=True, eq=False, repr=False)
class HFSClassifier(GraphClassifier):
    """Semi-supervised node classifier by the harmonic function solution.

    Use it if labels must not be changed, many nodes are labeled, or as a reference: labeled nodes
    keep their labels, and other nodes get the weighted mean of their neighbors. With few labels
    most nodes get the same class; `class_mass` corrects this, and `StableHFSClassifier` is usually
    more accurate.

    Parameters
    ----------
    class_mass : bool
        Rescale the classes so that their masses are in proportion to the number of labels.
    unknown : "prior" or a label
        Prediction in components without a label: the most frequent class, or for example -1.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Number of nearest neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    tol : float
        Relative residual of the solves.
    random_state : int, Generator or None
        Seed of the solver.

    Attributes
    ----------
    transduction_ : ndarray (n_nodes,)
        A label for every node.
    label_distributions_, scores_ : ndarray (n_nodes, C)
        Class probabilities, uniform in components without a label, and the scores that they are
        computed from.
    has_label_in_component_ : ndarray of bool
        Whether the node's component has a label.
    homophily_, homophily_error_ : float
        Correlation of the classes of neighbors, estimated from labeled nodes one and two steps
        apart, and its standard error. 1 if neighbors always have the same class; 0 if they have it
        as often as random nodes, when there is a warning. On a sparsifier it is that of its edges.
    classes_, ids_ : ndarray
        All labels, sorted, and the ids of the nodes.

    Examples
    --------
    >>> import networkx as nx
    >>> clf = HFSClassifier().fit(nx.path_graph(5), ["a", -1, -1, -1, "b"])
    >>> clf.label_distributions_[1]
    array([0.75, 0.25])
    >>> clf.transduction_[[1, 3]]
    array(['a', 'b'], dtype='<U21')
    """

    class_mass: bool = False
    tol: float = 1e-6

    def _scores(self, graph, labels):
        fractions = harmonic_scores(
            graph, labels.nodes, labels.one_hot(), tol=self.tol, random_state=self.random_state
        )
        has_label = np.isfinite(fractions[:, 0])
        fractions[~has_label] = 1 / labels.classes.size
        if self.class_mass:
            fractions = _normalize_masses(fractions, has_label, labels)
        return fractions - 1 / labels.classes.size, has_label


def harmonic_scores(graph, labeled, targets, *, tol=1e-8, random_state=None):
    """Return the harmonic extension of the targets to all nodes.

    Parameters
    ----------
    graph : EdgeList
    labeled : array of int, shape (l,)
        Numbers of the labeled nodes.
    targets : array of float, shape (l, C)
    tol : float
        Relative residual of the solve.
    random_state : int, Generator or None
        Seed of the solver.

    Returns
    -------
    ndarray of shape (n_nodes, C)
        NaN in components without a label.

    Examples
    --------
    >>> path = EdgeList(tail=[0, 1, 2], head=[1, 2, 3])
    >>> harmonic_scores(path, np.array([0, 3]), np.array([[0.0], [3.0]])).ravel()
    array([0., 1., 2., 3.])
    """
    scores = np.full((graph.n_nodes, targets.shape[1]), np.nan)
    scores[labeled] = targets
    component = graph.components()
    # U, without the components that have no label.
    is_inner = labeled_components(component, labeled)[component]
    is_inner[labeled] = False
    inner = np.flatnonzero(is_inner)
    if inner.size == 0:
        return scores
    inside, number = induced_subgraph(graph, inner)
    # Now the number of each node in U or in S.
    number[labeled] = np.arange(labeled.size)
    is_crossing = is_inner[graph.tail] != is_inner[graph.head]
    tail = graph.tail[is_crossing]
    head = graph.head[is_crossing]
    unlabeled_end = np.where(is_inner[tail], tail, head)
    labeled_end = np.where(is_inner[tail], head, tail)
    # W_US
    crossing = scipy.sparse.coo_array(
        (graph.weight[is_crossing], (number[unlabeled_end], number[labeled_end])),
        shape=(inner.size, labeled.size),
    ).tocsr()
    ridge = np.asarray(crossing.sum(axis=1)).ravel()
    solver = LaplacianSolver(inside, ridge=ridge, tol=tol, random_state=random_state)
    scores[inner] = solver.solve(crossing @ targets)
    return scores


def induced_subgraph(graph, nodes):
    """Return the graph of some nodes and the edges between them.

    Parameters
    ----------
    graph : EdgeList
    nodes : array of int

    Returns
    -------
    subgraph : EdgeList
    number : array of int, shape (n_nodes,)
        Number of each node of `graph` in the subgraph, -1 for the others.

    Examples
    --------
    >>> path = EdgeList(tail=[0, 1, 2], head=[1, 2, 3])
    >>> subgraph, number = induced_subgraph(path, np.array([1, 2]))
    >>> subgraph.n_edges, number
    (1, array([-1,  0,  1, -1]))
    """
    number = np.full(graph.n_nodes, -1)
    number[nodes] = np.arange(nodes.size)
    is_inside = (number[graph.tail] >= 0) & (number[graph.head] >= 0)
    subgraph = EdgeList.from_validated(
        number[graph.tail[is_inside]],
        number[graph.head[is_inside]],
        graph.weight[is_inside],
        nodes.size,
    )
    return subgraph, number


def _normalize_masses(fractions, has_label, labels):
    """Return the fractions after class mass normalization; rows sum to one."""
    is_unlabeled = has_label.copy()
    is_unlabeled[labels.nodes] = False
    counts = np.bincount(labels.code, minlength=labels.classes.size)
    mass = fractions[is_unlabeled].sum(axis=0)
    target_mass = (counts + 1) / (counts.sum() + counts.size)
    scaled = fractions * np.divide(target_mass, mass, out=np.ones_like(mass), where=mass > 0)
    return scaled / scaled.sum(axis=1, keepdims=True)
