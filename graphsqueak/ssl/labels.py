"""Labels of classes and values of regression, parsed from what a user gives per node.

Every estimator, `cross_validate` and the evaluation of results parse y here. An entry without a
label is -1, None, NaN, "", the text "-1" or a masked entry, as in scikit-learn. For regression -1
is a value: only None, NaN and masked entries mean none. If -1 and 1 may be two classes, and 0 no
label, a warning says how they were interpreted.

`alignment` has the rule by which entries are matched to nodes.
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
    """-1 marks a node without a label, and may have been meant as a class."""


class ClassLabels(NamedTuple):
    """Classes of the labeled nodes of a graph.

    Attributes
    ----------
    nodes : array of int, shape (l,)
        Numbers of the labeled nodes, ascending.
    code : array of int, shape (l,)
        Position of the class of each label in `classes`.
    classes : array of shape (C,)
    sample_weight : array of shape (l,), or None
        Weight of each label; None is 1 for all.
    """

    nodes: np.ndarray
    code: np.ndarray
    classes: np.ndarray
    sample_weight: np.ndarray | None = None

    def one_hot(self):
        """Return Y of shape (l, C), one row per labeled node.

        >>> ClassLabels(np.array([4]), np.array([1]), np.array(["ham", "spam"])).one_hot()
        array([[0., 1.]])
        """
        return np.eye(self.classes.size)[self.code]

    @property
    def targets(self):
        """Right-hand sides of the solvers: one column per class."""
        return self.one_hot()

    def select(self, which):
        """Return some of the labels, with the classes that occur among them."""
        # Codes are numbers among the remaining classes.
        seen, code = np.unique(self.code[which], return_inverse=True)
        weight = None if self.sample_weight is None else self.sample_weight[which]
        return ClassLabels(self.nodes[which], code, self.classes[seen], weight)

    def score(self, predictions, sample_weight=None):
        """Return the accuracy of predictions for the labeled nodes.

        >>> labels = ClassLabels(np.array([0, 2]), np.array([0, 1]), np.array(["ham", "spam"]))
        >>> labels.score(np.array(["ham", "ham"]))
        0.5
        """
        truth = self.classes[self.code]
        # Compared one by one, since predictions may be of another type than labels.
        is_right = [a == b for a, b in zip(predictions, truth, strict=True)]
        return float(np.average(is_right, weights=sample_weight))


class RealLabels(NamedTuple):
    """Values of the labeled nodes of a graph.

    Attributes
    ----------
    nodes : array of int, shape (l,)
        Numbers of the nodes with a value, ascending.
    value : array of float, shape (l,)
    sample_weight : array of shape (l,), or None
        Weight of each value; None is 1 for all.
    """

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

    def score(self, predictions, sample_weight=None):
        """Return the coefficient of determination of predictions for the labeled nodes."""
        from sklearn.metrics import r2_score

        return r2_score(self.value, predictions, sample_weight=sample_weight)


class EncodedLabels(NamedTuple):
    """Labels of classes before the graph is known.

    Attributes
    ----------
    given : NodeValues
        The labels and their nodes, as given.
    code : array of int, shape (l,)
        Position of the class of each label in `classes`.
    classes : array of shape (C,)
    """

    given: NodeValues
    code: np.ndarray
    classes: np.ndarray

    def locate(self, found):
        """Return the `ClassLabels` of a graph, from the result of `NodeValues.find`."""
        nodes, index = self.given.locate(found, self.code)
        return ClassLabels(nodes, self.code[index], self.classes)


def given_labels(y, is_unlabeled):
    """Return the entries of `y` that are labels, as `NodeValues`; none at all is an error.

    Parameters
    ----------
    y : array, list, mapping, pandas Series or table
    is_unlabeled : callable
        `is_unlabeled` of this module for classes, `is_missing` for values.
    """
    if y is None:
        raise InputError(
            "this estimator requires y to be passed, but the target y is None; give one label "
            "per node, -1 for a node without a label"
        )
    given = NodeValues(y, is_unlabeled)
    # Without a label every estimator would fail later, with a message about arrays.
    if given.names.size == 0:
        raise InputError("y labels no node at all; label at least one")
    return given


def encode_classes(y):
    """Parse labels of classes before the graph is known.

    Classes are sorted; those of different types are sorted as text.

    >>> encode_classes({"cy": "spam", "ann": "ham"}).code
    array([1, 0])
    """
    given = given_labels(y, is_unlabeled)
    _refuse_infinite(given)
    _warn_of_signs(given.entries)
    values = given.values
    # As in the classifiers of scikit-learn, whose message begins like this one.
    if values.dtype.kind == "f" and (values != np.round(values)).any():
        raise InputError(
            "Unknown label type: y has fractions, which are values to regress on rather than "
            "classes; use a regressor"
        )
    try:
        classes, code = np.unique(values, return_inverse=True)
    except TypeError:
        # Classes of different types have no order of their own.
        distinct = sorted(set(values.tolist()), key=str)
        code_of_class = {value: code for code, value in enumerate(distinct)}
        classes = as_object_array(distinct)
        code = np.array([code_of_class[value] for value in values.tolist()])
    return EncodedLabels(given, code, classes)


def class_labels(y, graph):
    """Parse labels of classes for the nodes of `graph`.

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
    """Parse values of regression for the nodes of `graph`.

    >>> from graphsqueak.graph import EdgeList
    >>> real_labels([0.5, float("nan"), -1], EdgeList(tail=[0, 1], head=[1, 2])).value
    array([ 0.5, -1. ])
    """
    given = given_labels(y, is_missing)
    given.convert_to_float("regression needs numbers in y; use a classifier for other labels")
    _refuse_infinite(given)
    nodes, index = given.locate(given.find(graph.node_ids, 0, graph.n_nodes))
    return RealLabels(nodes, given.values[index])


