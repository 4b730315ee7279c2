"""Match values that are given per node (labels, weights, truth) to the nodes of a graph.

All estimators, functions and results follow one rule:

* A mapping, a pandas Series, or a table with the columns node and label (in memory, or the path of
  a csv, tsv or Parquet file) is matched **by node id**. The index of a Series holds the ids, also
  if it is 0, ..., n - 1.
* An array or a list is matched **by position**, if position i is unambiguous: the ids are exactly
  0, ..., n - 1 (position i is the node with id i, in any order of the nodes); or the nodes have no
  ids (a scipy matrix, points); or the caller listed the nodes (`EdgeList(..., ids=ids)`: position i
  is the node ids[i]). Otherwise it is an `InputError`.
* Results are arrays in the same order: entry i is about the node with id i if the ids are exactly
  0, ..., n - 1, and about `ids_[i]` otherwise.

Estimators renumber a graph by `EdgeList.in_id_order` before they use it, after which an array is
matched by node number if `EdgeList.has_explicit_order`. The range of the integer ids of a stream is
known only at its end. Meanwhile an array is matched by id, and `NodeValues.locate` checks the
range.

Points are rows, as in scikit-learn (`values_of_rows`): values by id are matched to the index of a
data frame of points. If the points are an array, ids are row numbers, and a Series with one entry
per row is matched by position.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.graph.id_arrays import (
    as_ids,
    as_object_array,
    has_explicit_order,
    is_integer,
)
from graphsqueak.nodes.numbering import ids_between, make_node_finder
from graphsqueak.sources.graph_like import ArrowTable
from graphsqueak.sources.tables import is_table, table_columns
from graphsqueak.ssl.label_table import read_label_frame

__all__ = [
    "AbsentLabelsWarning",
    "Labels",
    "NodeValues",
    "ambiguous_order",
    "is_series",
    "split_by_id",
    "values_of_rows",
    "with_plain_type",
]

# Labels, or other values, per node.
Labels: TypeAlias = ArrayLike | Mapping | ArrowTable | os.PathLike


class AbsentLabelsWarning(UserWarning):
    """Some labeled nodes are not in the graph: they have no edge, or are misspelled.

    Attributes
    ----------
    names : list
        Their ids.
    """

    def __init__(self, names: list):
        self.names = names
        nodes = f"{len(names):,} labeled nodes, such as" if len(names) > 1 else "1 labeled node,"
        super().__init__(
            f"{nodes} {names[0]!r}, not in the graph: a label of a node without an edge has no "
            "effect on others; check the spelling"
        )


class NodeValues:
    """Values per node as given by a user, to be matched to the nodes of a graph.

    Parameters
    ----------
    values : Labels
    is_missing : callable
        is_missing(entries) marks the entries that mean no value.
    name, kind : str
        What messages call all values, and one of them.

    Attributes
    ----------
    is_by_id : bool
        Whether values come with node ids; otherwise they are matched by position.
    names : ndarray of shape (n_values,)
        Ids, or positions, of the nodes that have a value.
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
        # A masked entry means no value, whatever is behind the mask.
        is_present = ~is_missing(entries) & ~np.ma.getmaskarray(entries)
        present = np.flatnonzero(is_present)
        self.is_by_id = names is not None
        self.entries = entries
        self.values = with_plain_type(np.asarray(entries)[present])
        self.names = present if names is None else as_ids(names)[present]
        # An id of the graph, for messages.
        self._example_id: Any = None
        if names is None:
            self._value_of_position = np.where(is_present, np.cumsum(is_present) - 1, -1)

    def convert_to_float(self, message: str) -> None:
        """Convert the values to numbers, or raise an `InputError` with this message."""
        try:
            self.values = self.values.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(message) from None

    def find(self, ids: Any, start: int, stop: int) -> np.ndarray:
        """Return the index of the value of each of the nodes start, ..., stop - 1; -1 for none.

        Parameters
        ----------
        ids : object or None
            The ids of all nodes, as in `EdgeList.node_ids`.
        start, stop : int
            Range of nodes. For a stream, the nodes that are new in a batch.
        """
        if not self.is_by_id and has_explicit_order(ids):
            # A stream may have more nodes than the array has entries; `locate` reports that.
            n_beyond = max(stop - max(start, self.entries.size), 0)
            return np.append(self._value_of_position[start:stop], np.full(n_beyond, -1))
        nodes = ids_between(ids, start, stop)
        if nodes.size:
            self._example_id = nodes[:1].tolist()[0]
        if not self.is_by_id:
            return self._find_by_integer_id(nodes)
        # Ids of mixed types are compared as they are: the text "1" is not the integer 1.
        is_text = nodes.dtype.kind not in "iuf" and all(
            isinstance(name, str) for name in nodes.tolist()
        )
        return self._find_text(nodes) if is_text else self._find_id(nodes)

    def _find_by_integer_id(self, nodes):
        """Return the index of the value of each node, if the ids are exactly 0, ..., n - 1."""
        if nodes.size == 0:
            return np.zeros(0, dtype=np.int64)
        if nodes.dtype.kind not in "iu":
            raise ambiguous_order(self.name, self.entries.size, self._example_id)
        is_beyond = (nodes < 0) | (nodes >= self.entries.size)
        if is_beyond.any():
            example = nodes[is_beyond][:1].tolist()[0]
            raise ambiguous_order(self.name, self.entries.size, example)
        return self._value_of_position[nodes]

    @cached_property
    def _find_id(self):
        return make_node_finder(self.names, self.names.size)

    @cached_property
    def _find_text(self):
        # In a table of labels whose ids all look like numbers, they are integers.
        texts = [str(name) if is_integer(name) else name for name in self.names.tolist()]
        return make_node_finder(as_object_array(texts), len(texts))

    def locate(
        self, found: np.ndarray, groups: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the nodes with a value, ascending, and the indices of the values.

        Up to half of the values, but not all of a group, may be about nodes that the graph does not
        have; a warning lists them. More of them are an `InputError`.

        Parameters
        ----------
        found : array of int, shape (n_nodes,)
            Result of `find` for all nodes of the graph.
        groups : array of int, shape (n_values,), optional
            The class of each value.
        """
        n_entries = self.entries.size
        if not self.is_by_id and n_entries != found.size:
            if self._example_id is not None:
                raise ambiguous_order(self.name, n_entries, self._example_id, n_nodes=found.size)
            raise InputError(
                f"{self.name} has shape ({n_entries},) for {found.size} nodes; give one "
                f"{self.kind} per node, or a mapping from node ids to {self.kind}s"
            )
        nodes = np.flatnonzero(found >= 0)
        # Values that no node of the graph takes.
        is_absent = np.bincount(found[nodes], minlength=self.names.size) == 0
        if is_absent.any():
            self._report_absent(np.flatnonzero(is_absent), groups)
        return nodes, found[nodes]

    def _report_absent(self, absent, groups):
        """Warn about values of absent nodes if most values, and all groups, have other nodes."""
        names = self.names[absent].tolist()
        if 2 * absent.size > self.names.size:
            fix = f"one of its nodes is {self._example_id!r}; check the spelling"
            # The usual reason: ids were read as text from a table.
            if isinstance(names[0], str) and is_integer(self._example_id):
                fix = f"ids of the graph are integers, such as {self._example_id}: convert yours"
            raise InputError(
                f"{self.name} has a {self.kind} for node {names[0]!r}, which is not in the graph; "
                f"{fix}"
            )
        if groups is not None:
            # A model without a class that the user named would be wrong without a sign of it.
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
        """Return a dictionary from ids, or positions, to values.

        Parameters
        ----------
        ids : object or None
            The ids of all nodes, as in `EdgeList.node_ids`.

        Examples
        --------
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
    """Separate values from the node ids that they come with.

    A table has the columns node and label, or two others in this order. A pandas frame of one
    column, or one whose index is called node, is matched by its index.

    Parameters
    ----------
    values : Labels
        A mapping, pandas Series, table, path of a file with a table, array or list.
    name : str
        What messages call the values.

    Returns
    -------
    ids : list or None
        None if values are matched by position.
    entries : ndarray

    Examples
    --------
    >>> import polars as pl
    >>> split_by_id(pl.DataFrame({"label": ["spam", None], "node": ["ann", "bob"]}))
    (['ann', 'bob'], array(['spam', None], dtype=object))
    >>> split_by_id([1, -1])
    (None, array([ 1, -1]))
    """
    if isinstance(values, str | os.PathLike):
        values = read_label_frame(os.fspath(values))
    if isinstance(values, Mapping):
        return list(values), as_object_array(list(values.values()))
    values = _column_as_series(values)
    if is_series(values):
        ids = values.index.tolist()
        entries = values.to_numpy()
        place = "index"
    elif is_table(values) and len(getattr(values, "shape", (0, 0))) != 1:
        # The result of set_index("node") has the ids in its index.
        if hasattr(values, "iloc") and values.index.name == "node" and "node" not in values:
            values = values.reset_index()
        columns = table_columns(values)
        id_column, value_column = _node_and_label(list(columns), name)
        ids = columns[id_column]
        entries = as_object_array(columns[value_column])
        place = f"column {id_column!r}"
    else:
        return None, _as_column(values, name)
    if len(set(ids)) < len(ids):
        # Name the first id that occurs again.
        last_row = {node: row for row, node in enumerate(ids)}
        repeated = next(node for row, node in enumerate(ids) if last_row[node] != row)
        raise InputError(
            f"{name} has node {repeated!r} twice in its {place}; keep one value per node"
        )
    return ids, entries


def is_series(values: Any) -> bool:
    """Return whether this is a Series of pandas, which has an index."""
    return hasattr(values, "index") and hasattr(values, "iloc") and values.ndim == 1


def _column_as_series(values):
    """Return the column of a pandas frame that has one column; other values unchanged."""
    is_column = hasattr(values, "iloc") and values.ndim == 2 and values.shape[1] == 1
    return values.iloc[:, 0] if is_column else values


def values_of_rows(values: Any, X: Any, name: str = "y") -> Any:
    """Match values to the rows of points: return an array, or a mapping from row numbers.

    Parameters
    ----------
    values : mapping, pandas Series, table, array or list
    X : array or data frame
        If it is a data frame, values by id are matched to its index. If it is an array, a Series
        with one entry per row is in the order of the rows, and other ids are row numbers.
    name : str
        What messages call the values.

    Examples
    --------
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
    ids, entries = split_by_id(values, name)
    if ids is None:
        return entries
    if not X.index.is_unique:
        raise InputError(f"X has repeated entries in its index, and {name} another index; reset X")
    rows = X.index.get_indexer(ids)
    if (rows < 0).any():
        absent = ids[int(np.argmin(rows))]
        raise InputError(
            f"{name} has a value for {absent!r}, which is not in the index of X; pass an array if "
            f"{name} is in the order of the rows of X"
        )
    return dict(zip(rows.tolist(), entries.tolist(), strict=True))


def ambiguous_order(
    name: str, n_entries: int, example_id: Any, *, n_nodes: int | None = None
) -> InputError:
    """Return the error for an array whose entries cannot be matched to nodes by position.

    Parameters
    ----------
    name : str
        What messages call the array.
    n_entries : int
    example_id : object
        An id of the graph.
    n_nodes : int, optional
        Number of nodes of the graph, if that is the reason.
    """
    problem = f"{name} is an array of {n_entries} entries, and node ids of this graph are "
    if n_nodes is not None:
        problem += f"{n_nodes} of the integers 0, ..., {n_entries - 1}"
    else:
        problem += f"not exactly 0, ..., {n_entries - 1} (one is {example_id!r})"
    fix = f"pass a dict or a pandas Series indexed by node id, such as {{{example_id!r}: ...}}"
    if is_integer(example_id):
        fix += f" (dict(enumerate({name})) if entry i is about the node with id i)"
    return InputError(
        f"{problem}, so that a position is ambiguous; {fix}, or list the nodes when you build the "
        "graph: EdgeList(..., ids=...)"
    )


def _node_and_label(columns, name):
    """Return the names of the two columns of a table of labels."""
    if "node" in columns and "label" in columns:
        return "node", "label"
    if len(columns) != 2:
        raise InputError(
            f"{name} has the columns {', '.join(columns)}; give two, node and label, for example "
            f"{name}[['node', 'label']]"
        )
    return columns


def with_plain_type(values):
    """Return objects that are all numbers, or all text, as an array of that type.

    >>> with_plain_type(np.array([1, 0.5], dtype=object))
    array([1. , 0.5])
    """
    if values.dtype.kind != "O" or values.size == 0:
        return values
    # Scalars of numpy and of Python are the same type to a user.
    plain = [value.item() if isinstance(value, np.generic) else value for value in values.tolist()]
    types = {type(value) for value in plain}
    if types == {str} or types == {bool} or types <= {int, float}:
        array = np.array(plain)
        # Integers beyond 64 bits stay objects.
        return array if array.dtype.kind in "Ubif" else values
    return values


def _as_column(values, name):
    """Return a one-dimensional array; a matrix of one column is flattened with a warning."""
    values = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if values.ndim == 1:
        return values
    if values.ndim != 2 or values.shape[1] != 1:
        raise InputError(
            f"{name} has shape {values.shape}; give one label per node (-1 for a node without "
            "one), or a mapping from node ids to labels. Labels come before features: "
            "fit(graph, y, features)"
        )
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        f"A column-vector {name} was passed when a 1d array was expected: reshape it to "
        "(n_nodes,), for example by ravel()",
        DataConversionWarning,
        stacklevel=6,
    )
    return values.ravel()
