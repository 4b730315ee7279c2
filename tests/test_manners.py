"""scikit-learn's manners, of every public estimator: pickle, joblib, clone, frames and routing."""

import inspect
import pickle

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import graphsqueak as gs
from graphsqueak import GraphNodes, GraphSplit, kernel, online, ssl
from tests.ssl.graphs import hide, two_blocks

WORDS = ("GraphStacking",)  # learn from a graph and a table
ESTIMATORS = [
    (package, name)
    for package in (ssl, kernel, online)
    for name in package.__all__
    if inspect.isclass(getattr(package, name)) and hasattr(getattr(package, name), "fit")
]
GRAPH, TRUTH = two_blocks(90_551)
POINTS = np.random.default_rng(31).normal(size=(TRUTH.size, 3)) + TRUTH[:, None]
Y = hide(TRUTH, np.arange(0, TRUTH.size, 3))


def made(package, name):
    """An estimator, what it is fitted to, and a function that asks it for all that it knows."""
    kind = getattr(package, name)
    own = inspect.signature(kind.__init__).parameters
    seeded = {"random_state": 7} if "random_state" in own else {}
    if name in WORDS:
        model = kind(LogisticRegression(), **seeded)
        return model, (GRAPH, Y, POINTS), lambda fitted: fitted.predict()
    if package is ssl:
        y = np.where(Y < 0, np.nan, Y) if name.endswith("Regressor") else Y
        what = (POINTS,) if name == "NeighborMeans" else (GRAPH, y)
        return kind(**seeded), what, _graph_answers
    if package is kernel:
        few = {"n_landmarks": 10} if name == "RPCholesky" else {}  # which has no default
        return kind(**few, **seeded), (POINTS, TRUTH.astype(float)), _kernel_answers
    return kind(**seeded), (POINTS, 2.0 * TRUTH - 1), lambda fitted: fitted.predict(POINTS)


def same(found, expected):
    """Alike but for rounding: arrays may lie otherwise in memory when they come back."""
    return found.shape == expected.shape and np.allclose(found, expected, rtol=1e-9, atol=1e-9)


def _graph_answers(fitted):
    if hasattr(fitted, "transform"):
        return fitted.transform(POINTS, GRAPH)
    new = fitted.predict_new([("new", 0, 1.0), ("new", 41, 2.0)])
    return np.concatenate([fitted.predict(), fitted.transduction_, new])


def _kernel_answers(fitted):
    for method in ("predict", "transform"):
        if hasattr(fitted, method):
            return getattr(fitted, method)(POINTS)
    return np.concatenate([fitted.indices_, fitted.weights_])


@pytest.mark.parametrize(("package", "name"), ESTIMATORS, ids=[name for _, name in ESTIMATORS])
def test_a_fitted_estimator_comes_back_from_pickle_and_joblib(package, name, tmp_path):
    model, data, answers = made(package, name)
    before = answers(fitted := model.fit(*data))
    joblib.dump(fitted, tmp_path / "model")
    read = joblib.load(tmp_path / "model")
    for back in (pickle.loads(pickle.dumps(fitted)), read):  # noqa: S301
        assert same(answers(back), before)
        assert repr(back) == repr(fitted)
    if package is not ssl and hasattr(fitted, "partial_fit"):  # and goes on alike
        later = (data[0][:20] + 0.25, data[1][:20])
        assert np.array_equal(
            answers(read.partial_fit(*later)), answers(fitted.partial_fit(*later))
        )
    again = clone(model)
    plain = {n: v for n, v in model.get_params(deep=False).items() if n != "estimator"}
    assert {n: again.get_params()[n] for n in plain} == plain
    assert not [n for n in vars(again) if n.endswith("_")]
    assert same(answers(again.fit(*data)), before)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", ["NeighborMeans", "NystromPCA", "NystromTransformer"])
def test_transformers_give_frames_with_the_names_of_their_columns(name, library):
    frames = pytest.importorskip(library)
    model = getattr(ssl if name == "NeighborMeans" else kernel, name)
    asked = {} if name == "NeighborMeans" else {"random_state": 7}
    more = (GRAPH,) if name == "NeighborMeans" else ()
    named = frames.DataFrame(dict(zip("abc", POINTS.T, strict=True)))
    plain = model(**asked).fit(POINTS).transform(POINTS, *more)
    fitted = model(**asked).set_output(transform=library).fit(named)
    table = fitted.transform(named, *more)
    assert isinstance(table, frames.DataFrame)
    assert list(table.columns) == list(fitted.get_feature_names_out())
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    assert np.allclose(table.to_numpy(), plain, atol=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(named[["c", "b", "a"]], *more)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_weights_are_routed_to_the_scores_of_a_cross_validation(routing):
    weight = np.random.default_rng(5).random(TRUTH.size)
    model = gs.NearestLabelClassifier().set_score_request(sample_weight=True)
    folds, nodes = GraphSplit(3, random_state=7), GraphNodes(GRAPH)
    y = hide(TRUTH, np.arange(0, TRUTH.size, 8))
    scores = cross_val_score(model, nodes, y, cv=folds, params={"sample_weight": weight})
    expected = []
    for train, test in folds.split(None, y):
        right = clone(model).fit(GRAPH, hide(TRUTH, train)).transduction_ == TRUTH
        expected.append(np.average(right[test], weights=weight[test]))
    assert scores == pytest.approx(expected)
    assert min(expected) < 1
    regressor = gs.StableHFSRegressor(random_state=7).set_fit_request(sample_weight=True)
    search = GridSearchCV(
        regressor.set_score_request(sample_weight=True),
        {"eta": [1e-3, 1e3]},
        cv=folds,
    ).fit(nodes, TRUTH + 0.1 * weight, sample_weight=weight)
    assert search.best_params_ == {"eta": 1e-3}
    answers = search.predict(nodes)
    score = search.score(nodes, TRUTH + 0.1 * weight, sample_weight=weight)
    assert score == pytest.approx(r2_score(TRUTH + 0.1 * weight, answers, sample_weight=weight))


def test_a_graph_is_routed_through_a_pipeline(routing):
    means = ssl.NeighborMeans().set_fit_request(graph=True).set_transform_request(graph=True)
    line = make_pipeline(means, LogisticRegression()).fit(POINTS, TRUTH, graph=GRAPH)
    features = ssl.NeighborMeans().fit(POINTS).transform(POINTS, GRAPH)
    expected = LogisticRegression().fit(features, TRUTH).predict_proba(features)
    assert np.allclose(line.predict_proba(POINTS, graph=GRAPH), expected)
