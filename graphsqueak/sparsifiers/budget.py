"""Budgets of a stream: edges, memory, and the options of the method.

*Edges* are given as a number, as an error, or as a fraction of the edges. A graph of mean degree d
differs from a dense one by at least 2 / sqrt(d) (Alon-Boppana bound). The stream sparsifier comes
close to this bound on dense graphs, so n_edges edges on n nodes predict

    epsilon = 2 / sqrt(2 n_edges / n) = sqrt(2 n / n_edges).

`error_prediction` has predictions for any graph.

*Memory.* The peak of a process with a stream is at a resparsification (`docs/howto/dask.md` uses
the same estimate; `benchmarks/cases/shrink.py` measures the peak):

    300 MiB + 500 bytes per node + 100 bytes per kept edge.

The first term is Python, its libraries and a batch of edges. The second is degrees, forest, ids and
their table, and the columns of the solves. The third is the kept edges, twice while parallel edges
are merged, and their matrix. A serialized state has 28 bytes per node, if ids are integers, and 12
bytes per kept edge.
"""

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

from graphsqueak.errors import InputError, Parameter
from graphsqueak.validation import check_choice, check_count, check_real

# Bytes of a process: Python with its libraries, and a stream. See the module docstring. They are
# measured; predictions and limits are proportional.
_BASE_BYTES = 300 << 20
_STREAM_BYTES_PER_NODE = 500
_STREAM_BYTES_PER_EDGE = 100


class Budget(NamedTuple):
    """Number of edges to keep, given in one of three ways.

    Attributes
    ----------
    n_edges : int or None
        Number of edges.
    epsilon : float or None
        Error of the sparsifier of a dense graph.
    keep : float or None
        Fraction of the edges.

    Examples
    --------
    >>> Budget(n_edges=None, epsilon=0.5, keep=None)(n_nodes=1000, n_seen=10**6)
    8000
    """

    n_edges: int | None
    epsilon: float | None
    keep: float | None

    def __call__(self, n_nodes, n_seen):
        """Return the number of edges to keep of `n_seen` edges on `n_nodes` nodes."""
        if self.n_edges is not None:
            return self.n_edges
        if self.epsilon is not None:
            return math.ceil(2 * n_nodes / self.epsilon**2)
        return max(math.ceil(self.keep * n_seen), 1)

    def during_stream(self, n_nodes, n_seen, *, least):
        """Return the number of edges to keep while the length of the stream is unknown.

        A fraction of the first edges is a small number, and dropped edges cannot be recovered when
        the stream turns out to be long. So a fraction is at least `least` edges.
        """
        budget = self(n_nodes, n_seen)
        return budget if self.keep is None else max(budget, least)

    def sample_source(self, source):
        """Return a source that samples as many edges as needed, if `source` supports this.

        Other sources are returned as they are.
        """
        has_number = self.n_edges is not None or self.epsilon is not None
        return source.sample_for(self) if has_number and not source.is_materialized else source

    def validate(self, source=None):
        """Return this budget, or raise an InputError if it is invalid.

        Parameters
        ----------
        source : EdgeSource or graph, optional
            Fractions are invalid for sources whose edges are not enumerated.
        """
        if self.keep is not None and source is not None and not source.is_materialized:
            raise InputError(
                Parameter("keep"),
                " is a fraction of the edges, and the edges of a projected "
                "table are never enumerated; give ",
                Parameter("n_edges"),
                ", about eight per entity",
            )
        given = [name for name, value in self._asdict().items() if value is not None]
        if len(given) != 1:
            names = " and ".join(given) or "none"
            raise InputError(
                "give exactly one of ",
                Parameter("n_edges"),
                ", ",
                Parameter("epsilon"),
                " and ",
                Parameter("keep"),
                f", not {names}; for example ",
                Parameter("keep", 0.3),
            )
        if self.n_edges is not None:
            check_count("n_edges", self.n_edges)
        elif self.epsilon is not None:
            check_real("epsilon", self.epsilon, above=0.0, below=1.0)
        elif check_real("keep", self.keep, above=0.0) > 1:
            raise InputError(
                Parameter("keep", self.keep),
                " is a fraction of the edges, at most 1; give 0.3 for 30 % of them",
            )
        return self


def check_connected(n_edges: int, n_nodes: int, *, n_forest: int, n_seen: int) -> None:
    """Raise an InputError if `n_edges` of `n_seen` are fewer than a spanning forest has.

    >>> check_connected(5, 6, n_forest=5, n_seen=8)
    >>> check_connected(4, 6, n_forest=5, n_seen=8)
    Traceback (most recent call last):
    graphsqueak.errors.InputError: 4 edges are too few to keep 6 nodes connected (at least 5); give
    n_edges=5 or keep=0.625, or more
    """
    if n_edges < n_forest:
        raise InputError(
            f"{n_edges:,} edges are too few to keep {n_nodes:,} nodes connected (at least "
            f"{n_forest:,}); give ",
            Parameter("n_edges", n_forest),
            " or ",
            Parameter("keep", _round_up(n_forest / n_seen)),
            ", or more",
        )


def _round_up(fraction: float) -> float:
    """Return the next larger number with three digits.

    >>> _round_up(0.012341), _round_up(0.5)
    (0.0124, 0.5)
    """
    scale = 10 ** (2 - math.floor(math.log10(fraction)))
    # A number of three digits stays the same in spite of rounding.
    return math.ceil(fraction * scale - 1e-9) / scale


def predicted_epsilon(n_nodes: int, n_edges: int) -> float:
    """Return the error of a sparsifier of a dense graph.

    >>> predicted_epsilon(1000, 8000)
    0.5
    """
    return math.sqrt(2 * n_nodes / n_edges) if n_edges else math.inf


