"""Typical error of a sparsifier: median relative errors, compared with random edges.

The error of a certificate is the worst case over all cuts. A user computes a few quantities, whose
errors are usually much smaller. Three of them are reported:

cuts         Eight random cuts, whose weights a stream adds up on its way (`stream.cut_probes`).
degrees      All nodes. The degrees of the graph are exact.
resistances  Effective resistances between all pairs of 15 random nodes. They need the graph, so
             that they are measured for small graphs only (`measure_resistances`).

The baseline is a uniform sample of the same number of edges, without replacement. Of M edges it has
a fraction p, with the weights w / p. A sum over some of the edges has the relative variance

    (1 / p - 1) (S2 / S^2 - 1 / M),         S = sum of w, S2 = sum of w^2,

so that a stream adds up w and w^2 only. The effective number of edges S^2 / S2 (Kish) is the number
of edges of equal weight that has this variance. A random cut has every edge with probability 1/2,
which halves S and S2, and is nearly normal. A degree may be the sum of a few edges, so that its
errors are those of binomial numbers, which are drawn.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sparsifiers.resistance.effective import resistances_in_memory

# Largest median errors that are called accurate and roughly accurate, here and in `compare`. These
# are definitions, not tuning constants.
ACCURATE_ERROR = 0.1
ROUGHLY_ACCURATE_ERROR = 0.35
# Random edges are as accurate if their error is within this factor. Errors below a tenth of
# `ACCURATE_ERROR` count as equal. This is a definition as well.
EQUAL_ERROR_RATIO = 1.5
# Nodes between which resistances are measured: 105 pairs. Each node takes a linear system. With 8
# or 30, the median differs by about as much as between two draws of the nodes, 20 %.
_N_NODES = 15
# Edges up to which resistances are measured: 0.3 s on a random graph and 3 s on a grid, about as
# long as the rest of a command. Twice as many take about twice as long.
MAX_EDGES_FOR_RESISTANCES = 2**17
# Draws of degrees for the error of random edges: the standard error of their median is 1 %. Larger
# graphs have one draw per node.
_MIN_DRAWS = 10_000


class MedianErrors(NamedTuple):
    """Median relative errors of one sparsifier; None if a quantity was not measured.

    Attributes
    ----------
    cuts, degrees, resistances : float or None
    """

    cuts: float | None = None
    degrees: float | None = None
    resistances: float | None = None


@dataclass(frozen=True)
class TypicalError:
    """Median relative errors of a sparsifier and of as many random edges.

    Attributes
    ----------
    sparsifier, random_edges : MedianErrors

    Examples
    --------
    >>> error = TypicalError(MedianErrors(0.01, 0.0), MedianErrors(0.02, 0.2))
    >>> error.rows()
    [('cuts', 0.01, 0.02), ('degrees', 0.0, 0.2)]
    >>> error.largest
    0.01
    """

    sparsifier: MedianErrors
    random_edges: MedianErrors

    def rows(self) -> list[tuple[str, float, float]]:
        """Return quantity, median error of the sparsifier, and median error of random edges."""
        columns = zip(MedianErrors._fields, self.sparsifier, self.random_edges, strict=True)
        return [
            (name, error, baseline)
            for name, error, baseline in columns
            if error is not None and baseline is not None
        ]

    @property
    def largest(self) -> float:
        """Largest median error of the sparsifier; 0 if nothing was measured."""
        return max((error for _, error, _ in self.rows()), default=0.0)


def measure_cuts_and_degrees(
    sparsifier: EdgeList,
    *,
    cut_errors: np.ndarray,
    degrees: np.ndarray,
    effective_edges: np.ndarray,
    n_edges: int,
) -> TypicalError:
    """Return the errors that are known after one pass.

    Parameters
    ----------
    sparsifier : EdgeList
        With the nodes of the graph, in the same order.
    cut_errors : ndarray
        Relative errors of random cuts. Empty or NaN if unknown.
    degrees : ndarray
        Weighted degrees of the graph.
    effective_edges : ndarray
        Effective number S^2 / S2 of edges of every node.
    n_edges : int
        Number of edges of the graph.

    Examples
    --------
    Half of the leaves of a star are lost. Random edges lose half of them as well, and double the
    weights of the others:

    >>> from graphsqueak.sources import star
    >>> graph = star(101).to_edge_list()
    >>> error = measure_cuts_and_degrees(
    ...     graph.part(0, 40),
    ...     cut_errors=np.array([0.6]),
    ...     degrees=graph.degrees(),
    ...     effective_edges=graph.degrees(),
    ...     n_edges=100,
    ... )
    >>> error.sparsifier.degrees, error.random_edges.degrees
    (1.0, 1.0)
    """
    fraction = min(sparsifier.n_edges / max(n_edges, 1), 1.0)
    has_edges = degrees > 0
    if fraction == 0.0 or not has_edges.any():
        return TypicalError(MedianErrors(), MedianErrors())
    degrees = degrees[has_edges]
    effective_edges = effective_edges[has_edges]
    degree_errors = np.abs(sparsifier.degrees()[has_edges] / degrees - 1)
    random_degrees = random_degree_error(effective_edges, fraction=fraction)
    cuts = None
    random_cuts = None
    if cut_errors.size and np.isfinite(cut_errors).all():
        cuts = float(np.median(cut_errors))
        random_cuts = random_cut_error(degrees, effective_edges, fraction=fraction, n_edges=n_edges)
    return TypicalError(
        MedianErrors(cuts=cuts, degrees=float(np.median(degree_errors))),
        MedianErrors(cuts=random_cuts, degrees=random_degrees),
    )


def random_cut_error(
    degrees: np.ndarray, effective_edges: np.ndarray, *, fraction: float, n_edges: int
) -> float:
    """Return the median error of a random cut in a uniform sample of the edges.

    Examples
    --------
    Of 5,000 edges half are in a cut, and about 250 of the 500 that are sampled: the standard
    deviation is sqrt(500 * 0.9 / 4), or 4.2 %.

    >>> degrees = np.full(100, 100.0)
    >>> round(random_cut_error(degrees, degrees, fraction=0.1, n_edges=5000), 4)
    0.0286
    """
    # No square of a weight underflows if the largest degree is 1.
    degrees = degrees / degrees.max()
    squares = degrees**2 / effective_edges
    # Every edge is counted at both of its ends.
    effective_edges_total = degrees.sum() ** 2 / (2 * squares.sum())
    relative_variance = (1 / fraction - 1) * (2 / effective_edges_total - 1 / n_edges)
    # The upper quartile of a normal variable is the median of its absolute value.
    median = ndtri(0.75) * math.sqrt(max(relative_variance, 0.0))
    # Cuts of a few heavy edges mostly lose all of them, and then have an error of 1.
    return min(float(median), 1.0)


def random_degree_error(effective_edges: np.ndarray, *, fraction: float) -> float:
    """Return the median error of the degrees in a uniform sample of the edges.

    It is exact for equal weights. On graphs with heavy-tailed weights it was within 20 % of
    simulated samples, and within 35 % if the edges of a node have two very different weights.

    Examples
    --------
    A node with a single edge loses it with probability 0.8:

    >>> random_degree_error(np.ones(100), fraction=0.2)
    1.0
    """
    # The seed is fixed: this is a numerical integral over all samples.
    rng = np.random.default_rng(0)
    expected = np.tile(effective_edges, math.ceil(_MIN_DRAWS / effective_edges.size))
    # Whole numbers of edges with the same mean. Equal weights have whole numbers, up to rounding.
    n_below = np.floor(expected + 1e-9)
    n_edges = (n_below + (rng.random(expected.size) < expected - n_below)).astype(np.int64)
    n_sampled = rng.binomial(n_edges, fraction)
    return float(np.median(np.abs(n_sampled / (fraction * expected) - 1)))


def measure_resistances(
    error: TypicalError, graph: EdgeList, sparsifier: EdgeList, *, seed: int
) -> TypicalError:
    """Return the errors with those of effective resistances, which are computed here.

    Parameters
    ----------
    error : TypicalError
    graph : EdgeList
        All edges, parallel ones not merged.
    sparsifier : EdgeList
        Nodes are matched by id.
    seed : int
        Seed of the nodes and of the random edges.

    Returns
    -------
    TypicalError
        Infinite errors are those of pairs that random edges do not connect.
    """
    rng = np.random.default_rng(seed)
    component = graph.components()
    largest = np.flatnonzero(component == np.bincount(component).argmax())
    if largest.size < 2:
        return error
    nodes = rng.choice(largest, min(_N_NODES, largest.size), replace=False)
    first, second = np.triu_indices(nodes.size, k=1)
    pairs = np.column_stack([graph.ids[nodes[first]], graph.ids[nodes[second]]])
    n_sampled = min(sparsifier.n_edges, graph.n_edges)
    sampled = rng.choice(graph.n_edges, n_sampled, replace=False)
    random_edges = EdgeList.from_validated(
        graph.tail[sampled],
        graph.head[sampled],
        graph.weight[sampled] * (graph.n_edges / n_sampled),
        graph.n_nodes,
        graph.node_ids,
    )
    expected, found, found_random = (
        resistances_in_memory(one, pairs, by_id=True, method="exact", random_state=seed)
        for one in (graph, sparsifier, random_edges)
    )
    return TypicalError(
        error.sparsifier._replace(resistances=_median_error(found, expected)),
        error.random_edges._replace(resistances=_median_error(found_random, expected)),
    )


def _median_error(found, expected):
    return float(np.median(np.abs(found / expected - 1)))
