"""Filter on arrival: most edges of a stream are dropped at the cost of two numbers.

The last shrink left an embedding X and a scale c. Resistances only fall as edges arrive, so what
it says of them is (up to noise) too large, and sampling a new edge of weight a at once with

    p = min(1, c a r),     r = 1 / d_u + 1 / d_v + |X_u - X_v|^2,

keeps its expectation and leaves the later thinning valid: the EXPAND step of KORS [CLV17b]. The
degrees d are those of the stream so far, read when a chunk begins. Since
|X_u - X_v|^2 <= 2 |X_u|^2 + 2 |X_v|^2, one number per node decides most coins before X is
looked at. Nodes that the last shrink had not seen, or had seen in different components, have no
resistance: their edges are kept.

References
----------
[CLV17b] Calandriello, Lazaric, Valko. Efficient second-order online kernel learning with adaptive
         embedding. NeurIPS 2017.
"""

from typing import NamedTuple

import numba
import numpy as np

from graphsqueak.sampling import uniform
from graphsqueak.solvers.threads import run

__all__ = ["Filter", "filtered", "judged", "make_filter", "refreshed"]

_STEPS = 20  # elementary steps per edge


class Filter(NamedTuple):
    """What an arriving edge is judged by; all per node of the last shrink but the scale."""

    points: np.ndarray  # X, divided by sqrt(k)
    reach: np.ndarray  # 2 |X_u|^2
    near: np.ndarray  # 1 / d_u, and 1 / d_u + 2 |X_u|^2
    component: np.ndarray  # empty if there is only one
    scale: float  # c


def make_filter(sketch, component, scale):
    """A filter from the embedding of the shrunken graph."""
    points = sketch.points / np.float32(np.sqrt(sketch.points.shape[1]))
    several = component.size > 0 and (component != component[0]).any()
    component = component if several else component[:0]
    reach = 2 * np.einsum("uk,uk->u", points, points)
    near = np.empty((len(points), 2), np.float32)
    return refreshed(Filter(points, reach, near, component, float(scale)), sketch.degree)


def refreshed(judge, degree):
    """The same filter with the stream's present degrees."""
    near = np.empty_like(judge.near)
    _refresh(degree[: judge.reach.size], judge.reach, near)
    return judge._replace(near=near)


def filtered(judge, tail, head, weight, *, seed, first):
    """New weights of edges first, first + 1, ... of the stream; zero for what is dropped."""
    out = np.empty(tail.size)
    work = _STEPS * tail.size
    judge = (judge.points, judge.near, judge.component, judge.scale)
    run(_filter, work, *judge, tail, head, weight, np.uint64(seed), np.uint64(first), out)
    return out


@numba.njit(cache=True, nogil=True)
def _refresh(degree, reach, near):
    for u in range(degree.size):
        near[u, 0] = 1 / degree[u] if degree[u] > 0 else 0.0
        near[u, 1] = near[u, 0] + reach[u]


@numba.njit(cache=True, nogil=True, parallel=True)
def _filter(points, near, component, scale, tail, head, weight, seed, first, out):
    for e in numba.prange(tail.size):
        ends = (tail[e], head[e])
        key = (seed, first + np.uint64(e))
        out[e] = judged(points, near, component, scale, ends, weight[e], key)


@numba.njit(cache=True, nogil=True, inline="always")
def judged(points, near, component, scale, ends, w, key):
    """The new weight of one edge: w if it is kept for sure, w / p or zero else."""
    u, v = ends
    n_known = near.shape[0]
    if u >= n_known or v >= n_known or (component.size > 0 and component[u] != component[v]):
        return w
    coin = uniform(key[0], key[1], np.uint64(0))
    if coin >= scale * w * (near[u, 1] + near[v, 1]):
        return 0.0
    apart = np.float32(0.0)
    for k in range(points.shape[1]):
        step = points[u, k] - points[v, k]
        apart += step * step
    prob = scale * w * (near[u, 0] + near[v, 0] + apart)
    if prob >= 1.0:
        return w
    return w / prob if coin < prob else 0.0
