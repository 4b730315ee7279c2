"""The estimator interface of all online learners: rounds, classes, scikit-learn conventions, files.

In each round the learner sees x_t, predicts, receives y_t and updates. `predict_one` never changes
the learner, and `learn_one` does not need a prediction before it. `partial_fit` and
`predict_then_learn` run many rounds with the same result, and faster.

Algorithms are implemented by models (`model.OnlineModel`), of which a learner has one per class.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.kernels import Kernel, KernelLike, KernelParams, as_kernel
from graphsqueak.online.losses import LOSSES, get_loss
from graphsqueak.online.model import OnlineModel
from graphsqueak.online.width_mixture import WidthMixture, width_grid
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.packing import pack_state, unpack_state
from graphsqueak.system.remote import read_bytes
from graphsqueak.validation import check_choice, check_real

_FILE_RECORD = {"format": "graphsqueak learner", "version": 1}


def encode_labels(labels: ArrayLike, classes: np.ndarray) -> np.ndarray:
    """Return targets -1 and 1, one row per model: one for two classes, else one per class.

    >>> encode_labels(["b", "a"], np.array(["a", "b"]))
    array([[ 1., -1.]])
    """
    labels = np.asarray(labels)
    is_known = np.isin(labels, classes)
    if not is_known.all():
        raise InputError(
            f"label {labels[~is_known].tolist()[0]!r} is not one of the classes {classes.tolist()}"
        )
    positive = classes[1:] if len(classes) == 2 else classes
    # Rows are contiguous. numba would compile kernels for other layouts separately, and processes
    # that compile two forms of one kernel at the same time can damage its cache on disk.
    return np.where(labels == positive[:, None], 1.0, -1.0)


def decode_scores(scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the class that each score, or each row of scores, predicts.

    >>> decode_scores(np.array([0.5, -2.0]), np.array(["a", "b"])).tolist()
    ['b', 'a']
    """
    best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.int64)
    return classes[best]


def _is_classifier(learner):
    """Return whether the learner has `decision_function`; a condition for `available_if`."""
    if get_loss(learner.loss).is_classification:
        return True
    raise AttributeError(
        f"loss={learner.loss!r} is for regression, without decision_function; use predict"
    )


