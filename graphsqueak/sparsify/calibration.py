"""Scale a sparsifier's weights so that its degrees are those of the whole graph.

A stream knows every node's weighted degree exactly, in one number per node. With scales s,

    w_uv  ->  s_u s_v w_uv,     s_u sum_v w_uv s_v = d_u  for every u,

is Sinkhorn's problem; a few damped steps bring the degrees close. The scales stay within [1/2, 2]:
on sparse graphs the exact solution may not exist, and chasing it drives weights to zero.
"""

import numpy as np

__all__ = ["calibrated"]

_STEPS = 10
_LARGEST = 2.0


def calibrated(tail, head, weight, degree):
    """Weights whose degrees are close to `degree`.

    >>> tail, head = np.array([0, 1, 2]), np.array([1, 2, 0])
    >>> calibrated(tail, head, np.array([1.0, 1.0, 2.0]), np.array([2.0, 2.0, 2.0])).round(2)
    array([1., 1., 1.])
    """
    scale = np.ones(degree.size)
    for _ in range(_STEPS):
        own = np.bincount(tail, weight * scale[head], degree.size)
        own += np.bincount(head, weight * scale[tail], degree.size)
        ratio = np.divide(degree * scale, own, out=np.ones_like(own), where=own > 0)
        scale = np.clip(np.sqrt(ratio), 1 / _LARGEST, _LARGEST)
    return weight * scale[tail] * scale[head]
