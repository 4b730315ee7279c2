"""Labels are hidden, nodes are not: folds, scikit-learn's tools on graphs, labels in frames."""

import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

import graphsqueak as gs
from graphsqueak import EdgeList, GraphNodes, GraphSplit, InputError
from graphsqueak.ssl.alignment import split_by_id
from tests.ssl.graphs import hide, random_graph, two_blocks

CLASSIFIERS = [
    gs.HFSClassifier(),
    gs.StableHFSClassifier(random_state=7),
    gs.SparseHFSClassifier(n_edges=200, random_state=7),
    gs.SimpleHFSClassifier(random_state=7),
    gs.EigenfunctionClassifier(affinity="knn"),
    gs.NearestLabelClassifier(),
    gs.SubsampledHFSClassifier(n_samples=30, random_state=7),
]
REGRESSORS = [gs.StableHFSRegressor(), gs.SparseHFSRegressor(n_edges=200, random_state=7)]


def name(model):
    return type(model).__name__


@pytest.fixture(scope="module")
def blocks():
    graph, truth = two_blocks(5_209)
    return graph, truth, hide(truth, np.arange(0, graph.n_nodes, 3))


@pytest.mark.parametrize("n_splits", [2, 5, 7])
@pytest.mark.parametrize("seed", range(4))
def test_folds_share_out_the_labels_of_every_class(n_splits, seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(200) < 0.4, rng.choice([0, 1, 1, 1, 4], 200), -1)
    folds = list(GraphSplit(n_splits, random_state=seed).split(None, y))
    assert len(folds) == n_splits
    labeled = np.flatnonzero(y >= 0)
    tested = np.concatenate([test for _, test in folds])
    assert np.array_equal(np.sort(tested), labeled)
    for train, test in folds:
        assert np.array_equal(np.sort(np.concatenate([train, test])), labeled)
        for label in (0, 1, 4):
            share = np.count_nonzero(y == label) / n_splits
            assert abs(np.count_nonzero(y[test] == label) - share) < 1
    sizes = [test.size for _, test in folds]
    assert max(sizes) - min(sizes) <= 1


def test_folds_are_random_and_repeat_by_seed():
    y = np.arange(100) % 2

    def folds(seed, **settings):
        split = GraphSplit(5, random_state=seed, **settings).split(None, y)
        return np.concatenate([test for _, test in split]).tolist()

    assert folds(3) == folds(3) != folds(4)
    assert folds(3, stratify=False) != folds(3)
    # the share of class 1 in a fold of 20 without strata: its variance is not zero
    shares = [
        y[test].sum() for _, test in GraphSplit(5, stratify=False, random_state=9).split(0, y)
    ]
    assert len(set(shares)) > 1


def test_a_class_of_one_label_trains_and_is_never_tested():
    y = np.array([0, 0, 0, 0, 1, 1, 1, 2, -1])
    for train, test in GraphSplit(3, random_state=7).split(None, y):
        assert 7 in train
        assert set(y[train]) == {0, 1, 2}
        assert 8 not in [*train, *test]


def test_values_are_dealt_by_size_and_may_be_minus_one():
    y = np.append(np.linspace(-1, 1, 40), np.nan)
    for train, test in GraphSplit(4, random_state=7).split(None, y):
        assert np.diff(y[test]).max() <= 7 * 2 / 39 + 1e-12  # one of every four in order
        assert train.size == 30


def test_what_cannot_be_split_is_refused():
    with pytest.raises(InputError, match="as many labels that can be hidden, and y has 2"):
        list(GraphSplit(3).split(None, [0, 0, 1, -1]))
    with pytest.raises(InputError, match="no node at all"):
        list(GraphSplit(2).split(None, [-1, -1]))
    with pytest.raises(InputError, match="labels by id need the graph"):
        list(GraphSplit(2).split(None, {"ann": 1}))
    with pytest.raises(InputError, match="n_splits=1 must be at least 2"):
        list(GraphSplit(1).split(None, [0, 0]))
    with pytest.raises(InputError, match="needs y"):
        list(GraphSplit(2).split(None))


def test_labels_by_id_are_split_into_nodes():
    graph = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy"), ("cy", "dan")])
    folds = list(GraphSplit(2, random_state=7).split(graph, {"dan": 1, "ann": 1, "cy": 1}))
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == [0, 2, 3]


@pytest.mark.parametrize("model", CLASSIFIERS[:4], ids=name)
def test_cross_validation_fits_the_whole_graph_to_some_labels(model, blocks):
    """The scores are those of fits by hand, on the whole graph, with labels hidden."""
    graph, truth, y = blocks
    folds = list(GraphSplit(3, random_state=7).split(None, y))
    scores = cross_val_score(model, GraphNodes(graph), y, cv=GraphSplit(3, random_state=7))
    for score, (train, test) in zip(scores, folds, strict=True):
        by_hand = clone(model).fit(graph, hide(truth, train)).transduction_
        assert score == np.mean(by_hand[test] == truth[test])
    assert scores.mean() > 0.8


