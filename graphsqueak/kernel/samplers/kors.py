"""KORS: a dictionary from a stream, in which each point is seen once.

A point is kept with a probability like its leverage score among the landmarks so far, and is
reweighted by the inverse. With the landmarks I, their weights W = diag(s), kernel values k_I to
them and the ridge g, the score of a point x is estimated by

    tau~ = a / (1 + a),    a = (k_xx - k_I' (K_II + g W^-1)^-1 k_I) / g,

and the point is sampled in one of two forms [C17, Algorithm 8], [CLV17c, Algorithm 2]:

    "thesis"  p = (1 - e) tau~,            copies ~ Binomial(q, p),        weight copies / (q p),
    "paper"   p = min(1, q (1 + e) tau~),  kept with probability p,        weight 1 / p.

`landmark_stream` computes this in blocks of points. Without `n_landmarks` no landmark is dropped,
and with the number of copies in the proof every prefix of the stream has an accurate dictionary.

With `n_landmarks`, up to three times as many are stored. When there are more, they are subsampled
to twice as many, so that late points are sampled like early ones. The landmarks that are returned
are selected from the stored ones as in SQUEAK (`merging.select_landmarks`).

References
----------
[C17]    Calandriello. Efficient sequential learning in structured and constrained environments.
         PhD thesis, 2017.
[CLV17c] Calandriello, Lazaric, Valko. Second-order kernel online convex optimization with
         adaptive sketching. ICML 2017.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from graphsqueak.kernel.leverage import rho
from graphsqueak.kernel.samplers.dictionary import StreamDictionary, kors_copies
from graphsqueak.kernel.samplers.landmark_stream import LandmarkStream
from graphsqueak.kernel.samplers.merging import (
    STORED_PER_LANDMARK,
    Landmarks,
    MergeRule,
    Node,
    select_landmarks,
)
from graphsqueak.randomness import Step, child_seed
from graphsqueak.validation import check_choice


@dataclass(kw_only=True, eq=False, repr=False)
class KORS(StreamDictionary):
    """Kernel online row sampling, a one-pass sampler with O(m^2) time per point.

    Use it if points arrive one by one, or if every prefix of the stream needs a dictionary: with
    the number of copies in the proof, each is accurate and has at most 3 q d_onl(ridge) landmarks.
    `SQUEAK` has fewer landmarks at the same accuracy, and can be merged.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_landmarks` only, grows with
        the stream: the effective dimension is a quarter of `n_landmarks`.
    n_landmarks : int, optional
        Largest number of landmarks. Early ones are dropped for later ones. Default: unlimited.
    epsilon : float in (0, 1)
        Accuracy asked for.
    budget : {"practical", "theory"}
        Copies per point: rho log(T) / epsilon^2, or the number in the proof.
    delta : float in (0, 1)
        Probability that some prefix has a worse accuracy with budget="theory".
    n_copies : int, optional
        Copies per point, instead of those of `budget`; the beta of form="paper".
    form : {"thesis", "paper"}
        Binomial copies [C17, Algorithm 8], or independent sampling of points [CLV17c, Algorithm 2].
    horizon : int, optional
        Number of points T for which epsilon is meant. Default: the points of `fit`, or a million
        for `partial_fit`.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the landmarks (row numbers for "precomputed").
    ridge_, n_copies_, n_seen_, seed_
        The ridge so far, the copies, the number of points seen, and the seed of the draws.

    Examples
    --------
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = KORS(ridge=0.1, random_state=7).fit(X)
    >>> len(d.indices_) < 300, 1000 in d.indices_
    (True, True)
    """

    form: Literal["thesis", "paper"] = "thesis"

    # The copies are needed, and `n_landmarks` is an upper bound.
    _has_fixed_size = False

    def stored_points(self) -> np.ndarray:
        """Return all points that are in memory: the landmarks, and others that may become ones."""
        return self._stream.points

    def _begin(self, kernel, points):
        check_choice("form", self.form, ("thesis", "paper"))
        # The form of the paper over-estimates the scores instead.
        factor = rho(self.epsilon) if self.form == "thesis" else 1.0
        self.n_copies_ = self._count_copies(self._horizon, rho=factor, theory=kors_copies)
        is_auto = isinstance(self.ridge, str)
        size = self.n_landmarks
        self._stream = LandmarkStream(
            ridge=0.0 if is_auto else float(self.ridge),
            n_copies=self.n_copies_,
            epsilon=self.epsilon,
            form=self.form,
            seed=self.seed_,
            max_landmarks=size and (STORED_PER_LANDMARK + 1) * size,
            n_after=size and STORED_PER_LANDMARK * size,
            ridge_grows=is_auto,
        )

    def _update(self, kernel, points):
        self._kernel = kernel
        # Other users of a stream work on each insertion; here the landmarks are enough.
        for block in self._stream.blocks(kernel, points):
            for _ in block.insertions():
                pass
        self.n_seen_ = self._stream.n_seen

    def _select(self):
        stream = self._stream
        rows = np.array(stream.rows, dtype=np.int64)
        weights = stream.sampler.weights
        ridge = stream.sampler.ridge
        if self.n_landmarks is None:
            return Landmarks(rows, stream.points, weights), ridge
        rule = MergeRule(
            kernel=self._kernel,
            ridge=0.0 if isinstance(self.ridge, str) else ridge,
            epsilon=self.epsilon,
            n_copies=1,
            size=None,
        )
        # A landmark of weight s is one copy with probability 1 / s.
        copies = np.ones(rows.size, np.int64)
        stored = Node(rows, stream.points, 1 / weights, copies, ridge, is_exact=False)
        rng = np.random.default_rng(child_seed(self.seed_, Step.FINAL))
        return select_landmarks(rule, [stored], self.n_landmarks, rng=rng)
