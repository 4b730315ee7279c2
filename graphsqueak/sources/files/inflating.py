"""Decompress gzip, zstd and bzip2 piece by piece, in bounded memory.

A piece of 8 KiB may hold hundreds of megabytes; it is decompressed in steps. How much may come of
a file is limited in `graphsqueak.system.expansion`.
"""

import bz2
import zlib

__all__ = ["Inflater"]

_STEP = 1 << 22  # bytes given out at a time
_SLICE = 1 << 13  # compressed bytes given to zstd, which has no other limit


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
