"""The files behind what the user calls a path: one file, a folder, a glob, a list, a pipe.

A folder or glob is all its files in sorted order, folders below included; names that begin with
`.` or `_` (`_SUCCESS`) or end in `.crc` are not data.
"""

import glob
import io
import os
import stat
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from graphsqueak.errors import InputError
from graphsqueak.sources.files.byte_stream import ByteStream
from graphsqueak.sources.files.dialect import Dialect

__all__ = ["Part", "find_parts"]


@dataclass(frozen=True)
class Part:
    """One file of a stream: on disk (`path`) or already open (`file`), or a piece of one on disk.

    A piece is a `span`: of bytes, made of whole lines, for text, which is read as `dialect` says;
    of row groups for Parquet.
    """

    name: str
    path: Path | None = None
    file: io.BufferedIOBase | None = None
    span: tuple | None = None
    dialect: Dialect | None = None

    @property
    def is_rereadable(self):
        """Whether it can be opened again and again: pipes cannot."""
        return self.path is not None and stat.S_ISREG(self.path.stat().st_mode)

    def signature(self):
        """Size and time of the last change of a file on disk; None for anything else."""
        if self.path is None:
            return None
        try:
            status = self.path.stat()
        except OSError as error:
            raise self._unopened(error) from None
        return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None

    def _unopened(self, error):
        return InputError(f"{self.name} cannot be opened: {error.strerror}")

    @contextmanager
    def open(self):
        """Open as a `ByteStream`; a file on disk is closed at the end."""
        if self.file is not None:
            yield ByteStream(self.file, name=self.name)
            return
        try:
            file = open(self.path, "rb", buffering=0)  # noqa: SIM115 - closed below
        except OSError as error:
            raise self._unopened(error) from None
        with file:
            status = os.fstat(file.fileno())
            size = status.st_size if stat.S_ISREG(status.st_mode) else None
            if self.dialect is not None:
                file.seek(self.span[0])
                size = self.span[1] - self.span[0]
                yield ByteStream(_Window(file, size), name=self.name, n_bytes=size)
                return
            yield ByteStream(file, name=self.name, n_bytes=size)


class _Window:
    """The next `size` bytes of a file, as a file."""

    def __init__(self, file, size):
        self._file, self._left = file, size

    def read(self, size):
        piece = self._file.read(min(size, self._left))
        self._left -= len(piece)
        return piece


def find_parts(path):
    """List the parts of `path`: str, Path, binary file object, "-", or a list of these.

    Examples
    --------
    >>> [part.name for part in find_parts("-")]
    ['standard input']
    """
    if isinstance(path, list | tuple):
        if not path:
            raise InputError("the list of files is empty; give at least one")
        return [part for entry in path for part in find_parts(entry)]
    if isinstance(path, io.TextIOBase):
        raise InputError("the file is open as text; open it with mode 'rb', or give its path")
    if hasattr(path, "read"):
        return [Part(str(getattr(path, "name", "the file object")), file=path)]
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"{path!r} is no path, file object or list of them")
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed; give a file, or pipe one in")
        stdin = sys.stdin.buffer
        return [Part("standard input", file=getattr(stdin, "raw", stdin))]
    expanded = Path(path).expanduser()
    if expanded.is_dir():
        return _files_under(expanded) or _nothing(f"folder {path} holds no files to read")
    if expanded.exists():
        return [Part(str(path), path=expanded)]
    if glob.has_magic(str(path)):
        found = (Path(name) for name in sorted(glob.glob(str(expanded), recursive=True)))
        parts = [
            part
            for entry in found
            if _is_data(entry)
            for part in (_files_under(entry) if entry.is_dir() else [Part(str(entry), path=entry)])
        ]
        return list({part.path: part for part in parts}.values()) or _nothing(
            f"no file matches {path}"
        )
    return _nothing(f"there is no file {path}")


def _files_under(folder):
    parts = []
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"folder {folder} cannot be read: {error.strerror}") from None
    for entry in filter(_is_data, entries):
        parts += _files_under(entry) if entry.is_dir() else [Part(str(entry), path=entry)]
    return parts


def _is_data(entry):
    return not entry.name.startswith((".", "_")) and entry.suffix != ".crc"


def _nothing(message):
    raise InputError(f"{message}; check the path")
