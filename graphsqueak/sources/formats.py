"""Tell the format of a file, by its first bytes where they tell, and open it."""

from pathlib import Path

from graphsqueak.sources.columnar import read_arrow, read_parquet
from graphsqueak.sources.matrix_market import MATRIX_MARKET, read_matrix_market
from graphsqueak.sources.metis import read_metis
from graphsqueak.sources.text_file import read_text
from graphsqueak.validation import InputError

__all__ = ["format_of", "open_part"]

_COMPRESSED = (".gz", ".zst", ".bz2")


def open_part(stream, part, options, *, kind):
    """Open one file of a stream; see `read_text` for what is returned."""
    if part.dialect is not None:
        return read_text(stream, options, dialect=part.dialect)
    form = format_of(stream, part, options)
    if form in ("parquet", "arrow"):
        if part.path is None or not part.is_rereadable or stream.is_compressed:
            raise InputError(
                f"{part.name} is a {form} file in a pipe or compressed as a whole; {form} files "
                "must lie on disk as they are: save it first"
            )
        if form == "arrow":
            return read_arrow(part.path, part.name, options, kind=kind)
        return read_parquet(part.path, part.name, options, kind=kind, groups=part.span)
    if form == "text":
        return read_text(stream, options, kind=kind)
    if "text" in (kind, options.ids):
        raise InputError(
            f"{part.name} numbers its nodes 1, ..., n: it cannot be read with text ids; "
            "read it by itself, with ids='integer'"
        )
    if form == "mtx":
        return read_matrix_market(stream, options)
    return read_metis(stream)


def format_of(stream, part, options):
    """ "text", "parquet", "arrow", "mtx" or "metis"."""
    if options.format != "auto":
        return options.format
    first = stream.peek(16)
    if first[: len(MATRIX_MARKET)].lower() == MATRIX_MARKET.lower():
        return "mtx"
    if first.startswith(b"PAR1"):
        return "parquet"
    if first.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    name = Path(part.name)
    suffix = Path(name.stem).suffix if name.suffix in _COMPRESSED else name.suffix
    return "metis" if suffix in (".graph", ".metis") else "text"
