"""Points prepared for distances: checked, normalized for the cosine, stored by rows and columns.

Neighbors are ranked by the squared Euclidean distance d^2 between rows. Under the metric "cosine"
rows are scaled to length one, so that d^2 = 2 - 2 cos. The cosine of a row of zeros with any row is
0, as in scikit-learn.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from graphsqueak.errors import InputError


class DensePoints(NamedTuple):
    """Dense points.

    Attributes
    ----------
    rows : ndarray of shape (n, d), C order
    columns : ndarray of shape (d, n), C order
        The transpose.
    zero_rows : ndarray of int
        Rows of zeros, under the cosine.
    norms : ndarray of shape (n,)
        Squared norms; 1 for rows of zeros under the cosine, so that their cosines are 0.
    """

    rows: np.ndarray
    columns: np.ndarray
    zero_rows: np.ndarray
    norms: np.ndarray

    @property
    def n(self):
        return self.rows.shape[0]


class SparsePoints(NamedTuple):
    """Sparse points in CSR and in CSC form, and their squared norms."""

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


def prepare_points(points, metric):
    """Return `DensePoints` or `SparsePoints`.

    >>> prepare_points([[3.0, 4.0], [0.0, 2.0]], "cosine").rows
    array([[0.6, 0.8],
           [0. , 1. ]])
    """
    if scipy.sparse.issparse(points):
        return _prepare_sparse(points, metric)
    rows = _dense_rows(points)
    zero_rows = np.zeros(0, dtype=np.int64)
    if metric == "cosine":
        # First by the largest entry, so that squares neither overflow nor underflow.
        rows = rows / _one_if_zero(np.abs(rows).max(axis=1))[:, None]
        length = np.linalg.norm(rows, axis=1)
        zero_rows = np.flatnonzero(length == 0)
        rows = rows / _one_if_zero(length)[:, None]
    rows = np.ascontiguousarray(rows)
    norms = np.einsum("ij,ij->i", rows, rows)
    norms[zero_rows] = 1.0
    return DensePoints(rows, np.ascontiguousarray(rows.T), zero_rows, norms)


def _dense_rows(points):
    try:
        rows = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"points of type {type(points).__name__} are not numbers; pass a numeric array or a "
            "scipy sparse matrix with one row per point"
        ) from None
    _check_shape(rows.shape)
    _check_range(rows.ravel(), rows.shape[1], lambda index: index // rows.shape[1])
    return rows


def _prepare_sparse(points, metric):
    _check_shape(points.shape)
    matrix = scipy.sparse.csr_array(points, dtype=np.float64, copy=True)
    # Also sorts the indices: the products of all pairs are then summed in one order.
    matrix.sum_duplicates()
    matrix = _drop_empty_columns(matrix)
    _check_range(
        matrix.data,
        matrix.shape[1],
        lambda index: np.searchsorted(matrix.indptr, index, "right") - 1,
    )
    if metric == "cosine":
        # First by the largest entry, as for dense points.
        for norm in (np.inf, 2):
            scale = _one_if_zero(scipy.sparse.linalg.norm(matrix, norm, axis=1))
            matrix.data /= np.repeat(scale, np.diff(matrix.indptr))
    matrix.eliminate_zeros()
    # Summed in order, so that they have the same bits as the product of two equal rows.
    norms = np.zeros(matrix.shape[0])
    np.add.at(norms, np.repeat(np.arange(norms.size), np.diff(matrix.indptr)), matrix.data**2)
    if metric == "cosine":
        # d^2 = 1 + 1 - 2 * 0 for a row of zeros: its cosine with any row is 0.
        norms[norms == 0] = 1.0
    columns = matrix.tocsc()
    return SparsePoints(
        indptr=matrix.indptr.astype(np.int64),
        indices=matrix.indices.astype(np.int32),
        data=matrix.data,
        column_indptr=columns.indptr.astype(np.int64),
        column_indices=columns.indices.astype(np.int32),
        column_data=columns.data,
        norms=norms,
    )


def _drop_empty_columns(matrix):
    """Return the rows without empty columns, which do not change distances.

    Hashed features may have billions of columns; memory is proportional to the entries.
    """
    used, indices = np.unique(matrix.indices, return_inverse=True)
    shape = (matrix.shape[0], max(used.size, 1))
    return scipy.sparse.csr_array((matrix.data, indices, matrix.indptr), shape=shape)


def _one_if_zero(scale):
    return np.where(scale > 0, scale, 1.0)


def _check_shape(shape):
    if len(shape) != 2 or 0 in shape:
        raise InputError(
            f"points of shape {shape} are not a table; pass one row per point, at least one"
        )


def _check_range(values, n_columns, row_of):
    """Raise an InputError about coordinates whose squared distances may be infinite."""
    # d^2 is at most the number of columns times the square of twice the largest coordinate.
    limit = np.sqrt(np.finfo(np.float64).max / n_columns) / 2
    # NaN is out of range too.
    is_valid = np.abs(values) < limit
    if not is_valid.all():
        first = int(np.argmin(is_valid))
        raise InputError(
            f"point {row_of(first)} has the coordinate {values[first]}; drop such points, or use "
            "a larger unit"
        )
