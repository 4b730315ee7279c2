"""How commands read edges: the options that they share, and the line that reports the schema."""

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from graphsqueak.cli.groups import time_span
from graphsqueak.cli.help_pages import INPUT, PROJECTION, TIME
from graphsqueak.cli.output import print_line
from graphsqueak.errors import InputError

STANDARD_INPUT = "-"
Edges = Annotated[
    list[str],
    typer.Argument(
        metavar="EDGES...",
        help="Edge files, folders or globs, or - for standard input: text (.gz, .zst, .bz2), "
        "Parquet, Arrow, Matrix Market, METIS.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How edge files are read."""

    columns: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Source, target and optional weight, by number from 0 or by name: 0,1 or "
            "from,to,hits.",
            show_default="detect",
            rich_help_panel=INPUT,
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Treat the first line as a header.",
            show_default="detect",
            rich_help_panel=INPUT,
        ),
    ] = None
    delimiter: Annotated[
        str,
        typer.Option(
            metavar="CHARACTER",
            help="Separator of columns: one character, tab, space, or auto.",
            rich_help_panel=INPUT,
        ),
    ] = "auto"
    ids: Annotated[
        Literal["auto", "integer", "text"],
        typer.Option(help="Type of node ids. Text keeps 007.", rich_help_panel=INPUT),
    ] = "auto"
    weighted: Annotated[
        bool | None,
        typer.Option(
            "--weights/--no-weights",
            help="Require weights, or ignore them.",
            show_default="detect",
            rich_help_panel=INPUT,
        ),
    ] = None
    weights_are: Annotated[
        Literal["similarity", "distance"] | None,
        typer.Option(
            help="Meaning of large weights: close nodes, or distant nodes. An edge at distance d "
            "has the weight 1 / d.",
            show_default="similarity",
            rich_help_panel=INPUT,
        ),
    ] = None
    duplicates: Annotated[
        Literal["sum", "first", "error"],
        typer.Option(
            help="Edges listed more than once, in either direction: sum their weights, keep the "
            "first one, or stop.",
            rich_help_panel=INPUT,
        ),
    ] = "sum"
    bipartite: Annotated[
        bool | None,
        typer.Option(
            "--bipartite/--unipartite",
            help="Whether sources and targets are two kinds of nodes, written user:51 and item:51.",
            show_default="detect from column names",
            rich_help_panel=INPUT,
        ),
    ] = None
    on_bad_line: Annotated[
        Literal["error", "skip"],
        typer.Option(
            help="Stop at a line that cannot be read, or skip and count it.",
            rich_help_panel=INPUT,
        ),
    ] = "error"
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of times, by number from 0 or by name. Numbers, or ISO dates, which are "
            "read as seconds since 1970.",
            rich_help_panel=TIME,
        ),
    ] = None
    allowed_lateness: Annotated[
        float,
        typer.Option(
            metavar="DURATION",
            parser=time_span,
            help="With --time: how much earlier than previous lines a line may be: a number, 30m, "
            "inf.",
            rich_help_panel=TIME,
        ),
    ] = 0.0
    project: Annotated[
        bool,
        typer.Option(
            "--project",
            help="Read EDGES as an entity-attribute table (columns 0 and 1, or --columns). "
            "Entities that share an attribute are joined.",
            rich_help_panel=PROJECTION,
        ),
    ] = False
    normalize: Annotated[
        Literal["size", "none", "idf"],
        typer.Option(
            help="With --project: weight of an edge from an attribute of d of n entities: size "
            "1/(d-1), none 1, idf log(n/d).",
            rich_help_panel=PROJECTION,
        ),
    ] = "size"
    max_group_size: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help="With --project: ignore attributes of more than N entities.",
            rich_help_panel=PROJECTION,
        ),
    ] = None
    clique_degree: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help="With --project: edges sampled per entity of a large clique.",
            rich_help_panel=PROJECTION,
        ),
    ] = None

    def open(self, paths, random_state=None, *, follow=False):
        """Return the stream of edges in files, folders or globs.

        Parameters
        ----------
        paths : list of str
        random_state : int, optional
            Seed of the edges that a projection samples.
        follow : bool
            Read a file that is still being written.

        Returns
        -------
        EdgeSource
        """
        if self.project:
            return self._open_projection(paths, random_state)
        if (self.normalize, self.max_group_size, self.clique_degree) != ("size", None, None):
            raise InputError(
                "--normalize, --max-group-size and --clique-degree are for entity-attribute "
                "tables; give --project"
            )
        from graphsqueak.sources.files.reading import read_edges
        from graphsqueak.sources.following import follow_edges

        read = follow_edges if follow else read_edges
        return read(
            paths,
            **self._text_schema(),
            columns=self._columns(),
            weighted="auto" if self.weighted is None else self.weighted,
            weights_are=self.weights_are,
            bipartite="auto" if self.bipartite is None else self.bipartite,
            duplicates=self.duplicates,
            time=None if self.time is None else _column(self.time),
            allowed_lateness=self.allowed_lateness,
        )

    def open_result(self, path):
        """Return the stream of edges in a file that graphsqueak has written."""
        plain = Reading(ids=self.ids, header=self.header, on_bad_line=self.on_bad_line)
        return plain.open([path])

    def words(self):
        """Return the words of a command line that reads edges in the same way.

        >>> Reading(header=False, columns="0,1", project=True).words()
        ['--columns', '0,1', '--no-header', '--project']
        """
        command = typer.Typer()
        command.command()(Reading)
        words = []
        for option in typer.main.get_command(command).params:
            value = getattr(self, option.name, option.default)
            if value == option.default:
                continue
            if option.is_flag:
                words.append(option.opts[0] if value else option.secondary_opts[0])
            else:
                text = f"{value:g}" if isinstance(value, float) else str(value)
                words += [option.opts[0], text]
        return words

    def _text_schema(self):
        return {
            "ids": self.ids,
            "header": "auto" if self.header is None else self.header,
            "on_bad_line": self.on_bad_line,
            "delimiter": self.delimiter,
        }

    def _columns(self):
        return self.columns and tuple(map(_column, self.columns.split(",")))

    def _open_projection(self, paths, random_state):
        from graphsqueak.sources.projections.projection_source import read_projection

        if self.time is not None:
            raise InputError("--project reads tables without times; omit --time")
        if self.weights_are is not None:
            raise InputError("--weights-are is for weights of edges; omit it with --project")
        if self.bipartite is not None or self.duplicates != "sum":
            raise InputError(
                "--project reads tables of two kinds of ids, in which repeated rows count once; "
                "omit --bipartite, --unipartite and --duplicates"
            )
        columns = self._columns() or ((0, 1, 2) if self.weighted else (0, 1))
        if len(columns) not in (2, 3):
            raise InputError("--columns with --project are entity, attribute and optional weight")
        has_weight = len(columns) == 3 and self.weighted is not False
        return read_projection(
            paths,
            **self._text_schema(),
            entity=columns[0],
            attribute=columns[1],
            weight=columns[2] if has_weight else None,
            normalize=self.normalize,
            max_group_size=self.max_group_size,
            clique_degree="auto" if self.clique_degree is None else self.clique_degree,
            random_state=random_state,
        )


