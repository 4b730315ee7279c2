"""The feature map of a dictionary, and the way from one dictionary's features to another's.

With K_II = L L' for the atoms I,

    z(x) = L^-1 k_I(x),      z(x)'z(y) = k_I(x)' K_II^+ k_I(y),

the Nystrom approximation; z(x) are the coordinates of phi(x) projected on the span of the atoms.
L comes from a Cholesky factorization with pivots, and atoms that depend on others open no
coordinate. The weights drop out. The regularized approximation

    k_I(x)' (K_II + g W^-1)^-1 k_I(y) = z(x)' R z(y)

is a matrix R in the same coordinates, because k_I(x) = B z(x), B = K_I,pivots L^-T. For an
(e, g)-accurate dictionary [C17, Lemma 4.3],

    0 <= K - K_unreg <= e g / (1 - e) I,      0 <= K - K_reg <= g / (1 - e) K (K + g I)^-1.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

__all__ = ["Embedding"]

_TOLERANCE = 1e-12  # of the largest diagonal entry: below it an atom depends on the others


class Embedding:
    """z(x) for the atoms of a dictionary.

    Parameters
    ----------
    kernel : object with k(X, Y)
    atoms : points that the kernel takes

    Attributes
    ----------
    pivots : ndarray
        The atoms that open a coordinate, in order.

    Examples
    --------
    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> twice = np.array([[2.0], [2.0]])     # one direction: phi(x) = x
    >>> Embedding(as_kernel("linear"), twice)(np.array([[3.0], [-1.0]]))
    array([[ 3.],
           [-1.]])
    """

    def __init__(self, kernel, atoms):
        self.kernel, self.atoms = kernel, atoms
        gram = kernel(atoms, atoms)
        tolerance = _TOLERANCE * np.max(np.diagonal(gram), initial=0.0)
        factor, order, rank, _ = lapack.dpstrf(gram, lower=1, tol=tolerance)
        rank = rank if tolerance > 0 else 0
        self.pivots = order[:rank] - 1
        self.factor = np.asfortranarray(np.tril(factor[:rank, :rank]))
        self._gram = gram

    @property
    def rank(self):
        """Number of coordinates."""
        return self.pivots.size

    def __call__(self, points):
        """z of every point, one row each."""
        return self.from_values(self.kernel(points, self.atoms[self.pivots]))

    def from_values(self, values):
        """z from kernel values to the pivots, one row per point."""
        if not self.rank:
            return np.zeros((len(values), 0))
        return scipy.linalg.solve_triangular(self.factor, values.T, lower=True).T

    def regularizer(self, weights, ridge):
        """F with z'F F'z the regularized approximation: R = F F'."""
        B = self.from_values(self._gram[:, self.pivots])
        shifted = self._gram + np.diag(ridge / weights)
        lower = scipy.linalg.cholesky(shifted, lower=True)
        return scipy.linalg.solve_triangular(lower, B, lower=True).T

    def map_from(self, older):
        """T with z(x) = T z_older(x) for what lies in the span of the older atoms.

        The rest of a point seen before, outside that span, is taken as zero.
        """
        return self(older.atoms[older.pivots]).T @ _inverse_transposed(older)


def _inverse_transposed(embedding):
    if not embedding.rank:
        return np.zeros((0, 0))
    identity = np.eye(embedding.rank)
    return scipy.linalg.solve_triangular(embedding.factor, identity, lower=True).T
