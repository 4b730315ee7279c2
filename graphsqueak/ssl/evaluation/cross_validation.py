"""Cross-validation of models on graphs: labels are hidden, nodes and edges are kept.

Removing the nodes of a fold would change the graph that the other nodes are predicted by. Here each
fold hides the labels of its nodes only (`GraphSplit`), and scores the predictions for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier

from graphsqueak.errors import InputError
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike, as_edge_list, as_stream
from graphsqueak.ssl.alignment import Labels
from graphsqueak.ssl.labels import given_labels, is_missing, is_unlabeled
from graphsqueak.ssl.selection.graph_split import GraphSplit
from graphsqueak.validation import explain_keywords

__all__ = ["cross_validate"]


@explain_keywords()
def cross_validate(
    estimator: BaseEstimator,
    graph: GraphLike,
    y: Labels,
    *,
    scoring: str | Callable | Iterable[str] | None = None,
    features: ArrayLike | None = None,
    n_splits: int = 5,
    random_state: RandomState = None,
) -> dict[str, np.ndarray]:
    """Estimate how well a model predicts labels, by hiding one fold of them at a time.

    Parameters
    ----------
    estimator : estimator of graphsqueak
        Such as `StableHFSClassifier()`. It is cloned for each fold.
    graph : GraphLike
        Each fold is fitted to the whole graph. A file is read again for each fold.
    y : Labels
        Array of shape (n_nodes,), mapping from node ids to labels, pandas Series, table with the
        columns node and label, or path of such a table. -1 marks a node without a class, and NaN
        one without a value. Arrays are matched by position if that is unambiguous
        (`graphsqueak.ssl.alignment`).
    scoring : str, callable or several names, optional
        Scorers of scikit-learn: "accuracy", "roc_auc", "average_precision", "f1_macro", ...
        Default: accuracy, or the coefficient of determination of a regressor.
    features : array or data frame of shape (n_nodes, n_features), optional
        For `Smoothed` and `CorrectAndSmooth`, matched to nodes as in `Smoothed.fit`.
    n_splits : int
        Number of folds of the labels (`GraphSplit`).
    random_state : int, Generator or None
        Seeds the folds.

    Returns
    -------
    dict of arrays of shape (n_splits,)
        `test_score`, or `test_NAME` for each of several names, and `fit_time` in seconds.

    Examples
    --------
    >>> from graphsqueak.datasets import load_karate
    >>> from graphsqueak.ssl import StableHFSClassifier
    >>> y = np.full(34, -1)
    >>> y[[0, 1, 2, 4, 6, 8, 23, 28, 30, 33]] = 0, 0, 0, 0, 0, 1, 1, 1, 1, 1
    >>> model = StableHFSClassifier()
    >>> cross_validate(model, load_karate(), y, scoring="roc_auc", random_state=7)["test_score"]
    array([1., 1., 1., 1., 1.])
    """
    if not hasattr(estimator, "get_params"):
        raise InputError(
            f"the first argument is a {type(estimator).__name__}, not an estimator: call "
            "cross_validate(estimator, graph, y), for example with StableHFSClassifier()"
        )
    # `Smoothed` is a classifier if its estimator is one.
    is_class = is_classifier(getattr(estimator, "estimator", estimator))
    scorers = _scorers(scoring, "accuracy" if is_class else "r2")
    # A source is read again for each fold.
    source = as_stream(graph)
    if not source.is_rereadable:
        source = as_edge_list(source)
    given = given_labels(y, is_unlabeled if is_class else is_missing)
    columns: dict[str, list] = {name: [] for name in ("fit_time", *scorers)}
    for train, test in GraphSplit(n_splits, random_state=random_state).split(None, given.values):
        data = {"y": _hide(given, train)}
        if features is not None:
            data["features"] = features
        fitted: Any = clone(estimator)
        start = time.perf_counter()
        fitted.fit(source, **data)
        columns["fit_time"].append(time.perf_counter() - start)
        nodes = given.names[test]
        if given.is_by_id:
            # Nodes of y that are not in the graph are not scored.
            all_nodes, index = given.locate(given.find(fitted.ids_, 0, len(fitted.ids_)))
            is_test = np.isin(index, test)
            nodes = all_nodes[is_test]
            test = index[is_test]
        adapter = _ClassifierAdapter(fitted) if is_class else _RegressorAdapter(fitted)
        for name, scorer in scorers.items():
            columns[name].append(scorer(adapter, nodes, given.values[test]))
    return {name: np.array(column) for name, column in columns.items()}


def _hide(given, train):
    """Return y with the labels `train` only."""
    if given.is_by_id:
        values = given.values[train].tolist()
        return dict(zip(given.names[train].tolist(), values, strict=True))
    # Masked entries keep their positions, by which an array is matched.
    is_hidden = np.ones(given.entries.size, dtype=bool)
    is_hidden[given.names[train]] = False
    return np.ma.masked_array(given.entries, mask=is_hidden)


class _RegressorAdapter(RegressorMixin, BaseEstimator):
    """A fitted model whose X is an array of nodes, for scorers of scikit-learn."""

    def __init__(self, fitted=None):
        self.fitted = fitted

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, rows):
        return self.fitted.predict()[rows]


class _ClassifierAdapter(ClassifierMixin, _RegressorAdapter):
    """The same for a classifier."""

    @property
    def classes_(self):
        return self.fitted.classes_

    def predict_proba(self, rows):
        return self.fitted.predict_proba()[rows]


def _scorers(scoring, default):
    """Return scorers of scikit-learn by the names of their columns."""
    from sklearn.metrics import get_scorer

    if callable(scoring):
        return {"test_score": scoring}
    if scoring is None or isinstance(scoring, str):
        # The names of columns are those of sklearn.model_selection.cross_validate.
        names = {"test_score": scoring or default}
    else:
        names = {f"test_{name}": name for name in scoring}
    try:
        return {column: get_scorer(name) for column, name in names.items()}
    except ValueError as error:
        raise InputError(str(error).splitlines()[0]) from None
