"""Calibrated probabilities: right as often as they say, and few labels or a rare class."""

import warnings

import numpy as np

import graphsqueak as gs
from graphsqueak.graph import EdgeList
from graphsqueak.ssl import CalibrationWarning
from tests.ssl.graphs import hide, two_blocks


def test_calibrated_shares_are_as_right_as_they_say():
    graph, truth = two_blocks(73_900, size=300, inside=0.06, between=0.045)
    rng = np.random.default_rng(4_242)
    y = hide(truth, rng.choice(600, 200, replace=False))
    clf = gs.StableHFSClassifier(calibrated=True, random_state=7).fit(graph, y)
    rest = y == -1
    said = clf.label_distributions_[rest].max(axis=1)
    right = clf.classes_[clf.label_distributions_[rest].argmax(axis=1)] == truth[rest]
    spread = np.sqrt(np.mean(said * (1 - said)) / rest.sum())
    assert abs(said.mean() - right.mean()) < 6 * spread + 0.05
    plain = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    assert brier(clf, truth, rest) < brier(plain, truth, rest)


def brier(clf, truth, rest):
    return np.mean((clf.label_distributions_[rest, 1] - truth[rest]) ** 2)


def test_few_labels_are_not_calibrated():
    graph, truth = two_blocks(73_900)
    y = hide(truth, [0, 1, 50, 60])
    plain = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    clf = gs.StableHFSClassifier(calibrated=True, random_state=7).fit(graph, y)
    np.testing.assert_allclose(clf.label_distributions_, plain.label_distributions_, atol=1e-5)


def rare_class(seed):
    """Six hundred nodes, one in fifty of the second class; draws of 200 labels."""
    rng, truth = np.random.default_rng(seed), (np.arange(600) < 12).astype(int)
    low, high = np.triu_indices(600, 1)
    both = (truth[low] == 1) & (truth[high] == 1)
    kept = rng.random(low.size) < np.where(both, 0.25, 0.02)
    graph = EdgeList(tail=low[kept], head=high[kept], n_nodes=600)
    draws = [hide(truth, rng.choice(600, 200, replace=False)) for _ in range(8)]
    return graph, [y for y in draws if (y == 1).any()]


def test_a_rare_class_does_not_make_all_probabilities_alike():
    """Where left-out scores tell nothing, plain shares are kept, and there is a warning."""
    graph, draws = rare_class(8_112)
    n_warned = 0
    for y in draws:
        clf = gs.StableHFSClassifier(calibrated=True, random_state=7)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CalibrationWarning)
            clf.fit(graph, y)
        shares = clf.label_distributions_
        assert np.ptp(shares[y == -1, 1]) > 1e-3
        np.testing.assert_array_equal(clf.transduction_, shares.argmax(axis=1))
        if caught:
            n_warned += 1
            assert "nodes of class 1 do not score higher" in str(caught[0].message)
            plain = gs.StableHFSClassifier(random_state=7).fit(graph, y)
            np.testing.assert_allclose(shares, plain.label_distributions_, atol=1e-6)
    assert 0 < n_warned < len(draws)


def test_labels_of_new_nodes_agree_with_their_probabilities():
    graph, draws = rare_class(8_112)
    y = max(draws, key=lambda y: (y == 1).sum())
    clf = gs.StableHFSClassifier(calibrated=True, random_state=7).fit(graph, y)
    links = np.eye(600)[::7]
    np.testing.assert_array_equal(clf.predict(links), clf.predict_proba(links).argmax(axis=1))