def test_regressors_are_validated_too(blocks):
    graph, truth, _ = blocks
    values = truth + np.linspace(0.1, 0.2, truth.size)
    scores = cross_val_score(gs.StableHFSRegressor(), GraphNodes(graph), values, cv=GraphSplit(3))
    assert scores.min() > 0.3


def test_a_grid_is_searched_with_text_labels(blocks):
    graph, truth, y = blocks
    words = np.array(["no", "yes", ""], dtype=object)[y]
    search = GridSearchCV(
        gs.StableHFSClassifier(random_state=7),
        {"eta": [1e-3, 1e3]},
        cv=GraphSplit(3, random_state=7),
        scoring="roc_auc",
    ).fit(GraphNodes(graph), words)
    assert search.best_params_["eta"] == 1e-3
    answers = search.predict(GraphNodes(graph))
    assert np.mean((answers == "yes") == truth) > 0.9
    assert search.score(GraphNodes(graph)[y >= 0], words[y >= 0]) > 0.9


@pytest.mark.parametrize("model", [CLASSIFIERS[1], CLASSIFIERS[2], *REGRESSORS], ids=name)
def test_a_cut_matrix_is_refused_with_the_line_that_is_right(model, blocks):
    graph, truth, _ = blocks
    cut, _, labels, _ = train_test_split(graph.to_scipy(), truth, random_state=7)
    with pytest.raises(InputError, match=r"GraphNodes\(graph\), y, cv=GraphSplit\(\)"):
        clone(model).fit(cut, labels)
    with pytest.raises(InputError, match="hide labels instead"):
        clone(model).fit(cut.toarray(), labels)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=name)
def test_fitted_estimators_are_pickled_and_cloned(model, blocks, tmp_path):
    joblib = pytest.importorskip("joblib")
    graph, truth, y = blocks
    X = graph
    if model.affinity == "knn":
        X = np.random.default_rng(7).normal(size=(truth.size, 2)) + 3 * truth[:, None]
    y = np.where(y < 0, np.nan, y) if model in REGRESSORS else y
    fitted = clone(model).fit(X, y)
    joblib.dump(fitted, tmp_path / "model")
    for back in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "model")):  # noqa: S301
        assert np.array_equal(back.transduction_, fitted.transduction_)
        assert np.array_equal(back.predict(), fitted.predict())
        if hasattr(back, "predict_new") and model.affinity != "knn":
            assert np.array_equal(
                back.predict_new([("new", 0, 1.0)]), fitted.predict_new([("new", 0, 1.0)])
            )
    again = clone(fitted)
    assert not hasattr(again, "transduction_")
    assert np.array_equal(again.fit(X, y).transduction_, fitted.transduction_)


@pytest.mark.parametrize("model", [CLASSIFIERS[1], REGRESSORS[0]], ids=name)
def test_answers_are_tables(model, blocks):
    graph, _, y = blocks
    fitted = clone(model).fit(graph, y.astype(float) if model in REGRESSORS else y)
    table = pa.table(fitted)
    assert table["node"].to_pylist() == list(range(graph.n_nodes))
    column = "value" if model in REGRESSORS else "label"
    assert table[column].to_pylist() == fitted.transduction_.tolist()
    assert fitted.to_polars().equals(pl.DataFrame(table))


def test_dictionaries_are_tables():
    X = np.random.default_rng(7).normal(size=(50, 3))
    fitted = gs.kernel.UniformDictionary(n_landmarks=8, random_state=7).fit(X)
    frame = fitted.to_polars()
    assert frame.columns == ["row", "weight", "x0", "x1", "x2"]
    assert np.array_equal(frame["row"].to_numpy(), fitted.indices_)
    assert np.array_equal(frame.select("x0", "x1", "x2").to_numpy(), X[fitted.indices_])


def test_labels_come_in_frames_and_series():
    graph = random_graph(61)
    names = [f"n{i}" for i in range(graph.n_nodes)]
    graph = EdgeList(
        tail=graph.tail,
        head=graph.head,
        weight=graph.weight,
        ids=np.array(names, dtype=object),
    )
    y = {"n3": "ham", "n8": "spam", "n20": "ham"}
    expected = gs.HFSClassifier().fit(graph, y).transduction_
    node, label = list(y), list(y.values())
    forms = [
        pa.table({"label": label, "node": node}),
        pl.DataFrame({"who": node, "what": label}),
        pl.LazyFrame({"node": node, "label": label, "more": [1, 2, 3]}),
        pl.Series([y.get(name) for name in names]),
    ]
    for form in forms:
        assert np.array_equal(gs.HFSClassifier().fit(graph, form).transduction_, expected)
    assert gs.HFSClassifier().fit(graph, y).score(None, forms[0]) == 1.0
    with pytest.raises(InputError, match="y has the columns a, b, c; give two, node and label"):
        split_by_id(pl.DataFrame({"a": [1], "b": [1], "c": [1]}))
    with pytest.raises(InputError, match="y has node 'x' twice in its column 'node'"):
        split_by_id(pl.DataFrame({"node": ["x", "x"], "label": [1, 0]}))
