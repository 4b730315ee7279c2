"""Bytes of a file or pipe, decompressed on the way, cut into blocks of whole lines.

Compression is told by the first bytes, not by the name. Files made of several compressed members
one after the other (`cat a.gz b.gz`) are read to their end; one that stops in the middle is an
error.

Decompress a stream piece by piece, in bounded memory, and refuse what is made to explode.

A piece of 8 KiB may hold hundreds of megabytes; it is inflated by steps. Lists of edges shrink five
to twenty times, repeated ones some hundred times. What grows more than a thousand times, and beyond
256 MiB, is taken for a bomb; who knows better decompresses it into a pipe.
"""

import bz2
import math
import zlib

import numpy as np

from graphsqueak.errors import InputError

__all__ = ["ByteStream", "Inflater", "line_blocks", "most_inflated", "refuse_bomb"]

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
_STEP = 1 << 22  # bytes given out at a time
_SLICE = 1 << 13  # compressed bytes given to zstd, which has no other limit
_LARGEST_RATIO = 1000
_HARMLESS = 1 << 28  # bytes that may come of anything


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


def most_inflated(n_packed):
    """Bytes that so many compressed ones may become."""
    return max(_HARMLESS, _LARGEST_RATIO * n_packed)


def refuse_bomb(name, n_packed, n_plain):
    """An InputError if so few bytes have become so many.

    >>> refuse_bomb("edges.gz", 10**6, 10**8)
    >>> refuse_bomb("edges.gz", 10**6, 10**10)
    Traceback (most recent call last):
    graphsqueak.errors.InputError: edges.gz grows more than 1000 times ...
    """
    if n_plain > most_inflated(n_packed):
        raise InputError(
            f"{name} grows more than {_LARGEST_RATIO} times when it is decompressed, as made to "
            "fill memory or disk; if you trust it, decompress it yourself"
        )


class Inflater:
    """One compressed member; `rest` is what follows its end, once `eof` is true.

    >>> inflater = Inflater("gzip")
    >>> b"".join(inflater.feed(zlib.compress(b"1 2", wbits=31) + b"more")), inflater.rest
    (b'1 2', b'more')
    """

    def __init__(self, kind):
        self._kind, self._inflater = kind, _new(kind)
        self.rest = b""

    @property
    def eof(self):
        return self._inflater.eof

    def feed(self, piece):
        """Yield what a piece of the file holds."""
        inflater = self._inflater
        if self._kind == "gzip":
            while piece and not inflater.eof:
                yield inflater.decompress(piece, _STEP)
                piece = inflater.unconsumed_tail
        elif self._kind == "bzip2":
            yield inflater.decompress(piece, _STEP)
            while not inflater.eof and not inflater.needs_input:
                yield inflater.decompress(b"", _STEP)
        else:
            while piece and not inflater.eof:
                yield inflater.decompress(piece[:_SLICE])
                piece = piece[_SLICE:]
            self.rest = piece
        if inflater.eof:
            self.rest = inflater.unused_data + self.rest


def _new(kind):
    if kind == "gzip":
        return zlib.decompressobj(wbits=31)
    if kind == "bzip2":
        return bz2.BZ2Decompressor()
    import zstandard

    return zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()
