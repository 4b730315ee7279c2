"""Tables of Delta Lake, Apache Iceberg and Apache Hudi, which are refused.

Such a table is a folder of Parquet files and a log, which lists the files of the current snapshot.
Files of deleted and rewritten rows stay in the folder, so reading all Parquet files would give rows
that the table no longer has.
"""

import glob
import os
from functools import partial
from typing import NamedTuple

from graphsqueak.errors import InputError
from graphsqueak.system.paths import is_remote, local_path
from graphsqueak.system.remote import matching_files


class _TableFormat(NamedTuple):
    """A table format: the folder and files of its log, and the code that exports a table."""

    name: str
    log_folder: str
    log_files: str
    export: str


_FORMATS = (
    _TableFormat(
        name="a Delta Lake table",
        log_folder="_delta_log",
        log_files="*",
        export="deltalake.DeltaTable({table!r}).to_pyarrow_table()",
    ),
    _TableFormat(
        name="an Apache Iceberg table",
        log_folder="metadata",
        log_files="*.metadata.json",
        export="pyiceberg.table.StaticTable.from_metadata({log!r}).scan().to_arrow()",
    ),
    _TableFormat(
        name="an Apache Hudi table",
        log_folder=".hoodie",
        log_files="*",
        export="pyarrow.Table.from_batches("
        "hudi.HudiTableBuilder.from_base_uri({table!r}).build().read_snapshot())",
    ),
)


def refuse_lakehouse(path: str | os.PathLike) -> None:
    """Raise an InputError if a path is, contains or lies in a table of a lakehouse format.

    Parameters
    ----------
    path : str or Path
        A file, a folder or a glob, on disk or at an address. It need not exist.
    """
    is_address = is_remote(path)
    if is_address and str(path).lower().startswith(("http://", "https://")):
        # Web servers do not list folders.
        return
    for table_format in _FORMATS:
        log = _find_log(str(path), table_format, is_address=is_address)
        if log is not None:
            table = log.partition(f"/{table_format.log_folder}")[0]
            export = table_format.export.format(table=table, log=log)
            raise InputError(
                f"{path} belongs to {table_format.name}, {table}, whose folder also holds files "
                "of deleted rows; export the current snapshot and pass that instead. In Python, "
                f"snapshot = {export} can be passed to read_edges, and "
                "pyarrow.parquet.write_table(snapshot, 'snapshot.parquet') writes a file"
            )


def _find_log(path, table_format, *, is_address):
    """Return the log of a table at, below or above a path; None if there is none."""
    log_files = table_format.log_files
    find = matching_files
    if not is_address:
        find = partial(glob.iglob, recursive=True)
        expanded = local_path(path)
        # The target of a link can be in a table.
        is_pattern = not expanded.exists()
        path = os.path.abspath(expanded) if is_pattern else glob.escape(os.path.realpath(expanded))
        # A log folder without files marks a table as well; at an address there are only files.
        log_files = "" if log_files == "*" else log_files
    for wanted in _places(path, f"{table_format.log_folder}/{log_files}"):
        for found in find(wanted):
            return found.rstrip("/")
    return None


def _places(path, log):
    """Return patterns of the places of a log: in the folders above a path, and at or below it.

    >>> _places("/data/edges.parquet", "_delta_log/")
    ['/data/_delta_log/', '/_delta_log/', '/data/edges.parquet/**/_delta_log/']
    >>> _places("s3://bucket/a/*.parquet", ".hoodie/*")[:2]
    ['s3://bucket/a/.hoodie/*', 's3://bucket/.hoodie/*']
    """
    # A path on disk has no scheme.
    scheme, separator, names = path.rpartition("://")
    folders = names.rstrip("/").split("/")
    above = ["/".join([*folders[:depth], log]) for depth in range(len(folders) - 1, 0, -1)]
    own = "/".join([*folders, "**", log])
    return [scheme + separator + place for place in [*above, own]]
