"""The stream sparsifier: edges in, a small reweighted graph out, at any time.

H is an epsilon-sparsifier of G when (1 - eps) L_G <= L_H <= (1 + eps) L_G: every cut, every
quadratic form x' L x, every effective resistance agrees up to eps. All nodes stay.

Streams can be merged. The sum of eps-sparsifiers of several graphs is an eps-sparsifier of their
sum, whatever nodes and edges they share; so merging costs no accuracy, only the shrink that may
follow does. With a ridge that is not so: k sparsifiers, accurate up to a ridge gamma, are together
accurate up to k gamma (the ground node counts k times), so a merge tree gives leaves gamma / k.

With a window or a half-life, time is cut into buckets of equal width, bucket k from k width on, and
the engine is a `Ring` with a plain stream for each of the last buckets:

window      the buckets of the last `window` are kept, and older ones dropped whole. A result is the
            sum of some of them, sampled once. At the old end a window may begin within a bucket,
            which is taken whole: the span of a result is that of its buckets.
half-life   an edge of weight w at time t weighs w 2^((t - now) / half_life). Bucket k holds it as
            w 2^((t - k width) / half_life), which does not change as time passes: kept weights,
            exact degrees and the filter are all scaled alike, by the unit that they are held in.
            Without a window a bucket is 16 half-lives wide and three are held, so an edge is
            forgotten when it has lost all but 2^-32 of its weight.

A bucket that is over is sampled down to its budget, and the present one of a window may hold two
budgets. So a window of b buckets keeps at most b + 2 budgets, and one more for each bucket that
late edges still reach. A half-life alone keeps what a plain stream keeps, and two budgets more.

Single edges cannot be deleted. A sample does not determine which edges it would hold without an
edge that is gone; only linear sketches of all edges do, of n log^3 n numbers and more, which hold
no edge that one could look at.
"""

import os
from collections.abc import Sequence
from functools import reduce
from operator import attrgetter, xor
from typing import Any, Self

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import first_ids
from graphsqueak.graph.timed_edges import NO_CHECKSUMS, TimedEdges, checksums
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.nodes.union import merge_ids
from graphsqueak.randomness import RandomState, Step, child_seed
from graphsqueak.report.shown import Shown
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sparsifiers.budget import (
    Budget,
    ErrorCurve,
    StreamOptions,
    predicted_epsilon,
)
from graphsqueak.sparsifiers.stream.arrivals import SHARE, plain_ids
from graphsqueak.sparsifiers.stream.engine import Engine
from graphsqueak.sparsifiers.stream.probes import Probes, warn_if_worse
from graphsqueak.sparsifiers.stream.ring import Ring
from graphsqueak.sparsifiers.stream.state import (
    RING,
    collect_ring,
    collect_state,
    read_state,
    restore_ring,
    restore_state,
)
from graphsqueak.sparsifiers.stream.stream_engine import StreamEngine
from graphsqueak.sparsifiers.stream.thesis import thesis_engine
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.packing import pack, pack_bytes
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["StreamSparsifier"]

_SETTINGS = ("n_edges", "epsilon", "keep", "method", "n_copies", "ridge", "favored_share")
_TIMES = ("window", "half_life", "buckets")


