"""Scale a sparsifier's weights so that its degrees are those of the whole graph.

A stream knows every node's weighted degree exactly, in one number per node. With scales s,

    w_uv  ->  s_u s_v w_uv,     s_u sum_v w_uv s_v = d_u  for every u,

is Sinkhorn's problem; a few damped steps bring the degrees close. The scales stay within [1/2, 2]:
on sparse graphs the exact solution may not exist, and chasing it drives weights to zero.
"""

import numba
import numpy as np

from graphsqueak.solvers.threads import run

__all__ = ["calibrated"]

_STEPS = 10
_LARGEST = 2.0
_N_PARTS = 4  # of the edges, summed apart: no result depends on the number of threads
_WORK = 5  # elementary steps per edge


def calibrated(tail, head, weight, degree):
    """Weights whose degrees are close to `degree`.

    >>> tail, head = np.array([0, 1, 2]), np.array([1, 2, 0])
    >>> calibrated(tail, head, np.array([1.0, 1.0, 2.0]), np.array([2.0, 2.0, 2.0])).round(2)
    array([1., 1., 1.])
    """
    part = np.linspace(0, tail.size, _N_PARTS + 1).astype(np.int64)
    sums = np.empty((_N_PARTS, degree.size))
    scale = np.ones(degree.size)
    for _ in range(_STEPS):
        run(_degrees, _WORK * tail.size, part, tail, head, weight, scale, sums)
        own = sums.sum(axis=0)
        ratio = np.divide(degree * scale, own, out=np.ones_like(own), where=own > 0)
        scale = np.clip(np.sqrt(ratio), 1 / _LARGEST, _LARGEST)
    return weight * scale[tail] * scale[head]


@numba.njit(cache=True, nogil=True, parallel=True)
def _degrees(part, tail, head, weight, scale, sums):
    """Sums of w_uv s_v at u and of w_uv s_u at v, for each part of the edges."""
    for p in numba.prange(part.size - 1):
        own = sums[p]
        own[:] = 0.0
        for e in range(part[p], part[p + 1]):
            u, v, w = tail[e], head[e], weight[e]
            own[u] += w * scale[v]
            own[v] += w * scale[u]
