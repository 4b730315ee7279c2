"""PROS-N-KONS and its kin: exact Newton steps in the span of a growing dictionary.

KORS chooses atoms I from the stream. In the coordinates z(x) = L^-1 k_I(x), L L' = K_II, of the
points projected on the span of the atoms, a round is a Newton step in R^j (`newton`). An atom that
is inserted in round t serves from round t + 1: L gains the row (z_t', s), s^2 = k_tt - z_t'z_t, and
every feature one coordinate. The thesis takes the eigenvectors of K_II instead and finds them anew;
predictions do not know the difference, because coordinates of the same span differ by a rotation.

    PROS-N-KONS  starts again in the new space: w = 0, A = alpha I. Regret is bounded by J times
                 that of KONS, J starts, plus the cost of the projection [C17, Theorem 5.8],
                 if KORS has the copies of its proof: budget="theory". `bounds` has the number.
    CON-KONS     carries on: w <- (w, 0), A <- diag(A, alpha).
    B-KONS       is PROS-N-KONS with a ceiling on the atoms.

An atom within the span opens no coordinate and, unlike in [C17, Algorithm 14], starts nothing anew:
the space is the same. A round is O(j^2) and j kernel evaluations, whatever t.

With a ceiling, n_components, a full dictionary lets a tenth of its atoms go (`landmark_stream`), so
that a stream that moves is followed. The coordinates are then those of the atoms that stay, z_new =
T z for what lay in the old span, and CON-KONS goes on with A_new = alpha I + T (A - alpha I) T' and
w <- A_new^-1 T A w, the least squares over all rounds so far in what is left of the span. With
when_full="stop" later points are only projected on the span, as B-KONS of the thesis does.

References
----------
[C17]    Calandriello. Efficient sequential learning in structured and constrained environments.
         PhD thesis, 2017, Section 5.3.
[CLV17b] Calandriello, Lazaric, Valko. Efficient second-order online kernel learning with adaptive
         embedding. NeurIPS 2017.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.cholesky import GrowingCholesky
from graphsqueak.kernel.embedding import NystromEmbedding
from graphsqueak.kernel.kernels import as_kernel
from graphsqueak.kernel.leverage import rho
from graphsqueak.kernel.samplers.dictionary import HORIZON, kors_copies, warn_beyond
from graphsqueak.kernel.samplers.landmark_stream import LandmarkStream
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.newton import NewtonStep, step_rule
from graphsqueak.randomness import RandomState
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["BKONS", "CONKONS", "PROSNKONS", "Phase", "phase"]

_FIRST_PHASE_ROUNDS = 1024
_TOLERANCE = 1e-10  # of k_xx: an atom that is closer to the span of the others lies in it


class Phase(NamedTuple):
    """Rounds with one dictionary when the number of rounds is unknown: the last one, and delta."""

    last_round: int
    delta: float


def phase(number: int, delta: float) -> Phase:
    """Phase `number` of a run without a horizon; their deltas add up to less than `delta`.

    >>> phase(0, 0.1), phase(1, 0.1).last_round
    (Phase(last_round=1024, delta=0.05), 2048)
    """
    return Phase(_FIRST_PHASE_ROUNDS << number, delta / 2 ** (number + 1))


@dataclass(kw_only=True, eq=False, repr=False)
class PROSNKONS(OnlineLearner):
    """Newton steps in the span of a dictionary; starts again with every new atom.

    Parameters
    ----------
    kernel, kernel_params, loss, tolerance, clip
        As in `KONS`.
    alpha : float
        A_0 = alpha I, in the coordinates of the span.
    eta : "auto", "global" or float
        As in `KONS`; the thesis has "global" or half of it.
    ridge : float, optional
        gamma of KORS; default: alpha.
    n_copies : int or float, optional
        Budget of KORS: copies per point (form="thesis", whole ones) or beta (form="paper"). By
        default 1, as in the thesis, or as many as the proof needs with budget="theory".
    budget : {"practical", "theory"}
        "theory": with probability 1 - `delta` the dictionary of every round is accurate.
    delta : float in (0, 1)
        Chance, with budget="theory", that some round's is not.
    horizon : int, optional
        T, the rounds for which that is meant. By default T is unknown: phases that end at round
        1024, 2048, 4096, ... start with an empty dictionary each, for delta / 2, delta / 4, ...
        (`CONKONS`: one phase of a million rounds).
    epsilon : float
        Accuracy that KORS assumes of its dictionary.
    form : {"thesis", "paper"}
        Of KORS: binomial copies, or one coin per point.
    n_components : int, optional
        The most atoms.
    when_full : {"thin", "stop"}
        Whether early atoms then make room, or later points are projected on the span of these.
    discount : float in (0, 1]
        Weight of a round for each later one: 0.999 forgets in about a thousand rounds, and stale
        atoms go first. 1: nothing is forgotten.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Atoms, and rounds so far.
    components_, indices_ : ndarray
        The atoms, and the rounds in which they came.
    n_coordinates_ : int
        Dimension of their span.
    n_epochs_ : int
        J of the regret bound: how often learning started from w = 0.

    Examples
    --------
    >>> X = np.random.default_rng(7).uniform(-1, 1, size=(300, 1))
    >>> m = PROSNKONS(alpha=0.01, random_state=7).fit(X, X[:, 0] ** 2)
    >>> m.n_support_ < 30, abs(m.predict_one([0.9]) - 0.81) < 0.02
    (True, True)
    """

    alpha: float = 0.01
    eta: float | Literal["auto", "global"] = "auto"
    ridge: float | None = None
    n_copies: float | None = None
    budget: Literal["practical", "theory"] = "practical"
    delta: float = 0.1
    horizon: int | None = None
    epsilon: float = 0.5
    form: Literal["thesis", "paper"] = "thesis"
    n_components: int | None = None
    when_full: Literal["thin", "stop"] = "thin"
    discount: float = 1.0
    random_state: RandomState = None

    _carries = False

    def _n_kept(self):
        return len(self._stream)

    @property
    def n_coordinates_(self) -> int:
        """Dimension of the span of the atoms."""
        return self._step.size

    @property
    def n_epochs_(self) -> int:
        """How often learning started from w = 0 and A = alpha I: J of the regret bound.

        The first round starts an epoch, and so does every coordinate that is opened, every phase of
        an unknown horizon, and every time that a full dictionary is thinned.
        """
        return self._step.n_starts

    @property
    def components_(self) -> np.ndarray:
        """The atoms."""
        return self._stream.points

    @property
    def indices_(self) -> np.ndarray:
        """The rounds in which the atoms came."""
        return np.array(self._stream.rows, dtype=np.int64)

    def _begin(self, n_features):
        alpha = check_real("alpha", self.alpha, above=0.0)
        self._kernel = as_kernel(self.kernel, self.kernel_params)
        check_choice("form", self.form, ("thesis", "paper"))
        check_real("epsilon", self.epsilon, above=0.0, below=1.0)
        self._seed = int(np.random.default_rng(self.random_state).integers(2**63))
        rule = step_rule(self._loss(), self.eta, self._bound())
        self._step = NewtonStep(alpha=alpha, rule=rule, discount=self.discount)
        theory = check_choice("budget", self.budget, ("practical", "theory")) == "theory"
        self._doubles = theory and self.horizon is None and not self._carries
        self._delta = check_real("delta", self.delta, above=0.0, below=1.0)
        self._n_phases = 0
        self._start_phase()

    def _start_phase(self):
        """Start with an empty dictionary, for a number of rounds that is known or doubled."""
        if self._doubles:
            current = phase(self._n_phases, self._delta)
        elif self.horizon is not None:
            current = Phase(check_count("horizon", self.horizon), self._delta)
        else:
            current = Phase(HORIZON, self._delta)
        self._n_phases += 1
        self._limit = current.last_round
        ceiling = self.n_components
        ceiling = None if ceiling is None else check_count("n_components", ceiling)
        thins = check_choice("when_full", self.when_full, ("thin", "stop")) == "thin"
        ridge = self.alpha if self.ridge is None else self.ridge
        self._stream = LandmarkStream(
            ridge=check_real("ridge", ridge, above=0.0),
            n_copies=self._copies(current),
            epsilon=self.epsilon,
            form=self.form,
            seed=self._seed,
            max_landmarks=ceiling,
            n_after=max(9 * ceiling // 10, 1) if ceiling and thins else None,
            ridge_grows=True,
            discount=check_real("discount", self.discount, above=0.0, below=1.0 + 1e-12),
        )
        self._stream.n_seen = self._step.n_rounds
        self._factor = GrowingCholesky()
        self._pivots = []  # the atoms that opened a coordinate
        self._step.clear()

    def _copies(self, current):
        """The budget of KORS for a phase, as a number."""
        if self.budget == "practical":
            return 1 if self.n_copies is None else check_real("n_copies", self.n_copies, above=0.0)
        if self.n_copies is not None:
            raise InputError("give n_copies or ", Parameter("budget", "theory"), ", not both")
        factor = rho(self.epsilon) if self.form == "thesis" else 1.0
        return kors_copies(
            self.epsilon, delta=current.delta, n_points=current.last_round, rho=factor
        )

    def _scores(self, points):
        return self._step.scores(self._features_of(points).T)

    def _features_of(self, points):
        if not self._pivots:
            return np.zeros((len(points), 0))
        values = self._kernel(self._stream.points[self._pivots], points)
        return self._factor.solve(values).T

    def _learn(self, points, targets):
        if not self._doubles:
            if self.budget == "theory":
                warn_beyond(self._limit, self._stream.n_seen, len(points))
            return self._learn_on(points, targets)
        out, done = [], 0
        while done < len(points):
            some = slice(done, done + self._limit - self._step.n_rounds)
            out.append(self._learn_on(points[some], targets[some]))
            done += len(out[-1])
            if self._step.n_rounds == self._limit:
                self._start_phase()
        return np.concatenate(out)

    def _learn_on(self, points, targets):
        out, done = [], 0
        for block in self._stream.blocks(self._kernel, points):
            n = len(block.points)
            y = targets[done : done + n]
            features = np.empty((self._step.size + n, n), order="F")
            if self._pivots:
                features[: self._step.size] = self._factor.solve(block.values[self._pivots])
            start = 0
            for atom, i in block.insertions():
                out.append(self._step.run(features[:, start : i + 1], y[start : i + 1]))
                start = i + 1
                self._open(block, features, atom, i)
            stop = block.n_used
            out.append(self._step.run(features[:, start:stop], y[start:stop]))
            done += stop
            if block.subsample is not None:
                self._move(block.subsample)
        return np.concatenate(out)

    def _open(self, block, features, atom, i):
        """A coordinate for the atom that came as point i of the block, if it needs one."""
        j, start = self._step.size, i + 1
        z = features[:j, i]
        left = block.diagonal[i] - z @ z
        if left <= _TOLERANCE * block.diagonal[i]:
            return
        pivot = np.sqrt(left)
        self._factor.append(z, pivot)
        features[j, start:] = (block.values[atom, start:] - z @ features[:j, start:]) / pivot
        self._pivots.append(atom)
        self._step.open()
        if not self._carries:
            self._step.reset()

    def _move(self, thinning):
        """Go over to the coordinates of the atoms that stay."""
        old = self._kernel(thinning.points[self._pivots], thinning.points[thinning.kept])
        older = self._factor.solve(old)  # z of the atoms that stay, in the old coordinates
        now = NystromEmbedding(self._kernel, self._stream.points)
        self._factor, self._pivots = GrowingCholesky(now.factor), now.pivots.tolist()
        self._step.move(self._factor.solve(older[:, now.pivots].T))
        if not self._carries:
            self._step.reset()


class CONKONS(PROSNKONS):
    """Newton steps in the span of a dictionary; carries on with every new atom.

    Parameters
    ----------
    kernel, kernel_params, loss, tolerance, clip
        As in `KONS`.
    alpha : float
        A_0 = alpha I, and alpha for every coordinate that is opened.
    eta : "auto", "global" or float
        As in `KONS`.
    ridge, n_copies, budget, delta, horizon, epsilon, form
        Of KORS, as in `PROSNKONS`.
    n_components, when_full, discount, random_state
        As in `PROSNKONS`.

    Attributes
    ----------
    n_support_, n_rounds_, components_, indices_
        As in `PROSNKONS`.
    n_coordinates_ : int
        Dimension of their span, which w and A have after every round.
    n_epochs_ : int
        1: learning never starts again.

    Examples
    --------
    >>> X = np.random.default_rng(7).uniform(-1, 1, size=(300, 1))
    >>> m = CONKONS(alpha=0.01, n_components=10, random_state=7).fit(X, X[:, 0] ** 2)
    >>> m.n_support_, abs(m.predict_one([0.9]) - 0.81) < 0.02
    (10, True)
    """

    _carries = True


@dataclass(kw_only=True, eq=False, repr=False)
class BKONS(PROSNKONS):
    """PROS-N-KONS with a ceiling: at most `n_components` atoms.

    Parameters
    ----------
    kernel, kernel_params, loss, tolerance, clip
        As in `KONS`.
    alpha, eta
        A_0 = alpha I, again after every new atom, and the step, as in `PROSNKONS`.
    ridge, n_copies, budget, delta, horizon, epsilon, form
        Of KORS, as in `PROSNKONS`.
    n_components : int or None
        The ceiling.
    when_full : {"stop", "thin"}
        Whether later points are projected on the span of the atoms, or early atoms make room.
    discount : float in (0, 1]
        Weight of a round for each later one; 1 forgets nothing.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_rounds_, components_, indices_, n_coordinates_, n_epochs_
        As in `PROSNKONS`.

    Examples
    --------
    >>> X = np.random.default_rng(7).uniform(-1, 1, size=(300, 1))
    >>> BKONS(n_components=4, random_state=7).fit(X, X[:, 0] ** 2).n_support_
    4
    """

    n_components: int | None = 100
    when_full: Literal["thin", "stop"] = "stop"
