"""Sparsifiers of streams that forget: sliding windows and exponential decay.

Time is cut into panes of equal width: pane k begins at k * width. Each of the last panes has a
stream of its own. The sum of sparsifiers of parts of a graph is a sparsifier of the sum, so that a
result is the merged sample of some panes, sampled once.

window      The panes of the last `window` are kept, and older ones are dropped. A window may begin
            within a pane, which is then taken as a whole: `span_` is the span of the panes.
half-life   An edge of weight w at time t has weight w 2^((t - now) / half_life). Pane k stores
            w 2^((t - k width) / half_life), which does not change as time passes: samples, degrees
            and filters of a pane are all multiplied by one factor. Without a window, a pane is 16
            half-lives wide and three of them are kept, so that an edge is forgotten when less than
            2^-32 of its weight is left.

A pane that is over is resparsified to its budget. The current pane of a window may hold two
budgets. A window of b panes therefore keeps at most b + 2 budgets, and one more for each pane that
late edges still reach. A half-life alone keeps two budgets more than a plain stream.

Late edges go to their own pane while it is kept. Results depend on the edges and their order, not
on how they were cut into batches.
"""

import math
import os
from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import find_all, make_sets, union_edges
from graphsqueak.graph.timed_edges import NO_CHECKSUMS, TimedEdges, checksums
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.randomness import RandomState, Step, child_seed
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sparsifiers.budget import Budget, StreamOptions
from graphsqueak.sparsifiers.error_prediction import ErrorCurve
from graphsqueak.sparsifiers.stream.base_stream import (
    BaseStream,
    merged_seed,
    seed_from,
    union_of_nodes,
)
from graphsqueak.sparsifiers.stream.checkpoint import (
    STREAM,
    TIMED,
    pack_stream,
    pack_timed,
    read_checkpoint,
    unpack_stream,
    unpack_timed,
)
from graphsqueak.sparsifiers.stream.cut_probes import RandomCuts, warn_if_worse
from graphsqueak.sparsifiers.stream.engine import PracticalEngine
from graphsqueak.sparsifiers.stream.finalize import Finalized
from graphsqueak.sparsifiers.stream.priority_nodes import PRIORITY_FRACTION, PriorityNodes
from graphsqueak.sparsifiers.stream.state import StreamConfig, StreamState
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.validation import check_count, check_real

__all__ = ["TimedSparsifier", "load_stream", "new_stream"]

# Watermarks of the current pane of a window, in budgets; sample and chunk together are two.
_HIGH_WATERMARK = 1.75
_LOW_WATERMARK = 1.25
_MIN_CHUNKS_PER_BUDGET = 4
# Independent sampling may exceed a budget by this many standard deviations.
_N_STD_BELOW_BUDGET = 4
# Width of a pane if only decay forgets, and the number of panes that are over: an edge is forgotten
# with 2^-32 of its weight, the rounding of single precision being 2^-24.
_PANE_HALF_LIVES = 16
_N_PANES_OF_DECAY = 2
# Weights within a pane differ by at most 2^64 by age: they stay within double precision.
_MAX_PANE_HALF_LIVES = 64
# Child seeds below this number are those of panes.
_MAX_PANE_KEY = 2**40


class _Pane(NamedTuple):
    """The stream of one pane of time."""

    engine: PracticalEngine
    cuts: RandomCuts


