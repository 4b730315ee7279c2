"""Solve (L + diag(ridge)) x = b on a graph, for one or many right-hand sides.

Every backend is a preconditioner of the same conjugate gradients; which one "auto" takes is told by
`costs`.
"""

import copy
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import ConvergenceWarning
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.report.shown import ReprMixin
from graphsqueak.solvers.approximate_cholesky import ApproximateCholesky
from graphsqueak.solvers.components import Components, Direct, dimension
from graphsqueak.solvers.conjugate_gradient import conjugate_gradient, norms_of
from graphsqueak.solvers.costs import (
    TRIAL_STEPS,
    JacobiTrial,
    Shape,
    cheapest,
    far_share,
    first_choice,
)
from graphsqueak.solvers.matrix import Rows, aligned_like, build_rows, multiply
from graphsqueak.solvers.multigrid import Multigrid
from graphsqueak.validation import check_block, check_choice, check_count, check_real, check_ridge

__all__ = ["LaplacianSolver"]

SOLVERS = ("auto", "jacobi", "cholesky", "amg", "direct")
FLOAT32_TOL = 1e-5  # below this, float32 right-hand sides are solved in float64
DIGITS_LEFT = 1e-4  # up to here a correction is solved in float32, and checked in float64
MAX_ITER = 20_000
MOST_NEAR, MOST_FAR = 4096, 0.25  # nodes of a level, share of the neighbors
MANY_COLUMNS = 4  # from here on a trial with one column costs little
SAFETY = 0.95  # the recursion's residual aims this much below tol