def is_missing(values):
    """Return which entries are None or NaN (or a data frame's NA, which is not equal to itself).

    >>> is_missing(np.array([-1.0, np.nan]))
    array([False,  True])
    """
    values = np.asarray(values)
    if values.dtype.kind == "f":
        return np.isnan(values)
    # NaN, NaT and the NA of pandas are the values that do not equal themselves.
    if values.dtype.kind == "O":
        return np.array([not _equals_itself(v) for v in values.tolist()], dtype=bool)
    return np.zeros(values.shape, dtype=bool)


def is_unlabeled(values):
    """Return which entries mean no label: -1, as number or text, "", None and NaN.

    >>> is_unlabeled(np.array(["spam", "", "-1"]))
    array([False,  True,  True])
    """
    values = np.asarray(values)
    if values.dtype.kind in "US":
        # Bytes are compared with bytes, and text with text.
        return np.isin(values, np.array(["", "-1"]).astype(values.dtype.kind))
    if values.dtype.kind != "O":
        return is_missing(values) | (values == -1)
    result = is_missing(values)
    present = np.flatnonzero(~result)
    result[present] = [
        value in ("", "-1") if isinstance(value, str) else value == -1
        for value in values[present].tolist()
    ]
    return result


def _equals_itself(value):
    try:
        # The comparison of pandas.NA with itself is NA, which has no truth value.
        return value is not None and bool(value == value)
    except TypeError:
        return False


def _warn_of_signs(values):
    """Warn how -1 and 0 are interpreted if `values` may be classes -1 and 1, with 0 for none."""
    values = np.ma.asarray(values).compressed()
    if values.dtype.kind not in "if" or not np.isin(values, (-1, 0, 1)).all():
        return
    n_minus, n_zeros, n_ones = (int(np.count_nonzero(values == value)) for value in (-1, 0, 1))
    if n_minus and n_ones and n_zeros == 0:
        # Classes -1 and 1, and no mark for unlabeled nodes.
        consequence = "so that 1 is the only class"
    # Classes -1 and 1, where 0 is probably the mark for unlabeled nodes.
    elif n_minus and n_ones and n_zeros > n_minus + n_ones:
        consequence = f"and 0, which {n_zeros} of {values.size} nodes have, as a class"
    else:
        return
    warnings.warn(
        AmbiguousLabelsWarning(
            f"-1 in y is read as no label, {consequence}; if -1 and 1 are the classes, give them "
            "other names (0 and 1, or texts), and write -1 for nodes without a label"
        ),
        stacklevel=5,
    )


def _refuse_infinite(given):
    if given.values.dtype.kind == "f" and np.isinf(given.values).any():
        raise InputError(
            "Input y contains infinity or a value too large for dtype('float64'), first at node "
            f"{given.names[int(np.argmax(np.isinf(given.values)))]}; give finite values"
        )
