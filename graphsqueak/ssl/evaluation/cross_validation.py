"""Cross-validation on graphs: labels are hidden, nodes and edges stay."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier

from graphsqueak.errors import InputError
from graphsqueak.randomness import RandomState
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.ssl.alignment import NodeValues, split_by_id, with_plain_type
from graphsqueak.ssl.labels import is_missing
from graphsqueak.ssl.selection.graph_split import GraphSplit
from graphsqueak.ssl.stable_classifier import StableHFSClassifier

__all__ = ["cross_validate"]

_NOTHING = {"i": -1, "f": np.nan, "U": "", "O": None}  # what means no label, by kind of array


def cross_validate(
    graph: GraphLike,
    y: ArrayLike | Mapping,
    *,
    estimator: BaseEstimator | None = None,
    scoring: str | Callable | Iterable[str] | None = None,
    features: ArrayLike | None = None,
    n_splits: int = 5,
    random_state: RandomState = None,
) -> dict[str, np.ndarray]:
    """Hide a part of the labels at a time, and score what a model says of their nodes.

    Parameters
    ----------
    graph : EdgeList, EdgeSource, scipy adjacency matrix or networkx graph
        Whole in every fold.
    y : array of shape (n_nodes,), or mapping from node ids to labels
        -1 where there is no label, and NaN where there is no value. A pandas Series, or a table
        with the columns node and label, is a mapping. Arrays go by position if that says which
        node is meant (`graphsqueak.ssl.alignment`).
    estimator : estimator of graphsqueak, optional
        Default: `StableHFSClassifier`.
    scoring : str, callable or several names, optional
        As scikit-learn knows them: "accuracy", "roc_auc", "average_precision", "f1_macro", ...
        Default: accuracy, or the coefficient of determination of a regressor.
    features : array or data frame of shape (n_nodes, n_features), optional
        For `Smoothed` and `CorrectAndSmooth`, matched to nodes as in `Smoothed.fit`.
    n_splits : int
        Folds of the labels (`GraphSplit`).
    random_state : int, Generator or None
        Seeds the folds.

    Returns
    -------
    dict of arrays of shape (n_splits,)
        `test_score`, or a `test_NAME` for each of several names, and `fit_time` in seconds.

    Examples
    --------
    >>> from graphsqueak.datasets import load_karate
    >>> y = np.full(34, -1)
    >>> y[[0, 1, 2, 4, 6, 8, 23, 28, 30, 33]] = 0, 0, 0, 0, 0, 1, 1, 1, 1, 1
    >>> cross_validate(load_karate(), y, scoring="roc_auc", random_state=7)["test_score"]
    array([1., 1., 1., 1., 1.])
    """
    model = StableHFSClassifier() if estimator is None else estimator
    is_class = is_classifier(getattr(model, "estimator", model))
    scorers = _scorers(scoring, "accuracy" if is_class else "r2")
    source = graph if isinstance(graph, EdgeSource) else as_edge_list(graph)
    names, values = split_by_id(y)
    values = with_plain_type(np.asarray(values))
    columns: dict[str, list] = {name: [] for name in ("fit_time", *scorers)}
    for train, test in GraphSplit(n_splits, random_state=random_state).split(None, values):
        told: Any = values.copy()
        if names is None:
            told = told if values.dtype.kind in _NOTHING else told.astype(object)
            told[test] = _NOTHING[told.dtype.kind]
        else:
            told = {names[row]: values[row] for row in train}
        began = time.perf_counter()
        fitted: Any = clone(model)
        fitted.fit(source, told, *([] if features is None else [features]))
        columns["fit_time"].append(time.perf_counter() - began)
        rows, truth = test, values[test]
        if names is not None:
            hidden = NodeValues({names[row]: row for row in test}, is_missing)
            rows, found = hidden.locate(hidden.find(fitted.ids_, 0, len(fitted.ids_)))
            truth = values[hidden.values[found]]
        truth = with_plain_type(truth)
        answers = _Classes(fitted) if is_class else _Values(fitted)
        for name, scorer in scorers.items():
            columns[name].append(scorer(answers, rows, truth))
    return {name: np.array(column) for name, column in columns.items()}


class _Values(RegressorMixin, BaseEstimator):
    """Answers for nodes of a graph, as scorers of scikit-learn ask for them."""

    def __init__(self, fitted=None):
        self.fitted = fitted

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, rows):
        return self.fitted.predict()[rows]


class _Classes(ClassifierMixin, _Values):
    """The same for classes."""

    @property
    def classes_(self):
        return self.fitted.classes_

    def predict_proba(self, rows):
        return self.fitted.predict_proba()[rows]


def _scorers(scoring, default):
    """Scorers of scikit-learn by the names of their columns."""
    from sklearn.metrics import get_scorer

    if callable(scoring):
        return {"test_score": scoring}
    is_one = scoring is None or isinstance(scoring, str)
    wanted = {"score": scoring or default} if is_one else {name: name for name in scoring}
    try:
        return {f"test_{key}": get_scorer(name) for key, name in wanted.items()}
    except ValueError as error:
        raise InputError(str(error).splitlines()[0]) from None
