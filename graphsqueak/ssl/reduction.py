"""Stable-HFS seen from its labelled nodes alone: leave-one-out in closed form, for every eta.

Eliminating the unlabelled nodes U from the problem of `stable` leaves l unknowns. With
H = L_UU^-1 W_US (what each label gives to each node) and h = L_UU^-1 1, every candidate is
f_U = H f_S + t h, its energy f' L f = f_S' K f_S + t^2 1'h with the Schur complement
K = L_SS - W_SU H, and the constraint fixes t = -(a' f_S) / (1'h), where a = 1 + H' 1 counts the
nodes that each label speaks for. So

    f_S = M y~,      M = (I + alpha Q)^-1,      Q = K + a a' / (1'h),

with one term a a' / (1'h) per component: l + 1 columns of one solve serve all alpha. Leaving label
i out of a penalised least squares fit needs no other fit, M'_ij = M_ij / (1 - M_ii), so that

    f_i without i  =  ( (M y)_i - M_ii y_i - ybar_i ((M 1)_i - M_ii) ) / (1 - M_ii),

exactly, where ybar_i is the mean of the other labels of the component and alpha stays fixed.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.solvers.laplacian_solver import FLOAT32_TOL
from graphsqueak.ssl.harmonic import split

__all__ = ["Reduction", "leave_one_out", "reduce_to_labels"]

_NO_ROOM = 1e-9  # 1'h, in units of 1 / degree, where a component has no unlabelled node


class Reduction(NamedTuple):
    """Q of shape (l, l), and the component of every labelled node."""

    energy: np.ndarray
    component: np.ndarray


def reduce_to_labels(graph, labelled, *, tol=1e-4, random_state=None):
    """Eliminate the unlabelled nodes; the cost is l + 1 columns of a solve.

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList(tail=[0, 1], head=[1, 2])
    >>> reduce_to_labels(path, np.array([0, 2]), tol=1e-8).energy
    array([[5., 4.],
           [4., 5.]])
    """
    parts = split(graph, labelled, tol=tol, random_state=random_state)
    component = graph.components()
    own = component[labelled]
    n_labels, laplacian = labelled.size, graph.laplacian()
    energy = laplacian[labelled][:, labelled].toarray()
    spread = np.zeros((parts.inner.size, n_labels + 1))
    if parts.solver is not None:
        rhs = np.column_stack([parts.cross.toarray(), np.ones(parts.inner.size)])
        single = tol >= FLOAT32_TOL  # what is judged by it needs no more digits
        spread = parts.solver.solve(rhs.astype(np.float32) if single else rhs).astype(np.float64)
        energy -= parts.cross.T @ spread[:, :-1]
    energy = (energy + energy.T) / 2
    mass = 1 + spread[:, :-1].sum(axis=0)
    room = np.bincount(component[parts.inner], spread[:, -1], minlength=component.max() + 1)
    least = _NO_ROOM / max(graph.degrees().mean(), np.finfo(float).tiny)
    same = own[:, None] == own
    energy += same * np.outer(mass, mass) / np.maximum(room, least)[own][:, None]
    return Reduction(energy, own)


def leave_one_out(reduction, targets, alpha):
    """Centred score of every labelled node as if it had no label, and the mean of the others.

    Both for every column of `targets`; NaN where the component has no other label.

    >>> ends = Reduction(np.array([[5.0, 4.0], [4.0, 5.0]]), np.zeros(2, dtype=int))
    >>> leave_one_out(ends, np.array([[1.0], [0.0]]), alpha=1.0)[0].ravel()
    array([0., 0.])
    """
    n_labels = len(targets)
    smoother = np.linalg.inv(np.eye(n_labels) + alpha * reduction.energy)
    own = np.diag(smoother)[:, None]
    same = reduction.component[:, None] == reduction.component
    others = same.sum(axis=1)[:, None] - 1.0
    alone = others == 0
    mean = (same @ targets - targets) / np.where(alone, np.nan, others)
    row_sum = (smoother * same).sum(axis=1)[:, None]
    scores = (smoother @ targets - own * targets - mean * (row_sum - own)) / (1 - own)
    return scores, mean
