"""What a command needs in order to write, looked at before the work and not after it."""

import os
from importlib.util import find_spec
from pathlib import Path

from graphsqueak.validation import InputError

__all__ = ["check_drawing", "check_place", "check_table_place"]


def check_place(path, *, option="--out"):
    """Refuse a place where no file can be written; nothing is written or made.

    >>> check_place("missing/sparse.tsv")
    Traceback (most recent call last):
    graphsqueak.validation.InputError: --out missing/sparse.tsv: there is no folder missing; ...
    """
    place = Path(path).expanduser()
    folder = place.parent
    if place.is_dir():
        raise InputError(f"{option} {path} is a folder; give the name of a file in it")
    if not folder.exists():
        raise InputError(f"{option} {path}: there is no folder {folder}; make it first")
    if not folder.is_dir():
        raise InputError(f"{option} {path}: {folder} is a file, not a folder; check the path")
    if place.exists() and not place.is_file():
        return  # a device or a named pipe is written to as it is
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{option} {path}: the folder {folder} cannot be written to; try another")


def check_drawing(what):
    """Refuse to begin what ends in a figure that cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise InputError(
            f"{what} draws with matplotlib; install it with pip install 'graphsqueak[plot]'"
        )


def check_table_place(path, *, option="--out"):
    """The same for a table or edge file, whose name must also say its format."""
    from graphsqueak.sources.writing import format_of

    format_of(path)
    check_place(path, option=option)
