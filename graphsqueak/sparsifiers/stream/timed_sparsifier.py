"""Sparsifiers of streams that forget: sliding windows and exponential decay.

Time is cut into panes of equal width: pane k begins at k * width. Each of the last panes has a
stream of its own. The sum of sparsifiers of parts of a graph is a sparsifier of the sum, so that a
result is the merged sample of some panes, sampled once.

window      The panes of the last `window` are kept, and older ones are dropped. A window may begin
            within a pane, which is then taken as a whole: `span_` is the span of the panes.
half-life   An edge of weight w at time t has weight w 2^((t - now) / half_life). Pane k stores
            w 2^((t - k width) / half_life), which does not change as time passes: samples, degrees
            and filters of a pane are all multiplied by one factor. Without a window, a pane is 32
            half-lives wide and two of them are kept, so that an edge is forgotten when less than
            2^-32 of its weight is left.

A pane that is over is resparsified to its budget. The current pane may hold three budgets, as any
stream. A window of b panes therefore keeps at most b + 3 budgets, and a half-life alone keeps one
budget more than a plain stream.

Late edges go to their own pane while it is kept. It may grow to three budgets again, until the
next pane begins.
Results depend on the edges and their order, not on how they were cut into batches.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection
from typing import Any, Self

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.timed_edges import TimedEdges, checksum
from graphsqueak.randomness import RandomState, Step, child_seed
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sources.times import Duration, as_time_span
from graphsqueak.sparsifiers.budget import Budget, StreamOptions
from graphsqueak.sparsifiers.stream.base_stream import BaseStream, seed_from
from graphsqueak.sparsifiers.stream.checkpoint import TIMED, read_checkpoint
from graphsqueak.sparsifiers.stream.engine import PracticalEngine
from graphsqueak.sparsifiers.stream.priority_nodes import PriorityNodes
from graphsqueak.sparsifiers.stream.state import StreamConfig, StreamState
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.validation import check_count, check_real, explain_keywords

# Half-lives after which an edge may be forgotten, and the largest width of a pane: 2^-32 of a
# weight is less than the rounding of single precision, 2^-24. At 16, with two full panes, errors of
# benchmarks/cases/window.py change by at most 2.2 % and one budget more is kept; at 64 nothing
# changes there.
_N_HALF_LIVES = 32


@explain_keywords()
class TimedSparsifier(BaseStream):
    """Spectral sparsifier of a sliding window, or of edges that decay with time.

    Use it if old edges should count less, or not at all: interactions of the last week, or messages
    whose weight halves every day. Edges arrive in batches of `TimedEdges`, and `sparsifier` returns
    a sparsifier of the recent ones at any time. Without times, use `StreamSparsifier`.

    Parameters
    ----------
    n_edges, epsilon, keep : int or float, optional
        Size of the result, as in `StreamSparsifier`, for the edges that are not forgotten. Give
        exactly one of them.
    window : float or str, optional
        Length of the window: a number in the unit of the times, or a text such as "7d" if they are
        in seconds. At least one of `window` and `half_life` must be given.
    half_life : float or str, optional
        Time in which the weight of an edge halves.
    n_panes : int, default=16
        Number of panes of a window. A pane is dropped as soon as all of it is too old. More panes
        follow the window more closely and need more memory.
    priority_nodes, priority_fraction, options, random_state
        As in `StreamSparsifier`.

    Attributes
    ----------
    span_ : tuple of float
        First and last time of the edges in the last result; before that, of those kept.
    n_too_old_ : int
        Edges that were older than everything kept when they arrived. They are dropped.
    n_edges_seen_ : int
        All edges processed, including those that were forgotten.
    n_edges_recent_ : int
        Edges that are not forgotten; after `sparsifier()`, edges of the result's span.
    n_nodes_, n_components_, n_kept_, n_resparsifications_, degrees_, budget_, epsilon_predicted_
        As in `StreamSparsifier`, for what is kept, decayed to the time of the last edge.
    is_exact_, cut_error_lower_, ids_
        As in `StreamSparsifier`.

    Examples
    --------
    >>> from graphsqueak.graph import TimedEdges
    >>> stream = TimedSparsifier(n_edges=100, window=8, n_panes=4)
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

    kind = TIMED
    method = "stream"
    ridge = 0.0
    _saved = ("_seed", "n_edges_seen_", "n_too_old_", "_n_nodes", "_latest_time", "checksum_")

    def __init__(
        self,
        *,
        n_edges: int | None = None,
        epsilon: float | None = None,
        keep: float | None = None,
        window: float | str | None = None,
        half_life: float | str | None = None,
        n_panes: int = 16,
        priority_nodes: Collection | None = None,
        priority_fraction: float = PriorityNodes.fraction,
        options: StreamOptions | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            Budget(n_edges, epsilon, keep).validate(),
            priority_nodes=priority_nodes,
            priority_fraction=priority_fraction,
            options=options,
            random_state=random_state,
        )
        self.window = as_time_span("window", window)
        self.half_life = as_time_span("half_life", half_life)
        for name, duration in (("half_life", self.half_life), ("window", self.window)):
            if duration is not None:
                check_real(name, duration, above=0.0, below=np.inf)
        if window is None and half_life is None:
            raise InputError(
                "give window or ", Parameter("half_life"), "; without both, use StreamSparsifier"
            )
        self.n_panes = check_count("n_panes", n_panes)
        self._pane_width, self._n_full_panes = self._pane_layout()
        self._latest_time = -math.inf
        self.n_edges_seen_ = 0
        self._n_nodes = 0
        self.n_too_old_ = 0
        self.checksum_ = 0  # of all edges, to verify a resumed input
        self._result_span = (0.0, 0.0)

    def _pane_layout(self):
        """Return the width of a pane, and how many are kept besides the current one."""
        if self.window is None:
            return _N_HALF_LIVES * self.half_life, 1
        width = self.window / self.n_panes
        if self.half_life is not None and width > _N_HALF_LIVES * self.half_life:
            raise InputError(
                Parameter("window", self.window),
                f" is {self.window / self.half_life:.0f} half-lives, after which nothing is "
                "left of an edge; leave window out",
            )
        return width, self.n_panes

    def partial_fit(self, batch: GraphLike) -> Self:
        """Process more edges.

        Parameters
        ----------
        batch : TimedEdges, or a source of them
            Times may come in any order.

        Returns
        -------
        self
        """
        self._check_not_consumed()
        source = self._budget.sample_source(as_stream(batch))
        has_unit = isinstance(self.window, Duration) or isinstance(self.half_life, Duration)
        if has_unit and isinstance(source, EdgeSource):
            source.expect_seconds()
        for part in source.batches():
            if not isinstance(part, TimedEdges):
                if part.n_edges:
                    raise InputError(
                        "a window or a half-life needs the time of every edge; name its column, ",
                        Parameter("time"),
                        ", or give TimedEdges",
                    )
                continue
            tail, head, n_nodes = self._numbering.apply(part)
            self._n_nodes = max(self._n_nodes, n_nodes)
            if tail.size:
                self._ingest(tail, head, part.weight, part.time)
            self.checksum_ = checksum(part, self.checksum_)
            self._result = None
        return self

    def _ingest(self, tail, head, weight, time):
        pane = np.floor(time / self._pane_width)
        # The current pane when each edge arrives.
        current = np.maximum.accumulate(np.maximum(pane, self._current_pane()))
        self.n_edges_seen_ += tail.size
        self.n_too_old_ += int(np.count_nonzero(pane < current - self._n_full_panes))
        self._latest_time = max(self._latest_time, float(time.max()))
        # Edges that would be forgotten by the end of the batch are not stored at all.
        is_kept = pane >= current[-1] - self._n_full_panes
        for newest in np.unique(current[is_kept]):
            self._advance(int(newest))
            some = np.flatnonzero(is_kept & (current == newest))
            for number in np.unique(pane[some]):
                own = some[pane[some] == number]
                self._fill(int(number), tail[own], head[own], weight[own], time[own])

    def _current_pane(self):
        # The pane of the latest edge is always kept.
        return max(self._engines, default=-math.inf)

    def _advance(self, newest):
        """Begin a new pane: drop panes that are too old and condense those that are over."""
        if newest <= self._current_pane():
            return
        for number in list(self._engines):
            if number < newest - self._n_full_panes:
                del self._engines[number]
            else:
                self._engines[number].condense()

    def _fill(self, number, tail, head, weight, time):
        """Process edges of one pane."""
        if number not in self._engines:
            self._engines[number] = self._new_engine(number)
        if self.half_life is not None:
            age = time - number * self._pane_width
            weight = weight * np.exp2(age / self.half_life)
        self._ingest_pane(number, tail, head, weight, self._n_nodes)

    def _new_engine(self, number):
        # Child seeds of panes are those of steps that repeat: there are fewer than Step.FINAL.
        seed = seed_from(child_seed(self._seed, number % Step.FINAL))
        return PracticalEngine(StreamConfig(self._budget, self.options), self._new_state(seed))

    def sparsifier(
        self,
        *,
        at: float | None = None,
        since: float | None = None,
        until: float | None = None,
        n_edges: int | None = None,
        consume: bool = False,
    ) -> EdgeList:
        """Return the sparsifier of the window, or of a span of time; the stream may go on.

        Parameters
        ----------
        at : float, optional
            End of the window, and time to which weights decay. Default: time of the last edge.
        since, until : float, optional
            With a window: the panes in which these times lie, and all between. `until` itself is
            not included.
        n_edges : int, optional
            Number of edges. Default: as the parameters of the stream say.
        consume : bool
            End the stream.

        Returns
        -------
        EdgeList
        """
        self._check_not_consumed()
        if self.n_edges_seen_ == 0:
            raise InputError("no edges have been seen yet; call partial_fit first")
        first, last, now = self._panes_of_span(at, since, until)
        start = first * self._pane_width
        stop = min((last + 1) * self._pane_width, now)
        first_kept = self._current_pane() - self._n_full_panes
        if first < first_kept and self.n_edges_seen_ > self._n_recent():
            raise InputError(
                f"edges from {start:.15g} on were asked for, and those before "
                f"{first_kept * self._pane_width:.15g} are forgotten; ask for later ones, or use a "
                "longer window and more panes"
            )
        numbers = [number for number in self._engines if first <= number <= last]
        if not numbers:
            raise InputError(f"no edges between {start:.15g} and {stop:.15g}; ask for another span")
        self._is_consumed = consume
        self._result_span = (start, stop)
        # All samples are concatenated and sampled once, without a resparsification between.
        state = self._merge_panes(numbers, now)
        engine = PracticalEngine(StreamConfig(self._budget, self.options), state)
        return self._finalize(engine, n_edges, consume=True)

    def _panes_of_span(self, at, since, until):
        """Return the first and the last pane, and the time to which weights decay."""
        if since is not None or until is not None:
            if self.window is None or at is not None:
                raise InputError("since and until are for streams with a window, and without at")
            first = min(self._engines) if since is None else math.floor(since / self._pane_width)
            last = self._current_pane()
            if until is not None:
                last = math.ceil(until / self._pane_width) - 1
            if last < first and since is None:
                oldest = first * self._pane_width
                raise InputError(
                    Parameter("until", until), f" is before {oldest:.10g}, the oldest time kept"
                )
            if last < first:
                raise InputError(
                    Parameter("until", until), " must come after ", Parameter("since", since)
                )
            return first, last, min(self._latest_time, (last + 1) * self._pane_width)
        now = self._latest_time if at is None else check_real("at", at)
        if self.window is None and now < self._latest_time:
            raise InputError(
                Parameter("at", now),
                f" is before the last edge ({self._latest_time:.15g}), and later edges "
                "cannot be removed again; give a window",
            )
        last = math.floor(now / self._pane_width)
        return last - self._n_full_panes, last, now

    def _merge_panes(self, numbers, now):
        """Return the state of the edges of some panes, with weights decayed to `now`."""
        # A state without edges adds the nodes that have none in these panes.
        empty = self._new_state(self._seed)
        empty.grow(self._n_nodes)
        states = [empty]
        # The spanning forest prefers the newest edges, which are the heaviest if weights decay.
        for number in sorted(numbers, reverse=True):
            decay = 1.0
            if self.half_life is not None:
                decay = float(np.exp2((number * self._pane_width - now) / self.half_life))
            states.append(self._engines[number].state.scaled(decay))
        return StreamState.merge(
            states,
            [np.arange(state.n_nodes, dtype=np.int32) for state in states],
            seed=child_seed(self._seed, Step.MERGE),
        )

    def merge(self, *others: TimedSparsifier, random_state: RandomState = None) -> Self:
        """Return a stream that has seen the edges of all, pane by pane.

        Parameters
        ----------
        *others : TimedSparsifier
            With the same options, window, half-life and number of panes.
        random_state : int, Generator or None
            By default the random numbers that follow depend on those of the merged streams only.

        Returns
        -------
        TimedSparsifier
        """
        streams: list[TimedSparsifier] = [self, *others]
        merged = self._merge(streams, ["window", "half_life", "n_panes"], random_state)
        ids = merged._numbering.ids
        merged._n_nodes = max(s._n_nodes for s in streams) if ids is None else len(ids)
        merged._latest_time = max(stream._latest_time for stream in streams)
        merged.n_edges_seen_ = sum(stream.n_edges_seen_ for stream in streams)
        merged.n_too_old_ = sum(stream.n_too_old_ for stream in streams)
        return merged

    def _restore(self, record, arrays):
        super()._restore(record, arrays)
        if (
            self._engines
            and math.floor(self._latest_time / self._pane_width) != self._current_pane()
        ):
            raise InputError("the last edge is not in the last pane")

    def _whole_state(self):
        return self._merge_panes(self._engines, self._latest_time)

    def _final_budget(self):
        return self._budget(self._n_nodes, self.n_edges_recent_)

    @property
    def span_(self) -> tuple[float, float]:
        """First and last time of the edges of the last result, or of those kept."""
        if self._result is not None:
            return self._result_span
        first = self._current_pane() - self._n_full_panes
        return first * self._pane_width, self._latest_time

    @property
    def n_nodes_(self) -> int:
        """Nodes seen so far."""
        return self._n_nodes


def new_stream(
    *, window: float | str | None = None, half_life: float | str | None = None, **settings: Any
) -> StreamSparsifier | TimedSparsifier:
    """Return a `TimedSparsifier` if edges are to be forgotten, and a `StreamSparsifier` otherwise.

    Parameters
    ----------
    window, half_life : float or str, optional
    **settings
        Other parameters of the two classes.
    """
    if window is None and half_life is None:
        settings.pop("n_panes", None)
        return StreamSparsifier(**settings)
    if settings.pop("method", "stream") != "stream" or settings.pop("ridge", 0.0) > 0:
        raise InputError(
            "window and ",
            Parameter("half_life"),
            " take ",
            Parameter("method", "stream"),
            " and no ridge",
        )
    return TimedSparsifier(window=window, half_life=half_life, **settings)


def load_stream(path: str | os.PathLike) -> StreamSparsifier | TimedSparsifier:
    """Return the stream of a checkpoint, of either class."""
    record, arrays = read_checkpoint(path)
    cls = TimedSparsifier if record.get("kind") == TIMED else StreamSparsifier
    return cls._unpack(record, arrays, path)
