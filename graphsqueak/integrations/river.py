"""Online learners as models of river (extra `river`), for its pipelines and metrics.

The module can be imported without river; then `to_river` raises an error with the command that
installs it.
"""

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit

from graphsqueak.errors import InputError
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.losses import get_loss

try:
    from river.base import Classifier, Regressor
except ImportError:
    Classifier = Regressor = object


def to_river(learner: OnlineLearner) -> "RiverRegressor | RiverClassifier":
    """Return a river regressor or binary classifier that trains a copy of a learner.

    Features are dictionaries, as usual in river. The first row must contain all names. Names that
    are missing in later rows count as 0; new names are an error.

    Parameters
    ----------
    learner : OnlineLearner
        Its loss determines whether the result is a regressor or a classifier.

    Returns
    -------
    river.base.Regressor or river.base.Classifier
    """
    if Regressor is object:
        raise ImportError("this needs river; install it with pip install 'graphsqueak[river]'")
    if get_loss(learner.loss).is_classification:
        return RiverClassifier(learner)
    return RiverRegressor(learner)


class _Adapter:
    """A copy of a learner, with the names of its features in the order of the columns."""

    # The prediction before the first round.
    _default_prediction: Any = None

    def __init__(self, learner: OnlineLearner) -> None:
        # river clones a model from the arguments of its constructor, which must not change.
        self.learner = learner
        self._learner = copy.deepcopy(learner)
        self._column: dict[str, int] = {}

    def learn_one(self, x: Mapping[str, float], y: Any) -> None:
        """Run one round with the features x and the target y."""
        if not self._column:
            self._column = {name: column for column, name in enumerate(x)}
        self._learner.learn_one(self._vector(x), y)

    def predict_one(self, x: Mapping[str, float]) -> Any:
        """Predict the target for the features x."""
        if not self._column:
            return self._default_prediction
        return self._learner.predict_one(self._vector(x))

    def _vector(self, x):
        vector = np.zeros(len(self._column))
        for name, value in x.items():
            if name not in self._column:
                raise InputError(
                    f"feature {name!r} was not in the first row; start with a row that has all "
                    "features"
                )
            vector[self._column[name]] = value
        return vector


class RiverRegressor(_Adapter, Regressor):
    """A learner with a loss for regression, as a river model."""

    _default_prediction = 0.0


class RiverClassifier(_Adapter, Classifier):
    """A learner with the labels False and True, or -1 and 1, as a river model."""

    def predict_proba_one(self, x: Mapping[str, float]) -> dict[Any, float]:
        """Return the logistic function of the score: a probability for the "logistic" loss."""
        if not self._column:
            return {}
        score = self._learner.decision_function(self._vector(x)[None, :])[0]
        probability = float(expit(score))
        negative, positive = (label.item() for label in self._learner.classes_)
        return {negative: 1 - probability, positive: probability}
