"""Stable-HFS on a graph that is streamed in several passes, with its sparsifier H in memory.

For every candidate of eta, the equations of `stable`, A x = b, are solved by block conjugate
gradients on the whole graph (`outofcore.block_cg`), with M = L_H + ridge as preconditioner. Each
pass over the edges is one step, in which all columns of all candidates are multiplied together.
The columns are those of leave-one-out (targets, ones, probes) and v, so that eta, prior weight and
threshold are selected on the whole graph. In memory are H and a few blocks of one row per node.

*A step without a pass.* After k products, x is the best in its Krylov space, and its residual r is
known. The error that H leaves is rough, noise at single nodes. Jacobi's step, x + D^-1 r with the
diagonal D of A from the degrees of the first pass, reduces it without another pass (`smoothed`).
The other step without a pass, x + M^-1 r, reduces the smooth error (`preconditioned`).

*The distance* to the exact solution is estimated by their difference: each leaves what the other
removes. The number of decisions that differ from the exact ones is estimated by those that differ
between the two steps. This is an estimate and not a theorem: on eight graphs with 1.1 to 6 edges
per node it is 1 to 3 times the true number once at most 5 % of the decisions differ, and up to 20
times in the passes before.

*A coarse H*, with fewer than a dozen edges per node, needs many steps along M^-1 r alone. Then
D^-1 r are search directions as well, twice as many per pass. All directions are kept, since
directions of two kinds have to be made conjugate to all earlier ones. The first pass adds
approximations of the smoothest functions of H, by two steps of subspace iteration, (M^-1 D)^2 of
noise: the error of H in them affects every column, and a few passes do not find all of it.
"""

import numpy as np

from graphsqueak.outofcore.block_cg import BlockCG
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.solvers.lobpcg import orthonormal
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian, check_same_edges
from graphsqueak.ssl.stable import LOO_TOL, StableSystem, mean_of_degrees, probe_signs
from graphsqueak.system.progress import reporter

__all__ = ["Refinement", "count_unstable"]

# Edges of H per node below which it is coarse. With 0, a third of the nodes of a block model with
# 1.5 edges per node is decided otherwise than on the whole graph (2 % with 12); a larger value
# doubles the columns of each pass.
COARSE_MAX_EDGES_PER_NODE = 12.0


class Refinement:
    """Stable-HFS for a few etas, closer to the exact solution with every pass.

    Parameters
    ----------
    source : EdgeSource or EdgeList
        G, which can be read again.
    sparsifier : EdgeList
        H, with the components of G.
    degrees : array (n_nodes,)
        Degrees of G.
    labels : ClassLabels or RealLabels
        Labels of nodes of H.
    etas : list of float
    n_edges : int
        Number of edges of G in the first pass.
    n_smooth : int
        Number of smooth functions that a coarse H adds. With 0, 4 % of the nodes of two moons are
        decided otherwise than on the whole graph; with 32, 1 %.
    random_state : int or None
        Seed of the probes, which are those of `LooSolver`, and of the solvers.
    progress : bool or callable

    Attributes
    ----------
    smoothed, preconditioned : HFSSolver
        Solutions after either step, for the given etas.

    Examples
    --------
    A triangle of which two edges are in memory, after a pass:

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.ssl.labels import RealLabels
    >>> from graphsqueak.ssl.stable import stable_scores
    >>> graph = EdgeList(tail=[0, 1, 2], head=[1, 2, 0])
    >>> path = EdgeList(tail=[0, 1], head=[1, 2])
    >>> labels = RealLabels(np.array([0, 2]), np.array([1.0, 0.0]))
    >>> refined = Refinement(graph, path, graph.degrees(), labels, [1.0], n_edges=3)
    >>> refined.read()
    >>> exact = stable_scores(graph, labels.nodes, labels.targets, 2 * 1.0)
    >>> bool(np.allclose(refined.smoothed.fit(1.0).centered, exact.centered))
    True
    """

    def __init__(
        self,
        source,
        sparsifier,
        degrees,
        labels,
        etas,
        *,
        n_edges,
        n_smooth=32,
        random_state=None,
        progress=False,
    ):
        self._laplacian = StreamedLaplacian(source, sparsifier)
        # A source that samples its edges has other edges in each pass.
        self._n_edges = n_edges if source.is_materialized else None
        self._progress = progress
        self._equations = {
            eta: _Equations(
                sparsifier, degrees, labels, eta, n_smooth=n_smooth, random_state=random_state
            )
            for eta in etas
        }
        inv_mean_degree = mean_of_degrees(degrees)
        self.smoothed = _View(self._equations, inv_mean_degree, is_preconditioned=False)
        self.preconditioned = _View(self._equations, inv_mean_degree, is_preconditioned=True)

    def read(self, *, is_last=False):
        """Read the edges once and refine all solutions."""
        directions = [
            equations.next_directions(is_last=is_last) for equations in self._equations.values()
        ]
        block = directions[0] if len(directions) == 1 else np.column_stack(directions)
        note = f"pass {self._laplacian.n_passes + 2}"
        with reporter(self._progress, "labeling") as report:
            product = self._laplacian.multiply(
                block, lambda n_read, fraction: report(n_read, fraction, note)
            )
        if self._n_edges is not None:
            check_same_edges((self._n_edges, 0), (self._laplacian.n_edges, 0))
        ends = np.cumsum([direction.shape[1] for direction in directions])
        for equations, part in zip(
            self._equations.values(), np.split(product, ends[:-1], axis=1), strict=True
        ):
            equations.advance(part)


