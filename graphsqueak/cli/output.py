"""What commands print and write: records, tables, and checks of output paths before the work."""

import json
import sys
from importlib.util import find_spec

import typer

from graphsqueak.errors import InputError
from graphsqueak.system import atomic
from graphsqueak.system.atomic import STANDARD_OUTPUT, written_together
from graphsqueak.system.remote import exists, place_in
from graphsqueak.system.terminal import print_message, printable


def check_outputs(
    outputs,
    inputs,
    *,
    printing,
    force=False,
    is_dry_run=False,
    side_outputs=(),
    resumed_checkpoint=None,
):
    """Refuse, before the work, outputs that cannot be written, are inputs, or already exist.

    Parameters
    ----------
    outputs : dict
        Path, or None, by option.
    inputs : list of path
        Files, folders and globs that are read. Not even `force` replaces an input.
    printing : Printing
        With --json, standard output is taken. With --quiet, no question is asked.
    force : bool
        Replace existing files. Otherwise a person at a terminal is asked.
    is_dry_run : bool
        Ask no question.
    side_outputs : sequence of (str, path, callable)
        Other files that a run writes next to its checkpoint: description, path, and a function that
        recognizes a file of an earlier run, which is replaced without `force`. The note of the
        checkpoint is added to them.
    resumed_checkpoint : path, optional
        The checkpoint that is resumed: the outputs of its run may be replaced.
    """
    paths = {option: path for option, path in outputs.items() if path is not None}
    for option in [option for option, path in paths.items() if path == STANDARD_OUTPUT]:
        if option != "--out":
            raise InputError(f"{option} -: only --out can be standard output; give a file")
        if printing.as_json:
            raise InputError("--json and --out - both print on standard output; give a file")
        atomic.check_writable(STANDARD_OUTPUT)
        del paths[option]
    side_outputs = list(side_outputs)
    if paths.get("--checkpoint") is not None:
        note = atomic.note_of(paths["--checkpoint"])
        side_outputs.append(("list of digests", note, atomic.is_note))
    atomic.check_outputs(paths | {what: path for what, path, _ in side_outputs}, inputs)
    for what, path, is_of_earlier_run in side_outputs:
        if not force and atomic.is_file(path) and not is_of_earlier_run(path):
            raise InputError(
                f"{path} already exists and is not the {what} of an earlier run; use --force to "
                "overwrite, or choose another --checkpoint"
            )
    for option, path in paths.items():
        if not force and not _is_replaceable(option, path, resumed_checkpoint):
            _ask_to_replace(option, path, quiet=printing.quiet or is_dry_run)


def check_format(path):
    """Refuse the name of an output file that does not determine its format."""
    from graphsqueak.sources.files.writing import format_of

    format_of(path)


def check_matplotlib(what):
    """Refuse to begin a run that ends in a figure which cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise InputError(
            f"{what} draws with matplotlib; install it with pip install 'graphsqueak[plot]'"
        )


def write_result(edges, out, *, header=True):
    """Write a sparsifier; as Parquet next to `out` if that format cannot store its ids.

    Whether nodes are numbered as Matrix Market and METIS need it is known only at the end.
    """
    from graphsqueak.sources.files.writing import format_of, write_edges

    try:
        write_edges(edges, out, weights=True, header=header)
    except InputError as error:
        if format_of(out)[0] not in ("mtx", "metis"):
            raise
        parquet_path = f"{out}.parquet"
        number = 1
        while exists(parquet_path):
            number += 1
            parquet_path = f"{out}.{number}.parquet"
        # Renamed at once: the error below ends the run, and with it other pending outputs.
        with written_together():
            write_edges(edges, parquet_path, weights=True)
        raise InputError(error, f". The result is in {parquet_path}") from None


def print_summary(text, out):
    """Print a line for people, on standard error if the result itself is on standard output."""
    print_line(text, on_stderr=out == STANDARD_OUTPUT)


def print_json(record):
    """Print one JSON object on standard output; infinite and NaN numbers become null."""
    print(json.dumps({key: _as_json_value(value) for key, value in record.items()}))  # noqa: T201


def print_line(text="", *, on_stderr=False):
    """Print one line for people, with control characters escaped."""
    if on_stderr:
        print_message(printable(text))
    else:
        print(printable(text))  # noqa: T201


def print_lines(text):
    """Print a text of several lines on standard output."""
    print(printable(text, keep="\n"))  # noqa: T201


def print_table(rows):
    """Print one name and value per line, with values aligned.

    >>> print_table({"nodes": 12_100, "weights": "all 1"})
    nodes    12,100
    weights  all 1
    """
    width = max(map(len, rows))
    for name, value in rows.items():
        print_line(f"{name:<{width}}  {_readable(value)}")


def _is_replaceable(option, path, resumed_checkpoint):
    is_free = atomic.is_replaceable(path, resumed_checkpoint)
    if option == "--checkpoint":
        has_parts = exists(place_in(path, "run.json"))
        return resumed_checkpoint is not None or (is_free and not has_parts)
    return is_free


def _ask_to_replace(option, path, *, quiet):
    is_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    if is_terminal and not quiet:
        if typer.confirm(f"{printable(path)} already exists. Overwrite it?", err=True):
            return
        raise InputError(f"{option} {path} already exists and was kept; choose another name")
    resume = "--resume to continue from it, or " if option == "--checkpoint" else ""
    raise InputError(
        f"{option} {path} already exists; use {resume}--force to overwrite, or choose another name"
    )


def _readable(value):
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _as_json_value(value):
    if isinstance(value, dict):
        return {name: _as_json_value(one) for name, one in value.items()}
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value
