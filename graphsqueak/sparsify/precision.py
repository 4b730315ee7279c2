"""Embed nodes in single precision where that is enough, in double precision where it is not.

Two points X_u, X_v are each off by about 6e-8 of their length, which matters where a heavy edge
brings them close together far from the origin: |X_u - X_v|^2 is then off by 2 |X_u - X_v| e + e^2.
Where the degrees alone settle the resistance, that does not count.
"""

import numpy as np

from graphsqueak.sparsify.sketch import embed, resistance_bounds, sketched_parts

__all__ = ["precise_embedding"]

_FINE_TOL = 1e-8  # of solves in double precision
_SINGLE = 6e-8  # rounding of single precision
_SINGLE_SPAN = 1e10  # of weights w: beyond it flows sqrt(w) drown in the rounding of others
_BLUR = 0.1  # relative error of a resistance, small beside that of few probes


def precise_embedding(graph, tail, head, weight, *, tol, **how):
    """The embedding of `graph` (see `embed`) by which to tell the resistances of some pairs.

    Parameters
    ----------
    graph : EdgeList
        Without parallel edges.
    tail, head, weight : arrays
        The pairs, and the weight of the edge between each, 0 where there is none.
    tol : float
        Of the solves in single precision.

    Examples
    --------
    A triangle whose weights span twelve digits is too much for single precision:

    >>> from graphsqueak.graph import EdgeList
    >>> for heaviest in (1e6, 1e12):
    ...     weight = np.array([1.0, 1.0, heaviest])
    ...     triangle = EdgeList(tail=[0, 1, 2], head=[1, 2, 0], weight=weight)
    ...     ends = (triangle.tail, triangle.head, weight)
    ...     print(precise_embedding(triangle, *ends, tol=1e-6, n_probes=8, seed=7).points.dtype)
    float32
    float64
    """
    if graph.weight.max(initial=0.0) <= _SINGLE_SPAN * graph.weight.min(initial=np.inf):
        sketch = embed(graph, **how, tol=tol)
        if not _is_blurred(sketch, tail, head, weight):
            return sketch
    return embed(graph, **how, tol=_FINE_TOL, dtype=np.float64)


def _is_blurred(sketch, tail, head, weight):
    """Whether rounding to single precision shows in some resistance."""
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
