"""Engines of a stream sparsifier: edges in, a sparsifier out at any time.

`PracticalEngine` is the method of this package, `KelnerLevinEngine` (`kelner_levin`) that of the
thesis. Both work on chunks that begin at fixed positions of the stream, so that results do not
depend on how the stream was cut into batches, nor on the number of threads.
"""

from collections.abc import Collection, Sequence
from typing import Any, Protocol, Self

import numpy as np

from graphsqueak.nodes.numbering import Numbering
from graphsqueak.solvers.matrix import power_of_two
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges, fits_float32
from graphsqueak.sparsifiers.stream.finalize import Finalized, finalize
from graphsqueak.sparsifiers.stream.resparsify import refilter, resparsify, resparsify_if_full
from graphsqueak.sparsifiers.stream.state import StreamConfig, StreamState
from graphsqueak.validation import check_span

__all__ = ["PracticalEngine", "StreamEngine"]


class StreamEngine(Protocol):
    """Interface of the engines of a `StreamSparsifier`."""

    @property
    def seed(self) -> int: ...

    @property
    def n_nodes(self) -> int: ...

    @property
    def n_components(self) -> int: ...

    @property
    def n_seen(self) -> int: ...

    @property
    def n_sampled(self) -> int: ...

    @property
    def n_resparsifications(self) -> int: ...

    @property
    def degrees(self) -> np.ndarray: ...

    def ingest(self, tail: np.ndarray, head: np.ndarray, weight: np.ndarray, n_nodes: int) -> None:
        """Process edges between nodes 0, ..., n_nodes - 1."""

    def look_up_priority(self, numbering: Numbering, n_nodes: int, wanted: Collection) -> None:
        """Give priority to the nodes new in `numbering` that are among the `wanted` ids."""

    def final_budget(self) -> int:
        """Return the number of edges of the sparsifier if the stream ended now."""

    def finalize(
        self, n_edges: int, *, epsilon: float | None = None, consume: bool = False
    ) -> Finalized:
        """Return the sparsifier of all edges so far."""

    def merge(self, others: Sequence, node_maps: Sequence[np.ndarray], *, seed: int) -> Self:
        """Return an engine that has seen the edges of all.

        `node_maps` are the numbers of the nodes of each engine, this one first, in the result.
        """

    def set_ridge(self, ridge: float) -> None:
        """Change the ridge."""

    def compact(self) -> None:
        """Make the state small before it is sent elsewhere."""

    def limit_memory(self, n_streams: int) -> None:
        """Reduce the sample before this many streams are merged in one process."""

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the state as arrays and numbers."""

    def from_arrays(self, arrays: dict[str, np.ndarray], numbers: dict[str, Any]) -> Self:
        """Return an engine of the same configuration with the state of `to_arrays`."""


class PracticalEngine(StreamEngine):
    """The engine behind `StreamSparsifier(method="fast")`.

    Parameters
    ----------
    config : StreamConfig
    state : StreamState
    """

    def __init__(self, config: StreamConfig, state: StreamState) -> None:
        self.config = config
        self.state = state

    @property
    def seed(self) -> int:
        return self.state.seed

    @property
    def n_nodes(self) -> int:
        return self.state.n_nodes

    @property
    def n_components(self) -> int:
        return self.state.n_components

    @property
    def n_seen(self) -> int:
        return self.state.n_seen

    @property
    def n_sampled(self) -> int:
        return self.state.buffer.n_edges

    @property
    def n_resparsifications(self) -> int:
        return self.state.n_resparsifications

    @property
    def degrees(self) -> np.ndarray:
        """Exact weighted degrees, in the unit of the input."""
        return self.state.degrees * self.state.weight_scale

    def ingest(self, tail: np.ndarray, head: np.ndarray, weight: np.ndarray, n_nodes: int) -> None:
        state = self.state
        state.grow(n_nodes)
        if tail.size == 0:
            return
        if state.total_edges == 0:
            state.set_weight_scale(power_of_two(weight[0]))
        scale = state.weight_scale
        check_span(min(scale, weight.min()), max(scale, weight.max()))
        if scale != 1.0:
            weight = weight / scale
        chunk_size = self.config.options.chunk_size
        start = 0
        while start < tail.size:
            # Chunks begin at multiples of the chunk size, whatever the batches are.
            stop = min(start + chunk_size - state.n_seen % chunk_size, tail.size)
            self._ingest_chunk(tail[start:stop], head[start:stop], weight[start:stop])
            start = stop
            if state.n_seen % chunk_size == 0:
                resparsify_if_full(state, self.config)

    def _ingest_chunk(self, tail, head, weight):
        """Update degrees and components, and sample the chunk into the buffer."""
        state = self.state
        options = self.config.options
        in_forest = state.count_edges(tail, head, weight)
        index = slice(None)
        new_weight = weight
        if state.filter is not None:
            # Edges that join two components are kept with probability 1: without them the
            # sparsifier could lose a component of the graph.
            keep_always = in_forest if in_forest.any() else in_forest[:0]
            index, new_weight = state.filter.sample(
                tail,
                head,
                weight,
                keep_always,
                seed=state.seed,
                first_edge_index=state.n_seen,
                priority=state.priority,
            )
        self._choose_precision(weight)
        sampled = SampledEdges(
            tail=tail[index],
            head=head[index],
            weight=new_weight,
            in_forest=in_forest[index] & options.keep_spanning_forest,
        )
        state.append(sampled)
        state.count_seen(tail.size)

    def _choose_precision(self, weight):
        """Store large samples in single precision; until the first resparsification, if exact."""
        buffer = self.state.buffer
        is_possible = buffer.weight_dtype == np.float32 or buffer.n_edges == 0
        is_exact = self.state.n_resparsifications == 0
        is_single = (
            is_possible
            and self.config.works_in_place(self.state)
            and fits_float32(weight, exactly=is_exact)
        )
        buffer.set_weight_dtype(np.float32 if is_single else np.float64)

    def look_up_priority(self, numbering: Numbering, n_nodes: int, wanted: Collection) -> None:
        self.state.priority.look_up(numbering, n_nodes, wanted)

    def final_budget(self) -> int:
        return self.config.final_budget(self.state)

    def finalize(
        self, n_edges: int, *, epsilon: float | None = None, consume: bool = False
    ) -> Finalized:
        return finalize(self.state, self.config, n_edges, epsilon=epsilon, consume=consume)

    def resparsify(self, n_edges: int) -> None:
        """Sample the edges in the buffer down to about `n_edges`."""
        resparsify(self.state, self.config, n_edges)

    def merge(self, others: Sequence, node_maps: Sequence[np.ndarray], *, seed: int) -> Self:
        states = [engine.state for engine in (self, *others)]
        return self.from_states(self.config, states, node_maps, seed=seed)

    @classmethod
    def from_states(
        cls,
        config: StreamConfig,
        states: Sequence[StreamState],
        node_maps: Sequence[np.ndarray],
        *,
        seed: int,
    ) -> Self:
        """Return an engine with the merged states, resparsified if they are too large."""
        merged = cls(config, StreamState.merge(list(states), list(node_maps), seed=seed))
        if merged.state.prefix_edges == 0:
            resparsify_if_full(merged.state, config)
        if merged.state.is_leader:
            merged.lead()
        return merged

    def set_ridge(self, ridge: float) -> None:
        self.state.set_ridge(ridge)

    def lead(self) -> None:
        """Keep a filter for states that continue this one, and make one if edges are dropped."""
        self.state.lead()
        _, low_watermark = self.config.watermarks(self.state)
        if self.state.filter is None and self.n_sampled > low_watermark:
            self.resparsify(int(low_watermark))

    def continuation(self) -> "PracticalEngine | None":
        """Return an engine without edges that continues this one; None without a filter."""
        state = self.state.continuation()
        return None if state is None else PracticalEngine(self.config, state)

    def compact(self) -> None:
        state = self.state
        most = self.config.options.low_watermark * self.final_budget()
        # The filter of a leader, and samples that continue one, must stay as a single pass has
        # them.
        is_alone = not state.prefix_edges and not state.is_leader
        if self.n_sampled > most and state.filter is not None and is_alone:
            refilter(state, self.config, most)
        state.coalesce()
        if not state.is_leader:
            state.drop_filter()
            state.drop_prefix()

    def limit_memory(self, n_streams: int) -> None:
        if self.config.options.memory_limit is None or self.state.prefix_edges:
            return
        high_watermark, _ = self.config.watermarks(self.state)
        most = high_watermark // n_streams
        if self.n_sampled > most:
            self.resparsify(int(most))

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        return self.state.to_arrays()

    def from_arrays(self, arrays: dict[str, np.ndarray], numbers: dict[str, Any]) -> Self:
        return type(self)(self.config, StreamState.from_arrays(arrays, numbers))
