"""Block Lanczos on the pencil of two Laplacians, and where no eigenvalue can hide.

With A = L_G and M = L_H (both plus a ridge), T = M^+ A is self-adjoint for <x, y> = x' M y, and its
eigenvalues are the ratios mu = x' A x / x' M x. From an orthonormal block Q_1 each step multiplies
by A once and solves with M once:

    T [Q_1 ... Q_k] = [Q_1 ... Q_k] T_k + Q_{k+1} B_k E_k',

with T_k = Q' A Q taken from the products themselves, so that its eigenvalues, the Ritz values, are
ratios mu of true vectors whatever the accuracy of the solves. Every block is made orthogonal to
all before it, twice. A block narrows when directions are exhausted; without a residual left, the
Ritz values are eigenvalues.

*Outer bounds.* Let u be a unit eigenvector of T with eigenvalue mu outside the Ritz values,
g = u' M Q_1 its component in the start, z = u' M Q_{k+1} that in the newest block and
c = u' M [Q_1 ... Q_k]. Multiplying the recurrence by u' M gives

    c = z R,     g = z P,     R = B_k E_k' (mu - T_k)^-1,     P = R E_1.

All blocks together are orthonormal, so |z|^2 + |z R|^2 <= 1, and

    |g|^2  <=  max_z |z P|^2 / (|z|^2 + |z R|^2)  =  largest eigenvalue of P' (I + R R')^-1 P.

The start was isotropic and s wide in a space of N dimensions, so |g|^2 follows the distribution
Beta(s/2, (N - s)/2) whatever u is, and with probability 1 - delta/2 it is above its
delta/2-quantile t^2. Then mu cannot lie where the right-hand side is below t^2. That event does
not depend on k: the best bounds over all steps hold together.

For one column, 1/P is the Lanczos polynomial, which grows outwards, and |g| <= |P| the bound of
[DHV00]; R saves about a tenth of the steps. For a block the norm need not fall outwards, so the
outermost crossing is looked for. Inexact products and solves and dropped directions add at most
`_SLACK` / |mu - ritz| to |g|.

References
----------
[DHV00] van Dorsselaer, Hochstenbach, van der Vorst. Computing probabilistic bounds for extreme
        eigenvalues of symmetric matrices with the Lanczos method. SIAM J. Matrix Analysis 22(3),
        2000.
"""

import numpy as np
from scipy.special import betaincinv

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.solvers.matrix import multiply
from graphsqueak.system.kernels import compiled

__all__ = ["BlockLanczos", "OuterBounds", "gaussian_start", "outer_bounds", "smallest_component"]

_EXHAUSTED = 1e-7  # norm, relative to T's, below which a direction is rounding
_HALF = 0.25  # squared norm of a unit direction that has lost half of itself
_OVERLAP = 1e-6  # what a pass may still find of the basis; it leaves less than a millionth of that
_MOST_PASSES = 8
_CHUNK = 2**16  # edges whose random numbers are drawn at a time
_SLACK = 1e-7
_STEPS = np.geomspace(1e-7, 1e6, 192)  # outwards, in widths of the Ritz interval


class BlockLanczos:
    """Krylov space of T, one block wider with every step.

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
    newest : ndarray of shape (n_nodes, columns)
        The block to be multiplied by L_G next; without columns when nothing is left to find.
    ritz : ndarray
        Eigenvalues of T_k, ascending.
    first, last : ndarray
        E_1' U and B_k E_k' U for the eigenvectors U of T_k: what is known of the start and of the
        residual.
    """

    def __init__(
        self, sparsifier: EdgeList, *, ridge: float, n_columns: int, random_state: RandomState
    ) -> None:
        rng = np.random.default_rng(random_state)
        self._ridge = ridge
        self._solver = LaplacianSolver(sparsifier, ridge=ridge, tol=1e-8, random_state=rng)
        n_components = 0 if ridge > 0 else int(sparsifier.components().max(initial=-1)) + 1
        self.dimension = sparsifier.n_nodes - n_components
        start = gaussian_start(sparsifier, ridge, min(n_columns, self.dimension), rng)
        self._basis: list[np.ndarray] = []
        self._small = np.zeros((0, 0))
        self.newest, _ = self._orthonormal(self._solver.solve(start))
        self.n_columns = self.newest.shape[1]

    def step(self, product: np.ndarray) -> None:
        """Take in the product L_G `newest`, solve with L_H, and make the next block."""
        self._basis.append(self.newest)
        product = self._solver.centered(product) + self._ridge * self.newest
        self._append(np.vstack([block.T @ product for block in self._basis]))
        self.ritz, self._vectors = np.linalg.eigh(self._small)
        self.first = self._vectors[: self.n_columns]
        self.newest, coupling = self._orthonormal(self._solver.solve(product))
        self.last = coupling @ self._vectors[-product.shape[1] :]

    def ritz_vector(self, index: int) -> np.ndarray:
        """The vector on the nodes that belongs to ritz[index]."""
        coefficients, end = self._vectors[:, index], 0
        x = np.zeros(len(self.newest))
        for block in self._basis:
            x = x + block @ coefficients[end : end + block.shape[1]]
            end += block.shape[1]
        return x

    def _append(self, column):
        """Grow T_k by a block of columns, and by the same rows."""
        size, n_new = self._small.shape[0], column.shape[1]
        grown = np.zeros((size + n_new, size + n_new))
        grown[:size, :size] = self._small
        grown[:, size:] = column
        grown[size:, :size] = column[:size].T
        grown[size:, size:] = (column[size:] + column[size:].T) / 2
        self._small = grown

    def _orthonormal(self, block):
        """Q and R with block = Q R, apart from what the basis holds; exhausted directions go.

        The first pass finds the rank, on the block's own scale. Directions left then have norm 1,
        and one that a later pass shrinks by more than half was rounding. It ends when a pass
        finds next to nothing of the basis in the block.
        """
        coupling, image = np.eye(block.shape[1]), self._times_sparsifier(block)
        least = (_EXHAUSTED**2) * np.einsum("ik,ik->k", block, image).max(initial=0.0)
        room = self.dimension - sum(known.shape[1] for known in self._basis)
        for _ in range(_MOST_PASSES):
            overlap = 0.0
            for known in self._basis:
                found = known.T @ image
                overlap = max(overlap, np.abs(found).max(initial=0.0))
                block = block - known @ found
            gram = block.T @ self._times_sparsifier(block)
            values, turn = np.linalg.eigh((gram + gram.T) / 2)
            kept = values > least
            kept[: max(values.size - room, 0)] = False
            size = np.sqrt(values[kept])
            block = self._solver.centered(block @ (turn[:, kept] / size))
            coupling = (size[:, None] * turn[:, kept].T) @ coupling
            if least == _HALF and overlap < _OVERLAP and kept.all():
                return block, coupling
            least, image = _HALF, self._times_sparsifier(block)
        return block[:, :0], coupling[:0]

    def _times_sparsifier(self, block):
        block = np.ascontiguousarray(block)
        image = np.empty_like(block)
        multiply(self._solver.rows, block, image)
        return image


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


