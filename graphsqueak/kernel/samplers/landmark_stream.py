"""Landmarks from a stream of points: the step of KORS, in blocks and with a limit on their number.

The state is the weights s of the landmarks and L, the Cholesky factor of W^1/2 K_II W^1/2 + g I.
For a point with kernel values k to the landmarks and k_xx to itself,

    v = L^-1 (s^1/2 o k),    a = max(0, (k_xx - v'v) / g),    tau~ = a / (1 + a).

This is the estimate of the leverage score from the dictionary with the point added at weight 1. We
call a the *residual ratio*: the part of the point that the landmarks leave unexplained, relative to
the ridge. There are two ways to sample:

    "thesis"  p = (1 - e) tau~,            q ~ Binomial(n_copies, p),     weight q / (n_copies p),
    "paper"   p = min(1, b (1 + e) tau~),  kept with probability p,       weight 1 / p.

When a point is inserted, L gains the row (s^1/2 v', (s k_xx + g - s v'v)^1/2). A step takes O(m^2)
and m kernel evaluations [C17, Algorithm 8], [CLV17c, Algorithm 2]. This is `OnlineSampler`.

`LandmarkStream` takes points in blocks. The kernel values and the triangular solve of a block are
one call each, and an insertion corrects the rest of the block by one row of v, so that the result
does not depend on the blocks.

With `max_landmarks`, a landmark too many causes the SHRINK step of SQUEAK: `n_after` landmarks are
kept, with probabilities in proportion to their leverage, and reweighted by the inverse. The
expectation of every weight stays the same, and late points are sampled like early ones. L is
computed again, which is O(m^2) for each landmark inserted since the last time. The ridge may grow
with it, to an effective dimension of a quarter of `n_after`. With a `discount` d, a landmark of age
t is subsampled as if its weight were d^t times as large, so that outdated ones are dropped first.

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
from graphsqueak.kernel.kernels import POINTS_PER_BLOCK
from graphsqueak.kernel.leverage import auto_ridge, landmark_leverage, weighted_gram
from graphsqueak.kernel.samplers.merging import cosines
from graphsqueak.randomness import child_seed, uniforms
from graphsqueak.sampling import inclusion_probabilities, local_pivotal_sample


class OnlineSampler:
    """Insertion-only sampling by online leverage scores, for callers who evaluate the kernel.

    `KORS` evaluates the kernel itself. Use this class if kernel values come from elsewhere, or if
    the kernel changes with every step, as in Sketched-KONS.

    Parameters
    ----------
    ridge : float
        g > 0.
    n_copies : float
        Copies per point for form="thesis", beta for form="paper".
    epsilon : float
        Accuracy that is assumed of the dictionary so far.
    form : {"thesis", "paper"}
        Binomial copies, or independent sampling of points.

    Attributes
    ----------
    factor : GrowingCholesky
        L.
    weights : ndarray
        Weights s of the landmarks, in the order of insertion.

    Examples
    --------
    The first point has norm 1 and tau~ = 1/2 for the ridge 1. As beta (1 + e) / 2 >= 1, it is kept
    with probability 1. For the same point again, tau~ is 1/3:

    >>> sampler = OnlineSampler(ridge=1.0, n_copies=2.0, epsilon=0.5, form="paper")
    >>> sampler.offer(np.zeros(0), 1.0, uniform=0.3)
    1.0
    >>> round(sampler.score(np.array([1.0]), 1.0), 6)
    0.333333
    """

    def __init__(
        self, *, ridge: float, n_copies: float, epsilon: float, form: Literal["thesis", "paper"]
    ) -> None:
        if form == "thesis" and n_copies != int(n_copies):
            raise InputError(
                Parameter("n_copies", n_copies),
                " is not a whole number, and ",
                Parameter("form", "thesis"),
                " draws whole copies; round it, or use ",
                Parameter("form", "paper"),
                ", which takes any factor",
            )
        self.ridge = ridge
        self.epsilon = epsilon
        self.form = form
        self.n_copies = int(n_copies) if form == "thesis" else n_copies
        self.factor = GrowingCholesky()
        self._weights: list[float] = []

    @property
    def weights(self) -> np.ndarray:
        """Weights s of the landmarks, in the order of insertion."""
        return np.array(self._weights)

    def score(self, row: np.ndarray, diagonal: float) -> float:
        """Return tau~ of a point from its kernel values to the landmarks and to itself."""
        a = self.residual_ratio(self.project(row[:, None]), np.array([diagonal]))[0]
        return float(a / (1 + a))

    def offer(self, row: np.ndarray, diagonal: float, *, uniform: float) -> float:
        """Sample a point and insert it if it is kept; return its weight, or 0.

        `uniform` in (0, 1) is the random number of the draw, which the caller provides.
        """
        # [C17, Algorithm 8], [CLV17c, Algorithm 2].
        v = self.project(row[:, None])
        a = self.residual_ratio(v, np.array([diagonal]))[0]
        if a <= self.threshold(np.array([uniform]))[0]:
            return 0.0
        weight = self.weight(a, uniform)
        self.insert(v[:, 0], weight, diagonal)
        return weight

    def project(self, rows: np.ndarray) -> np.ndarray:
        """Return v of every column of `rows`, an (m, n_points) matrix of kernel values."""
        return self.factor.solve(np.sqrt(self.weights)[:, None] * rows)

    def residual_ratio(self, v: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
        """Return a of every point."""
        return np.maximum(diagonal - np.einsum("ij,ij->j", v, v), 0.0) / self.ridge

    def threshold(self, uniform: np.ndarray) -> np.ndarray:
        """Return the residual ratios above which points with these random numbers are kept."""
        if self.form == "thesis":
            # There is a copy if u > (1 - p)^n_copies, p = (1 - e) tau~.
            tau = -np.expm1(np.log(uniform) / self.n_copies) / (1 - self.epsilon)
        else:
            # u > 1 - p, p = n_copies (1 + e) tau~.
            tau = (1 - uniform) / (self.n_copies * (1 + self.epsilon))
        # a = tau~ / (1 - tau~), where tau~ < 1.
        return np.where(tau < 1, tau / np.abs(1 - tau), np.inf)

    def weight(self, a: float, uniform: float) -> float:
        """Return the weight of a point that is kept."""
        tau = a / (1 + a)
        if self.form == "paper":
            return float(1 / min(self.n_copies * (1 + self.epsilon) * tau, 1.0))
        p = (1 - self.epsilon) * tau
        # The inverse of the binomial distribution function: the least q with P(copies <= q) >= u.
        copies = math.ceil(bdtrik(uniform, self.n_copies, p))
        # Rounding may have made it one too large.
        if bdtr(copies - 1, self.n_copies, p) >= uniform:
            copies -= 1
        # A point that is kept has a copy, whatever the rounding of P(copies <= 0).
        return float(max(copies, 1) / (self.n_copies * p))

    def insert(self, v: np.ndarray, weight: float, diagonal: float) -> tuple[np.ndarray, float]:
        """Insert a landmark; return the new row of L, (r', d)."""
        row = np.sqrt(weight) * v
        pivot = np.sqrt(max(weight * diagonal - row @ row, 0.0) + self.ridge)
        self.factor.append(row, pivot)
        self._weights.append(weight)
        return row, pivot

    def restart(self, gram: np.ndarray, weights: np.ndarray, *, ridge: float) -> None:
        """Continue with other landmarks, given by kernel matrix and weights, and another ridge."""
        self.ridge = ridge
        self._weights = weights.tolist()
        self.factor = GrowingCholesky(cholesky(weighted_gram(gram, weights), ridge))


class Subsample(NamedTuple):
    """Result of a subsampling: positions of the landmarks that are kept, and all points before."""

    kept: np.ndarray
    points: np.ndarray


class LandmarkStream:
    """Landmarks sampled from a stream of points by an `OnlineSampler`, in blocks.

    The random number of a point depends on the seed and the number of the point only.

    Parameters
    ----------
    ridge : float
        g. With 0, it starts far below the kernel value of the first point, for `ridge_grows`.
    n_copies, epsilon, form
        See `OnlineSampler`.
    seed : int
    max_landmarks : int, optional
        Largest number of landmarks between two points.
    n_after : int, optional
        Number of landmarks that are kept when there are more than `max_landmarks`. Default: no
        further points are inserted.
    ridge_grows : bool
        Whether the ridge may grow when landmarks are subsampled.
    discount : float in (0, 1]
        Factor per point of the stream, by which weights decrease when landmarks are subsampled.

    Attributes
    ----------
    sampler : OnlineSampler
    rows : list of int
        Numbers of the landmarks in the stream, in the order of insertion.
    n_seen, n_subsamplings : int
        Number of points so far, and how often landmarks were subsampled.

    Examples
    --------
    Two equal points and a third one are all inserted; the first block has one point, the second
    two. For each insertion, its place in the block and its kernel values to the points after it:

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> stream = LandmarkStream(ridge=0.01, n_copies=9, epsilon=0.1, form="paper", seed=7)
    >>> for block in stream.blocks(as_kernel("rbf"), np.array([[0.0], [0.0], [9.0]])):
    ...     print([(i, block.values[m, i + 1 :].round(2)) for m, i in block.insertions()])
    [(0, array([], dtype=float64))]
    [(0, array([0.])), (1, array([], dtype=float64))]
    """

    def __init__(
        self,
        *,
        ridge,
        n_copies,
        epsilon,
        form,
        seed,
        max_landmarks=None,
        n_after=None,
        ridge_grows=False,
        discount=1.0,
    ):
        self.sampler = OnlineSampler(ridge=ridge, n_copies=n_copies, epsilon=epsilon, form=form)
        self.seed = seed
        self.rows = []
        self.n_seen = 0
        self.n_subsamplings = 0
        self._max_landmarks = max_landmarks
        self._n_after = n_after
        self._ridge_grows = ridge_grows
        self._discount = discount
        # The row up to which weights are already discounted.
        self._discounted_to = 0
        self._points = None
        self._block_size = 1

    def __len__(self):
        return len(self.rows)

    @property
    def points(self) -> np.ndarray:
        """The landmarks, in the order of insertion."""
        return self._points[: len(self.rows)]

    @property
    def is_closed(self) -> bool:
        """Whether no further points are inserted."""
        has_limit = self._max_landmarks is not None and self._n_after is None
        return has_limit and len(self) >= self._max_landmarks

    @property
    def is_overfull(self) -> bool:
        """Whether there are more landmarks than `max_landmarks`."""
        return self._max_landmarks is not None and len(self) > self._max_landmarks

    def blocks(self, kernel, points):
        """Yield the points in blocks. The caller iterates over the `insertions` of each.

        A block ends early if landmarks are subsampled: `n_used` of its points are done, and
        `subsample` is set. The other points are in the next block.
        """
        if self._points is None:
            self._points = np.empty((0, points.shape[1]), points.dtype)
        start = 0
        while start < len(points):
            if self.sampler.ridge == 0:
                self.sampler.ridge = _ridge_below(kernel.diag(points[start : start + 1])[0])
            block = _Block(self, kernel, points[start : start + self._block_size])
            yield block
            self.n_seen += block.n_used
            start += block.n_used
            # Kernel values of candidates that are rejected, and of points after a subsampling, are
            # computed in vain. Blocks are short while there are many of them.
            growth = 2 * (self._block_size if block.subsample is None else block.n_used)
            self._block_size = min(growth, POINTS_PER_BLOCK)

    def add(self, point, number):
        """Append a landmark, the point with this number in the stream."""
        m = len(self.rows)
        if m == len(self._points):
            spare = np.empty((m // 2 + 64, self._points.shape[1]), self._points.dtype)
            self._points = np.concatenate([self._points, spare])
        self._points[m] = point
        self.rows.append(number)

    def subsample(self, kernel):
        """Keep `n_after` of the landmarks: SHRINK, with a fixed size."""
        before = self.points.copy()
        weights = self._discounted_weights()
        gram = kernel(before, before)
        ridge = self.sampler.ridge
        if self._ridge_grows:
            ridge = max(ridge, auto_ridge(weighted_gram(gram, weights), self._n_after))
        scores = landmark_leverage(gram, weights, ridge=ridge)
        keep_prob = inclusion_probabilities(scores, self._n_after)
        rng = np.random.default_rng(child_seed(self.seed, self.n_subsamplings))
        kept = local_pivotal_sample(keep_prob, cosines(gram), rng=rng)
        self.n_subsamplings += 1
        self._points[: kept.size] = before[kept]
        self.rows = [self.rows[i] for i in kept]
        new_weights = weights[kept] / keep_prob[kept]
        self.sampler.restart(gram[np.ix_(kept, kept)], new_weights, ridge=ridge)
        return Subsample(kept, before)

    def _discounted_weights(self):
        """Return weights discounted since the last subsampling or, if later, the insertion."""
        now = self.rows[-1]
        age = now - np.maximum(self.rows, self._discounted_to)
        self._discounted_to = now
        return self.sampler.weights * self._discount**age


class _Block:
    """A block of points of the stream.

    Attributes
    ----------
    points : ndarray
    diagonal : ndarray
        k(x, x) of every point.
    values : ndarray
        Kernel values, a row per landmark and a column per point. Rows of landmarks of this block
        have values after the landmark only.
    n_used : int
        Points that are done when `insertions` has ended.
    subsample : Subsample or None
    """

    def __init__(self, stream, kernel, points):
        self._stream = stream
        self._kernel = kernel
        self.points = points
        self.n_used = len(points)
        self.subsample = None
        self.diagonal = kernel.diag(points)
        m = len(stream)
        self.values = np.empty((m + len(points), len(points)))
        self.values[:m] = kernel(stream.points, points)

    def insertions(self):
        """Insert the kept points; yield the number of each landmark and its place in the block."""
        stream = self._stream
        sampler = stream.sampler
        n = len(self.points)
        if stream.is_closed:
            return
        uniform = uniforms(stream.seed, stream.n_seen, stream.n_seen + n)
        threshold = sampler.threshold(uniform)
        m = len(stream)
        # Row j: the part of every point of the block that landmark j explains.
        # Rows for insertions are added below.
        v = np.empty((m + n, n))
        v[:m] = sampler.project(self.values[:m])
        a = sampler.residual_ratio(v[:m], self.diagonal)
        start = 0
        row_of_candidate = {}
        while not stream.is_closed:
            candidates = start + np.flatnonzero(a[start:] > threshold[start:])
            if not candidates.size:
                return
            i = int(candidates[0])
            if i not in row_of_candidate:
                # Rows of kernel values are computed together. Residual ratios only decrease, so
                # that all points that are kept are among these candidates.
                ahead = candidates[: m + 1]
                rows = self._kernel(self.points[ahead], self.points)
                row_of_candidate = dict(zip(ahead.tolist(), rows, strict=True))
            row = row_of_candidate[i]
            weight = sampler.weight(a[i], uniform[i])
            factor_row, pivot = sampler.insert(v[:m, i], weight, self.diagonal[i])
            start = i + 1
            self.values[m, start:] = row[start:]
            v[m, start:] = (np.sqrt(weight) * row[start:] - factor_row @ v[:m, start:]) / pivot
            a[start:] = np.maximum(a[start:] - v[m, start:] ** 2 / sampler.ridge, 0.0)
            stream.add(self.points[i], stream.n_seen + i)
            yield m, i
            m += 1
            if stream.is_overfull:
                self.n_used = start
                self.subsample = stream.subsample(self._kernel)
                return


def _ridge_below(diagonal):
    """Return a ridge at which a point with this kernel value is inserted."""
    return 1e-9 * diagonal if diagonal > 0 else 1e-9
