"""Edge files of any size as a stream of batches.

A file is read block by block and never held whole; what stays in memory is the map from the user's
ids to node numbers. Every line is one edge: an edge that occurs twice, or in both directions,
counts twice, and parallel edges add up, unless duplicates="once". Self-loops and edges of weight
zero are dropped and counted.

    read_edges        checks what the user has set
    FileSource        goes through the parts (`parts.py`), numbers the nodes, cuts batches
    open_part         tells the format of a part, and leaves it to the reader of that format
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphsqueak.errors import DistanceWeightsWarning, InputError, Parameter
from graphsqueak.graph.duplicate_edges import DuplicateCounter
from graphsqueak.nodes.bipartite_ids import prefix_ids, side_names
from graphsqueak.nodes.integer_ids import IntegerIds
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
    check_choice,
    check_comments,
    check_count,
    check_delimiter,
    check_real,
)

__all__ = ["FileSource", "detect_format", "open_part", "read_edges"]

_COMPRESSED = (".gz", ".zst", ".bz2")


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
    """Read edges from a file, a folder or glob of files, a pipe, or a table, as a stream.

    Text (tab, comma, semicolon or blanks between columns), Parquet, Arrow, Matrix Market and METIS
    are recognized; text formats may be compressed with gzip, zstd or bzip2.

    Parameters
    ----------
    path : str, Path, binary file object, data frame or Arrow table, or list of these
        "-" is standard input. All parts of a folder, glob or list are one stream. Of a table the
        columns are chosen as in files; a reader of record batches can be read once.
    delimiter : str
        One character, "whitespace" (any run of blanks), or "auto".
    header : bool or "auto"
        Whether the first line that is no comment names the columns. True skips it, also where it
        counts nodes and edges; a first line that fits such a count is an error under "auto", and
        so is one of two names that occur nowhere else.
    weighted : bool or "auto"
        Whether there must be a weight column (True) or weights are ignored (False). Under "auto"
        a third column without a name that looks like times is an error.
    columns : sequence of int or str, optional
        Source, target and, if wanted, weight, by position from 0 or by name.
    ids : {"auto", "integer", "text"}
        "auto" reads integers if the first lines hold nothing else, written canonically (7, not
        007); 7.0 is the integer 7. "integer" also reads 007 as 7.
    comments : sequence of str
        Characters that begin a comment line.
    on_bad_line : {"error", "skip"}
        Skipped lines are counted in `n_bad_lines`.
    batch_size : int
        Edges per batch.
    format : {"auto", "text", "parquet", "arrow", "mtx", "metis"}
        "auto" goes by the first bytes, and by the name for METIS (.graph, .metis).
    bipartite : bool or "auto"
        Whether sources and targets are two kinds of nodes, so that 51 on one side is another node
        than 51 on the other. Ids then are texts that begin with the name of their column: user:51.
        Under "auto" numbered columns whose names speak of two kinds (user, item) are an error.
    duplicates : {"sum", "once"}
        What an edge is that is listed more than once, in either direction: the sum, or the first
        of them alone. "once" takes a temporary file of 24 bytes an edge, and gives the edges in
        another order.
    time : int or str, optional
        The column of times, by position from 0 or by name: numbers, or ISO dates, which are read
        as seconds since 1970 (UTC). Batches then are `TimedEdges`.
    allowed_lateness : float or str
        How much earlier than those before it an edge may be; infinite for any order. A text such as
        "30m" is in seconds and needs times that are dates or Unix seconds.
    weights_are : {"similarity", "distance"}, optional
        What weights mean. A similarity is large for close nodes and is the weight of the edge. A
        distance d, a cost or a length, is small for close nodes: the weight of the edge is 1 / d,
        and d = 0 is an error. Default: similarities, with a `DistanceWeightsWarning` if the column
        is named distance, dist, cost, length, time, duration or rank.

    Returns
    -------
    EdgeSource
        Nodes are numbered in order of first appearance, the source of a line before its target.
        Once it is read, its `understood` says what was read as what.

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
        check_delimiter(delimiter),
        check_choice("header", header, (True, False, "auto")),
        check_choice("weighted", weighted, (True, False, "auto")),
        columns,
        check_choice("ids", ids, ("auto", "integer", "text")),
        check_comments(comments),
        check_choice("on_bad_line", on_bad_line, ("error", "skip")),
        check_choice("format", format, ("auto", "text", "parquet", "arrow", "mtx", "metis")),
        check_choice("bipartite", bipartite, (True, False, "auto")),
        check_choice("duplicates", duplicates, ("sum", "once")),
        time,
        allowed_lateness
        if allowed_lateness == float("inf")
        else check_real("allowed_lateness", allowed_lateness, least=0.0),
        None
        if weights_are is None
        else check_choice("weights_are", weights_are, ("similarity", "distance")),
        times_in_seconds=isinstance(allowed_lateness, Duration),
    )
    if time is not None and (duplicates == "once" or format in ("mtx", "metis")):
        raise InputError("times are read of text, Parquet and Arrow files, all duplicates summed")
    passed_over: list[str] = []
    parts = find_parts(path, passed_over=passed_over)
    batch_size = check_count("batch_size", batch_size)
    return FileSource(parts, options, batch_size=batch_size, passed_over=passed_over)


