"""Stable-HFS: closed forms, the dense reference, and what must not change the answer."""

import numpy as np
import pytest

from graphsqueak.graph import EdgeList
from graphsqueak.ssl.choice import leave_one_out
from graphsqueak.ssl.stable import smooth_labels, stable_scores
from tests import reference
from tests.ssl.graphs import random_graph, three_parts

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
    assert fit.reached.tolist() == reached.tolist() == [True] * 21 + [False] * 5
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
    whole, scores, mean = leave_one_out(graph, labeled, targets, alpha, tol=1e-12)
    fit = stable_scores(graph, labeled, targets, alpha, tol=1e-12)
    np.testing.assert_allclose(whole.centered, fit.centered, atol=1e-9)
    for i, node in enumerate(labeled):
        others = np.delete(np.arange(labeled.size), i)
        fit = stable_scores(graph, labeled[others], targets[others], alpha, tol=1e-12)
        np.testing.assert_allclose(scores[i], fit.centered[node], atol=1e-7)
        np.testing.assert_allclose(mean[i], fit.offset[node], atol=1e-9)


def test_leave_one_out_with_no_unlabeled_node():
    graph, labeled = random_graph(7_741, n_nodes=6, n_edges=12), np.arange(6)
    targets = np.random.default_rng(51).normal(size=(6, 1))
    scores = leave_one_out(graph, labeled, targets, 0.5, tol=1e-12).scores
    refit = [
        stable_scores(graph, np.delete(labeled, i), np.delete(targets, i, axis=0), 0.5).centered[i]
        for i in range(6)
    ]
    np.testing.assert_allclose(scores, refit, atol=1e-6)


def test_a_sketched_diagonal_gives_leave_one_out_within_its_noise():
    """The error of a score is that of M_ii times (y_i - ybar_i - score_i) / (1 - M_ii)."""
    graph, labeled = random_graph(5_518, n_nodes=80, n_edges=300), np.arange(0, 80, 2)
    targets = np.random.default_rng(77_310).normal(size=(40, 1))
    exact = leave_one_out(graph, labeled, targets, 0.3, n_probes=40, tol=1e-12)
    smoother = smooth_labels(graph, labeled, np.eye(40), 0.3, tol=1e-12)[labeled]
    own = np.diag(smoother)
    for seed in range(3):
        sketch = leave_one_out(
            graph, labeled, targets, 0.3, n_probes=39, tol=1e-12, random_state=seed
        )
        spread = np.sqrt(((smoother**2).sum(axis=1) - own**2) / 39)
        factor = np.abs(targets - exact.mean - exact.scores).ravel() / (1 - own)
        wrong = np.abs(sketch.scores - exact.scores).ravel()
        room = 6 * spread
        assert (wrong <= factor * room / (1 - room / (1 - own)) + 1e-9).all()
