"""What commands share: arguments and options, paths of outputs, and how they print."""

import json
import sys
from dataclasses import dataclass, fields
from functools import wraps
from importlib.util import find_spec
from inspect import Signature, signature
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from graphsqueak.errors import InputError
from graphsqueak.system import atomic
from graphsqueak.system.atomic import STANDARD_OUTPUT

__all__ = [
    "Edges",
    "Force",
    "Json",
    "NoHeaderOut",
    "Quiet",
    "Reading",
    "Seed",
    "check_drawing",
    "check_outputs",
    "check_table",
    "paths_read",
    "print_json",
    "print_line",
    "print_summary",
    "print_table",
    "reads_edges",
    "shows_progress",
    "tell_understood",
    "write_result",
]

Edges = Annotated[
    list[str],
    typer.Argument(
        metavar="EDGES...",
        help="Edge files, folders or globs of parts, or - for standard input. Text (also .gz, "
        ".zst, .bz2), Parquet, Arrow, Matrix Market or METIS.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Same seed, same result.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no summary.")]
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


Force = Annotated[bool, typer.Option("--force", help="Replace outputs that are there already.")]
NoHeaderOut = Annotated[
    bool,
    typer.Option(
        "--no-header-out",
        help="Write text without the line that names its columns, as igraph and networkx want it.",
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
    on_bad_line: BadLine = "error"
    bipartite: Bipartite = None
    duplicates: Duplicates = "sum"

    def open(self, paths):
        """The stream of edges in files, folders or globs."""
        from graphsqueak.sources.files.reading import read_edges

        columns = self.columns
        if columns is not None:
            names = [name.strip() for name in columns.split(",")]
            columns = tuple(int(name) if name.isdecimal() else name for name in names)
        return read_edges(
            paths,
            ids=self.ids,
            header="auto" if self.header is None else self.header,
            on_bad_line=self.on_bad_line,
            columns=columns,
            delimiter=self.delimiter,
            weighted="auto" if self.weights is None else self.weights,
            bipartite="auto" if self.bipartite is None else self.bipartite,
            duplicates=self.duplicates,
        )

    def open_result(self, path):
        """The same for a file that we have written: its columns are known."""
        plain = Reading(ids=self.ids, header=self.header, on_bad_line=self.on_bad_line)
        return plain.open([path])


def reads_edges(command):
    """A command with the options of `Reading` in the place of its keyword `reading`."""
    names = [field.name for field in fields(Reading)]

    @wraps(command)
    def run(**arguments):
        reading = Reading(**{name: arguments.pop(name) for name in names})
        return command(reading=reading, **arguments)

    shared = signature(Reading).parameters.values()
    own = signature(command).parameters.values()
    pairs = [shared if one.name == "reading" else [one] for one in own]
    parameters = list(chain.from_iterable(pairs))
    run.__signature__ = Signature(parameters)
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def tell_understood(source, *, quiet, dropped=None):
    """Say on standard error, in one line, how the input was understood; returns it by name.

    `dropped` counts what was, where others than `source` have read it.
    """
    understood = source.understood | (dropped or {})
    if not quiet:
        print_line("; ".join(_in_words(understood)), on_stderr=True)
    return understood


def _in_words(understood):
    """What was read as what, in a few words each."""
    weights = understood["weights"]
    yield f"{understood['name']}: undirected"
    yield "columns {}, {}".format(*understood["columns"])
    yield from understood["remarks"]
    if understood["decimal"] is None:
        yield f"ids {understood['ids']}"
    else:
        whole = understood["decimal"].partition(".")[0]
        yield f"ids text such as {understood['decimal']} (--ids integer reads it as {whole})"
    yield f"weights {'none' if weights is None else weights}"
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


def paths_read(paths, source):
    """What a source reads: its files, and the folders they lie in where those were given."""
    folders = [path for path in paths if Path(path).expanduser().is_dir()]
    return folders + [part.path for part in source.parts if part.path is not None]


def check_outputs(outputs, inputs, *, force=False, quiet=False, as_json=False, resumes=None):
    """Refuse, before the work, outputs that cannot be, that are read, or that are there already.

    Parameters
    ----------
    outputs : dict
        Path, or None, by option.
    inputs : list of path
        What is read; of a folder, all that is in it. Not even `force` replaces an input.
    force : bool
        Replace what is there. Otherwise a person at a terminal is asked.
    quiet, as_json : bool
        Whether nobody is to be asked, and whether standard output is taken.
    resumes : path, optional
        The checkpoint that is resumed: what its run has written may be replaced.
    """
    given = {option: path for option, path in outputs.items() if path is not None}
    for option in [option for option, path in given.items() if path == STANDARD_OUTPUT]:
        if option != "--out":
            raise InputError(f"{option} -: only --out can be standard output; give a file")
        if as_json:
            raise InputError("--json and --out - both print on standard output; give a file")
        del given[option]
    atomic.check_outputs(given, inputs)
    for option, path in given.items():
        is_free = atomic.is_replaceable(path, resumes)
        if option == "--checkpoint":
            has_leaves = (Path(path).expanduser() / "run.json").exists()
            is_free = resumes is not None or (is_free and not has_leaves)
        if not force and not is_free:
            _ask_to_replace(option, path, quiet=quiet)


def _ask_to_replace(option, path, *, quiet):
    resume = "--resume to go on from it, " if option == "--checkpoint" else ""
    if not quiet and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        if typer.confirm(f"{path} is there already. Replace it?", err=True):
            return
        raise InputError(f"{option} {path} is there already and was left alone; give another name")
    raise InputError(
        f"{option} {path} is there already; give {resume}--force to replace it, or another name"
    )


def check_table(path):
    """Refuse the name of a table or edge file that does not say its format."""
    from graphsqueak.sources.files.writing import format_of

    format_of(path)


def check_drawing(what):
    """Refuse to begin what ends in a figure that cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise InputError(
            f"{what} draws with matplotlib; install it with pip install 'graphsqueak[plot]'"
        )


def write_result(edges, out, *, header=True):
    """Write a sparsifier to `out`; as Parquet beside it if that format cannot hold its ids.

    Whether nodes are numbered as Matrix Market and METIS need it is known only at the end.
    """
    from graphsqueak.sources.files.writing import format_of, write_edges

    try:
        write_edges(edges, out, weights=True, header=header)
    except InputError as error:
        if format_of(out)[0] not in ("mtx", "metis"):
            raise
        beside, number = Path(f"{out}.parquet"), 1
        while beside.exists():
            number += 1
            beside = Path(f"{out}.{number}.parquet")
        write_edges(edges, beside, weights=True)
        raise InputError(f"{error}. The result is in {beside}") from None


def print_summary(text, out):
    """One line for a person: on standard error where the result itself is on standard output."""
    print_line(text, on_stderr=out == STANDARD_OUTPUT)


def shows_progress(*, quiet, as_json):
    """Tell of long work, in a bar on a terminal and in lines elsewhere, unless asked not to."""
    return not quiet and not as_json


def print_json(record):
    """One JSON object on standard output; infinite and NaN numbers become null."""
    print(json.dumps({key: _plain(value) for key, value in record.items()}))  # noqa: T201


def print_line(text="", *, on_stderr=False):
    """One line for a person, on standard output or standard error."""
    print(text, file=sys.stderr if on_stderr else sys.stdout)


def print_table(rows):
    """Name and value, one pair a line, values aligned.

    >>> print_table({"nodes": 12_100, "weights": "all 1"})
    nodes    12,100
    weights  all 1
    """
    width = max(map(len, rows))
    for name, value in rows.items():
        print_line(f"{name:<{width}}  {_readable(value)}")


def _readable(value):
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _plain(value):
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value
