"""A model of features on a graph: better than both where both help, never much worse."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

import graphsqueak as gs
from graphsqueak.ssl.features.correct_and_smooth import propagate_residuals
from graphsqueak.ssl.features.neighborhood import Neighborhood
from graphsqueak.ssl.labels import RealLabels
from tests.ssl.graphs import hide, uneven_blocks

pytestmark = pytest.mark.filterwarnings("ignore::graphsqueak.ssl.base.UnreachedWarning")
MODELS = [gs.Smoothed(LogisticRegression()), gs.CorrectAndSmooth(LogisticRegression())]


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def model(request):
    return clone(request.param).set_params(random_state=7)


def drawn(seed, homophily, *, apart=1.0, n_labels=80, n_nodes=800):
    graph, truth = uneven_blocks(seed, homophily, n_nodes=n_nodes, degree=10)
    rng = np.random.default_rng(seed + 1)
    X = rng.normal(size=(n_nodes, 2)) + apart * np.column_stack([truth, 1 - truth])
    return graph, truth, X, hide(truth, rng.choice(n_nodes, n_labels, replace=False))


def accuracies(model, graph, truth, X, y):
    """Of features alone, of the graph alone and of both, over the nodes without a label."""
    rest, known = y == -1, y != -1
    by_features = LogisticRegression().fit(X[known], truth[known]).predict(X)
    by_graph = gs.StableHFSClassifier(random_state=7).fit(graph, y).transduction_
    both = model.fit(graph, y, X).predict()
    return [(answer == truth)[rest].mean() for answer in (by_features, by_graph, both)]


def test_residuals_are_those_of_models_that_did_not_know_the_label():
    """Two folds and all labels on a path: dense walks of at most three steps."""
    graph = gs.EdgeList(tail=range(5), head=range(1, 6))
    P = graph.to_scipy().toarray() / graph.degrees()[:, None]
    rng = np.random.default_rng(40_811)
    predictions = rng.normal(size=(3, 6, 1))
    values = rng.normal(size=4)
    labels = RealLabels(np.array([0, 2, 3, 5]), values)
    fold = np.array([0, 1, 0, 1])
    train_sets = [np.array([1, 3]), np.array([0, 2]), np.arange(4)]
    found = propagate_residuals(
        Neighborhood(graph, 6), labels, predictions, fold, train_sets, n_hops=3
    )
    for train, spread in zip(train_sets, found, strict=True):
        residual = np.zeros((6, 1))
        for label in train:
            node = labels.nodes[label]
            residual[node] = values[label] - predictions[fold[label]][node]
        steps = [np.linalg.matrix_power(P, k) @ residual for k in range(4)]
        expected = steps[0] + 0.75 * steps[1] + 0.75**2 * steps[2] + 0.75**3 / 0.25 * steps[3]
        np.testing.assert_allclose(spread, expected, atol=1e-12)


def test_both_together_are_better_than_each_alone(model):
    rows = np.array([accuracies(model, *drawn(40_000 + 10 * s, 0.5)) for s in range(6)])
    features, graph, both = rows.mean(axis=0)
    assert both > max(features, graph) + 0.02
    assert model.chosen_ == "mixture"
    assert sum(model.weights_.values()) > 0


@pytest.mark.parametrize(("homophily", "apart"), [(0.0, 1.5), (0.9, 0.5), (0.6, 0.0), (-0.5, 1.5)])
def test_never_a_point_below_the_better_one(model, homophily, apart):
    draws = [drawn(52_000 + 10 * seed, homophily, apart=apart) for seed in range(6)]
    features, graph, both = np.mean([accuracies(model, *draw) for draw in draws], axis=0)
    assert both > max(features, graph) - 0.01


@pytest.mark.slow
def test_without_homophily_the_estimator_alone_answers(model):
    chosen = []
    for seed in range(100):
        graph, truth, X, y = drawn(64_000 + 10 * seed, 0.0, apart=1.5, n_nodes=400)
        model.fit(graph, y, X)
        known = y != -1
        alone = LogisticRegression().fit(X[known], truth[known])
        chosen.append(model.chosen_)
        if model.chosen_ == "estimator":
            np.testing.assert_array_equal(model.transduction_, alone.predict(X))
    assert chosen.count("estimator") >= 95


def test_text_labels_by_id_and_a_file(model, tmp_path):
    graph, truth, X, y = drawn(91_877, 0.6, n_nodes=400)
    names = np.array([f"n{number}" for number in range(400)])
    named = gs.EdgeList(
        tail=graph.tail, head=graph.head, weight=graph.weight, n_nodes=400, ids=names
    )
    gs.write_edges(named, tmp_path / "edges.tsv")
    labels = {names[node]: ("ham", "spam")[truth[node]] for node in np.flatnonzero(y != -1)}
    held = clone(model).fit(named, labels, X)
    read = model.fit(gs.read_edges(tmp_path / "edges.tsv"), labels, X, ids=names)
    assert set(read.classes_) == {"ham", "spam"}
    assert (held.predict() == read.predict()).mean() > 0.9
    np.testing.assert_allclose(read.predict_proba().sum(axis=1), 1)
    with pytest.raises(gs.InputError, match="have ids"):
        model.fit(gs.read_edges(tmp_path / "edges.tsv"), labels, X)


@pytest.mark.parametrize("kind", [gs.Smoothed, gs.CorrectAndSmooth])
def test_values_on_a_ring(kind):
    """A feature tells one half of the variance, the ring the other."""
    n_nodes, rng = 300, np.random.default_rng(3_557)
    angle = 2 * np.pi * np.arange(n_nodes) / n_nodes
    X = rng.normal(size=(n_nodes, 1))
    truth = np.sqrt(2) * np.sin(angle) + X[:, 0]
    ring = gs.EdgeList(tail=np.arange(n_nodes), head=(np.arange(n_nodes) + 1) % n_nodes)
    y = np.where(rng.random(n_nodes) < 0.4, truth, np.nan)
    rest = np.isnan(y)
    answers = {
        "features": LinearRegression().fit(X[~rest], y[~rest]).predict(X),
        "graph": gs.StableHFSRegressor(random_state=7).fit(ring, y).transduction_,
        "both": kind(LinearRegression(), random_state=7).fit(ring, y, X).predict(),
    }
    error = {name: ((value - truth)[rest] ** 2).mean() for name, value in answers.items()}
    assert error["both"] < 0.8 * min(error["features"], error["graph"])


def test_few_labels_and_odd_estimators(model):
    graph, truth, X, _ = drawn(7_001, 0.6)
    y = hide(truth, [np.argmax(truth == 0), np.argmax(truth == 1)])
    assert model.fit(graph, y, X).chosen_ == "mixture"
    with pytest.raises(gs.InputError, match="predict_proba"):
        model.set_params(estimator=LinearSVC()).fit(graph, y, X)


def test_score_and_predictions_by_id(model, tmp_path):
    graph, truth = uneven_blocks(17_733, 0.8, n_nodes=200, degree=10)
    X = truth[:, None] + np.random.default_rng(7).normal(size=(truth.size, 1))
    y = np.where(np.arange(truth.size) % 3 == 0, truth, -1)
    model.fit(graph, y, X)
    assert model.score(graph, truth) == np.mean(model.predict() == truth)
    weight = np.arange(truth.size, dtype=float)
    expected = np.average(model.predict() == truth, weights=weight)
    assert model.score(None, truth, weight) == pytest.approx(expected)
    table = pl.DataFrame({"node": np.arange(truth.size), "label": truth})
    table.write_csv(tmp_path / "truth.csv")
    assert model.score(None, tmp_path / "truth.csv") == model.score(None, truth)
    np.testing.assert_array_equal(model.predict([5, 2]), model.predict()[[5, 2]])
    np.testing.assert_array_equal(model.predict_proba([5, 2]), model.predict_proba()[[5, 2]])
    with pytest.raises(gs.InputError, match=r"predict\(\[id"):
        model.predict([("new", 5)])
