"""What users say about the nodes: which are labeled, and with what.

`y` is an array with one entry per node, in the graph's own order, or a mapping from the user's ids
to labels. In an array, -1 (or None, or NaN, or the text "-1") marks a node without a label, as in
scikit-learn; for regression, where -1 is a value like any other, NaN does.
"""

import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError

__all__ = [
    "ClassLabels",
    "RealLabels",
    "as_objects",
    "class_labels",
    "encoded",
    "entries_by_node",
    "is_missing",
    "is_unlabeled",
    "named",
    "one_column",
    "real_labels",
]


class ClassLabels(NamedTuple):
    """`nodes` that carry a label, the number of their class (`code`), and all `classes`."""

    nodes: np.ndarray
    code: np.ndarray
    classes: np.ndarray

    def one_hot(self):
        """Y of shape (l, C): a row per labeled node.

        >>> ClassLabels(np.array([4]), np.array([1]), np.array(["ham", "spam"])).one_hot()
        array([[0., 1.]])
        """
        return np.eye(self.classes.size)[self.code]


class RealLabels(NamedTuple):
    """`nodes` that carry a value, and the values."""

    nodes: np.ndarray
    value: np.ndarray


def class_labels(y, graph):
    """Read class labels of the nodes of `graph`.

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")])
    >>> class_labels({"cy": "spam", "ann": "ham"}, path).nodes
    array([0, 2])
    >>> class_labels([1, -1, 0], path).classes
    array([0, 1])
    """
    nodes, values = entries_by_node(y, graph.ids, is_unlabeled)
    _refuse_infinite(nodes, values)
    _refuse_reals(values)
    classes, code = encoded(values)
    return ClassLabels(nodes, code, classes)


def real_labels(y, graph):
    """Read values of the nodes of `graph`; NaN and None mean none."""
    nodes, values = entries_by_node(y, graph.ids, is_missing)
    try:
        value = values.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "regression needs numbers in y; use a classifier for other labels"
        ) from None
    _refuse_infinite(nodes, value)
    return RealLabels(nodes, value)


def entries_by_node(y, ids, unlabeled):
    """Numbers of the labeled nodes, ascending, and their labels."""
    if isinstance(y, Mapping):
        return _of_mapping(y, ids, unlabeled)
    if y is None:
        raise InputError(
            "this estimator requires y to be passed, but the target y is None; give a label per "
            "node, -1 where there is none"
        )
    values = one_column(y)
    if values.shape != (len(ids),):
        raise InputError(
            f"y has shape {values.shape} for {len(ids)} nodes; give one label per node (-1 where "
            "there is none), or a mapping from node ids to labels"
        )
    labeled = ~unlabeled(values)
    nodes = np.flatnonzero(labeled)
    if nodes.size == 0:
        raise InputError("y labels no node at all; label at least one")
    return nodes, values[labeled]


def one_column(y):
    """`y` as an array (mappings as they are); a matrix of one column is unpacked with a warning."""
    if y is None or isinstance(y, Mapping):
        return y
    values = np.asarray(y)
    if values.ndim != 2 or values.shape[1] != 1:
        return values
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected: reshape it to (n_nodes,), for "
        "example by ravel()",
        DataConversionWarning,
        stacklevel=4,
    )
    return values.ravel()


def named(y, ids, unlabeled):
    """The labels of `y` by node id: of a mapping as they are, of an array by the node's place.

    >>> named([-1, "spam"], np.array(["ann", "bob"]), is_unlabeled)
    {'bob': 'spam'}
    """
    if isinstance(y, Mapping):
        none = unlabeled(as_objects(list(y.values())))
        given = {name: label for (name, label), no in zip(y.items(), none, strict=True) if not no}
    else:
        values = np.asarray(y)
        places = np.flatnonzero(~unlabeled(values)) if values.ndim == 1 else np.zeros(0, int)
        names = places if ids is None else np.asarray(ids)[places]
        given = dict(zip(names.tolist(), values[places].tolist(), strict=True))
    if not given:
        raise InputError("y labels no node at all; label at least one")
    return given


def as_objects(values):
    """An array of the values themselves, whatever their types."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _of_mapping(y, ids, unlabeled):
    number = {name: place for place, name in enumerate(np.asarray(ids).tolist())}
    unknown = next((name for name in y if name not in number), None)
    if unknown is not None:
        raise InputError(
            f"y labels node {unknown!r}, which is not in the graph; check its spelling"
        )
    values = np.empty(len(ids), dtype=object)
    values[:] = None
    for name, label in y.items():
        values[number[name]] = label
    return entries_by_node(values, ids, lambda array: unlabeled(array) | is_missing(array))


def is_missing(values):
    """Entries that are None or NaN."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "O":
        return np.array([v is None or v != v for v in values.tolist()], dtype=bool)
    return np.zeros(values.shape, dtype=bool)


def is_unlabeled(values):
    """Entries that mean no label: -1, as number or text, None and NaN."""
    if values.dtype.kind in "US":
        return values == np.array("-1").astype(values.dtype)
    if values.dtype.kind == "O":
        texts = [isinstance(v, str) and v == "-1" for v in values.tolist()]
        numbers = [not isinstance(v, str) and v == -1 for v in values.tolist()]
        return is_missing(values) | np.array(texts, dtype=bool) | np.array(numbers, dtype=bool)
    return is_missing(values) | (values == -1)


def _refuse_infinite(nodes, values):
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise InputError(
            "Input y contains infinity or a value too large for dtype('float64'), first at node "
            f"{nodes[int(np.argmax(np.isinf(values)))]}; give finite values"
        )


def _refuse_reals(values):
    if values.dtype.kind == "f" and (values != np.round(values)).any():
        raise InputError(
            "Unknown label type: y holds fractions, which are values to regress on rather than "
            "classes; use a regressor"
        )


def encoded(values):
    """Sorted classes and the number of each value among them; mixed types sort as text."""
    try:
        return np.unique(values, return_inverse=True)
    except TypeError:
        distinct = sorted(set(values.tolist()), key=str)
        place = {value: number for number, value in enumerate(distinct)}
        return as_objects(distinct), np.array([place[value] for value in values.tolist()])
