"""The stream engine: keep a small weighted edge set that stays a sparsifier of all edges so far.

Edges are absorbed in chunks at fixed places of the stream, so that what is kept does not depend
on how the stream was cut into batches, nor on threads. Per chunk: a union-find pins the edges
that join components, the exact degrees grow, and the filter thins the rest on arrival. When the
kept edges outgrow their room they are coalesced, scored by sketched effective resistances and
thinned: the loop of [C17, Algorithm 11] as corrected (blocks as large as the kept set, p capped
at 1, original weights in the probabilities).

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Section 4.3.

The last shrink: from what a stream keeps to the sparsifier it promises.

During the stream a spanning forest is pinned at its own, light weights, which wastes a slot per
node. At the end the forest is thinned like every other edge, and a forest edge comes back, at
the weight it would have been given, only where the thinned graph fell apart. By Foster's theorem
every cut holds at least c edges in expectation, so that this happens with a probability of at most
about exp(-c) per cut; below c = 4 the forest stays pinned.

The degrees are calibrated twice: before, so that what coins left uneven is mended by how many edges
a node gets, and after, for the little that is left by then.

Score the kept edges, and find the scale that fits a budget.

An edge of weight w and resistance r is kept with probability min(1, c w r). The scale c is the one
for which the probabilities sum to the budget; by Foster's theorem it is about the budget per node.
"""

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList, power_of_two
from graphsqueak.graph.forest import add_degrees, join, labels, roots
from graphsqueak.randomness import child_seed
from graphsqueak.sampling import scale_for
from graphsqueak.sparsifiers.resistance.sketch import precise_embedding, sketched_resistances
from graphsqueak.sparsifiers.stream.arrival_filter import (
    Favored,
    Filter,
    filtered,
    make_filter,
    refreshed,
)
from graphsqueak.sparsifiers.stream.edges import Kept, KeptBuffer, coalesced
from graphsqueak.sparsifiers.stream.thinning import calibrated, count_spread, thinned
from graphsqueak.validation import check_span

__all__ = ["CHUNK", "Engine", "finished", "score"]

CHUNK = 2**18  # edges between two looks at the room that is left
_MOST_NODES = np.iinfo(np.int32).max  # kept edges number their ends in 32 bits
_OVER_FOREST = 1.5
_LAST_ROOM = 1.75  # times the budget: more than this is swept before the last shrink
_LAST_SWEEP = 2**42  # its number, for its seed
_SAFE_SCALE = 4.0
_BITS = 3
_LAST = 2**40  # number of the last shrink, for its seed
_TOL = 1e-5  # of the solves, the least for single precision: a bridge still keeps its resistance


