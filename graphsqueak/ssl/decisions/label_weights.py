"""Sample weights: the weight of each label in the loss, by class and by node.

Stable-HFS then minimizes sum_S s_i (f_i - y_i)^2 + alpha f' L f, with the weighted mean for ybar: a
label with s_i = 2 is two of them at one node, one with s_i = 0 is none. Labels that are left out to
choose by count as much as they weigh.
"""

import warnings
from collections.abc import Mapping

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.ssl.alignment import AbsentLabelsWarning, NodeValues
from graphsqueak.ssl.labels import is_missing
from graphsqueak.validation import check_real

__all__ = ["class_weighted", "node_weights", "weighted_labels"]


def weighted_labels(labels, given, graph):
    """The labels with weights, without those of weight 0 and classes that have no other.

    Parameters
    ----------
    labels : ClassLabels or RealLabels
    given : array over the nodes, mapping from ids to weights, or None
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
    if given is None:
        return labels
    weight = node_weights(given, labels.nodes, graph)
    return labels._replace(sample_weight=weight).select(weight > 0)


def node_weights(given, nodes, graph):
    """Weights of some `nodes` of a graph; 1 for a node that a mapping does not name.

    Up to half of the names may be about nodes that the graph does not have, as for labels.

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")])
    >>> node_weights({"cy": 2.0}, np.array([0, 2]), path)
    array([1., 2.])
    """
    values = NodeValues(given, is_missing, name="sample_weight", kind="weight")
    found = values.find(graph.node_ids, 0, graph.n_nodes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AbsentLabelsWarning)  # the labels of these nodes warn
        known, index = values.locate(found)
    weights = np.full(graph.n_nodes, 1.0 if values.is_by_id else np.nan)
    weights[known] = _numbers(values.values)[index]
    weights = weights[nodes]
    good = (weights >= 0) & (weights < np.inf)
    if not good.all():
        node = int(np.argmin(good))
        raise InputError(
            f"the sample_weight of labeled node {graph.ids[nodes[node]]!s} is {weights[node]}; it "
            "must be finite and not negative"
        )
    if not weights.any():
        raise InputError("sample_weight is zero at all labels; give at least one a positive weight")
    return weights


def class_weighted(labels, given):
    """The labels, each weighed by its class: as given, or such that all classes weigh the same.

    >>> from graphsqueak.ssl.labels import ClassLabels
    >>> labels = ClassLabels(np.arange(3), np.array([0, 0, 1]), np.array(["ham", "spam"]))
    >>> class_weighted(labels, "balanced").sample_weight
    array([0.75, 0.75, 1.5 ])
    """
    if given is None:
        return labels
    names = labels.classes.tolist()
    weight = np.ones(labels.code.size) if labels.sample_weight is None else labels.sample_weight
    if isinstance(given, str) and given == "balanced":
        sizes = np.bincount(labels.code, weight, len(names))
        return labels._replace(sample_weight=weight * (sizes.mean() / sizes)[labels.code])
    if not isinstance(given, Mapping):
        raise InputError(
            Parameter("class_weight", given),
            " is not understood; give None, 'balanced' or a mapping from classes to weights",
        )
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InputError(f"class_weight has {unknown[0]!r}, which is no class of the labels")
    each = [check_real(f"weight of class {c}", given.get(c, 1.0), above=0.0) for c in names]
    return labels._replace(sample_weight=weight * np.array(each)[labels.code])


def _numbers(values):
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("sample_weight holds other things than numbers") from None
