"""Every proved bound holds over all label sets and swaps of small graphs; the printed one fails."""

from itertools import combinations, product

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.graph import EdgeList
from graphsqueak.sources import chung_lu, complete, erdos_renyi
from graphsqueak.sparsifiers.certificate.outer_bounds import smallest_eigenvalue
from graphsqueak.ssl import StableHFSClassifier
from graphsqueak.ssl.bounds import (
    Problem,
    approximation_error,
    bound_of_fit,
    corrected_bound,
    distance_to_exact,
    max_pinv_diagonal,
    measured_bound,
    printed_bound,
    resistance_stability,
    spectral_stability,
)
from graphsqueak.ssl.stable import Fit
from tests import reference
from tests.ssl.graphs import hide, random_graph, two_blocks

CASES = list(product([11_020, 50_417, 93_006], [0.02, 0.3, 4.0]))


def scores(graph, nodes, y, alpha):
    nodes = np.array(nodes)
    centered, mean, _ = reference.stable_hfs(graph, nodes, y[nodes][:, None], alpha)
    return centered.ravel(), float(mean[0, 0])


def small(seed):
    graph = random_graph(seed, n_nodes=7, n_edges=6)
    y = np.random.default_rng(seed).choice([-1.0, 1.0], size=7)
    y[:2] = 1.0, -1.0
    return graph, y, np.linalg.eigvalsh(graph.laplacian().toarray())[1]


@pytest.mark.parametrize(("seed", "eta"), CASES)
def test_stability_over_all_sets_and_swaps(seed, eta):
    graph, y, lambda_2 = small(seed)
    widest = max_pinv_diagonal(graph).value
    spectral = spectral_stability(3, eta, lambda_2, 1.0)
    resistive = resistance_stability(3, eta, widest, 1.0)
    fits = {nodes: scores(graph, nodes, y, 3 * eta) for nodes in combinations(range(7), 3)}
    for (one, (f, mean)), (other, (g, other_mean)) in product(fits.items(), fits.items()):
        if len(set(one) & set(other)) == 2:
            assert np.linalg.norm(f - g) <= spectral + 1e-9
            assert np.abs(f - g).max() <= resistive + 1e-9
            assert abs(mean - other_mean) <= 2 / 3 + 1e-9


def test_stability_has_every_term_of_its_formula():
    """(b) and (c) by hand: over the swaps above they have slack enough to lose a term."""
    # (c): R = 2 / (4 * 0.5) = 1, so 2 R (2 M + M sqrt(4 R) / 2) = 18 and 2 M sqrt(R / 4) = 3.
    assert resistance_stability(4, 0.5, 2.0, 3.0) == pytest.approx(21.0, rel=1e-12)
    # R = 4: 2 R (2 M + M sqrt(16) / 2) = 32 and 2 M sqrt(4 / 4) = 2.
    assert resistance_stability(4, 0.5, 8.0, 1.0) == pytest.approx(34.0, rel=1e-12)
    # (b): kappa = 4, h = 1/5; kappa = 1/4, h = 1.
    moved = 2 * np.sqrt(2) * 3 / 4
    assert spectral_stability(4, 0.5, 2.0, 1.0) == pytest.approx((moved + 0.4) / 4, rel=1e-12)
    assert spectral_stability(4, 0.125, 0.5, 2.0) == pytest.approx(8 * (moved + 2), rel=1e-12)
    assert spectral_stability(4, 0.5, 0.0, 1.0) == np.inf


def test_the_distance_of_a_sparsifier_has_every_factor_of_its_formula():
    """(d) on both sides of kappa' = 1 and of kappa = 1, and (f)."""
    assert approximation_error(4, 0.5, 2.0, 0.5, 3.0) == pytest.approx(3 * 2 / 15, rel=1e-12)
    below = approximation_error(4, 0.5, 1.5, 0.75, 2.0)  # kappa = 3, psi = 3/16
    assert below == pytest.approx(2 * 0.75 * np.sqrt(3) / 4, rel=1e-12)
    small = approximation_error(4, 0.5, 0.25, 0.75, 2.0)  # kappa = 1/2, psi = 1/4
    assert small == pytest.approx(2 * 0.75 / 2, rel=1e-12)
    distance = distance_to_exact(4.0, 2, 0.5, 0.5, 2.0, 0.25)
    assert distance.value == pytest.approx(np.sqrt(2 / 0.25 * 4), rel=1e-12)
    assert distance_to_exact(4.0, 2, 0.5, 0.9, 4.0, 0.25).value == pytest.approx(6.0, rel=1e-12)


