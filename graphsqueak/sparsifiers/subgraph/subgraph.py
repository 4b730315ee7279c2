"""The best subgraph for few edges: a forest of low stretch, and the edges that it misses most.

With hardly more edges than nodes, coins are the wrong tool: what counts is which edges are kept.
H begins as a spanning forest of low stretch (`backbone`). The ratios x' L_G x / x' L_H x are then
all at least 1, and the largest one is to be brought down: an edge e that joins H lowers the ratio
of x by about its share w_e (x_u - x_v)^2 / x' L_H x. So, in rounds, as in [F20],

    X = (L_H^+ L_G)^2 Y   for a few columns Y of random numbers,

whose columns are mixtures of the worst x, and edges are taken by their w_e |X_u - X_v|^2, the
largest first. Two that join the same two places do the work of one: whoever is taken marks as many
nodes around its ends as there are for an edge of this round, and an edge between two marked nodes
is left for a later round, which sees what the ones before it have mended.

The weights are those of the graph times one factor, by which the least ratio x' L_H x / x' L_G x
and 1, which no subgraph exceeds, come to lie symmetrically around 1. They are not unbiased: no edge
stands for others, and total weight, cuts and degrees are not preserved. The result is for
preconditioning.

References
----------
[F20] Feng. GRASS: graph spectral sparsification leveraging scalable spectral perturbation analysis.
      IEEE Trans. Computer-Aided Design 39(12), 2020.
"""

import numpy as np
from threadpoolctl import threadpool_limits

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import Step, child_seed
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.solvers.matrix import build_laplacian, multiply
from graphsqueak.sparsifiers.certificate.block_lanczos import BlockLanczos
from graphsqueak.sparsifiers.subgraph.backbone import low_stretch_forest
from graphsqueak.system.kernels import njit_cached

__all__ = ["best_subgraph", "largest_ratio", "subgraph_sparsifier"]

_ROUNDS = 8
_COLUMNS = 8
_POWER = 2
_TOL = 1e-2  # of the solves: directions are wanted, whose ratios are true ones anyway
_STEPS = 24  # of Lanczos, for an end of the interval


def subgraph_sparsifier(graph: EdgeList, n_edges: int, *, seed: int) -> EdgeList:
    """At most `n_edges` edges of `graph`, chosen so that kappa is small; weights times one factor.

    Parameters
    ----------
    graph : EdgeList
        Parallel edges are added up first.
    n_edges : int
        At least as many as a spanning forest has.
    seed : int

    Returns
    -------
    EdgeList

    Examples
    --------
    A ring of 100 nodes needs all its edges but one, and the factor is 2 / (1 + 1 / 100):

    >>> from graphsqueak.sources import cycle
    >>> H = subgraph_sparsifier(cycle(100).to_edge_list(), 99, seed=7)
    >>> H.n_edges, H.weight[:2].round(2).tolist()
    (99, [1.98, 1.98])
    """
    return best_subgraph(graph.simplified(), n_edges, seed=seed)[0]


def best_subgraph(graph: EdgeList, n_edges: int, *, seed: int) -> tuple[EdgeList, float]:
    """The same of a graph without parallel edges, and its epsilon as far as a few steps tell.

    Parameters
    ----------
    graph : EdgeList
    n_edges, seed : int
    """
    if n_edges >= graph.n_edges:
        return graph, 0.0
    kept = low_stretch_forest(graph, random_state=child_seed(seed, Step.SKETCH))
    n_forest = int(np.count_nonzero(kept))
    if n_forest > n_edges:
        raise InputError(
            f"{n_edges:,} edges cannot hold {graph.n_nodes:,} nodes together: at least "
            f"{n_forest:,} are needed; ask for more edges"
        )
    rows = build_laplacian(graph, np.zeros(graph.n_nodes))
    whole, n_kept = graph.laplacian(), n_forest
    for number in range(_ROUNDS):
        n_more = (n_edges - n_kept) // (_ROUNDS - number)
        if n_more:
            score = _scores(graph, whole, kept, child_seed(seed, number))
            _take(graph, rows, kept, score, n_more)
            n_kept += n_more
    chosen = _part(graph, kept)
    least = 1 / largest_ratio(graph, chosen, seed=child_seed(seed, Step.FINAL))
    factor = 2 / (least + 1)  # no ratio of a subgraph is above 1
    ends = (chosen.tail, chosen.head, chosen.weight * factor)
    return EdgeList.from_validated(*ends, graph.n_nodes, graph.node_ids), factor - 1


