"""Distinct edges of a stream, in bounded memory.

Used by `read_edges(..., duplicates="first")`, which keeps the first of equal edges, and by
duplicates="error", which refuses them. The edges {u, v} and {v, u} are equal. Numbers of nodes are
compared, so the result is exact.

If there is more than one batch, edges are written to a temporary file, partitioned by the hash of
their two ends. Each partition fits into memory, and has all repeats of its edges.
"""

import tempfile
import weakref

import numpy as np

from graphsqueak.graph.duplicate_edges import hash_pair
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.system.kernels import njit_cached

# One edge in the temporary file: 24 bytes.
ROW = np.dtype([("tail", np.int64), ("head", np.int64), ("weight", np.float64)])


class DistinctEdges:
    """Edges of a stream, each once: write all batches, then read the distinct edges.

    Takes 24 bytes per edge in a temporary file, and memory for one partition while it is read.

    Parameters
    ----------
    n_partitions : int
        Each must fit into memory: 256 partitions of a billion edges have 94 MB each.

    Examples
    --------
    >>> edges = DistinctEdges()
    >>> edges.write(EdgeList(tail=[0, 1, 1], head=[1, 0, 2], weight=[5.0, 7.0, 1.0]))
    >>> edges.find_repeat()
    (1, 0)
    >>> [(batch.n_edges, float(batch.weight.sum())) for batch in edges.batches(10, 3, None)]
    [(2, 6.0)]
    """

    def __init__(self, n_partitions=256):
        self._n_partitions = n_partitions
        self._first_batch = None
        self._file = None
        self._n_rows = 0
        # The rows at which the partitions begin in the file: one array per batch.
        self._starts = []

    def write(self, batch):
        """Append a batch."""
        rows = np.empty(batch.n_edges, dtype=ROW)
        rows["tail"] = batch.tail
        rows["head"] = batch.head
        rows["weight"] = batch.weight
        if self._file is None and self._first_batch is None:
            # A single batch stays in memory, in its order.
            self._first_batch = rows
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
            weakref.finalize(self, self._file.close)
            self._append(self._first_batch)
            self._first_batch = None
        self._append(rows)

    def _append(self, rows):
        """Write rows to the file, sorted by partition."""
        partition = _partition_of(rows["tail"], rows["head"], self._n_partitions)
        # Stable: within a partition, edges stay in the order of the stream.
        order = np.argsort(partition, kind="stable")
        starts = np.searchsorted(partition[order], np.arange(self._n_partitions + 1))
        self._starts.append(self._n_rows + starts)
        self._n_rows += len(rows)
        self._file.write(rows[order].tobytes())

    def find_repeat(self):
        """Return the two ends of an edge that was written more than once; None if there is none."""
        for rows in self._read_partitions():
            is_first = _are_first(rows)
            if not is_first.all():
                row = rows[np.argmin(is_first)]
                return int(row["tail"]), int(row["head"])
        return None

    def batches(self, batch_size, n_nodes, ids):
        """Yield the first of equal edges, at most `batch_size` edges at a time."""
        for rows in self._read_partitions():
            rows = rows[_are_first(rows)]
            for start in range(0, len(rows), batch_size):
                block = rows[start : start + batch_size]
                yield EdgeList.from_validated(
                    block["tail"], block["head"], block["weight"], n_nodes, ids
                )

    def _read_partitions(self):
        if self._file is None:
            yield self._first_batch
            return
        for partition in range(self._n_partitions):
            # A piece per batch; together they are in the order of the stream.
            pieces = []
            for starts in self._starts:
                n_rows = int(starts[partition + 1] - starts[partition])
                self._file.seek(int(starts[partition]) * ROW.itemsize)
                pieces.append(self._file.read(n_rows * ROW.itemsize))
            yield np.frombuffer(b"".join(pieces), dtype=ROW)


def _are_first(rows):
    """Return whether each edge is the first one of its pair."""
    import polars as pl

    pairs = np.sort([rows["tail"], rows["head"]], axis=0)
    is_first = pl.struct("low", "high").is_first_distinct()
    return pl.DataFrame({"low": pairs[0], "high": pairs[1]}).select(is_first).to_series().to_numpy()


@njit_cached
def _partition_of(tail, head, n_partitions):
    partition = np.empty(tail.size, dtype=np.int32)
    for edge in range(tail.size):
        # The same hash in both directions, so that (u, v) and (v, u) meet in one partition.
        partition[edge] = hash_pair(tail[edge], head[edge]) % np.uint64(n_partitions)
    return partition
