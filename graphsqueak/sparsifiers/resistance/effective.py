"""Effective resistances: how much an edge matters, how far two nodes are apart electrically.

    r(u, v) = (1_u - 1_v)^T L^+ (1_u - 1_v),

the voltage between u and v when one unit of current flows from one to the other. The product
w_e r_e of an edge is its leverage: the probability that a random spanning tree uses it. Over all
edges the leverages sum to n_nodes - n_components (Foster's theorem).

Exact answers come from one dense inverse, from a factorization where that is cheap (`selected`), or
from one solve per distinct node or pair; `sketch` has the others.
"""

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import as_ids
from graphsqueak.nodes.numbering import make_node_finder
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.solvers.matrix import power_of_two
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.sparsifiers.resistance.bounds import resistance_bounds
from graphsqueak.sparsifiers.resistance.selected import (
    has_small_separators,
    selected_resistances,
)
from graphsqueak.sparsifiers.resistance.sketch import precise_embedding, sketch_parts
from graphsqueak.validation import check_choice, check_count, check_real, check_span

__all__ = ["check_pairs", "effective_resistance", "exact_resistances"]

_FEW_NODES = 1000  # up to here the exact answer costs no more than the sketch
_PILOT_PROBES = 32
_LARGEST_SCALE = 2.0**30
_CHUNK_BYTES = 2**26  # of one block of probes
_ERROR = 1e-3  # of the solves
_DENSE_NODES = 6000  # up to here (290 MB) one dense inverse is the quickest exact answer
_FEW_SOLVES = 10  # times as many nodes: then solves are quicker than the inverse
_EXACT_CHUNK_BYTES = 2**27  # of one block of right-hand sides


def effective_resistance(
    graph: GraphLike,
    pairs: ArrayLike | None = None,
    *,
    by_id: bool = False,
    method: str = "auto",
    n_probes: int | None = None,
    rtol: float = 0.05,
    random_state: RandomState = None,
) -> np.ndarray:
    """Effective resistance of every edge, or of the given pairs of nodes.

    Parameters
    ----------
    graph : EdgeList, scipy sparse adjacency, networkx graph or EdgeSource
        Weights are similarities (conductances).
    pairs : array of shape (n_pairs, 2), or list of pairs, optional
        Node numbers 0, ..., n_nodes - 1, or names of nodes. Default: the edges of `graph`, in their
        order.
    by_id : bool
        Take whole numbers in `pairs` for the graph's own ids, too, as text always is.
    method : {"auto", "exact", "sketch"}
        Exact answers need a dense inverse (small graphs), a factorization (all edges of grids,
        roads, meshes, trees) or one solve per distinct node or pair; the sketch needs a few dozen
        solves for any number of pairs. "auto" is exact where that is no more work.
    n_probes : int, optional
        Solves of the sketch. Default: as many as `rtol` needs, told by a pilot of 32.
    rtol : float
        Mean relative error that the sketch may have.
    random_state : int or None
        Seed of the sketch.

    Returns
    -------
    ndarray of shape (n_edges,) or (n_pairs,)
        0 for a node and itself, infinite between components. Parallel edges have the resistance of
        their two ends, all of them the same.

    Notes
    -----
    Values lie between the degree bound (d_u + d_v - 2w) / (d_u d_v - w^2) and 1 / w, and the
    sketched ones of all edges are rescaled so that Foster's sum holds to 1e-6.

    Examples
    --------
    In a triangle each edge carries 2/3 of the current itself:

    >>> from graphsqueak import EdgeList
    >>> triangle = EdgeList(tail=[0, 1, 2], head=[1, 2, 0])
    >>> effective_resistance(triangle)
    array([0.66666667, 0.66666667, 0.66666667])
    >>> effective_resistance(EdgeList(tail=[0, 1], head=[1, 2], n_nodes=4), [(0, 2), (0, 3)])
    array([ 2., inf])
    >>> effective_resistance(EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")]), [("ann", "cy")])
    array([2.])
    """
    graph = as_edge_list(graph)
    check_choice("method", method, ("auto", "exact", "sketch"))
    check_real("rtol", rtol, above=0.0)
    if n_probes is not None:
        check_count("n_probes", n_probes)
    if pairs is None:
        tail, head = graph.tail, graph.head
    else:
        tail, head = check_pairs(pairs, graph, by_id)
    check_span(graph.weight.min(initial=np.inf), graph.weight.max(initial=0.0))
    unit = power_of_two(graph.weight.max(initial=1e-300))
    graph = EdgeList.from_validated(graph.tail, graph.head, graph.weight / unit, graph.n_nodes)
    resistance = np.where(tail == head, 0.0, np.inf)
    component = graph.components()
    asked = (component[tail] == component[head]) & (tail != head)
    tail, head = tail[asked], head[asked]
    if tail.size == 0:
        return resistance
    simple = graph.simplified()
    degree, weight = simple.degrees(), simple.to_scipy()[tail, head]
    bounds = resistance_bounds(degree[tail], degree[head], weight)
    n_solves = min(tail.size, np.union1d(tail, head).size)
    cheap = graph.n_nodes <= _FEW_NODES or n_solves <= _PILOT_PROBES
    is_large = pairs is None and not cheap and n_probes is None
    if method != "sketch" and is_large and has_small_separators(simple):
        found = selected_resistances(simple, component, tail, head)
        if found is not None:
            return np.clip(found, *bounds) / unit
    if method == "exact" or (method == "auto" and cheap):
        resistance[asked] = np.clip(exact_resistances(simple, component, tail, head), *bounds)
        return resistance / unit
    rng = np.random.default_rng(random_state)
    known, left = _sketch(simple, tail, head, weight, bounds, n_probes, rtol, rng)
    if pairs is None:
        n_independent = graph.n_nodes - component.max() - 1
        return _rescale(known, left, bounds, weight=graph.weight, total=n_independent) / unit
    resistance[asked] = np.clip(known + left, *bounds)
    return resistance / unit


