"""Sums over features, kept while points pass by and carried from one dictionary to the next.

    G = sum z z',     b = sum z y',     total = sum z,     n.

When the dictionary changes, z of the points that are gone is not known any more; what lay in the
old span is known exactly, z_new = T z_old, and the rest was small for an accurate dictionary:

    G <- T G T',     b <- T b,     total <- T total.

A stream may hold more atoms than it shows. Sums are carried on all that it holds and on its first
two hundred points, and only looked at through the few atoms that it shows: atoms that come late
would otherwise find nothing about the points before them.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.kernel.kernels import row_chunks

__all__ = ["CarriedSums", "FeatureSums"]


class FeatureSums(NamedTuple):
    """Sums of z z', z y' and z over all points so far, and their number.

    >>> one = FeatureSums(np.array([[4.0]]), np.array([[2.0]]), np.array([2.0]), 1)
    >>> one.moved(np.array([[1.0], [3.0]])).gram
    array([[ 4., 12.],
           [12., 36.]])
    """

    gram: np.ndarray
    moment: np.ndarray
    total: np.ndarray
    n_points: int

    def moved(self, T):
        """The sums of the features T z."""
        return FeatureSums(T @ self.gram @ T.T, T @ self.moment, T @ self.total, self.n_points)


class CarriedSums:
    """Sums of the features of an embedding that may be replaced by another at any time."""

    def __init__(self, basis, *, n_targets):
        m = basis.rank
        self.basis = basis
        self._sums = FeatureSums(np.zeros((m, m)), np.zeros((m, n_targets)), np.zeros(m), 0)

    def rebase(self, basis):
        """Go over to the features of another embedding."""
        if basis is not self.basis:
            self._sums, self.basis = self._sums.moved(basis.map_from(self.basis)), basis

    def add(self, features, points, y):
        """Take in points with targets y (rows), chunk by chunk; `features(chunk)` makes their z."""
        gram, moment, total, n_points = self._sums
        for part in row_chunks(len(points), max(len(gram), points.shape[1])):
            z = features(points[part])
            gram, moment = gram + z.T @ z, moment + z.T @ y[part]
            total, n_points = total + z.sum(axis=0), n_points + len(z)
        self._sums = FeatureSums(gram, moment, total, n_points)

    def seen_from(self, embedding):
        """The sums, as far as this embedding can tell."""
        if embedding is self.basis:
            return self._sums
        return self._sums.moved(embedding.map_from(self.basis))
