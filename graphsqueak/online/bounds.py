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

k the largest k(x, x), J the epochs, at most 3 q d_onl(gamma), and L* the least
sum_t (w'phi_t - y_t)^2 + alpha |w|^2. What was corrected is in docs/errata.md: the last two print
L^2 / alpha once for all epochs, 2 J C, and e' alpha |w|^2.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Chapter 5.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.kernel.bounds import Bound
from graphsqueak.kernel.kernels import KernelLike, KernelParams
from graphsqueak.kernel.leverage import kernel_matrix, online_effective_dimension, rho
from graphsqueak.kernel.samplers.dictionary import kors_copies
from graphsqueak.online.losses import loss_of
from graphsqueak.validation import check_count, check_real

__all__ = ["kons_regret", "pros_n_kons_regret", "sketched_kons_regret"]

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
    n_epochs : int, optional
        J, if it is known: `n_coordinates_`, and one. Default: its bound.
    norm : float
        |w| of the comparator, in the kernel's space.

    Returns
    -------
    Bound

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
    if failed:
        return Bound(math.inf, failed, _ASSUMED)
    epoch, once = game.epoch(), 0.0
    if y is None:
        epoch += 2 * game.lipschitz * clip
        once = game.lipschitz**2 * len(game.K) * g * epsilon / (4 * alpha * (1 - epsilon))
    else:
        least = alpha * targets @ np.linalg.solve(game.K + alpha * np.eye(len(game.K)), targets)
        epoch = epoch + game.lipschitz * clip + (alpha / (alpha - lost) - 1) * least
    n = game.epochs(n_epochs, g, epsilon, delta, n_copies)
    return Bound(float(n * epoch + once), (), _ASSUMED)


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
            raise InputError(f"targets are for loss='squared'; leave y out with loss={loss!r}")
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

    def epochs(self, given, g, epsilon, delta, copies):
        """J, or its bound."""
        if given is not None:
            return check_count("n_epochs", given)
        if copies is None:
            n_points = len(self.K)
            copies = kors_copies(epsilon, delta=delta, n_points=n_points, rho=rho(epsilon))
        return 1 + 3 * copies * online_effective_dimension(self.K, kernel="precomputed", ridge=g)
