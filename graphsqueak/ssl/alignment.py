"""Match values that a user gives per node (labels, weights, truth) to the nodes of a graph.

There is one rule for all estimators, functions and results:

* A mapping, a pandas Series or a table with the columns node and label is matched **by node id**.
  The index of a Series holds the ids, also if it is 0, ..., n - 1.
* An array or a list is matched **by position**, and only if position i can mean one node alone:
  the ids are exactly 0, ..., n - 1 (position i is the node with id i, in whatever order the
  nodes appear); or the nodes have no ids (a scipy matrix, points); or the caller listed the nodes
  (`EdgeList(..., ids=ids)`: position i is the node ids[i]). Otherwise it is an InputError.
* Results are arrays in the same order: entry i is about the node with id i if the ids are exactly
  0, ..., n - 1. Otherwise it is about `ids_[i]`.

Estimators renumber a graph by `EdgeList.in_id_order` before they use it. The rule then reads: an
array goes by node number if `EdgeList.has_explicit_order`. The range of the integer ids of a stream
is known only at its end: an array goes by id meanwhile, and `locate` checks the range.

Points are rows, as in scikit-learn: values by id go by the index of the data frame of points. If
the points are an array, ids are row numbers, and a Series with an entry per row goes by position
(`values_of_rows`).
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.id_arrays import (
    as_ids,
    as_object_array,
    has_explicit_order,
    is_integer,
)
from graphsqueak.nodes.numbering import ids_between, make_node_finder
from graphsqueak.sources.tables import is_table, table_columns

__all__ = [
    "AbsentLabelsWarning",
    "NodeValues",
    "ambiguous_order",
    "is_series",
    "split_by_id",
    "values_of_rows",
    "with_plain_type",
]


class AbsentLabelsWarning(UserWarning):
    """Some labeled nodes (`names`) are not in the graph: they have no edge, or are misspelled."""

    def __init__(self, names: list):
        self.names = names
        few = f"{len(names):,} labeled nodes, such as" if len(names) > 1 else "1 labeled node,"
        super().__init__(
            f"{few} {names[0]!r}, not in the graph: without an edge a label says nothing of "
            "others; check the spelling"
        )


class NodeValues:
    """Values per node as a user gives them, to be matched to the nodes of a graph.

    Parameters
    ----------
    values : mapping, pandas Series, table, array or list
    is_missing : callable
        is_missing(entries) marks the entries that mean no value.
    name, kind : str
        What the user calls all values, and one of them, for messages.

    Attributes
    ----------
    is_by_id : bool
        Whether values come with node ids; else they go by position.
    names : ndarray of shape (n_values,)
        Ids of the nodes that have a value, or positions.
    values : ndarray of shape (n_values,)
        Their values.
    entries : ndarray
        All entries, also those that mean no value.

    Examples
    --------
    >>> values = NodeValues({"cy": "spam", "ann": "ham"}, lambda entries: entries == "")
    >>> values.find(np.array(["ann", "bob", "cy"]), 0, 3)
    array([ 1, -1,  0])
    """

    def __init__(
        self, values: Any, is_missing: Callable, *, name: str = "y", kind: str = "label"
    ) -> None:
        self.name = name
        self.kind = kind
        names, entries = split_by_id(values, name)
        present = np.flatnonzero(~is_missing(entries) & ~np.ma.getmaskarray(entries))
        self.is_by_id = names is not None
        self.entries = entries
        self.values = with_plain_type(np.asarray(entries)[present])
        self.names = present if names is None else as_ids(names)[present]
        self._finders: dict[str, Callable] = {}
        self._some_id: Any = None  # an id of the graph, for messages
        if names is None:
            self._value_of_position = np.full(self.entries.size, -1)
            self._value_of_position[present] = np.arange(present.size)

    def find(self, ids: Any, start: int, stop: int) -> np.ndarray:
        """Index of the value of each of the nodes start, ..., stop - 1; -1 for no value.

        Parameters
        ----------
        ids : object or None
            The ids of all nodes, as in `EdgeList.node_ids`.
        start, stop : int
            Numbers of nodes. A stream asks for the nodes that are new.
        """
        if not self.is_by_id and has_explicit_order(ids):
            n_beyond = max(stop - max(start, self.entries.size), 0)
            return np.append(self._value_of_position[start:stop], np.full(n_beyond, -1))
        nodes = ids_between(ids, start, stop)
        if nodes.size:
            self._some_id = nodes[:1].tolist()[0]
        if not self.is_by_id:
            return self._find_by_integer_id(nodes)
        if nodes.dtype.kind == self.names.dtype.kind == "i":
            return self._finder("number")(nodes)
        nodes = nodes.astype(object)
        is_text = all(isinstance(name, str) for name in nodes.tolist())
        return self._finder("text" if is_text else "object")(nodes)

    def _find_by_integer_id(self, nodes):
        """The meaning of an array if the ids turn out to be exactly 0, ..., n - 1."""
        if nodes.size == 0:
            return np.zeros(0, dtype=np.int64)
        if nodes.dtype.kind not in "iu":
            raise ambiguous_order(self.name, self.entries.size, self._some_id)
        is_beyond = (nodes < 0) | (nodes >= self.entries.size)
        if is_beyond.any():
            beyond = nodes[is_beyond][:1].tolist()[0]
            raise ambiguous_order(self.name, self.entries.size, beyond)
        return self._value_of_position[nodes]

    def _finder(self, kind):
        if kind not in self._finders:
            names = self.names
            if kind == "text":
                # A table of labels whose ids all look like numbers is read as integers.
                names = [str(name) if is_integer(name) else name for name in names.tolist()]
            names = names if kind == "number" else as_object_array(list(names))
            self._finders[kind] = make_node_finder(names, len(names))
        return self._finders[kind]

    def locate(
        self, found: np.ndarray, groups: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the nodes with a value, ascending, and the indices of their values.

        Up to half of the values, but not all of a group, may be about nodes that the graph does not
        have: a warning names them.

        Parameters
        ----------
        found : array of int, shape (n_nodes,)
            What `find` returns for all nodes of the graph.
        groups : array of int, shape (n_values,), optional
            The class of each value.
        """
        n_entries = self.entries.size
        if not self.is_by_id and n_entries != found.size:
            if self._some_id is not None:
                raise ambiguous_order(self.name, n_entries, self._some_id, n_nodes=found.size)
            raise InputError(
                f"{self.name} has shape ({n_entries},) for {found.size} nodes; give one "
                f"{self.kind} per node, or a mapping from node ids to {self.kind}s"
            )
        nodes = np.flatnonzero(found >= 0)
        is_absent = np.bincount(found[nodes], minlength=self.names.size) == 0
        if is_absent.any():
            self._report_absent(np.flatnonzero(is_absent), groups)
        return nodes, found[nodes]

    def _report_absent(self, absent, groups):
        """Warn if most values and all groups are left; else raise an InputError."""
        names = self.names[absent].tolist()
        if 2 * absent.size > self.names.size:
            fix = f"one of its nodes is {self._some_id!r}; check the spelling"
            if isinstance(names[0], str) and is_integer(self._some_id):
                fix = f"ids of the graph are integers, such as {self._some_id}: convert yours"
            raise InputError(
                f"{self.name} has a {self.kind} for node {names[0]!r}, which is not in the graph; "
                f"{fix}"
            )
        if groups is not None:
            is_lost = ~np.isin(groups[absent], np.delete(groups, absent))
            if is_lost.any():
                first = int(np.argmax(is_lost))
                raise InputError(
                    f"{self.name} has a {self.kind} for node {names[first]!r}, which is not in the "
                    f"graph, and no node of the graph has the {self.kind} "
                    f"{self.values[absent[first]]}; check the spelling, or remove it"
                )
        warnings.warn(AbsentLabelsWarning(names), stacklevel=2)

    def by_id(self, ids: Any) -> dict:
        """A dictionary from ids to values; `ids` as in `find`.

        >>> values = NodeValues(["", "spam"], lambda entries: np.asarray(entries) == "")
        >>> values.by_id(None)
        {1: 'spam'}
        """
        names = self.names
        if not self.is_by_id and ids is not None and has_explicit_order(ids):
            if self.entries.size != len(ids):
                raise InputError(
                    f"{self.name} has {self.entries.size} entries for {len(ids)} nodes"
                )
            names = np.asarray(ids)[names]
        return dict(zip(names.tolist(), self.values.tolist(), strict=True))


