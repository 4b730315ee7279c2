"""The files behind a path, opened as streams of decompressed bytes.

A path is one file, a folder, a glob, a list or a pipe. A folder or glob stands for all its files in
sorted order, including those in subfolders. Names that begin with `.` or `_` (`_SUCCESS`) or end in
`.crc` are ignored. So are README, LICENSE and files whose suffix shows that they hold no data (.md,
.html, .png, ...); these are reported by name. Tables of Delta Lake, Iceberg and Hudi are refused
(`lakehouse.py`).

Each file, or piece of a file, is a `Part`. Opened, it is a `ByteStream`, which decompresses gzip,
zstd and bzip2. Compression is detected from the first bytes, not from the name. Files of several
compressed members (`cat a.gz b.gz`) are read to their end; a truncated member is an error.
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
from graphsqueak.sources.files.inflating import PIECE_BYTES, Inflater
from graphsqueak.sources.files.lakehouse import refuse_lakehouse
from graphsqueak.sources.files.schema import TextSchema
from graphsqueak.sources.tables import TablePart, is_table
from graphsqueak.system.expansion import MIN_LIMIT_BYTES, allowed_bytes, refuse_bomb
from graphsqueak.system.paths import is_remote, local_path
from graphsqueak.system.remote import RemoteFile, find_remote

# Also tables, such as data frames.
PathsLike: TypeAlias = str | os.PathLike | IO[bytes] | Sequence[Any] | Any

_SUFFIXES_WITHOUT_DATA = {
    *(".md", ".rst", ".html", ".htm", ".pdf", ".png", ".jpg", ".jpeg", ".svg", ".py", ".ipynb"),
    *(".r", ".sh", ".log", ".yaml", ".yml", ".md5", ".sha1", ".sha256", ".sha512", ".bib", ".tex"),
}
_STEMS_WITHOUT_DATA = {
    *("readme", "license", "licence", "copying", "notice", "changelog", "manifest", "citation"),
}
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}


def find_parts(path):
    """List the files behind a path.

    Parameters
    ----------
    path : str, Path, binary file object, table, or list of these
        "-" is standard input.

    Returns
    -------
    parts : list of Part or TablePart
    skipped : list of str
        Names of files in folders and globs that hold no data, such as README.md.

    Examples
    --------
    >>> parts, skipped = find_parts("-")
    >>> [part.name for part in parts], skipped
    (['standard input'], [])
    """
    finder = _PartFinder()
    finder.add(path)
    return finder.parts, finder.skipped


class _PartFinder:
    """The parts that were found, and the names of the files that were skipped."""

    def __init__(self):
        self.parts = []
        self.skipped = []

    def add(self, path):
        """Append the parts of a path, table or file object, or of a list of these."""
        # Lists may be nested, and mix files and tables.
        if isinstance(path, list | tuple):
            if not path:
                raise InputError("the list of files is empty; give at least one")
            for entry in path:
                self.add(entry)
        elif isinstance(path, io.TextIOBase):
            raise InputError("the file is open as text; open it with mode 'rb', or give its path")
        elif hasattr(path, "read"):
            self.parts.append(Part(str(getattr(path, "name", "the file object")), file=path))
        elif isinstance(path, str | os.PathLike):
            self.parts += [_standard_input()] if str(path) == "-" else self._parts_at(path)
        elif is_table(path):
            self.parts.append(TablePart(path))
        else:
            raise InputError(f"{path!r} is not a path, file object, table or list of them")

    def _parts_at(self, path):
        """Return the parts of a file, folder or glob, on disk or at an address."""
        refuse_lakehouse(path)
        if is_remote(path):
            return [Part(name, remote=file) for name, file in find_remote(str(path), self._is_data)]
        local = local_path(path)
        # An existing file comes before a glob: its name may contain brackets.
        if local.is_dir():
            files = self._files_in(local)
            problem = f"folder {path} holds no files to read"
            if self.skipped:
                problem += f", only {self.skipped[0]}"
        elif local.exists():
            # The name in messages is the path as it was given.
            return [Part(str(path), path=local)]
        elif glob.has_magic(str(path)):
            matches = sorted(glob.glob(str(local), recursive=True))
            files = self._files_of(map(Path, matches))
            problem = f"no file matches {path}"
        else:
            files = []
            problem = f"there is no file {path}"
        if not files:
            raise InputError(f"{problem}; check the path")
        return [Part(str(file), path=file) for file in files]

    def _files_in(self, folder):
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            raise InputError(f"folder {folder} cannot be read: {error.strerror}") from None
        return self._files_of(entries)

    def _files_of(self, entries):
        """Return the data files among files and folders, once each, including subfolders."""
        files = {}
        for entry in entries:
            is_folder = entry.is_dir()
            if self._is_data(entry, is_folder=is_folder):
                # A glob with ** matches both a folder and the files in it.
                files.update(dict.fromkeys(self._files_in(entry) if is_folder else [entry]))
        return list(files)

    def _is_data(self, entry, *, is_folder=False):
        if entry.name.startswith((".", "_")) or entry.suffix == ".crc":
            return False
        has_data = (
            entry.suffix.lower() not in _SUFFIXES_WITHOUT_DATA
            and entry.stem.lower() not in _STEMS_WITHOUT_DATA
        )
        if not has_data and not is_folder:
            self.skipped.append(entry.name)
        return has_data or is_folder


def _standard_input():
    if sys.stdin is None:
        raise InputError("standard input is closed; give a file, or pipe one in")
    # The raw file returns what has arrived, where the buffered one waits for a full buffer.
    stdin = sys.stdin.buffer
    return Part("standard input", file=getattr(stdin, "raw", stdin))


@dataclass(frozen=True)
class Part:
    """One file of a stream, or a piece of one.

    The file is on disk (`path`), at an address (`remote`), or open (`file`).

    Attributes
    ----------
    name : str
        For messages.
    span : tuple of int, optional
        Start and stop of a piece: bytes of a text file, row groups of a Parquet file.
    text_schema : TextSchema, optional
        Schema of a piece of a text file, which cannot be detected from the piece.
    """

    name: str
    path: Path | None = None
    file: io.BufferedIOBase | None = None
    span: tuple | None = None
    text_schema: TextSchema | None = None
    remote: RemoteFile | None = None
    # The same attributes as a `TablePart`.
    is_query = False
    spent = "is a pipe and has been read already; save it to a file"

    @property
    def is_rereadable(self):
        """Whether the part can be read more than once: a pipe cannot."""
        if self.path is None:
            return self.remote is not None
        return stat.S_ISREG(self.path.stat().st_mode)

    def signature(self):
        """Return the size and the time of the last change of a file; None for a pipe."""
        if self.path is None:
            return self.remote and self.remote.signature()
        try:
            status = self.path.stat()
        except OSError as error:
            raise self._opening_error(error) from None
        return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None

    def n_bytes(self):
        """Return the size of the file, as stored."""
        return self.path.stat().st_size if self.remote is None else self.remote.n_bytes()

    def _opening_error(self, error):
        return InputError(f"{self.name} cannot be opened: {error.strerror}")

    def open_raw(self):
        """Return the file, on disk or at an address, as a seekable file object."""
        if self.remote is not None:
            return self.remote.handle()
        try:
            return open(self.path, "rb", buffering=0)
        except OSError as error:
            raise self._opening_error(error) from None

    @contextmanager
    def open(self):
        """Open as a `ByteStream`. A file object of the user stays open at the end."""
        if self.file is not None:
            yield ByteStream(self.file, name=self.name)
            return
        with self.open_raw() as file:
            if self.text_schema is None:
                # A service may report no size, and a pipe has none.
                n_bytes = self.n_bytes() or None if self.is_rereadable else None
                yield ByteStream(file, name=self.name, n_bytes=n_bytes)
                return
            start, stop = self.span
            file.seek(start)
            window = _Window(file, stop - start)
            yield ByteStream(window, name=self.name, n_bytes=stop - start)


class ByteStream:
    """An iterator over the decompressed bytes of a binary file, in pieces of any length.

    Parameters
    ----------
    file : binary file object
        It is not closed here.
    name : str
        For messages.
    n_bytes : int, optional
        Size of the file as stored.
    min_limit : int
        Bytes to which any compressed file may expand; see `graphsqueak.system.expansion`.

    Attributes
    ----------
    n_stored : int or float
        Size of the file as stored; infinite if unknown.

    Examples
    --------
    >>> import gzip, io
    >>> stream = ByteStream(io.BytesIO(gzip.compress(b"1 2") + gzip.compress(b" 3")), name="x")
    >>> stream.peek(2)[:2], b"".join(stream)
    (b'1 ', b'1 2 3')
    """

    def __init__(self, file, *, name, n_bytes=None, min_limit=MIN_LIMIT_BYTES):
        self.name = name
        self._file = file
        self.n_stored = math.inf if n_bytes is None else n_bytes
        self._n_read = 0
        self._min_limit = min_limit
        # Bytes that were decompressed by `peek` and not yet given out.
        self._ahead = b""
        first = self._read_magic()
        kind = next((kind for magic, kind in _MAGIC.items() if first.startswith(magic)), None)
        if kind in ("xz", "zip"):
            raise InputError(
                f"{name} is compressed with {kind}; use gzip, zstd or bzip2, or decompress it into "
                "a pipe and read that"
            )
        self.is_compressed = kind is not None
        self._pieces = self._inflate(first, kind) if kind else self._read_plain(first)

    @property
    def max_bytes(self):
        """Upper bound of the number of decompressed bytes; infinite if unknown."""
        return allowed_bytes(self.n_stored) if self.is_compressed else self.n_stored

    @property
    def fraction_read(self):
        """Fraction of the stored bytes that has been read; NaN if the size is unknown."""
        return math.nan if self.n_stored == math.inf else self._n_read / max(1, self.n_stored)

    def peek(self, size):
        """Return the first bytes, at least `size` unless there are fewer, without removing them."""
        pieces = [self._ahead]
        while sum(map(len, pieces)) < size and (piece := next(self._pieces, b"")):
            pieces.append(piece)
        self._ahead = b"".join(pieces)
        return self._ahead

    def __iter__(self):
        if self._ahead:
            ahead = self._ahead
            self._ahead = b""
            yield ahead
        yield from self._pieces

    def _read(self, size=PIECE_BYTES):
        try:
            piece = self._file.read(size)
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error.strerror or error}") from None
        # Stored bytes, so that the fraction is right for compressed files as well.
        self._n_read += len(piece)
        return piece

    def _read_magic(self):
        """Return enough bytes to detect the compression; a pipe may deliver one at a time."""
        size = max(map(len, _MAGIC))
        first = self._read(size)
        while 0 < len(first) < size and (more := self._read(size - len(first))):
            first += more
        return first

    def _read_plain(self, piece):
        while piece:
            yield piece
            piece = self._read()
        if self._n_read < self.n_stored < math.inf:
            raise InputError(
                f"{self.name} ended after {self._n_read:,} of {self.n_stored:,} bytes: it was cut "
                "while it was read; run again when it is whole"
            )

    def _inflate(self, piece, kind):
        inflater = Inflater(kind)
        n_inflated = 0
        while piece:
            if inflater.eof:
                # Zeros between and after members are padding.
                piece = piece.lstrip(b"\0")
                if not piece:
                    piece = self._read()
                    continue
                inflater = Inflater(kind)
            for data in self._inflate_piece(inflater, piece, kind):
                n_inflated += len(data)
                refuse_bomb(self.name, self._n_read, n_inflated, min_limit=self._min_limit)
                yield data
            piece = inflater.rest or self._read()
        if not inflater.eof:
            raise InputError(
                f"{self.name} ends in the middle of its {kind} data: it is truncated; copy or "
                "download it again"
            )

    def _inflate_piece(self, inflater, piece, kind):
        try:
            yield from filter(None, inflater.feed(piece))
        # zlib.error, OSError, ZstdError: each library has its own.
        except Exception as error:
            raise InputError(
                f"{self.name} is damaged: its {kind} data cannot be decompressed ({error}); "
                "copy or download it again"
            ) from None


class _Window:
    """The next `size` bytes of a file, as a file."""

    def __init__(self, file, size):
        self._file = file
        self._n_left = size

    def read(self, size):
        """Return at most `size` bytes of the window."""
        piece = self._file.read(min(size, self._n_left))
        self._n_left -= len(piece)
        return piece