class _View:
    """The solutions of a refinement after one of the two steps: an `HFSSolver`."""

    def __init__(self, equations, inv_mean_degree, *, is_preconditioned):
        self.inv_mean_degree = inv_mean_degree
        self._equations = equations
        self._is_preconditioned = is_preconditioned

    def loo(self, eta):
        return self._equations[eta].loo(is_preconditioned=self._is_preconditioned)

    def fit(self, eta):
        return self._equations[eta].fit(is_preconditioned=self._is_preconditioned)


class _Equations:
    """All columns of one eta: targets, ones, probes, and v."""

    def __init__(self, sparsifier, degrees, labels, eta, *, n_smooth, random_state):
        n_labels = labels.nodes.size
        self._n_smooth = n_smooth
        self._rng = np.random.default_rng(random_state)
        self._signs = probe_signs(n_labels, self._rng)
        self._system = StableSystem(sparsifier.components(), labels, n_labels * eta)
        ridge = self._system.ridge
        # A preconditioner does not have to be exact: 1e-4 and 2e-3 have the same accuracy.
        # A factorization of H pays off for ten solves: one or two per pass, and smooth functions.
        self._solver = LaplacianSolver(
            sparsifier, ridge=ridge, tol=LOO_TOL, n_solves=10, random_state=self._rng
        )
        diagonal = (degrees + ridge)[:, None]
        self._diagonal = np.where(diagonal > 0, diagonal, 1.0)
        n_connected = np.count_nonzero(degrees)
        self._is_coarse = sparsifier.n_edges < COARSE_MAX_EDGES_PER_NODE * n_connected
        columns = np.column_stack([labels.targets, np.ones(n_labels), self._signs])
        rhs = self._system.right_side(columns)
        self._cg = BlockCG(np.zeros_like(rhs), rhs, self._times_degrees)
        # M^-1 r, for the next directions and for the step without a pass.
        self._z = self._precondition()
        # Directions, images and Gram matrices of a coarse H, of all passes before.
        self._before = []

    def next_directions(self, *, is_last):
        """Return the directions of the next pass."""
        ahead = self._z
        if self._is_coarse:
            if self._cg.image is not None:
                self._before.append((self._cg.direction, self._cg.image, self._cg.gram))
            jacobi = self._cg.residual / self._diagonal
            ahead = np.column_stack([ahead, jacobi, *self._smooth_functions()])
            for direction, image, gram in self._before:
                ahead -= direction @ np.linalg.solve(gram, image.T @ ahead)
            if is_last:
                self._before = []
        # Freed until the next solve.
        self._z = None
        self._cg.turn(ahead, slice(None))
        return self._cg.direction

    def advance(self, product):
        """Take L times the directions, and refine the solution."""
        labeled = np.flatnonzero(self._system.ridge)
        product[labeled] += self._system.ridge[labeled, None] * self._cg.direction[labeled]
        self._cg.advance(self._solver.centered(product))
        self._z = self._precondition()

    def fit(self, *, is_preconditioned):
        """Return `Fit` after a step by H, or by the degrees."""
        return self._system.fit_from_raw(self._values(is_preconditioned=is_preconditioned))

    def loo(self, *, is_preconditioned):
        """Return `LooResult` after either step."""
        values = self._values(is_preconditioned=is_preconditioned)
        return self._system.loo_from_raw(values, self._signs)

    def _values(self, *, is_preconditioned):
        """Return M b for all columns b."""
        change = self._z if is_preconditioned else self._cg.residual / self._diagonal
        values, _ = self._system.constrain(self._cg.x + change)
        return values

    def _times_degrees(self, block):
        return self._diagonal * block

    def _precondition(self):
        return self._solver.solve(self._solver.centered(self._cg.residual))

    def _smooth_functions(self):
        """Return, in the first pass, a block of functions that are smooth on H, else nothing."""
        if self._before:
            return []
        block = self._rng.normal(size=(self._diagonal.size, self._n_smooth))
        # Two steps of subspace iteration.
        for _ in range(2):
            block = self._solver.solve(self._solver.centered(self._times_degrees(block)))
            block = orthonormal(block, self._times_degrees)
        return [block]


def count_unstable(scores, others):
    """Return how many rows of `scores` and of `others` have another largest entry.

    Parameters
    ----------
    scores, others : array (n, C)
        Decision scores after either step.

    Examples
    --------
    Two solutions with margins of 0.04 and 1, of which the first is smaller than their difference:

    >>> scores = np.array([[0.02, -0.02], [0.5, -0.5]])
    >>> count_unstable(scores, scores + [[-0.03, 0.03]])
    1
    """
    return int(np.count_nonzero(scores.argmax(axis=1) != others.argmax(axis=1)))
