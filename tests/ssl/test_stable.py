"""Stable-HFS and its leave-one-out: closed forms, the dense reference, and invariances."""

import numpy as np
import pytest

from graphsqueak.graph import EdgeList
from graphsqueak.sources import grid
from graphsqueak.ssl.stable import (
    LooSolver,
    Problem,
    diagonal_at_other_eta,
    inv_mean_degree,
    stable_scores,
)
from tests import reference
from tests.ssl.graphs import leave_one_out, random_graph, smooth_labels, three_parts

LABELED = np.array([2, 5, 11, 17, 23])
TARGETS = np.random.default_rng(640_221).normal(size=(5, 3))


@pytest.mark.parametrize("alpha", [1e-4, 0.2, 50.0])
def test_scores_are_those_of_the_dense_reference(alpha):
    graph = random_graph(81_223)
    fit = stable_scores(graph, LABELED, TARGETS, alpha, tol=1e-12)
    scores, mean, _ = reference.stable_hfs(graph, LABELED, TARGETS, alpha)
    np.testing.assert_allclose(fit.centered, scores, atol=1e-8)
    np.testing.assert_allclose(fit.offset, mean)


def test_every_component_has_its_own_mean_and_constraint():
    graph, labeled = three_parts(55_102)
    targets = np.random.default_rng(9_120).normal(size=(labeled.size, 2))
    fit = stable_scores(graph, labeled, targets, 0.7, tol=1e-12)
    scores, mean, reached = reference.stable_hfs(graph, labeled, targets, 0.7)
    np.testing.assert_allclose(fit.centered, scores, atol=1e-8)
    np.testing.assert_allclose(fit.offset, mean)
    assert fit.has_label.tolist() == reached.tolist() == [True] * 21 + [False] * 5
    for part in (slice(0, 12), slice(12, 21), slice(21, 26)):
        np.testing.assert_allclose(fit.centered[part].sum(axis=0), 0, atol=1e-9)


def test_labels_centered_on_labeled_nodes_differ_from_raw_ones():
    """Both sum to zero; only a shift on all nodes is absorbed by the multiplier."""
    graph = random_graph(33_018)
    matrix = np.zeros(graph.n_nodes)
    matrix[LABELED] = 1.0
    system = 0.5 * graph.laplacian().toarray() + np.diag(matrix)
    y = np.zeros(graph.n_nodes)
    y[LABELED] = TARGETS[:, 0] + 3.0
    raw = constrained(system, y)
    fit = stable_scores(graph, LABELED, TARGETS[:, :1] + 3.0, 0.5, tol=1e-12).centered.ravel()
    np.testing.assert_allclose(raw.sum(), 0, atol=1e-9)
    np.testing.assert_allclose(constrained(system, y - 3.0), raw, atol=1e-9)
    assert np.abs(raw - fit).max() > 0.1


def constrained(system, y):
    v, z = np.linalg.solve(system, np.column_stack([np.ones_like(y), y])).T
    return z - z.sum() / v.sum() * v


def test_rows_of_one_hot_labels_sum_to_one():
    graph = random_graph(12_877)
    targets = np.eye(3)[[0, 1, 2, 0, 1]]
    fit = stable_scores(graph, LABELED, targets, 0.3, tol=1e-12)
    np.testing.assert_allclose((fit.centered + fit.offset).sum(axis=1), 1.0, atol=1e-9)


def test_renaming_the_nodes_renames_the_scores():
    graph, order = random_graph(72_004), np.random.default_rng(501).permutation(30)
    renamed = EdgeList(tail=order[graph.tail], head=order[graph.head], weight=graph.weight)
    fit = stable_scores(graph, LABELED, TARGETS, 0.4, tol=1e-12)
    other = stable_scores(renamed, order[LABELED], TARGETS, 0.4, tol=1e-12)
    np.testing.assert_allclose(other.centered[order], fit.centered, atol=1e-8)


def test_scaling_the_weights_is_scaling_eta():
    graph = random_graph(90_443)
    heavier = EdgeList(tail=graph.tail, head=graph.head, weight=8 * graph.weight, n_nodes=30)
    fit = stable_scores(graph, LABELED, TARGETS, 0.8, tol=1e-12)
    other = stable_scores(heavier, LABELED, TARGETS, 0.1, tol=1e-12)
    np.testing.assert_allclose(other.centered, fit.centered, atol=1e-8)


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 20.0])
def test_leave_one_out_is_what_refitting_gives(alpha):
    graph, labeled = three_parts(41_777)
    targets = np.random.default_rng(3_004).normal(size=(labeled.size, 2))
    scores, mean, _ = leave_one_out(graph, labeled, targets, alpha)
    for i, node in enumerate(labeled):
        others = np.delete(np.arange(labeled.size), i)
        fit = stable_scores(graph, labeled[others], targets[others], alpha, tol=1e-12)
        np.testing.assert_allclose(scores[i], fit.centered[node], atol=1e-7)
        np.testing.assert_allclose(mean[i], fit.offset[node], atol=1e-9)


