"""The stream sparsifier: edges in, a small reweighted graph out, at any time.

H is an epsilon-sparsifier of G when (1 - eps) L_G <= L_H <= (1 + eps) L_G: every cut, every
quadratic form x' L x, every effective resistance agrees up to eps. All nodes stay.

Streams can be merged. The sum of eps-sparsifiers of several graphs is an eps-sparsifier of their
sum, whatever nodes and edges they share; so merging costs no accuracy, only the shrink that may
follow does. With a ridge that is not so: k sparsifiers, accurate up to a ridge gamma, are together
accurate up to k gamma (the ground node counts k times), so a merge tree gives leaves gamma / k.
"""

import os
from collections.abc import Sequence
from functools import reduce
from operator import attrgetter, xor
from typing import Any, Self

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.nodes.union import unite_ids
from graphsqueak.randomness import RandomState, Step, child_seed
from graphsqueak.report.shown import Shown
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sparsifiers.budget import Budget, StreamOptions, predicted_epsilon
from graphsqueak.sparsifiers.stream.arrivals import SHARE, plain_ids
from graphsqueak.sparsifiers.stream.engine import Engine
from graphsqueak.sparsifiers.stream.probes import Probes, warn_if_worse
from graphsqueak.sparsifiers.stream.state import RING, collect_state, read_state, restore_state
from graphsqueak.sparsifiers.stream.stream_engine import StreamEngine
from graphsqueak.sparsifiers.stream.thesis import thesis_engine
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.packing import pack, pack_bytes
from graphsqueak.validation import check_choice, check_real

__all__ = ["StreamSparsifier"]

_SETTINGS = ("n_edges", "epsilon", "keep", "method", "n_copies", "ridge", "favored_share")


