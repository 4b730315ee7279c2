"""What users say about the nodes: which are labeled, and with what.

`y` is an array with one entry per node, in the graph's own order, or a mapping from the user's ids
to labels. -1 (or None, NaN, "", the text "-1", or a masked entry) marks a node without a label, as
in scikit-learn; for regression, where -1 is a value like any other, NaN and masked entries do.
Where -1 and 1 look like two classes, and 0 like no label, a warning says how they were read.

Ids of a mapping are those of the graph. Where nodes are named by text, an integer stands for its
digits: a table of labels whose ids all look like numbers is read as such, whatever the edges are.
"""

import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.nodes.numbering import as_names, as_objects, is_integer, node_finder

__all__ = [
    "AbsentLabelsWarning",
    "AmbiguousLabelsWarning",
    "ClassLabels",
    "EncodedLabels",
    "GivenLabels",
    "RealLabels",
    "class_labels",
    "encode_classes",
    "is_missing",
    "is_unlabeled",
    "real_labels",
]


class AmbiguousLabelsWarning(UserWarning):
    """-1 marks a node without a label, where it may have been meant as a class."""


class AbsentLabelsWarning(UserWarning):
    """Some labeled nodes (`names`) are not in the graph: they have no edge, or are misspelled."""

    def __init__(self, names: list):
        self.names = names
        few = f"{len(names):,} labeled nodes, such as" if len(names) > 1 else "1 labeled node,"
        super().__init__(
            f"{few} {names[0]!r}, not in the graph: without an edge a label says nothing of "
            "others; check the spelling"
        )


class ClassLabels(NamedTuple):
    """`nodes` that carry a label, ascending, the number of their class (`code`), all `classes`.

    `weight` is the trust in each label; None is 1 everywhere.
    """

    nodes: np.ndarray
    code: np.ndarray
    classes: np.ndarray
    weight: np.ndarray | None = None

    def one_hot(self):
        """Y of shape (l, C): a row per labeled node.

        >>> ClassLabels(np.array([4]), np.array([1]), np.array(["ham", "spam"])).one_hot()
        array([[0., 1.]])
        """
        return np.eye(self.classes.size)[self.code]


class RealLabels(NamedTuple):
    """`nodes` that carry a value, ascending, the values, and the trust in each as above."""

    nodes: np.ndarray
    value: np.ndarray
    weight: np.ndarray | None = None


class GivenLabels:
    """The entries of `y` that are labels, on their way to the nodes of a graph.

    Parameters
    ----------
    y : array or mapping
    is_unlabeled : callable
        Which entries of an array mean that there is no label.

    Attributes
    ----------
    names : ndarray of shape (l,)
        Ids of the labeled nodes; their numbers where y is an array.
    values : ndarray of shape (l,)
        Their labels.

    Examples
    --------
    >>> given = GivenLabels({"cy": "spam", "ann": "ham"}, is_unlabeled)
    >>> given.find(np.array(["ann", "bob", "cy"]), 0, 3)
    array([ 1, -1,  0])
    """

    def __init__(self, y, is_unlabeled):
        if y is None:
            raise InputError(
                "this estimator requires y to be passed, but the target y is None; give a label "
                "per node, -1 where there is none"
            )
        self._by_id = isinstance(y, Mapping)
        entries = as_objects(list(y.values())) if self._by_id else _as_column(y)
        labeled = np.flatnonzero(~is_unlabeled(entries) & ~np.ma.getmaskarray(entries))
        entries = np.asarray(entries)
        if labeled.size == 0:
            raise InputError("y labels no node at all; label at least one")
        self.names = as_names([*y])[labeled] if self._by_id else labeled
        self.values = entries[labeled]
        self._n_entries = entries.size
        self._finders = {}
        if not self._by_id:
            self._label_of_number = np.full(entries.size, -1)
            self._label_of_number[labeled] = np.arange(labeled.size)

    def find(self, ids, start, stop):
        """Which label each of the nodes start, ..., stop - 1 has: its index, or -1.

        `ids` are those of all nodes, None where they are plain numbers.
        """
        if not self._by_id:
            n_beyond = max(stop - max(start, self._n_entries), 0)
            return np.append(self._label_of_number[start:stop], np.full(n_beyond, -1))
        nodes = np.arange(start, stop) if ids is None else np.asarray(ids[start:stop])
        if nodes.dtype.kind == self.names.dtype.kind == "i":
            return self._finder("number")(nodes)
        nodes = nodes.astype(object)
        is_text = all(isinstance(name, str) for name in nodes.tolist())
        return self._finder("text" if is_text else "object")(nodes)

    def _finder(self, kind):
        if kind not in self._finders:
            names = self.names
            if kind == "text":
                names = [str(name) if is_integer(name) else name for name in names.tolist()]
            names = names if kind == "number" else as_objects(list(names))
            self._finders[kind] = node_finder(names, len(names))
        return self._finders[kind]

    def locate(self, found, codes=None):
        """Numbers of the labeled nodes, ascending, and the indices of their labels.

        `found` is what `find` says of all nodes of the graph. A few labels may be of nodes that it
        does not have, but not all of a class (`codes`).
        """
        if not self._by_id and self._n_entries != found.size:
            raise InputError(
                f"y has shape ({self._n_entries},) for {found.size} nodes; give one label per node "
                "(-1 where there is none), or a mapping from node ids to labels"
            )
        nodes = np.flatnonzero(found >= 0)
        missing = np.bincount(found[nodes], minlength=self.names.size) == 0
        if missing.any():
            self._tell_missing(np.flatnonzero(missing), codes)
        return nodes, found[nodes]

    def _tell_missing(self, missing, codes):
        """A warning, if most labels and all classes are there still; an InputError else."""
        names = self.names[missing].tolist()
        left = np.delete(np.arange(self.names.size) if codes is None else codes, missing)
        is_class_lost = codes is not None and np.setdiff1d(codes, left).size > 0
        if 2 * missing.size > self.names.size or is_class_lost:
            raise InputError(
                f"y labels node {names[0]!r}, which is not in the graph; check its spelling"
            )
        warnings.warn(AbsentLabelsWarning(names), stacklevel=2)

    def by_id(self, ids):
        """A dictionary from ids to labels; `ids` as in `find`.

        >>> GivenLabels([-1, "spam"], is_unlabeled).by_id(np.array(["ann", "bob"]))
        {'bob': 'spam'}
        """
        names = self.names
        if not self._by_id and ids is not None:
            if names[-1] >= len(ids):
                raise InputError(f"y has {self._n_entries} labels for {len(ids)} nodes")
            names = np.asarray(ids)[names]
        return dict(zip(names.tolist(), self.values.tolist(), strict=True))


