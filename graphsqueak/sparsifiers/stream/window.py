"""Streams that forget: a ring of stream sparsifiers, one for each span of time.

The sum of sparsifiers of parts of a graph is one of their sum. So time is cut into buckets of equal
width, bucket k from k width on, and every bucket has a plain stream of its own:

window      the buckets of the last `window` are kept, and older ones dropped whole. What is asked
            for is the sum of some of them, thinned once. At the old end a window may begin within a
            bucket, which is taken whole: the span of a result is that of its buckets.
half-life   an edge of weight w at time t weighs w 2^((t - now) / half_life). Bucket k holds it as
            w 2^((t - k width) / half_life), which no passing of time changes: kept weights, exact
            degrees and the filter are all scaled alike, by the unit that they are held in. Without
            a window a bucket is 16 half-lives wide and three are held, so an edge is forgotten when
            it has lost all but 2^-32 of its weight.

A bucket that is over is thinned to its budget, and the present one of a window has room for two.
So a window of b buckets keeps at most b + 2 budgets, and one more for each bucket that late edges
still reach; a half-life alone has the room of a plain stream, and two budgets more.

Single edges cannot be taken out again. Whoever keeps a sample does not know what an edge that is
gone would have kept instead; only linear sketches of all edges do, of n log^3 n numbers and more,
which hold no edge that one could look at.
"""

import math
from functools import reduce
from operator import xor
from typing import Any, Self

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.timed_edges import NO_CHECKSUMS, TimedEdges, checksums
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.nodes.union import unite_ids
from graphsqueak.randomness import RandomState, Step, child_seed
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sparsifiers.budget import predicted_epsilon
from graphsqueak.sparsifiers.stream.ring import Ring
from graphsqueak.sparsifiers.stream.state import collect_ring, restore_ring
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.validation import check_count, check_real

__all__ = ["TimedSparsifier"]

_HALF_LIVES, _N_FULL = 16, 2  # width of a bucket where nothing but decay forgets, and full ones
_MOST_HALF_LIVES = 64  # in a bucket: its weights are 2^64 apart by age alone


