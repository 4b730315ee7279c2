"""Sparse-HFS: Stable-HFS on a graph that is read and never held [C17, Section 4.4].

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

import warnings
from collections.abc import Mapping

import numpy as np
from sklearn.base import clone

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sparsifiers.certificate.certify import certify
from graphsqueak.sparsifiers.certificate.outer_bounds import FAILURE_PROBABILITY
from graphsqueak.ssl.base import UnreachedWarning
from graphsqueak.ssl.class_sums import ContractedSolver, read_once
from graphsqueak.ssl.decisions.homophily import HomophilyWarning
from graphsqueak.ssl.labels import encode_classes, is_unlabeled
from graphsqueak.ssl.refinement import count_unstable
from graphsqueak.ssl.stable_classifier import StableHFSClassifier
from graphsqueak.ssl.streaming import StreamedEstimator
from graphsqueak.system.progress import Progress

__all__ = ["SparseHFSClassifier"]

# Fraction of the nodes that may still be decided otherwise when no pass is added.
MAX_UNSTABLE_FRACTION = 0.002
# The same for cuts through the mean scores: a rare class is stable long before its ranking is.
MAX_UNRANKED_FRACTION = 0.05
# Labels that are left out one by one if every fit reads the edges again.
MAX_SINGLE_READS = 20


class SparseHFSClassifier(StreamedEstimator, StableHFSClassifier):
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
    priority_fraction : "auto" or float in [0, 1)
        A number is the share of the budget that the sparsifier gives to edges at labeled nodes
        (`favored_nodes`); 0 is a plain sparsifier, and so is "auto" where there are more passes
        than one. In a single pass, "auto" sums the edges at labeled nodes exactly. The sums do
        not count as edges: there are at most four per node and class.
    max_passes : "auto" or int
        How often the edges are read at most. "auto" reads on until the decisions have settled,
        four times at most (a pipe once); 1 is a single read.
    window : float, optional
        Label on the edges of the last `window` of time. Edges must have times
        (`read_edges(..., time=...)` or `TimedEdges`). Where they can be read again this is exact,
        and takes one read more; else it is a stream with a window.
    half_life : float, optional
        The same with weights that fall to a half in this time.
    eta : float or "auto"
        Weight of the smoothness term; "auto" is 2 / (l mean degree) for l labels.
    prior_weight : float or "auto"
        How much of the class means is added back to centered scores: 0 none, 1 all. "auto" is
        selected by leave-one-out.
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
    n_unstable_ : int or None
        How many decisions may differ from those on the whole graph, by an estimate of the distance
        to it; None after a single pass over more than the budget, when it is not known.
    transduction_, label_distributions_, scores_, has_label_in_component_, classes_, ids_
    eta_, prior_weight_, cut_
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
        priority_fraction: float | str = "auto",
        max_passes: int | str = "auto",
        window: float | None = None,
        half_life: float | None = None,
        eta: float | str = "auto",
        prior_weight: float | str = "auto",
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
            prior_weight=prior_weight,
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
        self.n_edges = n_edges
        self.epsilon = epsilon
        self.keep = keep
        self.priority_fraction = priority_fraction
        self.max_passes = max_passes
        self.window = window
        self.half_life = half_life
        self.progress = progress

    _is_unlabeled = staticmethod(is_unlabeled)

    def _set_stream(self, graph, n_seen, *, is_whole=None):
        super()._set_stream(graph, n_seen, is_whole=is_whole)
        if is_whole is None:
            is_whole = graph.n_edges == n_seen
        self.n_unstable_ = 0 if is_whole else None
        self.n_sums_ = 0

    def _fit_one_pass(self, source, y, sample_weight, times):
        is_weighted = sample_weight is not None or self.class_weight is not None
        # Class sums count all labels of a class alike, and no edge is forgotten.
        if self.priority_fraction != "auto" or times or is_weighted:
            return super()._fit_one_pass(source, y, sample_weight, times)
        encoded = encode_classes(y)
        found = read_once(
            source,
            encoded,
            self._budget(source),
            random_state=self.random_state,
            progress=self.progress,
        )
        graph = found.sparsifier
        labels = encoded.locate(found.sums.label)
        is_whole = self._is_whole(graph, found.n_edges_seen, source)
        self._set_stream(graph, found.n_edges_seen, is_whole=is_whole)
        if is_whole:
            return self._fit_graph(graph, labels)
        self.n_sums_ = int(np.count_nonzero(found.sums.sums))
        solver = ContractedSolver(
            found, labels, eta=self.eta, tol=self.tol, random_state=self.random_state
        )
        return self._accept(graph, labels, self._answer(solver, graph, labels))

    def _is_settled(self, answer, other, refinement):
        reached = answer.fit.reached
        self.n_unstable_ = n_unranked = np.count_nonzero(reached).item()
        if refinement.is_refined(answer.eta):
            scores = answer.scores[reached]
            others = other.scores[reached]
            self.n_unstable_ = count_unstable(scores, others)
            n_unranked = count_unstable(scores - scores.mean(axis=0), others - others.mean(axis=0))
        is_ranked = n_unranked <= MAX_UNRANKED_FRACTION * reached.size
        return is_ranked and self.n_unstable_ <= MAX_UNSTABLE_FRACTION * reached.size

    def _measure_source(self):
        if self.n_passes_ == 1:
            return None

        def measure(scores):
            certificate = certify(
                self._source,
                self.sparsifier_,
                delta=FAILURE_PROBABILITY,
                random_state=self.random_state,
                progress=self.progress,
            )
            product = StreamedLaplacian(self._source, self.sparsifier_).multiply(scores)
            return certificate.lambda_max, product

        return measure

    def _rounds(self, alpha):
        """Return fits on the same graph if no label had a say in it; else read the edges again."""
        if self._label_independent:
            return super()._rounds(alpha)
        source = self._source
        if source is None or not source.is_rereadable:
            raise InputError(
                "the labels had a say in which edges were kept, so prediction sets need to "
                "read them again, which is not possible here: give the edges as a file, or a "
                "larger budget (in Python, ",
                Parameter("priority_fraction", 0),
                " will do, too)",
            )
        return self._refit_folds(self._refit_source, alpha, max_single=MAX_SINGLE_READS)

    def _refit_source(self, labels):
        """Return scores of a new model that reads the edges, and which nodes it reached."""
        names = self.ids_[labels.nodes].tolist()
        y = dict(zip(names, labels.classes[labels.code].tolist(), strict=True))
        weights = None
        if labels.sample_weight is not None:
            weights = dict(zip(names, labels.sample_weight.tolist(), strict=True))
        # The source has recent edges only, and the weights include those of the classes.
        model = clone(self).set_params(
            affinity="precomputed",
            window=None,
            half_life=None,
            class_weight=None,
            calibrated=False,
        )
        with warnings.catch_warnings():
            for category in (UnreachedWarning, HomophilyWarning):
                warnings.simplefilter("ignore", category)
            model.fit(self._source, y, weights)
        column = {value: number for number, value in enumerate(model.classes_.tolist())}
        order = [column[value] for value in labels.classes.tolist()]
        return model.scores_[:, order], model.has_label_in_component_
