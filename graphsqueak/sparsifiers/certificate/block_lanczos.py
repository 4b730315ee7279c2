"""Block Lanczos for the pencil of two Laplacians, in the memory of a few vectors.

With A = L_G and M = L_H (both plus a ridge), T = M^+ A is self-adjoint for <x, y> = x' M y. Its
eigenvalues are the ratios mu = x' A x / x' M x. From an orthonormal block Q_1, each step multiplies
by A once and solves with M once:

    T Q_j = Q_{j-1} B_{j-1}' + Q_j A_j + Q_{j+1} B_j + F_j,      A_j = Q_j' A Q_j,

where F_j is the error of inexact solves and of rounding. Only the last two blocks are needed to
continue.

*The window.* A few vectors W, with W' A W and W' M W, give the extreme ratios and their vectors by
the Rayleigh-Ritz method. These ratios are ratios of true vectors, whatever the accuracy of the
solves. Every new block is added. A full window is compressed to its outermost Ritz vectors at both
ends, of this step and of the step before. A Ritz vector moves nearly along a line from step to
step, like an iterate of conjugate gradients, so that almost nothing is lost compared with a basis
of all blocks [SO10]. The blocks themselves are never restarted.

*Orthogonality.* A block is made orthogonal to all earlier blocks while the window contains them,
and after that to the last two only. Directions that were found then return in later blocks, and
the vectors of the window are not independent. Rayleigh-Ritz leaves out combinations of them that
are too short. A bound on the rounding error of W' A W is kept, and the Ritz values are corrected by
it. Constants on components have the M-norm 0 and are removed. A direction of a block that is not
larger than rounding, relative to T Q_j, is dropped.

*Errors.* F_j has three parts. First, a solve with residual r has the error sqrt(r' M^+ r). After
0, 1, 2, 4, ... steps it is measured by solving for r. The remainder is bounded by a flow along a
spanning forest, which accounts for light cuts (`forest_norm`). Second, rounding of vectors and
products is bounded by the same forest. Third, the norm of whatever orthogonalization removes is
added. The error of the first solve makes the start less isotropic (`start_error`).

References
----------
[SO10] Stathopoulos, Orginos. Computing and deflating eigenvalues while solving multiple right-hand
       side linear systems with an application to quantum chromodynamics. SIAM J. Scientific
       Computing 32(1), 2010.
"""

import warnings

import numpy as np
import scipy.linalg

from graphsqueak.errors import ConvergenceWarning
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.solvers.matrix import multiply
from graphsqueak.sparsifiers.certificate.forest_norm import SQRT_EPS, ForestNorm

# Numbers (4 MiB) of the window of a block of one column. Wider blocks take fewer steps, and have
# the square of their width times as many. Halved: up to 7 % more steps on graphs of 6,000 to 20,000
# nodes. Doubled: the same steps, and twice the memory.
WINDOW_NUMBERS = 2**19

# Relative residual of solves. The start has components of 1e-5 or more along every direction, and
# the errors have to be much smaller. Halved or doubled: the same steps and bounds on graphs of
# 6,000 to 20,000 nodes. 10 times as large: with weights over 15 orders of magnitude, an error
# exceeded those that were measured (seed 36,003 of test_outer_bounds).
SOLVE_TOL = 1e-11


