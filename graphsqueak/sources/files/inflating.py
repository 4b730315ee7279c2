"""Decompress gzip, zstd and bzip2 piece by piece, in bounded memory, and refuse bombs.

A piece of 8 KiB may hold hundreds of megabytes; it is inflated by steps. Lists of edges shrink five
to twenty times, repeated ones some hundred times. What grows more than a thousand times, and beyond
256 MiB, is taken for a bomb; who knows better decompresses it into a pipe.
"""

import bz2
import zlib

from graphsqueak.errors import InputError

__all__ = ["HARMLESS", "Inflater", "most_inflated", "refuse_bomb"]

HARMLESS = 1 << 28  # bytes that may come of anything
_STEP = 1 << 22  # bytes given out at a time
_SLICE = 1 << 13  # compressed bytes given to zstd, which has no other limit
_LARGEST_RATIO = 1000


def most_inflated(n_packed, *, harmless=HARMLESS):
    """Bytes that so many compressed ones may become."""
    return max(harmless, _LARGEST_RATIO * n_packed)


def refuse_bomb(name, n_packed, n_plain, *, harmless=HARMLESS):
    """An InputError if so few bytes have become so many.

    >>> refuse_bomb("edges.gz", 10**6, 10**8)
    >>> refuse_bomb("edges.gz", 10**6, 10**10)
    Traceback (most recent call last):
    graphsqueak.errors.InputError: edges.gz grows more than 1000 times ...
    """
    if n_plain > most_inflated(n_packed, harmless=harmless):
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
