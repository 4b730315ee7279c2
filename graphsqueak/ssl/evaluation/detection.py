"""Look for one class: who is flagged, and how good that is where the truth is known.

Scores are shares of the class looked for, best calibrated: then their sum is the number of nodes of
that class to expect, and the fewest nodes that hold a share R of it are those of the largest scores
whose sum is R of that of all.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.tables import is_table
from graphsqueak.ssl.alignment import is_series, split_by_id
from graphsqueak.validation import check_count, check_real

__all__ = ["find_positives", "flag_positives", "judge_positives"]

_N_BINS = 10


def find_positives(
    model: Any,
    positive: object,
    *,
    known: Collection = (),
    truth: Mapping | None = None,
    top: int | None = None,
    threshold: float | None = None,
    recall: float | None = None,
) -> tuple[np.ndarray, np.ndarray, dict]:
    """Scores of a class at all nodes, who is flagged, and how good that is.

    Parameters
    ----------
    model : classifier on graphs, fitted
    positive : a class
        By its name, as text.
    known : ids, or labels by id (a mapping, a pandas Series or a table)
        Nodes whose labels the model knew: none of them is flagged newly, or judged.
    truth : mapping from ids to classes, pandas Series or table, optional
    top, threshold, recall : optional
        At most one, as of `flag_positives`. Default: flag whom the model takes for the class.

    Returns
    -------
    score : ndarray of float
    flagged : ndarray of bool
    told : dict
        `positive`, the number `flagged` and, where there is a truth, what `judge_positives` says.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsqueak.ssl import HFSClassifier
    >>> clf = HFSClassifier().fit(nx.path_graph(5), {0: "fine", 4: "ring"})
    >>> score, flagged, told = find_positives(clf, "ring", known=[0, 4], top=1)
    >>> score.tolist(), flagged.tolist(), told["flagged"]
    ([0.0, 0.25, 0.5, 0.75, 1.0], [False, False, False, True, True], 1)
    """
    names, labeled = list(map(str, model.ids_.tolist())), set(map(str, _ids_of(known)))
    classes = list(map(str, model.classes_.tolist()))
    if str(positive) not in classes:
        raise InputError(f"{positive} is no class of the labels, which are {', '.join(classes)}")
    score = model.label_distributions_[:, classes.index(str(positive))]
    rest = np.array([name not in labeled for name in names])
    flagged = np.array([str(label) == str(positive) for label in model.transduction_.tolist()])
    if (top, threshold, recall) != (None, None, None):
        flagged[rest] = flag_positives(score[rest], top=top, threshold=threshold, recall=recall)
    told: dict[str, Any] = {"positive": str(positive), "flagged": int(flagged[rest].sum())}
    nodes, values = split_by_id({} if truth is None else truth, "truth")
    if nodes is None:
        raise InputError("truth is an array; pass a dict or a pandas Series indexed by node id")
    pairs = zip(nodes, values.tolist(), strict=True)
    asked = {str(node): str(value) == str(positive) for node, value in pairs}
    rows = [row for row in np.flatnonzero(rest) if names[row] in asked]
    if rows:
        told |= judge_positives([asked[names[row]] for row in rows], score[rows], flagged[rows])
    return score, flagged, told


def _ids_of(known):
    """The ids of labels by id; other collections are ids themselves."""
    if isinstance(known, Mapping) or is_series(known) or is_table(known):
        ids, _ = split_by_id(known, "known")
        return known if ids is None else ids
    return known


def flag_positives(
    scores: ArrayLike,
    *,
    top: int | None = None,
    threshold: float | None = None,
    recall: float | None = None,
) -> np.ndarray:
    """Flag the nodes of the largest scores: so many, above a threshold, or to find a share.

    Parameters
    ----------
    scores : array of shape (n,)
        Probabilities, or other shares, of the class looked for.
    top : int, optional
        How many to flag. Exactly one of the three is given.
    threshold : float, optional
        Flag scores that are not below it.
    recall : float, optional
        Flag the fewest that are expected to hold this share of the class, if `scores` are
        probabilities.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> flag_positives([0.9, 0.1, 0.5, 0.1], recall=0.5)
    array([ True, False, False, False])
    >>> flag_positives([0.9, 0.1, 0.5, 0.1], top=2)
    array([ True, False,  True, False])
    """
    scores = np.asarray(scores, dtype=np.float64)
    if sum(option is not None for option in (top, threshold, recall)) != 1:
        raise InputError("give exactly one of top, threshold and recall")
    if threshold is not None:
        return scores >= check_real("threshold", threshold)
    order = np.argsort(-scores, kind="stable")
    if recall is not None:
        check_real("recall", recall, above=0.0)
        if recall > 1:
            raise InputError(Parameter("recall", recall), " is a share, at most 1")
        found = np.cumsum(scores[order])
        size = (
            int(np.searchsorted(found, recall * found[-1] * (1 - 1e-12))) + 1 if order.size else 0
        )
    else:
        size = check_count("top", top)
    flagged = np.zeros(scores.size, dtype=bool)
    flagged[order[:size]] = True
    return flagged


def judge_positives(truth: ArrayLike, scores: ArrayLike, flagged: ArrayLike) -> dict:
    """How good scores and flags are.

    Parameters
    ----------
    truth : array of bool, shape (n,)
        Who is of the class looked for.
    scores : array of float, shape (n,)
    flagged : array of bool, shape (n,)

    Returns
    -------
    dict
        `auc` and `average_precision` of the scores; `precision`, `recall` and `confusion` (counts
        by name) of the flags; `calibration_error`, by how much scores and shares of the truth
        differ, on average over ten bins of equally many scores. None where it is not defined.

    Examples
    --------
    >>> found = judge_positives([True, False, True, False], [0.9, 0.8, 0.6, 0.1], [1, 1, 0, 0])
    >>> found["auc"], found["precision"], found["confusion"]["missed"]
    (0.75, 0.5, 1)
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    truth, flagged = np.asarray(truth, dtype=bool), np.asarray(flagged, dtype=bool)
    scores = np.asarray(scores, dtype=np.float64)
    confusion = {
        "found": int(np.count_nonzero(truth & flagged)),
        "false_alarms": int(np.count_nonzero(~truth & flagged)),
        "missed": int(np.count_nonzero(truth & ~flagged)),
        "passed": int(np.count_nonzero(~truth & ~flagged)),
    }
    n_true, n_flagged = int(truth.sum()), int(flagged.sum())
    both = 0 < n_true < truth.size
    bins = np.array_split(np.argsort(scores, kind="stable"), _N_BINS)
    gaps = [abs(scores[part].mean() - truth[part].mean()) * part.size for part in bins if part.size]
    return {
        "auc": float(roc_auc_score(truth, scores)) if both else None,
        "average_precision": float(average_precision_score(truth, scores)) if n_true else None,
        "precision": confusion["found"] / n_flagged if n_flagged else None,
        "recall": confusion["found"] / n_true if n_true else None,
        "confusion": confusion,
        "calibration_error": float(np.sum(gaps) / truth.size) if truth.size else None,
    }
