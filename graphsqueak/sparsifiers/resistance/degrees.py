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
more, across a cut that a small l belongs to. Where it is more than four columns of noise explain, a
tenth of it is added, which is more than enough: the resistance may be anything up to 1 / w. Where
cuts are very weak, degrees are not enough.

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
from graphsqueak.graph.forest import add_degrees, join, roots
from graphsqueak.randomness import ITEM_WORD, STAR_WORD, uniform
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.sparsifiers.resistance.bounds import degree_bound
from graphsqueak.sparsifiers.resistance.sketch import Embedding, solve_flows, squared_distance
from graphsqueak.system.kernels import compiled, run, shared

__all__ = ["degree_sketch"]

_WORK = 10  # elementary steps per edge
_N_PARTS = 64  # of the edges, summed apart: no result depends on the number of threads
_MOST_SHARE = 0.1
_PER_NODE = 6.0  # edges of the backbone
_PER_STAR = 3.0
_LIGHT = 0.125  # of a node's degree is one of its edges
_ADDED = 0.1  # of what white noise says
_BY_CHANCE = 5.0  # times 1 / d_u + 1 / d_v: that much four columns of noise say once in 2,000 edges


def degree_sketch(tail, head, weight, in_forest, n_nodes, *, seed, ridge=0.0, many_nodes=2**18):
    """Resistances of the edges of a graph and a sketch of its backbone, or None if unsuited.

    Parameters
    ----------
    tail, head, weight : arrays
        All edges; those that are parallel are told apart, so that their resistance is at most one
        over their own weight.
    in_forest : array of bool
        Which of them are a spanning forest.
    n_nodes, seed : int
    ridge : float
        As in `embed`.
    many_nodes : int
        From as many nodes on the backbone is one of stars.

    Returns
    -------
    resistance : ndarray
        Within the bounds of the degrees, in the precision of the weights.
    sketch : Embedding
        Its points are those of white noise on the backbone.

    Examples
    --------
    In the complete graph of 100 nodes all resistances are 2 / 100:

    >>> from graphsqueak.sources import complete
    >>> graph = complete(100).to_edge_list()
    >>> ends, forest = (graph.tail, graph.head, graph.weight), graph.tail == 0
    >>> resistance, sketch = degree_sketch(*ends, forest, 100, seed=7)
    >>> float(resistance.mean().round(3)), sketch.points.shape
    (0.02, (100, 4))
    """
    degree = np.full(n_nodes, ridge, dtype=np.float64)
    add_degrees(degree, tail, head, weight)
    part = np.linspace(0, tail.size, _N_PARTS + 1).astype(np.int64)
    partial = np.zeros(_N_PARTS)
    run(_rests, _WORK * tail.size, part, tail, head, weight, degree, partial)
    if partial.sum() > _MOST_SHARE * n_nodes:
        return None
    sketch = _sketch(tail, head, weight, in_forest, degree, ridge, seed, many_nodes)
    if sketch is None:
        return None
    resistance = np.empty(tail.size, weight.dtype)
    near = np.zeros((n_nodes, 2), np.float32)  # 1 / d_u, and how far at most from any other
    np.divide(1.0, degree, out=near[:, 0], where=degree > 0, casting="same_kind")
    near[:, 1] = 2 * np.einsum("uk,uk->u", sketch.points, sketch.points) / sketch.points.shape[1]
    run(_resistances, _WORK * tail.size, tail, head, weight, near, sketch.points, resistance)
    return resistance, sketch


def _sketch(tail, head, weight, in_forest, degree, ridge, seed, many_nodes):
    """What white noise says on a backbone; None where degrees are not enough."""
    columns, star = (tail, head, weight, in_forest, degree), None
    if degree.size < many_nodes:
        solver = _backbone(*columns, ridge=ridge, seed=seed)
    else:
        star, n_stars = _stars(tail, head, weight, degree, seed)
        solver = _star_backbone(*columns, star, n_stars, ridge=ridge, seed=seed)
    told = solve_flows(solver, np.zeros((solver.rows.n_nodes, 0), np.float32), seed=seed)
    points = np.float32(np.sqrt(_ADDED)) * told.guards
    sketch = Embedding(points if star is None else points[star], degree, told.spread)
    return None if sketch.has_weak_cuts or not told.resolved else sketch


