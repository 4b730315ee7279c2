"""Decompress gzip, zstd and bzip2 piece by piece, in bounded memory.

Compressed bytes may expand a thousandfold, so each piece is decompressed in steps. The total size
of a decompressed file is limited in `graphsqueak.system.expansion`.
"""

import bz2
import zlib

# Bytes read from a file at a time, and bytes decompressed at a time. The schema of a text file, or
# the header of its format, is searched in the first piece. Halved or doubled, plain and gzip files
# of 1 M edges are read within 6 % of the same time; doubled, zstd takes 14 % longer, and one test
# file with ids 1 and 1.0 is read differently.
PIECE_BYTES = 1 << 20
# Compressed bytes given to zstd at a time. Its interface does not limit the decompressed size, and
# 8 KiB of compressed zeros expand to 256 MiB. Halved or doubled, so is that peak.
_ZSTD_INPUT_BYTES = 1 << 13


class Inflater:
    """Decompressor of one compressed member.

    Attributes
    ----------
    eof : bool
        Whether the end of the member was reached.
    rest : bytes
        The bytes that follow the member, once `eof` is true.

    Examples
    --------
    >>> inflater = Inflater("gzip")
    >>> b"".join(inflater.feed(zlib.compress(b"1 2", wbits=31) + b"more")), inflater.rest
    (b'1 2', b'more')
    """

    def __init__(self, kind):
        self._kind = kind
        self._decompressor = _make_decompressor(kind)
        self.rest = b""

    @property
    def eof(self):
        return self._decompressor.eof

    def feed(self, piece):
        """Yield the decompressed bytes of a piece of the file."""
        decompressor = self._decompressor
        if self._kind == "gzip":
            # zlib returns the compressed bytes that it has not used.
            while piece and not decompressor.eof:
                yield decompressor.decompress(piece, PIECE_BYTES)
                piece = decompressor.unconsumed_tail
        elif self._kind == "bzip2":
            # bz2 keeps them, and goes on if it gets no more.
            yield decompressor.decompress(piece, PIECE_BYTES)
            while not decompressor.eof and not decompressor.needs_input:
                yield decompressor.decompress(b"", PIECE_BYTES)
        else:
            # A view, so that the rest of the piece is not copied for each step.
            view = memoryview(piece)
            while view and not decompressor.eof:
                yield decompressor.decompress(view[:_ZSTD_INPUT_BYTES])
                view = view[_ZSTD_INPUT_BYTES:]
            self.rest = bytes(view)
        if decompressor.eof:
            self.rest = decompressor.unused_data + self.rest


def _make_decompressor(kind):
    if kind == "gzip":
        # 16 + 15: a gzip header, and the largest window.
        return zlib.decompressobj(wbits=31)
    if kind == "bzip2":
        return bz2.BZ2Decompressor()
    import zstandard

    return zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()
