"""Stacking of features and graph: better than both where both help, never much worse."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import graphsqueak as gs
from tests.ssl.features.test_neighbor_means import CountedPasses
from tests.ssl.graphs import hide, two_blocks, uneven_blocks

MODEL = gs.GraphStacking(LogisticRegression(), random_state=7)


def drawn(seed, homophily, *, apart=1.0, n_labels=80, n_nodes=800):
    graph, truth = uneven_blocks(seed, homophily, n_nodes=n_nodes, degree=10)
    rng = np.random.default_rng(seed + 1)
    X = rng.normal(size=(n_nodes, 2)) + apart * np.column_stack([truth, 1 - truth])
    return graph, truth, X, hide(truth, rng.choice(n_nodes, n_labels, replace=False))


def accuracies(graph, truth, X, y):
    """Of features alone, of the graph alone and of both, over the nodes without a label."""
    rest = y == -1
    known = ~rest
    predictions = (
        LogisticRegression().fit(X[known], truth[known]).predict(X),
        gs.StableHFSClassifier(random_state=7).fit(graph, y).transduction_,
        clone(MODEL).fit(graph, y, X).predict(),
    )
    return [(predicted == truth)[rest].mean() for predicted in predictions]


def named_graph(graph, folder):
    """The graph with text ids, in memory and as a file."""
    names = np.array([f"n{number}" for number in range(graph.n_nodes)])
    named = gs.EdgeList(tail=graph.tail, head=graph.head, n_nodes=graph.n_nodes, ids=names)
    gs.write_edges(named, folder / "edges.tsv")
    return names, named, gs.read_edges(folder / "edges.tsv")


@pytest.mark.filterwarnings("ignore::graphsqueak.ssl.base.UnreachedWarning")
def test_both_together_are_better_than_each_alone():
    rows = np.array([accuracies(*drawn(40_000 + 10 * s, 0.5)) for s in range(6)])
    features, graph, both = rows.mean(axis=0)
    assert both > max(features, graph) + 0.02


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("homophily", "apart"), [(0.0, 1.5), (0.9, 0.5), (0.6, 0.0), (0.2, 1.0), (-0.5, 1.5)]
)
def test_never_a_point_below_the_better_one(homophily, apart):
    draws = [drawn(52_000 + 10 * seed, homophily, apart=apart) for seed in range(6)]
    features, graph, both = np.mean([accuracies(*draw) for draw in draws], axis=0)
    assert both > max(features, graph) - 0.01


@pytest.mark.filterwarnings("ignore")
def test_neighbors_of_the_other_class_are_used():
    """The class of a node is the opposite of its neighbors' feature, and its own is noise."""
    graph, truth = uneven_blocks(30_017, -0.8, n_nodes=600, degree=10, shares=(0.5, 0.5))
    rng = np.random.default_rng(30_018)
    X = rng.normal(size=(600, 1)) + 0.7 * truth[:, None]
    y = hide(truth, rng.choice(600, 100, replace=False))
    model = clone(MODEL).fit(graph, y, X)
    by_features, by_graph, both = accuracies(graph, truth, X, y)
    assert both > max(by_features, by_graph) + 0.1
    assert model.weights_["neighbors"] > 0


@pytest.mark.filterwarnings("ignore::graphsqueak.ssl.base.UnreachedWarning")
def test_text_labels_by_id_and_a_file(tmp_path):
    graph, truth, X, y = drawn(91_877, 0.6, n_nodes=400)
    names, named, file = named_graph(graph, tmp_path)
    labels = {names[node]: ("ham", "spam")[truth[node]] for node in np.flatnonzero(y != -1)}
    in_memory = clone(MODEL).fit(named, labels, X)
    streamed = clone(MODEL).fit(file, labels, X, ids=names)
    assert set(streamed.classes_) == {"ham", "spam"}
    assert (in_memory.predict() == streamed.predict()).mean() > 0.9
    np.testing.assert_allclose(streamed.predict_proba().sum(axis=1), 1)
    with pytest.raises(gs.InputError, match="have ids"):
        clone(MODEL).fit(file, labels, X)


def test_a_file_is_read_once_per_step_and_for_its_sparsifier(tmp_path):
    graph, truth = two_blocks(17_733)
    gs.write_edges(graph, tmp_path / "edges.tsv")
    X = truth[:, None] + np.random.default_rng(7).normal(size=(truth.size, 1))
    y = hide(truth, np.arange(0, truth.size, 4))
    alone = CountedPasses(gs.read_edges(tmp_path / "edges.tsv"))
    gs.SparseHFSClassifier(random_state=7).fit(alone, y)
    counts = []
    for hops in (1, 3, 6):
        source = CountedPasses(gs.read_edges(tmp_path / "edges.tsv"))
        clone(MODEL).set_params(hops=hops).fit(source, y, X)
        counts.append(source.n_passes)
    assert np.diff(counts).tolist() == [2, 3]
    # One batch more shows what kind of ids the file has.
    assert counts[0] == alone.n_passes + 2


