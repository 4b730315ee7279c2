"""Calibrated probabilities: right as often as they say, and the same decisions as by the scores."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import graphsqueak as gs
from graphsqueak.graph import EdgeList
from graphsqueak.ssl.decisions.calibration import class_probabilities, fit_temperature, scores_for
from tests.ssl.graphs import hide, two_blocks, uneven_blocks


def test_probabilities_are_as_right_as_they_say():
    graph, truth = two_blocks(73_900, size=300, inside=0.06, between=0.045)
    rng = np.random.default_rng(4_242)
    y = hide(truth, rng.choice(600, 200, replace=False))
    clf = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    rest = y == -1
    said = clf.label_distributions_[rest].max(axis=1)
    right = clf.classes_[clf.label_distributions_[rest].argmax(axis=1)] == truth[rest]
    spread = np.sqrt(np.mean(said * (1 - said)) / rest.sum())
    assert abs(said.mean() - right.mean()) < 6 * spread + 0.05
    plain = class_probabilities(clf.scores_, None)
    assert brier(clf.label_distributions_, truth, rest) < brier(plain, truth, rest)


def brier(probabilities, truth, rest):
    return np.mean((probabilities[rest, 1] - truth[rest]) ** 2)


@pytest.mark.filterwarnings("ignore:.*without a label")
@pytest.mark.parametrize("homophily", [0.3, 0.6, 0.9])
def test_the_mean_confidence_is_the_accuracy(homophily):
    """Over 24 fits with 100 labels.

    T is fitted to 100 left-out labels: its error is that of their accuracy, sqrt(p (1 - p) / 100),
    and the mean over the fits divides it by sqrt(24).
    """
    said = []
    right = []
    for seed in range(24):
        graph, truth = uneven_blocks(91_000 + seed, homophily, shares=(0.4, 0.3, 0.3))
        y = hide(truth, np.random.default_rng(seed).choice(600, 100, replace=False))
        clf = gs.StableHFSClassifier(random_state=7).fit(graph, y)
        rest = (y == -1) & clf.has_label_in_component_
        said.append(clf.label_distributions_[rest].max(axis=1).mean())
        right.append((clf.transduction_ == truth)[rest].mean())
    p_right = np.mean(right)
    error = np.sqrt(p_right * (1 - p_right) / 100 / 24)
    # Smoothing and the form of the curve leave a bias of a few points.
    assert abs(np.mean(said) - p_right) < 6 * error + 0.03


@pytest.mark.filterwarnings("ignore:.*without a label")
def test_errors_are_where_the_confidence_is_low():
    """Area under the ROC curve for errors: 0.5 by chance, with a deviation of the mean of 12."""
    areas = []
    for seed in range(12):
        graph, truth = uneven_blocks(93_000 + seed, 0.6, shares=(0.4, 0.3, 0.3))
        y = hide(truth, np.random.default_rng(seed).choice(600, 60, replace=False))
        clf = gs.StableHFSClassifier(random_state=7).fit(graph, y)
        rest = (y == -1) & clf.has_label_in_component_
        is_wrong = (clf.transduction_ != truth)[rest]
        areas.append(roc_auc_score(is_wrong, -clf.label_distributions_[rest].max(axis=1)))
    assert np.mean(areas) > 0.5 + 6 * np.std(areas) / np.sqrt(12)


def test_a_temperature_reproduces_the_curve_that_scores_were_drawn_by():
    """With 40,000 scores the relative error of T is below 6 / sqrt(40,000) = 0.03."""
    rng = np.random.default_rng(1_515)
    scores = rng.normal(size=(40_000, 3))
    scores -= scores.mean(axis=1, keepdims=True)
    probabilities = class_probabilities(scores, 0.4)
    code = (rng.random((40_000, 1)) > probabilities.cumsum(axis=1)).sum(axis=1)
    assert fit_temperature(scores, code) == pytest.approx(0.4, rel=0.03)


def test_without_a_mistake_labels_are_right_with_the_rule_of_succession():
    scores = np.array([[1.0, -1.0]] * 5 + [[-1.0, 1.0]] * 3)
    temperature = fit_temperature(scores, np.array([0] * 5 + [1] * 3))
    assert class_probabilities(scores, temperature).max() == pytest.approx(9 / 10, abs=1e-3)


def test_scores_of_frequencies_have_these_probabilities():
    frequencies = np.array([0.7, 0.2, 0.1])
    for temperature in (None, 0.01, 0.3, 5.0):
        scores = scores_for(frequencies, temperature)
        assert scores.sum() == pytest.approx(0, abs=1e-12)
        found = class_probabilities(scores[None], temperature)[0]
        np.testing.assert_allclose(found, frequencies, atol=1e-12)


def test_there_is_no_temperature_without_scores_or_with_one_class():
    assert fit_temperature(np.zeros((0, 2)), np.zeros(0, dtype=int)) is None
    assert fit_temperature(np.zeros((9, 2)), np.zeros(9, dtype=int)) is None
    assert fit_temperature(np.zeros((9, 1)), np.zeros(9, dtype=int)) is None


def test_few_labels_are_not_calibrated():
    graph, truth = two_blocks(73_900)
    clf = gs.StableHFSClassifier(random_state=7).fit(graph, hide(truth, [0, 1, 50, 60]))
    assert clf.temperature_ is None
    np.testing.assert_array_equal(clf.label_distributions_, class_probabilities(clf.scores_, None))


def test_class_sizes_are_met_without_a_temperature():
    graph, truth = two_blocks(73_901)
    y = hide(truth, np.arange(0, 80, 4))
    clf = gs.StableHFSClassifier(class_sizes="labels", random_state=7).fit(graph, y)
    assert clf.temperature_ is None
    assert clf.loo_scores_.shape == (20, 2)


@pytest.mark.filterwarnings("ignore:.*without a label")
@pytest.mark.parametrize("n_labels", [6, 40])
def test_nodes_without_a_label_have_the_class_frequencies(n_labels):
    """Two thirds of the labels are of the first class; the last ten nodes are a separate path."""
    graph, truth = two_blocks(73_902)
    tail = np.append(graph.tail, np.arange(80, 89))
    head = np.append(graph.head, np.arange(81, 90))
    graph = EdgeList(tail=tail, head=head, n_nodes=90)
    nodes = [*range(n_labels * 2 // 3), *range(40, 40 + n_labels - n_labels * 2 // 3)]
    clf = gs.StableHFSClassifier(random_state=7).fit(graph, hide(np.append(truth, [1] * 10), nodes))
    assert (clf.temperature_ is None) == (n_labels < 8)
    share = (n_labels * 2 // 3) / n_labels
    np.testing.assert_allclose(clf.label_distributions_[80:, 0], share, atol=1e-12)
    assert (clf.transduction_[80:] == 0).all()
    # A new node that is joined to one of them.
    new = clf.predict_proba([("new", 85, 1.0)])
    np.testing.assert_allclose(new, [[share, 1 - share]], atol=1e-12)


def rare_class(seed):
    """Six hundred nodes, one in fifty of the second class; draws of 200 labels."""
    rng, truth = np.random.default_rng(seed), (np.arange(600) < 12).astype(int)
    low, high = np.triu_indices(600, 1)
    both = (truth[low] == 1) & (truth[high] == 1)
    kept = rng.random(low.size) < np.where(both, 0.25, 0.02)
    graph = EdgeList(tail=low[kept], head=high[kept], n_nodes=600)
    draws = [hide(truth, rng.choice(600, 200, replace=False)) for _ in range(8)]
    return graph, [y for y in draws if (y == 1).any()]


def test_the_most_probable_class_is_the_decision_also_for_a_rare_class():
    graph, draws = rare_class(8_112)
    for y in draws:
        clf = gs.StableHFSClassifier(random_state=7).fit(graph, y)
        shares = clf.label_distributions_
        assert np.ptp(shares[y == -1, 1]) > 1e-3
        np.testing.assert_array_equal(clf.transduction_, shares.argmax(axis=1))
        np.testing.assert_array_equal(clf.transduction_, clf.scores_.argmax(axis=1))


def test_labels_of_new_nodes_agree_with_their_probabilities():
    graph, draws = rare_class(8_112)
    y = max(draws, key=lambda y: (y == 1).sum())
    clf = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    links = np.eye(600)[::7]
    np.testing.assert_array_equal(clf.predict(links), clf.predict_proba(links).argmax(axis=1))
