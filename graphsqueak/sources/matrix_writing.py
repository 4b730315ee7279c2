"""Write a graph as a Matrix Market or METIS file, whose nodes are 1, ..., n."""

import numpy as np

from graphsqueak.validation import InputError

__all__ = ["write_matrix_market", "write_metis"]

_ROWS = 1 << 18


def write_matrix_market(file, edges, *, with_weights):
    """Write a symmetric coordinate matrix, each edge once in the lower triangle.

    >>> import io
    >>> from graphsqueak.graph import EdgeList
    >>> file = io.BytesIO()
    >>> write_matrix_market(file, EdgeList(tail=[0], head=[1]), with_weights=False)
    >>> print(file.getvalue().decode().strip())
    %%MatrixMarket matrix coordinate pattern symmetric
    2 2 1
    2 1
    """
    number = _numbers(edges)
    tail, head = number[edges.tail], number[edges.head]
    field = "real" if with_weights else "pattern"
    file.write(f"%%MatrixMarket matrix coordinate {field} symmetric\n".encode())
    file.write(f"{edges.n_nodes} {edges.n_nodes} {edges.n_edges}\n".encode())
    columns = {"row": np.maximum(tail, head), "column": np.minimum(tail, head)}
    if with_weights:
        columns["weight"] = edges.weight
    _write_rows(file, columns)


def write_metis(file, edges, *, with_weights):
    """Write a METIS graph, parallel edges summed; its weights must be whole numbers."""
    number = _numbers(edges)
    simple = edges.simplified()
    weight = simple.weight
    if with_weights and ((weight != np.round(weight)) | (weight > 2**53)).any():
        value = weight[np.argmax((weight != np.round(weight)) | (weight > 2**53))]
        raise InputError(
            f"METIS files hold whole-numbered weights, not {value:g}; write .mtx, .tsv or .parquet"
        )
    file.write(f"{edges.n_nodes} {simple.n_edges}{' 001' * with_weights}\n".encode())
    ends = np.concatenate([number[simple.tail], number[simple.head]])
    others = np.concatenate([number[simple.head], number[simple.tail]])
    order = np.lexsort((others, ends))
    words = others[order].astype(str)
    if with_weights:
        both = np.concatenate([weight, weight])[order].astype(np.int64).astype(str)
        words = np.char.add(np.char.add(words, " "), both)
    words = words.tolist()
    stops = np.cumsum(np.bincount(ends, minlength=edges.n_nodes + 1))
    for first in range(0, edges.n_nodes, _ROWS):
        last = min(first + _ROWS, edges.n_nodes)
        lines = (
            " ".join(words[stops[node] : stops[node + 1]]) + "\n" for node in range(first, last)
        )
        file.write("".join(lines).encode())


def _numbers(edges):
    """The number 1, ..., n of each node: its id where the ids are these numbers, else one more."""
    ids = edges.ids
    counted = np.arange(edges.n_nodes)
    if ids.dtype.kind in "iu":
        if np.array_equal(np.sort(ids), counted + 1):
            return ids.astype(np.int64)
        if np.array_equal(ids, counted):
            return counted + 1
    raise InputError(
        "Matrix Market and METIS files number nodes 1, ..., n and cannot hold other ids such as "
        f"{ids[0]!r}; write .tsv, .csv, .parquet or .arrow"
    )


def _write_rows(file, columns):
    import polars as pl

    file.write(pl.DataFrame(columns).write_csv(include_header=False, separator=" ").encode())