class TimedSparsifier(BaseStream):
    """Spectral sparsifier of a sliding window, or of edges that decay with time.

    Parameters
    ----------
    n_edges, epsilon, keep : exactly one
        As in `StreamSparsifier`, for the edges that are not forgotten.
    window : float, optional
        Length of the window, in the unit of the times. At least one of `window` and `half_life`
        must be given.
    half_life : float, optional
        Time in which the weight of an edge halves.
    buckets : int
        Number of panes of a window. The oldest is kept until all of it is too old.
    favored_nodes, favored_share, options, random_state
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
    n_nodes_, n_components_, n_kept_, n_shrinks_, degrees_, budget_, epsilon_predicted_
        As in `StreamSparsifier`, for what is kept, decayed to the time of the last edge.
    is_whole_, probe_error_, ids_
        As in `StreamSparsifier`.

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

    kind = TIMED
    method = "fast"
    ridge = 0.0

    def __init__(
        self,
        *,
        n_edges: int | None = None,
        epsilon: float | None = None,
        keep: float | None = None,
        window: float | None = None,
        half_life: float | None = None,
        buckets: int = 16,
        favored_nodes: Collection | None = None,
        favored_share: float = PRIORITY_FRACTION,
        options: StreamOptions | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            favored_nodes=favored_nodes,
            favored_share=favored_share,
            options=options,
            random_state=random_state,
        )
        self.n_edges = n_edges
        self.epsilon = epsilon
        self.keep = keep
        for name, duration in (("half_life", half_life), ("window", window)):
            if duration is not None:
                check_real(name, duration, above=0.0, below=np.inf)
        if window is None and half_life is None:
            raise InputError(
                "give window or ", Parameter("half_life"), "; without both, use StreamSparsifier"
            )
        self.window = window
        self.half_life = half_life
        self.buckets = check_count("buckets", buckets)
        self._budget = Budget(n_edges, epsilon, keep).validate()
        self._pane_width, self._n_full_panes = self._pane_layout()
        self._seed = seed_from(random_state)
        self._panes: dict[int, _Pane] = {}
        self._late_panes: set[int] = set()  # panes that are over and got edges since
        self._current_pane = -math.inf
        self._dropped_pane = -math.inf  # the latest pane with a forgotten edge
        self._latest_time = -math.inf
        self._n_seen = 0
        self._n_nodes = 0
        self._n_too_old = 0
        self.checksums_: tuple[int, ...] = NO_CHECKSUMS  # of all edges, to verify a resumed input
        self._result: Finalized | None = None
        self._result_span: tuple[float, float] | None = None
        self._result_n_seen = 0

    def _pane_layout(self):
        """Return the width of a pane, and how many are kept besides the current one."""
        if self.window is None:
            return _PANE_HALF_LIVES * self.half_life, _N_PANES_OF_DECAY
        width = self.window / self.buckets
        if self.half_life is not None and width > _MAX_PANE_HALF_LIVES * self.half_life:
            raise InputError(
                Parameter("window", self.window),
                f" is {self.window / self.half_life:.0f} half-lives, after which nothing is "
                "left of an edge; leave window out",
            )
        return width, self.buckets

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
        for part in self._budget.sample_source(as_stream(batch)):
            if not isinstance(part, TimedEdges):
                if part.n_edges:
                    raise InputError(
                        "a window or a half-life needs the time of every edge; name its column, ",
                        Parameter("time"),
                        ", or give TimedEdges",
                    )
                continue
            tail, head, n_nodes = self._numbering.apply(part)
            self._ingest(tail, head, part.weight, part.time, n_nodes)
            self.checksums_ = checksums(part, self.checksums_)
            self._forget_result()
        return self

    def _ingest(self, tail, head, weight, time, n_nodes):
        self._n_nodes = max(self._n_nodes, n_nodes)
        if tail.size == 0:
            return
        pane = np.floor(time / self._pane_width)
        # The current pane when each edge arrives.
        current = np.maximum.accumulate(np.maximum(pane, self._current_pane))
        self._n_seen += tail.size
        self._n_too_old += int(np.count_nonzero(pane < current - self._n_full_panes))
        # Edges that would be forgotten by the end of the batch are not stored at all.
        is_kept = pane >= current[-1] - self._n_full_panes
        self._dropped_pane = max(self._dropped_pane, pane[~is_kept].max(initial=-math.inf))
        index = np.flatnonzero(is_kept)
        if index.size:
            _, first = np.unique(current[index], return_index=True)
            for some in np.split(index, first[1:]):
                self._advance(int(current[some[0]]))
                for number in np.unique(pane[some]):
                    own = some[pane[some] == number]
                    self._fill(int(number), tail[own], head[own], weight[own], time[own])
        self._advance(int(current[-1]))
        self._latest_time = max(self._latest_time, float(time.max()))

    def _advance(self, newest):
        """Begin a new pane: drop panes that are too old and resparsify those that are over."""
        if newest <= self._current_pane:
            return
        for number in sorted(self._panes):
            if number < newest - self._n_full_panes:
                del self._panes[number]
                self._dropped_pane = max(self._dropped_pane, number)
            elif number in self._late_panes or number == self._current_pane:
                self._condense(self._panes[number].engine)
        self._late_panes = set()
        self._current_pane = newest

    def _condense(self, engine):
        """Resparsify a pane that is over to its budget."""
        budget = engine.final_budget()
        if self.keep is not None:
            # Sampling a small fraction twice would be less accurate.
            budget = max(budget, self.options.min_budget)
        if engine.n_sampled > budget:
            engine.resparsify(int(budget - _N_STD_BELOW_BUDGET * math.sqrt(budget)))
        engine.compact()

    def _fill(self, number, tail, head, weight, time):
        """Process edges of one pane."""
        if number not in self._panes:
            state = StreamState(
                seed=self._pane_seed(number),
                priority=PriorityNodes(fraction=self.favored_share),
            )
            engine = PracticalEngine(self._pane_config(), state)
            self._panes[number] = _Pane(engine, RandomCuts())
        if self.half_life is not None:
            age = time - number * self._pane_width
            weight = weight * np.exp2(age / self.half_life)
        pane = self._panes[number]
        if self.favored_nodes:
            pane.engine.look_up_priority(self._numbering, self._n_nodes, self.favored_nodes)
        pane.engine.ingest(tail, head, weight, self._n_nodes)
        pane.cuts.add(tail, head, weight, self._n_nodes)
        if number < self._current_pane:
            self._late_panes.add(number)

    def _pane_seed(self, number):
        return seed_from(child_seed(self._seed, number % _MAX_PANE_KEY))

    def _pane_config(self):
        options = self.options
        if self.window is not None:
            most = (self.n_edges or math.inf) // _MIN_CHUNKS_PER_BUDGET
            options = replace(
                options,
                high_watermark=min(options.high_watermark, _HIGH_WATERMARK),
                low_watermark=min(options.low_watermark, _LOW_WATERMARK),
                chunk_size=int(max(min(options.chunk_size, most), 1)),
            )
        return StreamConfig(self._budget, options)

    def _decay(self, number, now):
        """Return the factor by which the weights of a pane have decayed until `now`."""
        if self.half_life is None:
            return 1.0
        return float(np.exp2((number * self._pane_width - now) / self.half_life))

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
        if self._n_seen == 0:
            raise InputError("no edges have been seen yet; call partial_fit first")
        first, last, now = self._panes_of_span(at, since, until)
        merged, cuts = self._merged_panes(first, last, now)
        self._is_consumed = consume
        result = merged.finalize(
            merged.final_budget() if n_edges is None else n_edges,
            epsilon=self.epsilon if n_edges is None else None,
            consume=True,
        )
        edges = result.edges
        cut_error = cuts.error(edges.tail, edges.head, edges.weight, merged.n_components)
        self.probe_error_ = float(np.fmax(cut_error, result.cut_error))
        self._result = result._replace(edges=edges.select(slice(0, 0)))
        self._result_span = self._times_of_panes(first, last, now)
        self._result_n_seen = merged.n_seen
        if self.options.rescale_to_degrees and not result.is_exact:
            warn_if_worse(self.epsilon_predicted_, self.probe_error_)
        return EdgeList.from_validated(
            edges.tail, edges.head, edges.weight, self.n_nodes_, self._numbering.ids
        )

    def _panes_of_span(self, at, since, until):
        """Return the first and the last pane, and the time to which weights decay."""
        if since is not None or until is not None:
            if self.window is None or at is not None:
                raise InputError("since and until are for streams with a window, and without at")
            first = min(self._panes) if since is None else math.floor(since / self._pane_width)
            last = self._current_pane
            if until is not None:
                last = math.ceil(until / self._pane_width) - 1
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

    def _times_of_panes(self, first, last, now):
        return first * self._pane_width, min((last + 1) * self._pane_width, now)

    def _merged_panes(self, first, last, now):
        """Return one engine with the samples of several panes, and their random cuts."""
        # The newest panes have the most nodes.
        chosen = [n for n in sorted(self._panes, reverse=True) if first <= n <= last]
        start, stop = self._times_of_panes(first, last, now)
        if self._dropped_pane >= first:
            raise InputError(
                f"edges from {start:.15g} on were asked for, and those before "
                f"{(self._dropped_pane + 1) * self._pane_width:.15g} are forgotten; ask for later "
                "ones, or use a longer window and more buckets"
            )
        if not chosen:
            raise InputError(f"no edges between {start:.15g} and {stop:.15g}; ask for another span")
        states = []
        several_cuts = []
        for number in chosen:
            pane = self._panes[number]
            decay = self._decay(number, now)
            states.append(pane.engine.state.scaled(decay))
            several_cuts.append(pane.cuts.scaled(decay))
        # All samples are concatenated and sampled once, without a resparsification between.
        high_watermark = max(self.options.high_watermark, _HIGH_WATERMARK + len(states))
        options = replace(self.options, high_watermark=high_watermark)
        merged = PracticalEngine.from_states(
            StreamConfig(self._budget, options),
            states,
            [np.arange(state.n_nodes, dtype=np.int32) for state in states],
            seed=child_seed(self._seed, Step.MERGE),
        )
        return merged, RandomCuts.merge(several_cuts, merged.n_nodes, same_nodes=True)

    def merge(self, *others: "TimedSparsifier", random_state: RandomState = None) -> Self:
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
        self._check_mergeable(others, ("window", "half_life", "buckets"))
        streams: list[TimedSparsifier] = [self, *others]
        ids, node_maps, is_unchanged = union_of_nodes(streams)
        merged = type(self)(**self._settings(), options=self.options)
        merged.random_state = self.random_state if random_state is None else random_state
        merged._seed = merged_seed([stream._seed for stream in streams], random_state)
        merged._numbering = Numbering(ids)
        merged._n_nodes = max(1 + int(node_map.max(initial=-1)) for node_map in node_maps)
        merged._latest_time = max(stream._latest_time for stream in streams)
        merged._dropped_pane = max(stream._dropped_pane for stream in streams)
        merged._n_seen = sum(stream._n_seen for stream in streams)
        merged._n_too_old = sum(stream._n_too_old for stream in streams)
        for number in sorted(set().union(*(stream._panes for stream in streams))):
            merged._merge_pane(number, streams, node_maps, is_unchanged)
        favored = [stream.favored_nodes for stream in streams if stream.favored_nodes]
        merged.favored_nodes = frozenset().union(*favored) or None
        return merged

    def _merge_pane(self, number, streams, node_maps, is_unchanged):
        panes = []
        maps = []
        for stream, node_map in zip(streams, node_maps, strict=True):
            if number in stream._panes:
                pane = stream._panes[number]
                panes.append(pane)
                maps.append(node_map[: pane.engine.n_nodes])
        engine = PracticalEngine.from_states(
            self._pane_config(),
            [pane.engine.state for pane in panes],
            maps,
            seed=self._pane_seed(number),
        )
        cuts = RandomCuts.merge(
            [pane.cuts for pane in panes], engine.n_nodes, same_nodes=is_unchanged
        )
        self._advance(number)
        self._panes[number] = _Pane(engine, cuts)

    def _pack(self):
        self._check_not_consumed()
        counters = {
            "seed": self._seed,
            "n_seen": self._n_seen,
            "n_nodes": self._n_nodes,
            "n_too_old": self._n_too_old,
            "late": sorted(self._late_panes),
            "latest": self._latest_time if math.isfinite(self._latest_time) else None,
            "dropped_pane": (
                float(self._dropped_pane) if math.isfinite(self._dropped_pane) else None
            ),
            "checksums": self.checksums_,
        }
        settings = StreamSparsifier(
            n_edges=self.n_edges, epsilon=self.epsilon, keep=self.keep
        )._settings()
        panes = {
            number: pack_stream(
                settings | {"favored_share": self.favored_share},
                pane.engine.config.options,
                pane.engine,
                Numbering(),
                pane.cuts,
                note={},
            )
            for number, pane in self._panes.items()
        }
        return pack_timed(
            self._settings(), self.options, counters, panes, self._numbering.ids, note=self.note
        )

    @classmethod
    def _unpack(cls, record, arrays, name):
        parts = unpack_timed(record, arrays, name, cls)
        stream: Any = parts.stream
        counters = parts.counters
        stream._numbering = parts.numbering
        stream.note = parts.note
        stream._seed = counters["seed"]
        stream._n_seen = counters["n_seen"]
        stream._n_nodes = counters["n_nodes"]
        stream._n_too_old = counters["n_too_old"]
        stream._late_panes = set(counters["late"])
        stream.checksums_ = tuple(counters["checksums"])
        if counters["latest"] is not None:
            stream._latest_time = counters["latest"]
        if counters["dropped_pane"] is not None:
            stream._dropped_pane = counters["dropped_pane"]
        if stream._n_seen:
            current_pane = stream._latest_time / stream._pane_width
            if not math.isfinite(current_pane):
                raise InputError(
                    f"{name} is not the state of a stream (the time of the last edge is "
                    f"{counters['latest']}); start the run again without it"
                )
            stream._current_pane = math.floor(current_pane)
        for number, data in parts.panes.items():
            stream._panes[number] = stream._unpack_pane(data, name)
        return stream

    def _unpack_pane(self, data, name):
        record, arrays = read_checkpoint(name, data)

        def make(**settings):
            pane_stream = StreamSparsifier(**settings)
            return pane_stream, pane_stream._engine

        if record.get("kind") != STREAM:
            raise InputError(f"{name} is not the state of a stream; start the run again")
        parts = unpack_stream(record, arrays, name, make)
        if parts.engine.n_nodes > self._n_nodes:
            raise InputError(f"{name} is not the state of a stream; start the run again")
        return _Pane(parts.engine, parts.cuts)

    def _settings(self) -> dict[str, Any]:
        """Return the parameters of the constructor but options and seed."""
        favored = self.favored_nodes
        return {
            "n_edges": self.n_edges,
            "epsilon": self.epsilon,
            "keep": self.keep,
            "window": self.window,
            "half_life": self.half_life,
            "buckets": self.buckets,
            "favored_nodes": None if favored is None else sorted(favored, key=str),
            "favored_share": self.favored_share,
        }

    def _forget_result(self):
        self._result = None
        self._result_span = None

    @property
    def span_(self) -> tuple[float, float]:
        """First and last time of the edges of the last result, or of those kept."""
        if self._result_span is not None:
            return self._result_span
        first = self._current_pane - self._n_full_panes
        return first * self._pane_width, self._latest_time

    @property
    def n_too_old_(self) -> int:
        """Edges that were older than everything kept when they arrived."""
        return self._n_too_old

    @property
    def n_edges_seen_(self) -> int:
        """All edges processed, including those that were forgotten."""
        return self._n_seen

    @property
    def n_edges_recent_(self) -> int:
        """Edges that are not forgotten; after `sparsifier()`, those of the result's span."""
        if self._result is not None:
            return self._result_n_seen
        return self._n_recent

    @property
    def _n_recent(self):
        return sum(pane.engine.n_seen for pane in self._panes.values())

    @property
    def n_nodes_(self) -> int:
        """Nodes seen so far."""
        return self._n_nodes

    @property
    def n_components_(self) -> int:
        """Connected components of the edges that are kept."""
        parent = make_sets(self._n_nodes)
        n_unions = 0
        for pane in self._panes.values():
            own = pane.engine.state.parent
            joined = union_edges(parent, np.arange(own.size, dtype=own.dtype), find_all(own))
            n_unions += int(np.count_nonzero(joined))
        return self._n_nodes - n_unions

    @property
    def n_kept_(self) -> int:
        """Edges in memory."""
        return sum(pane.engine.n_sampled for pane in self._panes.values())

    @property
    def n_shrinks_(self) -> int:
        """Number of resparsifications."""
        return sum(pane.engine.n_resparsifications for pane in self._panes.values())

    @property
    def degrees_(self) -> np.ndarray:
        """Weighted degrees of the edges that are kept, decayed to the time of the last edge."""
        degrees = np.zeros(self._n_nodes)
        for number, pane in self._panes.items():
            decay = self._decay(number, self._latest_time)
            degrees[: pane.engine.n_nodes] += decay * pane.engine.degrees
        return degrees

    @property
    def error_curve_(self) -> ErrorCurve | None:
        """Predicted error by number of edges: after `sparsifier()`, if `epsilon` was given."""
        return None if self._result is None else self._result.error_curve

    @property
    def budget_(self) -> int:
        """Edges of the sparsifier if the stream ended now."""
        if self.epsilon is not None and self.error_curve_ is not None:
            return self.error_curve_.edges_for(self.epsilon)
        return self._budget(self._n_nodes, self._n_recent)

    @property
    def is_whole_(self) -> bool:
        """Whether no edge was dropped but those that are too old."""
        if self._result is not None:
            return self.n_shrinks_ == 0 and self._result.is_exact
        return self.n_shrinks_ == 0 and self._n_recent <= self.budget_

    @property
    def _random_key(self) -> int:
        return self._seed

    @property
    def _predicted_error(self) -> float | None:
        return None if self._result is None else self._result.predicted_error


def new_stream(
    *, window: float | None = None, half_life: float | None = None, **settings: Any
) -> StreamSparsifier | TimedSparsifier:
    """Return a `TimedSparsifier` if edges are to be forgotten, and a `StreamSparsifier` otherwise.

    Parameters
    ----------
    window, half_life : float, optional
    **settings
        Other parameters of the two classes.
    """
    if window is None and half_life is None:
        settings.pop("buckets", None)
        return StreamSparsifier(**settings)
    if settings.pop("method", "fast") != "fast" or settings.pop("ridge", 0.0) > 0:
        raise InputError(
            "window and ",
            Parameter("half_life"),
            " take ",
            Parameter("method", "fast"),
            " and no ridge",
        )
    return TimedSparsifier(window=window, half_life=half_life, **settings)


def load_stream(path: str | os.PathLike) -> StreamSparsifier | TimedSparsifier:
    """Return the stream of a checkpoint, of either class."""
    record, arrays = read_checkpoint(path)
    cls = TimedSparsifier if record.get("kind") == TIMED else StreamSparsifier
    return cls._unpack(record, arrays, path)
