"""How many copies make a dictionary (epsilon, ridge)-accurate with probability 1 - delta.

An atom is drawn as Binomial(q, p) copies of weight 1 / (q p). The functions give q; `rho` is the
factor by which the scores p may be too small (see `estimator`). They are the budgets of
[C17, Chapter 3] and [CLV17c] as corrected in docs/errata.md: KORS is a union bound over all steps,
so its logarithm has T^2, and the thesis form pays rho. "practical" keeps rho log(n) / eps^2 and
drops the constant: theory budgets keep every point of a data set of a few thousand.

References
----------
[C17]    Calandriello. Efficient sequential learning in structured and constrained environments.
         PhD thesis, 2017.
[CLV17c] Calandriello, Lazaric, Valko. Second-order kernel online convex optimization with
         adaptive sketching. ICML 2017.
"""

import math

__all__ = ["batch_copies", "kors_copies", "practical_copies", "squeak_copies"]


def batch_copies(epsilon, *, delta, n_points, rho=1.0):
    """4 rho log(4 n / delta) / eps^2, for independent draws.

    >>> batch_copies(0.5, delta=0.1, n_points=100)
    133
    """
    return math.ceil(4 * rho * math.log(4 * n_points / delta) / epsilon**2)


def kors_copies(epsilon, *, delta, n_points, rho=1.0):
    """rho (2 + 2 eps / 3) log(4 T^2 / delta) / eps^2; rho = 1 for the form of the paper.

    >>> kors_copies(0.5, delta=0.1, n_points=100)
    121
    """
    tail = math.log(4 * n_points**2 / delta)
    return math.ceil(rho * (2 + 2 * epsilon / 3) * tail / epsilon**2)


def squeak_copies(epsilon, *, delta, n_points, rho):
    """26 rho log(3 n / delta) / eps^2, for any tree of merges.

    >>> squeak_copies(0.5, delta=0.1, n_points=120, rho=3.0)
    2555
    """
    return math.ceil(26 * rho * math.log(3 * n_points / delta) / epsilon**2)


def practical_copies(epsilon, *, n_points, rho=1.0):
    """rho log(n) / eps^2, and at least 1.

    >>> practical_copies(0.5, n_points=1000)
    28
    """
    return max(math.ceil(rho * math.log(n_points) / epsilon**2), 1)
