"""What a sparsifier of a graph will be like, before it is made.

The error of sampling is that of `budget.sampling_error`.

*Few edges.* An error of 1 or more means that some cuts are nearly lost, or several times too heavy.
kappa is fitted, mostly within a factor of 3, on the graphs of `benchmarks/bench_forecast.py` and
`benchmarks/bench_few_edges.py`.

*Subgraphs.* A subgraph of the graph (`subgraph`) has kappa about 6 / (s x^0.6), fitted within a
factor of 3, where s is the fraction of the edges that it has and x the number of its edges beyond a
forest, per node. Its error is (kappa - 1) / (kappa + 1).
"""

import math
from typing import NamedTuple

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import add_degrees, join, labels, roots
from graphsqueak.sampling import scale_for
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sparsifiers.budget import (
    error_for_variance,
    in_memory_bytes,
    sampling_error,
    stream_bytes,
)
from graphsqueak.sparsifiers.resistance.estimate import estimate

__all__ = ["SHARES", "Expected", "Forecast"]

SHARES = (0.05, 0.1, 0.2, 0.5)
# Right-hand sides of the resistance sketch, as in the final sample of a stream.
_N_PROBES = 16
# Above this number of edges 1 / d_u + 1 / d_v replaces the estimate, which would take seconds.
_MAX_EDGES_TO_ESTIMATE = 2**20
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
    >>> round(forecast.expect(3200).epsilon, 2), round(forecast.fraction_for(0.5), 3)
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

    def expect(self, n_edges: int, *, method: str = "fast") -> Expected:
        """What at most `n_edges` edges give.

        Parameters
        ----------
        n_edges : int
        method : {"fast", "subgraph"}
            Of `sparsify`.
        """
        n_edges = min(n_edges, self.n_edges)
        kept = min(3 * n_edges, self.n_edges)
        memory = stream_bytes(self.n_nodes, kept)
        seconds = 0.3 + 5e-7 * self.n_edges + 3e-5 * kept
        if method == "subgraph":
            kappa = self._kappa_of_subgraph(n_edges)
            epsilon = (kappa - 1) / (kappa + 1) if math.isfinite(kappa) else 1.0
            memory = max(memory, in_memory_bytes(self.n_nodes, self.n_edges))
            seconds += 5e-5 * self.n_edges
        else:
            epsilon = self._epsilon(n_edges)
            kappa = _kappa_of_stream(epsilon)
        if n_edges < self.n_forest:
            # Some component falls apart, and a cut between its parts loses all its weight.
            epsilon = max(epsilon, 1.0)
            kappa = math.inf
        return Expected(
            keep=n_edges / max(self.n_edges, 1),
            n_edges=n_edges,
            method=method,
            epsilon=epsilon,
            kappa=kappa,
            result_bytes=_BYTES * n_edges,
            memory_bytes=memory,
            seconds=seconds,
        )

    def table(self) -> list[Expected]:
        """What 5, 10, 20 and 50 % of the edges give; fewer rows if some are equal, or all edges."""
        sizes = sorted({math.ceil(share * self.n_edges) for share in SHARES})
        return [self.expect(size) for size in sizes if size < self.n_edges]

    def fraction_for(self, epsilon: float) -> float:
        """The fraction of the edges at which the error is about `epsilon`: of whole edges."""
        too_few = 0
        enough = self.n_edges
        for _ in range(_HALVINGS):
            middle = (too_few + enough) // 2
            if middle == too_few:
                break
            if self.expect(middle).epsilon > epsilon:
                too_few = middle
            else:
                enough = middle
        return enough / max(self.n_edges, 1)

    def advice(self) -> str:
        """One sentence: whether sparsifying is worth it, and at which fraction of the edges.

        >>> from graphsqueak.sources import path
        >>> Forecast(path(5).to_edge_list()).advice()
        'Nothing to gain: with 0.8 edges per node, an error of 0.5 takes 100 % of them.'
        """
        share = self.fraction_for(0.5)
        if share <= 0.5:
            return f"Worth it: --keep {_written(share)} gives an error of about 0.5."
        few = self.expect(math.ceil(1.13 * self.n_nodes), method="subgraph")
        sparse = (
            f"with {self.n_edges / max(self.n_nodes, 1):.1f} edges per node, an error of 0.5 takes "
            f"{100 * share:.0f} % of them"
        )
        if not self.n_forest < few.n_edges < round(share * self.n_edges):
            return f"Nothing to gain: {sparse}."
        return (
            f"Hardly worth it: {sparse}; as a preconditioner --method subgraph --keep "
            f"{_written(few.keep)} has a kappa of about {few.kappa:.0f}."
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
        return error_for_variance(float(np.average(loss, weights=self._ends[2])))

    def _kappa_of_subgraph(self, n_edges):
        if n_edges >= self.n_edges:
            return 1.0
        beyond = (n_edges - self.n_forest) / max(self.n_nodes, 1)
        if beyond < 0:
            return math.inf
        share = n_edges / max(self.n_edges, 1)
        return max(6 / (share * max(beyond, 1 / self.n_nodes) ** 0.6), 1.0)


def _resistances(graph, degrees, seed):
    """Return the resistances of a graph; of a sample, or of many edges, lower bounds from degrees.

    Parameters
    ----------
    graph : EdgeList
    degrees : ndarray or None
        Degrees of the whole graph, if `graph` is a sample of it.
    seed : int
    """
    is_sample = degrees is not None
    degrees = degrees if is_sample else graph.degrees()
    if is_sample or graph.n_edges > _MAX_EDGES_TO_ESTIMATE:
        return 1 / degrees[graph.tail] + 1 / degrees[graph.head]
    found = estimate(
        graph.tail,
        graph.head,
        graph.weight,
        join(roots(graph.n_nodes), graph.tail, graph.head),
        degrees,
        n_probes=_N_PROBES,
        seed=seed,
    )
    return found.resistance


def _kappa_of_stream(epsilon):
    """kappa grows faster than the error, since the smallest ratio tends to 0: fitted.

    >>> [round(_kappa_of_stream(epsilon), 1) for epsilon in (0.0, 0.5, 1.0, 2.0)]
    [1.0, 3.2, 19.9, 94.9]
    """
    low = min(epsilon, 1.0)
    return (1 + low) * math.exp(low + low**2 + 0.3 * low**4) * max(epsilon, 1.0) ** 2.25


def _written(share):
    """A fraction in two digits, upwards: what is advised is enough.

    >>> _written(0.3401), _written(0.00012301), _written(1.0), _written(0.35)
    ('0.35', '0.00013', '1', '0.35')
    """
    unit = 10.0 ** (math.floor(math.log10(share)) - 1)
    return f"{math.ceil(share / unit - 1e-9) * unit:.2g}"
