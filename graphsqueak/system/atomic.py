"""A file that appears whole or not at all."""

import bz2
import gzip
import os
import secrets
import sys
from contextlib import contextmanager
from pathlib import Path

from graphsqueak.errors import InputError

__all__ = ["STANDARD_OUTPUT", "atomic_file", "check_writable", "same_file"]

STANDARD_OUTPUT = "-"


@contextmanager
def atomic_file(path, compression=None):
    """Open a binary file beside `path` and move it there at the end, or remove it on failure.

    Parameters
    ----------
    path : str or Path
        The final path. A device or named pipe is written to directly; "-" is standard output.
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
    if str(path) == STANDARD_OUTPUT:
        sys.stdout.flush()
        with _compressed(sys.stdout.buffer, compression) as outer:
            yield outer
        sys.stdout.buffer.flush()
        return
    target = Path(path).expanduser().resolve()
    check_writable(path)
    if target.exists() and not target.is_file():
        with _opened(target, "wb") as file, _compressed(file, compression) as outer:
            yield outer
        return
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with _opened(beside, "xb") as file:
            with _compressed(file, compression) as outer:
                yield outer
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError):  # a full disk, most of all
            raise InputError(
                f"{path} could not be written: {error.strerror or error}; nothing was left "
                "behind: make room, or choose another path"
            ) from None
        raise


def check_writable(path, *, name=None):
    """Refuse a path where no file can be made, before work begins that would be lost.

    Nothing is written or made. Messages speak of `name`, by default the path.

    >>> check_writable("missing/answer")
    Traceback (most recent call last):
    graphsqueak.errors.InputError: missing/answer: there is no folder missing; make it first
    """
    if str(path) == STANDARD_OUTPUT:
        return
    target, name = Path(path).expanduser(), name or path
    folder = target.parent
    if target.is_dir():
        raise InputError(f"{name} is a folder; give the name of a file in it")
    if target.exists() and not target.is_file():
        return  # a device or a named pipe is written to as it is
    if not folder.exists():
        raise InputError(f"{name}: there is no folder {folder}; make it first")
    if not folder.is_dir():
        raise InputError(f"{name}: {folder} is a file, not a folder; check the path")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{name}: the folder {folder} cannot be written to; try another")


def same_file(one, other):
    """Whether two paths lead to one file, through links or by another spelling.

    >>> same_file("sparse.tsv", "./sparse.tsv"), same_file("sparse.tsv", "edges.tsv")
    (True, False)
    """
    one, other = Path(one).expanduser(), Path(other).expanduser()
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them is not there yet
        return one.resolve() == other.resolve()


def _opened(target, mode):
    try:
        return open(target, mode)
    except OSError as error:
        raise _unwritable(target, error.strerror) from None


def _unwritable(target, reason):
    return InputError(f"{target} cannot be written: {reason}; check the path")


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
