"""What it would cost to solve a system with each backend, and which one to begin with.

The model counts elementary steps, each worth its typical nanoseconds; only ratios matter, and no
clock is read, so the choice is the same on every run. A level in the middle of a breadth-first
search is a `separator`, which bounds the fill of a direct factorization, and so does the
`dimension`; the `depth` bounds the Jacobi steps from below, since each step carries information
over one edge. How many are really needed is forecast from the first ones. Neighbors whose numbers
are far apart wait for memory. What only one thread can do counts three quarters more, a compromise
between one core and two: the choice does not depend on the number of threads.

Multigrid is not a candidate: measured over the zoo of benchmarks/, solid grids included, it never
beat the best of the others by more than a fifth, and often failed.

References
----------
[S03] Saad. Iterative methods for sparse linear systems. SIAM, 2nd edition, 2003.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

__all__ = [
    "TRIAL_STEPS",
    "JacobiTrial",
    "Shape",
    "cheapest",
    "far_share",
    "first_choice",
    "jacobi_limit",
]

TRIAL_STEPS = 10  # of Jacobi, before its further steps are forecast
STALLED = 4.0  # times the bound by Ritz values that a residual without progress may forecast
OPTIMISM = 0.8  # share of the forecast that is needed: conjugate gradients grow faster
NEAR, CACHE = 2**20, 10_000_000  # bytes of a block that stay at hand, and that are soon found
N_NEIGHBORS = 8192  # that are looked at
FAR_BELOW, MOST_FAR_BELOW = 30.0, 3  # the next Ritz value by one that is found by itself
ALONE = 1.75  # cost of a step that threads do not share, beside one that they do
ALONE_BESIDE_MANY = 1.2  # the same, beside a block of columns that only two cores share evenly
FEW_COLUMNS = 8  # below this, one thread sweeps them all


class Shape(NamedTuple):
    """Size of the problem: `cubes` is the sum of the cubed level sizes, `digits` is -log10(tol).

    `n_solves` blocks of `n_columns` will be solved, so that each bears that part of a factor. `far`
    is the `far_share`, and `skew` the mean of the squared degrees by the square of their mean.
    """

    n_nodes: int
    n_edges: int
    separator: int
    depth: int
    cubes: float
    dimension: float
    n_columns: int
    digits: float
    n_solves: int = 1
    far: float = 0.0
    skew: float = 1.0


def first_choice(shape):
    """The backend to begin with: "jacobi" (on trial), "cholesky" or "direct".

    A long path is at once a case for elimination; a graph of small diameter is not:

    >>> first_choice(Shape(100_000, 99_999, 1, 100_000, 1e5, 1.0, 16, 8.0))
    'cholesky'
    >>> first_choice(Shape(100_000, 1_000_000, 60_000, 6, 1e15, 10.0, 16, 8.0))
    'jacobi'
    """
    name, cost = cheapest(shape)
    least_steps = max(2.0, shape.depth * shape.digits / 4.5)  # 1.8 depth at 1e-8; measured: 1.9+
    return name if cost < least_steps * _jacobi_step_cost(shape) else "jacobi"


def cheapest(shape):
    """The cheaper of "cholesky" and "direct", and its modeled cost."""
    costs = {"cholesky": _cholesky_cost(shape), "direct": _direct_cost(shape)}
    name = min(costs, key=costs.get)
    return name, costs[name]


def jacobi_limit(shape):
    """Steps of Jacobi that cost as much as the cheapest factorization and its steps."""
    return cheapest(shape)[1] / _jacobi_step_cost(shape)


class JacobiTrial:
    """Watch Jacobi's steps; true once those still needed cost more than a factorization.

    How many that are is the geometric mean of two forecasts. One extends the fall of the best
    residual over the last half of the steps: where small eigenvalues have not been met yet, it
    stalls, and the forecast is far too high. The other is the classical bound
    sqrt(condition) / 2 * log(2 / tol) with the extreme Ritz values of the steps so far, which are
    the eigenvalues of a tridiagonal matrix of their coefficients [S03, Section 6.7.3]: too low in
    the beginning, too high in the end. Few values that lie far below all others, as where some
    ridges hold a well connected graph, stall the residual until they are found, which takes some
    steps for each [S03, Section 6.6.2]; then the others alone decide. Steps of a block that columns
    have left cost less. With `from_scratch` the steps so far are to be repeated; the trial then
    ends as well once those needed cost less than half of a factorization.
    """

    def __init__(self, shape, *, from_scratch=False):
        self._shape, self._limit = shape, jacobi_limit(shape)
        self._from_scratch = from_scratch
        self._best, self._diagonal, self._beside = [], [], []
        self._length, self._next = 1.0, TRIAL_STEPS
        self.lost = self._is_over = False

    def __call__(self, step, norms, target, alpha, beta):
        """Take note of one step, told as `conjugate_gradient` tells it."""
        distance = np.log(max((norms / target).max(), 1.0))
        self._best.append(min([distance, *self._best[-1:]]))
        moving = np.flatnonzero(alpha > 0)  # not those of zeros
        if len(self._diagonal) == step - 1 and moving.size:
            kept = float(beta[moving[0]]) / self._length if step > 1 else 0.0
            self._beside.append(np.sqrt(kept / self._length))
            self._length = float(alpha[moving[0]])
            self._diagonal.append(1 / self._length + kept)
        if step == self._next:
            self._next += max(TRIAL_STEPS // 2, step // 4)
            needed = OPTIMISM * (self._forecast(step) - step)
            needed += self._from_scratch * step
            if not self._from_scratch:  # those that are solved have left the block
                left = self._shape._replace(n_columns=norms.size)
                needed *= _jacobi_step_cost(left) / _jacobi_step_cost(self._shape)
            self.lost = needed > self._limit
            self._is_over = self.lost or (self._from_scratch and needed < self._limit / 2)
        return self._is_over

    def _forecast(self, step):
        values = self.ritz()
        high, far = values[-1], np.flatnonzero(values[1:] > FAR_BELOW * values[:-1])
        if far.size and 0 < far[-1] + 1 <= MOST_FAR_BELOW and values[0] > 0:
            n_found = far[-1] + 1
            low = values[n_found]
            to_find = np.log(high / values[0]) / (4 * np.sqrt(low / high))
            return n_found * to_find + self._bound(low, high)
        by_ritz = self._bound(values[0], high)
        return np.sqrt(min(self._by_residual(step), STALLED * by_ritz) * by_ritz)

    def _by_residual(self, step):
        progress = self._best[step // 2 - 1] - self._best[-1]
        return step + self._best[-1] * (step - step // 2) / max(progress, 1e-2)

    def _bound(self, low, high):
        return 0.5 * np.sqrt(high / max(low, 1e-12 * high)) * (self._best[0] + np.log(2))

    def ritz(self):
        """The eigenvalues of D^-1 A that the steps have found, ascending."""
        return eigvalsh_tridiagonal(self._diagonal, self._beside[1:])


def far_share(rows, n_columns):
    """Share of the neighbors whose values lie a megabyte or more away, of a few thousand.

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_rows
    >>> rows = build_rows(EdgeList(tail=[0, 0], head=[1, 9_999]), np.zeros(10_000))
    >>> far_share(rows, 1), far_share(rows, 16)
    (0.0, 0.5)
    """
    if 8 * n_columns * rows.n_nodes <= NEAR or not rows.neighbor.size:
        return 0.0
    entry = np.arange(rows.neighbor.size)[:: max(1, rows.neighbor.size // N_NEIGHBORS)]
    node = np.searchsorted(rows.start.view(np.int64), entry, side="right") - 1
    gap = rows.neighbor[entry].astype(np.int64) - node
    return float((np.abs(gap) * 8 * n_columns > NEAR).mean())


def _jacobi_step_cost(shape):
    columns = shape.n_columns
    return (
        30_000
        + 2 * shape.n_edges * (1.5 + 0.5 * columns + shape.far * _waiting(shape))
        + 3 * shape.n_nodes * (0.7 + 0.5 * columns)
    )


def _waiting(shape):
    """For the values of a node that is not at hand."""
    columns = shape.n_columns
    return (14 + 1.6 * columns) * min(1.0, 8 * shape.n_nodes * columns / CACHE)


def _cholesky_cost(shape):
    """Entries of the factor: 2.2 per edge; steps for 8 digits: 14 where dense, 36 on flat meshes.

    In many dimensions steps are fewer, but the factor has no order that keeps neighbors at hand.
    Hubs, which are eliminated last, make both better.
    """
    n_nodes, n_edges, columns = shape.n_nodes, shape.n_edges, shape.n_columns
    alone = ALONE if columns < FEW_COLUMNS else 1.0
    wild = min(max(shape.dimension - 2, 0.0) / 3, 1.0)
    sweep = alone * 2.2 * n_edges * (6.0 + 0.9 * columns + wild * _waiting(shape))
    if n_edges <= n_nodes:  # nearly a forest: the factor is exact
        factor, steps = 200.0, 1.0
    else:
        size, even = n_nodes / 1e5, shape.skew**-0.5
        factor = 250 + 300 * min(2.0, size) + 700 * even * wild * min(1.0, size)
        sparse = min(1.0, 3 * n_nodes / max(n_edges, 1)) * min(1.0, 2 / max(shape.dimension, 1.0))
        steps = shape.digits * (1.8 + 2.7 * sparse * even)
    set_up = ALONE * (300_000 + factor * n_edges) / shape.n_solves
    return set_up + steps * (_jacobi_step_cost(shape) + sweep)


def _direct_cost(shape):
    """Nested dissection: fill of n log(separator), dense factors of the separator and of cliques.

    Small balls underestimate the dimension by about 0.2; where nodes have many neighbors, fill
    and separators grow as the area and the diameter of a neighborhood.
    """
    n_nodes, n_edges = shape.n_nodes, shape.n_edges
    area = 1 + n_edges / (1.5 * max(n_nodes, 1))
    by_dimension = area**0.5 * n_nodes ** (1 - 1 / max(shape.dimension + 0.2, 1.0))
    separator = min(shape.separator, by_dimension)
    flops = min(shape.cubes, 10.0 * separator**3 + n_edges**1.5)
    fill = 0.4 * area * n_nodes * np.log2(separator + 1)
    cost = 500_000 + 300 * n_nodes + (300 + 12 * shape.n_columns) * fill + 0.3 * flops
    return (ALONE if shape.n_columns < FEW_COLUMNS else ALONE_BESIDE_MANY) * cost
