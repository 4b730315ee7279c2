"""The files behind what the user calls a path, and their bytes, cut into blocks of whole lines.

A path is one file, a folder, a glob, a list or a pipe. A folder or glob is all its files in sorted
order, folders below included; names that begin with `.` or `_` (`_SUCCESS`) or end in `.crc` are
not data, and neither are README, LICENSE and files whose ending says so (.md, .html, .png, ...).
Tables of Delta Lake, Iceberg and Hudi are refused (`lakehouse.py`).

Each file, or piece of one, is a `Part`. Opened, it is a `ByteStream`, decompressed on the way;
compression is told by the first bytes, not by the name. Files made of several compressed members
one after the other (`cat a.gz b.gz`) are read to their end; one that stops in the middle is an
error.
"""

import glob
import io
import math
import os
import stat
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

from graphsqueak.errors import InputError
from graphsqueak.sources.files.inflating import Inflater
from graphsqueak.sources.files.lakehouse import refuse_lakehouse
from graphsqueak.sources.files.schema import TextSchema
from graphsqueak.sources.tables import TablePart, is_table
from graphsqueak.system.expansion import MIN_LIMIT_BYTES, allowed_bytes, refuse_bomb
from graphsqueak.system.paths import is_remote, local_path
from graphsqueak.system.remote import RemoteFile, find_remote

__all__ = ["ByteStream", "Part", "PathsLike", "find_parts"]

PathsLike: TypeAlias = str | os.PathLike | IO[bytes] | Sequence[Any] | Any  # or tables

_PIECE = 1 << 20  # plain bytes read at a time
_COMPRESSED_PIECE = 1 << 17
_NO_DATA = (
    *(".md", ".rst", ".html", ".htm", ".pdf", ".png", ".jpg", ".jpeg", ".svg", ".py", ".ipynb"),
    *(".r", ".sh", ".log", ".yaml", ".yml", ".md5", ".sha1", ".sha256", ".sha512", ".bib", ".tex"),
)
_PROSE = {"readme", "license", "licence", "copying", "notice", "changelog", "manifest", "citation"}
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}


def find_parts(path, *, passed_over=None):
    """List the parts of `path`: str, Path, binary file object, "-", table, or a list of these.

    Names of files in a folder or glob that are no data are added to the list `passed_over`.

    Examples
    --------
    >>> [part.name for part in find_parts("-")]
    ['standard input']
    """
    if isinstance(path, list | tuple):
        if not path:
            raise InputError("the list of files is empty; give at least one")
        return [part for entry in path for part in find_parts(entry, passed_over=passed_over)]
    if isinstance(path, io.TextIOBase):
        raise InputError("the file is open as text; open it with mode 'rb', or give its path")
    if hasattr(path, "read"):
        return [Part(str(getattr(path, "name", "the file object")), file=path)]
    if not isinstance(path, str | os.PathLike):
        if is_table(path):
            return [TablePart(path)]
        raise InputError(f"{path!r} is no path, file object, table or list of them")
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed; give a file, or pipe one in")
        stdin = sys.stdin.buffer
        return [Part("standard input", file=getattr(stdin, "raw", stdin))]
    refuse_lakehouse(path)
    others = [] if passed_over is None else passed_over
    if is_remote(path):
        found = find_remote(str(path), lambda entry: _is_data(entry, others, is_folder=False))
        return [Part(name, remote=file) for name, file in found]
    expanded = local_path(path)
    if expanded.is_dir():
        return _files_under(expanded, others) or _nothing(
            f"folder {path} holds no files to read" + (f", only {others[0]}" if others else "")
        )
    if expanded.exists():
        return [Part(str(path), path=expanded)]
    if glob.has_magic(str(path)):
        found = (Path(name) for name in sorted(glob.glob(str(expanded), recursive=True)))
        parts = [
            part
            for entry in found
            if _is_data(entry, others, is_folder=entry.is_dir())
            for part in _files_at(entry, others)
        ]
        return list({part.path: part for part in parts}.values()) or _nothing(
            f"no file matches {path}"
        )
    return _nothing(f"there is no file {path}")


@dataclass(frozen=True)
class Part:
    """One file of a stream: on disk (`path`), at an address (`remote`), open, or a piece of one.

    A piece is a `span`: of bytes, made of whole lines, for text, which is read by `text_schema`;
    of row groups for Parquet.
    """

    name: str
    path: Path | None = None
    file: io.BufferedIOBase | None = None
    span: tuple | None = None
    text_schema: TextSchema | None = None
    remote: RemoteFile | None = None
    is_query = False  # as tables may be
    spent = "is a pipe and has been read already; save it to a file"

    @property
    def is_rereadable(self):
        """Whether it can be opened again and again: pipes cannot."""
        if self.path is None:
            return self.remote is not None
        return stat.S_ISREG(self.path.stat().st_mode)

    def signature(self):
        """Size and time of the last change of a file; None for a pipe."""
        if self.path is None:
            return self.remote and self.remote.signature()
        try:
            status = self.path.stat()
        except OSError as error:
            raise self._opening_error(error) from None
        return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None

    def n_bytes(self):
        """Size of a file."""
        return self.path.stat().st_size if self.remote is None else self.remote.n_bytes()

    def _opening_error(self, error):
        return InputError(f"{self.name} cannot be opened: {error.strerror}")

    def open_raw(self):
        """The file, on disk or at an address, as a file object in which one can move."""
        if self.remote is not None:
            return self.remote.handle()
        try:
            return open(self.path, "rb", buffering=0)
        except OSError as error:
            raise self._opening_error(error) from None

    @contextmanager
    def open(self):
        """Open as a `ByteStream`; a file that was not open is closed at the end."""
        if self.file is not None:
            yield ByteStream(self.file, name=self.name)
            return
        with self.open_raw() as file:
            if self.text_schema is not None:
                file.seek(self.span[0])
                size = self.span[1] - self.span[0]
                yield ByteStream(_Window(file, size), name=self.name, n_bytes=size)
                return
            yield ByteStream(file, name=self.name, n_bytes=self._size_of(file))

    def _size_of(self, file):
        """Bytes of the opened file; None of a pipe, or where a service does not tell."""
        if self.remote is not None:
            return self.remote.n_bytes() or None
        status = os.fstat(file.fileno())
        return status.st_size if stat.S_ISREG(status.st_mode) else None


