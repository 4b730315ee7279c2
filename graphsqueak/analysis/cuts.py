"""A cut of small conductance: the sweep cut of the Fiedler vector.

The nodes are sorted by x_1 (`embedding`) and split after each node in turn. The split with the
smallest conductance

    phi(S) = weight between S and the rest / total degree of the smaller of the two

is returned. With mu the eigenvalue of x_1, Cheeger's inequality bounds its distance from the best
cut:

    mu / 2 <= phi(best) <= phi(found) <= sqrt(2 mu).

All splits are measured in one pass: an edge is cut by those between the positions of its two nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from graphsqueak.analysis.analyzed_graph import AnalyzedGraph
from graphsqueak.analysis.embedding import fix_signs, scale_by_degree
from graphsqueak.analysis.results import ArrayResult
from graphsqueak.errors import InputError
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_real, explain_keywords


@dataclass(frozen=True)
class Cut(ArrayResult):
    """Result of `cut`. `numpy.asarray` returns `side`.

    As a data frame (`to_pandas`, `to_polars`) it has the columns node, side and fiedler.

    Attributes
    ----------
    side : ndarray of shape (n_nodes,)
        1 on the side with fewer nodes, 0 on the other side, and -1 in other components.
    weight, volume : float
        Weight between the sides, and total degree of the side with the smaller total.
    conductance : float
        weight / volume.
    cheeger_lower : float
        Lower bound on the conductance of every cut: half the Fiedler eigenvalue, less its
        tolerance.
    fiedler : ndarray of shape (n_nodes,)
        The Fiedler vector, zero on other components.
    ids : ndarray of shape (n_nodes,)
        Id of each node.
    conductance_lower, conductance_upper, weight_lower, weight_upper : float or None
        Bounds on the conductance and the weight of the same cut in the graph that was sparsified,
        if there is a certificate.
    """

    _array = "side"

    side: np.ndarray = field(repr=False)
    weight: float
    volume: float
    conductance: float
    cheeger_lower: float
    fiedler: np.ndarray = field(repr=False)
    ids: np.ndarray = field(repr=False)
    conductance_lower: float | None = None
    conductance_upper: float | None = None
    weight_lower: float | None = None
    weight_upper: float | None = None

    def _columns(self):
        return {"node": self.ids, "side": self.side, "fiedler": self.fiedler}

    def rows(self) -> list[tuple]:
        """Return the rows of the table."""
        sizes = np.bincount(self.side[self.side >= 0], minlength=2)
        conductance = f"{self.conductance:.4g} (no cut is below {self.cheeger_lower:.4g})"
        rows = [
            ("nodes on the smaller side", f"{sizes[1]:,} of {sizes.sum():,}"),
            ("weight of the cut", f"{self.weight:.6g}"),
            ("total degree of the smaller side", f"{self.volume:.6g}"),
            ("conductance", conductance),
        ]
        if self.conductance_lower is not None:
            conductances = f"{self.conductance_lower:.4g} to {self.conductance_upper:.4g}"
            weights = f"{self.weight_lower:.6g} to {self.weight_upper:.6g}"
            rows.append(("conductance in the graph", conductances))
            rows.append(("weight in the graph", weights))
        n_outside = np.count_nonzero(self.side < 0)
        if n_outside:
            rows.append(("nodes of other components", f"{n_outside:,}"))
        return rows


@explain_keywords()
def cut(
    graph: GraphLike,
    *,
    balance: float = 0.0,
    n_edges: int | None = None,
    sparsifier: GraphLike | None = None,
    tol: float = 1e-3,
    random_state: RandomState = None,
    progress: Progress = False,
) -> Cut:
    """Cut the largest component into two sides of small conductance.

    Use it to find a bottleneck, and to prove how small the conductance of any cut can be.

    Parameters
    ----------
    graph : GraphLike
        A file is streamed in several passes.
    balance : float
        Minimum fraction of the total degree on the smaller side, below 0.5.
    n_edges : int, optional
        Size of the sparsifier of a streamed graph. Default: predicted for epsilon = 0.5.
    sparsifier : EdgeList or any graph, optional
        An existing sparsifier with the ids of the graph.
    tol : float
        Relative residual of the Fiedler vector.
    random_state : int, Generator or None
    progress : bool or callable

    Returns
    -------
    Cut

    Examples
    --------
    Two complete graphs joined by an edge:

    >>> from graphsqueak.sources import barbell
    >>> found = cut(barbell(8).to_edge_list())
    >>> found.weight, int(found.side.sum())
    (1.0, 8)
    """
    check_real("tol", tol, above=0.0, below=1.0)
    check_real("balance", balance, least=0.0, below=0.5)
    analyzed = AnalyzedGraph(graph, n_edges, sparsifier, random_state, progress)
    is_inside = analyzed.large_components(1)
    if not is_inside.any():
        raise InputError("the graph has no edge, so that there is nothing to cut")
    values, vectors = analyzed.eigenpairs(1, normalized=True, tol=tol, nodes=is_inside)
    # The sweep is over x = D^-1/2 y, for which Cheeger's inequality holds.
    fiedler = fix_signs(scale_by_degree(vectors, analyzed.degrees))[:, 0]
    order = np.flatnonzero(is_inside)
    order = order[np.argsort(fiedler[order], kind="stable")]
    # The last split has all nodes on one side.
    weight = _prefix_cuts(analyzed, order)[:-1]
    prefix_volume = np.cumsum(analyzed.degrees[order])[:-1]
    total = analyzed.degrees[is_inside].sum()
    volume = np.minimum(prefix_volume, total - prefix_volume)
    is_allowed = (volume >= balance * total) & (volume > 0)
    if not is_allowed.any():
        raise InputError(
            f"no cut along the Fiedler vector has {balance:g} of the total degree on each side; "
            "use a smaller balance"
        )
    conductance = np.divide(weight, volume, out=np.full(weight.size, np.inf), where=is_allowed)
    best = int(np.argmin(conductance))
    prefix, suffix = np.split(order, [best + 1])
    side = np.where(is_inside, 0, -1)
    side[prefix if prefix.size <= suffix.size else suffix] = 1
    bounds = [
        *analyzed.bounds_on(conductance[best], "conductances", largest=1.0),
        *analyzed.bounds_on(weight[best], "cuts"),
    ]
    return Cut(
        side,
        float(weight[best]),
        float(volume[best]),
        float(conductance[best]),
        float(values[0] / 2 * (1 - tol)),
        fiedler,
        analyzed.ids,
        *(None if bound is None else float(bound) for bound in bounds),
    )


def _prefix_cuts(graph, order):
    """Return the weight between each prefix of `order` and the rest, in one pass."""
    position = np.full(graph.n_nodes, -1)
    position[order] = np.arange(order.size)
    change = np.zeros(order.size)
    for tail, head, weight in graph.batches("sweeping"):
        # Both ends of an edge are in the same component.
        is_inside = position[tail] >= 0
        u = position[tail[is_inside]]
        v = position[head[is_inside]]
        # An edge is cut by the prefixes that contain its first node and not its last one.
        change += np.bincount(np.minimum(u, v), weight[is_inside], order.size)
        change -= np.bincount(np.maximum(u, v), weight[is_inside], order.size)
    return np.cumsum(change).clip(0.0)
