"""Where to draw the nodes.

*spectral*: the first two columns of the embedding (`embedding`), components beside each other. It
shows what hangs together, of graphs of any size, and folds what is long.

*stress*: distances on paper like those along edges. With d(u, p) the number of edges from u to p,
for k landmarks p, far from each other, and for all pairs of neighbors,

    sum over u, p of (|x_u - x_p| - d(u, p))^2 / d(u, p)^2

is lessened by moving every node to where its landmarks and neighbors would like it to be [OKB17].
Landmarks weigh as many as the nodes that are nearest to them. It begins at the classical scaling of
the landmarks' distances [BP07].

References
----------
[OKB17] Ortmann, Klimenta, Brandes. A sparse stress model. J. Graph Algorithms and Applications
        21(5), 2017.
[BP07]  Brandes, Pich. Eigensolver methods for progressive multidimensional scaling of large data.
        Graph Drawing 2006.
"""

import numpy as np
import scipy.sparse.csgraph

from graphsqueak.analysis.embedding import per_root_degree, steady_signs
from graphsqueak.analysis.open_graph import OpenGraph
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_choice, check_count

__all__ = ["layout"]

_STRESS_NODES = 20_000  # up to here "auto" is stress
_STEPS = 60
_SETTLED = 1e-3  # of the radius: steps that move no node further are the last


def layout(
    graph: GraphLike,
    method: str = "auto",
    *,
    n_landmarks: int = 50,
    n_edges: int | None = None,
    sparsifier: GraphLike | None = None,
    random_state: RandomState = None,
    progress: Progress = False,
) -> np.ndarray:
    """Places in the plane for all nodes, to draw the graph.

    Parameters
    ----------
    graph : EdgeList, scipy sparse adjacency, networkx graph or EdgeSource
        A file is read; its stress is that of the sparsifier, which is held.
    method : {"auto", "spectral", "stress"}
        "auto" is stress up to 20,000 nodes in memory, else spectral.
    n_landmarks : int
        Of stress.
    n_edges : int, optional
        Size of the sparsifier that helps where the graph is read. Default: for epsilon = 0.5.
    sparsifier : EdgeList or any graph, optional
        One that is there already, with the ids of the graph.
    random_state : int, Generator or None
    progress : bool or callable

    Returns
    -------
    ndarray of shape (n_nodes, 2)
        Components lie beside each other, each in a disk whose area is its share of the nodes; all
        within the unit disk or not far beyond.

    Examples
    --------
    A path is drawn as a line: the ends are furthest apart.

    >>> from graphsqueak.sources import path
    >>> places = layout(path(9).to_edge_list(), "stress", random_state=7)
    >>> step = np.linalg.norm(np.diff(places, axis=0), axis=1)
    >>> bool(np.linalg.norm(places[0] - places[-1]) > 0.95 * step.sum())
    True
    """
    check_choice("method", method, ("auto", "spectral", "stress"))
    check_count("n_landmarks", n_landmarks, least=2)
    opened = OpenGraph(graph, n_edges, sparsifier, random_state, progress)
    if method == "auto":
        is_small = not opened.is_read and opened.n_nodes <= _STRESS_NODES
        method = "stress" if is_small else "spectral"
    size = np.bincount(opened.components, minlength=1)
    order = np.argsort(-size, kind="stable")
    radius = np.sqrt(size / max(size.max(), 1))
    center = _pack(radius[order])[np.argsort(order)]
    places = np.zeros((opened.n_nodes, 2))
    if method == "spectral" and size.max() > 2:
        places[:] = _spectral(opened, size)
    with reporter(progress, "drawing", unit="components") as tell:
        for number, label in enumerate(order):
            if size[label] == 1:
                break  # and all others, too: they lie at the centers of their disks
            nodes = np.flatnonzero(opened.components == label)
            if method == "stress":
                part = _part(opened.held, nodes)
                rng = np.random.default_rng(opened.seed())
                places[nodes] = _stress(part, min(n_landmarks, len(nodes)), rng)
            elif size[label] == 2:
                places[nodes] = [[-1.0, 0.0], [1.0, 0.0]]
            places[nodes] = _in_disk(places[nodes])
            tell(number + 1, (number + 1) / order.size)
    if order.size > 1:
        places = 0.8 * places * radius[opened.components, None] + center[opened.components]
        places /= max(np.abs(places).max(initial=0.0), 1e-300)
    return places


