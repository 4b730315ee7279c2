"""What can be promised about Stable-HFS and Sparse-HFS, with proofs that hold.

Write l for the labeled and u for the unlabeled nodes, M for the largest |label|, lambda_2 for the
smallest non-zero eigenvalue of the Laplacian, kappa = l eta lambda_2, and
h(k) = 1 / (1 + k) for k >= 1, 1 / (2 sqrt k) below. On a connected graph:

 (a) |f| <= |y~| h(kappa);
 (b) changing one labeled node for another moves the scores by at most
     (2 sqrt2 M (l - 1) / l + M sqrt(l) h(kappa)) / kappa, in the 2-norm;
 (c) or, with R = max_x (L^+)_xx / (l eta), by 2 R (2 M + M sqrt(l R) / 2) + 2 M sqrt(R / l), each;
 (d) an eps-sparsifier moves them by sqrt(E) on the labeled nodes (root mean square),
     M eps kappa / ((1 + kappa') (1 + kappa)) if kappa' = (1 - eps) kappa >= 1, and
     M eps sqrt(psi) / (2 sqrt(1 - eps)) below, psi = kappa / (1 + kappa)^2 if kappa >= 1, else 1/4.

Theorem 4.8 of [C17] has the same shape with several slips: its "-1"s come from a triangle
inequality that is not needed (and make it say nothing for kappa' <= 1), its beta is a
difference of scores where one of losses is meant (a factor 2 c), it forgets that the mean of the
labels moves too (2 M / l), and its last term drops a cross term. `printed_bound` is that theorem as
printed; `corrected_bound` and `measured_bound` are what holds. `tests/ssl/test_bounds.py` tries
all label sets and all swaps on small graphs, and two counter-examples to the printed one.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Section 4.4.2.
"""

from typing import NamedTuple

import numpy as np

__all__ = [
    "Bound",
    "approximation_error",
    "corrected_bound",
    "distance_to_exact",
    "measured_bound",
    "printed_bound",
    "resistance_stability",
    "spectral_stability",
]


class Bound(NamedTuple):
    """A number, what it promises in words, and whether it says anything at all here."""

    value: float
    promise: str
    vacuous: bool


def spectral_stability(n_labels, eta, lambda_2, largest):
    """(b): how far the scores move, in the 2-norm, when one labeled node is changed for another.

    >>> round(float(spectral_stability(n_labels=20, eta=1.0, lambda_2=1.0, largest=1.0)), 4)
    0.145
    """
    kappa = n_labels * eta * lambda_2
    if kappa <= 0:
        return np.inf
    moved = 2 * np.sqrt(2) * largest * (n_labels - 1) / n_labels
    return (moved + largest * np.sqrt(n_labels) * _h(kappa)) / kappa


def resistance_stability(n_labels, eta, widest, largest):
    """(c): the same for every single score, from `widest` = max_x (L^+)_xx.

    It wins where lambda_2 is small because of a balanced bottleneck.
    """
    reach = widest / (n_labels * eta)
    step = 2 * largest + largest / 2 * np.sqrt(n_labels * reach)
    return 2 * reach * step + 2 * largest * np.sqrt(reach / n_labels)


def approximation_error(n_labels, eta, lambda_2, epsilon, largest):
    """(d): root mean square difference on the labeled nodes between H and G, before looking.

    >>> approximation_error(n_labels=10, eta=1.0, lambda_2=1.0, epsilon=0.0, largest=1.0)
    0.0
    """
    kappa = n_labels * eta * lambda_2
    below = (1 - epsilon) * kappa
    if below >= 1:
        return largest * epsilon * kappa / ((1 + below) * (1 + kappa))
    psi = kappa / (1 + kappa) ** 2 if kappa >= 1 else 0.25
    return largest * epsilon * np.sqrt(psi) / (2 * np.sqrt(1 - epsilon))


def printed_bound(risk, n_labels, n_others, eta, lambda_2, epsilon, largest, *, delta, loss=None):
    """Theorem 4.8 exactly as printed, for comparison. It is not a theorem: see the module.

    `risk` is the training error of exact Stable-HFS, `loss` the printed c (default: 2 M).
    """
    c = 2 * largest if loss is None else loss
    gap = (1 - epsilon) * n_labels * eta * lambda_2 - 1
    if gap <= 0:
        return Bound(np.inf, "Theorem 4.8 as printed says nothing for kappa' <= 1", True)
    beta = 1.5 * largest * np.sqrt(n_labels) / gap**2 + 4 * largest / gap
    last = (epsilon * n_labels * eta * lambda_2 * largest / gap**2) ** 2
    value = risk + beta + _deviation(beta, c, n_labels, n_others, delta) + last
    promise = (
        f"Theorem 4.8 as printed claims a mean squared error of at most {value:.3g} on the other "
        "nodes; the claim has counter-examples"
    )
    return Bound(value, promise, bool(value >= c**2))


