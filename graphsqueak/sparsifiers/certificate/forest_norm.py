"""Upper bounds on r' M^+ r, and on rounding, from flows along a spanning forest.

With M = L + ridge I, the error of a solution x of M x = b has the energy r' M^+ r, r = b - M x. By
Thomson's principle that is the least energy, sum of f_e^2 / w_e, of all flows f that carry r
through the graph. The flow along a spanning forest is unique: edge t carries the sum of r over the
subtree below it. So

    r' M^+ r  <=  sum_t  (sum of r over subtree t)^2 / w_t,

which takes one pass over the nodes. Euclidean norms of r do not bound that: they do not see
the sum of r over a part of the graph that only a light edge joins to the rest. The forest is of
nearly maximal weight. A ridge is one more node, joined to all others.

*Rounding.* A product with M sums the flows w_ij (x_i - x_j) at each node i. With x' M x = 1 these
have a total of at most sqrt(d_i E_i), d_i the degree and E_i the energy of edges at i, and the E_i
sum to 2. Rounding leaves an error of u sqrt(d_i E_i) at i, whose flow has at most the energy

    2 u^2 chi,      chi  =  sum_t  (smaller of the volumes on the two sides of t) / w_t,

by the inequality of Cauchy and Schwarz. Rounding of x itself, u |x_i|, has the energy
2 u^2 sum_i d_i x_i^2, which is at most of that order: x_i^2 is at most the resistance between i and
the root, and chi is the sum of these, along the forest, each times d_i. So vectors, products and
inner products are known up to u sqrt(chi). For two blocks joined by an edge of weight w that is
u sqrt(volume / w), where the condition number would be volume / w.
"""

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import heavy_forest, rooted
from graphsqueak.system.kernels import njit_cached, read_only_views

__all__ = ["ForestNorm"]

_UNIT_ROUNDOFFS = 4 * np.finfo(np.float64).eps  # 8 u; up to 0.6 u were found in recurrences


class ForestNorm:
    """Upper bound on the norm of M^+ for M = L + ridge I.

    Parameters
    ----------
    graph : EdgeList
    ridge : float

    Attributes
    ----------
    rounding : float
        How much of a vector or of a product rounding may change, in the norm of M and relative.
        From 1 on, nothing can be computed with M in double precision.

    Examples
    --------
    A unit of current through a path of two edges of weights 1 and 0.25:

    >>> path = EdgeList(tail=[0, 1], head=[1, 2], weight=[1.0, 0.25])
    >>> ForestNorm(path, ridge=0.0)(np.array([[1.0], [0.0], [-1.0]])) ** 2
    array([5.])
    """

    def __init__(self, graph: EdgeList, ridge: float) -> None:
        tail, head, weight = graph.tail, graph.head, graph.weight
        n_nodes = graph.n_nodes
        self._has_ground = ridge > 0
        if self._has_ground:
            tail, head, weight = read_only_views(
                np.append(tail, np.arange(n_nodes, dtype=tail.dtype)),
                np.append(head, np.full(n_nodes, n_nodes, dtype=head.dtype)),
                np.append(weight, np.full(n_nodes, ridge)),
            )
            n_nodes += 1
        forest = heavy_forest(tail, head, weight, n_nodes)
        self._order, self._parent, above = rooted(tail[forest], head[forest], n_nodes)
        is_below = self._parent >= 0
        self._resistance = np.zeros(n_nodes)
        self._resistance[is_below] = 1 / weight[forest[above[is_below]]]
        degree = np.bincount(tail, weight, n_nodes) + np.bincount(head, weight, n_nodes)
        chi = _chi(self._order, self._parent, self._resistance, degree)
        self.rounding = float(_UNIT_ROUNDOFFS * np.sqrt(chi))

    def __call__(self, block: np.ndarray) -> np.ndarray:
        """A bound on sqrt(r' M^+ r) for every column r of a block.

        Parameters
        ----------
        block : ndarray of shape (n_nodes, K)
            Columns sum to zero over every component without a ridge.
        """
        sums = block.copy()
        if self._has_ground:
            sums = np.vstack([sums, -sums.sum(axis=0)])
        energy = np.zeros(sums.shape[1])
        _add_energies(self._order, self._parent, self._resistance, sums, energy)
        return np.sqrt(energy)


@njit_cached
def _add_energies(order, parent, resistance, sums, energy):
    """Sums over subtrees, in their place, and the energies of the flows that they make."""
    for i in range(order.size - 1, -1, -1):
        node, above = order[i], parent[order[i]]
        if above < 0:
            continue
        for k in range(sums.shape[1]):
            energy[k] += sums[node, k] * sums[node, k] * resistance[node]
            sums[above, k] += sums[node, k]


@njit_cached
def _chi(order, parent, resistance, degree):
    """Sum over the forest of the smaller volume on either side of an edge, times its resistance."""
    below = degree.copy()
    for i in range(order.size - 1, -1, -1):
        if parent[order[i]] >= 0:
            below[parent[order[i]]] += below[order[i]]
    whole = below.copy()
    chi = 0.0
    for node in order:
        if parent[node] >= 0:
            whole[node] = whole[parent[node]]
            chi += resistance[node] * min(below[node], whole[node] - below[node])
    return chi
