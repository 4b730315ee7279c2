"""Effective resistances on a graph that is read and never held.

*Pairs.* r(u, v) = b'L^+ b with b = 1_u - 1_v. After a few steps of conjugate gradients from a
sparsifier (`streamed_solver`), with x the potentials so far and r = b - L x,

    b'L^+ b = b'x + x'r + r'L^+ r:

what is known is off by r'L^+ r, the square of what x is off by, so that very few passes suffice.
The last term is told by the sparsifier: it is c r'M^+ r, with c between the extreme ratios of L_H
to L_G, and c = 1 is taken. How large c may be is told by the directions of the passes, and a pass
later by what was gained; reading goes on until twice the largest c that was seen would make no
difference any more.

*All edges.* With independent random signs q on the edges, y = B'W^(1/2) q and x = L^+ y, the mean
of (x_u - x_v)^2 over many draws is r(u, v) [SS11]; its relative standard deviation over k is
sqrt(2 / k). One pass makes the flows y of a block, some solve for x, and one measures all edges. An
error x - x' of energy e^2 changes a potential difference by at most e sqrt(r): solves go on until
e is small beside the noise. Foster's theorem scales the whole: the sum of w r is known.

*Brackets.* A certificate of the sparsifier bounds every resistance by that of the sparsifier
(`Certificate.brackets`), without any solve on the graph.

References
----------
[SS11] Spielman, Srivastava. Graph sparsification by effective resistances. SIAM J. Computing
       40(6), 2011.
"""

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import ConvergenceWarning, InputError, Parameter
from graphsqueak.outofcore.pencil import find_sparsifier, rereadable
from graphsqueak.outofcore.streamed_solver import StreamedSolver
from graphsqueak.randomness import RandomState, random_bits
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.certificate.certify import certify
from graphsqueak.sparsifiers.resistance import effective
from graphsqueak.sparsifiers.resistance.effective import check_pairs
from graphsqueak.sparsifiers.resistance.sketch import squared_distances
from graphsqueak.system.kernels import njit_cached
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_count, check_real

__all__ = ["effective_resistance", "random_potentials"]

_BLOCK_BYTES = 9 * 2**23  # of the columns that are solved for at a time
_MOST_COLUMNS = 128  # a multiple of 64; more of them would be more work, and save little reading
_SHARE = 4  # of rtol, that what is left open may take
_SAFETY, _UNSEEN = 2.0, 10.0  # times the largest ratio that was seen, or before one was
_NEVER = 1e-14  # a tolerance that is not meant to end a solve
_ROUNDED = 1e-12  # a relative residual that rounding explains


