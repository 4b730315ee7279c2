"""Lanczos on the pencil of two Laplacians, in the memory of a few vectors.

With A = L_G and M = L_H (both plus a ridge), T = M^+ A is self-adjoint for <x, y> = x' M y, and its
eigenvalues are the ratios mu = x' A x / x' M x. From an orthonormal block Q_1 each step multiplies
by A once and solves with M once:

    T Q_j = Q_{j-1} B_{j-1}' + Q_j A_j + Q_{j+1} B_j + F_j,      A_j = Q_j' A Q_j,

where F_j is what inexact solves and rounding add. No block but the last two is needed to go on.

*Windows.* To find the ratio at either end, and its vector, an orthonormal basis of a few vectors is
kept for each end, and A projected on it: its eigenvalues, the Ritz values, are ratios of true
vectors, whatever the accuracy of the solves. Every new block joins both windows. A full one is
compressed to its outermost Ritz vectors of now and of one step before. A Ritz vector moves nearly
along a line from step to step, as an iterate of conjugate gradients does, so that next to nothing
is lost against a basis of all blocks [SO10]. The blocks themselves are never restarted. When one
end does not matter any more, the other gets its room (`settle`).

*Orthogonality.* Blocks are made orthogonal to all before them while a window holds these, then to
the two before them, no more: what has been found comes back in later blocks. A window takes from a
vector only what is new to it, and nothing where that is so little that the projection of A would
suffer: how much it may have suffered is counted, and the Ritz values are on the safe side of it.
Constants on components, which no norm of M sees, are taken out. A direction not larger than
rounding, on the scale of T Q_j, ends.

References
----------
[SO10] Stathopoulos, Orginos. Computing and deflating eigenvalues while solving multiple right-hand
       side linear systems with an application to quantum chromodynamics. SIAM J. Scientific
       Computing 32(1), 2010.
"""

import warnings

import numba
import numpy as np

from graphsqueak.errors import ConvergenceWarning
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.solvers.matrix import multiply

__all__ = ["BlockLanczos", "gaussian_start"]

_ROOM = 20  # vectors of both windows together, for one or two columns; more for more
_SMALL = 2**19  # numbers that may be kept anyway
_DOUBT = 1e-5  # of a Ritz value, relative, that a window may have
_UNIT = 1e-14  # rounding of a product
_TOL = 3e-7  # of the solves, times what the start has of a direction, 1 / sqrt(dimension)
_FINE = 1e-11  # of the solves where that costs nothing
_EXHAUSTED = 1e-7  # norm, relative to that of T Q_j, below which a direction is rounding
_HALF = 0.25  # squared norm of a unit direction that has lost half of itself
_OVERLAP = 1e-9  # what a block may have of the two before it
_MOST_PASSES = 8  # of one orthogonalization
_MANY_SOLVES = 50  # a factorization pays
_SPREAD = 1e-8  # norm of a combination of unit vectors that is not rounding
_CHUNK = 2**16  # edges, or nodes, that are worked on at a time