class BlockLanczos:
    """Block Lanczos for M^+ A, with a window of Ritz vectors at both ends.

    Parameters
    ----------
    sparsifier : EdgeList
        The graph H of M = L_H + ridge I.
    ridge : float
        Added to both Laplacians.
    n_columns : int
        Width of the first block, at most `dimension`.
    tol : float, optional
        Tolerance of the solves, taken for their error. Default: `SOLVE_TOL`, and the error of the
        solves is measured.
    forest_norm : ForestNorm, optional
        The norm of H and the ridge, if it was computed before.
    random_state : int, Generator or None
        Seed of the first block.

    Attributes
    ----------
    dimension : int
        Number of nodes, minus one per component without a ridge.
    n_columns : int
        Width of the first block.
    newest : ndarray of shape (n_nodes, columns)
        The block to multiply by L_G next. It has no columns if the run is exhausted.
    ritz : ndarray of shape (2,)
        The lowest and the highest ratio found.
    diagonal, coupling : list of ndarray
        A_j and B_j.
    error : float
        Norm of all F_j together.
    start_error : float
        Sine of the angle between the space of the first block and an isotropic one.
    rounding : float
        Relative rounding error of a vector or product, in the norm of M.
    is_orthonormal : bool
        Whether all blocks together are orthonormal, not only each with the one before it.
    """

    def __init__(
        self,
        sparsifier: EdgeList,
        *,
        ridge: float,
        n_columns: int,
        tol: float | None = None,
        forest_norm: ForestNorm | None = None,
        random_state: RandomState = None,
    ) -> None:
        self._rng = np.random.default_rng(random_state)
        n_components = 0 if ridge > 0 else int(sparsifier.components().max(initial=-1)) + 1
        self.dimension = sparsifier.n_nodes - n_components
        self._sparsifier = sparsifier
        self._ridge = ridge
        self._tol = SOLVE_TOL if tol is None else tol
        self._solver = self._make_solver("auto")
        self._forest_norm = ForestNorm(sparsifier, ridge) if forest_norm is None else forest_norm
        self.rounding = self._forest_norm.rounding
        self.diagonal: list[np.ndarray] = []
        self.coupling: list[np.ndarray] = []
        self._solve_error = self._tol
        self._measured_residual = self._tol if tol is None else np.inf
        self.error = 0.0
        self.is_orthonormal = True
        self.ritz = np.array([np.inf, 0.0])
        start = gaussian_start(sparsifier, ridge, min(n_columns, self.dimension), self._rng)
        block, scale = self._solve_block(start)
        self._previous = block[:, :0]
        self.newest, triangle, _ = self._orthonormalize(block, scale, known=self._previous)
        # An error of the solve turns the column that is least independent of the others most.
        smallest = np.linalg.norm(triangle, -2) if triangle.size else 1.0
        self.start_error = (self._solve_error + self.rounding) * max(scale / smallest, 1.0)
        self.n_columns = self.newest.shape[1]
        self._window = _Window(
            self._multiply_by_sparsifier,
            n_nodes=sparsifier.n_nodes,
            n_columns=self.n_columns,
            dimension=self.dimension,
            rounding=self.rounding,
        )

    @property
    def is_exhausted(self) -> bool:
        """Whether the blocks span an invariant space, so that no step is left."""
        return self.newest.shape[1] == 0

    def step(self, product: np.ndarray) -> None:
        """Do one Lanczos step.

        Parameters
        ----------
        product : ndarray of the shape of `newest`
            L_G times `newest`.
        """
        # 1: A_j = Q_j' A Q_j
        product = self._solver.centered(product) + self._ridge * self.newest
        diagonal = self.newest.T @ product
        self.diagonal.append((diagonal + diagonal.T) / 2)
        self._window.add(self.newest, product)
        low, high = self._window.ritz_values()
        self.ritz = np.array([min(self.ritz[0], low), max(self.ritz[1], high)])

        # 2: W = M^+ A Q_j - Q_j A_j - Q_{j-1} B_{j-1}'
        block, scale = self._solve_block(product)
        block -= self.newest @ self.diagonal[-1]
        if self.coupling:
            block -= self._previous @ self.coupling[-1].T

        # 3: Q_{j+1} B_j = W
        self.is_orthonormal = self._window.has_all_blocks
        if self.is_orthonormal:
            known = self._window.basis
        else:
            known = np.hstack([self.newest, self._previous])
        following, coupling, removed = self._orthonormalize(block, scale, known)
        self._previous = self.newest
        self.newest = following
        self.coupling.append(coupling)
        step_error = removed + (2 * self._solve_error + self.rounding) * scale
        self.error = float(np.hypot(self.error, step_error))

    def ritz_vector(self, end: int) -> np.ndarray:
        """Return the vector with the ratio ritz[end]."""
        return self._window.ritz_vector(end)

    def _solve_block(self, product):
        """Return M^+ times a block, and the largest M-norm of a column.

        The error is measured after 0, 1, 2, 4, ... steps, and if the residual exceeds those that
        were measured.
        """
        n_steps = len(self.coupling)
        is_due = n_steps & (n_steps - 1) == 0
        x = self._solve(product)
        is_worse = self._solver.residual_ > self._measured_residual
        if is_worse or (is_due and self._measured_residual < np.inf):
            x = self._measure_error(x, product)
        return x, _energy_norms(x, product).max(initial=0.0)

    def _measure_error(self, x, b):
        """Record the error of a solution x of M x = b, and return a better one."""
        self._measured_residual = max(self._measured_residual, self._solver.residual_)
        x, error = self._correct(x, b)
        is_large = error > SQRT_EPS
        if is_large and self._solver.solver != "cholesky":
            # The approximate Cholesky factor consists of sums of weights and is as accurate on
            # light cuts as on heavy ones. With it, a small Euclidean residual is small on all cuts.
            self._solver = self._make_solver("cholesky")
            x = self._solve(b)
            self._measured_residual = self._solver.residual_
            x, error = self._correct(x, b)
        self._solve_error = max(self._solve_error, error)
        return x

    def _correct(self, x, b):
        """Add a solution for the residual to x; return it and the largest relative error of x."""
        correction = self._solve(self._residual(b, x))
        better = x + correction
        sizes = _energy_norms(better, b)
        correction_norms = _energy_norms(correction, self._multiply_by_sparsifier(correction))
        # The flow bounds the error that remains after the correction, without any solver.
        errors = correction_norms + self._forest_norm(self._residual(b, better))
        # The error of a zero solution is infinite unless it is exact.
        relative = np.where(errors > 0, np.inf, 0.0)
        np.divide(errors, sizes, out=relative, where=sizes > 0)
        largest = float(relative.max(initial=0.0))
        # NaN fails the comparison.
        return better, largest if largest >= 0 else np.inf

    def _residual(self, b, x):
        return self._solver.centered(b - self._multiply_by_sparsifier(x))

    def _solve(self, b):
        """Return M^+ b. Warnings are ignored, because the error is measured."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return self._solver.solve(b)

    def _make_solver(self, backend):
        return LaplacianSolver(
            self._sparsifier,
            solver=backend,
            ridge=self._ridge,
            tol=self._tol,
            # A typical certificate has 50 steps, so that a factorization pays.
            n_solves=50,
            random_state=self._rng,
        )

    def _orthonormalize(self, block, scale, known):
        """Return Q, R and the norm of what was removed, with block = Q R up to the known blocks.

        The first pass finds the rank, relative to `scale`. Later passes repeat the
        orthogonalization on unit vectors, until the overlap with the known blocks is negligible.
        """
        tol = max(SQRT_EPS, self.rounding)
        R = np.eye(block.shape[1])
        removed = 0.0
        is_first_pass = True
        while True:
            block = self._solver.centered(block)
            image = self._multiply_by_sparsifier(block)
            overlap = known.T @ image
            gram = block.T @ image - overlap.T @ overlap
            squares, rotation = np.linalg.eigh((gram + gram.T) / 2)
            is_kept = squares > (tol * scale) ** 2
            dropped = np.sqrt(squares[~is_kept].clip(0))[:, None] * rotation[:, ~is_kept].T
            removed = np.hypot(removed, np.linalg.norm(dropped @ R))
            norms = np.sqrt(squares[is_kept])
            block = np.ascontiguousarray((block - known @ overlap) @ (rotation[:, is_kept] / norms))
            R = (norms[:, None] * rotation[:, is_kept].T) @ R
            if is_first_pass:
                removed = np.hypot(removed, np.linalg.norm(overlap))
            elif is_kept.all() and np.abs(overlap).max(initial=0.0) < tol:
                return block, R, removed
            is_first_pass = False
            scale = 1.0

    def _multiply_by_sparsifier(self, block):
        image = np.empty_like(block)
        multiply(self._solver.matrix, block, image)
        return image


class _Window:
    """Vectors W with the outermost Ritz vectors in their span, and W' A W and W' M W.

    Parameters
    ----------
    multiply_by_sparsifier : callable
        Multiplies a block by M.
    n_nodes, n_columns, dimension : int
        Of the graph, of the first block and of the space.
    rounding : float
        Relative rounding error of a product with A.

    Attributes
    ----------
    has_all_blocks : bool
        Whether the vectors are all blocks that were added.
    """

    def __init__(self, multiply_by_sparsifier, *, n_nodes, n_columns, dimension, rounding):
        self._multiply_by_sparsifier = multiply_by_sparsifier
        self._rounding = rounding
        # Ritz vectors that a compression keeps at each end.
        self._n_kept = n_columns + 1
        # Half of the smallest window is for the Ritz vectors of two steps at both ends, and the
        # other half for new blocks between compressions.
        n_vectors = WINDOW_NUMBERS * n_columns**2 // max(n_nodes, 1)
        n_vectors = max(n_vectors, 8 * self._n_kept)
        self._rows = np.empty((min(n_vectors, dimension), n_nodes))
        self._projection = np.zeros((0, 0))
        self._gram = np.zeros((0, 0))
        # S such that y' P y is wrong by at most y' S y for the projection P.
        self._error = np.zeros((0, 0))
        # Ritz vectors of this step and of the step before, as combinations of the rows.
        self._ritz_vectors = np.zeros((0, 0))
        self._previous_vectors = np.zeros((0, 0))
        self.has_all_blocks = True

    @property
    def basis(self):
        """The vectors, as columns."""
        return self._rows[: len(self._projection)].T

    def ritz_values(self):
        """Return the lowest and the highest ratio of the window, corrected for rounding."""
        extreme = self._ritz_vectors[:, [0, -1]]
        values = (extreme * (self._projection @ extreme)).sum(axis=0)
        errors = (extreme * (self._error @ extreme)).sum(axis=0)
        return values + errors * [1, -1]

    def ritz_vector(self, end):
        """Return the first (0) or the last (1) Ritz vector."""
        return self.basis @ self._ritz_vectors[:, -end]

    def add(self, block, product):
        """Add an orthonormal block, given its product with A."""
        n_columns = block.shape[1]
        if len(self._projection) + n_columns > len(self._rows):
            self._compress()
        basis = self.basis
        size = basis.shape[1]
        self._rows[size : size + n_columns] = block.T
        sides = basis.T @ product
        corner = block.T @ product
        product_error = self._rounding * np.hypot(np.linalg.norm(sides), np.linalg.norm(corner))
        self._projection = _extended(self._projection, sides, corner)
        if self.has_all_blocks:
            self._gram = np.eye(size + n_columns)
        else:
            image = self._multiply_by_sparsifier(block)
            self._gram = _extended(self._gram, basis.T @ image, block.T @ image)
        self._error = scipy.linalg.block_diag(self._error, np.zeros(2 * [n_columns]))
        self._error += 2 * product_error * np.eye(size + n_columns)
        self._previous_vectors = np.pad(self._ritz_vectors, ((0, n_columns), (0, 0)))
        orthonormal = self._orthonormal(np.eye(size + n_columns))
        _, vectors = np.linalg.eigh(orthonormal.T @ self._projection @ orthonormal)
        self._ritz_vectors = orthonormal @ vectors

    def _compress(self):
        """Reduce the vectors to the outermost Ritz vectors, of this step and of the step before."""
        self.has_all_blocks = False
        chosen = [
            vectors[:, part]
            for vectors in (self._ritz_vectors, self._previous_vectors)
            for part in (slice(self._n_kept), slice(-self._n_kept, None))
        ]
        basis = self._orthonormal(np.hstack(chosen))
        self._rows[: basis.shape[1]] = basis.T @ self.basis.T
        self._projection = basis.T @ self._projection @ basis
        self._gram = basis.T @ self._gram @ basis
        self._error = basis.T @ self._error @ basis
        # The Ritz vectors of this step are the next step's vectors of the step before.
        self._ritz_vectors = np.linalg.eigh(self._projection)[1]

    def _orthonormal(self, combinations):
        """Return an M-orthonormal basis of combinations of the rows, without very short ones.

        Scaling a short combination to a unit vector would amplify the errors of products.
        """
        squares, rotation = np.linalg.eigh(combinations.T @ self._gram @ combinations)
        is_kept = squares > np.sqrt(self._rounding)
        # Rounding may exceed 1, but a space has at least one vector.
        is_kept[-1] = True
        return combinations @ (rotation[:, is_kept] / np.sqrt(squares[is_kept]))


def _extended(form, sides, corner):
    return np.block([[form, sides], [sides.T, (corner + corner.T) / 2]])


def _energy_norms(x, image):
    """Return sqrt(x' M x) for each column, given image = M x."""
    return np.sqrt((x * image).sum(axis=0).clip(0))


def gaussian_start(graph, ridge, n_columns, rng):
    """Return a random block with covariance L + ridge I: B' W^(1/2) g + ridge^(1/2) g_0.

    M^+ times it has the covariance M^+, so that its component along every M-unit vector is a
    standard Gaussian number. A Gaussian vector on the nodes would not be isotropic in this sense.
    """
    start = np.zeros((graph.n_nodes, n_columns))
    # In parts, because the random numbers are one per edge and column.
    for begin in range(0, graph.n_edges, graph.n_nodes):
        part = graph.part(begin, begin + graph.n_nodes)
        noise = rng.standard_normal((part.n_edges, n_columns))
        start += part.incidence().T @ (np.sqrt(part.weight)[:, None] * noise)
    if ridge > 0:
        start += np.sqrt(ridge) * rng.standard_normal(start.shape)
    return start
