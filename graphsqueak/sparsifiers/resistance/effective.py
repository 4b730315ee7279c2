"""Effective resistances of edges or node pairs of a graph in memory.

    r(u, v) = (1_u - 1_v)^T L^+ (1_u - 1_v)

is the voltage between u and v when a unit current flows from one to the other. The product w_e r_e
is the leverage of an edge, the probability that a random spanning tree contains it. The leverages
of all edges sum to n_nodes - n_components (Foster's theorem).

`graphsqueak.effective_resistance` calls `resistances_in_memory` for graphs in memory, and
`outofcore.resistances` computes those of streamed graphs. Exact values come from `exact` and
`selected`, estimates from `sketch`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import as_ids
from graphsqueak.nodes.numbering import make_node_finder
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.eigenpairs import MAX_DENSE_NODES
from graphsqueak.solvers.matrix import power_of_two
from graphsqueak.sparsifiers.resistance.bounds import degree_terms
from graphsqueak.sparsifiers.resistance.exact import MAX_BLOCK_ENTRIES, exact_resistances
from graphsqueak.sparsifiers.resistance.selected import (
    has_small_separators,
    selected_resistances,
)
from graphsqueak.sparsifiers.resistance.sketch import precise_embedding, squared_distances
from graphsqueak.validation import check_choice, check_count, check_real, check_span

# Right-hand sides of the first sketch, which shows how many are needed for `rtol`. As many exact
# solves take no longer than a sketch. On random graphs with 8 edges per node, half as many have
# 40 % more error and take 20 % less time; twice as many have 30 % less and take twice as long.
N_PILOT_PROBES = 32


def resistances_in_memory(
    graph: EdgeList,
    pairs: ArrayLike | None = None,
    *,
    by_id: bool = False,
    method: str = "auto",
    n_probes: int | None = None,
    rtol: float = 0.05,
    random_state: RandomState = None,
) -> np.ndarray:
    """Return the effective resistance of every edge, or of the given node pairs.

    Parameters and results are those of `graphsqueak.effective_resistance`.

    Examples
    --------
    >>> resistances_in_memory(EdgeList(tail=[0, 1, 2], head=[1, 2, 0]))
    array([0.66666667, 0.66666667, 0.66666667])
    """
    check_choice("method", method, ("auto", "exact", "sketch"))
    check_real("rtol", rtol, above=0.0)
    if n_probes is not None:
        check_count("n_probes", n_probes)
    if pairs is None:
        tail, head = graph.tail, graph.head
    else:
        tail, head = check_pairs(pairs, graph, by_id)
    check_span(graph.weight.min(initial=np.inf), graph.weight.max(initial=0.0))
    # Weights of at most 1 avoid overflow. A power of two changes no digit.
    unit = power_of_two(graph.weight.max(initial=1e-300))
    graph = EdgeList.from_validated(graph.tail, graph.head, graph.weight / unit, graph.n_nodes)
    component = graph.components()
    resistance = np.where(tail == head, 0.0, np.inf)
    is_finite = (component[tail] == component[head]) & (tail != head)
    if is_finite.any():
        resistance[is_finite] = _finite_resistances(
            graph,
            component,
            tail[is_finite],
            head[is_finite],
            is_every_edge=pairs is None,
            method=method,
            n_probes=n_probes,
            rtol=rtol,
            random_state=random_state,
        )
    return resistance / unit


def _finite_resistances(
    graph, component, tail, head, *, is_every_edge, method, n_probes, rtol, random_state
):
    """Return the resistances of pairs of different nodes, each pair within one component."""
    simple = graph.simplified()
    degree = simple.degrees()
    weight = simple.to_scipy()[tail, head]
    known, *bounds = degree_terms(degree[tail], degree[head], weight)
    n_solves = min(tail.size, np.union1d(tail, head).size)
    is_small = graph.n_nodes <= MAX_DENSE_NODES
    has_few_solves = n_solves <= N_PILOT_PROBES
    is_cheap = is_small or has_few_solves
    may_factorize = is_every_edge and not is_cheap and n_probes is None and method != "sketch"
    if may_factorize and has_small_separators(simple):
        found = selected_resistances(simple, component, tail, head)
        if found is not None:
            return np.clip(found, *bounds)
    if method == "exact" or (method == "auto" and is_cheap):
        # A single block of right-hand sides would be as large as the inverse.
        is_one_block = graph.n_nodes**2 <= MAX_BLOCK_ENTRIES
        use_dense = is_small or (is_one_block and not has_few_solves)
        found = exact_resistances(simple, component, tail, head, use_dense=use_dense)
        return np.clip(found, *bounds)
    sketched = _sketch_pairs(
        simple,
        tail,
        head,
        known,
        bounds,
        n_probes=n_probes,
        rtol=rtol,
        rng=np.random.default_rng(random_state),
    )
    if not is_every_edge:
        return np.clip(known + sketched, *bounds)
    # The leverages of all edges sum to the number of edges of a spanning forest.
    n_forest = graph.n_nodes - component.max() - 1
    return _rescale_to_foster(known, sketched, bounds, weight=graph.weight, total=n_forest)


def check_pairs(pairs, graph, by_id):
    """Return the node numbers of both sides of `pairs`, or raise an InputError.

    Parameters
    ----------
    pairs : array of shape (n_pairs, 2), or list of pairs
    graph : EdgeList
    by_id : bool
        Whether integers are node ids.
    """
    if hasattr(pairs, "__array__"):
        pairs = np.asarray(pairs)
        rows = pairs if pairs.dtype.kind in "iu" else pairs.tolist()
    else:
        rows = list(pairs)
    is_array = isinstance(rows, np.ndarray)
    # All rows of an array have the same length.
    for number, row in enumerate(rows[:1] if is_array else rows):
        if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != 2:
            raise InputError(
                f"pair {number} is {row!r}; give two nodes per pair, such as [(0, 33)]"
            )
    names = rows.ravel() if is_array else as_ids([name for row in rows for name in row])
    if names.dtype.kind in "iu" and not by_id:
        nodes = np.where((names >= 0) & (names < graph.n_nodes), names, -1)
        fix = f"nodes are 0 to {graph.n_nodes - 1}, or give by_id=True"
    else:
        known = graph.ids if names.dtype.kind in "iu" else graph.ids.astype(object)
        nodes = make_node_finder(known, graph.n_nodes)(names)
        fix = "it is not in the graph, check its spelling"
    if nodes.min(initial=0) < 0:
        wrong = int(np.argmin(nodes))
        raise InputError(f"pair {wrong // 2} names node {names.tolist()[wrong]!r}; {fix}")
    nodes = nodes.astype(np.int64, copy=False)
    return np.ascontiguousarray(nodes[::2]), np.ascontiguousarray(nodes[1::2])


def _sketch_pairs(graph, tail, head, known, bounds, *, n_probes, rtol, rng):
    """Return the sketched part of r(tail, head), with as many probes as needed."""
    max_columns = max(MAX_BLOCK_ENTRIES // graph.n_nodes, 1)
    sketched = np.zeros(tail.size)
    n_done = 0
    n_needed = n_probes
    while n_needed is None or n_done < n_needed:
        n_missing = N_PILOT_PROBES if n_needed is None else n_needed - n_done
        n_columns = min(n_missing, max_columns)
        embedding = precise_embedding(graph, n_probes=n_columns, seed=int(rng.integers(2**63)))
        in_block = squared_distances(embedding.points, tail, head)
        # Running mean over all columns.
        sketched += (in_block - sketched) * n_columns / (n_done + n_columns)
        n_done += n_columns
        if n_needed is None:
            # A chi-square mean over k columns has the mean absolute error sqrt(2 / pi) sqrt(2 / k),
            # and the sketched part is a fraction of r.
            fraction = (sketched / np.clip(known + sketched, *bounds)).mean()
            n_needed = int(np.ceil(4 / np.pi * (fraction / rtol) ** 2))
    return sketched


def _rescale_to_foster(known, sketched, bounds, *, weight, total):
    """Scale the sketched part so that the leverages sum to `total`."""
    # Imported on use: scipy.optimize takes 17 MiB, which every process with a stream would have.
    from scipy.optimize import brentq

    def excess(scale):
        return weight @ np.clip(known + scale * sketched, *bounds) - total

    scale = 1.0
    while excess(scale) < 0 and scale < 1 / np.finfo(np.float64).eps:
        scale *= 2
    # Rounding errors may put the sum out of reach of any scale.
    if excess(0.0) < 0 < excess(scale):
        scale = brentq(excess, 0.0, scale)
    return np.clip(known + scale * sketched, *bounds)
