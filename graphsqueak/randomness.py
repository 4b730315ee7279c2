"""Random numbers that are functions of a seed and of their own number, never of an order of calls.

A counter-based generator (the mixer of splitmix64) turns three 64-bit words into 64 random bits. So
a coin depends on the seed and on the number of its edge alone: batches, threads and workers may
come in any order. Each step of a run draws from a seed of its own, `child_seed(seed, number)`.
"""

from typing import TypeAlias

import numba
import numpy as np

__all__ = ["RandomState", "child_seed", "mix64", "random_bits", "uniform", "uniforms"]

RandomState: TypeAlias = int | np.random.Generator | None


def uniforms(seed, start, stop):
    """Uniform numbers in (0, 1) for items start, ..., stop - 1 of a stream.

    Each depends on the seed and its own number only: not on how the stream is cut, nor on threads.

    >>> bool((uniforms(7, 0, 10)[4:] == uniforms(7, 4, 10)).all())
    True
    """
    out = np.empty(stop - start)
    _uniforms(np.uint64(seed), np.uint64(start), out)
    return out


def child_seed(seed, number):
    """The seed of step `number` of a run that began with `seed`."""
    return int(random_bits(np.uint64(seed), np.uint64(number), np.uint64(1)))


@numba.njit(cache=True, nogil=True, inline="always")
def random_bits(seed, first, second):
    """64 random bits, a function of three 64-bit words (rounds of the splitmix64 mixer)."""
    z = mix64(seed + np.uint64(0x9E3779B97F4A7C15) * (first + np.uint64(1)))
    return mix64(z ^ (np.uint64(0xD1B54A32D192ED03) * (second + np.uint64(1))))


@numba.njit(cache=True, nogil=True, inline="always")
def uniform(seed, first, second):
    """A uniform number in (0, 1), a function of three 64-bit words."""
    bits = random_bits(seed, first, second)
    return (np.float64(bits >> np.uint64(12)) + 0.5) * 2.0**-52


@numba.njit(cache=True, nogil=True, inline="always")
def mix64(z):
    """The mixer of splitmix64: every bit that comes in moves every bit that goes out."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@numba.njit(cache=True, nogil=True)
def _uniforms(seed, start, out):
    for i in range(out.size):
        out[i] = uniform(seed, start + np.uint64(i), np.uint64(0))
