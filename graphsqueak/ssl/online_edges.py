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
from graphsqueak.ssl.decisions.label_weights import class_weighted, trusted_labels
from graphsqueak.ssl.labels import given_labels
from graphsqueak.ssl.refinement import MOST_PASSES, Refinement
from graphsqueak.ssl.stable import unit_of_degrees
from graphsqueak.system.progress import reporter
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["OnlineEdges"]


class OnlineEdges(GraphEstimator):
    """What `SparseHFSClassifier` and `SparseHFSRegressor` share: budget, stream, late labels.

    A subclass has `_is_unlabeled`, which entries of y mean that there is no label; `_read_labels`;
    `_targets`, the right-hand side; and `_refine`, which reads the edges until its answer has
    converged.
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
        y : array of shape (n_nodes,), or mapping from node ids to labels
            -1 marks a node without a class, and NaN one without a value. A pandas Series, or a
            table with the columns node and label, is a mapping. Arrays go by position if that
            says which node is meant (`graphsqueak.ssl.alignment`).
        sample_weight : array of shape (n_nodes,), or mapping from node ids to weights, optional
            Trust in each label: how much it weighs beside the others. 0 is no label.
        """
        self._weights = self._values_for(X, sample_weight, "sample_weight")
        y = self._values_for(X, y)
        source = self._recent(self._source(self._graph_of(X)))
        self.__dict__.pop("_stream", None)  # of an earlier partial_fit
        self._stale, self._source_read = False, source
        self._most = self._most_passes(source)
        return self._fit_source(source, y)

    _weights: Any = None  # sample_weight, as it was given

    def _weigh(self, y, graph):
        """The labels of the graph, with their weights."""
        labels, of_classes = self._read_labels(y, graph), getattr(self, "class_weight", None)
        labels = trusted_labels(labels, self._weights, graph)
        return labels if of_classes is None else class_weighted(labels, of_classes)

    def _recent(self, source):
        """What is to be labeled on: exactly, where it can be read again, else by the stream."""
        self._forgets = self._times()
        if not self._forgets or not source.is_rereadable:
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
        if source.is_rereadable:
            return most
        if is_auto or most == 1:
            return 1
        raise InputError(
            "a pipe can be read once, not ",
            Parameter("passes", most),
            " times: write it to a file first, or give ",
            Parameter("passes", 1),
        )

    def _budget(self, source=None):
        """The budget asked for; where all edges are at hand, a share of them is a number."""
        budget = Budget(self.n_edges, self.epsilon, self.keep)
        if budget == (None, None, None):
            budget = budget._replace(epsilon=0.5)
        budget.validate(source)
        if budget.keep is None or not isinstance(source, EdgeList):
            return budget
        return Budget(max(math.ceil(budget.keep * source.n_edges), 1), None, None)

    def _source(self, X):
        """X as a stream of edges."""
        check_choice("affinity", self.affinity, ("precomputed", "knn"))
        if self.affinity == "knn":
            return self._read_points(X)
        source = as_stream(X)
        return source.in_id_order() if isinstance(source, EdgeList) else source

    def _labels_by_id(self, y, edges):
        """Labels by id; an array that cannot be about the nodes of `edges` is refused."""
        given = given_labels(y, self._is_unlabeled)
        if not isinstance(edges, EdgeList):
            return given.by_id(None)
        if not given.is_by_id:
            given.find(edges.node_ids, 0, edges.n_nodes)
        return given.by_id(edges.node_ids)

    def _favoring_stream(self, labels, source=None):
        """A stream that gives `label_share` of its budget to edges at labeled nodes."""
        share = self.label_share
        if share == "auto":
            share = PRIORITY_FRACTION
        else:
            check_real("label_share", share, least=0.0, below=1.0)
        return new_stream(
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
        graph = stream.sparsifier(n_edges=stream.budget_).in_id_order()
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
        # `epsilon` is a memory budget here: a graph that fits is used as it is.
        graph = stream.sparsifier(n_edges=stream.budget_, consume=not self._forgets)
        del stream
        numbers = as_permutation(graph.node_ids, graph.n_nodes)
        if numbers is not None:
            degrees = degrees[np.argsort(numbers)]
            graph = graph.in_id_order()
        is_whole = n_seen <= max(self._budget(source)(graph.n_nodes, n_seen), graph.n_edges)
        is_whole &= source.is_exact
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
        given = given_labels(y, self._is_unlabeled)
        labels = given.by_id(source.node_ids if isinstance(source, EdgeList) else None)
        stream, source = (
            self._favoring_stream(labels, source),
            self._budget(source).sample_source(source),
        )
        with reporter(self.progress, "labeling") as report:
            for batch in source:
                if not given.is_by_id:  # refuse an array of labels before all edges are read
                    given.find(batch.node_ids, stream.n_nodes_, batch.n_nodes)
                stream.partial_fit(batch)
                fraction = source.fraction_read
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
            All labels known by now. They replace those given before. An array is about all nodes
            of the stream, or of X if X has an explicit order of nodes.

        Returns
        -------
        self
        """
        X = as_stream(X)
        labels: dict = {}
        if y is not None:
            # An array for edges whose nodes have ids is matched when all nodes are known.
            labels = self._labels_by_id(y, X)
            self._labels = labels if getattr(X, "has_explicit_order", False) else y
        if not hasattr(self, "_stream"):
            self._forgets, self._weights = self._times(), None
            self._labels = {} if y is None else self._labels
            self._favored = frozenset(labels)
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
        seen = EdgeList.from_validated([], [], [], self._stream.n_nodes_, self._stream.ids_)
        labels = self._labels_by_id(y, seen)
        self._labels = labels if seen.has_explicit_order else y
        late = set(labels) - self._favored
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
            if len(self._labels) == 0:
                raise InputError("no labels have been given yet; call relabel(y)")
            graph = self._stream.sparsifier(n_edges=self._stream.budget_).in_id_order()
            self._fit_graph(graph, self._weigh(self._labels, graph))
            self._note(graph, self._stream.n_edges_seen_)
            self._stale = False
        super()._check_fitted()
