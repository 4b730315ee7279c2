"""What commands share: arguments and options, paths of outputs, and how they print."""

import json
from importlib.util import find_spec
from typing import Annotated

import typer

from graphsqueak.errors import InputError

__all__ = [
    "BadLine",
    "Columns",
    "Delimiter",
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
    "check_drawing",
    "check_output",
    "check_table_path",
    "is_table_of_points",
    "open_edges",
    "print_json",
    "print_line",
    "print_table",
    "reading_words",
    "shows_progress",
    "write_result",
]

Edges = Annotated[
    str,
    typer.Argument(
        metavar="EDGES",
        help="Edge file, folder or glob of parts, or - for standard input. Text (also .gz, .zst, "
        ".bz2), Parquet, Arrow, Matrix Market or METIS.",
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
Weights = Annotated[
    bool | None,
    typer.Option("--weights/--no-weights", help="Demand weights, or ignore them (default: look)."),
]


def open_edges(
    path, *, ids, header, on_bad_line="error", columns=None, delimiter="auto", weights=None
):
    """The stream that the shared options describe."""
    from graphsqueak.sources.files.reading import read_edges

    if columns is not None:
        names = [name.strip() for name in columns.split(",")]
        columns = tuple(int(name) if name.isdecimal() else name for name in names)
    return read_edges(
        path,
        ids=ids,
        header="auto" if header is None else header,
        on_bad_line=on_bad_line,
        columns=columns,
        delimiter=delimiter,
        weighted="auto" if weights is None else weights,
    )


def is_table_of_points(path, layout):
    """Whether a file holds points and no mails: by its name and, of a csv, by its first rows."""
    from pathlib import Path

    from graphsqueak.sources.mail.layouts import holds_texts
    from graphsqueak.sources.neighbors.point_files import POINT_SUFFIXES

    path = Path(path).expanduser()
    is_table = path.suffix.lower() in POINT_SUFFIXES and not path.is_dir()
    return layout is None and is_table and not holds_texts(path)


def reading_words(ids, header, columns, delimiter, weights, on_bad_line):
    """The words of a command line that read edges in the same way.

    >>> reading_words("auto", False, "0,1", "auto", None, "error")
    ['--no-header', '--columns', '0,1']
    """
    words = [] if ids == "auto" else ["--ids", ids]
    words += [] if header is None else ["--header" if header else "--no-header"]
    words += [] if columns is None else ["--columns", columns]
    words += [] if delimiter == "auto" else ["--delimiter", delimiter]
    words += [] if weights is None else ["--weights" if weights else "--no-weights"]
    return words + ([] if on_bad_line == "error" else ["--on-bad-line", on_bad_line])


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


def check_output(path, *, option="--out"):
    """Refuse a path where no file can be written.

    >>> check_output("missing/sparse.tsv")
    Traceback (most recent call last):
    graphsqueak.errors.InputError: --out missing/sparse.tsv: there is no folder missing; ...
    """
    from graphsqueak.system.atomic import check_writable

    check_writable(path, name=f"{option} {path}")


def check_drawing(what):
    """Refuse to begin what ends in a figure that cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise InputError(
            f"{what} draws with matplotlib; install it with pip install 'graphsqueak[plot]'"
        )


def check_table_path(path, *, option="--out"):
    """The same for a table or edge file, whose name must also say its format."""
    from graphsqueak.sources.files.writing import format_of

    format_of(path)
    check_output(path, option=option)


def write_result(edges, out):
    """Write a sparsifier to `out`; as Parquet beside it if that format cannot hold its ids.

    Whether nodes are numbered as Matrix Market and METIS need it is known only at the end.
    """
    from graphsqueak.sources.files.writing import format_of, write_edges

    try:
        write_edges(edges, out, weights=True)
    except InputError as error:
        if format_of(out)[0] not in ("mtx", "metis"):
            raise
        write_edges(edges, f"{out}.parquet", weights=True)
        raise InputError(f"{error}. The result is in {out}.parquet") from None


def shows_progress(*, quiet, as_json):
    """Tell of long work, in a bar on a terminal and in lines elsewhere, unless asked not to."""
    return not quiet and not as_json


def print_json(record):
    """One JSON object on standard output; infinite and NaN numbers become null."""
    print(json.dumps({key: _plain(value) for key, value in record.items()}))  # noqa: T201


def print_line(text=""):
    """One line for a person, on standard output."""
    print(text)  # noqa: T201


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
