"""The last shrink: of what a stream keeps, the sparsifier that was promised.

What is kept is filtered again if it is far more than the budget, coalesced, scored and thinned
(`thinning`). Degrees are calibrated before it, so that what coins left uneven is mended by how many
edges a node gets, and after it, for the little that is left by then.

*Calibration.* A stream knows every node's weighted degree exactly, in one number per node. With
scales s and one factor c for the whole graph,

    w_uv  ->  c s_u s_v w_uv,     c s_u sum_v w_uv s_v = d_u  for every u,

is Sinkhorn's problem; a few damped steps bring the degrees close. The scales stay within [1/2, 2]:
on sparse graphs the exact solution may not exist, and chasing it drives weights to zero. A hub
whose few edges lead to nodes of small degree then stays below its degree, and no node can make up
for it. In every step c is set so that the total weight is that of the graph: it moves the range of
the scales, and nodes at its lower end come out above their degree by what the hubs lack. Where all
degrees can be met, the scales take up c, and the weights are the same with it and without. Bridges,
which are never thinned, keep their weights.

Without c, 4 to 25 % of the total weight is lost at 1.1 to 1.7 edges per node. One factor on all
weights after the last step would meet the total as well, with up to twice the median error of the
degrees.

The engine is left as it is, since the stream may go on. Where it does not, its edges are used up:
they are coalesced in the memory that they have.
"""

import numba
import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.forest import add_degrees, find_bridges
from graphsqueak.randomness import Step, child_seed
from graphsqueak.sparsifiers.budget import sampling_error, sampling_error_curve
from graphsqueak.sparsifiers.stream.edges import KeptBuffer, KeptEdges
from graphsqueak.sparsifiers.stream.in_place import share_passing
from graphsqueak.sparsifiers.stream.probes import WeakCuts
from graphsqueak.sparsifiers.stream.thinning import thin_to_budget
from graphsqueak.system.kernels import alongside, run, shared
from graphsqueak.system.memory import release_memory

__all__ = ["LAST_ROOM", "calibrate", "last_shrink"]

LAST_ROOM = 1.75  # times the budget: more than this is filtered again before the last shrink
_WORTH_FILTERING = 0.8  # of what is kept: if more would be left, it is not filtered
_BITS = 4  # binary digits of the last shrink's probabilities: 3 have 1 % more error, 6 no less
_MANY_EDGES = 2**20  # beyond which one digit less saves more time than it costs error
_N_STEPS = 10
_WORK = 10  # elementary steps per edge
_N_PARTS = 4  # of the edges, summed apart: no result depends on the number of threads
_FEW_PARTS = 2  # where a table of all nodes takes much memory
_MANY_NODES = 2**20
_LARGEST_FACTOR = 2.0  # by which a node is scaled
_SETTLED = 3e-3  # share of all degrees that may be amiss at the end
_ROUNDING = 1e-9  # share of all degrees below which what free edges should have is rounding error