def test_leave_one_out_with_no_unlabeled_node():
    graph, labeled = random_graph(7_741, n_nodes=6, n_edges=12), np.arange(6)
    targets = np.random.default_rng(51).normal(size=(6, 1))
    scores = leave_one_out(graph, labeled, targets, 0.5).scores
    refit = [
        stable_scores(graph, np.delete(labeled, i), np.delete(targets, i, axis=0), 0.5).centered[i]
        for i in range(6)
    ]
    np.testing.assert_allclose(scores, refit, atol=1e-6)


def test_a_sketched_diagonal_gives_leave_one_out_within_its_noise():
    """The error of a score is that of M_ii times (y_i - ybar_i - score_i) / (1 - M_ii)."""
    graph, labeled = random_graph(5_518, n_nodes=80, n_edges=300), np.arange(0, 80, 2)
    targets = np.random.default_rng(77_310).normal(size=(40, 1))
    exact = leave_one_out(graph, labeled, targets, 0.3)
    smoother = smooth_labels(graph, labeled, np.eye(40), 0.3, tol=1e-12)[labeled]
    own = np.diag(smoother)
    for seed in range(3):
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(40, 39))
        sketch = leave_one_out(graph, labeled, targets, 0.3, signs=signs)
        spread = np.sqrt(((smoother**2).sum(axis=1) - own**2) / 39)
        factor = np.abs(targets - exact.mean - exact.scores).ravel() / (1 - own)
        wrong = np.abs(sketch.scores - exact.scores).ravel()
        room = 6 * spread
        assert (wrong <= factor * room / (1 - room / (1 - own)) + 1e-9).all()


def test_leave_one_out_to_few_digits_and_the_fit_that_goes_on_from_there():
    """Float32 and a tolerance of 1e-4 first; then the whole fit, by the dense reference."""
    graph, labeled = three_parts(30_517)
    targets = np.eye(3)[[0, 1, 2, 0, 1, 1]]
    solver = LooSolver(graph, Problem(labeled, targets), tol=1e-10, random_state=7)
    exact = leave_one_out(graph, labeled, targets, 0.3)
    rough, fit = solver.loo(0.3 / 6), solver.fit(0.3 / 6)
    np.testing.assert_allclose(rough.scores, exact.scores, atol=0.02)
    centered, mean, reached = reference.stable_hfs(graph, labeled, targets, 0.3)
    np.testing.assert_allclose(fit.centered, centered, atol=1e-7)
    np.testing.assert_allclose(fit.offset, mean)
    np.testing.assert_array_equal(fit.has_label, reached)


@pytest.mark.parametrize("ratio", [0.1, 10.0])
def test_the_smoother_of_few_labels_is_known_for_another_eta(ratio):
    graph, labeled = random_graph(6_204, n_nodes=80, n_edges=200), np.arange(0, 60, 3)
    targets = np.eye(2)[np.arange(20) % 2]
    weight = np.random.default_rng(9_313).uniform(0.5, 2.0, size=20)
    labels = Problem(labeled, targets, weight)
    solver = LooSolver(graph, labels, tol=1e-10, random_state=7)
    solver.loo(0.3 / 20)
    other = solver.loo(0.3 / 20 * ratio)
    exact = leave_one_out(graph, labeled, targets, 0.3 * ratio, sample_weight=weight)
    np.testing.assert_allclose(other.scores, exact.scores, atol=0.01)
    np.testing.assert_allclose(other.mean, exact.mean)


@pytest.mark.parametrize("ratio", [0.1, 10.0])
def test_a_sketched_diagonal_approximates_that_of_another_eta(ratio):
    """Of 60 labels, which are not known one by one; the spread of rows halves what is missed."""
    graph = grid(25, 25).to_edge_list()
    labeled, eye = np.sort(np.random.default_rng(3_511).permutation(625)[:60]), np.eye(60)
    alpha = 2.0 * inv_mean_degree(graph)
    before, after = (
        smooth_labels(graph, labeled, eye, alpha * times, tol=1e-12)[labeled]
        for times in (1.0, ratio)
    )
    own, wanted = np.diag(before), np.diag(after)
    spread = np.sqrt((before**2).sum(axis=1) - own**2)
    missed, without = (
        np.abs(diagonal_at_other_eta(own, size, ratio) - wanted).mean()
        for size in (spread, 0 * spread)
    )
    assert missed < 0.1 * np.abs(own - wanted).mean()
    assert missed < 0.7 * without
