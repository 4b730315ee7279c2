"""Where no eigenvalue can hide: bounds from outside, from the recurrence of Lanczos alone.

`BlockLanczos` gives T Q_j = Q_{j-1} B_{j-1}' + Q_j A_j + Q_{j+1} B_j + F_j. Write T_k for the block
tridiagonal matrix of the A_j and B_j, symmetric by construction, and E_j for its j-th block of unit
vectors. Let u be a unit eigenvector of T with eigenvalue mu outside the eigenvalues of T_k,
g = u' M Q_1 its component in the start, z = u' M Q_{k+1} that in the newest block and
c = u' M [Q_1 ... Q_k]. Multiplying the recurrence by u' M gives

    c = z R + f (mu - T_k)^-1,     R = B_k E_k' (mu - T_k)^-1,     |f| <= |F|,

and g = c E_1. **Nothing here needs the Q_j to be orthogonal to each other**: lost orthogonality
makes the bound come later, not fail. Two facts are used about blocks. One block is orthonormal,
and to the one before it, all to rounding, so |z|^2 + |c E_k|^2 <= 1, and

    |g|  <=  (1 + |F| |(mu - T_k)^-1|) max_z |z P| / sqrt(|z|^2 + |z R E_k|^2)
             + |F| |(mu - T_k)^-1 E_1|,      P = R E_1.

While all blocks together are orthonormal, |z|^2 + |c|^2 <= 1, and |z R| stands in for |z R E_k|:
that saves a tenth to a quarter of the steps.

The start was isotropic and s wide in a space of N dimensions, so |g|^2 follows the distribution
Beta(s/2, (N - s)/2) whatever u is, and with probability 1 - delta/2 it is above its
delta/2-quantile t^2. Then mu cannot lie where the right-hand side is below t. That event does not
depend on k: the best bounds over all steps hold together. The wider the start, the larger is t and
the fewer steps are needed, but the dearer is each (`n_columns_for`).

For one column, 1/P is the Lanczos polynomial, which grows outwards, and |g| <= |P| the bound of
[DHV00]. For a block the norm need not fall outwards, so the outermost crossing is looked for.

References
----------
[DHV00] van Dorsselaer, Hochstenbach, van der Vorst. Computing probabilistic bounds for extreme
        eigenvalues of symmetric matrices with the Lanczos method. SIAM J. Matrix Analysis 22(3),
        2000.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.special import betaincinv
from threadpoolctl import threadpool_limits

from graphsqueak.sparsifiers.certificate.block_lanczos import BlockLanczos, n_at_once

__all__ = [
    "FAILURE_PROBABILITY",
    "FAR_APART",
    "KAPPA_LOOSE",
    "Estimate",
    "OuterBounds",
    "Stop",
    "least_columns",
    "n_columns_for",
    "smallest_component",
    "smallest_eigenvalue",
]

_STEPS = np.geomspace(1e-7, 1e6, 192)  # outwards, in widths of the Ritz interval
_SHARE_OF_STEPS = {1: 1.0, 2: 0.69, 4: 0.5, 8: 0.39, 16: 0.31}  # by columns, measured
_MOST_NUMBERS = 2**25  # of blocks and window, of more than four columns
_READING = 100  # nanoseconds for an edge
FAILURE_PROBABILITY = 1e-6  # probability that a bound of lambda_2 fails
_MOST_STEPS, _GAP, _DENSE_NODES = 300, 0.02, 500  # for lambda_2
FAR_APART = "weights are so far apart that only method='dense' can tell"
KAPPA_LOOSE = 9.0  # times apart: from here on, an error of 0.8, both ends have to be known
_WIDE_RTOL = 0.1
_SMALL = 1e-6  # an accuracy that nobody asks to know better
_AT_ONCE = 2**16  # numbers
_LEAST_COMPONENT = 1000  # times rounding: with less, gaps of some percent are not resolved
_GROWTH = 1.04  # the bounds are computed anew when there are so many times more steps


class Estimate(NamedTuple):
    """A value and how far it may be off."""

    value: float
    error: float


class OuterBounds:
    """The best bounds from outside over all steps of a `BlockLanczos`.

    Parameters
    ----------
    run : BlockLanczos
        Before its first step.
    delta : float
        Half of it is the probability that `low` fails, half that `high` does.

    Attributes
    ----------
    low, high : float
        Between them lie all eigenvalues.
    is_limited : bool
        Whether the errors of the recurrence are so large that `low` stays 0: no further step can
        prove that H is not far too heavy.
    values, shares : ndarray
        The estimated spectrum: eigenvalues of T_k, and which share of all dimensions each stands
        for.
    """

    def __init__(self, run: BlockLanczos, *, delta: float) -> None:
        self._run = run
        # each end may fail with half of delta
        isotropic = smallest_component(delta / 2, run.n_columns, run.dimension)
        self._t = isotropic - run.start_error
        self._next = 1
        self.low, self.high = 0.0, np.inf
        self.is_limited = False
        self.values = self.shares = np.zeros(0)

    def update(self, *, now: bool = False) -> None:
        """Take in the last step, or wait for more of them, unless `now`.

        An eigenvalue found outside shows that an earlier bound was one of those that fail.
        """
        run, n_steps = self._run, len(self._run.diagonal)
        if not (now or n_steps >= self._next or run.newest.shape[1] == 0):
            return
        self._next = max(n_steps + 1, int(_GROWTH * n_steps))
        self.values, vectors = scipy.linalg.eigh(_tridiagonal(run.diagonal, run.coupling))
        first, last = vectors[: run.n_columns], vectors[-len(run.diagonal[-1]) :]
        self.shares = (first**2).mean(axis=0)
        # the terms of F alone, at mu = 0; F only grows
        self.is_limited = not run.error * np.linalg.norm(first / self.values) < self._t
        known = (
            self.low if self.low <= run.ritz[0] else 0.0,
            self.high if run.ritz[-1] <= self.high else np.inf,
        )
        self.low, self.high = _outer_interval(
            self.values,
            first,
            None if run.is_whole else last,
            run.coupling[-1] @ last,
            run.error,
            self._t,
            known,
        )


def smallest_component(delta, n_columns, dimension):
    """What an isotropic orthonormal block has of a given unit vector, with probability 1 - delta.

    For one column of a plane, g = |cos(angle)| of a random angle:

    >>> round(float(smallest_component(0.5, 1, 2)), 4)  # cos(45 degrees)
    0.7071
    """
    if n_columns >= dimension:
        return 1.0
    return np.sqrt(betaincinv(n_columns / 2, (dimension - n_columns) / 2, delta))


def n_columns_for(sparsifier, n_edges, *, is_held):
    """The width that costs least: the fewer columns, the cheaper a step, and the more steps.

    Costs in nanoseconds, a model without a clock. A pass reads every edge, unless the graph is
    held in memory, and multiplies it by every column; a solve takes a dozen steps of preconditioned
    conjugate gradients on the edges kept, for all columns or, where nodes are many, for each by
    itself; a column is made orthogonal to others, and bounds are found. No more than four columns
    where wider blocks would take more than 256 MB.

    A pass that reads is worth more columns, up to where the solves cost as much:

    >>> from graphsqueak.sources import erdos_renyi
    >>> kept = erdos_renyi(5_000, 40_000, random_state=1).to_edge_list()
    >>> n_columns_for(kept, 500_000, is_held=True), n_columns_for(kept, 500_000, is_held=False)
    (2, 8)
    >>> n_columns_for(kept, 5_000_000, is_held=False)
    16
    """
    n_nodes, n_kept = sparsifier.n_nodes, sparsifier.n_edges

    def cost(n_columns):
        a_pass = n_edges * ((0 if is_held else _READING) + 6 + 1.5 * n_columns)
        solves = n_kept * (130 * -(-n_columns // n_at_once(n_nodes)) + 50 * n_columns)
        return _SHARE_OF_STEPS[n_columns] * (a_pass + solves + (200 * n_nodes + 1e6) * n_columns)

    return min(_possible_columns(n_nodes), key=cost)


def least_columns(n_nodes, delta, rounding):
    """The width at which what the start has of a direction does not drown in rounding.

    If weights are far apart, the `rounding` of vectors is large. A single column may have very
    little of a direction, with probability `delta`; several columns hardly ever have.

    >>> least_columns(3000, 0.01, 1e-12), least_columns(3000, 0.01, 1e-6)
    (1, 2)
    """
    possible = _possible_columns(n_nodes)
    for n_columns in possible:
        if smallest_component(delta / 2, n_columns, n_nodes) >= _LEAST_COMPONENT * rounding:
            return n_columns
    return possible[-1]


def _possible_columns(n_nodes):
    return [s for s in _SHARE_OF_STEPS if s <= 4 or (10 + 11 * s) * n_nodes <= _MOST_NUMBERS]


class Stop(NamedTuple):
    """When a certificate is good enough."""

    steps: int
    rtol: float
    goal: float | None

    def reached(self, history, kappa):
        """Whether to stop; `kappa` are its bounds from inside and from outside."""
        inner, outer = history[-1]
        if self.goal is not None and (outer <= self.goal or inner > 1.1 * self.goal):
            return True
        return len(history) >= self.steps or (self.is_close(inner, outer) and _is_settled(*kappa))

    def has_settled(self, history):
        """Whether the last step found no error that is larger by more than `rtol`."""
        return len(history) > 1 and history[-1][0] <= (1 + self.rtol) * history[-2][0]

    def what_is_open(self, history, inner, outer, *, is_limited=False):
        """In words, which end keeps the bounds apart, if they are; `inner` and `outer` by end.

        `is_limited` says that rounding does, and not the number of steps.
        """
        least, most = history[-1]
        if self.is_close(least, most) or self.goal is not None:
            return ""
        ends = [end for end in (0, 1) if not self.is_close(least, outer[end])]
        found = [
            f"{('heavy', 'light')[end]} (an error of {max(inner[end], 0.0):.4g} was found, "
            f"{outer[end]:.4g} is proved)"
            for end in ends
        ]
        steps = "1 step" if len(history) == 1 else f"{len(history)} steps"
        cause = f"; {FAR_APART}" if is_limited else ""
        return f"after {steps} it is open how much too {' and how much too '.join(found)}{cause}"

    def is_close(self, inner, outer):
        """Whether an error is known well enough."""
        return outer <= max((1 + self.rtol) * inner, inner + _SMALL)

    def share_done(self, history, share_of_step):
        """How much of all steps is behind us: the bounds close in at the rate they last had."""
        gaps = [
            np.log(outer / inner) for inner, outer in history[-4:] if 0 < inner < outer < np.inf
        ]
        if len(gaps) < 2 or gaps[-1] >= gaps[0]:
            return np.nan
        rate = np.log(gaps[0] / gaps[-1]) / (len(gaps) - 1)
        more = np.log(max(gaps[-1] / np.log1p(self.rtol), 1.0)) / rate
        expected = min(len(history) + max(more, 1.0), self.steps)
        return min((len(history) + share_of_step) / expected, 1.0)


@threadpool_limits.wrap(limits=1, user_api="blas")
def smallest_eigenvalue(graph, *, delta=FAILURE_PROBABILITY, steps=_MOST_STEPS, random_state=None):
    """lambda_2, over all components together; infinite where there is no edge.

    It is at most the value and, with probability 1 - `delta`, at least the value minus the error.

    >>> from graphsqueak.sources import complete
    >>> round(smallest_eigenvalue(complete(6).to_edge_list()).value, 9)
    6.0
    """
    dimension = graph.n_nodes - (int(graph.components().max(initial=-1)) + 1)
    if dimension == 0:
        return Estimate(np.inf, 0.0)
    if graph.n_nodes <= _DENSE_NODES:
        values = np.linalg.eigvalsh(graph.laplacian().toarray())
        return Estimate(float(values[-dimension]), float(1e-13 * values[-1]))
    run = BlockLanczos(graph, ridge=0.0, n_columns=1, random_state=random_state)
    run.ignore_end(0)
    bounds = OuterBounds(run, delta=2 * delta)
    while run.newest.size and len(run.diagonal) < steps and bounds.high > (1 + _GAP) * run.ritz[1]:
        run.step(run.newest)
        bounds.update(now=len(run.diagonal) == steps)
    return Estimate(float(1 / run.ritz[1]), float(1 / run.ritz[1] - 1 / bounds.high))


def _is_settled(inner, outer):
    """Whether kappa is known as well as it has to be."""
    return inner < KAPPA_LOOSE or outer <= (1 + _WIDE_RTOL) * inner


def _tridiagonal(diagonal, coupling):
    """T_k; the last B_k leads out of it."""
    whole = scipy.linalg.block_diag(*diagonal)
    end = 0
    for block, below in zip(diagonal[:-1], coupling[:-1], strict=True):
        begin, end = end, end + len(block)
        whole[end : end + len(below), begin:end] = below
        whole[begin:end, end : end + len(below)] = below.T
    return whole


def _outer_interval(values, first, last, residual, error, t, known):
    """Interval outside which no eigenvalue has a component of t or more in the start.

    `first`, `last` and `residual` are E_1' U, E_k' U and B_k E_k' U for the eigenvectors U of T_k;
    `last` is None where all blocks are orthonormal together. The interval is inside the `known`.
    """
    if t <= 0 or not np.isfinite(error):
        return known
    width = max(values[-1] - values[0], 1e-3 * values[-1])
    if residual.size == 0:
        residual = np.zeros((1, values.size))

    def hides(mu):
        gap = mu[:, None, None] - values
        R = residual / gap
        P, newest = R @ first.T, R if last is None else R @ last.T
        size, turn = np.linalg.eigh(newest @ newest.transpose(0, 2, 1))
        shrunk = (turn.transpose(0, 2, 1) @ P) / np.sqrt(1 + size.clip(0))[:, :, None]
        largest = np.linalg.norm(shrunk, ord=2, axis=(1, 2))
        near = error / np.abs(gap).min(axis=(1, 2))
        return (1 + near) * largest + error * np.linalg.norm(first / gap, axis=(1, 2)) >= t

    n_once = max(_AT_ONCE // first.size, 1)
    low, high = known
    far = _outermost(lambda steps: hides(values[-1] + steps), width, high - values[-1], n_once)
    near = _outermost(lambda steps: hides(values[0] - steps), width, values[0] - low, n_once)
    return max(low, values[0] - near), min(high, values[-1] + far)


def _outermost(is_possible, width, most, n_once):
    """The largest step at which `is_possible`, found on a geometric grid and then on finer ones.

    Steps from `most` on are known not to be possible; the search goes inwards from there.
    """
    steps = width * _STEPS
    steps = steps[: np.searchsorted(steps, most) + 1]
    outermost = steps.size - 1
    for _ in range(3):
        end = steps.size
        possible = np.zeros(0, dtype=int)
        while end and not possible.size:
            begin = max(end - n_once, 0)
            possible = begin + np.flatnonzero(is_possible(steps[begin:end]))
            end = begin
        if possible.size == 0:
            return steps[0]
        if possible[-1] == outermost:
            return np.inf
        outermost = None
        last = min(possible[-1], steps.size - 2)
        steps = np.geomspace(steps[last], steps[last + 1], 16)
    return steps[-1]
