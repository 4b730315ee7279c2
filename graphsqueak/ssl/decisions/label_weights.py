"""Weights of labels, by node and by class.

*Sample weights* are about the labels. Stable-HFS then minimizes sum_S s_i (f_i - y_i)^2 +
alpha f' L f, with the weighted mean for ybar: a label with s_i = 2 counts as two labels of one
node, and one with s_i = 0 as none. In leave-one-out selection, labels count by their weights.

*Class weights* are about mistakes. They do not enter the loss: with labels of a rare class that
weigh a hundred times the others, the loss would follow these few labels, and rank the other nodes
by little else. Instead, a mistake at a label counts by the weight of its class when prior weight
and threshold are selected, and class frequencies count by it in the prior.
"""

import warnings
from collections.abc import Mapping

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.ssl.alignment import AbsentLabelsWarning, NodeValues
from graphsqueak.ssl.labels import is_missing
from graphsqueak.validation import check_real

__all__ = [
    "check_class_weight",
    "class_factors",
    "class_weighted",
    "node_weights",
    "weighted_labels",
]


def weighted_labels(labels, sample_weight, graph):
    """Add weights to labels, and drop labels of weight 0 and the classes that only these have.

    Parameters
    ----------
    labels : ClassLabels or RealLabels
    sample_weight : array over the nodes, mapping from ids to weights, or None
    graph : EdgeList

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.ssl.labels import class_labels
    >>> path = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")])
    >>> labels = class_labels({"ann": "ham", "cy": "spam"}, path)
    >>> weighted_labels(labels, {"cy": 2.0}, path).sample_weight
    array([1., 2.])
    >>> weighted_labels(labels, {"ann": 0.0}, path).classes.tolist()
    ['spam']
    """
    if sample_weight is None:
        return labels
    weight = node_weights(sample_weight, labels.nodes, graph)
    return labels._replace(sample_weight=weight).select(weight > 0)


def node_weights(sample_weight, nodes, graph):
    """Match weights to `nodes` of a graph; 1 for a node that a mapping does not have.

    Up to half of the ids may be missing from the graph, as for labels.

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")])
    >>> node_weights({"cy": 2.0}, np.array([0, 2]), path)
    array([1., 2.])
    """
    given = NodeValues(sample_weight, is_missing, name="sample_weight", kind="weight")
    given.convert_to_float("sample_weight must be numbers")
    with warnings.catch_warnings():
        # The labels of these nodes cause the same warning.
        warnings.simplefilter("ignore", AbsentLabelsWarning)
        known, index = given.locate(given.find(graph.node_ids, 0, graph.n_nodes))
    # An array has an entry for every node: NaN is an error there.
    default = 1.0 if given.is_by_id else np.nan
    weights = np.full(graph.n_nodes, default)
    weights[known] = given.values[index]
    weights = weights[nodes]
    is_valid = (weights >= 0) & (weights < np.inf)
    if not is_valid.all():
        first = int(np.argmin(is_valid))
        raise InputError(
            f"the sample_weight of labeled node {graph.ids[nodes[first]]!s} is {weights[first]}; "
            "it must be finite and not negative"
        )
    if not weights.any():
        raise InputError("sample_weight is zero at all labels; give at least one a positive weight")
    return weights


def class_factors(labels, class_weight):
    """Return the weight of each class, shape (C,); classes that are not in a mapping have 1.

    Parameters
    ----------
    labels : ClassLabels
    class_weight : None, "balanced" or mapping from classes to weights
        "balanced" gives all classes the same total weight.

    Examples
    --------
    >>> from graphsqueak.ssl.labels import ClassLabels
    >>> labels = ClassLabels(np.arange(3), np.array([0, 0, 1]), np.array(["ham", "spam"]))
    >>> class_factors(labels, "balanced")
    array([0.75, 1.5 ])
    """
    names = labels.classes.tolist()
    if class_weight is None:
        return np.ones(len(names))
    if isinstance(class_weight, str) and class_weight == "balanced":
        total = np.bincount(labels.code, labels.sample_weight, len(names))
        # The total weight of all labels stays the same.
        return total.mean() / total
    if isinstance(class_weight, Mapping):
        return np.array(
            [check_real(f"weight of class {c}", class_weight.get(c, 1.0), above=0.0) for c in names]
        )
    raise InputError(
        Parameter("class_weight", class_weight),
        " is not understood; give None, 'balanced' or a mapping from classes to weights",
    )


def class_weighted(labels, factors):
    """Multiply the weights of labels by those of their classes.

    >>> from graphsqueak.ssl.labels import ClassLabels
    >>> labels = ClassLabels(np.arange(3), np.array([0, 0, 1]), np.array(["ham", "spam"]))
    >>> class_weighted(labels, np.array([1.0, 3.0])).sample_weight
    array([1., 1., 3.])
    """
    weight = factors[labels.code]
    if labels.sample_weight is not None:
        weight = weight * labels.sample_weight
    return labels._replace(sample_weight=weight)


def check_class_weight(class_weight, classes):
    """Raise an error if a mapping has a class that is not one of the labels."""
    if isinstance(class_weight, Mapping):
        names = set(classes.tolist())
        unknown = [name for name in class_weight if name not in names]
        if unknown:
            raise InputError(f"class_weight has {unknown[0]!r}, which is not a class of the labels")