def split_by_id(values: Any, name: str = "y") -> tuple[list | None, Any]:
    """The node ids that values come with, None if they go by position, and the values.

    A table has the columns node and label, or two others in this order. A pandas frame of one
    column, or one whose index is called node, goes by its index.

    >>> import polars as pl
    >>> split_by_id(pl.DataFrame({"label": ["spam", None], "node": ["ann", "bob"]}))
    (['ann', 'bob'], array(['spam', None], dtype=object))
    >>> split_by_id([1, -1])
    (None, array([ 1, -1]))
    """
    if isinstance(values, Mapping):
        return list(values), as_object_array(list(values.values()))
    values = _column_as_series(values)
    if hasattr(values, "iloc") and values.index.name == "node" and values.ndim == 2:
        values = values if "node" in values.columns else values.reset_index()
    if is_series(values):
        names, entries = values.index.tolist(), values.to_numpy()
        where = "index"
    elif is_table(values) and len(getattr(values, "shape", (0, 0))) != 1:
        columns = table_columns(values)
        node, label = _node_and_label(list(columns), name)
        names, entries = columns[node], as_object_array(columns[label])
        where = f"column {node!r}"
    else:
        return None, _as_column(values, name)
    if len(set(names)) < len(names):
        last_place = {node: place for place, node in enumerate(names)}
        twice = next(node for place, node in enumerate(names) if last_place[node] != place)
        raise InputError(f"{name} has node {twice!r} twice in its {where}; keep one value per node")
    return names, entries


