"""The feature map of a dictionary, and sums of features that move on to the next dictionary.

With K_II = L L' for the atoms I,

    z(x) = L^-1 k_I(x),      z(x)'z(y) = k_I(x)' K_II^+ k_I(y),

the Nystrom approximation; z(x) are the coordinates of phi(x) projected on the span of the atoms.
L comes from a Cholesky factorization with pivots, and atoms that depend on others open no
coordinate. The weights drop out. The regularized approximation

    k_I(x)' (K_II + g W^-1)^-1 k_I(y) = z(x)' R z(y)

is a matrix R in the same coordinates, because k_I(x) = B z(x), B = K_I,pivots L^-T. For an
(e, g)-accurate dictionary [C17, Lemma 4.3],

    0 <= K - K_unreg <= e g / (1 - e) I,      0 <= K - K_reg <= g / (1 - e) K (K + g I)^-1.

Sums over features are kept while points pass by,

    G = sum z z',     b = sum z y',     total = sum z,     n.

When the dictionary changes, z of the points that are gone is not known any more; what lay in the
old span is known exactly, z_new = T z_old, and the rest was small for an accurate dictionary:

    G <- T G T',     b <- T b,     total <- T total.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from graphsqueak.errors import InputError
from graphsqueak.kernel.kernels import Kernel, row_chunks

__all__ = ["CarriedSums", "Embedding", "FeatureSums"]

_TOLERANCE = 1e-12  # of the largest diagonal entry: below it an atom depends on the others


class Embedding:
    """z(x) for the atoms of a dictionary.

    Parameters
    ----------
    kernel : object with k(X, Y)
        As `as_kernel` makes it.
    atoms : ndarray
        Points that the kernel takes.

    Attributes
    ----------
    pivots : ndarray
        The atoms that open a coordinate, in order.
    rank : int
        Number of coordinates.

    Examples
    --------
    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> twice = np.array([[2.0], [2.0]])     # one direction: phi(x) = x
    >>> Embedding(as_kernel("linear"), twice)(np.array([[3.0], [-1.0]]))
    array([[ 3.],
           [-1.]])
    """

    def __init__(self, kernel: Kernel, atoms: np.ndarray) -> None:
        self.kernel: Kernel | None = kernel
        self.atoms = atoms
        gram = kernel(atoms, atoms)
        tolerance = _TOLERANCE * np.max(np.diagonal(gram), initial=0.0)
        factor, order, rank, _ = lapack.dpstrf(gram, lower=1, tol=tolerance)
        rank = rank if tolerance > 0 else 0
        self.pivots = order[:rank] - 1
        self.factor = np.asfortranarray(np.tril(factor[:rank, :rank]))
        self._gram = gram

    @property
    def rank(self) -> int:
        """Number of coordinates."""
        return self.pivots.size

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """z of every point, one row each."""
        if self.kernel is None:
            raise InputError("this embedding was fitted to a kernel matrix; call from_values")
        return self.from_values(self.kernel(points, self.atoms[self.pivots]))

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """z from kernel values to the pivots, one row per point."""
        if not self.rank:
            return np.zeros((len(values), 0))
        return scipy.linalg.solve_triangular(self.factor, values.T, lower=True).T

    def regularizer(self, weights: np.ndarray, ridge: float) -> np.ndarray:
        """F with z'F F'z the regularized approximation: R = F F'."""
        B = self.from_values(self._gram[:, self.pivots])
        shifted = self._gram + np.diag(ridge / weights)
        lower = scipy.linalg.cholesky(shifted, lower=True)
        return scipy.linalg.solve_triangular(lower, B, lower=True).T

    def release_kernel(self) -> None:
        """Let go of the kernel, which may be a large matrix; from now on `from_values` only."""
        self.kernel = None

    def map_from(self, older: "Embedding") -> np.ndarray:
        """T with z(x) = T z_older(x) for what lies in the span of the older atoms.

        The rest of a point seen before, outside that span, is taken as zero.
        """
        return self(older.atoms[older.pivots]).T @ _inverse_transposed(older)


class FeatureSums(NamedTuple):
    """Sums of z z', z y' and z over all points so far, and their number.

    >>> one = FeatureSums(np.array([[4.0]]), np.array([[2.0]]), np.array([2.0]), 1)
    >>> one.transform(np.array([[1.0], [3.0]])).gram
    array([[ 4., 12.],
           [12., 36.]])
    """

    gram: np.ndarray
    moment: np.ndarray
    total: np.ndarray
    n_points: int

    def transform(self, T: np.ndarray) -> "FeatureSums":
        """The sums of the features T z."""
        return FeatureSums(T @ self.gram @ T.T, T @ self.moment, T @ self.total, self.n_points)


class CarriedSums:
    """Sums of the features of an embedding that may be replaced by another at any time."""

    def __init__(self, basis: Embedding, *, n_targets: int) -> None:
        m = basis.rank
        self.basis = basis
        self._sums = FeatureSums(np.zeros((m, m)), np.zeros((m, n_targets)), np.zeros(m), 0)

    def rebase(self, basis: Embedding) -> None:
        """Go over to the features of another embedding."""
        if basis is not self.basis:
            self._sums, self.basis = self._sums.transform(basis.map_from(self.basis)), basis

    def add(
        self, features: Callable[[np.ndarray], np.ndarray], points: np.ndarray, y: np.ndarray
    ) -> None:
        """Take in points with targets y (rows), chunk by chunk; `features(chunk)` makes their z."""
        gram, moment, total, n_points = self._sums
        for part in row_chunks(len(points), max(len(gram), points.shape[1])):
            z = features(points[part])
            gram, moment = gram + z.T @ z, moment + z.T @ y[part]
            total, n_points = total + z.sum(axis=0), n_points + len(z)
        self._sums = FeatureSums(gram, moment, total, n_points)

    def project(self, embedding: Embedding) -> FeatureSums:
        """The sums in the coordinates of another embedding, which may span less."""
        if embedding is self.basis:
            return self._sums
        return self._sums.transform(embedding.map_from(self.basis))


def _inverse_transposed(embedding):
    if not embedding.rank:
        return np.zeros((0, 0))
    identity = np.eye(embedding.rank)
    return scipy.linalg.solve_triangular(embedding.factor, identity, lower=True).T