@functools.cache
def _thread_pools():
    """Return the thread pools of the process; finding them takes as long as many rounds."""
    return ThreadpoolController()


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineLearner(BaseEstimator):
    """Base class of the online learners, with the parameters that all of them have.

    A learner is a regressor if its loss is "squared", "epsilon_insensitive" or "huber", otherwise a
    classifier. For two classes, positive scores predict `classes_[1]`. For more classes, one model
    per class is learned (one-vs-rest), with one column of scores each; fitted attributes such as
    `n_support_` are those of the first model.

    With kernel_params="auto", models with several widths of a Gaussian or Laplacian kernel are
    mixed according to their losses (`mixture_`, a `WidthMixture`).

    Subclasses implement `_make_model`.
    """

    kernel: KernelLike = "rbf"
    kernel_params: KernelParams | Literal["auto"] = None
    loss: Literal[
        "squared", "logistic", "squared_hinge", "hinge", "epsilon_insensitive", "huber"
    ] = "squared"
    tolerance: float | None = None
    clip: float | None = 1.0

    def _make_model(self, kernel: Kernel, n_features: int) -> OnlineModel:
        raise NotImplementedError

    @property
    def n_support_(self) -> int:
        """Number of support points (or frequencies), summed over the models of a mixture."""
        return self.models_[0].n_support

    @property
    def mixture_(self) -> WidthMixture | None:
        """The mixture of kernel widths, if kernel_params="auto"."""
        model = self.models_[0]
        return model if isinstance(model, WidthMixture) else None

    def predict_one(self, x: ArrayLike) -> Any:
        """Predict the target of one point.

        Parameters
        ----------
        x : array of shape (d,)

        Returns
        -------
        float or label
            0 or -1 before the first round.
        """
        point = self._check_row(x)
        is_fitted = self.__sklearn_is_fitted__()
        if not get_loss(self.loss).is_classification:
            return float(self._scores(point)[0]) if is_fitted else 0.0
        return decode_scores(self._scores(point), self.classes_)[0].item() if is_fitted else -1

    def learn_one(self, x: ArrayLike, y: Any) -> Self:
        """Run one round with one point and its target.

        Parameters
        ----------
        x : array of shape (d,)
        y : float or label
            Labels are -1 and 1, or False and True, unless `partial_fit` was called with others.
        """
        point = self._check_row(x)
        # There is only one label to infer the classes from.
        if not self.__sklearn_is_fitted__():
            is_boolean = isinstance(y, (bool, np.bool))
            self._start(point.shape[1], np.array([False, True] if is_boolean else [-1, 1]))
        self._learn(point, self._targets(np.array([y])))
        return self

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Discard what was learned, then run one round per row of X.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Numbers, or labels.
        """
        points, y = self._check_pair(X, y, reset=True)
        self._start(points.shape[1], np.unique(y))
        self._learn(points, self._targets(y))
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Run one round per row of X.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
        classes : array, optional
            All labels, in the first call, if some may be missing from y.
        """
        self.predict_then_learn(X, y, classes=classes)
        return self

    def predict_then_learn(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None
    ) -> np.ndarray:
        """Run one round per row of X and return the scores given before each update.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
        classes : array, optional
            All labels, in the first call, if some may be missing from y.

        Returns
        -------
        ndarray of shape (n,), or (n, n_classes) for more than two classes
        """
        # Only the first call sets the number of features and the classes.
        is_first = not self.__sklearn_is_fitted__()
        points, y = self._check_pair(X, y, reset=is_first)
        if is_first:
            self._start(points.shape[1], np.unique(y if classes is None else classes))
        return self._learn(points, self._targets(y))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the targets of the rows of X; the learner does not change.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
            Numbers, or labels.
        """
        check_is_fitted(self)
        scores = self._scores(validate_data(self, X, dtype=np.float64, reset=False))
        if get_loss(self.loss).is_classification:
            return decode_scores(scores, self.classes_)
        return scores

    @available_if(_is_classifier)
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return the scores of the rows of X; classifiers only.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        ndarray of shape (n,), or (n, n_classes) for more than two classes
        """
        check_is_fitted(self)
        return self._scores(validate_data(self, X, dtype=np.float64, reset=False))

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the R^2 of a regressor or the accuracy of a classifier.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        float
        """
        metric = accuracy_score if get_loss(self.loss).is_classification else r2_score
        return float(metric(y, self.predict(X)))

    def save(self, path: str | Path) -> None:
        """Write the learner and everything it has learned to a file, without pickle.

        Parameters
        ----------
        path : str or Path
            Read by `load`. The kernel must be given by name, not as a function.
        """
        with atomic_file(path) as file:
            pack_state(file, _FILE_RECORD, self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a learner written by `save`; it continues bit for bit like the original.

        Parameters
        ----------
        path : str or Path
        """
        record, learner = unpack_state(read_bytes(path), path)
        if record != _FILE_RECORD or not isinstance(learner, cls):
            raise InputError(
                f"{path} does not contain a {cls.__name__} of this version; load it with the class "
                "and the version that saved it"
            )
        return learner

    def _start(self, n_features, classes):
        """Create the models; `classes` are ignored for regression."""
        if self.clip is not None:
            check_real("clip", self.clip, above=0.0)
        n_models = 1
        if get_loss(self.loss).is_classification:
            if len(classes) < 2:
                raise InputError(
                    f"y contains one class, {classes[0]!r}; pass all labels to "
                    "partial_fit(..., classes=)"
                )
            self.classes_ = classes
            # Two classes need one hypothesis, whose sign separates them.
            n_models = len(classes) if len(classes) > 2 else 1
        self.models_ = [self._new_model(n_features) for _ in range(n_models)]
        self.n_features_in_ = n_features
        self.n_rounds_ = 0

    def _new_model(self, n_features):
        """Return a model with the given kernel, or a mixture of models with different widths."""
        if not isinstance(self.kernel_params, str):
            return self._make_model(as_kernel(self.kernel, self.kernel_params), n_features)
        check_choice("kernel_params", self.kernel_params, ("auto",))
        gammas = width_grid(self.kernel, n_features)
        kernels = [as_kernel(self.kernel, {"gamma": float(gamma)}) for gamma in gammas]
        models = [self._make_model(kernel, n_features) for kernel in kernels]
        return WidthMixture(models, gammas, loss=self._loss(), clip=self._clip())

    def _learn(self, points, targets):
        """Run the rounds of each model on its row of targets; return their scores."""
        # The matrices of a round are too small for BLAS to gain from threads.
        with _thread_pools().limit(limits=1, user_api="blas"):
            rows = zip(self.models_, targets, strict=True)
            scores = [model.learn(points, row) for model, row in rows]
        self.n_rounds_ += len(points)
        return _join_columns(scores)

    def _scores(self, points):
        return _join_columns([model.scores(points) for model in self.models_])

    def _loss(self):
        return get_loss(self.loss, self.tolerance)

    def _require_loss(self, *names):
        """Refuse losses that the algorithm is not defined for."""
        loss = self._loss()
        if loss.name not in names:
            raise InputError(
                f"{type(self).__name__} does not support ",
                Parameter("loss", loss.name),
                f"; use {' or '.join(map(repr, names))}",
            )

    def _clip(self):
        return np.inf if self.clip is None else float(self.clip)

    def _targets(self, y):
        """Return numeric targets, one row per model."""
        if get_loss(self.loss).is_classification:
            return encode_labels(y, self.classes_)
        return np.array(y, dtype=np.float64)[None]

    def _check_row(self, x):
        # Cheaper than `validate_data`, which takes longer than a round.
        point = np.asarray(x, dtype=np.float64).reshape(1, -1)
        n_expected = getattr(self, "n_features_in_", point.shape[1])
        if point.shape[1] != n_expected:
            raise InputError(
                f"x has {point.shape[1]} features, but the learner was fitted with {n_expected}"
            )
        if not np.isfinite(point).all():
            raise InputError("x contains infinite or NaN entries; remove or fill them")
        return point

    def _check_pair(self, X, y, *, reset):
        is_classification = get_loss(self.loss).is_classification
        X, y = validate_data(
            self, X, y, dtype=np.float64, reset=reset, y_numeric=not is_classification
        )
        if is_classification:
            check_classification_targets(y)
        return X, y

    def __sklearn_is_fitted__(self):
        return hasattr(self, "n_rounds_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # Tags may be requested before the parameters were checked.
        loss = LOSSES.get(self.loss) if isinstance(self.loss, str) else None
        if loss is not None and loss.is_classification:
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=True)
        else:
            tags.estimator_type = "regressor"
            # Targets outside [-clip, clip] cannot be predicted.
            tags.regressor_tags = RegressorTags(poor_score=True)
        return tags


def _join_columns(columns):
    return columns[0] if len(columns) == 1 else np.column_stack(columns)
