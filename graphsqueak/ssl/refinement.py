"""Stable-HFS on a graph that is streamed in several passes, with its sparsifier H in memory.

For every alpha, the equations of `stable`, A x = b, are solved by block conjugate gradients on the
whole graph (`outofcore.block_cg`), with M = L_H + ridge as preconditioner. Each pass over the edges
is one step, in which all columns of all alphas are multiplied together. The columns are those of
leave-one-out (targets, ones, probes) and v, so that eta, prior weight and cut are selected on the
whole graph. In memory are H and a few blocks of one row per node.

*A step without a pass.* After k products, x is the best in its Krylov space, and its residual r is
known. The error that H leaves is rough, noise at single nodes. Jacobi's step, x + D^-1 r with the
diagonal D of A from the degrees of the first pass, reduces it without another pass (`smoothed`).
The other step without a pass, x + M^-1 r, reduces the smooth error (`preconditioned`).

*The distance* to the exact solution is estimated by their difference: each leaves what the other
removes. A decision may still change where the margin between the two best classes is less than
twice the error of a difference of two scores, that of the node and the root mean square over all
nodes. This is an estimate, tested on many graphs, and not a theorem.

*A coarse H*, with fewer than a dozen edges per node, needs many steps along M^-1 r alone. Then
D^-1 r are search directions as well, twice as many per pass, and all directions are kept, since
those of two kinds have to be made conjugate to all before. The first pass adds approximations of
the smoothest functions of H, by two steps of subspace iteration, (M^-1 D)^2 of noise: the error of
H in them affects every column, and a few passes do not find all of it.

*Many nodes.* On a graph of 2^17 nodes or more eta is selected on H, and only its columns are
refined: a third of the memory of three values of eta. Smooth functions are not added.
"""

import numpy as np

from graphsqueak.outofcore.block_cg import BlockCG, orthonormal
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian, check_same_edges
from graphsqueak.ssl.stable import (
    StableSystem,
    centered_fit,
    loo_from_values,
    mean_of_degrees,
    probe_signs,
)
from graphsqueak.system.progress import reporter

__all__ = ["MAX_PASSES", "Refinement", "count_unstable"]

# Passes of "auto", including that of the sparsifier.
MAX_PASSES = 4
# Relative residual of the solves on H: a preconditioner does not have to be exact.
INNER_TOL = 1e-4
# Number of solves that the backend is chosen for: a factorization of H pays.
N_INNER_SOLVES = 10
# Number of nodes from which eta is selected before the passes, to save memory.
LARGE_MIN_NODES = 2**17
# Edges of H per node below which it is coarse. With 0, a third of the nodes of a block model with
# 1.5 edges per node is decided otherwise than on the whole graph (2 % with 12); a larger value
# doubles the columns of each pass.
COARSE_MAX_EDGES_PER_NODE = 12.0
# Smooth functions that a coarse H adds, and steps of subspace iteration towards them. Without them
# 4 % of the nodes of two moons are decided otherwise than on the whole graph, with them 1 %.
N_SMOOTH_FUNCTIONS = 32
N_SUBSPACE_ITERATIONS = 2
# Standard errors within which a margin is not decided.
MARGIN_ERRORS = 2.0


