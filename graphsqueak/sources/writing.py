"""Write edges to a file, in the formats that `read_edges` reads.

The name says the format: .tsv, .txt, .edges, .el (tab between columns, the names in a comment),
.csv (the names in a header), .parquet, .arrow or .feather, .mtx (Matrix Market, symmetric), .graph
or .metis; .gz, .zst or .bz2 behind a text format compresses it. The user's own ids are written. A
list of edges does not name isolated nodes; Matrix Market and METIS do, but number the nodes 1..n.

The file appears whole or not at all: it is written beside its place and moved there at the end.
"""

from contextlib import closing
from pathlib import Path

from graphsqueak.graph import EdgeList
from graphsqueak.sources.atomic import atomic_file, check_place
from graphsqueak.sources.base import EdgeSource
from graphsqueak.sources.matrix_writing import write_matrix_market, write_metis
from graphsqueak.sources.table_writing import open_table
from graphsqueak.validation import InputError, check_choice

__all__ = ["check_output", "format_of", "write_edges"]

_FORMATS = {
    ".tsv": "tsv",
    ".txt": "tsv",
    ".edges": "tsv",
    ".el": "tsv",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".mtx": "mtx",
    ".graph": "metis",
    ".metis": "metis",
}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2"}


def write_edges(edges, path, *, weights="auto"):
    """Write edges to `path`, whose name says the format.

    Parameters
    ----------
    edges : EdgeList or EdgeSource
        A source is written batch by batch, except as Matrix Market or METIS, whose first line
        counts the edges.
    path : str or Path
        Replaced if it exists.
    weights : bool or "auto"
        Whether to write weights. "auto" leaves them out if all are 1; those of a pipe are written
        in any case, since it cannot be looked at twice.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "path.csv"
    >>> write_edges(EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")]), path)
    >>> print(path.read_text().strip())
    source,target
    ann,bob
    bob,cy
    """
    check_choice("weights", weights, (True, False, "auto"))
    if not isinstance(edges, EdgeList | EdgeSource):
        raise InputError(
            f"edges is a {type(edges).__name__}; give an EdgeList or what read_edges returns"
        )
    form, compression = format_of(path)
    if form in ("mtx", "metis"):
        edges = edges if isinstance(edges, EdgeList) else edges.to_edge_list()
        write = write_matrix_market if form == "mtx" else write_metis
        with atomic_file(path, compression) as file:
            write(file, edges, with_weights=_wants(weights, edges))
        return
    if weights == "auto" and not getattr(edges, "is_rereadable", True):
        weights = True
    try:
        _write_table(edges, path, form, compression, weights)
    except _WeightsAfterAll:
        _write_table(edges, path, form, compression, True)


class _WeightsAfterAll(Exception):  # noqa: N818 - a signal, not an error
    """A batch has weights other than 1 where the first one had none."""


def _write_table(edges, path, form, compression, weights):
    ids_between = getattr(edges, "ids_between", lambda start, stop: edges.ids[start:stop])
    with atomic_file(path, compression) as file:
        batches = iter(edges)
        first = next(batches, EdgeList.from_clean([], [], [], n_nodes=0))
        decided = _wants(weights, first)
        with closing(open_table(file, form, ids_between, with_weights=decided)) as table:
            table.write(first)
            for batch in batches:
                if not decided and _wants(weights, batch):
                    raise _WeightsAfterAll
                table.write(batch)


def _wants(weights, edges):
    return bool((edges.weight != 1).any()) if weights == "auto" else weights


def check_output(path):
    """Refuse a name that says no format and a place that cannot be written to.

    Long work calls this before it begins, so that no result is lost for the want of a folder.
    """
    format_of(path)
    check_place(path)


def format_of(path):
    """Format and compression that a file name asks for."""
    name = Path(path)
    compression = _COMPRESSIONS.get(name.suffix.lower())
    suffix = Path(name.stem).suffix if compression else name.suffix
    form = _FORMATS.get(suffix.lower())
    if form is None:
        raise InputError(
            f"the name {name.name!r} does not say the format; end it in "
            f"{', '.join(_FORMATS)}, the text formats also in {', '.join(_COMPRESSIONS)} after that"
        )
    if compression and form in ("parquet", "arrow"):
        raise InputError(
            f"{name.name!r}: {form} files are compressed inside; leave {name.suffix} away"
        )
    return form, compression
