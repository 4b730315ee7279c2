"""How sure the answers are: the posterior deviation, and calibrated probabilities."""

import warnings

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.graph import EdgeList
from graphsqueak.ssl import CalibrationWarning
from graphsqueak.ssl.stable import posterior_deviation
from tests.ssl.graphs import hide, random_graph, three_parts, two_blocks


def dense_deviation(graph, labeled, alpha, weight=1.0):
    project = np.eye(graph.n_nodes)
    component = graph.components()
    same = (component[:, None] == component).astype(float)
    project -= same / same.sum(axis=1)
    chosen = np.zeros(graph.n_nodes)
    chosen[labeled] = weight
    matrix = alpha * graph.laplacian().toarray() + np.diag(chosen)
    return np.sqrt(np.diag(np.linalg.pinv(project @ matrix @ project, hermitian=True)))


@pytest.mark.parametrize("alpha", [0.05, 3.0])
def test_deviation_is_within_six_standard_errors_of_the_dense_one(alpha):
    graph, labeled = random_graph(15_604), np.array([2, 11, 25])
    rng = np.random.default_rng(81_100)
    sketch = posterior_deviation(graph, labeled, alpha, n_probes=2000, rng=rng) ** 2
    exact = dense_deviation(graph, labeled, alpha) ** 2
    assert (np.abs(sketch - exact) < 6 * np.sqrt(2 / 2000) * exact + 1e-6).all()


def test_a_label_of_more_trust_leaves_less_doubt():
    graph, labeled = random_graph(15_604), np.array([2, 11, 25])
    weight, rng = np.array([0.1, 1.0, 9.0]), np.random.default_rng(81_101)
    sketch = (
        posterior_deviation(graph, labeled, 0.5, sample_weight=weight, n_probes=2000, rng=rng) ** 2
    )
    exact = dense_deviation(graph, labeled, 0.5, weight) ** 2
    assert (np.abs(sketch - exact) < 6 * np.sqrt(2 / 2000) * exact + 1e-6).all()


def test_nothing_is_known_where_no_label_reaches():
    graph, labeled = three_parts(2_951)
    rng = np.random.default_rng(5)
    deviation = posterior_deviation(graph, labeled, 0.5, n_probes=500, rng=rng)
    assert np.isinf(deviation[21:]).all()
    exact = dense_deviation(graph, labeled, 0.5)[:21]
    assert (np.abs(deviation[:21] / exact - 1) < 6 * np.sqrt(1 / 1000)).all()


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


def test_uncertainty_of_a_fit():
    graph, truth = two_blocks(73_900)
    y = hide(truth, np.arange(0, 80, 3))
    clf = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    assert clf.uncertainty_[y >= 0].mean() < clf.uncertainty_[y < 0].mean()
    once = gs.SparseHFSClassifier(n_edges=300, max_passes=1, random_state=7).fit(graph, y)
    assert once.uncertainty_[y >= 0].mean() < once.uncertainty_[y < 0].mean()
    assert once.bound_.vacuous


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
