"""How sure the answers are: the posterior deviation, and calibrated probabilities."""

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.ssl.labels import encode_classes
from graphsqueak.ssl.stable import posterior_deviation
from tests.ssl.graphs import hide, random_graph, three_parts, two_blocks


def dense_deviation(graph, labeled, alpha):
    project = np.eye(graph.n_nodes)
    component = graph.components()
    same = (component[:, None] == component).astype(float)
    project -= same / same.sum(axis=1)
    chosen = np.zeros(graph.n_nodes)
    chosen[labeled] = 1.0
    matrix = alpha * graph.laplacian().toarray() + np.diag(chosen)
    return np.sqrt(np.diag(np.linalg.pinv(project @ matrix @ project, hermitian=True)))


@pytest.mark.parametrize("alpha", [0.05, 3.0])
def test_deviation_is_within_six_standard_errors_of_the_dense_one(alpha):
    graph, labeled = random_graph(15_604), np.array([2, 11, 25])
    rng = np.random.default_rng(81_100)
    sketch = posterior_deviation(graph, labeled, alpha, n_probes=2000, rng=rng) ** 2
    exact = dense_deviation(graph, labeled, alpha) ** 2
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
    tied = gs.SparseHFSClassifier(n_edges=300, random_state=7)
    tied._fit_summed(graph, encode_classes(y), few=4)
    with pytest.raises(gs.InputError, match="fit with label_share"):
        tied.uncertainty_  # noqa: B018
    assert tied.bound_.vacuous
