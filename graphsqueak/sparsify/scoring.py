"""Score the kept edges, and find the scale that fits a budget.

An edge of weight w and resistance r is kept with probability min(1, c w r). The scale c is the one
for which the probabilities sum to the budget; by Foster's theorem it is about the budget per node.
"""

import numba
import numpy as np

from graphsqueak.graph import EdgeList
from graphsqueak.sparsify.precision import precise_embedding
from graphsqueak.sparsify.sketch import sketched_resistances

__all__ = ["scale_for", "score"]

_TOL = 1e-5  # of the solves, the least for single precision: a bridge still keeps its resistance


def score(edges, n_nodes, *, n_probes, seed, ridge, clamp):
    """Sketched resistances of kept edges (no two parallel), and the sketch itself."""
    graph = EdgeList.from_clean(edges.tail, edges.head, edges.weight, n_nodes)
    ends = (edges.tail, edges.head, edges.weight)
    sketch = precise_embedding(graph, *ends, n_probes=n_probes, seed=seed, ridge=ridge, tol=_TOL)
    return sketched_resistances(sketch, *ends, clamp=clamp), sketch


def scale_for(leverage, budget):
    """The c for which sum min(1, c * leverage) = budget; infinite if everything fits.

    >>> scale_for(np.array([1.0, 1.0, 0.5]), 2.5)
    1.0
    """
    if leverage.size <= budget:
        return np.inf
    scale, total = 0.0, _sums(leverage, 0.0)[1]
    while total > 0:
        n_certain, total = _sums(leverage, scale)
        larger = (budget - n_certain) / total if total > 0 else np.inf
        if larger <= scale * (1 + 1e-9):
            break
        scale = larger
    return scale


@numba.njit(cache=True, nogil=True)
def _sums(leverage, scale):
    """How many have c * leverage >= 1, and the sum of the others."""
    n_certain, total = 0, 0.0
    for e in range(leverage.size):
        if scale * leverage[e] >= 1.0:
            n_certain += 1
        else:
            total += leverage[e]
    return n_certain, total
