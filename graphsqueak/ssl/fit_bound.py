"""The bound that goes with a fit: spectrum measured, training error measured."""

import numpy as np

from graphsqueak.ssl.bounds import Bound, measured_bound
from graphsqueak.ssl.spectrum import smallest_eigenvalue, widest_node

__all__ = ["bound_of_fit", "no_bound"]

_DELTA = 0.05


def bound_of_fit(graph, labeled, targets, fit, eta, *, delta=_DELTA):
    """`measured_bound` for every column of `targets` at once (a union bound over columns).

    lambda_2 and diag(L^+) enter with their error bars on the safe side. The worst column decides.
    """
    if graph.components().max(initial=0) > 0:
        return no_bound()
    n_labels = labeled.size
    n_others = graph.n_nodes - n_labels
    if n_others == 0:
        return Bound(0.0, "every node has a label: there is nothing to predict", False)
    lambda_2, widest = smallest_eigenvalue(graph), widest_node(graph)
    largest = float(np.abs(targets).max())
    predicted = np.clip(fit.centered + fit.offset, -largest, largest)[labeled]
    risk = float(((predicted - targets) ** 2).mean(axis=0).max())
    return measured_bound(
        risk,
        n_labels,
        n_others,
        eta,
        max(lambda_2.value - lambda_2.error, 0.0),
        widest.value + widest.error,
        largest,
        delta=delta / targets.shape[1],
    )


def no_bound():
    """What can be said where no theorem applies."""
    return Bound(
        np.inf,
        "nothing is proved here: the theorem is for connected graphs whose labeled nodes are not "
        "tied together",
        True,
    )
