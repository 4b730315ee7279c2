"""Every point's nearest neighbors, on disk, and the undirected pairs that they make.

Joining two lists needs no graph in memory. The last neighbor of i, in the order of (d^2, number),
says who is in its list:

    j is among the neighbors of i   if and only if   (d_ij^2, j) <= (radius_i, last_i),

so whoever meets j in the list of i knows at once whether i is in the list of j. A pair that both
lists hold is given out by its lower end; one that a single list holds, by that list's owner.

The lists lie in a file without a name, 12 bytes an entry, which goes when they do. Finding them
again for every pass would take half of all products each time, and 1.5 times the bare products in
the first; reading them takes a fraction of a second for 10 million pairs.
"""

import tempfile
import threading
import weakref

import numba
import numpy as np

from graphsqueak.sources.neighbors.search import find_neighbors
from graphsqueak.system.progress import reporter

__all__ = ["NeighborLists"]

_ENTRIES = 1 << 20  # of one block: 12 MiB, so small that its room is used again, not given back


class NeighborLists:
    """The k nearest neighbors of every point.

    Parameters
    ----------
    points : DensePoints or SparsePoints
    n_neighbors : int
    scratch : str or Path, optional
        Folder for the file; default: the system's.
    progress : bool or callable

    Attributes
    ----------
    reach, near : ndarray of shape (n,)
        Distance of each point to its last neighbor and to its seventh (or last, if fewer).
    """

    def __init__(self, points, n_neighbors, *, scratch=None, progress=False):
        self._n, self._k = points.n, n_neighbors
        self._rows = max(_ENTRIES // n_neighbors, 64)
        self._radius = np.empty(self._n)
        self._last = np.empty(self._n, dtype=np.int32)
        self.near = np.empty(self._n)
        self._file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115 - lives as long as we do
        weakref.finalize(self, self._file.close)
        self._reading = threading.Lock()  # two passes may be under way
        with reporter(progress, "find neighbors", unit="points") as report:
            for start in range(0, self._n, self._rows):
                stop = min(start + self._rows, self._n)
                self._search(points, start, stop)
                report(stop, stop / self._n)
        self.reach = np.sqrt(self._radius)

    def _search(self, points, start, stop):
        found = find_neighbors(points, start, stop, self._k)
        self._last[start:stop], self._radius[start:stop] = found.last, found.radius
        self.near[start:stop] = np.sqrt(found.near)
        self._file.write(found.index)
        self._file.write(found.squared)

    def pairs(self, *, mutual):
        """Yield (nodes, squared, fraction): pairs (m, 2), their d^2, the share behind us."""
        for start in range(0, self._n, self._rows):
            stop = min(start + self._rows, self._n)
            index, squared = self._read(start, stop)
            nodes = np.empty((index.size, 2), dtype=np.int32)
            kept = np.empty(index.size)
            n_kept = _join(index, squared, start, self._radius, self._last, mutual, nodes, kept)
            yield nodes[:n_kept], kept[:n_kept], stop / self._n

    def _read(self, start, stop):
        index = np.empty((stop - start, self._k), dtype=np.int32)
        squared = np.empty(index.shape)
        with self._reading:
            self._file.seek(start * self._k * (index.itemsize + squared.itemsize))
            self._file.readinto(index)
            self._file.readinto(squared)
        return index, squared


@numba.njit(cache=True, nogil=True)
def _join(index, squared, start, radius, last, mutual, nodes, kept):
    n_kept = 0
    for row in range(index.shape[0]):
        i = start + row
        for c in range(index.shape[1]):
            j, d = index[row, c], squared[row, c]
            both = d < radius[j] or (d == radius[j] and i <= last[j])
            if (i < j and both) or (not both and not mutual):
                nodes[n_kept, 0], nodes[n_kept, 1] = i, j
                kept[n_kept] = d
                n_kept += 1
    return n_kept
