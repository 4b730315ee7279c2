"""Decision rule of Stable-HFS: one score per node and class from a fit; the largest decides.

1. Scores are f + t (m - 1/C), with the class means m of the component, weighted by the weights of
   the classes, and the prior weight t. If leave-one-out selects them, the means of the component
   minus those of all labels are added. In a component whose labels are of one class f is zero, and
   the scores are m - 1/C.
2. Between two classes, with t selected, the threshold moves to where it misclassifies the
   fewest labels (`thresholds`).
3. If class sizes are given, offsets or a graph cut meet them (`class_sizes`). Otherwise a
   temperature turns scores into probabilities (`calibration`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from graphsqueak.randomness import RandomState
from graphsqueak.ssl.decisions.calibration import fit_temperature
from graphsqueak.ssl.decisions.class_sizes import class_fractions, cut_scores, meet_sizes
from graphsqueak.ssl.decisions.label_weights import class_factors
from graphsqueak.ssl.decisions.thresholds import least_error_threshold
from graphsqueak.validation import check_choice

__all__ = ["Decision", "DecisionRule", "add_prior"]


class Decision(NamedTuple):
    """Scores to decide by, and how they came about.

    `threshold` is that between two classes, which `scores` include; `temperature` is that of the
    probabilities, or None. `loo_scores` are what labeled nodes of the classes `selection.code`
    would get in `scores` without their own labels, before sizes are met.
    """

    scores: np.ndarray
    fit: Any
    selection: Any
    threshold: float
    temperature: float | None
    loo_scores: np.ndarray

    @property
    def eta(self):
        """The eta that was selected."""
        return self.selection.eta


@dataclass(frozen=True)
class DecisionRule:
    """The options of a classifier that concern its decisions.

    Parameters
    ----------
    selects_threshold : bool
        Whether the threshold between two classes is selected by leave-one-out; otherwise it is 0.
    class_weight, class_sizes, decision, random_state
        As in `StableHFSClassifier`.
    """

    selects_threshold: bool
    class_weight: str | Mapping | None = None
    class_sizes: str | Mapping | None = None
    decision: str = "scores"
    random_state: RandomState = None

    def decide(self, fit, selection, labels, graph):
        """Return the `Decision` for all nodes of the graph.

        Parameters
        ----------
        fit : Fit
        selection : Selection
        labels : ClassLabels
        graph : EdgeList
        """
        check_choice("decision", self.decision, ("auto", "scores", "sizes", "cut"))
        n_classes = labels.classes.size
        prior_weight = selection.prior_weight
        factors = class_factors(labels, self.class_weight)
        prior = factors * np.bincount(labels.code, labels.sample_weight, n_classes)
        prior = prior / prior.sum() - 1 / n_classes
        offset = factors * fit.offset
        offset /= offset.sum(axis=1, keepdims=True)
        # 1: scores of all nodes, and of labeled nodes without their own labels.
        centered = fit.centered
        if selection.adds_means:
            mean_of_all = np.average(labels.targets, axis=0, weights=labels.sample_weight)
            centered = centered + (fit.offset - mean_of_all)
        scores = add_prior(fit._replace(centered=centered, offset=offset), prior_weight)
        is_mixed = selection.is_mixed
        loo_scores = selection.loo_scores + prior_weight * prior * is_mixed[:, None]
        # 2: after the threshold is subtracted, the largest score decides again.
        threshold = 0.0
        if self.selects_threshold and n_classes == 2 and selection.can_select:
            threshold = least_error_threshold(
                scores[fit.has_label, 1],
                loo_scores[is_mixed, 1],
                selection.code[is_mixed] == 1,
                sample_weight=selection.sample_weight[is_mixed],
            )
            shift = threshold * np.array([1.0, -1.0])
            # The prior alone decides components whose labels are of one class.
            scores[fit.has_label & ~_has_one_class(fit)] += shift
            loo_scores[is_mixed] += shift
        # 3
        meets_sizes = self.class_sizes is not None or self.decision in ("sizes", "cut")
        if meets_sizes and self.decision != "scores" and n_classes > 1:
            temperature = None
            scores = self._meet_sizes(scores, fit.has_label, labels, graph)
        else:
            temperature = fit_temperature(loo_scores, selection.code)
        return Decision(scores, fit, selection, threshold, temperature, loo_scores)

    def _meet_sizes(self, scores, has_label, labels, graph):
        """Return scores by which the classes have the sizes that are asked for."""
        sizes = "auto" if self.class_sizes is None else self.class_sizes
        fractions = class_fractions(sizes, labels, scores[has_label])
        sized = scores.copy()
        sized[has_label] = meet_sizes(scores[has_label], fractions)
        if self.decision == "cut":
            sized = cut_scores(
                graph, labels, sized, has_label, fractions, random_state=self.random_state
            )
        return sized - sized.mean(axis=1, keepdims=True)


def add_prior(fit, prior_weight):
    """Return centered scores plus `prior_weight` times the prior.

    In a component whose labels are of one class the prior alone decides.
    """
    prior = fit.offset - 1 / fit.offset.shape[1]
    scores = fit.centered + prior_weight * prior
    has_one_class = _has_one_class(fit)
    scores[has_one_class] = prior[has_one_class]
    scores[~fit.has_label] = 0.0
    return scores


def _has_one_class(fit):
    """Return which nodes lie in components whose labels are all of one class."""
    return fit.has_label & (fit.offset.max(axis=1) == 1.0)