@pytest.mark.parametrize(("n_labels", "n_others"), [(30, 70), (70, 30)])
@pytest.mark.parametrize("widest", [0.05, 50.0])
def test_the_theorem_is_the_sum_that_its_docstring_prints(n_labels, n_others, widest):
    """R <= (sqrt(risk) + sqrt(E))^2 + beta + (2 beta + 4 M^2 (l + u) / (l u)) sqrt(...)."""
    risk, eta, lambda_2, epsilon, largest, delta = 0.09, 0.5, 0.8, 0.25, 0.5, 0.1

    def rest(low, high):
        moved = min(
            spectral_stability(n_labels, eta, low, largest),
            resistance_stability(n_labels, eta, high, largest),
        )
        beta = 4 * largest * (moved + 2 * largest / n_labels)
        most = max(n_labels, n_others)
        pi = n_labels * n_others / (100 - 0.5) * 2 * most / (2 * most - 1)
        rate = 2 * beta + 4 * largest**2 * 100 / (n_labels * n_others)
        return beta + rate * np.sqrt(pi * np.log(1 / delta) / 2)

    problem = Problem(n_labels, n_others, eta, lambda_2, widest, largest)
    measured = measured_bound(risk, problem, delta=delta)
    assert measured.value == pytest.approx(risk + rest(lambda_2, widest), rel=1e-12)
    corrected = corrected_bound(risk, problem, epsilon, delta=delta)
    error = approximation_error(n_labels, eta, lambda_2, epsilon, largest)
    expected = (0.3 + error) ** 2 + rest(0.75 * lambda_2, widest / 0.75)
    assert corrected.value == pytest.approx(expected, rel=1e-12)
    printed = printed_bound(risk, problem, epsilon, delta=delta)
    kappa = n_labels * eta * lambda_2
    gap = 0.75 * kappa - 1
    beta = 1.5 * largest * np.sqrt(n_labels) / gap**2 + 4 * largest / gap
    most = max(n_labels, n_others)
    pi = n_labels * n_others / (100 - 0.5) * 2 * most / (2 * most - 1)
    rate = 2 * beta + (2 * largest) ** 2 * 100 / (n_labels * n_others)
    expected = risk + beta + rate * np.sqrt(pi * np.log(1 / delta) / 2)
    expected += (epsilon * kappa * largest / gap**2) ** 2
    assert printed.value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("seed", "eta"), CASES)
def test_a_column_of_zeros_and_ones_is_as_stable_as_labels_of_one_half(seed, eta):
    """No swap changes the loss of a node by more than 4 M (s + 2 M / l), M = 1/2."""
    graph, y, lambda_2 = small(seed)
    y, widest = (y + 1) / 2, max_pinv_diagonal(graph).value
    moved = min(
        spectral_stability(3, eta, lambda_2, 0.5), resistance_stability(3, eta, widest, 0.5)
    )
    loss = {}
    for nodes in combinations(range(7), 3):
        f, mean = scores(graph, nodes, y, 3 * eta)
        loss[nodes] = (np.clip(f + mean, 0, 1) - y) ** 2
    for one, other in product(loss, loss):
        if len(set(one) & set(other)) == 2:
            assert np.abs(loss[one] - loss[other]).max() <= 2 * (moved + 1 / 3) + 1e-9


