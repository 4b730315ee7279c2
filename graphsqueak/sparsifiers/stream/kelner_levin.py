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
* the number of copies, see `thesis_copies`.

The theorem is for exact resistances, which need a dense inverse. Above 1,000 nodes they are
sketched by k random signs. A sketched resistance is below half of the true one with probability at
most exp(-k (ln 2 - 1/2) / 2). With k of about 10 ln(m B / delta), all m edges in B
resparsifications have at least half of their resistance. Twice the sketch is then never too small,
and a probability that is too large costs edges, not accuracy.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Section 4.3.
"""

import math
from collections.abc import Collection, Sequence
from typing import Any, Self

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import add_degrees, append_growable, find_all, union_edges
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.randomness import Step, child_seed
from graphsqueak.sampling import Sample, expand, importance_weights, shrink
from graphsqueak.sampling import merge as merge_samples
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.resistance.effective import effective_resistance
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.engine import StreamEngine
from graphsqueak.sparsifiers.stream.finalize import Finalized
from graphsqueak.validation import check_count

__all__ = ["KelnerLevinEngine", "kelner_levin_engine", "thesis_copies"]

# Nodes up to which resistances are exact: a dense inverse of 1,000 nodes takes 0.1 s.
_MAX_NODES_EXACT = 1000
# Number of edges for which the guarantee holds: the length of a stream is not known.
_MAX_EDGES = 10**12
# Resparsifications of a run whose sketches are all large enough, and the probability that some
# sketch is not.
_MAX_RESPARSIFICATIONS = 100
_SKETCH_FAILURE_PROBABILITY = 0.01
# Probability that the guarantee fails.
_DELTA = 0.01


def thesis_copies(epsilon: float, *, delta: float, n_nodes: int, n_shrinks: int) -> int:
    """Return the number of copies for an error epsilon with probability 1 - delta.

    n_copies >= 13 rho ln(3 n B / delta) / eps^2 with rho = (1 + eps) / (1 - eps), for B
    resparsifications with exact resistances [C17, Theorem 4.7]. The theorem prints 26 instead of
    13, and (1 + 3 eps) / (1 - eps) for rho. Without a ridge a merge adds no error, and the tail
    bound of the proof, 3 n exp(-eps^2 n_copies / (13 rho)) each time, needs half of it.

    Parameters
    ----------
    epsilon, delta : float
    n_nodes : int
    n_shrinks : int
        Number B of resparsifications.

    Examples
    --------
    >>> thesis_copies(0.5, delta=0.1, n_nodes=30, n_shrinks=3)
    1233
    """
    rho = (1 + epsilon) / (1 - epsilon)
    return math.ceil(13 * rho * math.log(3 * n_nodes * n_shrinks / delta) / epsilon**2)


class KelnerLevinEngine(StreamEngine):
    """The engine behind `StreamSparsifier(method="thesis")`.

    Parameters
    ----------
    n_copies : int
    block_size : int, optional
        Edges between two resparsifications at least. Default: n_nodes * n_copies.
    seed : int
    """

    def __init__(self, n_copies: int, *, block_size: int | None = None, seed: int) -> None:
        self.n_copies = n_copies
        self.block_size = block_size
        self._seed = seed
        self._tail = np.zeros(0, dtype=np.int32)
        self._head = np.zeros(0, dtype=np.int32)
        self._weight = np.zeros(0)
        self._sample = Sample(np.zeros(0, dtype=np.int64), np.ones(0), np.zeros(0, dtype=np.int64))
        self._degrees = np.zeros(0)
        self._parent = np.zeros(0, dtype=np.int32)
        self._n_unions = 0
        self._n_seen = 0
        self._n_resparsifications = 0
        self._n_after_last = 0  # edges that the last resparsification left

    @property
    def seed(self) -> int:
        return self._seed

    @property
    def n_nodes(self) -> int:
        return self._degrees.size

    @property
    def n_components(self) -> int:
        return self.n_nodes - self._n_unions

    @property
    def n_seen(self) -> int:
        return self._n_seen

    @property
    def n_sampled(self) -> int:
        return self._sample.index.size

    @property
    def n_resparsifications(self) -> int:
        return self._n_resparsifications

    @property
    def degrees(self) -> np.ndarray:
        return self._degrees

    def final_budget(self) -> int:
        """Return the largest number of edges after a resparsification, w.h.p.: 3 n_copies n."""
        return min(3 * self.n_copies * self.n_nodes, self._n_seen)

    def ingest(self, tail: np.ndarray, head: np.ndarray, weight: np.ndarray, n_nodes: int) -> None:
        """Expand by a block of edges, and resparsify when the sample has doubled."""
        self._grow(n_nodes)
        add_degrees(self._degrees, tail, head, weight)
        self._n_unions += int(np.count_nonzero(union_edges(self._parent, tail, head)))
        block_size = self.block_size or self.n_nodes * self.n_copies
        start = 0
        while start < tail.size:
            most = max(block_size, 2 * self._n_after_last)
            stop = min(start + max(most - self.n_sampled, 1), tail.size)
            self._expand(tail[start:stop], head[start:stop], weight[start:stop])
            self._n_seen += stop - start
            start = stop
            if self.n_sampled >= most:
                self._keep(self._resparsified(self._n_resparsifications))
                self._n_resparsifications += 1

    def _grow(self, n_nodes):
        n_new = max(n_nodes - self.n_nodes, 0)
        new = np.arange(self.n_nodes, self.n_nodes + n_new, dtype=np.int32)
        self._parent = append_growable(self._parent, new)
        self._degrees = append_growable(self._degrees, np.zeros(n_new))

    def _expand(self, tail, head, weight):
        first = self._tail.size
        self._tail = np.concatenate([self._tail, tail])
        self._head = np.concatenate([self._head, head])
        self._weight = np.concatenate([self._weight, weight])
        index = np.arange(first, first + tail.size)
        self._sample = expand(self._sample, index, n_copies=self.n_copies)

    def _resparsified(self, key):
        graph = self._graph(self._sample)
        resistance = _upper_resistances(graph, seed=child_seed(self._seed ^ key, Step.SKETCH))
        score = np.minimum(self._weight[self._sample.index] * resistance, 1.0)
        rng = np.random.default_rng(child_seed(self._seed, key))
        return shrink(self._sample, score, rng=rng)

    def _keep(self, sample):
        self._tail = self._tail[sample.index]
        self._head = self._head[sample.index]
        self._weight = self._weight[sample.index]
        self._sample = sample._replace(index=np.arange(sample.index.size))
        self._n_after_last = sample.index.size

    def _graph(self, sample):
        weight = self._weight[sample.index] * importance_weights(sample, n_copies=self.n_copies)
        return EdgeList.from_validated(
            self._tail[sample.index], self._head[sample.index], weight, self.n_nodes
        )

    def finalize(
        self, n_edges: int, *, epsilon: float | None = None, consume: bool = False
    ) -> Finalized:
        """Return H after one more resparsification; the number of copies decides, not `n_edges`."""
        graph = self._graph(self._resparsified(Step.FINAL))
        edges = SampledEdges(
            tail=graph.tail,
            head=graph.head,
            weight=graph.weight,
            in_forest=np.zeros(graph.n_edges, dtype=np.bool_),
        )
        # Weights are random even if every edge is kept.
        return Finalized(edges, is_exact=False)

    def merge(self, others: Sequence, node_maps: Sequence[np.ndarray], *, seed: int) -> Self:
        """Return an engine with all samples and their probabilities."""
        if any(engine.n_copies != self.n_copies for engine in others):
            raise InputError("streams with different n_copies cannot be merged")
        merged = type(self)(self.n_copies, block_size=self.block_size, seed=seed)
        merged._grow(1 + max(int(node_map.max(initial=-1)) for node_map in node_maps))
        for engine, node_map in zip((self, *others), node_maps, strict=True):
            merged._take_over(engine, node_map)
        merged._n_after_last = merged.n_sampled
        return merged

    def _take_over(self, other, node_map):
        self._degrees[node_map] += other._degrees
        # Each node is united with the representative of its component.
        joined = union_edges(self._parent, node_map, node_map[find_all(other._parent)])
        self._n_unions += int(np.count_nonzero(joined))
        sample = other._sample._replace(index=other._sample.index + self._tail.size)
        self._sample = merge_samples(self._sample, sample)
        self._tail = np.concatenate([self._tail, node_map[other._tail]])
        self._head = np.concatenate([self._head, node_map[other._head]])
        self._weight = np.concatenate([self._weight, other._weight])
        self._n_seen += other._n_seen
        self._n_resparsifications += other._n_resparsifications

    def look_up_priority(self, numbering: Numbering, n_nodes: int, wanted: Collection) -> None:
        """Do nothing: the guarantee is for all edges alike."""

    def set_ridge(self, ridge: float) -> None:
        if ridge > 0:
            raise InputError("method='thesis' has no ridge")

    def compact(self) -> None:
        """Do nothing: the guarantee needs every copy."""

    def limit_memory(self, n_streams: int) -> None:
        """Do nothing: the guarantee needs every copy."""

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays: dict[str, np.ndarray] = {
            "tail": self._tail,
            "head": self._head,
            "weight": self._weight,
            "degrees": self._degrees,
            "parent": self._parent,
        }
        arrays |= {f"sample_{name}": a for name, a in self._sample._asdict().items()}
        numbers = {
            "seed": self._seed,
            "n_copies": self.n_copies,
            "block_size": self.block_size,
            "n_unions": self._n_unions,
            "n_seen": self._n_seen,
            "n_resparsifications": self._n_resparsifications,
            "n_after_last": self._n_after_last,
        }
        return arrays, numbers

    def from_arrays(self, arrays: dict[str, np.ndarray], numbers: dict[str, Any]) -> Self:
        engine = type(self)(
            numbers["n_copies"], block_size=numbers["block_size"], seed=numbers["seed"]
        )
        engine._tail = arrays["tail"]
        engine._head = arrays["head"]
        engine._weight = arrays["weight"]
        engine._degrees = arrays["degrees"]
        engine._parent = arrays["parent"]
        engine._sample = Sample(*(arrays[f"sample_{name}"] for name in Sample._fields))
        engine._n_unions = numbers["n_unions"]
        engine._n_seen = numbers["n_seen"]
        engine._n_resparsifications = numbers["n_resparsifications"]
        engine._n_after_last = numbers["n_after_last"]
        return engine


def kelner_levin_engine(
    epsilon: float | None, n_copies: int | None, *, seed: int
) -> KelnerLevinEngine:
    """Return the engine for an error, or for a number of copies instead."""
    if n_copies is None:
        epsilon = Budget(None, epsilon, None).validate().epsilon
        n_copies = thesis_copies(epsilon, delta=_DELTA, n_nodes=_MAX_EDGES, n_shrinks=1)
    return KelnerLevinEngine(check_count("n_copies", n_copies), seed=seed)


def _upper_resistances(graph, *, seed, max_nodes_exact=_MAX_NODES_EXACT):
    """Return exact resistances of small graphs, and twice the sketched ones of others."""
    if graph.n_nodes <= max_nodes_exact:
        return effective_resistance(graph, method="exact")
    n_events = graph.n_edges * _MAX_RESPARSIFICATIONS / _SKETCH_FAILURE_PROBABILITY
    n_probes = math.ceil(2 / (math.log(2) - 0.5) * math.log(n_events))
    return 2 * effective_resistance(graph, method="sketch", n_probes=n_probes, random_state=seed)