class FileSource(EdgeSource):
    """The stream behind `read_edges`; with `settled`, a piece of one, which may be empty."""

    def __init__(self, parts, options, *, batch_size, settled=None, passed_over=()):
        super().__init__()
        self.is_rereadable = all(part.is_rereadable for part in parts)
        self.parts, self.options, self.batch_size = parts, options, batch_size
        self._settled, self._is_spent, self._signatures = settled, False, None
        self._found, self._repeats, self._passed_over = settled, None, tuple(passed_over)
        self._once = None  # the distinct edges, and what was counted on the way to them
        self._same = RepeatedStreamCheck() if any(part.is_query for part in parts) else None

    def __repr__(self):
        more = f" and {len(self.parts) - 1} more" if len(self.parts) > 1 else ""
        return f"<edges of {self.parts[0].name}{more}>"

    @property
    def understood(self) -> dict[str, Any]:
        """What was read as what, by name; the counts are those of the last pass.

        Columns are named or numbered from 0. `repeated` is the share of the edges that repeat
        another one, None where nobody has counted, an estimate unless `is_exact`.
        """
        found, repeats, is_apart = self.settle(), self._repeats, self.options.bipartite is True
        others = f" and {len(self.parts) - 1:,} more" if len(self.parts) > 1 else ""
        passed = (f"passed over {', '.join(self._passed_over)}",) if self._passed_over else ()
        weights = found.columns[2] if len(found.columns) > 2 else None
        return {
            "name": self.parts[0].name + others,
            "columns": list(found.columns[:2]),
            "ids": "text" if is_apart or found.kind == "text" else "integer",
            "weights": f"column {weights}" if isinstance(weights, int) else weights,
            "weights_are": None if weights is None else self.options.weights_are or "similarity",
            "doubtful_weights": self._has_doubtful_weights(),
            "times": f"column {found.time}" if isinstance(found.time, int) else found.time,
            "sides": list(side_names(found.columns)) if is_apart else None,
            "self_loops": self.n_self_loops,
            "zero_weights": self.n_zero_weights,
            "bad_lines": self.n_bad_lines,
            "duplicates": self.options.duplicates,
            "repeated": None if repeats is None else repeats.fraction,
            "is_exact": repeats is not None and repeats.is_exact,
            "remarks": [*found.remarks, *passed],
        }

    def settle(self) -> Opened:
        """What the first file with data says of all; looks at it, if nobody has yet."""
        for part in [] if self._found is not None else self.parts:
            with part.open() as stream:
                opened = open_part(stream, part, self.options)
            if opened.kind is not None:
                self._note_found(opened, part.name)
                break
        if self._found is None:
            raise InputError(f"no edges in {self!r}; check that this is the right file")
        return self._found

    def _note_found(self, opened, name):
        """Keep what a file says of all, and warn once of weights that seem to be distances."""
        is_first_time = self._found is None
        self._found = opened._replace(chunks=None, name=name)
        is_doubtful = self._has_doubtful_weights()
        if is_first_time and is_doubtful:
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
        return self._found

    def _has_doubtful_weights(self):
        """Whether weights are named like distances, and nobody has said what they are."""
        columns = self._found.columns
        is_named = len(columns) > 2 and isinstance(columns[2], str)
        return self.options.weights_are is None and is_named and is_distance_name(columns[2])

    def _batches(self):
        if self.options.duplicates == "once":
            yield from self._distinct()
            return
        repeats = DuplicateCounter() if self._repeats is None else None

        def look_at(read):
            return read if repeats is None else repeats.add(read[0].tail, read[0].head) or read

        listed = self._listed() if self._same is None else self._same.check(self._listed())
        read = ((batch, self._fraction) for batch in listed)
        for batch, self.fraction_read in prefetch_map(look_at, read, n_workers=1):
            yield batch  # while it is used, the next one is read
        self._repeats = repeats or self._repeats

    def _distinct(self):
        """Batches of different edges, of which a temporary file is made in the first pass."""
        if self._once is None:
            edges, repeats = DistinctEdges(), DuplicateCounter()
            for batch in self._listed():
                repeats.add(batch.tail, batch.head)
                edges.write(batch)
            counts = (self.n_self_loops, self.n_zero_weights, self.n_bad_lines)
            self._once, self._repeats = (edges, counts, batch.n_nodes, batch.node_ids), repeats
        else:
            self._check_unchanged()
        edges, counts, n_nodes, ids = self._once
        self.n_self_loops, self.n_zero_weights, self.n_bad_lines = counts
        yield from edges.batches(self.batch_size, n_nodes, ids)

    def _listed(self):
        """Batches of the edges as they are listed."""
        if self._is_spent:
            part = next(part for part in self.parts if not part.is_rereadable)
            raise InputError(f"{part.name} {part.spent} to read it more than once")
        self._is_spent = not self.is_rereadable
        self._check_unchanged()
        settled, batcher, self._fraction = self._settled, None, 0.0
        order = None if self.options.time is None else TimeOrder(self.options.allowed_lateness)
        for n_done, part in enumerate(self.parts):
            with part.open() as stream:
                opened = open_part(stream, part, self.options, settled=settled)
                if opened.kind is None:
                    continue
                settled = settled or self._note_found(opened, part.name)
                if opened.is_weighted != settled.is_weighted:
                    raise InputError(
                        f"{part.name} has {'a' if opened.is_weighted else 'no'} weight column, "
                        f"unlike {settled.name}; read them apart, or give ",
                        Parameter("weighted", False),
                    )
                if batcher is None:
                    is_text = settled.kind == "text" or self.options.bipartite is True
                    numbering = TextIds() if is_text else IntegerIds(settled.kind)
                    self._ids, self.id_kind = numbering, numbering.kind
                    batcher = Batcher(self.batch_size, numbering)
                for chunk in opened.chunks:
                    if order is not None:
                        order.check(chunk.time, chunk.where)
                    self._fraction = (n_done + chunk.fraction_read) / len(self.parts)
                    yield from self._number(chunk, numbering, batcher)
        if self._settled is not None and batcher is None:
            batcher = Batcher(0, None)
        self._end(batcher)
        yield batcher.rest()

    def _check_unchanged(self):
        """Passes must see the same edges: a file may not change between them."""
        now = [part.signature() for part in self.parts]
        changed = next((i for i, old in enumerate(self._signatures or now) if old != now[i]), None)
        if changed is not None:
            raise InputError(
                f"{self.parts[changed].name} has changed since it was read before; copy it, and "
                "read the copy"
            )
        self._signatures = now

    def expect_seconds(self) -> None:
        """Refuse times that are plain numbers but not Unix seconds."""
        self.options = replace(self.options, times_in_seconds=True)

    def _number(self, chunk, numbering, batcher):
        if self.options.times_in_seconds and not chunk.has_dates:
            refuse_other_units(chunk.time, self._found.name)
        if self.options.bipartite is True:
            chunk = self._prefixed(chunk)
        if chunk.nodes is not None:
            numbering.number(chunk.nodes)
            batcher.include_nodes(numbering.n_nodes)
        texts = () if chunk.text is None else (chunk.text,)
        nodes = numbering.number(*texts, chunk.ends)
        self.n_bad_lines += chunk.n_bad_lines
        for batch in batcher.add(nodes, chunk.weight, chunk.time):
            self._count(batcher)
            yield batch

    def _prefixed(self, chunk):
        names = side_names(self._found.columns)
        text, ends = prefix_ids(chunk.ends, chunk.text, names, kind=self._found.kind)
        return chunk._replace(ends=ends, text=text, nodes=None)

    def _count(self, batcher):
        self.n_self_loops, self.n_zero_weights = batcher.n_self_loops, batcher.n_zero_weights

    def _end(self, batcher):
        if batcher is None or (batcher.n_nodes == 0 and self._settled is None):
            name = self.parts[0].name if len(self.parts) == 1 else f"{len(self.parts)} files"
            skipped = f" ({self.n_bad_lines} bad lines skipped)" if self.n_bad_lines else ""
            raise InputError(f"no edges in {name}{skipped}; check that this is the right file")
        self._count(batcher)


