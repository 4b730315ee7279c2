"""Proved upper bounds on regret, as numbers with the conditions under which they hold.

K is the kernel matrix of the T points, L and sigma the Lipschitz constant and the curvature of the
loss for predictions within C (`losses`), and w the comparator, whose predictions lie within C as
well. Steps have eta = sigma (eta="global"; for the squared loss also "auto", since h_t = 2 =
sigma L^2). With g = alpha / (sigma L^2) let

    D = d_eff(g) (1 + log(1 + |K| / g)).

D is at least logdet(I + K / g). It is at most the 2 d_eff log(2 T / g) of the thesis, if that
applies (T / g >= 1.24; below, the latter may be negative). The bounds are [C17]

    KONS           alpha |w|^2 + D / sigma                                         Theorem 5.4
                   without curvature, eta_t = 1 / (L C t^1/2), g = alpha C / L:
                   alpha |w|^2 + L C T^1/2 (D + 8)
    Sketched-KONS  alpha |w|^2 + D / (sigma (1 - e) max(p_min, min tau))           Theorem 5.7
    PROS-N-KONS    J (alpha |w|^2 + 2 D / sigma + L^2 k / alpha + 2 L C)
                   + L^2 T gamma e / (4 alpha (1 - e))                             Theorem 5.8
    squared loss   J (alpha |w|^2 + 2 D / sigma + L^2 k / alpha + L C + e' L*),
                   e' = alpha / (alpha - gamma e / (1 - e)) - 1                    Theorem 5.9

where k is the largest k(x, x), J the number of epochs (how often learning starts from w = 0: once,
and with every new coordinate), and L* the minimum of sum_t (w'phi_t - y_t)^2 + alpha |w|^2. For one
dictionary J <= 1 + 3 q d_onl(gamma). A learner without a horizon has a dictionary for each of its
phases (`pros_n_kons.doubling_phase`), and their epochs add up: regret is additive, and the other
terms of a phase are at most those of all rounds. docs/research/errata.md lists the corrections:
Theorems 5.8 and 5.9 print L^2 / alpha once for all epochs, 2 J C, and e' alpha |w|^2.

SkeGD has two bounds [ZL19, supplement, Theorems 1 and 2], both corrected. With tau = s_m / s_p, T
points, and all singular values of S_p'U within 1 +- e0, U a basis of the columns of the landmarks,

    |C F_sk C' - K|_F^2 <= (1 + e) min_F |C F C' - K|_F^2,
    e^1/2 = (2 tau (T / (d1 d2))^1/2 + (2 tau / d2)^1/2 (e0^2 + 2 e0 + 2)) / (1 - e0)^4,

with probability 1 - d1 - d2; the factor (1 - e0)^4 is missing in print. For gradient descent with
step size eta and regularization lam in J cycles, features z_j of length at most z and hypotheses of
length at most w, the regret against any f of the kernel's space, with lam / 2 |f|^2 added in every
round, is at most

    J (w + v)^2 / (2 eta) + T eta (L z + lam w)^2 / 2 + L^2 / (2 lam) sum_j |K_j - Z_j Z_j'|.

Here v <= L z / lam is the longest optimum of a cycle, and K_j and Z_j Z_j' are the kernel matrix of
the rounds of a cycle and its approximation, in the 2-norm. The first two terms are those of
gradient descent within a cycle, the last is what a hypothesis loses in z_j [YLMJZ12, Theorem 2].
The printed theorem has another last term, which does not hold (docs/research/errata.md).

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
from graphsqueak.online.losses import get_loss
from graphsqueak.online.pros_n_kons import Phase, doubling_phase
from graphsqueak.validation import check_count, check_real

_BOUNDED_COMPARATOR = "a comparator whose predictions lie within clip"
_ASSUMPTIONS = (_BOUNDED_COMPARATOR, "steps with eta='global'")


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
    """Bound the regret of `KONS` over the rows of X [C17, Theorem 5.4].

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
    terms = _Terms.of(X, kernel, kernel_params, loss, clip, alpha, norm)
    if terms.sigma:
        return Bound(terms.start + terms.log_det_bound() / terms.sigma, (), _ASSUMPTIONS)
    # Losses without curvature: eta_t = 1 / (L C t^1/2).
    D = terms.log_det_bound_at(alpha * clip / terms.lipschitz)
    value = terms.start + terms.lipschitz * clip * math.sqrt(len(terms.K)) * (D + 8)
    return Bound(value, (), (_BOUNDED_COMPARATOR, "steps with eta='auto'"))


