"""Arrays of node ids, and whether their order means something.

The nodes of a graph are numbered 0, ..., n - 1 inside the package. Where the numbers come from
decides whether position i of a user's array can be about node number i:

* `EdgeList(..., ids=ids)`: the caller lists the nodes, so their order is explicit.
* A file, a table, a networkx or igraph graph: nodes are numbered as they appear, which the caller
  did not choose and may not know.

`NodeIds` carries that mark along with the ids, through every graph that is made of them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "NodeIds",
    "as_ids",
    "as_permutation",
    "first_ids",
    "has_explicit_order",
    "with_attributes",
    "with_explicit_order",
]


class NodeIds(np.ndarray):
    """Ids of all nodes with what else is known of them; a slice of it knows nothing.

    Attributes
    ----------
    attributes : list of dict, or None
        Attributes of each node, if the graph came with any.
    is_explicit : bool
        Whether the caller chose the order of the nodes.
    """

    attributes: list[dict[str, Any]] | None = None
    is_explicit: bool = False

    def __reduce__(self) -> Any:
        reduced: Any = super().__reduce__()  # does not keep attributes
        make, arguments, state = reduced
        return make, arguments, (state, self.__dict__)

    def __setstate__(self, state: Any) -> None:
        values, known = state
        super().__setstate__(values)
        self.__dict__.update(known)


def as_ids(names: Sequence[Any]) -> np.ndarray:
    """Int64 if every name is an integer, else an array of the objects themselves.

    >>> as_ids([3, (0, 1)])
    array([3, (0, 1)], dtype=object)
    """
    if all(_is_integer(name) and abs(int(name)) < 2**63 for name in names):
        return np.array(names, dtype=np.int64)
    ids = np.empty(len(names), dtype=object)
    for node, name in enumerate(names):  # at once, tuples would be taken for rows
        ids[node] = name
    return ids


def with_explicit_order(ids: Any) -> NodeIds:
    """The ids, marked as listed in an order that the caller chose.

    >>> ids = with_explicit_order(["cy", "ann"])
    >>> has_explicit_order(ids), has_explicit_order(ids[:1])
    (True, False)
    """
    if isinstance(ids, NodeIds) and ids.is_explicit:
        return ids
    array = np.asarray(ids)
    if array.ndim != 1:  # tuples that were taken for rows
        array = as_ids(list(ids))
    names = array.view(NodeIds)
    names.attributes = getattr(ids, "attributes", None)
    names.is_explicit = True
    return names


def with_attributes(ids: np.ndarray, attributes: Sequence[dict]) -> np.ndarray:
    """The ids with the attributes of their nodes, if any node has one."""
    if not any(attributes):
        return ids
    names = ids.view(NodeIds)
    names.attributes = [dict(row) for row in attributes]
    return names


def has_explicit_order(ids: Any) -> bool:
    """Whether position i stands for node i: the caller listed the nodes, or they have no ids.

    Parameters
    ----------
    ids : object or None
        As in `EdgeList.node_ids`.
    """
    return ids is None or (isinstance(ids, NodeIds) and ids.is_explicit)


def first_ids(ids: Any, n_nodes: int) -> Any:
    """The ids of the first nodes as an array; if these are all, with what is known of them."""
    if ids is None or (isinstance(ids, np.ndarray) and len(ids) == n_nodes):
        return ids
    return np.asarray(ids)[:n_nodes]


def as_permutation(ids: Any, n_nodes: int) -> np.ndarray | None:
    """The ids as integers if they are exactly 0, ..., n_nodes - 1 in any order; else None.

    An integral float counts as the integer that it equals. Text and booleans do not count.

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
    # A table of millions of texts is not decoded for this: its first id decides.
    if ids is None or isinstance(next(iter(np.asarray(ids[:1]).tolist()), None), str):
        return None
    ids = np.asarray(ids)[:n_nodes]
    if ids.dtype.kind == "O":
        if not all(_is_integer(name) or isinstance(name, float | np.floating) for name in ids):
            return None
    elif ids.dtype.kind not in "iuf":
        return None
    in_range = (ids >= 0) & (ids < ids.size)
    if not in_range.all():
        return None
    numbers = ids.astype(np.int64)
    is_exact = (numbers == ids).all() and (np.bincount(numbers, minlength=ids.size) == 1).all()
    return numbers if is_exact else None


def _is_integer(name: Any) -> bool:
    return isinstance(name, int | np.integer) and not isinstance(name, bool)
