"""The stream engine: keep a small weighted edge set that stays a sparsifier of all edges so far.

Edges are absorbed in chunks that begin at fixed positions of the stream, so that what is kept does
not depend on how the stream was cut into batches, nor on threads. Per chunk, a union-find pins the
edges that join components, the exact degrees grow, and the arrival filter thins the rest. When the
kept edges outgrow their room they are put to the filter again, at a lower scale, as long as its
resistances are right. Where they are not, edges are coalesced, scored by sketched effective
resistances and thinned: an edge of weight w and resistance r stays with probability min(1, c w r),
where the scale c makes the probabilities sum to the budget; by Foster's theorem c is about the
budget per node. This is the loop of [C17, Algorithm 11] as corrected: blocks as large as the kept
set, p capped at 1, original weights in the probabilities.

`last_shrink` makes of what is kept the sparsifier that was promised.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Section 4.3.
"""

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import add_degrees, append_growable, find_all, union_edges
from graphsqueak.randomness import child_seed
from graphsqueak.sampling import find_scale
from graphsqueak.solvers.matrix import power_of_two
from graphsqueak.sparsifiers.resistance import degrees
from graphsqueak.sparsifiers.resistance.sketch import precise_embedding, sketch_resistances
from graphsqueak.sparsifiers.stream.arrivals import ArrivalFilter, Favored
from graphsqueak.sparsifiers.stream.edges import (
    KeptBuffer,
    KeptEdges,
    coalesce,
    copies_kind,
    fits_single,
    repeated_share,
)
from graphsqueak.sparsifiers.stream.in_place import coalesce_in_place, stricter_filter
from graphsqueak.sparsifiers.stream.last_shrink import LAST_ROOM, last_shrink
from graphsqueak.sparsifiers.stream.merging import TooMany, merge_engines
from graphsqueak.sparsifiers.stream.probes import WeakCuts
from graphsqueak.sparsifiers.stream.stream_engine import StreamEngine
from graphsqueak.sparsifiers.stream.thinning import thin_edges
from graphsqueak.system.memory import release_memory
from graphsqueak.validation import check_span

__all__ = ["Engine"]

_MOST_NODES = np.iinfo(np.int32).max  # kept edges number their ends in 32 bits
_OVER_FOREST = 1.5  # times the forest: a shrink leaves at least as many edges
_FEW_REPEATS = 0.25  # of the edges: so many may stay parallel until the end
_MANY_EDGES = 2**20  # for which a look at repeats is worth it
_SOME = 2**16  # edges of a state for which it is
_FEW = 5.0  # edges a node that are kept: with fewer, resistances had better be too large


