"""Resistances by degrees, where a look at a backbone of the graph says that this is enough.

On a graph without weak cuts r(u, v) is close to 1 / d_u + 1 / d_v. By Foster's theorem it is so on
average: sum_e w_e (1 / d_u + 1 / d_v) = n, and the true leverages sum to n minus the components.
Two things tell whether it is so for every edge.

*The share* that is left to sketch. Of r = (d_u + d_v - 2 w) / (d_u d_v) + rest (see `sketch`), the
rests add up to 2 sum_e w_e^2 / (d_u d_v) - 1, as leverage: small where nodes have many neighbors.

*A backbone*: the spanning forest, and a sample of the other edges by their degrees, some six for
every node, is itself a coarse sparsifier, and solving on it costs a fraction of solving on the
graph. White noise b = D^(1/2) g, the guards of `sketch`, has the potentials x = L^+ b with

    E (x_u - x_v)^2 = sum_i (v_i(u) - v_i(v))^2 / l_i^2,

which is about 1 / d_u + 1 / d_v where no eigenvalue l_i of D^-1 L is small, and r / l, very much
more, across a cut that a small l belongs to. The first part is noise of the two nodes themselves:
the mean X = D^-1 A x of a node's neighbors has 1 / l_i - 1 in place of 1 / l_i, and hardly any of
it. Where |X_u - X_v|^2 is more than noise explains, a tenth of it is added, which is more than
enough: the resistance may be anything up to 1 / w. Where cuts are very weak, degrees are not
enough. Where few edges a node are kept, X is x itself: the noise spreads them a little more evenly,
which holds chains of nodes together.

*Later on*, resistances only fall. Degrees are always those of the day, and the leverages that
follow add up to n as long as the points of an earlier sketch add little: so their sum tells whether
it still serves (`leverages_fit`). On R-MAT graphs it is 1.05 n when the graph has doubled.

*Many nodes.* Most nodes of large graphs have few edges, each with an eighth or more of the node's
degree: a leverage so large that it is kept in any case. Such light nodes join one of their other
neighbors, the likelier the heavier the edge, and the backbone is one of the stars that this makes.
A node that joins across a cut adds its other edges to it, eight times the weight of the one across
at most, so that the other edges of a weak cut still stand out. On R-MAT graphs two thirds of the
nodes are light.

Where degrees are enough, 1 / d_u + 1 / d_v is off by a few per cent (leverage-weighted, root mean
square): 0.4 on random graphs of mean degree 40 and 2.9 of 10, 3.9 and 7.8 on R-MAT graphs of 46 and
20, 1.0 on neighbor graphs in three dimensions. Eight signs are off by about half of the share.
"""

import numba
import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import join, roots
from graphsqueak.randomness import ITEM_WORD, STAR_WORD, uniform
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.solvers.matrix import aligned_like, multiply
from graphsqueak.sparsifiers.resistance.sketch import Embedding, solve_random_rhs, squared_distance
from graphsqueak.system.kernels import compiled, frozen, run, shared

__all__ = ["FOSTER_TOLERANCE", "degree_resistances", "degree_sketch", "leverages_fit"]

_WORK = 10  # elementary steps per edge
_N_PARTS = 64  # of the edges, summed apart: no result depends on the number of threads
_MOST_SHARE = 0.1
_PER_NODE = 6.0  # edges of the backbone
_PER_STAR = 3.0
_LIGHT = 0.125  # of a node's degree is one of its edges
_ADDED = 0.1  # of what white noise says
_ENOUGH = 2**19  # edges that tell a sum
# Sum of all leverages, over that of Foster's theorem, up to which resistances are not outdated.
FOSTER_TOLERANCE = 1.1
_BY_CHANCE = 5.0  # times 1 / d_u + 1 / d_v: that much four columns of noise say once in 2,000 edges


