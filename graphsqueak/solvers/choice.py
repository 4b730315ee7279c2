"""Which backend `auto` takes: a model of what each would cost.

The model counts elementary steps, each worth its typical nanoseconds; only ratios matter, and no
clock is read, so the choice is the same on every run. What a graph looks like comes from a
breadth-first search: a level in its middle is a `separator`, which bounds the fill of a direct
factorization, and so does the graph's `dimension`; its `depth` bounds the Jacobi steps from below,
since each step carries information over one edge. How many Jacobi steps are really needed is
extrapolated from the first ones.

Multigrid is not a candidate: measured over the zoo of benchmarks/, it never beat the better of
approximate Cholesky and direct by more than a fifth, and often failed.
"""

from typing import NamedTuple

import numpy as np

__all__ = ["TRIAL_STEPS", "JacobiTrial", "Shape", "cheapest", "first_choice"]

TRIAL_STEPS = 10


class Shape(NamedTuple):
    """Size of the problem; `cubes` is the sum of the cubed level sizes, `digits` is -log10(tol)."""

    n_nodes: int
    n_edges: int
    separator: int
    depth: int
    cubes: float
    dimension: float
    n_columns: int
    digits: float


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
    return name if cost < least_steps * _jacobi_step(shape) else "jacobi"


def cheapest(shape):
    """The cheaper of "cholesky" and "direct", and its modeled cost."""
    costs = {"cholesky": _cholesky(shape), "direct": _direct(shape)}
    name = min(costs, key=costs.get)
    return name, costs[name]


class JacobiTrial:
    """Watch the residuals of Jacobi; true once the steps still needed cost more than a factor.

    The steps are extrapolated from how the best residual so far fell over the last half of them.
    """

    def __init__(self, shape):
        self._limit = cheapest(shape)[1] / _jacobi_step(shape)
        self._best = []
        self.lost = False

    def __call__(self, step, norms, target):
        """Take note of one step; `norms` of the residuals, and their `target`."""
        distance = np.log(max((norms / target).max(), 1.0))
        self._best.append(min([distance, *self._best[-1:]]))
        if step % (TRIAL_STEPS // 2) == 0 and step >= TRIAL_STEPS:
            progress = self._best[step // 2 - 1] - self._best[-1]
            needed = self._best[-1] * (step - step // 2)
            self.lost = needed > self._limit * progress
        return self.lost


def _jacobi_step(shape):
    columns = shape.n_columns
    return (
        100_000
        + 2 * shape.n_edges * (1.5 + 0.5 * columns)
        + 3 * shape.n_nodes * (0.7 + 0.5 * columns)
    )


def _cholesky(shape):
    """Entries of the factor: 2.2 per edge; steps for 8 digits: 36 where sparse, 15 where dense."""
    n_nodes, n_edges = shape.n_nodes, shape.n_edges
    sweep = 2.2 * n_edges * (6.0 + 0.9 * shape.n_columns)
    sparse = min(1.0, 3 * n_nodes / max(n_edges, 1))
    if n_edges < n_nodes:  # nearly a forest: the factor is exact
        return 600_000 + 200 * n_edges + _jacobi_step(shape) + sweep
    steps = shape.digits * (1.8 + 2.7 * sparse)
    return 600_000 + 400 * n_edges + steps * (_jacobi_step(shape) + sweep)


def _direct(shape):
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
    return 500_000 + 300 * n_nodes + (300 + 12 * shape.n_columns) * fill + 0.3 * flops
