"""Sparse-HFS: Stable-HFS on what one pass over a stream of edges leaves [C17, Section 4.4].

`OnlineEdges` is what the classifier and the regressor on sparsifiers share: the budget, the stream,
and edges that keep coming with labels that come late and change [C17, Section 4.4.4]. `partial_fit`
feeds a stream sparsifier that favors the nodes labeled by then; `relabel` sets other labels at any
time; answers are computed when they are asked for.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

import copy
import math
import warnings
from collections.abc import Mapping
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.edge_source import GraphLike, as_stream
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.stream.arrivals import SHARE
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.ssl.base import GraphEstimator, LateLabelsWarning, UnreachedWarning
from graphsqueak.ssl.choice import CHOICE_TOL
from graphsqueak.ssl.label_stream import FEW_LABELS, read_with_labels
from graphsqueak.ssl.labels import GivenLabels, class_labels, encode_classes, is_unlabeled
from graphsqueak.ssl.stable import Fit, stable_scores
from graphsqueak.ssl.stable_classifier import StableHFSClassifier
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_choice, check_real

__all__ = ["OnlineEdges", "SparseHFSClassifier"]

_MOST_READS = 20  # to leave labels out one by one where every fit reads the edges again


class OnlineEdges(GraphEstimator):
    """What `SparseHFSClassifier` and `SparseHFSRegressor` share: budget, stream, late labels.

    A subclass says which entries of an array y mean that there is no label (`_is_unlabeled`) and
    how labels are read (`_read_labels`).
    """

    def fit(self, X: GraphLike | ArrayLike, y: ArrayLike | Mapping) -> Self:
        """Read the stream of edges X once and answer for all its nodes; return self.

        Parameters
        ----------
        X : EdgeSource, EdgeList, scipy adjacency matrix, networkx graph, or points
        y : array of shape (n_nodes,), or mapping from node ids to labels
            In an array, which is in the order of the nodes, -1 marks a node without a class, and
            NaN one without a value.
        """
        source = self._source(X)
        self.__dict__.pop("_stream", None)  # of an earlier partial_fit
        self._stale, self._source_read = False, source
        return self._fit_source(source, y)

    def _budget(self, source=None):
        """The budget asked for; where all edges are at hand, a share of them is a number."""
        budget = Budget(self.n_edges, self.epsilon, self.keep)
        if budget == (None, None, None):
            budget = budget._replace(epsilon=0.5)
        budget.checked()
        if budget.keep is None or not isinstance(source, EdgeList):
            return budget
        return Budget(max(math.ceil(budget.keep * source.n_edges), 1), None, None)

    def _source(self, X):
        """X as a stream of edges."""
        check_choice("affinity", self.affinity, ("precomputed", "knn"))
        return as_stream(X) if self.affinity == "precomputed" else self._read_points(X)

    def _labels_by_id(self, y, ids):
        """Labels by id, or by number where the ids come only with the edges."""
        return GivenLabels(y, self._is_unlabeled).by_id(ids)

    def _favoring_stream(self, labels, source=None):
        """A stream that gives `label_share` of its budget to edges at labeled nodes."""
        share = self.label_share
        share = SHARE if share == "auto" else check_real("label_share", share, least=0.0, below=1.0)
        return StreamSparsifier(
            **self._budget(source)._asdict(),
            favored_nodes=list(labels) if share else None,
            favored_share=share,
            random_state=self.random_state,
        )

    def _fit_source(self, source, y):
        """Fit to a stream of edges, on a sparsifier that favors the labeled nodes."""
        labels = self._labels_by_id(y, getattr(source, "own_ids", None))
        stream = self._favoring_stream(labels, source)
        is_by_number = not isinstance(y, Mapping) and not isinstance(source, EdgeList)
        with reporter(self.progress, "labeling") as report:
            for batch in source:
                if stream.n_nodes_ == 0 and batch.own_ids is not None and is_by_number:
                    raise InputError(
                        "the nodes of this source have ids: give y as a mapping from ids to labels"
                    )
                stream.partial_fit(batch)
                fraction = getattr(source, "fraction_read", 1.0)
                report(stream.n_edges_seen_, fraction, f"kept {stream.n_kept_:,}")
        graph = stream.sparsifier()
        self._note(graph, stream.n_edges_seen_)
        return self._fit_graph(graph, self._read_labels(y, graph))

    def _note(self, graph, n_seen):
        self.sparsifier_, self.n_edges_used_, self.n_edges_seen_ = graph, graph.n_edges, n_seen
        self._is_blind = self.label_share == 0 or graph.n_edges == n_seen

    @available_if(lambda self: self.affinity == "precomputed")
    def partial_fit(self, X: GraphLike, y: ArrayLike | Mapping | None = None) -> Self:
        """Take in more edges; labels given with the first ones are favored from then on.

        Parameters
        ----------
        X : EdgeList, EdgeSource or any graph
            The next edges. (Points have no `partial_fit`: new ones change the neighbors of old.)
        y : mapping from node ids to labels, or array, optional
            All labels known by now. They replace those given before.

        Returns
        -------
        self
        """
        if y is not None:
            self._labels = self._labels_by_id(y, getattr(as_stream(X), "own_ids", None))
        if not hasattr(self, "_stream"):
            self._labels = self._labels if y is not None else {}
            self._favored = frozenset(self._labels)
            self._stream = self._favoring_stream(self._favored)
        self._stream.partial_fit(X)
        self._stale, self._source_read = True, None
        return self

    def relabel(self, y: ArrayLike | Mapping) -> Self:
        """Replace the labels, without another look at the edges.

        Parameters
        ----------
        y : mapping from node ids to labels, or array of shape (n_nodes,)

        Returns
        -------
        self
        """
        if not hasattr(self, "_stream"):
            raise InputError("relabel needs edges of partial_fit first; after fit, fit again")
        self._labels = self._labels_by_id(y, self._stream.ids_)
        late = set(self._labels) - self._favored
        if late and self._stream.n_shrinks_:
            warnings.warn(
                LateLabelsWarning(
                    f"{len(late)} labels came after edges had been dropped: for them the graph is "
                    "a plain sparsifier; give labels to the first partial_fit where you can"
                ),
                stacklevel=2,
            )
        self._stale = True
        return self

    def _check_fitted(self):
        if getattr(self, "_stale", False):
            if not self._labels:
                raise InputError("no labels have been given yet; call relabel(y)")
            graph = self._stream.sparsifier()
            self._fit_graph(graph, self._read_labels(self._labels, graph))
            self._note(graph, self._stream.n_edges_seen_)
            self._stale = False
        super()._check_fitted()


class SparseHFSClassifier(OnlineEdges, StableHFSClassifier):
    """Sparse-HFS: labels from a graph that is never held [C17, Section 4.4.1].

    Reads the edges once. With `label_share="auto"` the edges at labeled nodes are summed exactly,
    per labeled node or (where that is too much) per class, and the rest of the budget goes to a
    sparsifier of all other edges (`label_stream` says why). Sums count as edges; where both are
    together above the budget they are thinned to it, the sums favored. A graph that fits into the
    budget is used as it is, and the answer is that of `StableHFSClassifier`.

    Parameters
    ----------
    n_edges : int, optional
        Budget: edges, and sums, to hold. At most one of the three is given.
    epsilon : float, optional
        Accuracy of cuts from which the number of edges is predicted. Default: 0.5.
    keep : float, optional
        Share of all edges.
    label_share : "auto" or float in [0, 1)
        A number is the share of the budget that a sparsifier gives to edges at labeled nodes
        (`favored_nodes`); 0 is a plain sparsifier.
    eta : float or "auto"
        Weight of the smoothness term; "auto" takes 2 / (l mean degree), unless another one would
        misclassify clearly fewer labeled nodes had it not known them.
    threshold : float or "auto"
        How much of the class means is added back to centered scores: 0 none, 1 all. "auto" is
        chosen as eta is.
    calibrated, unknown, affinity, n_neighbors, metric, tol
        As in `StableHFSClassifier`.
    random_state : int or None
        Seeds everything that is drawn. Same seed, same answer, whatever the batches.
    progress : bool or callable
        Tell how far the stream has been read.

    Attributes
    ----------
    sparsifier_ : EdgeList
        The graph that was labeled, with a node per class at the end where nodes stand behind them.
    n_edges_seen_, n_edges_used_ : int
        Edges of the stream, and of `sparsifier_`.
    transduction_, label_distributions_, scores_, reached_, classes_, ids_, eta_, threshold_, cut_
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
        n_edges: int | None = None,
        epsilon: float | None = None,
        keep: float | None = None,
        label_share: float | str = "auto",
        eta: float | str = "auto",
        threshold: float | str = "auto",
        calibrated: bool = False,
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
            unknown=unknown,
            affinity=affinity,
            n_neighbors=n_neighbors,
            metric=metric,
            tol=tol,
            random_state=random_state,
        )
        self.n_edges, self.epsilon, self.keep = n_edges, epsilon, keep
        self.label_share, self.progress = label_share, progress

    _is_unlabeled = staticmethod(is_unlabeled)
    _read_labels = staticmethod(class_labels)

    def _fit_source(self, source, y):
        if self.label_share != "auto":
            return super()._fit_source(source, y)
        return self._fit_summed(source, encode_classes(y))

    def _fit_summed(self, source, encoded, *, few=FEW_LABELS):
        """Fit with the edges at labeled nodes summed; `few` labels have sums of their own."""
        small = read_with_labels(
            source,
            encoded,
            self._budget(source),
            few=few,
            random_state=self.random_state,
            progress=self.progress,
        )
        self._note(small.graph, small.n_seen)
        labels = encoded.locate(small.label)
        if small.tied.size == 0:
            self._graph = small.graph
            self._remember(small.graph, labels)
            return self._answer(*self._scores(small.graph, labels, small.unit))
        self._remember(small, labels)
        self._evidence = None
        return self._answer(*self._tied_scores(small, labels))

    def _rounds(self, labels, alpha):
        """As on any graph, if the labels had no say in it; else every fit reads the edges again."""
        if self._is_blind:
            return super()._rounds(labels, alpha)
        source, names = self._source_read, self.ids_.tolist()
        if source is None or not getattr(source, "is_rereadable", True):
            raise InputError(
                "the labels had a say in which edges were kept, so prediction sets need to read "
                "them again, which is not possible here: give the edges as a file, or a larger "
                "budget (in Python, label_share=0 will do, too)"
            )

        def refit(some):
            values = some.classes[some.code].tolist()
            y = {names[node]: value for node, value in zip(some.nodes, values, strict=True)}
            model = copy.copy(self)
            model.calibrated = False
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnreachedWarning)
                model._fit_source(source, y)
            column = {value: number for number, value in enumerate(model.classes_.tolist())}
            order = [column[value] for value in some.classes.tolist()]
            return model.scores_[:, order], model.reached_

        return self._refits(refit, labels, alpha, _MOST_READS)

    def _tied_scores(self, small, labels):
        """Scores where most labeled nodes stand behind their class; the others choose eta."""
        tie = small.tie(labels)
        n_classes, code = labels.classes.size, labels.code[tie.is_free]
        rng = np.random.default_rng(self.random_state)

        def fit_classes(nodes, classes, strength, tol):
            one_hot = np.eye(n_classes)[classes]
            settings = {"copies": tie.copies, "tol": tol, "random_state": rng}
            return stable_scores(small.graph, nodes, one_hot, strength, **settings)

        def score_held_out(eta):
            strength = tie.classes.size * eta
            fit = fit_classes(tie.leaders, tie.present, strength, CHOICE_TOL)
            return fit.centered[tie.free]

        held_out = code
        if small.untied is not None:
            score_held_out, _ = self._leave_one_out(small.untied, labels.nodes, labels.one_hot())
            held_out = labels.code
        counts = np.bincount(labels.code, minlength=n_classes)
        choice = self._choose(score_held_out, held_out, counts, small.unit)
        fit = fit_classes(
            np.concatenate([tie.free, tie.leaders]),
            np.concatenate([code, tie.present]),
            labels.nodes.size * self.eta_,
            self.tol,
        )
        fit = Fit(*(part[tie.value_of] for part in fit))
        return self._decision_scores(fit, choice, counts / counts.sum()), fit.reached
