"""Labels are hidden fold by fold; every scorer of scikit-learn reads the answers."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import graphsqueak as gs
from tests.ssl.graphs import hide, two_blocks, uneven_blocks

pytestmark = pytest.mark.filterwarnings("ignore::graphsqueak.ssl.base.UnreachedWarning")


def test_scores_are_those_of_fits_without_the_fold():
    graph, truth = uneven_blocks(19_373, 0.5)
    y = hide(truth, np.random.default_rng(5).choice(600, 100, replace=False))
    model = gs.StableHFSClassifier(random_state=7)
    got = gs.cross_validate(
        model, graph, y, scoring=["accuracy", "roc_auc"], n_splits=4, random_state=3
    )
    folds = list(gs.ssl.GraphSplit(4, random_state=3).split(None, y))
    assert np.concatenate([test for _, test in folds]).size == 100
    for number, (train, test) in enumerate(folds):
        model.fit(graph, hide(truth, train))
        assert got["test_accuracy"][number] == (model.predict() == truth)[test].mean()
        exact = roc_auc_score(truth[test], model.predict_proba()[test, 1])
        assert got["test_roc_auc"][number] == pytest.approx(exact, abs=1e-12)
    assert (got["fit_time"] > 0).all()


def test_text_by_id_and_a_stream(tmp_path):
    graph, truth = two_blocks(90_551)
    names = np.array([f"n{number}" for number in range(80)])
    named = gs.EdgeList(tail=graph.tail, head=graph.head, n_nodes=80, ids=names)
    gs.write_edges(named, tmp_path / "edges.tsv")
    labels = {names[node]: "ab"[truth[node]] for node in range(0, 80, 2)}
    for source, model in (
        (named, gs.StableHFSClassifier()),
        (gs.read_edges(tmp_path / "edges.tsv"), gs.SparseHFSClassifier(random_state=7)),
    ):
        got = gs.cross_validate(model, source, labels, random_state=3)
        assert got["test_score"].mean() > 0.9


def test_values_features_and_a_function():
    ring = gs.EdgeList(tail=np.arange(100), head=(np.arange(100) + 1) % 100)
    y = np.where(np.arange(100) % 2 == 0, np.sin(np.arange(100) / 16), np.nan)
    got = gs.cross_validate(gs.StableHFSRegressor(), ring, y, random_state=3)
    assert (got["test_score"] > 0.9).all()
    graph, truth = two_blocks(17_733)
    seen = []

    def score(model, nodes, labels):
        seen.extend(nodes)
        return float((model.predict(nodes) == labels).mean())

    got = gs.cross_validate(
        gs.GraphStacking(LogisticRegression(), random_state=7),
        graph,
        truth,
        features=truth[:, None],
        scoring=score,
        n_splits=2,
    )
    assert sorted(seen) == list(range(80))
    assert (got["test_score"] > 0.9).all()


def test_an_unknown_score_is_refused():
    graph, truth = two_blocks(17_733)
    with pytest.raises(gs.InputError, match="'accurate' is not a valid scoring"):
        gs.cross_validate(gs.StableHFSClassifier(), graph, truth, scoring="accurate")


def test_a_measure_for_two_classes_is_refused_with_three():
    graph, truth = uneven_blocks(19_374, 0.7, shares=(0.4, 0.3, 0.3))
    y = hide(truth, np.arange(0, 600, 8))
    with pytest.raises(gs.InputError, match=r"two classes cannot score 3 .*'roc_auc_ovr'"):
        gs.cross_validate(gs.StableHFSClassifier(), graph, y, scoring="roc_auc")
    got = gs.cross_validate(gs.StableHFSClassifier(), graph, y, scoring="roc_auc_ovr")
    assert (got["test_score"] > 0.7).all()
