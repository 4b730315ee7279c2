"""Forecast of the error, kappa, size and memory of a sparsifier, before it is made.

*Sampling.* The error is that of `sampling_error`. An error of 1 or more means that some cuts lose
nearly all their weight, or are several times too heavy. kappa is fitted, mostly within a factor of
3, on the graphs of `benchmarks/bench_forecast.py` and `benchmarks/bench_few_edges.py`.

*Subgraphs.* A subgraph sparsifier has kappa of about 6 / (s x^0.6), fitted within a factor of 3.
Here s is the fraction of the edges that it keeps, and x the number of off-tree edges per node. Its
error is (kappa - 1) / (kappa + 1).
"""

import decimal
import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import make_sets, union_edges
from graphsqueak.sampling import find_scale
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sparsifiers.budget import StreamOptions, in_memory_bytes, state_bytes, stream_bytes
from graphsqueak.sparsifiers.error_prediction import error_for_variance, sampling_error
from graphsqueak.sparsifiers.resistance.estimate import estimate
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.state import StreamState

# Above this number of edges 1 / d_u + 1 / d_v replaces the estimate of resistances. On a grid, the
# slowest case, the estimate takes 5 s at this size, half or twice as long for half or twice as many
# edges. The error for 20 % of the edges of a random graph is 0.64 instead of 0.73 above it.
_MAX_EDGES_TO_ESTIMATE = 2**20


class Expected(NamedTuple):
    """Forecast of a sparsifier with `n_edges` edges.

    Attributes
    ----------
    keep : float
        Fraction of the edges.
    n_edges : int
    method : str
    epsilon, kappa : float
        Predicted error and condition number.
    result_bytes : int
        Approximate size of the result in a binary file.
    memory_bytes : int
        Peak memory.
    """

    keep: float
    n_edges: int
    method: str
    epsilon: float
    kappa: float
    result_bytes: int
    memory_bytes: int


