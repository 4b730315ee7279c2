"""Numbers from their digits, for compiled readers.

A weight of up to 15 digits is converted on the spot: with an integer m <= 2^53 and |k| <= 22 the
floats m and 10^k are exact, so the single rounding of m * 10^k or m / 10^k is the right one
[Cli90]. Longer ones are found and measured here, and left to a library.

References
----------
[Cli90] Clinger. How to read floating point numbers accurately. PLDI 1990.
"""

import numpy as np

from graphsqueak.system.kernels import inline_njit

__all__ = ["at", "read_decimal", "read_integer"]

_LARGEST_EXACT_FLOAT = np.uint64(2**53)
_POWERS = np.array([10.0**k for k in range(23)])


@inline_njit
def at(block, i):
    """block[i] for i >= 0, which need not be tested for counting from the end."""
    return block[np.uint64(i)]


@inline_njit
def read_integer(block, i, unsigned, canonical):
    """(bits of the integer at i, index after it, whether it is one that fits).

    1.0 is the integer 1, as pandas writes it in a column with gaps.
    """
    negative = at(block, i) == 45
    if negative or (at(block, i) == 43 and not canonical):
        i += 1
    first = i
    if not canonical:
        while at(block, i) == 48 and np.uint8(at(block, i + 1) - np.uint8(48)) < 10:
            i += 1
    start = i
    number = np.uint64(0)
    digit = np.uint8(at(block, i) - np.uint8(48))
    while digit < 10:
        number = number * np.uint64(10) + np.uint64(digit)
        i += 1
        digit = np.uint8(at(block, i) - np.uint8(48))
    n_digits = i - start
    after = i
    if at(block, i) == 46:
        after = _skip_zeros(block, i)
    # Beyond 2^53 a float skips integers, so that 9007199254740992.0 can be the id of another node.
    may_be_rounded = after > i and (n_digits > 16 or number > _LARGEST_EXACT_FLOAT)
    i = after
    if n_digits == 0 or n_digits > 20 or may_be_rounded:
        return np.int64(0), i, False
    if canonical and at(block, first) == 48 and (n_digits > 1 or negative):
        return np.int64(0), i, False
    # 20 digits are 10^19 at least, unless the sum wrapped around: below 2 * 10^19 it can do so once
    wrapped = at(block, start) != 49 or number < np.uint64(10_000_000_000_000_000_000)
    if n_digits == 20 and wrapped:
        return np.int64(0), i, False
    if unsigned:
        return np.int64(number), i, not negative or number == 0
    if n_digits < 19:
        return (-np.int64(number) if negative else np.int64(number)), i, True
    bound = np.uint64(1 << 63)
    if negative:
        return -np.int64(number), i, number <= bound
    return np.int64(number), i, number < bound


@inline_njit
def _skip_zeros(block, i):
    """Where 1.0 ends whose point is at i; i itself if the fraction is not zero."""
    after = i + 1
    while at(block, after) == 48:
        after += 1
    return i if np.uint8(at(block, after) - np.uint8(48)) < 10 else after


@inline_njit
def read_decimal(block, i):
    """(weight, start, index after it, whether it is one); -1 is a weight a library must convert."""
    negative = at(block, i) == 45
    if negative or at(block, i) == 43:
        i += 1
    start = i
    mantissa = np.uint64(0)
    n_digits = n_significant = exponent = 0
    fraction = False
    while True:
        digit = np.uint8(at(block, i) - np.uint8(48))
        if digit < 10:
            n_digits += 1
            if n_significant > 0 or digit > 0:
                n_significant += 1
            if n_significant <= 19:
                mantissa = mantissa * np.uint64(10) + np.uint64(digit)
                exponent -= fraction
            else:
                exponent += not fraction
        elif at(block, i) == 46 and not fraction:
            fraction = True
        else:
            break
        i += 1
    if n_digits == 0:
        return 0.0, start, i, False
    if at(block, i) == 101 or at(block, i) == 69:
        i += 1
        shrinks = at(block, i) == 45
        if shrinks or at(block, i) == 43:
            i += 1
        first, power = i, 0
        digit = np.uint8(at(block, i) - np.uint8(48))
        while digit < 10:
            power = min(10 * power + np.int64(digit), 1_000_000)
            i += 1
            digit = np.uint8(at(block, i) - np.uint8(48))
        if i == first:
            return 0.0, start, i, False
        exponent += -power if shrinks else power
    magnitude = min(n_significant, 19) + exponent  # 10^(magnitude - 1) <= weight < 10^magnitude
    if mantissa == 0 or magnitude < -330:
        return 0.0, start, i, mantissa == 0 or not negative
    if negative or magnitude > 308:
        return 0.0, start, i, False
    if n_significant <= 19 and mantissa <= np.uint64(1 << 53) and -22 <= exponent <= 22:
        if exponent < 0:
            return np.float64(mantissa) / _POWERS[-exponent], start, i, True
        return np.float64(mantissa) * _POWERS[exponent], start, i, True
    return -1.0, start, i, True