def smallest_component(delta, n_columns, dimension):
    """What an isotropic orthonormal block has of a given unit vector, with probability 1 - delta.

    For one column of a plane, g = |cos(angle)| of a random angle:

    >>> round(float(smallest_component(0.5, 1, 2)), 4)  # cos(45 degrees)
    0.7071
    """
    if n_columns >= dimension:
        return 1.0
    return np.sqrt(betaincinv(n_columns / 2, (dimension - n_columns) / 2, delta))


class OuterBounds:
    """The best bounds from outside over all steps of a `BlockLanczos`.

    Parameters
    ----------
    run : BlockLanczos
        Before its first step.
    delta : float
        Half of it is the probability that `low` fails, half that `high` does.

    Attributes
    ----------
    low, high : float
        Between them lie all eigenvalues.
    """

    def __init__(self, run: BlockLanczos, *, delta: float) -> None:
        self._t = smallest_component(delta / 2, run.n_columns, run.dimension)
        self.low, self.high = 0.0, np.inf

    def update(self, run: BlockLanczos) -> "OuterBounds":
        """Take in a step.

        An eigenvalue found outside shows that an earlier bound was one of those that fail.
        """
        low, high = outer_bounds(run.ritz, run.first, run.last, self._t)
        self.low = max(self.low, low) if self.low <= run.ritz[0] else low
        self.high = min(self.high, high) if run.ritz[-1] <= self.high else high
        return self


def outer_bounds(ritz, first, last, t):
    """Interval outside which no eigenvalue has a component of t or more in the start.

    Parameters
    ----------
    ritz, first, last : ndarray
        The attributes of a `BlockLanczos`.
    t : float

    Returns
    -------
    low, high : float
        `low` is at least 0, as all eigenvalues are.
    """
    width = max(ritz[-1] - ritz[0], 1e-3 * ritz[-1])
    if last.size == 0:  # no residual: the Ritz values are eigenvalues
        last = np.zeros((1, ritz.size))

    def hides(mu):
        gap = mu[:, None] - ritz
        R = last / gap[:, None, :]
        P = R @ first.T
        size, turn = np.linalg.eigh(R @ R.transpose(0, 2, 1))
        shrunk = (turn.transpose(0, 2, 1) @ P) / np.sqrt(1 + size.clip(0))[:, :, None]
        largest = np.linalg.norm(shrunk, ord=2, axis=(1, 2))
        return largest + _SLACK * ritz[-1] / np.abs(gap).min(axis=1) >= t

    high = ritz[-1] + _outermost(lambda steps: hides(ritz[-1] + steps), width)
    low = ritz[0] - _outermost(lambda steps: hides(ritz[0] - steps), width)
    return max(low, 0.0), high


def _outermost(is_possible, width):
    """The largest step at which `is_possible`, found on a geometric grid and then on finer ones."""
    steps = width * _STEPS
    for _ in range(3):
        possible = np.flatnonzero(is_possible(steps))
        if possible.size == 0:
            return steps[0]
        last = min(possible[-1], steps.size - 2)
        steps = np.geomspace(steps[last], steps[last + 1], 16)
    return steps[-1]


@compiled
def _add_flows(tail, head, flow, out):
    for e in range(tail.size):
        for k in range(out.shape[1]):
            out[tail[e], k] += flow[e, k]
            out[head[e], k] -= flow[e, k]
