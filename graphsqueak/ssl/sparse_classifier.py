"""SparseHFSClassifier: Stable-HFS on what one pass over a stream of edges leaves."""

from collections.abc import Mapping

import numpy as np

from graphsqueak.ssl.label_stream import read_with_labels
from graphsqueak.ssl.labels import as_objects, class_labels, encoded, is_unlabeled, one_column
from graphsqueak.ssl.online import OnlineEdges
from graphsqueak.ssl.stable import Fit, stable_scores
from graphsqueak.ssl.stable_classifier import StableHFSClassifier

__all__ = ["SparseHFSClassifier"]

_JUDGE_TOL = 1e-5


class SparseHFSClassifier(OnlineEdges, StableHFSClassifier):
    """Sparse-HFS: labels from a graph that is never held [C17, Section 4.4.1].

    Reads the edges once. With `label_share="auto"` the edges at labeled nodes are not sampled
    but summed exactly, per labeled node or (where that is too much) per class, and the
    budget goes to a sparsifier of all other edges: labels enter a dense graph
    through those edges, and a plain sparsifier blurs them. Sums count as edges; where both together
    are above the budget they are thinned to it, the sums favored. A graph that fits into
    the budget is used as it is, and the answer is that of `StableHFSClassifier`.

    Parameters
    ----------
    n_edges, epsilon, keep : at most one
        Budget, as of `StreamSparsifier`. Default: epsilon = 0.5.
    label_share : "auto" or float in [0, 1)
        A number is the share of the budget that a sparsifier gives to edges at labeled nodes
        (`favored_nodes`); 0 is a plain sparsifier.
    eta, threshold, calibrated, unknown, affinity, n_neighbors, metric, tol
        As of `StableHFSClassifier`.
    random_state : int or None
    progress : bool or callable

    Attributes
    ----------
    sparsifier_ : EdgeList
        The graph that was labeled. Where labeled nodes stand behind their class, it has a node
        per class behind the others.
    n_edges_seen_, n_edges_used_ : int
    eta_, threshold_, cut_, transduction_, label_distributions_, scores_, reached_, classes_, ids_
        As of `StableHFSClassifier`.

    Examples
    --------
    >>> from graphsqueak.sources import block_model
    >>> edges = block_model(400, 60_000, n_blocks=2, random_state=7)
    >>> y = np.full(400, -1)
    >>> y[:6] = 0, 1, 0, 1, 0, 1
    >>> clf = SparseHFSClassifier(keep=0.05, random_state=7).fit(edges, y)
    >>> clf.n_edges_used_ <= 3000
    True
    >>> bool((clf.transduction_ == np.arange(400) % 2).mean() > 0.95)
    True
    """

    def __init__(
        self,
        *,
        n_edges=None,
        epsilon=None,
        keep=None,
        label_share="auto",
        eta="auto",
        threshold="auto",
        calibrated=False,
        unknown="prior",
        affinity="precomputed",
        n_neighbors=10,
        metric="euclidean",
        tol=1e-6,
        random_state=None,
        progress=False,
    ):
        super().__init__(
            eta=eta,
            threshold=threshold,
            calibrated=calibrated,
            unknown=unknown,
            affinity=affinity,
            n_neighbors=n_neighbors,
            metric=metric,
            tol=tol,
            random_state=random_state,
        )
        self.n_edges, self.epsilon, self.keep = n_edges, epsilon, keep
        self.label_share, self.progress = label_share, progress

    _is_none = staticmethod(is_unlabeled)
    _read_labels = staticmethod(class_labels)

    def fit(self, X, y):
        """Read the stream of edges X once and label all its nodes.

        y is an array in the order of the nodes, or a mapping from their ids to labels.
        """
        source = self._source(X)
        self._forget()
        given = self._given(source, y)
        y = one_column(y)
        if self.label_share != "auto":
            return self._fit_sampled(source, y, given)
        classes, code = encoded(as_objects(list(given.values())))
        small = read_with_labels(
            source,
            {name: place for place, name in enumerate(given)},
            code,
            classes.size,
            self._settings(source),
            by_number=not isinstance(y, Mapping),
            rng=np.random.default_rng(self.random_state),
            progress=self.progress,
        )
        self._note(small.graph, small.n_seen)
        labels = class_labels(y, small)
        if small.tied.size == 0:
            self._remember(small.graph, labels)
            return self._answer(*self._scores(small.graph, labels, small.unit))
        self._remember(small, labels)
        self._evidence = None
        return self._answer(*self._tied_scores(small, labels))

    def predict_proba(self, X=None):
        """As of all estimators, at any time of the stream."""
        self._refresh()
        return super().predict_proba(X)

    def _tied_scores(self, small, labels):
        """Scores where most labeled nodes stand behind their class; the others judge eta."""
        n_nodes, n_classes, graph = small.n_nodes, labels.classes.size, small.graph
        judge = ~np.isin(labels.nodes, small.tied)
        judges, behind = labels.nodes[judge], labels.code[~judge]
        counts = np.bincount(behind, minlength=n_classes)
        present = np.flatnonzero(counts)
        copies = np.concatenate([np.ones(n_nodes), counts])
        copies[small.tied] = 0.0
        one_hot, leaders = np.eye(n_classes), n_nodes + present
        rng = np.random.default_rng(self.random_state)

        def judged(eta):
            fit = stable_scores(
                graph,
                leaders,
                one_hot[present],
                behind.size * eta,
                copies=copies,
                tol=_JUDGE_TOL,
                random_state=rng,
            )
            return fit.centered[judges]

        code = labels.code[judge]
        if small.untied is not None:
            judged, _ = self._judged(small.untied, labels.nodes, labels.one_hot())
            code = labels.code
        everyone = np.bincount(labels.code, minlength=n_classes)
        choice = self._choose(judged, code, everyone, small.unit)
        fit = stable_scores(
            graph,
            np.concatenate([judges, leaders]),
            one_hot[np.concatenate([labels.code[judge], present])],
            labels.nodes.size * self.eta_,
            copies=copies,
            tol=self.tol,
            random_state=rng,
        )
        place = np.arange(n_nodes)
        place[labels.nodes[~judge]] = n_nodes + behind
        fit = Fit(*(part[place] for part in fit))
        return self._decision(fit, choice, everyone / everyone.sum()), fit.reached
