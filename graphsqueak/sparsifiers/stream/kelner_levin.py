"""The resparsification chain of Kelner and Levin with the constants of the thesis.

Algorithm 11 of [C17], as corrected. A sampled edge has its original weight a, a probability p and q
of n_copies copies; its weight in the sparsifier H is a q / (n_copies p). A new edge has p = 1 and
all copies. To resparsify,

    p_e <- min(p_e, 1, a_e r_e(H)),     q_e ~ Binomial(q_e, p_new / p_old),     drop q_e = 0,

with the resistances of the current H, new edges included. Corrections to the printed listing:

* blocks of about n * n_copies edges instead of n_copies, which would cost O(n) work per edge;
* probabilities of at most 1;
* original weights a in p, but weights of H in r;
* one loop for old and new edges;
* the number of copies, see `kelner_levin_copies`.

The theorem is for exact resistances, which need a dense inverse. Those of larger graphs are
sketched by k random signs. A sketched resistance is below half of the true one with probability at
most exp(-k (ln 2 - 1/2) / 2). With k of about 10 ln(m b (b + 1) / delta), this happens to one of
the m edges of the b-th resparsification with probability delta / (b (b + 1)). These add up to
delta, however many resparsifications there are. Twice the sketch is then never too small, and a
probability that is too large costs edges, not accuracy.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Section 4.3.
"""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.randomness import Step, child_seed
from graphsqueak.sampling import Sample, expand, importance_weights, shrink
from graphsqueak.solvers.eigenpairs import MAX_DENSE_NODES
from graphsqueak.sparsifiers.budget import Budget, StreamOptions
from graphsqueak.sparsifiers.resistance.effective import resistances_in_memory
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.engine import PracticalEngine
from graphsqueak.sparsifiers.stream.finalize import Finalized
from graphsqueak.sparsifiers.stream.state import Arrays, Numbers, StreamConfig, StreamState
from graphsqueak.validation import check_count

# Number of edges for which the guarantee holds: the length of a stream is not known. There are
# fewer than n_edges / n_nodes resparsifications. Halved or doubled, copies change by 2 %.
_MAX_EDGES = 10**12
# Probability that the guarantee fails, and that some sketch is too small, as documented. Halved or
# doubled, copies change by 2 %.
_DELTA = 0.01


def kelner_levin_copies(
    epsilon: float, *, delta: float, n_nodes: int, n_resparsifications: int
) -> int:
    """Return the number of copies for an error epsilon with probability 1 - delta.

    n_copies >= 13 rho ln(3 n B / delta) / eps^2 with rho = (1 + eps) / (1 - eps), for B
    resparsifications with exact resistances [C17, Theorem 4.7]. The theorem prints 26 instead of
    13, and (1 + 3 eps) / (1 - eps) for rho. Without a ridge a merge adds no error, and the tail
    bound of the proof, 3 n exp(-eps^2 n_copies / (13 rho)) each time, needs half of it.

    Parameters
    ----------
    epsilon, delta : float
    n_nodes : int
    n_resparsifications : int
        Number B of resparsifications.

    Examples
    --------
    >>> kelner_levin_copies(0.5, delta=0.1, n_nodes=30, n_resparsifications=3)
    1233
    """
    rho = (1 + epsilon) / (1 - epsilon)
    return math.ceil(13 * rho * math.log(3 * n_nodes * n_resparsifications / delta) / epsilon**2)


