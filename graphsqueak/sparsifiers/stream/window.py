"""The sparsifier of streams that forget: a `StreamSparsifier` that always has times."""

from graphsqueak.errors import InputError
from graphsqueak.sparsifiers.stream.ring import Ring
from graphsqueak.sparsifiers.stream.stream_engine import StreamEngine
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier

__all__ = ["TimedSparsifier"]


class TimedSparsifier(StreamSparsifier):
    """Sparsifier of the last `window` of time, or of edges that decay with a `half_life`.

    It is a `StreamSparsifier` with one of the two, and has the same parameters and attributes;
    `ridge` and method="thesis" are refused.

    Examples
    --------
    >>> from graphsqueak.graph import TimedEdges
    >>> stream = TimedSparsifier(n_edges=100, window=8, buckets=4)
    >>> for day in range(20):
    ...     _ = stream.partial_fit(TimedEdges(tail=[day], head=[day + 1], time=[day]))
    >>> stream.sparsifier().tail, stream.span_
    (array([10, 11, 12, 13, 14, 15, 16, 17, 18, 19], dtype=int32), (10.0, 19.0))
    >>> stream.sparsifier(since=14, until=16).tail
    array([14, 15], dtype=int32)
    >>> stream = TimedSparsifier(n_edges=100, half_life=2)
    >>> stream.partial_fit(TimedEdges(tail=[0, 1], head=[1, 2], time=[3, 5])).sparsifier().weight
    array([0.5, 1. ])
    """

    def _make_engine(self, seed: int) -> StreamEngine | Ring:
        if not self.is_timed:
            raise InputError(
                "TimedSparsifier needs window=... or half_life=...; use StreamSparsifier to keep "
                "all edges"
            )
        return super()._make_engine(seed)
