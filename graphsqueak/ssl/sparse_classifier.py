"""Semi-supervised classification of a graph that is streamed: Sparse-HFS [C17, Section 4.4.1].

Sparse-HFS solves Stable-HFS (`stable`) on a spectral sparsifier H of the graph G,

    f = argmin over f with 1' f = 0 of   (1/l) sum_S (f_i - y_i)^2 + eta f' L_H f.

With few edges per node the noise of H exceeds the variation of f, so that H is not used alone. If
G can be read again, H is the preconditioner of a solve on G (`refinement`). In a single pass, the
edges at labeled nodes are summed exactly (`class_sums`), or H oversamples them. The part that
streaming estimators share is `streaming`.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

import warnings
from dataclasses import dataclass

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
from graphsqueak.ssl.streaming import MAX_CHANGE, StreamedEstimator
from graphsqueak.validation import explain_keywords

__all__ = ["SparseHFSClassifier"]

# Fraction of the nodes whose side of the mean score may be unstable when passes stop. Decisions of
# a rare class are stable long before its ranking is. Halved or doubled: same accuracy, area under
# the curve and number of passes on four dense graphs with 30 and 100 labels.
MAX_UNRANKED_FRACTION = 0.05
# Largest number of labels that are left out one by one if each fit reads the edges again. The
# sensitivity was not measured.
MAX_SINGLE_READS = 20


@explain_keywords()
@dataclass(kw_only=True, eq=False, repr=False)
class SparseHFSClassifier(StreamedEstimator, StableHFSClassifier):
    """Semi-supervised node classifier for graphs that are too large for memory (Sparse-HFS).

    Use it like `StableHFSClassifier`, on edges that are streamed and never loaded. In memory are a
    sparsifier and a few hundred numbers per node. If the source can be read again, two or three
    further passes with the sparsifier as preconditioner approximate the result of
    `StableHFSClassifier` on the whole graph. Otherwise the result is that on a sparsifier with
    exact sums of the edges at labeled nodes. A graph within the budget is used as it is, after one
    pass. Edges can also be given in parts (`partial_fit`), and labels can be replaced (`relabel`).

    Parameters
    ----------
    n_edges : int, optional
        Edge budget of the sparsifier. Give at most one of n_edges, epsilon and keep.
    epsilon : float, optional
        Accuracy of cuts from which the edge budget is predicted. Default: 0.5.
    keep : float, optional
        Edge budget as a fraction of all edges.
    priority_fraction : "auto" or float in [0, 1)
        Fraction of the budget that is reserved for edges at labeled nodes. 0 is a plain sparsifier.
        "auto" is 0 if there is more than one pass. In a single pass, "auto" sums the edges at
        labeled nodes exactly; there are at most four sums per node and class, and they do not
        count as edges.
    max_passes : "auto" or int
        Largest number of passes over the edges. "auto" stops when decisions are stable, and after
        four passes at most (a pipe: one pass).
    window : float, optional
        Fit to the edges of the last `window` of time. Edges must have times
        (`read_edges(..., time=...)` or `TimedEdges`). If the source can be read again this is
        exact and takes one more pass; otherwise it is a sliding window of a stream.
    half_life : float, optional
        Fit to edges whose weights decay by half in this time, with the same requirements.
    eta : float or "auto"
        Weight of the smoothness term. "auto" is 2 / (l mean degree) for l labels.
    prior_weight : float or "auto"
        Multiple of the class means that is added to centered scores, 0 for none and 1 for all.
        "auto" is selected by leave-one-out.
    calibrated : bool
        Make `label_distributions_` probabilities if there are 20 labels or more.
    class_weight : None, "balanced" or mapping from classes to weights
        As in `StableHFSClassifier`. With weights, of classes or of labels, a single pass uses a
        sparsifier with priority for labeled nodes instead of exact sums.
    class_sizes, decision
        As in `StableHFSClassifier`; a cut is one of the sparsifier.
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
    random_state : int or None
        Seed of all random numbers. The result does not depend on the batches.
    progress : bool or callable
        Report how much of the stream has been read.

    Attributes
    ----------
    sparsifier_ : EdgeList
        The edges in memory.
    n_edges_seen_, n_edges_used_ : int
        Number of edges of the stream, and of `sparsifier_`.
    n_sums_ : int
        Number of exact sums of edges at labeled nodes in a single pass, else 0.
    n_passes_ : int
        Number of passes over the edges.
    n_unstable_ : int or None
        Estimated number of predictions that differ from those on the whole graph. None after a
        single pass over more edges than the budget, when it is not known.
    transduction_, label_distributions_, scores_, has_label_in_component_, classes_, ids_
    eta_, prior_weight_, threshold_
        As in `StableHFSClassifier`.
    uncertainty_ : ndarray (n_nodes,)
        That on the sparsifier.
    bound_ : Bound
        After several passes, a bound about the whole graph. Its edges are read again: once for the
        residual of the scores, and a few times for a certificate of `sparsifier_`, which bounds
        lambda_2 and diag(L^+).

    Notes
    -----
    After several passes `prediction_sets` are those of the sparsifier, whose edges do not depend on
    the labels.

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

    _is_unlabeled = staticmethod(is_unlabeled)

    def _set_stream(self, graph, n_seen, *, is_whole):
        super()._set_stream(graph, n_seen, is_whole=is_whole)
        self.n_unstable_ = 0 if is_whole else None
        self.n_sums_ = 0

    def _fit_one_pass(self, source, y, sample_weight, *, must_forget):
        is_weighted = sample_weight is not None or self.class_weight is not None
        # Sums per class count all labels of a class alike, and cannot forget old edges.
        if self.priority_fraction != "auto" or must_forget or is_weighted:
            return super()._fit_one_pass(source, y, sample_weight, must_forget=must_forget)
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
        etas = self._candidate_etas(labels, solver.inv_mean_degree)
        return self._accept(graph, labels, self._answer(solver, graph, labels, etas))

    def _has_converged(self, answer, other):
        """Return whether few decisions, and few ranks, may still change."""
        has_label = answer.fit.has_label
        scores = answer.scores[has_label]
        others = other.scores[has_label]
        self.n_unstable_ = count_unstable(scores, others)
        n_unranked = count_unstable(scores - scores.mean(axis=0), others - others.mean(axis=0))
        is_ranked = n_unranked <= MAX_UNRANKED_FRACTION * has_label.size
        return is_ranked and self.n_unstable_ <= MAX_CHANGE * has_label.size

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

    def _fits_without_labels(self, alpha):
        """Yield fits on the same graph if it does not depend on the labels; else read again."""
        if self._label_independent:
            return super()._fits_without_labels(alpha)
        source = self._source
        if source is None or not source.is_rereadable:
            raise InputError(
                "the sampled edges depend on the labels, so prediction sets need to read the edges "
                "again, which is not possible here: give the edges as a file, or a larger budget "
                "(in Python, ",
                Parameter("priority_fraction", 0),
                " is another way)",
            )
        return self._refit_folds(self._refit_source, alpha, max_single=MAX_SINGLE_READS)

    def _refit_source(self, labels):
        """Return scores of a new model that reads the edges, and the nodes that have some."""
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
