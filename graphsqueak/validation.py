"""Checks of arguments and input.

Public functions check their input once, with these functions, and private functions do not check
again. Every message names the value, the place and the fix.
"""

import difflib
import inspect
import numbers
import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, ClassVar, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError, Parameter

__all__ = [
    "OtherNames",
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
    "explain_keywords",
]

P = ParamSpec("P")
R = TypeVar("R")

# Largest ratio of two weights. Sums of its square, 1e240, stay in the range of double precision,
# 1e308, with a wide margin for products with other quantities.
MAX_WEIGHT_RATIO = 1e120

# Characters by name; "" is any run of spaces and tabs.
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


def _percentage(value):
    """Return the number that a text such as "50%" stands for, or None."""
    found = re.fullmatch(r"\s*([\d.]+)\s*%\s*", value) if isinstance(value, str) else None
    return float(found[1]) / 100 if found else None


def check_real(name, value, *, least=-np.inf, above=-np.inf, below=np.inf):
    """Return `value` as a float with least <= value, above < value < below.

    >>> check_real("tol", 1e-8, above=0.0, below=1.0)
    1e-08
    """
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        number = _percentage(value)
        fix = "" if number is None else f"; give {number:g} for {value}"
        raise InputError(Parameter(name, value), f" must be a number{fix}")
    value = float(value)
    if not (least <= value and above < value < below):
        low = f"at least {least}" if least > -np.inf else f"above {above}"
        high = f" and below {below}" if below < np.inf else ""
        raise InputError(Parameter(name, value), f" must be {low}{high}")
    return value


def check_span(smallest, largest):
    """Refuse positive weights whose ratio is too large for sums and squares in double precision.

    >>> check_span(1e-300, 1e-200)
    >>> check_span(1e-300, 1e300)
    Traceback (most recent call last):
    graphsqueak.errors.InputError: weights from 1e-300 to 1e+300 are more than 1e+120 apart; ...
    """
    if largest / MAX_WEIGHT_RATIO > smallest:
        raise InputError(
            f"weights from {smallest:g} to {largest:g} are more than {MAX_WEIGHT_RATIO:g} apart; "
            "double precision cannot hold such a graph: drop the lightest edges or scale them"
        )


