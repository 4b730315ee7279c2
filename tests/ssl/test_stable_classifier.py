"""Parameters and bounds of the Stable-HFS classifier."""

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.ssl.stable import stable_scores
from tests.ssl.graphs import hide, two_blocks


def test_there_is_no_bound_by_a_sample_that_depends_on_the_labels():
    graph, truth = two_blocks(73_900)
    y = hide(truth, np.arange(0, 80, 3))
    once = gs.SparseHFSClassifier(n_edges=300, max_passes=1, random_state=7).fit(graph, y)
    assert once.bound_.vacuous


NODES = [0, 7, 21, 33, 44, 51, 60, 77]


def test_a_pure_component_takes_its_label_and_others_their_scores():
    graph = gs.EdgeList(tail=[0, 1, 3], head=[1, 2, 4], n_nodes=5)
    clf = gs.StableHFSClassifier(eta=0.1, prior_weight=0.0).fit(graph, [0, -1, 1, 1, -1])
    assert clf.transduction_[[3, 4]].tolist() == [1, 1]
    assert clf.label_distributions_[4].tolist() == [0.0, 1.0]


def test_given_eta_and_threshold_are_used():
    graph, truth = two_blocks(31_121)
    y = hide(truth, NODES)
    clf = gs.StableHFSClassifier(eta=0.25, prior_weight=0.5).fit(graph, y)
    fit = stable_scores(graph, np.array(NODES), np.eye(2)[truth[NODES]], 8 * 0.25)
    np.testing.assert_allclose(clf.scores_, fit.centered + 0.5 * (fit.offset - 0.5), atol=1e-7)
    assert (clf.eta_, clf.prior_weight_) == (0.25, 0.5)


def test_automatic_eta_does_not_depend_on_the_scale_of_the_weights():
    graph, truth = two_blocks(45_450, between=0.15)
    y = hide(truth, [*NODES, 1, 2, 50, 55])
    heavy = gs.EdgeList(tail=graph.tail, head=graph.head, weight=np.full(graph.n_edges, 1e6))
    light = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    other = gs.StableHFSClassifier(random_state=7).fit(heavy, y)
    assert other.eta_ == pytest.approx(light.eta_ / 1e6)
    np.testing.assert_allclose(other.scores_, light.scores_, atol=1e-6)
    # The temperature is fitted to scores of the tolerance LOO_TOL.
    assert other.temperature_ == pytest.approx(light.temperature_, rel=1e-4)


def test_the_bound_of_a_fit_is_stated_in_words():
    graph, truth = two_blocks(12_218)
    y = hide(truth, NODES)
    bound = gs.StableHFSClassifier(random_state=7).fit(graph, y).bound_
    assert bound.vacuous
    assert "is vacuous" in bound.statement
    dense = gs.sources.complete(400)
    y = np.where(np.arange(400) % 2, -1, np.arange(400) // 2 % 2)
    assert gs.StableHFSClassifier(eta=10.0).fit(dense, y).bound_.value < 0.7


def test_the_bound_of_a_fit_is_seeded():
    graph = gs.sources.block_model(1100, 20_000, random_state=9)  # too large for dense algebra
    y = np.where(np.arange(1100) < 20, np.arange(1100) % 2, -1)
    fits = [gs.StableHFSClassifier(eta=1.0, random_state=7).fit(graph, y) for _ in range(2)]
    assert fits[0].bound_ == fits[1].bound_


def test_no_bound_where_nothing_is_proved():
    graph = gs.EdgeList(tail=[0, 2], head=[1, 3])
    bound = gs.StableHFSClassifier(eta=1.0).fit(graph, [0, -1, 1, -1]).bound_
    assert bound.vacuous
    assert "nothing is proved" in bound.statement


def test_loo_scores_are_those_of_a_fit_without_the_label():
    """For the same alpha = l eta, prior and threshold; the solves have a residual of 1e-4."""
    graph, truth = two_blocks(7_301)
    # Twice as many of one class, so that the prior weight matters.
    y = hide(truth, np.r_[0:36:4, 40:80:2])
    clf = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    labeled = np.flatnonzero(y >= 0)
    assert clf.loo_labels_.tolist() == y[labeled].tolist()
    is_second = np.bincount(y[labeled])[1] / labeled.size
    for row in (0, labeled.size // 2, labeled.size - 1):
        without = y.copy()
        without[labeled[row]] = -1
        eta = clf.eta_ * labeled.size / (labeled.size - 1)
        other = gs.StableHFSClassifier(eta=eta, prior_weight=0.0, random_state=7)
        centered = other.fit(graph, without).scores_[labeled[row], 1]
        expected = centered + clf.prior_weight_ * (is_second - 0.5) - clf.threshold_
        assert clf.loo_scores_[row, 1] == pytest.approx(expected, abs=2e-3)


def test_too_few_labels_have_no_loo_scores():
    graph, truth = two_blocks(7_301)
    y = hide(truth, [0, 1, 78, 79])
    clf = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    assert clf.loo_scores_.shape == (0, 2)
    assert clf.loo_labels_.size == 0