@pytest.mark.parametrize(
    ("graph", "eta"),
    [
        (complete(60).to_edge_list(), 3.0),  # the loosest fit: f + ybar is nearly constant
        (two_blocks(41_903)[0], 0.01),
        (random_graph(6_618, n_nodes=50), 1e-4),  # the closest: labels are learned by heart
    ],
)
def test_the_bound_covers_random_draws_of_the_labeled_nodes(graph, eta):
    """Half of the nodes are labeled at random, 100 times; the truth is random."""
    rng, delta, n_draws, missed = np.random.default_rng(77_041), 0.2, 100, 0
    n_nodes = graph.n_nodes
    truth = rng.integers(2, size=n_nodes).astype(float)
    for _ in range(n_draws):
        nodes = np.sort(rng.choice(n_nodes, n_nodes // 2, replace=False))
        targets = truth[nodes][:, None]
        fit = Fit(*reference.stable_hfs(graph, nodes, targets, nodes.size * eta))
        wrong = np.clip(fit.centered + fit.offset, 0, 1).ravel() - truth
        bound = bound_of_fit(graph, nodes, targets, fit, eta, delta=delta)
        missed += np.mean(np.delete(wrong, nodes) ** 2) > bound.value
    assert missed <= n_draws * delta + 6 * np.sqrt(n_draws * delta * (1 - delta))


def test_the_bound_of_a_classifier_counts_its_columns_as_plus_and_minus_one_half():
    """On K500 at l = 250 and a large eta f is 0, the risk 1/4, and beta 4 M 2 M / l = 1 / 125."""
    y = np.where(np.arange(500) < 250, np.arange(500) % 2, -1)
    bound = gs.StableHFSClassifier(eta=10.0).fit(complete(500), y).bound_
    spread = 250 * 250 / 499.5 * 500 / 499
    deviation = (2 / 125 + 500 / 250**2) * np.sqrt(spread * np.log(20) / 2)
    assert bound.value == pytest.approx(0.25 + 1 / 125 + deviation, abs=1e-3)
    assert not bound.vacuous
    assert "probability 0.95" in bound.statement
    assert "more than the 0.25 of a constant" in bound.statement
    assert "squared error of f + mean, clipped to [0, 1], for any one class on" in bound.statement


def test_the_bound_is_about_clipped_scores():
    """Scores beyond 0 and 1 have the bound of clipped ones; their own error may be larger."""
    graph = complete(40).to_edge_list()
    nodes = np.arange(20)
    targets = (nodes % 2).astype(float)[:, None]
    fit = Fit(*reference.stable_hfs(graph, nodes, targets, 20 * 0.01))
    far = fit._replace(centered=np.where(np.arange(40)[:, None] % 2, 9.0, -9.0))
    clipped = fit._replace(centered=np.clip(far.centered + fit.offset, 0, 1) - fit.offset)
    bound = bound_of_fit(graph, nodes, targets, far, 0.01)
    assert bound == bound_of_fit(graph, nodes, targets, clipped, 0.01)
    truth = np.arange(40)[20:] % 2
    assert np.mean(((far.centered + fit.offset)[20:, 0] - truth) ** 2) > bound.value
    problem = Problem(20, 20, 0.01, lambda_2=40.0, max_diagonal=0.1, max_label=0.7)
    general = measured_bound(0.1, problem, delta=0.05)
    assert "scores clipped to [-0.7, 0.7]" in general.statement


def test_no_squared_error_is_above_one_so_a_larger_bound_is_vacuous():
    y = np.where(np.arange(100) < 50, np.arange(100) % 2, -1)
    bound = gs.StableHFSClassifier(eta=10.0).fit(complete(100), y).bound_
    assert 1 < bound.value < 4
    assert bound.vacuous
    assert "is vacuous" in bound.statement


def test_nothing_is_proved_for_a_graph_that_the_labels_sampled():
    dense = gs.sources.block_model(100, 3_000, random_state=5)
    y = np.where(np.arange(100) < 50, np.arange(100) % 4, -1)
    for share in ("auto", 0.5):
        clf = gs.SparseHFSClassifier(
            n_edges=900, priority_fraction=share, max_passes=1, random_state=7
        )
        assert "the sampled edges depend on the labels" in clf.fit(dense, y).bound_.statement
        clf.partial_fit(dense, y)
        assert np.isinf(clf.bound_.value)
    plain = gs.SparseHFSClassifier(n_edges=900, priority_fraction=0.0, max_passes=1, random_state=7)
    assert np.isfinite(plain.fit(dense, y).bound_.value)
    whole = gs.SparseHFSClassifier(n_edges=3_000, random_state=7).fit(dense, y)
    assert np.isfinite(whole.bound_.value)


@pytest.mark.parametrize(("seed", "eta"), CASES)
@pytest.mark.parametrize("epsilon", [0.1, 0.6])
def test_distance_between_a_graph_and_its_sparsifier(seed, eta, epsilon):
    """(d) before looking and (f) after; H is G with weights changed by up to eps."""
    graph, y, lambda_2 = small(seed)
    factor = np.random.default_rng(seed + 1).uniform(1 - epsilon, 1 + epsilon, graph.n_edges)
    other = EdgeList(tail=graph.tail, head=graph.head, weight=graph.weight * factor, n_nodes=7)
    error = approximation_error(3, eta, lambda_2, epsilon, 1.0)
    low, high = pencil(graph, other)
    for nodes in combinations(range(7), 3):
        exact, _ = scores(graph, nodes, y, 3 * eta)
        rough, _ = scores(other, nodes, y, 3 * eta)
        off = (rough - exact)[list(nodes)]
        assert np.sqrt(np.mean(off**2)) <= error + 1e-9
        energy = float(rough @ (other.laplacian() @ rough))
        sigma = smallest_on_centered(other, nodes, 3 * eta / high)
        promised = distance_to_exact(energy, 3, eta, low, high, sigma).value
        assert np.linalg.norm(rough - exact) <= promised + 1e-9
        assert (
            objective(graph, rough, nodes, y, eta)
            <= (1 + epsilon) / (1 - epsilon) * objective(graph, exact, nodes, y, eta) + 1e-9
        )


def pencil(graph, other):
    ones = np.ones((7, 7))
    values = np.linalg.eigvals(
        np.linalg.solve(graph.laplacian().toarray() + ones, other.laplacian().toarray() + ones)
    ).real
    return min(values.min(), 1.0), max(values.max(), 1.0)


def smallest_on_centered(graph, nodes, alpha):
    project = np.eye(7) - 1 / 7
    chosen = np.diag(np.isin(np.arange(7), nodes).astype(float))
    return np.linalg.eigvalsh(project @ (alpha * graph.laplacian().toarray() + chosen) @ project)[1]


def objective(graph, f, nodes, y, eta):
    nodes = list(nodes)
    loss = np.mean((f[nodes] - y[nodes] + y[nodes].mean()) ** 2)
    return loss + eta * float(f @ (graph.laplacian() @ f))


def test_the_printed_stability_is_violated_on_the_complete_graph():
    """K6, M = 10, l = 3, kappa = 3: a swap changes a loss by more than the printed beta."""
    graph, eta = complete(6).to_edge_list(), 3 / (3 * 6)
    printed = 15 * np.sqrt(3) / 4 + 20
    worst = 0.0
    for signs in product([-10.0, 10.0], repeat=6):
        y = np.array(signs)
        f, _ = scores(graph, (0, 1, 2), y, 3 * eta)
        g, _ = scores(graph, (0, 1, 3), y, 3 * eta)
        worst = max(worst, np.abs((f - y) ** 2 - (g - y) ** 2).max())
    assert worst > 1.5 * printed
    correct = 40 * (spectral_stability(3, eta, 6.0, 10.0) + 20 / 3)
    assert worst <= correct


def test_the_printed_approximation_term_is_violated_on_the_complete_graph():
    """K12 and H = 1.1 G, kappa = 5: the training error grows by more than the printed term."""
    graph = complete(12).to_edge_list()
    heavier = EdgeList(tail=graph.tail, head=graph.head, weight=1.1 * graph.weight)
    y, nodes = np.where(np.arange(12) % 2, 1.0, -1.0), np.arange(6)
    eta = 5 / (6 * 12)
    risk = {}
    for name, each in (("exact", graph), ("rough", heavier)):
        f, _ = scores(each, nodes, y, 6 * eta)
        risk[name] = np.mean((f - y)[nodes] ** 2)
    printed = (0.1 * 5 / (0.9 * 5 - 1) ** 2) ** 2
    assert risk["rough"] - risk["exact"] > 5 * printed
    ours = (np.sqrt(risk["exact"]) + approximation_error(6, eta, 12.0, 0.1, 1.0)) ** 2
    assert risk["rough"] <= ours


def test_the_corrected_theorem_is_looser_where_the_printed_one_forgot_terms():
    problem = Problem(200, 10_000, 1.0, lambda_2=4.0, max_diagonal=0.3, max_label=1.0)
    printed = printed_bound(0.1, problem, epsilon=0.5, delta=0.05)
    corrected = corrected_bound(0.1, problem, epsilon=0.5, delta=0.05)
    assert not printed.vacuous
    assert corrected.value > printed.value
    assert "probability 0.95" in corrected.statement


def test_bounds_that_are_vacuous_are_marked():
    problem = Problem(4, 1000, 0.01, lambda_2=0.01, max_diagonal=100.0, max_label=1.0)
    assert printed_bound(0.0, problem, epsilon=0.5, delta=0.05).vacuous
    bound = measured_bound(0.0, problem, delta=0.05)
    assert bound.vacuous
    assert "is vacuous" in bound.statement


def test_the_spectrum_of_a_larger_graph_is_that_of_dense_algebra():
    graph = chung_lu(1_200, 9_000, random_state=8).to_edge_list()
    values = np.linalg.eigvalsh(graph.laplacian().toarray())
    n_components = graph.components().max() + 1
    measured = smallest_eigenvalue(graph, random_state=7)
    truth = values[n_components]
    assert measured.value - measured.error <= truth * (1 + 1e-9)
    assert truth <= measured.value * (1 + 1e-9)
    assert measured.error <= 0.03 * truth
    widest = max_pinv_diagonal(graph, random_state=7)
    exact = np.diag(np.linalg.pinv(graph.laplacian().toarray(), hermitian=True)).max()
    assert widest.value - 1e-6 <= exact <= widest.value + widest.error + 1e-6


def test_no_eigenvalue_below_the_error_bar_of_lambda_2():
    """After three steps lambda_2 has not been found; the bar covers it as often as it says."""
    graph = random_graph(70_316, n_nodes=1_020, n_edges=6_000)
    truth = np.linalg.eigvalsh(graph.laplacian().toarray())[1]
    n_missed, n_runs, delta = 0, 40, 0.2
    for seed in range(n_runs):
        measured = smallest_eigenvalue(graph, steps=3, delta=delta, random_state=seed)
        assert truth <= measured.value * (1 + 1e-9)
        n_missed += measured.value - measured.error > truth
    assert measured.error > 0.01 * truth
    assert n_missed <= n_runs * delta + 6 * np.sqrt(n_runs * delta * (1 - delta))


def test_the_bound_of_a_larger_graph_depends_on_the_seed_only():
    halves = two_blocks(70_317, size=300, inside=0.1, between=0.0001)[0]
    y = hide((np.arange(600) < 300).astype(int), np.arange(0, 600, 3))
    fitted = [StableHFSClassifier(eta=1.0, random_state=3).fit(halves, y) for _ in range(2)]
    assert np.isfinite(fitted[0].bound_.value)
    assert fitted[0].bound_ == fitted[1].bound_


def test_the_bound_after_several_passes_is_about_the_whole_graph():
    """It is at least that of the whole graph, and no looser than the certificate makes it."""
    graph = erdos_renyi(300, 30_000, random_state=8_311).to_edge_list()
    y = np.full(300, -1)
    y[:120] = np.arange(120) % 2
    read = gs.SparseHFSClassifier(n_edges=6_000, eta=2.0, random_state=7).fit(graph, y)
    exact = gs.StableHFSClassifier(eta=2.0).fit(graph, y)
    assert read.n_passes_ > 1
    assert exact.bound_.value <= read.bound_.value <= 1.5 * exact.bound_.value
    assert not read.bound_.vacuous


@pytest.mark.parametrize("wrong", [0.0, 0.01, 0.3])
def test_scores_are_no_further_from_the_exact_ones_than_their_residual_says(wrong):
    """What is added to the bound covers the distance of scores that are off."""
    graph = random_graph(41_077, n_nodes=40, n_edges=200)
    nodes, rng = np.arange(12), np.random.default_rng(5_309)
    targets, eta = np.eye(2)[nodes % 2], 0.5
    centered, mean, _ = reference.stable_hfs(graph, nodes, targets, 12 * eta)
    noise = wrong * rng.normal(size=centered.shape)
    fit = Fit(centered + noise - noise.mean(axis=0), np.tile(mean[0], (40, 1)), np.ones(40, bool))
    laplacian = graph.laplacian().toarray()
    of_exact = bound_of_fit(graph, nodes, targets, fit._replace(centered=centered), eta)
    of_wrong = bound_of_fit(
        graph, nodes, targets, fit, eta, whole=lambda scores: (1.0, laplacian @ scores)
    )
    far = np.linalg.norm(fit.centered - centered, axis=0).max()
    assert np.sqrt(of_wrong.value) >= np.sqrt(of_exact.value) + far / np.sqrt(28) - 1e-9
