"""Learners as models of river (extra `river`), for its pipelines and metrics.

The module is importable without river; `to_river` then says what to install.
"""

import copy
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.losses import get_loss

try:
    from river.base import Classifier, Regressor
except ImportError:
    Classifier = Regressor = object

__all__ = ["RiverClassifier", "RiverRegressor", "to_river"]


def to_river(learner: OnlineLearner) -> "RiverRegressor | RiverClassifier":
    """A river regressor or binary classifier around a learner, of which it trains a copy.

    river's features are dictionaries. All names must be in the first row; one that is missing later
    counts as 0, a new one is an error.

    Parameters
    ----------
    learner : OnlineLearner
        With loss="squared" it becomes a regressor, else a classifier.

    Returns
    -------
    river.base.Regressor or river.base.Classifier
    """
    if Regressor is object:
        raise ImportError("this needs river; install it with pip install 'graphsqueak[river]'")
    kind = RiverClassifier if get_loss(learner.loss).is_classification else RiverRegressor
    return kind(learner)


class _Adapter:
    """A copy of a learner, and the names of its features in order."""

    _unknown: Any = None  # the prediction before anything was learnt

    def __init__(self, learner: OnlineLearner) -> None:
        self.learner = learner
        self._learner = copy.deepcopy(learner)
        self._column: dict[str, int] = {}

    def learn_one(self, x: Mapping[str, float], y: Any) -> None:
        """One round with the features x and the target y."""
        if not self._column:
            self._column = {name: i for i, name in enumerate(x)}
        self._learner.learn_one(self._vector(x), y)

    def predict_one(self, x: Mapping[str, float]) -> Any:
        """The prediction for the features x."""
        if not self._column:
            return self._unknown
        return self._learner.predict_one(self._vector(x))

    def _vector(self, x):
        vector = np.zeros(len(self._column))
        for name, value in x.items():
            if name not in self._column:
                raise InputError(f"feature {name!r} was not in the first row")
            vector[self._column[name]] = value
        return vector


class RiverRegressor(_Adapter, Regressor):
    """A learner with the squared loss."""

    _unknown = 0.0


class RiverClassifier(_Adapter, Classifier):
    """A learner with two labels: False and True, or -1 and 1."""

    def predict_proba_one(self, x: Mapping[str, float]) -> dict[Any, float]:
        """The logistic function of the score: a probability if the loss is "logistic"."""
        if not self._column:
            return {}
        score = float(self._learner.decision_function(self._vector(x)[None, :])[0])
        low, high = (label.item() for label in self._learner.classes_)
        chance = 1 / (1 + math.exp(-score))
        return {low: 1 - chance, high: chance}
