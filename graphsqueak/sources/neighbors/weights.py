"""Edge weights of neighbor graphs: similarities in [0, 1] from the squared distance d^2.

    thesis     exp(-d / (2 sigma^2)), thesis, Section 4.4.3, where sigma^2 = 3
    gaussian   exp(-d^2 / (2 sigma^2))
    local      exp(-d^2 / (s_i s_j)), s_i the distance of i to its seventh neighbor [ZP04]
    cosine     cosine of the two points, 0 if it is negative
    unit       1

The thesis has the norm, not its square: the weight is a Laplacian kernel.

`neighbor_graph`, for points in memory, has weights that adapt to the density by themselves:
exp(-c d_ij^2 / s_i^2), s_i the distance of i to its last neighbor, averaged over both directions
(zero if j is not a neighbor of i). In high dimension the distances to all neighbors are nearly the
same, so that a constant c would not separate near from far. So c is such that, at the median point,
the nearest neighbor has 20 times the weight of the last.

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

FORMS = ("thesis", "gaussian", "local", "cosine", "unit")

# Rank of the neighbor whose distance is the local scale, as in [ZP04].
LOCAL_RANK = 7

# Weight of the nearest neighbor over that of the last, in `neighbor_graph`. With 40 labels and 15
# neighbors, cosine and Euclidean, halved: accuracy 0.3 points lower on digits and 0.0 to 0.1 higher
# on Gaussian clusters; doubled: 0.2 to 0.4 higher, and 0.1 lower to 0.0.
NEAREST_TO_LAST_WEIGHT = 20.0

# Lower bound of 1 - (d_nearest / d_last)^2 at the median point: it is zero if all points have the
# same distance. Halved or doubled: no change on these data.
MIN_DISTANCE_CONTRAST = 0.1


def weigh_pairs(form, nodes, squared, *, sigma=None, last_distance=None, scale=None, norms=None):
    """Return the weights of pairs of points.

    Parameters
    ----------
    form : one of `FORMS`
    nodes : ndarray of shape (m, 2)
    squared : ndarray of shape (m,)
        Squared distances.
    sigma : float, optional
        Default: sqrt(3) for "thesis", the mean of `last_distance` for "gaussian".
    last_distance : ndarray, optional
        Distance of each point to its last neighbor.
    scale : ndarray, optional
        The s_i of "local".
    norms : ndarray, optional
        Squared norms of the points, for "cosine".

    >>> pair = np.array([[0, 1]])
    >>> weigh_pairs("thesis", pair, np.array([36.0]))  # exp(-6 / 6)
    array([0.36787944])
    """
    if form == "unit":
        return np.ones(squared.size)
    if form == "thesis":
        sigma = sigma or np.sqrt(3.0)
        return np.exp(np.sqrt(squared) / (-2.0 * sigma**2))
    if form == "gaussian":
        # All points may be equal.
        sigma = sigma or last_distance.mean() or 1.0
        return np.exp(squared / (-2.0 * sigma**2))
    if form == "local":
        return np.exp(-squared / (scale[nodes[:, 0]] * scale[nodes[:, 1]]))
    return _cosines(nodes, squared, norms)


def local_scale(local_distance, last_distance):
    """Return the s_i: the distances to the seventh neighbor, none zero.

    A point with seven copies has the distance to its last neighbor, or the mean of the others.

    >>> local_scale(np.array([2.0, 0.0, 0.0]), np.array([3.0, 4.0, 0.0]))
    array([2., 4., 3.])
    """
    scale = np.where(local_distance > 0, local_distance, last_distance)
    positive = scale[scale > 0]
    return np.where(scale > 0, scale, positive.mean() if positive.size else 1.0)


def check_sigma(sigma, form):
    """Return sigma, if the form has one."""
    if sigma is None:
        return None
    if form not in ("thesis", "gaussian"):
        raise InputError(
            Parameter("sigma", sigma),
            " has no meaning for ",
            Parameter("weight", form),
            "; omit it",
        )
    return check_real("sigma", sigma, above=0.0, below=np.inf)


def neighbor_graph(points, *, n_neighbors, metric):
    """Return the weighted neighbor graph of points in memory, and its `NeighborIndex`.

    >>> line = np.array([[0.0], [1.0], [2.0]])
    >>> graph, _ = neighbor_graph(line, n_neighbors=1, metric="euclidean")
    >>> graph.n_edges
    2
    """
    from sklearn.neighbors import NearestNeighbors

    n_points = points.shape[0]
    n_neighbors = max(min(n_neighbors, n_points - 1), 1)
    search = NearestNeighbors(n_neighbors=n_neighbors, metric=metric).fit(points)
    # A single point has no neighbors, and any sharpness will do.
    if n_points == 1:
        graph = EdgeList.from_validated([], [], [], n_nodes=1)
        return graph, NeighborIndex(points, search, sharpness=1.0)
    # c = log(20) / (1 - (d_nearest / d_last)^2) at the median point
    distance, neighbor = search.kneighbors()
    nearest = _relative_to_last(distance)[:, 0]
    contrast = max(1 - np.median(nearest**2), MIN_DISTANCE_CONTRAST)
    index = NeighborIndex(points, search, sharpness=np.log(NEAREST_TO_LAST_WEIGHT) / contrast)
    # The average over both directions, each pair once.
    directed = index.weigh(distance, neighbor)
    symmetric = scipy.sparse.triu((directed + directed.T) / 2, format="coo")
    graph = EdgeList(
        tail=symmetric.row, head=symmetric.col, weight=symmetric.data, n_nodes=n_points
    )
    return graph, index


class NeighborIndex:
    """Search for the neighbors of new points, with the weights of `neighbor_graph`.

    Parameters
    ----------
    points : array or scipy sparse matrix, shape (n, d)
    search : sklearn.neighbors.NearestNeighbors
        Fitted to the points.
    sharpness : float
        The factor c of the weights.
    """

    def __init__(self, points, search, *, sharpness):
        self.points = points
        self.search = search
        self.sharpness = sharpness

    def weights_to(self, new_points):
        """Return the weights of new points (rows) to the points (columns), as a sparse array."""
        return self.weigh(*self.search.kneighbors(new_points))

    def weigh(self, distance, neighbor):
        """Return the weights of rows to these of the points, at these distances."""
        weight = np.exp(-self.sharpness * _relative_to_last(distance) ** 2)
        row = np.repeat(np.arange(len(distance)), distance.shape[1])
        shape = (len(distance), self.points.shape[0])
        entries = (weight.ravel(), (row, neighbor.ravel()))
        return scipy.sparse.coo_array(entries, shape=shape).tocsr()


def _relative_to_last(distance):
    """Return d_ij / s_i; 0 for points that equal all their neighbors."""
    last = distance.max(axis=1, keepdims=True)
    return np.divide(distance, last, out=np.zeros_like(distance), where=last > 0)


@njit_cached
def _cosines(nodes, squared, norms):
    """Return the cosines, at least 0; 0 if a point is the origin."""
    # In one array, since there are many pairs.
    cosine = np.zeros(squared.size)
    for pair in range(squared.size):
        a = norms[nodes[pair, 0]]
        b = norms[nodes[pair, 1]]
        if a > 0 and b > 0:
            # d^2 = a + b - 2 x.y, and rounding may exceed 1.
            cosine[pair] = min(max(0.5 * (a + b - squared[pair]) / np.sqrt(a * b), 0.0), 1.0)
    return cosine
