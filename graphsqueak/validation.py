"""Checks of what users hand in, and the words for what is wrong with it.

Public functions check once, here, and the functions below them trust. Every message names the
value, the place and the remedy.
"""

import numbers

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError, Parameter

__all__ = [
    "check_adjacency",
    "check_block",
    "check_choice",
    "check_comments",
    "check_count",
    "check_delimiter",
    "check_edges",
    "check_real",
    "check_ridge",
    "check_span",
    "check_weights",
]

LARGEST_SPAN = 1e120
_DELIMITERS = {"tab": "\t", "comma": ",", "semicolon": ";", "space": "", " ": "", "whitespace": ""}


def check_choice(name, value, choices):
    """Return `value` if it is one of `choices`.

    >>> check_choice("method", "exact", ("auto", "exact"))
    'exact'
    """
    if value not in choices:
        raise InputError(Parameter(name, value), f" is not one of {', '.join(map(repr, choices))}")
    return value


def check_count(name, value, *, least=1):
    """Return `value` as an int of at least `least`.

    >>> check_count("n_probes", np.int64(3))
    3
    """
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise InputError(Parameter(name, value), " must be a whole number")
    if value < least:
        raise InputError(Parameter(name, value), f" must be at least {least}")
    return int(value)


def check_real(name, value, *, least=-np.inf, above=-np.inf, below=np.inf):
    """Return `value` as a float with least <= value, above < value < below.

    >>> check_real("tol", 1e-8, above=0.0, below=1.0)
    1e-08
    """
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise InputError(Parameter(name, value), " must be a number")
    value = float(value)
    if not (least <= value and above < value < below):
        low = f"at least {least}" if least > -np.inf else f"above {above}"
        high = f" and below {below}" if below < np.inf else ""
        raise InputError(Parameter(name, value), f" must be {low}{high}")
    return value


def check_span(smallest, largest):
    """Refuse positive weights so far apart that sums and squares of them leave double precision.

    >>> check_span(1e-300, 1e-200)
    >>> check_span(1e-300, 1e300)
    Traceback (most recent call last):
    graphsqueak.errors.InputError: weights from 1e-300 to 1e+300 are more than 1e+120 apart; ...
    """
    if largest / LARGEST_SPAN > smallest:
        raise InputError(
            f"weights from {smallest:g} to {largest:g} are more than {LARGEST_SPAN:g} apart; "
            "double precision cannot hold such a graph: drop the lightest edges or scale them"
        )


def check_edges(
    tail: ArrayLike, head: ArrayLike, weight: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ends of edges as int64 and their weights, 1 where not given, as float64.

    >>> check_edges([0, 2], [1, 0], None)
    (array([0, 2]), array([1, 0]), array([1., 1.]))
    """
    tail, head = _node_numbers("tail", tail), _node_numbers("head", head)
    weight = np.ones(tail.size) if weight is None else np.array(weight, dtype=np.float64)
    if not tail.size == head.size == weight.size or weight.ndim != 1:
        raise InputError(
            f"tail, head and weight have {tail.size}, {head.size} and {weight.size} entries; "
            "they must be one-dimensional and of the same length"
        )
    check_weights(weight)
    lowest = int(min(tail.min(initial=0), head.min(initial=0)))
    if lowest < 0:
        raise InputError(f"node {lowest} is negative; nodes are numbered from 0")
    return tail, head, weight


def _node_numbers(name: str, values: ArrayLike) -> np.ndarray:
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise InputError(
            f"{name} must be a one-dimensional array of node numbers, not {array.dtype} of shape "
            f"{array.shape}; EdgeList.from_pairs takes names"
        )
    if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
        raise InputError(f"{name} has node {array.max()}; EdgeList.from_pairs takes huge ids")
    return array.astype(np.int64)


def check_weights(weight, *, where="edge"):
    """Refuse weights that are negative, infinite or not a number; zeros pass.

    >>> check_weights(np.array([1.0, 0.0]))
    >>> check_weights(np.array([1.0, -2.0]))
    Traceback (most recent call last):
    graphsqueak.errors.InputError: edge 1 has weight -2.0: ...similarities...
    """
    good = (weight >= 0) & (weight < np.inf)
    if not good.all():
        first = int(np.argmin(good))
        deletes = " (no edge is taken out again: that needs linear sketches of all of them)"
        raise InputError(
            f"{where} {first} has weight {weight[first]}: weights are similarities, "
            f"finite and not negative{deletes * bool(weight[first] < 0)}; drop or repair this edge"
        )


def check_adjacency(matrix):
    """Refuse a scipy CSR matrix that is no symmetric adjacency matrix, and say what it looks like.

    A Laplacian handed in by mistake is recognized.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"an adjacency matrix is square, not of shape {matrix.shape}")
    if matrix.nnz and not np.isfinite(matrix.data).all():
        raise InputError("the adjacency matrix has infinite or NaN entries; remove them")
    _refuse_laplacian(matrix)
    _refuse_asymmetric(matrix)


