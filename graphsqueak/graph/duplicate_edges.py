"""Estimate the fraction of edges that repeat an earlier edge, in fixed memory.

Adaptive sampling [Fla90] stores the pairs whose hash is below a threshold. When more than a given
number are stored, the threshold is halved and pairs above it are dropped. With s stored pairs and a
threshold of 2^-k of all hashes, the number of distinct pairs is about s 2^k. Its relative standard
deviation is 1 / sqrt(log(2) capacity). Up to `capacity` distinct pairs, the count is exact.

References
----------
[Fla90] Flajolet. On adaptive sampling. Computing 43, 1990.
"""

import math

import numpy as np

from graphsqueak.randomness import GOLDEN_GAMMA, mix64
from graphsqueak.system.kernels import inline_njit, njit_cached

__all__ = ["DuplicateCounter", "hash_pair"]

# Fractions within this many standard deviations of zero are reported as zero: four make a false
# report as rare as 3 in 100,000, and leave fractions below 2 % unreported. Halved, 2 % of the files
# without duplicates are reported; doubled, fractions below 4 % are not.
_MIN_DEVIATIONS = 4


class DuplicateCounter:
    """Counter of edges that repeat an earlier edge, in either direction.

    Parameters
    ----------
    capacity : int
        Limit on the number of stored pairs, a power of two. The default takes 1 MB and gives a
        standard deviation of 0.5 %; four times the capacity halves it.

    Attributes
    ----------
    n_edges : int
        Number of edges so far.

    Examples
    --------
    >>> counter = DuplicateCounter()
    >>> counter.add(np.array([0, 1, 0, 2]), np.array([1, 0, 1, 3]))
    >>> counter.fraction, counter.is_exact
    (0.5, True)
    """

    def __init__(self, capacity=2**16):
        self.n_edges = 0
        self._capacity = capacity
        # Hashes of the stored pairs in a hash table of load at most 1/2; 0 marks a free slot.
        self._slots = np.zeros(2 * capacity, dtype=np.uint64)
        self._n_stored = 0
        # Pairs are stored if the `_level` highest bits of their hash are zero.
        self._level = 0

    def add(self, tail, head):
        """Count the edges of a batch, given by both ends."""
        self.n_edges += len(tail)
        cursor = 0
        while True:
            cursor, self._n_stored = _store_pairs(
                tail, head, cursor, self._slots, self._n_stored, self._level
            )
            if cursor == len(tail):
                return
            self._level += 1
            is_stored = (self._slots != 0) & (self._slots >> (64 - self._level) == 0)
            stored = self._slots[is_stored]
            self._slots[:] = 0
            _insert_all(stored, self._slots)
            self._n_stored = stored.size

    @property
    def is_exact(self):
        """Whether all distinct pairs are stored."""
        return self._level == 0

    @property
    def fraction(self):
        """Fraction of the edges that repeat an earlier one; 0 if not significantly different."""
        if self.n_edges == 0:
            return 0.0
        fraction = 1.0 - self._distinct_fraction
        is_significant = fraction > _MIN_DEVIATIONS * self.standard_deviation
        return fraction if self.is_exact or is_significant else 0.0

    @property
    def standard_deviation(self):
        """Standard deviation of `fraction`."""
        if self.is_exact:
            return 0.0
        return self._distinct_fraction / math.sqrt(math.log(2) * self._capacity)

    @property
    def _distinct_fraction(self):
        return self._n_stored * 2.0**self._level / self.n_edges


@inline_njit
def hash_pair(u, v):
    """Return a 64-bit hash of two nodes, the same in both directions and never 0."""
    low = np.uint64(min(u, v))
    high = np.uint64(max(u, v))
    return max(mix64(low * GOLDEN_GAMMA + high), np.uint64(1))


@njit_cached
def _store_pairs(tail, head, cursor, slots, n_stored, level):
    """Store pairs until the table is half full; return the next edge and the number of pairs."""
    while cursor < tail.size:
        key = hash_pair(tail[cursor], head[cursor])
        if level == 0 or key >> np.uint64(64 - level) == 0:
            slot = _find_slot(slots, key)
            if slots[slot] == 0:
                if 2 * n_stored == slots.size:
                    break
                slots[slot] = key
                n_stored += 1
        cursor += 1
    return cursor, n_stored


@njit_cached
def _insert_all(keys, slots):
    for key in keys:
        slots[_find_slot(slots, key)] = key


@inline_njit
def _find_slot(slots, key):
    """Return the slot of a key, or the free slot for it (linear probing)."""
    mask = np.uint64(slots.size - 1)
    slot = key & mask
    while slots[slot] != 0 and slots[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot
