"""Compiled functions that read numbers from their digits, and find line ends.

A weight of up to 19 digits is converted at once, if it can be done with a single rounding: for an
integer m <= 2^53 and |k| <= 22, the floats m and 10^k are exact, and the rounded m * 10^k or
m / 10^k is the nearest float [Cli90]. Other weights are only measured here and left to a library.

References
----------
[Cli90] Clinger. How to read floating point numbers accurately. PLDI 1990.
"""

import numpy as np

from graphsqueak.system.kernels import inline_njit

NEWLINE = ord("\n")
ZERO = ord("0")
MINUS = ord("-")
_PLUS = ord("+")
_POINT = ord(".")
_EXPONENT_MARKS = (ord("e"), ord("E"))

# Above it, floats in double precision skip integers.
LARGEST_EXACT_INTEGER = np.uint64(2**53)
# Up to this power, 10^k is exact in double precision, since 5^22 < 2^53.
_EXACT_POWERS = np.array([10.0**k for k in range(23)])


@inline_njit
def at(block, i):
    """Return block[i] for i >= 0, without the test for indices that count from the end."""
    return block[np.uint64(i)]


@inline_njit
def digit_at(block, i):
    """Return the digit at i; a number above 9 for every other byte."""
    return np.uint8(at(block, i) - np.uint8(ZERO))


@inline_njit
def next_line(block, i):
    """Return the start of the line after the one of byte i."""
    while at(block, i) != NEWLINE:
        i += 1
    return i + 1


@inline_njit
def read_integer(block, i, is_unsigned, is_canonical):
    """Read an integer; 1.0 is the integer 1, as pandas writes it in a column with gaps.

    Returns
    -------
    number : int64
        uint64 ids are returned as the int64 of the same bits.
    i : int
        The index after it.
    good : bool
        Whether it is an integer that fits.
    """
    is_negative = at(block, i) == MINUS
    if is_negative or (at(block, i) == _PLUS and not is_canonical):
        i += 1
    first = i
    if not is_canonical:
        while at(block, i) == ZERO and digit_at(block, i + 1) < 10:
            i += 1
    start = i
    number = np.uint64(0)
    digit = digit_at(block, i)
    while digit < 10:
        number = number * np.uint64(10) + np.uint64(digit)
        i += 1
        digit = digit_at(block, i)
    n_digits = i - start
    after = i
    if at(block, i) == _POINT:
        after = _skip_zeros(block, i)
    # 9007199254740992.0 can be the rounded id of another node. 2^53 has 16 digits.
    may_be_rounded = after > i and (n_digits > 16 or number > LARGEST_EXACT_INTEGER)
    i = after
    if n_digits == 0 or n_digits > 20 or may_be_rounded:
        return np.int64(0), i, False
    if is_canonical and at(block, first) == ZERO and (n_digits > 1 or is_negative):
        return np.int64(0), i, False
    # Numbers of 20 digits are at least 10^19. They fit in 64 bits if they begin with 1 and did not
    # wrap around; below 2 * 10^19 they can do so only once.
    is_wrapped = at(block, start) != ZERO + 1 or number < np.uint64(10_000_000_000_000_000_000)
    if n_digits == 20 and is_wrapped:
        return np.int64(0), i, False
    if is_unsigned:
        return np.int64(number), i, not is_negative or number == 0
    if n_digits < 19:
        return (-np.int64(number) if is_negative else np.int64(number)), i, True
    bound = np.uint64(1 << 63)
    if is_negative:
        return -np.int64(number), i, number <= bound
    return np.int64(number), i, number < bound


@inline_njit
def _skip_zeros(block, i):
    """Return the end of 1.0 whose point is at i; i itself if the fraction is not zero."""
    after = i + 1
    while at(block, after) == ZERO:
        after += 1
    return i if digit_at(block, after) < 10 else after


@inline_njit
def read_decimal(block, i):
    """Read a weight.

    One loop reads digits and point: this is the inner loop of files with weights.

    Returns
    -------
    weight : float
        -1 if the weight is left to a library.
    start : int
        The index after its sign.
    i : int
        The index after it.
    good : bool
        Whether it is a number, not negative and below 1e308.
    """
    is_negative = at(block, i) == MINUS
    if is_negative or at(block, i) == _PLUS:
        i += 1
    start = i
    mantissa = np.uint64(0)
    n_digits = n_significant = exponent = 0
    is_fraction = False
    while True:
        digit = digit_at(block, i)
        if digit < 10:
            n_digits += 1
            if n_significant > 0 or digit > 0:
                n_significant += 1
            # The digits after the 19th do not fit in the mantissa.
            if n_significant <= 19:
                mantissa = mantissa * np.uint64(10) + np.uint64(digit)
                exponent -= is_fraction
            else:
                exponent += not is_fraction
        elif at(block, i) == _POINT and not is_fraction:
            is_fraction = True
        else:
            break
        i += 1
    if n_digits == 0:
        return 0.0, start, i, False
    if at(block, i) in _EXPONENT_MARKS:
        power, i, good = _read_exponent(block, i + 1)
        if not good:
            return 0.0, start, i, False
        exponent += power
    # 10^(magnitude - 1) <= weight < 10^magnitude, unless the mantissa is 0.
    magnitude = min(n_significant, 19) + exponent
    # Below 10^-330, the nearest float is 0.
    if mantissa == 0 or magnitude < -330:
        return 0.0, start, i, mantissa == 0 or not is_negative
    if is_negative or magnitude > 308:
        return 0.0, start, i, False
    is_exact = n_significant <= 19 and mantissa <= LARGEST_EXACT_INTEGER
    if is_exact and -22 <= exponent < 0:
        return np.float64(mantissa) / _EXACT_POWERS[-exponent], start, i, True
    if is_exact and 0 <= exponent <= 22:
        return np.float64(mantissa) * _EXACT_POWERS[exponent], start, i, True
    return -1.0, start, i, True


@inline_njit
def _read_exponent(block, i):
    """Read the exponent of a decimal number; return it, the index after it, and whether it is one.

    Exponents beyond a million are cut: the number is 0, or too large, in any case.
    """
    is_negative = at(block, i) == MINUS
    if is_negative or at(block, i) == _PLUS:
        i += 1
    first = i
    power = 0
    digit = digit_at(block, i)
    while digit < 10:
        power = min(10 * power + np.int64(digit), 1_000_000)
        i += 1
        digit = digit_at(block, i)
    return -power if is_negative else power, i, i > first
