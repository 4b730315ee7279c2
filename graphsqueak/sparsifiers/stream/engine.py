"""The engine of a stream sparsifier: edges in, a sparsifier out at any time.

`PracticalEngine` is the method of this package. `KelnerLevinEngine` (`kelner_levin`) overrides its
steps by those of the thesis. Both work on chunks that begin at fixed positions of the stream, so
that results do not depend on how the stream was cut into batches, nor on the number of threads.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from graphsqueak.solvers.matrix import power_of_two
from graphsqueak.sparsifiers.stream.cut_probes import N_STD_BY_CHANCE
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges, fits_float32
from graphsqueak.sparsifiers.stream.finalize import Finalized, finalize
from graphsqueak.sparsifiers.stream.resparsify import refilter, resparsify, resparsify_if_full
from graphsqueak.sparsifiers.stream.state import Arrays, Numbers, StreamConfig, StreamState
from graphsqueak.validation import check_span


class PracticalEngine:
    """The engine behind `StreamSparsifier(method="stream")`.

    Parameters
    ----------
    config : StreamConfig
    state : StreamState
    """

    def __init__(self, config: StreamConfig, state: StreamState) -> None:
        self.config = config
        self.state = state

    def ingest(self, tail: np.ndarray, head: np.ndarray, weight: np.ndarray, n_nodes: int) -> None:
        """Process edges between nodes 0, ..., n_nodes - 1."""
        self.state.grow(n_nodes)
        if tail.size and self.state.total_edges == 0:
            self.state = replace(self.state, weight_scale=power_of_two(weight[0]))
        state = self.state
        scale = state.weight_scale
        check_span(weight.min(initial=scale), weight.max(initial=scale))
        state.cuts.add(tail, head, weight, n_nodes)
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
        in_forest = state.count_edges(tail, head, weight)
        # The filter keeps edges that join two components with probability 1: without them the
        # sparsifier could lose a component of the graph.
        edges = SampledEdges(tail, head, weight, in_forest)
        if state.filter is not None:
            edges = state.filter.sample_edges(
                edges, state.n_seen, seed=state.seed, priority=state.priority
            )
        self._choose_precision(weight)
        state.append(edges, n_arrived=tail.size)

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

    def final_budget(self) -> int:
        """Return the number of edges of the sparsifier if the stream ended now."""
        return self.config.budget(self.state.n_nodes, self.state.total_edges)

    def finalize(
        self, n_edges: int, *, epsilon: float | None = None, consume: bool = False
    ) -> Finalized:
        """Return the sparsifier of all edges so far."""
        return finalize(self.state, self.config, n_edges, epsilon=epsilon, consume=consume)

    def merge(self, engines: Sequence, node_maps: Sequence[np.ndarray], *, seed: int) -> Self:
        """Return an engine with this configuration that has seen the edges of several.

        `node_maps` are the numbers of the nodes of each engine in the result.
        """
        state = StreamState.merge([engine.state for engine in engines], node_maps, seed=seed)
        merged = type(self)(self.config, state)
        if state.prefix_edges == 0:
            resparsify_if_full(state, self.config)
        if state.is_leader:
            merged.lead()
        return merged

    def lead(self) -> None:
        """Keep a filter for states that continue this one, and make one if edges are dropped."""
        self.state = replace(self.state, is_leader=True)
        if self.state.filter is None:
            _, low_watermark = self.config.watermarks(self.state)
            self._limit(low_watermark)

    def compact(self) -> None:
        """Make the state small before it is sent elsewhere."""
        state = self.state
        most = self.config.options.low_watermark * self.final_budget()
        # The filter of a leader, and samples that continue one, must stay as a single pass has
        # them.
        is_alone = not state.prefix_edges and not state.is_leader
        if state.buffer.n_edges > most and state.filter is not None and is_alone:
            refilter(state, self.config, most)
        state.coalesce()
        if not state.is_leader:
            state.drop_filter()

    def condense(self) -> None:
        """Resparsify the sample to the budget, if edges have arrived since, and compact it."""
        if self.state.n_seen == self.state.n_condensed:
            return
        # Independent sampling then stays within the budget.
        budget = self.config.current_budget(self.state)
        self._limit(budget - N_STD_BY_CHANCE * np.sqrt(budget))
        self.compact()
        self.state = replace(self.state, n_condensed=self.state.n_seen)

    def limit_memory(self, n_streams: int) -> None:
        """Reduce the sample before this many streams are merged in one process."""
        if self.config.options.memory_limit is not None and not self.state.prefix_edges:
            high_watermark, _ = self.config.watermarks(self.state)
            self._limit(high_watermark // n_streams)

    def _limit(self, n_edges):
        """Resparsify the sample if it has more than `n_edges` edges."""
        if self.state.buffer.n_edges > n_edges:
            resparsify(self.state, self.config, int(n_edges))

    def to_arrays(self) -> tuple[Arrays, Numbers]:
        """Return the state as arrays and numbers."""
        return self.state.to_arrays()

    def from_arrays(self, arrays: Arrays, numbers: Numbers) -> Self:
        """Return an engine of the same configuration with the state of `to_arrays`."""
        return type(self)(self.config, StreamState.from_arrays(arrays, numbers))
