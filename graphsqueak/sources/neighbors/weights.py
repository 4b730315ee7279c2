"""How near two neighbors are: weights in [0, 1] from the squared distance d^2.

    thesis     exp(-d / (2 sigma^2)), Section 4.4.3 of the thesis, which takes sigma^2 = 3
    gaussian   exp(-d^2 / (2 sigma^2))
    local      exp(-d^2 / (s_i s_j)), s_i the distance of i to its seventh neighbor [ZP04]
    cosine     cos of the angle between the two points, 0 where it is negative
    unit       1

The thesis writes the norm, not its square: its weight falls off like a Laplace kernel.

References
----------
[ZP04] Zelnik-Manor, Perona. Self-tuning spectral clustering. NIPS 2004.
"""

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.system.kernels import compiled
from graphsqueak.validation import check_real

__all__ = ["FORMS", "LOCAL_RANK", "check_sigma", "local_scale", "weigh_pairs"]

FORMS = ("thesis", "gaussian", "local", "cosine", "unit")
LOCAL_RANK = 7
_THESIS_SIGMA = np.sqrt(3.0)


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
        raise InputError(f"sigma={sigma!r} has no meaning for weight={form!r}; leave it away")
    return check_real("sigma", sigma, above=0.0, below=np.inf)


@compiled
def _cosines(nodes, squared, norms):
    """At least 0; 0 for the origin. One array, since there are many pairs."""
    cosine = np.zeros(squared.size)
    for pair in range(squared.size):
        a, b = norms[nodes[pair, 0]], norms[nodes[pair, 1]]
        if a > 0 and b > 0:
            cosine[pair] = min(max(0.5 * (a + b - squared[pair]) / np.sqrt(a * b), 0.0), 1.0)
    return cosine
