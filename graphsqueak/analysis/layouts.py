"""Layouts: positions of the nodes in the plane, for drawings.

*spectral*: the first two columns of the spectral embedding (`embedding`), with components next to
each other. It shows the global structure of graphs of any size, but folds long structures.

*stress*: distances in the plane approximate distances along edges. With d(u, p) the number of edges
from u to p, for k landmarks p far from each other and for all pairs of neighbors,

    sum over u, p of (|x_u - x_p| - d(u, p))^2 / d(u, p)^2

is reduced by moving every node to the mean of the positions that its landmarks and its neighbors
would give it [OKB17]. A landmark is weighted by the number of nodes closest to it. The start is
classical scaling of the distances to the landmarks [BP07].

References
----------
[OKB17] Ortmann, Klimenta, Brandes. A sparse stress model. J. Graph Algorithms and Applications
        21(5), 2017.
[BP07]  Brandes, Pich. Eigensolver methods for progressive multidimensional scaling of large data.
        Graph Drawing 2006.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse.csgraph

from graphsqueak.analysis.analyzed_graph import AnalyzedGraph, induced_subgraph
from graphsqueak.analysis.embedding import fix_signs, scale_by_degree
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_choice, check_count, explain_keywords

# Largest graph for which "auto" is stress, which takes seconds. Part of the documented interface.
# Halved or doubled, so is the longest time.
MAX_STRESS_NODES = 20_000
# Iterations of stress. Halved: relative stress 0.023 instead of 0.019 on a grid of 1,600 nodes,
# 0.159 instead of 0.154 on a tree, in half of the time. Doubled: 0.015 and 0.148, in twice the
# time. Block models and random graphs have a slightly larger stress with more iterations.
N_ITERATIONS = 60


@explain_keywords()
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
    """Compute positions of the nodes in the plane, to draw the graph.

    Use "stress" for graphs of up to some ten thousand nodes, and "spectral" for larger ones. `draw`
    calls this function by default.

    Parameters
    ----------
    graph : GraphLike
        A file is streamed. Its stress layout is that of the sparsifier, which is in memory.
    method : {"auto", "spectral", "stress"}
        "auto" is "stress" for up to 20,000 nodes in memory, else "spectral".
    n_landmarks : int
        Number of landmarks of the stress layout.
    n_edges : int, optional
        Size of the sparsifier of a streamed graph. Default: predicted for epsilon = 0.5.
    sparsifier : EdgeList or any graph, optional
        An existing sparsifier with the ids of the graph.
    random_state : int, Generator or None
    progress : bool or callable

    Returns
    -------
    ndarray of shape (n_nodes, 2)
        Components are in disks next to each other, with areas proportional to their numbers of
        nodes. All coordinates are between -1 and 1.

    Examples
    --------
    A path is drawn as a line, with the ends furthest apart:

    >>> from graphsqueak.sources import path
    >>> positions = layout(path(9).to_edge_list(), "stress", random_state=7)
    >>> step = np.linalg.norm(np.diff(positions, axis=0), axis=1)
    >>> bool(np.linalg.norm(positions[0] - positions[-1]) > 0.95 * step.sum())
    True
    """
    check_choice("method", method, ("auto", "spectral", "stress"))
    check_count("n_landmarks", n_landmarks, least=2)
    analyzed = AnalyzedGraph(graph, n_edges, sparsifier, random_state, progress)
    if method == "auto":
        is_small = not analyzed.is_streamed and analyzed.n_nodes <= MAX_STRESS_NODES
        method = "stress" if is_small else "spectral"
    component = analyzed.components
    size = np.bincount(component, minlength=1)
    order = np.argsort(-size, kind="stable")
    positions = np.zeros((analyzed.n_nodes, 2))
    if method == "spectral" and size.max() > 1:
        positions = _spectral_positions(analyzed, size)
    with reporter(progress, "drawing", unit="components") as report:
        # Isolated nodes stay at the centers of their disks.
        for i, label in enumerate(order[size[order] > 1]):
            nodes = np.flatnonzero(component == label)
            if method == "stress":
                part = induced_subgraph(analyzed.in_memory, nodes)
                rng = np.random.default_rng(analyzed.new_seed())
                positions[nodes] = _stress_positions(part, min(n_landmarks, nodes.size), rng)
            positions[nodes] = _fit_in_disk(positions[nodes])
            report(i + 1, (i + 1) / order.size)
    if size.size > 1:
        radius = np.sqrt(size / max(size.max(), 1))
        center = np.empty((size.size, 2))
        center[order] = _pack_disks(radius[order])
        # The disks do not touch.
        positions = 0.8 * positions * radius[component, None] + center[component]
        positions /= np.abs(positions).max()
    return positions


def _spectral_positions(graph, size):
    """Return two eigenvectors per component, from the smallest eigenpairs of the whole graph."""
    n_large = np.unique(graph.components[graph.large_components(8)]).size
    n_positive = int((size[size > 1] - 1).sum())
    # Twice as many pairs as two per component, because components have different eigenvalues.
    n_pairs = min(4 * n_large - 2, n_positive)
    _, vectors = graph.eigenpairs(n_pairs, normalized=True, tol=1e-3)
    vectors = fix_signs(scale_by_degree(vectors, graph.degrees))
    positions = np.zeros((graph.n_nodes, 2))
    for label in np.flatnonzero(size > 1):
        nodes = np.flatnonzero(graph.components == label)
        own = np.flatnonzero(np.abs(vectors[nodes]).max(axis=0) > 1e-6)[:2]
        positions[np.ix_(nodes, np.arange(own.size))] = vectors[np.ix_(nodes, own)]
        if own.size == 0:
            # A small component, without eigenvectors among the smallest ones: a circle.
            angle = 2 * np.pi * np.arange(nodes.size) / nodes.size
            positions[nodes] = np.column_stack([np.cos(angle), np.sin(angle)])
    return positions


def _stress_positions(graph, n_landmarks, rng):
    """Return positions of low stress of a connected graph [OKB17]."""
    landmarks, distance = _choose_landmarks(graph, n_landmarks, rng)
    positions = _classical_scaling(distance)
    # Nodes with equal distances to all landmarks must not have the same position.
    positions += 1e-3 * np.abs(positions).max() * rng.standard_normal(positions.shape)
    # Each landmark is weighted by the number of nodes closest to it.
    n_closest = np.bincount(np.argmin(distance, axis=1), minlength=n_landmarks)
    weight = np.zeros_like(distance)
    np.divide(n_closest / distance.max(), distance**2, out=weight, where=distance > 0)
    source = np.concatenate([graph.tail, graph.head])
    target = np.concatenate([graph.head, graph.tail])
    total = weight.sum(axis=1) + np.bincount(source, minlength=graph.n_nodes)
    for _ in range(N_ITERATIONS):
        # The position at the right distance from each landmark, in the present direction.
        step = positions[:, None, :] - positions[landmarks]
        length = np.maximum(np.linalg.norm(step, axis=2), 1e-12)
        wanted = positions[landmarks] + step * (distance / length)[:, :, None]
        moved = np.einsum("up,upd->ud", weight, wanted)
        # And at distance 1 from each neighbor.
        step = positions[source] - positions[target]
        step /= np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-12)
        wanted = positions[target] + step
        for axis in range(2):
            moved[:, axis] += np.bincount(source, wanted[:, axis], graph.n_nodes)
        positions = moved / total[:, None]
    return positions


def _choose_landmarks(graph, n_landmarks, rng):
    """Return nodes that are far from each other, and the distances (n_nodes, n_landmarks) to them.

    The first one is random, and each further one is a node furthest from the others.
    """
    matrix = graph.to_scipy()
    landmarks = np.empty(n_landmarks, dtype=np.int64)
    distance = np.empty((graph.n_nodes, n_landmarks))
    to_nearest = np.full(graph.n_nodes, np.inf)
    node = int(rng.integers(graph.n_nodes))
    for i in range(n_landmarks):
        landmarks[i] = node
        distance[:, i] = scipy.sparse.csgraph.dijkstra(matrix, unweighted=True, indices=node)
        to_nearest = np.minimum(to_nearest, distance[:, i])
        # Ties are broken at random.
        node = int(np.argmax(to_nearest + 1e-6 * rng.random(graph.n_nodes)))
    return landmarks, distance


def _classical_scaling(distance):
    """Return positions from the squared distances to the landmarks [BP07, Section 3]."""
    square = distance**2
    centered = square - square.mean(axis=0) - square.mean(axis=1, keepdims=True) + square.mean()
    left, singular_values, _ = np.linalg.svd(-centered / 2, full_matrices=False)
    # At least two landmarks, hence two columns.
    return fix_signs(left[:, :2] * np.sqrt(singular_values[:2]))


def _fit_in_disk(positions):
    """Return the positions in the unit disk around 0."""
    positions = positions - (positions.max(axis=0) + positions.min(axis=0)) / 2
    return positions / max(np.linalg.norm(positions, axis=1).max(), 1e-300)


def _pack_disks(radius):
    """Return centers of disks in descending order, in rows that form about a square."""
    width = max(2 * radius[0], 2 * np.sqrt((radius**2).sum()))
    centers = np.empty((radius.size, 2))
    x = 0.0
    y = 0.0
    row_height = 0.0
    for i, r in enumerate(radius):
        # The next row is below the highest disk of this one.
        if x > 0 and x + 2 * r > 1.2 * width:
            x = 0.0
            y -= 1.05 * row_height
            row_height = 0.0
        centers[i] = x + r, y - r
        x += 2.1 * r
        row_height = max(row_height, 2 * r)
    return centers - (centers.max(axis=0) + centers.min(axis=0)) / 2
