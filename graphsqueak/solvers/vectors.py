"""Arithmetic on four adjacent columns of a row, held in registers.

A block of right-hand sides is an array of shape (n, K). Kernels work on four columns of a row at a
time. A tuple of four numbers stays in registers, and LLVM turns each operation on it into one
vector operation. Sums in an array would be written to memory after every edge, because the compiler
has to assume that they overlap with the block. That takes 1.9 to 2.8 times as long (four columns).
"""

import numpy as np

from graphsqueak.system.kernels import inline_njit

__all__ = [
    "COLUMNS_PER_VECTOR",
    "add_products",
    "add_scaled",
    "add_scaled_to_row",
    "load",
    "padded_width",
    "scale",
    "store",
    "subtract",
]

COLUMNS_PER_VECTOR = 4
# Column indices are unsigned: numba lets a negative index count from the end, and that test would
# prevent vector operations.
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_THREE = np.uint64(3)


def padded_width(n_columns):
    """Return the number of columns to allocate: 1, or the next multiple of four.

    >>> padded_width(1), padded_width(5), padded_width(21)
    (1, 8, 24)
    """
    return n_columns if n_columns == 1 else n_columns + -n_columns % COLUMNS_PER_VECTOR


@inline_njit
def load(block, i, k):
    """Return columns k, ..., k + 3 of row i."""
    return block[i, k], block[i, k + _ONE], block[i, k + _TWO], block[i, k + _THREE]


@inline_njit
def store(block, i, k, values):
    """Write four values to columns k, ..., k + 3 of row i."""
    block[i, k] = values[0]
    block[i, k + _ONE] = values[1]
    block[i, k + _TWO] = values[2]
    block[i, k + _THREE] = values[3]


@inline_njit
def scale(factor, values):
    """Return factor * values."""
    return factor * values[0], factor * values[1], factor * values[2], factor * values[3]


@inline_njit
def subtract(left, right):
    """Return left - right."""
    return left[0] - right[0], left[1] - right[1], left[2] - right[2], left[3] - right[3]


@inline_njit
def add_scaled(total, factor, values):
    """Return total + factor * values."""
    return (
        total[0] + factor * values[0],
        total[1] + factor * values[1],
        total[2] + factor * values[2],
        total[3] + factor * values[3],
    )


@inline_njit
def add_products(total, left, right):
    """Return total + left * right, element by element."""
    return (
        total[0] + left[0] * right[0],
        total[1] + left[1] * right[1],
        total[2] + left[2] * right[2],
        total[3] + left[3] * right[3],
    )


@inline_njit
def add_scaled_to_row(block, i, k, factor, values):
    """Add factor * values to columns k, ..., k + 3 of row i."""
    block[i, k] += factor * values[0]
    block[i, k + _ONE] += factor * values[1]
    block[i, k + _TWO] += factor * values[2]
    block[i, k + _THREE] += factor * values[3]
