"""The recent edges of a source, exactly: those of a window, or all of them with decayed weights.

A stream with a window or a half-life approximates the graph of these edges in bounded memory. If
the source can be read more than once, this module gives the graph itself.
"""

import math
from collections.abc import Iterator

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.timed_edges import TimedEdges
from graphsqueak.sources.edge_source import EdgeSource, id_kind_of
from graphsqueak.sources.times import Duration, as_time_span
from graphsqueak.validation import check_real


def recent_edges(
    source: EdgeSource | EdgeList,
    *,
    window: float | str | None = None,
    half_life: float | str | None = None,
    since: float | None = None,
    at: float | None = None,
    max_half_lives: float = 32.0,
) -> "RecentEdges":
    """Return the edges of a source that are recent, with decayed weights.

    Use it for the exact graph of a window or half-life of a file; for a stream that can be read
    once, pass `window` or `half_life` to `sparsify`.

    Parameters
    ----------
    source : EdgeSource or TimedEdges
        Its edges have times (`read_edges(..., time=...)`), and it can be read more than once.
    window : float or str, optional
        Keep edges later than `at` - window, in the unit of the times. A text such as "7d", "12h",
        "30m" or "45s" is in seconds and needs times that are dates or Unix seconds.
    half_life : float or str, optional
        Time in which the weight of an edge is halved.
    since : float, optional
        Keep edges of this time or later.
    at : float, optional
        Time at which to look: later edges are dropped. Default: the time of the latest edge, for
        which the source is read once.
    max_half_lives : float
        Age, in half-lives, at which edges are dropped, unless `since` is given. After 32, the
        weight is 2^-32 of what it was, less than the rounding error of single precision.

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
        raise InputError(
            "a pipe can be read once, and its latest time is known only at its end; save it to a "
            "file first"
        )
    spans = {
        "window": as_time_span("window", window),
        "half_life": as_time_span("half_life", half_life),
    }
    for name, span in spans.items():
        if isinstance(span, Duration) and isinstance(source, EdgeSource):
            source.expect_seconds()
        if span is not None:
            check_real(name, span, above=0.0, below=math.inf)
    # Edges of a window are later than `after`, and the others not earlier than `first`.
    now = latest_time(source) if at is None else at
    after = -math.inf
    if spans["window"] is not None:
        after = now - spans["window"]
    first = -math.inf
    if since is not None:
        first = since
    elif spans["half_life"] is not None:
        first = now - max_half_lives * spans["half_life"]
    return RecentEdges(source, now=now, first=first, after=after, half_life=spans["half_life"])


def latest_time(source: EdgeSource | EdgeList) -> float:
    """Return the time of the latest edge, in one pass.

    Parameters
    ----------
    source : EdgeSource or TimedEdges
    """
    latest = (float(_times(batch).max(initial=-math.inf)) for batch in source.batches())
    return max(latest, default=math.inf)


def _times(batch):
    if isinstance(batch, TimedEdges):
        return batch.time
    if batch.n_edges:
        raise InputError(
            "a window or a half-life needs the time of every edge; name its column with ",
            Parameter("time"),
            ", or pass TimedEdges",
        )
    return np.zeros(0)


class RecentEdges(EdgeSource):
    """Edges from `first` on, later than `after`, and up to `now`; see `recent_edges`."""

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
        self._source = source
        self._now = now
        self._first = first
        self._after = after
        self._half_life = half_life

    def _batches(self) -> Iterator[EdgeList]:
        source = self._source
        for batch in source.batches():
            time = _times(batch)
            is_recent = (time >= self._first) & (time > self._after) & (time <= self._now)
            weight = batch.weight[is_recent]
            if self._half_life is not None:
                weight = weight * np.exp2((time[is_recent] - self._now) / self._half_life)
            # The counts are those of the source, also of edges that are not recent.
            self.n_self_loops = source.n_self_loops
            self.n_zero_weights = source.n_zero_weights
            self.n_bad_lines = source.n_bad_lines
            self.fraction_read = source.fraction_read
            self.id_kind = id_kind_of(source)
            self._ids = batch.node_ids
            yield EdgeList.from_validated(
                batch.tail[is_recent],
                batch.head[is_recent],
                weight,
                batch.n_nodes,
                batch.node_ids,
            )