def announce_schema(source, *, quiet):
    """Print how the input was interpreted as soon as it is known, before the work.

    The line is printed on standard error. `report_schema` completes it after the work.
    """
    if not quiet:
        source.when_schema_is_known(
            lambda schema: print_line("; ".join(_describe_schema(schema)), on_stderr=True)
        )


def report_schema(source, *, quiet, dropped=None, is_announced=False):
    """Print in one line on standard error how the input was interpreted.

    Parameters
    ----------
    source : EdgeSource
        After it was read.
    quiet : bool
        Print nothing.
    dropped : dict, optional
        Counts of dropped edges, if workers have read the parts of `source`.
    is_announced : bool
        Print the counts only, since `announce_schema` has printed the rest.

    Returns
    -------
    dict
        The schema, for the JSON record of a command.
    """
    schema = source.inferred_schema | (dropped or {})
    if quiet:
        return schema
    counts = list(_describe_counts(schema))
    parts = [*_describe_schema(schema), *counts]
    if is_announced:
        parts = [f"{schema['name']}: {counts[0]}", *counts[1:]] if counts else []
    if parts:
        print_line("; ".join(parts), on_stderr=True)
    return schema


def paths_read(paths, source):
    """Return what a source reads: the paths that were given, and the files inside them."""
    given = [path for path in paths if path != STANDARD_INPUT]
    parts = [part for part in source.parts if part.path is not None or part.remote is not None]
    return given + [part.path or part.remote.address for part in parts]


def _column(name):
    """Return a column as a number or a name."""
    name = name.strip()
    return int(name) if name.isdecimal() else name


def _describe_schema(schema):
    """Yield the parts of the line about a schema that are known at the beginning."""
    weights = "none" if schema["weights"] is None else schema["weights"]
    yield f"{schema['name']}: undirected"
    yield "columns {}, {}".format(*schema["columns"])
    yield from schema["remarks"]
    yield f"ids {schema['ids']}"
    yield f"weights {weights}{_meaning_of_weights(schema)}"
    if schema.get("times") is not None:
        yield f"times {schema['times']}"
    if schema["sides"]:
        yield "{} and {} kept apart".format(*schema["sides"])


def _describe_counts(schema):
    """Yield what was dropped and repeated, which is known at the end."""
    for name, text in (
        ("self_loops", "self-loop{} dropped"),
        ("zero_weights", "edge{} of weight zero dropped"),
        ("bad_lines", "bad line{} skipped"),
    ):
        count = schema[name]
        if count:
            yield f"{count:,} {text.format('s' if count > 1 else '')}"
    if schema["repeated"] is not None:
        yield _describe_repeated_edges(schema)


def _describe_repeated_edges(schema):
    fraction = schema["repeated"]
    is_exact = schema["is_exact"]
    if fraction == 0:
        return "no edge repeats" if is_exact else "no repeated edge found in a sample"
    percentage = f"{100 * fraction:.0f} %" if fraction >= 0.01 else "under 1 %"
    is_summed = schema["duplicates"] == "sum"
    effect = "summed (--duplicates first counts them once)" if is_summed else "counted once"
    return f"{'' if is_exact else 'about '}{percentage} of the edges repeat, {effect}"


def _meaning_of_weights(schema):
    if schema["weights_are"] == "distance":
        return " as distances d, 1 / d each"
    if schema["doubtful_weights"]:
        return " as similarities (--weights-are distance reads distances)"
    return ""
