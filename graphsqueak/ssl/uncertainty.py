"""How sure the Gaussian field is of each score: the diagonal of its posterior covariance.

Stable-HFS is the mean of a Gaussian posterior: prior covariance L^+ / eta' on the functions that
sum to zero, independent noise on the labels. With A = alpha L + I_S its covariance is, up to the
noise variance, C = A^-1 - v v' / 1'v (v = A^-1 1: the constraint), over every component. Its
diagonal is a sum of squares, since

    A^-1 = A^-1 (alpha B' W B + I_S) A^-1,

so that random signs q on edges and labels give E [ (A^-1 ((alpha W)^(1/2) B)' q)^2 ] on the
diagonal: k probes, k columns of one solve, relative standard deviation sqrt(2 / k).
"""

import numpy as np

from graphsqueak.solvers import LaplacianSolver

__all__ = ["posterior_deviation"]


def posterior_deviation(graph, labeled, alpha, *, n_probes=64, rng):
    """Posterior standard deviation of every score, in units of the noise of one label.

    Infinite where no label reaches.

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList(tail=[0, 1, 2], head=[1, 2, 3])
    >>> rng = np.random.default_rng(7)
    >>> spread = posterior_deviation(path, np.array([0]), 1.0, n_probes=2000, rng=rng)
    >>> bool((np.diff(spread) != 0).all())
    True
    """
    component = graph.components()
    has_label = np.zeros(int(component.max(initial=-1)) + 1, dtype=bool)
    has_label[component[labeled]] = True
    reached = has_label[component]
    edges = rng.choice((-1.0, 1.0), size=(graph.n_edges, n_probes))
    rhs = graph.incidence().T @ (np.sqrt(graph.weight / alpha)[:, None] * edges)
    rhs[labeled] += rng.choice((-1.0, 1.0), size=(labeled.size, n_probes)) / alpha
    rhs[~reached] = 0.0
    rhs = np.column_stack([rhs, reached / alpha])
    ridge = np.zeros(graph.n_nodes)
    ridge[labeled] = 1 / alpha
    solution = LaplacianSolver(graph, ridge=ridge, tol=1e-4, random_state=rng).solve(rhs)
    probes, v = solution[:, :-1], solution[:, -1]
    # project every probe onto the constraint, in the inner product of A, before squaring
    total = np.bincount(component, v, minlength=has_label.size)
    for column in probes.T:
        moment = np.bincount(component, column, minlength=has_label.size)
        share = np.divide(moment, total, out=np.zeros_like(total), where=total > 0)
        column -= share[component] * v
    variance = np.einsum("xk,xk->x", probes, probes) / n_probes
    return np.where(reached, np.sqrt(variance), np.inf)
