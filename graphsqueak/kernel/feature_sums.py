"""Sums over features, kept while points pass by and carried from one dictionary to the next.

    G = sum z z',     b = sum z y',     total = sum z,     n.

When the dictionary changes, z of the points that are gone is not known any more; what lay in the
old span is known exactly, z_new = T z_old, and the rest was small for an accurate dictionary:

    G <- T G T',     b <- T b,     total <- T total.
"""

import numpy as np

from graphsqueak.kernel.kernels import row_chunks

__all__ = ["FeatureSums"]


class FeatureSums:
    """Sums of features z, and of z y', of all points so far.

    >>> sums = FeatureSums(n_features=2, n_targets=1)
    >>> sums.add(np.array([[1.0, 2.0]]), np.array([[3.0]]))
    >>> sums.move(np.array([[1.0, 1.0]]))
    >>> sums.gram, sums.moment, sums.n_points
    (array([[9.]]), array([[9.]]), 1)
    """

    def __init__(self, *, n_features, n_targets):
        self.gram = np.zeros((n_features, n_features))
        self.moment = np.zeros((n_features, n_targets))
        self.total = np.zeros(n_features)
        self.n_points = 0

    def add(self, z, y):
        """Take in points with features z (rows) and targets y (rows)."""
        self.gram += z.T @ z
        self.moment += z.T @ y
        self.total += z.sum(axis=0)
        self.n_points += len(z)

    def add_all(self, features, points, y):
        """Take in many points, chunk by chunk; `features(chunk)` makes their z."""
        for part in row_chunks(len(points), max(len(self.gram), points.shape[1])):
            self.add(features(points[part]), y[part])

    def move(self, T):
        """Go over to the features T z."""
        self.gram = T @ self.gram @ T.T
        self.moment = T @ self.moment
        self.total = T @ self.total
