"""Arrays of node ids, and whether the caller chose the order of the nodes.

Inside the package the nodes of a graph are numbered 0, ..., n - 1. The origin of the numbers
decides whether position i of an array given by the user refers to node i:

* `EdgeList(..., ids=ids)`: the caller lists the nodes, so their order is explicit.
* A file, a table, a networkx or igraph graph: nodes are numbered in order of first appearance. The
  caller did not choose this order.

`NodeIds` stores this flag with the ids, and every graph derived from them carries it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np


class NodeIds(np.ndarray):
    """Ids of all nodes of a graph with node attributes. Slices lose the attributes.

    Attributes
    ----------
    attributes : list of dict, or None
        Attributes of each node, if the graph has any.
    is_explicit : bool
        Whether the caller chose the order of the nodes.
    """

    attributes: list[dict[str, Any]] | None = None
    is_explicit: bool = False

    def __reduce__(self) -> Any:
        # ndarray pickles its buffer only, so the instance attributes are added to its state.
        reduced: Any = super().__reduce__()
        constructor, arguments, state = reduced
        return constructor, arguments, (state, self.__dict__)

    def __setstate__(self, state: Any) -> None:
        array_state, instance_attributes = state
        super().__setstate__(array_state)
        self.__dict__.update(instance_attributes)


def is_integer(name: object) -> bool:
    """Return whether an id is an integer that fits into 64 bits; booleans are not.

    Parameters
    ----------
    name : object
    """
    # bool is a subclass of int.
    if isinstance(name, bool) or not isinstance(name, int | np.integer):
        return False
    return abs(int(name)) < 2**63


def as_object_array(values: Sequence) -> np.ndarray:
    """Return a one-dimensional array of the objects themselves.

    Parameters
    ----------
    values : list
    """
    # Not numpy.array, which would turn tuples into rows of a matrix.
    return np.fromiter(values, dtype=object, count=len(values))


def as_ids(names: Sequence) -> np.ndarray:
    """Return ids as an int64 array if all are integers, otherwise as an object array.

    Parameters
    ----------
    names : list of hashable

    Examples
    --------
    >>> as_ids([3, (0, 1)])
    array([3, (0, 1)], dtype=object)
    """
    if all(is_integer(name) for name in names):
        return np.array(names, dtype=np.int64)
    return as_object_array(names)


def with_explicit_order(ids: Any) -> NodeIds:
    """Return the ids, flagged as listed in an order that the caller chose.

    >>> ids = with_explicit_order(["cy", "ann"])
    >>> has_explicit_order(ids), has_explicit_order(ids[:1])
    (True, False)
    """
    if isinstance(ids, NodeIds) and ids.is_explicit:
        return ids
    array = np.asarray(ids)
    if array.ndim != 1:
        # NumPy turned tuples into rows.
        array = as_ids(list(ids))
    explicit = array.view(NodeIds)
    explicit.attributes = node_attributes(ids)
    explicit.is_explicit = True
    return explicit


def with_attributes(ids: np.ndarray, attributes: Sequence[dict]) -> np.ndarray:
    """Return the ids with the attributes of their nodes, if any node has one."""
    if not any(attributes):
        return ids
    attributed = ids.view(NodeIds)
    attributed.attributes = [dict(row) for row in attributes]
    return attributed


def node_attributes(ids: Any) -> list[dict[str, Any]] | None:
    """Return the attributes of all nodes, or None if there are none.

    Parameters
    ----------
    ids : object or None
        As in `EdgeList.node_ids`.
    """
    return ids.attributes if isinstance(ids, NodeIds) else None


def has_explicit_order(ids: Any) -> bool:
    """Return whether position i of an array refers to node i.

    This holds if the caller listed the nodes, or if the nodes have no ids.

    Parameters
    ----------
    ids : object or None
        As in `EdgeList.node_ids`.
    """
    return ids is None or (isinstance(ids, NodeIds) and ids.is_explicit)


def first_ids(ids: Any, n_nodes: int) -> Any:
    """Return the ids of the first `n_nodes` nodes; attributes are kept if these are all nodes."""
    if ids is None or (isinstance(ids, np.ndarray) and len(ids) == n_nodes):
        return ids
    return np.asarray(ids)[:n_nodes]


def as_permutation(ids: Any, n_nodes: int) -> np.ndarray | None:
    """Return the ids as integers if they are a permutation of 0, ..., n_nodes - 1, else None.

    A float with an integral value counts as that integer. Text and booleans do not count.

    Parameters
    ----------
    ids : object or None
        As in `EdgeList.node_ids`.
    n_nodes : int

    Examples
    --------
    >>> as_permutation(np.array([2, 0, 1]), 3)
    array([2, 0, 1])
    >>> as_permutation(np.array([2, 0, 3]), 3) is None
    True
    """
    # The first id decides about text, so that a table of millions of texts is not decoded.
    if ids is None or isinstance(next(iter(np.asarray(ids[:1]).tolist()), None), str):
        return None
    ids = np.asarray(ids)[:n_nodes]
    if ids.dtype.kind == "O":
        if not all(is_integer(name) or isinstance(name, float | np.floating) for name in ids):
            return None
    elif ids.dtype.kind not in "iuf":
        return None
    # Before the cast to int64, which is undefined for NaN and large floats.
    in_range = (ids >= 0) & (ids < ids.size)
    if not in_range.all():
        return None
    numbers = ids.astype(np.int64)
    is_integral = (numbers == ids).all()
    is_permutation = (np.bincount(numbers, minlength=ids.size) == 1).all()
    return numbers if is_integral and is_permutation else None
