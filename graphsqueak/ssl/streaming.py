"""Edges that are streamed, once or in several passes, and edges that keep coming.

`StreamedEstimator` is what the classifier and the regressor on sparsifiers share. It differs from
the estimators in memory in the solver only:

    the graph fits into the budget     the solver in memory (`stable`)
    several passes                     the sparsifier of the first pass is a preconditioner for the
                                       others (`refinement`)
    one pass                           exact sums at labeled nodes (`class_sums`, classifiers only),
                                       or a sparsifier in which edges at labeled nodes are
                                       oversampled, and the solver in memory

`partial_fit` feeds a stream sparsifier with priority for the nodes labeled by then; `relabel` sets
other labels at any time; answers are computed when they are needed [C17, Section 4.4.4].

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from threadpoolctl import threadpool_limits

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import as_permutation
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sources.recent import recent_edges
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.stream.priority_nodes import PRIORITY_FRACTION
from graphsqueak.sparsifiers.stream.timed_sparsifier import new_stream
from graphsqueak.ssl.base import GraphEstimator, LateLabelsWarning
from graphsqueak.ssl.decisions.calibration import CalibrationWarning
from graphsqueak.ssl.labels import given_labels
from graphsqueak.ssl.refinement import MAX_PASSES, Refinement
from graphsqueak.system.progress import reporter
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["StreamedEstimator"]


@dataclass
class _OnlineEdges:
    """State of `partial_fit`: the stream, all labels, and the nodes that have priority."""

    stream: Any
    y: Any
    priority: frozenset
    is_stale: bool = True


class StreamedEstimator(GraphEstimator):
    """What `SparseHFSClassifier` and `SparseHFSRegressor` share.

    Subclasses have `_is_unlabeled`, which entries of y mean that there is no label, and
    `_is_settled(answer, other, solver)`, whether two last steps of a refinement agree. The base
    class in memory has `_read_labels`, `_fit_graph`, `_answer` and `_accept`.
    """

    # Edges of partial_fit; None after fit.
    _online: _OnlineEdges | None = None

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
        y : array of shape (n_nodes,), or mapping from node ids to labels
            -1 marks a node without a class, and NaN one without a value. A pandas Series, or a
            table with the columns node and label, is a mapping. Arrays go by position if that
            says which node is meant (`graphsqueak.ssl.alignment`).
        sample_weight : array of shape (n_nodes,), or mapping from node ids to weights, optional
            Weight of each label in the loss. A label of weight 0 is ignored.
        """
        weights = self._values_for(X, sample_weight, "sample_weight")
        y = self._values_for(X, y)
        source, times = self._recent(self._as_source(self._graph_of(X)))
        self._online = None
        self._source = source
        max_passes = self._max_passes(source)
        if max_passes == 1:
            return self._fit_one_pass(source, y, weights, times)
        return self._fit_passes(source, y, weights, times, max_passes)

    def _as_source(self, X):
        """Return X as a stream of edges."""
        check_choice("affinity", self.affinity, ("precomputed", "knn"))
        if self.affinity == "knn":
            return self._read_points(X)
        source = as_stream(X)
        return source.in_id_order() if isinstance(source, EdgeList) else source

    def _recent(self, source):
        """Return the edges to label on, and the options of the stream that forgets the others.

        If the edges can be read again, the source itself has the recent ones only, exactly.
        """
        times = self._times()
        if not times or not source.is_rereadable:
            return source, times
        recent = recent_edges(source, **times)
        return (recent.to_edge_list() if isinstance(source, EdgeList) else recent), {}

    def _times(self):
        times = {"window": self.window, "half_life": self.half_life}
        return {name: time for name, time in times.items() if time is not None}

    def _max_passes(self, source):
        """Return how often the edges may be read."""
        is_auto = isinstance(self.max_passes, str) and self.max_passes == "auto"
        max_passes = MAX_PASSES if is_auto else check_count("max_passes", self.max_passes)
        if source.is_rereadable:
            return max_passes
        if is_auto or max_passes == 1:
            return 1
        raise InputError(
            "a pipe can be read once, not ",
            Parameter("max_passes", max_passes),
            " times: write it to a file first, or give ",
            Parameter("max_passes", 1),
        )

    def _budget(self, source=None):
        """Return the budget; if all edges are in memory, a fraction of them is a number."""
        budget = Budget(self.n_edges, self.epsilon, self.keep)
        if budget == (None, None, None):
            budget = budget._replace(epsilon=0.5)
        budget.validate(source)
        if budget.keep is None or not isinstance(source, EdgeList):
            return budget
        return Budget(max(math.ceil(budget.keep * source.n_edges), 1), None, None)

    def _is_whole(self, graph, n_seen, source):
        """Return whether all edges fit into the budget, so that the sparsifier is the graph."""
        n_allowed = max(self._budget(source)(graph.n_nodes, n_seen), graph.n_edges)
        return n_seen <= n_allowed and source.is_exact

    def _fit_one_pass(self, source, y, sample_weight, times):
        """Fit to a sparsifier with priority for the labeled nodes."""
        stream = self._read_stream(source, y, times, self._label_fraction())
        graph = stream.sparsifier(n_edges=stream.budget_).in_id_order()
        self._set_stream(graph, stream.n_edges_seen_)
        return self._fit_graph(graph, self._read_labels(y, sample_weight, graph))

    def _label_fraction(self):
        """Return the fraction of the budget for edges at labeled nodes, in one pass."""
        if self.priority_fraction == "auto":
            return PRIORITY_FRACTION
        return check_real("priority_fraction", self.priority_fraction, least=0.0, below=1.0)

    def _fit_passes(self, source, y, sample_weight, times, max_passes):
        """Fit in several passes, with the sparsifier of the first as a preconditioner."""
        # A preconditioner needs no priority nodes: they would make the rest of it coarser.
        label_fraction = 0.0 if self.priority_fraction == "auto" else self._label_fraction()
        stream = self._read_stream(source, y, times, label_fraction)
        degrees = stream.degrees_
        n_seen = stream.n_edges_seen_
        # `epsilon` is a memory budget here: a graph that fits is used as it is.
        graph = stream.sparsifier(n_edges=stream.budget_, consume=not times)
        del stream
        numbers = as_permutation(graph.node_ids, graph.n_nodes)
        if numbers is not None:
            degrees = degrees[np.argsort(numbers)]
            graph = graph.in_id_order()
        is_whole = self._is_whole(graph, n_seen, source)
        self._set_stream(graph, n_seen, is_whole=is_whole)
        self._label_independent = is_whole or label_fraction == 0
        labels = self._read_labels(y, sample_weight, graph)
        if is_whole:
            return self._fit_graph(graph, labels)
        refinement = Refinement(
            source,
            graph,
            degrees,
            labels,
            n_edges=n_seen,
            random_state=self.random_state,
            progress=self.progress,
        )
        # More threads may round differently.
        with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            answer = self._refine(refinement, graph, labels, max_passes)
        return self._accept(graph, labels, answer)

    def _refine(self, refinement, graph, labels, max_passes):
        """Read the edges until the answer is settled, and return it."""
        answer = self._answer(refinement.preconditioned, graph, labels)
        eta = None
        if refinement.is_large:
            eta = answer.eta
            refinement.fix_eta(eta)
        while self.n_passes_ < max_passes:
            self.n_passes_ += 1
            refinement.read(n_left=max_passes - self.n_passes_)
            other = self._answer(refinement.preconditioned, graph, labels, eta=eta)
            answer = self._answer(refinement.smoothed, graph, labels, eta=eta)
            if self._is_settled(answer, other, refinement):
                break
        return answer

    def _read_stream(self, source, y, times, label_fraction):
        """Return a stream sparsifier that has read the source."""
        given = given_labels(y, self._is_unlabeled)
        names = given.by_id(source.node_ids if isinstance(source, EdgeList) else None)
        stream = self._new_stream(self._budget(source), names, label_fraction, times)
        source = self._budget(source).sample_source(source)
        with reporter(self.progress, "labeling") as report:
            for batch in source:
                # Refuse an array of labels that does not match before all edges are read.
                if not given.is_by_id:
                    given.find(batch.node_ids, stream.n_nodes_, batch.n_nodes)
                stream.partial_fit(batch)
                fraction = source.fraction_read
                report(stream.n_edges_seen_, fraction, f"kept {stream.n_kept_:,}")
        return stream

    def _new_stream(self, budget, labeled, label_fraction, times):
        """Return a stream that gives a fraction of its budget to edges at labeled nodes."""
        return new_stream(
            **budget._asdict(),
            favored_nodes=list(labeled) if label_fraction else None,
            favored_share=label_fraction,
            **times,
            random_state=self.random_state,
        )

    def _set_stream(self, graph, n_seen, *, is_whole=None):
        """Set the attributes about what was read and kept."""
        if is_whole is None:
            is_whole = graph.n_edges == n_seen
        self.sparsifier_ = graph
        self.n_edges_used_ = graph.n_edges
        self.n_edges_seen_ = n_seen
        self.n_passes_ = 1
        self._label_independent = is_whole or self.priority_fraction == 0

    @available_if(lambda self: self.affinity == "precomputed")
    def partial_fit(self, X: GraphLike, y: ArrayLike | Mapping | None = None) -> Self:
        """Take in more edges; labels given with the first ones are favored from then on.

        Parameters
        ----------
        X : EdgeList, EdgeSource or any graph
            The next edges. (Points have no `partial_fit`: new ones change the neighbors of old.)
        y : mapping from node ids to labels, or array, optional
            All labels known by now. They replace those given before. An array is about all nodes
            of the stream, or of X if X has an explicit order of nodes.

        Returns
        -------
        self
        """
        X = as_stream(X)
        names: dict = {}
        if y is not None:
            names = self._labels_by_id(y, X)
            # An array for edges whose nodes have ids is matched when all nodes are known.
            if getattr(X, "has_explicit_order", False):
                y = names
        if self._online is None:
            stream = self._new_stream(self._budget(), names, self._label_fraction(), self._times())
            self._online = _OnlineEdges(stream, {}, frozenset(names))
        if y is not None:
            self._online.y = y
        self._online.stream.partial_fit(X)
        self._online.is_stale = True
        self._source = None
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
        if self._online is None:
            raise InputError("relabel needs edges of partial_fit first; after fit, fit again")
        stream = self._online.stream
        seen = EdgeList.from_validated([], [], [], stream.n_nodes_, stream.ids_)
        names = self._labels_by_id(y, seen)
        self._online.y = names if seen.has_explicit_order else y
        self._online.is_stale = True
        late = set(names) - self._online.priority
        if late and stream.n_shrinks_:
            warnings.warn(
                LateLabelsWarning(
                    f"{len(late)} labels came after edges had been dropped: for them the graph is "
                    "a plain sparsifier; give labels to the first partial_fit where you can"
                ),
                stacklevel=2,
            )
        return self

    def _labels_by_id(self, y, edges):
        """Return labels by id; an array that cannot be about the nodes of `edges` is refused."""
        given = given_labels(y, self._is_unlabeled)
        if not isinstance(edges, EdgeList):
            return given.by_id(None)
        if not given.is_by_id:
            given.find(edges.node_ids, 0, edges.n_nodes)
        return given.by_id(edges.node_ids)

    def _check_fitted(self):
        online = self._online
        if online is not None and online.is_stale:
            if len(online.y) == 0:
                raise InputError("no labels have been given yet; call relabel(y)")
            stream = online.stream
            graph = stream.sparsifier(n_edges=stream.budget_).in_id_order()
            self._fit_graph(graph, self._read_labels(online.y, None, graph))
            self._set_stream(graph, stream.n_edges_seen_)
            online.is_stale = False
        super()._check_fitted()
