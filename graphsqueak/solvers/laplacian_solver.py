"""Solve (L + diag(ridge)) x = b on a graph, for one or many right-hand sides.

Every backend is a preconditioner of the same conjugate gradients; `backend_choice` has the rule by
which "auto" chooses one.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import ConvergenceWarning, Parameter
from graphsqueak.randomness import RandomState
from graphsqueak.report.shown import ReprMixin
from graphsqueak.solvers.approximate_cholesky import ApproximateCholesky
from graphsqueak.solvers.backend_choice import (
    JacobiWatch,
    ProblemSize,
    choose_factorization,
    choose_first_backend,
)
from graphsqueak.solvers.components import Components
from graphsqueak.solvers.conjugate_gradient import column_norms, conjugate_gradient
from graphsqueak.solvers.direct import Direct
from graphsqueak.solvers.matrix import CSRLaplacian, aligned_like, build_laplacian, multiply
from graphsqueak.solvers.multigrid import Multigrid
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.validation import (
    check_block,
    check_choice,
    check_count,
    check_real,
    check_ridge,
    explain_keywords,
)

SOLVERS = ("auto", "jacobi", "cholesky", "amg", "direct")
# Factor by which conjugate gradients in float32 reduce residuals on most graphs: 100 roundoffs. If
# more is needed, float32 right-hand sides and corrections of an initial guess are computed in
# float64 from the start. Halved: the same iterations in 120 solves.
MIN_FLOAT32_REDUCTION = 1e-5


@explain_keywords()
class LaplacianSolver(ReprMixin):
    """Solver of linear systems with the Laplacian of a graph.

    Use it for potentials, harmonic functions and label propagation on a graph that fits in memory:
    the graph is analyzed once, and `solve` can be called for many right-hand sides.

    Solves A x = b with A = L + diag(ridge) by preconditioned conjugate gradients, for all columns
    of a block at once. Convergence is decided by the residual b - A x, computed from x itself. The
    iteration restarts if the residual of its recursion has drifted from it.

    Parameters
    ----------
    graph : GraphLike
        Undirected graph. It may be disconnected and have isolated nodes and parallel edges.
    solver : {"auto", "jacobi", "cholesky", "amg", "direct"}, default="auto"
        Preconditioner.

        - "jacobi": diagonal of A; no set-up, for well-connected graphs.
        - "cholesky": approximate Cholesky factorization; robust, for all graphs.
        - "amg": smoothed aggregation multigrid (needs pyamg).
        - "direct": exact sparse factorization, for small graphs and graphs with small separators.
        - "auto": starts with "jacobi" on most graphs, and changes to a factorization if the first
          iterations converge slowly. Later calls keep the factorization.
    ridge : float or array-like of shape (n_nodes,), default=0.0
        Non-negative numbers added to the diagonal of L.
    tol : float, default=1e-8
        Relative tolerance: a column has converged if ||b - A x|| <= tol * ||b||. Columns in float32
        are solved in float32 if `tol` is at least 1e-5, and in float64 if that does not suffice.
    max_iter : int, default=20_000
        Maximum number of iterations per call of `solve`, for solves that converge too slowly to be
        useful.
    n_solves : int, default=1
        Expected number of calls of `solve`. More calls make "auto" prefer factorizations.
    random_state : int, Generator or None, default=None
        Seed of the approximate Cholesky factorization. Pass an int for reproducible results.

    Attributes
    ----------
    n_iter_ : int
        Number of iterations of the last call of `solve`.
    residual_ : float
        Largest relative residual ||b - A x|| / ||b|| of its columns.
    solver_ : str
        Name of the preconditioner that finished it.

    See Also
    --------
    graphsqueak.StreamedSolver : Solver for graphs that do not fit in memory.
    graphsqueak.smallest_eigenpairs : Smallest eigenvalues of the Laplacian.

    Examples
    --------
    One unit of current through a path of three unit resistors:

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList(tail=[0, 1, 2], head=[1, 2, 3])
    >>> LaplacianSolver(path).solve(np.array([1.0, 0.0, 0.0, -1.0]))
    array([ 1.5,  0.5, -0.5, -1.5])
    """

    _shown: ClassVar[dict[str, str]] = {
        "matrix.n_nodes": "nodes",
        "tol": "tolerance",
        "solver": "solver",
        "solver_": "solver of the last solve",
        "n_iter_": "iterations of the last solve",
        "residual_": "relative residual of the last solve",
    }

    def __init__(
        self,
        graph: GraphLike,
        *,
        solver: str = "auto",
        ridge: ArrayLike = 0.0,
        tol: float = 1e-8,
        max_iter: int = 20_000,
        n_solves: int = 1,
        random_state: RandomState = None,
    ) -> None:
        graph = as_edge_list(graph)
        self.solver = check_choice("solver", solver, SOLVERS)
        self.tol = check_real("tol", tol, above=0.0, below=1.0)
        self.max_iter = check_count("max_iter", max_iter)
        self._n_solves = check_count("n_solves", n_solves)
        self._seed = np.random.default_rng(random_state).integers(2**63)
        self._matrix = build_laplacian(graph, check_ridge(ridge, graph.n_nodes))
        self._components = Components(self._matrix)
        self._backends: dict[str, Any] = {}
        self._fixed_backend = None if solver == "auto" else solver

    @property
    def matrix(self) -> CSRLaplacian:
        """The matrix A in CSR format."""
        return self._matrix

    @property
    def component(self) -> np.ndarray:
        """Connected component of every node; components are numbered by their first nodes."""
        return self._components.label

    def with_ridge(self, ridge: ArrayLike) -> Self:
        """Return a solver of the same graph with another ridge; both share the edges.

        Parameters
        ----------
        ridge : float or array-like of shape (n_nodes,)
            Non-negative numbers added to the diagonal of L.

        Returns
        -------
        LaplacianSolver
        """
        other = copy.copy(self)
        other._matrix = self._matrix._replace(ridge=check_ridge(ridge, self._matrix.n_nodes))
        other._components = self._components.with_ridge(other._matrix.ridge)
        other._backends = {}
        return other

    def with_tol(self, tol: float) -> Self:
        """Return a solver with another tolerance; both share the graph and its factorizations.

        Parameters
        ----------
        tol : float
            Relative tolerance.

        Returns
        -------
        LaplacianSolver
        """
        other = copy.copy(self)
        other.tol = check_real("tol", tol, above=0.0, below=1.0)
        return other

    def centered(self, B: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Return B minus its mean over every component without a ridge.

        This is the right-hand side nearest to B for which a solution exists.

        Parameters
        ----------
        B : ndarray of shape (n_nodes,) or (n_nodes, K), float32 or float64
            Right-hand sides.
        out : ndarray of shape (n_nodes, K) and the dtype of B, optional
            Array for the result, which may be B itself. Default: a new array.

        Returns
        -------
        ndarray of the shape and dtype of B
        """
        block = check_block(B, self._matrix.n_nodes)
        return self._components.centered(block, out).reshape(np.shape(B))

    def check_consistent(self, B: ArrayLike) -> np.ndarray:
        """Return B centered; raise an InputError if that removes more than rounding errors.

        Parameters
        ----------
        B : ndarray of shape (n_nodes,) or (n_nodes, K), float32 or float64
            Right-hand sides.

        Returns
        -------
        ndarray of the shape and dtype of B
        """
        block = check_block(B, self._matrix.n_nodes)
        return self._components.check_consistent(block).reshape(np.shape(B))

    def solve(self, B: ArrayLike, *, start: ArrayLike | None = None) -> np.ndarray:
        """Solve A x = b for every column of B.

        Parameters
        ----------
        B : ndarray of shape (n_nodes,) or (n_nodes, K), float32 or float64
            Right-hand sides. They must sum to zero over every component without a ridge.
        start : array-like of the shape of B, optional
            Initial guess of the solution. Default: zero.

        Returns
        -------
        ndarray of the shape and dtype of B
            The solution, with mean zero over every component without a ridge.

        Warns
        -----
        ConvergenceWarning
            If the tolerance was not reached.
        """
        given = check_block(B, self._matrix.n_nodes)
        block = self._components.check_consistent(given)
        # Scale columns to a largest entry of 1, so that squares neither overflow nor underflow.
        largest = np.abs(block).max(axis=0, initial=0)
        largest[largest == 0] = 1
        block /= largest
        if self.tol < MIN_FLOAT32_REDUCTION:
            block = block.astype(np.float64, copy=False)
        guess = None
        if start is not None:
            guess = (check_block(start, self._matrix.n_nodes) / largest).astype(block.dtype)
        self.n_iter_ = 0
        x = self._solve_block(block, guess)
        if self._may_continue() and block.dtype == np.float32:
            x = self._solve_block(block.astype(np.float64), None)
        if self.residual_ > self.tol:
            self._warn_of_residual(np.abs(x).max())
        x *= largest
        return x.astype(given.dtype, copy=False).reshape(np.shape(B))

    def fix_backend(self) -> str:
        """Use the backend of the last `solve` in all later ones, and return its name.

        Returns
        -------
        str
        """
        self._fixed_backend = self.solver_
        return self.solver_

    def problem_size(self, n_columns: int, *, n_digits: float) -> ProblemSize:
        """Return the quantities on which the choice of a backend depends.

        Parameters
        ----------
        n_columns : int
            Number of right-hand sides.
        n_digits : float
            Number of decimal digits by which residuals have to be reduced.

        Returns
        -------
        ProblemSize
        """
        return ProblemSize(
            n_nodes=self._matrix.n_nodes,
            n_edges=self._matrix.weight.size // 2,
            depth=self._components.depth,
            level_cubes=self._components.level_cubes,
            n_columns=max(n_columns, 1),
            n_digits=n_digits,
            n_solves=self._n_solves,
        )

    def backend(self, name: str) -> tuple:
        """Return the matrix, its order and the preconditioner of a backend.

        The preconditioner is built on first use. Order and preconditioner are None for "jacobi".

        Parameters
        ----------
        name : {"jacobi", "cholesky", "amg", "direct"}

        Returns
        -------
        tuple of (CSRLaplacian, ndarray or None, callable or None)
        """
        if name == "jacobi":
            return self._matrix, None, None
        if name not in self._backends:
            if name == "cholesky":
                self._backends[name] = ApproximateCholesky(self._matrix, seed=self._seed)
            elif name == "amg":
                self._backends[name] = Multigrid(self._matrix)
            else:
                self._backends[name] = Direct(self._matrix, self._components)
        backend = self._backends[name]
        return backend.matrix, backend.order, backend

    def _solve_block(self, block, start):
        """Solve with the fixed backend, or find out which one to use."""
        if self._fixed_backend:
            return self._refine(self._fixed_backend, block, start=start)
        size = self.problem_size(block.shape[1], n_digits=-np.log10(self.tol))
        name = choose_first_backend(size)
        if name == "jacobi":
            watch = JacobiWatch(size)
            x = self._refine("jacobi", block, start=start, watch=watch)
            if not self._may_continue():
                return x
            name = choose_factorization(size)
        self._fixed_backend = name
        return self._refine(name, block, start=start)

    def _refine(self, name, block, *, start=None, watch=None):
        """Run conjugate gradients, and again from the true residual, until that is below tol."""
        matrix, order, precondition = self.backend(name)
        rows = slice(None) if order is None else order
        true_matrix = self._matrix.astype(block.dtype)
        norms = column_norms(block)
        norms[norms == 0] = 1.0
        self.solver_ = name
        if start is None:
            x = np.zeros_like(block)
            r = block
            self.residual_ = float(block.any())
        else:
            x = self._components.centered(start)
            r = self._compute_residual(true_matrix, block, x, norms)
        last_residual = np.inf
        # Without progress by a factor of two, x has reached the rounding error.
        while self._may_continue() and self.residual_ < last_residual / 2:
            last_residual = self.residual_
            in_float32 = start is not None and self.tol >= MIN_FLOAT32_REDUCTION * self.residual_
            r = r[rows].astype(np.float32 if in_float32 else block.dtype)
            step = np.zeros_like(r)
            self.n_iter_ += conjugate_gradient(
                matrix.astype(r.dtype),
                r,
                step,
                target=self.tol * norms,
                max_iter=self.max_iter - self.n_iter_,
                precondition=precondition,
                watch=watch,
            )
            x[rows] += step
            x = self._components.centered(x)
            r = self._compute_residual(true_matrix, block, x, norms)
            if watch is not None and watch.has_stopped:
                break
            if in_float32:
                # The rest is computed in float64, even if float32 made no progress.
                last_residual = np.inf
                start = None
        return x

    def _compute_residual(self, matrix, block, x, norms):
        r = aligned_like(block)
        multiply(matrix, x, r)
        np.subtract(block, r, out=r)
        self.residual_ = float((column_norms(r) / norms).max())
        return r

    def _may_continue(self):
        return self.residual_ > self.tol and self.n_iter_ < self.max_iter

    def _warn_of_residual(self, largest_entry):
        cause = f"max_iter={self.max_iter} was reached"
        if self.n_iter_ < self.max_iter:
            cause = (
                f"no further progress, by rounding of x, whose largest entry is "
                f"{largest_entry:.2g} times b's, or because the preconditioner is poor"
            )
        warnings.warn(
            ConvergenceWarning(
                f"{self.solver_} stopped after {self.n_iter_} steps at a relative "
                f"residual of {self.residual_:.2g}, above ",
                Parameter("tol", self.tol),
                f": {cause}",
                residual=self.residual_,
            ),
            stacklevel=3,
        )
