"""Best subgraph with few edges: a low-stretch spanning forest plus off-tree edges.

With hardly more edges than nodes, random sampling is not a good method: the choice of the edges
matters. H starts as a low-stretch spanning forest. All ratios x' L_G x / x' L_H x are then at least
1, and the largest one has to be reduced. Adding an edge e to H reduces the ratio of x by a fraction
of about w_e (x_u - x_v)^2 / x' L_H x. So, in rounds, as in [F20],

    X = (L_H^+ L_G)^2 Y   for a few random columns Y,

whose columns are mixtures of the x with the largest ratios, and edges are added in descending order
of w_e |X_u - X_v|^2. Two edges between the same two regions do the work of one. Therefore each
added edge marks the nodes around its ends, as many as there are per added edge of the round. An
edge between two marked nodes waits for a later round, whose X reflects the edges added so far.

The weights are those of the graph times one factor, which centers the interval between the smallest
ratio x' L_H x / x' L_G x and 1, the largest possible one, around 1. The weights are not unbiased:
no edge represents others, and total weight, cuts and degrees are not preserved. The result is for
preconditioning.

References
----------
[F20] Feng. GRASS: graph spectral sparsification leveraging scalable spectral perturbation analysis.
      IEEE Trans. Computer-Aided Design 39(12), 2020.
"""

import numpy as np
from threadpoolctl import threadpool_limits

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import Step, child_seed
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.solvers.matrix import build_laplacian, multiply
from graphsqueak.sparsifiers.budget import check_connected
from graphsqueak.sparsifiers.certificate.block_lanczos import BlockLanczos
from graphsqueak.sparsifiers.resistance.sketch import squared_distances
from graphsqueak.sparsifiers.subgraph.low_stretch_forest import low_stretch_forest
from graphsqueak.system.kernels import njit_cached

# Rounds in which off-tree edges are added. Halved, kappa is 13 to 42 % larger on meshes, circuits
# and social graphs with 1.13 edges per node; doubled, it changes by -10 to +5 %.
_N_ROUNDS = 8
# Columns of Y. Halved, kappa is 6 to 11 % larger; doubled, 1 to 7 % smaller.
_N_COLUMNS = 8
# Power of L_H^+ L_G. Halved, kappa is 7 to 48 % larger; doubled, it changes by -14 to +1 %.
_POWER = 2
# Relative residual of the solves, and increase of the largest ratio below which Lanczos iterations
# stop. Residuals change the directions X only, and any direction has a ratio: at 0.05 kappa changes
# by at most 7 %. The ratio at which iterations stop is 0 to 5 % below that after 40 iterations.
_TOL = 1e-2


def subgraph_sparsifier(graph: EdgeList, n_edges: int, *, seed: int) -> EdgeList:
    """Choose at most `n_edges` edges of `graph` so that the condition number kappa is small.

    Parameters
    ----------
    graph : EdgeList
        Parallel edges are merged first.
    n_edges : int
        At least the number of edges of a spanning forest.
    seed : int

    Returns
    -------
    EdgeList
        Edges of the graph, with all weights multiplied by one factor.

    Examples
    --------
    A ring of 100 nodes needs all its edges except one, and the factor is 2 / (1 + 1 / 100):

    >>> from graphsqueak.sources import cycle
    >>> H = subgraph_sparsifier(cycle(100).to_edge_list(), 99, seed=7)
    >>> H.n_edges, H.weight[:2].round(2).tolist()
    (99, [1.98, 1.98])
    """
    return best_subgraph(graph.simplified(), n_edges, seed=seed)[0]


def best_subgraph(graph: EdgeList, n_edges: int, *, seed: int) -> tuple[EdgeList, float]:
    """Return the subgraph sparsifier and an estimate of its epsilon.

    Parameters
    ----------
    graph : EdgeList
        Without parallel edges.
    n_edges, seed : int
        See `subgraph_sparsifier`.
    """
    if n_edges >= graph.n_edges:
        return graph, 0.0
    is_kept = low_stretch_forest(graph, random_state=child_seed(seed, Step.SKETCH))
    n_forest = int(np.count_nonzero(is_kept))
    check_connected(n_edges, graph.n_nodes, n_forest=n_forest, n_seen=graph.n_edges)
    rows = build_laplacian(graph, np.zeros(graph.n_nodes))
    laplacian = graph.laplacian()
    n_kept = n_forest
    for number in range(_N_ROUNDS):
        n_more = (n_edges - n_kept) // (_N_ROUNDS - number)
        if n_more:
            score = _edge_scores(graph, laplacian, is_kept, child_seed(seed, number))
            _add_edges(graph, rows, is_kept, score, n_more)
            n_kept += n_more
    chosen = _subgraph(graph, is_kept)
    smallest_ratio = 1 / largest_ratio(graph, chosen, seed=child_seed(seed, Step.FINAL))
    # No ratio of a subgraph is above 1, so the interval is [smallest_ratio, 1].
    factor = 2 / (smallest_ratio + 1)
    return _subgraph(graph, is_kept, factor=factor), factor - 1