def degree_sketch(
    tail,
    head,
    weight,
    in_forest,
    degree,
    *,
    seed,
    ridge=0.0,
    is_averaged=True,
    aggregation_min_nodes=2**18,
):
    """What white noise says on a backbone of a graph; None where degrees are not enough.

    Parameters
    ----------
    tail, head, weight : arrays
        All edges; some may be parallel.
    in_forest : array of bool
        Which of them are a spanning forest.
    degree : array
        Weighted degrees, with the ridge.
    seed : int
    ridge : float
        As in `embed`.
    is_averaged : bool
        Whether points are means of neighbors, or the noise itself, which says too much.
    aggregation_min_nodes : int
        From as many nodes on the backbone is one of stars.

    Returns
    -------
    Embedding
        For `degree_resistances`.

    Examples
    --------
    In the complete graph of 100 nodes all resistances are 2 / 100:

    >>> from graphsqueak.sources import complete
    >>> graph = complete(100).to_edge_list()
    >>> ends, degree = (graph.tail, graph.head, graph.weight), np.full(100, 99.0)
    >>> sketch = degree_sketch(*ends, graph.tail == 0, degree, seed=7)
    >>> float(degree_resistances(sketch.points / 2, degree, *ends).mean().round(3))
    0.02
    """
    tail, head, weight = frozen(tail, head, weight)
    near = _inverse(degree)
    part = np.linspace(0, tail.size, _N_PARTS + 1).astype(np.int64)
    partial = np.zeros(_N_PARTS)
    run(_rests, _WORK * tail.size, part, tail, head, weight, near, partial)
    if partial.sum() > _MOST_SHARE * degree.size:
        return None
    about = (ridge, seed, aggregation_min_nodes, is_averaged)
    return _sketch(tail, head, weight, in_forest, degree, near, *about)


def degree_resistances(points, degree, tail, head, weight):
    """Resistances of edges by degrees and the points of a `degree_sketch`, divided by sqrt(k).

    They are at most 1 / w, which they are for edges of nodes that the sketch did not know, and in
    the precision of the weights. Edges that are parallel are told apart, so that their
    resistance is at most one over their own weight.
    """
    out = np.empty(tail.size, weight.dtype)
    near = np.zeros((degree.size, 2), np.float32)  # 1 / d_u, and how far at most from any other
    near[:, 0] = _inverse(degree)
    near[: len(points), 1] = 2 * np.einsum("uk,uk->u", points, points)
    run(_resistances, _WORK * tail.size, *frozen(tail, head, weight), near, points, out)
    return out


def leverages_fit(resistance, weight, n_nodes):
    """Whether the leverages of all edges add up to what Foster's theorem says, or not much more.

    They do not where points are those of an earlier graph, whose resistances were larger.

    >>> leverages_fit(np.full(6, 0.5), np.ones(6), 4), leverages_fit(np.ones(6), np.ones(6), 4)
    (True, False)
    """
    step = 1 + weight.size // _ENOUGH
    total = step * (resistance[::step] * weight[::step]).sum(dtype=np.float64)
    return bool(total <= FOSTER_TOLERANCE * n_nodes)


def _inverse(degree):
    """1 / degree in single precision, 0 for a node without edges."""
    out = np.zeros(degree.size, np.float32)
    return np.divide(1.0, degree, out=out, where=degree > 0, casting="same_kind")


def _sketch(
    tail, head, weight, in_forest, degree, near, ridge, seed, aggregation_min_nodes, is_averaged
):
    """What white noise says on a backbone; None where degrees are not enough."""
    columns, star = (tail, head, weight, in_forest), None
    if degree.size < aggregation_min_nodes:
        solver = _backbone(*columns, near, ridge=ridge, seed=seed)
    else:
        star = np.empty(degree.size, dtype=np.int32)
        n_stars = _join_stars(tail, head, weight, near, np.uint64(seed), star)
        solver = _star_backbone(*columns, degree, star, n_stars, ridge=ridge, seed=seed)
    told = solve_random_rhs(solver, np.zeros((solver.rows.n_nodes, 0), np.float32), seed=seed)
    points = _averaged(solver.rows, told.guards) if is_averaged else told.guards
    points = np.float32(np.sqrt(_ADDED)) * points
    sketch = Embedding(
        points if star is None else points[star], degree, told.mean_inverse_eigenvalue
    )
    return None if sketch.has_bottlenecks or not told.resolved else sketch


def _averaged(rows, points):
    """The mean of every node's neighbors, in which the noise of its own is not."""
    flow = aligned_like(points)
    multiply(rows.astype(points.dtype), points, flow)
    return points - flow * _inverse(rows.diagonal())[:, None]


def _backbone(tail, head, weight, in_forest, near, *, ridge, seed):
    """A solver of the forest and a sample of the other edges."""
    chosen = _chosen(tail, head, weight, near, _PER_NODE, seed)
    chosen |= in_forest
    chosen = np.flatnonzero(chosen)
    ends = tail[chosen], head[chosen], weight[chosen].astype(np.float64)
    prob = np.minimum(_PER_NODE * ends[2] * (near[ends[0]] + near[ends[1]]), 1.0)
    heavier = np.where(in_forest[chosen], 1.0, prob)
    backbone = EdgeList.from_clean(*ends[:2], ends[2] / heavier, near.size)
    return LaplacianSolver(backbone, ridge=ridge, random_state=seed)


