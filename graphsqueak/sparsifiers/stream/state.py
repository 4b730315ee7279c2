"""The state of a stream sparsifier: everything that the rest of the stream depends on.

    buffer            a weighted sample of the edges so far, a sparsifier of them
    degrees           the exact weighted degree of every node
    square_sums       the sum of the squared weights of its edges, for the error of random edges;
                      empty while all weights are 1, since the degrees are these sums then
    parent            a union-find structure: the components of all edges so far
    filter            the arrival filter of the last resparsification, if there was one
    cuts              weights of random cuts of all edges so far, to check the result

Weights are stored in units of `weight_scale`, a power of two near the first weight, which loses no
digit. The modules `resparsify`, `finalize` and `checkpoint` are functions of this state.

States of edge-disjoint parts of a graph can be merged. A state may also continue another one (its
*prefix*): it begins with the filter, the degrees and the components of that state but without its
edges, and samples its own part as a single pass would have done after the prefix. Such a state is
not a sparsifier by itself. It has to be merged with the *leader*, which has seen all parts from the
first on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.forest import (
    add_degrees,
    add_degrees_and_squares,
    append_growable,
    find_all,
    make_sets,
    union_edges,
)
from graphsqueak.randomness import child_seed
from graphsqueak.sparsifiers.budget import Budget, StreamOptions
from graphsqueak.sparsifiers.stream.arrival_filter import ArrivalFilter
from graphsqueak.sparsifiers.stream.coalesce import coalesce
from graphsqueak.sparsifiers.stream.cut_probes import RandomCuts
from graphsqueak.sparsifiers.stream.edge_buffer import EdgeBuffer, SampledEdges
from graphsqueak.sparsifiers.stream.priority_nodes import PriorityNodes

# A state as named arrays and as named numbers.
Arrays: TypeAlias = dict[str, np.ndarray]
Numbers: TypeAlias = dict[str, Any]

# Sampled edges number their ends in 32 bits.
MAX_NODES = np.iinfo(np.int32).max


@dataclass
class StreamState:
    """State of a stream sparsifier.

    Parameters
    ----------
    seed : int
        Key of all random numbers to come.
    ridge : float
        The ridge gamma of an (eps, gamma)-sparsifier.
    weight_scale : float
        Unit of weights and degrees, a power of two.
    buffer : EdgeBuffer
        The sampled edges.
    degrees : ndarray
        Exact weighted degrees.
    square_sums : ndarray
        For every node, the sum of the squared weights of its edges, in units of `weight_scale`
        squared. Empty while all weights are 1 in this unit: see `sums_of_squares`.
    parent : ndarray of int
        Union-find structure.
    n_unions : int
        Edges that joined two components: nodes minus components.
    n_seen : int
        Edges that have arrived.
    n_condensed : int
        Edges that had arrived when the sample was last brought to its budget (`engine.condense`).
    n_resparsifications : int
    cut_error : float
        Largest significant change of a bottleneck cut by a resparsification.
    cuts : RandomCuts
        In the unit of the input.
    filter : ArrivalFilter, optional
    priority : PriorityNodes
    prefix_degrees : ndarray
        Degrees, with the ridge, of the edges before this part; empty if it has no prefix.
    prefix_edges : int
        Number of these edges.
    is_leader : bool
        Whether other states continue this one.

    Examples
    --------
    >>> state = StreamState(seed=7)
    >>> state.grow(3)
    >>> state.count_edges(np.array([0, 1, 0]), np.array([1, 0, 2]), np.ones(3))
    array([ True, False,  True])
    >>> state.degrees, state.n_components
    (array([3., 2., 1.]), 1)
    """

    seed: int
    ridge: float = 0.0
    weight_scale: float = 1.0
    buffer: EdgeBuffer = field(default_factory=EdgeBuffer)
    degrees: np.ndarray = field(default_factory=lambda: np.zeros(0))
    square_sums: np.ndarray = field(default_factory=lambda: np.zeros(0))
    parent: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    n_unions: int = 0
    n_seen: int = 0
    n_condensed: int = 0
    n_resparsifications: int = 0
    cut_error: float = 0.0
    cuts: RandomCuts = field(default_factory=RandomCuts)
    filter: ArrivalFilter | None = None
    priority: PriorityNodes = field(default_factory=PriorityNodes)
    prefix_degrees: np.ndarray = field(default_factory=lambda: np.zeros(0))
    prefix_edges: int = 0
    is_leader: bool = False

    @property
    def n_nodes(self) -> int:
        return self.degrees.size

    @property
    def n_components(self) -> int:
        return self.n_nodes - self.n_unions

    @property
    def sums_of_squares(self) -> np.ndarray:
        """For every node, the sum of the squared weights of its edges, in squared units."""
        return self.square_sums if self.square_sums.size else self.degrees

    @property
    def total_edges(self) -> int:
        """Edges that have arrived, those of the prefix included."""
        return self.prefix_edges + self.n_seen

    def grow(self, n_nodes: int) -> None:
        """Add isolated nodes until there are `n_nodes`."""
        if n_nodes > MAX_NODES:
            raise InputError(
                f"{n_nodes:,} nodes are more than a stream can number ({MAX_NODES:,}); "
                "sparsify parts of the graph with fewer nodes"
            )
        if n_nodes > self.n_nodes:
            new = np.arange(self.n_nodes, n_nodes, dtype=np.int32)
            self.parent = append_growable(self.parent, new)
            self.degrees = append_growable(self.degrees, np.zeros(new.size))
            if self.square_sums.size:
                self.square_sums = append_growable(self.square_sums, np.zeros(new.size))
            self.priority.grow(n_nodes)

    def count_edges(self, tail: np.ndarray, head: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Update degrees and components; return which edges joined two components."""
        if self.square_sums.size == 0 and (weight != 1.0).any():
            # All weights so far were 1.
            self.square_sums = self.degrees.copy()
        if self.square_sums.size:
            add_degrees_and_squares(self.degrees, self.square_sums, tail, head, weight)
        else:
            add_degrees(self.degrees, tail, head, weight)
        in_forest = np.zeros(tail.size, dtype=np.bool_)
        if self.n_unions < self.n_nodes - 1:
            in_forest = union_edges(self.parent, tail, head)
            self.n_unions += int(np.count_nonzero(in_forest))
        return in_forest

    def append(self, edges: SampledEdges, *, n_arrived: int) -> None:
        """Add the edges that were sampled of `n_arrived` new ones."""
        self.buffer.append(edges)
        self.n_seen += n_arrived

    def replace_edges(self, edges: SampledEdges) -> None:
        """Replace the whole sample."""
        self.buffer = EdgeBuffer(edges)

    def take_buffer(self) -> EdgeBuffer:
        """Return the buffer and continue with an empty one, so that its memory can be reused."""
        buffer = self.buffer
        self.buffer = EdgeBuffer()
        return buffer

    def coalesce(self) -> SampledEdges:
        """Merge parallel edges of the sample and return it."""
        self.buffer.truncate(coalesce(self.buffer.edges(), self.n_nodes))
        return self.buffer.edges()

    def set_filter(self, arrival_filter: ArrivalFilter) -> None:
        """Sample the following edges by this filter."""
        self.filter = arrival_filter

    def drop_filter(self) -> None:
        """Keep every arriving edge; only the filter needs the degrees of the prefix."""
        self.filter = None
        self.prefix_degrees = self.prefix_degrees[:0]

    def set_oversampling(self, factor: float) -> None:
        """Choose the factor for edges at priority nodes."""
        self.priority = replace(self.priority, oversampling=factor)

    def refilter(self, arrival_filter: ArrivalFilter, *, block_size: int) -> None:
        """Put the sample to another filter, which also samples the following edges, in blocks."""
        self.filter = arrival_filter
        seed = self.resparsification_seed()
        sample_block = partial(arrival_filter.sample_edges, seed=seed, priority=self.priority)
        self.buffer.replace_blocks(sample_block, block_size)
        self.n_resparsifications += 1

    def record_resparsification(self, cut_error: float = 0.0) -> None:
        """Count a resparsification and the change that it made to bottleneck cuts."""
        self.n_resparsifications += 1
        self.cut_error = max(self.cut_error, cut_error)

    def resparsification_seed(self) -> int:
        """Return the seed of the next resparsification."""
        return child_seed(self.seed, self.n_resparsifications)

    def grounded_degrees(self) -> np.ndarray:
        """Return the degrees in the graph of all edges, with the ridge, those of the prefix too."""
        n_new = self.n_nodes - self.prefix_degrees.size
        prefix_degrees = np.pad(self.prefix_degrees, (0, n_new))
        return self.degrees + self.ridge / self.weight_scale + prefix_degrees

    def scaled(self, factor: float) -> Self:
        """Return the state of the same graph with all weights times `factor`; arrays are shared."""
        return replace(self, weight_scale=self.weight_scale * factor, cuts=self.cuts.scaled(factor))

    def continuation(self, *, ridge: float, seed: int) -> "StreamState | None":
        """Return a state without edges that continues this one; None without a filter."""
        if self.filter is None:
            return None
        prefix_degrees = self.grounded_degrees()
        return replace(
            self,
            seed=seed,
            ridge=ridge,
            buffer=EdgeBuffer(),
            degrees=np.zeros(self.n_nodes),
            square_sums=np.zeros(0),
            n_seen=0,
            n_condensed=0,
            n_resparsifications=1,
            cut_error=0.0,
            cuts=RandomCuts(n_nodes=self.n_nodes),
            filter=self.filter.refresh(prefix_degrees),
            prefix_degrees=prefix_degrees,
            prefix_edges=self.n_seen,
            is_leader=False,
        )

    @classmethod
    def merge(cls, states: Sequence[Self], node_maps: Sequence[np.ndarray], *, seed: int) -> Self:
        """Return the state of all edges that several states have seen.

        Degrees are added, components united and samples concatenated. Ridges add up: k states that
        are each accurate up to gamma are together accurate up to k gamma. If the first state is a
        leader, its filter goes on.

        Parameters
        ----------
        states : sequence of StreamState
        node_maps : sequence of ndarray of int
            Numbers of the nodes of each state in the merged one.
        seed : int
        """
        first = states[0]
        weight_scale = next((state.weight_scale for state in states if state.n_seen), 1.0)
        merged = cls(
            seed=seed,
            ridge=sum(state.ridge for state in states),
            weight_scale=weight_scale,
            n_seen=sum(state.n_seen for state in states),
            n_resparsifications=sum(state.n_resparsifications for state in states),
            cut_error=max(state.cut_error for state in states),
            priority=replace(first.priority, mask=np.zeros(0, dtype=np.bool_)),
        )
        merged.grow(1 + max(int(node_map.max(initial=-1)) for node_map in node_maps))
        merged.square_sums = np.zeros(merged.n_nodes)
        samples = []
        for state, node_map in zip(states, node_maps, strict=True):
            ratio = state.weight_scale / weight_scale
            merged.degrees[node_map] += state.degrees * ratio
            merged.square_sums[node_map] += state.sums_of_squares * ratio**2
            merged.priority.mask[node_map] |= state.priority.mask
            # Each node is united with the representative of its component.
            joined = union_edges(merged.parent, node_map, node_map[find_all(state.parent)])
            merged.n_unions += int(np.count_nonzero(joined))
            edges = state.buffer.edges()
            # Copies of large samples are avoided if nothing changes.
            if not _is_identity(node_map):
                edges = edges._replace(tail=node_map[edges.tail], head=node_map[edges.head])
            if ratio != 1.0:
                edges = edges._replace(weight=edges.weight * ratio)
            samples.append(edges)
        edges = SampledEdges(*map(np.concatenate, zip(*samples, strict=True)))

        # Some forest edges of the parts close a cycle in the union: the forest does not need them.
        forest = np.flatnonzero(edges.in_forest)
        edges.in_forest[forest] = union_edges(
            make_sets(merged.n_nodes), edges.tail[forest], edges.head[forest]
        )
        merged.buffer = EdgeBuffer(edges)
        merged.cuts = RandomCuts.merge(
            [state.cuts for state in states],
            merged.n_nodes,
            same_nodes=all(map(_is_identity, node_maps)),
        )
        if first.is_leader:
            merged.is_leader = True
            merged.filter = first.filter
        else:
            merged.prefix_edges = max(state.prefix_edges for state in states)
        return merged

    def to_arrays(self) -> tuple[Arrays, Numbers]:
        """Return the state as arrays and as numbers, for `from_arrays`."""
        arrays = self.buffer.edges()._asdict() | {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {"cut_table": self.cuts.table, "priority_mask": self.priority.mask}
        if self.filter is not None:
            arrays |= {f"filter_{name}": a for name, a in self.filter.to_arrays().items()}
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        numbers["priority_fraction"] = self.priority.fraction
        numbers["oversampling"] = self.priority.oversampling
        return arrays, numbers

    @classmethod
    def from_arrays(cls, arrays: Arrays, numbers: Numbers) -> Self:
        """Return the state on which `to_arrays` was called; it owns the arrays."""
        filter_arrays = {
            name.removeprefix("filter_"): array
            for name, array in arrays.items()
            if name.startswith("filter_")
        }
        values: Numbers = arrays | numbers
        return cls(
            **{name: values[name] for name in _NUMBERS + _ARRAYS},
            buffer=EdgeBuffer(SampledEdges(*(arrays[name] for name in SampledEdges._fields))),
            cuts=RandomCuts(arrays["cut_table"], arrays["degrees"].size),
            filter=ArrivalFilter.from_arrays(filter_arrays) if filter_arrays else None,
            priority=PriorityNodes(
                arrays["priority_mask"],
                fraction=numbers["priority_fraction"],
                oversampling=numbers["oversampling"],
            ),
        )


# Fields that are plain numbers and plain arrays, by their annotations.
_NUMBERS = tuple(f.name for f in fields(StreamState) if f.type in (int, float, bool))
_ARRAYS = tuple(f.name for f in fields(StreamState) if f.type is np.ndarray)


def _is_identity(node_map):
    return np.array_equal(node_map, np.arange(node_map.size))


@dataclass(frozen=True)
class StreamConfig:
    """Number of edges of a stream sparsifier, and options of its method."""

    budget: Budget
    options: StreamOptions

    def current_budget(self, state: StreamState) -> int:
        """Return the number of edges to aim at while the stream goes on."""
        return self.budget.during_stream(
            state.n_nodes, state.total_edges, least=self.options.min_budget
        )

    def watermarks(self, state: StreamState) -> tuple[float, float]:
        """Return the size at which the sample is resparsified, and the size to leave."""
        return self.options.watermarks(self.current_budget(state), state.n_nodes)

    def works_in_place(self, state: StreamState) -> bool:
        """Return whether the sample is so large that memory matters more than time."""
        return self.current_budget(state) >= self.options.inplace_min_edges
