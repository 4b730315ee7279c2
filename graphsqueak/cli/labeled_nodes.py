"""Labels of all nodes of an edge file and of a table of labels, whose nodes may have no edge."""

from typing import Any, NamedTuple


class LabeledNodes(NamedTuple):
    """The nodes of the edges, then those of the label table without an edge.

    The attributes are those of a fitted classifier.
    """

    ids_: Any
    classes_: Any
    transduction_: Any
    label_distributions_: Any
    has_label_in_component_: Any


def absent_nodes(nodes, ids):
    """Return the nodes of a label table that no edge has, in the order of the table."""
    absent = {str(node): node for node in nodes}
    for name in ids.tolist():
        absent.pop(str(name), None)
    return list(absent.values())


def with_absent_nodes(model, absent, given):
    """Return all nodes: those of a fitted classifier, then the absent ones.

    Absent nodes keep a given label. Others are treated as nodes of the graph in components without
    a label: they get the most frequent label, with the same probability of every class.

    Parameters
    ----------
    model : fitted classifier
    absent : list
        Ids of nodes without an edge.
    given : dict
        Labels by id.

    Returns
    -------
    LabeledNodes
    """
    import numpy as np

    n_classes = len(model.classes_)
    code_of_class = {value: code for code, value in enumerate(model.classes_.tolist())}
    codes = {node: code_of_class[value] for node, value in given.items()}
    codes_in_graph = [codes[node] for node in codes.keys() - set(absent)]
    most_frequent = int(np.bincount(codes_in_graph, minlength=n_classes).argmax())
    is_labeled = np.array([node in codes for node in absent], dtype=bool)
    absent_codes = np.array([codes.get(node, most_frequent) for node in absent], dtype=np.int64)
    probabilities = np.full((len(absent), n_classes), 1 / n_classes)
    probabilities[is_labeled] = np.eye(n_classes)[absent_codes[is_labeled]]
    return LabeledNodes(
        ids_=_concatenate_ids(model.ids_, absent),
        classes_=model.classes_,
        transduction_=np.concatenate([model.transduction_, model.classes_[absent_codes]]),
        label_distributions_=np.concatenate([model.label_distributions_, probabilities]),
        has_label_in_component_=np.concatenate([model.has_label_in_component_, is_labeled]),
    )


def note_on_absent_nodes(path, absent, n_labeled):
    """Return a line about the nodes of a label table that have no edge.

    >>> note_on_absent_nodes("labels.csv", [77, 78, 79], 2)
    'note: 3 nodes of labels.csv have no edge (77 is one): 2 keep their labels, 1 gets ...'
    >>> note_on_absent_nodes("labels.csv", ["ann"], 0)
    "note: 1 node of labels.csv has no edge ('ann'): 1 gets the most frequent label; check ..."
    """
    n_unlabeled = len(absent) - n_labeled
    if len(absent) == 1:
        note = f"note: 1 node of {path} has no edge ({absent[0]!r})"
    else:
        note = f"note: {len(absent):,} nodes of {path} have no edge ({absent[0]!r} is one)"
    counts = []
    if n_labeled == 1:
        counts.append("1 keeps its label")
    elif n_labeled:
        counts.append(f"{n_labeled:,} keep their labels")
    if n_unlabeled == 1:
        counts.append("1 gets the most frequent label")
    elif n_unlabeled:
        counts.append(f"{n_unlabeled:,} get the most frequent label")
    return f"{note}: {', '.join(counts)}; check the spelling"


def accuracy(labeled, given, truth):
    """Return the accuracy over nodes with a truth and without a given label; None without any."""
    truth = {str(node): str(value) for node, value in truth.items() if node not in given}
    predictions = zip(
        map(str, labeled.ids_.tolist()), map(str, labeled.transduction_.tolist()), strict=True
    )
    is_right = [truth[node] == label for node, label in predictions if node in truth]
    return sum(is_right) / len(is_right) if is_right else None


def _concatenate_ids(ids, absent):
    """Return ids as text unless all of them are integers."""
    import numpy as np

    nodes = [*ids.tolist(), *absent]
    if all(isinstance(node, int) for node in nodes):
        return np.array(nodes)
    return np.array([str(node) for node in nodes], dtype=object)
