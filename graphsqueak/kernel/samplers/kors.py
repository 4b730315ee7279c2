"""KORS: a dictionary from a stream, one look at each point.

A point is kept with a chance like its leverage among the atoms so far, and weighs more by the
inverse (`atom_stream`). Without `n_components` nothing ever leaves, and at the budget of the proof
every prefix of the stream is served. With it, the stream holds up to three times as many atoms,
thins them to twice as many when they are more, and shows `n_components` of them, chosen as SQUEAK
does (`atoms`): the place of a late point is as good as that of an early one.

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

from graphsqueak.kernel.leverage import rho
from graphsqueak.kernel.samplers.atom_stream import AtomStream
from graphsqueak.kernel.samplers.atoms import Atoms, MergeRule, Node, show_atoms
from graphsqueak.kernel.samplers.dictionary import (
    HORIZON,
    Dictionary,
    kors_copies,
    warn_beyond,
)
from graphsqueak.randomness import Step, child_seed
from graphsqueak.validation import check_choice, check_count

__all__ = ["KORS"]

_MOST, _FEWEST = 3, 2  # atoms held for each that is shown


@dataclass(kw_only=True, eq=False, repr=False)
class KORS(Dictionary):
    """Kernel online row sampling.

    All prefixes of the stream are served: at the theory budget every one has an accurate
    dictionary, of at most 3 q d_onl(ridge) atoms.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_components` only, grows
        with the stream: a quarter as many effective dimensions as atoms.
    n_components : int, optional
        At most so many atoms. Early ones make room for late ones.
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

    _fixed_size = False  # at most, and copies decide who comes in

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

    @property
    def ridge_(self) -> float:
        """The ridge that the dictionary is for."""
        return self._show()[1]

    def _begin(self, *, n_points):
        self._check()
        check_choice("form", self.form, ("thesis", "paper"))
        if self.horizon is not None:
            n_points = check_count("horizon", self.horizon)
        self._horizon = n_points
        factor = rho(self.epsilon) if self.form == "thesis" else 1.0
        self.n_copies_ = self._copies(n_points, rho=factor, theory=kors_copies)
        self.n_seen_, self._shown = 0, None
        size, auto = self.n_components, isinstance(self.ridge, str)
        self._stream = AtomStream(
            ridge=0.0 if auto else float(self.ridge),
            n_copies=self.n_copies_,
            epsilon=self.epsilon,
            form=self.form,
            seed=int(np.random.default_rng(self.random_state).integers(2**63)),
            ceiling=None if size is None else _MOST * size,
            after=None if size is None else _FEWEST * size,
            grows=auto,
        )

    def _kept_atoms(self):
        return self._show()[0]

    def _held_points(self):
        return self._stream.points

    def _absorb(self, kernel, points):
        if self.budget == "theory" or self.horizon is not None:
            warn_beyond(self._horizon, self._stream.n_seen, len(points))
        for block in self._stream.blocks(kernel, points):
            for _ in block.insertions():
                pass
        self.n_seen_, self._shown = self._stream.n_seen, None
        self._kernel = kernel
        return self

    def _show(self):
        """The atoms that are shown, and their ridge; the stream is left as it is."""
        if self._shown is None:
            stream = self._stream
            rows, weight = np.array(stream.rows, dtype=np.int64), stream.sampler.weights
            ridge = stream.sampler.ridge
            self._shown = Atoms(rows, stream.points, weight), ridge
            if self.n_components is not None and rows.size > self.n_components:
                copies = np.ones(rows.size, np.int64)
                held = Node(rows, stream.points, 1 / weight, copies, ridge, exact=False)
                fixed = 0.0 if stream.grows else ridge
                size = self.n_components
                rule = MergeRule(self._kernel, fixed, self.epsilon, None, size)
                rng = np.random.default_rng(child_seed(stream.seed, Step.FINAL))
                self._shown = show_atoms(rule, [held], size, rng=rng)
        return self._shown