class Engine:
    """State of one pass; `budget(n_nodes, n_seen)` is the number of edges wanted at the end."""

    def __init__(self, budget, options, *, ridge, seed):
        self.budget, self.options, self.ridge, self.seed = budget, options, ridge, seed
        self.buffer = KeptBuffer()
        self.degree = np.zeros(0)
        self.parent = np.zeros(0, dtype=np.int32)
        self.n_joins = self.n_seen = self.n_shrinks = 0
        self.per_node = np.inf  # budget a node that the filter's scale is for
        self.judge = None
        self.unit = 1.0
        self.favored = Favored()

    @property
    def n_nodes(self):
        """Nodes seen so far."""
        return self.degree.size

    @property
    def n_kept(self):
        """Edges held at the moment."""
        return self.buffer.size

    def finished(self, budget):
        """The sparsifier of all edges so far, of at most `budget` edges."""
        edges = finished(self, budget)
        return edges._replace(weight=edges.weight * self.unit)

    def absorb(self, tail, head, weight, n_nodes):
        """Take in edges between nodes 0, ..., n_nodes - 1.

        Weights are held in units of a power of two near the first one, which is exact.
        """
        self._grow(n_nodes)
        if self.n_seen == 0 and tail.size:
            self.unit = power_of_two(weight[0])
        if tail.size:
            check_span(min(self.unit, weight.min()), max(self.unit, weight.max()))
        if self.unit != 1.0:
            weight = weight / self.unit
        start = 0
        while start < tail.size:
            stop = min(start + CHUNK - self.n_seen % CHUNK, tail.size)
            self._absorb_piece(tail[start:stop], head[start:stop], weight[start:stop])
            self.n_seen += stop - start
            start = stop
            if self.n_seen % CHUNK == 0:
                self._look_around()

    def _grow(self, n_nodes):
        if n_nodes > _MOST_NODES:
            raise InputError(
                f"{n_nodes:,} nodes are more than a stream can number ({_MOST_NODES:,}); "
                "sparsify parts of the graph with fewer nodes"
            )
        if n_nodes > self.n_nodes:
            more = n_nodes - self.n_nodes
            self.parent = np.concatenate(
                [self.parent, np.arange(self.n_nodes, n_nodes, dtype=np.int32)]
            )
            self.degree = np.concatenate([self.degree, np.zeros(more)])
            if self.favored.mask.size < n_nodes:
                self.favored.grow(np.zeros(n_nodes - self.favored.mask.size, dtype=np.bool_))

    def _absorb_piece(self, tail, head, weight):
        add_degrees(self.degree, tail, head, weight)
        pinned = np.zeros(tail.size, dtype=np.bool_)
        if self.n_joins < self.n_nodes - 1:
            pinned = join(self.parent, tail, head)
            self.n_joins += int(np.count_nonzero(pinned))
        new = weight
        if self.judge is not None:
            key = {"seed": self.seed, "first": self.n_seen}
            new = filtered(self.judge, tail, head, weight, **key)
            self.favored.refilter(self.judge, tail, head, weight, new, **key)
            new[pinned] = weight[pinned]
        copies = np.full(tail.size, self.options.n_copies, dtype=np.int32)
        self.buffer.append(Kept(tail, head, new, copies, pinned & self.options.pin_forest))

    def _look_around(self):
        budget = self.budget.during(self.n_nodes, self.n_seen)
        room, target = self.options.most_kept(budget, self.n_nodes)
        if self.buffer.size > room:
            if self._can_sweep:
                self.sweep()
            if self.buffer.size > (room + target) / 2:
                self.shrink(int(target))
        elif self.judge is not None and self._refreshes():
            self._refresh()

    def _refresh(self):
        """Bring the filter up to the present degrees, and to a budget that has grown with them."""
        self.judge = refreshed(self.judge, self.degree + self.ridge / self.unit)
        growth = self._budget_per_node() / self.per_node
        if self.budget.keep is not None and growth > 1:
            self.judge = self.judge._replace(scale=self.judge.scale * growth)
            self.per_node *= growth

    def _budget_per_node(self):
        return self.budget.during(self.n_nodes, self.n_seen) / self.n_nodes

    def _refreshes(self):
        """Not more often than once per node: the work stays constant per edge."""
        return (self.n_seen // CHUNK) % (1 + self.n_nodes // CHUNK) == 0

    def sweep(self):
        """Put the kept edges to the filter again, now that degrees have grown.

        No solve is needed, and the scale stays. Where the last shrink's embedding has grown too old
        or nodes are new, little falls, and a shrink has to follow.
        """
        self._refresh()
        self.buffer.reweight(self._swept(self.buffer.edges(), self.n_shrinks))
        self.n_shrinks += 1

    @property
    def _can_sweep(self):
        return self.judge is not None and self.options.n_copies == 1

    def last_edges(self, budget):
        """What the last shrink begins with: swept, if that is far more than it has to keep."""
        edges = self.buffer.edges()
        if edges.tail.size > _LAST_ROOM * budget and self._can_sweep:
            last = KeptBuffer()
            last.append(edges._replace(weight=self._swept(edges, _LAST_SWEEP)))
            edges = last.edges()
        return coalesced(edges, self.n_nodes, n_copies=self.options.n_copies)

    def _swept(self, edges, number):
        """New weights of kept edges, zero for what falls; `number` keys the coins."""
        ends, key = (edges.tail, edges.head, edges.weight), child_seed(self.seed, number)
        weight = filtered(self.judge, *ends, seed=key, first=0)
        self.favored.refilter(self.judge, *ends, weight, seed=key, first=0)
        np.copyto(weight, edges.weight, where=edges.pinned)
        return weight

    def shrink(self, target):
        """Thin what is kept to about `target` edges, never below the forest."""
        edges = coalesced(self.buffer.edges(), self.n_nodes, n_copies=self.options.n_copies)
        n_pinned = np.count_nonzero(edges.pinned)
        target = max(target, int(_OVER_FOREST * n_pinned))
        if edges.tail.size > target:
            resistance, sketch = self.score(edges, self.options.n_probes, self.n_shrinks)
            resistance, self.favored.boost = self.favored.boosted(edges, resistance, target)
            leverage = (edges.weight * resistance)[~edges.pinned]
            scale = scale_for(leverage, target - n_pinned)
            seed = child_seed(self.seed, self.n_shrinks)
            edges = thinned(edges, resistance, scale, self.n_nodes, seed=seed)
            if self.options.filter_arrivals:
                self.judge = make_filter(sketch, labels(self.parent), scale)
                self.per_node = self._budget_per_node()
        self.buffer = KeptBuffer(edges)
        self.n_shrinks += 1

    def score(self, edges, n_probes, number):
        """Resistances of coalesced edges, and their sketch; `number` keys the random signs."""
        seed = child_seed(self.seed, number) >> 1
        options = {"ridge": self.ridge / self.unit, "clamp": self.options.clamp}
        return score(edges, self.n_nodes, n_probes=n_probes, seed=seed, **options)

    def merged(self, others, places, *, seed):
        """An engine that has seen all streams; `places` are the others' nodes in our numbers.

        Edges are put side by side and shrunk at most once, however many streams there are. An edge
        that one stream's forest needs and the joint one does not is thinned as any other from now
        on.
        """
        engines, places = (self, *others), (np.arange(self.n_nodes, dtype=np.int32), *places)
        both = Engine(self.budget, self.options, ridge=self.ridge, seed=seed)
        both.unit = next((engine.unit for engine in engines if engine.n_seen), 1.0)
        n_nodes = 1 + max(int(place.max(initial=-1)) for place in places)
        both._grow(n_nodes)
        both.favored.share = self.favored.share
        parts = []
        for engine, place in zip(engines, places, strict=True):
            ratio, edges = engine.unit / both.unit, engine.buffer.edges()
            both.degree[place] += engine.degree * ratio
            both.favored.mask[place] |= engine.favored.mask
            joins = join(both.parent, place, place[labels(engine.parent)])
            both.n_joins += int(np.count_nonzero(joins))
            ends = {"tail": place[edges.tail], "head": place[edges.head]}
            parts.append(edges._replace(**ends, weight=edges.weight * ratio))
            both.n_seen += engine.n_seen
            both.n_shrinks += engine.n_shrinks
        edges = Kept(*map(np.concatenate, zip(*parts, strict=True)))
        forest = np.flatnonzero(edges.pinned)
        edges.pinned[forest] = join(roots(n_nodes), edges.tail[forest], edges.head[forest])
        both.buffer = KeptBuffer(edges)
        both._look_around()
        return both

    def settle(self):
        """Make the state small before it travels: sweep what is many, add up what is parallel.

        The filter is forgotten: what is merged has none.
        """
        budget = self.budget(self.n_nodes, self.n_seen)
        if self.buffer.size > _LAST_ROOM * budget and self._can_sweep:
            self.sweep()
        if self.n_nodes:
            edges = coalesced(self.buffer.edges(), self.n_nodes, n_copies=self.options.n_copies)
            self.buffer = KeptBuffer(edges)
        self.judge = None

    def make_room(self, n_streams):
        """Before as many streams are united: where memory is limited, keep to a share of it."""
        if self.options.memory_limit is not None:
            budget = self.budget.during(self.n_nodes, self.n_seen)
            most = self.options.most_kept(budget, self.n_nodes)[0] // n_streams
            if self.buffer.size > most:
                self.shrink(int(most))

    def state(self):
        """Everything that the rest of the stream depends on, as arrays and numbers."""
        arrays = self.buffer.edges()._asdict() | {"degree": self.degree, "parent": self.parent}
        if self.favored.mask.any():
            arrays |= {"favored": self.favored.mask, "boost": np.array(self.favored.boost)}
        if self.judge is not None:
            arrays |= {f"judge_{name}": part for name, part in self.judge._asdict().items()}
        numbers = ("n_joins", "n_seen", "n_shrinks", "per_node", "seed", "unit")
        return arrays, {name: getattr(self, name) for name in numbers}

    def restore(self, state):
        """Go on from what `state` gave; the arrays are ours from now on."""
        arrays, numbers = state
        self.buffer = KeptBuffer(Kept(*(arrays[name] for name in Kept._fields)))
        self.degree, self.parent = arrays["degree"], arrays["parent"]
        self.favored.mask = arrays.get("favored", np.zeros(self.n_nodes, np.bool_))
        self.favored.boost = float(arrays.get("boost", 1.0))
        self.__dict__.update(numbers)
        if "judge_scale" in arrays:
            parts = {name: arrays[f"judge_{name}"] for name in Filter._fields}
            self.judge = Filter(**parts | {"scale": float(parts["scale"])})


def finished(engine, budget):
    """The sparsifier of all edges so far, of at most `budget` edges; `engine` is left as it is.

    Returns
    -------
    Kept
    """
    options, n_nodes = engine.options, engine.n_nodes
    edges = engine.last_edges(budget)
    is_whole = engine.n_shrinks == 0
    if edges.tail.size > budget:
        n_pinned = np.count_nonzero(edges.pinned)
        if n_pinned > budget:
            raise InputError(
                f"{budget:,} edges cannot hold {n_nodes:,} nodes together: at least {n_pinned:,} "
                "are needed; ask for more edges"
            )
        if options.calibrate and not is_whole:
            edges = _calibrated(edges, engine.degree)
        resistance, _ = engine.score(edges, options.final_probes, _LAST)
        resistance, _ = engine.favored.boosted(edges, resistance, budget)
        seed = child_seed(engine.seed, _LAST)
        edges = _thin_to(edges, resistance, budget, n_nodes, seed, options)
        is_whole = False
    return _calibrated(edges, engine.degree) if options.calibrate and not is_whole else edges


def _calibrated(edges, degree):
    return edges._replace(weight=calibrated(edges.tail, edges.head, edges.weight, degree))


def _thin_to(edges, resistance, budget, n_nodes, seed, options):
    """Thin without a pinned forest where that is safe, with it otherwise."""
    n_bits = options.bits(_BITS)
    spread = np.sqrt(budget)
    if n_bits:
        spread = count_spread(edges.tail.size, budget, n_bits=n_bits)
    aim = budget - 4 * spread
    free = edges._replace(pinned=np.zeros_like(edges.pinned))
    scale = scale_for(edges.weight * resistance, aim)
    if scale >= _SAFE_SCALE or not options.pin_forest:
        thin = thinned(free, resistance, scale, n_nodes, seed=seed, n_bits=n_bits)
        if options.pin_forest:
            thin = _rejoined(thin, edges, resistance, scale, n_nodes)
        if thin.tail.size <= budget:
            return thin
    n_pinned = np.count_nonzero(edges.pinned)
    leverage = (edges.weight * resistance)[~edges.pinned]
    scale = scale_for(leverage, max(aim - n_pinned, 0.0))
    return thinned(edges, resistance, scale, n_nodes, seed=seed, n_bits=n_bits)


def _rejoined(thin, edges, resistance, scale, n_nodes):
    """Add the forest edges without which `thin` has more components than `edges`."""
    parent = roots(n_nodes)
    join(parent, thin.tail, thin.head)
    forest = np.flatnonzero(edges.pinned)
    lost = forest[join(parent, edges.tail[forest], edges.head[forest])]
    back = edges.select(lost)
    back = back._replace(weight=np.maximum(back.weight, 1 / (scale * resistance[lost])))
    return Kept(*map(np.concatenate, zip(thin, back, strict=True)))


def score(edges, n_nodes, *, n_probes, seed, ridge, clamp):
    """Sketched resistances of kept edges (no two parallel), and the sketch itself."""
    graph = EdgeList.from_clean(edges.tail, edges.head, edges.weight, n_nodes)
    ends = (edges.tail, edges.head, edges.weight)
    sketch = precise_embedding(graph, *ends, n_probes=n_probes, seed=seed, ridge=ridge, tol=_TOL)
    return sketched_resistances(sketch, *ends, clamp=clamp), sketch
