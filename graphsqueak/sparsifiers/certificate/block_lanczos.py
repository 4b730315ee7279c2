"""Lanczos on the pencil of two Laplacians, in the memory of a few vectors.

With A = L_G and M = L_H (both plus a ridge), T = M^+ A is self-adjoint for <x, y> = x' M y, and its
eigenvalues are the ratios mu = x' A x / x' M x. From an orthonormal block Q_1 each step multiplies
by A once and solves with M once:

    T Q_j = Q_{j-1} B_{j-1}' + Q_j A_j + Q_{j+1} B_j + F_j,      A_j = Q_j' A Q_j,

where F_j is what inexact solves and rounding add. No block but the last two is needed to go on.

*The window.* To find the ratio at either end, and its vector, an orthonormal basis of a few vectors
is kept, and A projected on it: its eigenvalues, the Ritz values, are ratios of true vectors,
whatever the accuracy of the solves. Every new block joins. A full window is compressed to its
outermost Ritz vectors, at both ends, of now and of one step before. A Ritz vector moves nearly
along a line from step to step, as an iterate of conjugate gradients does, so that next to nothing
is lost against a basis of all blocks [SO10]. The blocks themselves are never restarted. When one
end does not matter any more, the other gets its room (`ignore_end`).

*Orthogonality.* Blocks are made orthogonal to all before them while the window holds these, then to
the two before them, no more: what has been found comes back in later blocks. The window takes from
a block only what is new to it, and no direction of which so little is new that the projection of A
would suffer: how much it may have suffered is counted, and the Ritz values are on the safe side of
it. Constants on components, which no norm of M sees, are taken out. A direction not larger than
rounding, on the scale of T Q_j, ends.

*Errors.* F_j has three parts. Solves leave residuals r, which change the result by sqrt(r' M^+ r).
After 0, 1, 2, 4, ... steps this is measured by solving for r, and the rest is bounded by a flow
along a forest, which no light cut escapes (`forest_norm`). Rounding changes vectors and products by
an amount that the same forest bounds. What orthogonalization takes out is counted. The error of the
first solve makes the start less isotropic, which counts as well (`start_error`).

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

__all__ = ["BlockLanczos", "gaussian_start", "n_at_once"]

_ROOM = 20  # vectors of the window, for few columns
_FEW = 4  # columns, for which that is enough
_SMALL = 2**19  # numbers that may be kept, or worked on, anyway
_MOST_NUMBERS = 2**25  # of all blocks, while they are kept
_DOUBT = 1e-5  # of a Ritz value, relative, that the window may have
_UNIT = 1e-14  # rounding of a product
_MOST_SOLVE_ERROR = 3e-5  # times 1 / sqrt(dimension); a hundred times that of `_TOL`
_TOL = 3e-7  # of the solves, times what one column has of a direction, 1 / sqrt(dimension)
_FINE = 1e-11  # of the solves where that costs nothing
_EXHAUSTED = 1e-7  # norm, relative to that of T Q_j, below which a direction is rounding
_HALF = 0.25  # squared norm of a unit direction that has lost half of itself
_OVERLAP = 1e-9  # what a block may have of the two before it
_MOST_PASSES = 8  # of one orthogonalization
_MANY_SOLVES = 50  # a factorization pays
_SPREAD = 1e-8  # norm of a combination of unit vectors that is not rounding
_CHUNK = 2**16  # edges, or nodes, that are worked on at a time


class BlockLanczos:
    """Block Lanczos for T, with a window of Ritz vectors of both ends.

    Parameters
    ----------
    sparsifier : EdgeList
        H.
    ridge : float
        Added to both Laplacians.
    n_columns : int
        Width of the first block, at most `dimension`.
    tol : float, optional
        Of the solves; without one as small as `error` needs, which is measured then.
    forest_norm : ForestNorm, optional
        Of H and the ridge, if there is one already.
    random_state : int, Generator or None

    Attributes
    ----------
    dimension : int
        Of the space: nodes, less one per component without a ridge.
    n_columns : int
        Width of the first block.
    newest : ndarray of shape (n_nodes, columns)
        The block to be multiplied by L_G next; without columns when nothing is left to find.
    ritz : ndarray
        The lowest ratio that was found, and the highest.
    diagonal, coupling : list of ndarray
        A_j and B_j.
    error : float
        The norm of all F_j together.
    start_error : float
        How far the space of the first block may be from an isotropic one: the sine of the angle.
    rounding : float
        How much rounding may change of a vector or of a product, in the norm of M and relative.
    is_whole : bool
        Whether all blocks together are orthonormal, not just each with the one before it.
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
        block, scale = self._solved(gaussian_start(sparsifier, ridge, n_columns, self._rng))
        self.newest, triangle, _ = self._orthonormal(block)
        least = np.linalg.norm(triangle, -2) if triangle.size else 1.0
        self.start_error = (self._solve_error + self.rounding) * max(scale / least, 1.0)
        self._before = self.newest[:, :0]
        self.ritz = np.array([np.inf, 0.0])
        self.n_columns = self.newest.shape[1]
        self._window = _Window(
            self._times_sparsifier, self.dimension, self.newest.shape, _UNIT + self.rounding
        )

    def step(self, product: np.ndarray) -> None:
        """Take in the product L_G `newest`, solve with L_H, and make the next block."""
        product = self._solver.centered(product) + self._ridge * self.newest
        diagonal = self.newest.T @ product
        self.diagonal.append((diagonal + diagonal.T) / 2)
        self._window.join(self.newest, product, self.ritz)
        self.ritz = self._window.ritz(self.ritz)
        block, scale = self._solved(product)
        block -= self.newest @ self.diagonal[-1]
        if self.coupling:
            block -= self._before @ self.coupling[-1].T
        self.is_whole = self._window.is_whole
        known = [self._window.basis] if self.is_whole else [self.newest, self._before]
        newest, coupling, removed = self._orthonormal(block, scale, known)
        if self._window.is_complete:
            newest, coupling = newest[:, :0], coupling[:0]
        self._before, self.newest = self.newest, newest
        self.coupling.append(coupling)
        of_step = removed + (2 * self._solve_error + self.rounding) * scale
        self.error = float(np.hypot(self.error, of_step))

    def ignore_end(self, end: int) -> None:
        """Do not look further for the lowest ratio (0) or for the highest (1)."""
        self._window.ignore_end(end)

    def ritz_vector(self, end: int) -> np.ndarray:
        """The vector on the nodes that belongs to ritz[end], if that end was not settled."""
        return self._window.vector(end)

    def _solved(self, product):
        """M^+ product, in its place, and the largest M-norm of a column.

        After 0, 1, 2, 4, 8, ... steps, and when a residual is larger than those, the error is
        measured.
        """
        n_steps = len(self.coupling)
        n_columns = product.shape[1]
        norms = np.zeros(n_columns)
        n_once = n_at_once(len(product))
        for columns in np.array_split(np.arange(n_columns), -(-n_columns // n_once) or 1):
            b = np.ascontiguousarray(product[:, columns])
            x = self._solve(b)
            is_due = n_steps & (n_steps - 1) == 0
            if self._tol is None and (is_due or self._solver.residual_ > self._measured_residual):
                x = self._measured(x, b)
            product[:, columns] = x
            norms[columns] = _norms(x, b)
        return product, norms.max(initial=0.0)

    def _measured(self, x, b):
        """A better solution of M x = b; the error of x is counted.

        Solving for the residual shows the error of x; what is left after that has a bound from
        flows, which needs no solver. A solver whose errors are too large is changed.
        """
        self._measured_residual = max(self._measured_residual, self._solver.residual_)
        x, error = self._corrected(x, b)
        is_large = error > _MOST_SOLVE_ERROR / np.sqrt(self.dimension)
        if is_large and self._solver.solver != "cholesky":
            # built of sums of weights, the approximate factor is as good for light cuts as for
            # heavy ones; a residual that is small in Euclidean norm then is so on every cut
            self._solver = self._make_solver("cholesky", self._solver.tol)
            x = self._solve(b)
            self._measured_residual = self._solver.residual_
            x, error = self._corrected(x, b)
        self._solve_error = max(self._solve_error, error)
        return x

    def _corrected(self, x, b):
        """x plus a solution for its residual, and the largest error of a column of x, relative."""
        correction = self._solve(self._residual(b, x))
        better = x + correction
        sizes = _norms(better, b)
        image = self._times_sparsifier(correction)
        errors = _norms(correction, image) + self._forest_norm(self._residual(b, better))
        # where nothing was found, an error that is not zero counts as infinite
        relative = np.where(errors > 0, np.inf, 0.0)
        np.divide(errors, sizes, out=relative, where=sizes > 0)
        largest = float(relative.max(initial=0.0))
        return better, largest if largest >= 0 else np.inf

    def _residual(self, b, x):
        return self._solver.centered(b - self._times_sparsifier(x))

    def _solve(self, b):
        """M^+ b, as well as rounding lets it: the error is measured, not assumed."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return self._solver.solve(b)

    def _make_solver(self, backend, tol):
        return LaplacianSolver(
            self._sparsifier,
            solver=backend,
            ridge=self._ridge,
            tol=tol,
            n_solves=_MANY_SOLVES,
            random_state=self._rng,
        )

    def _orthonormal(self, block, scale=0.0, known=()):
        """Q and R with block = Q R apart from what is known, and the norm of what was taken out.

        The first pass finds the rank, on the given scale or else the block's own. Directions left
        then have norm 1, and one that a later pass shrinks by more than half was rounding. It ends
        when a pass finds next to nothing of what is known in the block.
        """
        coupling, removed, least = np.eye(block.shape[1]), 0.0, None
        for _ in range(_MOST_PASSES):
            block = self._solver.centered(block)
            image = self._times_sparsifier(block)
            overlaps = [part.T @ image for part in known]
            overlap = np.vstack([np.zeros((1, block.shape[1])), *overlaps])
            gram = block.T @ image - overlap.T @ overlap
            values, turn = np.linalg.eigh((gram + gram.T) / 2)
            if least is None:
                scale = max(scale, np.sqrt(max(values.max(initial=0.0), 0.0)))
                least = (_EXHAUSTED * scale) ** 2
                removed = np.linalg.norm(overlap)
            kept = values > least
            lost = (np.sqrt(values[~kept].clip(0))[:, None] * turn[:, ~kept].T) @ coupling
            removed = np.hypot(removed, np.linalg.norm(lost))
            for part, found in zip(known, overlaps, strict=True):
                block -= part @ found
            size = np.sqrt(values[kept])
            block = np.ascontiguousarray(block @ (turn[:, kept] / size))
            coupling = (size[:, None] * turn[:, kept].T) @ coupling
            is_orthogonal = np.abs(overlap).max(initial=0) < max(_OVERLAP, self.rounding)
            if least == _HALF and is_orthogonal and kept.all():
                break
            least = _HALF
        else:
            removed = np.hypot(removed, np.linalg.norm(coupling))
            block, coupling = block[:, :0], coupling[:0]
        return block, coupling, removed

    def _tolerance(self, n_columns):
        """Of solves: a wide start has more of every direction, and can bear larger errors."""
        if self._tol is not None or n_columns * self.dimension < _CHUNK // 8:
            return self._tol or _FINE
        return min(_TOL * n_columns**1.5 / np.sqrt(self.dimension), 1e-7)

    def _times_sparsifier(self, block):
        image = np.empty_like(block)
        multiply(self._solver.rows, block, image)
        return image


class _Window:
    """An orthonormal basis, and A projected on it; its outermost Ritz vectors stay."""

    def __init__(self, times_sparsifier, dimension, shape, rounding):
        n_nodes, n_columns = shape
        n_kept, room = (2, _ROOM) if n_columns <= _FEW else (n_columns, 6 * n_columns)
        whole = min(_SMALL * n_columns**2, _MOST_NUMBERS) // max(n_nodes, 1)
        self._rows = np.empty((min(max(room, whole), dimension), n_nodes))
        self._times_sparsifier, self._dimension = times_sparsifier, dimension
        self._projected = np.zeros((0, 0))
        self._rounding = rounding  # of a product
        self._before = 0  # vectors one step ago
        self._doubt = np.zeros((0, 0))  # S: y' `_projected` y is off by at most y' S y
        self._kept = [n_kept, n_kept]  # Ritz vectors, of the low end, and of the high
        self.is_whole = True  # nothing was left out yet

    @property
    def is_complete(self):
        """Whether the basis is one of the whole space."""
        return len(self._projected) == self._dimension

    @property
    def basis(self):
        """The vectors, as columns."""
        return self._rows[: len(self._projected)].T

    def ignore_end(self, end):
        """Let the other end have the room of this one."""
        if self._kept[1 - end]:
            self._kept[end], self._kept[1 - end] = 0, sum(self._kept)

    def ritz(self, found):
        """The lowest and the highest ratio, here or `found` before."""
        values, vectors = np.linalg.eigh(self._projected)
        low, high = [y @ self._doubt @ y for y in vectors.T[[0, -1]]]
        return np.array([min(found[0], values[0] + low), max(found[1], values[-1] - high)])

    def vector(self, end):
        _, vectors = np.linalg.eigh(self._projected)
        return vectors[:, -end] @ self._rows[: len(vectors)]

    def join(self, block, product, ritz):
        """Add what is new of an orthonormal block, given its product with A, and the `ritz` so far.

        With W the basis, what is new is block D - W K. Where much is taken out and little left, the
        errors of products weigh more, those of the directions that were taken out.
        """
        n_columns = block.shape[1]
        n_more = min(n_columns, self._dimension - len(self._projected))
        if len(self._projected) + n_more > len(self._rows):
            self._compress()
        self._before = size = len(self._projected)
        rows = self._rows[:size]
        sides, own = rows @ product, block.T @ product
        unit = self._rounding * np.hypot(np.linalg.norm(sides), np.linalg.norm(own))
        doubt = self._doubt + unit * np.eye(size)
        most = _DOUBT * ritz[0 if self._kept[0] else 1] if size else np.inf
        D, K, X, least = np.eye(n_columns), np.zeros((size, n_columns)), block, _UNIT
        for _ in range(0 if self.is_whole and n_more == n_columns else _MOST_PASSES):
            image = self._times_sparsifier(X)
            overlap = rows @ image
            gram = X.T @ image - overlap.T @ overlap
            values, turn = np.linalg.eigh((gram + gram.T) / 2)
            kept = values > least
            kept[: -min(n_more, kept.size)] = False
            D, K = D @ turn, (K + overlap) @ turn
            errors = 2 * unit * (D**2).sum(axis=0) + (K * (doubt @ K)).sum(axis=0)
            kept &= errors <= most * values
            turn, scale = turn[:, kept], np.sqrt(values[kept])
            D, K, least = D[:, kept] / scale, K[:, kept] / scale, _HALF
            X = np.ascontiguousarray((X - rows.T @ overlap) @ (turn / scale))
            off = max(np.abs(overlap).max(initial=0), np.abs(values - 1).max(initial=0))
            if off < max(_OVERLAP, self._rounding):
                break
        self.is_whole &= X.shape[1] == n_columns
        self._rows[size : size + X.shape[1]] = X.T
        self._projected = _bordered(self._projected, sides, own, D, K)
        self._doubt = _bordered(doubt, np.zeros_like(sides), 2 * unit * np.eye(n_columns), D, K)

    def _compress(self):
        """Keep what the outermost Ritz vectors span, of now and of one step before."""
        self.is_whole = False
        size, chosen = len(self._projected), np.zeros((len(self._projected), 0))
        for known in (size, self._before):
            _, vectors = np.linalg.eigh(self._projected[:known, :known])
            low, high = self._kept
            outermost = np.hstack([vectors[:, :low], vectors[:, max(known - high, low) :]])
            chosen = np.hstack([chosen, np.pad(outermost, ((0, size - known), (0, 0)))])
        basis, spread, _ = np.linalg.svd(chosen, full_matrices=False)
        basis = basis[:, spread > _SPREAD]
        self._projected = basis.T @ self._projected @ basis
        self._doubt = basis.T @ self._doubt @ basis
        for begin in range(0, self._rows.shape[1], _CHUNK):
            part = self._rows[:size, begin : begin + _CHUNK]
            part[: basis.shape[1]] = basis.T @ part


def _bordered(form, sides, own, D, K):
    """A form known on W, on a block (`own`) and between them, put on W and block D - W K."""
    edge = sides @ D - form @ K
    corner = D.T @ own @ D - D.T @ sides.T @ K - K.T @ edge
    return np.block([[form, edge], [edge.T, (corner + corner.T) / 2]])


def n_at_once(n_nodes):
    """Columns that are solved together: memory for few is enough for all."""
    return max(1, _SMALL // max(n_nodes, 1))


def _norms(x, image):
    return np.sqrt((x * image).sum(axis=0).clip(0))


def gaussian_start(graph, ridge, n_columns, rng):
    """B' W^(1/2) g + ridge^(1/2) g_0 with standard Gaussian g: its covariance is L + ridge I.

    M^+ times it has the covariance M^+, so that its component along every M-unit vector is a
    standard Gaussian number: an isotropic start. A Gaussian vector on the nodes is not.
    """
    flow = np.zeros((graph.n_nodes, n_columns))
    for begin in range(0, graph.n_edges, _CHUNK):
        part = graph.part(begin, begin + _CHUNK)
        random = rng.standard_normal((part.n_edges, n_columns))
        flow += part.incidence().T @ (np.sqrt(part.weight)[:, None] * random)
    if ridge > 0:
        flow += np.sqrt(ridge) * rng.standard_normal(flow.shape)
    return flow