class BlockLanczos:
    """Block Lanczos for T, with a window of Ritz vectors for either end.

    Parameters
    ----------
    sparsifier : EdgeList
        H.
    ridge : float
        Added to both Laplacians.
    n_columns : int
        Width of the first block, at most `dimension`.
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
    """

    def __init__(
        self,
        sparsifier: EdgeList,
        *,
        ridge: float,
        n_columns: int,
        random_state: RandomState = None,
    ) -> None:
        rng = np.random.default_rng(random_state)
        n_components = 0 if ridge > 0 else int(sparsifier.components().max(initial=-1)) + 1
        self.dimension = sparsifier.n_nodes - n_components
        self._ridge = ridge
        tol = _FINE if self.dimension < _CHUNK // 8 else _TOL / np.sqrt(self.dimension)
        self._solver = LaplacianSolver(
            sparsifier, ridge=ridge, tol=tol, n_solves=_MANY_SOLVES, random_state=rng
        )
        n_columns = min(n_columns, self.dimension)
        room = max(_ROOM, 10 * n_columns, min(2 * self.dimension, _SMALL // sparsifier.n_nodes))
        self._rows = np.empty((2 * (room // 2), sparsifier.n_nodes))
        self._windows = [
            _Window(part, end, self._times_sparsifier, self.dimension, n_columns)
            for end, part in enumerate(np.split(self._rows, 2))
        ]
        self._solve_error = tol
        self.diagonal: list[np.ndarray] = []
        self.coupling: list[np.ndarray] = []
        self.error = 0.0
        start = gaussian_start(sparsifier, ridge, n_columns, rng)
        block, _ = self._solved(start)
        self.newest, _, _ = self._orthonormal(block)
        self.n_columns = self.newest.shape[1]
        self._before = self.newest[:, :0]
        self.ritz = np.array([np.inf, 0.0])

    def narrow(self, n_columns: int) -> None:
        """Before the first step: go on with the first columns of the block alone."""
        self.newest = np.ascontiguousarray(self.newest[:, :n_columns])
        self.n_columns = self.newest.shape[1]

    def step(self, product: np.ndarray) -> None:
        """Take in the product L_G `newest`, solve with L_H, and make the next block."""
        product = self._solver.centered(product) + self._ridge * self.newest
        diagonal = self.newest.T @ product
        self.diagonal.append((diagonal + diagonal.T) / 2)
        for window in self._windows:
            window.join(self.newest, product)
        complete = [window for window in self._windows if window.is_complete]
        for window in self._windows:
            window.look(*complete[:1])
            self.ritz[window.end] = window.value
        block, scale = self._solved(product)
        block -= self.newest @ self.diagonal[-1]
        if self.coupling:
            block -= self._before @ self.coupling[-1].T
        whole = [window.basis for window in self._windows if window.is_whole]
        known = whole[:1] or [self.newest, self._before]
        newest, coupling, rounding = self._orthonormal(block, scale, known)
        if complete:
            newest, coupling = newest[:, :0], coupling[:0]
        self._before, self.newest = self.newest, newest
        self.coupling.append(coupling)
        self.error = float(np.hypot(self.error, rounding + 2 * self._solve_error * scale))

    def settle(self, end: int) -> None:
        """Do not look further for the lowest ratio (0) or for the highest (1)."""
        if len(self._windows) == 2:
            self._windows = [self._windows[1 - end]]
            self._windows[0].move(self._rows)

    def ritz_vector(self, end: int) -> np.ndarray | None:
        """The vector on the nodes that belongs to ritz[end], if that end was not settled."""
        return next((window.vector() for window in self._windows if window.end == end), None)

    def _solved(self, product):
        """M^+ product, column by column, in its place, and the largest M-norm of a column.

        After 1, 2, 4, 8, ... steps the residual is solved for, too: that shows the error.
        """
        n_steps = len(self.coupling)
        norms = np.zeros(product.shape[1])
        for k in range(product.shape[1]):
            b = product[:, k].copy()
            x = self._solve(b)
            size = np.sqrt(max(x @ b, 0.0))
            if n_steps & (n_steps - 1) == 0 and size > 0:
                rest = self._solver.centered(b - self._times_sparsifier(x[:, None])[:, 0])
                more = self._solve(rest)
                x += more
                self._solve_error = max(self._solve_error, np.sqrt(max(more @ rest, 0.0)) / size)
            product[:, k], norms[k] = x, size
        return product, norms.max(initial=0.0)

    def _solve(self, b):
        """M^+ b, as well as rounding lets it: the error is measured, not assumed."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return self._solver.solve(b)

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
            if least == _HALF and np.abs(overlap).max(initial=0) < _OVERLAP and kept.all():
                break
            least = _HALF
        else:
            removed = np.hypot(removed, np.linalg.norm(coupling))
            block, coupling = block[:, :0], coupling[:0]
        return block, coupling, removed

    def _times_sparsifier(self, block):
        image = np.empty_like(block)
        multiply(self._solver.rows, block, image)
        return image


class _Window:
    """An orthonormal basis in the given rows, A projected on it, and its outermost eigenvalue."""

    def __init__(self, rows, end, times_sparsifier, dimension, n_columns):
        self.end = end
        self.value = (np.inf, 0.0)[end]
        self._rows, self._kept = rows, max(2, n_columns)
        self._times_sparsifier, self._dimension = times_sparsifier, dimension
        self._projected = np.zeros((0, 0))
        self._before = 0  # vectors one step ago
        self._doubt = 0.0  # error of `_projected`
        self.is_whole = True  # nothing was left out yet

    def move(self, rows):
        """Go on in a larger room."""
        rows[: len(self._projected)] = self._rows[: len(self._projected)]
        self._rows, self._kept = rows, 2 * self._kept

    @property
    def is_complete(self):
        """Whether the basis is one of the whole space."""
        return len(self._projected) == self._dimension

    @property
    def basis(self):
        """The vectors, as columns."""
        return self._rows[: len(self._projected)].T

    def join(self, block, product):
        """Add what is new of a block, given its product with A."""
        room = min(len(self._rows), self._dimension)
        if room < min(len(self._projected) + block.shape[1], self._dimension):
            self._compress()
        self._before = len(self._projected)
        for k in range(min(block.shape[1], room - self._before)):
            self._join_vector(np.ascontiguousarray(block[:, k]), product[:, k])

    def look(self, complete=None):
        """Find the outermost eigenvalue, in the basis of a complete window if there is one."""
        if complete is not None:
            self._rows, self._projected = complete._rows, complete._projected
            self._doubt = complete._doubt
        value = np.linalg.eigvalsh(self._projected)[-self.end]
        if self.end == 0:
            self.value = min(self.value, value + self._doubt)
        else:
            self.value = max(self.value, value - self._doubt)

    def vector(self):
        _, vectors = np.linalg.eigh(self._projected)
        return vectors[:, -self.end] @ self._rows[: len(vectors)]

    def _join_vector(self, x, product):
        size = len(self._projected)
        basis, known = self._rows[:size], np.zeros(size)
        for _ in range(3):
            image = self._times_sparsifier(x[:, None])[:, 0]
            norm = np.sqrt(max(x @ image, 0.0))
            overlap = basis @ image
            known, x = known + overlap, x - overlap @ basis
            if np.abs(overlap).max(initial=0.0) <= 1e-12 * norm:
                break
        if norm**2 <= _UNIT:
            self.is_whole = False
            return
        x /= norm
        column = basis @ product
        rounding = _UNIT * np.hypot(np.linalg.norm(column), x @ product) / norm**2
        doubt = (1 + known @ known / norm**2) * self._doubt + rounding
        if size and doubt > _DOUBT * self.value:
            self.is_whole = False
            return
        column = (column - self._projected @ known) / norm
        own = (x @ product - column @ known) / norm
        self._rows[size], self._doubt = x, doubt
        self._projected = np.pad(self._projected, (0, 1))
        self._projected[size] = self._projected[:, size] = np.append(column, own)

    def _compress(self):
        """Keep what the outermost Ritz vectors span, of now and of one step before."""
        self.is_whole = False
        size, chosen = len(self._projected), np.zeros((len(self._projected), 0))
        for known in (size, self._before):
            _, vectors = np.linalg.eigh(self._projected[:known, :known])
            outermost = vectors[:, -self._kept :] if self.end else vectors[:, : self._kept]
            chosen = np.hstack([chosen, np.pad(outermost, ((0, size - known), (0, 0)))])
        basis, spread, _ = np.linalg.svd(chosen, full_matrices=False)
        basis = basis[:, spread > _SPREAD]
        self._projected = basis.T @ self._projected @ basis
        for begin in range(0, self._rows.shape[1], _CHUNK):
            part = self._rows[:size, begin : begin + _CHUNK]
            part[: basis.shape[1]] = basis.T @ part


def gaussian_start(graph, ridge, n_columns, rng):
    """B' W^(1/2) g + ridge^(1/2) g_0 with standard Gaussian g: its covariance is L + ridge I.

    M^+ times it has the covariance M^+, so that its component along every M-unit vector is a
    standard Gaussian number: an isotropic start. A Gaussian vector on the nodes is not.
    """
    flow = np.zeros((graph.n_nodes, n_columns))
    for begin in range(0, graph.n_edges, _CHUNK):
        part = graph.part(begin, begin + _CHUNK)
        random = rng.standard_normal((part.n_edges, n_columns))
        _add_flows(part.tail, part.head, np.sqrt(part.weight)[:, None] * random, flow)
    if ridge > 0:
        flow += np.sqrt(ridge) * rng.standard_normal(flow.shape)
    return flow


@numba.njit(cache=True, nogil=True)
def _add_flows(tail, head, flow, out):
    for e in range(tail.size):
        for k in range(out.shape[1]):
            out[tail[e], k] += flow[e, k]
            out[head[e], k] -= flow[e, k]
