"""Two sides of a graph: the Fiedler vector, swept.

Nodes are sorted by x_1 (`embedding`) and cut at each place in turn; the place of least conductance

    phi(S) = weight between S and the rest / total degree of the smaller of the two

is taken. By Cheeger's inequality it is near the best there is: with mu the eigenvalue of x_1,

    mu / 2 <= phi(best) <= phi(found) <= sqrt(2 mu).

All prefixes are measured in one pass: an edge crosses those that end between its two nodes.
"""

from dataclasses import dataclass, field

import numpy as np

from graphsqueak.analysis.embedding import per_root_degree, steady_signs
from graphsqueak.analysis.open_graph import OpenGraph
from graphsqueak.errors import InputError
from graphsqueak.randomness import RandomState
from graphsqueak.report.table import html_table
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_real

__all__ = ["Cut", "cut"]


@dataclass(frozen=True)
class Cut:
    """A cut of a graph.

    Attributes
    ----------
    side : ndarray of shape (n_nodes,)
        0 or 1, the side of fewer nodes is 1; -1 for nodes of other components.
    weight, volume : float
        Weight between the sides, and total degree of the smaller one.
    conductance : float
        weight / volume.
    least : float
        No cut has a smaller conductance: half the Fiedler eigenvalue, less its tolerance.
    fiedler : ndarray of shape (n_nodes,)
        The vector that was swept, zero on other components.
    ids : ndarray of shape (n_nodes,)
        The user's own name of each node.
    low, high : float or None
        With a certificate: between them lies the conductance of the same cut in the graph that was
        sparsified.
    low_weight, high_weight : float or None
        And between these its weight.
    """

    side: np.ndarray = field(repr=False)
    weight: float
    volume: float
    conductance: float
    least: float
    fiedler: np.ndarray = field(repr=False)
    ids: np.ndarray = field(repr=False)
    low: float | None = None
    high: float | None = None
    low_weight: float | None = None
    high_weight: float | None = None

    def __array__(self, dtype=None, copy=None):
        return np.array(self.side, dtype=dtype, copy=copy)

    def rows(self) -> list[tuple[str, str]]:
        """Name and value of what is known."""
        sizes = np.bincount(self.side[self.side >= 0], minlength=2)
        rows = [
            ("nodes on the smaller side", f"{sizes[1]:,} of {sizes.sum():,}"),
            ("weight of the cut", f"{self.weight:.6g}"),
            ("total degree of the smaller side", f"{self.volume:.6g}"),
            ("conductance", f"{self.conductance:.4g} (no cut is below {self.least:.4g})"),
        ]
        if self.low is not None:
            rows.append(("conductance in the graph", f"{self.low:.4g} to {self.high:.4g}"))
            ends = f"{self.low_weight:.6g} to {self.high_weight:.6g}"
            rows.append(("weight in the graph", ends))
        if n_outside := int(np.count_nonzero(self.side < 0)):
            rows.append(("nodes of other components", f"{n_outside:,}"))
        return rows

    def __str__(self):
        return "\n".join(f"{name:<33} {value}" for name, value in self.rows())

    def _repr_html_(self):
        return html_table(self.rows(), caption="cut", words=True)


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
    """Cut the largest component in two, where little weight is cut off from much.

    Parameters
    ----------
    graph : EdgeList, scipy sparse adjacency, networkx graph or EdgeSource
        A file (`read_edges`) is read some times and never held.
    balance : float
        The smaller side has at least this share of the total degree, below 0.5.
    n_edges : int, optional
        Size of the sparsifier that helps where the graph is read. Default: for epsilon = 0.5.
    sparsifier : EdgeList or any graph, optional
        One that is there already, with the ids of the graph.
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
    opened = OpenGraph(graph, n_edges, sparsifier, random_state, progress)
    inside = opened.large_components(1)
    if np.count_nonzero(inside) < 2:
        raise InputError("the graph has no edge, and nothing to cut")
    values, vectors = opened.eigenpairs(1, normalized=True, tol=tol, nodes=inside)
    fiedler = steady_signs(per_root_degree(vectors[:, :1], opened.degrees))[:, 0]
    order = np.flatnonzero(inside)
    order = order[np.argsort(fiedler[order], kind="stable")]
    crossing, volume = _sweep(opened, order)
    total = opened.degrees[inside].sum()
    smaller = np.minimum(volume, total - volume)
    allowed = smaller[:-1] >= balance * total
    if not allowed.any():
        raise InputError(f"no cut along the Fiedler vector leaves {balance:g} on each side")
    ratio = np.divide(crossing, smaller, out=np.full(order.size, np.inf), where=smaller > 0)
    place = int(np.argmin(np.where(allowed, ratio[:-1], np.inf)))
    side = np.where(inside, 0, -1)
    few = order[: place + 1] if place + 1 <= order.size // 2 else order[place + 1 :]
    side[few] = 1
    weight, found = float(crossing[place]), float(ratio[place])
    ends: dict[str, float] = {}
    if opened.certificate is not None:
        low, high = opened.certificate.bounds_on(found, quantity="conductances")
        least, most = opened.certificate.bounds_on(weight, quantity="cuts")
        ends = {"low": float(low), "high": min(float(high), 1.0)}
        ends |= {"low_weight": float(least), "high_weight": float(most)}
    return Cut(
        side=side,
        weight=weight,
        volume=float(smaller[place]),
        conductance=found,
        least=float(values[0] / 2 * (1 - tol)),
        fiedler=fiedler,
        ids=opened.held.ids,
        **ends,
    )


def _sweep(opened, order):
    """Weight that leaves every prefix of `order`, and the total degree of the prefix."""
    position = np.full(opened.n_nodes, -1)
    position[order] = np.arange(order.size)
    change = np.zeros(order.size)
    for tail, head, weight in opened.batches("sweeping"):
        inside = position[tail] >= 0
        first, second = position[tail[inside]], position[head[inside]]
        change += np.bincount(np.minimum(first, second), weight[inside], order.size)
        change -= np.bincount(np.maximum(first, second), weight[inside], order.size)
    return np.cumsum(change).clip(0.0), np.cumsum(opened.degrees[order])
