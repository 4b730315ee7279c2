"""The ring: time cut into buckets of equal width, and a plain stream for each of the last ones.

Bucket k holds the edges from k width on. With a half-life, an edge of weight w at time t is held as
w 2^((t - k width) / half_life), which no passing of time changes: what a bucket keeps, its exact
degrees and its filter are all scaled alike, by the unit that they are held in.

A bucket that is over is thinned to its budget; the present one may have more. Edges that come
late go to their own bucket, if it is still there. What a ring holds depends on the edges and their
order alone, not on how they were cut into batches.
"""

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import find_all, make_sets, union_edges
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.randomness import Step, child_seed
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.stream.probes import Probes
from graphsqueak.sparsifiers.stream.state import collect_state
from graphsqueak.validation import check_real

__all__ = ["Ring"]

_ROOM, _TARGET = 1.75, 1.25  # of the present bucket, in budgets
_CHUNKS = 4  # in a budget, at least: room and chunk together are two
_SIGMAS = 4  # by which a coin for each edge may exceed a budget
_KEYS = 2**40  # child seeds of repeated steps
_HALF_LIVES, _N_FULL = 16, 2  # width of a bucket where nothing but decay forgets, and full ones
_MOST_HALF_LIVES = 64  # in a bucket: its weights are 2^64 apart by age alone
_COUNTS = ("n_seen", "n_nodes", "n_too_old", "seed")


