"""What regression on a dictionary is proved to cost, as numbers with their conditions.

For an (e, g)-accurate dictionary and ridge regression with the ridge a, in a fixed design, the risk
is at most

    (1 + c / a)^2 times that of the exact solution,   c = |K - K~| <= e g / (1 - e),

and g / (1 - e) for the regularized K~ [C17, Corollary 4.4], corrected in docs/errata.md. For points
drawn from a distribution whose covariance has eigenvalues at most i^-q, q >= 1, the ridge

    a = n lam,    lam = n^(-q / (1 + q)),

balances bias and variance: the effective dimension is O(lam^(-1/q)) = O(n^(1 / (1 + q))) and the
excess risk O(n^(-q / (1 + q))) [RCR15]. [C17, Proposition 4.5] prints other exponents.

References
----------
[C17]   Calandriello. Efficient sequential learning in structured and constrained environments.
        PhD thesis, 2017, Section 4.2.
[RCR15] Rudi, Camoriano, Rosasco. Less is more: Nystrom computational regularization. NeurIPS 2015.
"""

import math
from typing import NamedTuple

from graphsqueak.validation import check_count, check_real

__all__ = ["Bound", "RidgeRate", "ridge_rate", "ridge_risk"]


class Bound(NamedTuple):
    """A number that is not exceeded: `value`, infinite where a condition fails.

    `failed` names the conditions that do, `assumed` what nobody can check from the arguments.

    >>> print(ridge_risk(0.5, ridge=1.0, alpha=0.5))
    at most 9, assuming an (epsilon, ridge)-accurate dictionary and a fixed design
    >>> print(ridge_risk(1.2, ridge=1.0, alpha=0.5))
    no bound: epsilon=1.2 is not below 1
    """

    value: float
    failed: tuple[str, ...]
    assumed: tuple[str, ...]

    def __str__(self) -> str:
        if self.failed:
            return "no bound: " + "; ".join(self.failed)
        return f"at most {self.value:.4g}, assuming {' and '.join(self.assumed)}"


class RidgeRate(NamedTuple):
    """`alpha` to regress with, a bound on the dimension there, and the order of the excess."""

    alpha: float
    dimension: float
    excess: float


def ridge_risk(epsilon: float, *, ridge: float, alpha: float, regularized: bool = False) -> Bound:
    """How many times the risk of exact ridge regression that on a dictionary may have.

    Parameters
    ----------
    epsilon : float
        Accuracy of the dictionary, promised or measured (`accuracy`).
    ridge : float
        Its gamma.
    alpha : float
        Of the regression (`NystromRidge`).
    regularized : bool
        Whether K~ is the regularized form.

    Returns
    -------
    Bound
        [C17, Corollary 4.4] as corrected in docs/errata.md.

    Examples
    --------
    >>> ridge_risk(0.5, ridge=1.0, alpha=1.0).value, ridge_risk(0.0, ridge=1.0, alpha=1.0).value
    (4.0, 1.0)
    >>> ridge_risk(0.5, ridge=1.0, alpha=1.0, regularized=True).value
    9.0
    """
    check_real("epsilon", epsilon, least=0.0)
    check_real("ridge", ridge, above=0.0)
    check_real("alpha", alpha, above=0.0)
    failed = () if epsilon < 1 else (f"epsilon={epsilon} is not below 1",)
    assumed = ("an (epsilon, ridge)-accurate dictionary", "a fixed design")
    if failed:
        return Bound(math.inf, failed, assumed)
    distance = (1.0 if regularized else epsilon) * ridge / (1 - epsilon)
    return Bound((1 + distance / alpha) ** 2, failed, assumed)


def ridge_rate(n_points: int, *, decay: float) -> RidgeRate:
    """The ridge for n points of a kernel whose eigenvalues decay like i^-decay, and what it gives.

    Parameters
    ----------
    n_points : int
        n, points drawn from one distribution.
    decay : float
        q >= 1; 1 is every bounded kernel of trace 1.

    Returns
    -------
    RidgeRate
        `alpha` is in the units of the eigenvalues of K, n times the lambda of [RCR15]. `excess` is
        the excess risk up to a constant that depends on noise and target only.

    Examples
    --------
    >>> rate = ridge_rate(10_000, decay=1.0)
    >>> rate.alpha, rate.dimension, rate.excess
    (100.0, 100.0, 0.01)
    """
    n, q = check_count("n_points", n_points), check_real("decay", decay, least=1.0)
    lam = n ** (-q / (1 + q))
    constant = 1.0 if q == 1 else math.pi / q / math.sin(math.pi / q)  # of int dx / (1 + x^q)
    return RidgeRate(n * lam, constant * lam ** (-1 / q), lam)
