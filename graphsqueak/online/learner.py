"""What all online learners share: one interface, checks, classes, scikit-learn's manners.

A round: the learner sees x_t, predicts, sees y_t, pays for its prediction and updates.
`predict_one` never changes the learner, `learn_one` needs no prediction before it, and many rounds
at once (`partial_fit`, `predict_then_learn`) are the same rounds, faster.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.kernels import KernelLike, KernelParams
from graphsqueak.online.losses import LOSSES, Loss, loss_of
from graphsqueak.online.width_mixture import WidthMixture
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.packing import pack_state, unpack_state
from graphsqueak.system.remote import read_bytes
from graphsqueak.validation import check_choice, check_real

__all__ = ["OnlineLearner"]

_MANY = 256
_FORMAT, _VERSION = "graphsqueak learner", 1


def _classifies(learner):
    """For `available_if`: scores are those of classifiers only."""
    if loss_of(learner.loss).is_classification:
        return True
    raise AttributeError(f"loss={learner.loss!r} is for regression; scores are what predict gives")


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineLearner(BaseEstimator):
    """Base of the learners, with the parameters that all have.

    With loss="squared", "epsilon_insensitive" or "huber" a learner is a regressor, else a
    classifier. Of two classes, scores are positive for `classes_[1]`; of more there is a column of
    scores for each, from a learner for each (one against the rest), of which this one is the first:
    `n_support_` and the like are those of the first class. A subclass offers `_begin(n_features)`,
    `_scores(points)`, `_features_of(points)`, the coordinates in its space,
    `_learn(points, targets)`, which returns the scores before each update, and `_n_kept()`.

    With kernel_params="auto" a Gaussian or Laplacian kernel needs no width: copies of the learner
    with several widths are mixed by their losses (`mixture_`, a `WidthMixture`).
    """

    kernel: KernelLike = "rbf"
    kernel_params: KernelParams | Literal["auto"] = None
    loss: Literal[
        "squared", "logistic", "squared_hinge", "hinge", "epsilon_insensitive", "huber"
    ] = "squared"
    tolerance: float | None = None
    clip: float | None = 1.0

    _needs_clip = True  # for the curvature of a loss other than the squared one

    @property
    def n_support_(self) -> int:
        """Points (or frequencies) kept, by all copies together where widths are mixed."""
        return self._n_kept() if self.mixture_ is None else self.mixture_.n_support

    def predict_one(self, x: ArrayLike) -> Any:
        """The prediction for one point; 0 (the first class) before anything was learnt.

        Parameters
        ----------
        x : array of shape (d,)

        Returns
        -------
        float, or one of the labels
        """
        point = self._row(x)
        known = self.__sklearn_is_fitted__()
        if not self._loss().is_classification:
            return float(self._own_scores(point)[0]) if known else 0.0
        if known:
            return self._labels(self._all_scores(point))[0].item()
        return getattr(self, "classes_", np.array([-1, 1]))[0].item()

    def learn_one(self, x: ArrayLike, y: Any) -> Self:
        """One round with one point and its target.

        Parameters
        ----------
        x : array of shape (d,)
        y : float or label
            Labels are -1 and 1 or False and True, unless `partial_fit` was told the classes.
        """
        point = self._row(x)
        if not self.__sklearn_is_fitted__():
            if self._loss().is_classification:
                self.classes_ = np.array(
                    [False, True] if isinstance(y, (bool, np.bool)) else [-1, 1]
                )
            self._start(point.shape[1])
        self._take(point, self._targets(np.array([y])))
        return self

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget everything, then one round for each row of X.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Targets, or labels.
        """
        points, y = self._check_pair(X, y, reset=True)
        if self._loss().is_classification:
            self._set_classes(np.unique(y))
        self._start(points.shape[1])
        self._take(points, self._targets(y))
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """One round for each row of X.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
        classes : array, optional
            All labels, in the first call, if y need not have all.
        """
        self.predict_then_learn(X, y, classes=classes)
        return self

    def predict_then_learn(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None
    ) -> np.ndarray:
        """One round for each row of X; returns the scores that were given before each update.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
        classes : array, optional
            All labels, in the first call, if y need not have all.

        Returns
        -------
        ndarray of shape (n,), or (n, classes) for more than two
        """
        fresh = not self.__sklearn_is_fitted__()
        points, y = self._check_pair(X, y, reset=fresh)
        if fresh:
            if self._loss().is_classification:
                self._set_classes(np.unique(y if classes is None else classes))
            self._start(points.shape[1])
        return self._take(points, self._targets(y))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predictions for the rows of X, none of which is learnt from.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
            Numbers, or labels.
        """
        check_is_fitted(self)
        scores = self._all_scores(validate_data(self, X, dtype=np.float64, reset=False))
        return self._labels(scores) if self._loss().is_classification else scores

    @available_if(_classifies)
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Scores of the rows of X, positive for `classes_[1]` of two; of a classifier only.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        ndarray of shape (n,), or (n, classes) for more than two
        """
        check_is_fitted(self)
        return self._all_scores(validate_data(self, X, dtype=np.float64, reset=False))

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """R^2 of a regressor, accuracy of a classifier.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        float
        """
        of = accuracy_score if self._loss().is_classification else r2_score
        return float(of(y, self.predict(X)))

    def save(self, path: str | Path) -> None:
        """Write the learner, with all that it has learnt, to a file.

        Parameters
        ----------
        path : str or Path
            A file that `load` reads; without pickle, so a kernel must be one by name.
        """
        with atomic_file(path) as file:
            pack_state(file, {"format": _FORMAT, "version": _VERSION}, self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The learner of a file that `save` wrote; it goes on to the same bytes.

        Parameters
        ----------
        path : str or Path
        """
        record, learner = unpack_state(read_bytes(path), path)
        if record != {"format": _FORMAT, "version": _VERSION} or not isinstance(learner, cls):
            raise InputError(f"{path} holds no {cls.__name__}, or one of another version")
        return learner

    def _loss(self) -> Loss:
        return loss_of(self.loss, self.tolerance)

    def _start(self, n_features):
        if self.clip is None:
            if self._needs_clip and self._loss().name != "squared":
                raise InputError(
                    Parameter("loss", self.loss), " needs a clip; only 'squared' goes without"
                )
        else:
            check_real("clip", self.clip, above=0.0)
        self.n_features_in_ = n_features
        self.mixture_ = None
        if isinstance(self.kernel_params, str):
            check_choice("kernel_params", self.kernel_params, ("auto",))
            self.mixture_ = WidthMixture(self, n_features)
        else:
            self._begin(n_features)
        self.n_rounds_, self._others = 0, []
        if self._loss().is_classification and len(self.classes_) > 2:
            for _ in self.classes_[1:]:
                other = clone(self)
                other.classes_ = np.array([-1, 1])
                other._start(n_features)
                self._others.append(other)

    def _take(self, points, targets):
        own = targets[:, 0] if self._others else targets
        learn = self._learn if self.mixture_ is None else self.mixture_.learn
        if len(points) > _MANY:
            with threadpool_limits(1, user_api="blas"):  # its calls are too short to be shared
                scores = learn(points, own)
        else:
            scores = learn(points, own)
        self.n_rounds_ += len(points)
        if not self._others:
            return scores
        rest = zip(self._others, targets.T[1:], strict=True)
        return np.column_stack([scores, *(other._take(points, y) for other, y in rest)])

    def _all_scores(self, points):
        """Scores, a column for each of more than two classes."""
        scores = self._own_scores(points)
        if not self._others:
            return scores
        return np.column_stack([scores, *(other._own_scores(points) for other in self._others)])

    def _own_scores(self, points):
        return self._scores(points) if self.mixture_ is None else self.mixture_.scores(points)

    def _own_features(self, points):
        mixed = self.mixture_
        return self._features_of(points) if mixed is None else mixed.features_of(points)

    def _labels(self, scores):
        """The classes that scores stand for."""
        best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.int64)
        return self.classes_[best]

    def _bound(self):
        """C as a number."""
        return np.inf if self.clip is None else float(self.clip)

    def _row(self, x):
        point = np.asarray(x, dtype=np.float64).reshape(1, -1)
        expected = getattr(self, "n_features_in_", point.shape[1])
        if point.shape[1] != expected:
            raise InputError(f"x has {point.shape[1]} features but {expected} were learnt from")
        if not np.isfinite(point).all():
            raise InputError("x has infinite or NaN entries; remove or fill them")
        return point

    def _check_pair(self, X, y, *, reset):
        classification = self._loss().is_classification
        X, y = validate_data(
            self, X, y, dtype=np.float64, reset=reset, y_numeric=not classification
        )
        if classification:
            check_classification_targets(y)
            return X, y
        return X, y.astype(np.float64)

    def _set_classes(self, classes):
        if len(classes) < 2:
            raise InputError(
                f"y has one class, {classes[0]!r}; give all labels by partial_fit(..., classes=)"
            )
        self.classes_ = classes

    def _targets(self, y):
        """Numbers, or -1 and 1 for the two classes, or so for each of more."""
        if not self._loss().is_classification:
            return np.asarray(y, dtype=np.float64)
        known = np.isin(y, self.classes_)
        if not known.all():
            odd = y[~known][0]
            raise InputError(f"label {odd!r} is none of the classes {self.classes_.tolist()}")
        if len(self.classes_) > 2:
            return np.where(np.asarray(y)[:, None] == self.classes_, 1.0, -1.0)
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "n_rounds_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        loss = LOSSES.get(self.loss) if isinstance(self.loss, str) else None
        if loss is not None and loss.is_classification:
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=True)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags(poor_score=True)  # targets may lie outside clip
        return tags