def open_part(stream, part, options, *, settled=None):
    """Open one file of a stream, after others have settled what it is; returns an `Opened`."""
    kind = settled and settled.kind
    if isinstance(part, TablePart):
        return read_table(part, options, kind=kind)
    if part.text_schema is not None:
        return read_text(stream, options, schema=part.text_schema)
    form = detect_format(stream, part, options)
    if form in ("parquet", "arrow"):
        place = part.path or part.remote
        if place is None or not part.is_rereadable or stream.is_compressed:
            raise InputError(
                f"{part.name} is a {form} file in a pipe or compressed as a whole; it must lie on "
                "disk as it is: save it first"
            )
        if form == "arrow":
            return read_arrow(place, part.name, options, kind=kind)
        return read_parquet(place, part.name, options, kind=kind, groups=part.span)
    if form == "text":
        names = settled.columns if settled else ()
        return read_text(stream, options, kind=kind, names_before=names)
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
    """ "text", "parquet", "arrow", "mtx" or "metis": as set, else by first bytes and name."""
    if options.format != "auto":
        return options.format
    first = stream.peek(16)
    if first[: len(MATRIX_MARKET)].lower() == MATRIX_MARKET.lower():
        return "mtx"
    if first.startswith(b"PAR1"):
        return "parquet"
    if first.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    name = Path(part.name)
    suffix = Path(name.stem).suffix if name.suffix in _COMPRESSED else name.suffix
    return "metis" if suffix in (".graph", ".metis") else "text"
