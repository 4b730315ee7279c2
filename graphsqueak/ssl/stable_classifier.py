"""StableHFSClassifier: regularized harmonic functions, decided on centered scores."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from graphsqueak.errors import InputError
from graphsqueak.ssl.base import GraphClassifier, check_eta
from graphsqueak.ssl.calibration import fit_sigmoids, sigmoid_shares
from graphsqueak.ssl.choice import choose_for_classes, natural_unit
from graphsqueak.ssl.fit_bound import bound_of_fit, no_bound
from graphsqueak.ssl.leave_one_out import leave_one_out
from graphsqueak.ssl.stable import stable_scores
from graphsqueak.ssl.uncertainty import posterior_deviation
from graphsqueak.ssl.valley import cut_in_valley
from graphsqueak.validation import check_real

__all__ = ["StableHFSClassifier", "check_threshold"]


class StableHFSClassifier(GraphClassifier):
    """Stable-HFS, one column per class [C17, Section 4.4.1; Belkin, Matveeva, Niyogi 2004].

    Scores sum to zero over every component and over every row. A node gets the class of its
    largest score, plus threshold_ times (class mean - 1/C); of two classes the second, if its score
    is above cut_.

    Parameters
    ----------
    eta : float or "auto"
        Weight of the smoothness term; "auto" takes 2 / (l mean degree), unless another one would
        misclassify clearly fewer labeled nodes had it not known them (leave-one-out).
    threshold : float or "auto"
        How much of the class means is added back to centered scores: 0 none, 1 all. "auto" is
        chosen as eta is, and stays 0 unless other values make fewer mistakes. With two classes
        the cut between them then moves towards scores that few nodes have (`valley`).
    calibrated : bool
        Make `label_distributions_` probabilities: a sigmoid per class, fitted to the scores of
        labeled nodes that did not know their labels. Needs 20 of them; else nothing is done.
    unknown, affinity, n_neighbors, metric, tol, random_state
        As of `HFSClassifier`.

    Attributes
    ----------
    eta_, threshold_, cut_ : float
        What was used; cut_ is 0 with more than two classes, or a threshold that was given.
        `scores_` are those after both.
    uncertainty_ : ndarray (n_nodes,)
        Posterior standard deviation of the scores.
    bound_ : Bound
        What is promised about the error, in numbers and in words.
    transduction_, label_distributions_, scores_, reached_, classes_, ids_
        As of `HFSClassifier`.

    Examples
    --------
    >>> import networkx as nx
    >>> y = [0] + 32 * [-1] + [1]
    >>> clf = StableHFSClassifier(random_state=7).fit(nx.karate_club_graph(), y)
    >>> clf.transduction_[[1, 2, 30, 32]]
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        *,
        eta="auto",
        threshold="auto",
        calibrated=False,
        unknown="prior",
        affinity="precomputed",
        n_neighbors=10,
        metric="euclidean",
        tol=1e-6,
        random_state=None,
    ):
        self.eta, self.threshold, self.calibrated = eta, threshold, calibrated
        self.unknown = unknown
        self.affinity, self.n_neighbors, self.metric = affinity, n_neighbors, metric
        self.tol, self.random_state = tol, random_state

    def _scores(self, graph, labels, unit=None):
        targets, n_labels = labels.one_hot(), labels.nodes.size
        judged, fits = self._judged(graph, labels.nodes, targets)
        unit = natural_unit(graph) if unit is None else unit
        choice = self._choose(judged, labels.code, targets.sum(axis=0), unit)
        fit = fits.get(self.eta_)
        if fit is None:
            rng = np.random.default_rng(self.random_state)
            alpha = n_labels * self.eta_
            fit = stable_scores(graph, labels.nodes, targets, alpha, tol=self.tol, random_state=rng)
        self._evidence = (graph, labels.nodes, targets, fit)
        return self._decision(fit, choice, targets.mean(axis=0)), fit.reached

    def _judged(self, graph, nodes, targets):
        """A function from eta to what labeled nodes get without their labels, and its fits."""
        fits = {}

        def judged(eta):
            rng = np.random.default_rng(self.random_state)
            left = leave_one_out(
                graph, nodes, targets, nodes.size * eta, tol=self.tol, random_state=rng
            )
            fits[eta] = left.fit
            return left.scores

        return judged, fits

    def _choose(self, judged, code, counts, unit):
        """Set eta_ and threshold_ by those who judge."""
        choice = choose_for_classes(
            judged,
            code,
            counts.astype(np.int64),
            unit=unit,
            eta=check_eta(self.eta),
            threshold=check_threshold(self.threshold),
        )
        self.eta_, self.threshold_ = choice.eta, choice.threshold
        if self.calibrated and not choice.code.size:
            choice = choice._replace(judged=judged(self.eta_), code=code)
        return choice

    def _decision(self, fit, choice, shares):
        """Scores to decide by; sets cut_ and the curves of calibration by those who judge.

        `shares` are the classes' shares of the labels.
        """
        prior, n_classes = shares - 1 / shares.size, shares.size
        scores = decision_scores(fit, self.threshold_)
        judged = choice.judged + self.threshold_ * prior
        self.cut_, self._curves = 0.0, None
        if self.threshold == "auto" and n_classes == 2 and not np.isnan(choice.mistakes):
            self.cut_ = cut_in_valley(scores[fit.reached, 1], judged[:, 1], choice.code == 1)
            towards = self.cut_ * np.array([1.0, -1.0])
            scores[fit.reached & ~is_pure(fit)] += towards
            judged = judged + towards
        if self.calibrated:
            self._curves = fit_sigmoids(judged, choice.code, n_classes)
        return scores

    def _distributions(self, scores, reached):
        if self._curves is None:
            return super()._distributions(scores, reached)
        shares = sigmoid_shares(scores, self._curves)
        shares[~reached] = 1 / scores.shape[1]
        return shares

    @property
    def uncertainty_(self):
        """Posterior standard deviation of every node's scores, in units of one label's noise.

        That of the Gaussian field whose mean the scores are, by a sketch of its diagonal (64
        probes, a relative error of 9 %); infinite where no label reaches. Computed when asked for.
        """
        check_is_fitted(self, "transduction_")
        if self._evidence is None:
            raise InputError(
                "no posterior is known where labeled nodes stand behind their class; fit with "
                "label_share=0.5"
            )
        graph, nodes = self._evidence[:2]
        rng = np.random.default_rng(self.random_state)
        return posterior_deviation(graph, nodes, nodes.size * self.eta_, rng=rng)

    @property
    def bound_(self):
        """A `Bound` on the squared error over the nodes without labels, for every class column.

        Computed when asked for, with lambda_2 and diag(L^+) of the graph that was labeled; for a
        fixed eta on a connected graph (see `graphsqueak.ssl.bounds`).
        """
        check_is_fitted(self, "transduction_")
        return no_bound() if self._evidence is None else bound_of_fit(*self._evidence, self.eta_)


def check_threshold(threshold):
    """`threshold` as a number or "auto"."""
    return threshold if threshold == "auto" else check_real("threshold", threshold, below=np.inf)


def decision_scores(fit, threshold):
    """Centered scores and part of the prior; the labels' own mean where a component has one class.

    In such a component the centered scores are all zero, and the one label speaks for it.
    """
    n_classes = fit.offset.shape[1]
    prior = fit.offset - 1 / n_classes
    scores = fit.centered + threshold * prior
    pure = is_pure(fit)
    scores[pure] = prior[pure]
    scores[~fit.reached] = 0.0
    return scores


def is_pure(fit):
    """Nodes of components whose labels are all of one class."""
    return fit.reached & (fit.offset.max(axis=1) == 1.0)
