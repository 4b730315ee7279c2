"""The interface of a hypothesis that is learned online, implemented once per algorithm.

An estimator (`learner.OnlineLearner`) checks its input and handles classes. It owns one model for
regression or two classes, and one model per class otherwise. A model sees numbers only: points and
targets, which are -1 and 1 for classification.
"""

from abc import ABC, abstractmethod

import numpy as np


class OnlineModel(ABC):
    """A hypothesis f: R^d -> R that is learned online.

    In round t the model predicts f(x_t), receives the target y_t and updates f.
    """

    @property
    @abstractmethod
    def n_support(self) -> int:
        """Number of support points, or of random frequencies."""

    @abstractmethod
    def learn(self, points: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Run one round per row of `points`; return the predictions made before each update."""

    @abstractmethod
    def scores(self, points: np.ndarray) -> np.ndarray:
        """Return the predictions for the rows of `points`, clipped."""

    @abstractmethod
    def features(self, points: np.ndarray) -> np.ndarray:
        """Return coordinates of the points, one row each, in the space that contains f."""