def _backbone(tail, head, weight, in_forest, degree, *, ridge, seed):
    """A solver of the forest and a sample of the other edges."""
    chosen = np.empty(tail.size, dtype=np.bool_)
    sample = (tail, head, weight, degree, in_forest)
    run(_choose, _WORK * tail.size, *sample, _PER_NODE, np.uint64(seed), chosen)
    chosen = np.flatnonzero(chosen)
    ends = tail[chosen], head[chosen], weight[chosen]
    leverage = _PER_NODE * ends[2] * (1 / degree[ends[0]] + 1 / degree[ends[1]])
    heavier = np.where(in_forest[chosen], 1.0, np.minimum(leverage, 1.0))
    backbone = EdgeList.from_clean(*ends[:2], ends[2] / heavier, degree.size)
    return LaplacianSolver(backbone, ridge=ridge, random_state=seed)


def _stars(tail, head, weight, degree, seed):
    """The star of every node, and how many there are."""
    star = np.empty(degree.size, dtype=np.int32)
    return star, _join_stars(tail, head, weight, degree, np.uint64(seed), star)


def _star_backbone(tail, head, weight, in_forest, degree, star, n_stars, *, ridge, seed):
    """A solver of the stars, with a forest and a sample of the other edges between them."""
    star_degree = np.bincount(star, degree, n_stars)
    chosen = np.zeros(tail.size, dtype=np.bool_)
    between = (tail, head, weight, star, star_degree, _PER_STAR)
    run(_choose_between, _WORK * tail.size, *between, np.uint64(seed), chosen)
    forest = np.flatnonzero(in_forest)
    forest = forest[~chosen[forest]]
    ends = star[tail[forest]], star[head[forest]]
    forest = forest[join(roots(n_stars), *ends)]
    n_chosen = np.count_nonzero(chosen)
    ends = np.empty((2, n_chosen + forest.size), np.int32)
    sampled = np.empty(ends.shape[1])
    _gather_between(*between, chosen, *ends, sampled)
    for end, own in zip(ends, (tail, head), strict=True):
        end[n_chosen:] = star[own[forest]]
    sampled[n_chosen:] = weight[forest]
    backbone = EdgeList.from_clean(*ends, sampled, n_stars)
    grounded = ridge * np.bincount(star, minlength=n_stars) if ridge > 0 else 0.0
    return LaplacianSolver(backbone, ridge=grounded, random_state=seed)


@compiled
def _join_stars(tail, head, weight, degree, seed, star):
    """Number stars; a light node whose neighbors all are light is a star of its own.

    Of the neighbors of a light node, the next one takes the place of those before with a
    probability of its weight among all so far.
    """
    so_far = np.full(star.size, -1.0, dtype=np.float32)  # -1: not light
    for u in range(star.size):
        star[u] = u
    for e in range(tail.size):
        for u in (tail[e], head[e]):
            if weight[e] >= _LIGHT * degree[u]:
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
def _choose_between(tail, head, weight, star, degree, scale, seed, chosen):
    for e in numba.prange(tail.size):
        u, v = star[tail[e]], star[head[e]]
        if u != v:
            prob = scale * weight[e] * (1 / degree[u] + 1 / degree[v])
            chosen[e] = uniform(seed, np.uint64(e), ITEM_WORD) < prob


@compiled
def _gather_between(tail, head, weight, star, degree, scale, chosen, new_tail, new_head, sampled):
    at = 0
    for e in range(tail.size):
        if chosen[e]:
            u, v = star[tail[e]], star[head[e]]
            prob = scale * weight[e] * (1 / degree[u] + 1 / degree[v])
            new_tail[at], new_head[at] = u, v
            sampled[at] = weight[e] / min(prob, 1.0)
            at += 1


@shared
def _rests(part, tail, head, weight, degree, partial):
    for p in numba.prange(part.size - 1):
        total = 0.0
        for e in range(part[p], part[p + 1]):
            total += 2 * (weight[e] / degree[tail[e]]) * (weight[e] / degree[head[e]])
        partial[p] = total


@shared
def _choose(tail, head, weight, degree, in_forest, scale, seed, chosen):
    for e in numba.prange(tail.size):
        prob = scale * weight[e] * (1 / degree[tail[e]] + 1 / degree[head[e]])
        coin = uniform(seed, np.uint64(e), ITEM_WORD)
        chosen[e] = in_forest[e] or coin < prob


@shared
def _resistances(tail, head, weight, near, points, out):
    """Points are looked at only where they may be far enough apart."""
    for e in numba.prange(tail.size):
        u, v, w = tail[e], head[e], weight[e]
        by_chance = _BY_CHANCE * _ADDED * (near[u, 0] + near[v, 0])
        r = np.float64(near[u, 0]) + near[v, 0]
        if near[u, 1] + near[v, 1] > by_chance:
            added = squared_distance(points, u, v)
            if added > by_chance:
                r += added
        lower, upper = degree_bound(1 / near[u, 0], 1 / near[v, 0], w)
        out[e] = min(max(r, lower), upper)
