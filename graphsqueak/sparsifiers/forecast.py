"""What a sparsifier of a graph will be like, before it is made.

The error of sampling is that of `budget.sampling_error`.

*Few edges.* A subgraph of the graph (`subgraph`) has kappa about 6 / (s x^0.6), fitted within a
factor of 3, where s is the share of the edges that it has and x how many it has beyond a forest, a
node; its error is (kappa - 1) / (kappa + 1).
"""

import math
from typing import NamedTuple

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import add_degrees, join, labels, roots
from graphsqueak.sampling import scale_for
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sparsifiers.budget import FEW, SURELY_FEW, held_bytes, sampling_error, stream_bytes
from graphsqueak.sparsifiers.resistance.degrees import degree_resistances, degree_sketch
from graphsqueak.sparsifiers.resistance.sketch import precise_embedding, sketch_resistances

__all__ = ["SHARES", "Expected", "Forecast"]

SHARES = (0.05, 0.1, 0.2, 0.5)
_PROBES = 16
_MANY_NODES = 2**12  # from which on degrees are tried first
_SKETCHED = 2**20  # edges; of more, leverages are told by degrees
_BYTES = 20  # of an edge in a file of text
_HALVINGS = 12


class Expected(NamedTuple):
    """What to expect of `n_edges` edges; `seconds` is a guess."""

    keep: float
    n_edges: int
    method: str
    epsilon: float
    kappa: float
    result_bytes: int
    memory_bytes: int
    seconds: float


