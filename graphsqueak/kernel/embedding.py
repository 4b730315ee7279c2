"""The Nystrom feature map of a set of landmarks, and sums of its features over a stream.

With K_II = L L' for the landmarks I, the features

    z(x) = L^-1 k_I(x),      z(x)'z(y) = k_I(x)' K_II^+ k_I(y),

are the coordinates of phi(x) projected on the span of the landmarks, and their inner products are
the Nystrom approximation of the kernel. L is from a Cholesky factorization with pivots: a landmark
that depends on others adds no coordinate. The weights of the landmarks cancel. The regularized
approximation

    k_I(x)' (K_II + g W^-1)^-1 k_I(y) = z(x)' R z(y)

is a matrix R in the same coordinates, because k_I(x) = B z(x) with B = K_I,pivots L^-T. For an
(e, g)-accurate dictionary [C17, Lemma 4.3],

    0 <= K - K_unreg <= e g / (1 - e) I,      0 <= K - K_reg <= g / (1 - e) K (K + g I)^-1.

Regression and principal components need sums over all points,

    G = sum z z',     b = sum z y',     total = sum z,     n.

If the landmarks change while a stream is read, z of earlier points cannot be computed again. Their
part in the old span is known exactly, z_new = T z_old, and the rest is small for an accurate
dictionary. So the sums become

    T G T',     T b,     T total,     n.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from graphsqueak.errors import InputError
from graphsqueak.kernel.kernels import Kernel, row_chunks


class NystromEmbedding:
    """Features z(x) = L^-1 k_I(x) for a set of landmarks I.

    Parameters
    ----------
    kernel : Kernel or None
        As returned by `as_kernel`. None if points will be given by their kernel values only.
    landmarks : ndarray
        Points that the kernel takes.
    gram : ndarray, optional
        Kernel matrix of the landmarks, needed if `kernel` is None.

    Attributes
    ----------
    pivots : ndarray
        Positions of the landmarks that add a coordinate, in order.
    factor : ndarray
        L.
    rank : int
        Number of coordinates.

    Examples
    --------
    Both landmarks are in one direction, so that z has one coordinate, x itself:

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> twice = np.array([[2.0], [2.0]])
    >>> NystromEmbedding(as_kernel("linear"), twice)(np.array([[3.0], [-1.0]]))
    array([[ 3.],
           [-1.]])
    """

    def __init__(
        self, kernel: Kernel | None, landmarks: np.ndarray, *, gram: np.ndarray | None = None
    ) -> None:
        self.kernel = kernel
        self.landmarks = landmarks
        if gram is None:
            if kernel is None:
                raise InputError(
                    "an embedding needs a kernel or the kernel matrix of its landmarks"
                )
            gram = kernel(landmarks, landmarks)
        self._gram = gram
        # Below a residual of 1e-12 of the largest diagonal entry, a landmark depends on the others:
        # the entries of L are the square roots, with six correct digits.
        tolerance = 1e-12 * np.max(np.diagonal(self._gram), initial=0.0)
        factor, order, rank, _ = lapack.dpstrf(self._gram, lower=1, tol=tolerance)
        # LAPACK reports rank 1 for a matrix of zeros.
        rank = rank if tolerance > 0 else 0
        self.pivots = order[:rank] - 1
        self.factor = np.asfortranarray(np.tril(factor[:rank, :rank]))

    @property
    def rank(self) -> int:
        """Number of coordinates."""
        return self.pivots.size

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return z of every point, one row each."""
        if self.kernel is None:
            raise InputError("this embedding was fitted to a kernel matrix; call from_values")
        return self.from_values(self.kernel(points, self.landmarks[self.pivots]))

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """Return z from kernel values to the pivots, one row per point."""
        return scipy.linalg.solve_triangular(self.factor, values.T, lower=True).T

    def regularizer(self, weights: np.ndarray, ridge: float) -> np.ndarray:
        """Return F with R = F F', where z(x)' R z(y) is the regularized approximation."""
        B = self.from_values(self._gram[:, self.pivots])
        shifted = self._gram + np.diag(ridge / weights)
        lower = scipy.linalg.cholesky(shifted, lower=True)
        return scipy.linalg.solve_triangular(lower, B, lower=True).T

    def map_from(self, older: "NystromEmbedding") -> np.ndarray:
        """Return T with z(x) = T z_older(x) for all x in the span of the older landmarks.

        The part of x outside that span is mapped to zero.
        """
        return older.from_values(self(older.landmarks[older.pivots]).T)


@dataclass(frozen=True)
class FeatureSums:
    """Sums of z z', z y' and z over points, in the coordinates of an embedding.

    Examples
    --------
    z = x for the landmark 2, and z = (x, 0) for the landmarks (2, 0) and (0, 1) in the plane:

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> line = NystromEmbedding(as_kernel("linear"), np.array([[2.0, 0.0]]))
    >>> x = np.array([[3.0, 0.0], [1.0, 0.0]])
    >>> sums = FeatureSums.zeros(line, n_targets=1).add(line, x, np.ones((2, 1)))
    >>> sums.gram, sums.moment, sums.n_points
    (array([[10.]]), array([[4.]]), 2)
    >>> plane = NystromEmbedding(as_kernel("linear"), np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> sums.project(plane).gram
    array([[10.,  0.],
           [ 0.,  0.]])
    """

    embedding: NystromEmbedding
    gram: np.ndarray
    moment: np.ndarray
    total: np.ndarray
    n_points: int

    @classmethod
    def zeros(cls, embedding: NystromEmbedding, *, n_targets: int) -> "FeatureSums":
        """Return the sums over no points."""
        m = embedding.rank
        return cls(embedding, np.zeros((m, m)), np.zeros((m, n_targets)), np.zeros(m), 0)

    def add(
        self, features: Callable[[np.ndarray], np.ndarray], points: np.ndarray, y: np.ndarray
    ) -> "FeatureSums":
        """Return the sums with more points and their targets; `features` computes their z."""
        gram = self.gram
        moment = self.moment
        total = self.total
        # A chunk has as many numbers as a block of kernel values.
        for part in row_chunks(len(points), max(len(gram), points.shape[1])):
            z = features(points[part])
            gram = gram + z.T @ z
            moment = moment + z.T @ y[part]
            total = total + z.sum(axis=0)
        return FeatureSums(self.embedding, gram, moment, total, self.n_points + len(points))

    def project(self, embedding: NystromEmbedding) -> "FeatureSums":
        """Return the sums in the coordinates of another embedding."""
        if embedding is self.embedding:
            return self
        T = embedding.map_from(self.embedding)
        return FeatureSums(
            embedding, T @ self.gram @ T.T, T @ self.moment, T @ self.total, self.n_points
        )
