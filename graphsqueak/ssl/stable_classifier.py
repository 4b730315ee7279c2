"""StableHFSClassifier: regularized harmonic functions, decided on centered scores."""

from collections.abc import Iterable, Mapping
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.ssl.base import GraphClassifier
from graphsqueak.ssl.bounds import Bound, bound_of_fit, no_bound
from graphsqueak.ssl.conformal import fit_without_each
from graphsqueak.ssl.decisions.label_weights import class_weighted, weighted_labels
from graphsqueak.ssl.decisions.rule import DecisionRule, add_prior
from graphsqueak.ssl.labels import class_labels
from graphsqueak.ssl.model_selection import (
    MIN_LOO_LABELS,
    eta_for_classes,
    select_for_classes,
)
from graphsqueak.ssl.selection.graph_nodes import GraphNodes
from graphsqueak.ssl.stable import LooSolver, posterior_deviation
from graphsqueak.validation import check_real

__all__ = ["StableHFSClassifier"]

# Labels that are left out one by one for prediction sets: a column of a solve each.
MAX_JACKKNIFE_LABELS = 400


class StableHFSClassifier(GraphClassifier):
    """Stable-HFS, one column per class [C17, Section 4.4.1; Belkin, Matveeva, Niyogi 2004].

    Scores sum to zero over every component and over every row. A node gets the class of its
    largest score, plus threshold_ times (class mean - 1/C); of two classes the second, if its score
    is above cut_.

    Parameters
    ----------
    eta : float or "auto"
        Weight of the smoothness term; "auto" is 2 / (l mean degree) for l labels.
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

    # Whether the graph would be the same for any labels; sampling may depend on them.
    _label_independent = True

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
        self.eta = eta
        self.threshold = threshold
        self.calibrated = calibrated
        self.class_weight = class_weight
        self.class_sizes = class_sizes
        self.decision = decision
        self.unknown = unknown
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.tol = tol
        self.random_state = random_state

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
        weights = self._values_for(X, sample_weight, "sample_weight")
        return self._fit_graph(graph, self._read_labels(self._values_for(X, y), weights, graph))

    def _read_labels(self, y, sample_weight, graph):
        """Return the problem: labels of the nodes of the graph, with their weights."""
        labels = weighted_labels(class_labels(y, graph), sample_weight, graph)
        return class_weighted(labels, self.class_weight)

    def _fit_graph(self, graph, labels):
        solver = self._make_solver(graph, labels)
        return self._accept(graph, labels, self._answer(solver, graph, labels))

    def _make_solver(self, graph, labels):
        return LooSolver(
            graph,
            labels.nodes,
            labels.targets,
            sample_weight=labels.sample_weight,
            tol=self.tol,
            random_state=self.random_state,
        )

    def _answer(self, solver, graph, labels, *, eta=None, rule=None):
        """Select eta and the prior weight, fit, and decide.

        Parameters
        ----------
        solver : HFSSolver
        graph : EdgeList
            Graph that is cut if `decision="cut"`.
        labels : ClassLabels
        eta : float, optional
            In place of the parameter `eta`.
        rule : DecisionRule, optional
            In place of that of the parameters.

        Returns
        -------
        Decision
        """
        if rule is None:
            rule = self._decision_rule()
        selection = select_for_classes(
            solver,
            labels,
            eta=self.eta if eta is None else eta,
            threshold=self._checked_threshold(),
        )
        calibration = None
        if rule.calibrated and selection.code.size == 0:
            # Nothing had to be selected, but calibration needs scores without own labels.
            calibration = (solver.loo(selection.eta).scores, labels.code)
        fit = solver.fit(selection.eta)
        return rule.decide(fit, selection, labels, graph, calibration=calibration)

    def _checked_threshold(self):
        if self.threshold == "auto":
            return self.threshold
        return check_real("threshold", self.threshold, below=np.inf)

    def _decision_rule(self):
        return DecisionRule(
            has_cut=self.threshold == "auto",
            calibrated=self.calibrated,
            class_sizes=self.class_sizes,
            decision=self.decision,
            random_state=self.random_state,
        )

    def _accept(self, graph, labels, decision):
        """Set the fitted attributes by a `Decision`."""
        selection = decision.selection
        self.eta_ = selection.eta
        self.threshold_ = selection.threshold
        self.cut_ = decision.cut
        self._fit_result = decision.fit
        self._curves = decision.curves
        return self._set_answers(
            graph,
            labels,
            decision.scores,
            decision.fit.reached,
            loo=(selection.loo_scores, selection.code),
        )

    def _scores(self, graph, labels):
        """Return scores without calibration and class sizes, for prediction sets."""
        rule = DecisionRule(has_cut=self.threshold == "auto")
        decision = self._answer(self._make_solver(graph, labels), graph, labels, rule=rule)
        return decision.scores, decision.fit.reached

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

    def _rounds(self, alpha):
        """Return fits without each label, in closed form; with many labels, without folds."""
        labels = self._labels
        n_labels = labels.nodes.size
        if n_labels > MAX_JACKKNIFE_LABELS or labels.sample_weight is not None:
            return super()._rounds(alpha)
        # A label that is left out must not take part in the selection of eta and threshold.
        # A third of the labels is kept for it, unless the others would be too few for sets.
        n_selecting = n_labels // 3
        is_enough = (n_labels - n_selecting + 1) * alpha >= 2 and n_selecting >= MIN_LOO_LABELS
        if not is_enough or "auto" not in (self.eta, self.threshold):
            n_selecting = 0
        shuffled = np.random.default_rng(self.random_state).permutation(n_labels)
        n_total = n_selecting or n_labels
        selecting = labels._replace(
            nodes=labels.nodes[shuffled[:n_total]], code=labels.code[shuffled[:n_total]]
        )
        solver = self._make_solver(self._graph, selecting)
        # l eta is the same for any number of labels.
        eta = "auto" if self.eta == "auto" else self.eta * n_labels / n_total
        if n_selecting:
            selection = select_for_classes(solver, selecting, eta=eta, threshold=self.threshold)
            eta = selection.eta
            threshold = selection.threshold
        else:
            eta = eta_for_classes(eta, solver, n_total)
            threshold = 0.0 if self.threshold == "auto" else self.threshold
        return fit_without_each(
            self._graph,
            labels,
            eta * n_total,
            lambda fit: add_prior(fit, threshold),
            shuffled[n_selecting:],
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
        """A `Bound` on the squared error over the nodes without labels, for any one class.

        It holds with probability 0.95 if the labeled nodes were drawn at random, and is about the
        scores before threshold and cut, plus the class's share of the labels, clipped to [0, 1].
        Where the graph is not connected, or was itself sampled by the labels, nothing is promised,
        and `statement` says so. Computed when asked for, with lambda_2 and diag(L^+) of the graph
        that was labeled (see `graphsqueak.ssl.bounds`).
        """
        self._check_fitted()
        if not self._label_independent:
            return no_bound("the labels had a say in which edges were kept")
        labels = self._labels
        if labels.sample_weight is not None:
            return no_bound("the labels weigh differently")
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
        """Return what `bound_of_fit` needs if the graph was streamed, else None."""
        return
