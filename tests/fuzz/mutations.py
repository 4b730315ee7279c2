"""Break a file in one of the ways in which files break, or are broken on purpose."""

import zlib

from graphsqueak.system.packing import _TRAILER

__all__ = ["mutated"]

_NUMBERS = (b"0", b"-1", b"1e999", b"nan", b"99999999999999999999", b"4294967296", b"2147483648")
_SPICE = (b"\n", b"\0", b"\t", b",", b'"', b"#", b"%", b" ", b"\r\n", b"\xff\xfe", b"\xef\xbb\xbf")


def mutated(data, random, *, is_sealed=False):
    """One to four mutations of `data`; of what is sealed by a checksum, mostly sealed again."""
    body, trailer = (data[: -_TRAILER.size], data[-_TRAILER.size :]) if is_sealed else (data, b"")
    for _ in range(random.choice((1, 1, 2, 4))):
        body = random.choice(_WAYS)(bytearray(body), random)
    if is_sealed and random.random() < 0.9:
        mark = _TRAILER.unpack(trailer)[0]
        trailer = _TRAILER.pack(mark, len(body), zlib.crc32(body))
    return bytes(body) + trailer


def _flip(data, random):
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return data


def _overwrite(data, random):
    at = random.randrange(len(data) + 1)
    data[at : at + random.choice((1, 2, 4, 8))] = random.randbytes(random.choice((1, 2, 4, 8)))
    return data


def _extreme(data, random):
    """Lengths and offsets are little-endian numbers of 4 or 8 bytes: make one absurd."""
    size = random.choice((2, 4, 8))
    at = random.randrange(max(1, len(data) - size))
    value = random.choice((0, 1, 2 ** (8 * size - 1) - 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 1))
    data[at : at + size] = value.to_bytes(size, "little")
    return data


def _truncate(data, random):
    return data[: random.randrange(len(data) + 1)]


def _cut(data, random):
    at = random.randrange(len(data) + 1)
    del data[at : at + random.randrange(1, 20)]
    return data


def _repeat(data, random):
    at = random.randrange(len(data) + 1)
    piece = data[at : at + random.randrange(1, 40)]
    data[at:at] = piece * random.choice((1, 2, 50))
    return data


def _number(data, random):
    """Another number instead of one."""
    digits = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
    if digits:
        at = random.choice(digits)
        data[at : at + 1] = random.choice(_NUMBERS)
    return data


def _spice(data, random):
    at = random.randrange(len(data) + 1)
    data[at:at] = random.choice(_SPICE)
    return data


_WAYS = (_flip, _flip, _overwrite, _extreme, _truncate, _cut, _repeat, _number, _number, _spice)
