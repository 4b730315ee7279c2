"""Edges that are read, once or several times, and edges that keep coming [C17, Section 4.4.4].

`OnlineEdges` is what the classifier and the regressor on sparsifiers share: the budget, the stream,
the passes, and the online setting. Where the edges can be read again, the sparsifier of the first
pass is a preconditioner for the others (`refinement`).

`partial_fit` feeds a stream sparsifier that favors the nodes labeled by then; `relabel` sets other
labels at any time; answers are computed when they are asked for.

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

from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from threadpoolctl import threadpool_limits

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sources.recent import recent_edges
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.stream.arrivals import SHARE
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.ssl.base import GraphEstimator, LateLabelsWarning
from graphsqueak.ssl.decisions.label_weights import class_weighted, trusted_labels
from graphsqueak.ssl.labels import GivenLabels
from graphsqueak.ssl.refinement import MOST_PASSES, Refinement
from graphsqueak.ssl.stable import unit_of_degrees
from graphsqueak.system.progress import reporter
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["OnlineEdges"]


class OnlineEdges(GraphEstimator):
    """What `SparseHFSClassifier` and `SparseHFSRegressor` share: budget, stream, late labels.

    A subclass says which entries of an array y mean that there is no label (`_is_unlabeled`) and
    which of them is written there (`_nothing`), how labels are read (`_read_labels`) and what is
    aimed at (`_targets`), and has `_refine`, which reads on until its answer has settled.
    """

    def fit(
        self,
        X: GraphLike | ArrayLike,
        y: ArrayLike | Mapping,
        sample_weight: ArrayLike | Mapping | None = None,
    ) -> Self:
        """Read the stream of edges X and answer for all its nodes; return self.

        Parameters
        ----------
        X : EdgeSource, EdgeList, table of edges, scipy adjacency matrix, networkx graph, or points
        y : array of shape (n_nodes,), mapping from node ids to labels, or data frame of both
            In an array, which is in the order of the nodes, -1 marks a node without a class, and
            NaN one without a value.
        sample_weight : array of shape (n_nodes,), or mapping from node ids to weights, optional
            Trust in each label: how much it weighs beside the others. 0 is no label.
        """
        self._weighted = sample_weight, X
        X, y = self._handed_in(X, y, self._nothing)
        source = self._recent(self._source(X))
        self.__dict__.pop("_stream", None)  # of an earlier partial_fit
        self._stale, self._source_read = False, source
        self._most = self._most_passes(source)
        return self._fit_source(source, y)

    _weighted: tuple = (None, None)  # sample_weight, and what was fitted

    def _weigh(self, y, graph):
        """The labels of the graph, with their weights."""
        labels, of_classes = self._read_labels(y, graph), getattr(self, "class_weight", None)
        if self._weighted[0] is not None:
            labels = trusted_labels(labels, *self._weighted, graph)
        return labels if of_classes is None else class_weighted(labels, of_classes)

    def _recent(self, source):
        """What is to be labeled on: exactly, where it can be read again, else by the stream."""
        self._forgets = self._times()
        if not self._forgets or not getattr(source, "is_rereadable", True):
            return source
        recent, self._forgets = recent_edges(source, **self._forgets), {}
        return recent.to_edge_list() if isinstance(source, EdgeList) else recent

    def _times(self):
        times = {"window": self.window, "half_life": self.half_life}
        return {name: time for name, time in times.items() if time is not None}

    def _most_passes(self, source):
        """How often the edges may be read."""
        is_auto = isinstance(self.passes, str) and self.passes == "auto"
        most = MOST_PASSES if is_auto else check_count("passes", self.passes)
        if getattr(source, "is_rereadable", True):
            return most
        if is_auto or most == 1:
            return 1
        raise InputError(
            f"a pipe can be read once, not passes={most} times: write it to a file first, or give "
            "passes=1"
        )

    def _budget(self, source=None):
        """The budget asked for; where all edges are at hand, a share of them is a number."""
        budget = Budget(self.n_edges, self.epsilon, self.keep)
        if budget == (None, None, None):
            budget = budget._replace(epsilon=0.5)
        budget.checked(source)
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
            **self._forgets,
            random_state=self.random_state,
        )

    def _fit_source(self, source, y):
        """Fit to a stream of edges."""
        return self._fit_once(source, y) if self._most == 1 else self._fit_refined(source, y)

    def _fit_once(self, source, y):
        """Fit in one pass, on a sparsifier that favors the labeled nodes."""
        stream = self._fill_stream(source, y)
        graph = stream.sparsifier()
        self._note(graph, stream.n_edges_seen_)
        return self._fit_graph(graph, self._weigh(y, graph))

    def _fit_refined(self, source, y, **how):
        """Fit in several passes, the sparsifier of the first as a preconditioner.

        `how` are arguments of `Refinement`.
        """
        plain = copy.copy(self)
        plain.label_share = 0.0 if self.label_share == "auto" else self.label_share
        stream = plain._fill_stream(source, y)
        degrees, n_seen = stream.degrees_, stream.n_edges_seen_
        graph = stream.sparsifier(use_up=not self._forgets)
        del stream
        is_whole = n_seen <= max(self._budget(source)(graph.n_nodes, n_seen), graph.n_edges)
        is_whole &= getattr(source, "is_exact", True)
        self._note(graph, graph.n_edges if is_whole else n_seen)
        self.n_edges_seen_ = n_seen
        self._is_blind |= plain.label_share == 0
        labels = self._weigh(y, graph)
        if is_whole:
            return self._fit_graph(graph, labels)
        refinement = Refinement(
            source,
            graph,
            degrees,
            labels.nodes,
            self._targets(labels),
            trust=labels.weight,
            n_edges=n_seen,
            random_state=self._seed(),
            progress=self.progress,
            **how,
        )
        unit = unit_of_degrees(degrees)
        with threadpool_limits(1, user_api="blas"):  # more threads may round otherwise
            return self._refine(refinement, graph, labels, unit)

    def _fill_stream(self, source, y):
        """A stream sparsifier that has read the source."""
        labels = self._labels_by_id(y, getattr(source, "own_ids", None))
        stream, source = self._favoring_stream(labels, source), self._budget(source).drawn(source)
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
        return stream

    def _note(self, graph, n_seen):
        self.sparsifier_, self.n_edges_used_, self.n_edges_seen_ = graph, graph.n_edges, n_seen
        self._is_blind = self.label_share == 0 or graph.n_edges == n_seen
        self.n_passes_ = 1

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
            y = self._handed_in(None, y, None)[1]
            self._labels = self._labels_by_id(y, getattr(as_stream(X), "own_ids", None))
        if not hasattr(self, "_stream"):
            self._forgets, self._weighted = self._times(), (None, None)
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
        y = self._handed_in(None, y, None)[1]
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
            self._fit_graph(graph, self._weigh(self._labels, graph))
            self._note(graph, self._stream.n_edges_seen_)
            self._stale = False
        super()._check_fitted()
