"""Blocks of lines depend on the bytes, not on the pieces in which they arrive."""

import io

from hypothesis import given
from hypothesis import strategies as st

from graphsqueak.sources.files.byte_stream import ByteStream, line_blocks


class Trickle(io.RawIOBase):
    """A pipe that gives a few bytes at a time."""

    def __init__(self, content, most):
        self._content, self._most = io.BytesIO(content), most

    def read(self, size=-1):
        return self._content.read(min(size, self._most))


@given(
    lines=st.lists(st.text("12 ", max_size=9), min_size=1, max_size=30),
    most=st.integers(1, 20),
    size=st.integers(1, 40),
    skip=st.integers(0, 10),
)
def test_blocks_depend_on_the_bytes_alone(lines, most, size, skip):
    content = "\n".join(lines).encode()
    whole = ByteStream(io.BytesIO(content), name="whole")
    blocks = [block.tobytes() for block in line_blocks(whole, skip=skip, size=size)]
    trickle = ByteStream(Trickle(content, most), name="trickle")
    assert [block.tobytes() for block in line_blocks(trickle, skip=skip, size=size)] == blocks
    assert all(block.endswith(b"\n") for block in blocks)
    rest = content[skip:]
    assert b"".join(blocks) == (rest if rest.endswith(b"\n") or not rest else rest + b"\n")