def effective_resistance(
    graph: GraphLike,
    pairs: ArrayLike | None = None,
    *,
    by_id: bool = False,
    method: str = "auto",
    n_probes: int | None = None,
    rtol: float = 0.05,
    n_edges: int | None = None,
    epsilon: float | None = None,
    keep: float | None = None,
    sparsifier: GraphLike | None = None,
    bounds: bool = False,
    delta: float = 0.01,
    random_state: RandomState = None,
    progress: Progress = False,
) -> np.ndarray:
    """Effective resistance of every edge, or of the given pairs of nodes.

    The graph is held in memory, unless one of `n_edges`, `epsilon`, `keep` and `sparsifier` is
    given: then it is only read, some times, with a sparsifier to help.

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
        Of a graph in memory. Exact answers need a dense inverse (small graphs), a factorization
        (all edges of grids, roads, meshes, trees) or one solve per distinct node or pair; the
        sketch needs a few dozen solves for any number of pairs. "auto" is exact where that is no
        more work. A graph that is read has its pairs solved for and its edges sketched.
    n_probes : int, optional
        Solves of the sketch. Default: as many as `rtol` needs.
    rtol : float
        Relative error: the mean one of a sketch; of pairs on a graph that is read, the largest.
    n_edges, epsilon, keep : optional
        Size of the sparsifier, as of `sparsify`; `epsilon` is predicted, not proved.
    sparsifier : EdgeList or any graph, optional
        A sparsifier that is there already, with the ids of the graph.
    bounds : bool
        Return what each resistance is proved to lie between, from those of the sparsifier and its
        certificate (made, if it carries none), without a solve on the graph.
    delta : float
        The certificate, and with it any of the bounds, may fail with this probability.
    random_state : int, Generator or None
        Seed of the sketch and of the sparsifier.
    progress : bool or callable
        Of a graph that is read.

    Returns
    -------
    ndarray of shape (n_edges,) or (n_pairs,)
        0 for a node and itself, infinite between components. Parallel edges have the resistance of
        their two ends, all of them the same. With `bounds`, two columns, the lower and the upper.

    Notes
    -----
    In memory, values lie between the degree bound (d_u + d_v - 2w) / (d_u d_v - w^2) and 1 / w, and
    the sketched ones of all edges are rescaled so that Foster's sum holds to 1e-6.

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

    A complete graph of which a tenth is held: 2 / n between any two nodes.

    >>> from graphsqueak.sources import complete
    >>> r = effective_resistance(complete(400), [(0, 9)], rtol=1e-6, keep=0.1, random_state=7)
    >>> r.round(6)
    array([0.005])
    >>> low, high = effective_resistance(complete(400), [(0, 9)], keep=0.5, bounds=True)[0]
    >>> bool(low < 0.005 < high)
    True
    """
    budget = Budget(n_edges, epsilon, keep)
    is_held = sparsifier is None and all(value is None for value in budget)
    if isinstance(graph, EdgeSource) and not graph.is_materialized and (is_held or pairs is None):
        raise InputError(
            "the graph of an entity-attribute table is never built: give the pairs of nodes to "
            "measure between (",
            Parameter("pairs"),
            "), and ",
            Parameter("n_edges"),
            ", about eight per entity",
        )
    if is_held and bounds:
        raise InputError(
            "bounds come from a sparsifier; give one, or its ",
            Parameter("n_edges"),
            ", epsilon or keep",
        )
    if is_held:
        return effective.effective_resistance(
            graph,
            pairs,
            by_id=by_id,
            method=method,
            n_probes=n_probes,
            rtol=rtol,
            random_state=random_state,
        )
    check_real("rtol", rtol, above=0.0)
    if method != "auto":
        raise InputError(
            Parameter("method", method), " holds the graph; leave the sparsifier's size out"
        )
    source = rereadable(graph)
    if bounds:
        return _brackets(source, pairs, by_id, budget, sparsifier, delta, random_state, progress)
    rng = np.random.default_rng(random_state)
    solver = StreamedSolver(
        source,
        **budget._asdict(),
        sparsifier=sparsifier,
        tol=_NEVER,
        random_state=int(rng.integers(2**63)) if random_state is None else random_state,
        progress=progress,
    )
    if pairs is None:
        if n_probes is None:
            n_probes = int(np.ceil(4 / np.pi / rtol**2))
        return _of_edges(source, solver, check_count("n_probes", n_probes), rtol, rng)
    if n_probes is not None:
        raise InputError("pairs on a graph that is read are solved for; leave n_probes out")
    tail, head = check_pairs(pairs, solver.sparsifier_, by_id)
    return _of_pairs(solver, tail, head, rtol)


def _brackets(source, pairs, by_id, budget, sparsifier, delta, random_state, progress):
    """The resistances of the sparsifier, bracketed by its certificate."""
    kept = find_sparsifier(source, budget, sparsifier, random_state, progress)
    certificate = getattr(sparsifier, "certificate", None)
    if certificate is None or certificate.ridge:
        certificate = certify(
            source, kept, delta=delta, random_state=random_state, progress=progress
        )
    if certificate.problem:
        raise InputError(certificate.problem)
    if pairs is None:
        ends = [(tail, head) for tail, head, _ in StreamedLaplacian(source, kept).edges()]
        pairs = np.concatenate([np.column_stack(end) for end in ends])
    else:
        pairs = np.column_stack(check_pairs(pairs, kept, by_id))
    held = effective.effective_resistance(kept, pairs, method="exact")
    return np.column_stack(certificate.bounds_on(held, quantity="resistances"))