def check_pairs(pairs, graph, by_id):
    """Numbers of the nodes on either side."""
    if hasattr(pairs, "__array__"):
        pairs = np.asarray(pairs)
        rows = pairs if pairs.dtype.kind in "iu" else pairs.tolist()
    else:
        rows = list(pairs)
    is_array = isinstance(rows, np.ndarray)
    for number, row in enumerate(rows[:1] if is_array else rows):
        if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != 2:
            raise InputError(f"pair {number} is {row!r}; give two nodes, as numbers or as ids")
    names = (
        rows.ravel()
        if isinstance(rows, np.ndarray)
        else as_ids([name for row in rows for name in row])
    )
    if names.dtype.kind in "iu" and not by_id:
        nodes = np.where((names >= 0) & (names < graph.n_nodes), names, -1)
        said = f"nodes are 0 to {graph.n_nodes - 1}, or give by_id=True"
    else:
        known = graph.ids if names.dtype.kind in "iu" else graph.ids.astype(object)
        nodes = make_node_finder(known, graph.n_nodes)(names)
        said = "it is not in the graph, check its spelling"
    if nodes.min(initial=0) < 0:
        wrong = int(np.argmin(nodes))
        raise InputError(f"pair {wrong // 2} names node {names.tolist()[wrong]!r}; {said}")
    nodes = nodes.astype(np.int64, copy=False)
    return np.ascontiguousarray(nodes[::2]), np.ascontiguousarray(nodes[1::2])


