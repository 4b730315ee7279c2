"""Bytes of a file or pipe, decompressed on the way, cut into blocks of whole lines.

Compression is told by the first bytes, not by the name. Files made of several compressed members
one after the other (`cat a.gz b.gz`) are read to their end; one that stops in the middle is an
error.
"""

import math

import numpy as np

from graphsqueak.sources.inflating import Inflater, most_inflated, refuse_bomb
from graphsqueak.validation import InputError

__all__ = ["ByteStream", "line_blocks"]

_PIECE = 1 << 20  # plain bytes read at a time
_COMPRESSED_PIECE = 1 << 17
_LONGEST_LINE = 1 << 26
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}


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

    Examples
    --------
    >>> import gzip, io
    >>> stream = ByteStream(io.BytesIO(gzip.compress(b"1 2") + gzip.compress(b" 3")), name="x")
    >>> stream.peek(2)[:2], b"".join(stream)
    (b'1 ', b'1 2 3')
    """

    def __init__(self, file, *, name, n_bytes=None):
        self.name = name
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
        self._pieces = self._inflated(first, kind) if kind else self._plain(first)
        self._ahead = b""

    @property
    def most_bytes(self):
        """How many decompressed bytes there can be at most; infinite if that is unknown."""
        if self._n_bytes is None:
            return math.inf
        return most_inflated(self._n_bytes) if self.is_compressed else self._n_bytes

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

    def _plain(self, piece):
        while piece:
            yield piece
            piece = self._read(_PIECE)
        if self._n_bytes is not None and self._n_read < self._n_bytes:
            raise InputError(
                f"{self.name} ended after {self._n_read:,} of {self._n_bytes:,} bytes: it was cut "
                "while it was read; run again when it is whole"
            )

    def _inflated(self, piece, kind):
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
                        refuse_bomb(self.name, self._n_read, n_plain)
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


def line_blocks(stream, *, skip=0, size=1 << 23):
    """Cut a stream into arrays of about `size` bytes that end with a newline.

    The cuts depend on the bytes alone, not on the pieces they come in. A missing newline at the
    end is added; the first `skip` bytes are left out.

    >>> import io
    >>> stream = ByteStream(io.BytesIO(b"1 2 3 4"), name="x")
    >>> [bytes(block) for block in line_blocks(stream, skip=4)]
    [b'3 4\\n']
    """
    buffer = bytearray()
    for piece in stream:
        buffer += piece
        if skip:
            dropped = min(skip, len(buffer))
            del buffer[:dropped]
            skip -= dropped
        while len(buffer) >= size:
            cut = buffer.rfind(b"\n", 0, size) + 1 or buffer.find(b"\n", size) + 1
            if cut == 0:
                break
            block, buffer = buffer, buffer[cut:]
            yield np.frombuffer(block, dtype=np.uint8)[:cut]
        if len(buffer) > _LONGEST_LINE:
            raise InputError(
                f"{stream.name} has a line of more than {_LONGEST_LINE >> 20} MiB; it does not "
                "look like a list of edges"
            )
    if buffer:
        if not buffer.endswith(b"\n"):
            buffer += b"\n"
        yield np.frombuffer(buffer, dtype=np.uint8)