class EncodedLabels(NamedTuple):
    """Labels of classes before the graph is known: a class for each of the `given` labels."""

    given: GivenLabels
    code: np.ndarray
    classes: np.ndarray

    def locate(self, found):
        """The labels of nodes, as `GivenLabels.locate`."""
        nodes, index = self.given.locate(found, self.code)
        return ClassLabels(nodes, self.code[index], self.classes)


def encode_classes(y):
    """Read labels of classes: sorted classes, and the number of each label among them.

    Labels of different types are sorted as text.

    >>> encode_classes({"cy": "spam", "ann": "ham"}).code
    array([1, 0])
    """
    given = GivenLabels(y, is_unlabeled)
    _refuse_infinite(given)
    _warn_of_signs(y)
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
        classes = as_objects(distinct)
        code = np.array([number[value] for value in values.tolist()])
    return EncodedLabels(given, code, classes)


def class_labels(y, graph):
    """Read class labels of the nodes of `graph`.

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")])
    >>> class_labels({"cy": "spam", "ann": "ham"}, path).nodes
    array([0, 2])
    >>> class_labels([1, -1, 0], path).classes
    array([0, 1])
    """
    labels = encode_classes(y)
    return labels.locate(labels.given.find(graph.own_ids, 0, graph.n_nodes))


def real_labels(y, graph):
    """Read values of the nodes of `graph`; NaN and None mean none."""
    given = GivenLabels(y, is_missing)
    try:
        given.values = given.values.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "regression needs numbers in y; use a classifier for other labels"
        ) from None
    _refuse_infinite(given)
    nodes, index = given.locate(given.find(graph.own_ids, 0, graph.n_nodes))
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


def _warn_of_signs(y):
    """Say how -1 and 0 were read, where y looks like classes -1 and 1 and none at 0."""
    if isinstance(y, Mapping):
        return
    values = np.ma.asarray(y).compressed()
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


def _as_column(y):
    """`y` as a one-dimensional array; a matrix of one column is unpacked with a warning."""
    values = y if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
    if values.ndim == 1:
        return values
    if values.ndim != 2 or values.shape[1] != 1:
        raise InputError(
            f"y has shape {values.shape}; give one label per node (-1 where there is none), or a "
            "mapping from node ids to labels"
        )
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected: reshape it to (n_nodes,), for "
        "example by ravel()",
        DataConversionWarning,
        stacklevel=5,
    )
    return values.ravel()
