"""How near two neighbors are: weights in [0, 1] from the squared distance d^2.

    thesis     exp(-d / (2 sigma^2)), Section 4.4.3 of the thesis, which takes sigma^2 = 3
    gaussian   exp(-d^2 / (2 sigma^2))
    local      exp(-d^2 / (s_i s_j)), s_i the distance of i to its seventh neighbor [ZP04]
    cosine     cos of the angle between the two points, 0 where it is negative
    unit       1

The thesis writes the norm, not its square: its weight falls off like a Laplace kernel.

`neighbor_graph`, for points that are held, has a scale of its own: exp(-c d_ij^2 / s_i^2), s_i the
distance to the furthest of i's neighbors, so that it adapts to the density. The distances to all
neighbors are nearly the same in high dimension, so that a fixed c would tell near from far in the
plane and nothing there; c is such that, in the median point, the nearest neighbor weighs twenty
times as much as the furthest. Both directions are averaged, a missing one counts as zero.

References
----------
[ZP04] Zelnik-Manor, Perona. Self-tuning spectral clustering. NIPS 2004.
"""

import numpy as np
import scipy.sparse

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.system.kernels import njit_cached
from graphsqueak.validation import check_real

__all__ = [
    "FORMS",
    "LOCAL_RANK",
    "check_sigma",
    "link_weights",
    "local_scale",
    "neighbor_graph",
    "weigh_pairs",
]

FORMS = ("thesis", "gaussian", "local", "cosine", "unit")
LOCAL_RANK = 7
_THESIS_SIGMA = np.sqrt(3.0)
_CONTRAST = 20.0  # of the nearest neighbor's weight to the furthest's
_LEAST_SPREAD = 0.1


def weigh_pairs(form, nodes, squared, *, sigma=None, reach=None, scale=None, norms=None):
    """Weights of the pairs `nodes` (m, 2) at squared distances `squared`.

    `reach` holds the distance of each point to its last neighbor, the mean of which is the
    Gaussian's sigma unless given; `scale` the s_i; `norms` the |x_i|^2.

    >>> pair = np.array([[0, 1]])
    >>> weigh_pairs("thesis", pair, np.array([36.0]))  # exp(-6 / 6)
    array([0.36787944])
    """
    tail, head = nodes[:, 0], nodes[:, 1]
    if form == "unit":
        return np.ones(squared.size)
    if form == "thesis":
        return np.exp(np.sqrt(squared) / (-2.0 * (sigma or _THESIS_SIGMA) ** 2))
    if form == "gaussian":
        return np.exp(squared / (-2.0 * (sigma or reach.mean() or 1.0) ** 2))
    if form == "local":
        return np.exp(-squared / (scale[tail] * scale[head]))
    return _cosines(nodes, squared, norms)


def local_scale(near, reach):
    """The s_i; where seven points coincide with i, the next larger distance that we know."""
    scale = np.where(near > 0, near, reach)
    positive = scale[scale > 0]
    return np.where(scale > 0, scale, positive.mean() if positive.size else 1.0)


def check_sigma(sigma, form):
    """Return sigma if the form uses one."""
    if sigma is None:
        return None
    if form not in ("thesis", "gaussian"):
        raise InputError(
            Parameter("sigma", sigma),
            " has no meaning for ",
            Parameter("weight", form),
            "; leave it away",
        )
    return check_real("sigma", sigma, above=0.0, below=np.inf)


def neighbor_graph(points, *, n_neighbors, metric):
    """The weighted neighbor graph of `points`, and the fitted index of neighbors.

    >>> line = np.array([[0.0], [1.0], [2.0]])
    >>> graph, _ = neighbor_graph(line, n_neighbors=1, metric="euclidean")
    >>> graph.n_edges
    2
    """
    from sklearn.neighbors import NearestNeighbors

    n_points = points.shape[0]
    index = NearestNeighbors(n_neighbors=max(min(n_neighbors, n_points - 1), 1), metric=metric)
    index.fit(points)
    if n_points == 1:
        index.sharpness_ = 1.0
        return EdgeList.from_validated([], [], [], n_nodes=1), index
    distance, neighbor = index.kneighbors()
    index.sharpness_ = _sharpness(distance)
    half = link_weights(distance, neighbor, n_points, index.sharpness_)
    both = scipy.sparse.triu((half + half.T) / 2, format="coo")
    graph = EdgeList(tail=both.row, head=both.col, weight=both.data, n_nodes=n_points)
    return graph, index


def _sharpness(distance):
    """c of the weights; bounded, for points that are all equally far."""
    nearest = _ratios(distance)[:, 0]
    return np.log(_CONTRAST) / max(1 - np.median(nearest**2), _LEAST_SPREAD)


def _ratios(distance):
    scale = distance.max(axis=1, keepdims=True)
    return np.divide(distance, scale, out=np.zeros_like(distance), where=scale > 0)


def link_weights(distance, neighbor, n_known, sharpness):
    """Weights of points (rows) to those known (columns), of which `neighbor` are near."""
    weight = np.exp(-sharpness * _ratios(distance) ** 2)
    row = np.repeat(np.arange(len(distance)), distance.shape[1])
    shape = (len(distance), n_known)
    return scipy.sparse.coo_array((weight.ravel(), (row, neighbor.ravel())), shape=shape).tocsr()


@njit_cached
def _cosines(nodes, squared, norms):
    """At least 0; 0 for the origin. One array, since there are many pairs."""
    cosine = np.zeros(squared.size)
    for pair in range(squared.size):
        a, b = norms[nodes[pair, 0]], norms[nodes[pair, 1]]
        if a > 0 and b > 0:
            cosine[pair] = min(max(0.5 * (a + b - squared[pair]) / np.sqrt(a * b), 0.0), 1.0)
    return cosine