def _star_backbone(tail, head, weight, in_forest, degree, star, n_stars, *, ridge, seed):
    """A solver of the stars, with a forest and a sample of the other edges between them."""
    backbone = _edges_of_stars(tail, head, weight, in_forest, degree, star, n_stars, seed=seed)
    grounded = ridge * np.bincount(star, minlength=n_stars) if ridge > 0 else 0.0
    return LaplacianSolver(backbone, ridge=grounded, random_state=seed)


def _edges_of_stars(tail, head, weight, in_forest, degree, star, n_stars, *, seed):
    near = _inverse(np.bincount(star, degree, n_stars))[star]
    chosen = _chosen(tail, head, weight, near, _PER_STAR, seed)
    forest = np.flatnonzero(in_forest)
    forest = forest[~chosen[forest]]
    forest = forest[join(roots(n_stars), star[tail[forest]], star[head[forest]])]
    chosen = np.flatnonzero(chosen)
    ends = tail[chosen], head[chosen], weight[chosen].astype(np.float64)
    sampled = ends[2] / np.minimum(_PER_STAR * ends[2] * (near[ends[0]] + near[ends[1]]), 1.0)
    both = np.concatenate([chosen, forest])
    ends, sampled = (star[tail[both]], star[head[both]]), np.concatenate([sampled, weight[forest]])
    between = ends[0] != ends[1]
    return EdgeList.from_clean(*(column[between] for column in (*ends, sampled)), n_stars)


def _chosen(tail, head, weight, near, scale, seed):
    """Which edges a sample by degrees holds."""
    chosen = np.empty(tail.size, dtype=np.bool_)
    about = (near, scale, np.uint64(seed))
    run(_choose, _WORK * tail.size, *frozen(tail, head, weight), *about, chosen)
    return chosen


@compiled
def _join_stars(tail, head, weight, near, seed, star):
    """Number stars; a light node whose neighbors all are light is a star of its own.

    Of the neighbors of a light node, the next one takes the place of those before with a
    probability of its weight among all so far.
    """
    so_far = np.full(star.size, -1.0, dtype=np.float32)  # -1: not light
    for u in range(star.size):
        star[u] = u
    for e in range(tail.size):
        for u in (tail[e], head[e]):
            if weight[e] * near[u] >= _LIGHT:
                so_far[u] = 0.0
    for e in range(tail.size):
        u, v = tail[e], head[e]
        if so_far[u] >= 0.0:
            u, v = v, u
        if so_far[u] < 0.0 and so_far[v] >= 0.0:
            so_far[v] += weight[e]
            if uniform(seed, np.uint64(e), STAR_WORD) * so_far[v] < weight[e]:
                star[v] = u
    n_stars = 0
    number = np.empty(star.size, dtype=np.int32)
    for u in range(star.size):
        if star[u] == u:
            number[u] = n_stars
            n_stars += 1
    for u in range(star.size):
        star[u] = number[star[u]]
    return n_stars


@shared
def _rests(part, tail, head, weight, near, partial):
    for p in numba.prange(part.size - 1):
        total = 0.0
        for e in range(part[p], part[p + 1]):
            w = np.float64(weight[e])
            total += 2 * (w * near[tail[e]]) * (w * near[head[e]])
        partial[p] = total


@shared
def _choose(tail, head, weight, near, scale, seed, chosen):
    for e in numba.prange(tail.size):
        prob = scale * weight[e] * (near[tail[e]] + near[head[e]])
        chosen[e] = uniform(seed, np.uint64(e), ITEM_WORD) < prob


@shared
def _resistances(tail, head, weight, near, points, out):
    """Points are looked at only where they may be far enough apart."""
    n_known = points.shape[0]
    for e in numba.prange(tail.size):
        u, v = tail[e], head[e]
        r = near[u, 0] + near[v, 0]
        by_chance = _BY_CHANCE * _ADDED * r
        known = u < n_known and v < n_known
        if known and near[u, 1] + near[v, 1] > by_chance:
            added = points.shape[1] * squared_distance(points, u, v)
            if added > by_chance:
                r += added
        out[e] = min(r, 1 / weight[e]) if known else 1 / weight[e]