class Forecast:
    """Forecast of sparsifiers of a graph with any number of edges.

    Parameters
    ----------
    graph : EdgeList
        The graph, or a uniform sample of its edges.
    n_edges : int, optional
        Number of edges of the whole graph, including parallel edges. Default: those of `graph`.
    degree : ndarray, optional
        Weighted degrees of the whole graph, if `graph` is a sample.
    n_forest : int, optional
        Number of edges of a spanning forest of the whole graph, if `graph` is a sample.

    Attributes
    ----------
    n_nodes, n_edges, n_forest : int
        Size of the whole graph and of a spanning forest.
    n_edges_used : int
        Number of edges from which the forecast is computed, without parallel edges.

    Examples
    --------
    In a complete graph, 8 edges per node have an error of about 2 / sqrt(16):

    >>> from graphsqueak.sources import complete
    >>> forecast = Forecast(complete(400).to_edge_list())
    >>> round(forecast.expect(3200).epsilon, 2), round(forecast.fraction_for(0.5), 3)
    (0.49, 0.038)
    """

    def __init__(
        self,
        graph: EdgeList,
        *,
        n_edges: int | None = None,
        degree: np.ndarray | None = None,
        n_forest: int | None = None,
    ) -> None:
        self.n_nodes = graph.n_nodes
        self.n_edges = graph.n_edges if n_edges is None else n_edges
        simple = graph.simplified()
        self.n_edges_used = simple.n_edges
        self._is_sample = degree is not None
        in_forest = union_edges(make_sets(graph.n_nodes), simple.tail, simple.head)
        self.n_forest = int(np.count_nonzero(in_forest)) if n_forest is None else n_forest
        self._edges = SampledEdges(simple.tail, simple.head, simple.weight, in_forest)
        degrees = simple.degrees() if degree is None else degree
        self._resistance = _resistances(self._edges, degrees, is_sample=self._is_sample)

    @classmethod
    def from_sample(cls, source: EdgeSource, *, n_edges: int, most: int) -> "Forecast":
        """Forecast a large source from its exact degrees and a sample of its edges.

        Parameters
        ----------
        source : EdgeSource
            Read once.
        n_edges : int
            Number of its edges.
        most : int
            Approximate number of edges of the sample.
        """
        fraction = min(most / max(n_edges, 1), 1.0)
        rng = np.random.default_rng(0)
        state = StreamState(seed=0)
        parts = []
        for batch in source.batches():
            state.grow(batch.n_nodes)
            state.count_edges(batch.tail, batch.head, batch.weight)
            is_sampled = rng.random(batch.n_edges) < fraction
            parts.append((batch.tail[is_sampled], batch.head[is_sampled], batch.weight[is_sampled]))
        tail, head, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
        return cls(
            EdgeList.from_validated(tail, head, weight, state.n_nodes),
            n_edges=n_edges,
            degree=state.degrees,
            n_forest=state.n_unions,
        )

    def expect(self, n_edges: int, *, method: str = "stream") -> Expected:
        """Forecast a sparsifier with at most `n_edges` edges.

        Parameters
        ----------
        n_edges : int
        method : {"stream", "subgraph"}
            Method of `sparsify`.
        """
        n_edges = min(n_edges, self.n_edges)
        # A stream resparsifies at the high watermark.
        n_in_memory, _ = StreamOptions().watermarks(n_edges, self.n_nodes)
        memory = stream_bytes(self.n_nodes, min(int(n_in_memory), self.n_edges))
        if method == "subgraph":
            kappa = 1.0
            if n_edges < self.n_edges:
                off_tree_per_node = max(n_edges - self.n_forest, 1) / self.n_nodes
                kappa = max(6 * self.n_edges / (n_edges * off_tree_per_node**0.6), 1.0)
            epsilon = (kappa - 1) / (kappa + 1)
            memory = max(memory, in_memory_bytes(self.n_nodes, self.n_edges))
        else:
            epsilon = self._sampling_epsilon(n_edges)
            kappa = _sampling_kappa(epsilon)
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
            result_bytes=state_bytes(self.n_nodes, n_edges),
            memory_bytes=memory,
        )

    def table(self, fractions: Sequence[float] = (0.05, 0.1, 0.2, 0.5)) -> list[Expected]:
        """Forecast some fractions of the edges; rows for equal numbers of edges are merged."""
        sizes = sorted({math.ceil(fraction * self.n_edges) for fraction in fractions})
        return [self.expect(size) for size in sizes if size < self.n_edges]

    def fraction_for(self, epsilon: float) -> float:
        """Return the fraction of the edges at which the predicted error is about `epsilon`."""
        n_edges = bisect_left(
            range(self.n_edges), -epsilon, key=lambda size: -self.expect(size).epsilon
        )
        return n_edges / max(self.n_edges, 1)

    def advice(self) -> str:
        """Return a sentence on whether sparsifying pays off, and at which fraction of the edges.

        >>> from graphsqueak.sources import path
        >>> Forecast(path(5).to_edge_list()).advice()
        'Nothing to gain: with 0.8 edges per node, an error of 0.5 takes 100 % of them.'
        """
        fraction = self.fraction_for(0.5)
        if fraction <= 0.5:
            return f"Worth it: --keep {round_up(fraction, 2)} gives an error of about 0.5."
        # A subgraph for preconditioning has 13 % more edges than nodes.
        subgraph = self.expect(math.ceil(1.13 * self.n_nodes), method="subgraph")
        reason = (
            f"with {self.n_edges / max(self.n_nodes, 1):.1f} edges per node, an error of 0.5 takes "
            f"{100 * fraction:.0f} % of them"
        )
        if not self.n_forest < subgraph.n_edges < round(fraction * self.n_edges):
            return f"Nothing to gain: {reason}."
        return (
            f"Hardly worth it: {reason}; as a preconditioner --method subgraph --keep "
            f"{round_up(subgraph.keep, 2)} has a kappa of about {subgraph.kappa:.0f}."
        )

    def _sampling_epsilon(self, n_edges):
        if n_edges >= self.n_edges:
            return 0.0
        if not self._is_sample:
            return sampling_error(self._edges, self._resistance, n_edges, n_nodes=self.n_nodes)
        # A sample has too few edges per node for a quantile over the nodes.
        weight = self._edges.weight
        leverage = np.minimum(weight * self._resistance, 1.0)
        scale = find_scale(leverage, n_edges * self.n_edges_used / self.n_edges)
        variance = np.maximum(1 / scale - leverage, 0.0)
        return error_for_variance(float(np.average(variance, weights=weight)))


def _resistances(edges, degrees, *, is_sample):
    """Return the resistances of a graph; of a sample, or of many edges, lower bounds from degrees.

    Parameters
    ----------
    edges : SampledEdges
        Without parallel edges.
    degrees : ndarray
        Degrees of the whole graph.
    is_sample : bool
        Whether `edges` are a sample of the graph.
    """
    if is_sample or edges.n_edges > _MAX_EDGES_TO_ESTIMATE:
        return 1 / degrees[edges.tail] + 1 / degrees[edges.head]
    options = StreamOptions()
    return estimate(
        edges,
        degrees,
        n_probes=options.final_probes,
        min_nodes=options.degree_approx_min_nodes,
        seed=0,
    ).resistance


def _sampling_kappa(epsilon):
    """Return the kappa of a sampled graph, fitted. It grows as the smallest ratio tends to 0.

    >>> [round(_sampling_kappa(epsilon), 1) for epsilon in (0.0, 0.5, 1.0, 2.0)]
    [1.0, 3.2, 19.9, 94.9]
    """
    low = min(epsilon, 1.0)
    return (1 + low) * math.exp(low + low**2 + 0.3 * low**4) * max(epsilon, 1.0) ** 2.25


def round_up(value, digits):
    """Return a number with few digits, rounded up so that a bound stays one.

    >>> round_up(0.3401, 2), round_up(0.00012301, 2), round_up(0.35, 2), round_up(12345.6, 3)
    ('0.35', '0.00013', '0.35', '12,400')
    """
    # A little less, so that a number such as 0.35, which is stored as slightly more, stays.
    context = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING)
    rounded = float(context.create_decimal_from_float(value * (1 - 1e-12)))
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:g}"