@dataclass(frozen=True)
class StreamOptions:
    """Options of the practical method; parts can be switched off for study.

    Parameters
    ----------
    filter_arrivals : bool
        Sample every edge when it arrives, by the resistances of the last resparsification.
    rescale_to_degrees : bool
        At the end, scale the weights so that total weight and degrees match those of the graph.
    dependent_rounding : bool
        In the final sample, use dependent rounding, which preserves degrees, instead of independent
        sampling.
    n_probes, final_probes : int
        Number of right-hand sides of the resistance sketch, during the stream and at the end.
        Halved or doubled, the error changes by at most 3 %; 32 at the end take up to 20 % longer.
    high_watermark, low_watermark : float
        Resparsify when the sample exceeds high_watermark * budget, to low_watermark * budget. A
        high watermark of 2 takes up to 65 % longer, one of 6 has up to 4 % more error. A low one
        of 1.2 has up to 31 % more error, one of 2.2 takes up to 53 % longer.
    memory_limit : int, optional
        Memory of a process with this stream, in bytes. It lowers the high watermark, but not below
        the size of a spanning forest.
    chunk_size : int
        Number of edges between two checks of the high watermark.
    degree_approx_min_nodes : int
        Number of nodes from which resistances are computed from degrees if these are accurate.
        Doubled, streams over 2,100 to 3,000 nodes take 1.3 to 5 times as long. Halved, those over
        1,100 nodes save 3 to 10 ms. Errors change by at most 1 %.
    inplace_min_edges : int
        Budget from which memory is saved: weights in single precision once edges were dropped,
        lower watermarks, merging and sampling in place.
    min_budget : int
        Smallest budget for a fraction of the edges (`keep`) while the length of the stream is
        unknown.
    """

    filter_arrivals: bool = True
    rescale_to_degrees: bool = True
    dependent_rounding: bool = True
    n_probes: int = 8
    final_probes: int = 16
    high_watermark: float = 3.0
    low_watermark: float = 1.5
    memory_limit: int | None = None
    chunk_size: int = 2**18
    degree_approx_min_nodes: int = 2**11
    inplace_min_edges: int = 2**20
    min_budget: int = 2**19

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is bool:
                check_choice(field.name, value, (True, False))
            elif field.type is int:
                check_count(field.name, value)
        if self.memory_limit is not None:
            check_count("memory_limit", self.memory_limit)
        check_real("low_watermark", self.low_watermark, least=1.0)
        check_real("high_watermark", self.high_watermark, above=self.low_watermark)

    def watermarks(self, budget: float, n_nodes: int) -> tuple[float, float]:
        """Return the number of edges at which to resparsify, and the number to keep then.

        >>> StreamOptions().watermarks(1000, n_nodes=100)
        (3000.0, 1500.0)
        """
        high = self.high_watermark
        low = self.low_watermark
        if budget >= self.inplace_min_edges:
            # Memory matters more than time: halve what the sample has beyond the budget.
            high = (1 + high) / 2
            low = (1 + low) / 2
        high_edges = high * budget
        if self.memory_limit is not None:
            high_edges = min(high_edges, edges_within(self.memory_limit, n_nodes))
        return high_edges, min(low * budget, high_edges / high * low)


def stream_bytes(n_nodes, n_kept):
    """Return the memory of a process with a stream that keeps `n_kept` edges.

    >>> stream_bytes(10**6, 3 * 10**6) >> 20
    1062
    """
    return _BASE_BYTES + _STREAM_BYTES_PER_NODE * n_nodes + _STREAM_BYTES_PER_EDGE * n_kept


def edges_within(n_bytes, n_nodes):
    """Return the number of edges that fit into `n_bytes`, at least those of a spanning forest.

    >>> edges_within(stream_bytes(1000, 5000), 1000)
    5000
    """
    return max((n_bytes - stream_bytes(n_nodes, 0)) // _STREAM_BYTES_PER_EDGE, n_nodes)


def check_memory_limit(n_bytes: int, n_edges: int | None = None) -> int:
    """Return a memory limit that is large enough for a stream with `n_edges` edges.

    >>> check_memory_limit(2 * 10**9, n_edges=10**6)
    2000000000
    >>> check_memory_limit(10**9, n_edges=10**8)
    Traceback (most recent call last):
    graphsqueak.errors.InputError: 100,000,000 edges need 9.6 GiB ...; at most 6,854,272 ...
    """
    if n_bytes < 2 * _BASE_BYTES:
        raise InputError(
            f"{n_bytes / 2**20:,.0f} MiB of memory are too little; allow at least "
            f"{2 * _BASE_BYTES >> 20} MiB"
        )
    if n_edges is not None and stream_bytes(0, n_edges) > n_bytes:
        raise InputError(
            f"{n_edges:,} edges need {stream_bytes(0, n_edges) / 2**30:.1f} GiB of "
            f"memory and more for the nodes; at most {edges_within(n_bytes, 0):,} fit "
            "into the memory limit: decrease ",
            Parameter("n_edges"),
            " or raise the limit",
        )
    return n_bytes


def in_memory_bytes(n_nodes: int, n_edges: int) -> int:
    """Return the memory of a process that chooses a subgraph of a graph in memory.

    The graph counts as two samples of its edges: the edges, and the matrix of the solver. This is
    a rough estimate that was not compared with measurements.

    >>> in_memory_bytes(10**6, 3 * 10**6) >> 20
    1349
    """
    return stream_bytes(n_nodes, 2 * n_edges)


def state_bytes(n_nodes, n_kept):
    """Return the approximate size of a serialized state."""
    return 28 * n_nodes + 12 * n_kept
