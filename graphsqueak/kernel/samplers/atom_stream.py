"""Atoms from a stream of points, one look at each: the step of KORS, and what it keeps.

State: the weights s of the atoms and L, the Cholesky factor of W^1/2 K_II W^1/2 + g I. For a point
with kernel values k to the atoms and k_xx to itself,

    v = L^-1 (s^1/2 o k),    a = max(0, (k_xx - v'v) / g),    tau~ = a / (1 + a),

which equals the estimate from the dictionary with the point added at weight 1. Two ways to draw:

    "thesis"  p = (1 - e) tau~,            q ~ Binomial(q, p),   weight q / (n_copies p),
    "paper"   p = min(1, b (1 + e) tau~),  kept with chance p,   weight 1 / p.

On insertion L gains the row (s^1/2 v', (s k_xx + g - s v'v)^1/2). A step is O(m^2) and m kernel
evaluations [C17, Algorithm 8], [CLV17c, Algorithm 2]: `OnlineSampler`.

`AtomStream` takes points in blocks: the kernel values and the triangular solve of a block are one
call each, and an insertion corrects the rest of the block by one row, so the atoms are those of
single steps, whatever the blocks. With a `ceiling`, one atom too many makes room by the step of
SQUEAK (`atoms`): `after` atoms stay, by chances like their leverage, and weigh more by the inverse,
so that no weight changes its expectation and late points have their place. L is made anew, which is
O(m^2) for each of the atoms that were inserted since. The ridge may grow with it, to a quarter as
many effective dimensions as atoms; fewer points are then worth a place. With a `discount` d, an
atom of age t counts d^t when atoms are thinned, so that stale ones go first.

References
----------
[C17]    Calandriello. Efficient sequential learning in structured and constrained environments.
         PhD thesis, 2017.
[CLV17c] Calandriello, Lazaric, Valko. Second-order kernel online convex optimization with
         adaptive sketching. ICML 2017.
"""

import math
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import bdtr, bdtrik

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.cholesky import GrowingCholesky, cholesky
from graphsqueak.kernel.leverage import atom_leverage
from graphsqueak.kernel.samplers.atoms import ATOMS_PER_DIMENSION, cosines, ridge_for_dimension
from graphsqueak.randomness import child_seed, uniforms
from graphsqueak.sampling import inclusion_probabilities, local_pivotal_sample

__all__ = ["AtomStream", "OnlineSampler", "Thinning"]

_BLOCK = 1024
_LEAST_BLOCK = 32
_STALE = 1e-12  # the least weight of an atom
_AHEAD = 32  # points whose kernel values are asked for together