class KelnerLevinEngine(PracticalEngine):
    """The engine behind `StreamSparsifier(method="kelner-levin")`.

    Its state holds the original weights of the sampled edges, without a forest and a filter.

    Parameters
    ----------
    n_copies : int
    state : StreamState
    """

    def __init__(self, n_copies: int, state: StreamState) -> None:
        # The number of copies replaces the budget.
        super().__init__(StreamConfig(Budget(None, None, None), StreamOptions()), state)
        self.n_copies = n_copies
        # Probabilities and copies of the edges in the buffer, in their order.
        self._sample = Sample(np.zeros(0, dtype=np.int64), np.ones(0), np.zeros(0, dtype=np.int64))
        self._n_after_last = 0  # edges that the last resparsification left

    def final_budget(self) -> int:
        """Return the largest number of edges after a resparsification, w.h.p.: 3 n_copies n."""
        return min(3 * self.n_copies * self.state.n_nodes, self.state.n_seen)

    def ingest(self, tail: np.ndarray, head: np.ndarray, weight: np.ndarray, n_nodes: int) -> None:
        """Expand by a block of edges, and resparsify when the sample has doubled."""
        state = self.state
        state.grow(n_nodes)
        state.cuts.add(tail, head, weight, n_nodes)
        state.count_edges(tail, head, weight)
        edges = SampledEdges.without_forest(tail, head, weight)
        start = 0
        while start < tail.size:
            n_sampled = state.buffer.n_edges
            most = max(state.n_nodes * self.n_copies, 2 * self._n_after_last)
            block = edges.select(slice(start, start + max(most - n_sampled, 1)))
            start += block.n_edges
            state.append(block, n_arrived=block.n_edges)
            new = np.arange(n_sampled, state.buffer.n_edges)
            self._sample = expand(self._sample, new, n_copies=self.n_copies)
            if state.buffer.n_edges >= most:
                sample = self._resparsified(state.n_resparsifications)
                state.replace_edges(state.buffer.edges().select(sample.index))
                state.record_resparsification()
                self._n_after_last = state.buffer.n_edges
                self._sample = sample._replace(index=np.arange(self._n_after_last))

    def _resparsified(self, key):
        seed = self.state.seed
        resistance = _upper_resistances(
            self._graph(self._sample),
            n_earlier=self.state.n_resparsifications,
            seed=child_seed(seed ^ key, Step.SKETCH),
        )
        score = np.minimum(self.state.buffer.edges().weight * resistance, 1.0)
        return shrink(self._sample, score, rng=np.random.default_rng(child_seed(seed, key)))

    def _graph(self, sample):
        edges = self.state.buffer.edges().select(sample.index)
        weight = edges.weight * importance_weights(sample, n_copies=self.n_copies)
        return edges._replace(weight=weight).to_edge_list(self.state.n_nodes)

    def finalize(
        self, n_edges: int, *, epsilon: float | None = None, consume: bool = False
    ) -> Finalized:
        """Return H after one more resparsification; the number of copies decides, not `n_edges`."""
        graph = self._graph(self._resparsified(Step.FINAL))
        edges = SampledEdges.without_forest(graph.tail, graph.head, graph.weight)
        # Weights are random even if every edge is kept.
        return Finalized(edges, is_exact=False)

    def merge(self, engines: Sequence, node_maps: Sequence[np.ndarray], *, seed: int) -> Self:
        """Return an engine with all samples and their probabilities."""
        if any(engine.n_copies != self.n_copies for engine in engines):
            raise InputError("streams with different n_copies cannot be merged")
        state = StreamState.merge([engine.state for engine in engines], node_maps, seed=seed)
        sample = map(np.concatenate, zip(*(engine._sample for engine in engines), strict=True))
        return self._with_sample(state, Sample(*sample), n_after_last=state.buffer.n_edges)

    def lead(self) -> None:
        """Do nothing: there is no filter that other streams could continue."""

    def compact(self) -> None:
        """Do nothing: the guarantee needs every copy."""

    def limit_memory(self, n_streams: int) -> None:
        """Do nothing: the guarantee needs every copy."""

    def to_arrays(self) -> tuple[Arrays, Numbers]:
        arrays, numbers = super().to_arrays()
        arrays |= {"sample_prob": self._sample.prob, "sample_copies": self._sample.copies}
        numbers["n_after_last"] = self._n_after_last
        return arrays, numbers

    def from_arrays(self, arrays: Arrays, numbers: Numbers) -> Self:
        state = StreamState.from_arrays(arrays, numbers)
        sample = self._sample._replace(prob=arrays["sample_prob"], copies=arrays["sample_copies"])
        return self._with_sample(state, sample, n_after_last=numbers["n_after_last"])

    def _with_sample(self, state, sample, *, n_after_last):
        """Return an engine with as many copies and another state."""
        engine = type(self)(self.n_copies, state)
        engine._sample = sample._replace(index=np.arange(state.buffer.n_edges))
        engine._n_after_last = n_after_last
        return engine


def kelner_levin_engine(
    epsilon: float | None, n_copies: int | None, *, seed: int
) -> KelnerLevinEngine:
    """Return the engine for an error, or for a number of copies instead."""
    if n_copies is None:
        epsilon = Budget(None, epsilon, None).validate().epsilon
        n_copies = kelner_levin_copies(
            epsilon, delta=_DELTA, n_nodes=_MAX_EDGES, n_resparsifications=1
        )
    return KelnerLevinEngine(check_count("n_copies", n_copies), StreamState(seed=seed))


def _upper_resistances(graph, *, n_earlier, seed):
    """Return exact resistances of small graphs, and twice the sketched ones of others.

    Parameters
    ----------
    graph : EdgeList
    n_earlier : int
        Number of resparsifications before this one.
    seed : int
    """
    if graph.n_nodes <= MAX_DENSE_NODES:
        return resistances_in_memory(graph, method="exact")
    # Edges of all resparsifications, weighted by b (b + 1) so that the union bound holds for any
    # number of them.
    n_events = graph.n_edges * (n_earlier + 1) * (n_earlier + 2) / _DELTA
    n_probes = math.ceil(2 / (math.log(2) - 0.5) * math.log(n_events))
    return 2 * resistances_in_memory(graph, method="sketch", n_probes=n_probes, random_state=seed)
