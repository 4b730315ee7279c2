"""Stable-HFS: closed forms, the dense reference, and what must not change the answer."""

import numpy as np
import pytest

from graphsqueak.graph import EdgeList
from graphsqueak.ssl.stable import stable_scores
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