class Ring:
    """The engine of a stream with times: the buckets that are over, and the present one.

    Where it stands for an engine, it is that of all edges which are not forgotten, as of the last
    one.

    Parameters
    ----------
    stream_class : type
        The class of the plain streams that the buckets are, `StreamSparsifier`.
    settings, options
        Arguments of the plain streams. The present one of a window may hold two budgets, whatever
        the options say.
    window, half_life : float, optional
        At least one of them.
    n_buckets : int
        Parts of a window.
    seed : int
    """

    unit = 1.0

    def __init__(self, stream_class, settings, options, *, window, half_life, n_buckets, seed):
        self.stream_class = stream_class
        self.settings, self.options, self.seed = settings, options, seed
        self.window = window
        self.half_life = half_life
        self.width, self.n_full = _HALF_LIVES * (half_life or 0.0), _N_FULL
        if window is not None:
            self.width, self.n_full = window / n_buckets, n_buckets
        if half_life is not None and self.width > _MOST_HALF_LIVES * half_life:
            length = self.width * self.n_full
            raise InputError(
                f"window={length:g} is {length / half_life:.0f} half-lives, "
                "after which nothing is left of an edge; leave window out"
            )
        self.streams: dict[int, Any] = {}  # a plain stream for every bucket
        self.late: set[int] = set()  # buckets that are over and got edges since
        self.latest = self.gone = -math.inf  # time of an edge; bucket that is forgotten
        self.current = -math.inf  # the present bucket
        self.n_seen = self.n_nodes = self.n_too_old = 0

    def absorb(self, tail, head, weight, time, n_nodes, favor):
        """Take in edges; `favor(engine)` is called for every bucket that gets some."""
        self.n_nodes = max(self.n_nodes, n_nodes)
        if tail.size == 0:
            return
        number = np.floor(time / self.width)
        newest = np.maximum.accumulate(np.maximum(number, self.current))
        self.n_seen += tail.size
        self.n_too_old += int(np.count_nonzero(number < newest - self.n_full))
        stays = number >= newest[-1] - self.n_full  # the others are gone by the end of the batch
        self.gone = max(self.gone, number[~stays].max(initial=-math.inf))
        index = np.flatnonzero(stays)
        begins = np.unique(newest[index], return_index=True)[1] if index.size else index
        for some in np.split(index, begins[1:]):
            if some.size:
                self._advance(int(newest[some[0]]))
            for bucket in np.unique(number[some]):
                own = some[number[some] == bucket]
                self._fill(int(bucket), tail[own], head[own], weight[own], time[own], favor)
        self._advance(int(newest[-1]))
        self.latest = max(self.latest, float(time.max()))

    def _advance(self, newest):
        """When a bucket begins, forget what is too old and thin what is over."""
        if newest <= self.current:
            return
        for number in sorted(self.streams):
            if number < newest - self.n_full:
                del self.streams[number]
                self.gone = max(self.gone, number)
            elif number in self.late or number == self.current:
                _condense(self.streams[number])
        self.late, self.current = set(), newest

    def _fill(self, number, tail, head, weight, time, favor):
        stream = self.streams.get(number)
        if stream is None:
            stream = self.streams[number] = self._new(number)
        if self.half_life is not None:
            weight = weight * np.exp2((time - number * self.width) / self.half_life)
        favor(stream._engine)
        stream.partial_fit(EdgeList.from_validated(tail, head, weight, self.n_nodes))
        if number < self.current:
            self.late.add(number)

    def _new(self, number):
        """An empty bucket."""
        options = self.options
        if self.window is not None:
            room, target = min(options.room, _ROOM), min(options.target, _TARGET)
            most = (self.settings["n_edges"] or math.inf) // _CHUNKS
            chunk = int(max(min(options.chunk, most), 1))
            options = replace(options, room=room, target=target, chunk=chunk)
        seed = child_seed(self.seed, number % _KEYS)
        return self.stream_class(**self.settings, options=options, random_state=seed)

    def factor(self, number, now):
        """What the weights of a bucket are multiplied by as of `now`."""
        if self.half_life is None:
            return 1.0
        return float(np.exp2((number * self.width - now) / self.half_life))

    @property
    def span(self):
        """From when to when the edges are that are kept."""
        return (self.current - self.n_full) * self.width, self.latest

    def asked(self, at, since, until):
        """First and last bucket that are meant, and the time to which weights decay."""
        if since is not None or until is not None:
            if self.window is None or at is not None:
                raise InputError("since and until are for streams with a window, and without at")
            low = min(self.streams) if since is None else math.floor(since / self.width)
            high = self.current if until is None else math.ceil(until / self.width) - 1
            if high < low:
                raise InputError(f"until={until} must come after since={since}")
            return low, high, min(self.latest, (high + 1) * self.width)
        now = self.latest if at is None else check_real("at", at)
        if self.window is None and now < self.latest:
            raise InputError(
                f"at={now:.15g} lies before the last edge ({self.latest:.15g}), and edges that "
                "came later cannot be taken out again; give a window"
            )
        high = math.floor(now / self.width)
        return high - self.n_full, high, now

    def joined(self, low, high, now):
        """One stream of the edges of buckets low, ..., high, which are left as they are.

        All are put side by side, and thinned once; the newest number the most nodes.
        """
        chosen = [number for number in sorted(self.streams, reverse=True) if low <= number <= high]
        start, stop = low * self.width, min((high + 1) * self.width, now)
        if self.gone >= low:
            raise InputError(
                f"edges from {start:.15g} on are asked for, and those before "
                f"{(self.gone + 1) * self.width:.15g} are forgotten; ask for later ones, or give a "
                "longer window and more buckets"
            )
        if not chosen:
            raise InputError(f"no edges between {start:.15g} and {stop:.15g}; ask for another span")
        engines, table = [], np.zeros(Probes().table.size)
        for number in chosen:
            stream, factor = self.streams[number], self.factor(number, now)
            engine = copy.copy(stream._engine)
            engine.unit *= factor
            engines.append(engine)
            table += factor * stream._probes.table
        options = replace(self.options, room=max(self.options.room, _ROOM + len(engines)))
        whole = self.stream_class(**self.settings, options=options, random_state=0)
        numbers = [np.arange(engine.n_nodes, dtype=np.int32) for engine in engines]
        seed = child_seed(self.seed, Step.MERGE)
        whole._engine = whole._engine.merge(engines, numbers, seed=seed)
        whole._probes = Probes(table, whole.n_nodes_)
        return whole, (start, stop)

    def take_over(self, rings, numbers):
        """Become the sum of rings; `numbers` are their nodes in our numbering."""
        self.n_nodes = max(1 + int(number.max(initial=-1)) for number in numbers)
        self.latest = max(ring.latest for ring in rings)
        self.gone = max(ring.gone for ring in rings)
        self.n_seen = sum(ring.n_seen for ring in rings)
        self.n_too_old = sum(ring.n_too_old for ring in rings)
        same = all((number == np.arange(number.size)).all() for number in numbers)
        for bucket in sorted(set().union(*(ring.streams for ring in rings))):
            pairs = zip(rings, numbers, strict=True)
            parts = [(ring.streams[bucket], own) for ring, own in pairs if bucket in ring.streams]
            both = self._new(bucket)
            own = [number[: stream.n_nodes_] for stream, number in parts]
            engines, probes = [p._engine for p, _ in parts], [p._probes for p, _ in parts]
            both._engine = both._engine.merge(engines, own, seed=both._engine.seed)
            both._probes = both._probes.merge(probes, both.n_nodes_, same_nodes=same)
            self._advance(bucket)
            self.streams[bucket] = both

    def state(self):
        """Numbers of the ring, and the states of its buckets."""
        numbers = {name: getattr(self, name) for name in _COUNTS} | {"late": sorted(self.late)}
        times = {"latest": self.latest, "gone": float(self.gone)}
        numbers |= {name: time if np.isfinite(time) else None for name, time in times.items()}
        states = {}
        for number, stream in self.streams.items():
            parts = (stream._engine, Numbering(), stream._probes)
            states[number] = collect_state(stream._settings(), stream.options, *parts, note={})
        return numbers, states

    def restore(self, numbers, states, name):
        """Go on from what `state` gave, the states as bytes."""
        self.streams = {key: self.stream_class._from(state, name) for key, state in states.items()}
        for stream in self.streams.values():
            if stream.is_timed or stream.n_nodes_ > numbers["n_nodes"]:
                raise InputError(f"{name} holds no state of a stream; start the run again")
        for key in _COUNTS:
            setattr(self, key, numbers[key])
        self.late = set(numbers["late"])
        for key in ("latest", "gone"):
            setattr(self, key, -math.inf if numbers[key] is None else numbers[key])
        if self.n_seen:
            self.current = math.floor(self.latest / self.width)

    def settle(self):
        """Nothing to do: what is over is small already."""

    def make_room(self, n_streams):
        """Nothing to do."""

    def budget(self, n_nodes, n_seen):
        """Edges of the sparsifier; of `n_seen`, those that are not forgotten count."""
        return Budget(*(self.settings[name] for name in Budget._fields))(n_nodes, self.n_recent)

    @property
    def n_recent(self):
        """Edges that are not forgotten."""
        return sum(stream.n_edges_seen_ for stream in self.streams.values())

    @property
    def is_whole(self):
        return self.n_shrinks == 0 and self.n_recent <= self.budget(self.n_nodes, self.n_recent)

    @property
    def n_kept(self):
        return sum(stream.n_kept_ for stream in self.streams.values())

    @property
    def n_shrinks(self):
        return sum(stream.n_shrinks_ for stream in self.streams.values())

    @property
    def n_joins(self):
        parent, n_joins = make_sets(self.n_nodes), 0
        for stream in self.streams.values():
            own = stream._engine.parent
            joins = union_edges(parent, np.arange(own.size, dtype=own.dtype), find_all(own))
            n_joins += int(np.count_nonzero(joins))
        return n_joins

    @property
    def degree(self):
        degree = np.zeros(self.n_nodes)
        for number, stream in self.streams.items():
            degree[: stream.n_nodes_] += self.factor(number, self.latest) * stream.degrees_
        return degree


def _condense(stream):
    """Keep a bucket that is over within its budget, with little beside."""
    engine, budget = stream._engine, stream.budget_
    if stream.keep is not None:  # the share of a bucket, thinned twice, would be a poor one
        budget = max(budget, stream.options.least_share)
    if engine.n_kept > budget:
        engine.shrink(int(budget - _SIGMAS * math.sqrt(budget)))
    engine.settle()
