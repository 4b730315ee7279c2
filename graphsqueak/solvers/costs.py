"""What it would cost to solve a system with each backend, and which one to begin with.

The model counts elementary steps, each worth its typical nanoseconds; only ratios matter, and no
clock is read, so the choice is the same on every run. A level in the middle of a breadth-first
search is a `separator`, which bounds the fill of a direct factorization, and so does the
`dimension`; the `depth` bounds the Jacobi steps from below, since each step carries information
over one edge. How many are really needed is forecast from the first ones. Neighbors whose numbers
are far apart wait for memory. A loop that is long enough to be shared among threads counts two
thirds, a compromise between one core and two: the choice does not depend on the number of threads.

Multigrid is not a candidate: measured over the zoo of benchmarks/, solid grids included, it never
beat the best of the others by more than a fifth, and often failed.

References
----------
[S03] Saad. Iterative methods for sparse linear systems. SIAM, 2nd edition, 2003.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dsterf

from graphsqueak.system.kernels import WORTH_SHARING

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
FAR = 8192  # nodes: a megabyte of 16 columns
CACHE = 1_000_000  # bytes of a block that stay at hand
N_NEIGHBORS = 8192  # that are looked at
FAR_BELOW, MOST_FAR_BELOW = 30.0, 3  # the next Ritz value by one that is found by itself
TOGETHER = 1.5  # times as fast is a loop that threads share
FEW_COLUMNS = 8  # up to here, one thread sweeps them all


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
    n_components: int = 1


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
    ends as well once those needed cost less than half of a factorization, or, after half of the
    `TRIAL_STEPS`, less than a quarter.
    """

    def __init__(self, shape, *, from_scratch=False):
        self._shape, self._limit = shape, jacobi_limit(shape)
        self._from_scratch = from_scratch
        self._best, self._diagonal, self._beside = [], [], []
        self._length, self._next = 1.0, TRIAL_STEPS // 2 if from_scratch else TRIAL_STEPS
        self.lost = self._is_over = False

    def __call__(self, step, norms, target, alpha, beta):
        """Take note of one step, told as `conjugate_gradient` tells it."""
        distance = math.log(max(float((norms / target).max()), 1.0))
        self._best.append(min([distance, *self._best[-1:]]))
        moving = int((alpha > 0).argmax())  # a column that is not of zeros
        if len(self._diagonal) == step - 1 and alpha[moving] > 0:
            kept = float(beta[moving]) / self._length if step > 1 else 0.0
            self._beside.append(math.sqrt(kept / self._length))
            self._length = float(alpha[moving])
            self._diagonal.append(1 / self._length + kept)
        if step == self._next:
            self._next += max(TRIAL_STEPS // 2, step // 4)
            needed = OPTIMISM * (self._forecast(step) - step)
            needed += self._from_scratch * step
            if not self._from_scratch:  # those that are solved have left the block
                left = self._shape._replace(n_columns=norms.size)
                needed *= _jacobi_step_cost(left) / _jacobi_step_cost(self._shape)
            is_early = step < TRIAL_STEPS
            has_won = self._from_scratch and needed < self._limit / (4 if is_early else 2)
            self.lost = not is_early and needed > self._limit
            self._is_over = self.lost or has_won
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
        return dsterf(self._diagonal, self._beside[1:])[0]


def far_share(rows):
    """Share of the neighbors, of a few thousand, whose numbers are at least `FAR` apart.

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_laplacian
    >>> far_share(build_laplacian(EdgeList(tail=[0, 0], head=[1, 9_999]), np.zeros(10_000)))
    0.5
    """
    if rows.n_nodes <= FAR or not rows.neighbor.size:
        return 0.0
    entry = np.arange(rows.neighbor.size)[:: max(1, rows.neighbor.size // N_NEIGHBORS)]
    node = np.searchsorted(rows.start.view(np.int64), entry, side="right") - 1
    return float((np.abs(rows.neighbor[entry].astype(np.int64) - node) >= FAR).mean())


def _jacobi_step_cost(shape):
    columns, n_numbers = shape.n_columns, 2 * shape.n_edges + shape.n_nodes
    cost = 2 * shape.n_edges * (0.7 + 0.25 * columns + shape.far * _waiting(shape))
    cost += shape.n_nodes * (1.5 + 4.4 * columns)
    return 25_000 + cost / _n_sharing(n_numbers * columns)


def _waiting(shape):
    """For the values of a node that is not at hand."""
    columns = shape.n_columns
    return (1.5 + 0.4 * columns) * _share_outside(shape)


def _share_outside(shape):
    """Of a block: what the caches do not hold."""
    return min(1.0, 8 * shape.n_nodes * shape.n_columns / CACHE)


def _n_sharing(work):
    return TOGETHER if work >= WORTH_SHARING else 1.0


def _cholesky_cost(shape):
    """Steps for 8 digits: 13 where dense, 37 on large flat meshes, one on forests.

    In many dimensions steps are fewer, but the factor has no order that keeps neighbors at hand;
    numbers of the nodes that do so make up for half of that. Hubs, which are eliminated last, make
    both better. Nodes of one or two neighbors are soon eliminated: at most three edges stay for
    each that closes a cycle.
    """
    n_nodes, n_edges, columns = shape.n_nodes, shape.n_edges, shape.n_columns
    size, even = n_nodes / 1e5, shape.skew**-0.5
    sparse = min(1.0, 3 * n_nodes / max(n_edges, 1))
    n_cycles = max(n_edges - n_nodes + shape.n_components, 0)
    core = min(1.0, 3 * n_cycles / max(n_edges, 1))
    wild = core * even * max(shape.far, 0.5) * min(max(shape.dimension - 2, 0.0) / 3, 1.0)
    factor = 100 + 170 * shape.far * min(1.0, size)
    factor += core * (80 + 170 * min(2.0, size)) + 980 * wild * min(1.0, size)
    flat = min(1.0, 2 / max(shape.dimension, 1.0)) * min(1.0, np.log10(max(n_nodes, 1)) / 5)
    steps = shape.digits * (1.6 + 3.0 * sparse * even * flat * core**0.5)
    steps = min(steps, max(n_cycles, 1))
    outside = _share_outside(shape)
    per_entry = 4 + 1.35 * columns + wild * (8 + 8 * columns) * outside
    sweep = n_edges * (0.5 + 0.5 * sparse) * per_entry + n_nodes * (8 + 7 * columns * outside)
    sweep /= _n_sharing(4 * n_edges * columns) if columns > FEW_COLUMNS else 1.0
    set_up = (200_000 + factor * n_edges) / shape.n_solves
    return set_up + steps * (10_000 + _jacobi_step_cost(shape) + sweep)


def _direct_cost(shape):
    """Nested dissection: fill of n log(separator), dense factors of the separator and of cliques.

    Small balls underestimate the dimension by about 0.2; where nodes have many neighbors, fill
    and separators grow with the area and the diameter of a neighborhood.
    """
    n_nodes, n_edges = shape.n_nodes, shape.n_edges
    area = 1 + n_edges / (1.5 * max(n_nodes, 1))
    by_dimension = area**0.35 * n_nodes ** (1 - 1 / max(shape.dimension + 0.2, 1.0))
    separator = min(shape.separator, by_dimension)
    flops = min(shape.cubes, 10.0 * separator**3 + n_edges**1.5)
    fill = 0.4 * area**0.6 * n_nodes * np.log2(separator + 1) * (1 + min(0.5, n_nodes / 4e5))
    set_up = 500_000 + 300 * n_nodes + 300 * fill + 0.3 * flops
    return set_up + 10 * shape.n_columns * (n_nodes + fill)