class Engine(StreamEngine):
    """The fast engine; `budget(n_nodes, n_seen)` is the number of edges wanted at the end."""

    def __init__(self, budget, options, *, ridge, seed):
        self.budget, self.options, self.ridge, self.seed = budget, options, ridge, seed
        self.buffer = KeptBuffer(n_copies=options.n_copies)
        self.degree = np.zeros(0)
        self.parent = np.zeros(0, dtype=np.int32)
        self.n_joins = self.n_seen = self.n_shrinks = 0
        self.cut_error = self.result_error = 0.0
        self.predicted = None  # the error of the last result
        self.error_curve = None  # predicted error by number of edges, if the budget is an error
        self.is_result_whole = None  # whether the last result has all edges
        self.per_node = np.inf  # budget a node that the filter's scale is for
        self.filter = None
        self.n_by_degrees = 0  # edges seen when the filter was made, if it is one by degrees
        self.unit = 1.0
        self.favored = Favored()
        self.base = np.zeros(0)  # degrees, and ...
        self.n_before = 0  # ... number of the edges that a guide has seen (see `merging`)
        self.leads = 0  # 1 where others follow

    @property
    def n_nodes(self):
        return self.degree.size

    @property
    def n_kept(self):
        return self.buffer.size

    def absorb(self, tail, head, weight, n_nodes):
        """Take in edges between nodes 0, ..., n_nodes - 1.

        Weights are held in units of a power of two near the first one, which is exact.
        """
        self.grow(n_nodes)
        self.predicted = None
        self.error_curve = None
        self.is_result_whole = None
        if self.n_before + self.n_seen == 0 and tail.size:
            self.unit = power_of_two(weight[0])
        if tail.size:
            check_span(min(self.unit, weight.min()), max(self.unit, weight.max()))
        if self.unit != 1.0:
            weight = weight / self.unit
        start, chunk = 0, self.options.chunk
        while start < tail.size:
            stop = min(start + chunk - self.n_seen % chunk, tail.size)
            self._absorb_chunk(tail[start:stop], head[start:stop], weight[start:stop])
            self.n_seen += stop - start
            start = stop
            if self.n_seen % chunk == 0:
                self.shrink_if_full()

    def favor(self, numbering, n_nodes, wanted):
        self.favored.look_up(numbering, n_nodes, wanted)

    def grow(self, n_nodes):
        """Have so many nodes at least."""
        if n_nodes > _MOST_NODES:
            raise InputError(
                f"{n_nodes:,} nodes are more than a stream can number ({_MOST_NODES:,}); "
                "sparsify parts of the graph with fewer nodes"
            )
        if n_nodes > self.n_nodes:
            new = np.arange(self.n_nodes, n_nodes, dtype=np.int32)
            self.parent = append_growable(self.parent, new)
            self.degree = append_growable(self.degree, np.zeros(new.size))
            self.favored.grow_to(n_nodes)

    def _absorb_chunk(self, tail, head, weight):
        add_degrees(self.degree, tail, head, weight)
        pinned, n_joins = np.zeros(tail.size, dtype=np.bool_), self.n_joins
        if n_joins < self.n_nodes - 1:
            pinned = union_edges(self.parent, tail, head)
            self.n_joins += int(np.count_nonzero(pinned))
        index, new = slice(None), weight
        if self.filter is not None:
            certain = pinned if self.n_joins > n_joins else pinned[:0]
            key = {"seed": self.seed, "first": self.n_seen, "favored": self.favored}
            index, new = self.filter.sample(tail, head, weight, certain, **key)
        self._choose_precision(weight)
        copies = np.full(new.size, self.options.n_copies, copies_kind(self.options.n_copies))
        most, _ = self.most_kept
        forest = pinned[index] & self.options.pin_forest
        edges = KeptEdges(tail[index], head[index], new, copies, forest)
        self.buffer.append(edges, room=int(min(most, _MOST_NODES)) + self.options.chunk)

    @property
    def is_large(self):
        """Whether edges are so many that they are kept in little memory and thinned in place."""
        return self.options.n_copies == 1 and self._budget_now() >= self.options.many_edges

    def _choose_precision(self, weight):
        """Weights of many edges have single precision; exactly, until the first shrink."""
        is_open = self.buffer.precision == np.float32 or self.buffer.size == 0
        fits = self.is_large and is_open and fits_single(weight, exactly=self.n_shrinks == 0)
        self.buffer.hold_weights_as(np.float32 if fits else np.float64)

    def _budget_now(self):
        """Edges that the budget allows while the stream goes on."""
        least = self.options.least_share
        return self.budget.during(self.n_nodes, self.n_before + self.n_seen, least=least)

    @property
    def most_kept(self):
        """Edges beyond which to shrink now, and how many to leave."""
        return self.options.most_kept(self._budget_now(), self.n_nodes)

    def shrink_if_full(self):
        """Look at the room that is left; who follows a guide is not shrunk, but given up."""
        room, target = self.most_kept
        if self.buffer.size > room:
            if self.n_before:
                raise TooMany
            if self.can_sweep:
                self.sweep(target + (room - target) / 3)
            if self.buffer.size > (room + target) / 2:
                self.shrink(int(target))
        elif self.filter is not None and self._filter_is_due():
            self._refresh_filter()

    def _filter_is_due(self):
        """Not more often than once per node: the work stays constant per edge."""
        return self.n_seen // self.options.chunk % (1 + self.n_nodes // self.options.chunk) == 0

    def _refresh_filter(self):
        """Bring the filter up to the present degrees, and to a budget that has grown with them."""
        self.filter = self.filter.refresh(self.grounded_degree)
        growth = self._budget_now() / self.n_nodes / self.per_node
        if self.budget.keep is not None and growth > 1:
            self.filter = self.filter._replace(scale=self.filter.scale * growth)
            self.per_node *= growth

    @property
    def can_sweep(self):
        return self.filter is not None and self.options.n_copies == 1

    def sweep(self, target, *, is_new=False):
        """Put the kept edges to the filter again, now that degrees have grown: no solve is needed.

        Its scale falls to what leaves `target` edges, if its resistances are still right. Where
        they are not, or nodes are new, little falls and a shrink follows.
        """
        self._refresh_filter()
        columns = (self.buffer.edges(), self.n_nodes, target, self.favored)
        self.filter = stricter_filter(self.filter, *columns, is_new=is_new)
        self.per_node = self._budget_now() / self.n_nodes
        seed = child_seed(self.seed, self.n_shrinks)
        self.buffer.replace(self.filter.sweeper(self.favored, seed))
        self.n_shrinks += 1

    def shrink(self, target):
        """Thin what is kept to about `target` edges, never below the forest."""
        if self.is_large and fits_single(self.buffer.edges().weight):
            self.buffer.hold_weights_as(np.float32)  # what is thinned is not exact any more
        edges, sketch = self.buffer.edges(), None
        if edges.tail.size > _MANY_EDGES and repeated_share(*edges[:2]) <= _FEW_REPEATS:
            sketch = self._sketch_degrees(edges, self.n_shrinks)
        if sketch is None:
            edges = self._coalesce_buffer()
        target = max(target, int(_OVER_FOREST * np.count_nonzero(edges.pinned)))
        if edges.tail.size > target:
            sketch = sketch or self._sketch_degrees(edges, self.n_shrinks)
        if sketch is not None:  # the filter thins what is kept, and no resistance is written down
            self.filter = ArrivalFilter.from_sketch(sketch, find_all(self.parent))
            self.sweep(target, is_new=True)
            self.n_by_degrees = self.n_seen
        else:
            if edges.tail.size > target:
                self._shrink_by_solving(edges, target)
            self.n_shrinks += 1
        if not self.options.filter_arrivals:
            self.filter = None

    def _shrink_by_solving(self, edges, target):
        resistance, sketch = self.score(edges, self.options.n_probes, self.n_shrinks)
        resistance, self.favored.boost = self.favored.boost_edges(edges, resistance, target)
        free, seed = ~edges.pinned, child_seed(self.seed, self.n_shrinks)
        n_free = target - edges.tail.size + np.count_nonzero(free)
        scale = find_scale((edges.weight * resistance)[free], n_free)
        thinned = thin_edges(edges, resistance, scale, self.n_nodes, seed=seed)
        if sketch.has_weak_cuts:
            weak_cuts = WeakCuts.of(edges, self.n_nodes).weighed(edges)
            change = weak_cuts.odd_change(thinned, 6)
            self.cut_error = max(self.cut_error, change)
        self.buffer = KeptBuffer(thinned)
        self.filter = ArrivalFilter.from_sketch(sketch, find_all(self.parent), scale)
        self.per_node, self.n_by_degrees = self._budget_now() / self.n_nodes, 0

    def _coalesce_buffer(self):
        edges = self.coalesced(self.buffer.edges())
        self.buffer = self.buffer if self.is_large else KeptBuffer(edges)
        self.buffer.cut(edges.tail.size)
        return edges

    def coalesced(self, edges):
        """Kept edges with those that are parallel added up, in place if they are many."""
        if not self.is_large:
            return coalesce(edges, self.n_nodes, n_copies=self.options.n_copies)
        return edges.select(slice(0, coalesce_in_place(edges, self.n_nodes)))

    def score(self, edges, n_probes, number):
        """Resistances of coalesced edges, and their sketch; `number` keys the random signs."""
        ends, graph = edges[:3], EdgeList.from_validated(*edges[:3], self.n_nodes)
        seed, ridge = child_seed(self.seed, number) >> 1, self.ridge / self.unit
        sketch = precise_embedding(graph, *ends, n_probes=n_probes, seed=seed, ridge=ridge)
        return sketch_resistances(sketch, *ends, clamp=self.options.clamp), sketch

    def score_by_degrees(self, edges, number):
        """Resistances without a solve, by the filter if it is still right; None if not enough."""
        degree = self.grounded_degree
        if self.n_by_degrees and self.filter is not None:
            resistance = degrees.degree_resistances(self.filter.points, degree, *edges[:3])
            if degrees.leverages_fit(resistance, edges.weight, self.n_nodes):
                return resistance
        sketch = self._sketch_degrees(edges, number)
        if sketch is None:
            return None
        points = sketch.points / np.float32(np.sqrt(sketch.points.shape[1]))
        return degrees.degree_resistances(points, degree, *edges[:3])

    def _sketch_degrees(self, edges, number):
        unsuited = self.options.n_copies > 1 or not self.options.clamp
        if unsuited or self.n_nodes < self.options.many_nodes:
            return None
        seed, ridge = child_seed(self.seed, number) >> 1, self.ridge / self.unit
        columns = (*edges[:3], edges.pinned, self.grounded_degree)
        how = {"is_averaged": self._budget_now() >= _FEW * self.n_nodes, "ridge": ridge}
        sketch = degrees.degree_sketch(*columns, seed=seed, **how)
        if self.is_large:
            release_memory()
        return sketch

    @property
    def grounded_degree(self):
        """Degrees, with those of the guide and of the ground."""
        degree = self.degree + self.ridge / self.unit if self.ridge else self.degree
        if self.base.size:
            degree = degree + np.pad(self.base, (0, self.n_nodes - self.base.size))
        return degree

    def final_edges(self, budget, *, epsilon=None, use_up=False):
        """The sparsifier of all edges so far, of at most `budget` edges.

        With `epsilon`, it has as many edges as that error is predicted to need.
        """
        return last_shrink(self, budget, epsilon=epsilon, use_up=use_up)

    def merge(self, others, numbers, *, seed):
        """An engine that has seen all streams; `numbers` are the others' nodes in our numbering."""
        numbers = [np.arange(self.n_nodes, dtype=np.int32), *numbers]
        return merge_engines([self, *others], numbers, seed=seed)

    def settle(self):
        """Filter what is many, add up many parallels, and forget the filter unless this leads."""
        most = LAST_ROOM * self.budget(self.n_nodes, self.n_before + self.n_seen)
        if self.buffer.size > most and self.can_sweep and not self.n_before and not self.leads:
            self.sweep(most)
        ends = self.buffer.edges()[:2]
        if self.n_nodes and (self.buffer.size < _SOME or repeated_share(*ends) > _FEW_REPEATS):
            self._coalesce_buffer()
        if not self.leads:
            self.filter, self.base = None, self.base[:0]

    def make_room(self, n_streams):
        """Before as many streams are merged: where memory is limited, keep to a share of it."""
        if self.options.memory_limit is not None and not self.n_before:
            most = self.most_kept[0] // n_streams
            if self.buffer.size > most:
                self.shrink(int(most))

    def state(self):
        arrays = self.buffer.edges()._asdict() | {"degree": self.degree, "parent": self.parent}
        if self.favored.mask.any():
            arrays |= {"favored": self.favored.mask, "boost": np.array(self.favored.boost)}
        if self.base.size:
            arrays |= {"base": self.base}
        if self.filter is not None:
            arrays |= {f"filter_{name}": part for name, part in self.filter.to_arrays().items()}
        numbers = ("n_joins", "n_seen", "n_shrinks", "n_by_degrees", "cut_error", "per_node")
        numbers += ("seed", "unit", "n_before", "leads")
        return arrays, {name: getattr(self, name) for name in numbers}

    def restore(self, state):
        arrays, numbers = state
        edges = KeptEdges(*(arrays[name] for name in KeptEdges._fields))
        copies = edges.copies.astype(copies_kind(self.options.n_copies))
        self.buffer = KeptBuffer(edges._replace(copies=copies))
        self.degree, self.parent = arrays["degree"], arrays["parent"]
        self.favored.mask = arrays.get("favored", np.zeros(self.n_nodes, np.bool_))
        self.favored.boost = float(arrays.get("boost", 1.0))
        self.base = arrays.get("base", np.zeros(0))
        self.__dict__.update(numbers)
        if "filter_scale" in arrays:
            parts = {name: arrays[f"filter_{name}"] for name in ArrivalFilter._fields}
            self.filter = ArrivalFilter.from_arrays(parts)