def _sketch(graph, tail, head, weight, bounds, n_probes, rtol, rng):
    """The known and the sketched part of r(tail, head), from as many probes as needed."""
    at_once = max(_CHUNK_BYTES // (4 * graph.n_nodes), 1)
    left, n_done, n_wanted = np.zeros(tail.size), 0, n_probes
    while n_wanted is None or n_done < n_wanted:
        step = min(_PILOT_PROBES if n_wanted is None else n_wanted - n_done, at_once)
        seed = int(rng.integers(2**63))
        sketch = precise_embedding(
            graph, tail, head, weight, n_probes=step, seed=seed, error=_ERROR
        )
        known, more = sketch_parts(sketch, tail, head, weight)
        left += (more - left) * step / (n_done + step)
        n_done += step
        if n_wanted is None:
            n_wanted = _probes_needed(left / np.clip(known + left, *bounds), rtol)
    return known, left


def _probes_needed(sketched_share, rtol):
    """A chi-square mean of k has mean absolute error sqrt(2/pi) sqrt(2/k), times its share of r."""
    return int(np.ceil(4 / np.pi * (sketched_share.mean() / rtol) ** 2))


def _rescale(known, left, bounds, *, weight, total):
    """Scale the sketched part until the leverages sum to `total`, Foster's theorem."""

    def excess(scale):
        return (weight * np.clip(known + scale * left, *bounds)).sum() - total

    low, high = 0.0, 1.0
    while excess(high) < 0 and high < _LARGEST_SCALE:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return np.clip(known + high * left, *bounds)


def exact_resistances(
    graph, component, tail, head, *, dense_nodes=_DENSE_NODES, chunk_bytes=_EXACT_CHUNK_BYTES
):
    """r(tail, head) for pairs of different nodes, each pair within one component.

    >>> from graphsqueak.sources.synthetic.closed_forms import cycle
    >>> graph = cycle(4).to_edge_list()
    >>> exact_resistances(graph, graph.components(), np.array([0, 0]), np.array([1, 2]))
    array([0.75, 1.  ])
    """
    nodes = np.union1d(tail, head)
    few = graph.n_nodes > _FEW_NODES and _FEW_SOLVES * min(tail.size, nodes.size) < graph.n_nodes
    if graph.n_nodes <= dense_nodes and not few:
        return _dense(graph, component, tail, head)
    if tail.size <= nodes.size:
        return _one_solve_per_pair(graph, tail, head, chunk_bytes)
    return _one_solve_per_node(graph, component, nodes, tail, head, chunk_bytes)


def _dense(graph, component, tail, head):
    """Invert L + sum over components of s 1 1^T / size, which equals L^+ on differences."""
    size = np.bincount(component)
    scale = graph.degrees().max()
    matrix = graph.laplacian().toarray()
    for label in np.flatnonzero(size > 1):
        members = np.flatnonzero(component == label)
        matrix[np.ix_(members, members)] += scale / members.size
    alone = np.flatnonzero(size[component] == 1)
    matrix[alone, alone] = scale
    factor = scipy.linalg.cholesky(matrix, overwrite_a=True, check_finite=False)
    inverse, _ = scipy.linalg.lapack.dpotri(factor, overwrite_c=True)
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    return inverse[low, low] + inverse[high, high] - 2 * inverse[low, high]


def _one_solve_per_pair(graph, tail, head, chunk_bytes):
    solver = LaplacianSolver(graph, tol=1e-10)
    resistance = np.empty(tail.size)
    for chunk in _chunks(tail.size, graph.n_nodes, chunk_bytes):
        column = np.arange(tail[chunk].size)
        rhs = np.zeros((graph.n_nodes, column.size))
        rhs[tail[chunk], column] += 1
        rhs[head[chunk], column] -= 1
        voltage = solver.solve(rhs)
        resistance[chunk] = voltage[tail[chunk], column] - voltage[head[chunk], column]
    return resistance


def _one_solve_per_node(graph, component, nodes, tail, head, chunk_bytes):
    """r = G_uu + G_vv - G_uv - G_vu with G = L^+, a chunk of its columns at a time."""
    solver = LaplacianSolver(graph, tol=1e-10)
    size = np.bincount(component)
    resistance = np.zeros(tail.size)
    column_of = np.full(graph.n_nodes, -1)
    for chunk in _chunks(nodes.size, graph.n_nodes, chunk_bytes):
        label = component[nodes[chunk]]
        column = np.arange(label.size)
        rhs = np.where(component[:, None] == label, -1 / size[label], 0.0)
        rhs[nodes[chunk], column] += 1
        green = solver.solve(rhs)
        column_of[nodes[chunk]] = column
        for near, far in ((tail, head), (head, tail)):
            here = np.flatnonzero(column_of[near] >= 0)
            source = column_of[near[here]]
            resistance[here] += green[near[here], source] - green[far[here], source]
        column_of[nodes[chunk]] = -1
    return resistance


def _chunks(n_columns, n_nodes, chunk_bytes):
    step = max(chunk_bytes // (8 * n_nodes), 1)
    return [slice(start, start + step) for start in range(0, n_columns, step)]
