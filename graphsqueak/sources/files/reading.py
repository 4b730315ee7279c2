"""Edge files of any size as a stream of batches.

A file is read block by block, in five stages. Only the map from the user's ids to node numbers
stays in memory.

    bytes     a file is opened and decompressed             `parts.ByteStream`
    lines     bytes are cut into blocks of whole lines      `text.line_blocks`
    fields    lines become chunks: source, target, ...      `scan.scan_block`
    ids       the nodes of a chunk are numbered             `IntegerIds`, `TextIds`
    batches   edges are collected to batches of one size    `Batcher`

`open_part` does the first three stages for one file in any text format. In Parquet and Arrow files,
and in tables, record batches take the place of lines (`columnar.py`). `FileSource` opens one file
after the other and does the last two stages, so that all files of an input share one numbering.

Each line is one edge. An edge that occurs twice, or in both directions, counts twice, and parallel
edges add up, unless `duplicates` is "first" or "error" (`distinct.py`). Self-loops and edges of
weight zero are dropped and counted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphsqueak.errors import DistanceWeightsWarning, InputError, Parameter
from graphsqueak.graph.duplicate_edges import DuplicateCounter
from graphsqueak.nodes.bipartite_ids import prefix_ids, side_names
from graphsqueak.nodes.integer_ids import IntegerIds
from graphsqueak.nodes.numbering import ids_between
from graphsqueak.nodes.text_ids import TextIds
from graphsqueak.sources.distinct import DistinctEdges
from graphsqueak.sources.edge_source import Batcher, EdgeSource, Opened
from graphsqueak.sources.files.column_names import is_distance_name
from graphsqueak.sources.files.columnar import read_arrow, read_parquet, read_table
from graphsqueak.sources.files.matrix_market import MATRIX_MARKET, read_matrix_market
from graphsqueak.sources.files.metis import read_metis
from graphsqueak.sources.files.parts import PathsLike, find_parts
from graphsqueak.sources.files.text import ReadOptions, read_text
from graphsqueak.sources.tables import RepeatedStreamCheck, TablePart
from graphsqueak.sources.times import Duration, TimeOrder, as_time_span, refuse_other_units
from graphsqueak.system.kernels import prefetch_map
from graphsqueak.validation import (
    check_comments,
    check_count,
    check_delimiter,
    check_real,
    explain_keywords,
)

_COMPRESSED_SUFFIXES = (".gz", ".zst", ".bz2")


@explain_keywords()
def read_edges(
    path: PathsLike,
    *,
    delimiter: str = "auto",
    header: bool | str = "auto",
    weighted: bool | str = "auto",
    columns: Sequence[int | str] | None = None,
    ids: str = "auto",
    comments: Sequence[str] = ("#", "%"),
    on_bad_line: str = "error",
    batch_size: int = 1_000_000,
    format: str = "auto",
    bipartite: bool | str = "auto",
    duplicates: str = "sum",
    time: int | str | None = None,
    allowed_lateness: float | str = 0.0,
    weights_are: str | None = None,
) -> EdgeSource:
    """Read edges as a stream, from a file, a folder or glob of files, a pipe, or a table.

    Use it for graphs of any size: the edges are never in memory as a whole. The formats text (tab,
    comma, semicolon or blanks between columns), Parquet, Arrow, Matrix Market and METIS are
    detected. Text formats may be compressed with gzip, zstd or bzip2. Input that can be read in two
    ways is an error that names the argument which decides.

    Parameters
    ----------
    path : str, Path, binary file object, data frame or Arrow table, or list of these
        "-" is standard input. All files of a folder, glob or list are one stream. Columns of a
        table are chosen as in files. A reader of record batches can be read only once.
    delimiter : str
        One character, "whitespace" (any run of blanks), or "auto".
    header : bool or "auto"
        Whether the first line below the comments names the columns. True skips it, even if it is
        the number of nodes and edges. Under "auto", a first line that can be these numbers is an
        error, and so are two names that do not occur below.
    weighted : bool or "auto"
        Whether a weight column is required (True) or ignored (False). Under "auto", a third column
        without a name that looks like times is an error.
    columns : sequence of int or str, optional
        Source, target and, if wanted, weight, by position from 0 or by name.
    ids : {"auto", "integer", "text"}
        "auto" reads integers if all ids in the first lines are integers, written canonically (7,
        not 007); 7.0 is the integer 7. "integer" also reads 007 as 7.
    comments : sequence of str
        Characters at the beginning of comment lines.
    on_bad_line : {"error", "skip"}
        Skipped lines are counted in `n_bad_lines`.
    batch_size : int
        Edges per batch.
    format : {"auto", "text", "parquet", "arrow", "mtx", "metis"}
        "auto" detects the format from the first bytes, and METIS from the name (.graph, .metis).
    bipartite : bool or "auto"
        Whether sources and targets are two kinds of nodes, so that source 51 and target 51 are
        different nodes. Ids are then texts that begin with the name of their column: user:51.
        Under "auto", numbered columns that are named after two kinds (user, item) are an error.
    duplicates : {"sum", "first", "error"}
        What to do with an edge that is listed more than once, in either direction: "sum" adds the
        weights, "first" keeps the first weight, and "error" raises an error that names the edge.
        "first" and "error" need a temporary file of 24 bytes per edge, and change the order of the
        edges. Self-loops and edges of weight zero are dropped before.
    time : int or str, optional
        The column of times, by position from 0 or by name: numbers, or ISO dates, which are read
        as seconds since 1970 (UTC). Batches are then `TimedEdges`.
    allowed_lateness : float or str
        How much earlier than those before it an edge may be; infinite for any order. A text such as
        "30m" is in seconds and needs times that are dates or Unix seconds.
    weights_are : {"similarity", "distance"}, optional
        How weights are interpreted. A similarity is large for close nodes and is the weight of the
        edge. A distance d, such as a cost or a length, is small for close nodes: the weight of the
        edge is 1 / d, and d = 0 is an error. Default: similarities, with a
        `DistanceWeightsWarning` if the column is named distance, dist, cost, length, time, duration
        or rank.

    Returns
    -------
    EdgeSource
        Nodes are numbered in order of first appearance, the source of a line before its target.
        Its `inferred_schema` reports how the input was interpreted.

    Examples
    --------
    >>> import io
    >>> edges = read_edges(io.BytesIO(b"# a path\\nann bob\\nbob cy\\n"))
    >>> [(batch.tail.tolist(), batch.head.tolist()) for batch in edges]
    [([0, 1], [1, 2])]
    >>> edges.ids.tolist()
    ['ann', 'bob', 'cy']
    """
    allowed_lateness = as_time_span("allowed_lateness", allowed_lateness)
    options = ReadOptions(
        delimiter=check_delimiter(delimiter),
        header=header,
        weighted=weighted,
        columns=columns,
        ids=ids,
        comments=check_comments(comments),
        on_bad_line=on_bad_line,
        format=format,
        bipartite=bipartite,
        duplicates=duplicates,
        time=time,
        allowed_lateness=allowed_lateness
        if allowed_lateness == float("inf")
        else check_real("allowed_lateness", allowed_lateness, least=0.0),
        weights_are=weights_are,
        times_in_seconds=isinstance(allowed_lateness, Duration),
    )
    if time is not None and (duplicates != "sum" or format in ("mtx", "metis")):
        raise InputError("times are read of text, Parquet and Arrow files, all duplicates summed")
    batch_size = check_count("batch_size", batch_size)
    parts, skipped = find_parts(path)
    return FileSource(parts, options, batch_size=batch_size, skipped=skipped)


class FileSource(EdgeSource):
    """The stream that `read_edges` returns.

    Parameters
    ----------
    parts : list of Part or TablePart
    options : ReadOptions
    batch_size : int
        Edges per batch.
    schema : Opened, optional
        Schema of the whole input, if this is a piece. A piece may be empty.
    skipped : sequence of str
        Names of files of the input that hold no data.
    """

    def __init__(self, parts, options, *, batch_size, schema=None, skipped=()):
        super().__init__()
        self.is_rereadable = all(part.is_rereadable for part in parts)
        self.parts = parts
        self.options = options
        self.batch_size = batch_size
        self._is_piece = schema is not None
        # Decided by the first file with data, for all files: an `Opened` without its chunks.
        self._input_schema = schema
        self._skipped = tuple(skipped)
        self._has_been_read = False
        self._signatures = None
        self._duplicates = None
        # The fraction of the input behind the chunk at hand.
        self._fraction = 0.0
        # A temporary file of the edges, unless duplicates="sum".
        self._distinct_edges = None
        # A query is computed again in every pass, perhaps in another order.
        is_query = any(part.is_query for part in parts)
        self._order_check = RepeatedStreamCheck() if is_query else None
        self._report_schema = None

    def when_schema_is_known(self, report: Callable[[dict[str, Any]], None]) -> None:
        """Call `report(inferred_schema)` once, as soon as the first file with data is opened.

        The counts are those of the edges read so far.
        """
        self._report_schema = report

    def __repr__(self):
        return f"<edges of {self._name()}>"

    def _name(self):
        more = f" and {len(self.parts) - 1:,} more" if len(self.parts) > 1 else ""
        return self.parts[0].name + more

    @property
    def inferred_schema(self) -> dict[str, Any]:
        """How the input was interpreted, by name; the counts are those of the last pass.

        Columns are named or numbered from 0. `repeated` is the fraction of the edges that repeat
        another one: None if they were not counted, an estimate unless `is_exact`.
        """
        schema = self.detect_schema()
        duplicates = self._duplicates
        # Under "error", a repeated edge would have ended the pass.
        is_checked = self.options.duplicates == "error"
        is_bipartite = self.options.bipartite is True
        remarks = list(schema.remarks)
        if self._skipped:
            remarks.append(f"passed over {', '.join(self._skipped)}")
        weights = schema.columns[2] if len(schema.columns) > 2 else None
        return {
            "name": self._name(),
            "columns": list(schema.columns[:2]),
            "ids": "text" if is_bipartite or schema.kind == "text" else "integer",
            "weights": _name_or_position(weights),
            "weights_are": None if weights is None else self.options.weights_are or "similarity",
            "doubtful_weights": self._may_be_distances(),
            "times": _name_or_position(schema.time),
            "sides": list(side_names(schema.columns)) if is_bipartite else None,
            "self_loops": self.n_self_loops,
            "zero_weights": self.n_zero_weights,
            "bad_lines": self.n_bad_lines,
            "duplicates": self.options.duplicates,
            "repeated": None if duplicates is None else duplicates.fraction,
            "is_exact": duplicates is not None and (is_checked or duplicates.is_exact),
            "remarks": remarks,
        }

    def detect_schema(self) -> Opened:
        """Return what the first file with data decides for all files."""
        if self._input_schema is None:
            for part in self.parts:
                with part.open() as stream:
                    opened = open_part(stream, part, self.options)
                if opened.kind is not None:
                    self._set_input_schema(opened, part.name)
                    break
            else:
                raise InputError(f"no edges in {self!r}; check that this is the right file")
        return self._input_schema

    def _set_input_schema(self, opened, name):
        """Keep what the first file decides, and warn of weights that may be distances."""
        self._input_schema = opened._replace(chunks=None, name=name)
        if self._may_be_distances():
            warnings.warn(
                DistanceWeightsWarning(
                    f"{name}: weights of column {opened.columns[2]} are read as similarities: "
                    "large is close; give ",
                    Parameter("weights_are", "distance"),
                    " if they are distances, ",
                    Parameter("weights_are", "similarity"),
                    " if not",
                ),
                stacklevel=3,
            )
        if self._report_schema is not None:
            self._report_schema(self.inferred_schema)

    def _may_be_distances(self):
        """Whether weights are named like distances, and the user has not said what they are."""
        if self.options.weights_are is not None:
            return False
        return any(
            isinstance(column, str) and is_distance_name(column)
            for column in self._input_schema.columns[2:]
        )

    def expect_seconds(self) -> None:
        """Refuse times that are plain numbers but not Unix seconds."""
        self.options = replace(self.options, times_in_seconds=True)

    def _batches(self):
        if self.options.duplicates != "sum":
            yield from self._distinct_batches()
            return
        # Repeated edges are counted in the first pass only; later ones have the same edges.
        counter = DuplicateCounter() if self._duplicates is None else None

        def count_duplicates(item):
            batch, _ = item
            if counter is not None:
                counter.add(batch.tail, batch.head)
            return item

        batches = self._listed_batches()
        if self._order_check is not None:
            batches = self._order_check.check(batches)
        items = ((batch, self._fraction) for batch in batches)
        # The next batch is read while the consumer works on this one.
        for batch, self.fraction_read in prefetch_map(count_duplicates, items, n_workers=1):
            yield batch
        self._duplicates = counter or self._duplicates

    def _distinct_batches(self):
        """Yield each edge once; the first pass writes a temporary file of them.

        If duplicates are an error, it is raised before the first edge is yielded.
        """
        if self._distinct_edges is None:
            edges = DistinctEdges()
            duplicates = DuplicateCounter()
            for batch in self._listed_batches():
                duplicates.add(batch.tail, batch.head)
                edges.write(batch)
            if self.options.duplicates == "error":
                self._refuse_repeated_edge(edges.find_repeat(), batch.node_ids)
            self._duplicates = duplicates
            counts = (self.n_self_loops, self.n_zero_weights, self.n_bad_lines)
            self._distinct_edges = (edges, counts, batch.n_nodes, batch.node_ids)
        else:
            self._refuse_changed_files()
        # Dropped edges are not in the temporary file, so their numbers are those of the first pass.
        edges, counts, n_nodes, ids = self._distinct_edges
        self.n_self_loops, self.n_zero_weights, self.n_bad_lines = counts
        yield from edges.batches(self.batch_size, n_nodes, ids)

    def _refuse_repeated_edge(self, ends, ids):
        """Raise an InputError that names an edge which is listed more than once, if there is one.

        Parameters
        ----------
        ends : tuple of int, or None
            Node numbers of the edge.
        ids : object
            Ids of the nodes.
        """
        if ends is None:
            return
        source, target = (ids_between(ids, node, node + 1)[0] for node in ends)
        raise InputError(
            f"{self.parts[0].name}: the edge from {source} to {target} is listed more than once, "
            "or in both directions; give ",
            Parameter("duplicates", "sum"),
            " to add the weights, or ",
            Parameter("duplicates", "first"),
            " to keep the first one",
        )

    def _listed_batches(self):
        """Yield the edges as they are listed in the files: all five stages."""
        # The kind of the ids is known with the first chunk.
        batcher = None
        for chunk in self._chunks():
            batcher = batcher or self._make_batcher()
            for batch in batcher.add_chunk(chunk):
                self._set_counts(batcher)
                yield batch
        if not self._is_piece:
            self._refuse_empty(batcher and batcher.n_nodes)
        batcher = batcher or self._make_batcher()
        self._set_counts(batcher)
        yield batcher.rest()

    def _make_batcher(self):
        """Return the last two stages, with an empty numbering."""
        is_bipartite = self.options.bipartite is True
        ids = make_ids("text" if is_bipartite else self._input_schema.kind)
        self._ids = ids
        self.id_kind = ids.kind
        return Batcher(self.batch_size, ids)

    def _set_counts(self, batcher):
        self.n_self_loops = batcher.n_self_loops
        self.n_zero_weights = batcher.n_zero_weights

    def _chunks(self):
        """Yield the chunks of all files, checked: the first three stages."""
        if self._has_been_read and not self.is_rereadable:
            part = next(part for part in self.parts if not part.is_rereadable)
            raise InputError(f"{part.name} {part.spent} to read it more than once")
        self._has_been_read = True
        self._refuse_changed_files()
        check = self._make_chunk_check()
        schema = self._input_schema if self._is_piece else None
        self._fraction = 0.0
        for n_done, part in enumerate(self.parts):
            with part.open() as stream:
                opened = open_part(stream, part, self.options, schema=schema)
                if opened.kind is None:
                    continue
                if schema is None:
                    if self._input_schema is None:
                        self._set_input_schema(opened, part.name)
                    schema = self._input_schema
                if opened.is_weighted != schema.is_weighted:
                    raise InputError(
                        f"{part.name} has {'a' if opened.is_weighted else 'no'} weight column, "
                        f"unlike {schema.name}; read them apart, or give ",
                        Parameter("weighted", False),
                    )
                # Files count alike, whatever their sizes: that of a pipe or a query is unknown.
                for chunk in opened.chunks:
                    self._fraction = (n_done + chunk.fraction_read) / len(self.parts)
                    yield check(chunk)

    def _make_chunk_check(self):
        """Return a function that checks the next chunk, and makes ids of two kinds of nodes differ.

        Times are checked for their order and unit.
        """
        options = self.options
        order = None if options.time is None else TimeOrder(options.allowed_lateness)

        def check(chunk):
            self.n_bad_lines += chunk.n_bad_lines
            if order is not None:
                order.check(chunk.time, chunk.where)
            if options.times_in_seconds and not chunk.has_dates:
                refuse_other_units(chunk.time, self._input_schema.name)
            if options.bipartite is not True:
                return chunk
            # Node 51 of column user becomes user:51.
            names = side_names(self._input_schema.columns)
            text, ends = prefix_ids(chunk.ends, chunk.text, names, kind=self._input_schema.kind)
            return chunk._replace(ends=ends, text=text, nodes=None)

        return check

    def _refuse_changed_files(self):
        """Raise an InputError if a file has changed since the last pass: all must see one graph."""
        signatures = [part.signature() for part in self.parts]
        before = self._signatures or signatures
        for part, old, new in zip(self.parts, before, signatures, strict=True):
            if old != new:
                raise InputError(
                    f"{part.name} has changed since it was read before; copy it, and read the copy"
                )
        self._signatures = signatures

    def _refuse_empty(self, n_nodes):
        """Raise an InputError about an input without nodes."""
        if n_nodes:
            return
        name = self.parts[0].name if len(self.parts) == 1 else f"{len(self.parts)} files"
        skipped = f" ({self.n_bad_lines} bad lines skipped)" if self.n_bad_lines else ""
        raise InputError(f"no edges in {name}{skipped}; check that this is the right file")


def make_ids(kind):
    """Return an empty numbering of ids of a kind: "int64", "uint64" or "text"."""
    return TextIds() if kind == "text" else IntegerIds(kind)


def open_part(stream, part, options, *, schema=None):
    """Open one file and detect how to read it: the first three stages.

    Parameters
    ----------
    stream : ByteStream or TablePart
        What `part.open` yields.
    part : Part or TablePart
    options : ReadOptions
    schema : Opened, optional
        What an earlier file of the same input has decided.

    Returns
    -------
    Opened
        Its kind is None for a file without data.
    """
    kind = None if schema is None else schema.kind
    if isinstance(part, TablePart):
        return read_table(part, options, kind=kind)
    if part.text_schema is not None:
        return read_text(stream, options, schema=part.text_schema)
    form = detect_format(stream, part, options)
    # Footers are at the end of a file, so that it cannot be read as a stream.
    if form in ("parquet", "arrow"):
        place = part.path or part.remote
        if place is None or not part.is_rereadable or stream.is_compressed:
            raise InputError(
                f"{part.name} is a {form} file in a pipe or compressed as a whole; it must lie on "
                "disk as it is: save it first"
            )
        if form == "arrow":
            return read_arrow(place, part.name, options, kind=kind)
        return read_parquet(place, part.name, options, kind=kind, row_groups=part.span)
    if form == "text":
        names_before = () if schema is None else schema.columns
        return read_text(stream, options, kind=kind, names_before=names_before)
    if options.time is not None:
        raise InputError(
            f"{part.name} is a matrix or METIS file, without times; leave ",
            Parameter("time"),
            " out",
        )
    if "text" in (kind, options.ids):
        raise InputError(
            f"{part.name} numbers its nodes 1, ..., n: it cannot be read with text ids; "
            "read it by itself, with ",
            Parameter("ids", "integer"),
        )
    return read_matrix_market(stream, options) if form == "mtx" else read_metis(stream, options)


def detect_format(stream, part, options):
    """Return the format of a file, from the options, its first bytes and its name.

    Returns
    -------
    {"text", "parquet", "arrow", "mtx", "metis"}
    """
    if options.format != "auto":
        return options.format
    first = stream.peek(16)
    if first[: len(MATRIX_MARKET)].lower() == MATRIX_MARKET.lower():
        return "mtx"
    if first.startswith(b"PAR1"):
        return "parquet"
    # An Arrow file, and the first message of an Arrow stream.
    if first.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    name = Path(part.name)
    suffix = Path(name.stem).suffix if name.suffix in _COMPRESSED_SUFFIXES else name.suffix
    return "metis" if suffix in (".graph", ".metis") else "text"


def _name_or_position(column):
    return f"column {column}" if isinstance(column, int) else column
