"""Algorithm 11 of the thesis, as corrected: copies, binomial thinning, proof constants.

A kept edge has its original weight a, a probability p and q of n_copies copies; its weight in H is
a q / (n_copies p). A new edge has p = 1 and all copies. To resparsify,

    p_e <- min(p_e, 1, a_e r_e(H)),     q_e ~ Binomial(q_e, p_new / p_old),     drop q_e = 0,

with the resistances of the present H, new edges included. Corrections to the printed listing
[C17, Algorithm 11]: blocks of about n * n_copies edges instead of n_copies (the printed size costs
O(n) work per edge); the cap at 1; original weights a in p, but weights of H in r; one loop for old
and new edges; and the number of copies, see `thesis_copies`.

The theorem is for exact resistances, which cost a dense inverse. Above 1,000 nodes they are
sketched by k random signs, and a sketched resistance is below half of the true one with probability
at most exp(-k (ln 2 - 1/2) / 2), so that k of about 10 ln(m B / delta) make all of m edges in B
resparsifications at least half. Twice the sketch then is never too small, and a p that is too large
costs edges, not accuracy.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Section 4.3.
"""

import math

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import add_degrees, append_growable, find_all, union_edges
from graphsqueak.randomness import Step, child_seed
from graphsqueak.sampling import Sample, expand, importance_weights, shrink
from graphsqueak.sampling import merge as merge_samples
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.resistance.effective import effective_resistance
from graphsqueak.sparsifiers.stream.edges import KeptEdges
from graphsqueak.sparsifiers.stream.stream_engine import StreamEngine
from graphsqueak.validation import check_count

__all__ = ["ThesisEngine", "thesis_copies", "thesis_engine"]

_MOST_EDGES = 10**12  # for which the guarantee is made when nothing is known beforehand

_FEW_NODES = 1000  # up to here resistances are exact
_MOST_SHRINKS, _DELTA = 100, 0.01  # of a run whose sketches are all large enough, but for delta


def thesis_copies(epsilon: float, *, delta: float, n_nodes: int, n_shrinks: int) -> int:
    """Copies for which all sparsifiers of a run hold with probability 1 - delta [C17, Thm 4.7].

    n_copies >= 13 rho ln(3 n B / delta) / eps^2, rho = (1 + eps) / (1 - eps), for B
    resparsifications with exact resistances. The theorem prints 26 for 13 and
    (1 + 3 eps) / (1 - eps) for rho: without a ridge a merge adds no error, and the proof's tail
    bound, 3 n exp(-eps^2 n_copies / (13 rho)) each time, needs half of it.

    >>> thesis_copies(0.5, delta=0.1, n_nodes=30, n_shrinks=3)
    1233
    """
    rho = (1 + epsilon) / (1 - epsilon)
    return math.ceil(13 * rho * math.log(3 * n_nodes * n_shrinks / delta) / epsilon**2)


def _safe_resistances(graph, *, seed, few_nodes=_FEW_NODES):
    """Exact resistances of the edges of small graphs, twice the sketched ones of others."""
    if graph.n_nodes <= few_nodes:
        return effective_resistance(graph, method="exact")
    n_probes = math.ceil(2 / (math.log(2) - 0.5) * math.log(graph.n_edges * _MOST_SHRINKS / _DELTA))
    return 2 * effective_resistance(graph, method="sketch", n_probes=n_probes, random_state=seed)


