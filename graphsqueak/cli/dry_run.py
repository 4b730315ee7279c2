"""--dry-run: what a command would read and write, after a look at the beginning of its input."""

from pathlib import Path
from typing import Annotated

import typer

from graphsqueak.cli import options
from graphsqueak.system.memory import readable_size

__all__ = [
    "DryRun",
    "beginning_of_edges",
    "beginning_of_points",
    "is_table_of_points",
    "tell_dry_run",
]

DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Check the beginning of the input and the path of the output, and stop."
    ),
]
_LINES_LOOKED_AT = 1000


def tell_dry_run(reads, writes, *, force, as_json, more=None):
    """Say what would happen: lists of texts about inputs, and of paths of options.

    `more` is what --json prints besides.
    """
    if as_json:
        record = {"dry_run": True, "reads": reads, "writes": [str(path) for path in writes]}
        options.print_json(record | (more or {}))
        return
    for said in reads:
        options.print_line(f"would read   {said}")
    for path in writes:
        options.print_line(f"would write  {_describe_output(path, force=force)}")
    options.print_line("Nothing was done. Leave --dry-run away to do it.")


def beginning_of_edges(source):
    """The first batch of a file, in words; an InputError if it cannot be read."""
    name = source.parts[0].name
    if len(source.parts) > 1:
        name += f" and {len(source.parts) - 1:,} more"
    if not source.is_rereadable:
        return f"{name}, a pipe: not looked at, since it can be read once"
    size = readable_size(sum(part.n_bytes() for part in source.parts))
    batches = iter(source)
    first = next(batches)
    batches.close()
    kind = "numbers" if source.id_kind == "integer" else "names"
    weights = "with weights" if (first.weight != 1).any() else "all of weight 1"
    shown = ""
    if first.n_edges:
        shown = f", begins with {source.ids[first.tail[0]]} - {source.ids[first.head[0]]}"
    return f"{name}, {size}: nodes are {kind}, the first edges are {weights}{shown}"


def beginning_of_points(path, layout):
    """The beginning of a table of points, or the layout of a corpus of mail, in words."""
    from graphsqueak.errors import InputError
    from graphsqueak.sources.mail.layouts import find_layout

    found = Path(path).expanduser()
    if not found.exists():
        raise InputError(f"{path} does not exist; give a table of points or a corpus of mail")
    if is_table_of_points(path, layout):
        said = f"{path}, {readable_size(found.stat().st_size)}"
        return f"{said}: points of {_dimension(found):,} coordinates"
    layout = find_layout(found) if layout in (None, "auto") else layout
    return f"{path}: mail, lying as {layout}"


def _dimension(path):
    """Number of coordinates; a table's first rows go through the reader, with all its checks."""
    import tempfile
    from itertools import islice

    import polars as pl

    from graphsqueak.sources.neighbors.point_files import read_points

    suffix = path.suffix.lower()
    if suffix in (".npy", ".npz"):
        return read_points(path)[0].shape[1]
    with tempfile.TemporaryDirectory() as folder:
        head = Path(folder) / f"head{suffix}"
        if suffix in (".csv", ".tsv"):
            with path.open("rb") as file:
                head.write_bytes(b"".join(islice(file, _LINES_LOOKED_AT)))
        else:
            pl.scan_parquet(path).head(_LINES_LOOKED_AT).collect().write_parquet(head)
        return read_points(head)[0].shape[1]


def _describe_output(path, *, force):
    if not Path(path).expanduser().is_file():
        return str(path)
    said = "in place of the file that is there" if force else "which is there already: add --force"
    return f"{path}, {said}"


def is_table_of_points(path, layout):
    """Whether a file holds points and no mails: by its name and, of a csv, by its first rows."""
    from graphsqueak.sources.mail.layouts import holds_texts
    from graphsqueak.sources.neighbors.point_files import POINT_SUFFIXES

    path = Path(path).expanduser()
    is_table = path.suffix.lower() in POINT_SUFFIXES and not path.is_dir()
    return layout is None and is_table and not holds_texts(path)
