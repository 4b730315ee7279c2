"""Outputs of commands: checked before the work, never an input, replaced only when asked.

A file that is there already is replaced with --force, or when a person at a terminal says yes. A
run with a checkpoint notes the digests of what it has written (`run.ckpt.sha256`, as sha256sum
writes them); --resume may replace just that.
"""

import hashlib
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from graphsqueak.cli.options import print_line
from graphsqueak.errors import InputError
from graphsqueak.system.atomic import STANDARD_OUTPUT, atomic_file, check_writable, same_file

__all__ = [
    "Force",
    "NoHeaderOut",
    "check_drawing",
    "check_outputs",
    "check_table",
    "note_written",
    "print_summary",
    "write_result",
]

Force = Annotated[bool, typer.Option("--force", help="Replace outputs that are there already.")]
NoHeaderOut = Annotated[
    bool,
    typer.Option(
        "--no-header-out",
        help="Write text without the line that names its columns, as igraph and networkx want it.",
    ),
]


def check_outputs(outputs, inputs, *, force=False, quiet=False, as_json=False, resumes=None):
    """Refuse, before the work, outputs that cannot be, that are read, or that are there already.

    Parameters
    ----------
    outputs : dict
        Path, or None, by option.
    inputs : list of path
        What is read; of a folder, all that is in it. Not even `force` replaces an input.
    force : bool
        Replace what is there.
    quiet, as_json : bool
        Whether nobody is to be asked, and whether standard output is taken.
    resumes : path, optional
        The checkpoint that is resumed: what is noted beside it may be replaced.
    """
    given = {option: path for option, path in outputs.items() if path is not None}
    earlier: dict = {}
    for option, path in given.items():
        name = f"{option} {path}"
        if path == STANDARD_OUTPUT:
            if option != "--out":
                raise InputError(f"{name}: only --out can be standard output; give a file")
            if as_json:
                raise InputError("--json and --out - both print on standard output; give a file")
            continue
        if not (option == "--checkpoint" and Path(path).expanduser().is_dir()):
            check_writable(path, name=name)
        _refuse_inputs(path, name, inputs)
        for other, taken in earlier.items():
            if same_file(path, taken):
                raise InputError(f"{name} is the same file as {other}; give it another name")
        earlier[option] = path
    for option, path in earlier.items():
        if not force and not _may_replace(path, option, resumes):
            _ask(path, f"{option} {path}", option, quiet=quiet)


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


def note_written(checkpoint, paths):
    """Note beside a checkpoint what a run has written, so that resuming it may replace that."""
    if checkpoint is None:
        return
    paths = [path for path in paths if path is not None and Path(path).expanduser().is_file()]
    with atomic_file(_note(checkpoint)) as file:
        file.write("".join(f"{_digest(path)}  {path}\n" for path in paths).encode())


def _note(checkpoint):
    return Path(f"{str(checkpoint).rstrip('/')}.sha256")


def _digest(path):
    with open(Path(path).expanduser(), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _may_replace(path, option, resumes):
    target = Path(path).expanduser()
    if option == "--checkpoint":
        has_leaves = target.is_dir() and (target / "run.json").exists()
        return resumes is not None or not (target.is_file() or has_leaves)
    if not target.is_file():
        return True  # nothing is there, or a device
    note = resumes and _note(resumes).expanduser()
    return bool(note and note.is_file() and f"{_digest(path)}  {path}\n" in note.read_text())


def _refuse_inputs(path, name, inputs):
    target = Path(path).expanduser()
    if target.exists() and not target.is_file() and not target.is_dir():
        return  # a device or a named pipe
    for given in inputs:
        found = Path(given).expanduser()
        if same_file(target, found):
            raise InputError(f"{name} is an input of this run ({given}); give it another name")
        if not found.is_dir():
            continue
        if target.resolve().is_relative_to(found.resolve()):
            raise InputError(
                f"{name} lies in the folder {given} that is read, so that the next run would read "
                "it, too; write it elsewhere"
            )
        if target.exists() and any(same_file(target, file) for file in found.rglob("*")):
            raise InputError(f"{name} is an input of this run, in {given}; give it another name")


def _ask(path, name, option, *, quiet):
    resume = "--resume to go on from it, " if option == "--checkpoint" else ""
    if not quiet and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        if typer.confirm(f"{path} is there already. Replace it?", err=True):
            return
        raise InputError(f"{name} is there already and was left alone; choose another name")
    raise InputError(
        f"{name} is there already; give {resume}--force to replace it, or another name"
    )
