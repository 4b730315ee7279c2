"""What regret is proved to be, as numbers with their conditions.

K is the kernel matrix of the T points, L and sigma the Lipschitz constant and the curvature of the
loss for predictions within C (`losses`), w the comparator, whose predictions lie within C too.
Steps have eta = sigma (eta="global"; with the squared loss "auto" as well, h_t = 2 = sigma L^2).
With g = alpha / (sigma L^2) and

    D = d_eff(g) (1 + log(1 + |K| / g)),

which is at least logdet(I + K / g) and at most the 2 d_eff log(2 T / g) of the thesis, where that
applies (T / g >= 1.24; below, it may be negative),

    KONS           alpha |w|^2 + D / sigma                                      [C17, Theorem 5.4],
                   without curvature, eta_t = 1 / (L C t^1/2), g = alpha C / L:
                   alpha |w|^2 + L C T^1/2 (D + 8),
    Sketched-KONS  alpha |w|^2 + D / (sigma (1 - e) max(floor, least score))    [Theorem 5.7],
    PROS-N-KONS    J (alpha |w|^2 + 2 D / sigma + L^2 k / alpha + 2 L C)
                   + L^2 T gamma e / (4 alpha (1 - e))                          [Theorem 5.8],
    squared loss   J (alpha |w|^2 + 2 D / sigma + L^2 k / alpha + L C + e' L*),
                   e' = alpha / (alpha - gamma e / (1 - e)) - 1                 [Theorem 5.9],

k the largest k(x, x), J the epochs (how often learning starts from w = 0: once, and with every
coordinate that is opened), and L* the least sum_t (w'phi_t - y_t)^2 + alpha |w|^2. One dictionary
gives J <= 1 + 3 q d_onl(gamma). A learner without a horizon has a dictionary for each of its phases
(`pros_n_kons.phase`), and their epochs add up: regret does, and the other terms of a phase are at
most those of all rounds. What was corrected is in docs/errata.md: the last two print
L^2 / alpha once for all epochs, 2 J C, and e' alpha |w|^2.

SkeGD has two bounds [ZL19, supplement, Theorems 1 and 2], both corrected. With tau = s_m / s_p, T
points, and all singular values of S_p'U within 1 +- e0, U a basis of the columns of the landmarks,

    |C F_sk C' - K|_F^2 <= (1 + e) min_F |C F C' - K|_F^2,
    e^1/2 = (2 tau (T / (d1 d2))^1/2 + (2 tau / d2)^1/2 (e0^2 + 2 e0 + 2)) / (1 - e0)^4,

with probability 1 - d1 - d2; printed without (1 - e0)^4. Take gradient descent with step eta and
regularizer lam in J cycles, with features z_j of length at most z and hypotheses of length at most
w. Its regret against any f of the kernel's space, with lam / 2 |f|^2 in every round, is at most

    J (w + v)^2 / (2 eta) + T eta (L z + lam w)^2 / 2 + L^2 / (2 lam) sum_j |K_j - Z_j Z_j'|,

v <= L z / lam the longest optimum of a cycle, K_j and Z_j Z_j' the kernel matrix of the rounds of a
cycle and its approximation, in the 2-norm. The first two terms are gradient descent in a cycle, and
the last one is what a hypothesis loses in z_j [YLMJZ12, Theorem 2]. The printed one has another
last term, which does not hold (docs/errata.md).

References
----------
[C17]     Calandriello. Efficient sequential learning in structured and constrained environments.
          PhD thesis, 2017, Chapter 5.
[YLMJZ12] Yang, Li, Mahdavi, Jin, Zhou. Nystrom method vs random Fourier features. NeurIPS 2012.
[ZL19]    Zhang, Liao. Incremental randomized sketching for online kernel learning. ICML 2019,
          with its supplementary material.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.bounds import Bound
from graphsqueak.kernel.kernels import KernelLike, KernelParams
from graphsqueak.kernel.leverage import kernel_matrix, online_effective_dimension, rho
from graphsqueak.kernel.samplers.dictionary import kors_copies
from graphsqueak.online.losses import loss_of
from graphsqueak.online.pros_n_kons import phase
from graphsqueak.validation import check_count, check_real

__all__ = [
    "kons_regret",
    "pros_n_kons_regret",
    "skegd_regret",
    "sketch_error",
    "sketched_kons_regret",
]

_ASSUMED = ("a comparator whose predictions lie within clip", "steps with eta='global'")


def kons_regret(
    X: ArrayLike,
    *,
    kernel: KernelLike = "rbf",
    kernel_params: KernelParams = None,
    loss: str = "squared",
    clip: float = 1.0,
    alpha: float = 1.0,
    norm: float,
) -> Bound:
    """Regret of `KONS` over the rows of X, at most [C17, Theorem 5.4].

    Parameters
    ----------
    X : array of shape (T, d)
        The points; with kernel="precomputed", their kernel matrix.
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss : {"squared", "logistic", "squared_hinge", "hinge"}
    clip, alpha : float
        C and alpha of the learner.
    norm : float
        |w| of the comparator, in the kernel's space.

    Returns
    -------
    Bound

    Examples
    --------
    One point of norm 1, a hundred times: d_eff(1/2) = 100 / 100.5.

    >>> bound = kons_regret(np.ones((100, 1)), kernel="linear", norm=1.0)
    >>> bool(np.isclose(bound.value, 1 + 8 * 100 / 100.5 * (1 + np.log(201))))
    True
    """
    game = _Game.of(X, kernel, kernel_params, loss, clip, alpha, norm)
    if game.sigma:
        return Bound(game.start + game.growth() / game.sigma, (), _ASSUMED)
    growth = game.dimension(alpha * clip / game.lipschitz) + 8
    value = game.start + game.lipschitz * clip * math.sqrt(len(game.K)) * growth
    return Bound(value, (), (_ASSUMED[0], "steps with eta='auto'"))


def sketched_kons_regret(
    X: ArrayLike,
    *,
    kernel: KernelLike = "rbf",
    kernel_params: KernelParams = None,
    loss: str = "squared",
    clip: float = 1.0,
    alpha: float = 1.0,
    beta: float | None = None,
    floor: float = 0.0,
    least_score: float = 0.0,
    epsilon: float = 0.5,
    delta: float = 0.1,
    norm: float,
) -> Bound:
    """Regret of `SketchedKONS`, at most, with probability 1 - delta [C17, Theorem 5.7].

    Parameters
    ----------
    X : array of shape (T, d)
        The points; with kernel="precomputed", their kernel matrix.
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss : {"squared", "logistic", "squared_hinge"}
    clip, alpha, floor, epsilon : float
        As the learner has them.
    beta : float, optional
        The learner's; default: what the proof needs.
    least_score : float
        The least leverage score of a step, if it is known; the scaled kernel decides it.
    delta : float in (0, 1)
        Chance that KORS fails.
    norm : float
        |w| of the comparator, in the kernel's space.

    Returns
    -------
    Bound

    Examples
    --------
    >>> all_steps = {"floor": 1.0, "epsilon": 1e-9, "norm": 1.0, "kernel": "linear"}
    >>> round(sketched_kons_regret(np.ones((100, 1)), **all_steps).value, 2)
    51.18
    >>> print(sketched_kons_regret(np.ones((100, 1)), kernel="linear", beta=1.0, norm=1.0))
    no bound: beta=1 is below 121, what KORS needs; floor and least_score are 0
    """
    game = _Game.of(X, kernel, kernel_params, loss, clip, alpha, norm)
    failed = game.refusals(epsilon, delta, beta, name="beta")
    least = max(
        check_real("floor", floor, least=0.0), check_real("least_score", least_score, least=0.0)
    )
    if least == 0:
        failed += ("floor and least_score are 0",)
    if failed:
        return Bound(math.inf, failed, _ASSUMED)
    return Bound(
        game.start + game.growth() / (game.sigma * (1 - epsilon) * min(least, 1.0)), (), _ASSUMED
    )


def pros_n_kons_regret(
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    kernel: KernelLike = "rbf",
    kernel_params: KernelParams = None,
    loss: str = "squared",
    clip: float = 1.0,
    alpha: float = 0.01,
    ridge: float | None = None,
    n_copies: float | None = None,
    epsilon: float = 0.5,
    delta: float = 0.1,
    horizon: int | None = None,
    n_epochs: int | None = None,
    norm: float,
) -> Bound:
    """Regret of `PROSNKONS`, at most, with probability 1 - delta [C17, Theorems 5.8 and 5.9].

    Parameters
    ----------
    X : array of shape (T, d)
        The points in their order; with kernel="precomputed", their kernel matrix.
    y : array of shape (T,), optional
        Targets within clip, of the squared loss: the bound is then that of Theorem 5.9, where the
        projection costs a share of the least loss instead of a term that grows with T. For ridge =
        alpha it needs epsilon below 1/2.
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss : {"squared", "logistic", "squared_hinge"}
    clip, alpha, epsilon : float
        As the learner has them.
    ridge : float, optional
        gamma of KORS; default: alpha.
    n_copies : float, optional
        The learner's, with form="thesis"; default: what the proof needs, as budget="theory".
    delta : float in (0, 1)
        Chance that KORS fails.
    horizon : int, optional
        The learner's; by default it is unknown, and the dictionary starts again in phases that
        double. With `n_copies` there is one phase.
    n_epochs : int, optional
        J, if it is known: `n_epochs_` of the learner. By default its bound, the sum over the phases
        of 1 + 3 q d_onl(ridge).
    norm : float
        |w| of the comparator, in the kernel's space.

    Returns
    -------
    Bound
        Of a learner without `n_components` and `discount`.

    Examples
    --------
    The default of one copy has no bound:

    >>> X = np.ones((1000, 1))
    >>> print(pros_n_kons_regret(X, kernel="linear", n_copies=1, norm=1.0))
    no bound: n_copies=1 is below 491, what KORS needs
    >>> pros_n_kons_regret(X, kernel="linear", ridge=1e-5, alpha=1.0, n_epochs=2, norm=1.0).value
    325.1...

    With targets:

    >>> known = {"kernel": "linear", "norm": 1.0}
    >>> print(pros_n_kons_regret(X[:100], np.ones(100), epsilon=0.5, **known))
    no bound: ridge epsilon / (1 - epsilon) = 0.01 is not below alpha = 0.01
    >>> known |= {"alpha": 1.0, "n_epochs": 2, "epsilon": 0.25}
    >>> pros_n_kons_regret(X[:100], np.ones(100), **known).value
    243.6...
    """
    game = _Game.of(X, kernel, kernel_params, loss, clip, alpha, norm)
    g = alpha if ridge is None else check_real("ridge", ridge, above=0.0)
    failed = game.refusals(epsilon, delta, n_copies, name="n_copies")
    lost = g * epsilon / (1 - epsilon)
    if y is not None:
        targets = game.targets(y, loss)
        if lost >= alpha:
            failed += (f"ridge epsilon / (1 - epsilon) = {lost:g} is not below alpha = {alpha:g}",)
        if np.abs(targets).max(initial=0.0) > clip:
            failed += (f"targets reach {np.abs(targets).max():g}, clip is {clip:g}",)
    if horizon is not None and check_count("horizon", horizon) < len(game.K):
        failed += (f"{len(game.K)} rounds are beyond horizon={horizon}",)
    if failed:
        return Bound(math.inf, failed, _ASSUMED)
    epoch, once = game.epoch(), 0.0
    if y is None:
        epoch += 2 * game.lipschitz * clip
        once = game.lipschitz**2 * len(game.K) * g * epsilon / (4 * alpha * (1 - epsilon))
    else:
        least = alpha * targets @ np.linalg.solve(game.K + alpha * np.eye(len(game.K)), targets)
        epoch = epoch + game.lipschitz * clip + (alpha / (alpha - lost) - 1) * least
    if n_epochs is None:
        phases = game.phases(horizon, epsilon=epsilon, delta=delta, n_copies=n_copies)
        J = game.epochs_at_most(phases, ridge=g)
    else:
        J = check_count("n_epochs", n_epochs)
    return Bound(float(J * epoch + once), (), _ASSUMED)


def sketch_error(
    n_points: int,
    *,
    n_landmarks: int,
    sketch_size: int,
    distortion: float = 0.5,
    delta: float = 0.1,
) -> Bound:
    """How many times the least squared error the approximation of `KernelSketch` may have.

    The least one is that of C F C' over all F, C the kernel columns of the landmarks (the modified
    Nystrom method), in the Frobenius norm.

    Parameters
    ----------
    n_points : int
        T, points absorbed.
    n_landmarks, sketch_size : int
        s_m and s_p.
    distortion : float in [0, 1)
        e0, such that all singular values of S_p'U lie within 1 - e0 and 1 + e0. The supplement has
        it with probability 1 - delta_0 if s_p is of the order s_m log^8(s_m / delta_0) / e0^2.
    delta : float in (0, 1)
        delta_1 + delta_2, in equal parts: the probability that the bound fails.

    Returns
    -------
    Bound
        [ZL19, supplement, Theorem 1] with the factor that its last step lost.

    Examples
    --------
    At the sizes of the authors' program it says little:

    >>> f"{sketch_error(200, n_landmarks=15, sketch_size=75).value:.1e}"
    '3.8e+06'
    >>> print(sketch_error(200, n_landmarks=15, sketch_size=10**6, distortion=0.01))
    at most 1.004, assuming singular values of S_p'U within 1 +- distortion
    """
    T = check_count("n_points", n_points)
    tau = check_count("n_landmarks", n_landmarks) / check_count("sketch_size", sketch_size)
    e0 = check_real("distortion", distortion, least=0.0)
    half = check_real("delta", delta, above=0.0, below=1.0) / 2
    assumed = ("singular values of S_p'U within 1 +- distortion",)
    if e0 >= 1:
        return Bound(math.inf, (f"distortion={e0:g} is not below 1",), assumed)
    spread = 2 * tau * math.sqrt(T) / half  # delta_1 = delta_2 = half
    root = spread + math.sqrt(2 * tau / half) * (e0**2 + 2 * e0 + 2)
    return Bound(1 + (root / (1 - e0) ** 4) ** 2, (), assumed)


def skegd_regret(
    n_rounds: int,
    *,
    cycle: int,
    learning_rate: float,
    regularization: float,
    loss: str = "hinge",
    clip: float = 1.0,
    norm: float,
    length: float = 1.0,
    optimum: float | None = None,
    kernel_error: float,
) -> Bound:
    """Regret of `SkeGD` over the rounds after its sketches started, at most.

    Regret is the sum of the losses, each with lam / 2 |w|^2, less that of any one f of the kernel's
    space, each with lam / 2 |f|^2.

    Parameters
    ----------
    n_rounds : int
        T, rounds after the first `n_components` points were kept.
    cycle, learning_rate, regularization, loss
        As the learner has them; regularization above 0.
    clip : float
        C; the Lipschitz constant of the squared losses depends on it, and no prediction may exceed
        it.
    norm : float
        The longest hypothesis |w| of the run.
    length : float
        The longest feature |z|.
    optimum : float, optional
        The longest optimum of a cycle, |v|, v the least of its sum of losses in its features; by
        default its bound L |z| / lam.
    kernel_error : float
        sum_j |K_j - Z_j Z_j'|, the 2-norms of what the features of each cycle miss of the kernel
        matrix of its rounds.

    Returns
    -------
    Bound
        [ZL19, supplement, Theorem 2], corrected.

    Examples
    --------
    Exact features, one cycle: the bound of gradient descent.

    >>> settings = {"learning_rate": 0.1, "regularization": 1.0, "norm": 0.0, "kernel_error": 0.0}
    >>> round(skegd_regret(99, cycle=100, **settings).value, 2)     # 1 / 0.2 + 0.1 * 99 / 2
    9.95
    >>> round(skegd_regret(99, cycle=50, **settings).value, 2)
    14.95
    """
    T = check_count("n_rounds", n_rounds)
    n_cycles = 1 + T // check_count("cycle", cycle)
    eta = check_real("learning_rate", learning_rate, above=0.0)
    lam = check_real("regularization", regularization, least=0.0)
    w = check_real("norm", norm, least=0.0)
    z = check_real("length", length, least=0.0)
    error = check_real("kernel_error", kernel_error, least=0.0)
    L = loss_of(loss).lipschitz(check_real("clip", clip, above=0.0))
    assumed = ("predictions within clip", "transfer='paper'")
    if lam == 0:
        return Bound(math.inf, ("regularization is 0",), assumed)
    v = L * z / lam if optimum is None else check_real("optimum", optimum, least=0.0)
    descent = n_cycles * (w + v) ** 2 / (2 * eta) + T * eta * (L * z + lam * w) ** 2 / 2
    return Bound(descent + L**2 * error / (2 * lam), (), assumed)


class _Game(NamedTuple):
    """What the theorems share."""

    K: np.ndarray
    eigenvalues: np.ndarray
    sigma: float
    lipschitz: float
    alpha: float
    start: float  # alpha |w|^2

    @classmethod
    def of(cls, X, kernel, kernel_params, loss, clip, alpha, norm):
        law = loss_of(loss)
        check_real("clip", clip, above=0.0)
        check_real("alpha", alpha, above=0.0)
        K = kernel_matrix(X, kernel, kernel_params)
        eigenvalues = np.maximum(np.linalg.eigvalsh(K), 0.0)
        start = alpha * check_real("norm", norm, least=0.0) ** 2
        return cls(K, eigenvalues, law.sigma(clip), law.lipschitz(clip), alpha, start)

    def targets(self, y, loss):
        """Targets of the squared loss, one for each point."""
        if loss != "squared":
            raise InputError(
                "targets are for ",
                Parameter("loss", "squared"),
                "; leave y out with ",
                Parameter("loss", loss),
            )
        targets = np.asarray(y, dtype=np.float64)
        if targets.shape != (len(self.K),):
            raise InputError(
                f"y has shape {targets.shape}; give a target for each of {len(self.K)}"
            )
        return targets

    def dimension(self, g):
        """D."""
        lam = self.eigenvalues
        return float(np.sum(lam / (lam + g)) * (1 + math.log1p(lam[-1] / g)))

    def growth(self):
        """D at alpha / (sigma L^2)."""
        return self.dimension(self.alpha / (self.sigma * self.lipschitz**2))

    def epoch(self):
        """What every epoch of a dictionary pays."""
        first = self.lipschitz**2 * float(np.diagonal(self.K).max()) / self.alpha
        return self.start + 2 * self.growth() / self.sigma + first

    def refusals(self, epsilon, delta, copies, *, name):
        """Which conditions on KORS and on the loss fail."""
        check_real("epsilon", epsilon, above=0.0, below=1.0)
        check_real("delta", delta, above=0.0, below=1.0)
        failed = () if self.sigma else ("the loss has no curvature",)
        factor = rho(epsilon) if name == "n_copies" else 1.0
        needed = kors_copies(epsilon, delta=delta, n_points=len(self.K), rho=factor)
        if copies is not None and check_real(name, copies, above=0.0) < needed:
            failed += (f"{name}={copies:g} is below {needed}, what KORS needs",)
        return failed

    def phases(self, horizon, *, epsilon, delta, n_copies):
        """(first round, last round, copies of KORS) of every dictionary of a run."""
        n_rounds = len(self.K)
        if n_copies is not None:
            return [(0, n_rounds, n_copies)]
        if horizon is not None:
            copies = kors_copies(epsilon, delta=delta, n_points=horizon, rho=rho(epsilon))
            return [(0, n_rounds, copies)]
        out = []
        start = 0
        while start < n_rounds:
            stop, share = phase(len(out), delta)
            copies = kors_copies(epsilon, delta=share, n_points=stop, rho=rho(epsilon))
            out.append((start, min(stop, n_rounds), copies))
            start = stop
        return out

    def epochs_at_most(self, phases, *, ridge):
        """The bound of J: 1 + 3 q d_onl for the points of each phase."""
        total = 0.0
        for start, stop, copies in phases:
            K = self.K[start:stop, start:stop]
            dimension = online_effective_dimension(K, kernel="precomputed", ridge=ridge)
            total += 1 + 3 * copies * dimension
        return total
