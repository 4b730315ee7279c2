"""Trust in labels: how much each of them weighs in the loss, by class and by node.

Stable-HFS then minimizes sum_S s_i (f_i - y_i)^2 + alpha f' L f, with the weighted mean for ybar: a
label with s_i = 2 is two of them at one node, one with s_i = 0 is none. Labels that are left out to
choose by count as much as they weigh.
"""

from collections.abc import Mapping

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.ssl.labels import ClassLabels, GivenLabels, is_missing
from graphsqueak.ssl.selection.graph_nodes import GraphNodes, as_labels
from graphsqueak.validation import check_real

__all__ = ["class_weighted", "trusted_labels"]


def trusted_labels(labels, given, X, graph):
    """The labels with weights, without those of weight 0 and classes that have no other.

    Parameters
    ----------
    labels : ClassLabels or RealLabels
    given : array over the nodes, mapping from ids to weights, or None
    X : graph or GraphNodes
        What was fitted: an array goes by its nodes.
    graph : EdgeList

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.ssl.labels import class_labels
    >>> path = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")])
    >>> labels = class_labels({"ann": "ham", "cy": "spam"}, path)
    >>> trusted_labels(labels, {"cy": 2.0}, path, path).weight
    array([1., 2.])
    >>> trusted_labels(labels, {"ann": 0.0}, path, path).classes.tolist()
    ['spam']
    """
    if given is None:
        return labels
    weight = _weights(given, X, labels.nodes, graph)
    kept = weight > 0
    if not isinstance(labels, ClassLabels):
        return type(labels)(labels.nodes[kept], labels.value[kept], weight[kept])
    seen, code = np.unique(labels.code[kept], return_inverse=True)
    return ClassLabels(labels.nodes[kept], code, labels.classes[seen], weight[kept])


def _weights(given, X, nodes, graph):
    """Those of the labeled nodes; names that are not in the graph must be few, as of labels."""
    weights, given = np.ones(graph.n_nodes), as_labels(given)
    if isinstance(given, Mapping):
        said = GivenLabels(given, is_missing)
        found = said.find(graph.own_ids, 0, graph.n_nodes)
        known = np.flatnonzero(found >= 0)
        if 2 * known.size < len(said.names):
            lost = np.setdiff1d(np.arange(len(said.names)), found[known])
            name = said.names[lost].tolist()[0]
            raise InputError(f"sample_weight names node {name!r}, which is not in the graph")
        weights[known] = _numbers(said.values)[found[known]]
    else:
        values = _numbers(given)
        rows = X.nodes if isinstance(X, GraphNodes) else np.arange(graph.n_nodes)
        if values.shape != rows.shape:
            raise InputError(
                f"sample_weight has shape {values.shape} for {rows.size} nodes; give one weight "
                "per node, or a mapping from node ids to weights"
            )
        weights[rows] = values
    weights = weights[nodes]
    good = (weights >= 0) & (weights < np.inf)
    if not good.all():
        node = int(np.argmin(good))
        raise InputError(
            f"the sample_weight of labeled node {graph.ids[nodes[node]]!s} is {weights[node]}; it "
            "must be finite and not negative"
        )
    if not weights.any():
        raise InputError("sample_weight is zero at all labels; trust at least one of them")
    return weights


def class_weighted(labels, given):
    """The labels, each weighed by its class: as given, or such that all classes weigh the same.

    >>> from graphsqueak.ssl.labels import ClassLabels
    >>> labels = ClassLabels(np.arange(3), np.array([0, 0, 1]), np.array(["ham", "spam"]))
    >>> class_weighted(labels, "balanced").weight
    array([0.75, 0.75, 1.5 ])
    """
    if given is None:
        return labels
    names = labels.classes.tolist()
    weight = np.ones(labels.code.size) if labels.weight is None else labels.weight
    if isinstance(given, str) and given == "balanced":
        sizes = np.bincount(labels.code, weight, len(names))
        return labels._replace(weight=weight * (sizes.mean() / sizes)[labels.code])
    if not isinstance(given, Mapping):
        raise InputError(
            f"class_weight={given!r} is not understood; give None, 'balanced' or a mapping from "
            "classes to weights"
        )
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InputError(f"class_weight has {unknown[0]!r}, which is no class of the labels")
    each = [check_real(f"weight of class {c}", given.get(c, 1.0), above=0.0) for c in names]
    return labels._replace(weight=weight * np.array(each)[labels.code])


def _numbers(values):
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("sample_weight holds other things than numbers") from None