class Forecast:
    """Expected error, kappa, size, memory and time at any share of the edges of a graph.

    Parameters
    ----------
    graph : EdgeList
        The graph, or a uniform sample of its edges.
    n_edges : int, optional
        Edges of the whole graph, with those that repeat; default: as many as `graph` has.
    degree : ndarray, optional
        Weighted degrees of the whole graph, where `graph` is a sample.
    seed : int

    Examples
    --------
    A complete graph: with 8 edges a node the error is about 2 / sqrt(16), and a little less.

    >>> from graphsqueak.sources import complete
    >>> forecast = Forecast(complete(400).to_edge_list())
    >>> round(forecast.expect(3200).epsilon, 2), round(forecast.share_for(0.5), 3)
    (0.49, 0.039)
    """

    def __init__(
        self,
        graph: EdgeList,
        *,
        n_edges: int | None = None,
        degree: np.ndarray | None = None,
        seed: int = 0,
    ) -> None:
        self.n_nodes = graph.n_nodes
        self.n_edges = graph.n_edges if n_edges is None else n_edges
        graph = graph.simplified()
        self._n_held = graph.n_edges
        self._is_sample = degree is not None
        self._ends = (graph.tail, graph.head, graph.weight)
        self._pinned = join(roots(graph.n_nodes), graph.tail, graph.head)
        self.n_forest = int(np.count_nonzero(self._pinned))
        self._resistance = _resistances(graph, degree, seed)

    @classmethod
    def from_sample(cls, source: EdgeSource, *, n_edges: int, most: int) -> "Forecast":
        """The forecast of a large source, by exact degrees and about `most` of its edges.

        Parameters
        ----------
        source : EdgeSource
        n_edges : int
            Edges that it has.
        most : int
        """
        share, rng = min(most / max(n_edges, 1), 1.0), np.random.default_rng(0)
        degree, parts, parent = np.zeros(0), [], roots(0)
        for batch in source:
            more = batch.n_nodes - degree.size
            degree = np.concatenate([degree, np.zeros(more)])
            parent = np.concatenate([parent, roots(batch.n_nodes)[parent.size :]])
            add_degrees(degree, batch.tail, batch.head, batch.weight)
            join(parent, batch.tail, batch.head)
            some = rng.random(batch.n_edges) < share
            parts.append((batch.tail[some], batch.head[some], batch.weight[some]))
        tail, head, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
        sample = EdgeList.from_clean(tail, head, weight, degree.size)
        made = cls(sample, n_edges=n_edges, degree=degree)
        made.n_forest = degree.size - np.unique(labels(parent)).size
        return made

    def expect(self, n_edges: int) -> Expected:
        """What at most `n_edges` edges give; an error of 1 where they cannot hold the nodes."""
        n_edges = min(n_edges, self.n_edges)
        share, per_node = n_edges / max(self.n_edges, 1), n_edges / max(self.n_nodes, 1)
        epsilon, method = self._epsilon(n_edges), "fast"
        kappa = _kappa_of_stream(epsilon)
        if per_node < FEW and epsilon > 0:
            few = self._kappa_of_subgraph(n_edges)
            if per_node < SURELY_FEW or few < kappa:
                kappa, method = few, "subgraph"
            if method == "subgraph" or epsilon > 1:
                epsilon = (kappa - 1) / (kappa + 1) if math.isfinite(kappa) else 1.0
        kept = min(3 * n_edges, self.n_edges)
        memory, seconds = stream_bytes(self.n_nodes, kept), 0.3 + 5e-7 * self.n_edges + 3e-5 * kept
        if method == "subgraph":
            memory = max(memory, held_bytes(self.n_nodes, self.n_edges))
            seconds += 5e-5 * self.n_edges
        size = _BYTES * n_edges
        return Expected(share, n_edges, method, epsilon, kappa, size, memory, seconds)

    def table(self) -> list[Expected]:
        """What a twentieth, a tenth, a fifth and a half of the edges give."""
        return [self.expect(math.ceil(share * self.n_edges)) for share in SHARES]

    def share_for(self, epsilon: float) -> float:
        """The share of the edges at which the error is about `epsilon`."""
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self.expect(math.ceil(middle * self.n_edges)).epsilon > epsilon:
                low = middle
            else:
                high = middle
        return high

    def advice(self) -> str:
        """One sentence: worth it or not, and which share would be."""
        share = self.share_for(0.5)
        if share <= 0.5:
            return f"Worth it: --keep {_written(share)} gives an error of about 0.5."
        few = self.expect(math.ceil(1.13 * self.n_nodes))
        rest = ""
        if self.n_forest < few.n_edges < self.n_edges:
            rest = (
                f"; as a preconditioner --keep {_written(few.keep)} has a kappa of about "
                f"{few.kappa:.0f}"
            )
        return (
            f"Hardly worth it: with {self.n_edges / max(self.n_nodes, 1):.1f} edges a node, an "
            f"error of 0.5 takes {100 * share:.0f} % of them{rest}."
        )

    def _epsilon(self, n_edges):
        if n_edges >= self.n_edges:
            return 0.0
        if not self._is_sample:
            return sampling_error(
                *self._ends, self._resistance, self._pinned, n_edges, n_nodes=self.n_nodes
            )
        leverage = np.minimum(self._ends[2] * self._resistance, 1.0)
        scale = scale_for(leverage, n_edges * self._n_held / self.n_edges)
        loss = np.maximum(1 / scale - leverage, 0.0)
        return math.sqrt(2 * float(np.average(loss, weights=self._ends[2])))

    def _kappa_of_subgraph(self, n_edges):
        beyond = (n_edges - self.n_forest) / max(self.n_nodes, 1)
        if beyond < 0:
            return math.inf
        share = n_edges / max(self.n_edges, 1)
        return max(6 / (share * max(beyond, 1 / self.n_nodes) ** 0.6), 1.0)


def _resistances(graph, degree, seed):
    """Sketched, or, of many nodes or edges, by degrees: at least 1 / d_u + 1 / d_v, nearly."""
    own, ends = (
        graph.degrees() if degree is None else degree,
        (graph.tail, graph.head, graph.weight),
    )
    if degree is not None or graph.n_edges > _SKETCHED:
        return 1 / own[graph.tail] + 1 / own[graph.head]
    sketch = None
    if graph.n_nodes >= _MANY_NODES:
        in_forest = join(roots(graph.n_nodes), *ends[:2])
        sketch = degree_sketch(*ends, in_forest, own, seed=seed)
    if sketch is None:
        sketch = precise_embedding(graph, *ends, n_probes=_PROBES, seed=seed)
        return sketch_resistances(sketch, *ends, clamp=True)
    points = sketch.points / np.float32(np.sqrt(sketch.points.shape[1]))
    return degree_resistances(points, own, *ends)


def _kappa_of_stream(epsilon):
    """Too light comes closer to 1 the slower, the larger the error: fitted."""
    return (1 + epsilon) * math.exp(min(epsilon + epsilon**2 + 0.3 * epsilon**4, 50.0))


def _written(share):
    return f"{share:.2g}"
