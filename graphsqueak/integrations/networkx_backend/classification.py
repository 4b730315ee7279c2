"""Labels of nodes by networkx's two iterations, from the same start for as many steps.

    harmonic function              F <- P F + B, P = D^-1 A with rows of labeled nodes zero
    local and global consistency   F <- a S F + (1 - a) Y, S = D^-1/2 A D^-1/2

networkx stops after `max_iter` steps, converged or not, and so is done here, to give its answers.
(`graphsqueak.HFSClassifier` solves for the limit.)
"""

import networkx as nx
import numpy as np
import scipy.sparse

from graphsqueak.integrations.networkx_backend.graph import BackendGraph

__all__ = ["harmonic_function", "local_and_global_consistency"]

_FEW_CLASSES = 4


def harmonic_function(G: BackendGraph, max_iter: int = 30, label_name: str = "label") -> list:
    """Labels of all nodes by harmonic functions, as networkx has it.

    Parameters
    ----------
    G : BackendGraph
    max_iter : int
        Steps.
    label_name : str
        Node attribute of the labels that are known.
    """
    nodes, codes, classes = _labels(G, label_name)
    adjacency = G.adjacency("weight")
    degree = adjacency.sum(axis=0)
    scale = 1.0 / np.where(degree == 0, 1, degree)
    scale[nodes] = 0.0
    start = np.zeros((len(G), classes.shape[0]))
    start[nodes, codes] = 1
    scores = np.zeros_like(start)
    for _ in range(max_iter):
        scores = scale[:, None] * _times(adjacency, scores) + start
    return classes[np.argmax(scores, axis=1)].tolist()


def local_and_global_consistency(
    G: BackendGraph, alpha: float = 0.99, max_iter: int = 30, label_name: str = "label"
) -> list:
    """Labels of all nodes by local and global consistency, as networkx has it.

    Parameters
    ----------
    G : BackendGraph
    alpha : float
        How much neighbors count beside a node's own label.
    max_iter : int
        Steps.
    label_name : str
        Node attribute of the labels that are known.
    """
    nodes, codes, classes = _labels(G, label_name)
    adjacency = G.adjacency("weight")
    degree = adjacency.sum(axis=0)
    scale = scipy.sparse.diags_array(1.0 / np.sqrt(np.where(degree == 0, 1, degree)))
    step = (alpha * (scale @ adjacency @ scale)).tocsr()
    start = np.zeros((len(G), classes.shape[0]))
    start[nodes, codes] = 1 - alpha
    scores = np.zeros_like(start)
    for _ in range(max_iter):
        scores = _times(step, scores) + start
    return classes[np.argmax(scores, axis=1)].tolist()


def _times(matrix, scores):
    """matrix @ scores; of a few columns each by itself, which scipy does faster."""
    if scores.shape[1] > _FEW_CLASSES:
        return matrix @ scores
    return np.column_stack([matrix @ column for column in scores.T])


def _labels(G, label_name):
    """Labeled nodes, the number of their class, and the classes in order of appearance."""
    known = G.labels.get(label_name, {})
    if not known:
        raise nx.NetworkXError(f"No node on the input graph is labeled by '{label_name}'.")
    code: dict = {}
    codes = [code.setdefault(label, len(code)) for label in known.values()]
    return np.array(list(known)), np.array(codes), np.array(list(code))