def corrected_bound(risk, n_labels, n_others, eta, lambda_2, widest, epsilon, largest, *, delta):
    """The theorem that holds, before looking at the sparsifier.

    For predictions g clipped to [-M, M], with beta = 4 M (s + 2 M / l), s the smaller of (b) and
    (c), and pi = l u / (l + u - 1/2) * 2 max(l, u) / (2 max(l, u) - 1),

        R(g) <= (sqrt(risk) + sqrt(E))^2 + beta
                + (2 beta + 4 M^2 (l + u) / (l u)) sqrt(pi ln(1 / delta) / 2).

    Parameters
    ----------
    risk : float
        Mean squared error of exact Stable-HFS on the labeled nodes.
    lambda_2, widest : float
        Of G; a lower and an upper bound will do. (For H with accuracy eps: (1 - eps) lambda_2.)
    delta : float
        Probability, over which nodes were labeled, that the bound fails.
    """
    error = approximation_error(n_labels, eta, lambda_2, epsilon, largest)
    lower = (1 - epsilon) * lambda_2
    beta = _beta(n_labels, eta, lower, widest / (1 - epsilon), largest)
    first = (np.sqrt(risk) + error) ** 2
    return _bound(first, beta, n_labels, n_others, largest, delta)


def measured_bound(risk, n_labels, n_others, eta, lambda_2, widest, largest, *, delta):
    """The same after looking: `risk` is that of the predictions made, spectrum that of H.

    No eps enters: Stable-HFS on H is a learner of its own, judged by its own training error.
    """
    beta = _beta(n_labels, eta, lambda_2, widest, largest)
    return _bound(risk, beta, n_labels, n_others, largest, delta)


def distance_to_exact(energy, n_labels, eta, lambda_min, lambda_max, smallest):
    """How far the scores on H are from those on G, measured on H alone.

    With lambda_min L_G <= L_H <= lambda_max L_G (a certificate's interval),
    e = max |1 - 1/lambda| and z^2 = f' L_H f,

        |f_H - f_G| <= e sqrt(l eta lambda_max / sigma) z       in the 2-norm, so for every node.

    Parameters
    ----------
    energy : float
        z^2 = f' L_H f of the scores on H.
    smallest : float
        sigma, or a lower bound: the smallest eigenvalue of Pi (l eta L_H / lambda_max + I_S) Pi
        on the functions that sum to zero; l eta lambda_2(H) / lambda_max always is one.
    """
    off = max(abs(1 - 1 / lambda_min), abs(1 - 1 / lambda_max))
    value = float(off * np.sqrt(n_labels * eta * lambda_max / smallest * energy))
    promise = f"no score differs from that on the whole graph by more than {value:.3g}"
    return Bound(value, promise, False)


def _beta(n_labels, eta, lambda_2, widest, largest):
    moved = min(
        spectral_stability(n_labels, eta, lambda_2, largest),
        resistance_stability(n_labels, eta, widest, largest),
    )
    return 4 * largest * (moved + 2 * largest / n_labels)


def _bound(first, beta, n_labels, n_others, largest, delta):
    value = first + beta + _deviation(beta, 2 * largest, n_labels, n_others, delta)
    vacuous = bool(value >= 4 * largest**2)
    said = "which says nothing, as no error is larger" if vacuous else "a real promise"
    promise = (
        f"with probability {1 - delta:g} over which nodes were labeled, the mean squared error on "
        f"the other nodes is at most {value:.3g}, {said}"
    )
    return Bound(float(value), promise, vacuous)


def _deviation(beta, c, n_labels, n_others, delta):
    n_all, most = n_labels + n_others, max(n_labels, n_others)
    spread = n_labels * n_others / (n_all - 0.5) * 2 * most / (2 * most - 1)
    rate = 2 * beta + c**2 * n_all / (n_labels * n_others)
    return rate * np.sqrt(spread * np.log(1 / delta) / 2)


def _h(kappa):
    return 1 / (1 + kappa) if kappa >= 1 else 1 / (2 * np.sqrt(kappa))
