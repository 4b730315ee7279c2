"""A file that appears whole or not at all."""

import bz2
import gzip
import os
import secrets
from contextlib import contextmanager
from pathlib import Path

from graphsqueak.validation import InputError

__all__ = ["atomic_file", "check_place"]


@contextmanager
def atomic_file(path, compression=None):
    """Open a binary file beside `path` and move it there at the end, or remove it on failure.

    Parameters
    ----------
    path : str or Path
        The final place. A device or named pipe is written to directly.
    compression : {"gzip", "zstd", "bzip2"}, optional
        Compress what is written; the bytes do not depend on the time or the name.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "answer"
    >>> with atomic_file(path) as file:
    ...     written = file.write(b"42")
    ...     there = path.exists()
    >>> there, path.read_bytes()
    (False, b'42')
    """
    place = Path(path).expanduser().resolve()
    check_place(path)
    if place.exists() and not place.is_file():
        with _opened(place, "wb") as file, _compressed(file, compression) as outer:
            yield outer
        return
    beside = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
    try:
        with _opened(beside, "xb") as file:
            with _compressed(file, compression) as outer:
                yield outer
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, place)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError):  # a full disk, most of all
            raise InputError(
                f"{path} could not be written: {error.strerror or error}; nothing was left "
                "behind: make room, or choose another place"
            ) from None
        raise


def check_place(path):
    """Refuse a place where no file can be made, before work begins that would be lost.

    >>> check_place("no/such/folder/answer")
    Traceback (most recent call last):
    graphsqueak.validation.InputError: no/such/folder/answer cannot be written: there is no ...
    """
    place = Path(path).expanduser()
    if place.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file")
    if place.exists() and not place.is_file():
        return
    folder = place.resolve().parent
    if not folder.is_dir():
        raise _unwritable(path, f"there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unwritable(path, f"the folder {folder} may not be written to")


def _opened(place, mode):
    try:
        return open(place, mode)
    except OSError as error:
        raise _unwritable(place, error.strerror) from None


def _unwritable(place, reason):
    return InputError(f"{place} cannot be written: {reason}; check the path")


@contextmanager
def _compressed(file, compression):
    if compression is None:
        yield file
    elif compression == "gzip":
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as outer:
            yield outer
    elif compression == "bzip2":
        with bz2.BZ2File(file, "wb") as outer:
            yield outer
    else:
        import zstandard

        with zstandard.ZstdCompressor(level=3).stream_writer(file, closefd=False) as outer:
            yield outer
