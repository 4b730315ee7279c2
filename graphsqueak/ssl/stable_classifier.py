"""StableHFSClassifier: regularized harmonic functions, decided on centered scores.

Its probabilities, where they are asked for, come by Platt's method on the scores that labeled nodes
get without their own labels: one-versus-rest logistic curves, scaled to sum to one. (Isotonic
regression would need more labels than there usually are.)
"""

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.randomness import RandomState
from graphsqueak.ssl.base import GraphClassifier
from graphsqueak.ssl.bounds import Bound, bound_of_fit, no_bound
from graphsqueak.ssl.choice import (
    check_eta,
    choose_for_classes,
    cut_in_valley,
    leave_one_out,
    natural_unit,
)
from graphsqueak.ssl.stable import posterior_deviation, stable_scores
from graphsqueak.validation import check_real

__all__ = ["StableHFSClassifier"]

_FEWEST_TO_CALIBRATE = 20


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
        the cut between them then moves towards scores that few nodes have.
    calibrated : bool
        Make `label_distributions_` probabilities: a sigmoid per class, fitted to the scores of
        labeled nodes that did not know their labels. Needs 20 of them; else nothing is done.
    unknown : "prior" or a label
        Prediction where no label reaches: the most frequent class, or for example -1.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    tol : float
        Relative residual of the solves.
    random_state : int, Generator or None
        Seeds the solver, and the sketches of leave-one-out and of `uncertainty_`.

    Attributes
    ----------
    eta_, threshold_, cut_ : float
        What was used; cut_ is 0 with more than two classes, or with a threshold that was given.
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
        eta: float | str = "auto",
        threshold: float | str = "auto",
        calibrated: bool = False,
        unknown: object = "prior",
        affinity: str = "precomputed",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        tol: float = 1e-6,
        random_state: RandomState = None,
    ) -> None:
        self.eta, self.threshold, self.calibrated = eta, threshold, calibrated
        self.unknown = unknown
        self.affinity, self.n_neighbors, self.metric = affinity, n_neighbors, metric
        self.tol, self.random_state = tol, random_state

    def _scores(self, graph, labels, unit=None):
        targets, n_labels = labels.one_hot(), labels.nodes.size
        score_held_out, fits = self._leave_one_out(graph, labels.nodes, targets)
        unit = natural_unit(graph) if unit is None else unit
        choice = self._choose(score_held_out, labels.code, targets.sum(axis=0), unit)
        fit = fits.get(self.eta_)
        if fit is None:
            rng = np.random.default_rng(self.random_state)
            alpha = n_labels * self.eta_
            fit = stable_scores(graph, labels.nodes, targets, alpha, tol=self.tol, random_state=rng)
        self._evidence = (graph, labels.nodes, targets, fit)
        return self._decision_scores(fit, choice, targets.mean(axis=0)), fit.reached

    def _leave_one_out(self, graph, nodes, targets):
        """A function from eta to what labeled nodes get without their labels, and its fits."""
        fits = {}

        def score_held_out(eta):
            rng = np.random.default_rng(self.random_state)
            left = leave_one_out(
                graph, nodes, targets, nodes.size * eta, tol=self.tol, random_state=rng
            )
            fits[eta] = left.fit
            return left.scores

        return score_held_out, fits

    def _choose(self, score_held_out, code, counts, unit):
        """Set eta_ and threshold_ by nodes that are scored without their labels."""
        threshold = self.threshold
        if threshold != "auto":
            threshold = check_real("threshold", threshold, below=np.inf)
        choice = choose_for_classes(
            score_held_out,
            code,
            counts.astype(np.int64),
            unit=unit,
            eta=check_eta(self.eta),
            threshold=threshold,
        )
        self.eta_, self.threshold_ = choice.eta, choice.threshold
        if self.calibrated and not choice.code.size:
            choice = choice._replace(held_out=score_held_out(self.eta_), code=code)
        return choice

    def _decision_scores(self, fit, choice, shares):
        """Scores to decide by; sets cut_ and the curves of calibration.

        `shares` are the classes' shares of the labels.
        """
        prior, n_classes = shares - 1 / shares.size, shares.size
        scores = _add_prior(fit, self.threshold_)
        held_out = choice.held_out + self.threshold_ * prior
        self.cut_, self._curves = 0.0, None
        if self.threshold == "auto" and n_classes == 2 and not np.isnan(choice.mistakes):
            self.cut_ = cut_in_valley(scores[fit.reached, 1], held_out[:, 1], choice.code == 1)
            shift = self.cut_ * np.array([1.0, -1.0])
            scores[fit.reached & ~_is_pure(fit)] += shift
            held_out = held_out + shift
        if self.calibrated:
            self._curves = _fit_sigmoids(held_out, choice.code, n_classes)
        return scores

    def _distributions(self, scores, reached):
        if self._curves is None:
            return super()._distributions(scores, reached)
        shares = _sigmoid_shares(scores, self._curves)
        shares[~reached] = 1 / scores.shape[1]
        return shares

    @property
    def uncertainty_(self) -> np.ndarray:
        """Posterior standard deviation of every node's scores, in units of one label's noise.

        That of the Gaussian field whose mean the scores are, by a sketch of its diagonal (64
        probes, a relative error of 9 %); infinite where no label reaches. Computed when asked for.
        """
        self._check_fitted()
        if self._evidence is None:
            raise InputError(
                "no posterior is known where labeled nodes stand behind their class; fit with "
                "label_share=0.5"
            )
        graph, nodes = self._evidence[:2]
        rng = np.random.default_rng(self.random_state)
        return posterior_deviation(graph, nodes, nodes.size * self.eta_, rng=rng)

    @property
    def bound_(self) -> Bound:
        """A `Bound` on the squared error over the nodes without labels, for every class column.

        Computed when asked for, with lambda_2 and diag(L^+) of the graph that was labeled; for a
        fixed eta on a connected graph (see `graphsqueak.ssl.bounds`).
        """
        self._check_fitted()
        if self._evidence is None:
            return no_bound()
        graph, nodes, targets, fit = self._evidence
        return bound_of_fit(graph, nodes, targets, fit, self.eta_, random_state=self.random_state)


