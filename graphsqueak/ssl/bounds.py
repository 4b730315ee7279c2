"""Bounds on the error of Stable-HFS and Sparse-HFS, with proofs that hold.

Let l be the number of labeled and u of unlabeled nodes, M the largest |label|, lambda_2 the
smallest non-zero eigenvalue of the Laplacian, kappa = l eta lambda_2, and
h(k) = 1 / (1 + k) for k >= 1, 1 / (2 sqrt k) below. On a connected graph:

 (a) |f| <= |y~| h(kappa);
 (b) exchanging one labeled node for another changes the scores by at most
     (2 sqrt2 M (l - 1) / l + M sqrt(l) h(kappa)) / kappa, in the 2-norm;
 (c) or, with R = max_x (L^+)_xx / (l eta), by 2 R (2 M + M sqrt(l R) / 2) + 2 M sqrt(R / l), each;
 (d) an eps-sparsifier changes them on the labeled nodes (root mean square) by at most
     M eps kappa / ((1 + kappa') (1 + kappa)) if kappa' = (1 - eps) kappa >= 1, and
     M eps sqrt(psi) / (2 sqrt(1 - eps)) below, psi = kappa / (1 + kappa)^2 if kappa >= 1, else 1/4.

With E the square of (d), s the smaller of (b) and (c), beta = 4 M (s + 2 M / l), and
pi = l u / (l + u - 1/2) * 2 max(l, u) / (2 max(l, u) - 1), the mean squared error R(g) of
predictions g clipped to [-M, M] on the unlabeled nodes is, with probability 1 - delta,

    R(g) <= (sqrt(risk) + sqrt(E))^2 + beta
            + (2 beta + 4 M^2 (l + u) / (l u)) sqrt(pi ln(1 / delta) / 2).

Theorem 4.8 of [C17] has the same form with several errors: its "-1"s are from a triangle
inequality that is not needed (and make it vacuous for kappa' <= 1); its beta is a difference of
scores where one of losses is meant (a factor 2 c); it omits that the mean of the labels changes as
well (2 M / l); and its last term omits a cross term. `printed_bound` is that theorem as printed,
`corrected_bound` and `measured_bound` are the ones that hold. `tests/ssl/test_bounds.py` checks all
label sets and all exchanges on small graphs, two counterexamples to the printed theorem, and many
random draws of the labeled nodes.

*Assumptions.* The labeled nodes are drawn at random, and eta and the graph do not depend on the
labels. An eta selected by the labels from K values costs a factor K of delta (all K bounds hold
together); nothing can be proved for a graph that was sampled by the labels. Columns of 0 and 1 are
moved to -1/2 and 1/2, and predictions by the same shift: M is 1/2, and the bound is about
f + ybar, clipped to [0, 1].

*Measured quantities.* Two numbers of the graph enter, each with an error that is added on the safe
side. 1 / lambda_2 is the largest x' x / x' L x, which Lanczos bounds from both sides. The diagonal
of L^+ consists of the squared row norms of L^+ B' W^(1/2), which are estimated by random signs; the
largest candidates are then solved for exactly.

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
    "Problem",
    "approximation_error",
    "bound_of_fit",
    "corrected_bound",
    "distance_to_exact",
    "max_pinv_diagonal",
    "measured_bound",
    "no_bound",
    "printed_bound",
    "resistance_stability",
    "spectral_stability",
]


class Bound(NamedTuple):
    """An upper bound.

    Attributes
    ----------
    value : float
    statement : str
        What is bounded, under which conditions.
    vacuous : bool
        Whether no larger value is possible anyway.
    """

    value: float
    statement: str
    vacuous: bool


class Problem(NamedTuple):
    """The quantities that the error bounds depend on.

    Attributes
    ----------
    n_labels, n_others : int
        l and u: labeled and unlabeled nodes.
    eta : float
    lambda_2 : float
        Smallest non-zero eigenvalue of the Laplacian, or a lower bound.
    max_diagonal : float
        Largest diagonal entry of the pseudo-inverse L^+, or an upper bound.
    max_label : float
        M.
    """

    n_labels: int
    n_others: int
    eta: float
    lambda_2: float
    max_diagonal: float
    max_label: float


def spectral_stability(n_labels: int, eta: float, lambda_2: float, max_label: float) -> float:
    """Bound (b): the change of the scores, in the 2-norm, if one labeled node is exchanged.

    >>> round(float(spectral_stability(n_labels=20, eta=1.0, lambda_2=1.0, max_label=1.0)), 4)
    0.145
    """
    kappa = n_labels * eta * lambda_2
    if kappa <= 0:
        return np.inf
    h = 1 / (1 + kappa) if kappa >= 1 else 1 / (2 * np.sqrt(kappa))
    # The first term is the change of the right-hand side, the second that of I_S, applied to f.
    change = 2 * np.sqrt(2) * max_label * (n_labels - 1) / n_labels
    return (change + max_label * np.sqrt(n_labels) * h) / kappa


def resistance_stability(n_labels: int, eta: float, max_diagonal: float, max_label: float) -> float:
    """Bound (c): the change of each score if one labeled node is exchanged.

    It is smaller than (b) if lambda_2 is small because of a balanced bottleneck.

    >>> resistance_stability(n_labels=4, eta=0.5, max_diagonal=2.0, max_label=3.0)
    21.0
    """
    R = max_diagonal / (n_labels * eta)
    factor = 2 * max_label + max_label / 2 * np.sqrt(n_labels * R)
    return float(2 * R * factor + 2 * max_label * np.sqrt(R / n_labels))


def approximation_error(
    n_labels: int, eta: float, lambda_2: float, epsilon: float, max_label: float
) -> float:
    """Bound (d): the root mean square change on the labeled nodes by an eps-sparsifier.

    >>> approximation_error(n_labels=10, eta=1.0, lambda_2=1.0, epsilon=0.0, max_label=1.0)
    0.0
    """
    kappa = n_labels * eta * lambda_2
    # The smallest kappa that an eps-sparsifier may have.
    kappa_sparse = (1 - epsilon) * kappa
    if kappa_sparse >= 1:
        return max_label * epsilon * kappa / ((1 + kappa_sparse) * (1 + kappa))
    psi = kappa / (1 + kappa) ** 2 if kappa >= 1 else 0.25
    return max_label * epsilon * np.sqrt(psi) / (2 * np.sqrt(1 - epsilon))


def printed_bound(risk: float, problem: Problem, epsilon: float, *, delta: float) -> Bound:
    """Evaluate Theorem 4.8 as printed, for comparison. It does not hold, see the module.

    Parameters
    ----------
    risk : float
        Mean squared error of exact Stable-HFS on the labeled nodes.
    problem : Problem
    epsilon : float
        Accuracy of the sparsifier.
    delta : float
        Probability, over the draw of the labeled nodes, that the bound fails.
    """
    n_labels = problem.n_labels
    max_label = problem.max_label
    # The printed constant c of the loss.
    c = 2 * max_label
    kappa = n_labels * problem.eta * problem.lambda_2
    gap = (1 - epsilon) * kappa - 1
    if gap <= 0:
        return Bound(np.inf, "Theorem 4.8 as printed is vacuous for kappa' <= 1", True)
    beta = 1.5 * max_label * np.sqrt(n_labels) / gap**2 + 4 * max_label / gap
    last_term = (epsilon * kappa * max_label / gap**2) ** 2
    value = risk + beta + _deviation(beta, problem, delta) + last_term
    statement = (
        f"Theorem 4.8 as printed claims a mean squared error of at most {value:.3g} on the other "
        "nodes; the claim has counterexamples"
    )
    return Bound(value, statement, bool(value >= c**2))


def corrected_bound(risk: float, problem: Problem, epsilon: float, *, delta: float) -> Bound:
    """Evaluate the theorem that holds, from the accuracy of a sparsifier that was not measured.

    Parameters
    ----------
    risk : float
        Mean squared error of exact Stable-HFS on the labeled nodes.
    problem : Problem
        Of the graph G.
    epsilon : float
        Accuracy of the sparsifier of G.
    delta : float
        Probability, over the draw of the labeled nodes, that the bound fails.
    """
    # R(g) has the risk on G plus the change by sparsification, and the stability of H.
    error = approximation_error(
        problem.n_labels, problem.eta, problem.lambda_2, epsilon, problem.max_label
    )
    sparsified = problem._replace(
        lambda_2=(1 - epsilon) * problem.lambda_2,
        max_diagonal=problem.max_diagonal / (1 - epsilon),
    )
    return measured_bound((np.sqrt(risk) + error) ** 2, sparsified, delta=delta)


def measured_bound(risk: float, problem: Problem, *, delta: float) -> Bound:
    """Evaluate the same theorem for predictions on a graph that was measured.

    No accuracy enters: Stable-HFS on a sparsifier H is a learner with a training error of its own.

    Parameters
    ----------
    risk : float
        Mean squared error of the predictions on the labeled nodes.
    problem : Problem
        Of the graph, or of the sparsifier, that the predictions are from.
    delta : float
        Probability, over the draw of the labeled nodes, that the bound fails.

    Examples
    --------
    >>> problem = Problem(200, 10_000, 1.0, lambda_2=4.0, max_diagonal=0.3, max_label=1.0)
    >>> measured_bound(0.1, problem, delta=0.05).vacuous
    False
    """
    max_label = problem.max_label
    change = min(
        spectral_stability(problem.n_labels, problem.eta, problem.lambda_2, max_label),
        resistance_stability(problem.n_labels, problem.eta, problem.max_diagonal, max_label),
    )
    beta = 4 * max_label * (change + 2 * max_label / problem.n_labels)
    value = float(risk + beta + _deviation(beta, problem, delta))
    scores = f"scores clipped to [{-max_label:g}, {max_label:g}]"
    statement = _statement(value, delta, max_label, scores=scores)
    return Bound(value, statement, bool(value >= 4 * max_label**2))


def distance_to_exact(
    energy: float,
    n_labels: int,
    eta: float,
    lambda_min: float,
    lambda_max: float,
    smallest: float,
) -> Bound:
    """Bound the difference between the scores on a sparsifier H and on its graph G, from H alone.

    With lambda_min L_G <= L_H <= lambda_max L_G (a certificate's interval),
    e = max |1 - 1/lambda| and z^2 = f' L_H f,

        |f_H - f_G| <= e sqrt(l eta lambda_max / sigma) z       in the 2-norm, so for every node.

    Parameters
    ----------
    energy : float
        z^2 = f' L_H f of the scores on H.
    n_labels : int
    eta : float
    lambda_min, lambda_max : float
    smallest : float
        sigma, or a lower bound: the smallest eigenvalue of Pi (l eta L_H / lambda_max + I_S) Pi
        on the functions that sum to zero; l eta lambda_2(H) / lambda_max always is one.
    """
    # The largest relative error of L_G when it is replaced by L_H.
    e = max(abs(1 - 1 / lambda_min), abs(1 - 1 / lambda_max))
    value = float(e * np.sqrt(n_labels * eta * lambda_max / smallest * energy))
    statement = f"no score differs from that on the whole graph by more than {value:.3g}"
    return Bound(value, statement, False)


def bound_of_fit(graph, labeled, targets, fit, eta, *, whole=None, delta=0.05, random_state=None):
    """Bound the squared error of a fit on the unlabeled nodes, for any single class.

    It is the `measured_bound` of the worst column. It is about f + ybar, clipped to [0, 1], not
    about the decisions, which add a prior weight and a threshold.

    Parameters
    ----------
    graph : EdgeList
        The graph of the fit or, with `whole`, a sparsifier H of it.
    labeled : array of int, shape (l,)
    targets : array of shape (l, C)
        Columns of 0 and 1.
    fit : Fit
        Result of `stable_scores`.
    eta : float
    whole : callable, optional
        If the fit is nearly that of a graph G which is streamed: whole(f) returns an upper bound
        of lambda, L_H <= lambda L_G, and the product L_G f. Then
        lambda_2(G) >= lambda_2(H) / lambda, (L_G^+)_xx <= lambda (L_H^+)_xx, and f is at most
        |Pi (l eta L_G f + I_S f - y~)| / (l eta lambda_2) from the exact scores, in the 2-norm.
    delta : float
        Probability, over the draw of the labeled nodes, that the bound fails.
    random_state : int, Generator or None

    Returns
    -------
    Bound
    """
    if graph.components().max(initial=0) > 0:
        return no_bound("the graph is not connected")
    n_labels = labeled.size
    n_others = graph.n_nodes - n_labels
    if n_others == 0:
        return Bound(0.0, "every node has a label: there is nothing to predict", False)
    rng = np.random.default_rng(random_state)
    smallest = smallest_eigenvalue(graph, random_state=rng)
    largest = max_pinv_diagonal(graph, random_state=rng)
    # Errors of both measurements are added on the safe side.
    lambda_2 = max(smallest.value - smallest.error, 0.0)
    max_diagonal = largest.value + largest.error
    predicted = np.clip(fit.centered + fit.offset, 0.0, 1.0)[labeled]
    risk = float(((predicted - targets) ** 2).mean(axis=0).max())
    distance = 0.0
    if whole is not None:
        lambda_max, product = whole(fit.centered)
        # From H to G: L_H <= lambda_max L_G.
        lambda_2 /= lambda_max
        max_diagonal *= lambda_max
        distance = _distance_by_residual(fit, labeled, targets, n_labels * eta, product, lambda_2)
        # The bound is for the exact scores, from which these differ by at most `distance`.
        risk = (np.sqrt(risk) + distance / np.sqrt(n_labels)) ** 2
    # Labels 0 and 1, moved to -1/2 and 1/2.
    max_label = 0.5
    problem = Problem(n_labels, n_others, eta, lambda_2, max_diagonal, max_label)
    bound = measured_bound(risk, problem, delta=delta)
    value = float((np.sqrt(bound.value) + distance / np.sqrt(n_others)) ** 2)
    scores = "f + mean, clipped to [0, 1], for any one class"
    statement = _statement(value, delta, max_label, scores=scores)
    return Bound(value, statement, value >= 4 * max_label**2)


def no_bound(reason):
    """Return the bound of a fit to which no theorem applies."""
    return Bound(np.inf, f"nothing is proved: {reason}", True)


def max_pinv_diagonal(
    graph, *, n_probes=200, n_candidates=32, max_dense_nodes=500, random_state=None
):
    """Estimate max_x (L^+)_xx, centered over components.

    Parameters
    ----------
    graph : EdgeList
    n_probes : int
        Random signs by which the diagonal is sketched, with relative error sqrt(2 / n_probes).
    n_candidates : int
        Nodes with the largest sketched entries, whose entries are computed exactly.
    max_dense_nodes : int
        Up to this number of nodes the diagonal is computed by dense algebra.
    random_state : int, Generator or None

    Returns
    -------
    Estimate
        The error is 0 if all entries were computed exactly; otherwise it is the amount by which
        six standard errors of the sketch at the other nodes exceed the value.

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> round(max_pinv_diagonal(complete(4).to_edge_list()).value, 4)  # 3 / 16
    0.1875
    """
    if graph.n_nodes <= max_dense_nodes:
        pinv = np.linalg.pinv(graph.laplacian().toarray(), hermitian=True)
        return Estimate(float(np.diag(pinv).max()), 0.0)
    rng = np.random.default_rng(random_state)
    solver = LaplacianSolver(graph, tol=1e-6, random_state=rng)
    # L^+ = (L^+ B' W^(1/2)) (L^+ B' W^(1/2))', so that random signs give its diagonal.
    signs = rng.choice((-1.0, 1.0), size=(graph.n_edges, n_probes))
    rhs = graph.incidence().T @ (np.sqrt(graph.weight)[:, None] * signs)
    sketch = solver.solve(rhs)
    estimate = np.einsum("xk,xk->x", sketch, sketch) / n_probes
    # The largest entries are solved for exactly, since the sketch has an error of its own.
    order = np.argsort(estimate)[::-1]
    candidates = order[:n_candidates]
    unit = np.zeros((graph.n_nodes, candidates.size))
    unit[candidates, np.arange(candidates.size)] = 1.0
    columns = solver.solve(solver.centered(unit))
    exact = columns[candidates, np.arange(candidates.size)].max()
    others = estimate[order[n_candidates]] * (1 + 6 * np.sqrt(2 / n_probes))
    return Estimate(float(exact), float(max(others - exact, 0.0)))


def _distance_by_residual(fit, labeled, targets, alpha, product, lambda_2):
    """Return the bound of `bound_of_fit` on the distance to the exact scores, in the worst column.

    `product` is L_G f.
    """
    residual = alpha * product
    residual[labeled] += fit.centered[labeled] + fit.offset[labeled] - targets
    residual -= residual.mean(axis=0)
    with np.errstate(divide="ignore"):
        return np.linalg.norm(residual, axis=0).max() / np.float64(alpha * lambda_2)


def _statement(value, delta, max_label, *, scores):
    if value >= 4 * max_label**2:
        comment = "which is vacuous, since no error is larger"
    else:
        relation = "more" if value >= max_label**2 else "less"
        comment = (
            f"which is {relation} than the {max_label**2:g} of a constant half-way between the "
            "labels"
        )
    return (
        f"with probability {1 - delta:g} over the draw of the labeled nodes, the mean squared "
        f"error of {scores} on the other nodes is at most {value:.3g}, {comment}"
    )


def _deviation(beta, problem, delta):
    """Return the last term of the theorem: how far the error may be from its expectation."""
    n_labels = problem.n_labels
    n_others = problem.n_others
    n_all = n_labels + n_others
    largest = max(n_labels, n_others)
    pi = n_labels * n_others / (n_all - 0.5) * 2 * largest / (2 * largest - 1)
    rate = 2 * beta + 4 * problem.max_label**2 * n_all / (n_labels * n_others)
    return rate * np.sqrt(pi * np.log(1 / delta) / 2)