class StreamSparsifier(Shown):
    """One pass, fixed memory: a spectral sparsifier of all edges so far.

    Parameters
    ----------
    n_edges, epsilon, keep : exactly one
        Edges of the result (at most; from 40 on at least 0.9 of it if the graph has that many), or
        the error that they are predicted to have, or their share of the edges seen. With `epsilon`,
        memory is that of the edges that a dense graph needs, 2.2 n / epsilon^2.
    method : {"fast", "thesis"}
        "fast" keeps a spanning forest, and with it the components of the graph. "thesis" is
        Algorithm 11 with its proof constants: no budget, no forest, a guarantee for `epsilon` with
        probability 0.99 (components included), and thousands of copies per edge, so that only
        graphs with more edges per node than that are sparsified at all.
    n_copies : int, optional
        Copies of the thesis method, instead of `epsilon`. With few copies components may be lost.
    ridge : float
        gamma > 0 asks for an (eps, gamma)-sparsifier, which may be coarser where the spectrum of L
        lies below gamma and needs fewer edges.
    favored_nodes : sequence of node ids, optional
        Nodes whose edges get up to `favored_share` of the budget: all of them while they fit,
        a sample beyond. They have to be named before the stream. (Plain numbers where the edges
        carry no ids.)
    favored_share : float
    half_life : float, optional
        Time in which the weight of an edge falls to a half. Edges must have times (`TimedEdges`),
        in any order.
    window : float, optional
        Keep only the edges of the last `window` of time. Edges must have times, in any order; one
        that is older than the window when it arrives is counted and dropped.
    buckets : int
        Parts into which a window is cut. The oldest is kept until all of it is too old.
    options : StreamOptions, optional
        Parts of the method, to be switched off for study.
    random_state : int or None
        Same seed, same bytes, whatever the batches and the number of threads.

    Attributes
    ----------
    n_edges_seen_, n_nodes_, n_shrinks_, n_kept_, budget_, degrees_, epsilon_predicted_, is_whole_
    probe_error_ : float
        After `sparsifier()`: its largest error on eight random cuts that were weighed during the
        pass, a lower bound of epsilon (left out where streams were merged that number their nodes
        differently), or, if that is more than chance, the largest change that a shrink made to
        the cuts at the eight lightest edges of a heavy spanning forest; infinite if components
        differ.
    is_timed : bool
        Whether there is a window or a half-life. If so, `n_edges_seen_` counts all edges, the other
        attributes are those of what is kept, decayed to the time of the last edge, and there are
    span_ : tuple of float
        From when to when the edges of the last result are; before there is one, of those kept.
    n_too_old_ : int
        Edges that were older than the window when they arrived.

    Examples
    --------
    >>> from graphsqueak.sources import erdos_renyi
    >>> stream = StreamSparsifier(n_edges=4000, random_state=7)
    >>> for batch in erdos_renyi(500, 100_000, random_state=7):
    ...     _ = stream.partial_fit(batch)
    >>> H = stream.sparsifier()
    >>> 3600 <= H.n_edges <= 4000, H.n_nodes
    (True, 500)
    >>> bool(abs(H.weight.sum() / 100_000 - 1) < 0.01)
    True
    """

    def __init__(
        self,
        *,
        n_edges: int | None = None,
        epsilon: float | None = None,
        keep: float | None = None,
        method: str = "fast",
        n_copies: int | None = None,
        ridge: float = 0.0,
        favored_nodes: Sequence | np.ndarray | None = None,
        favored_share: float = SHARE,
        half_life: float | None = None,
        window: float | None = None,
        buckets: int = 16,
        options: StreamOptions | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_edges, self.epsilon, self.keep = n_edges, epsilon, keep
        self.method = check_choice("method", method, ("fast", "thesis"))
        self.n_copies = n_copies
        self.ridge = check_real("ridge", ridge, least=0.0, below=np.inf)
        self.favored_share = check_real("favored_share", favored_share, least=0.0, below=1.0)
        self.favored_nodes = plain_ids(favored_nodes)
        for name, time in (("half_life", half_life), ("window", window)):
            if time is not None:
                check_real(name, time, above=0.0, below=np.inf)
        self.half_life = half_life
        self.window = window
        self.buckets = check_count("buckets", buckets)
        self.options = StreamOptions() if options is None else options
        self.random_state = random_state
        self._engine: StreamEngine | Ring = self._make_engine(_seed_from(random_state))
        self._numbering = Numbering()
        self._probes, self._is_used_up = Probes(), False
        self.checksums_: tuple[int, ...] = NO_CHECKSUMS  # of the edges of a stream with times
        self._last_span: StreamSparsifier | None = None  # the plain stream of the last result
        self.note: dict[str, int] = {}  # a small record that is saved with the state

    def _make_engine(self, seed: int) -> StreamEngine | Ring:
        if self.is_timed and (self.method != "fast" or self.ridge > 0):
            raise InputError("window and half_life take method='fast' and no ridge")
        if self.method == "fast":
            budget = Budget(self.n_edges, self.epsilon, self.keep).checked()
            if self.is_timed:
                return self._make_ring(seed)
            engine = Engine(budget, self.options, ridge=self.ridge, seed=seed)
            engine.favored.share = self.favored_share
            return engine
        if self.favored_nodes:
            raise InputError("method='thesis' favors no nodes; use method='fast'")
        if self.n_edges is not None or self.keep is not None or self.ridge > 0:
            raise InputError("method='thesis' takes epsilon or n_copies, no budget and no ridge")
        return thesis_engine(self.epsilon, self.n_copies, seed=seed)

    def _make_ring(self, seed: int) -> Ring:
        settings = {name: getattr(self, name) for name in _SETTINGS} | {"favored_nodes": None}
        return Ring(
            StreamSparsifier,
            settings,
            self.options,
            window=self.window,
            half_life=self.half_life,
            n_buckets=self.buckets,
            seed=seed,
        )

    def partial_fit(self, batch: GraphLike) -> Self:
        """Take in more edges: an EdgeList, or anything that is a graph.

        Nodes may appear at any time. Batches that carry ids are matched by id; those without must
        number the same nodes alike. A stream with times takes `TimedEdges`, or a source of them.
        """
        self._check_in_use()
        budget = Budget(self.n_edges, self.epsilon, self.keep)
        for part in budget.drawn(as_stream(batch)):
            if isinstance(self._engine, Ring):
                self._absorb_timed(part, self._engine)
                continue
            tail, head, n_nodes = self._numbering.apply(part)
            if self.favored_nodes:
                self._engine.favor(self._numbering, n_nodes, self.favored_nodes)
            self._engine.absorb(tail, head, part.weight, n_nodes)
            self._probes.add(tail, head, part.weight, n_nodes)
        return self

    def _absorb_timed(self, part: EdgeList, ring: Ring) -> None:
        time = part.time if isinstance(part, TimedEdges) else None
        if time is None and part.n_edges:
            raise InputError(
                "a window or a half-life needs the time of every edge; name its column, "
                "time=..., or give TimedEdges"
            )
        tail, head, n_nodes = self._numbering.apply(part)
        ring.absorb(tail, head, part.weight, time, n_nodes, self._favor)
        if isinstance(part, TimedEdges):
            self.checksums_ = checksums(part, self.checksums_)
        self._last_span = None

    def _favor(self, engine: StreamEngine) -> None:
        if self.favored_nodes:
            engine.favor(self._numbering, self.n_nodes_, self.favored_nodes)

    def sparsifier(
        self,
        *,
        at: float | None = None,
        since: float | None = None,
        until: float | None = None,
        n_edges: int | None = None,
        use_up: bool = False,
    ) -> EdgeList:
        """The sparsifier of all edges so far; the stream may go on afterwards.

        Parameters
        ----------
        at : float, optional
            For a stream with times: the end of the window, and the time to which weights have
            decayed. Default: the time of the last edge.
        since, until : float, optional
            For a stream with a window: the buckets in which these times lie, and all between;
            `until` itself is not included. `span_` is the span of the buckets.
        n_edges : int, optional
            Edges of the result. Default: as the parameters of the stream say.
        use_up : bool
            The stream does not go on: the same result is made of the memory that it has, which
            takes a third less where edges are many, and only the stream's counters are left.
        """
        self._check_in_use()
        if isinstance(self._engine, Ring):
            if self.n_edges_seen_ == 0:
                raise InputError("no edges have been seen yet; call partial_fit first")
            result, self._last_times = self._engine.joined(*self._engine.asked(at, since, until))
            return self._sparsifier_of_span(result, n_edges=n_edges, use_up=use_up)
        if not at is since is until is None:
            raise InputError("at, since and until are for streams with times; give window=...")
        if self.n_nodes_ == 0:
            raise InputError("no edges have been seen yet; call partial_fit first")
        if n_edges is not None and self.method == "thesis":
            raise InputError("n_edges is for method='fast'; the thesis method has no budget")
        self._is_used_up = use_up
        budget = self._engine.budget(self.n_nodes_, self.n_edges_seen_)
        edges = self._engine.final_edges(
            budget if n_edges is None else n_edges,
            epsilon=self.epsilon if n_edges is None else None,
            use_up=use_up,
        )
        random_cuts = self._probes.error(*edges[:3], self.n_components_)
        self.probe_error_ = float(np.fmax(random_cuts, self._engine.result_error))
        if self.options.calibrate and not self.is_whole_:
            warn_if_worse(self.epsilon_predicted_, self.probe_error_)
        return EdgeList.from_validated(*edges[:3], self.n_nodes_, self._numbering.ids)

    def _sparsifier_of_span(self, result, *, n_edges, use_up):
        self._is_used_up = use_up
        edges = result.sparsifier(n_edges=n_edges, use_up=True)
        self._last_span = result
        self.probe_error_ = result.probe_error_
        return EdgeList.from_validated(
            edges.tail, edges.head, edges.weight, self.n_nodes_, self._numbering.ids
        )

    def _check_in_use(self) -> None:
        if self._is_used_up:
            raise InputError("sparsifier(use_up=True) was the stream's end; leave use_up out")

    def merge(self, *others: "StreamSparsifier", random_state: RandomState = None) -> Self:
        """Return a new stream that has seen the edges of all: parts of one graph, or of several.

        Degrees are added, forests united, and kept edges put side by side; one shrink follows if
        they are too many. Nodes are matched by id. The ridges add up: of k streams that are each
        within (1 +- eps) of L + gamma I, the sum is that of L + k gamma I, and `ridge` says so.
        Streams with times are added bucket by bucket, as of the latest edge of all.

        Parameters
        ----------
        *others : StreamSparsifier
            Of the same method and options, window, buckets and half-life.
        random_state : int, Generator or None
            By default the random numbers that follow depend on those of the merged streams alone.
        """
        streams: tuple[StreamSparsifier, ...] = (self, *others)
        engines: list[Any] = [stream._engine for stream in _checked_alike(streams)]
        if random_state is None:
            seed = child_seed(reduce(xor, (engine.seed for engine in engines)), Step.MERGE)
        else:
            seed = _seed_from(random_state)
        ids, numbers = merge_ids(
            [(stream._numbering.ids, stream._engine.n_nodes) for stream in streams]
        )
        same_nodes = all((number == np.arange(number.size)).all() for number in numbers)
        settings = self._settings() | {"ridge": sum(stream.ridge for stream in streams)}
        merged = type(self)(**settings, options=self.options)
        merged.random_state = self.random_state if random_state is None else random_state
        merged._numbering = Numbering(ids)
        if isinstance(merged._engine, Ring):
            merged._engine.seed = seed
            merged._engine.take_over(engines, numbers)
        else:
            merged._engine = engines[0].merge(engines[1:], numbers[1:], seed=seed)
            merged._probes = self._probes.merge(
                [stream._probes for stream in others], merged.n_nodes_, same_nodes=same_nodes
            )
        favored = [stream.favored_nodes for stream in streams if stream.favored_nodes]
        merged.favored_nodes = frozenset().union(*favored) or None
        return merged

    def save(self, path: str | os.PathLike) -> None:
        """Write a checkpoint, whole or not at all."""
        with atomic_file(path) as file:
            pack(file, *self._state())

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Go on from a checkpoint, to the same result as if there had been no stop."""
        return cls._from(None, path)

    def to_bytes(self) -> bytes:
        """What a checkpoint holds, made small to travel and to be merged.

        What is kept is swept and added up first, and the filter of the last shrink is left out, so
        a stream that goes on from here keeps more at first than this one would.
        """
        self._engine.settle()
        return pack_bytes(*self._state())

    @classmethod
    def from_bytes(cls, data: bytes, *, n_streams: int = 1) -> Self:
        """The stream that `to_bytes` gave; one of `n_streams` that share what memory allows."""
        stream = cls._from(data, "the state")
        stream._engine.make_room(n_streams)
        return stream

    def _state(self):
        self._check_in_use()
        if isinstance(self._engine, Ring):
            numbers, states = self._engine.state()
            numbers["checksums"] = self.checksums_
            parts = (self.options, numbers, states, self._numbering.ids)
            return collect_ring(self._settings(), *parts, note=self.note)
        parts = (self._engine, self._numbering, self._probes)
        return collect_state(self._settings(), self.options, *parts, note=self.note)

    @classmethod
    def _from(cls, data, name):
        def make(**settings):
            stream = cls(**settings)
            return stream, stream._engine

        record, arrays = read_state(data, name)
        if record["version"] == RING:
            stream, numbers, states, stream._numbering, stream.note = restore_ring(
                record, arrays, name, cls
            )
            stream._engine.restore(numbers, states, name)
            stream.checksums_ = tuple(numbers["checksums"])
            return stream
        restored = restore_state(record, arrays, name, make)
        stream, stream._numbering, stream._probes, stream.note = restored
        return stream

    def set_ridge(self, ridge: float) -> None:
        """Ask for another ridge from now on; only a larger one is met by what is kept."""
        if isinstance(self._engine, Ring):
            raise InputError("window and half_life take no ridge")
        self.ridge = self._engine.ridge = ridge

    def _settings(self) -> dict[str, Any]:
        settings = {name: getattr(self, name) for name in _SETTINGS}
        favored = self.favored_nodes
        settings["favored_nodes"] = None if favored is None else sorted(favored, key=str)
        if self.is_timed:
            settings |= {name: getattr(self, name) for name in _TIMES}
        return settings

    def _times(self):
        return tuple(getattr(self, name) for name in _TIMES) if self.is_timed else None

    def same_seed(self, other: "StreamSparsifier") -> bool:
        """Whether both streams draw the same random numbers."""
        return self._engine.seed == other._engine.seed

    @property
    def is_timed(self) -> bool:
        """Whether there is a window or a half-life."""
        return self.window is not None or self.half_life is not None

    @property
    def span_(self) -> tuple[float, float]:
        """From when to when the edges of the last result are, or of the one to come."""
        ring = self._ring("span_")
        if self._last_span is not None:
            return self._last_times
        return ring.span

    @property
    def n_edges_recent_(self) -> int:
        """Edges seen that are not forgotten; with times, those of the last result."""
        if self._last_span is not None:
            return self._last_span.n_edges_seen_
        return self._engine.n_recent if isinstance(self._engine, Ring) else self.n_edges_seen_

    @property
    def n_too_old_(self) -> int:
        """Edges that were older than all that is kept when they arrived."""
        return self._ring("n_too_old_").n_too_old

    def _ring(self, attribute: str) -> Ring:
        if not isinstance(self._engine, Ring):
            raise AttributeError(f"{attribute} is for streams with a window or a half_life")
        return self._engine

    @property
    def ids_(self) -> np.ndarray | None:
        """The ids of all nodes seen so far; None where they are plain numbers."""
        return first_ids(self._numbering.ids, self.n_nodes_)

    n_edges_seen_ = property(attrgetter("_engine.n_seen"), doc="Edges taken in so far.")
    n_nodes_ = property(attrgetter("_engine.n_nodes"), doc="Nodes seen so far.")
    n_shrinks_ = property(attrgetter("_engine.n_shrinks"), doc="How often edges were thinned.")
    n_kept_ = property(attrgetter("_engine.n_kept"), doc="Edges held at the moment.")

    @property
    def n_components_(self) -> int:
        """Connected components of everything seen."""
        return self.n_nodes_ - self._engine.n_joins

    @property
    def error_curve_(self) -> ErrorCurve | None:
        """Predicted error by number of edges: after `sparsifier()`, if `epsilon` was given."""
        if isinstance(self._engine, Ring):
            return None if self._last_span is None else self._last_span.error_curve_
        return self._engine.error_curve

    @property
    def budget_(self) -> int:
        """Edges that the sparsifier may have now.

        With `epsilon`, as many as a dense graph needs until `sparsifier()` has been called, and as
        many as this graph needs afterwards.
        """
        if self.epsilon is not None and self.error_curve_ is not None:
            return self.error_curve_.edges_for(self.epsilon)
        return self._engine.budget(self.n_nodes_, self.n_edges_seen_)

    @property
    def degrees_(self) -> np.ndarray:
        """Exact weighted degrees of everything seen."""
        return self._engine.degree * self._engine.unit

    @property
    def epsilon_predicted_(self) -> float:
        """Error to expect, 0 of all edges; before `sparsifier()`, as if the graph were dense."""
        if self._last_span is not None:
            return self._last_span.epsilon_predicted_
        predicted = getattr(self._engine, "predicted", None)
        dense = predicted_epsilon(self.n_nodes_, self.budget_)
        return 0.0 if self.is_whole_ else (dense if predicted is None else predicted)

    @property
    def is_whole_(self) -> bool:
        """Whether no edge was dropped but those that are too old: the error is 0."""
        if isinstance(self._engine, Ring):
            is_span_whole = self._last_span is None or self._last_span.is_whole_
            return self._engine.is_whole and is_span_whole
        if self.method != "fast":
            return False
        if self._engine.is_result_whole is not None:
            return self._engine.is_result_whole
        return self.n_shrinks_ == 0 and self.n_edges_seen_ <= self.budget_


def _checked_alike(streams):
    """The streams; an InputError where they cannot be merged."""
    for other in (first := streams[0], *streams[1:]):
        other._check_in_use()
        if first.options != other.options:
            raise InputError("streams with different options cannot be merged")
        if first._times() != other._times():
            raise InputError(
                "only streams with the same window, buckets and half-life can be merged with these"
            )
        if first.method != other.method:
            raise InputError(f"a {first.method} stream cannot be merged with a {other.method} one")
    return streams


def _seed_from(random_state: RandomState) -> int:
    return int(np.random.default_rng(random_state).integers(2**63))