class ByteStream:
    """An iterator over the decompressed bytes of a binary file, in pieces of any length.

    Parameters
    ----------
    file : binary file object
        Where the bytes come from; not closed here.
    name : str
        For messages.
    n_bytes : int, optional
        Size of the file as it lies on disk.
    min_limit : int
        Bytes that any compressed file may become; see `graphsqueak.system.expansion`.

    Examples
    --------
    >>> import gzip, io
    >>> stream = ByteStream(io.BytesIO(gzip.compress(b"1 2") + gzip.compress(b" 3")), name="x")
    >>> stream.peek(2)[:2], b"".join(stream)
    (b'1 ', b'1 2 3')
    """

    def __init__(self, file, *, name, n_bytes=None, min_limit=MIN_LIMIT_BYTES):
        self.name, self._min_limit = name, min_limit
        self._file, self._n_bytes, self._n_read = file, n_bytes, 0
        first = self._read(8)
        while 0 < len(first) < 8 and (more := self._read(8 - len(first))):
            first += more
        kind = next((kind for magic, kind in _MAGIC.items() if first.startswith(magic)), None)
        if kind in ("xz", "zip"):
            raise InputError(
                f"{name} is compressed with {kind}; use gzip, zstd or bzip2, or decompress it into "
                "a pipe and read that"
            )
        self.is_compressed = kind is not None
        self._pieces = self._inflate(first, kind) if kind else self._read_plain(first)
        self._ahead = b""

    @property
    def n_stored(self):
        """Size of the file as it is stored; infinite if that is unknown."""
        return math.inf if self._n_bytes is None else self._n_bytes

    @property
    def most_bytes(self):
        """How many decompressed bytes there can be at most; infinite if that is unknown."""
        if self._n_bytes is None:
            return math.inf
        return allowed_bytes(self._n_bytes) if self.is_compressed else self._n_bytes

    @property
    def fraction_read(self):
        """Share of the file on disk that has been read; NaN if its size is unknown."""
        return math.nan if self._n_bytes is None else self._n_read / max(1, self._n_bytes)

    def peek(self, size):
        """The first bytes, at least `size` of them unless there are fewer; they stay to be read."""
        pieces = [self._ahead]
        while sum(map(len, pieces)) < size and (piece := next(self._pieces, b"")):
            pieces.append(piece)
        self._ahead = b"".join(pieces)
        return self._ahead

    def __iter__(self):
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            yield ahead
        yield from self._pieces

    def _read(self, size):
        try:
            piece = self._file.read(size)
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error.strerror or error}") from None
        self._n_read += len(piece)
        return piece

    def _read_plain(self, piece):
        while piece:
            yield piece
            piece = self._read(_PIECE)
        if self._n_bytes is not None and self._n_read < self._n_bytes:
            raise InputError(
                f"{self.name} ended after {self._n_read:,} of {self._n_bytes:,} bytes: it was cut "
                "while it was read; run again when it is whole"
            )

    def _inflate(self, piece, kind):
        inflater, n_plain = Inflater(kind), 0
        while piece:
            if inflater.eof:  # zeros between and after members are padding
                piece = piece.lstrip(b"\0")
                if not piece:
                    piece = self._read(_COMPRESSED_PIECE)
                    continue
                inflater = Inflater(kind)
            try:
                for data in inflater.feed(piece):
                    if data:
                        n_plain += len(data)
                        refuse_bomb(self.name, self._n_read, n_plain, min_limit=self._min_limit)
                        yield data
            except InputError:
                raise
            except Exception as error:  # zlib.error, OSError, ZstdError: each library has its own
                raise InputError(
                    f"{self.name} is damaged: its {kind} data cannot be decompressed ({error}); "
                    "copy or download it again"
                ) from None
            piece = (inflater.rest if inflater.eof else b"") or self._read(_COMPRESSED_PIECE)
        if not inflater.eof:
            raise InputError(
                f"{self.name} ends in the middle of its {kind} data: it is truncated; copy or "
                "download it again"
            )


def _files_under(folder, passed_over):
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"folder {folder} cannot be read: {error.strerror}") from None
    found = [e for e in entries if _is_data(e, passed_over, is_folder=e.is_dir())]
    return [part for entry in found for part in _files_at(entry, passed_over)]


def _files_at(entry, passed_over):
    return _files_under(entry, passed_over) if entry.is_dir() else [Part(str(entry), path=entry)]


def _is_data(entry, passed_over, *, is_folder):
    if entry.name.startswith((".", "_")) or entry.suffix == ".crc":
        return False
    is_prose = entry.suffix.lower() in _NO_DATA or entry.stem.lower() in _PROSE
    if is_prose and not is_folder:
        passed_over.append(entry.name)
        return False
    return True


def _nothing(message):
    raise InputError(f"{message}; check the path")


class _Window:
    """The next `size` bytes of a file, as a file."""

    def __init__(self, file, size):
        self._file, self._left = file, size

    def read(self, size):
        piece = self._file.read(min(size, self._left))
        self._left -= len(piece)
        return piece
