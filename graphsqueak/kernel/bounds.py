"""Bounds of the risk of regression on a dictionary, as numbers with their conditions.

For an (e, g)-accurate dictionary and ridge regression with the ridge a, in a fixed design, the risk
is at most

    (1 + c / a)^2 times that of the exact solution,   c = |K - K~| <= e g / (1 - e),

and g / (1 - e) for the regularized K~ [C17, Corollary 4.4], corrected in docs/research/errata.md.
For points drawn from a distribution whose covariance has eigenvalues at most i^-q, q >= 1, the
ridge

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


class Bound(NamedTuple):
    """An upper bound with its conditions.

    `value` is infinite if a condition fails. `failed` has the conditions that fail, and `assumed`
    the ones that cannot be checked from the arguments.

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
    """A ridge `alpha`, a bound of the dimension at this ridge, and the order of the excess risk."""

    alpha: float
    dimension: float
    excess: float


def ridge_risk(epsilon: float, *, ridge: float, alpha: float, regularized: bool = False) -> Bound:
    """Bound the risk of ridge regression on a dictionary, relative to that on all points.

    Use it to see whether a dictionary is accurate enough for a regression.

    Parameters
    ----------
    epsilon : float
        Accuracy of the dictionary, asked for or measured (`accuracy`).
    ridge : float
        Ridge gamma of the dictionary.
    alpha : float
        Ridge of the regression (`NystromRidge`).
    regularized : bool
        Whether the regression uses the regularized form of K~.

    Returns
    -------
    Bound
        Factor of [C17, Corollary 4.4], as corrected in docs/research/errata.md.

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
    assumed = ("an (epsilon, ridge)-accurate dictionary", "a fixed design")
    if epsilon >= 1:
        return Bound(math.inf, (f"epsilon={epsilon} is not below 1",), assumed)
    # |K - K~| at most.
    distance = (1.0 if regularized else epsilon) * ridge / (1 - epsilon)
    return Bound((1 + distance / alpha) ** 2, (), assumed)


def ridge_rate(n_points: int, *, decay: float) -> RidgeRate:
    """Return the ridge that balances bias and variance for eigenvalues that decay like i^-decay.

    Parameters
    ----------
    n_points : int
        n, points drawn from one distribution.
    decay : float
        q >= 1. Every bounded kernel of trace 1 has q = 1.

    Returns
    -------
    RidgeRate
        `alpha` is in the units of the eigenvalues of K, n times the lambda of [RCR15]. `excess` is
        the excess risk up to a constant that depends only on noise and target.

    Examples
    --------
    >>> rate = ridge_rate(10_000, decay=1.0)
    >>> rate.alpha, rate.dimension, rate.excess
    (100.0, 100.0, 0.01)
    """
    n = check_count("n_points", n_points)
    q = check_real("decay", decay, least=1.0)
    lam = n ** (-q / (1 + q))
    # The integral of 1 / (1 + x^q), by which sum 1 / (1 + lam i^q) is bounded; infinite for q = 1,
    # where the trace bounds it.
    constant = 1.0 if q == 1 else math.pi / q / math.sin(math.pi / q)
    return RidgeRate(n * lam, constant * lam ** (-1 / q), lam)