def _of_pairs(solver, tail, head, rtol):
    """r(tail, head), a block of pairs at a time."""
    kept, component = solver.sparsifier_, solver.sparsifier_.components()
    resistance = np.where(tail == head, 0.0, np.inf)
    asked = np.flatnonzero((component[tail] == component[head]) & (tail != head))
    at_once = min(max(_BLOCK_BYTES // (8 * max(kept.n_nodes, 1)), 1), _MOST_COLUMNS)
    for chunk in np.array_split(asked, -(-asked.size // at_once)) if asked.size else []:
        told = _Told(tail[chunk], head[chunk], rtol)
        _solved(solver, told.currents(kept.n_nodes), told.is_enough)
        resistance[chunk] = told.known + told.energy
    return resistance


class _Told:
    """What the passes have told of some pairs so far."""

    def __init__(self, tail, head, rtol):
        self._ends = np.stack([tail, head]), np.arange(tail.size)  # rows and columns of b
        self._rtol, self._largest = rtol, 0.0  # the largest c that was seen
        self.known = self.energy = np.zeros(tail.size)

    def currents(self, n_nodes):
        """b of every pair."""
        b = np.zeros((n_nodes, self.known.size))
        b[self._ends] = [[1.0], [-1.0]]
        return b

    def is_enough(self, now):
        """Take in a pass; of every pair, whether another c would make no difference."""
        high, low = now.x[self._ends]
        known = high - low + np.einsum("ik,ik->k", now.residual, now.x)  # a lower bound of b'L^+ b
        self._largest = max(self._largest, 1 / now.lowest)
        if now.n_passes > 1:
            gained = known + now.energy - self.known
            size = np.where(self.energy > _ROUNDED * known, self.energy, np.inf)
            self._largest = max(self._largest, float((gained / size).max()))
        self.known, self.energy = known, now.energy
        doubt = _SAFETY * self._largest if now.n_passes > 1 else _UNSEEN
        return max(doubt - 1, 1.0) * self.energy <= self._rtol * known


def _of_edges(source, solver, n_probes, rtol, rng):
    """r of every edge of the source, by random flows, a block of them at a time."""
    kept, laplacian = solver.sparsifier_, StreamedLaplacian(source, solver.sparsifier_)
    sums, weights = None, None
    for _, points in random_potentials(laplacian, solver, n_probes, rtol, rng):
        found = [
            (squared_distances(points, tail, head) * points.shape[1], weight)
            for tail, head, weight in laplacian.edges()
        ]
        more = np.concatenate([distance for distance, _ in found])
        sums = more if sums is None else sums + more
        weights = np.concatenate([weight for _, weight in found])
    resistance, n_free = sums / n_probes, kept.n_nodes - kept.components().max(initial=-1) - 1
    total = weights @ resistance
    return np.minimum(resistance * (n_free / total if total > 0 else 1.0), 1 / weights)


def random_potentials(
    laplacian: StreamedLaplacian,
    solver: StreamedSolver,
    n_probes: int,
    rtol: float,
    rng: np.random.Generator,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Random flows y = B'W^(1/2) q and their potentials x = L^+ y, a block of columns at a time.

    Parameters
    ----------
    laplacian, solver
        Of the graph, on the nodes of the solver's sparsifier.
    n_probes : int
        Columns of all blocks together.
    rtol : float
        Relative error that is meant for what is made of them; solves add a quarter of it.
    rng : Generator

    Yields
    ------
    flows, potentials : ndarray of shape (n_nodes, at most 128)
    """
    n_nodes, seed = solver.sparsifier_.n_nodes, np.uint64(rng.integers(2**63))
    is_small = 8 * _MOST_COLUMNS * n_nodes <= _BLOCK_BYTES
    at_once = _MOST_COLUMNS if is_small else 64  # whole words of signs
    for first in range(0, n_probes, at_once):
        flows = np.zeros((n_nodes, min(at_once, n_probes - first)))
        n_before = 0
        for tail, head, weight in laplacian.edges():
            _add_flows(tail, head, weight, seed, n_before, first // 64, flows)
            n_before += tail.size
        points = np.zeros_like(flows)
        if flows.any():
            points = _solved(solver, flows, lambda now: now.energy <= (rtol / _SHARE) ** 2).x
        yield flows, points


def _solved(solver, b, is_enough):
    """The iterate at which is_enough holds, or, with a warning, the last one."""
    steps = solver.iterate(b)
    del b  # the solver has a copy
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of a tolerance that is not meant
            step = next(steps, None)
        if step is None:
            break
        now = step
        if is_enough(now).all():
            return now
    if now.relative.max() > _ROUNDED:
        warnings.warn(
            ConvergenceWarning(
                f"resistances are less accurate than rtol after {now.n_passes} passes; give the "
                "sparsifier more edges",
                residual=float(now.relative.max()),
            ),
            stacklevel=4,
        )
    return now


@njit_cached
def _add_flows(tail, head, weight, seed, n_before, first_word, flows):
    """Add the random flows of a batch, whose signs belong to the number of each edge."""
    for e in range(tail.size):
        size = np.sqrt(weight[e])
        for word in range((flows.shape[1] + 63) // 64):
            bits = random_bits(seed, np.uint64(n_before + e), np.uint64(first_word + word))
            for k in range(64 * word, min(64 * word + 64, flows.shape[1])):
                flow = size if (bits >> np.uint64(k - 64 * word)) & np.uint64(1) else -size
                flows[tail[e], k] += flow
                flows[head[e], k] -= flow
