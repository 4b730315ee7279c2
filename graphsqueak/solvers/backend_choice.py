"""The rule by which solver="auto" chooses a backend.

Conjugate gradients with the Jacobi preconditioner need no set-up and solve well-connected graphs in
10 to 40 iterations. All other graphs need a factorization. The rule has three steps:

1. Information travels one edge per iteration, so that a solve takes at least about as many
   iterations as a breadth-first search has levels. If these exceed the limit of 2, factorize at
   once.
2. Otherwise start with Jacobi. Forecast the remaining iterations from the mean rate of convergence.
   If they exceed the limit, which is the cost of a factorization and its iterations, stop.
3. Factorize: exactly if the breadth-first levels prove that this is cheap, else approximately.

Only numbers of iterations are compared and no clock is read, so the choice is reproducible.

Multigrid is not a candidate: on the graphs of benchmarks/graphs.py it was never more than 20 %
faster than the best of the others, and often failed.
"""

import math
from typing import NamedTuple

# The four numbers below were fitted to 114 cases, 38 graphs with 1, 4 and 16 columns, whose times
# and residual histories were recorded. The comments give the fraction of cases within 1.3 times of
# the fastest backend, and the geometric mean of the ratio, if the number is halved and doubled.
# They were measured with 1.8 instead of 1 Jacobi iterations per level at eight digits, where the
# rule gave 94 % and 1.055; with 0.9 it gave 94 % and 1.067.

# Jacobi iterations that take as long as one digit of an approximate Cholesky solve, which is 2 to 4
# iterations with two substitutions each. 93 % and 1.076; 90 % and 1.072.
JACOBI_ITERATIONS_PER_DIGIT = 4.0
# Jacobi iterations of one column that take as long as the approximate elimination. 93 % and 1.067;
# 92 % and 1.061.
JACOBI_ITERATIONS_PER_SETUP = 60.0
# Floating-point operations per edge and column that an approximate solve takes: 30 iterations of
# about 30 operations. An exact factorization may take as many. 92 % and 1.065; 92 % and 1.071.
MAX_DIRECT_FLOPS_PER_EDGE = 1000.0
# Iteration of the first forecast. Before it, residuals depend on the right-hand side more than on
# the graph: with 6, graphs with small ridges are factorized without need (2.3 times the time).
# 95 % and 1.050; 90 % and 1.066.
FIRST_FORECAST = 10


class ProblemSize(NamedTuple):
    """Quantities on which the choice of a backend depends.

    `depth` is the number of levels of a breadth-first search, `level_cubes` the sum of their cubed
    sizes, and `n_digits` is -log10(tol). `n_solves` blocks of `n_columns` columns will be solved.
    """

    n_nodes: int
    n_edges: int
    depth: int
    level_cubes: float
    n_columns: int
    n_digits: float
    n_solves: int = 1


def choose_first_backend(size):
    """Return the backend to begin with: "jacobi" (to be watched), "cholesky" or "direct".

    A long path is factorized at once, a graph of small diameter is not:

    >>> path = ProblemSize(100_000, 99_999, 100_000, 1e5, n_columns=16, n_digits=8.0)
    >>> choose_first_backend(path)
    'cholesky'
    >>> expander = ProblemSize(100_000, 1_000_000, 6, 1e15, n_columns=16, n_digits=8.0)
    >>> choose_first_backend(expander)
    'jacobi'
    """
    if size.depth > jacobi_iteration_limit(size):
        return choose_factorization(size)
    return "jacobi"


def choose_factorization(size):
    """Return "direct" if an exact factorization is provably cheap, else "cholesky".

    Eliminating the nodes level by level takes at most sum_l |level_l|^3 operations, whatever the
    graph is like. On trees and cycles the approximate factor is exact as well, and faster.
    """
    has_many_cycles = size.n_edges > size.n_nodes
    n_columns = size.n_columns * size.n_solves
    is_cheap = size.level_cubes <= MAX_DIRECT_FLOPS_PER_EDGE * size.n_edges * n_columns
    return "direct" if is_cheap and has_many_cycles else "cholesky"


def jacobi_iteration_limit(size):
    """Return the Jacobi iterations that cost as much as an approximate factorization and its solve.

    >>> jacobi_iteration_limit(ProblemSize(1000, 5000, 4, 1e8, n_columns=1, n_digits=8.0))
    92.0
    """
    set_up = JACOBI_ITERATIONS_PER_SETUP / (size.n_columns * size.n_solves)
    return JACOBI_ITERATIONS_PER_DIGIT * size.n_digits + set_up


class JacobiWatch:
    """Callback of `conjugate_gradient` that stops Jacobi if a factorization is cheaper.

    The remaining iterations are forecast from the mean rate of convergence since the start. The
    best residual so far is used, because residual norms of conjugate gradients oscillate.

    Attributes
    ----------
    has_stopped : bool
        Whether the iteration was stopped.
    """

    def __init__(self, size):
        self._limit = jacobi_iteration_limit(size)
        self.has_stopped = False

    def __call__(self, iteration, norms, target):
        """Return whether the iteration should stop."""
        # Padding and columns without a target have a ratio of zero or less.
        distance = math.log(max(float((norms / target).max(initial=0.0)), 1.0))
        if iteration == 0:
            self._first_distance = distance
            self._best_distance = distance
            self._next_forecast = FIRST_FORECAST
        self._best_distance = min(self._best_distance, distance)
        if iteration < self._next_forecast:
            return False
        self._next_forecast += max(iteration // 4, 1)
        progress = self._first_distance - self._best_distance
        # remaining = best_distance / (progress / iteration), without a division by zero
        self.has_stopped = self._best_distance * iteration > self._limit * progress
        return self.has_stopped
