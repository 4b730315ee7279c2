"""What commands share: arguments and options, paths of outputs, and how they print."""

import json
import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from graphsqueak.errors import InputError
from graphsqueak.system import atomic
from graphsqueak.system.atomic import STANDARD_OUTPUT, written_together
from graphsqueak.system.remote import exists, place_in
from graphsqueak.system.terminal import print_message, printable

__all__ = [
    "Force",
    "HalfLife",
    "Json",
    "NoHeaderOut",
    "Quiet",
    "Seed",
    "Window",
    "check_budget",
    "check_drawing",
    "check_outputs",
    "check_table",
    "fraction",
    "print_json",
    "print_line",
    "print_lines",
    "print_summary",
    "print_table",
    "shows_progress",
    "time_span",
    "write_result",
]

Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Same seed, same result.")]


def time_span(text):
    """A span of time as an option: a number, or one with a unit, which is in seconds."""
    from graphsqueak.sources.times import as_time_span

    try:
        return as_time_span("TIME", text)
    except InputError as error:
        raise typer.BadParameter(error.render(lambda span: repr(span.value))) from None


def fraction(text):
    """A fraction as an option: 0.3 or 30%.

    >>> fraction("0.3"), fraction("30%"), fraction("2.5 %")
    (0.3, 0.3, 0.025)
    """
    number = str(text).strip()
    is_percentage = number.endswith("%")
    try:
        value = float(number.removesuffix("%"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a fraction; give 0.3 or 30%") from None
    return value / 100 if is_percentage else value


HalfLife = Annotated[
    float | None,
    typer.Option(
        "--half-life",
        metavar="TIME",
        parser=time_span,
        help="With --time: halve the weight of an edge every TIME, a number in the unit of the "
        "column, or 45s, 30m, 12h, 7d, 2w if it holds dates or Unix seconds.",
    ),
]
Window = Annotated[
    float | None,
    typer.Option(
        "--window",
        metavar="TIME",
        parser=time_span,
        help="With --time: keep to the edges of the last TIME, such as 7d (see --half-life).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no summary.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite outputs that already exist.")]
NoHeaderOut = Annotated[
    bool,
    typer.Option(
        "--no-header-out",
        help="Write text without the line that names its columns, as igraph and networkx want it.",
    ),
]


def check_budget(epsilon, n_edges, keep):
    """Refuse none or several of the three options, in the words of the command line.

    >>> check_budget(None, None, 0.05)
    """
    given = {"--epsilon": epsilon, "--edges": n_edges, "--keep": keep}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise InputError(
            f"how small shall the result be? {' and '.join(named) or 'none'} given; give exactly "
            "one of --keep 5% (a twentieth of the edges), --edges 100000 (at most so many) and "
            "--epsilon 0.5 (as many as an error of at most a half needs)"
        )


def check_outputs(
    outputs,
    inputs,
    *,
    side_outputs=(),
    force=False,
    quiet=False,
    as_json=False,
    resumes=None,
):
    """Refuse, before the work, outputs that cannot be written, are inputs, or already exist.

    Parameters
    ----------
    outputs : dict
        Path, or None, by option.
    inputs : list of path
        Files, folders and globs that are read. Not even `force` replaces an input.
    side_outputs : sequence of (str, path, callable)
        What a run keeps next to its checkpoint, in words, and where. An existing file is replaced
        without `force` if the function recognizes it as written by an earlier run. The note of the
        checkpoint is added to them.
    force : bool
        Replace existing files. Otherwise a person at a terminal is asked.
    quiet, as_json : bool
        Whether nobody is to be asked, and whether standard output is taken.
    resumes : path, optional
        The checkpoint that is resumed: the outputs of its run may be replaced.
    """
    given = {option: path for option, path in outputs.items() if path is not None}
    for option in [option for option, path in given.items() if path == STANDARD_OUTPUT]:
        if option != "--out":
            raise InputError(f"{option} -: only --out can be standard output; give a file")
        if as_json:
            raise InputError("--json and --out - both print on standard output; give a file")
        atomic.check_writable(STANDARD_OUTPUT)
        del given[option]
    side_outputs = list(side_outputs)
    if given.get("--checkpoint") is not None:
        note = atomic.note_of(given["--checkpoint"])
        side_outputs.append(("list of digests", note, atomic.is_note))
    atomic.check_outputs(given | {what: path for what, path, _ in side_outputs}, inputs)
    for what, path, is_own in side_outputs:
        if not force and atomic.is_file(path) and not is_own(path):
            raise InputError(
                f"{path} already exists and is not the {what} of an earlier run; use --force to "
                "overwrite, or choose another --checkpoint"
            )
    for option, path in given.items():
        is_free = atomic.is_replaceable(path, resumes)
        if option == "--checkpoint":
            has_leaves = exists(place_in(path, "run.json"))
            is_free = resumes is not None or (is_free and not has_leaves)
        if not force and not is_free:
            _ask_to_replace(option, path, quiet=quiet)


def _ask_to_replace(option, path, *, quiet):
    resume = "--resume to go on from it, or " if option == "--checkpoint" else ""
    if not quiet and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        if typer.confirm(f"{printable(path)} already exists. Overwrite it?", err=True):
            return
        raise InputError(f"{option} {path} already exists and was kept; choose another name")
    raise InputError(
        f"{option} {path} already exists; use {resume}--force to overwrite, or choose another name"
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
        beside, number = f"{out}.parquet", 1
        while exists(beside):
            number += 1
            beside = f"{out}.{number}.parquet"
        with written_together():  # at once: the error below ends what waits for OUT
            write_edges(edges, beside, weights=True)
        raise InputError(error, f". The result is in {beside}") from None


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
    """Print one line for a person, on standard output or standard error; escape what is odd."""
    if on_stderr:
        print_message(printable(text))
    else:
        print(printable(text))  # noqa: T201


def print_lines(text):
    """Print a table, or a text of several lines, on standard output."""
    print(printable(text, keep="\n"))  # noqa: T201


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