def _fit_sigmoids(scores, code, n_classes):
    """Slope and intercept per class, or None where fewer than 20 nodes were scored.

    >>> scores = np.concatenate([np.full((15, 2), [0.1, -0.1]), np.full((15, 2), [-0.1, 0.1])])
    >>> curves = _fit_sigmoids(scores, np.repeat([0, 1], 15), 2)
    >>> _sigmoid_shares(np.array([[0.1, -0.1]]), curves)[0, 0] > 0.8
    np.True_
    """
    from sklearn.linear_model import LogisticRegression

    valid = np.isfinite(scores[:, 0])
    if np.count_nonzero(valid) < _FEWEST_TO_CALIBRATE or np.unique(code[valid]).size < n_classes:
        return None
    unit = scores[valid].std()
    if n_classes < 2 or unit == 0:
        return None
    curves = []
    for number in range(n_classes):
        model = LogisticRegression()
        model.fit(scores[valid, number, None] / unit, code[valid] == number)
        curves.append((max(model.coef_[0, 0], 0.0) / unit, model.intercept_[0]))
    return np.array(curves)


def _sigmoid_shares(scores, curves):
    """Probabilities of the classes; rows sum to one."""
    slope, intercept = curves.T
    shares = 1 / (1 + np.exp(-np.clip(scores * slope + intercept, -500, 500)))
    return shares / shares.sum(axis=1, keepdims=True)


def _add_prior(fit, threshold):
    """Centered scores and part of the prior; the labels' own mean where a component has one class.

    In such a component the centered scores are all zero, and the one label speaks for it.
    """
    n_classes = fit.offset.shape[1]
    prior = fit.offset - 1 / n_classes
    scores = fit.centered + threshold * prior
    pure = _is_pure(fit)
    scores[pure] = prior[pure]
    scores[~fit.reached] = 0.0
    return scores


def _is_pure(fit):
    """Nodes of components whose labels are all of one class."""
    return fit.reached & (fit.offset.max(axis=1) == 1.0)