def last_shrink(engine, budget, *, epsilon=None, use_up):
    """The sparsifier of all edges that an engine has seen, of at most `budget` edges.

    With `epsilon`, the edges are scored first, and their scores predict how many edges that error
    needs. The budget then only decides how many of them are scored.
    """
    options, is_large = engine.options, engine.is_large
    buffer = _edges_for_last_shrink(engine, budget, use_up)
    edges = buffer.edges()
    is_whole = engine.n_shrinks == 0
    # How many edges an error needs is known only once they are scored.
    is_thinned = edges.tail.size > budget or (epsilon is not None and edges.tail.size > 0)
    bridges, looks = alongside(_bridges, engine, edges), is_thinned and options.pin_forest
    weak_cuts = WeakCuts.of(edges, engine.n_nodes) if looks else None
    bridge, engine.result_error = bridges(), engine.cut_error
    if is_thinned:
        n_pinned = np.count_nonzero(edges.pinned)
        if n_pinned > budget:
            raise InputError(
                f"{budget:,} edges cannot hold {engine.n_nodes:,} nodes together: at least "
                f"{n_pinned:,} are needed; ask for more edges"
            )
        if options.calibrate and not is_whole:
            edges = calibrate(edges, engine.degree, bridge, in_place=is_large)
        weak_cuts = weak_cuts.weighed(edges) if looks else None
        if is_large:
            release_memory()
        resistance = engine.score_by_degrees(edges, Step.FINAL)
        in_order = is_large and options.keep_degrees and resistance is not None
        if resistance is None:
            resistance, _ = engine.score(edges, options.final_probes, Step.FINAL)
        if use_up:
            engine.filter = None
        resistance[bridge] = 1 / edges.weight[bridge]
        if epsilon is not None:
            engine.error_curve = sampling_error_curve(
                *edges[:3],
                resistance,
                edges.pinned,
                epsilon=epsilon,
                n_nodes=engine.n_nodes,
                n_seen=engine.n_seen if engine.n_shrinks else None,
            )
            budget = min(engine.error_curve.edges_for(epsilon), edges.tail.size)
            is_thinned = budget < edges.tail.size
    if is_thinned:
        resistance, _ = engine.favored.boost_edges(edges, resistance, budget)
        resistance[bridge] = 1 / edges.weight[bridge]
        predicted = alongside(
            sampling_error,
            *edges[:3],
            resistance if in_order else resistance.copy(),
            edges.pinned,
            budget,
            n_nodes=engine.n_nodes,
            n_seen=engine.n_seen if engine.n_shrinks else None,
        )
        if in_order:  # edges are about to be moved
            predicted()
        edges, bridge = thin_to_budget(
            edges,
            resistance,
            budget,
            engine.n_nodes,
            seed=child_seed(engine.seed, Step.FINAL),
            n_bits=options.bits(_BITS if edges.tail.size <= _MANY_EDGES else _BITS - 1),
            pin_forest=options.pin_forest,
            bridge=bridge,
            in_order=in_order,
        )
        is_whole, resistance, engine.predicted = False, None, predicted()
        if looks:
            engine.result_error = max(engine.cut_error, weak_cuts.odd_change(edges, 3))
        if in_order:  # what is left stands at the beginning of its memory
            buffer.cut(edges.tail.size)
            buffer.trim()
            edges, bridge = buffer.edges(), bridge.copy()
    buffer = None
    engine.is_result_whole = is_whole
    if options.calibrate and not is_whole:
        edges = calibrate(edges, engine.degree, bridge, in_place=is_large)
    if edges.weight.dtype != np.float64:
        edges = edges._replace(weight=edges.weight.astype(np.float64))
    if engine.unit == 1.0 and is_large:
        return edges
    return edges._replace(weight=edges.weight * engine.unit)


def calibrate(edges, degree, fixed=None, *, in_place=False):
    """Scale the weights so that the total is that of `degree` and degrees are close to it.

    The weights of `fixed` edges (a mask) stay as they are.

    >>> from graphsqueak.sparsifiers.stream.edges import KeptEdges
    >>> ends, weight = (np.array([0, 1, 2]), np.array([1, 2, 0])), np.array([1.0, 1.0, 2.0])
    >>> triangle = KeptEdges(*ends, weight, np.ones(3, int), np.zeros(3, bool))
    >>> calibrate(triangle, np.array([2.0, 2.0, 2.0])).weight.round(1)
    array([1., 1., 1.])
    """
    all_degrees = degree.sum()
    if fixed is None or not fixed.any():
        fixed = np.zeros(0, np.bool_)
    else:
        degree = degree.copy()
        add_degrees(degree, edges.tail[fixed], edges.head[fixed], -edges.weight[fixed])
    free_degrees = degree.sum()
    # What rounding leaves of a total that is all fixed says nothing about the free edges.
    meets_total = free_degrees > _ROUNDING * all_degrees
    n_parts = _N_PARTS if degree.size < _MANY_NODES else _FEW_PARTS
    part = np.linspace(0, edges.tail.size, n_parts + 1).astype(np.int64)
    ends = (edges.head, edges.tail) if in_place else (edges.tail, edges.head)  # mostly in order
    sums = np.empty((n_parts, degree.size))
    edge_work = _WORK * part[-1]
    node_work = _WORK * degree.size
    scale = np.ones(degree.size)
    share = np.linspace(0, degree.size, _N_PARTS + 1).astype(np.int64)
    partial = np.empty(_N_PARTS)
    for step in range(_N_STEPS + 1):
        run(_degrees, edge_work, part, *ends, edges.weight, fixed, scale, sums)
        run(_add_sums, node_work, share, scale, sums, partial)
        scaled_degrees = partial.sum()
        factor = free_degrees / scaled_degrees if meets_total and scaled_degrees > 0.0 else 1.0
        run(_next_scale, node_work, share, degree, scale, factor, step % 2 == 0, sums, partial)
        if step == _N_STEPS or partial.sum() <= _SETTLED * free_degrees:
            break
        np.copyto(scale, sums[0])
    scaled = edges.weight if in_place else edges.weight.copy()
    run(_apply_scale, edge_work, part, *ends, fixed, scale, factor, scaled)
    return edges._replace(weight=scaled)