class StreamSparsifier(Shown):
    """One pass, fixed memory: a spectral sparsifier of all edges so far.

    Parameters
    ----------
    n_edges, epsilon, keep : exactly one
        Edges of the result (at most; from 40 on at least 0.9 of it if the graph has that many), or
        the accuracy from which their number is predicted, or their share of the edges seen.
    method : {"fast", "thesis"}
        "thesis" is Algorithm 11 with its proof constants: no budget, a guarantee for `epsilon`
        with probability 0.99, and thousands of copies per edge, so that only graphs with more
        edges per node than that are sparsified at all.
    n_copies : int, optional
        Copies of the thesis method, instead of `epsilon`.
    ridge : float
        gamma > 0 asks for an (eps, gamma)-sparsifier, which may be coarser where the spectrum of L
        lies below gamma and needs fewer edges.
    favored_nodes : sequence of node ids, optional
        Nodes whose edges get up to `favored_share` of the budget: all of them while they fit,
        a sample beyond. They have to be named before the stream. (Plain numbers where the edges
        carry no ids.)
    favored_share : float
    half_life : float, optional
        Time in which the weight of an edge falls to a half. Edges must have times (`TimedEdges`).
    window : float, optional
        Keep to the edges of the last `window` of time.
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

    def __new__(cls, **settings: Any) -> Self:
        """With `half_life` or `window`, a `TimedSparsifier`."""
        times = (settings.get("half_life"), settings.get("window"))
        return super().__new__(cls._timed() if times != (None, None) else cls)

    @classmethod
    def _timed(cls):
        from graphsqueak.sparsifiers.stream.window import TimedSparsifier

        return TimedSparsifier

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
        self.options = StreamOptions() if options is None else options
        self.random_state = random_state
        self._engine = self._make_engine(_seed_from(random_state))
        self._numbering = Numbering()
        self._probes, self._is_used_up = Probes(), False
        self.note: dict[str, int] = {}  # a small record that is saved with the state

    def _make_engine(self, seed: int) -> StreamEngine:
        if self.method == "fast":
            budget = Budget(self.n_edges, self.epsilon, self.keep).checked()
            engine = Engine(budget, self.options, ridge=self.ridge, seed=seed)
            engine.favored.share = self.favored_share
            return engine
        if self.favored_nodes:
            raise InputError("method='thesis' favors no nodes; use method='fast'")
        if self.n_edges is not None or self.keep is not None or self.ridge > 0:
            raise InputError("method='thesis' takes epsilon or n_copies, no budget and no ridge")
        return thesis_engine(self.epsilon, self.n_copies, seed=seed)

    def partial_fit(self, batch: GraphLike) -> Self:
        """Take in more edges: an EdgeList, or anything that is a graph.

        Nodes may appear at any time. Batches that carry ids are matched by id; those without must
        number the same nodes alike.
        """
        self._check_in_use()
        budget = Budget(self.n_edges, self.epsilon, self.keep)
        for part in budget.drawn(as_stream(batch)):
            tail, head, n_nodes = self._numbering.apply(part)
            if self.favored_nodes:
                self._engine.favor(self._numbering, n_nodes, self.favored_nodes)
            self._engine.absorb(tail, head, part.weight, n_nodes)
            self._probes.add(tail, head, part.weight, n_nodes)
        return self

    def sparsifier(
        self,
        *,
        at: float | None = None,
        since: float | None = None,
        until: float | None = None,
        use_up: bool = False,
    ) -> EdgeList:
        """The sparsifier of all edges so far; the stream may go on afterwards.

        Parameters
        ----------
        at : float, optional
            Of a stream with times: as of then, instead of the time of the last edge.
        since, until : float, optional
            Of a stream with a window: the edges of the buckets from here to there.
        use_up : bool
            The stream does not go on: the same result is made of the memory that it has, which
            takes a third less where edges are many, and only the stream's counters are left.
        """
        self._check_in_use()
        if not at is since is until is None:
            raise InputError("at, since and until are for streams with times; give window=...")
        if self.n_nodes_ == 0:
            raise InputError("no edges have been seen yet; call partial_fit first")
        self._is_used_up = use_up
        edges = self._engine.final_edges(self.budget_, use_up=use_up)
        random_cuts = self._probes.error(*edges[:3], self.n_components_)
        self.probe_error_ = float(np.fmax(random_cuts, self._engine.result_error))
        if self.options.calibrate and not self.is_whole_:
            warn_if_worse(self.epsilon_predicted_, self.probe_error_)
        return EdgeList.from_clean(*edges[:3], self.n_nodes_, self._numbering.ids)

    def _check_in_use(self) -> None:
        if self._is_used_up:
            raise InputError("sparsifier(use_up=True) was the stream's end; leave use_up out")

    def merge(self, *others: "StreamSparsifier", random_state: RandomState = None) -> Self:
        """Return a new stream that has seen the edges of all: parts of one graph, or of several.

        Degrees are added, forests united, and kept edges put side by side; one shrink follows if
        they are too many. Nodes are matched by id. The ridges add up: of k streams that are each
        within (1 +- eps) of L + gamma I, the sum is that of L + k gamma I, and `ridge` says so.

        Parameters
        ----------
        *others : StreamSparsifier
            Of the same method and options.
        random_state : int, Generator or None
            By default the random numbers that follow depend on those of the merged streams alone.
        """
        streams: tuple[StreamSparsifier, ...] = (self, *others)
        engines = [stream._engine for stream in _checked_alike(streams)]
        if random_state is None:
            seed = child_seed(reduce(xor, (engine.seed for engine in engines)), Step.MERGE)
        else:
            seed = _seed_from(random_state)
        ids, numbers = unite_ids(
            [(stream._numbering.ids, stream._engine.n_nodes) for stream in streams]
        )
        same_nodes = all((number == np.arange(number.size)).all() for number in numbers)
        settings = self._settings() | {"ridge": sum(stream.ridge for stream in streams)}
        merged = type(self)(**settings, options=self.options)
        merged.random_state = self.random_state if random_state is None else random_state
        merged._engine = self._engine.merge(engines[1:], numbers[1:], seed=seed)
        merged._numbering = Numbering(ids)
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
        parts = (self._engine, self._numbering, self._probes)
        return collect_state(self._settings(), self.options, *parts, note=self.note)

    @classmethod
    def _from(cls, data, name):
        def make(**settings):
            stream = cls(**settings)
            return stream, stream._engine

        record, arrays = read_state(data, name)
        if record["version"] == RING:
            return cls._timed()._restored(record, arrays, name)
        restored = restore_state(record, arrays, name, make)
        stream, stream._numbering, stream._probes, stream.note = restored
        return stream

    def set_ridge(self, ridge: float) -> None:
        """Ask for another ridge from now on; only a larger one is met by what is kept."""
        self.ridge = self._engine.ridge = ridge

    def _settings(self) -> dict[str, Any]:
        settings = {name: getattr(self, name) for name in _SETTINGS}
        favored = self.favored_nodes
        return settings | {"favored_nodes": None if favored is None else sorted(favored, key=str)}

    def same_seed(self, other: "StreamSparsifier") -> bool:
        """Whether both streams draw the same random numbers."""
        return self._engine.seed == other._engine.seed

    @property
    def ids_(self) -> np.ndarray | None:
        """The ids of all nodes seen so far; None where they are plain numbers."""
        ids = self._numbering.ids
        return None if ids is None else np.asarray(ids)[: self.n_nodes_]

    n_edges_seen_ = property(attrgetter("_engine.n_seen"), doc="Edges taken in so far.")
    n_nodes_ = property(attrgetter("_engine.n_nodes"), doc="Nodes seen so far.")
    n_shrinks_ = property(attrgetter("_engine.n_shrinks"), doc="How often edges were thinned.")
    n_kept_ = property(attrgetter("_engine.n_kept"), doc="Edges held at the moment.")

    @property
    def n_components_(self) -> int:
        """Connected components of everything seen."""
        return self.n_nodes_ - self._engine.n_joins

    @property
    def budget_(self) -> int:
        """Edges that the sparsifier may have now."""
        return self._engine.budget(self.n_nodes_, self.n_edges_seen_)

    @property
    def degrees_(self) -> np.ndarray:
        """Exact weighted degrees of everything seen."""
        return self._engine.degree * self._engine.unit

    @property
    def epsilon_predicted_(self) -> float:
        """Error to expect, 0 of all edges; before `sparsifier()`, as if the graph were dense."""
        predicted = getattr(self._engine, "predicted", None)
        dense = predicted_epsilon(self.n_nodes_, self.budget_)
        return 0.0 if self.is_whole_ else (dense if predicted is None else predicted)

    @property
    def is_whole_(self) -> bool:
        """Whether no edge was dropped, since the budget holds all: the error is 0."""
        is_untouched = self.method == "fast" and self.n_shrinks_ == 0
        return is_untouched and self.n_edges_seen_ <= self.budget_


def _checked_alike(streams):
    """The streams; an InputError where they cannot be merged."""
    for other in (first := streams[0], *streams[1:]):
        other._check_in_use()
        if first.options != other.options:
            raise InputError("streams with different options cannot be merged")
        if first.method != other.method:
            raise InputError(f"a {first.method} stream cannot be merged with a {other.method} one")
    return streams


def _seed_from(random_state: RandomState) -> int:
    return int(np.random.default_rng(random_state).integers(2**63))
