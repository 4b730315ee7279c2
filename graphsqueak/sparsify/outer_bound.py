"""Where no eigenvalue can hide: outer bounds from a block Lanczos run.

Let u be a unit eigenvector of T with eigenvalue mu outside the Ritz values, g = u' M Q_1 its
component in the start, z = u' M Q_{k+1} that in the newest block and c = u' M [Q_1 ... Q_k].
Multiplying the recurrence by u' M gives

    c = z R,     g = z P,     R = B_k E_k' (mu - T_k)^-1,     P = R E_1.

All blocks together are orthonormal, so |z|^2 + |z R|^2 <= 1, and

    |g|^2  <=  max_z |z P|^2 / (|z|^2 + |z R|^2)  =  largest eigenvalue of P' (I + R R')^-1 P.

The start was isotropic and s wide in a space of N dimensions, so |g|^2 follows the distribution
Beta(s/2, (N - s)/2) whatever u is, and with probability 1 - delta/2 it is above its
delta/2-quantile t^2. Then mu cannot lie where the right-hand side is below t^2. That event does
not depend on k: the best bounds over all steps hold together.

For one column, 1/P is the Lanczos polynomial, which grows outwards, and |g| <= |P| the bound of
[DHV00]; R saves about a tenth of the steps. For a block the norm need not fall outwards, so the
outermost crossing is looked for. Inexact products and solves and dropped directions add at most
`_SLACK` / |mu - ritz| to |g|.

References
----------
[DHV00] van Dorsselaer, Hochstenbach, van der Vorst. Computing probabilistic bounds for extreme
        eigenvalues of symmetric matrices with the Lanczos method. SIAM J. Matrix Analysis 22(3),
        2000.
"""

import numpy as np
import scipy.stats

__all__ = ["outer_bounds", "smallest_component"]

_SLACK = 1e-7
_STEPS = np.geomspace(1e-7, 1e6, 192)  # outwards, in widths of the Ritz interval


def smallest_component(delta, n_columns, dimension):
    """What an isotropic orthonormal block has of a given unit vector, with probability 1 - delta.

    For one column of a plane, g = |cos(angle)| of a random angle:

    >>> round(float(smallest_component(0.5, 1, 2)), 4)  # cos(45 degrees)
    0.7071
    """
    if n_columns >= dimension:
        return 1.0
    return np.sqrt(scipy.stats.beta.ppf(delta, n_columns / 2, (dimension - n_columns) / 2))


def outer_bounds(ritz, first, last, t):
    """Interval outside which no eigenvalue has a component of t or more in the start.

    Parameters
    ----------
    ritz, first, last : ndarray
        As of `BlockLanczos`.
    t : float

    Returns
    -------
    low, high : float
        `low` is at least 0, as all eigenvalues are.
    """
    width = max(ritz[-1] - ritz[0], 1e-3 * ritz[-1])

    def hides(mu):
        gap = mu[:, None] - ritz
        R = last / gap[:, None, :]
        P = R @ first.T
        size, turn = np.linalg.eigh(R @ R.transpose(0, 2, 1))
        shrunk = (turn.transpose(0, 2, 1) @ P) / np.sqrt(1 + size.clip(0))[:, :, None]
        largest = np.linalg.norm(shrunk, ord=2, axis=(1, 2))
        return largest + _SLACK * ritz[-1] / np.abs(gap).min(axis=1) >= t

    high = ritz[-1] + _outermost(lambda steps: hides(ritz[-1] + steps), width)
    low = ritz[0] - _outermost(lambda steps: hides(ritz[0] - steps), width)
    return max(low, 0.0), high


def _outermost(is_possible, width):
    """The largest step at which `is_possible`, found on a geometric grid and then on finer ones."""
    steps = width * _STEPS
    for _ in range(3):
        possible = np.flatnonzero(is_possible(steps))
        if possible.size == 0:
            return steps[0]
        last = min(possible[-1], steps.size - 2)
        steps = np.geomspace(steps[last], steps[last + 1], 16)
    return steps[-1]