def _spectral(opened, size):
    """Two columns of each component that has them, of the smallest pairs of the whole graph."""
    large = opened.large_components(8)
    places = np.zeros((opened.n_nodes, 2))
    n_large = np.unique(opened.components[large]).size
    n_free = int((size[size > 1] - 1).sum())
    _, vectors = opened.eigenpairs(min(4 * n_large - 2, n_free), normalized=True, tol=1e-3)
    vectors = steady_signs(per_root_degree(vectors, opened.degrees))
    for label in np.flatnonzero(size > 1):
        nodes = np.flatnonzero(opened.components == label)
        own = np.flatnonzero(np.abs(vectors[nodes]).max(axis=0) > 1e-6)[:2]
        places[np.ix_(nodes, np.arange(own.size))] = vectors[np.ix_(nodes, own)]
        if own.size == 0:
            angle = 2 * np.pi * np.arange(nodes.size) / nodes.size
            places[nodes] = np.column_stack([np.cos(angle), np.sin(angle)])
    return places


def _part(graph, nodes):
    number = np.full(graph.n_nodes, -1)
    number[nodes] = np.arange(nodes.size)
    kept = number[graph.tail] >= 0
    ends = number[graph.tail[kept]], number[graph.head[kept]]
    return EdgeList.from_validated(*ends, graph.weight[kept], nodes.size)


def _stress(graph, n_landmarks, rng):
    distance, nearest = _landmarks(graph, n_landmarks, rng)
    places = _scaling(distance)
    places += 1e-3 * np.abs(places).max() * rng.standard_normal(places.shape)
    landmark = np.argmin(distance, axis=0)
    share = np.bincount(nearest, minlength=n_landmarks) / (distance.max() or 1.0)
    pull = np.divide(share, distance**2, out=np.zeros_like(distance), where=distance > 0)
    ends = np.concatenate([graph.tail, graph.head]), np.concatenate([graph.head, graph.tail])
    total = pull.sum(axis=1) + np.bincount(ends[0], minlength=graph.n_nodes)
    for _ in range(_STEPS):
        away = places[:, None, :] - places[landmark]
        length = np.maximum(np.linalg.norm(away, axis=2), 1e-12)
        wish = places[landmark] + away * (distance / length)[:, :, None]
        moved = np.einsum("up,upd->ud", pull, wish)
        step = places[ends[0]] - places[ends[1]]
        step /= np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-12)
        for d in range(2):
            moved[:, d] += np.bincount(ends[0], (places[ends[1]] + step)[:, d], graph.n_nodes)
        moved /= total[:, None]
        change = np.abs(moved - places).max()
        places = moved
        if change < _SETTLED * np.abs(places).max():
            break
    return places


def _landmarks(graph, n_landmarks, rng):
    """Distances (n_nodes, n_landmarks) to nodes far from each other, and the nearest of them."""
    ones = np.ones(2 * graph.n_edges)
    ends = np.concatenate([graph.tail, graph.head]), np.concatenate([graph.head, graph.tail])
    matrix = scipy.sparse.coo_array((ones, ends), shape=(graph.n_nodes,) * 2).tocsr()
    distance = np.empty((graph.n_nodes, n_landmarks))
    node, least = int(rng.integers(graph.n_nodes)), np.full(graph.n_nodes, np.inf)
    for i in range(n_landmarks):
        distance[:, i] = scipy.sparse.csgraph.dijkstra(matrix, unweighted=True, indices=node)
        least = np.minimum(least, distance[:, i])
        node = int(np.argmax(least + 1e-6 * rng.random(graph.n_nodes)))
    return distance, np.argmin(distance, axis=1)


def _scaling(distance):
    """Classical scaling of squared distances to the landmarks [BP07, Section 3]."""
    square = distance**2
    centered = square - square.mean(axis=0) - square.mean(axis=1, keepdims=True) + square.mean()
    left, size, _ = np.linalg.svd(-centered / 2, full_matrices=False)
    places = np.zeros((len(distance), 2))
    n_columns = min(2, size.size)
    places[:, :n_columns] = left[:, :n_columns] * np.sqrt(size[:n_columns])
    return steady_signs(places)


def _in_disk(places):
    places = places - (places.max(axis=0) + places.min(axis=0)) / 2
    return places / max(np.linalg.norm(places, axis=1).max(), 1e-300)


def _pack(radius):
    """Centers of disks, the largest first: in rows below each other, the widest as wide as high."""
    width = max(2 * radius[0], 2 * np.sqrt((radius**2).sum())) if radius.size else 1.0
    centers, x, y, height = np.empty((radius.size, 2)), 0.0, 0.0, 0.0
    for i, r in enumerate(radius):
        if x > 0 and x + 2 * r > 1.2 * width:
            x, y, height = 0.0, y - 1.05 * height, 0.0
        centers[i] = x + r, y - r
        x, height = x + 2.1 * r, max(height, 2 * r)
    if radius.size:
        centers -= (centers.max(axis=0) + centers.min(axis=0)) / 2
    return centers
