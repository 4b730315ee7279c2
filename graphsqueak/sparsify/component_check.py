"""A sparsifier has the components of its graph; where not, no accuracy is left to measure."""

import numpy as np

__all__ = ["component_problem"]


def component_problem(component, sparsifier, ridge=0.0):
    """The fields of a certificate that says so, or None if the components agree.

    An edge between two components of G makes epsilon infinite: x' L_G x = 0 < x' L_H x for the
    indicator x of one. A component of G that falls apart in H makes it at least 1. With a ridge
    all ratios are finite, and components may differ.

    Parameters
    ----------
    component : ndarray
        The smallest node of each node's component in the graph.
    sparsifier : EdgeList
    ridge : float

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> component_problem(np.array([0, 0, 0]), EdgeList(tail=[0], head=[1], n_nodes=3))["problem"]
    'the graph joins 0 and 2, the sparsifier does not: it has lost a bridge, or belongs to ...'
    """
    if ridge > 0:
        return None
    names, tail, head = sparsifier.ids, sparsifier.tail, sparsifier.head
    joined = np.flatnonzero(component[tail] != component[head])
    if joined.size:
        u, v = names[tail[joined[0]]], names[head[joined[0]]]
        return _nothing_known(np.inf) | {
            "problem": f"the sparsifier joins {u} and {v}, which are in two components of the "
            "graph; it belongs to another graph"
        }
    own = sparsifier.components()
    split = np.flatnonzero(own[component] != own)
    if split.size:
        u, v = names[component[split[0]]], names[split[0]]
        return _nothing_known(1.0) | {
            "problem": f"the graph joins {u} and {v}, the sparsifier does not: it has lost a "
            "bridge, or belongs to another graph"
        }
    return None


def _nothing_known(epsilon_lower):
    return {
        "epsilon_lower": epsilon_lower,
        "epsilon_upper": np.inf,
        "lambda_min": 0.0,
        "lambda_max": np.inf,
        "delta": 0.0,
    }