class OnlineSampler:
    """Insertion-only sampling by online leverage scores, for a caller who evaluates the kernel.

    Parameters
    ----------
    ridge : float
        g > 0.
    n_copies : float
        Copies of the thesis form, the beta of the paper form.
    epsilon : float
        Accuracy assumed of the dictionary so far.
    form : {"thesis", "paper"}
        Binomial copies, or one coin per point.

    Attributes
    ----------
    factor : GrowingCholesky
        L.
    weights : ndarray
        s of the atoms, in the order of insertion.

    Examples
    --------
    The first point of norm 1 has tau~ = 1/2 at ridge 1; beta (1 + e) / 2 >= 1 keeps it for sure:

    >>> sampler = OnlineSampler(ridge=1.0, n_copies=2.0, epsilon=0.5, form="paper")
    >>> sampler.offer(np.zeros(0), 1.0, uniform=0.3)
    1.0
    >>> round(sampler.score(np.array([1.0]), 1.0), 6)     # the same point again
    0.333333
    """

    def __init__(
        self, *, ridge: float, n_copies: float, epsilon: float, form: Literal["thesis", "paper"]
    ) -> None:
        if form == "thesis" and n_copies != int(n_copies):
            raise InputError(
                Parameter("n_copies", n_copies),
                " is no whole number, and ",
                Parameter("form", "thesis"),
                " draws whole copies; round it, or take ",
                Parameter("form", "paper"),
                ", whose coins take any factor",
            )
        self.ridge, self.epsilon, self.form = ridge, epsilon, form
        self.n_copies = int(n_copies) if form == "thesis" else n_copies
        self.factor = GrowingCholesky()
        self._weight: list[float] = []

    @property
    def weights(self) -> np.ndarray:
        """s of the atoms, in the order of insertion."""
        return np.array(self._weight)

    def score(self, row: np.ndarray, diagonal: float) -> float:
        """tau~ of a point with kernel values `row` to the atoms and `diagonal` to itself."""
        a = self.surprise(self.project(row[:, None]), np.array([diagonal]))[0]
        return float(a / (1 + a))

    def offer(self, row: np.ndarray, diagonal: float, *, uniform: float) -> float:
        """Insert the point if the draw says so; return its weight, or 0.

        `uniform` in (0, 1) decides, so that the caller owns the randomness.
        """
        v = self.project(row[:, None])
        a = self.surprise(v, np.array([diagonal]))
        if not self.hits(a, np.array([uniform]))[0]:
            return 0.0
        weight = self.weight(a[0], uniform)
        self.insert(v[:, 0], weight, diagonal)
        return weight

    def project(self, rows: np.ndarray) -> np.ndarray:
        """v of every column of `rows`, an (m, points) matrix of kernel values."""
        return self.factor.solve(np.sqrt(self.weights)[:, None] * rows)

    def surprise(self, v: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
        """a of every point."""
        return np.maximum(diagonal - np.einsum("ij,ij->j", v, v), 0.0) / self.ridge

    def hits(self, a: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """Which points a draw would insert."""
        p = self._prob(a)
        miss = (1 - p) ** self.n_copies if self.form == "thesis" else 1 - p
        return uniform > miss

    def weight(self, a: float, uniform: float) -> float:
        """The weight of a point that is inserted."""
        p = self._prob(a)
        if self.form == "paper":
            return float(1 / p)
        copies = math.ceil(bdtrik(uniform, self.n_copies, p))
        if copies > 1 and bdtr(copies - 1, self.n_copies, p) >= uniform:
            copies -= 1
        return float(max(copies, 1) / (self.n_copies * p))  # a hit is at least one

    def insert(self, v: np.ndarray, weight: float, diagonal: float) -> tuple[np.ndarray, float]:
        """Add an atom; returns the new row of L, (r', d)."""
        row = np.sqrt(weight) * v
        pivot = np.sqrt(max(weight * diagonal - row @ row, 0.0) + self.ridge)
        self.factor.append(row, pivot)
        self._weight.append(weight)
        return row, pivot

    def restart(self, gram: np.ndarray, weights: np.ndarray, *, ridge: float) -> None:
        """Go on with other atoms, their kernel matrix and weights, and another ridge."""
        root = np.sqrt(weights)
        self.ridge, self._weight = ridge, weights.tolist()
        self.factor = GrowingCholesky.of(cholesky(root[:, None] * gram * root, ridge))

    def _prob(self, a):
        tau = a / (1 + a)
        if self.form == "thesis":
            return (1 - self.epsilon) * tau
        return np.minimum(self.n_copies * (1 + self.epsilon) * tau, 1.0)


class Thinning(NamedTuple):
    """What a ceiling did: the atoms that stay, by their number before, and all atoms before."""

    kept: np.ndarray
    points: np.ndarray


class AtomStream:
    """Atoms drawn from a stream of points by an `OnlineSampler`, with a `seed` and a `ceiling`.

    There are never more than `ceiling` atoms for longer than a step: then `after` of them stay, or,
    if `after` is None, no further point comes in. With `grows` the ridge may grow when that
    happens; ridge 0 starts far below the first point. The seed and the number of a point decide its
    draw.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> stream = AtomStream(ridge=0.01, n_copies=9, epsilon=0.1, form="paper", seed=7)
    >>> for block in stream.blocks(as_kernel("rbf"), np.array([[0.0], [0.0], [9.0]])):
    ...     print([(i, block.values[m, i + 1 :].round(2)) for m, i in block.insertions()])
    [(0, array([1., 0.])), (1, array([0.])), (2, array([], dtype=float64))]
    """

    def __init__(
        self,
        *,
        ridge,
        n_copies,
        epsilon,
        form,
        seed,
        ceiling=None,
        after=None,
        grows=False,
        discount=1.0,
    ):
        self.sampler = OnlineSampler(ridge=ridge, n_copies=n_copies, epsilon=epsilon, form=form)
        self.seed, self.ceiling, self.after, self.grows = seed, ceiling, after, grows
        self.discount, self._faded = discount, 0
        self.rows, self.n_seen, self.n_thinned = [], 0, 0
        self._points, self._length = None, _BLOCK

    def __len__(self):
        return len(self.rows)

    @property
    def points(self) -> np.ndarray:
        """The atoms, in the order of insertion."""
        return self._points[: len(self.rows)]

    @property
    def is_closed(self) -> bool:
        """Whether no further point can come in."""
        return self.ceiling is not None and self.after is None and len(self) >= self.ceiling

    def blocks(self, kernel, points):
        """Yield the points in blocks; each is to be gone through by its `insertions`.

        A block ends early where atoms are thinned; `n_used` and `thinning` tell.
        """
        if self._points is None:
            self._points = np.empty((0, points.shape[1]), points.dtype)
        start = 0
        while start < len(points):
            if self.sampler.ridge == 0:
                self.sampler.ridge = _far_below(kernel.diag(points[start : start + 1])[0])
            block = _Block(self, kernel, points[start : start + self._length])
            yield block
            self.n_seen += block.n_used
            start += block.n_used
            if block.thinning is None:
                self._length = min(2 * self._length, _BLOCK)
            else:
                self._length = max(2 * block.n_used, _LEAST_BLOCK)

    def add(self, point, number):
        """Append an atom."""
        m = len(self.rows)
        if m == len(self._points):
            room = np.empty((m // 2 + 64, self._points.shape[1]), self._points.dtype)
            self._points = np.concatenate([self._points, room])
        self._points[m] = point
        self.rows.append(number)

    def thin(self, kernel):
        """Let `after` of the atoms stay."""
        points, weight = self.points, self._faded_weights()
        gram, ridge = kernel(points, points), self.sampler.ridge
        if self.grows:
            root = np.sqrt(weight)
            eigenvalues = np.linalg.eigvalsh(root[:, None] * gram * root)
            enough = ridge_for_dimension(eigenvalues, self.after / ATOMS_PER_DIMENSION)
            ridge = max(ridge, enough)
        keep = inclusion_probabilities(atom_leverage(gram, weight, ridge=ridge), self.after)
        rng = np.random.default_rng(child_seed(self.seed, self.n_thinned))
        kept = local_pivotal_sample(keep, cosines(gram), rng=rng)
        self.n_thinned += 1
        before = points.copy()
        self._points[: kept.size] = before[kept]
        self.rows = [self.rows[i] for i in kept]
        self.sampler.restart(gram[np.ix_(kept, kept)], weight[kept] / keep[kept], ridge=ridge)
        return Thinning(kept, before)

    def _faded_weights(self):
        """Weights, discounted by the rounds since the last thinning or, if later, the insertion."""
        now = self.rows[-1]
        age = now - np.maximum(self.rows, self._faded)
        self._faded = now
        return np.maximum(self.sampler.weights * self.discount**age, _STALE)


class _Block:
    """Some points of the stream; `values` holds the kernel, a row for every atom."""

    def __init__(self, stream, kernel, points):
        self.stream, self.kernel, self.points = stream, kernel, points
        self.n_used, self.thinning = len(points), None
        m, n = len(stream), len(points)
        self.diagonal = kernel.diag(points)
        self.values = np.empty((m + n, n))
        if m:
            self.values[:m] = kernel(stream.points, points)

    def insertions(self):
        """Yield (number of the atom, its index in the block) after each insertion."""
        stream, sampler = self.stream, self.stream.sampler
        m, n = len(stream), len(self.points)
        if stream.is_closed:
            return
        uniform = uniforms(stream.seed, stream.n_seen, stream.n_seen + n)
        v = np.empty((m + n, n))  # row j: what atom j explains of every point of the block
        if m:
            v[:m] = sampler.project(self.values[:m])
        a = sampler.surprise(v[:m], self.diagonal)
        start, ahead = 0, {}
        while not stream.is_closed:
            hit = start + np.flatnonzero(sampler.hits(a[start:], uniform[start:]))
            if not hit.size:
                return
            i = int(hit[0])
            if i not in ahead:  # a only falls, so those who come in are among these
                some = hit[:_AHEAD]
                rows = self.kernel(self.points[some], self.points)
                ahead = dict(zip(some.tolist(), rows, strict=True))
            start = i + 1
            weight = sampler.weight(a[i], uniform[i])
            row, pivot = sampler.insert(v[:m, i], weight, self.diagonal[i])
            values = self.values[m, start:]
            values[:] = ahead[i][start:]
            v[m, start:] = (np.sqrt(weight) * values - row @ v[:m, start:]) / pivot
            a[start:] = np.maximum(a[start:] - v[m, start:] ** 2 / sampler.ridge, 0.0)
            stream.add(self.points[i], stream.n_seen + i)
            yield m, i
            m += 1
            if stream.ceiling is not None and m > stream.ceiling:
                self.n_used, self.thinning = start, stream.thin(self.kernel)
                return


def _far_below(diagonal):
    """A ridge at which a point is certain to be new."""
    return 1e-9 * diagonal if diagonal > 0 else 1e-9