class Refinement:
    """Fits to the same labels for several eta, closer to the exact ones with every pass.

    Parameters
    ----------
    source : EdgeSource or EdgeList
        G, which can be read again.
    sparsifier : EdgeList
        H, with the components of G.
    degrees : array (n_nodes,)
        Of G.
    labels : ClassLabels or RealLabels
        Of nodes of H.
    n_edges : int
        Number of edges of G in the first pass.
    random_state : int or None
        Seeds the probes, which are those of `LooSolver`, and the solvers.
    progress : bool or callable

    Attributes
    ----------
    is_large : bool
        Whether eta has to be selected before the first pass, and passed to `fix_eta`.
    smoothed, preconditioned : HFSSolver
        Solutions after either step; `read` refines those of every eta asked for so far.

    Examples
    --------
    A triangle of which two edges are in memory, after a pass:

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.ssl.labels import RealLabels
    >>> from graphsqueak.ssl.stable import stable_scores
    >>> graph = EdgeList(tail=[0, 1, 2], head=[1, 2, 0])
    >>> path = EdgeList(tail=[0, 1], head=[1, 2])
    >>> labels = RealLabels(np.array([0, 2]), np.array([1.0, 0.0]))
    >>> refined = Refinement(graph, path, graph.degrees(), labels, n_edges=3)
    >>> _ = refined.smoothed.fit(1.0)
    >>> refined.read()
    >>> exact = stable_scores(graph, labels.nodes, labels.targets, 2 * 1.0)
    >>> bool(np.allclose(refined.smoothed.fit(1.0).centered, exact.centered))
    True
    """

    def __init__(
        self, source, sparsifier, degrees, labels, *, n_edges, random_state=None, progress=False
    ):
        self.is_large = sparsifier.n_nodes >= LARGE_MIN_NODES
        self._sparsifier = sparsifier
        self._degrees = degrees
        self._labels = labels
        self._component = sparsifier.components()
        self._laplacian = StreamedLaplacian(source, sparsifier)
        # A source that samples its edges gives other ones in every pass.
        self._n_edges = n_edges if source.is_materialized else None
        self._random_state = random_state
        self._progress = progress
        self._systems = {}
        self._is_closed = False
        inv_mean_degree = mean_of_degrees(degrees)
        self.smoothed = _View(self, inv_mean_degree, is_preconditioned=False)
        self.preconditioned = _View(self, inv_mean_degree, is_preconditioned=True)

    def is_refined(self, eta):
        """Return whether the fit has seen the whole graph at all."""
        return eta in self._systems and self._systems[eta].cg.image is not None

    def fix_eta(self, eta):
        """Drop the fits of all other etas, and start no other."""
        self._systems = {eta: self.at(eta, with_probes=False)}
        self._is_closed = True

    def read(self, *, n_left=2):
        """Read the edges once and refine all fits, with `n_left` passes to come.

        If that is one, fits of no other eta start any more.
        """
        systems = list(self._systems.values())
        for system in systems:
            system.next_directions(is_last=n_left == 0)
        directions = [system.cg.direction for system in systems]
        block = directions[0] if len(directions) == 1 else np.column_stack(directions)
        note = f"pass {self._laplacian.n_passes + 2}"
        with reporter(self._progress, "labeling") as report:
            product = self._laplacian.multiply(
                block, lambda n_read, fraction: report(n_read, fraction, note)
            )
        if self._n_edges is not None:
            check_same_edges((self._n_edges, 0), (self._laplacian.n_edges, 0))
        ends = np.cumsum([direction.shape[1] for direction in directions])
        parts = np.split(product, ends[:-1], axis=1)[::-1]
        # Blocks of n rows are freed as soon as they have been used.
        del block, product, directions
        for system in systems:
            system.advance(parts)
        self._is_closed |= n_left <= 1

    def at(self, eta, *, with_probes):
        """Return the equations for this eta, or None if it comes too late.

        They are solved on H when they are first asked for.
        """
        system = self._systems.get(eta)
        if self._is_closed:
            return system
        if system is None or (with_probes and not system.has_probes):
            system = _Equations(
                self._sparsifier,
                self._component,
                self._degrees,
                self._labels,
                eta,
                with_probes=with_probes,
                n_smooth=0 if self.is_large else N_SMOOTH_FUNCTIONS,
                random_state=self._random_state,
            )
            self._systems[eta] = system
        return system


class _View:
    """The solutions after one of the two steps: an `HFSSolver`."""

    def __init__(self, refinement, inv_mean_degree, *, is_preconditioned):
        self.inv_mean_degree = inv_mean_degree
        self._refinement = refinement
        self._is_preconditioned = is_preconditioned

    def loo(self, eta):
        system = self._refinement.at(eta, with_probes=True)
        if system is None:
            return None
        return system.loo(is_preconditioned=self._is_preconditioned)

    def fit(self, eta):
        system = self._refinement.at(eta, with_probes=False)
        return system.fit(is_preconditioned=self._is_preconditioned)