def _refuse_laplacian(matrix):
    off_diagonal = matrix.data.min(initial=0.0)
    if off_diagonal >= 0:
        return
    row_sums = np.abs(matrix.sum(axis=1))
    if (row_sums <= 1e-9 * np.abs(matrix.diagonal())).all():
        raise InputError(
            "this looks like a Laplacian (rows sum to zero, off-diagonal entries negative); "
            "give the adjacency matrix, diag(L.diagonal()) - L"
        )
    raise InputError(
        f"the adjacency matrix has a negative entry, {off_diagonal:g}; weights are similarities, "
        "finite and not negative"
    )


def _refuse_asymmetric(matrix):
    difference = abs(matrix - matrix.T)
    if difference.nnz and difference.data.max() > 1e-9 * np.abs(matrix.data).max():
        raise InputError(
            "the adjacency matrix is not symmetric; give A.maximum(A.T) for 'either direction' "
            "or (A + A.T) / 2"
        )


def check_delimiter(delimiter):
    """The character that a user's word for it means; "" for runs of blanks."""
    if delimiter == "auto":
        return delimiter
    character = _DELIMITERS.get(delimiter, delimiter)
    if character == "" and delimiter in _DELIMITERS:
        return character
    if (
        not isinstance(character, str)
        or len(character) != 1
        or not character.isascii()
        or (character.isalnum() or character in '\n\r"+-.')
    ):
        raise InputError(
            Parameter("delimiter", delimiter),
            " is not one character that cannot be part of a number; choose e.g. "
            f"{', '.join(_DELIMITERS)}",
        )
    return character


def check_comments(comments):
    """Marks of comment lines as a tuple."""
    comments = tuple(comments or ())
    for mark in comments:
        if not isinstance(mark, str) or len(mark) != 1 or not mark.isascii():
            raise InputError(
                Parameter("comments", comments),
                f" must be single ASCII characters; {mark!r} is not",
            )
    return comments


def check_ridge(ridge, n_nodes):
    """`ridge` as one finite number per node, none negative; an InputError else."""
    if np.ndim(ridge) == 0:
        return np.full(n_nodes, check_real("ridge", ridge, least=0.0, below=np.inf))
    ridge = np.array(ridge, dtype=np.float64)
    if ridge.shape != (n_nodes,):
        raise InputError(f"ridge has shape {ridge.shape}; give a number or {n_nodes} numbers")
    good = (ridge >= 0) & (ridge < np.inf)
    if not good.all():
        node = int(np.argmin(good))
        raise InputError(f"ridge of node {node} is {ridge[node]}; it must be finite, not negative")
    return ridge


def check_block(B, n_nodes):
    """`B` as a block of shape (n_nodes, K) in C order, float32 or float64; an InputError else."""
    array = np.asarray(B)
    if array.dtype.kind not in "fiub" or array.ndim not in (1, 2) or array.shape[0] != n_nodes:
        raise InputError(
            f"the right-hand side is {array.dtype} of shape {array.shape}; give real numbers of "
            f"shape ({n_nodes},) or ({n_nodes}, K)"
        )
    dtype = np.float32 if array.dtype == np.float32 else np.float64
    block = np.ascontiguousarray(array if array.ndim == 2 else array[:, None], dtype=dtype)
    if not np.isfinite(block).all():
        node, column = np.argwhere(~np.isfinite(block))[0]
        raise InputError(
            f"the right-hand side is {block[node, column]} at node {node}, column {column}; "
            "remove infinite and NaN entries"
        )
    return block
