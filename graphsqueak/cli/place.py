"""What a command needs in order to write, looked at before the work; and that no result is lost."""

from importlib.util import find_spec

from graphsqueak.errors import InputError

__all__ = ["check_drawing", "check_place", "check_table_place", "write_result"]


def check_place(path, *, option="--out"):
    """Refuse a place where no file can be written.

    >>> check_place("missing/sparse.tsv")
    Traceback (most recent call last):
    graphsqueak.errors.InputError: --out missing/sparse.tsv: there is no folder missing; ...
    """
    from graphsqueak.system import atomic

    atomic.check_place(path, name=f"{option} {path}")


def check_drawing(what):
    """Refuse to begin what ends in a figure that cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise InputError(
            f"{what} draws with matplotlib; install it with pip install 'graphsqueak[plot]'"
        )


def check_table_place(path, *, option="--out"):
    """The same for a table or edge file, whose name must also say its format."""
    from graphsqueak.sources.files.writing import format_of

    format_of(path)
    check_place(path, option=option)


def write_result(edges, out):
    """Write a sparsifier to `out`; as Parquet beside it if that format cannot hold its ids.

    Whether nodes are numbered as Matrix Market and METIS need it is known only at the end.
    """
    from graphsqueak.sources import write_edges
    from graphsqueak.sources.files.writing import format_of

    try:
        write_edges(edges, out, weights=True)
    except InputError as error:
        if format_of(out)[0] not in ("mtx", "metis"):
            raise
        write_edges(edges, f"{out}.parquet", weights=True)
        raise InputError(f"{error}. The result is in {out}.parquet") from None
