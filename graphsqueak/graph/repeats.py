"""How many edges repeat an earlier one, in either direction, told in fixed memory.

By adaptive sampling [Fla90], pairs whose hash falls below a threshold are remembered; when they
become too many, the threshold is halved and those above it are forgotten. With s pairs remembered
below a share 1/2^k of all hashes there are about s 2^k different ones, with a relative standard
deviation of 1.2 / sqrt(room); up to `room` pairs, the count is exact.

References
----------
[Fla90] Flajolet. On adaptive sampling. Computing 43, 1990.
"""

import numpy as np

from graphsqueak.randomness import mix64
from graphsqueak.system.kernels import inline_njit, njit_cached

__all__ = ["RepeatSample", "hash_pair"]

_ROOM = 1 << 16
_GROUP = 256


class RepeatSample:
    """How many of the edges so far repeat an earlier one, in either direction.

    Parameters
    ----------
    room : int
        Pairs that are remembered at most, a power of two.

    Examples
    --------
    >>> sample = RepeatSample()
    >>> sample.add(np.array([0, 1, 0, 2]), np.array([1, 0, 1, 3]))
    >>> sample.share, sample.is_exact
    (0.5, True)
    """

    def __init__(self, room=_ROOM):
        self._room = room
        self._slots = np.zeros(2 * room, dtype=np.uint64)  # hashes of pairs, 0 for none
        self._n_held = self._level = 0
        self.n_edges = 0

    def add(self, tail, head):
        """Take the ends of more edges."""
        self.n_edges += len(tail)
        cursor, keys = 0, np.empty(_GROUP, dtype=np.uint64)
        while True:
            held = (self._slots, self._n_held, self._room, self._level)
            cursor, self._n_held = _remember(tail, head, cursor, *held, keys)
            if cursor == len(tail):
                return
            self._level += 1
            held = self._slots[(self._slots != 0) & (self._slots >> (64 - self._level) == 0)]
            self._slots[:] = 0
            _refill(held, self._slots)
            self._n_held = held.size

    @property
    def is_exact(self):
        """Whether no pair had to be forgotten."""
        return self._level == 0

    @property
    def share(self):
        """Share of the edges that repeat an earlier one; 0 where an estimate cannot tell."""
        if self.n_edges == 0:
            return 0.0
        share = 1.0 - self._n_held * 2.0**self._level / self.n_edges
        return share if self.is_exact or share > 4 * self.standard_deviation else 0.0

    @property
    def standard_deviation(self):
        """Of the share."""
        if self.is_exact or self.n_edges == 0:
            return 0.0
        return 1.2 / self._room**0.5 * self._n_held * 2.0**self._level / self.n_edges


@inline_njit
def hash_pair(u, v):
    """The same for both directions; never 0."""
    low, high = np.uint64(min(u, v)), np.uint64(max(u, v))
    return max(mix64(low * np.uint64(0x9E3779B97F4A7C15) + high), np.uint64(1))


@njit_cached
def _remember(tail, head, cursor, slots, n_held, room, level, keys):
    """Take edges from `cursor` on until there is no room for a new pair; returns its index.

    The hashes of a group come first, in a loop without branches; most groups hold none to remember.
    """
    mask = np.uint64(slots.size - 1)
    shift = np.uint64(64 - level)
    while cursor < tail.size:
        n_keys = min(keys.size, tail.size - cursor)
        for k in range(n_keys):
            keys[k] = hash_pair(tail[cursor + k], head[cursor + k])
        least = keys[0]
        for k in range(n_keys):
            least = min(least, keys[k])
        if level > 0 and least >> shift != 0:
            cursor += n_keys
            continue
        for k in range(n_keys):
            key = keys[k]
            if level == 0 or key >> shift == 0:
                slot = key & mask
                while slots[slot] != 0 and slots[slot] != key:
                    slot = (slot + np.uint64(1)) & mask
                if slots[slot] == 0:
                    if n_held == room:
                        return cursor + k, n_held
                    slots[slot] = key
                    n_held += 1
        cursor += n_keys
    return cursor, n_held


@njit_cached
def _refill(held, slots):
    mask = np.uint64(slots.size - 1)
    for key in held:
        slot = key & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = key