def check_edges(
    tail: ArrayLike, head: ArrayLike, weight: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ends of edges as int64, and their weights, 1 by default, as float64.

    >>> check_edges([0, 2], [1, 0], None)
    (array([0, 2]), array([1, 0]), array([1., 1.]))
    """
    tail = _node_numbers("tail", tail)
    head = _node_numbers("head", head)
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
    is_valid = (weight >= 0) & (weight < np.inf)
    if not is_valid.all():
        first = int(np.argmin(is_valid))
        hint = ""
        if weight[first] < 0:
            hint = " (edges cannot be deleted from a stream by negative weights)"
        raise InputError(
            f"{where} {first} has weight {weight[first]}: weights are similarities, "
            f"finite and not negative{hint}; drop or repair this edge"
        )


def check_adjacency(matrix):
    """Refuse a scipy CSR matrix that is not a symmetric adjacency matrix, such as a Laplacian.

    >>> import scipy.sparse
    >>> check_adjacency(scipy.sparse.csr_array([[1.0, -1.0], [-1.0, 1.0]]))
    Traceback (most recent call last):
    graphsqueak.errors.InputError: this looks like a Laplacian ...
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        edges = ""
        if matrix.ndim == 2 and matrix.shape[1] in (2, 3):
            edges = "; for rows of edges, pass EdgeList(tail=rows[:, 0], head=rows[:, 1])"
        raise InputError(f"an adjacency matrix is square, not of shape {matrix.shape}{edges}")
    if matrix.nnz and not np.isfinite(matrix.data).all():
        raise InputError("the adjacency matrix has infinite or NaN entries; remove them")
    _refuse_laplacian(matrix)
    _refuse_asymmetric(matrix)


def _refuse_laplacian(matrix):
    smallest = matrix.data.min(initial=0.0)
    if smallest >= 0:
        return
    row_sums = np.abs(matrix.sum(axis=1))
    if (row_sums <= 1e-9 * np.abs(matrix.diagonal())).all():
        raise InputError(
            "this looks like a Laplacian (rows sum to zero, off-diagonal entries negative); "
            "give the adjacency matrix, diag(L.diagonal()) - L"
        )
    raise InputError(
        f"the adjacency matrix has a negative entry, {smallest:g}; weights are similarities, "
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
    """Return the delimiting character; "" for runs of blanks, "auto" to detect it.

    >>> check_delimiter("tab"), check_delimiter("space"), check_delimiter("|")
    ('\\t', '', '|')
    """
    if delimiter == "auto":
        return delimiter
    if delimiter in _DELIMITERS:
        return _DELIMITERS[delimiter]
    is_character = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    if not is_character or delimiter.isalnum() or delimiter in '\n\r"+-.':
        raise InputError(
            Parameter("delimiter", delimiter),
            " is not one character that cannot be part of a number; choose e.g. "
            f"{', '.join(_DELIMITERS)}",
        )
    return delimiter


def check_comments(comments):
    """Return the characters that begin a comment line, as a tuple."""
    comments = tuple(comments or ())
    for character in comments:
        if not isinstance(character, str) or len(character) != 1 or not character.isascii():
            raise InputError(
                Parameter("comments", comments),
                f" must be single ASCII characters; {character!r} is not",
            )
    return comments


def check_ridge(ridge, n_nodes):
    """Return `ridge` as one finite number per node, none negative."""
    if np.ndim(ridge) == 0:
        return np.full(n_nodes, check_real("ridge", ridge, least=0.0, below=np.inf))
    ridge = np.array(ridge, dtype=np.float64)
    if ridge.shape != (n_nodes,):
        raise InputError(f"ridge has shape {ridge.shape}; pass a number or {n_nodes} numbers")
    is_valid = (ridge >= 0) & (ridge < np.inf)
    if not is_valid.all():
        node = int(np.argmin(is_valid))
        raise InputError(
            f"ridge of node {node} is {ridge[node]}; it must be finite and not negative"
        )
    return ridge


def check_block(B, n_nodes):
    """Return `B` as a block of shape (n_nodes, K) in C order, float32 or float64."""
    array = np.asarray(B)
    if array.dtype.kind not in "fiub" or array.ndim not in (1, 2) or array.shape[0] != n_nodes:
        raise InputError(
            f"the right-hand side is {array.dtype} of shape {array.shape}; pass real numbers of "
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


# Parameters, by the names that other libraries and everyday language have for them. The first one
# that a function has is the one that is meant.
_SYNONYMS = {
    "by": ("method",),
    "cv": ("n_splits",),
    "d": ("n_components",),
    "dim": ("n_components",),
    "eps": ("epsilon",),
    "error": ("epsilon",),
    "folds": ("n_splits",),
    "frac": ("keep",),
    "fraction": ("keep",),
    "iterations": ("max_iter",),
    "k": ("n_clusters", "n_components", "n_neighbors"),
    "method": ("by",),
    "n": ("k", "n_edges"),
    "n_clusters": ("k",),
    "n_folds": ("n_splits",),
    "n_jobs": ("workers",),
    "node_pairs": ("pairs",),
    "num_edges": ("n_edges",),
    "p": ("keep",),
    "passes": ("max_passes",),
    "random_seed": ("random_state",),
    "ratio": ("keep",),
    "rng": ("random_state",),
    "seed": ("random_state",),
    "size": ("n_edges",),
    "steps": ("max_iter",),
    "tolerance": ("tol",),
    "verbose": ("progress",),
}


# Smallest similarity (difflib) of a misspelled keyword to a parameter: "epsilom" has 0.86, and
# "alpha" and "graph" have 0.6, which is the default of difflib. Only messages depend on it.
_MIN_SIMILARITY = 0.75


def explain_keywords(
    *, positional: str | None = None, **working_calls: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function or a class such that wrong arguments raise an error with a working call.

    Parameters
    ----------
    positional : str, optional
        The call that works instead of one with too many arguments without a name. Default: the
        function with its first parameters by name.
    **working_calls : str
        For each keyword that other libraries have, and that is not in the table of synonyms, the
        call that works, with {} in place of the value.

    Examples
    --------
    >>> @explain_keywords()
    ... def sample(n, *, random_state=None):
    ...     return n
    >>> sample(3, seed=7)
    Traceback (most recent call last):
    TypeError: sample() has no parameter seed; call sample(..., random_state=7)
    >>> sample(3, 7)
    Traceback (most recent call last):
    TypeError: sample() takes 1 argument without a name; call sample(n, random_state=...)
    """

    def decorate(function):
        if isinstance(function, type):
            function.__init__ = decorate(function.__init__)
            return function

        @wraps(function)
        def checked(*args, **kwargs):
            try:
                return function(*args, **kwargs)
            except TypeError:
                # The error may be one of the work inside.
                problem = _explain_call(function, args, kwargs, positional, working_calls)
                if problem is None:
                    raise
                raise TypeError(problem) from None

        return checked

    return decorate


def _explain_call(function, args, kwargs, positional, working_calls):
    """Return what is wrong with the arguments of a call and the call that works, or None."""
    parameters = dict(inspect.signature(function).parameters)
    is_method = "self" in parameters
    parameters.pop("self", None)
    args = args[is_method:]
    is_class = function.__name__ == "__init__"
    name = function.__qualname__.split(".")[-2] if is_class else function.__name__
    for keyword in kwargs.keys() - parameters.keys():
        value = repr(kwargs[keyword])
        if keyword in working_calls:
            call = working_calls[keyword].format(value)
            return f"{name}() has no parameter {keyword}; call {call}"
        near = difflib.get_close_matches(keyword, parameters, n=1, cutoff=_MIN_SIMILARITY)
        meant = [other for other in (*_SYNONYMS.get(keyword, ()), *near) if other in parameters]
        if meant:
            call = f"{name}(..., {meant[0]}={value})"
            return f"{name}() has no parameter {keyword}; call {call}"
        return f"{name}() has no parameter {keyword}; its parameters are {', '.join(parameters)}"
    is_required = {
        key: parameter.default is parameter.empty for key, parameter in parameters.items()
    }
    by_position = [
        key for key, parameter in parameters.items() if parameter.kind is not parameter.KEYWORD_ONLY
    ]
    required = [key for key in by_position if is_required[key]]
    if len(args) > len(by_position):
        named = [key for key in parameters if key not in by_position][:3]
        call = f"{name}({', '.join([*required, *(f'{key}=...' for key in named)])})"
        n_allowed = f"{len(by_position)} argument{'' if len(by_position) == 1 else 's'}"
        return f"{name}() takes {n_allowed} without a name; call {positional or call}"
    missing = [key for key in required[len(args) :] if key not in kwargs]
    if missing:
        return f"{name}() needs {' and '.join(missing)}; call {name}({', '.join(required)})"
    return None


class OtherNames:
    """Mixin whose missing attributes raise an error with the expression that works instead.

    A subclass lists in `_other_names` what other libraries call its attributes.

    Examples
    --------
    >>> class Graph(OtherNames):
    ...     _other_names = {"order": "graph.n_nodes"}
    >>> Graph().order
    Traceback (most recent call last):
    AttributeError: Graph has no attribute 'order'; use graph.n_nodes
    """

    _other_names: ClassVar[Mapping[str, str]] = {}

    # Type checkers would accept any attribute of a class with this method.
    if not TYPE_CHECKING:

        def __getattr__(self, name):
            call = self._other_names.get(name)
            hint = "" if call is None else f"; use {call}"
            text = f"{type(self).__name__} has no attribute {name!r}{hint}"
            raise AttributeError(text, name=name, obj=self)
