"""What commands share: arguments and options, paths of outputs, and how they print."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from graphsqueak.errors import InputError

__all__ = [
    "BadLine",
    "Bipartite",
    "Columns",
    "Delimiter",
    "Duplicates",
    "Edges",
    "Header",
    "Ids",
    "Json",
    "Quiet",
    "Scheduler",
    "Seed",
    "Weights",
    "Workers",
    "check_budget",
    "open_edges",
    "paths_read",
    "print_json",
    "print_line",
    "print_table",
    "shows_progress",
    "tell_understood",
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
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Start that many processes, and share the parts."),
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="Of a Dask cluster: tcp://host:8786."),
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


def open_edges(
    paths,
    *,
    ids,
    header,
    on_bad_line="error",
    columns=None,
    delimiter="auto",
    weights=None,
    bipartite=None,
    duplicates="sum",
):
    """The stream that the shared options describe."""
    from graphsqueak.sources.files.reading import read_edges

    if columns is not None:
        names = [name.strip() for name in columns.split(",")]
        columns = tuple(int(name) if name.isdecimal() else name for name in names)
    return read_edges(
        paths,
        ids=ids,
        header="auto" if header is None else header,
        on_bad_line=on_bad_line,
        columns=columns,
        delimiter=delimiter,
        weighted="auto" if weights is None else weights,
        bipartite="auto" if bipartite is None else bipartite,
        duplicates=duplicates,
    )


def tell_understood(source, *, quiet, dropped=None):
    """Say on standard error, in one line, how the input was understood; returns it by name.

    `dropped` counts what was, where others than `source` have read it.
    """
    understood = source.understood
    if dropped is not None:
        understood = replace(understood, **dropped)
    if not quiet:
        said = str(understood).replace("ids='integer'", "--ids integer")
        if understood.repeated and understood.duplicates == "sum":
            said += " (--duplicates once counts them once)"
        print_line(said, on_stderr=True)
    return understood.record()


def paths_read(paths, source):
    """What a source reads: its files, and the folders they lie in where those were given."""
    folders = [path for path in paths if Path(path).expanduser().is_dir()]
    return folders + [part.path for part in source.parts if part.path is not None]


def check_budget(epsilon, n_edges, keep):
    """Refuse none or several of the three options, in the words of the command line.

    >>> check_budget(None, None, 0.05)
    """
    given = {"--epsilon": epsilon, "--edges": n_edges, "--keep": keep}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise InputError(
            f"how small shall the result be? {' and '.join(named) or 'none'} given; give exactly "
            "one of --keep 0.05 (a twentieth of the edges), --edges 100000 (at most so many) and "
            "--epsilon 0.5 (as many as an error of at most a half needs)"
        )


def shows_progress(*, quiet, as_json):
    """Draw a bar only for a person who is looking."""
    return not quiet and not as_json and sys.stderr.isatty()


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
