"""Counter-based random numbers: functions of a seed and an index, not of the order of calls.

The mixer of splitmix64 [SLF14] turns three 64-bit words, a seed and two keys, into 64 random bits.
The random number of an edge therefore depends on the seed and on the index of the edge only. It
does not change with batches, threads or workers. Every step of a run has a seed of its own,
`child_seed(seed, number)`.

All keys are listed here, so that no two steps draw the same numbers by accident:

* members of `Step` are the numbers of steps that occur once per run, for `child_seed`;
* constants `*_WORD` are third arguments of `random_bits`;
* constants `*_SEED` replace a seed for draws that are the same in every run.

References
----------
[SLF14] Steele, Lea, Flood. Fast splittable pseudorandom number generators. OOPSLA 2014.
"""

from enum import IntEnum
from typing import TypeAlias

import numpy as np

from graphsqueak.system.kernels import njit_cached

__all__ = [
    "CHILD_WORD",
    "CYCLE_WORD",
    "GOLDEN_GAMMA",
    "ITEM_WORD",
    "PIVOT_SEED",
    "PROBE_SEED",
    "ROUNDING_WORD",
    "SHUFFLE_WORD",
    "RandomState",
    "Step",
    "child_seed",
    "mix64",
    "random_bits",
    "shuffle",
    "uniform",
    "uniforms",
]

RandomState: TypeAlias = int | np.random.Generator | None

# Increment of splitmix64: the odd integer nearest to 2^64 divided by the golden ratio.
GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)

# Uniform numbers of the items of a stream.
ITEM_WORD = np.uint64(0)
# Child seeds.
CHILD_WORD = np.uint64(1)
# Direction in which a tour of the dependent rounding starts.
ROUNDING_WORD = np.uint64(2)
# Cycles through the members of a clique.
CYCLE_WORD = np.uint64(3)
# Target of an item of a shuffled array.
SHUFFLE_WORD = np.uint64(5)

# Random cuts of a stream, the same for all partitions of a graph.
PROBE_SEED = np.uint64(0x5EED_0F_97_0B_E5)
# Pivots of the features that measure the accuracy of a dictionary.
PIVOT_SEED = 804_611_237

# Items per heap of `shuffle`, so that a heap fits the first-level cache. Halved or doubled, a
# shuffle of 2 million items takes 4 % longer; without heaps, one of 20 million takes 3.1 times as
# long.
_ITEMS_PER_HEAP = 4096


class Step(IntEnum):
    """Numbers of the steps that occur once per run, for `child_seed`.

    Steps that repeat are numbered 0, 1, 2, ...: resparsifications and merges of a stream, nodes of
    a merge tree, binary digits of a rounding, and batches. There are fewer than 2^40 of each.
    """

    # Resparsification or merge that makes the result.
    FINAL = 2**40
    # Seed of a stream that was merged from several.
    MERGE = 2**41
    # Refiltering of all edges in memory before the final resparsification.
    FINAL_REFILTER = 2**42
    # Random words that detect bridges.
    BRIDGES = 2**43
    # Signs of a sketch, independent of the sampling that uses it.
    SKETCH = 2**44


def uniforms(seed: int, start: int, stop: int) -> np.ndarray:
    """Return uniform numbers in (0, 1) for items start, ..., stop - 1 of a stream.

    Each number depends on the seed and on the index of its item only.

    Parameters
    ----------
    seed : int
        64 bits, not negative.
    start, stop : int
        Range of items.

    Returns
    -------
    ndarray of float, shape (stop - start,)

    Examples
    --------
    >>> bool((uniforms(7, 0, 10)[4:] == uniforms(7, 4, 10)).all())
    True
    """
    out = np.empty(stop - start)
    _uniforms(np.uint64(seed), np.uint64(start), out)
    return out


def shuffle(items: np.ndarray, seed: int) -> np.ndarray:
    """Return a copy of an array in random order, every order being equally likely.

    Items are distributed at random over heaps, and each heap is shuffled inside the cache. For
    millions of items this is several times as fast as swaps across the whole array.

    Parameters
    ----------
    items : ndarray of shape (n,)
    seed : int
        64 bits, not negative.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> sorted(shuffle(np.arange(4), 7).tolist())
    [0, 1, 2, 3]
    """
    n_heaps = 1 << (items.size // _ITEMS_PER_HEAP).bit_length()
    out = np.empty_like(items)
    _shuffle(np.uint64(seed), items, n_heaps, out)
    return out


def child_seed(seed: int, number: int) -> int:
    """Return the seed of step `number` of a run that started with `seed`.

    Parameters
    ----------
    seed : int
        64 bits, not negative.
    number : int
        Number of earlier steps of this kind, or a `Step`.

    Returns
    -------
    int

    Examples
    --------
    >>> child_seed(7, Step.FINAL) == child_seed(7, 2**40)
    True
    """
    return int(random_bits(np.uint64(seed), np.uint64(number), CHILD_WORD))


@njit_cached(inline="always")
def random_bits(seed, first, second):
    """Return 64 random bits, a function of three 64-bit words (two rounds of the mixer)."""
    z = mix64(seed + GOLDEN_GAMMA * (first + np.uint64(1)))
    return mix64(z ^ (np.uint64(0xD1B54A32D192ED03) * (second + np.uint64(1))))


@njit_cached(inline="always")
def uniform(seed, first, second):
    """Return a uniform number in (0, 1), a function of three 64-bit words."""
    bits = random_bits(seed, first, second)
    # The midpoints of 2^52 intervals: neither 0 nor 1 can occur.
    return (np.float64(bits >> np.uint64(12)) + 0.5) * 2.0**-52


@njit_cached(inline="always")
def mix64(z):
    """Mix the bits of a 64-bit word (splitmix64): a bijection that separates close inputs."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit_cached
def _uniforms(seed, start, out):
    for i in range(out.size):
        out[i] = uniform(seed, start + np.uint64(i), ITEM_WORD)


@njit_cached
def _shuffle(seed, items, n_heaps, out):
    mask = np.uint64(n_heaps - 1)
    # Heap h becomes out[heap_start[h] : heap_start[h + 1]].
    heap_start = np.zeros(n_heaps + 1, dtype=np.int64)
    for i in range(items.size):
        heap = random_bits(seed, np.uint64(i), SHUFFLE_WORD) & mask
        heap_start[heap + np.uint64(1)] += 1
    for heap in range(n_heaps):
        heap_start[heap + 1] += heap_start[heap]
    next_free = heap_start.copy()
    for i in range(items.size):
        heap = random_bits(seed, np.uint64(i), SHUFFLE_WORD) & mask
        out[next_free[heap]] = items[i]
        next_free[heap] += 1
    # Fisher-Yates inside each heap. The counters continue after those of the items above.
    for heap in range(n_heaps):
        start = heap_start[heap]
        for last in range(heap_start[heap + 1] - 1, start, -1):
            bits = random_bits(seed, np.uint64(items.size + last), SHUFFLE_WORD) >> np.uint64(32)
            other = start + np.int64((bits * np.uint64(last - start + 1)) >> np.uint64(32))
            out[last], out[other] = out[other], out[last]
