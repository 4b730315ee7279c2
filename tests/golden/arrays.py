"""How stages name their arrays and remove what may differ without a change of meaning."""

import numpy as np

__all__ = ["edge_columns", "named", "up_to_names", "up_to_sign"]


def named(results):
    """Arrays of several results in one mapping, each under the name of its result.

    >>> named({"first": {"weight": 1}, "second": {"weight": 2}})
    {'first_weight': 1, 'second_weight': 2}
    """
    return {
        f"{name}_{key}": array for name, found in results.items() for key, array in found.items()
    }


def edge_columns(edges):
    """The arrays of an edge list."""
    return {"tail": edges.tail, "head": edges.head, "weight": edges.weight}


def up_to_sign(vectors):
    """Columns whose entry of largest magnitude is positive."""
    largest = np.abs(vectors).argmax(axis=0)
    return vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])


def up_to_names(labels):
    """Labels numbered in the order in which they appear.

    >>> up_to_names([7, 3, 7, 5]).tolist()
    [0, 1, 0, 2]
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
