"""Score the kept edges, and find the scale that fits a budget.

An edge of weight w and resistance r is kept with probability min(1, c w r). The scale c is the one
for which the probabilities sum to the budget; by Foster's theorem it is about the budget per node.
"""

import numba
import numpy as np

from graphsqueak.graph import EdgeList
from graphsqueak.sparsify.sketch import (
    embed,
    resistance_bounds,
    sketched_parts,
    sketched_resistances,
)

__all__ = ["scale_for", "score"]

_FINE_TOL = 1e-8  # where single precision does not do
_SINGLE = 6e-8  # its rounding
_SINGLE_SPAN = 1e30  # of weights whose squares it still holds
_BLUR = 0.1  # relative error of a resistance, small beside that of few probes
_TOL = 1e-5  # of the solves, the least for single precision: a bridge still keeps its resistance


def score(edges, n_nodes, *, n_probes, seed, ridge, clamp):
    """Sketched resistances of kept edges (no two parallel), and the sketch itself.

    In single precision while that is enough, in double precision where it is not.
    """
    graph = EdgeList.from_clean(edges.tail, edges.head, edges.weight, n_nodes)
    ends = (edges.tail, edges.head, edges.weight)
    how = {"n_probes": n_probes, "seed": seed, "ridge": ridge}
    if edges.weight.max(initial=0.0) <= _SINGLE_SPAN * edges.weight.min(initial=np.inf):
        sketch = embed(graph, **how, tol=_TOL)
        if not _is_blurred(sketch, *ends):
            return sketched_resistances(sketch, *ends, clamp=clamp), sketch
    sketch = embed(graph, **how, tol=_FINE_TOL, dtype=np.float64)
    return sketched_resistances(sketch, *ends, clamp=clamp), sketch


def _is_blurred(sketch, tail, head, weight):
    """Whether rounding to single precision shows in some resistance.

    Two points X_u, X_v are each off by about 6e-8 of their length, which matters where a heavy
    edge brings them close together far from the origin: |X_u - X_v|^2 is then off by
    2 |X_u - X_v| e + e^2. Where the degrees alone settle the resistance, that does not count.
    """
    length = np.einsum("uk,uk->u", sketch.points, sketch.points, dtype=np.float64)
    length *= _SINGLE**2 / sketch.points.shape[1]
    least = 1 / sketch.degree.max(initial=1.0)  # no resistance is smaller
    if 2 * length.max(initial=0.0) <= _BLUR**2 / 5 * least:  # then e + 2 sqrt(r e) <= _BLUR r
        return False
    known, left = sketched_parts(sketch, tail, head, weight)
    error = length[tail] + length[head]
    error += 2 * np.sqrt(left * error)
    lower, upper = resistance_bounds(sketch.degree[tail], sketch.degree[head], weight)
    open_to_doubt = upper > (1 + _BLUR) * lower
    return bool((open_to_doubt & ~(error <= _BLUR * (known + left))).any())


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
