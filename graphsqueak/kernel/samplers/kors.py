"""KORS: a dictionary from a stream, one look at each point, insertions only.

State: the weights s of the atoms and L, the Cholesky factor of W^1/2 K_II W^1/2 + g I. For a point
with kernel values k to the atoms and k_xx to itself,

    v = L^-1 (s^1/2 o k),    a = max(0, (k_xx - v'v) / g),    tau~ = a / (1 + a),

which equals the estimate from the dictionary with the point added at weight 1. Two ways to draw:

    "thesis"  p = (1 - e) tau~,            q ~ Binomial(q, p),   weight q / (n_copies p),
    "paper"   p = min(1, b (1 + e) tau~),  kept with chance p,   weight 1 / p.

On insertion L gains the row (s^1/2 v', (s k_xx + g - s v'v)^1/2). Nothing ever leaves. A step is
O(m^2) and m kernel evaluations [C17, Algorithm 8], [CLV17c, Algorithm 2].

`OnlineSampler` is the step, for kernel values that the caller evaluates, and `KORS` the dictionary.
`AtomStream`, between them, takes points in blocks: the kernel values and the triangular solve of a
block are one call each, and an insertion corrects the rest of the block by one row, so the atoms
are those of single steps, whatever the blocks.

References
----------
[C17]    Calandriello. Efficient sequential learning in structured and constrained environments.
         PhD thesis, 2017.
[CLV17c] Calandriello, Lazaric, Valko. Second-order kernel online convex optimization with
         adaptive sketching. ICML 2017.
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from graphsqueak.errors import InputError
from graphsqueak.kernel.cholesky import GrowingCholesky
from graphsqueak.kernel.leverage import rho
from graphsqueak.kernel.samplers.atoms import Atoms
from graphsqueak.kernel.samplers.dictionary import HORIZON, Dictionary, kors_copies
from graphsqueak.randomness import uniforms
from graphsqueak.validation import check_choice, check_count

__all__ = ["KORS", "AtomStream", "OnlineSampler"]

_BLOCK = 1024


@dataclass(kw_only=True, eq=False, repr=False)
class KORS(Dictionary):
    """Kernel online row sampling.

    All prefixes of the stream are served: at the theory budget every one has an accurate
    dictionary, of at most 3 q d_onl(ridge) atoms.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float
        gamma > 0, in the units of the eigenvalues of K. It is fixed, since no atom is let go.
    n_components : int, optional
        A ceiling: once there are so many atoms, later points go unrepresented.
    epsilon : float in (0, 1)
        Accuracy asked for.
    budget : {"practical", "theory"}
        Copies by rho log(T) / epsilon^2, or as many as the proof needs.
    delta : float in (0, 1)
        With budget="theory", the probability that some prefix is less accurate.
    n_copies : int, optional
        Copies per point instead of `budget`'s; the beta of form="paper".
    form : {"thesis", "paper"}
        Binomial copies [C17, Algorithm 8], or one coin per point [CLV17c, Algorithm 2].
    horizon : int, optional
        T, the points for which epsilon is meant; by default those of `fit`, or a million for
        `partial_fit`.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the atoms (for "precomputed", row numbers again).
    ridge_, n_copies_, n_seen_
        The ridge and the copies used, and how many points were seen.

    Examples
    --------
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = KORS(ridge=0.1, random_state=7).fit(X)
    >>> len(d.indices_) < 300, 1000 in d.indices_
    (True, True)
    """

    form: Literal["thesis", "paper"] = "thesis"
    horizon: int | None = None

    _fixed_size = False

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Start again, and take in the rows of X.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or their kernel matrix.
        y : ignored
        """
        kernel, points = self._bind(X, reset=True)
        self._begin(n_points=len(points))
        return self._absorb(kernel, points)

    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:
        """Take in more rows; one row at a time gives the same dictionary.

        Parameters
        ----------
        X : array of shape (n, d)
            Points.
        y : ignored
        """
        kernel, points, fresh = self._bind_more(X)
        if fresh:
            self._begin(n_points=HORIZON)
        return self._absorb(kernel, points)

    def _begin(self, *, n_points):
        self._check()
        check_choice("form", self.form, ("thesis", "paper"))
        if isinstance(self.ridge, str):
            raise InputError("KORS never lets go of a point, so its ridge is fixed; give a number")
        if self.horizon is not None:
            n_points = check_count("horizon", self.horizon)
        factor = rho(self.epsilon) if self.form == "thesis" else 1.0
        self.ridge_ = float(self.ridge)
        self.n_copies_ = self._copies(n_points, rho=factor, theory=kors_copies)
        self.n_seen_ = 0
        self._stream = AtomStream(
            ridge=self.ridge_,
            n_copies=self.n_copies_,
            epsilon=self.epsilon,
            form=self.form,
            seed=int(np.random.default_rng(self.random_state).integers(2**63)),
            ceiling=self.n_components,
        )

    def _kept_atoms(self):
        stream = self._stream
        rows = np.array(stream.rows, dtype=np.int64)
        return Atoms(rows, stream.points, stream.sampler.weights)

    def _absorb(self, kernel, points):
        for block in self._stream.blocks(kernel, points):
            for _ in block.insertions():
                pass
        self.n_seen_ = self._stream.n_seen
        return self


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
                f"n_copies={n_copies} is no whole number, and form='thesis' draws whole copies; "
                "round it, or take form='paper', whose coins take any factor"
            )
        self.ridge, self.n_copies, self.epsilon, self.form = ridge, n_copies, epsilon, form
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
        copies = max(binom.ppf(uniform, self.n_copies, p), 1.0)  # a hit is at least one
        return float(copies / (self.n_copies * p))

    def insert(self, v: np.ndarray, weight: float, diagonal: float) -> tuple[np.ndarray, float]:
        """Add an atom; returns the new row of L, (r', d)."""
        row = np.sqrt(weight) * v
        pivot = np.sqrt(max(weight * diagonal - row @ row, 0.0) + self.ridge)
        self.factor.append(row, pivot)
        self._weight.append(weight)
        return row, pivot

    def _prob(self, a):
        tau = a / (1 + a)
        if self.form == "thesis":
            return (1 - self.epsilon) * tau
        return np.minimum(self.n_copies * (1 + self.epsilon) * tau, 1.0)


class AtomStream:
    """Atoms drawn from a stream of points by an `OnlineSampler`, with a `seed` and a `ceiling`.

    No point is inserted once there are `ceiling` atoms. The seed and the number of a point decide
    its draw.

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
    def points(self) -> np.ndarray:
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
        """Yield (number of the atom, its index in the block) after each insertion."""
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
