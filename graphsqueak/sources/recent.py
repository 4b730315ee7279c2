"""The recent edges of a source, exactly: those of a window, or all of them with decayed weights.

Where the edges can be read again, this is what a stream with a window or a half-life is an
approximation of, and what it is measured against.
"""

import math
from collections.abc import Iterator

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.timed_edges import TimedEdges
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.times import Duration, as_time_span
from graphsqueak.validation import check_real

__all__ = ["RecentEdges", "latest_time", "recent_edges"]

_HALF_LIVES = 32  # after which an edge is forgotten: it has lost all but 2^-32 of its weight


def recent_edges(
    source: EdgeSource | EdgeList,
    *,
    window: float | str | None = None,
    half_life: float | str | None = None,
    since: float | None = None,
    at: float | None = None,
) -> "RecentEdges":
    """The edges of a source that are not too old, their weights decayed.

    Parameters
    ----------
    source : EdgeSource or TimedEdges
        Whose edges have times (`read_edges(..., time=...)`), and which can be read again.
    window : float or str, optional
        Edges later than `at` - window, in the unit of the times. A text such as "7d", "12h", "30m"
        or "45s" is in seconds and needs times that are dates or Unix seconds.
    half_life : float or str, optional
        Time in which the weight of an edge falls to a half; after 32 of them it is forgotten.
    since : float, optional
        Edges from then on, instead of a window.
    at : float, optional
        As of when; later edges are left out. Default: the time of the latest edge, for which the
        source is read once.

    Returns
    -------
    RecentEdges

    Examples
    --------
    >>> edges = TimedEdges(tail=[0, 1, 2], head=[1, 2, 3], time=[1, 5, 7])
    >>> recent_edges(edges, half_life=2).to_edge_list().weight
    array([0.125, 0.5  , 1.   ])
    >>> recent_edges(edges, window=3).to_edge_list().tail
    array([1, 2], dtype=int32)
    """
    if not source.is_rereadable:
        raise InputError("a pipe can be read once, and its last time is known at its end only")
    span = as_time_span("window", window)
    fading = as_time_span("half_life", half_life)
    for name, value in (("window", span), ("half_life", fading)):
        if isinstance(value, Duration) and isinstance(source, EdgeSource):
            source.expect_seconds()
        if value is not None:
            check_real(name, value, above=0.0, below=math.inf)
    now = latest_time(source) if at is None else at
    first = -math.inf if since is None else since
    after = -math.inf if span is None else now - span
    if fading is not None and since is None:
        first = now - _HALF_LIVES * fading
    return RecentEdges(source, now=now, first=first, after=after, half_life=fading)


def latest_time(source: EdgeSource | EdgeList) -> float:
    """The time of the latest edge, for which all are read.

    Parameters
    ----------
    source : EdgeSource or TimedEdges
    """
    return max((float(_times(batch).max(initial=-math.inf)) for batch in source), default=math.inf)


def _times(batch):
    if not isinstance(batch, TimedEdges) and batch.n_edges:
        raise InputError(
            "a window or a half-life needs the time of every edge; name its column, ",
            Parameter("time"),
            ", or give TimedEdges",
        )
    return batch.time if isinstance(batch, TimedEdges) else np.zeros(0)


class RecentEdges(EdgeSource):
    """Edges from `first` on, later than `after` and up to `now`; see `recent_edges`."""

    def __init__(
        self,
        source: EdgeSource | EdgeList,
        *,
        now: float,
        first: float,
        after: float,
        half_life: float | None,
    ) -> None:
        super().__init__()
        self._source, self._now, self._half_life = source, now, half_life
        self._first, self._after = first, after

    def _batches(self) -> Iterator[EdgeList]:
        for batch in self._source:
            time = _times(batch)
            chosen = (time >= self._first) & (time > self._after) & (time <= self._now)
            weight = batch.weight[chosen]
            if self._half_life is not None:
                weight = weight * np.exp2((time[chosen] - self._now) / self._half_life)
            for name in ("n_self_loops", "n_zero_weights", "n_bad_lines", "fraction_read"):
                setattr(self, name, getattr(self._source, name))
            self.id_kind, self._ids = getattr(self._source, "id_kind", "integer"), batch.node_ids
            ends = (batch.tail[chosen], batch.head[chosen])
            yield EdgeList.from_validated(*ends, weight, batch.n_nodes, batch.node_ids)
