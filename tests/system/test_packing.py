"""Packed arrays come back as they were, or not at all."""

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.system.packing import pack_bytes, unpack

ARRAYS = {
    "flags": np.array([True, False, True]),
    "matrix": np.arange(6, dtype=np.float32).reshape(3, 2),
    "nothing": np.zeros(0, dtype=np.int32),
    "scalar": np.array(np.nan),
    "huge": np.array([2**64 - 1], dtype=np.uint64),
}


def test_arrays_come_back_with_their_type_and_shape():
    record, arrays = unpack(pack_bytes({"b": [1, None]}, ARRAYS), "here")
    assert record == {"b": [1, None]}
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array, strict=True)
        assert arrays[name].flags.writeable


def test_no_damaged_byte_goes_unnoticed():
    whole = pack_bytes({"seed": 7}, {"a": np.arange(50), "b": np.ones(9, bool)})
    for place in range(len(whole)):
        broken = bytearray(whole)
        broken[place] ^= 0x55
        with pytest.raises(InputError, match="the file"):
            unpack(bytes(broken), "the file")


@pytest.mark.parametrize("size", [0, 5, 300, -1])
def test_a_truncated_stream_is_refused(size):
    with pytest.raises(InputError, match="the file does not end as it should"):
        unpack(pack_bytes({}, {"a": np.arange(500)})[:size], "the file")