def is_series(values: Any) -> bool:
    """Whether this is a Series of pandas, which has an index."""
    return hasattr(values, "index") and hasattr(values, "iloc") and values.ndim == 1


def _column_as_series(values):
    """The column of a pandas frame that has one column; other values as they are."""
    is_column = hasattr(values, "iloc") and values.ndim == 2 and values.shape[1] == 1
    return values.iloc[:, 0] if is_column else values


def values_of_rows(values: Any, X: Any, name: str = "y") -> Any:
    """Values for points, matched to the rows of X: an array, or a mapping from row numbers.

    If X is a data frame, values by id go by its index. If X is an array, a Series with an entry per
    row is in the order of the rows, and other ids are row numbers.

    >>> import pandas as pd
    >>> X = pd.DataFrame({"width": [1.0, 2.0]}, index=["ann", "bob"])
    >>> values_of_rows(pd.Series({"bob": 1}), X)
    {1: 1}
    """
    values = _column_as_series(values)
    has_index = hasattr(X, "iloc")
    if is_series(values):
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        is_in_order = values.index.equals(X.index) if has_index else len(values) == n_rows
        if is_in_order:
            return values.to_numpy()
    if not has_index:
        return values
    names, entries = split_by_id(values, name)
    if names is None:
        return entries
    if not X.index.is_unique:
        raise InputError(f"X has repeated entries in its index, and {name} another index; reset X")
    rows = X.index.get_indexer(names)
    if (rows < 0).any():
        lost = names[int(np.argmin(rows))]
        raise InputError(
            f"{name} has a value for {lost!r}, which is not in the index of X; pass an array if "
            f"{name} is in the order of the rows of X"
        )
    return dict(zip(rows.tolist(), entries.tolist(), strict=True))


def ambiguous_order(
    name: str, n_entries: int, some_id: Any, *, n_nodes: int | None = None
) -> InputError:
    """The error for an array that does not say which nodes its entries are about.

    Parameters
    ----------
    name : str
        What the user calls the array.
    n_entries : int
    some_id : object
        An id of the graph.
    n_nodes : int, optional
        Nodes of the graph, if their number is the reason.
    """
    said = f"{name} is an array of {n_entries} entries, and node ids of this graph are "
    if n_nodes is not None:
        said += f"{n_nodes} of the integers 0, ..., {n_entries - 1}"
    else:
        said += f"not exactly 0, ..., {n_entries - 1} (one is {some_id!r})"
    fix = f"pass a dict or a pandas Series indexed by node id, such as {{{some_id!r}: ...}}"
    if is_integer(some_id):
        fix += f" (dict(enumerate({name})) if entry i is about the node with id i)"
    return InputError(
        f"{said}, so that a position does not say which node is meant; {fix}, or list the nodes "
        "when you build the graph: EdgeList(..., ids=...)"
    )


def _node_and_label(columns, name):
    """Names of the two columns of a table of labels."""
    if "node" in columns and "label" in columns:
        return "node", "label"
    if len(columns) != 2:
        raise InputError(
            f"{name} has the columns {', '.join(columns)}; give two, node and label, for example "
            f"{name}[['node', 'label']]"
        )
    return columns


def with_plain_type(values):
    """Objects that are all numbers, or all text, as an array of that type."""
    if values.dtype.kind != "O" or values.size == 0:
        return values
    plain = [value.item() if isinstance(value, np.generic) else value for value in values.tolist()]
    types = {type(value) for value in plain}
    if types == {str} or types == {bool} or types <= {int, float}:
        array = np.array(plain)
        return array if array.dtype.kind in "Ubif" else values
    return values


def _as_column(values, name):
    """A one-dimensional array; a matrix of one column is unpacked with a warning."""
    values = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if values.ndim == 1:
        return values
    if values.ndim != 2 or values.shape[1] != 1:
        raise InputError(
            f"{name} has shape {values.shape}; give one label per node (-1 where there is none), "
            "or a mapping from node ids to labels"
        )
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        f"A column-vector {name} was passed when a 1d array was expected: reshape it to "
        "(n_nodes,), for example by ravel()",
        DataConversionWarning,
        stacklevel=6,
    )
    return values.ravel()