class ThesisEngine(StreamEngine):
    """The chain of copies behind `StreamSparsifier(method="thesis")`."""

    unit = 1.0
    ridge = 0.0
    result_error = 0.0  # no cut is looked at
    error_curve = None  # the number of copies decides, not a number of edges
    is_result_whole = False  # weights are random even if every edge is kept

    def __init__(self, n_copies, *, block=None, seed):
        self.n_copies, self.block, self.seed = n_copies, block, seed
        self.tail = self.head = np.zeros(0, dtype=np.int32)
        self.weight = np.zeros(0)
        self.sample = Sample(np.zeros(0, np.int64), np.ones(0), np.zeros(0, np.int64))
        self.degree = np.zeros(0)
        self.parent = np.zeros(0, dtype=np.int32)
        self.n_joins = self.n_seen = self.n_shrinks = self.n_after = 0

    @property
    def n_nodes(self):
        return self.degree.size

    @property
    def n_kept(self):
        return self.sample.index.size

    def budget(self, n_nodes, n_seen):
        """Largest number of edges after a resparsification, w.h.p.: 3 n_copies n."""
        return min(3 * self.n_copies * n_nodes, n_seen)

    def absorb(self, tail, head, weight, n_nodes):
        """Expand by a block of edges; resparsify when the kept ones have doubled."""
        more = max(n_nodes - self.n_nodes, 0)
        nodes = np.arange(self.n_nodes, self.n_nodes + more, dtype=np.int32)
        self.parent = append_growable(self.parent, nodes)
        self.degree = append_growable(self.degree, np.zeros(more))
        add_degrees(self.degree, tail, head, weight)
        self.n_joins += int(np.count_nonzero(union_edges(self.parent, tail, head)))
        block = self.block or self.n_nodes * self.n_copies
        start = 0
        while start < tail.size:
            room = max(block, 2 * self.n_after) - self.n_kept
            stop = min(start + max(room, 1), tail.size)
            self._expand(tail[start:stop], head[start:stop], weight[start:stop])
            self.n_seen += stop - start
            start = stop
            if self.n_kept >= max(block, 2 * self.n_after):
                self._keep(self._resparsify(self.n_shrinks))
                self.n_shrinks += 1

    def _expand(self, tail, head, weight):
        first = self.tail.size
        self.tail = np.concatenate([self.tail, tail])
        self.head = np.concatenate([self.head, head])
        self.weight = np.concatenate([self.weight, weight])
        index = np.arange(first, first + tail.size)
        self.sample = expand(self.sample, index, n_copies=self.n_copies)

    def _resparsify(self, number):
        graph = self._graph(self.sample)
        resistance = _safe_resistances(graph, seed=child_seed(self.seed ^ number, Step.SKETCH))
        score = np.minimum(self.weight[self.sample.index] * resistance, 1.0)
        rng = np.random.default_rng(child_seed(self.seed, number))
        return shrink(self.sample, score, rng=rng)

    def _keep(self, sample):
        self.tail, self.head = self.tail[sample.index], self.head[sample.index]
        self.weight = self.weight[sample.index]
        self.sample = sample._replace(index=np.arange(sample.index.size))
        self.n_after = sample.index.size

    def _graph(self, sample):
        weight = self.weight[sample.index] * importance_weights(sample, n_copies=self.n_copies)
        tail, head = self.tail[sample.index], self.head[sample.index]
        return EdgeList.from_validated(tail, head, weight, self.n_nodes)

    def final_edges(self, budget, *, epsilon=None, use_up=False):
        """H after one more resparsification; this engine is left as it is."""
        graph = self._graph(self._resparsify(Step.FINAL))
        none = np.zeros(graph.n_edges, dtype=np.bool_)
        ones = np.ones(graph.n_edges, dtype=np.int32)
        return KeptEdges(graph.tail, graph.head, graph.weight, ones, none)

    def merge(self, others, numbers, *, seed):
        """An engine that has seen all streams: samples side by side, with their probabilities."""
        engines, numbers = (self, *others), (np.arange(self.n_nodes, dtype=np.int32), *numbers)
        if any(engine.n_copies != self.n_copies for engine in others):
            raise InputError("streams with different n_copies cannot be merged")
        both = ThesisEngine(self.n_copies, block=self.block, seed=seed)
        n_nodes = 1 + max(int(number.max(initial=-1)) for number in numbers)
        both.absorb(self.tail[:0], self.head[:0], self.weight[:0], n_nodes)
        for engine, number in zip(engines, numbers, strict=True):
            both.degree[number] += engine.degree
            joins = union_edges(both.parent, number, number[find_all(engine.parent)])
            both.n_joins += int(np.count_nonzero(joins))
            sample = engine.sample._replace(index=engine.sample.index + both.tail.size)
            both.sample = merge_samples(both.sample, sample)
            both.tail = np.concatenate([both.tail, number[engine.tail]])
            both.head = np.concatenate([both.head, number[engine.head]])
            both.weight = np.concatenate([both.weight, engine.weight])
            both.n_seen += engine.n_seen
            both.n_shrinks += engine.n_shrinks
        both.n_after = both.n_kept
        return both

    def favor(self, numbering, n_nodes, wanted):
        """No node is favored: the guarantee is for all edges alike."""

    def settle(self):
        """Nothing to make smaller: copies and probabilities are needed as they are."""

    def make_room(self, n_streams):
        """Nothing to drop: the guarantee needs every copy."""

    _ARRAYS = ("tail", "head", "weight", "degree", "parent")
    _NUMBERS = ("n_joins", "n_seen", "n_shrinks", "n_after", "seed", "n_copies", "block")

    def state(self):
        arrays = {name: getattr(self, name) for name in self._ARRAYS}
        arrays |= {f"sample_{name}": part for name, part in self.sample._asdict().items()}
        return arrays, {name: getattr(self, name) for name in self._NUMBERS}

    def restore(self, state):
        arrays, numbers = state
        for name in self._ARRAYS:
            setattr(self, name, arrays[name])
        self.sample = Sample(*(arrays[f"sample_{name}"] for name in Sample._fields))
        self.__dict__.update(numbers)


def thesis_engine(epsilon, n_copies, *, seed):
    """The engine for an accuracy, or for a number of copies that is asked for instead."""
    if n_copies is None:
        epsilon = Budget(None, epsilon, None).checked().epsilon
        n_copies = thesis_copies(epsilon, delta=0.01, n_nodes=_MOST_EDGES, n_shrinks=1)
    return ThesisEngine(check_count("n_copies", n_copies), seed=seed)