@threadpool_limits.wrap(limits=1, user_api="blas")  # a product is too short to be shared
def largest_ratio(above: EdgeList, below: EdgeList, *, seed: int) -> float:
    """The largest ratio x' L_A x / x' L_B x that some steps of Lanczos on L_B^+ L_A find.

    It stands out there, where the least one is lost in a crowd: that is one over the largest ratio
    of B to A.

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
    run = BlockLanczos(below, ridge=0.0, n_columns=1, tol=_TOL, random_state=seed)
    run.ignore_end(0)
    rows = build_laplacian(above, np.zeros(above.n_nodes))
    for _ in range(_STEPS):
        if run.newest.shape[1] == 0:
            break
        product = np.empty_like(run.newest)
        multiply(rows, run.newest, product)
        run.step(product)
    return float(run.ritz[1]) or 1.0


def _part(graph, kept):
    return EdgeList.from_validated(
        graph.tail[kept], graph.head[kept], graph.weight[kept], graph.n_nodes, graph.node_ids
    )


def _scores(graph, whole, kept, seed):
    """How much of the worst vectors lies along each edge."""
    solver = LaplacianSolver(_part(graph, kept), solver="cholesky", tol=_TOL, random_state=seed)
    rng = np.random.default_rng(seed)
    block = rng.standard_normal((graph.n_nodes, _COLUMNS))
    for _ in range(_POWER):
        block = solver.solve(solver.centered(whole @ block))
        energy = np.einsum("uk,uk->k", block, whole @ block)
        block /= np.sqrt(np.where(energy > 0, energy, 1.0))
    score = np.empty(graph.n_edges)
    _edge_energies(graph.tail, graph.head, graph.weight, block, score)
    return score


def _take(graph, rows, kept, score, n_more):
    """Add `n_more` edges to `kept`, in place, large scores first, no two at the same places."""
    order = np.flatnonzero(~kept)
    order = order[np.argsort(-score[order], kind="stable")]
    ball = max(graph.n_nodes // (2 * n_more), 1)
    while n_more:
        ends = (graph.tail, graph.head)
        n_more -= _take_apart(order, *ends, rows.start, rows.neighbor, ball, n_more, kept)
        ball //= 2


@njit_cached
def _edge_energies(tail, head, weight, block, out):
    for e in range(tail.size):
        total = 0.0
        for k in range(block.shape[1]):
            step = block[tail[e], k] - block[head[e], k]
            total += step * step
        out[e] = weight[e] * total


@njit_cached
def _take_apart(order, tail, head, start, neighbor, ball, most, kept):
    """Take edges in order, at most `most`, but none between nodes marked by those before it.

    Every edge marks the `ball` nodes nearest to each of its ends, in hops.
    """
    n_nodes = start.size - 1
    marked = np.zeros(n_nodes, dtype=np.bool_)
    seen = np.full(n_nodes, -1, dtype=np.int64)
    queue = np.empty(max(ball, 1), dtype=np.int64)
    n_taken = 0
    for e in order:
        if n_taken == most:
            break
        if kept[e] or (marked[tail[e]] and marked[head[e]]):
            continue
        kept[e] = True
        for end in range(2):
            root = tail[e] if end == 0 else head[e]
            stamp = 2 * n_taken + end
            seen[root] = stamp
            n_found = 0
            if ball:
                queue[0], n_found = root, 1
            cursor = 0
            while cursor < n_found:
                u = queue[cursor]
                cursor += 1
                marked[u] = True
                for i in range(start[u], start[u + 1]):
                    v = neighbor[i]
                    if n_found == ball:
                        break
                    if seen[v] != stamp:
                        seen[v] = stamp
                        queue[n_found] = v
                        n_found += 1
        n_taken += 1
    return n_taken
