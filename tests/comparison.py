"""Compare objects attribute by attribute."""

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator

# What a copy builds again: locks, files, factors, caches.
REBUILT = {"_factor", "_file", "_find", "_lists", "_reading", "_thread"}


def differences(one, other, path="", seen=None):
    """Paths at which two objects differ, attribute by attribute."""
    seen = set() if seen is None else seen
    if id(other) in seen:
        return []
    if isinstance(one, int | float) and isinstance(other, int | float):  # np.float64 is a float
        return [] if one == other or (one != one and other != other) else [path]
    if type(one) is not type(other):
        return [f"{path}: {type(one)} is not {type(other)}"]
    if isinstance(other, np.ndarray):
        kind = other.dtype.kind
        same = one.dtype == other.dtype and one.shape == other.shape
        same = same and (np.array_equal(one, other, equal_nan=kind in "fc"))
        return [] if same else [path]
    if isinstance(other, np.random.Generator):
        same = one.bit_generator.state == other.bit_generator.state
        return [] if same else [path]
    if scipy.sparse.issparse(other):
        return [] if one.shape == other.shape and (one != other).nnz == 0 else [path]
    if isinstance(other, dict):
        if list(one) != list(other):
            return [f"{path}: keys differ"]
        parts = [(f"{path}[{key!r}]", one[key], other[key]) for key in other]
    elif isinstance(other, list | tuple):
        if len(one) != len(other):
            return [f"{path}: lengths differ"]
        parts = [(f"{path}[{k}]", one[k], other[k]) for k in range(len(other))]
    elif type(other).__module__.startswith("graphsqueak") and hasattr(other, "__dict__"):
        seen.add(id(other))
        if vars(one).keys() != vars(other).keys():
            return [f"{path}: attributes differ"]
        names = vars(other).keys() - REBUILT
        parts = [(f"{path}.{name}", vars(one)[name], vars(other)[name]) for name in sorted(names)]
    elif isinstance(other, str | bytes | frozenset | set | None):
        return [] if one == other else [path]
    elif isinstance(other, BaseEstimator):
        parts = [(f"{path}.params", one.get_params(), other.get_params())]
    else:
        return []
    return [found for name, a, b in parts for found in differences(a, b, name, seen)]
