"""Points made ready for distances: checked, scaled where the metric asks for it, laid out.

Neighbors are ranked by the squared Euclidean distance d^2 between rows, under the metric "cosine"
between rows scaled to length one, where d^2 = 2 - 2 cos. A row of zeros has no direction; its
cosine with everything counts as 0, as in scikit-learn.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from graphsqueak.errors import InputError

__all__ = ["DensePoints", "SparsePoints", "prepare_points"]

_TOO_LARGE = 1e140  # squares of such differences, added up, stay finite


class DensePoints(NamedTuple):
    """Rows, the same as columns, and which rows have no direction."""

    rows: np.ndarray  # (n, d)
    columns: np.ndarray  # (d, n)
    blank: np.ndarray  # the rows at cosine 0 to everything

    @property
    def n(self):
        return self.rows.shape[0]

    def squared_norms(self):
        norms = np.einsum("ij,ij->i", self.rows, self.rows)
        norms[self.blank] = 1.0
        return norms


class SparsePoints(NamedTuple):
    """Rows in CSR form, the same in CSC form, and |x_i|^2."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    column_indptr: np.ndarray
    column_indices: np.ndarray
    column_data: np.ndarray
    norms: np.ndarray

    @property
    def n(self):
        return self.indptr.size - 1

    def squared_norms(self):
        return self.norms


def prepare_points(points, metric):
    """`DensePoints` or `SparsePoints` from what a user holds."""
    if scipy.sparse.issparse(points):
        return _prepare_sparse(points, metric)
    rows = _dense_rows(points)
    blank = np.zeros(0, dtype=np.int64)
    if metric == "cosine":
        # First by the largest entry, so that squares neither overflow nor vanish.
        rows = rows / _divisor(np.abs(rows).max(axis=1))[:, None]
        length = np.linalg.norm(rows, axis=1)
        blank = np.flatnonzero(length == 0)
        rows = rows / _divisor(length)[:, None]
    rows = np.ascontiguousarray(rows)
    return DensePoints(rows, np.ascontiguousarray(rows.T), blank)


def _dense_rows(points):
    try:
        rows = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"points of type {type(points).__name__} are no numbers; give a numeric array or a "
            "scipy sparse matrix, one row a point"
        ) from None
    _check_shape(rows.shape)
    _check_range(rows.ravel(), lambda index: index // rows.shape[1])
    return rows


def _prepare_sparse(points, metric):
    """CSR and CSC with sorted indices, so that every pair's products are added in one order."""
    _check_shape(points.shape)
    matrix = scipy.sparse.csr_array(points, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix = _without_empty_columns(matrix)
    _check_range(matrix.data, lambda index: np.searchsorted(matrix.indptr, index, "right") - 1)
    lengths = np.diff(matrix.indptr)
    if metric == "cosine":
        for norm in (np.inf, 2):
            scale = scipy.sparse.linalg.norm(matrix, norm, axis=1)
            matrix.data /= np.repeat(_divisor(scale), lengths)
    matrix.eliminate_zeros()
    norms = _row_squares(matrix)
    if metric == "cosine":
        norms[norms == 0] = 1.0
    columns = matrix.tocsc()
    return SparsePoints(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data,
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int32),
        columns.data,
        norms,
    )


def _without_empty_columns(matrix):
    """The same rows with the columns that hold an entry, in their order: distances do not change.

    Hashed features and files may announce billions of columns; memory then follows the entries.
    """
    used, indices = np.unique(matrix.indices, return_inverse=True)
    shape = (matrix.shape[0], max(used.size, 1))
    return scipy.sparse.csr_array((matrix.data, indices, matrix.indptr), shape=shape)


def _row_squares(matrix):
    """|x_i|^2, added in the order of the columns: to the last bit the product of equal rows."""
    norms = np.zeros(matrix.shape[0])
    np.add.at(norms, np.repeat(np.arange(norms.size), np.diff(matrix.indptr)), matrix.data**2)
    return norms


def _divisor(scale):
    """Rows of zeros stay as they are."""
    return np.where(scale > 0, scale, 1.0)


def _check_shape(shape):
    if len(shape) != 2 or 0 in shape:
        raise InputError(f"points of shape {shape} are no table; give one row a point, not empty")


def _check_range(values, row_of):
    good = np.abs(values) < _TOO_LARGE  # NaN is not
    if not good.all():
        first = int(np.argmin(good))
        raise InputError(
            f"point {row_of(first)} has the coordinate {values[first]}; drop such points, or give "
            "all in a larger unit"
        )
