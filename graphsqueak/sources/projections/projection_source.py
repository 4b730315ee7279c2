"""An entity-attribute table as a stream of edges between entities that share an attribute.

Accounts that share a device, mails that share a link, people who buy the same item: this is the
one-mode projection of a bipartite graph. An attribute of d entities is a clique of d (d - 1) / 2
edges, so that ten million rows may project to ten billion edges. They are never built:

    the table     is read once, numbered and grouped by attribute: four bytes per row, in a
                  temporary file if it is large (`entity_attribute_table`)
    the stream    lists the edges of small cliques, and samples large ones as random regular graphs
                  whose expectation is the clique (`cliques`)
    the product   with the Laplacian of the whole projection is exact, in one pass over the table:
                  certificates and streamed solves are about the whole graph
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsqueak.randomness import RandomState
from graphsqueak.sources.edge_source import Batcher
from graphsqueak.sources.files.parts import Part, PathsLike, find_parts
from graphsqueak.sources.files.reading import FileSource, make_ids
from graphsqueak.sources.files.text import ReadOptions
from graphsqueak.sources.projections.entity_attribute_table import EntityAttributeTable
from graphsqueak.validation import check_choice, check_comments, check_count, check_delimiter

# Sampled edges for each edge that a sparsifier may keep: it needs some to choose from. On eight
# kinds of tables, at 8 and 20 edges per entity kept, many times more edges change the error by at
# most 1.5 %.
SAMPLED_PER_KEPT_EDGE = 1.5


def read_projection(
    path: PathsLike,
    *,
    entity: int | str = 0,
    attribute: int | str = 1,
    weight: int | str | None = None,
    normalize: str = "size",
    max_group_size: int | None = None,
    clique_degree: int | str = "auto",
    delimiter: str = "auto",
    header: bool | str = "auto",
    ids: str = "auto",
    comments: Sequence[str] = ("#", "%"),
    on_bad_line: str = "error",
    batch_size: int = 1_000_000,
    format: str = "auto",
    random_state: RandomState = None,
) -> ProjectionSource:
    """Read an entity-attribute table as the graph of entities that share an attribute.

    Use it if a table lists what entities have, and entities are related because they have the same
    things. The weights of all shared attributes of two entities are added. An attribute of a single
    entity makes no edge, but its entity is a node. A repeated row counts once, or, with weights,
    with the sum of its weights.

    Parameters
    ----------
    path : str, Path, binary file object, or list of these
        The files that `read_edges` takes: text, Parquet or Arrow, a folder or glob of parts, "-".
    entity, attribute : int or str
        Their columns, by position from 0 or by name.
    weight : int or str, optional
        Column of how much of the attribute an entity has. The edge of two entities has the weight
        w_i w_j, divided by the mean weight of the attribute. Default: 1.
    normalize : {"size", "none", "idf"}
        Factor of the weights of an attribute of d of n entities: 1 / (d - 1), so that it adds 1 to
        the degree of each of its entities; 1; or log(n / d).
    max_group_size : int, optional
        Skip attributes of more entities than this.
    clique_degree : int or "auto"
        Sampled edges per entity of a large clique; cliques in which entities have fewer edges are
        listed. "auto": attributes are sampled in proportion to their fraction of the degrees, with
        1.5 times the edges that the sparsifier may keep in total, or 24 per entity if no sparsifier
        reads the stream.
    delimiter, header, ids, comments, on_bad_line, batch_size, format
        As in `read_edges`.
    random_state : int, Generator or None
        Seed of the sampled edges. All passes over a source sample the same edges. A larger
        sparsifier reads more of them.

    Returns
    -------
    ProjectionSource

    Examples
    --------
    Ann, Bob and Cy share a device, and Cy and Dan another one:

    >>> import io
    >>> table = b"account,device\\nann,d1\\nbob,d1\\ncy,d1\\ncy,d2\\ndan,d2\\neve,d3\\n"
    >>> graph = read_projection(io.BytesIO(table), entity="account", attribute="device")
    >>> edges = graph.to_edge_list()
    >>> edges.ids[edges.tail].tolist(), edges.ids[edges.head].tolist(), edges.weight
    (['ann', 'ann', 'bob', 'cy'], ['bob', 'cy', 'cy', 'dan'], array([0.5, 0.5, 0.5, 1. ]))
    >>> graph.n_nodes, graph.n_attributes, graph.n_projected_edges
    (5, 3, 4)
    """
    options = ReadOptions(
        delimiter=check_delimiter(delimiter),
        header=header,
        weighted=weight is not None,
        columns=(entity, attribute) if weight is None else (entity, attribute, weight),
        ids=ids,
        comments=check_comments(comments),
        on_bad_line=on_bad_line,
        format=check_choice("format", format, ("auto", "text", "parquet", "arrow")),
        bipartite=False,
    )
    if max_group_size is not None:
        check_count("max_group_size", max_group_size, least=2)
    if clique_degree != "auto":
        check_count("clique_degree", clique_degree, least=2)
    parts, skipped = find_parts(path)
    projection = ProjectionOptions(
        normalize=check_choice("normalize", normalize, ("size", "none", "idf")),
        max_group_size=max_group_size,
        clique_degree=clique_degree,
        seed=int(np.random.default_rng(random_state).integers(2**63)),
    )
    batch_size = check_count("batch_size", batch_size)
    return ProjectionSource(parts, options, projection, batch_size=batch_size, skipped=skipped)


@dataclass(frozen=True)
class ProjectionOptions:
    """How a table is projected; see `read_projection`.

    `edges_per_entity` is the number of sampled edges if the stream is not read by a sparsifier of
    known size. The default is what a sparsifier of 16 edges per entity reads.
    """

    normalize: str
    max_group_size: int | None
    clique_degree: int | str
    seed: int
    edges_per_entity: float = 24.0


class ProjectionSource(FileSource):
    """Stream of the edges of a projection, returned by `read_projection`.

    The file is read in the first pass, or when an attribute below is read first. Later passes
    sample from the grouped table.

    Attributes
    ----------
    n_pairs, n_attributes, n_duplicates : int
        Distinct (entity, attribute) pairs, attributes, and rows that repeat another one.
    n_skipped_attributes : int
        Attributes of more than `max_group_size` entities.
    n_projected_edges : int
        Edges of the whole projection, one per attribute that two entities share.
    is_exact : bool
        Whether the stream has all edges of the projection: no clique is sampled.
    """

    is_materialized = False

    def __init__(
        self,
        parts: list[Part],
        options: ReadOptions,
        projection: ProjectionOptions,
        *,
        batch_size: int,
        skipped: Sequence[str],
    ) -> None:
        super().__init__(parts, options, batch_size=batch_size, skipped=skipped)
        # Even a pipe, since the table is stored.
        self.is_rereadable = True
        self._projection = projection
        # The table and the numbering of its attributes, while it is read.
        self._table: Any = None
        self._attribute_ids: Any = None
        self._cliques: Any = None
        self._n_rows = 0
        self._n_dropped = (0, 0)

    def __repr__(self):
        return f"<projection of {self.parts[0].name}>"

    @property
    def n_pairs(self) -> int:
        """Number of distinct (entity, attribute) pairs."""
        return int(self._read_cliques().members.size)

    @property
    def n_attributes(self) -> int:
        """Number of distinct attributes."""
        return int(self._read_cliques().sizes.size)

    @property
    def n_duplicates(self) -> int:
        """Number of rows that repeat another one."""
        # Counting the pairs reads the table, and so the rows.
        n_pairs = self.n_pairs
        return self._n_rows - n_pairs

    @property
    def n_skipped_attributes(self) -> int:
        """Number of attributes of more than `max_group_size` entities."""
        if self._projection.max_group_size is None:
            return 0
        return int(np.count_nonzero(self._read_cliques().sizes > self._projection.max_group_size))

    @property
    def n_projected_edges(self) -> int:
        """Number of edges of the whole projection, one per attribute that two entities share."""
        return self._read_cliques().n_edges

    @property
    def is_exact(self) -> bool:
        """Whether no clique is sampled."""
        return not self._read_cliques().n_cycles.any()

    def when_schema_is_known(self, report: Callable[[dict[str, Any]], None]) -> None:
        """Call `report(inferred_schema)` at once: the table is read first."""
        report(self.inferred_schema)

    @property
    def inferred_schema(self) -> dict[str, Any]:
        """How the columns were interpreted; `remarks` describe the projection."""
        cliques = self._read_cliques()
        schema = super().inferred_schema
        largest = int(cliques.sizes.max(initial=0))
        remarks = [
            f"projection: {self.n_pairs:,} pairs of {self.n_nodes:,} entities and "
            f"{self.n_attributes:,} attributes (the largest has {largest:,} entities), a graph of "
            f"{self.n_projected_edges:,} edges that is not built"
        ]
        if self.n_duplicates:
            remarks.append(f"{self.n_duplicates:,} rows repeat another one and count once")
        if self.n_skipped_attributes:
            remarks.append(
                f"{self.n_skipped_attributes:,} attributes of more than "
                f"{self._projection.max_group_size:,} entities skipped"
            )
        return schema | {"remarks": [*remarks, *schema["remarks"]]}

    def describe(self) -> dict[str, Any]:
        """Return the sizes of the table and of its projection, by name."""
        cliques = self._read_cliques()
        n_zero_weights, n_bad_lines = self._n_dropped
        # By the smallest node of each component; 0 for all other nodes.
        component_sizes = np.bincount(cliques.components(), minlength=1)
        return {
            "entities": self.n_nodes,
            "attributes": self.n_attributes,
            "pairs": self.n_pairs,
            "duplicate_pairs": self.n_duplicates,
            "largest_attribute": int(cliques.sizes.max(initial=0)),
            "skipped_attributes": self.n_skipped_attributes,
            "singleton_attributes": int(np.count_nonzero(cliques.sizes == 1)),
            "projected_edges": self.n_projected_edges,
            "sampled_edges": int(cliques.n_sampled().sum()),
            "components": int(np.count_nonzero(component_sizes)),
            "isolated_entities": int(np.count_nonzero(component_sizes == 1)),
            "zero_weights": n_zero_weights,
            "bad_lines": n_bad_lines,
        }

    def sample_for(self, budget: Callable[[int, int], int]) -> ProjectionSource:
        """Return a source of the same graph with the sampled edges that a sparsifier needs.

        Parameters
        ----------
        budget : callable
            budget(n_nodes, n_edges_seen) is the number of edges that the sparsifier may keep.

        Returns
        -------
        ProjectionSource
            This source, if its `clique_degree` is set.
        """
        if self._projection.clique_degree != "auto":
            return self
        # Shallow copies: the table is shared, the numbers of cycles are not.
        cliques = copy.copy(self._read_cliques())
        cliques.sample_to_size(SAMPLED_PER_KEPT_EDGE * budget(cliques.n_entities, 0))
        resampled = copy.copy(self)
        resampled._cliques = cliques
        return resampled

    def multiply(self, X: np.ndarray) -> np.ndarray:
        """Return L X, exactly, for the Laplacian L of the whole projection.

        Parameters
        ----------
        X : ndarray, shape (n_nodes, K)
        """
        return self._read_cliques().multiply(X)

    def components(self) -> np.ndarray:
        """Return the smallest node of the component of every node."""
        return self._read_cliques().components()

    def _batches(self):
        cliques = self._read_cliques()
        self.n_zero_weights, self.n_bad_lines = self._n_dropped
        batcher = Batcher(self.batch_size, self._ids, n_nodes=cliques.n_entities)
        n_edges = int(cliques.n_sampled().sum())
        n_done = 0
        for ends, weight in cliques.edges(self._projection.seed):
            yield from batcher.add(ends, weight)
            n_done += weight.size
            self.fraction_read = n_done / n_edges
        yield batcher.rest()

    def _read_cliques(self):
        """Return the cliques; the first call reads the table."""
        if self._cliques is not None:
            return self._cliques
        for chunk in self._chunks():
            self._store(chunk)
        self._refuse_empty(self._ids is not None and len(self._ids))
        self.n_nodes = len(self._ids)
        self._n_rows = self._table.n_rows
        self._n_dropped = (self.n_zero_weights, self.n_bad_lines)
        self._cliques = self._table.group_by_attribute(self.n_nodes, len(self._attribute_ids))
        # Free what only reading needs.
        self._table = None
        self._attribute_ids = None
        self._cliques.set_scale(self._projection.normalize, self._projection.max_group_size)
        if self._projection.clique_degree == "auto":
            self._cliques.sample_to_size(self._projection.edges_per_entity * self.n_nodes)
        else:
            # A cycle adds two edges per entity.
            self._cliques.sample_at_degree(2 * ((self._projection.clique_degree + 1) // 2))
        self._ids, self.id_kind = _restore_integers(self._ids, self.options.ids)
        return self._cliques

    def _store(self, chunk):
        """Store the rows of a chunk in the table."""
        # Entities and attributes are numbered apart: entity 51 is not attribute 51.
        if self._table is None:
            self._table = EntityAttributeTable()
            kind = self._input_schema.kind
            self._ids = make_ids(kind)
            self._attribute_ids = make_ids(kind)
        ends = chunk.ends
        weight = chunk.weight
        if weight is not None:
            # Like edges of weight zero. Their entities are numbered only if they have other rows.
            is_positive = weight > 0
            self.n_zero_weights += int(np.count_nonzero(~is_positive))
            ends = ends[is_positive]
            weight = weight[is_positive]
        # An id is one column of integers, or start and stop of its text.
        columns_per_id = ends.shape[1] // 2
        text = () if chunk.text is None else (chunk.text,)
        entity = self._ids.number(*text, ends[:, :columns_per_id])
        attribute = self._attribute_ids.number(*text, ends[:, columns_per_id:])
        self._table.append(entity.ravel(), attribute.ravel(), weight)


def _restore_integers(ids, wanted):
    """Return the ids of entities and their kind; texts that are all integers become integers.

    Integer entities next to text attributes are read as text, since all ids of a file are.
    """
    import pyarrow as pa

    if ids.kind != "text" or wanted != "auto":
        return ids, ids.kind
    try:
        texts = pa.array(ids[:], type=pa.large_string())
        integers = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return ids, ids.kind
    # "007" is not the integer 7.
    if not integers.cast(pa.large_string()).equals(texts):
        return ids, ids.kind
    return integers.to_numpy(), "integer"
