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
all label sets and all swaps on small graphs, two counter-examples to the printed one, and many
random draws of the labeled nodes.

The labeled nodes have to be drawn at random, eta and graph to be there before. An eta chosen by the
labels from K values costs a factor K of delta (all K bounds hold together); nothing repairs a graph
that was sampled by the labels. Columns of 0 and 1 may be moved to -1/2 and 1/2, as predictions move
along: M is 1/2, and the promise is about f + ybar, clipped to [0, 1].

Two numbers of the graph enter, each measured with an error bar that counts on the safe side.
1 / lambda_2 is the largest x' x / x' L x, which Lanczos bounds from both sides. The diagonal of L^+
is the squared row length of L^+ B' W^(1/2), which random signs keep in expectation; the largest
candidates are then solved for exactly.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Section 4.4.2.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.solvers import LaplacianSolver
from graphsqueak.sparsifiers.certificate.outer_bounds import Estimate, smallest_eigenvalue

__all__ = [
    "Bound",
    "approximation_error",
    "bound_of_fit",
    "corrected_bound",
    "distance_to_exact",
    "measured_bound",
    "no_bound",
    "printed_bound",
    "resistance_stability",
    "spectral_stability",
    "widest_node",
]

_DELTA = 0.05  # probability that the bound of a fit fails
_HALF = 0.5  # M of labels 0 and 1, moved to -1/2 and 1/2
_DENSE_NODES = 500
_PROBES, _CANDIDATES = 200, 32


class Bound(NamedTuple):
    """A number, what it promises in words, and whether it says anything at all here."""

    value: float
    promise: str
    vacuous: bool


def spectral_stability(n_labels: int, eta: float, lambda_2: float, largest: float) -> float:
    """(b): how far the scores move, in the 2-norm, when one labeled node is changed for another.

    >>> round(float(spectral_stability(n_labels=20, eta=1.0, lambda_2=1.0, largest=1.0)), 4)
    0.145
    """
    kappa = n_labels * eta * lambda_2
    if kappa <= 0:
        return np.inf
    moved = 2 * np.sqrt(2) * largest * (n_labels - 1) / n_labels
    return (moved + largest * np.sqrt(n_labels) * _h(kappa)) / kappa


def resistance_stability(n_labels: int, eta: float, widest: float, largest: float) -> float:
    """(c): the same for every single score, from `widest` = max_x (L^+)_xx.

    It wins where lambda_2 is small because of a balanced bottleneck.
    """
    reach = widest / (n_labels * eta)
    step = 2 * largest + largest / 2 * np.sqrt(n_labels * reach)
    return 2 * reach * step + 2 * largest * np.sqrt(reach / n_labels)


def approximation_error(
    n_labels: int, eta: float, lambda_2: float, epsilon: float, largest: float
) -> float:
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


def printed_bound(
    risk: float,
    n_labels: int,
    n_others: int,
    eta: float,
    lambda_2: float,
    epsilon: float,
    largest: float,
    *,
    delta: float,
    loss: float | None = None,
) -> Bound:
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


def corrected_bound(
    risk: float,
    n_labels: int,
    n_others: int,
    eta: float,
    lambda_2: float,
    widest: float,
    epsilon: float,
    largest: float,
    *,
    delta: float,
) -> Bound:
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


def measured_bound(
    risk: float,
    n_labels: int,
    n_others: int,
    eta: float,
    lambda_2: float,
    widest: float,
    largest: float,
    *,
    delta: float,
) -> Bound:
    """The same after looking: `risk` is that of the predictions made, spectrum that of H.

    No eps enters: Stable-HFS on H is a learner of its own, with a training error of its own.
    """
    beta = _beta(n_labels, eta, lambda_2, widest, largest)
    return _bound(risk, beta, n_labels, n_others, largest, delta)


def distance_to_exact(
    energy: float,
    n_labels: int,
    eta: float,
    lambda_min: float,
    lambda_max: float,
    smallest: float,
) -> Bound:
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
    return Bound(value, f"no score differs from the whole graph's by more than {value:.3g}", False)


