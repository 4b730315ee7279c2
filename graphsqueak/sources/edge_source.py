"""Base class of all edge sources, and the batcher that most of them use.

A source is an iterable of batches of edges. Every source (a file, a synthetic graph, the neighbors
of points) subclasses `EdgeSource` and writes one generator, `_batches`. A consumer needs only

    for batch in source.batches(): ...

where each batch is an `EdgeList` over the nodes seen so far. An `EdgeList` has this method as well,
and is one batch.

Readers deliver edges in chunks of any length (a block of lines, a row group). A `Batcher` collects
them, so that the batches depend only on the edges and on `batch_size`. It drops and counts
self-loops and edges of weight zero; their nodes are kept.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import first_ids
from graphsqueak.graph.timed_edges import TimedEdges
from graphsqueak.nodes.numbering import ids_between
from graphsqueak.system.kernels import njit_cached
from graphsqueak.validation import OtherNames

# Memory of a reader per node: two copies of its id, and its slot in the hash table. A file that
# announces more nodes than fit into memory is refused. Halved or doubled, twice or half as many.
BYTES_PER_NODE = 40


class EdgeSource(OtherNames):
    """Stream of edges that can be iterated more than once; subclasses write `_batches`.

    Subclass it to pass edges of your own to anything that reads a stream: `sparsify`, `certify`,
    `info`, `SparseHFSClassifier`. Each iteration is one pass, and yields the same batches with
    the same numbering. The counters are those of the current pass: only one pass may be active.

    Attributes
    ----------
    n_nodes : int
        Number of nodes seen so far, or of all nodes if it is known before the first pass.
    n_edges_read : int
        Number of edges yielded. Parallel edges are counted separately.
    n_self_loops, n_zero_weights, n_bad_lines : int
        Number of dropped edges and lines. A self-loop of weight zero is counted as a self-loop.
    fraction_read : float
        Fraction of the source that has been read, in [0, 1]; NaN if its size is unknown.
    is_rereadable : bool
        False for a pipe or a reader of record batches, which allow one pass.
    is_materialized : bool
        False if the edges are a sample of a graph that is never built. Such a source has
        `multiply`, the exact product with its Laplacian, and `sample_for`, another sample.
    is_exact : bool
        Whether the edges are all edges of the graph.
    id_kind : {"integer", "text"}
        Type of `ids`.

    Examples
    --------
    >>> class Star(EdgeSource):
    ...     def _batches(self) -> Iterator[EdgeList]:
    ...         for leaf in (1, 2, 3):
    ...             yield EdgeList.from_validated([0], [leaf], [1.0], n_nodes=leaf + 1)
    >>> star = Star()
    >>> [batch.n_nodes for batch in star]
    [2, 3, 4]
    >>> star.to_edge_list().degrees()
    array([3., 1., 1., 1.])
    >>> star.n_edges_read
    3
    """

    _other_names: ClassVar[Mapping[str, str]] = {
        "degrees": "to_edge_list().degrees()",
        "edges": "to_edge_list().edges",
        "head": "to_edge_list().edges.head()",
        "n_edges": "to_edge_list().n_edges or graphsqueak.info(source)",
        "nodes": "to_edge_list().nodes",
        "plot": "to_edge_list().plot()",
        "save": "graphsqueak.write_edges(source, path)",
        "to_arrow": "to_edge_list().to_arrow()",
        "to_csv": "graphsqueak.write_edges(source, path)",
        "to_igraph": "to_edge_list().to_igraph()",
        "to_networkx": "to_edge_list().to_networkx()",
        "to_pandas": "to_edge_list().to_pandas()",
        "to_polars": "to_edge_list().to_polars()",
        "to_scipy": "to_edge_list().to_scipy()",
        "weights": "to_edge_list().weights",
    }

    is_rereadable = True
    is_materialized = True
    id_kind = "integer"

    def __init__(self) -> None:
        self.n_nodes = 0
        self._ids: Any = None
        self._reset()

    @property
    def is_exact(self) -> bool:
        """Whether the edges are all edges of the graph."""
        return True

    def _reset(self) -> None:
        self.n_edges_read = 0
        self.n_self_loops = 0
        self.n_zero_weights = 0
        self.n_bad_lines = 0
        self.fraction_read = 0.0

    def batches(self) -> Iterator[EdgeList]:
        """Yield the edges in batches, in one pass. Iterating over the source does the same."""
        self._reset()
        for batch in self._batches():
            self.n_nodes = batch.n_nodes
            self.n_edges_read += batch.n_edges
            yield batch
        self.fraction_read = 1.0

    def __iter__(self) -> Iterator[EdgeList]:
        return self.batches()

    def _batches(self):
        """Yield `EdgeList`s, at least one: an empty one if there are no edges.

        This base class counts nodes and edges. The subclass counts what it drops, and sets
        `fraction_read` and `_ids` (an array, or None for 0, ..., n_nodes - 1).
        """
        raise NotImplementedError

    def expect_seconds(self) -> None:
        """Require times in seconds, for time spans such as "7d"; only files need a check."""

    @property
    def ids(self) -> np.ndarray:
        """Ids of the nodes seen so far, shape (n_nodes,)."""
        return self.ids_between(0, self.n_nodes)

    @property
    def node_ids(self) -> Any:
        """Ids as they are stored; None if they are the numbers 0, ..., n_nodes - 1."""
        return self._ids

    def ids_between(self, start: int, stop: int) -> np.ndarray:
        """Return the ids of nodes start, ..., stop - 1, without decoding the others.

        Parameters
        ----------
        start, stop : int
        """
        return ids_between(self._ids, start, stop)

    def to_edge_list(self) -> EdgeList:
        """Return all edges in memory."""
        # An empty batch first, so that a source without batches can be concatenated.
        batches = [EdgeList.from_validated([], [], [], n_nodes=0), *self]
        edges = EdgeList.from_validated(
            np.concatenate([batch.tail for batch in batches]),
            np.concatenate([batch.head for batch in batches]),
            np.concatenate([batch.weight for batch in batches]),
            self.n_nodes,
            first_ids(self._ids, self.n_nodes),
            n_self_loops=self.n_self_loops,
            n_zero_weights=self.n_zero_weights,
        )
        return edges.in_id_order()


def id_kind_of(source: EdgeList | EdgeSource) -> str:
    """Return "integer" or "text", the type of the ids of a source or graph.

    >>> id_kind_of(EdgeList(tail=[0], head=[1]))
    'integer'
    """
    if isinstance(source, EdgeSource):
        return source.id_kind
    return "integer" if source.ids.dtype.kind in "iu" else "text"


class Chunk(NamedTuple):
    """Edges as a reader delivers them, before their nodes are numbered.

    Attributes
    ----------
    ends : ndarray
        Shape (n, 2): integer ids, uint64 ones as int64 of the same bits. Or shape (n, 4): start and
        stop of the source's and of the target's id in `text`.
    weight, time : ndarray or None
    text : ndarray or None
    nodes : ndarray or None
        Ids that are numbered before those of the edges.
    n_bad_lines : int
    fraction_read : float
    where : callable or None
        where(row) names the line or row of an edge; given if edges have times.
    has_dates : bool
        Whether the times are written as dates.
    """

    ends: np.ndarray
    weight: np.ndarray | None = None
    text: np.ndarray | None = None
    nodes: np.ndarray | None = None
    n_bad_lines: int = 0
    fraction_read: float = 0.0
    time: np.ndarray | None = None
    where: Callable[[int], str] | None = None
    has_dates: bool = False


class Opened(NamedTuple):
    """An opened file: its inferred schema, and its chunks.

    Attributes
    ----------
    kind : {"int64", "uint64", "text"} or None
        Type of the ids; None for a file without data.
    is_weighted : bool
    chunks : iterator of Chunk, or None
        None in the schema that the first file sets for all files.
    columns : tuple
        Names or numbers of the columns of source, target and weight.
    remarks : tuple
    name : str
    time : str, int or None
        Column of the times.
    """

    kind: str | None
    is_weighted: bool
    chunks: Iterator[Chunk] | None
    columns: tuple = ()
    remarks: tuple = ()
    name: str = ""
    time: str | int | None = None


class _Batch(NamedTuple):
    """Arrays that are filled with the edges of a batch; weight and time may be empty."""

    tail: np.ndarray
    head: np.ndarray
    weight: np.ndarray
    time: np.ndarray


class Batcher:
    """Collector of numbered edges that yields full batches.

    Parameters
    ----------
    batch_size : int
        Edges per batch; only the last batch may be smaller.
    ids : object
        Ids of the nodes, passed to every batch.
    n_nodes : int
        Number of nodes known before the first edge.

    Attributes
    ----------
    n_nodes, n_self_loops, n_zero_weights : int

    Examples
    --------
    >>> batcher = Batcher(2, ids=None)
    >>> nodes = np.array([[0, 1], [1, 1], [1, 2], [0, 2]])
    >>> [batch.n_nodes for batch in batcher.add(nodes, None)]
    [3]
    >>> batcher.rest().head, batcher.n_self_loops
    (array([2], dtype=int32), 1)
    """

    def __init__(self, batch_size, ids, *, n_nodes=0):
        self.n_nodes = n_nodes
        self.n_self_loops = 0
        self.n_zero_weights = 0
        self._batch_size = batch_size
        self.ids = ids
        # Weights of all batches without weights, so that one array serves them all.
        self._ones = np.ones(0)
        # The arrays of the current batch; None before its first edge.
        self._batch = None
        self._n_filled = 0

    def add_chunk(self, chunk):
        """Number the nodes of a `Chunk` by `ids`, and yield batches as `add` does."""
        # Matrix Market and METIS announce all nodes, isolated ones included.
        if chunk.nodes is not None:
            self.ids.number(chunk.nodes)
            self.n_nodes = max(self.n_nodes, self.ids.n_nodes)
        text = () if chunk.text is None else (chunk.text,)
        yield from self.add(self.ids.number(*text, chunk.ends), chunk.weight, chunk.time)

    def add(self, nodes, weight, time=None):
        """Append edges, shape (n, 2), and yield every full batch that another edge follows."""
        if not len(nodes):
            return
        # Compiled code has empty arrays in place of None.
        weight = np.zeros(0) if weight is None else weight
        time = np.zeros(0) if time is None else time
        cursor = 0
        while True:
            if self._batch is None:
                self._batch = self._allocate(is_weighted=weight.size > 0, is_timed=time.size > 0)
            cursor, self._n_filled, n_self_loops, n_zero_weights, self.n_nodes = _fill(
                nodes, weight, time, cursor, self._batch, self._n_filled, self.n_nodes
            )
            self.n_self_loops += n_self_loops
            self.n_zero_weights += n_zero_weights
            if cursor == len(nodes):
                return
            yield self.rest()

    def _allocate(self, *, is_weighted, is_timed):
        # An edge adds at most two nodes.
        fits = self.n_nodes + 2 * self._batch_size < 2**31
        dtype = np.int32 if fits else np.int64
        return _Batch(
            tail=np.empty(self._batch_size, dtype=dtype),
            head=np.empty(self._batch_size, dtype=dtype),
            weight=np.empty(self._batch_size if is_weighted else 0),
            time=np.empty(self._batch_size if is_timed else 0),
        )

    def rest(self):
        """Return the edges that are left as a batch, which may be empty."""
        n = self._n_filled
        arrays = self._batch
        if arrays is None:
            arrays = self._allocate(is_weighted=False, is_timed=False)
        weight = arrays.weight
        if not weight.size:
            if self._ones.size < n:
                self._ones = np.ones(n)
            weight = self._ones
        batch = EdgeList.from_validated(
            arrays.tail[:n], arrays.head[:n], weight[:n], self.n_nodes, self.ids
        )
        if arrays.time.size:
            batch = TimedEdges.from_edges(batch, arrays.time[:n])
        # Consumers may keep the arrays, so the next batch gets new ones.
        self._batch = None
        self._n_filled = 0
        return batch


@njit_cached
def _fill(nodes, weight, time, cursor, batch, n_filled, n_nodes):
    """Copy edges, beginning at `cursor`, until the batch is full; drop loops and zero weights.

    Returns the index of the first edge that does not fit, the number of edges in the batch, the
    numbers of self-loops and zero weights, and the number of nodes.
    """
    is_weighted = weight.size > 0
    is_timed = time.size > 0
    n_self_loops = 0
    n_zero_weights = 0
    while cursor < nodes.shape[0]:
        u = nodes[cursor, 0]
        v = nodes[cursor, 1]
        if u == v:
            n_self_loops += 1
        elif is_weighted and weight[cursor] == 0:
            n_zero_weights += 1
        elif n_filled == batch.tail.size:
            break
        else:
            batch.tail[n_filled] = u
            batch.head[n_filled] = v
            if is_weighted:
                batch.weight[n_filled] = weight[cursor]
            if is_timed:
                batch.time[n_filled] = time[cursor]
            n_filled += 1
        # Nodes of dropped edges exist as well.
        n_nodes = max(n_nodes, u + 1, v + 1)
        cursor += 1
    return cursor, n_filled, n_self_loops, n_zero_weights, n_nodes
