"""How commands read edges: the options that they share, and a line on how it was understood."""

from dataclasses import dataclass, fields
from functools import wraps
from inspect import Signature, signature
from itertools import chain
from typing import Annotated

import typer

from graphsqueak.cli.options import print_line, time_span
from graphsqueak.errors import InputError

__all__ = ["Edges", "Reading", "paths_read", "reading_words", "reads_edges", "tell_understood"]

STANDARD_INPUT = "-"
Edges = Annotated[
    list[str],
    typer.Argument(
        metavar="EDGES...",
        help="Edge files, folders or globs of parts, or - for standard input. Text (also .gz, "
        ".zst, .bz2), Parquet, Arrow, Matrix Market or METIS.",
    ),
]
Ids = Annotated[
    str, typer.Option("--ids", help="How to read node ids: auto, integer or text (keeps 007).")
]
BadLine = Annotated[
    str, typer.Option("--on-bad-line", help="error: stop at an unreadable line; skip: count it.")
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line is no edge (default: look)."),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="LIST",
        help="Source, target and maybe weight, by number from 0 or by name: 0,1 or from,to,hits.",
    ),
]
Delimiter = Annotated[
    str, typer.Option("--delimiter", help="Between columns: one character, tab, space, or auto.")
]
Bipartite = Annotated[
    bool | None,
    typer.Option(
        "--bipartite/--one-kind",
        help="Sources and targets are two kinds of nodes, written user:51 and item:51; or one "
        "kind (default: look at the names of the columns).",
    ),
]
Duplicates = Annotated[
    str,
    typer.Option(
        "--duplicates",
        help="Edges listed more than once, in either direction: sum adds them up, once keeps the "
        "first.",
    ),
]
Weights = Annotated[
    bool | None,
    typer.Option("--weights/--no-weights", help="Demand weights, or ignore them (default: look)."),
]
WeightsAre = Annotated[
    str | None,
    typer.Option(
        "--weights-are",
        metavar="similarity|distance",
        help="similarity: large weights join close nodes. distance: small ones do, and an edge has "
        "the weight 1 / distance. [default: similarity]",
    ),
]
_PAIRS = (
    "EDGES are pairs of an entity and an attribute (columns 0 and 1, or --columns), and the graph "
    "joins entities that share an attribute."
)
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="The column of times, by number from 0 or by name: numbers, or ISO dates, which are "
        "read as seconds since 1970.",
    ),
]
Slack = Annotated[
    float,
    typer.Option(
        "--slack",
        metavar="TIME",
        parser=time_span,
        help="With --time, how much earlier than others a later line may be: a number, 30m, inf.",
    ),
]
FromPairs = Annotated[bool, typer.Option("--pairs", "--from-pairs", help=_PAIRS)]
_FromPairsAlone = Annotated[bool, typer.Option("--from-pairs", help=_PAIRS)]
Normalize = Annotated[
    str,
    typer.Option(
        "--normalize",
        help="With --pairs, what an attribute of d of n entities gives each of its edges: size "
        "1/(d-1), none 1, idf log(n/d).",
    ),
]
MaxSize = Annotated[
    int | None,
    typer.Option("--max-size", min=2, help="With --pairs, leave out attributes of more entities."),
]
Degree = Annotated[
    int | None,
    typer.Option(
        "--degree",
        min=2,
        help="With --pairs, edges that an entity has in what is drawn of a clique.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How edge files are read, as the options say that `reads_edges` gives to a command."""

    ids: Ids = "auto"
    header: Header = None
    columns: Columns = None
    delimiter: Delimiter = "auto"
    weights: Weights = None
    weights_are: WeightsAre = None
    on_bad_line: BadLine = "error"
    bipartite: Bipartite = None
    duplicates: Duplicates = "sum"
    time: Time = None
    slack: Slack = 0.0
    from_pairs: FromPairs = False
    normalize: Normalize = "size"
    max_size: MaxSize = None
    degree: Degree = None

    def open(self, paths, seed=None, *, follow=False):
        """The stream of edges in files, folders or globs; `seed` is for what pairs draw.

        With `follow`, of one that is still being written.
        """
        columns = self.columns and tuple(map(_column, self.columns.split(",")))
        shared = {
            "ids": self.ids,
            "header": "auto" if self.header is None else self.header,
            "on_bad_line": self.on_bad_line,
            "delimiter": self.delimiter,
        }
        if self.from_pairs:
            return self._open_pairs(paths, columns, shared, seed)
        if (self.normalize, self.max_size, self.degree) != ("size", None, None):
            raise InputError(
                "--normalize, --max-size and --degree are for tables of pairs; give --pairs"
            )
        shared |= {
            "columns": columns,
            "weighted": "auto" if self.weights is None else self.weights,
            "weights_are": self.weights_are,
            "bipartite": "auto" if self.bipartite is None else self.bipartite,
            "duplicates": self.duplicates,
            "time": None if self.time is None else _column(self.time),
            "slack": self.slack,
        }
        if follow:
            from graphsqueak.sources.following import follow_edges

            return follow_edges(paths, **shared)
        from graphsqueak.sources.files.reading import read_edges

        return read_edges(paths, **shared)

    def _open_pairs(self, paths, columns, shared, seed):
        from graphsqueak.sources.pairs.pair_source import read_pairs

        if self.time is not None:
            raise InputError("--pairs have no times; leave --time away")
        if self.weights_are is not None:
            raise InputError("--weights-are is for the weights of edges; --pairs have none")
        if self.bipartite is not None or self.duplicates != "sum":
            raise InputError(
                "--pairs are of two kinds, and count once: leave --bipartite and --duplicates away"
            )
        columns = columns or ((0, 1, 2) if self.weights else (0, 1))
        if len(columns) not in (2, 3):
            raise InputError("--columns of --pairs are entity, attribute and maybe weight")
        return read_pairs(
            paths,
            **shared,
            entity=columns[0],
            attribute=columns[1],
            weight=columns[2] if len(columns) == 3 and self.weights is not False else None,
            normalize=self.normalize,
            max_size=self.max_size,
            degree="auto" if self.degree is None else self.degree,
            random_state=seed,
        )

    def open_result(self, path):
        """The same for a file that we have written: its columns are known."""
        plain = Reading(ids=self.ids, header=self.header, on_bad_line=self.on_bad_line)
        return plain.open([path])


def _column(name):
    """A column by number or by name."""
    name = name.strip()
    return int(name) if name.isdecimal() else name


def reads_edges(command):
    """A command with the options of `Reading` in the place of its keyword `reading`.

    Where --pairs is something else already, tables of pairs are read by --from-pairs alone.
    """
    names = [field.name for field in fields(Reading)]

    @wraps(command)
    def run(**arguments):
        reading = Reading(**{name: arguments.pop(name) for name in names})
        return command(reading=reading, **arguments)

    shared, own = dict(signature(Reading).parameters), signature(command).parameters.values()
    if "pairs" in signature(command).parameters:
        alone = shared["from_pairs"].replace(annotation=_FromPairsAlone)
        shared["from_pairs"] = alone
    pairs = [shared.values() if one.name == "reading" else [one] for one in own]
    parameters = list(chain.from_iterable(pairs))
    run.__signature__ = Signature(parameters)
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def tell_understood(source, *, quiet, dropped=None):
    """Say on standard error, in one line, how the input was understood; returns it by name.

    `dropped` counts what was, where others than `source` have read it.
    """
    understood = source.inferred_schema | (dropped or {})
    if not quiet:
        print_line("; ".join(_in_words(understood)), on_stderr=True)
    return understood


def _in_words(understood):
    """What was read as what, in a few words each."""
    weights = understood["weights"]
    yield f"{understood['name']}: undirected"
    yield "columns {}, {}".format(*understood["columns"])
    yield from understood["remarks"]
    yield f"ids {understood['ids']}"
    yield f"weights {'none' if weights is None else weights}{_meaning_of_weights(understood)}"
    if understood.get("times") is not None:
        yield f"times {understood['times']}"
    if understood["sides"]:
        yield "{} and {} kept apart".format(*understood["sides"])
    for name, what in (
        ("self_loops", "self-loop{} dropped"),
        ("zero_weights", "edge{} of weight zero dropped"),
        ("bad_lines", "bad line{} skipped"),
    ):
        if count := understood[name]:
            yield f"{count:,} {what.format('s' * (count > 1))}"
    share, is_exact = understood["repeated"], understood["is_exact"]
    if share == 0:
        yield "no edge repeats" + ("" if is_exact else " as far as can be told")
    elif share is not None:
        said = f"{100 * share:.0f} %" if share >= 0.01 else "under 1 %"
        how = "counted once"
        if understood["duplicates"] == "sum":
            how = "summed (--duplicates once counts them once)"
        yield f"{'' if is_exact else 'about '}{said} of the edges repeat, {how}"


def _meaning_of_weights(understood):
    if understood["weights_are"] == "distance":
        return " as distances d, 1 / d each"
    if understood["doubtful_weights"]:
        return " as similarities (--weights-are distance reads distances)"
    return ""


def paths_read(paths, source):
    """What a source reads: files, folders and globs as they were given, and the files in them."""
    given = [path for path in paths if path != STANDARD_INPUT]
    held = [part for part in source.parts if part.path is not None or part.remote is not None]
    return given + [part.path or part.remote.address for part in held]


def reading_words(reading):
    """The words of a command line that read edges in the same way.

    >>> reading_words(Reading(header=False, columns="0,1"))
    ['--no-header', '--columns', '0,1']
    """
    return [
        *([] if reading.ids == "auto" else ["--ids", reading.ids]),
        *_either(reading.header, "--header", "--no-header"),
        *([] if reading.columns is None else ["--columns", reading.columns]),
        *([] if reading.delimiter == "auto" else ["--delimiter", reading.delimiter]),
        *_either(reading.weights, "--weights", "--no-weights"),
        *([] if reading.weights_are is None else ["--weights-are", reading.weights_are]),
        *_either(reading.bipartite, "--bipartite", "--one-kind"),
        *([] if reading.duplicates == "sum" else ["--duplicates", reading.duplicates]),
        *([] if reading.time is None else ["--time", reading.time]),
        *([] if reading.slack == 0 else ["--slack", f"{reading.slack:g}"]),
        *(["--pairs"] if reading.from_pairs else []),
        *([] if reading.normalize == "size" else ["--normalize", reading.normalize]),
        *([] if reading.max_size is None else ["--max-size", str(reading.max_size)]),
        *([] if reading.degree is None else ["--degree", str(reading.degree)]),
        *([] if reading.on_bad_line == "error" else ["--on-bad-line", reading.on_bad_line]),
    ]


def _either(choice, yes, no):
    return [] if choice is None else [yes if choice else no]