def bound_of_fit(graph, labeled, targets, fit, eta, *, whole=None, delta=_DELTA, random_state=None):
    """`measured_bound` for any single column of `targets`, which are 0 and 1; the worst decides.

    `fit` is what `stable_scores` returned. The bound is about f + ybar, clipped to [0, 1], not
    about the decisions, which add a threshold and a cut.

    Where `fit` is nearly that of a graph G which is read, not held, `graph` is H, and `whole(f)`
    gives an upper bound of lambda, L_H <= lambda L_G, and the product L_G f. Then
    lambda_2(G) >= lambda_2(H) / lambda, (L_G^+)_xx <= lambda (L_H^+)_xx, and f is at most
    |Pi (l eta L_G f + I_S f - y~)| / (l eta lambda_2) from the exact scores, in the 2-norm.
    """
    if graph.components().max(initial=0) > 0:
        return no_bound("the graph is not connected")
    n_labels, n_others = labeled.size, graph.n_nodes - labeled.size
    if n_others == 0:
        return Bound(0.0, "every node has a label: there is nothing to predict", False)
    rng = np.random.default_rng(random_state)
    lambda_2 = smallest_eigenvalue(graph, random_state=rng)
    widest = widest_node(graph, random_state=rng)
    predicted = np.clip(fit.centered + fit.offset, 0.0, 1.0)[labeled]
    risk = float(((predicted - targets) ** 2).mean(axis=0).max())
    low, high = max(lambda_2.value - lambda_2.error, 0.0), widest.value + widest.error
    distance = 0.0
    if whole is not None:
        steepest, product = whole(fit.centered)
        low, high = low / steepest, high * steepest
        distance = _distance_by_residual(fit, labeled, targets, n_labels * eta, product, low)
        risk = (np.sqrt(risk) + distance / np.sqrt(n_labels)) ** 2
    bound = measured_bound(risk, n_labels, n_others, eta, low, high, _HALF, delta=delta)
    value = float((np.sqrt(bound.value) + distance / np.sqrt(n_others)) ** 2)
    scores = "f + mean, clipped to [0, 1], for any one class"
    return Bound(value, _promise(value, delta, _HALF, scores=scores), value >= 4 * _HALF**2)


def no_bound(reason):
    """What can be said where no theorem applies."""
    return Bound(np.inf, f"nothing is proved here: {reason}", True)


def widest_node(graph, *, random_state=None):
    """max_x (L^+)_xx, centered over components.

    The error is zero where all nodes were solved for; otherwise it is what six standard errors of
    the sketch leave to nodes that were not looked at.

    >>> from graphsqueak.sources import complete
    >>> round(widest_node(complete(4).to_edge_list()).value, 4)  # 3 / 16
    0.1875
    """
    n_nodes = graph.n_nodes
    if n_nodes <= _DENSE_NODES:
        pinv = np.linalg.pinv(graph.laplacian().toarray(), hermitian=True)
        return Estimate(float(np.diag(pinv).max()), 0.0)
    rng = np.random.default_rng(random_state)
    solver = LaplacianSolver(graph, tol=1e-6, random_state=rng)
    signs = rng.choice((-1.0, 1.0), size=(graph.n_edges, _PROBES))
    rhs = graph.incidence().T @ (np.sqrt(graph.weight)[:, None] * signs)
    sketch = solver.solve(rhs)
    estimate = np.einsum("xk,xk->x", sketch, sketch) / _PROBES
    order = np.argsort(estimate)[::-1]
    chosen = order[:_CANDIDATES]
    unit = np.zeros((n_nodes, chosen.size))
    unit[chosen, np.arange(chosen.size)] = 1.0
    exact = solver.solve(solver.centered(unit))[chosen, np.arange(chosen.size)].max()
    rest = estimate[order[_CANDIDATES]] * (1 + 6 * np.sqrt(2 / _PROBES))
    return Estimate(float(exact), float(max(rest - exact, 0.0)))


def _distance_by_residual(fit, labeled, targets, alpha, product, lambda_2):
    """Of the worst column."""
    residual = alpha * product
    residual[labeled] += fit.centered[labeled] + fit.offset[labeled] - targets
    residual -= residual.mean(axis=0)
    with np.errstate(divide="ignore"):
        return np.linalg.norm(residual, axis=0).max() / np.float64(alpha * lambda_2)


def _beta(n_labels, eta, lambda_2, widest, largest):
    moved = min(
        spectral_stability(n_labels, eta, lambda_2, largest),
        resistance_stability(n_labels, eta, widest, largest),
    )
    return 4 * largest * (moved + 2 * largest / n_labels)


def _bound(first, beta, n_labels, n_others, largest, delta):
    value = float(first + beta + _deviation(beta, 2 * largest, n_labels, n_others, delta))
    vacuous = bool(value >= 4 * largest**2)
    scores = f"scores clipped to [{-largest:g}, {largest:g}]"
    return Bound(value, _promise(value, delta, largest, scores=scores), vacuous)


def _promise(value, delta, largest, *, scores):
    if value >= 4 * largest**2:
        said = "which says nothing, as no error is larger"
    elif value >= largest**2:
        said = f"which is more than the {largest**2:g} of a constant half-way between the labels"
    else:
        said = "a real promise"
    return (
        f"with probability {1 - delta:g} over which nodes were labeled, the mean squared error of "
        f"{scores} on the other nodes is at most {value:.3g}, {said}"
    )


def _deviation(beta, c, n_labels, n_others, delta):
    n_all, most = n_labels + n_others, max(n_labels, n_others)
    spread = n_labels * n_others / (n_all - 0.5) * 2 * most / (2 * most - 1)
    rate = 2 * beta + c**2 * n_all / (n_labels * n_others)
    return rate * np.sqrt(spread * np.log(1 / delta) / 2)


def _h(kappa):
    return 1 / (1 + kappa) if kappa >= 1 else 1 / (2 * np.sqrt(kappa))