class _Equations:
    """All columns of one eta: targets, ones, probes, and v."""

    def __init__(
        self, graph, component, degrees, labels, eta, *, with_probes, n_smooth, random_state
    ):
        n_labels = labels.nodes.size
        self._rng = np.random.default_rng(random_state)
        self._component = component
        self._labels = labels
        self.has_probes = with_probes
        self._signs = np.zeros((n_labels, 0))
        if with_probes:
            self._signs = probe_signs(n_labels, self._rng)
        self._system = StableSystem(
            component, labels.nodes, n_labels * eta, sample_weight=labels.sample_weight
        )
        ridge = self._system.ridge
        columns = np.column_stack([labels.targets, np.ones(n_labels), self._signs])
        if labels.sample_weight is not None:
            columns *= labels.sample_weight[:, None]
        rhs = np.zeros((graph.n_nodes, columns.shape[1]))
        rhs[labels.nodes] = columns
        rhs = self._system.right_side(rhs)
        self._solver = LaplacianSolver(
            graph, ridge=ridge, tol=INNER_TOL, n_solves=N_INNER_SOLVES, random_state=self._rng
        )
        diagonal = (degrees + ridge)[:, None]
        self._diagonal = np.where(diagonal > 0, diagonal, 1.0)
        self._n_smooth = n_smooth
        n_connected = np.count_nonzero(degrees)
        self._is_coarse = graph.n_edges < COARSE_MAX_EDGES_PER_NODE * n_connected
        self.cg = BlockCG(np.zeros_like(rhs), rhs, self._times_degrees)
        # M^-1 r, for the next directions and for the step without a pass.
        self._z = self._precondition()
        # Directions, images and Gram matrices of a coarse H, of all passes before.
        self._before = []

    def _times_degrees(self, block):
        return self._diagonal * block

    def _precondition(self):
        return self._solver.solve(self._solver.centered(self.cg.residual))

    def next_directions(self, *, is_last):
        """Make the directions of the next pass."""
        ahead = self._z
        if self._is_coarse:
            if self.cg.image is not None:
                self._before.append((self.cg.direction, self.cg.image, self.cg.gram))
            jacobi = self.cg.residual / self._diagonal
            ahead = np.column_stack([ahead, jacobi, *self._smoothest()])
            for direction, image, gram in self._before:
                ahead -= direction @ np.linalg.solve(gram, image.T @ ahead)
            if is_last:
                self._before = []
        # Freed until the next solve.
        self._z = None
        self.cg.turn(ahead, slice(None))

    def _smoothest(self):
        """Return, in the first pass, a block of functions that are smooth on H, else nothing."""
        if self._before:
            return []
        block = self._rng.normal(size=(self._diagonal.size, self._n_smooth))
        for _ in range(N_SUBSPACE_ITERATIONS):
            block = self._solver.solve(self._solver.centered(self._times_degrees(block)))
            block = orthonormal(block, self._times_degrees)
        return [block]

    def advance(self, products):
        """Take L times the directions off the end of a list; ridges are added in place."""
        product = products.pop()
        labeled = np.flatnonzero(self._system.ridge)
        product[labeled] += self._system.ridge[labeled, None] * self.cg.direction[labeled]
        product = self._solver.centered(product)
        self.cg.advance(product)
        self._z = self._precondition()

    def loo(self, *, is_preconditioned):
        """Return `LooResult` after a step by H or by the degrees."""
        return loo_from_values(
            self._values(is_preconditioned=is_preconditioned),
            self._signs,
            self._component,
            self._labels.nodes,
            self._labels.targets,
            sample_weight=self._labels.sample_weight,
        )

    def fit(self, *, is_preconditioned):
        """Return `Fit` after such a step."""
        return centered_fit(
            self._values(is_preconditioned=is_preconditioned),
            self._component,
            self._labels.nodes,
            self._labels.targets,
            sample_weight=self._labels.sample_weight,
        )

    def _values(self, *, is_preconditioned):
        change = self._z
        # Before the first pass there is only the solution on H.
        if not is_preconditioned and self.cg.image is not None:
            change = self.cg.residual / self._diagonal
        return self._system.constrain(self.cg.x + change)[0]


def count_unstable(scores, others):
    """Return how many rows of `scores` may have another largest entry in the exact solution.

    Parameters
    ----------
    scores, others : array (n, C)
        Decision scores after either step.

    Examples
    --------
    Two solutions whose margins, 0.04 and 1, differ by 0.02:

    >>> scores = np.array([[0.02, -0.02], [0.5, -0.5]])
    >>> count_unstable(scores, scores + [[0.01, -0.01]])
    1
    """
    if scores.shape[1] < 2:
        return 0
    second, best = np.partition(scores, -2, axis=1)[:, -2:].T
    own = ((scores - others) ** 2).sum(axis=1)
    # Squared error of a difference of two scores.
    error = 2 * (own + own.mean())
    return int(np.count_nonzero((best - second) ** 2 <= MARGIN_ERRORS**2 * error))
