"""Harmonic functions: every node without a label is the weighted mean of its neighbors [ZGL03].

With the nodes split into labeled S and unlabeled U, and W = W_US the weights between them,

    L_UU f_U = W Y,      f_S = Y.

L_UU is the Laplacian of the graph inside U plus the diagonal of its weights to S: a Laplacian with
a ridge, which is what `LaplacianSolver` solves. It is singular exactly on the components
without a label, where nothing can be said; they are left out.

References
----------
[ZGL03] Zhu, Ghahramani, Lafferty. Semi-supervised learning using Gaussian fields and harmonic
        functions. ICML 2003.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.solvers import LaplacianSolver

__all__ = ["Split", "harmonic_scores", "reached_nodes", "split"]


class Split(NamedTuple):
    """A graph cut into labeled and (reached) unlabeled nodes."""

    labeled: np.ndarray  # S
    inner: np.ndarray  # U: unlabeled nodes in the component of a label
    solver: LaplacianSolver | None  # of L_UU; None if U is empty
    cross: scipy.sparse.csr_array  # W_US


def reached_nodes(graph, labeled):
    """Whether each node lies in a component with a label.

    >>> reached_nodes(EdgeList(tail=[0, 2], head=[1, 3]), np.array([0]))
    array([ True,  True, False, False])
    """
    component = graph.components()
    has_label = np.zeros(graph.n_nodes + 1, dtype=bool)
    has_label[component[labeled]] = True
    return has_label[component]


def split(graph, labeled, *, tol=1e-8, random_state=None):
    """Cut `graph` at its labeled nodes."""
    is_inner = reached_nodes(graph, labeled)
    is_inner[labeled] = False
    inner = np.flatnonzero(is_inner)
    place = np.full(graph.n_nodes, -1, dtype=np.int64)
    place[inner] = np.arange(inner.size)
    inside = is_inner[graph.tail] & is_inner[graph.head]
    within = EdgeList.from_clean(
        place[graph.tail[inside]], place[graph.head[inside]], graph.weight[inside], inner.size
    )
    place[labeled] = np.arange(labeled.size)
    crossing = is_inner[graph.tail] != is_inner[graph.head]
    low, high = graph.tail[crossing], graph.head[crossing]
    unlabeled = np.where(is_inner[low], low, high)
    cross = scipy.sparse.coo_array(
        (graph.weight[crossing], (place[unlabeled], place[low + high - unlabeled])),
        shape=(inner.size, labeled.size),
    ).tocsr()
    if inner.size == 0:
        return Split(labeled, inner, None, cross)
    ridge = np.asarray(cross.sum(axis=1)).ravel()
    solver = LaplacianSolver(within, ridge=ridge, tol=tol, random_state=random_state)
    return Split(labeled, inner, solver, cross)


def harmonic_scores(graph, labeled, targets, *, tol=1e-8, random_state=None):
    """The harmonic extension of `targets` (l, C) to all nodes; NaN where no label reaches.

    >>> path = EdgeList(tail=[0, 1, 2], head=[1, 2, 3])
    >>> harmonic_scores(path, np.array([0, 3]), np.array([[0.0], [3.0]])).ravel()
    array([0., 1., 2., 3.])
    """
    parts = split(graph, labeled, tol=tol, random_state=random_state)
    scores = np.full((graph.n_nodes, targets.shape[1]), np.nan)
    scores[labeled] = targets
    if parts.solver is not None:
        scores[parts.inner] = parts.solver.solve(parts.cross @ targets)
    return scores
