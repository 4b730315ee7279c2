"""Points in blocks before an `OnlineSampler`: which of them become atoms, and when.

The kernel values and the triangular solve of a block are one call each, and an insertion corrects
the rest of the block by one row, so the atoms are those of single steps, whatever the blocks.
"""

import numpy as np

from graphsqueak.kernel.online_sampler import OnlineSampler
from graphsqueak.randomness import uniforms

__all__ = ["AtomStream"]

_BLOCK = 1024


class AtomStream:
    """Atoms drawn from a stream of points; `blocks` goes through more of it.

    Parameters
    ----------
    ridge, n_copies, epsilon, form
        Of the `OnlineSampler`.
    seed : int
        Decides every draw, together with the number of the point.
    ceiling : int, optional
        No point is inserted once there are so many atoms.

    Examples
    --------
    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> stream = AtomStream(ridge=0.01, n_copies=9, epsilon=0.1, form="paper", seed=7)
    >>> for block in stream.blocks(as_kernel("rbf"), np.array([[0.0], [0.0], [9.0]])):
    ...     print([(i, block.values[m, i + 1 :].round(2)) for m, i in block.insertions()])
    [(0, array([1., 0.])), (1, array([0.])), (2, array([], dtype=float64))]
    """

    def __init__(self, *, ridge, n_copies, epsilon, form, seed, ceiling=None):
        self.sampler = OnlineSampler(ridge=ridge, n_copies=n_copies, epsilon=epsilon, form=form)
        self.seed, self.ceiling = seed, ceiling
        self.rows, self.n_seen = [], 0
        self._points = None

    def __len__(self):
        return len(self.rows)

    @property
    def points(self):
        """The atoms, in the order of insertion."""
        return self._points[: len(self.rows)]

    def blocks(self, kernel, points):
        """Yield the points in blocks; each is to be gone through by its `insertions`."""
        if self._points is None:
            self._points = np.empty((0, points.shape[1]), points.dtype)
        for start in range(0, len(points), _BLOCK):
            part = points[start : start + _BLOCK]
            yield _Block(self, kernel, part)
            self.n_seen += len(part)

    def add(self, point, number):
        """Append an atom."""
        m = len(self.rows)
        if m == len(self._points):
            room = np.empty((m // 2 + 64, self._points.shape[1]), self._points.dtype)
            self._points = np.concatenate([self._points, room])
        self._points[m] = point
        self.rows.append(number)


class _Block:
    """Some points of the stream; `values` holds the kernel, a row for every atom."""

    def __init__(self, stream, kernel, points):
        self.stream, self.kernel, self.points = stream, kernel, points
        m, n = len(stream), len(points)
        self.diagonal = kernel.diag(points)
        self.values = np.empty((m + n, n))
        if m:
            self.values[:m] = kernel(stream.points, points)

    def insertions(self):
        """Yield (number of the atom, its place in the block) after each insertion."""
        stream, sampler = self.stream, self.stream.sampler
        m, n = len(stream), len(self.points)
        if m == stream.ceiling:
            return
        uniform = uniforms(stream.seed, stream.n_seen, stream.n_seen + n)
        v = np.empty((m + n, n))  # row j: what atom j explains of every point of the block
        if m:
            v[:m] = sampler.project(self.values[:m])
        a = sampler.surprise(v[:m], self.diagonal)
        start = 0
        while m != stream.ceiling:
            hit = np.flatnonzero(sampler.hits(a[start:], uniform[start:]))
            if not hit.size:
                return
            i = start + int(hit[0])
            start = i + 1
            weight = sampler.weight(a[i], uniform[i])
            row, pivot = sampler.insert(v[:m, i], weight, self.diagonal[i])
            values = self.values[m, start:]
            values[:] = self.kernel(self.points[i : i + 1], self.points[start:])[0]
            v[m, start:] = (np.sqrt(weight) * values - row @ v[:m, start:]) / pivot
            a[start:] = np.maximum(a[start:] - v[m, start:] ** 2 / sampler.ridge, 0.0)
            stream.add(self.points[i], stream.n_seen + i)
            yield m, i
            m += 1
