"""Node classification by the two iterations of networkx, with its start and number of steps.

    harmonic function              F <- P F + B, P = D^-1 A with zero rows for labeled nodes
    local and global consistency   F <- a S F + (1 - a) Y, S = D^-1/2 A D^-1/2

networkx stops after `max_iter` steps, even if they have not converged, so that these functions do
the same. `graphsqueak.HFSClassifier` solves for the limit.
"""

import networkx as nx
import numpy as np
import scipy.sparse

from graphsqueak.integrations.networkx_backend.graph import BackendGraph


def harmonic_function(G: BackendGraph, max_iter: int = 30, label_name: str = "label") -> list:
    """Return labels of all nodes by harmonic functions.

    Parameters
    ----------
    G : BackendGraph
    max_iter : int
        Number of steps.
    label_name : str
        Node attribute of the known labels.
    """
    start, is_labeled, classes = _known_labels(G, label_name)
    adjacency = G.adjacency("weight")
    scale = np.where(is_labeled, 0.0, 1 / _degrees(adjacency))
    step = scipy.sparse.diags_array(scale) @ adjacency
    return _iterate(step, start, classes, max_iter)


def local_and_global_consistency(
    G: BackendGraph, alpha: float = 0.99, max_iter: int = 30, label_name: str = "label"
) -> list:
    """Return labels of all nodes by local and global consistency.

    Parameters
    ----------
    G : BackendGraph
    alpha : float
        Weight of the neighbors relative to the label of a node itself.
    max_iter : int
        Number of steps.
    label_name : str
        Node attribute of the known labels.
    """
    start, _, classes = _known_labels(G, label_name)
    adjacency = G.adjacency("weight")
    scale = scipy.sparse.diags_array(1 / np.sqrt(_degrees(adjacency)))
    step = alpha * (scale @ adjacency @ scale)
    return _iterate(step, (1 - alpha) * start, classes, max_iter)


def _degrees(adjacency):
    """Return the degrees, with 1 for isolated nodes."""
    degree = adjacency.sum(axis=0)
    return np.where(degree == 0, 1, degree)


def _known_labels(G, label_name):
    """Return class indicators (n_nodes, n_classes), labeled nodes, and classes as they appear."""
    labels = G.labels.get(label_name, {})
    if not labels:
        raise nx.NetworkXError(f"No node on the input graph is labeled by '{label_name}'.")
    classes = list(dict.fromkeys(labels.values()))
    indicator = np.zeros((len(G), len(classes)))
    for node, label in labels.items():
        indicator[node, classes.index(label)] = 1
    return indicator, indicator.any(axis=1), np.array(classes)


def _iterate(step, start, classes, max_iter):
    """Return the class with the highest score after F <- step F + start."""
    step = step.tocsr()
    scores = np.zeros_like(start)
    for _ in range(max_iter):
        scores = step @ scores + start
    return classes[np.argmax(scores, axis=1)].tolist()
