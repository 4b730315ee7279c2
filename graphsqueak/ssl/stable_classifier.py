"""Semi-supervised classification by Stable-HFS in memory [C17, Section 4.4.1; BMN04].

For labels Y (a column of 0 and 1 per class) on l nodes S of a graph with Laplacian L,

    f = argmin over f with 1' f = 0 of   (1/l) sum_S (f_i - y_i)^2 + eta f' L f,

with labels centered by their means m. A node gets the class of its largest score

    f_c + t (m_c - 1/C),

t the prior weight. The closed form and its solution are in `stable`, the choice of eta and t in
`model_selection`, and the decision rule with its options in `decisions.rule`.

References
----------
[C17]   Calandriello. Efficient sequential learning in structured and constrained environments.
        PhD thesis, 2017.
[BMN04] Belkin, Matveeva, Niyogi. Regularization and semi-supervised learning on large graphs.
        COLT 2004.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.ssl.base import GraphClassifier
from graphsqueak.ssl.bounds import Bound, bound_of_fit, no_bound
from graphsqueak.ssl.conformal import fit_without_each
from graphsqueak.ssl.decisions.label_weights import class_weighted
from graphsqueak.ssl.decisions.rule import DecisionRule, add_prior
from graphsqueak.ssl.model_selection import (
    MIN_LOO_LABELS,
    eta_for_classes,
    select_for_classes,
)
from graphsqueak.ssl.stable import mean_of_degrees, posterior_deviation
from graphsqueak.ssl.stable_estimator import StableHFSEstimator
from graphsqueak.validation import check_real, explain_keywords

__all__ = ["StableHFSClassifier"]

# Largest number of labels that are left out one by one for prediction sets, each with a column of
# one solve. Halved: sets by 300 labels are up to 11 % larger. Doubled: sets by 600 labels are up to
# 4 % smaller and take four times as long (two block models and a neighbor graph of digits, alpha
# 0.1, three seeds).
MAX_JACKKNIFE_LABELS = 400


@explain_keywords()
@dataclass(kw_only=True, eq=False, repr=False)
class StableHFSClassifier(StableHFSEstimator, GraphClassifier):
    """Semi-supervised node classifier for graphs that fit in memory (Stable-HFS).

    Use it if some nodes have a class, neighbors tend to have the same class, and the classes of
    the other nodes are wanted. It needs no validation set. If the graph does not fit in memory,
    use `SparseHFSClassifier`; for numbers instead of classes, `StableHFSRegressor`.

    Scores sum to zero over every component and over every row. A node gets the class of its
    largest score plus prior_weight_ times (class mean - 1/C); with two classes the second, if its
    score is above threshold_.

    Parameters
    ----------
    eta : float or "auto"
        Weight of the smoothness term. "auto" is 2 / (l mean degree) for l labels.
    prior_weight : float or "auto"
        Multiple of the class means that is added to centered scores, 0 for none and 1 for all.
        "auto" is selected by leave-one-out. With two classes it is an average over values, by the
        number of mistakes, and the threshold is selected as well. With more
        classes it is 0 unless another value makes fewer mistakes.
    calibrated : bool
        Make `label_distributions_` probabilities: a sigmoid per class is fitted to leave-one-out
        scores, and a node gets its most probable class. With fewer than 20 such scores nothing is
        calibrated. If the scores of a class are no better than chance, there is also a warning.
    class_weight : None, "balanced" or mapping from classes to weights
        Weights of labels by class: as given (1 for other classes), or such that all classes weigh
        the same.
    class_sizes : None, "labels", "auto" or mapping from classes to sizes
        Sizes that the predicted classes have: those of the labels, an estimate, or known sizes.
    decision : {"auto", "scores", "sizes", "cut"}
        How to decide: by the largest score; by scores with offsets that meet `class_sizes`; or by
        a cut of few edges that meets them (of the graph in memory, or of the sparsifier). "auto"
        is "scores" without `class_sizes`, else "sizes". "sizes" and "cut" without `class_sizes`
        use "auto" sizes.
    unknown : "prior" or a label
        Prediction in components without a label: the most frequent class, or for example -1.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Number of nearest neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    tol : float
        Relative residual of the solves.
    random_state : int, Generator or None
        Seed of the solver, and of the sketches of leave-one-out and of `uncertainty_`.

    Attributes
    ----------
    eta_, prior_weight_, threshold_ : float
        The values that were used. `threshold_` is 0 with more than two classes, or if the prior
        weight was given. `scores_` include prior weight and threshold.
    loo_scores_ : ndarray (k, C)
        Scores of labeled nodes without their own labels (leave-one-out), by which scores can be
        calibrated. The only label of a class or of a component has none. Empty with fewer than 8
        labels, and without `calibrated` if eta and prior weight were given.
    loo_labels_ : ndarray (k,)
        Labels of these nodes.
    uncertainty_ : ndarray (n_nodes,)
        Posterior standard deviation of the scores.
    bound_ : Bound
        Bound on the squared error of f + mean, clipped to [0, 1], as a number and in words.
    transduction_, label_distributions_, scores_, has_label_in_component_, classes_, ids_
        As in `HFSClassifier`.

    Examples
    --------
    >>> import networkx as nx
    >>> y = [0] + 32 * [-1] + [1]
    >>> clf = StableHFSClassifier(random_state=7).fit(nx.karate_club_graph(), y)
    >>> clf.transduction_[[1, 2, 30, 32]]
    array([0, 0, 1, 1])
    """

    prior_weight: float | str = "auto"
    calibrated: bool = False
    class_weight: str | Mapping | None = None
    class_sizes: str | Mapping | None = None
    decision: str = "auto"

    # Whether the graph would be the same for any labels; sampling may depend on them.
    _label_independent = True

    def _read_problem(self, y, sample_weight, graph):
        labels = super()._read_problem(y, sample_weight, graph)
        return class_weighted(labels, self.class_weight)

    def _candidate_etas(self, labels, inv_mean_degree):
        return [eta_for_classes(self.eta, inv_mean_degree, labels.nodes.size)]

    def _answer(self, solver, graph, labels, etas, *, rule=None):
        """Select the prior weight, fit, and decide.

        Parameters
        ----------
        solver : HFSSolver
        graph : EdgeList
            Graph that is cut if `decision="cut"`.
        labels : ClassLabels
        etas : list of one float
        rule : DecisionRule, optional
            Default: that of the parameters.

        Returns
        -------
        Decision
        """
        prior_weight = self.prior_weight
        if prior_weight != "auto":
            check_real("prior_weight", prior_weight, below=np.inf)
        if rule is None:
            rule = DecisionRule(
                selects_threshold=prior_weight == "auto",
                calibrated=self.calibrated,
                class_sizes=self.class_sizes,
                decision=self.decision,
                random_state=self.random_state,
            )
        selection = select_for_classes(solver, labels, eta=self.eta, prior_weight=prior_weight)
        calibration = None
        if rule.calibrated and selection.code.size == 0:
            # Nothing had to be selected, but calibration needs scores without own labels.
            calibration = (solver.loo(etas[0]).scores, labels.code)
        return rule.decide(solver.fit(etas[0]), selection, labels, graph, calibration=calibration)

    def _accept(self, graph, labels, answer):
        """Set the fitted attributes by a `Decision`."""
        selection = answer.selection
        self.eta_ = selection.eta
        self.prior_weight_ = selection.prior_weight
        self.threshold_ = answer.threshold
        is_scored = np.isfinite(answer.loo_scores[:, 0])
        self.loo_scores_ = answer.loo_scores[is_scored]
        self.loo_labels_ = labels.classes[answer.loo_code[is_scored]]
        self._fit_result = answer.fit
        self._curves = answer.curves
        return self._set_answers(
            graph,
            labels,
            answer.scores,
            answer.fit.has_label,
            loo=(selection.loo_scores, selection.code),
        )

    def _scores(self, graph, labels):
        """Return scores without calibration and class sizes, for prediction sets."""
        rule = DecisionRule(selects_threshold=self.prior_weight == "auto")
        solver = self._make_solver(graph, labels)
        etas = self._candidate_etas(labels, solver.inv_mean_degree)
        decision = self._answer(solver, graph, labels, etas, rule=rule)
        return decision.scores, decision.fit.has_label

    def decision_function(self, X: ArrayLike | Iterable | None = None) -> np.ndarray:
        """Return scores by which nodes can be ranked.

        Parameters
        ----------
        X : list or array of node ids, GraphNodes, points, or links as in `predict_new`, optional
            Default: all nodes of the graph.

        Returns
        -------
        ndarray of shape (n,) or (n, C)
            The scores of the second of two classes, or a column per class.
        """
        self._check_fitted()
        nodes = self._known_nodes(X)
        scores = self._extend(X, self.scores_)[0] if nodes is None else self.scores_[nodes]
        return scores[:, 1] if self.classes_.size == 2 else scores

    def _fits_without_labels(self, alpha):
        """Yield fits without each label, in closed form; with many labels, without folds."""
        labels = self._labels
        n_labels = labels.nodes.size
        if n_labels > MAX_JACKKNIFE_LABELS or labels.sample_weight is not None:
            return super()._fits_without_labels(alpha)
        shuffled = np.random.default_rng(self.random_state).permutation(n_labels)
        prior_weight = self.prior_weight
        n_selecting = 0
        if prior_weight == "auto":
            # It must not depend on a label that is left out. A third of the labels selects it and
            # is never left out, unless too few labels would remain for sets.
            prior_weight = 0.0
            n_third = n_labels // 3
            if (n_labels - n_third + 1) * alpha >= 2 and n_third >= MIN_LOO_LABELS:
                n_selecting = n_third
        inv_mean_degree = mean_of_degrees(self._graph.degrees())
        # l eta is the same for any number of labels.
        label_alpha = n_labels * eta_for_classes(self.eta, inv_mean_degree, n_labels)
        if n_selecting:
            used = labels._replace(
                nodes=labels.nodes[shuffled[:n_selecting]],
                code=labels.code[shuffled[:n_selecting]],
            )
            prior_weight = select_for_classes(
                self._make_solver(self._graph, used, inv_mean_degree=inv_mean_degree),
                used,
                eta=label_alpha / n_selecting,
                prior_weight="auto",
            ).prior_weight
        return fit_without_each(
            self._graph,
            labels,
            label_alpha,
            lambda fit: add_prior(fit, prior_weight),
            shuffled[n_selecting:],
            tol=self.tol,
            random_state=self.random_state,
        )

    @property
    def uncertainty_(self) -> np.ndarray:
        """Posterior standard deviation of each node's scores, in units of one label's noise.

        This is the standard deviation of the Gaussian field whose mean is the scores, infinite in
        components without a label. It is estimated by 64 random probes, with a relative error of
        9 %, each time the attribute is read.
        """
        self._check_fitted()
        labels = self._labels
        return posterior_deviation(
            self._graph,
            labels.nodes,
            labels.nodes.size * self.eta_,
            sample_weight=labels.sample_weight,
            rng=np.random.default_rng(self.random_state),
        )

    @property
    def bound_(self) -> Bound:
        """Bound on the squared error over the nodes without labels, for any one class.

        It holds with probability 0.95 if the labeled nodes were drawn at random. It bounds the
        error of the scores before prior weight and threshold, plus the class's fraction of the
        labels, clipped to [0, 1]. If the graph is not connected, or its sampling depends on the
        labels, the bound is infinite, and `statement` has the reason. It is computed each time the
        attribute is read, with lambda_2 and diag(L^+) of the graph (`graphsqueak.ssl.bounds`).
        """
        self._check_fitted()
        if not self._label_independent:
            return no_bound("the sampled edges depend on the labels")
        labels = self._labels
        if labels.sample_weight is not None:
            return no_bound("the labels have different weights")
        return bound_of_fit(
            self._graph,
            labels.nodes,
            labels.targets,
            self._fit_result,
            self.eta_,
            whole=self._measure_source(),
            random_state=self.random_state,
        )

    def _measure_source(self):
        """Return the measurement of a streamed graph that `bound_of_fit` needs, None in memory."""
