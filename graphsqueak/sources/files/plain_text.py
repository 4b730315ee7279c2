"""Text tables that are kept in memory, from a file, a pipe or an address, compressed or not."""

import stat

from graphsqueak.errors import InputError
from graphsqueak.sources.files.parts import ByteStream, Part
from graphsqueak.system.memory import check_fits
from graphsqueak.system.paths import is_remote, is_utf8, local_path
from graphsqueak.system.remote import open_bytes


def text_source(path):
    """Return what polars reads a text table from: its path, or its bytes.

    polars decompresses without a limit, and blocks signals while it waits for a pipe. So it gets
    only paths of plain files. Everything else is read here, within the limits of
    `graphsqueak.system.expansion` and of the memory.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Path or bytes

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """
    if is_remote(path):
        with open_bytes(path) as file:
            return _all_bytes(ByteStream(file, name=str(path)))
    part = Part(str(path), path=local_path(path))
    mode = part.path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise InputError(f"{path} is not a file or a pipe; give the path of a table")
    with part.open() as stream:
        # polars does not accept paths that are not UTF-8.
        if stat.S_ISREG(mode) and not stream.is_compressed and is_utf8(part.path):
            return part.path
        return _all_bytes(stream)


def _all_bytes(stream):
    pieces = []
    n_read = 0
    for piece in stream:
        pieces.append(piece)
        n_read += len(piece)
        # Joined, the pieces take the same memory again.
        check_fits(n_read, f"{stream.name}, {n_read:,} bytes of it read so far,")
    return b"".join(pieces)
