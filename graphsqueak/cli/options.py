"""What commands share: arguments and options, paths of outputs, and how they print."""

import json
import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from graphsqueak.errors import InputError
from graphsqueak.system import atomic
from graphsqueak.system.atomic import STANDARD_OUTPUT
from graphsqueak.system.remote import exists, place_in

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
    "print_json",
    "print_line",
    "print_summary",
    "print_table",
    "shows_progress",
    "write_result",
]

Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Same seed, same result.")]
HalfLife = Annotated[
    float | None,
    typer.Option(
        "--half-life",
        metavar="TIME",
        help="With --time: let weights fall to a half in so much time, in the unit of the column "
        "(seconds for dates).",
    ),
]
Window = Annotated[
    float | None,
    typer.Option(
        "--window", metavar="TIME", help="With --time: keep to the edges of the last so much time."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no summary.")]
Force = Annotated[bool, typer.Option("--force", help="Replace outputs that are there already.")]
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
            "one of --keep 0.05 (a twentieth of the edges), --edges 100000 (at most so many) and "
            "--epsilon 0.5 (as many as an error of at most a half needs)"
        )


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
            has_leaves = exists(place_in(path, "run.json"))
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
        beside, number = f"{out}.parquet", 1
        while exists(beside):
            number += 1
            beside = f"{out}.{number}.parquet"
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