class TimedSparsifier(StreamSparsifier):
    """What `StreamSparsifier` is with a `window` or a `half_life`: it takes `TimedEdges`.

    Times may come in any order. An edge that is older than all that is kept is counted and
    dropped.

    Parameters
    ----------
    half_life : float, optional
        Time in which the weight of an edge falls to a half.
    window : float, optional
        Keep to the edges of the last `window` of time.
    buckets : int
        Parts into which a window is cut.
    **settings
        As of `StreamSparsifier`, but ridge and method="thesis".

    Attributes
    ----------
    span_ : tuple of float
        From when to when the edges of the last result are; before there is one, of those kept.
    n_too_old_ : int
        Edges that were older than the window when they came.
    n_edges_seen_ : int
        All edges taken in, those that are forgotten by now included.
    n_nodes_, n_kept_, n_shrinks_, n_components_, budget_, degrees_, probe_error_
        Of what is kept, decayed to the time of the last edge.

    Examples
    --------
    >>> from graphsqueak.graph import TimedEdges
    >>> stream = StreamSparsifier(n_edges=100, window=8, buckets=4)
    >>> for day in range(20):
    ...     _ = stream.partial_fit(TimedEdges(tail=[day], head=[day + 1], time=[day]))
    >>> stream.sparsifier().tail, stream.span_
    (array([10, 11, 12, 13, 14, 15, 16, 17, 18, 19], dtype=int32), (10.0, 19.0))
    >>> stream.sparsifier(since=14, until=16).tail
    array([14, 15], dtype=int32)
    >>> stream = StreamSparsifier(n_edges=100, half_life=2)
    >>> stream.partial_fit(TimedEdges(tail=[0, 1], head=[1, 2], time=[3, 5])).sparsifier().weight
    array([0.5, 1. ])
    """

    _engine: Ring  # type: ignore[assignment]

    def __init__(
        self,
        *,
        half_life: float | None = None,
        window: float | None = None,
        buckets: int = 16,
        **settings: Any,
    ) -> None:
        for name, time in (("half_life", half_life), ("window", window)):
            if time is not None:
                check_real(name, time, above=0.0, below=np.inf)
        self.half_life, self.window = half_life, window
        self.buckets = check_count("buckets", buckets)
        super().__init__(**settings)
        if self.method != "fast" or self.ridge > 0:
            raise InputError("window and half_life take method='fast' and no ridge")
        self._engine = self._make_ring(self._engine.seed)
        self.checksums_: tuple[int, ...] = NO_CHECKSUMS
        self._result: StreamSparsifier | None = None

    def _make_ring(self, seed: int) -> Ring:
        width, n_full = _HALF_LIVES * (self.half_life or 0.0), _N_FULL
        if self.window is not None:
            width, n_full = self.window / self.buckets, self.buckets
        if self.half_life is not None and width > _MOST_HALF_LIVES * self.half_life:
            raise InputError(
                f"window={width * n_full:g} is {width * n_full / self.half_life:.0f} half-lives, "
                "after which nothing is left of an edge; leave window out"
            )
        settings = super()._settings() | {"favored_nodes": None}
        times = {"width": width, "n_full": n_full, "half_life": self.half_life}
        return Ring(settings, self.options, **times, is_tight=self.window is not None, seed=seed)

    def partial_fit(self, batch: GraphLike) -> Self:
        """Take in more edges, which have times.

        Parameters
        ----------
        batch : TimedEdges, or an EdgeSource of them
        """
        self._check_in_use()
        for part in as_stream(batch):
            time = part.time if isinstance(part, TimedEdges) else None
            if time is None and part.n_edges:
                raise InputError(
                    "a window or a half-life needs the time of every edge; name its column, "
                    "time=..., or give TimedEdges"
                )
            tail, head, n_nodes = self._numbering.apply(part)
            self._engine.absorb(tail, head, part.weight, time, n_nodes, self._favor)
            if isinstance(part, TimedEdges):
                self.checksums_ = checksums(part, self.checksums_)
            self._result = None
        return self

    def _favor(self, engine):
        if self.favored_nodes:
            engine.favor(self._numbering, self.n_nodes_, self.favored_nodes)

    def sparsifier(
        self,
        *,
        at: float | None = None,
        since: float | None = None,
        until: float | None = None,
        use_up: bool = False,
    ) -> EdgeList:
        """The sparsifier of the last window, or of another span of whole buckets.

        `span_` then says from when to when its edges are: a window begins with a bucket.

        Parameters
        ----------
        at : float, optional
            The end of the window, and the time to which weights have decayed. Default: the time of
            the last edge.
        since, until : float, optional
            The buckets in which these lie, and all between; `until` itself is not included.
        use_up : bool
            The stream does not go on afterwards.
        """
        self._check_in_use()
        if self.n_edges_seen_ == 0:
            raise InputError("no edges have been seen yet; call partial_fit first")
        result, span = self._engine.joined(*self._asked(at, since, until))
        self._is_used_up = use_up
        edges = result.sparsifier(use_up=True)
        self._result, self._span_taken, self.probe_error_ = result, span, result.probe_error_
        columns = (edges.tail, edges.head, edges.weight)
        return EdgeList.from_clean(*columns, self.n_nodes_, self._numbering.ids)

    def _asked(self, at, since, until):
        """First and last bucket that are meant, and the time to which weights decay."""
        ring = self._engine
        if since is not None or until is not None:
            if self.window is None or at is not None:
                raise InputError("since and until are for streams with a window, and without at")
            low = min(ring.streams) if since is None else math.floor(since / ring.width)
            high = ring.current if until is None else math.ceil(until / ring.width) - 1
            if high < low:
                raise InputError(f"until={until} must come after since={since}")
            return low, high, min(ring.latest, (high + 1) * ring.width)
        now = ring.latest if at is None else check_real("at", at)
        if self.window is None and now < ring.latest:
            raise InputError(
                f"at={now:.15g} lies before the last edge ({ring.latest:.15g}), and edges that "
                "came later cannot be taken out again; give a window"
            )
        high = math.floor(now / ring.width)
        return high - ring.n_full, high, now

    def merge(self, *others: StreamSparsifier, random_state: RandomState = None) -> Self:
        """Return a new stream that has seen the edges of all: bucket is added to bucket.

        Parameters
        ----------
        *others : TimedSparsifier
            With the same window, buckets, half-life and options. The result is as of the latest
            edge of all.
        random_state : int, Generator or None
            By default the random numbers that follow depend on those of the merged streams alone.
        """
        streams = [stream for stream in (self, *others) if isinstance(stream, TimedSparsifier)]
        if len(streams) <= len(others) or len({stream._times() for stream in streams}) > 1:
            raise InputError(
                "only streams with the same window, buckets and half-life can be merged with these"
            )
        for other in streams:
            other._check_in_use()
            if self.options != other.options:
                raise InputError("streams with different options cannot be merged")
        ids, numbers = unite_ids([(stream._numbering.ids, stream.n_nodes_) for stream in streams])
        settings = self._settings() | {"options": self.options, "random_state": random_state}
        merged = type(self)(**settings)
        if random_state is None:
            seeds = reduce(xor, (stream._engine.seed for stream in streams))
            merged._engine.seed = child_seed(seeds, Step.MERGE)
            merged.random_state = self.random_state
        merged._engine.take_over([stream._engine for stream in streams], numbers)
        merged._numbering = Numbering(ids)
        favored = [stream.favored_nodes for stream in streams if stream.favored_nodes]
        merged.favored_nodes = frozenset().union(*favored) or None
        return merged

    def _times(self):
        return self.window, self.half_life, self.buckets

    def _settings(self):
        names = ("window", "half_life", "buckets")
        return super()._settings() | dict(zip(names, self._times(), strict=True))

    def _state(self):
        self._check_in_use()
        numbers, states = self._engine.state()
        numbers["checksums"] = self.checksums_
        parts = (self.options, numbers, states, self._numbering.ids)
        return collect_ring(self._settings(), *parts, note=self.note)

    @classmethod
    def _restored(cls, record, arrays, name):
        """The stream of a checkpoint."""
        stream, numbers, states, stream_ids, note = restore_ring(record, arrays, name, cls)
        stream._engine.restore(numbers, states, name)
        stream._numbering, stream.note = stream_ids, note
        stream.checksums_ = tuple(numbers["checksums"])
        return stream

    @property
    def span_(self) -> tuple[float, float]:
        """From when to when the edges of the last result are, or of the one to come."""
        if self._result is not None:
            return self._span_taken
        ring = self._engine
        return (ring.current - ring.n_full) * ring.width, ring.latest

    @property
    def n_too_old_(self) -> int:
        """Edges that were older than all that is kept when they came."""
        return self._engine.n_too_old

    @property
    def epsilon_predicted_(self) -> float:
        """Error to expect, 0 of all edges; before `sparsifier()`, as if the graph were dense."""
        if self._result is not None:
            return self._result.epsilon_predicted_
        return 0.0 if self.is_whole_ else predicted_epsilon(self.n_nodes_, self.budget_)

    @property
    def is_whole_(self) -> bool:
        """Whether no edge was dropped but those that are too old."""
        return self._engine.is_whole
