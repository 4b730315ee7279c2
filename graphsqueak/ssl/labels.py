"""Labels of classes and values of regression, read from what a user gives per node.

-1 (or None, NaN, "", the text "-1", or a masked entry) marks a node without a label, as in
scikit-learn. For regression -1 is a value like any other; NaN and masked entries mark none. If -1
and 1 look like two classes, and 0 like no label, a warning says how they were read.

Which entry belongs to which node: `alignment`.
"""

import warnings
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.id_arrays import as_object_array
from graphsqueak.ssl.alignment import AbsentLabelsWarning, NodeValues

__all__ = [
    "AbsentLabelsWarning",
    "AmbiguousLabelsWarning",
    "ClassLabels",
    "EncodedLabels",
    "RealLabels",
    "class_labels",
    "encode_classes",
    "given_labels",
    "is_missing",
    "is_unlabeled",
    "real_labels",
]


class AmbiguousLabelsWarning(UserWarning):
    """-1 marks a node without a label, where it may have been meant as a class."""


class ClassLabels(NamedTuple):
    """`nodes` that carry a label, ascending, the number of their class (`code`), all `classes`.

    `sample_weight` is the weight of each label; None is 1 everywhere.
    """

    nodes: np.ndarray
    code: np.ndarray
    classes: np.ndarray
    sample_weight: np.ndarray | None = None

    def one_hot(self):
        """Y of shape (l, C): a row per labeled node.

        >>> ClassLabels(np.array([4]), np.array([1]), np.array(["ham", "spam"])).one_hot()
        array([[0., 1.]])
        """
        return np.eye(self.classes.size)[self.code]

    @property
    def targets(self):
        """Right-hand sides of the solvers: a column per class."""
        return self.one_hot()

    def select(self, which):
        """Return some of the labels, with the classes that they have."""
        seen, code = np.unique(self.code[which], return_inverse=True)
        weight = None if self.sample_weight is None else self.sample_weight[which]
        return ClassLabels(self.nodes[which], code, self.classes[seen], weight)


class RealLabels(NamedTuple):
    """`nodes` that carry a value, ascending, the values, and their weights as above."""

    nodes: np.ndarray
    value: np.ndarray
    sample_weight: np.ndarray | None = None

    @property
    def targets(self):
        """Right-hand sides of the solvers: one column."""
        return self.value[:, None]

    def select(self, which):
        """Return some of the labels."""
        weight = None if self.sample_weight is None else self.sample_weight[which]
        return RealLabels(self.nodes[which], self.value[which], weight)


def given_labels(y, is_unlabeled):
    """The entries of `y` that are labels, as `NodeValues`; an InputError if there are none."""
    if y is None:
        raise InputError(
            "this estimator requires y to be passed, but the target y is None; give a label "
            "per node, -1 where there is none"
        )
    given = NodeValues(y, is_unlabeled)
    if given.names.size == 0:
        raise InputError("y labels no node at all; label at least one")
    return given


class EncodedLabels(NamedTuple):
    """Labels of classes before the graph is known: a class for each of the `given` labels."""

    given: NodeValues
    code: np.ndarray
    classes: np.ndarray

    def locate(self, found):
        """The labels of nodes, as `NodeValues.locate`."""
        nodes, index = self.given.locate(found, self.code)
        return ClassLabels(nodes, self.code[index], self.classes)


def encode_classes(y):
    """Read labels of classes: sorted classes, and the number of each label among them.

    Labels of different types are sorted as text.

    >>> encode_classes({"cy": "spam", "ann": "ham"}).code
    array([1, 0])
    """
    given = given_labels(y, is_unlabeled)
    _refuse_infinite(given)
    _warn_of_signs(given.entries)
    values = given.values
    if values.dtype.kind == "f" and (values != np.round(values)).any():
        raise InputError(
            "Unknown label type: y holds fractions, which are values to regress on rather than "
            "classes; use a regressor"
        )
    try:
        classes, code = np.unique(values, return_inverse=True)
    except TypeError:
        distinct = sorted(set(values.tolist()), key=str)
        number = {value: position for position, value in enumerate(distinct)}
        classes = as_object_array(distinct)
        code = np.array([number[value] for value in values.tolist()])
    return EncodedLabels(given, code, classes)


def class_labels(y, graph):
    """Read class labels of the nodes of `graph`.

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")])
    >>> class_labels({"cy": "spam", "ann": "ham"}, path).nodes
    array([0, 2])
    >>> class_labels([1, -1, 0], EdgeList(tail=[0, 1], head=[1, 2])).classes
    array([0, 1])
    """
    labels = encode_classes(y)
    return labels.locate(labels.given.find(graph.node_ids, 0, graph.n_nodes))


def real_labels(y, graph):
    """Read values of the nodes of `graph`; NaN and None mean none."""
    given = given_labels(y, is_missing)
    try:
        given.values = given.values.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "regression needs numbers in y; use a classifier for other labels"
        ) from None
    _refuse_infinite(given)
    nodes, index = given.locate(given.find(graph.node_ids, 0, graph.n_nodes))
    return RealLabels(nodes, given.values[index])


def is_missing(values):
    """Entries that are None or NaN (or a data frame's NA, which equals nothing)."""
    values = np.asarray(values)
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "O":
        return np.array([not _equals_itself(v) for v in values.tolist()], dtype=bool)
    return np.zeros(values.shape, dtype=bool)


def is_unlabeled(values):
    """Entries that mean no label: -1, as number or text, "", None and NaN.

    >>> is_unlabeled(np.array(["spam", "", "-1"]))
    array([False,  True,  True])
    """
    values = np.asarray(values)
    if values.dtype.kind in "US":
        return np.isin(values, np.array(["", "-1"]).astype(values.dtype.kind))
    none = is_missing(values)
    if values.dtype.kind != "O":
        return none | (values == -1)
    rest = np.flatnonzero(~none)
    none[rest] = [v in ("", "-1") if isinstance(v, str) else v == -1 for v in values[rest].tolist()]
    return none


def _equals_itself(value):
    try:
        return value is not None and bool(value == value)
    except TypeError:
        return False


def _warn_of_signs(values):
    """Warn how -1 and 0 were read if `values` look like classes -1 and 1, and none at 0."""
    values = np.ma.asarray(values).compressed()
    if values.dtype.kind not in "if" or not np.isin(values, (-1, 0, 1)).all():
        return
    minus, zeros, ones = (int(np.count_nonzero(values == value)) for value in (-1, 0, 1))
    if minus and ones and zeros == 0:
        said = "so that 1 is the only class"
    elif minus and ones and zeros > minus + ones:
        said = f"and 0, which {zeros} of {values.size} nodes have, as a class"
    else:
        return
    warnings.warn(
        AmbiguousLabelsWarning(
            f"-1 in y is read as no label, {said}; if -1 and 1 are the classes, give them other "
            "names (0 and 1, or texts), and write -1 where there is no label"
        ),
        stacklevel=5,
    )


def _refuse_infinite(given):
    if given.values.dtype.kind == "f" and np.isinf(given.values).any():
        raise InputError(
            "Input y contains infinity or a value too large for dtype('float64'), first at node "
            f"{given.names[int(np.argmax(np.isinf(given.values)))]}; give finite values"
        )
