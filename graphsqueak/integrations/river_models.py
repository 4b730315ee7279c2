"""The two kinds of river models; `river_adapter.to_river` chooses. Needs river."""

import copy
import math

import numpy as np
from river import base

from graphsqueak.errors import InputError

__all__ = ["RiverClassifier", "RiverRegressor"]


class _Around:
    """A learner, and the names of its features in order."""

    def __init__(self, learner):
        self.learner = learner
        self._learner = copy.deepcopy(learner)
        self._place = {}

    def learn_one(self, x, y):
        if not self._place:
            self._place = {name: i for i, name in enumerate(x)}
        self._learner.learn_one(self._vector(x), y)

    def predict_one(self, x):
        if not self._place:
            return self._unknown
        return self._learner.predict_one(self._vector(x))

    def _vector(self, x):
        vector = np.zeros(len(self._place))
        for name, value in x.items():
            if name not in self._place:
                raise InputError(f"feature {name!r} was not in the first row")
            vector[self._place[name]] = value
        return vector


class RiverRegressor(_Around, base.Regressor):
    """A learner with the squared loss."""

    _unknown = 0.0


class RiverClassifier(_Around, base.Classifier):
    """A learner with two labels: False and True, or -1 and 1."""

    _unknown = None

    def predict_proba_one(self, x):
        """The logistic function of the score: a probability if the loss is "logistic"."""
        if not self._place:
            return {}
        score = float(self._learner._scores(self._vector(x)[None, :])[0])
        low, high = (label.item() for label in self._learner.classes_)
        chance = 1 / (1 + math.exp(-score))
        return {low: 1 - chance, high: chance}
