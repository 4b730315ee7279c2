"""Each edge of a stream once, in bounded memory.

Edges are written to a temporary file, parted by the hash of their pair, so that each part fits into
memory and all repeats of a pair are in one part.
"""

import tempfile
import weakref

import numpy as np

from graphsqueak.graph.duplicate_edges import hash_pair
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.system.kernels import njit_cached

__all__ = ["DistinctEdges"]

_N_PARTS = 256
_EDGE = np.dtype([("tail", np.int64), ("head", np.int64), ("weight", np.float64)])


class DistinctEdges:
    """Each pair once, with the weight it had first: write all batches, then iterate.

    Takes 24 bytes an edge in a temporary file, and, while it is read, memory for a 256th of that.

    Parameters
    ----------
    n_parts : int
        Each of which must fit into memory.

    Examples
    --------
    >>> edges = DistinctEdges()
    >>> edges.write(EdgeList(tail=[0, 1, 1], head=[1, 0, 2], weight=[5.0, 7.0, 1.0]))
    >>> [(batch.n_edges, float(batch.weight.sum())) for batch in edges.batches(10, 3, None)]
    [(2, 6.0)]
    """

    def __init__(self, n_parts=_N_PARTS):
        self._n_parts, self._first, self._file = n_parts, None, None
        self._cuts = []  # of each batch, sorted by part: where its parts begin in the file, in rows

    def write(self, batch):
        """Take the edges of one more batch."""
        rows = np.empty(batch.n_edges, dtype=_EDGE)
        rows["tail"], rows["head"], rows["weight"] = batch.tail, batch.head, batch.weight
        if self._first is None and self._file is None:
            self._first = rows  # a single batch needs no file
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as we do
            weakref.finalize(self, self._file.close)
            self._append(self._first)
            self._first = None
        self._append(rows)

    def _append(self, rows):
        part = _part_of(rows["tail"], rows["head"], self._n_parts)
        order = np.argsort(part, kind="stable")
        begin = self._cuts[-1][-1] if self._cuts else 0
        self._cuts.append(begin + np.searchsorted(part[order], np.arange(self._n_parts + 1)))
        self._file.write(rows[order].tobytes())

    def batches(self, batch_size, n_nodes, ids):
        """Yield the distinct edges, `batch_size` or fewer at a time."""
        for rows in self._parts():
            kept = rows[_first_of_each(rows["tail"], rows["head"])]
            for start in range(0, len(kept), batch_size):
                some = kept[start : start + batch_size]
                yield EdgeList.from_validated(
                    some["tail"], some["head"], some["weight"], n_nodes, ids
                )

    def _parts(self):
        if self._file is None:
            yield self._first
            return
        for part in range(self._n_parts):
            pieces = []
            for cuts in self._cuts:
                self._file.seek(int(cuts[part]) * _EDGE.itemsize)
                pieces.append(self._file.read(int(cuts[part + 1] - cuts[part]) * _EDGE.itemsize))
            yield np.frombuffer(b"".join(pieces), dtype=_EDGE)


def _first_of_each(tail, head):
    """Indices of the first edge of every pair, in order."""
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    order = np.lexsort((high, low))
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0)
    return np.sort(order[is_new])


@njit_cached
def _part_of(tail, head, n_parts):
    part = np.empty(tail.size, dtype=np.int32)
    for edge in range(tail.size):
        part[edge] = hash_pair(tail[edge], head[edge]) % np.uint64(n_parts)
    return part
