"""Outer bounds on the eigenvalues of a pencil, from the Lanczos recurrence alone.

`BlockLanczos` gives T Q_j = Q_{j-1} B_{j-1}' + Q_j A_j + Q_{j+1} B_j + F_j. Let T_k be the block
tridiagonal matrix of the A_j and B_j, symmetric by construction, and E_j its j-th block of unit
vectors. Let u be a unit eigenvector of T with an eigenvalue mu outside the eigenvalues of T_k.
Write g = u' M Q_1 for its component in the start, z = u' M Q_{k+1} for that in the newest block and
c = u' M [Q_1 ... Q_k]. The recurrence, multiplied by u' M, gives

    c = z R + f (mu - T_k)^-1,     R = B_k E_k' (mu - T_k)^-1,     |f| <= |F|,

and g = c E_1. **The Q_j need not be orthogonal to each other**: lost orthogonality delays
convergence but does not invalidate the bound. Each block is orthonormal, and orthogonal to the one
before it, so |z|^2 + |c E_k|^2 <= 1 and

    |g|  <=  (1 + |F| |(mu - T_k)^-1|) max_z |z P| / sqrt(|z|^2 + |z R E_k|^2)
             + |F| |(mu - T_k)^-1 E_1|,      P = R E_1.                                 (1)

If all blocks together are orthonormal, |z|^2 + |c|^2 <= 1, and |z R| replaces |z R E_k|. This saves
10 % to 25 % of the steps.

The start is isotropic, with s columns in N dimensions, so |g|^2 follows Beta(s/2, (N - s)/2) for
every u. With probability 1 - delta/2 it exceeds the delta/2-quantile t^2 (`smallest_component`).
Then mu cannot lie where the right-hand side of (1) is below t. That event does not depend on k, so
the best bounds over all steps hold together. A wider start has a larger t and needs fewer steps,
but each step costs more.

For one column, 1/P is the Lanczos polynomial, which grows outwards, and |g| <= |P| is the bound of
[DHV00]. For a block the norm need not decrease outwards, so the outermost crossing is computed.

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

from graphsqueak.solvers.eigenpairs import MAX_DENSE_NODES
from graphsqueak.sparsifiers.certificate.block_lanczos import BlockLanczos
from graphsqueak.sparsifiers.certificate.forest_norm import ForestNorm

# Distances from the outermost Ritz value at which (1) is evaluated, in widths of the Ritz interval.
# Two refinements follow. Half or twice as many points: no change in four digits.
GRID = np.geomspace(1e-7, 1e6, 192)

# Factor of steps between two computations of the bounds, which cost the cube of the steps. With
# 1.02 the steps are the same, with 1.08 they increase by up to 4 % (6,000 to 20,000 nodes).
STEP_GROWTH = 1.04

# Probability that a bound on lambda_2 fails. A classifier reports bounds that hold with
# probability 0.95; this part of it is negligible, and t depends on its square root only.
FAILURE_PROBABILITY = 1e-6


class Estimate(NamedTuple):
    """A value and a bound on its error."""

    value: float
    error: float


class OuterBounds:
    """Best outer bounds over all steps of a `BlockLanczos` run.

    Parameters
    ----------
    run : BlockLanczos
        A run before its first step.
    delta : float
        Failure probability: one half for `low`, one half for `high`.

    Attributes
    ----------
    low, high : float
        Bounds on all eigenvalues.
    is_limited : bool
        Whether the errors of the recurrence are so large that `low` stays 0. More steps cannot
        improve it.
    values, fractions : ndarray
        Estimated spectrum: eigenvalues of T_k, and the fraction of all dimensions that each stands
        for.
    """

    def __init__(self, run: BlockLanczos, *, delta: float) -> None:
        self._run = run
        component = smallest_component(delta / 2, run.n_columns, run.dimension)
        self._min_component = component - run.start_error
        self._next_step = 1
        self.low = 0.0
        self.high = np.inf
        self.is_limited = False
        self.values = np.zeros(0)
        self.fractions = np.zeros(0)

    def update(self, *, force: bool = False) -> None:
        """Compute the bounds after the last step of the run.

        The cost grows with the cube of the number of steps. Later bounds are therefore computed
        once per 4 % more steps, unless `force` is set.
        """
        run = self._run
        n_steps = len(run.diagonal)
        if not (force or n_steps >= self._next_step or run.is_exhausted):
            return
        self._next_step = max(n_steps + 1, int(STEP_GROWTH * n_steps))
        self.values, vectors = scipy.linalg.eigh(_tridiagonal(run.diagonal, run.coupling))
        first = vectors[: run.n_columns]
        last = vectors[-len(run.diagonal[-1]) :]
        self.fractions = (first**2).mean(axis=0)
        # The terms of F alone, at mu = 0. They only grow with more steps. NaN counts as limited.
        self.is_limited = not run.error * np.linalg.norm(first / self.values) < self._min_component
        # A Ritz value outside an earlier bound shows that this bound has failed.
        low = self.low if self.low <= run.ritz[0] else 0.0
        high = self.high if run.ritz[1] <= self.high else np.inf
        if self._min_component <= 0 or not np.isfinite(run.error):
            self.low, self.high = low, high
            return
        recurrence = _Recurrence(
            values=self.values,
            first=first,
            last=None if run.is_orthonormal else last,
            residual=run.coupling[-1] @ last,
            error=run.error,
            min_component=self._min_component,
        )
        self.low = max(low, recurrence.find_bound(self.values[0], -1, low))
        self.high = min(high, recurrence.find_bound(self.values[-1], 1, high))


class _Recurrence(NamedTuple):
    """Inequality (1) after some steps, for the eigenvectors U of T_k.

    `first`, `last` and `residual` are E_1' U, E_k' U and B_k E_k' U. `last` is None if all blocks
    together are orthonormal.
    """

    values: np.ndarray
    first: np.ndarray
    last: np.ndarray | None
    residual: np.ndarray
    error: float
    min_component: float

    def find_bound(self, ritz_value, sign, known):
        """Return a bound below (sign -1) the lowest or above (1) the highest Ritz value.

        The search is up to the bound that is `known`, on a geometric grid and then on two finer
        ones.
        """
        width = max(self.values[-1] - self.values[0], 1e-3 * self.values[-1])
        distances = width * GRID
        distances = distances[: np.searchsorted(distances, sign * (known - ritz_value)) + 1]
        for _ in range(3):
            possible = np.flatnonzero(self._is_possible(ritz_value + sign * distances))
            if possible.size == 0:
                return ritz_value + sign * distances[0]
            last = possible[-1]
            if last == distances.size - 1:
                return known
            distances = np.geomspace(distances[last], distances[last + 1], 16)
        return ritz_value + sign * distances[-1]

    def _is_possible(self, mu):
        """Return, for each mu, whether the right-hand side of (1) is at least t."""
        gap = mu[:, None, None] - self.values
        # The sum of a block's columns is empty after the last step: nothing is left to couple to.
        residual = self.residual if self.residual.size else np.zeros((1, self.values.size))
        R = residual / gap
        P = R @ self.first.T
        newest = R if self.last is None else R @ self.last.T
        # max_z |z P| / sqrt(|z|^2 + |z N|^2) is the norm of (I + N N')^(-1/2) P.
        squares, vectors = np.linalg.eigh(newest @ newest.transpose(0, 2, 1))
        scaled = (vectors.transpose(0, 2, 1) @ P) / np.sqrt(1 + squares.clip(0))[:, :, None]
        largest = np.linalg.norm(scaled, ord=2, axis=(1, 2))
        relative_error = self.error / np.abs(gap).min(axis=(1, 2))
        start_error = self.error * np.linalg.norm(self.first / gap, axis=(1, 2))
        return (1 + relative_error) * largest + start_error >= self.min_component


def smallest_component(delta, n_columns, dimension):
    """Return the delta-quantile of the component of a unit vector in an isotropic block.

    For one column in the plane, the component is |cos(angle)| of a random angle:

    >>> round(float(smallest_component(0.5, 1, 2)), 4)  # cos(45 degrees)
    0.7071
    """
    if n_columns >= dimension:
        return 1.0
    return np.sqrt(betaincinv(n_columns / 2, (dimension - n_columns) / 2, delta))


def widen_block(n_columns, dimension, delta, rounding):
    """Return a width of at least `n_columns` for which the start is not dominated by errors.

    With probability `delta`, a single random column has a very small component along some
    direction. The smallest component of several columns is much larger. It has to exceed the square
    root of the rounding error.

    >>> widen_block(1, 3000, 0.01, 1e-12), widen_block(1, 3000, 0.01, 1e-6)
    (1, 2)
    """
    while (
        n_columns < dimension
        and smallest_component(delta / 2, n_columns, dimension) ** 2 < rounding
    ):
        n_columns *= 2
    return n_columns


@threadpool_limits.wrap(limits=1, user_api="blas")
def smallest_eigenvalue(
    graph, *, delta=FAILURE_PROBABILITY, steps=300, rtol=0.02, random_state=None
):
    """Return lambda_2, the smallest nonzero eigenvalue of a Laplacian, with its error.

    Parameters
    ----------
    graph : EdgeList
    delta : float
        Probability that lambda_2 is smaller than the value minus the error.
    steps : int
        Maximum number of Lanczos steps.
    rtol : float
        Relative error at which the iteration stops.
    random_state : int, Generator or None

    Returns
    -------
    Estimate
        An upper bound on lambda_2 and its error. The value is infinite for a graph without edges.

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> round(smallest_eigenvalue(complete(6).to_edge_list()).value, 9)
    6.0
    """
    dimension = graph.n_nodes - (int(graph.components().max(initial=-1)) + 1)
    if dimension == 0:
        return Estimate(np.inf, 0.0)
    if graph.n_nodes <= MAX_DENSE_NODES:
        values = np.linalg.eigvalsh(graph.laplacian().toarray())
        rounding = np.finfo(np.float64).eps * graph.n_nodes * values[-1]
        return Estimate(float(values[-dimension]), float(rounding))
    # With A = I and M = L the highest ratio is 1 / lambda_2. Only `high` is used, so that all of
    # delta is spent on it.
    forest_norm = ForestNorm(graph, ridge=0.0)
    run = BlockLanczos(
        graph,
        ridge=0.0,
        n_columns=widen_block(1, dimension, 2 * delta, forest_norm.rounding),
        forest_norm=forest_norm,
        random_state=random_state,
    )
    bounds = OuterBounds(run, delta=2 * delta)
    n_steps = 0
    while not run.is_exhausted and n_steps < steps and bounds.high > (1 + rtol) * run.ritz[1]:
        run.step(run.newest)
        n_steps += 1
        bounds.update(force=n_steps == steps)
    return Estimate(float(1 / run.ritz[1]), float(1 / run.ritz[1] - 1 / bounds.high))


def _tridiagonal(diagonal, coupling):
    """Return T_k. The last B_k is not part of it."""
    T = scipy.linalg.block_diag(*diagonal)
    end = 0
    for block, below in zip(diagonal[:-1], coupling[:-1], strict=True):
        begin = end
        end = begin + len(block)
        T[end : end + len(below), begin:end] = below
        T[begin:end, end : end + len(below)] = below.T
    return T
