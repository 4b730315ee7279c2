"""The linear model of the spam filter, and its weight in the mixture with the graph."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from graphsqueak import SpamFilter
from graphsqueak.mail.linear import fit_linear, mixture_weight
from graphsqueak.mail.words import learn_words
from tests.mail.mailbox import mailbox

KINDS = {
    "no groups": {"campaigns": 0.0, "threads": 0.0, "ratio": 20.0},
    "campaigns and threads": {},
    "few informative words": {
        "campaigns": 0.1,
        "threads": 0.1,
        "n_informative": 12,
        "ratio": 80.0,
    },
    "little spam": {"spam": 0.12, "campaigns": 0.4, "threads": 0.3, "ratio": 20.0},
    "drift": {"drift": True, "ratio": 15.0},
}
SEED = 8_128


def random_points(rng, n, n_words=200):
    points = scipy.sparse.random_array((n, n_words), density=0.1, rng=rng, format="csr")
    return scipy.sparse.csr_array(points / np.sqrt((points**2).sum(axis=1))[:, None])


def test_the_linear_model_is_ridge_regression_with_scores_around_the_midpoint():
    rng = np.random.default_rng(SEED)
    points = random_points(rng, 50)
    is_spam = rng.random(50) < 0.3
    target = np.where(is_spam, 1.0, -1.0)
    model, left_out = fit_linear(points, is_spam)
    dense = points.toarray()
    expected = np.linalg.solve(dense.T @ dense + 0.1 * np.eye(200), dense.T @ target)
    np.testing.assert_allclose(model.coefficients, expected, atol=1e-3)
    assert left_out[is_spam].mean() == pytest.approx(-left_out[~is_spam].mean())
    np.testing.assert_allclose(model.scores(points), dense @ expected - model.midpoint, atol=1e-3)
    assert not model.scores(scipy.sparse.csr_array((3, 200))).any()
    # Scores without the own fold are nearly those of leave-one-out, which has a closed form.
    inverse = np.linalg.inv(dense @ dense.T + 0.1 * np.eye(50))
    loo = target - inverse @ target / np.diag(inverse)
    assert np.corrcoef(left_out, loo)[0, 1] > 0.95
    # 20 labels have a fold each.
    inverse = np.linalg.inv(dense[:20] @ dense[:20].T + 0.1 * np.eye(20))
    loo = target[:20] - inverse @ target[:20] / np.diag(inverse)
    model, left_out = fit_linear(points[:20], is_spam[:20])
    np.testing.assert_allclose(left_out, loo - model.midpoint, atol=1e-3)


def test_left_out_scores_do_not_predict_random_labels():
    rng = np.random.default_rng(SEED)
    points = random_points(rng, 40)
    wins = []
    for _ in range(40):
        is_spam = rng.random(40) < 0.5
        _, left_out = fit_linear(points, is_spam)
        wins.append(np.mean((left_out > 0) == is_spam))
    # The standard error of 1,600 fair draws is 1.25 %. The mean may be below 1/2, since the other
    # labels have one less of the same kind.
    assert 0.40 < np.mean(wins) < 0.54


def test_the_weight_of_noise_is_small_and_two_views_share_it():
    rng = np.random.default_rng(SEED)
    is_spam = np.arange(200) % 2 == 0
    sign = np.where(is_spam, 1.0, -1.0)
    good, other, noise = sign + rng.standard_normal((3, 200))
    noise = (noise - sign) * np.sqrt(2)
    assert mixture_weight(good, noise, is_spam) < 0.2
    assert mixture_weight(noise, good, is_spam) > 0.8
    # Two independent scores of the same accuracy: the best weight is 1/2.
    weights = []
    for _ in range(20):
        good, other = sign + rng.standard_normal((2, 200))
        weights.append(mixture_weight(good, other, is_spam))
    assert np.mean(weights) == pytest.approx(0.5, abs=0.1)


@pytest.fixture(scope="module", params=KINDS)
def box(request, tmp_path_factory):
    """A filter that has read a generated mailbox, with its labels and points."""
    texts, is_spam = mailbox(900, SEED, **KINDS[request.param])
    folder = tmp_path_factory.mktemp("box")
    pl.DataFrame({"id": [f"m{i}" for i in range(900)], "text": texts}).write_csv(folder / "m.csv")
    model = folder / "spam.model"
    spam = SpamFilter()
    spam.update(folder / "m.csv", {f"m{is_spam.argmax()}": "spam", f"m{is_spam.argmin()}": "ham"})
    spam.save(model)
    return folder / "m.csv", model, is_spam, learn_words(texts)[0]


def accuracies(box, n_labels, n_draws):
    """Return accuracies on mails without a label, by draw: filter, graph, and linear models."""
    path, model, is_spam, points = box
    found = []
    for draw in range(n_draws):
        rng = np.random.default_rng([SEED, n_labels, draw])
        labeled = rng.choice(is_spam.size, n_labels, replace=False)
        while np.unique(is_spam[labeled]).size < 2:
            labeled = rng.choice(is_spam.size, n_labels, replace=False)
        rest = np.setdiff1d(np.arange(is_spam.size), labeled)
        spam = SpamFilter.load(model)
        known = {f"m{i}": ["ham", "spam"][int(is_spam[i])] for i in labeled}
        answers = [spam.update(path, known).is_spam, spam.classifier_.decision_function() > 0]
        for linear in (LogisticRegression(C=10.0), LinearSVC(random_state=0)):
            answers.append(linear.fit(points[labeled], is_spam[labeled]).predict(points))
        found.append([np.mean(answer[rest] == is_spam[rest]) for answer in answers])
    return np.array(found)


@pytest.mark.parametrize(("n_labels", "n_draws"), [(100, 4), (400, 3)])
def test_the_filter_is_as_good_as_the_better_of_graph_and_linear_model(box, n_labels, n_draws):
    mixed, *others = accuracies(box, n_labels, n_draws).mean(axis=0)
    # Standard error of the difference if at most 10 % of the answers differ.
    error = np.sqrt(0.1 / (n_draws * (900 - n_labels)))
    assert mixed > max(others) - 2 * error


def test_the_filter_is_rarely_worse_with_twenty_labels(box):
    """With 20 labels the better of the two is not known: one mistake is 5 points."""
    found = accuracies(box, 20, 6)
    mixed, *others = found.mean(axis=0)
    # The standard error of a mean over draws, in which the labels differ.
    error = (found[:, 0] - found[:, 1 + np.argmax(others)]).std() / np.sqrt(6)
    assert mixed > max(others) - max(2 * error, 0.02)


def test_expected_rates_are_those_of_other_mails(box):
    path, model, is_spam, _ = box
    known = {f"m{i}": ["ham", "spam"][int(is_spam[i])] for i in range(300)}
    spam = SpamFilter.load(model)
    scored = spam.update(path, known)
    rates = spam.expected_rates()
    for kind, expected in ((1, rates.caught_spam), (0, rates.flagged_ham)):
        others = scored.is_spam[300:][is_spam[300:] == kind]
        # Two binomial fractions, with at least one mistake each.
        p = (expected.n_flagged + others.sum() + 1) / (expected.n_labeled + others.size + 2)
        error = np.sqrt(p * (1 - p) * (1 / expected.n_labeled + 1 / others.size))
        assert abs(others.mean() - expected.fraction) < 3.5 * error


def test_scores_are_the_mixture_before_and_after_the_filter_is_saved(box, tmp_path):
    path, model, is_spam, points = box
    labeled = np.arange(200)
    known = {f"m{i}": ["ham", "spam"][int(is_spam[i])] for i in labeled}
    spam = SpamFilter.load(model)
    scored = spam.update(path, known)
    weight = spam.linear_weight_
    assert 0 < weight <= 1
    model_of_words, left_out = fit_linear(points[labeled], is_spam[labeled])
    graph = spam.classifier_.loo_scores_[:, 1]
    scale = np.sqrt(np.mean(graph**2) / np.mean(left_out**2))
    linear = scale * model_of_words.scores(points)
    mixed = (1 - weight) * spam.classifier_.scores_[:, 1] + weight * linear
    expected = expit(mixed / spam.temperature_)
    np.testing.assert_allclose(scored.score[200:], expected[200:], atol=1e-3)
    spam.save(tmp_path / "spam.model")
    texts, _ = mailbox(30, SEED + 1)
    pl.DataFrame({"id": [f"n{i}" for i in range(30)], "text": texts}).write_csv(tmp_path / "n.csv")
    after = SpamFilter.load(tmp_path / "spam.model").update(tmp_path / "n.csv", known)
    assert after.score.tolist() == spam.update(tmp_path / "n.csv", known).score.tolist()
