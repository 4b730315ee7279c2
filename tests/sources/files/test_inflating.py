"""Compressed files are read by steps, and what is made to explode is refused."""

import bz2
import gzip
import io

import pytest
import zstandard

from graphsqueak.errors import InputError
from graphsqueak.sources.files.inflating import Inflater
from graphsqueak.sources.files.parts import ByteStream


@pytest.mark.parametrize("kind", [gzip.compress, bz2.compress, zstandard.compress])
def test_a_decompression_bomb_is_refused(kind):
    bomb = io.BytesIO(kind(b"1 2\n" * (1 << 20)))
    with pytest.raises(InputError, match="like a decompression bomb"):
        list(ByteStream(bomb, name="edges.txt", min_limit=1 << 21))


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "zstd"])
def test_what_explodes_is_given_out_by_steps(kind):
    """256 MiB of zeros in four members, never two of them at once."""
    pack = {"gzip": gzip.compress, "bzip2": bz2.compress, "zstd": zstandard.compress}[kind]
    bomb, inflater = pack(bytes(1 << 26)) * 4, Inflater(kind)
    sizes = []
    while bomb:
        inflater = Inflater(kind)
        sizes += [len(data) for data in inflater.feed(bomb)]
        bomb = inflater.rest
    assert sum(sizes) == 1 << 28
    assert max(sizes) <= 1 << 26