def sketched_kons_regret(
    X: ArrayLike,
    *,
    kernel: KernelLike = "rbf",
    kernel_params: KernelParams = None,
    loss: str = "squared",
    clip: float = 1.0,
    alpha: float = 1.0,
    beta: float | None = None,
    min_probability: float = 0.0,
    min_leverage: float = 0.0,
    epsilon: float = 0.5,
    delta: float = 0.1,
    norm: float,
) -> Bound:
    """Bound the regret of `SketchedKONS`, with probability 1 - delta [C17, Theorem 5.7].

    Parameters
    ----------
    X : array of shape (T, d)
        The points; with kernel="precomputed", their kernel matrix.
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss : {"squared", "logistic", "squared_hinge"}
    clip, alpha, min_probability, epsilon : float
        Parameters of the learner.
    beta : float, optional
        Parameter of the learner; default: the value that the proof needs.
    min_leverage : float
        Smallest leverage score of a step, if it is known. It is a score of the scaled kernel.
    delta : float in (0, 1)
        Failure probability of KORS.
    norm : float
        |w| of the comparator, in the kernel's space.

    Returns
    -------
    Bound

    Examples
    --------
    >>> all_steps = {"min_probability": 1.0, "epsilon": 1e-9, "norm": 1.0, "kernel": "linear"}
    >>> round(sketched_kons_regret(np.ones((100, 1)), **all_steps).value, 2)
    51.18
    >>> print(sketched_kons_regret(np.ones((100, 1)), kernel="linear", beta=1.0, norm=1.0))
    no bound: beta=1 is below 121, what KORS needs; min_probability and min_leverage are 0
    """
    terms = _Terms.of(X, kernel, kernel_params, loss, clip, alpha, norm)
    failed = terms.failed_conditions(epsilon, delta)
    needed = kors_copies(epsilon, delta=delta, n_points=len(terms.K))
    failed += _insufficient_budget("beta", beta, needed)
    min_score = max(
        check_real("min_probability", min_probability, least=0.0),
        check_real("min_leverage", min_leverage, least=0.0),
    )
    if min_score == 0:
        failed.append("min_probability and min_leverage are 0")
    if failed:
        return Bound(math.inf, tuple(failed), _ASSUMPTIONS)
    # Sampling reduces the curvature of each step by this factor.
    factor = (1 - epsilon) * min(min_score, 1.0)
    return Bound(terms.start + terms.log_det_bound() / (terms.sigma * factor), (), _ASSUMPTIONS)


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
    """Bound the regret of `PROSNKONS`, with probability 1 - delta [C17, Theorems 5.8 and 5.9].

    Parameters
    ----------
    X : array of shape (T, d)
        The points in their order; with kernel="precomputed", their kernel matrix.
    y : array of shape (T,), optional
        Targets within clip, for the squared loss. The bound is then that of Theorem 5.9, in which
        the projection costs a fraction of the smallest loss instead of a term that grows with T. If
        ridge = alpha it needs epsilon < 1/2.
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss : {"squared", "logistic", "squared_hinge"}
    clip, alpha, epsilon : float
        Parameters of the learner.
    ridge : float, optional
        gamma of KORS; default: alpha.
    n_copies : float, optional
        Parameter of the learner, with form="thesis"; default: the number that the proof needs, as
        with budget="theory".
    delta : float in (0, 1)
        Failure probability of KORS.
    horizon : int, optional
        Parameter of the learner. By default it is unknown, and the dictionary starts again in
        phases of double length. With `n_copies` there is one phase.
    n_epochs : int, optional
        J, if it is known: `n_epochs_` of the learner. By default its bound, the sum over the phases
        of 1 + 3 q d_onl(ridge).
    norm : float
        |w| of the comparator, in the kernel's space.

    Returns
    -------
    Bound
        For a learner without `n_components` and `discount`.

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
    terms = _Terms.of(X, kernel, kernel_params, loss, clip, alpha, norm)
    n_rounds = len(terms.K)
    gamma = alpha if ridge is None else check_real("ridge", ridge, above=0.0)
    failed = terms.failed_conditions(epsilon, delta)
    needed = kors_copies(epsilon, delta=delta, n_points=n_rounds, rho=rho(epsilon))
    failed += _insufficient_budget("n_copies", n_copies, needed)
    # |K - K~| <= gamma e / (1 - e)
    error = gamma * epsilon / (1 - epsilon)
    if y is not None:
        targets = _check_targets(y, loss, n_rounds)
        largest = np.abs(targets).max(initial=0.0)
        # e' of Theorem 5.9 is finite only if gamma e / (1 - e) < alpha.
        if error >= alpha:
            failed.append(
                f"ridge epsilon / (1 - epsilon) = {error:g} is not below alpha = {alpha:g}"
            )
        if largest > clip:
            failed.append(f"targets reach {largest:g}, clip is {clip:g}")
    if horizon is not None and check_count("horizon", horizon) < n_rounds:
        failed.append(f"{n_rounds} rounds are beyond horizon={horizon}")
    if failed:
        return Bound(math.inf, tuple(failed), _ASSUMPTIONS)
    # alpha |w|^2 + 2 D / sigma + L^2 k / alpha
    per_epoch = terms.start + 2 * terms.log_det_bound() / terms.sigma
    per_epoch += terms.lipschitz**2 * float(np.diagonal(terms.K).max()) / alpha
    once = 0.0
    if y is None:
        # Theorem 5.8: the projection costs L^2 T gamma e / (4 alpha (1 - e)) over all epochs.
        per_epoch += 2 * terms.lipschitz * clip
        once = terms.lipschitz**2 * n_rounds * error / (4 * alpha)
    else:
        # L* = alpha y'(K + alpha I)^-1 y
        residual = np.linalg.solve(terms.K + alpha * np.eye(n_rounds), targets)
        smallest_loss = alpha * targets @ residual
        per_epoch += terms.lipschitz * clip + (alpha / (alpha - error) - 1) * smallest_loss
    # J, given or bounded by 1 + 3 q d_onl per dictionary.
    if n_epochs is None:
        J = _max_epochs(
            terms.K, gamma, horizon=horizon, epsilon=epsilon, delta=delta, n_copies=n_copies
        )
    else:
        J = check_count("n_epochs", n_epochs)
    return Bound(float(J * per_epoch + once), (), _ASSUMPTIONS)


def sketch_error(
    n_points: int,
    *,
    n_landmarks: int,
    sketch_size: int,
    distortion: float = 0.5,
    delta: float = 0.1,
) -> Bound:
    """Bound the error of the kernel approximation of `SkeGD`, relative to the smallest one.

    The bound is the ratio of squared errors in the Frobenius norm. The smallest error is that of
    C F C' over all F, C the kernel columns of the landmarks (the modified Nystrom method).

    Parameters
    ----------
    n_points : int
        Number of absorbed points T.
    n_landmarks, sketch_size : int
        s_m and s_p.
    distortion : float in [0, 1)
        e0: all singular values of S_p'U lie between 1 - e0 and 1 + e0. According to the supplement
        this has probability 1 - delta_0 if s_p is of order s_m log^8(s_m / delta_0) / e0^2.
    delta : float in (0, 1)
        Failure probability delta_1 + delta_2, in equal parts.

    Returns
    -------
    Bound
        [ZL19, supplement, Theorem 1] with the factor that is missing in its last step.

    Examples
    --------
    For the sizes in the authors' program the bound is too large to be useful:

    >>> f"{sketch_error(200, n_landmarks=15, sketch_size=75).value:.1e}"
    '3.8e+06'
    >>> print(sketch_error(200, n_landmarks=15, sketch_size=10**6, distortion=0.01))
    at most 1.004, assuming singular values of S_p'U within 1 +- distortion
    """
    T = check_count("n_points", n_points)
    tau = check_count("n_landmarks", n_landmarks) / check_count("sketch_size", sketch_size)
    e0 = check_real("distortion", distortion, least=0.0)
    half = check_real("delta", delta, above=0.0, below=1.0) / 2
    assumptions = ("singular values of S_p'U within 1 +- distortion",)
    if e0 >= 1:
        return Bound(math.inf, (f"distortion={e0:g} is not below 1",), assumptions)
    # delta_1 = delta_2 = half
    root = 2 * tau * math.sqrt(T) / half + math.sqrt(2 * tau / half) * (e0**2 + 2 * e0 + 2)
    return Bound(1 + (root / (1 - e0) ** 4) ** 2, (), assumptions)


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
    """Bound the regret of `SkeGD` over the rounds after its sketches started.

    Regret is the sum of the losses, each with lam / 2 |w|^2, minus the same sum for any f of the
    kernel's space, each with lam / 2 |f|^2.

    Parameters
    ----------
    n_rounds : int
        Number of rounds T after the sketches started.
    cycle, learning_rate, regularization, loss
        Parameters of the learner; regularization > 0.
    clip : float
        C, which no prediction may exceed; the Lipschitz constants of some losses depend on it.
    norm : float
        Largest length of a hypothesis |w| of the run.
    length : float
        Largest length of a feature vector |z|.
    optimum : float, optional
        Largest length |v| of the best hypothesis of a cycle in its features; default: its bound
        L |z| / lam.
    kernel_error : float
        sum_j |K_j - Z_j Z_j'|, the errors of the kernel matrices of the cycles in the 2-norm.

    Returns
    -------
    Bound
        [ZL19, supplement, Theorem 2], corrected.

    Examples
    --------
    With exact features and one cycle it is the bound of gradient descent:

    >>> settings = {"learning_rate": 0.1, "regularization": 1.0, "norm": 0.0, "kernel_error": 0.0}
    >>> round(skegd_regret(99, cycle=100, **settings).value, 2)     # 1 / 0.2 + 0.1 * 99 / 2
    9.95
    >>> round(skegd_regret(99, cycle=50, **settings).value, 2)
    14.95
    """
    T = check_count("n_rounds", n_rounds)
    # The last cycle may be incomplete.
    n_cycles = 1 + T // check_count("cycle", cycle)
    eta = check_real("learning_rate", learning_rate, above=0.0)
    lam = check_real("regularization", regularization, least=0.0)
    w = check_real("norm", norm, least=0.0)
    z = check_real("length", length, least=0.0)
    error = check_real("kernel_error", kernel_error, least=0.0)
    L = get_loss(loss).lipschitz(check_real("clip", clip, above=0.0))
    assumptions = ("predictions within clip", "transfer='paper'")
    if lam == 0:
        return Bound(math.inf, ("regularization is 0",), assumptions)
    # The optimum of a cycle is no longer than L |z| / lam.
    v = L * z / lam if optimum is None else check_real("optimum", optimum, least=0.0)
    descent = n_cycles * (w + v) ** 2 / (2 * eta) + T * eta * (L * z + lam * w) ** 2 / 2
    return Bound(descent + L**2 * error / (2 * lam), (), assumptions)


class _Terms(NamedTuple):
    """Quantities that several theorems use; `start` is alpha |w|^2."""

    K: np.ndarray
    eigenvalues: np.ndarray
    sigma: float
    lipschitz: float
    alpha: float
    start: float

    @classmethod
    def of(cls, X, kernel, kernel_params, loss, clip, alpha, norm):
        checked_loss = get_loss(loss)
        check_real("clip", clip, above=0.0)
        check_real("alpha", alpha, above=0.0)
        K = kernel_matrix(X, kernel, kernel_params)
        return cls(
            K,
            # Rounding errors make zero eigenvalues negative.
            np.maximum(np.linalg.eigvalsh(K), 0.0),
            checked_loss.sigma(clip),
            checked_loss.lipschitz(clip),
            alpha,
            start=alpha * check_real("norm", norm, least=0.0) ** 2,
        )

    def log_det_bound_at(self, g):
        """Return d_eff(g) (1 + log(1 + |K| / g))."""
        d_eff = np.sum(self.eigenvalues / (self.eigenvalues + g))
        return float(d_eff * (1 + math.log1p(self.eigenvalues[-1] / g)))

    def log_det_bound(self):
        """Return D at g = alpha / (sigma L^2)."""
        return self.log_det_bound_at(self.alpha / (self.sigma * self.lipschitz**2))

    def failed_conditions(self, epsilon, delta):
        """Check the parameters of KORS; return which conditions on the loss fail."""
        check_real("epsilon", epsilon, above=0.0, below=1.0)
        check_real("delta", delta, above=0.0, below=1.0)
        return [] if self.sigma else ["the loss has no curvature"]


def _max_epochs(K, ridge, *, horizon, epsilon, delta, n_copies):
    """Return the bound on the number of epochs: the sum over all dictionaries of 1 + 3 q d_onl."""
    n_rounds = len(K)
    # Without a horizon, phases of double length until the last round.
    phases = [] if horizon is None else [Phase(horizon, delta)]
    if n_copies is not None:
        phases = [Phase(n_rounds, delta)]
    while not phases or phases[-1].last_round < n_rounds:
        phases.append(doubling_phase(len(phases), delta))
    n_epochs = 0.0
    first = 0
    for last, phase_delta in phases:
        q = n_copies
        if q is None:
            q = kors_copies(epsilon, delta=phase_delta, n_points=last, rho=rho(epsilon))
        rounds = slice(first, last)
        d_onl = online_effective_dimension(K[rounds, rounds], kernel="precomputed", ridge=ridge)
        n_epochs += 1 + 3 * q * d_onl
        first = last
    return n_epochs


def _insufficient_budget(name, value, needed):
    """Return the condition that fails if KORS has too few copies."""
    if value is None or check_real(name, value, above=0.0) >= needed:
        return []
    return [f"{name}={value:g} is below {needed}, what KORS needs"]


def _check_targets(y, loss, n_rounds):
    """Return targets of the squared loss, one per point."""
    if loss != "squared":
        raise InputError(
            "targets are for ",
            Parameter("loss", "squared"),
            "; leave y out with ",
            Parameter("loss", loss),
        )
    targets = np.asarray(y, dtype=np.float64)
    if targets.shape != (n_rounds,):
        raise InputError(f"y has shape {targets.shape}; give a target for each of {n_rounds}")
    return targets
