"""StableHFSClassifier: regularized harmonic functions, decided on centered scores."""

import copy
from collections.abc import Iterable, Mapping
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError, Parameter
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.ssl.base import GraphClassifier
from graphsqueak.ssl.bounds import Bound, bound_of_fit, no_bound
from graphsqueak.ssl.choice import (
    N_ETAS,
    HeldFits,
    check_eta,
    choose_for_classes,
)
from graphsqueak.ssl.conformal import fit_without_each
from graphsqueak.ssl.decisions.calibration import fit_sigmoids, sigmoid_shares
from graphsqueak.ssl.decisions.class_sizes import class_shares, cut_scores, meet_sizes
from graphsqueak.ssl.decisions.label_weights import class_weighted, trusted_labels
from graphsqueak.ssl.decisions.thresholds import cut_in_valley
from graphsqueak.ssl.labels import class_labels
from graphsqueak.ssl.selection.graph_nodes import GraphNodes
from graphsqueak.ssl.stable import natural_unit, posterior_deviation
from graphsqueak.validation import check_choice, check_real

__all__ = ["StableHFSClassifier"]

_MOST_LEFT_OUT = 400  # labels that are left out one by one for prediction sets
_FEWEST_TO_CHOOSE = 8  # labels of a split that eta is chosen by


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
        chosen as eta is: of several values the mean by how few mistakes they make, of two classes,
        whose cut then moves towards scores that few nodes have; of more, 0 unless others make
        fewer.
    calibrated : bool
        Make `label_distributions_` probabilities: a sigmoid per class, fitted to the scores of
        labeled nodes that did not know their labels; a node then gets its most probable class.
        Needs 20 of them, and scores that tell something about every class (else there is a
        warning); otherwise nothing is done.
    class_weight : None, "balanced" or mapping from classes to weights
        How much labels of a class weigh: as given (else 1), or so that all classes weigh the same.
    class_sizes : None, "labels", "auto" or mapping from classes to sizes
        Sizes that the classes are to have: those of the labels, an estimate, or known ones.
    decision : {"auto", "scores", "sizes", "cut"}
        By the largest score; by scores with offsets that meet `class_sizes`; or by a cut of few
        edges that meets them (of a graph in memory, or a sparsifier). "auto" is "scores" without
        `class_sizes`, else "sizes"; without them the others take "auto" sizes.
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
        What is promised about the squared error of f + mean, clipped to [0, 1], if anything, in
        numbers and in words.
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

    _is_blind = True  # whether the graph would be the same whatever the labels are

    def __init__(
        self,
        *,
        eta: float | str = "auto",
        threshold: float | str = "auto",
        calibrated: bool = False,
        class_weight: str | Mapping | None = None,
        class_sizes: str | Mapping | None = None,
        decision: str = "auto",
        unknown: object = "prior",
        affinity: str = "precomputed",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        tol: float = 1e-6,
        random_state: RandomState = None,
    ) -> None:
        self.eta, self.threshold, self.calibrated = eta, threshold, calibrated
        self.class_weight, self.class_sizes, self.decision = class_weight, class_sizes, decision
        self.unknown = unknown
        self.affinity, self.n_neighbors, self.metric = affinity, n_neighbors, metric
        self.tol, self.random_state = tol, random_state

    def fit(
        self,
        X: GraphLike | ArrayLike,
        y: ArrayLike | Mapping,
        sample_weight: ArrayLike | Mapping | None = None,
    ) -> Self:
        """Learn the labels of all nodes.

        Parameters
        ----------
        X : EdgeList, EdgeSource, table of edges, scipy adjacency matrix, networkx graph, or points
        y : array of shape (n_nodes,), or mapping from node ids to labels
            As of `HFSClassifier.fit`.
        sample_weight : array of shape (n_nodes,), or mapping from node ids to weights, optional
            Trust in each label: how much it weighs beside the others. 0 is no label.
        """
        graph = self._read(self._graph_of(X))
        labels = class_labels(self._values_for(X, y), graph)
        weights = self._values_for(X, sample_weight, "sample_weight")
        labels = trusted_labels(labels, weights, graph)
        return self._fit_graph(graph, class_weighted(labels, self.class_weight))

    def _scores(self, graph, labels, unit=None):
        fits = self._held_fits(graph, labels.nodes, labels.one_hot(), labels.weight)
        unit = natural_unit(graph) if unit is None else unit
        scores, fit = self._decided(fits, labels, unit)
        self._evidence = (graph, labels.nodes, labels.one_hot(), fit)
        return scores, fit.reached

    def _held_fits(self, graph, nodes, targets, trust=None):
        settings = {"trust": trust, "tol": self.tol, "random_state": self.random_state}
        return HeldFits(graph, nodes, targets, **settings)

    def _decided(self, fits, labels, unit, eta=None):
        """Decision scores and the fit behind them, of all that `fits` gives for an eta."""
        counts = np.bincount(labels.code, minlength=labels.classes.size)
        about = (labels.code, counts, unit, labels.weight, eta)
        choice = self._choose(lambda candidate: fits.left_out(candidate).scores, *about)
        fit = fits.fit(self.eta_)
        shares = np.bincount(labels.code, labels.weight, labels.classes.size)
        return self._decision_scores(fit, choice, shares / shares.sum()), fit

    def _choose(self, score_held_out, code, counts, unit, trust=None, eta=None):
        """Set eta_ and threshold_ by nodes that are scored without their labels; `eta` may be."""
        threshold = self.threshold
        if threshold != "auto":
            threshold = check_real("threshold", threshold, below=np.inf)
        choice = choose_for_classes(
            score_held_out,
            code,
            counts,
            unit=unit,
            eta=check_eta(self.eta if eta is None else eta),
            threshold=threshold,
            trust=trust,
        )
        self._held_out = choice.held_out, choice.code
        self.eta_, self.threshold_, self._mistakes = choice.eta, choice.threshold, choice.mistakes
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
            about = (scores[fit.reached, 1], held_out[:, 1], choice.code == 1)
            self.cut_ = cut_in_valley(*about, trust=choice.trust)
            shift = self.cut_ * np.array([1.0, -1.0])
            scores[fit.reached & ~_is_pure(fit)] += shift
            held_out = held_out + shift
        if self.calibrated:
            self._curves = fit_sigmoids(held_out, choice.code, self.classes_)
        return self._meet_sizes(scores, fit.reached)

    def _meet_sizes(self, scores, reached):
        """Scores by which the classes have the sizes that are asked for, if any are."""
        check_choice("decision", self.decision, ("auto", "scores", "sizes", "cut"))
        is_asked = self.class_sizes is not None or self.decision in ("sizes", "cut")
        if not is_asked or self.decision == "scores" or self.classes_.size < 2:
            return scores
        if self.calibrated:
            raise InputError(
                Parameter("calibrated", True),
                " goes with ",
                Parameter("decision", "scores"),
                " only; set one of them",
            )
        sizes = "auto" if self.class_sizes is None else self.class_sizes
        shares, sized = class_shares(sizes, self._known, scores[reached]), scores.copy()
        sized[reached] = meet_sizes(scores[reached], shares)
        if self.decision == "cut":
            about = (self._seen, self._known, sized, reached, shares)
            sized = cut_scores(*about, random_state=self.random_state)
        return sized - sized.mean(axis=1, keepdims=True)

    def _decide(self, scores, reached):
        if self._curves is not None:
            scores = sigmoid_shares(scores, self._curves)
        return super()._decide(scores, reached)

    def _distributions(self, scores, reached):
        if self._curves is None:
            return super()._distributions(scores, reached)
        shares = sigmoid_shares(scores, self._curves)
        shares[~reached] = 1 / scores.shape[1]
        return shares

    def decision_function(self, X: ArrayLike | Iterable | None = None) -> np.ndarray:
        """Scores to rank nodes by: of two classes those of the second, else a column per class.

        Parameters
        ----------
        X : points, GraphNodes, or links as in `predict_new`, optional
            Default: all nodes of the graph.
        """
        self._check_fitted()
        scores = self.scores_
        if isinstance(X, GraphNodes):
            scores = scores[X.nodes]
        elif X is not None:
            scores = self._averages(self._links(X), scores)[0]
        return scores[:, 1] if self.classes_.size == 2 else scores

    def _rounds(self, labels, alpha):
        """Fits without each label; eta and threshold are chosen by a third that always stays.

        Unless both are given, or so few others would be left that sets said little.
        """
        n_labels = labels.nodes.size
        if n_labels > _MOST_LEFT_OUT or labels.weight is not None:
            plain = copy.copy(self)
            plain.calibrated, plain.class_sizes, plain.decision = False, None, "scores"
            return super(StableHFSClassifier, plain)._rounds(labels, alpha)
        graph, n_choosing = self._graph, n_labels // 3
        is_enough = (n_labels - n_choosing + 1) * alpha >= 2 and n_choosing >= _FEWEST_TO_CHOOSE
        if not is_enough or "auto" not in (self.eta, self.threshold):
            n_choosing = 0
        shuffled = np.random.default_rng(self.random_state).permutation(n_labels)
        choosing, left_out = shuffled[:n_choosing], shuffled[n_choosing:]
        code, n_total = labels.code[choosing], n_choosing or n_labels
        fits = self._held_fits(graph, labels.nodes[choosing], labels.one_hot()[choosing])
        counts = np.bincount(code if n_choosing else labels.code, minlength=labels.classes.size)
        choice = choose_for_classes(
            lambda eta: fits.left_out(eta).scores,
            code,
            counts,
            unit=natural_unit(graph),
            eta="auto" if self.eta == "auto" else self.eta * n_labels / n_total,
            threshold=self.threshold,
        )
        return fit_without_each(
            graph,
            labels,
            choice.eta * n_total,
            lambda fit: _add_prior(fit, choice.threshold),
            left_out,
            tol=self.tol,
            random_state=self.random_state,
        )

    @property
    def uncertainty_(self) -> np.ndarray:
        """Posterior standard deviation of every node's scores, in units of one label's noise.

        That of the Gaussian field whose mean the scores are, by a sketch of its diagonal (64
        probes, a relative error of 9 %); infinite where no label reaches. Computed when asked for.
        """
        self._check_fitted()
        graph, nodes = self._evidence[:2]
        rng, trust = np.random.default_rng(self.random_state), self._known.weight
        return posterior_deviation(graph, nodes, nodes.size * self.eta_, trust=trust, rng=rng)

    @property
    def bound_(self) -> Bound:
        """A `Bound` on the squared error over the nodes without labels, for any one class.

        It holds with probability 0.95 if the labeled nodes were drawn at random, and is about the
        scores before threshold and cut, plus the class's share of the labels, clipped to [0, 1].
        Where the graph is not connected, or was itself sampled by the labels, nothing is promised,
        and `promise` says so. Computed when asked for, with lambda_2 and diag(L^+) of the graph
        that was labeled (see `graphsqueak.ssl.bounds`); an eta that was chosen by the labels is
        paid for.
        """
        self._check_fitted()
        if not self._is_blind:
            return no_bound("the labels had a say in which edges were kept")
        if self._known.weight is not None:
            return no_bound("the labels weigh differently")
        graph, nodes, targets, fit = self._evidence
        n_etas = N_ETAS if self.eta == "auto" else 1
        return bound_of_fit(
            graph,
            nodes,
            targets,
            fit,
            self.eta_,
            n_etas=n_etas,
            whole=self._whole_graph(),
            random_state=self.random_state,
        )

    def _whole_graph(self):
        """What `bound_of_fit` asks for where the graph was read and not held."""
        return


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
