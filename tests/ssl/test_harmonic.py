"""Hard harmonic functions: the dense reference, class masses, components without labels."""

import numpy as np
import pytest

from graphsqueak.graph import EdgeList
from graphsqueak.ssl import HFSClassifier
from graphsqueak.ssl.base import UnreachedWarning
from graphsqueak.ssl.harmonic import harmonic_scores
from tests import reference
from tests.ssl.graphs import hide, random_graph, three_parts, two_blocks


def test_scores_are_those_of_the_dense_reference():
    graph, labeled = random_graph(30_902), np.array([1, 8, 20])
    targets = np.random.default_rng(77).normal(size=(3, 2))
    scores = harmonic_scores(graph, labeled, targets, tol=1e-12)
    np.testing.assert_allclose(scores, reference.harmonic(graph, labeled, targets), atol=1e-8)


def test_every_value_lies_between_the_labels():
    scores = harmonic_scores(random_graph(4_118), np.array([0, 9]), np.array([[-1.0], [2.0]]))
    assert scores.min() >= -1 - 1e-9
    assert scores.max() <= 2 + 1e-9


def test_class_masses_follow_the_labels():
    graph, truth = two_blocks(66_120)
    y = hide(truth, [0, 1, 2, 41])
    plain = HFSClassifier().fit(graph, y)
    normalized = HFSClassifier(class_mass=True).fit(graph, y)
    unlabeled = y == -1
    shares = plain.label_distributions_[unlabeled]
    scaled = shares * np.array([4, 2]) / 6 / shares.sum(axis=0)
    decided = scaled.argmax(axis=1)
    assert (normalized.transduction_[unlabeled] == decided).all()


def test_a_component_without_labels_is_unknown():
    graph, labeled = three_parts(8_845)
    y = hide(np.arange(26) % 2 + 5, labeled)
    with pytest.warns(UnreachedWarning, match="5 of 26"):
        clf = HFSClassifier().fit(graph, y)
    assert not clf.has_label_in_component_[21:].any()
    # Two labels of class 5 and four of class 6.
    np.testing.assert_allclose(clf.label_distributions_[21:], np.tile([1 / 3, 2 / 3], (5, 1)))
    assert set(clf.transduction_[21:]) == {6}  # the more frequent class
    with pytest.warns(UnreachedWarning):
        clf = HFSClassifier(unknown=-1).fit(graph, y)
    assert set(clf.transduction_[21:]) == {-1}


def test_all_nodes_labeled_keep_their_labels():
    graph = EdgeList(tail=[0, 1], head=[1, 2])
    assert HFSClassifier().fit(graph, [1, 0, 1]).transduction_.tolist() == [1, 0, 1]