def _bridges(engine, edges):
    seed = child_seed(engine.seed, Step.BRIDGES)
    return find_bridges(edges.tail, edges.head, edges.pinned, engine.n_nodes, seed=seed)


def _edges_for_last_shrink(engine, budget, use_up):
    """A buffer of what is kept, filtered again if that is far more than the budget, coalesced."""
    buffer, is_large = engine.buffer, engine.is_large
    if use_up:
        engine.buffer = KeptBuffer(n_copies=engine.options.n_copies)
    is_long = buffer.size > LAST_ROOM * budget and engine.can_sweep
    if is_long and share_passing(engine.filter, buffer.edges()) < _WORTH_FILTERING:
        last = buffer if use_up else KeptBuffer()
        if not use_up:
            last.hold_weights_as(buffer.precision)
        seed = child_seed(engine.seed, Step.FINAL_REFILTER)
        last.replace(engine.filter.sweeper(engine.favored, seed), buffer.edges())
        buffer = last
    elif is_large and not use_up:
        buffer = KeptBuffer(KeptEdges(*(column.copy() for column in buffer.edges())))
    if not is_large:
        return KeptBuffer(engine.coalesced(buffer.edges()))
    if engine.n_shrinks == 0:
        buffer.hold_weights_as(np.float64)  # the sum of exact weights is exact
    buffer.cut(engine.coalesced(buffer.edges()).tail.size)
    buffer.trim()
    release_memory()
    return buffer


@shared
def _degrees(part, node, other, weight, fixed, scale, sums):
    """Sums of w_uv s_v at u and of w_uv s_u at v, for each part of the edges.

    Edges of one node follow each other mostly; its sum is at hand until the next node comes.
    """
    for p in numba.prange(part.size - 1):
        own = sums[p]
        own[:] = 0.0
        u, total = node[part[p]] if part[p] < part[p + 1] else 0, 0.0
        for e in range(part[p], part[p + 1]):
            if node[e] != u:
                own[u] = total
                u = node[e]
                total = own[u]
            if fixed.size == 0 or not fixed[e]:
                v, w = other[e], weight[e]
                total += w * scale[v]
                own[v] += w * scale[u]
        own[u] = total


@shared
def _add_sums(share, scale, sums, total):
    """Add up the sums of all parts in the first; sums of the degrees that the scales give."""
    for p in numba.prange(share.size - 1):
        total[p] = 0.0
        for u in range(share[p], share[p + 1]):
            for k in range(1, sums.shape[0]):
                sums[0, u] += sums[k, u]
            total[p] += scale[u] * sums[0, u]


@shared
def _next_scale(share, degree, scale, factor, is_half, sums, amiss):
    """Write the scales to follow into the first sums; how far degrees are amiss by now.

    Half a step (of logarithms) and a whole one, in turn, are as near after six as halves alone
    after nine.
    """
    for p in numba.prange(share.size - 1):
        amiss[p] = 0.0
        for u in range(share[p], share[p + 1]):
            own = factor * sums[0, u]
            amiss[p] += abs(scale[u] * own - degree[u])
            goal = max(degree[u], 0.0) / own if own > 0.0 else scale[u]
            goal = np.sqrt(scale[u] * goal) if is_half else goal
            sums[0, u] = min(max(goal, 1 / _LARGEST_FACTOR), _LARGEST_FACTOR)


@shared
def _apply_scale(part, node, other, fixed, scale, factor, weight):
    for p in numba.prange(part.size - 1):
        for e in range(part[p], part[p + 1]):
            if fixed.size == 0 or not fixed[e]:
                weight[e] *= factor * scale[node[e]] * scale[other[e]]
