"""A table of (entity, attribute) as a stream of edges between entities that share an attribute.

Accounts that share a device, mails that share a link, people who share an item. An attribute of d
entities is a clique of d (d - 1) / 2 edges, so that ten million pairs are easily ten billion
edges. They are never made:

    the pairs   are read once, numbered, and held by attribute, four bytes each (in a temporary file
                if they are many)
    the stream  that a sparsifier reads holds small cliques whole, and large ones as random regular
                graphs that have them as their mean (`cliques.py`)
    the product with the Laplacian is that of all cliques, exactly, in one pass over the pairs:
                certificates and streamed solves are about the whole graph
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphsqueak.nodes.integer_ids import IntegerIds
from graphsqueak.nodes.text_ids import TextIds
from graphsqueak.randomness import RandomState
from graphsqueak.sources.edge_source import Batcher
from graphsqueak.sources.files.parts import Part, PathsLike, find_parts
from graphsqueak.sources.files.reading import FileSource
from graphsqueak.sources.files.text import ReadOptions
from graphsqueak.sources.pairs.pair_log import PairLog
from graphsqueak.validation import check_choice, check_comments, check_count, check_delimiter

__all__ = ["PairSource", "read_pairs"]

_DRAWN = 1.5  # edges in the stream for each that a sparsifier may keep
_KEPT = 16  # edges of an entity that it may keep, where nobody says


def read_pairs(
    path: PathsLike,
    *,
    entity: int | str = 0,
    attribute: int | str = 1,
    weight: int | str | None = None,
    normalize: str = "size",
    max_size: int | None = None,
    degree: int | str = "auto",
    delimiter: str = "auto",
    header: bool | str = "auto",
    ids: str = "auto",
    comments: Sequence[str] = ("#", "%"),
    on_bad_line: str = "error",
    batch_size: int = 1_000_000,
    format: str = "auto",
    random_state: RandomState = None,
) -> "PairSource":
    """Read a table of pairs as the graph that joins entities with an attribute in common.

    Two entities that share several attributes have the sum of their weights. An attribute of a
    single entity joins nothing; its entity is a node all the same. A pair that is listed twice
    counts once, or, with weights, with their sum.

    Parameters
    ----------
    path : str, Path, binary file object, or list of these
        The files that `read_edges` takes: text, Parquet or Arrow, a folder or glob of parts, "-".
    entity, attribute : int or str
        Their columns, by position from 0 or by name.
    weight : int or str, optional
        The column of how much an entity has of an attribute. Of two entities it makes w_i w_j over
        the mean of all w of the attribute. Default: 1.
    normalize : {"size", "none", "idf"}
        What an attribute of d of n entities puts on each of its edges: 1 / (d - 1), so that it adds
        1 to the degree of each of its entities; 1; or log(n / d).
    max_size : int, optional
        Leave out attributes of more entities, which everyone has.
    degree : int or "auto"
        Cliques in which entities have more edges are drawn from, at so many for each. "auto": an
        attribute by its share of the degrees, in all one and a half times the edges that the
        sparsifier may keep (24 an entity where the pairs are read for something else).
    delimiter, header, ids, comments, on_bad_line, batch_size, format
        As of `read_edges`.
    random_state : int, Generator or None
        Seeds what is drawn of large cliques. All passes over one source draw the same; what is
        drawn for a larger sparsifier has more edges.

    Returns
    -------
    PairSource

    Examples
    --------
    >>> import io
    >>> table = b"account,device\\nann,d1\\nbob,d1\\ncy,d1\\ncy,d2\\ndan,d2\\neve,d3\\n"
    >>> graph = read_pairs(io.BytesIO(table), entity="account", attribute="device")
    >>> edges = graph.to_edge_list()
    >>> edges.ids[edges.tail].tolist(), edges.ids[edges.head].tolist(), edges.weight
    (['ann', 'ann', 'bob', 'cy'], ['bob', 'cy', 'cy', 'dan'], array([0.5, 0.5, 0.5, 1. ]))
    >>> graph.n_nodes, graph.n_attributes, graph.n_projected
    (5, 3, 4)
    """
    columns = (entity, attribute) if weight is None else (entity, attribute, weight)
    options = ReadOptions(
        check_delimiter(delimiter),
        check_choice("header", header, (True, False, "auto")),
        weight is not None,
        columns,
        check_choice("ids", ids, ("auto", "integer", "text")),
        check_comments(comments),
        check_choice("on_bad_line", on_bad_line, ("error", "skip")),
        check_choice("format", format, ("auto", "text", "parquet", "arrow")),
        bipartite=False,
    )
    parts, skipped = find_parts(path)
    return PairSource(
        parts,
        options,
        normalize=check_choice("normalize", normalize, ("size", "none", "idf")),
        max_size=None if max_size is None else check_count("max_size", max_size, least=2),
        degree=degree if degree == "auto" else check_count("degree", degree, least=2),
        batch_size=check_count("batch_size", batch_size),
        skipped=skipped,
        seed=int(np.random.default_rng(random_state).integers(2**63)),
    )


class PairSource(FileSource):
    """The stream behind `read_pairs`: its nodes are entities.

    The file is read in the first pass alone; what later ones need is held.

    Attributes
    ----------
    n_pairs, n_attributes, n_repeated : int
        Different pairs, attributes, and pairs that repeat another one.
    n_left_out : int
        Attributes of more than `max_size` entities.
    n_projected : int
        Edges of the graph, as many between two entities as they share attributes.
    is_exact : bool
        Whether the stream holds the graph itself: no clique is drawn from.
    """

    is_materialized = False

    def __init__(
        self,
        parts: list[Part],
        options: ReadOptions,
        *,
        normalize: str,
        max_size: int | None,
        degree: int | str,
        batch_size: int,
        skipped: Sequence[str],
        seed: int,
    ) -> None:
        super().__init__(parts, options, batch_size=batch_size, skipped=skipped)
        self.is_rereadable = True  # the pairs are held, also those of a pipe
        self._normalize, self._max_size, self._degree = normalize, max_size, degree
        self._seed = seed
        self._log, self._attributes, self._cliques, self._counts = None, None, None, (0, 0)
        self._n_listed = 0

    def __repr__(self):
        return f"<pairs of {self.parts[0].name}>"

    @property
    def n_pairs(self) -> int:
        """Different pairs."""
        return int(self._grouped().members.size)

    @property
    def n_attributes(self) -> int:
        """Different attributes."""
        return int(self._grouped().sizes.size)

    @property
    def n_repeated(self) -> int:
        """Pairs that repeat another one."""
        n_pairs = self.n_pairs  # reads the table, if nobody has
        return self._n_listed - n_pairs

    @property
    def n_left_out(self) -> int:
        """Attributes of more than `max_size` entities."""
        most = np.inf if self._max_size is None else self._max_size
        return int(np.count_nonzero(self._grouped().sizes > most))

    @property
    def n_projected(self) -> int:
        """Edges of the graph, as many between two entities as they share attributes."""
        return self._grouped().n_edges

    @property
    def is_exact(self) -> bool:
        """Whether no clique is drawn from."""
        return not self._grouped().n_cycles.any()

    @property
    def inferred_schema(self) -> dict[str, Any]:
        """What was read as what, by name; `remarks` tell of the graph."""
        cliques, said = self._grouped(), super().inferred_schema
        size = int(cliques.sizes.max(initial=0))
        remarks = [
            f"pairs: {self.n_pairs:,} of {self.n_nodes:,} entities and {self.n_attributes:,} "
            f"attributes (the largest has {size:,} entities), a graph of {self.n_projected:,} "
            "edges that is not built"
        ]
        if self.n_repeated:
            remarks.append(f"{self.n_repeated:,} pairs repeat another one and count once")
        if self.n_left_out:
            remarks.append(
                f"{self.n_left_out:,} attributes of more than {self._max_size:,} entities left out"
            )
        return said | {"remarks": [*remarks, *said["remarks"]]}

    def describe(self) -> dict[str, Any]:
        """Sizes of the table and of its graph, by name."""
        cliques = self._grouped()
        sizes = np.bincount(cliques.components(), minlength=1)
        return {
            "entities": self.n_nodes,
            "attributes": self.n_attributes,
            "pairs": self.n_pairs,
            "repeated_pairs": self.n_repeated,
            "largest_attribute": int(cliques.sizes.max(initial=0)),
            "attributes_left_out": self.n_left_out,
            "attributes_of_one_entity": int(np.count_nonzero(cliques.sizes == 1)),
            "edges_never_built": self.n_projected,
            "edges_drawn": int(cliques.n_drawn().sum()),
            "components": int(np.count_nonzero(sizes)),
            "entities_alone": int(np.count_nonzero(sizes == 1)),
            "zero_weights": self._counts[0],
            "bad_lines": self._counts[1],
        }

    def sample_for(self, budget: Callable[[int, int], int]) -> "PairSource":
        """The same table, with what a sparsifier of some budget has to be shown of large cliques.

        Parameters
        ----------
        budget : callable
            budget(n_nodes, n_edges_seen) is how many edges it may keep.

        Returns
        -------
        PairSource
            This one, if its `degree` is set.
        """
        if self._degree != "auto":
            return self
        cliques = copy.copy(self._grouped())
        cliques.draw_edges(_DRAWN * budget(cliques.n_entities, 0))
        drawn = copy.copy(self)
        drawn._cliques = cliques
        return drawn

    def multiply(self, X: np.ndarray) -> np.ndarray:
        """L X, exactly, for the Laplacian L of the whole graph.

        Parameters
        ----------
        X : ndarray, shape (n_nodes, K)
        """
        return self._grouped().multiply(X)

    def components(self) -> np.ndarray:
        """The smallest node of each node's component."""
        return self._grouped().components()

    def _batches(self):
        cliques = self._grouped()
        self.n_zero_weights, self.n_bad_lines = self._counts
        batcher = Batcher(self.batch_size, self._ids)
        batcher.n_nodes = cliques.n_entities
        n_edges, n_made = int(cliques.n_drawn().sum()), 0
        for ends, weight in cliques.edges(self._seed):
            yield from batcher.add(ends, weight)
            n_made += weight.size
            self.fraction_read = n_made / max(n_edges, 1)
        yield batcher.rest()

    def _grouped(self):
        """The cliques; the table is read when they are first asked for."""
        if self._cliques is not None:
            return self._cliques
        self._log = PairLog()
        for chunk in self._chunks():
            self._log_pairs(chunk)
        self._refuse_empty(0 if self._ids is None else len(self._ids))
        log, self._log = self._log, None
        self._cliques = log.group(len(self._ids), len(self._attributes))
        self.n_nodes, self._attributes = len(self._ids), None
        self._counts = self.n_zero_weights, self.n_bad_lines
        self._n_listed = log.n_pairs
        self._cliques.weigh(self._normalize, self._max_size)
        if self._degree == "auto":
            self._cliques.draw_edges(_DRAWN * _KEPT * self.n_nodes)
        else:
            self._cliques.draw_cycles(2 * ((self._degree + 1) // 2))
        self._ids, self.id_kind = _as_written(self._ids, self.options.ids)
        return self._cliques

    def _log_pairs(self, chunk):
        if self._attributes is None:
            kind = self._input_schema.kind
            self._ids = TextIds() if kind == "text" else IntegerIds(kind)
            self._attributes = TextIds() if kind == "text" else IntegerIds(kind)
        before = () if chunk.text is None else (chunk.text,)
        half = chunk.ends.shape[1] // 2
        ends, weight = chunk.ends, chunk.weight
        if weight is not None and not weight.all():
            self.n_zero_weights += int(np.count_nonzero(weight == 0))
            ends, weight = ends[weight > 0], weight[weight > 0]
        entity = self._ids.number(*before, ends[:, :half])
        attribute = self._attributes.number(*before, ends[:, half:])
        self._log.write(np.column_stack([entity.ravel(), attribute.ravel()]), weight)


def _as_written(ids, wanted):
    """Ids of entities and what they are: numbers that stood beside texts are numbers again."""
    import pyarrow as pa

    if ids.kind != "text" or wanted != "auto":
        return ids, ids.kind
    try:
        texts = pa.array(ids[:], type=pa.large_string())
        numbers = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return ids, ids.kind
    if not numbers.cast(pa.large_string()).equals(texts):
        return ids, ids.kind
    return numbers.to_numpy(), "integer"
