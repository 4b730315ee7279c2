"""Effective resistances of any graph: in memory, or streamed in several passes.

`effective_resistance` is the public function. It passes a graph in memory to
`sparsifiers.resistance.effective`. The resistances of a streamed graph are computed here.

*Pairs.* r(u, v) = b'L^+ b with b = 1_u - 1_v. After a few iterations of conjugate gradients with a
sparsifier H (`streamed_solver`), with x the potentials so far and r = b - L x,

    b'L^+ b = b'x + x'r + r'L^+ r.

The first two terms are known. The last one is the squared error of x in the energy norm, so that
very few passes suffice. It is c r'M^+ r, M = L_H, with c between the extreme ratios of L_H to L_G,
and is estimated by c = 1. Two observations show how large c may be: the ratios along the directions
of the passes and, one pass later, the amount by which the known part increased. The iteration ends
when twice the largest c observed would not change the result by more than the tolerance.

*All edges.* With independent random signs q on the edges, y = B'W^(1/2) q and x = L^+ y, the mean
of (x_u - x_v)^2 over many draws is r(u, v) [SS11]. Its relative standard deviation over k draws is
sqrt(2 / k). One pass computes the right-hand sides y of a block, several solve for x, and one
measures all edges. An error x - x' of energy e^2 changes a potential difference by at most
e sqrt(r): solves continue until e is small compared with the noise. By Foster's theorem the sum of
w r is known, and the results are scaled to it.

*Bounds.* A certificate of the sparsifier bounds every resistance by that of the sparsifier
(`Certificate.bounds_on`), without a solve on the graph.

References
----------
[SS11] Spielman, Srivastava. Graph sparsification by effective resistances. SIAM J. Computing
       40(6), 2011.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import ConvergenceWarning, InputError, Parameter
from graphsqueak.outofcore.convergence import Iterate
from graphsqueak.outofcore.pencil import find_sparsifier, rereadable
from graphsqueak.outofcore.streamed_solver import StreamedSolver
from graphsqueak.randomness import RandomState, random_bits
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.certificate.certify import certify
from graphsqueak.sparsifiers.resistance.effective import check_pairs, resistances_in_memory
from graphsqueak.sparsifiers.resistance.sketch import squared_distances
from graphsqueak.system.kernels import njit_cached
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_count, check_real, explain_keywords

# Right-hand sides that are solved at a time: more of them save passes, and take more memory.
# Halved: 10 instead of 6 passes for 300 pairs, and 28 instead of 14 for a sketch of 256 probes
# (random, block, heavy-tailed and small-world graphs). Doubled: 4 and 6 passes. If the edges are in
# memory, pairs take 0.9 to 1.1 times as long with half of them, and 1.0 to 1.4 times with twice.
MAX_COLUMNS = 128
# Memory of a block of right-hand sides, from 73,728 nodes on, and of a block of currents in the
# networkx backend. Halved or doubled, so is this memory; passes change as with `MAX_COLUMNS`.
MAX_BLOCK_BYTES = 9 * 2**23
# The ratio c is assumed to be at most this many times the largest one observed. Halved: 174 instead
# of 176 passes, with errors of at most 0.32 instead of 0.30 of the tolerance; doubled: 204 and 0.09
# (200 pairs, tolerances 0.05 and 0.005, random, heavy-tailed, block, small-world and grid graphs).
RATIO_SAFETY = 2.0
# Relative residuals and energies below this are rounding errors. Only warnings, and estimates that
# are as small, depend on it.
ROUNDING = 1e-12


@explain_keywords(positional="effective_resistance(graph, [(u, v)])")
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
    """Compute the effective resistance of every edge, or of the given pairs of nodes.

    Use it as a distance that takes all paths into account, or, times the weight, as the leverage of
    an edge. The graph is loaded into memory, unless one of `n_edges`, `epsilon`, `keep` and
    `sparsifier` is given: then it is streamed in several passes.

    Parameters
    ----------
    graph : GraphLike
        Weights are similarities (conductances).
    pairs : array of shape (n_pairs, 2), or list of pairs, optional
        Node numbers 0, ..., n_nodes - 1, or node ids. Default: the edges of `graph`, in their
        order.
    by_id : bool
        Interpret integers in `pairs` as node ids instead of node numbers. Text is always an id.
    method : {"auto", "exact", "sketch"}
        For graphs in memory. "exact" uses a dense inverse (small graphs), a factorization (all
        edges of grids, roads, meshes, trees) or one solve per distinct node or pair. "sketch" uses
        a few dozen solves for any number of pairs. "auto" is exact if that takes no longer. On
        streamed graphs, pairs are solved for, and all edges are sketched.
    n_probes : int, optional
        Number of solves of the sketch. Default: the number needed for `rtol`.
    rtol : float
        Relative error: the mean one of a sketch, the largest one of pairs on a streamed graph.
    n_edges, epsilon, keep : optional
        Size of the sparsifier, as in `sparsify`; `epsilon` is predicted, not certified.
    sparsifier : EdgeList or any graph, optional
        An existing sparsifier with the ids of the graph.
    bounds : bool
        Return lower and upper bounds, from the resistances of the sparsifier and its certificate
        (computed, if it has none), without a solve on the graph.
    delta : float
        Probability that the certificate, and with it any of the bounds, fails.
    random_state : int, Generator or None
        Seed of the sketch and of the sparsifier.
    progress : bool or callable
        For streamed graphs.

    Returns
    -------
    ndarray of shape (n_edges,) or (n_pairs,)
        0 between a node and itself, infinite between components. Parallel edges all have the
        resistance between their two ends. With `bounds`, two columns, lower and upper.

    Notes
    -----
    In memory, values lie between the degree bound (d_u + d_v - 2w) / (d_u d_v - w^2) and 1 / w.
    Sketched values of all edges are rescaled so that Foster's sum holds to 1e-6.

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

    A complete graph with 10 % of its edges in memory: 2 / n between any two nodes.

    >>> from graphsqueak.sources import complete
    >>> r = effective_resistance(complete(400), [(0, 9)], rtol=1e-6, keep=0.1, random_state=7)
    >>> r.round(6)
    array([0.005])
    >>> lower, upper = effective_resistance(complete(400), [(0, 9)], keep=0.5, bounds=True)[0]
    >>> bool(lower < 0.005 < upper)
    True
    """
    budget = Budget(n_edges=n_edges, epsilon=epsilon, keep=keep)
    in_memory = sparsifier is None and budget == Budget(None, None, None)
    _check_projection(graph, pairs, in_memory=in_memory)
    if in_memory and bounds:
        raise InputError(
            "bounds come from a sparsifier; give one, or its ",
            Parameter("n_edges"),
            ", epsilon or keep",
        )
    if in_memory:
        return resistances_in_memory(
            as_edge_list(graph),
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
            Parameter("method", method), " needs the graph in memory; omit the sparsifier's size"
        )
    if pairs is not None and n_probes is not None:
        raise InputError("pairs on a streamed graph are solved for; omit n_probes")
    source = rereadable(graph)
    if bounds:
        known = None if sparsifier is None else as_edge_list(sparsifier)
        kept = find_sparsifier(source, budget, known, random_state, progress)
        certificate = None if known is None else known.certificate
        if certificate is None or certificate.ridge:
            certificate = certify(
                source, kept, delta=delta, random_state=random_state, progress=progress
            )
        return _bounded_resistances(source, kept, certificate, pairs, by_id)
    rng = np.random.default_rng(random_state)
    solver = StreamedSolver(
        source,
        **budget._asdict(),
        sparsifier=sparsifier,
        # Not reached: the iteration is left when the resistances are accurate.
        tol=1e-14,
        random_state=random_state,
        progress=progress,
    )
    if pairs is not None:
        tail, head = check_pairs(pairs, solver.sparsifier_, by_id)
        return _pair_resistances(solver, tail, head, rtol)
    if n_probes is None:
        # The mean absolute error of a chi-square mean over k columns is sqrt(2 / pi) sqrt(2 / k).
        n_probes = int(np.ceil(4 / np.pi / rtol**2))
    return _edge_resistances(source, solver, check_count("n_probes", n_probes), rtol, rng)


def _check_projection(graph, pairs, *, in_memory):
    """Raise an InputError if all edges of a one-mode projection are needed."""
    is_projection = isinstance(graph, EdgeSource) and not graph.is_materialized
    if is_projection and (in_memory or pairs is None):
        raise InputError(
            "the edges of a one-mode projection are not enumerated: give the pairs of nodes to "
            "measure between (",
            Parameter("pairs"),
            "), and ",
            Parameter("n_edges"),
            ", about eight per entity",
        )


def _bounded_resistances(source, sparsifier, certificate, pairs, by_id):
    """Return lower and upper bounds from the resistances of the sparsifier."""
    if certificate.problem:
        raise InputError(certificate.problem)
    if pairs is None:
        batches = StreamedLaplacian(source, sparsifier).edges()
        pairs = np.concatenate([np.column_stack([tail, head]) for tail, head, _ in batches])
    else:
        pairs = np.column_stack(check_pairs(pairs, sparsifier, by_id))
    resistance = resistances_in_memory(sparsifier, pairs, method="exact")
    return np.column_stack(certificate.bounds_on(resistance, quantity="resistances"))


def _pair_resistances(solver, tail, head, rtol):
    """Return r(tail, head), by solves for a block of pairs at a time."""
    n_nodes = solver.sparsifier_.n_nodes
    component = solver.sparsifier_.components()
    resistance = np.where(tail == head, 0.0, np.inf)
    wanted = np.flatnonzero((component[tail] == component[head]) & (tail != head))
    width = _block_width(n_nodes, MAX_COLUMNS)
    for start in range(0, wanted.size, width):
        block = wanted[start : start + width]
        estimates = PairEstimates(tail[block], head[block], rtol)
        _iterate_until(solver, estimates.rhs(n_nodes), estimates.update)
        resistance[block] = estimates.resistance
    return resistance


class PairEstimates:
    """Resistances of some pairs after each pass of a solve, and whether they are accurate.

    Parameters
    ----------
    tail, head : ndarray
        The pairs, of different nodes.
    rtol : float

    Attributes
    ----------
    known : ndarray
        b'x + x'r, a lower bound.
    energy : ndarray
        Estimate r'M^+ r of the difference.
    """

    def __init__(self, tail: np.ndarray, head: np.ndarray, rtol: float) -> None:
        self.known = np.zeros(tail.size)
        self.energy = np.zeros(tail.size)
        # Rows and columns of the entries +1 and -1 of the right-hand sides.
        self._entries = (np.stack([tail, head]), np.arange(tail.size))
        self._rtol = rtol
        self._largest_ratio = 0.0

    @property
    def resistance(self) -> np.ndarray:
        """The estimated resistances."""
        return self.known + self.energy

    def rhs(self, n_nodes: int) -> np.ndarray:
        """Return b = 1_u - 1_v of each pair, as columns."""
        b = np.zeros((n_nodes, self.known.size))
        b[self._entries] = [[1.0], [-1.0]]
        return b

    def update(self, step: Iterate) -> np.ndarray:
        """Use the result of a pass, and return which pairs are accurate."""
        high, low = step.x[self._entries]
        known = high - low + np.einsum("ik,ik->k", step.residual, step.x)
        # Two lower bounds of the largest ratio c: along the directions of this pass, ...
        self._largest_ratio = max(self._largest_ratio, 1 / step.lowest)
        if step.n_passes > 1:
            # ... and the energy found by this pass, relative to the previous estimate.
            found = known + step.energy - self.known
            estimate = np.where(self.energy > ROUNDING * known, self.energy, np.inf)
            self._largest_ratio = max(self._largest_ratio, float((found / estimate).max()))
        self.known = known
        self.energy = step.energy
        return max(RATIO_SAFETY * self._largest_ratio - 1, 1.0) * self.energy <= self._rtol * known


def _edge_resistances(source, solver, n_probes, rtol, rng):
    """Return the resistance of every edge of the source, by a sketch."""
    sparsifier = solver.sparsifier_
    laplacian = StreamedLaplacian(source, sparsifier)
    resistance = 0.0
    weight = np.zeros(0)
    for _, points in random_potentials(laplacian, solver, n_probes, rtol, rng):
        fraction = points.shape[1] / n_probes
        distances = []
        weights = []
        for tail, head, batch_weight in laplacian.edges():
            distances.append(squared_distances(points, tail, head) * fraction)
            weights.append(batch_weight)
        resistance = resistance + np.concatenate(distances)
        weight = np.concatenate(weights)
    # Foster's theorem: the leverages sum to the number of edges of a spanning forest.
    n_forest = sparsifier.n_nodes - sparsifier.components().max(initial=-1) - 1
    total = weight @ resistance
    return np.minimum(resistance * (n_forest / total if total > 0 else 1.0), 1 / weight)


def random_potentials(
    laplacian: StreamedLaplacian,
    solver: StreamedSolver,
    n_probes: int,
    rtol: float,
    rng: np.random.Generator,
    *,
    max_columns: int = MAX_COLUMNS,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield random right-hand sides y = B'W^(1/2) q and potentials x = L^+ y, in blocks.

    Parameters
    ----------
    laplacian, solver
        Of the graph, on the nodes of the solver's sparsifier.
    n_probes : int
        Number of columns of all blocks.
    rtol : float
        Relative error of the quantity that is estimated; solves add a quarter of it.
    rng : Generator
    max_columns : int
        Maximum number of columns of a block, a multiple of 64.

    Yields
    ------
    rhs, potentials : ndarray of shape (n_nodes, at most max_columns)
    """
    n_nodes = solver.sparsifier_.n_nodes
    seed = np.uint64(rng.integers(2**63))
    # The signs of an edge are words of 64 bits.
    width = max(_block_width(n_nodes, max_columns) // 64, 1) * 64
    # The squared error of a solve in the energy norm bounds its relative error.
    max_energy = (rtol / 4) ** 2
    for first in range(0, n_probes, width):
        rhs = np.zeros((n_nodes, min(width, n_probes - first)))
        n_before = 0
        for tail, head, weight in laplacian.edges():
            _add_random_rhs(tail, head, weight, seed, n_before, first // 64, rhs)
            n_before += tail.size
        potentials = np.zeros_like(rhs)
        # All currents of a few parallel edges may cancel.
        if rhs.any():
            potentials = _iterate_until(solver, rhs, lambda step: step.energy <= max_energy).x
        yield rhs, potentials


def _block_width(n_nodes, max_columns):
    """Return the number of columns of a block."""
    return min(max(MAX_BLOCK_BYTES // (8 * max(n_nodes, 1)), 1), max_columns)


def _iterate_until(
    solver: StreamedSolver, b: np.ndarray, is_accurate: Callable[[Iterate], np.ndarray]
) -> Iterate:
    """Return the first iterate with all columns accurate or, with a warning, the last one."""
    steps = solver.iterate(b)
    # The solver has a copy: free the memory of the block.
    del b
    while True:
        with warnings.catch_warnings():
            # Its forecast is about a tolerance that is not wanted.
            warnings.simplefilter("ignore", ConvergenceWarning)
            following = next(steps, None)
        if following is None:
            break
        step = following
        if is_accurate(step).all():
            return step
    if step.relative.max() > ROUNDING:
        warnings.warn(
            ConvergenceWarning(
                f"resistances are less accurate than rtol after {step.n_passes} passes; give the "
                "sparsifier more edges",
                residual=float(step.relative.max()),
            ),
            stacklevel=4,
        )
    return step


@njit_cached
def _add_random_rhs(tail, head, weight, seed, n_before, first_word, rhs):
    """Add B'W^(1/2) q of a batch; the signs q are a function of the number of the edge."""
    for e in range(tail.size):
        size = np.sqrt(weight[e])
        for word in range((rhs.shape[1] + 63) // 64):
            bits = random_bits(seed, np.uint64(n_before + e), np.uint64(first_word + word))
            for k in range(64 * word, min(64 * word + 64, rhs.shape[1])):
                current = size if (bits >> np.uint64(k - 64 * word)) & np.uint64(1) else -size
                rhs[tail[e], k] += current
                rhs[head[e], k] -= current
