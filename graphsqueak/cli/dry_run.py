"""What a command would read and write, printed by --dry-run after a check of the inputs."""

from pathlib import Path

from graphsqueak.cli.output import print_json, print_line
from graphsqueak.errors import InputError
from graphsqueak.system.atomic import is_file
from graphsqueak.system.memory import readable_size
from graphsqueak.system.paths import local_path

# Rows of a table of points that are read to check it: enough to see columns of text. Halved or
# doubled, errors further down are found by the run instead.
N_ROWS_CHECKED = 1000


def print_dry_run(inputs, outputs, *, as_json, record=None):
    """Print descriptions of the inputs, and the paths of the outputs.

    Parameters
    ----------
    inputs : list of str
    outputs : list of path
    as_json : bool
        Print one JSON object.
    record : dict, optional
        Further entries of the JSON object.
    """
    if as_json:
        paths = [str(path) for path in outputs]
        print_json({"dry_run": True, "reads": inputs, "writes": paths} | (record or {}))
        return
    for text in inputs:
        print_line(f"would read   {text}")
    for path in outputs:
        print_line(f"would write  {_describe_output(path)}")
    print_line("Nothing was done. Omit --dry-run to run the command.")


def describe_beginning(source):
    """Return a description of the first edges of a source; an InputError if they cannot be read."""
    name = source.parts[0].name
    if len(source.parts) > 1:
        name += f" and {len(source.parts) - 1:,} more"
    if not source.is_rereadable:
        return f"{name}, a pipe, which can be read once and was not opened"
    size = readable_size(sum(part.n_bytes() for part in source.parts))
    batches = source.batches()
    first = next(batches)
    batches.close()
    kind = "integers" if source.id_kind == "integer" else "text"
    weights = "with weights" if (first.weight != 1).any() else "all of weight 1"
    text = f"{name}, {size}: node ids are {kind}, the first edges are {weights}"
    if first.n_edges:
        text += f", begins with {source.ids[first.tail[0]]} - {source.ids[first.head[0]]}"
    return text


def describe_points(path, layout):
    """Return a description of a table of points, or of the layout of a mail corpus."""
    from graphsqueak.mail import find_layout

    local = local_path(path)
    if not local.exists():
        raise InputError(f"{path} does not exist; give a table of points or a mail corpus")
    if is_table_of_points(path, layout):
        size = readable_size(local.stat().st_size)
        return f"{path}, {size}: points of {_count_coordinates(local):,} coordinates"
    if layout in (None, "auto"):
        layout = find_layout(local)
    return f"{path}: mail in the layout {layout}"


def is_table_of_points(path, layout):
    """Return whether a file is a table of points rather than mail.

    Its name decides, and for csv files the first rows.
    """
    from graphsqueak.mail import has_mail_texts
    from graphsqueak.sources.files.lakehouse import refuse_lakehouse
    from graphsqueak.sources.neighbors.point_files import POINT_SUFFIXES

    refuse_lakehouse(path)
    local = local_path(path)
    is_table = local.suffix.lower() in POINT_SUFFIXES and not local.is_dir()
    return layout is None and is_table and not has_mail_texts(local)


def _count_coordinates(path):
    """Return the number of coordinates; the first rows of a table are checked by the reader."""
    import tempfile

    from graphsqueak.sources.neighbors.point_files import read_points

    suffix = path.suffix.lower()
    if suffix in (".npy", ".npz"):
        return read_points(path)[0].shape[1]
    with tempfile.TemporaryDirectory() as folder:
        head = Path(folder) / f"head{suffix}"
        # The error of a damaged file is that of reading all of it.
        is_copied = _copy_first_rows(path, head)
        return read_points(head if is_copied else path)[0].shape[1]


def _copy_first_rows(path, head):
    """Copy the first rows of a table to a file; return whether they can be read."""
    from itertools import islice

    import pyarrow as pa
    import pyarrow.parquet as pq

    from graphsqueak.sources.files.columnar import open_parquet

    if path.suffix.lower() in (".csv", ".tsv"):
        with path.open("rb") as file:
            head.write_bytes(b"".join(islice(file, N_ROWS_CHECKED)))
        return True
    try:
        with open_parquet(path) as table:
            first = islice(table.iter_batches(N_ROWS_CHECKED), 1)
            pq.write_table(pa.Table.from_batches(first, table.schema_arrow), head)
    except (pa.ArrowException, OSError):
        return False
    return True


def _describe_output(path):
    if not is_file(path):
        return str(path)
    return f"{path}, which would be overwritten"
