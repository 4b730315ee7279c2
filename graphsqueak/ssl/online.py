"""The online setting: edges keep coming, labels come late and change [C17, Section 4.4.4].

`partial_fit` feeds a stream sparsifier that favors the nodes labeled by then; `relabel` sets
other labels at any time; answers are computed when they are asked for.
"""

import math
import warnings
from collections.abc import Mapping

from sklearn.utils.metaestimators import available_if

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.edge_source import as_stream
from graphsqueak.sparsifiers import StreamSparsifier
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.stream.arrival_filter import SHARE
from graphsqueak.ssl.labels import named, one_column
from graphsqueak.system.progress import reporter
from graphsqueak.validation import check_choice, check_real

__all__ = ["LateLabelsWarning", "OnlineEdges"]


class LateLabelsWarning(UserWarning):
    """Labels came after edges had been dropped; those edges were sampled as any other."""


class OnlineEdges:
    """What `SparseHFSClassifier` and `SparseHFSRegressor` share: settings, stream, late labels."""

    def _settings(self, source=None):
        """Of the stream; where all edges are at hand, a share of them is a number."""
        given = {"n_edges": self.n_edges, "epsilon": self.epsilon, "keep": self.keep}
        if all(value is None for value in given.values()):
            given["epsilon"] = 0.5
        if self.keep is not None and isinstance(source, EdgeList):
            Budget(**given).checked()
            given |= {"keep": None, "n_edges": max(math.ceil(self.keep * source.n_edges), 1)}
        return given | {"random_state": self.random_state}

    def _source(self, X):
        """X as a stream of edges."""
        check_choice("affinity", self.affinity, ("precomputed", "knn"))
        return as_stream(X) if self.affinity == "precomputed" else self._read_points(X)

    def _given(self, source, y):
        """Labels by id, or by number where the ids come only with the edges."""
        if y is None:
            raise InputError(
                "this estimator requires y to be passed, but the target y is None; give a label "
                "per node, -1 where there is none"
            )
        return named(one_column(y), getattr(source, "own_ids", None), self._is_none)

    def _fit_sampled(self, source, y, given):
        """Fit on a sparsifier that favors the labeled nodes by `label_share`."""
        share = self._share()
        names = list(given) if share else None
        stream = StreamSparsifier(
            **self._settings(source), favored_nodes=names, favored_share=share
        )
        with reporter(self.progress, "labeling") as report:
            for batch in source:
                if stream.n_nodes_ == 0 and batch.own_ids is not None and _is_unnamed(source, y):
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

    def _forget(self):
        """Drop the stream of an earlier `partial_fit`."""
        self.__dict__.pop("_stream", None)
        self._stale = False

    @available_if(lambda self: self.affinity == "precomputed")
    def partial_fit(self, X, y=None):
        """Take in more edges; labels given with the first ones are favored from then on.

        Parameters
        ----------
        X : EdgeList, EdgeSource or any graph
            The next edges. (Points have no `partial_fit`: new ones change the neighbors of old.)
        y : mapping from node ids to labels, or array, optional
            All labels known by now. They replace those given before.
        """
        if y is not None:
            self._labels = named(y, getattr(as_stream(X), "own_ids", None), self._is_none)
        if not hasattr(self, "_stream"):
            self._labels = self._labels if y is not None else {}
            self._favored, share = frozenset(self._labels), self._share()
            names = list(self._favored) if share else None
            self._stream = StreamSparsifier(
                **self._settings(), favored_nodes=names, favored_share=share
            )
        self._stream.partial_fit(X)
        self._stale = True
        return self

    def relabel(self, y):
        """Replace the labels, without another look at the edges."""
        if not hasattr(self, "_stream"):
            raise InputError("relabel needs edges of partial_fit first; after fit, fit again")
        self._labels = named(y, self._stream.ids_, self._is_none)
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

    def _refresh(self):
        """Fit to what the stream holds, if anything changed."""
        if getattr(self, "_stale", False):
            if not self._labels:
                raise InputError("no labels have been given yet; call relabel(y)")
            graph = self._stream.sparsifier()
            self._fit_graph(graph, self._read_labels(self._labels, graph))
            self._note(graph, self._stream.n_edges_seen_)
            self._stale = False

    def predict(self, X=None):
        """As of all estimators, at any time of the stream."""
        self._refresh()
        return super().predict(X)

    def _share(self):
        if self.label_share == "auto":
            return SHARE
        return check_real("label_share", self.label_share, least=0.0, below=1.0)


def _is_unnamed(source, y):
    return not isinstance(y, Mapping) and not isinstance(source, EdgeList)
