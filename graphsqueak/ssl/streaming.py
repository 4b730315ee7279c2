"""Stable-HFS on edges that are streamed, in one pass or several, or that keep arriving.

`StreamedEstimator` is the part that the streaming classifier and regressor share. It differs from
the estimators in memory (`stable_estimator`) in the solver only:

    the graph fits into the budget     the solver in memory (`stable`)
    several passes                     the sparsifier of the first pass is a preconditioner for the
                                       others (`refinement`)
    one pass                           exact sums at labeled nodes (`class_sums`, classifiers only),
                                       or a sparsifier in which edges at labeled nodes are
                                       oversampled, and the solver in memory

Online, `partial_fit` passes edges to a stream sparsifier in which the nodes labeled by then have
priority, and `relabel` replaces the labels. Predictions are computed when they are needed
[C17, Section 4.4.4].

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from threadpoolctl import threadpool_limits

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import as_permutation
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sources.recent import recent_edges
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.stream.priority_nodes import PriorityNodes
from graphsqueak.sparsifiers.stream.timed_sparsifier import new_stream
from graphsqueak.ssl.alignment import Labels
from graphsqueak.ssl.base import LateLabelsWarning
from graphsqueak.ssl.decisions.calibration import CalibrationWarning
from graphsqueak.ssl.labels import given_labels
from graphsqueak.ssl.refinement import Refinement
from graphsqueak.ssl.stable import mean_of_degrees
from graphsqueak.ssl.stable_estimator import StableHFSEstimator
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["MAX_CHANGE", "StreamedEstimator"]

# Passes of max_passes="auto", including that of the sparsifier. Halved: accuracy 4.0 points lower;
# doubled: 0.8 higher (two block models and a neighbor graph of digits, a quarter of the edges kept,
# 5 and 20 labels per class, two seeds).
MAX_PASSES = 4
# Number of nodes from which the eta of a regressor is selected on the sparsifier and no smooth
# functions are added, to save memory: four candidates take four times the memory of one. The
# sparsifier selects worse: in the worst of 48 fits to smaller graphs (keep=0.05), R^2 is -0.03, and
# 0.63 if eta is selected on the whole graph.
LARGE_MIN_NODES = 2**17
# Change at which "auto" stops: fraction of the nodes whose decision may change, or relative norm of
# the change of the values. Halved: 3.8 passes instead of 3.75; doubled: 3.7, with the same accuracy
# (three block models and a neighbor graph of digits, 40 and 150 labels, three seeds).
MAX_CHANGE = 0.002


@dataclass
class _OnlineEdges:
    """State of `partial_fit`: the stream, all labels, and the nodes that have priority."""

    stream: Any
    y: Any
    priority: frozenset
    is_stale: bool = True


@dataclass(kw_only=True, eq=False, repr=False)
class StreamedEstimator(StableHFSEstimator):
    """Base of `SparseHFSClassifier` and `SparseHFSRegressor`.

    In addition to those of `StableHFSEstimator`, a subclass has the methods

    `_is_unlabeled(values)`
        Which entries of y mark nodes without a label.
    `_has_converged(answer, other)`
        Whether passes can stop, given the results of two different last steps.
    """

    n_edges: int | None = None
    epsilon: float | None = None
    keep: float | None = None
    priority_fraction: float | str = "auto"
    max_passes: int | str = "auto"
    window: float | None = None
    half_life: float | None = None
    progress: Progress = False

    # Edges of partial_fit; None after fit.
    _online = None

    def _fit(self, X, y, sample_weight):
        source = self._as_source(X)
        # If the source can be read again, it is restricted to the recent edges exactly. Otherwise
        # the sparsifier of the stream has to forget old edges.
        has_times = self.window is not None or self.half_life is not None
        must_forget = has_times and not source.is_rereadable
        if has_times and not must_forget:
            recent = recent_edges(source, window=self.window, half_life=self.half_life)
            source = recent.to_edge_list() if isinstance(source, EdgeList) else recent
        self._online = None
        self._source = source
        max_passes = self._count_max_passes(source)
        if max_passes == 1:
            return self._fit_one_pass(source, y, sample_weight, must_forget=must_forget)
        return self._fit_passes(source, y, sample_weight, max_passes)

    def _as_source(self, X):
        """Return X as a stream of edges."""
        check_choice("affinity", self.affinity, ("precomputed", "knn"))
        if self.affinity == "knn":
            return self._read_points(X)
        source = as_stream(X)
        return source.in_id_order() if isinstance(source, EdgeList) else source

    def _count_max_passes(self, source):
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
        # The sparsifier has fewer edges than were read if parallel edges were merged.
        n_allowed = max(self._budget(source)(graph.n_nodes, n_seen), graph.n_edges)
        return n_seen <= n_allowed and source.is_exact

    def _fit_one_pass(self, source, y, sample_weight, *, must_forget):
        """Fit to a sparsifier with priority for the labeled nodes."""
        fraction = self._fraction_for_labeled_nodes()
        stream = self._read_stream(source, y, fraction, must_forget=must_forget)
        graph = stream.sparsifier(n_edges=stream.budget_).in_id_order()
        n_seen = stream.n_edges_seen_
        self._set_stream(graph, n_seen, is_whole=graph.n_edges == n_seen)
        return self._fit_graph(graph, self._read_problem(y, sample_weight, graph))

    def _fraction_for_labeled_nodes(self):
        """Return the fraction of the budget for edges at labeled nodes, in one pass."""
        if self.priority_fraction == "auto":
            return PriorityNodes.fraction
        return check_real("priority_fraction", self.priority_fraction, least=0.0, below=1.0)

    def _fit_passes(self, source, y, sample_weight, max_passes):
        """Fit in several passes, with the sparsifier of the first as a preconditioner."""
        # Priority nodes would make the rest of the preconditioner coarser.
        is_auto = self.priority_fraction == "auto"
        fraction = 0.0 if is_auto else self._fraction_for_labeled_nodes()
        stream = self._read_stream(source, y, fraction)
        degrees = stream.degrees_
        n_seen = stream.n_edges_seen_
        # `epsilon` is a memory budget here: a graph that fits is used as it is.
        graph = stream.sparsifier(n_edges=stream.budget_, consume=True)
        del stream
        numbers = as_permutation(graph.node_ids, graph.n_nodes)
        if numbers is not None:
            degrees = degrees[np.argsort(numbers)]
            graph = graph.in_id_order()
        is_whole = self._is_whole(graph, n_seen, source)
        self._set_stream(graph, n_seen, is_whole=is_whole)
        self._label_independent = is_whole or fraction == 0
        labels = self._read_problem(y, sample_weight, graph)
        if is_whole:
            return self._fit_graph(graph, labels)
        inv_mean_degree = mean_of_degrees(degrees)
        etas = self._candidate_etas(labels, inv_mean_degree)
        is_large = graph.n_nodes >= LARGE_MIN_NODES
        if is_large and len(etas) > 1:
            solver = self._make_solver(graph, labels, inv_mean_degree=inv_mean_degree)
            etas = [self._answer(solver, graph, labels, etas).eta]
            # Free it before the passes.
            del solver
        refinement = Refinement(
            source,
            graph,
            degrees,
            labels,
            etas,
            n_edges=n_seen,
            n_smooth=0 if is_large else 32,
            random_state=self.random_state,
            progress=self.progress,
        )
        # More threads may round differently, and earlier answers must not warn.
        with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            while True:
                self.n_passes_ += 1
                refinement.read(is_last=self.n_passes_ == max_passes)
                other = self._answer(refinement.preconditioned, graph, labels, etas)
                answer = self._answer(refinement.smoothed, graph, labels, etas)
                if self._has_converged(answer, other) or self.n_passes_ == max_passes:
                    break
        return self._accept(graph, labels, answer)

    def _read_stream(self, source, y, fraction, *, must_forget=False):
        """Return a stream sparsifier that has read the source."""
        given = given_labels(y, self._is_unlabeled)
        labeled = given.by_id(source.node_ids if isinstance(source, EdgeList) else None)
        budget = self._budget(source)
        stream = self._new_stream(budget, labeled, fraction, must_forget=must_forget)
        source = budget.sample_source(source)
        with reporter(self.progress, "labeling") as report:
            for batch in source.batches():
                # Refuse an array of labels that does not match before all edges are read.
                if not given.is_by_id:
                    given.find(batch.node_ids, stream.n_nodes_, batch.n_nodes)
                stream.partial_fit(batch)
                kept = f"kept {stream.n_kept_:,}"
                report(stream.n_edges_seen_, source.fraction_read, kept)
        return stream

    def _new_stream(self, budget, labeled, fraction, *, must_forget):
        """Return a stream that gives a fraction of its budget to edges at labeled nodes."""
        return new_stream(
            n_edges=budget.n_edges,
            epsilon=budget.epsilon,
            keep=budget.keep,
            priority_nodes=list(labeled) if fraction else None,
            priority_fraction=fraction,
            window=self.window if must_forget else None,
            half_life=self.half_life if must_forget else None,
            random_state=self.random_state,
        )

    def _set_stream(self, graph, n_seen, *, is_whole):
        """Set the attributes about the edges that were read and kept."""
        self.sparsifier_ = graph
        self.n_edges_used_ = graph.n_edges
        self.n_edges_seen_ = n_seen
        self.n_passes_ = 1
        self._label_independent = is_whole or self.priority_fraction == 0

    @available_if(lambda self: self.affinity == "precomputed")
    def partial_fit(self, X: GraphLike, y: Labels | None = None) -> Self:
        """Read more edges. Nodes that are labeled in the first call have priority.

        Parameters
        ----------
        X : EdgeList, EdgeSource or any graph
            The next edges. (Points have no `partial_fit`: a new point changes the neighbors of
            earlier ones.)
        y : mapping from node ids to labels, or array, optional
            All labels known by now; they replace earlier labels. An array is about all nodes of the
            stream, or of X if X has an explicit order of nodes.

        Returns
        -------
        self
        """
        X = as_stream(X)
        by_id: dict = {}
        if y is not None:
            by_id = self._labels_by_id(y, X)
            # An array for edges whose nodes have ids is matched when all nodes are known.
            if getattr(X, "has_explicit_order", False):
                y = by_id
        if self._online is None:
            stream = self._new_stream(
                self._budget(), by_id, self._fraction_for_labeled_nodes(), must_forget=True
            )
            self._online = _OnlineEdges(stream, {}, frozenset(by_id))
        if y is not None:
            self._online.y = y
        self._online.stream.partial_fit(X)
        self._online.is_stale = True
        self._source = None
        return self

    def relabel(self, y: Labels) -> Self:
        """Replace the labels without reading the edges again.

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
        nodes = EdgeList.from_validated([], [], [], stream.n_nodes_, stream.ids_)
        by_id = self._labels_by_id(y, nodes)
        self._online.y = by_id if nodes.has_explicit_order else y
        self._online.is_stale = True
        late = set(by_id) - self._online.priority
        if late and stream.n_resparsifications_:
            warnings.warn(
                LateLabelsWarning(
                    f"{len(late)} labels were given after edges had been dropped: their edges have "
                    "no priority; give labels to the first partial_fit if possible"
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
            self._fit_graph(graph, self._read_problem(online.y, None, graph))
            n_seen = stream.n_edges_seen_
            self._set_stream(graph, n_seen, is_whole=graph.n_edges == n_seen)
            online.is_stale = False
        super()._check_fitted()
