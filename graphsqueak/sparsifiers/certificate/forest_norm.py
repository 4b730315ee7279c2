"""Upper bounds on r' M^+ r and on rounding errors, from flows along a spanning forest.

*Residuals.* Let M = L + ridge I. A solution x of M x = b with residual r = b - M x has an error of
energy r' M^+ r. By Thomson's principle this is the minimum of the energy sum of f_e^2 / w_e over
all flows f that carry r through the graph. The flow along a spanning forest is unique: edge t
carries the sum of r over the subtree below it. Therefore

    r' M^+ r  <=  sum_t  (sum of r over subtree t)^2 / w_t,

which takes one pass over the nodes. The Euclidean norm of r does not bound the error: it does not
depend on the sum of r over a part of the graph that one light edge connects to the rest. The forest
has nearly maximum weight. A ridge is one more node, connected to all others.

*Rounding.* A product with M sums the flows w_ij (x_i - x_j) at each node i. If x' M x = 1, they
total at most sqrt(d_i E_i), with the degree d_i and the energy E_i of the edges at i. The E_i sum
to 2. Rounding leaves an error of u sqrt(d_i E_i) at i, with the unit roundoff u. By the
Cauchy-Schwarz inequality, the energy of its flow is at most

    2 u^2 chi,      chi  =  sum_t  (smaller of the volumes on the two sides of t) / w_t.

Rounding of x itself, u |x_i|, has the energy 2 u^2 sum_i d_i x_i^2. This is of the same order:
x_i^2 is at most the resistance between i and the root, and chi is the sum of d_i times these
resistances. Vectors, products and inner products are therefore accurate to u sqrt(chi). For two
blocks joined by an edge of weight w, this is u sqrt(volume / w), while the condition number is
volume / w.
"""

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import approx_max_forest, root_forest
from graphsqueak.system.kernels import njit_cached

# 8 u. Errors of up to 0.6 u sqrt(chi) were observed in Lanczos recurrences. Doubled: no change.
# Halved: no change, except for two blocks joined by a weight of 1e-12, which then get a narrower
# start, 45 % more steps and 10 % less time.
ROUNDING_UNIT = 4 * np.finfo(np.float64).eps

# Numbers below this have squares below the unit roundoff.
SQRT_EPS = float(np.sqrt(np.finfo(np.float64).eps))


class ForestNorm:
    """Upper bound on the norm sqrt(r' M^+ r) for M = L + ridge I.

    Parameters
    ----------
    graph : EdgeList
    ridge : float

    Attributes
    ----------
    rounding : float
        Relative rounding error of a vector or of a product, in the norm of M. If it is 1 or more,
        double precision is not enough for M.

    Examples
    --------
    A unit of current through a path of two edges of weights 1 and 0.25:

    >>> path = EdgeList(tail=[0, 1], head=[1, 2], weight=[1.0, 0.25])
    >>> ForestNorm(path, ridge=0.0)(np.array([[1.0], [0.0], [-1.0]])) ** 2
    array([5.])
    """

    def __init__(self, graph: EdgeList, ridge: float) -> None:
        self._has_ground = ridge > 0
        if self._has_ground:
            graph = _with_ground(graph, ridge)
        forest = approx_max_forest(graph.tail, graph.head, graph.weight, graph.n_nodes)
        self._order, self._parent, parent_edge = root_forest(
            graph.tail[forest], graph.head[forest], graph.n_nodes
        )
        # Roots have no edge to a parent. Their resistance is 0, so that they add nothing to sums.
        has_parent = self._parent >= 0
        self._resistance = np.zeros(graph.n_nodes)
        self._resistance[has_parent] = 1 / graph.weight[forest[parent_edge[has_parent]]]
        volume = graph.degrees()[:, None]
        _sum_over_subtrees(self._order, self._parent, volume)
        # Components are numbered in the order of their smallest nodes, the roots.
        volume_of_tree = volume[~has_parent][graph.components()]
        chi = self._resistance @ np.minimum(volume, volume_of_tree - volume)[:, 0]
        self.rounding = float(ROUNDING_UNIT * np.sqrt(chi))

    def __call__(self, block: np.ndarray) -> np.ndarray:
        """Return an upper bound on sqrt(r' M^+ r) for every column r of a block.

        Parameters
        ----------
        block : ndarray of shape (n_nodes, K)
            Without a ridge, columns sum to zero over every component.
        """
        sums = block.copy()
        if self._has_ground:
            sums = np.vstack([sums, -sums.sum(axis=0)])
        _sum_over_subtrees(self._order, self._parent, sums)
        return np.sqrt(self._resistance @ sums**2)


def _with_ground(graph, ridge):
    """Add a node that an edge of weight `ridge` joins to every other one."""
    n_nodes = graph.n_nodes
    return EdgeList.from_validated(
        np.append(graph.tail, np.arange(n_nodes)),
        np.append(graph.head, np.full(n_nodes, n_nodes)),
        np.append(graph.weight, np.full(n_nodes, ridge)),
        n_nodes + 1,
    )


@njit_cached
def _sum_over_subtrees(order, parent, block):
    """Replace each row of a block by the sum of the rows of all nodes below and at its node."""
    # Children come after their parents in `order`.
    for i in range(order.size - 1, -1, -1):
        node = order[i]
        if parent[node] >= 0:
            block[parent[node]] += block[node]
