"""Sparse-HFS: Stable-HFS on a graph that is read and never held [C17, Section 4.4].

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

import copy
import warnings
from collections.abc import Mapping

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sparsifiers.certificate.certify import certify
from graphsqueak.sparsifiers.certificate.outer_bounds import FAILURE_PROBABILITY
from graphsqueak.ssl.base import UnreachedWarning
from graphsqueak.ssl.choice import candidate_etas, check_eta, may_need_others
from graphsqueak.ssl.class_sums import ContractedSolver, read_once
from graphsqueak.ssl.decisions.calibration import CalibrationWarning
from graphsqueak.ssl.decisions.homophily import HomophilyWarning
from graphsqueak.ssl.labels import class_labels, encode_classes, is_unlabeled
from graphsqueak.ssl.online_edges import OnlineEdges
from graphsqueak.ssl.refinement import count_undecided
from graphsqueak.ssl.stable_classifier import StableHFSClassifier
from graphsqueak.system.progress import Progress

__all__ = ["SparseHFSClassifier"]

_SETTLED = 0.002  # share of the nodes that may still be decided otherwise
_RANKED = 0.05  # the same where cuts go through the mean scores: a rare class is soon decided
_MOST_READS = 20  # to leave labels out one by one where every fit reads the edges again


class SparseHFSClassifier(OnlineEdges, StableHFSClassifier):
    """Sparse-HFS: labels from a graph that is never held [C17, Section 4.4.1].

    Where the edges can be read again, the answer is that of `StableHFSClassifier` on the whole
    graph, nearly: the first pass makes a sparsifier, and in two or three further ones it is the
    preconditioner with which the whole graph is solved (`refinement`). Beside the sparsifier some
    hundred numbers per node are held. Where they can be read once, it is that on a sparsifier with
    exact sums of the edges at labeled nodes (`class_sums`). A graph that fits into the budget is
    used as it is, in one pass.

    Parameters
    ----------
    n_edges : int, optional
        Budget: edges to hold. At most one of the three is given.
    epsilon : float, optional
        Accuracy of cuts from which the number of edges is predicted. Default: 0.5.
    keep : float, optional
        Share of all edges.
    label_share : "auto" or float in [0, 1)
        A number is the share of the budget that the sparsifier gives to edges at labeled nodes
        (`favored_nodes`); 0 is a plain sparsifier, and so is "auto" where there are more passes
        than one. In a single pass, "auto" sums the edges at labeled nodes exactly. The sums do
        not count as edges: there are at most four per node and class.
    passes : "auto" or int
        How often the edges are read at most. "auto" reads on until the decisions have settled,
        four times at most (a pipe once); 1 is a single read.
    window : float, optional
        Label on the edges of the last `window` of time. Edges must have times
        (`read_edges(..., time=...)` or `TimedEdges`). Where they can be read again this is exact,
        and takes one read more; else it is a stream with a window.
    half_life : float, optional
        The same with weights that fall to a half in this time.
    eta : float or "auto"
        Weight of the smoothness term; "auto" takes 2 / (l mean degree), unless another one would
        misclassify clearly fewer labeled nodes had it not known them.
    threshold : float or "auto"
        How much of the class means is added back to centered scores: 0 none, 1 all. "auto" is
        chosen as eta is.
    calibrated : bool
        Make `label_distributions_` probabilities, where there are 20 labels or more.
    class_weight : None, "balanced" or mapping from classes to weights
        As of `StableHFSClassifier`. With weights, of classes or of labels, a single pass labels on
        a sparsifier that favors the labeled nodes, and makes no sums.
    class_sizes, decision
        As of `StableHFSClassifier`; a cut is that of the sparsifier.
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
    random_state : int or None
        Seeds everything that is drawn. Same seed, same answer, whatever the batches.
    progress : bool or callable
        Tell how far the stream has been read.

    Attributes
    ----------
    sparsifier_ : EdgeList
        What was held of the edges.
    n_edges_seen_, n_edges_used_ : int
        Edges of the stream, and of `sparsifier_`.
    n_sums_ : int
        Exact sums of edges at labeled nodes in a single pass, else 0.
    n_passes_ : int
        How often the edges were read.
    n_undecided_ : int or None
        How many decisions may differ from those on the whole graph, by an estimate of the distance
        to it; None after a single pass over more than the budget, when it is not known.
    transduction_, label_distributions_, scores_, reached_, classes_, ids_, eta_, threshold_, cut_
        As of `StableHFSClassifier`; `uncertainty_` is that on the sparsifier. After several passes
        the sets of `prediction_sets` are those of the sparsifier, too, in which no label had a say,
        and `bound_` is about the whole graph, whose edges it reads again: once for the residual of
        the scores, and some more times for a certificate of `sparsifier_`, which bounds lambda_2
        and diag(L^+).

    Examples
    --------
    >>> from graphsqueak.sources import block_model
    >>> edges = block_model(400, 60_000, n_blocks=2, random_state=7)
    >>> y = np.full(400, -1)
    >>> y[:6] = 0, 1, 0, 1, 0, 1
    >>> clf = SparseHFSClassifier(keep=0.05, random_state=7).fit(edges, y)
    >>> clf.n_edges_used_ <= 3000
    True
    >>> exact = StableHFSClassifier(random_state=7).fit(edges, y)
    >>> bool((clf.transduction_ == exact.transduction_).mean() > 0.98), clf.n_passes_ <= 4
    (True, True)
    """

    def __init__(
        self,
        *,
        n_edges: int | None = None,
        epsilon: float | None = None,
        keep: float | None = None,
        label_share: float | str = "auto",
        passes: int | str = "auto",
        window: float | None = None,
        half_life: float | None = None,
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
        random_state: int | None = None,
        progress: Progress = False,
    ) -> None:
        super().__init__(
            eta=eta,
            threshold=threshold,
            calibrated=calibrated,
            class_weight=class_weight,
            class_sizes=class_sizes,
            decision=decision,
            unknown=unknown,
            affinity=affinity,
            n_neighbors=n_neighbors,
            metric=metric,
            tol=tol,
            random_state=random_state,
        )
        self.n_edges, self.epsilon, self.keep = n_edges, epsilon, keep
        self.label_share, self.passes, self.progress = label_share, passes, progress
        self.window, self.half_life = window, half_life

    _is_unlabeled = staticmethod(is_unlabeled)
    _read_labels = staticmethod(class_labels)

    @staticmethod
    def _targets(labels):
        return labels.one_hot()

    def _seed(self):
        return self.random_state

    def _fit_once(self, source, y):
        is_weighted = self._weights is not None or self.class_weight is not None
        if self.label_share != "auto" or self._forgets or is_weighted:
            return super()._fit_once(source, y)
        return self._fit_class_sums(source, encode_classes(y))

    def _note(self, graph, n_seen):
        super()._note(graph, n_seen)
        self.n_undecided_, self.n_sums_ = 0 if graph.n_edges == n_seen else None, 0

    def _refine(self, refinement, graph, labels, unit):
        self._remember(graph, labels)
        self._graph = graph
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            answers, eta = refinement.preconditioned, self.eta
            self._decided(answers, labels, unit)
            if refinement.is_large:
                eta = self.eta_
                refinement.settle(eta)
            elif self.eta == "auto" and may_need_others(self._mistakes, labels.nodes.size):
                for candidate in candidate_etas(unit, labels.nodes.size):
                    answers.left_out(candidate)
            while self.n_passes_ < self._most:
                self.n_passes_ += 1
                refinement.read(n_left=self._most - self.n_passes_)
                others, _ = self._decided(refinement.preconditioned, labels, unit, eta)
                answers = refinement.smoothed
                scores, fit = self._decided(answers, labels, unit, eta)
                self.n_undecided_ = n_unranked = int(fit.reached.sum())
                if refinement.is_refined(self.eta_):
                    both = scores[fit.reached], others[fit.reached]
                    self.n_undecided_ = count_undecided(*both)
                    n_unranked = count_undecided(*(part - part.mean(axis=0) for part in both))
                is_ranked = n_unranked <= _RANKED * graph.n_nodes
                if is_ranked and self.n_undecided_ <= _SETTLED * graph.n_nodes:
                    break
            scores, fit = self._decided(answers, labels, unit, eta)
        self._evidence = (graph, labels.nodes, labels.one_hot(), fit)
        return self._answer(scores, fit.reached)

    def _whole_graph(self):
        if self.n_passes_ == 1:
            return None

        def measure(scores):
            source, graph = self._source_read, self.sparsifier_
            about = {"random_state": self.random_state, "progress": self.progress}
            certificate = certify(source, graph, delta=FAILURE_PROBABILITY, **about)
            return certificate.lambda_max, StreamedLaplacian(source, graph).multiply(scores)

        return measure

    def _fit_class_sums(self, source, encoded):
        """Fit in one pass, with exact sums at labeled nodes."""
        found = read_once(
            source,
            encoded,
            self._budget(source),
            random_state=self.random_state,
            progress=self.progress,
        )
        labels = encoded.locate(found.sums.label)
        graph = found.sparsifier
        n_seen = found.n_edges_seen
        is_whole = n_seen <= max(self._budget(source)(graph.n_nodes, n_seen), graph.n_edges)
        self._note(graph, graph.n_edges if is_whole else n_seen)
        self.n_edges_seen_ = n_seen
        if is_whole:
            return self._fit_graph(graph, labels)
        self._remember(graph, labels)
        self._graph = graph
        self.n_sums_ = int(np.count_nonzero(found.sums.sums))
        unit = found.inv_mean_degree
        eta = check_eta(self.eta)
        solver = ContractedSolver(
            found,
            labels,
            eta=candidate_etas(unit, labels.nodes.size)[0] if eta == "auto" else eta,
            tol=self.tol,
            random_state=self.random_state,
        )
        scores, fit = self._decided(solver, labels, unit)
        self._evidence = (graph, labels.nodes, None, None)
        return self._answer(scores, fit.reached)

    def _rounds(self, labels, alpha):
        """As on any graph, if the labels had no say in it; else every fit reads the edges again."""
        if self._is_blind:
            return super()._rounds(labels, alpha)
        source, names = self._source_read, self.ids_.tolist()
        if source is None or not source.is_rereadable:
            raise InputError(
                "the labels had a say in which edges were kept, so prediction sets need to "
                "read them again, which is not possible here: give the edges as a file, or a "
                "larger budget (in Python, ",
                Parameter("label_share", 0),
                " will do, too)",
            )

        def refit(some):
            values = some.classes[some.code].tolist()
            y = {names[node]: value for node, value in zip(some.nodes, values, strict=True)}
            model = copy.copy(self)
            model.calibrated = False
            if some.weight is not None:
                weights = zip(some.nodes, some.weight.tolist(), strict=True)
                model._weights = {names[node]: weight for node, weight in weights}
                model.class_weight = None
            with warnings.catch_warnings():
                for said in (UnreachedWarning, HomophilyWarning):
                    warnings.simplefilter("ignore", said)
                model._fit_source(source, y)
            column = {value: number for number, value in enumerate(model.classes_.tolist())}
            order = [column[value] for value in some.classes.tolist()]
            return model.scores_[:, order], model.reached_

        return self._refits(refit, labels, alpha, _MOST_READS)
