"""Block Lanczos for the pencil of two Laplacians, in the memory of a few vectors.

With A = L_G and M = L_H (both plus a ridge), T = M^+ A is self-adjoint for <x, y> = x' M y. Its
eigenvalues are the ratios mu = x' A x / x' M x. From an orthonormal block Q_1, each step multiplies
by A once and solves with M once:

    T Q_j = Q_{j-1} B_{j-1}' + Q_j A_j + Q_{j+1} B_j + F_j,      A_j = Q_j' A Q_j,

where F_j is the error of inexact solves and of rounding. Only the last two blocks are needed to
continue.

*The window.* An orthonormal basis of a few vectors and the projection of A on it give the extreme
ratios and their vectors. The eigenvalues of the projection, the Ritz values, are ratios of true
vectors, whatever the accuracy of the solves. Every new block is added. A full window is compressed
to its outermost Ritz vectors at both ends, of this step and of the step before. A Ritz vector moves
nearly along a line from step to step, like an iterate of conjugate gradients, so that almost
nothing is lost compared with a basis of all blocks [SO10]. The blocks themselves are never
restarted. If one end is not needed any more, the other end gets its vectors (`ignore_end`).

*Orthogonality.* A block is made orthogonal to all earlier blocks while the window contains them,
and after that to the last two only. Directions that were found then return in later blocks. The
window adds only the new part of a block. It rejects a direction if its new part is so small that
the projection of A would lose accuracy. A bound on the lost accuracy is kept, and the Ritz values
are corrected by it. Constants on components have the M-norm 0 and are removed. A direction that is
not larger than rounding, relative to T Q_j, is dropped.

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

from graphsqueak.errors import ConvergenceWarning
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.solvers.matrix import multiply
from graphsqueak.sparsifiers.certificate.forest_norm import ForestNorm

__all__ = [
    "CHUNK_SIZE",
    "MAX_WINDOW_NUMBERS",
    "BlockLanczos",
    "gaussian_start",
    "n_columns_at_once",
]

# Vectors of the window for blocks of up to four columns: Ritz vectors of two steps at both
# ends, and 12 new ones between compressions. Graphs below 26,000 nodes have a
# larger window. Halved or doubled: no change in steps, and less than 0.1 % in the bounds, for
# random and heavy-tailed graphs of 200,000 nodes.
MIN_WINDOW_VECTORS = 20

# Numbers (4 MiB) that are kept, or solved together, whatever the width. Halved: 2 % to 6 % more
# steps on graphs of 4,000 to 20,000 nodes. Doubled: up to 5 % fewer steps, and twice the memory.
CHEAP_NUMBERS = 2**19

# Numbers (256 MiB) of the window of a wide block, and of all its blocks while they are kept. Halved
# or doubled: no change up to 20,000 nodes. It bounds the memory for larger graphs.
MAX_WINDOW_NUMBERS = 2**25

# Numbers per chunk of temporary arrays, about the size of a cache. Halved or doubled: no change in
# bounds and steps.
CHUNK_SIZE = 2**16

# Tolerance of solves, times the typical component of one column along a direction,
# 1 / sqrt(dimension). Halved or doubled: no change in bounds or steps.
SOLVE_TOL = 3e-7

# Tolerance of solves with small systems, where it costs little. Halved or doubled: no change.
# Without it, certificates of 900 nodes with delta = 5e-6 do not reach rtol.
FINE_SOLVE_TOL = 1e-11

# Relative error of a Ritz value that the window may lose to directions that are hardly new. Halved
# or doubled: no change. Without a limit, the lower bound on epsilon would have to be corrected by
# more than that.
MAX_PROJECTION_ERROR = 1e-5

# Relative norm below which a direction is rounding. Its square is the rounding error of an inner
# product. Halved or doubled: no change.
RANK_TOL = 1e-7

# Squared norm of a unit vector that lost half of itself to an orthogonalization. It was dominated
# by the directions removed, and what is left is mostly rounding.
LOST_HALF = 0.25

# Passes of one orthogonalization. Two or three are usual. Halved or doubled: no change.
MAX_PASSES = 8

# Overlaps and singular values below this have squares below the unit roundoff.
_SQRT_EPS = float(np.sqrt(np.finfo(np.float64).eps))


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
        Tolerance of the solves, taken for their error. Default: chosen from `n_columns` and
        `dimension`, and the error of the solves is measured.
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
        self._tol = tol
        n_columns = min(n_columns, self.dimension)
        self._solver = self._make_solver("auto", self._tolerance(n_columns))
        self._forest_norm = ForestNorm(sparsifier, ridge) if forest_norm is None else forest_norm
        self.rounding = self._forest_norm.rounding
        self.diagonal: list[np.ndarray] = []
        self.coupling: list[np.ndarray] = []
        self._solve_error = self._solver.tol
        self._measured_residual = self._solver.tol
        self.error = 0.0
        self.is_orthonormal = True
        self.ritz = np.array([np.inf, 0.0])
        block, scale = self._solve_block(gaussian_start(sparsifier, ridge, n_columns, self._rng))
        self.newest, triangle, _ = self._orthonormalize(block)
        # An error of the solve turns the column that is least independent of the others most.
        smallest = np.linalg.norm(triangle, -2) if triangle.size else 1.0
        self.start_error = (self._solve_error + self.rounding) * max(scale / smallest, 1.0)
        self._previous = self.newest[:, :0]
        self.n_columns = self.newest.shape[1]
        self._window = _Window(
            self._multiply_by_sparsifier,
            dimension=self.dimension,
            n_nodes=sparsifier.n_nodes,
            n_columns=self.n_columns,
            rounding=RANK_TOL**2 + self.rounding,
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
        self._window.add(self.newest, product, self.ritz)
        self.ritz = self._window.update_ritz(self.ritz)

        # 2: W = M^+ A Q_j - Q_j A_j - Q_{j-1} B_{j-1}'
        block, scale = self._solve_block(product)
        block -= self.newest @ self.diagonal[-1]
        if self.coupling:
            block -= self._previous @ self.coupling[-1].T

        # 3: Q_{j+1} B_j = W
        self.is_orthonormal = self._window.has_all_blocks
        known = [self._window.basis] if self.is_orthonormal else [self.newest, self._previous]
        following, coupling, removed = self._orthonormalize(block, scale, known)
        if self._window.is_complete:
            following = following[:, :0]
            coupling = coupling[:0]
        self._previous = self.newest
        self.newest = following
        self.coupling.append(coupling)
        step_error = removed + (2 * self._solve_error + self.rounding) * scale
        self.error = float(np.hypot(self.error, step_error))

    def ignore_end(self, end: int) -> None:
        """Stop searching for the lowest ratio (0) or for the highest (1)."""
        self._window.ignore_end(end)

    def ritz_vector(self, end: int) -> np.ndarray:
        """Return the vector with the ratio ritz[end], unless that end is ignored."""
        return self._window.ritz_vector(end)

    def _solve_block(self, product):
        """Overwrite a block by M^+ times it; return it and the largest M-norm of a column.

        The error is measured after 0, 1, 2, 4, ... steps, and if the residual exceeds those that
        were measured.
        """
        n_steps = len(self.coupling)
        n_nodes, n_columns = product.shape
        norms = np.zeros(n_columns)
        n_groups = -(-n_columns // n_columns_at_once(n_nodes)) or 1
        for columns in np.array_split(np.arange(n_columns), n_groups):
            b = np.ascontiguousarray(product[:, columns])
            x = self._solve(b)
            is_due = n_steps & (n_steps - 1) == 0
            if self._tol is None and (is_due or self._solver.residual_ > self._measured_residual):
                x = self._measure_error(x, b)
            product[:, columns] = x
            norms[columns] = _energy_norms(x, b)
        return product, norms.max(initial=0.0)

    def _measure_error(self, x, b):
        """Record the error of a solution x of M x = b, and return a better one."""
        self._measured_residual = max(self._measured_residual, self._solver.residual_)
        x, error = self._correct(x, b)
        is_large = error > 100 * SOLVE_TOL / np.sqrt(self.dimension)
        if is_large and self._solver.solver != "cholesky":
            # The approximate Cholesky factor consists of sums of weights and is as accurate on
            # light cuts as on heavy ones. With it, a small Euclidean residual is small on all cuts.
            self._solver = self._make_solver("cholesky", self._solver.tol)
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

    def _make_solver(self, backend, tol):
        return LaplacianSolver(
            self._sparsifier,
            solver=backend,
            ridge=self._ridge,
            tol=tol,
            # A typical certificate has 50 steps, so that a factorization pays.
            n_solves=50,
            random_state=self._rng,
        )

    def _orthonormalize(self, block, scale=0.0, known=()):
        """Return Q, R and the norm of what was removed, with block = Q R up to the known blocks.

        The first pass finds the rank, relative to `scale` or to the block's own norm. Later
        passes repeat the orthogonalization on unit vectors. They end when the overlap with the
        known blocks is negligible.
        """
        R = np.eye(block.shape[1])
        removed = 0.0
        min_square = None
        for _ in range(MAX_PASSES):
            block = self._solver.centered(block)
            image = self._multiply_by_sparsifier(block)
            overlaps = [part.T @ image for part in known]
            overlap = np.vstack([np.zeros((1, block.shape[1])), *overlaps])
            gram = block.T @ image - overlap.T @ overlap
            squares, rotation = np.linalg.eigh((gram + gram.T) / 2)
            is_first_pass = min_square is None
            if is_first_pass:
                scale = max(scale, np.sqrt(max(squares.max(initial=0.0), 0.0)))
                min_square = (RANK_TOL * scale) ** 2
                removed = np.linalg.norm(overlap)
            is_kept = squares > min_square
            dropped = np.sqrt(squares[~is_kept].clip(0))[:, None] * rotation[:, ~is_kept].T
            removed = np.hypot(removed, np.linalg.norm(dropped @ R))
            for part, part_overlap in zip(known, overlaps, strict=True):
                block -= part @ part_overlap
            norms = np.sqrt(squares[is_kept])
            block = np.ascontiguousarray(block @ (rotation[:, is_kept] / norms))
            R = (norms[:, None] * rotation[:, is_kept].T) @ R
            is_orthogonal = np.abs(overlap).max(initial=0) < max(_SQRT_EPS, self.rounding)
            if not is_first_pass and is_orthogonal and is_kept.all():
                return block, R, removed
            min_square = LOST_HALF
        # Rounding dominates all directions that are left.
        return block[:, :0], R[:0], np.hypot(removed, np.linalg.norm(R))

    def _tolerance(self, n_columns):
        """Return the tolerance of solves.

        The component of one column along a given direction is about 1 / sqrt(dimension), and the
        error must be smaller. A wider start has a larger component and tolerates larger errors.
        """
        if self._tol is not None:
            return self._tol
        # Solves with small systems take microseconds, whatever their tolerance.
        if n_columns * self.dimension < CHUNK_SIZE // 8:
            return FINE_SOLVE_TOL
        return min(SOLVE_TOL * n_columns**1.5 / np.sqrt(self.dimension), 1e-7)

    def _multiply_by_sparsifier(self, block):
        image = np.empty_like(block)
        multiply(self._solver.matrix, block, image)
        return image


class _Window:
    """Orthonormal basis of the outermost Ritz vectors, with the projection of A on it.

    Parameters
    ----------
    multiply_by_sparsifier : callable
        Multiplies a block by M.
    dimension, n_nodes, n_columns : int
        Of the space, of the graph and of the first block.
    rounding : float
        Relative rounding error of a product with A.

    Attributes
    ----------
    has_all_blocks : bool
        Whether the basis spans every block that was added.
    """

    def __init__(self, multiply_by_sparsifier, *, dimension, n_nodes, n_columns, rounding):
        self._multiply_by_sparsifier = multiply_by_sparsifier
        self._dimension = dimension
        self._rounding = rounding
        is_narrow = n_columns <= 4
        n_kept = 2 if is_narrow else n_columns
        min_vectors = MIN_WINDOW_VECTORS if is_narrow else 6 * n_columns
        max_numbers = min(CHEAP_NUMBERS * n_columns**2, MAX_WINDOW_NUMBERS)
        n_vectors = min(max(min_vectors, max_numbers // max(n_nodes, 1)), dimension)
        self._rows = np.empty((n_vectors, n_nodes))
        self._projection = np.zeros((0, 0))
        # S such that y' P y is wrong by at most y' S y for the projection P.
        self._projection_error = np.zeros((0, 0))
        self._previous_size = 0
        # Numbers of Ritz vectors that a compression keeps at the low and at the high end.
        self._n_kept = [n_kept, n_kept]
        self.has_all_blocks = True

    @property
    def is_complete(self):
        """Whether the basis spans the whole space."""
        return len(self._projection) == self._dimension

    @property
    def basis(self):
        """The vectors, as columns."""
        return self._rows[: len(self._projection)].T

    def ignore_end(self, end):
        """Use the vectors of this end for the other one."""
        if self._n_kept[1 - end]:
            self._n_kept[1 - end] = sum(self._n_kept)
            self._n_kept[end] = 0

    def update_ritz(self, ritz):
        """Return the lowest and the highest ratio, of the window or of `ritz` before."""
        values, vectors = np.linalg.eigh(self._projection)
        low_error, high_error = [y @ self._projection_error @ y for y in vectors.T[[0, -1]]]
        low = min(ritz[0], values[0] + low_error)
        high = max(ritz[1], values[-1] - high_error)
        return np.array([low, high])

    def ritz_vector(self, end):
        """Return the first (0) or the last (1) Ritz vector."""
        _, vectors = np.linalg.eigh(self._projection)
        return vectors[:, -end] @ self._rows[: len(vectors)]

    def add(self, block, product, ritz):
        """Add the new part of an orthonormal block, given its product with A.

        With the basis W, the new part is block D - W K for some D and K. If little of a direction
        is new, its scaling amplifies the errors of the products. Directions whose error
        would exceed `MAX_PROJECTION_ERROR` times the ratio of interest in `ritz` are left out.
        """
        n_columns = block.shape[1]
        n_free = min(n_columns, self._dimension - len(self._projection))
        if len(self._projection) + n_free > len(self._rows):
            self._compress()
        size = len(self._projection)
        self._previous_size = size
        rows = self._rows[:size]
        sides = rows @ product
        corner = block.T @ product
        product_error = self._rounding * np.hypot(np.linalg.norm(sides), np.linalg.norm(corner))
        basis_error = self._projection_error + product_error * np.eye(size)
        max_error = np.inf
        if size:
            max_error = MAX_PROJECTION_ERROR * ritz[0 if self._n_kept[0] else 1]
        D = np.eye(n_columns)
        K = np.zeros((size, n_columns))
        new = block
        min_square = RANK_TOL**2
        # A block that was made orthogonal to the whole basis is new already.
        is_new = self.has_all_blocks and n_free == n_columns
        for _ in range(0 if is_new else MAX_PASSES):
            image = self._multiply_by_sparsifier(new)
            overlap = rows @ image
            gram = new.T @ image - overlap.T @ overlap
            squares, rotation = np.linalg.eigh((gram + gram.T) / 2)
            is_kept = squares > min_square
            is_kept[: -min(n_free, is_kept.size)] = False
            D = D @ rotation
            K = (K + overlap) @ rotation
            errors = 2 * product_error * (D**2).sum(axis=0) + (K * (basis_error @ K)).sum(axis=0)
            is_kept &= errors <= max_error * squares
            norms = np.sqrt(squares[is_kept])
            D = D[:, is_kept] / norms
            K = K[:, is_kept] / norms
            new = np.ascontiguousarray((new - rows.T @ overlap) @ (rotation[:, is_kept] / norms))
            min_square = LOST_HALF
            deviation = max(np.abs(overlap).max(initial=0), np.abs(squares - 1).max(initial=0))
            if deviation < max(_SQRT_EPS, self._rounding):
                break
        n_new = new.shape[1]
        self.has_all_blocks &= n_new == n_columns
        self._rows[size : size + n_new] = new.T
        self._projection = _extend_form(self._projection, sides, corner, D, K)
        corner_error = 2 * product_error * np.eye(n_columns)
        self._projection_error = _extend_form(basis_error, np.zeros_like(sides), corner_error, D, K)

    def _compress(self):
        """Reduce the basis to the outermost Ritz vectors, of this step and of the step before."""
        self.has_all_blocks = False
        size = len(self._projection)
        n_low, n_high = self._n_kept
        chosen = []
        for n_known in (size, self._previous_size):
            _, vectors = np.linalg.eigh(self._projection[:n_known, :n_known])
            outermost = np.hstack([vectors[:, :n_low], vectors[:, max(n_known - n_high, n_low) :]])
            chosen.append(np.pad(outermost, ((0, size - n_known), (0, 0))))
        # The vectors of two steps are nearly parallel: the SVD gives a basis of their span.
        basis, singular_values, _ = np.linalg.svd(np.hstack(chosen), full_matrices=False)
        basis = basis[:, singular_values > _SQRT_EPS]
        self._projection = basis.T @ self._projection @ basis
        self._projection_error = basis.T @ self._projection_error @ basis
        # In chunks, so that no second window is allocated.
        for begin in range(0, self._rows.shape[1], CHUNK_SIZE):
            part = self._rows[:size, begin : begin + CHUNK_SIZE]
            part[: basis.shape[1]] = basis.T @ part


def _extend_form(form, sides, corner, D, K):
    """Return a form on W and block D - W K, given it on W, between W and block, and on block."""
    edge = sides @ D - form @ K
    new_corner = D.T @ corner @ D - D.T @ sides.T @ K - K.T @ edge
    return np.block([[form, edge], [edge.T, (new_corner + new_corner.T) / 2]])


def n_columns_at_once(n_nodes):
    """Return how many columns are solved together: one if nodes are many, to save memory."""
    return max(1, CHEAP_NUMBERS // max(n_nodes, 1))


def _energy_norms(x, image):
    """Return sqrt(x' M x) for each column, given image = M x."""
    return np.sqrt((x * image).sum(axis=0).clip(0))


def gaussian_start(graph, ridge, n_columns, rng):
    """Return a random block with covariance L + ridge I: B' W^(1/2) g + ridge^(1/2) g_0.

    M^+ times it has the covariance M^+, so that its component along every M-unit vector is a
    standard Gaussian number. A Gaussian vector on the nodes would not be isotropic in this sense.
    """
    start = np.zeros((graph.n_nodes, n_columns))
    # In chunks, because the random numbers are one per edge and column.
    for begin in range(0, graph.n_edges, CHUNK_SIZE):
        part = graph.part(begin, begin + CHUNK_SIZE)
        noise = rng.standard_normal((part.n_edges, n_columns))
        start += part.incidence().T @ (np.sqrt(part.weight)[:, None] * noise)
    if ridge > 0:
        start += np.sqrt(ridge) * rng.standard_normal(start.shape)
    return start
