"""Solve (L + diag(ridge)) x = b on a graph, for one or many right-hand sides.

Every backend is a preconditioner of the same conjugate gradients. Which one "auto" takes comes from
a model of what each would cost. The model counts elementary steps, each worth its typical
nanoseconds; only ratios matter, and no clock is read, so the choice is the same on every run. What
a graph looks like comes from a breadth-first search (`components`): a level in its middle is a
`separator`, which bounds the fill of a direct factorization, and so does the graph's `dimension`;
its `depth` bounds the Jacobi steps from below, since each step carries information over one edge.
How many Jacobi steps are really needed is extrapolated from the first ones.

Multigrid is not a candidate: in the zoo of benchmarks/ it won by a fifth at most, and often failed.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import ConvergenceWarning
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.approximate_cholesky import ApproximateCholesky
from graphsqueak.solvers.components import Components, dimension
from graphsqueak.solvers.conjugate_gradient import conjugate_gradient, norms_of
from graphsqueak.solvers.direct import Direct
from graphsqueak.solvers.matrix import (
    Rows,
    aligned_like,
    build_rows,
    check_block,
    check_ridge,
    multiply,
)
from graphsqueak.solvers.multigrid import Multigrid
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["LaplacianSolver"]

SOLVERS = ("auto", "jacobi", "cholesky", "amg", "direct")
FLOAT32_TOL = 1e-5  # below this, float32 right-hand sides are solved in float64
MAX_ITER = 20_000
TRIAL_STEPS = 10  # of Jacobi, before its further steps are extrapolated
MANY_COLUMNS = 4  # from here on a trial with one column costs little
SAFETY = 0.95  # the recursion's residual aims this much below tol


class LaplacianSolver:
    """Solver of A x = b with A = L + diag(ridge), L the Laplacian of a graph.

    The residual that decides is b - A x, computed from x itself, and the iteration restarts from it
    if it has drifted.

    Parameters
    ----------
    graph : EdgeList
        The graph; it may be disconnected and have isolated nodes and parallel edges.
    solver : {"auto", "jacobi", "cholesky", "amg", "direct"}
        "auto" begins with what the graph's shape suggests, most often Jacobi, and changes to a
        factorization when the first steps show that to be cheaper; later calls keep it.
    ridge : float or array of shape (n_nodes,)
        Added to the diagonal, not negative.
    tol : float
        A column is solved when |b - A x| <= tol * |b|. Float32 columns are solved in float32 if
        tol is at least 1e-5 and that suffices, else in float64, and rounded at the end.
    max_iter : int, optional
        Largest number of conjugate gradient steps of one `solve`. Default: 20,000.
    n_solves : int
        About how many blocks will be solved: the more, the sooner a factorization pays.
    random_state : int, Generator or None
        Seeds the sampling of the approximate Cholesky factor.

    Attributes
    ----------
    n_iter_ : int
        Conjugate gradient steps of the last `solve`.
    residual_ : float
        Largest |b - A x| / |b| over its columns.
    solver_ : str
        The backend that finished it.

    Examples
    --------
    One unit of current through a path of three unit resistors:

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList(tail=[0, 1, 2], head=[1, 2, 3])
    >>> LaplacianSolver(path).solve(np.array([1.0, 0.0, 0.0, -1.0]))
    array([ 1.5,  0.5, -0.5, -1.5])
    """

    def __init__(
        self,
        graph: EdgeList,
        *,
        solver: str = "auto",
        ridge: ArrayLike = 0.0,
        tol: float = 1e-8,
        max_iter: int | None = None,
        n_solves: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.solver = check_choice("solver", solver, SOLVERS)
        self.tol = check_real("tol", tol, above=0.0, below=1.0)
        self.max_iter = MAX_ITER if max_iter is None else check_count("max_iter", max_iter)
        self._n_solves = check_count("n_solves", n_solves)
        self._seed = np.random.default_rng(random_state).integers(2**63)
        self._rows = build_rows(graph, check_ridge(ridge, graph.n_nodes))
        self._components = Components(self._rows)
        self._backends: dict[str, Any] = {}
        self._settled = None if solver == "auto" else solver
        self._jacobi_has_won = False

    @property
    def rows(self) -> Rows:
        """The matrix A, node by node."""
        return self._rows

    def centered(self, B: ArrayLike) -> np.ndarray:
        """B minus its mean over every component without a ridge: the nearest that can be solved.

        Parameters
        ----------
        B : ndarray of shape (n_nodes,) or (n_nodes, K), float32 or float64

        Returns
        -------
        ndarray of the shape and dtype of B
        """
        return self._components.centered(check_block(B, self._rows.n_nodes)).reshape(np.shape(B))

    def solve(self, B: ArrayLike) -> np.ndarray:
        """Solve A x = b for every column of B.

        Parameters
        ----------
        B : ndarray of shape (n_nodes,) or (n_nodes, K), float32 or float64
            Right-hand sides. Where a component has no ridge they must sum to zero over it.

        Returns
        -------
        ndarray of the shape and dtype of B
            The solution, of mean zero over every component without a ridge.
        """
        given = check_block(B, self._rows.n_nodes)
        block = self._components.check_consistent(given)
        largest = np.abs(block).max(axis=0, initial=0)
        largest[largest == 0] = 1
        block /= largest
        if self.tol < FLOAT32_TOL:
            block = block.astype(np.float64, copy=False)
        self.n_iter_ = 0
        x = self._solve_block(block)
        if self._may_go_on() and block.dtype == np.float32:
            x = self._solve_block(block.astype(np.float64))
        if self.residual_ > self.tol:
            cause = f"max_iter={self.max_iter} was reached"
            if self.n_iter_ < self.max_iter:
                cause = f"rounding of x, whose largest entry is {np.abs(x).max():.2g} times b's"
            warnings.warn(
                ConvergenceWarning(
                    f"{self.solver_} stopped after {self.n_iter_} steps at a relative residual of "
                    f"{self.residual_:.2g}, above tol={self.tol:g}: {cause}",
                    residual=self.residual_,
                ),
                stacklevel=2,
            )
        x *= largest
        return x.astype(given.dtype, copy=False).reshape(np.shape(B))

    def _solve_block(self, block):
        """Let the settled backend solve `block`, or find one to settle on."""
        if self._settled:
            return self._refine(self._settled, block)
        shape = _Shape(
            n_nodes=self._rows.n_nodes,
            n_edges=self._rows.weight.size // 2,
            separator=self._components.separator,
            depth=self._components.depth,
            cubes=self._components.cubes,
            dimension=dimension(self._rows),
            n_columns=block.shape[1],
            digits=-np.log10(self.tol),
            n_solves=self._n_solves,
        )
        name = _first_choice(shape)
        if name == "jacobi":
            if self._jacobi_has_won or not self._loses_at_once(block, shape):
                x = self._refine("jacobi", block, watch=_JacobiTrial(shape))
                if not self._may_go_on():
                    self._jacobi_has_won = True
                    return x
            name = _cheapest(shape)[0]
        self._settled = name
        return self._refine(name, block)

    def _loses_at_once(self, block, shape):
        """Whether one of many columns shows within the trial that Jacobi will not do."""
        if block.shape[1] < MANY_COLUMNS:
            return False
        trial = _JacobiTrial(shape)
        r = np.ascontiguousarray(block[:, :1])
        conjugate_gradient(
            self._rows.astype(block.dtype),
            r,
            np.zeros_like(r),
            target=self.tol * np.maximum(norms_of(r), np.finfo(r.dtype).tiny),
            max_iter=2 * TRIAL_STEPS,
            watch=trial,
        )
        return trial.lost

    def _refine(self, name, block, watch=None, iterate=conjugate_gradient):
        """Run `iterate`, and again from the true residual, until that is below tol."""
        rows, order, precondition = self._backend(name)
        rows, true_rows = rows.astype(block.dtype), self._rows.astype(block.dtype)
        size = norms_of(block)
        size[size == 0] = 1.0
        x, r = np.zeros_like(block), block
        self.solver_, self.residual_, before = name, float(block.any()), np.inf
        while self._may_go_on() and self.residual_ < before / 2:
            before = self.residual_
            r = r.copy() if order is None else r[order]
            step = np.zeros_like(x)
            self.n_iter_ += iterate(
                rows,
                r,
                step,
                target=SAFETY * self.tol * size,
                max_iter=self.max_iter - self.n_iter_,
                precondition=precondition,
                watch=watch,
            )
            x[slice(None) if order is None else order] += step
            x = self._components.centered(x)
            r = aligned_like(block)
            multiply(true_rows, x, r)
            np.subtract(block, r, out=r)
            self.residual_ = float((norms_of(r) / size).max())
        return x

    def _may_go_on(self):
        return self.residual_ > self.tol and self.n_iter_ < self.max_iter

    def _backend(self, name):
        """Rows, their order and the preconditioner of this name, built when first asked for."""
        if name == "jacobi":
            return self._rows, None, None
        if name not in self._backends:
            make = {
                "cholesky": lambda: ApproximateCholesky(self._rows, seed=self._seed),
                "amg": lambda: Multigrid(self._rows),
                "direct": lambda: Direct(self._rows, self._components),
            }[name]
            self._backends[name] = make()
        backend = self._backends[name]
        return backend.rows, backend.order, backend


class _Shape(NamedTuple):
    """Size of the problem; `cubes` is the sum of the cubed level sizes, `digits` is -log10(tol)."""

    n_nodes: int
    n_edges: int
    separator: int
    depth: int
    cubes: float
    dimension: float
    n_columns: int
    digits: float
    n_solves: int = 1


def _first_choice(shape):
    """The backend to begin with: "jacobi" (on trial), "cholesky" or "direct".

    A long path is at once a case for elimination; a graph of small diameter is not:

    >>> _first_choice(_Shape(100_000, 99_999, 1, 100_000, 1e5, 1.0, 16, 8.0))
    'cholesky'
    >>> _first_choice(_Shape(100_000, 1_000_000, 60_000, 6, 1e15, 10.0, 16, 8.0))
    'jacobi'
    """
    name, cost = _cheapest(shape)
    least_steps = max(2.0, shape.depth * shape.digits / 4.5)  # 1.8 depth at 1e-8; measured: 1.9+
    return name if cost < least_steps * _jacobi_step_cost(shape) else "jacobi"


def _cheapest(shape):
    """The cheaper of "cholesky" and "direct", and its modeled cost."""
    costs = {"cholesky": _cholesky_cost(shape), "direct": _direct_cost(shape)}
    name = min(costs, key=costs.get)
    return name, costs[name]


class _JacobiTrial:
    """Watch the residuals of Jacobi; true once the steps still needed cost more than a factor.

    The steps are extrapolated from how the best residual so far fell over the last half of them.
    """

    def __init__(self, shape):
        self._limit = _cheapest(shape)[1] / _jacobi_step_cost(shape)
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


def _jacobi_step_cost(shape):
    columns = shape.n_columns
    return (
        100_000
        + 2 * shape.n_edges * (1.5 + 0.5 * columns)
        + 3 * shape.n_nodes * (0.7 + 0.5 * columns)
    )


def _cholesky_cost(shape):
    """Entries of the factor: 2.2 per edge; steps for 8 digits: 36 where sparse, 15 where dense."""
    n_nodes, n_edges = shape.n_nodes, shape.n_edges
    sweep = 2.2 * n_edges * (6.0 + 0.9 * shape.n_columns)
    sparse = min(1.0, 3 * n_nodes / max(n_edges, 1))
    if n_edges < n_nodes:  # nearly a forest: the factor is exact
        return (600_000 + 200 * n_edges) / shape.n_solves + _jacobi_step_cost(shape) + sweep
    steps = shape.digits * (1.8 + 2.7 * sparse)
    return (600_000 + 400 * n_edges) / shape.n_solves + steps * (_jacobi_step_cost(shape) + sweep)


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
    return 500_000 + 300 * n_nodes + (300 + 12 * shape.n_columns) * fill + 0.3 * flops