class LaplacianSolver(ReprMixin):
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

    _shown: ClassVar[dict[str, str]] = {
        "rows.n_nodes": "nodes",
        "tol": "relative residual wanted",
        "solver": "solver asked for",
        "solver_": "solver of the last solve",
        "n_iter_": "steps of the last solve",
        "residual_": "largest relative residual of it",
    }

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

    @property
    def component(self) -> np.ndarray:
        """Number of every node's component, numbered by their first nodes."""
        return self._components.label

    def with_ridge(self, ridge: ArrayLike) -> Self:
        """A solver of the same graph with another ridge, which shares the edges with this one.

        Parameters
        ----------
        ridge : float or array of shape (n_nodes,)
        """
        other = copy.copy(self)
        other._rows = self._rows._replace(ridge=check_ridge(ridge, self._rows.n_nodes))
        other._components = self._components.with_ridge(other._rows.ridge)
        other._backends = {}
        return other

    def with_tol(self, tol: float) -> Self:
        """The same solver, its factor included, of another accuracy.

        Parameters
        ----------
        tol : float
        """
        other = copy.copy(self)
        other.tol = check_real("tol", tol, above=0.0, below=1.0)
        return other

    def centered(self, B: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """B minus its mean over every component without a ridge: the nearest that can be solved.

        Parameters
        ----------
        B : ndarray of shape (n_nodes,) or (n_nodes, K), float32 or float64
        out : ndarray of shape (n_nodes, K) and the dtype of B, optional
            Where it is written, B itself if you like. Default: a new array.

        Returns
        -------
        ndarray of the shape and dtype of B
        """
        block = check_block(B, self._rows.n_nodes)
        return self._components.centered(block, out).reshape(np.shape(B))

    def consistent(self, B: ArrayLike) -> np.ndarray:
        """B centered, after an InputError if more than rounding would be taken away.

        Parameters
        ----------
        B : ndarray of shape (n_nodes,) or (n_nodes, K), float32 or float64

        Returns
        -------
        ndarray of the shape and dtype of B
        """
        block = check_block(B, self._rows.n_nodes)
        return self._components.check_consistent(block).reshape(np.shape(B))

    def solve(self, B: ArrayLike, *, start: ArrayLike | None = None) -> np.ndarray:
        """Solve A x = b for every column of B.

        Parameters
        ----------
        B : ndarray of shape (n_nodes,) or (n_nodes, K), float32 or float64
            Right-hand sides. Where a component has no ridge they must sum to zero over it.
        start : ndarray of the shape of B, optional
            A first guess of the solution. Default: zero.

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
        guess = None
        if start is not None:
            guess = (check_block(start, self._rows.n_nodes) / largest).astype(block.dtype)
        self.n_iter_ = 0
        x = self._solve_block(block, guess)
        if self._may_go_on() and block.dtype == np.float32:
            x = self._solve_block(block.astype(np.float64), None)
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

    def settle(self) -> str:
        """Keep the backend of the last `solve` for all to come, and return its name."""
        self._settled = self.solver_
        return self.solver_

    def _solve_block(self, block, start):
        """Let the settled backend solve `block`, or find one to settle on."""
        if self._settled:
            return self._refine(self._settled, block, start=start)
        shape = self.shape(block.shape[1], digits=-np.log10(self.tol))
        name = first_choice(shape)
        if name == "jacobi":
            if self._jacobi_has_won or not self._loses_at_once(block, shape):
                x = self._refine("jacobi", block, start=start, watch=JacobiTrial(shape))
                if not self._may_go_on():
                    self._jacobi_has_won = True
                    return x
            name = cheapest(shape)[0]
        self._settled = name
        return self._refine(name, block, start=start)

    def _loses_at_once(self, block, shape):
        """Whether one of many columns shows within the trial that Jacobi will not do."""
        if block.shape[1] < MANY_COLUMNS:
            return False
        trial = JacobiTrial(shape, from_scratch=True)
        r = np.ascontiguousarray(block[:, [np.argmax(block.any(axis=0))]])
        conjugate_gradient(
            self._rows.astype(block.dtype),
            r,
            np.zeros_like(r),
            target=self.tol * np.maximum(norms_of(r), np.finfo(r.dtype).tiny),
            max_iter=4 * TRIAL_STEPS,
            watch=trial,
        )
        return trial.lost

    def _refine(self, name, block, *, start=None, watch=None, iterate=conjugate_gradient):
        """Run `iterate`, and again from the true residual, until that is below tol."""
        rows, order, precondition = self.backend(name)
        true_rows = self._rows.astype(block.dtype)
        size = norms_of(block)
        size[size == 0] = 1.0
        x, r = np.zeros_like(block), block
        self.solver_, self.residual_, before = name, float(block.any()), np.inf
        if start is not None:
            x = self._components.centered(start)
            r = self._residual(true_rows, block, x, size)
        while self._may_go_on() and self.residual_ < before / 2:
            is_near = start is not None and self.tol >= DIGITS_LEFT * self.residual_
            before, dtype = self.residual_, np.float32 if is_near else block.dtype
            r = (r if order is None else r[order]).astype(dtype)
            step = np.zeros_like(r)
            self.n_iter_ += iterate(
                rows.astype(dtype),
                r,
                step,
                target=SAFETY * self.tol * size,
                max_iter=self.max_iter - self.n_iter_,
                precondition=precondition,
                watch=watch,
            )
            x[slice(None) if order is None else order] += step
            x = self._components.centered(x)
            r = self._residual(true_rows, block, x, size)
            if is_near:  # float64 does what is left, if anything
                before, start = np.inf, None
        return x

    def _residual(self, rows, block, x, size):
        r = aligned_like(block)
        multiply(rows, x, r)
        np.subtract(block, r, out=r)
        self.residual_ = float((norms_of(r) / size).max())
        return r

    def shape(self, n_columns: int, *, digits: float) -> Shape:
        """What the cost of solving so many columns to so many digits depends on."""
        degree = np.diff(self._rows.start.view(np.int64)).astype(np.float64)
        mean_square = np.square(degree).sum() / max(degree.size, 1)
        return Shape(
            n_nodes=self._rows.n_nodes,
            n_edges=self._rows.weight.size // 2,
            separator=self._components.separator,
            depth=self._components.depth,
            cubes=self._components.cubes,
            dimension=dimension(self._rows),
            n_columns=n_columns,
            digits=digits,
            n_solves=self._n_solves,
            far=far_share(self._rows),
            skew=float(mean_square / degree.mean() ** 2) if self._rows.weight.size else 1.0,
            n_components=self._components.size.size,
        )

    def _may_go_on(self):
        return self.residual_ > self.tol and self.n_iter_ < self.max_iter

    def backend(self, name: str) -> tuple:
        """Rows, their order and the preconditioner of a name, built when first asked for."""
        if name == "jacobi":
            return self._rows, None, None
        if name not in self._backends:
            make = {
                "cholesky": self._cholesky,
                "amg": lambda: Multigrid(self._rows),
                "direct": lambda: Direct(self._rows, self._components),
            }[name]
            self._backends[name] = make()
        backend = self._backends[name]
        return backend.rows, backend.order, backend

    def _cholesky(self):
        """Where breadth-first levels are small, their order brings scattered neighbors together."""
        is_flat = self._components.separator < MOST_NEAR
        is_scattered = is_flat and far_share(self._rows) > MOST_FAR
        nearby = self._components.order if is_scattered else None
        return ApproximateCholesky(self._rows, seed=self._seed, nearby=nearby)
