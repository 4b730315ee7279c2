"""PROS-N-KONS, CON-KONS and B-KONS: Newton steps in the span of a growing dictionary.

KORS [C17, Algorithm 8] samples landmarks I from the stream. In the coordinates z(x) = L^-1 k_I(x),
L L' = K_II, of the points projected on the span of the landmarks, a round is a Newton step in R^j
(`newton`): with A = alpha I at first, g = l'(y^) and the curvature h = eta g^2 of the loss,

    y^ = clip(z'w, -C, C),    w <- w - (z'w - y^) / (z'A^-1 z) A^-1 z,
    A <- A + h z z',          w <- w - g A^-1 z.

A landmark inserted in round t is used from round t + 1: L gains the row (z_t', s),
s^2 = k_tt - z_t'z_t, and all later features gain one coordinate. The thesis recomputes eigenvectors
of K_II instead; predictions are the same, because coordinates of one span differ by a rotation.

    PROS-N-KONS  starts again in each new space: w = 0, A = alpha I [C17, Algorithm 14]. Regret is
                 at most J times that of KONS, J the number of starts, plus the cost of the
                 projection [C17, Theorem 5.8], if KORS has the number of copies of its proof:
                 budget="theory". `bounds` computes it.
    CON-KONS     continues: w <- (w, 0), A <- diag(A, alpha).
    B-KONS       is PROS-N-KONS with a largest number of landmarks.

A landmark in the span of the others adds no coordinate and, unlike in [C17, Algorithm 14], causes
no restart, since the space is the same. A round takes O(j^2) time and j kernel evaluations.

With `n_components`, a full dictionary drops a tenth of its landmarks (`landmark_stream`), so that
it follows a stream whose distribution changes. In the coordinates of the remaining landmarks, what
lay in the old span is z_new = T z, and CON-KONS continues with A_new = alpha I + T (A - alpha I) T'
and w <- A_new^-1 T A w: least squares over all rounds so far in what remains of the span. With
when_full="stop" later points are projected on the span instead, as in B-KONS of the thesis.

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
from graphsqueak.kernel.kernels import Kernel
from graphsqueak.kernel.leverage import rho
from graphsqueak.kernel.samplers.dictionary import HORIZON, kors_copies, warn_beyond
from graphsqueak.kernel.samplers.landmark_stream import LandmarkStream
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.model import OnlineModel
from graphsqueak.online.newton import SPAN_TOLERANCE, NewtonStep, step_rule
from graphsqueak.randomness import RandomState
from graphsqueak.validation import check_choice, check_count, check_real

# Rounds of the first phase, if the number of rounds is unknown. Part of the documented interface.
FIRST_PHASE_ROUNDS = 1024


class Phase(NamedTuple):
    """The last round with one dictionary, and the probability that the dictionary fails."""

    last_round: int
    delta: float


def doubling_phase(number: int, delta: float) -> Phase:
    """Return a phase of a run of unknown length; the deltas of all phases sum to `delta`.

    >>> doubling_phase(0, 0.1)
    Phase(last_round=1024, delta=0.05)
    >>> doubling_phase(1, 0.1).last_round
    2048
    """
    return Phase(FIRST_PHASE_ROUNDS << number, delta / 2 ** (number + 1))


class DictionaryConfig(NamedTuple):
    """Parameters of KORS and of the dictionary.

    Attributes
    ----------
    ridge, epsilon, form
        Parameters of KORS.
    n_copies : float or None
        Budget of KORS. None: the budget of the proof for `horizon` rounds, or for phases of double
        length if the horizon is None as well.
    delta : float
    horizon : int or None
    capacity : int or None
        Largest number of landmarks.
    n_after : int or None
        Landmarks that a full dictionary keeps. None: it accepts no further landmarks.
    discount : float
    """

    ridge: float
    epsilon: float
    form: Literal["thesis", "paper"]
    n_copies: float | None
    delta: float
    horizon: int | None
    capacity: int | None
    n_after: int | None
    discount: float

    @property
    def has_phases(self) -> bool:
        """Whether the dictionary starts again in phases of double length."""
        return self.n_copies is None and self.horizon is None

    def phase(self, number: int) -> Phase:
        """Return the phase with this number; without phases, it is the horizon."""
        if self.has_phases:
            return doubling_phase(number, self.delta)
        return Phase(self.horizon or HORIZON, self.delta)

    def make_stream(self, phase: Phase, seed: int) -> LandmarkStream:
        """Return an empty dictionary for a phase."""
        n_copies = self.n_copies
        if n_copies is None:
            n_copies = kors_copies(
                self.epsilon,
                delta=phase.delta,
                n_points=phase.last_round,
                # Scores of the thesis form under-estimate leverage by up to a factor of rho.
                rho=rho(self.epsilon) if self.form == "thesis" else 1.0,
            )
        return LandmarkStream(
            ridge=self.ridge,
            n_copies=n_copies,
            epsilon=self.epsilon,
            form=self.form,
            seed=seed,
            max_landmarks=self.capacity,
            n_after=self.n_after,
            ridge_grows=True,
            discount=self.discount,
        )


@dataclass(kw_only=True, eq=False, repr=False)
class PROSNKONS(OnlineLearner):
    """PROS-N-KONS: Newton steps on a dictionary, restarted whenever the dictionary grows.

    Use it if a proved bound on the regret is needed, with budget="theory"; otherwise `CONKONS` has
    smaller losses.

    Parameters
    ----------
    kernel, kernel_params, loss, tolerance, clip
        As for `KONS`.
    alpha : float
        Regularization: A_0 = alpha I, in the coordinates of the span.
    eta : "auto", "global" or float
        As for `KONS`; the thesis uses "global" or half of it.
    ridge : float, optional
        gamma of KORS; default: alpha.
    n_copies : int or float, optional
        Budget of KORS: an integer number of copies per point (form="thesis") or beta
        (form="paper"). Default: 1, as in the thesis, or with budget="theory" the number of the
        proof.
    budget : {"practical", "theory"}
        With "theory", the dictionary of every round is accurate with probability 1 - `delta`.
    delta : float in (0, 1)
        Failure probability for budget="theory".
    horizon : int, optional
        Number of rounds T for which budget="theory" holds. By default T is unknown: phases that end
        in round 1024, 2048, 4096, ... start with an empty dictionary each, with failure
        probabilities delta / 2, delta / 4, ... (`CONKONS`: one phase of a million rounds).
    epsilon : float
        Accuracy that KORS assumes of its dictionary.
    form : {"thesis", "paper"}
        Form of KORS: binomial copies, or one Bernoulli sample per point.
    n_components : int, optional
        Largest number of landmarks.
    when_full : {"subsample", "stop"}
        Whether a full dictionary drops a tenth of its landmarks, or accepts no others.
    discount : float in (0, 1]
        Factor by which the weight of a round decreases with every later one. With 0.999, rounds
        count for about a thousand rounds, and older landmarks are dropped first. 1: no discount.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Numbers of landmarks and of rounds.
    components_, indices_ : ndarray
        The landmarks, and the rounds in which they were inserted.
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
    when_full: Literal["subsample", "stop"] = "subsample"
    discount: float = 1.0
    random_state: RandomState = None

    # Whether learning continues when the dictionary grows.
    _carries_over = False

    @property
    def n_coordinates_(self) -> int:
        """Dimension of the span of the landmarks."""
        return self.models_[0].newton.size

    @property
    def n_epochs_(self) -> int:
        """How often learning started from w = 0 and A = alpha I: J of the regret bound.

        Learning starts in the first round, with every new coordinate, with every phase of an
        unknown horizon, and whenever a full dictionary drops landmarks.
        """
        return self.models_[0].newton.n_resets

    @property
    def components_(self) -> np.ndarray:
        """The landmarks."""
        return self.models_[0].stream.points

    @property
    def indices_(self) -> np.ndarray:
        """The rounds in which the landmarks were inserted."""
        return self.models_[0].landmark_rounds

    def _make_model(self, kernel, n_features):
        config = self._dictionary_config()
        if self._carries_over and config.has_phases:
            # A new phase would discard what was learned.
            config = config._replace(horizon=HORIZON)
        newton = NewtonStep(
            alpha=check_real("alpha", self.alpha, above=0.0),
            rule=step_rule(self._loss(), self.eta, self._clip()),
            discount=config.discount,
        )
        return DictionaryNewtonModel(
            kernel,
            newton,
            config,
            carries_over=self._carries_over,
            rng=np.random.default_rng(self.random_state),
        )

    def _dictionary_config(self):
        """Check the parameters of the dictionary."""
        check_choice("budget", self.budget, ("practical", "theory"))
        # The proof determines the number of copies.
        if self.budget == "theory" and self.n_copies is not None:
            raise InputError(
                "n_copies and ", Parameter("budget", "theory"), " exclude each other; remove one"
            )
        n_copies = self.n_copies
        if n_copies is not None:
            n_copies = check_real("n_copies", n_copies, above=0.0)
        elif self.budget == "practical":
            n_copies = 1
        capacity = self.n_components
        n_after = None
        check_choice("when_full", self.when_full, ("subsample", "stop"))
        if capacity is not None:
            check_count("n_components", capacity)
            if self.when_full == "subsample":
                # Dropping a tenth at once keeps the cost per round at O(j^2).
                n_after = max(9 * capacity // 10, 1)
        ridge = self.alpha if self.ridge is None else self.ridge
        return DictionaryConfig(
            ridge=check_real("ridge", ridge, above=0.0),
            epsilon=check_real("epsilon", self.epsilon, above=0.0, below=1.0),
            form=check_choice("form", self.form, ("thesis", "paper")),
            n_copies=n_copies,
            delta=check_real("delta", self.delta, above=0.0, below=1.0),
            horizon=None if self.horizon is None else check_count("horizon", self.horizon),
            capacity=capacity,
            n_after=n_after,
            # The largest discount is 1 itself.
            discount=check_real("discount", self.discount, above=0.0, below=1.0 + 1e-12),
        )


class CONKONS(PROSNKONS):
    """CON-KONS: Newton steps on a dictionary, continued when the dictionary grows.

    Use it by default: rounds take constant time, and losses were smaller than those of the other
    learners in nearly all experiments (docs/kernels/online.md).

    Parameters
    ----------
    kernel, kernel_params, loss, tolerance, clip
        As for `KONS`.
    alpha : float
        Regularization: A_0 = alpha I, and alpha for every new coordinate.
    eta : "auto", "global" or float
        As for `KONS`.
    ridge, n_copies, budget, delta, horizon, epsilon, form
        Parameters of KORS, as for `PROSNKONS`.
    n_components, when_full, discount, random_state
        As for `PROSNKONS`.

    Attributes
    ----------
    n_support_, n_rounds_, components_, indices_
        As for `PROSNKONS`.
    n_coordinates_ : int
        Dimension of the span of the landmarks, of w and of A.
    n_epochs_ : int
        1, since learning never starts again.

    Examples
    --------
    >>> X = np.random.default_rng(7).uniform(-1, 1, size=(300, 1))
    >>> m = CONKONS(alpha=0.01, n_components=10, random_state=7).fit(X, X[:, 0] ** 2)
    >>> m.n_support_, abs(m.predict_one([0.9]) - 0.81) < 0.02
    (10, True)
    """

    _carries_over = True


@dataclass(kw_only=True, eq=False, repr=False)
class BKONS(PROSNKONS):
    """B-KONS: PROS-N-KONS with a largest number of landmarks.

    Use it to compare with the experiments of the thesis; otherwise use `CONKONS`.

    Parameters
    ----------
    kernel, kernel_params, loss, tolerance, clip
        As for `KONS`.
    alpha, eta
        As for `PROSNKONS`.
    ridge, n_copies, budget, delta, horizon, epsilon, form
        Parameters of KORS, as for `PROSNKONS`.
    n_components : int or None
        Largest number of landmarks.
    when_full : {"stop", "subsample"}
        Whether a full dictionary accepts no other landmarks, or drops a tenth of its own.
    discount : float in (0, 1]
        Factor by which the weight of a round decreases with every later one.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_rounds_, components_, indices_, n_coordinates_, n_epochs_
        As for `PROSNKONS`.

    Examples
    --------
    >>> X = np.random.default_rng(7).uniform(-1, 1, size=(300, 1))
    >>> BKONS(n_components=4, random_state=7).fit(X, X[:, 0] ** 2).n_support_
    4
    """

    n_components: int | None = 100
    when_full: Literal["subsample", "stop"] = "stop"


class DictionaryNewtonModel(OnlineModel):
    """The model of `PROSNKONS`, `CONKONS` and `BKONS`: f = w'z.

    Attributes
    ----------
    newton : NewtonStep
        w and A^-1.
    stream : LandmarkStream
        The dictionary of the present phase.
    """

    def __init__(
        self,
        kernel: Kernel,
        newton: NewtonStep,
        config: DictionaryConfig,
        *,
        carries_over: bool,
        rng: np.random.Generator,
    ) -> None:
        self.kernel = kernel
        self.newton = newton
        self.config = config
        self._carries_over = carries_over
        self._rng = rng
        self._n_phases = 0
        self._start_phase()

    @property
    def n_support(self):
        """Number of landmarks."""
        return len(self.stream)

    @property
    def landmark_rounds(self):
        """The rounds in which the landmarks were inserted."""
        return self._first_round + np.array(self.stream.rows, dtype=np.int64)

    def learn(self, points, targets):
        """Run one round per point; return the earlier predictions."""
        if not self.config.has_phases:
            if self.config.n_copies is None:
                # The guarantee of the proof ends with the horizon.
                warn_beyond(self._phase.last_round, self.newton.n_rounds, len(points))
            return self._learn_in_phase(points, targets)
        out = np.empty(len(points))
        n_done = 0
        while n_done < len(points):
            # A phase ends in the middle of a batch if need be.
            n_left = self._phase.last_round - self.newton.n_rounds
            rows = slice(n_done, min(n_done + n_left, len(points)))
            out[rows] = self._learn_in_phase(points[rows], targets[rows])
            n_done = rows.stop
            if self.newton.n_rounds == self._phase.last_round:
                self._start_phase()
        return out

    def scores(self, points):
        """Return f at the points, clipped."""
        return self.newton.scores(self.features(points))

    def features(self, points):
        """Return z of every point."""
        if not self._pivots:
            return np.zeros((len(points), 0))
        values = self.kernel(self.stream.points[self._pivots], points)
        return self._factor.solve(values).T

    def _start_phase(self):
        """Start with an empty dictionary."""
        self._phase = self.config.phase(self._n_phases)
        self._n_phases += 1
        self._first_round = self.newton.n_rounds
        seed = int(self._rng.integers(2**63))
        self.stream = self.config.make_stream(self._phase, seed)
        # L, and the landmarks that are not in the span of earlier ones.
        self._factor = GrowingCholesky()
        self._pivots = []
        self.newton.remove_coordinates()

    def _learn_in_phase(self, points, targets):
        out = np.empty(len(points))
        n_done = 0
        for block in self.stream.blocks(self.kernel, points):
            size = self.newton.size
            n_points = len(block.points)
            features = np.empty((n_points, size + n_points))
            features[:, :size] = self._factor.solve(block.values[self._pivots]).T
            y = targets[n_done : n_done + n_points]
            predictions = out[n_done : n_done + n_points]
            start = 0
            for landmark, i in block.insertions():
                # A landmark is used from the next round on, so its own round comes first.
                rows = slice(start, i + 1)
                predictions[rows] = self.newton.run(features[rows], y[rows])
                self._add_landmark(block, features, landmark, i)
                start = i + 1
            # A block ends early if landmarks were dropped; the rest comes as the next block.
            rows = slice(start, block.n_used)
            predictions[rows] = self.newton.run(features[rows], y[rows])
            n_done += block.n_used
            if block.subsample is not None:
                self._drop_landmarks(block.subsample)
        return out

    def _add_landmark(self, block, features, landmark, i):
        """Add a coordinate for the landmark at point i of the block, if it is not in the span."""
        j = self.newton.size
        later = slice(i + 1, None)
        z = features[i, :j]
        squared_distance = block.diagonal[i] - z @ z
        if squared_distance <= SPAN_TOLERANCE * block.diagonal[i]:
            return
        # The new row of L, and the new coordinate of the later points of the block.
        pivot = np.sqrt(squared_distance)
        self._factor.append(z, pivot)
        features[later, j] = (block.values[landmark, later] - features[later, :j] @ z) / pivot
        self._pivots.append(landmark)
        self.newton.add_coordinate()
        if not self._carries_over:
            self.newton.reset()

    def _drop_landmarks(self, subsample):
        """Move to the coordinates of the landmarks that remain."""
        kept = subsample.points[subsample.kept]
        # z of the remaining landmarks in the old coordinates, one column each.
        z = self._factor.solve(self.kernel(subsample.points[self._pivots], kept))
        embedding = NystromEmbedding(self.kernel, self.stream.points)
        self._factor = GrowingCholesky(embedding.factor)
        self._pivots = embedding.pivots.tolist()
        self.newton.transform(self._factor.solve(z[:, embedding.pivots].T))
        if not self._carries_over:
            self.newton.reset()
