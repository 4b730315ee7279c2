"""What a command would do, told before the work.

`--dry-run` says what is read and written, after a look at the beginning of the input, and a
forecast what sparsify gives at several shares of the edges.
"""

import math
from pathlib import Path
from typing import Annotated

import typer

from graphsqueak.cli import options
from graphsqueak.system.atomic import is_file
from graphsqueak.system.memory import readable_size
from graphsqueak.system.paths import local_path

__all__ = [
    "DryRun",
    "beginning_of_edges",
    "beginning_of_points",
    "forecast_of",
    "forecast_record",
    "is_table_of_points",
    "tell_dry_run",
    "tell_forecast",
]

DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Check the beginning of the input and the path of the output, and stop."
    ),
]
_LINES_LOOKED_AT = 1000
_MOST_HELD = 2**22  # edges; of more, a sample is looked at


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

    found = local_path(path)
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

    import pyarrow as pa
    import pyarrow.parquet as pq

    from graphsqueak.sources.files.columnar import open_parquet
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
            try:
                with open_parquet(path) as table:
                    first = islice(table.iter_batches(_LINES_LOOKED_AT), 1)
                    pq.write_table(pa.Table.from_batches(first, table.schema_arrow), head)
            except (pa.ArrowException, OSError):
                return read_points(path)[0].shape[1]  # which explains what is wrong
        return read_points(head)[0].shape[1]


def _describe_output(path, *, force):
    if not is_file(path):
        return str(path)
    said = "in place of the file that is there" if force else "which is there already: add --force"
    return f"{path}, {said}"


def is_table_of_points(path, layout):
    """Whether a file holds points and no mails: by its name and, of a csv, by its first rows."""
    from graphsqueak.sources.files.lakehouse import refuse_lakehouse
    from graphsqueak.sources.mail.layouts import holds_texts
    from graphsqueak.sources.neighbors.point_files import POINT_SUFFIXES

    refuse_lakehouse(path)
    path = local_path(path)
    is_table = path.suffix.lower() in POINT_SUFFIXES and not path.is_dir()
    return layout is None and is_table and not holds_texts(path)


def forecast_of(source, n_edges):
    """The forecast of a source of `n_edges` edges, read once more."""
    from graphsqueak.sparsifiers.forecast import Forecast

    if n_edges <= _MOST_HELD:
        return Forecast(source.to_edge_list(), n_edges=n_edges)
    return Forecast.from_sample(source, n_edges=n_edges, most=_MOST_HELD)


def forecast_record(forecast):
    """The table and the sentence, as --json prints them."""
    rows = [row._asdict() for row in forecast.table() if row.n_edges >= forecast.n_forest]
    return {"forecast": rows, "advice": forecast.advice()}


def tell_forecast(forecast):
    """Print the table and the sentence."""
    from graphsqueak.report.table import text_table

    header = ("keep", "edges", "a node", "error", "kappa", "size", "memory")
    rows = forecast.table()
    options.print_line()
    possible = [row for row in rows if row.n_edges >= forecast.n_forest]
    if possible:
        options.print_lines(text_table([_cells(row, forecast) for row in possible], header=header))
    if 0 < len(possible) < len(rows):
        least = math.ceil(100 * forecast.n_forest / forecast.n_edges) / 100
        options.print_line(f"Less than --keep {least:g} cannot hold the nodes together.")
    options.print_line(forecast.advice())


def _cells(row, forecast):
    return (
        f"{row.keep:.0%}",
        f"{row.n_edges:,}",
        f"{row.n_edges / forecast.n_nodes:.1f}",
        f"{row.epsilon:.2g}" if row.epsilon < 1 else "above 1",
        f"{row.kappa:.3g}" if row.kappa < 1000 else f"{row.kappa:,.0f}",
        readable_size(row.result_bytes),
        readable_size(row.memory_bytes),
    )
