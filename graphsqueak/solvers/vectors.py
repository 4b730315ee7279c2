"""Arithmetic on adjacent columns of a row, held in registers.

A block of right-hand sides is an array of shape (n, K). Kernels work on a tuple of four or eight
adjacent entries of a row at a time. Numba compiles a kernel once per length of its tuples, LLVM
unrolls the loops over their entries, and each becomes one or two vector operations. Sums in an
array would be written to memory after every edge, because the compiler has to assume that they
overlap with the block. That takes 1.9 to 2.8 times as long (four columns).
"""

import math

import numpy as np
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.extending import overload

from graphsqueak.system.kernels import inline_njit

# Most columns per tuple: 64 bytes in double precision, one cache line. With 4 products take 1.3 to
# 1.7 times as long (16 columns); 16 are not unrolled (13 times).
MAX_WIDTH = 8


def padded_width(n_columns):
    """Return the number of columns to allocate: 1, or the next multiple of four.

    >>> padded_width(1), padded_width(5), padded_width(21)
    (1, 8, 24)
    """
    return n_columns if n_columns == 1 else n_columns + -n_columns % (MAX_WIDTH // 2)


def common_width(n_columns):
    """Return the width of equal groups of columns.

    >>> common_width(1), common_width(12), common_width(16)
    (1, 4, 8)
    """
    return math.gcd(n_columns, MAX_WIDTH)


def zeros(width, dtype):
    """Return a tuple of zeros, from which kernels take the type of their tuples."""
    return (np.dtype(dtype).type(0),) * width


def set_item(values, c, value):
    """Return the tuple with entry c replaced, and converted to the type of the others."""
    return (*values[:c], value, *values[c + 1 :])


@overload(set_item)
def _compile_set_item(values, c, value):
    return lambda values, c, value: tuple_setitem(values, c, value)


@inline_njit
def load(block, i, k, zero):
    """Return columns k, k + 1, ... of row i, as many as `zero` has, in the dtype of `zero`."""
    values = zero
    for c in range(len(zero)):
        # Column indices are unsigned: numba lets a negative index count from the end, and that
        # test would prevent vector operations.
        values = set_item(values, c, block[i, k + np.uint64(c)])
    return values


@inline_njit
def store(block, i, k, values):
    """Write the values to columns k, k + 1, ... of row i."""
    for c in range(len(values)):
        block[i, k + np.uint64(c)] = values[c]


@inline_njit
def scale(factor, values):
    """Return factor * values."""
    for c in range(len(values)):
        values = set_item(values, c, factor * values[c])
    return values


@inline_njit
def subtract(left, right):
    """Return left - right."""
    for c in range(len(left)):
        left = set_item(left, c, left[c] - right[c])
    return left


@inline_njit
def add_scaled(total, factor, values):
    """Return total + factor * values."""
    for c in range(len(total)):
        total = set_item(total, c, total[c] + factor * values[c])
    return total


@inline_njit
def add_products(total, left, right):
    """Return total + left * right, element by element."""
    for c in range(len(total)):
        total = set_item(total, c, total[c] + left[c] * right[c])
    return total