@threadpool_limits.wrap(limits=1, user_api="blas")  # products are too small for threads
def largest_ratio(above: EdgeList, below: EdgeList, *, seed: int) -> float:
    """Estimate the largest ratio x' L_A x / x' L_B x by Lanczos iterations on L_B^+ L_A.

    The smallest ratio is one over the largest ratio of B to A. Lanczos converges fast to the
    largest eigenvalue, which is isolated, but not to the smallest, which is in a cluster.

    Parameters
    ----------
    above, below : EdgeList
        A and B, with the same components.
    seed : int

    Examples
    --------
    >>> from graphsqueak.sources import cycle
    >>> ring = cycle(50).to_edge_list()
    >>> round(largest_ratio(ring, ring.part(0, 49), seed=7), 2)
    50.0
    """
    lanczos = BlockLanczos(below, ridge=0.0, n_columns=1, tol=_TOL, random_state=seed)
    rows = build_laplacian(above, np.zeros(above.n_nodes))
    largest = 0.0
    is_converged = False
    # Without new directions the values found are exact.
    while not is_converged and lanczos.newest.shape[1] > 0:
        product = np.empty_like(lanczos.newest)
        multiply(rows, lanczos.newest, product)
        lanczos.step(product)
        last = largest
        largest = float(lanczos.ritz[1])
        # The relative error of a Ritz value is about the square of that of its vector.
        is_converged = largest <= (1 + _TOL**2) * last
    return largest or 1.0


def _subgraph(graph, is_kept, factor=1.0):
    return EdgeList.from_validated(
        graph.tail[is_kept],
        graph.head[is_kept],
        graph.weight[is_kept] * factor,
        graph.n_nodes,
        graph.node_ids,
    )


def _edge_scores(graph, laplacian, is_kept, seed):
    """Return w_e |X_u - X_v|^2 of every edge, for the X of the current subgraph."""
    solver = LaplacianSolver(
        _subgraph(graph, is_kept), solver="cholesky", tol=_TOL, random_state=seed
    )
    rng = np.random.default_rng(seed)
    block = rng.standard_normal((graph.n_nodes, _N_COLUMNS))
    for _ in range(_POWER):
        block = solver.solve(solver.centered(laplacian @ block))
        # Columns of equal energy have equal weight in the scores.
        energy = np.einsum("uk,uk->k", block, laplacian @ block)
        block /= np.sqrt(np.where(energy > 0, energy, 1.0))
    return graph.weight * squared_distances(block, graph.tail, graph.head)


def _add_edges(graph, rows, is_kept, score, n_more):
    """Add `n_more` edges to `is_kept`, in descending order of scores, spread over the graph."""
    candidates = np.flatnonzero(~is_kept)
    candidates = candidates[np.argsort(-score[candidates], kind="stable")]
    n_marked = max(graph.n_nodes // (2 * n_more), 1)
    # Smaller regions in each pass, so that all edges are found in the end.
    while n_more:
        n_more -= _add_spread_edges(
            candidates,
            graph.tail,
            graph.head,
            rows.start,
            rows.neighbor,
            n_marked,
            n_more,
            is_kept,
        )
        n_marked //= 2


@njit_cached
def _add_spread_edges(candidates, tail, head, start, neighbor, n_marked, max_edges, is_kept):
    """Add edges in order, except between nodes that earlier ones have marked.

    Every added edge marks the `n_marked` nodes nearest to each of its ends, in hops, by breadth
    first search. Returns the number of added edges, at most `max_edges`.
    """
    n_nodes = start.size - 1
    is_marked = np.zeros(n_nodes, dtype=np.bool_)
    # Number of the last search that has seen each node: it need not be cleared between searches.
    last_search = np.zeros(n_nodes, dtype=np.int64)
    queue = np.empty(n_marked, dtype=np.int64)
    search = 0
    n_added = 0
    for e in candidates:
        if n_added == max_edges:
            break
        if is_kept[e] or (is_marked[tail[e]] and is_marked[head[e]]):
            continue
        is_kept[e] = True
        n_added += 1
        for root in (tail[e], head[e]):
            search += 1
            last_search[root] = search
            n_found = min(n_marked, 1)
            queue[:n_found] = root
            cursor = 0
            while cursor < n_found:
                u = queue[cursor]
                cursor += 1
                is_marked[u] = True
                for i in range(start[u], start[u + 1]):
                    v = neighbor[i]
                    if n_found < n_marked and last_search[v] != search:
                        last_search[v] = search
                        queue[n_found] = v
                        n_found += 1
    return n_added
