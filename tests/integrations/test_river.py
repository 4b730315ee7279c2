"""Learners in river's pipelines, and what is said where river is missing."""

import importlib
import pickle
import sys

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.integrations import river as adapters
from graphsqueak.integrations import to_river
from graphsqueak.online import CONKONS, KONS
from tests.kernel.problems import clusters

NAMES = ("a", "b", "c")


def rows():
    """Features as river has them, and a number for each."""
    X = clusters(250)
    return [dict(zip(NAMES, row, strict=True)) for row in X], np.sin(X[:, 0]) * 0.8


def test_a_regressor_learns_in_a_pipeline():
    pytest.importorskip("river")
    from river import compose, metrics, preprocessing

    X, y = rows()
    model = compose.Pipeline(preprocessing.StandardScaler(), to_river(CONKONS(random_state=1)))
    metric = metrics.MSE()
    for x, target in zip(X, y, strict=True):
        metric.update(target, model.predict_one(x))
        model.learn_one(x, target)
    assert metric.get() < 0.3 * np.mean(y**2)


def test_a_classifier_has_probabilities_and_knows_its_features():
    pytest.importorskip("river")
    X, y = rows()
    coin = to_river(CONKONS(loss="logistic", clip=3.0, random_state=1))
    assert coin.predict_proba_one({"a": 1.0}) == {}
    for x, target in zip(X, y, strict=True):
        coin.learn_one(x, bool(target > 0))
    chances = coin.predict_proba_one({name: X[0][name] for name in "ab"})
    assert sum(chances.values()) == pytest.approx(1.0)
    with pytest.raises(InputError, match="first row"):
        coin.learn_one({"z": 1.0}, True)
    again = pickle.loads(pickle.dumps(coin))  # noqa: S301
    assert again.predict_proba_one(X[0]) == coin.predict_proba_one(X[0])
    assert coin.clone().predict_one({"a": 1.0}) is None


def test_without_river_the_remedy_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.delitem(sys.modules, "river.base", raising=False)
    monkeypatch.delitem(sys.modules, adapters.__name__)
    bare = importlib.import_module(adapters.__name__)
    with pytest.raises(ImportError, match=r"graphsqueak\[river\]"):
        bare.to_river(KONS())
