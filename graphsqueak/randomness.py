"""Random numbers that are functions of a seed and of their own index, never of an order of calls.

A counter-based generator (the mixer of splitmix64) turns three 64-bit words, a seed and two keys,
into 64 random bits. So a coin depends on the seed and on the number of its edge alone: batches,
threads and workers may come in any order. Each step of a run draws from a seed of its own,
`child_seed(seed, number)`.

All keys are listed here, so that no two steps draw the same numbers by accident: `Step` names the
numbers of steps that are not counted, the words below are the third ones of `random_bits`, and the
last two constants stand where a seed would, for draws that are the same in every run.
"""

from enum import IntEnum
from typing import TypeAlias

import numpy as np

from graphsqueak.system.kernels import njit_cached

__all__ = [
    "CHILD_WORD",
    "CYCLE_WORD",
    "ITEM_WORD",
    "PIVOT_SEED",
    "PROBE_SEED",
    "SHUFFLE_WORD",
    "STAR_WORD",
    "WALK_WORD",
    "RandomState",
    "Step",
    "child_seed",
    "mix64",
    "random_bits",
    "shuffled",
    "uniform",
    "uniforms",
]

RandomState: TypeAlias = int | np.random.Generator | None

ITEM_WORD = np.uint64(0)  # uniform numbers of the items of a stream
CHILD_WORD = np.uint64(1)  # child seeds
WALK_WORD = np.uint64(2)  # which way a walk of the dependent rounding begins
CYCLE_WORD = np.uint64(3)  # cycles through the members of a clique
STAR_WORD = np.uint64(4)  # which neighbor a light node joins
SHUFFLE_WORD = np.uint64(5)  # where an item of an array goes when it is shuffled

PROBE_SEED = np.uint64(0x5EED_0F_97_0B_E5)  # random cuts of a stream, alike for parts of a graph
_SHUFFLED_TOGETHER = 4096  # items, which fit the nearest cache
_MOST_HEAPS = 1024
PIVOT_SEED = 804_611_237  # pivots of the features by which the accuracy of atoms is measured


class Step(IntEnum):
    """Numbers of single steps, for `child_seed`; what repeats in a run is 0, 1, 2, ...

    A repeated step is a shrink or a merge of a stream, a node of a merge tree, a binary digit of a
    rounding, or a batch; there are fewer than 2^40 of each.
    """

    LAST = 2**40  # the shrink, or the merge, that makes the result
    MERGE = 2**41  # the seed of a stream that is made of several
    LAST_SWEEP = 2**42  # coins for all kept edges, where they are too many for the last shrink
    BRIDGES = 2**43  # words by which bridges are told
    SKETCH = 2**44  # signs of a sketch, apart from the coins that follow from it


def uniforms(seed: int, start: int, stop: int) -> np.ndarray:
    """Uniform numbers in (0, 1) for items start, ..., stop - 1 of a stream.

    Each depends on the seed and its own number only: not on how the stream is cut, nor on threads.

    Parameters
    ----------
    seed : int
        Of 64 bits, not negative.
    start, stop : int
        The items, by number.

    Returns
    -------
    ndarray of float

    Examples
    --------
    >>> bool((uniforms(7, 0, 10)[4:] == uniforms(7, 4, 10)).all())
    True
    """
    out = np.empty(stop - start)
    _uniforms(np.uint64(seed), np.uint64(start), out)
    return out


def shuffled(items: np.ndarray, seed: int) -> np.ndarray:
    """A copy of an array in random order, all orders being as likely.

    Items are dealt into heaps at random, each of which is then shuffled in the cache: of millions,
    that takes a fraction of the time of swaps all over the array.

    Parameters
    ----------
    items : ndarray of shape (n,)
    seed : int
        Of 64 bits, not negative.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> sorted(shuffled(np.arange(4), 7).tolist())
    [0, 1, 2, 3]
    """
    n_heaps = min(1 << (items.size // _SHUFFLED_TOGETHER).bit_length(), _MOST_HEAPS)
    out = np.empty_like(items)
    _shuffle(np.uint64(seed), items, *np.zeros((2, n_heaps + 1), np.int64), out)
    return out


def child_seed(seed: int, number: int) -> int:
    """The seed of step `number` of a run that began with `seed`.

    Parameters
    ----------
    seed : int
        Of 64 bits, not negative.
    number : int
        How many steps of this kind were before, or a `Step`.

    Returns
    -------
    int

    Examples
    --------
    >>> child_seed(7, Step.LAST) == child_seed(7, 2**40)
    True
    """
    return int(random_bits(np.uint64(seed), np.uint64(number), CHILD_WORD))


@njit_cached(inline="always")
def random_bits(seed, first, second):
    """64 random bits, a function of three 64-bit words (rounds of the splitmix64 mixer)."""
    z = mix64(seed + np.uint64(0x9E3779B97F4A7C15) * (first + np.uint64(1)))
    return mix64(z ^ (np.uint64(0xD1B54A32D192ED03) * (second + np.uint64(1))))


@njit_cached(inline="always")
def uniform(seed, first, second):
    """A uniform number in (0, 1), a function of three 64-bit words."""
    bits = random_bits(seed, first, second)
    return (np.float64(bits >> np.uint64(12)) + 0.5) * 2.0**-52


@njit_cached(inline="always")
def mix64(z):
    """The mixer of splitmix64: a bijection of 64-bit words that scatters neighbors."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit_cached
def _uniforms(seed, start, out):
    for i in range(out.size):
        out[i] = uniform(seed, start + np.uint64(i), ITEM_WORD)


@njit_cached
def _shuffle(seed, items, end, following, out):
    """The heaps end at end[1], end[2], ...; the item at i is drawn by i, swaps by what follows."""
    mask = np.uint64(end.size - 2)
    for i in range(items.size):
        end[(random_bits(seed, np.uint64(i), SHUFFLE_WORD) & mask) + np.uint64(1)] += 1
    for heap in range(1, end.size):
        end[heap] += end[heap - 1]
        following[heap] = end[heap]
    for i in range(items.size):
        heap = random_bits(seed, np.uint64(i), SHUFFLE_WORD) & mask
        out[following[heap]] = items[i]
        following[heap] += 1
    for heap in range(end.size - 1):
        start = end[heap]
        for last in range(end[heap + 1] - 1, start, -1):
            bits = random_bits(seed, np.uint64(items.size + last), SHUFFLE_WORD) >> np.uint64(32)
            other = start + np.int64((bits * np.uint64(last - start + 1)) >> np.uint64(32))
            out[last], out[other] = out[other], out[last]
