"""Detection of one class: flag nodes for review, and measure the flags where the truth is known.

*Recall.* The k labeled nodes of the class, each scored without its own label, and a further node of
the class drawn like them are exchangeable: its score exceeds the j-th smallest of theirs with
probability 1 - j / (k + 1). Nodes are flagged if they score at least the one at position
(1 - R) (k + 1), interpolated, which is expected to find the fraction R of the class. The position
is at least 1 if k >= R / (1 - R): 4 labels for R = 0.8, 9 for 0.9.

(The sum of calibrated probabilities is also an estimate of the number of nodes of the class. But if
the class is rare, most of that sum is an error of small probabilities at many nodes.)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.tables import is_table
from graphsqueak.ssl.alignment import is_series, split_by_id
from graphsqueak.validation import check_count, check_real

__all__ = ["detection_report", "find_positives", "flag_positives"]


def find_positives(
    model: Any,
    positive: object,
    *,
    known: Collection = (),
    truth: Mapping | None = None,
    top: int | None = None,
    min_score: float | None = None,
    recall: float | None = None,
) -> tuple[np.ndarray, np.ndarray, dict]:
    """Score all nodes for one class, flag some of them, and measure the flags.

    Parameters
    ----------
    model : classifier on graphs, fitted
    positive : a class
        The class to detect; compared as text.
    known : ids, or labels by id (a mapping, a pandas Series or a table)
        Nodes whose labels the model was fitted to. The options below do not flag them, and they
        are not measured.
    truth : mapping from ids to classes, pandas Series or table, optional
    top, min_score, recall : optional
        At most one, as in `flag_positives`. Default: flag the nodes that the model predicts to be
        of the class.

    Returns
    -------
    score : ndarray of float
        Probability of the class, or fraction of the scores, for each node of `model.ids_`.
    flagged : ndarray of bool
    report : dict
        `positive`, the number `flagged` and, if there is a truth, the result of `detection_report`.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsqueak.ssl import HFSClassifier
    >>> clf = HFSClassifier().fit(nx.path_graph(5), {0: "fine", 4: "ring"})
    >>> score, flagged, report = find_positives(clf, "ring", known=[0, 4], top=1)
    >>> score.tolist(), flagged.tolist(), report["flagged"]
    ([0.0, 0.25, 0.5, 0.75, 1.0], [False, False, False, True, True], 1)
    """
    positive = str(positive)
    names = [str(name) for name in model.ids_.tolist()]
    classes = [str(name) for name in model.classes_.tolist()]
    if positive not in classes:
        raise InputError(f"{positive} is not a class of the labels, which are {', '.join(classes)}")
    column = classes.index(positive)
    score = model.label_distributions_[:, column]
    # Ids of files are text or integers, and those of tables may be the other: compared as text.
    known_names = {str(name) for name in _ids_of(known)}
    is_new = np.array([name not in known_names for name in names])
    flagged = np.array([str(label) == positive for label in model.transduction_.tolist()])
    if any(option is not None for option in (top, min_score, recall)):
        # Nodes with a known label need no review.
        flagged[is_new] = flag_positives(
            score[is_new],
            top=top,
            min_score=min_score,
            recall=recall,
            left_out=None if recall is None else _left_out_scores(model, positive, column),
        )
    report: dict[str, Any] = {"positive": positive, "flagged": int(flagged[is_new].sum())}
    if truth is None:
        return score, flagged, report
    ids, values = split_by_id(truth, "truth")
    if ids is None:
        raise InputError("truth is an array; pass a dict or a pandas Series indexed by node id")
    is_positive = {
        str(node): str(value) == positive for node, value in zip(ids, values.tolist(), strict=True)
    }
    rows = [row for row in np.flatnonzero(is_new) if names[row] in is_positive]
    if rows:
        truth_of_rows = [is_positive[names[row]] for row in rows]
        report |= detection_report(truth_of_rows, score[rows], flagged[rows])
    return score, flagged, report


def _ids_of(known):
    """Return the ids of labels by id; other collections are ids themselves."""
    if isinstance(known, Mapping) or is_series(known) or is_table(known):
        ids, _ = split_by_id(known, "known")
        return known if ids is None else ids
    return known


def flag_positives(
    scores: ArrayLike,
    *,
    top: int | None = None,
    min_score: float | None = None,
    recall: float | None = None,
    left_out: ArrayLike | None = None,
) -> np.ndarray:
    """Flag the nodes with the largest scores, by exactly one of three criteria.

    Parameters
    ----------
    scores : array of shape (n,)
        Probabilities of the class to detect, or other scores.
    top : int, optional
        Number of nodes to flag.
    min_score : float, optional
        Flag the nodes with at least this score.
    recall : float, optional
        Flag the nodes above a score that is expected to find this fraction of the class. It needs
        `left_out`.
    left_out : array of shape (k,), optional
        Scores that labeled nodes of the class get without their own labels; at least
        recall / (1 - recall) of them.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> flag_positives([0.9, 0.1, 0.5, 0.1], recall=0.5, left_out=[0.4, 0.8, 0.6])
    array([ True, False, False, False])
    >>> flag_positives([0.9, 0.1, 0.5, 0.1], top=2)
    array([ True, False,  True, False])
    """
    scores = np.asarray(scores, dtype=np.float64)
    if sum(option is not None for option in (top, min_score, recall)) != 1:
        raise InputError("give exactly one of top, min_score and recall")
    if min_score is not None:
        return scores >= check_real("min_score", min_score)
    if recall is not None:
        return scores >= _cutoff_for_recall(recall, left_out)
    # A stable order, so that ties are flagged in the order of the nodes.
    order = np.argsort(-scores, kind="stable")
    flagged = np.zeros(scores.size, dtype=bool)
    flagged[order[: check_count("top", top)]] = True
    return flagged


def _cutoff_for_recall(recall, left_out):
    """Return the smallest score that is flagged."""
    recall = check_real("recall", recall, above=0.0)
    if recall >= 1:
        raise InputError(
            Parameter("recall", recall),
            " cannot be expected of a limited number of labels; give less than 1",
        )
    if left_out is None:
        raise InputError(
            "recall needs the scores that labeled nodes of the class get without their own "
            "labels; give left_out, or top or min_score instead"
        )
    left_out = np.asarray(left_out, dtype=np.float64)
    # Rounding must not ask for one more.
    n_needed = math.ceil(recall / (1 - recall) - 1e-9)
    if left_out.size < n_needed:
        raise InputError(
            Parameter("recall", recall),
            f" needs {n_needed} labels of the class that can be left out, and there are "
            f"{left_out.size}; give more labels of it, or ",
            Parameter("top"),
            " or ",
            Parameter("min_score"),
            " instead",
        )
    # Position (1 - R) (k + 1) among the sorted scores.
    return np.quantile(left_out, 1 - recall, method="weibull")


def _left_out_scores(model, positive, column):
    """Return what labeled nodes of a class score without their own labels, None for baselines."""
    distributions = getattr(model, "loo_distributions_", None)
    if distributions is None:
        return None
    is_positive = [str(label) == positive for label in model.loo_labels_.tolist()]
    return distributions[np.array(is_positive, dtype=bool), column]


def detection_report(truth: ArrayLike, scores: ArrayLike, flagged: ArrayLike) -> dict:
    """Measure the scores and flags of nodes whose truth is known.

    Parameters
    ----------
    truth : array of bool, shape (n,)
        Whether each node is of the class to detect.
    scores : array of float, shape (n,)
    flagged : array of bool, shape (n,)

    Returns
    -------
    dict
        `auc` and `average_precision` of the scores; `precision`, `recall` and `confusion` (counts
        by name) of the flags; `calibration_error`, the mean difference between scores and truth in
        ten bins of equally many nodes. None if a measure is not defined.

    Examples
    --------
    >>> report = detection_report([True, False, True, False], [0.9, 0.8, 0.6, 0.1], [1, 1, 0, 0])
    >>> report["auc"], report["precision"], report["confusion"]["false_negatives"]
    (0.75, 0.5, 1)
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    truth = np.asarray(truth, dtype=bool)
    flagged = np.asarray(flagged, dtype=bool)
    scores = np.asarray(scores, dtype=np.float64)
    confusion = {
        "true_positives": int(np.count_nonzero(truth & flagged)),
        "false_positives": int(np.count_nonzero(~truth & flagged)),
        "false_negatives": int(np.count_nonzero(truth & ~flagged)),
        "true_negatives": int(np.count_nonzero(~truth & ~flagged)),
    }
    n_positive = int(truth.sum())
    n_flagged = int(flagged.sum())
    # The area under the curve needs both classes.
    has_both = 0 < n_positive < truth.size
    # Bins of equally many nodes: most scores of a rare class are near zero.
    bins = np.array_split(np.argsort(scores, kind="stable"), 10)
    gaps = [abs(scores[bin_].sum() - truth[bin_].sum()) for bin_ in bins]
    return {
        "auc": float(roc_auc_score(truth, scores)) if has_both else None,
        "average_precision": float(average_precision_score(truth, scores)) if n_positive else None,
        "precision": confusion["true_positives"] / n_flagged if n_flagged else None,
        "recall": confusion["true_positives"] / n_positive if n_positive else None,
        "confusion": confusion,
        "calibration_error": float(np.sum(gaps) / truth.size) if truth.size else None,
    }