@pytest.mark.parametrize("is_streamed", [False, True])
def test_sparse_features_give_the_results_of_dense_ones(tmp_path, is_streamed):
    graph, truth = two_blocks(90_551)
    rng = np.random.default_rng(23)
    X = (rng.random((truth.size, 30)) < 0.1 + 0.1 * truth[:, None]).astype(float)
    y = hide(truth, np.arange(0, truth.size, 3))
    names, source, file = named_graph(graph, tmp_path)
    if is_streamed:
        source = file
    labels = {names[node]: int(truth[node]) for node in np.flatnonzero(y >= 0)}
    dense = clone(MODEL).fit(source, labels, X, ids=names)
    for make in (scipy.sparse.csr_matrix, scipy.sparse.csr_array, scipy.sparse.coo_array):
        sparse = clone(MODEL).fit(source, labels, make(X), ids=names)
        np.testing.assert_allclose(sparse.predict_proba(), dense.predict_proba(), atol=2e-3)


def test_values_on_a_ring():
    """A feature determines one half of the variance, the ring the other."""
    n_nodes = 300
    rng = np.random.default_rng(3_557)
    angle = 2 * np.pi * np.arange(n_nodes) / n_nodes
    X = rng.normal(size=(n_nodes, 1))
    truth = np.sqrt(2) * np.sin(angle) + X[:, 0]
    ring = gs.EdgeList(tail=np.arange(n_nodes), head=(np.arange(n_nodes) + 1) % n_nodes)
    y = np.where(rng.random(n_nodes) < 0.4, truth, np.nan)
    rest = np.isnan(y)
    predictions = {
        "features": LinearRegression().fit(X[~rest], y[~rest]).predict(X),
        "graph": gs.StableHFSRegressor(random_state=7).fit(ring, y).transduction_,
        "both": gs.GraphStacking(LinearRegression(), random_state=7).fit(ring, y, X).predict(),
    }
    error = {name: ((value - truth)[rest] ** 2).mean() for name, value in predictions.items()}
    assert error["both"] < 0.8 * min(error["features"], error["graph"])


@pytest.mark.filterwarnings("ignore::graphsqueak.ssl.base.UnreachedWarning")
def test_few_labels_and_unsuitable_estimators():
    graph, truth, X, _ = drawn(7_001, 0.6)
    y = hide(truth, [np.argmax(truth == 0), np.argmax(truth == 1)])
    model = clone(MODEL).fit(graph, y, X)
    assert model.weights_["graph"] == 1
    assert model.score(None, truth) > 0.5
    with pytest.raises(gs.InputError, match="predict_proba"):
        model.set_params(estimator=LinearSVC()).fit(graph, y, X)


@pytest.mark.parametrize("n_labels", [1, 20])
def test_labels_of_one_class(n_labels):
    graph, truth = two_blocks(22_871)
    X = np.random.default_rng(3).normal(size=(truth.size, 2))
    model = clone(MODEL).fit(graph, hide(truth, np.arange(n_labels)), X)
    assert set(model.predict()) == {0}
    assert (model.predict_proba() == 1).all()
    values = np.where(np.arange(truth.size) < n_labels, 2.5, np.nan)
    regression = gs.GraphStacking(LinearRegression(), random_state=7).fit(graph, values, X)
    np.testing.assert_allclose(regression.predict(), 2.5)


def test_a_class_with_a_single_label_is_not_in_all_folds():
    graph, truth = two_blocks(22_871)
    X = np.random.default_rng(3).normal(size=(truth.size, 2)) + truth[:, None]
    model = clone(MODEL).fit(graph, hide(truth, [*range(12), 50]), X)
    assert set(model.classes_) == {0, 1}
    assert np.isfinite(model.predict_proba()).all()


def test_trees_with_probabilities_of_zero():
    graph, truth = two_blocks(61_408)
    X = truth[:, None] + np.random.default_rng(5).normal(size=(truth.size, 2))
    forest = RandomForestClassifier(n_estimators=5, random_state=7)
    y = hide(truth, np.arange(0, truth.size, 3))
    model = gs.GraphStacking(forest, random_state=7).fit(graph, y, X)
    assert np.isfinite(model.predict_proba()).all()
    assert model.score(None, truth) > 0.9


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_an_estimator_may_select_columns_by_name(make):
    graph, truth = two_blocks(61_408)
    X = truth[:, None] + np.random.default_rng(5).normal(size=(truth.size, 2))
    y = hide(truth, np.arange(0, truth.size, 3))
    scaled = make_column_transformer((StandardScaler(), ["a"]), remainder="passthrough")
    table = make({"a": X[:, 0], "b": X[:, 1]})
    model = gs.GraphStacking(make_pipeline(scaled, LogisticRegression()), random_state=7)
    assert model.fit(graph, y, table).score(None, truth) > 0.9


@pytest.mark.parametrize("column", [["x"] * 40 + ["y"] * 40, [np.nan] + [1.0] * 79])
def test_features_that_have_no_mean_are_refused(column):
    graph, truth = two_blocks(61_408)
    with pytest.raises(gs.InputError, match="must be finite numbers"):
        clone(MODEL).fit(graph, hide(truth, [0, 50]), pd.DataFrame({"a": column}))


def test_the_kind_of_estimator_and_clone():
    assert is_classifier(MODEL)
    assert is_regressor(gs.GraphStacking(LinearRegression()))
    assert clone(MODEL).get_params()["estimator__C"] == 1.0


def test_score_and_predictions_by_id(tmp_path):
    graph, truth = uneven_blocks(17_733, 0.8, n_nodes=200, degree=10)
    X = truth[:, None] + np.random.default_rng(7).normal(size=(truth.size, 1))
    y = np.where(np.arange(truth.size) % 3 == 0, truth, -1)
    model = clone(MODEL).fit(graph, y, X)
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
