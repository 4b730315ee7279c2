"""Stable-HFS on a graph that is read again and again: its sparsifier H only shows the way.

For every alpha that is asked for, the equations of `stable`, A x = b, are solved by block conjugate
gradients on the whole graph (`outofcore.block_cg`), M = L_H + ridge as preconditioner. Each pass
over the edges is one step, in which all columns of all alphas are multiplied together. The columns
are those of leave-one-out (targets, ones, probes) and v, so that eta, threshold and cut are chosen
by what the whole graph says. What is held is H and a few blocks of one row per node.

*A step for nothing.* After k products x is the best of its Krylov space, and its residual r is
known. What H got wrong is rough, noise of the single nodes; D, the degrees of the graph and the
ridge, which the first pass has counted, takes that away without a pass: x + D^-1 r. The other step
without a pass, x + M^-1 r, takes away what is smooth.

*The distance* to the exact answer is told by these two: each leaves what the other takes away, so
that their difference has both. A decision may still change where the margin between the two best
classes is less than twice the error of a difference of two scores, the node's own and that of all
nodes together (root mean square). That is an estimate, tried on many graphs, and no theorem.

*A coarse H*, with fewer than a dozen edges per node, needs many steps along M^-1 r alone. Then
D^-1 r are directions, too, twice as many in a pass, and all of them are kept, since those of two
kinds have to be made conjugate to all before. The first pass also takes along the smoothest
functions of H, about: two steps of subspace iteration, (M^-1 D)^2 of noise. What H has wrong of
them is wrong in every column, and a few passes do not find all of it. The step without a pass is
that of both kinds, D^-1 r + S (M^-1 r - D^-1 r), where S relaxes on H: what is left of the second
is smooth. (Where H is a tree, nearly, and x'Ax / x'Mx large for some x, the first alone.)

*Many nodes.* Of a graph of 2^17 nodes or more eta is chosen on H, and only its columns are brought
closer: a third of what the three etas of a smaller graph hold. Smooth functions are left out.
"""

import numpy as np
import scipy.linalg

from graphsqueak.outofcore.block_cg import BlockCG, orthonormal
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.solvers.matrix import multiply
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian, check_same_edges
from graphsqueak.ssl.choice import NOT_LEFT_OUT, left_out_scores, probe_signs
from graphsqueak.ssl.stable import StableSystem, centered_fit
from graphsqueak.system.progress import reporter

__all__ = ["MOST_PASSES", "Refinement", "count_undecided"]

MOST_PASSES = 4  # of "auto", that of the sparsifier among them
_INNER_TOL = 1e-4  # of the solves on H
_MANY_SOLVES = 10  # a factorization of H pays
_MANY_NODES = 2**17
_COARSE = 12.0  # edges of H per node
_N_SMOOTH, _ITERATIONS = 32, 2  # smooth functions of a coarse H, and steps towards them
_RELAXATIONS, _DAMPING = 4, 0.6
_STEEP = 5.0  # x'Ax / x'Mx of which M^-1 r is no step any more
_ERRORS = 2.0  # within which a margin is not sure


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
    n_edges : int
        Of G, as the first pass has counted them.
    labeled : array of int
        Nodes of H.
    targets : array of float, shape (l, C)
    trust : array of float, shape (l,), optional
        How much each label weighs.
    random_state : int or None
        Seeds the probes, which are those of `leave_one_out`, and the solvers.
    progress : bool or callable
    many_nodes : int
        From as many nodes on eta has to be chosen before the first pass, and `settle` be told.

    Attributes
    ----------
    is_large : bool
        Whether there are as many.
    smoothed, preconditioned : answers after either step, with left_out(eta) and fit(eta)
        As far as they are known; `read` brings closer what has been asked for.

    Examples
    --------
    A triangle of which two edges are held, after a pass:

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.ssl.stable import stable_scores
    >>> graph = EdgeList(tail=[0, 1, 2], head=[1, 2, 0])
    >>> path = EdgeList(tail=[0, 1], head=[1, 2])
    >>> labeled, targets = np.array([0, 2]), np.array([[1.0], [0.0]])
    >>> refined = Refinement(graph, path, graph.degrees(), labeled, targets, n_edges=3)
    >>> _ = refined.smoothed.fit(1.0)
    >>> refined.read()
    >>> exact = stable_scores(graph, labeled, targets, 2 * 1.0)
    >>> bool(np.allclose(refined.smoothed.fit(1.0).centered, exact.centered))
    True
    """

    def __init__(
        self,
        source,
        sparsifier,
        degrees,
        labeled,
        targets,
        *,
        trust=None,
        n_edges,
        random_state=None,
        progress=False,
        many_nodes=_MANY_NODES,
    ):
        self.is_large = sparsifier.n_nodes >= many_nodes
        self._laplacian = StreamedLaplacian(source, sparsifier)
        self._about = (sparsifier, sparsifier.components(), degrees, labeled, targets, trust)
        self._n_smooth = 0 if self.is_large else _N_SMOOTH
        is_other = not source.is_materialized  # the edges it gives out are drawn
        self._n_edges = None if is_other else n_edges
        self._random_state, self._progress = random_state, progress
        self._systems, self._is_closed = {}, False
        self.smoothed, self.preconditioned = _Answers(self, 0), _Answers(self, 1)

    def is_refined(self, eta):
        """Whether the fit has seen the whole graph at all."""
        return eta in self._systems and self._systems[eta].cg.image is not None

    def settle(self, eta):
        """Forget the fits of all others, and begin no other."""
        self._systems = {eta: self.at(eta, with_probes=False)}
        self._is_closed = True

    def read(self, *, n_left=2):
        """Read the edges once and bring all fits closer, with `n_left` reads to come.

        If that is one, fits of no other eta begin any more; if none, what only they need is let go.
        """
        systems = list(self._systems.values())
        for system in systems:
            system.turn(is_last=n_left == 0)
        block = _side_by_side([system.cg.direction for system in systems])
        note = f"pass {self._laplacian.n_passes + 2}"
        with reporter(self._progress, "labeling") as report:
            product = self._laplacian.multiply(
                block, lambda n_read, share: report(n_read, share, note)
            )
        if self._n_edges is not None:
            check_same_edges((self._n_edges, 0), (self._laplacian.n_edges, 0))
        ends = np.cumsum([system.cg.direction.shape[1] for system in systems])
        parts = np.split(product, ends[:-1], axis=1)[::-1]
        del block, product
        for system in systems:
            system.advance(parts)
        self._is_closed |= n_left <= 1

    def at(self, eta, *, with_probes):
        """The equations for this eta, solved on H when they are first asked for; None if late."""
        system = self._systems.get(eta)
        if self._is_closed:
            return system
        if system is None or (with_probes and not system.has_probes):
            system = _Equations(
                *self._about,
                eta,
                with_probes=with_probes,
                n_smooth=self._n_smooth,
                random_state=self._random_state,
            )
            self._systems[eta] = system
        return system


class _Answers:
    """What is known after one of the two steps."""

    def __init__(self, refinement, step):
        self._refinement, self._step = refinement, step

    def left_out(self, eta):
        system = self._refinement.at(eta, with_probes=True)
        return NOT_LEFT_OUT if system is None else system.left_out(self._step)

    def fit(self, eta):
        return self._refinement.at(eta, with_probes=False).fit(self._step)


class _Equations:
    """All columns of one alpha."""

    def __init__(
        self,
        graph,
        component,
        degrees,
        labeled,
        targets,
        trust,
        eta,
        *,
        with_probes,
        n_smooth,
        random_state,
    ):
        rng, n_labels = np.random.default_rng(random_state), labeled.size
        self.has_probes = with_probes
        signs = np.zeros((n_labels, 0))
        if with_probes:
            signs = probe_signs(n_labels, rng)
        self._signs, self._labels, self._trust = signs, (component, labeled, targets), trust
        self._system = StableSystem(component, labeled, n_labels * eta, trust=trust)
        ridge = self._system.ridge
        rhs = np.zeros((graph.n_nodes, targets.shape[1] + 1 + signs.shape[1]))
        rhs[labeled] = np.column_stack([targets, np.ones(n_labels), signs])
        if trust is not None:
            rhs[labeled] *= trust[:, None]
        rhs = self._system.right_side(rhs)
        self._solver = LaplacianSolver(
            graph, ridge=ridge, tol=_INNER_TOL, n_solves=_MANY_SOLVES, random_state=rng
        )
        diagonal = (degrees + ridge)[:, None]
        self._diagonal = np.where(diagonal > 0, diagonal, 1.0)
        self._is_steep = False
        self._is_coarse = graph.n_edges < _COARSE * np.count_nonzero(degrees)
        self.cg = BlockCG(np.zeros_like(rhs), rhs, self._times_degrees)
        self._z, self._before = self._precondition(), []
        self._rng, self._n_smooth = rng, n_smooth

    def _times_degrees(self, block):
        return self._diagonal * block

    def _precondition(self):
        return self._solver.solve(self._solver.centered(self.cg.residual))

    def turn(self, *, is_last):
        """Make the next directions."""
        ahead = self._z
        if self._is_coarse:
            if self.cg.image is not None:
                self._before.append((self.cg.direction, self.cg.image, self.cg.gram))
            ahead = np.column_stack([ahead, self.cg.residual / self._diagonal, *self._smoothest()])
            self._make_conjugate(ahead)
            self._before = [] if is_last else self._before
        self._z = None  # until the next solve
        self.cg.turn(ahead, slice(None))

    def _smoothest(self):
        """In the first pass, a block of functions that are smooth on H, else nothing."""
        if self._before:
            return []
        block = self._rng.normal(size=(self._diagonal.size, self._n_smooth))
        for _ in range(_ITERATIONS):
            block = self._solver.solve(self._solver.centered(self._times_degrees(block)))
            block = orthonormal(block, self._times_degrees)
        return [block]

    def _make_conjugate(self, ahead):
        for direction, image, gram in self._before:
            ahead -= direction @ np.linalg.solve(gram, image.T @ ahead)

    def advance(self, products):
        """Take L times the directions off the end of a list; ridges are added in place."""
        product, held = products.pop(), np.flatnonzero(self._system.ridge)
        product[held] += self._system.ridge[held, None] * self.cg.direction[held]
        product = self._solver.centered(product)
        self.cg.advance(product)
        if self._is_coarse:
            energy = self.cg.direction.T @ self._times_sparsifier(self.cg.direction)
            theta = scipy.linalg.eigvalsh(self.cg.gram, (energy + energy.T) / 2)
            self._is_steep = bool(theta.max(initial=0.0) > _STEEP)
        self._z = self._precondition()

    def left_out(self, step):
        """`LeftOut` after a step by the degrees (0) or by H (1)."""
        return left_out_scores(self._values(step), self._signs, *self._labels, trust=self._trust)

    def fit(self, step):
        """`Fit` after such a step."""
        return centered_fit(self._values(step), *self._labels, trust=self._trust)

    def _values(self, step):
        """Before the first pass the step is one by H, in any case."""
        change = self._z
        if step == 0 and self.cg.image is not None:
            change = self.cg.residual / self._diagonal
            if self._is_coarse and not self._is_steep:
                change += self._smooth(self._z - change)
        return self._system.constrained(self.cg.x + change)[0]

    def _smooth(self, block):
        """A few steps of relaxation on H."""
        size = np.maximum(self._solver.matrix.diagonal()[:, None], self._diagonal)
        for _ in range(_RELAXATIONS):
            block -= _DAMPING * self._times_sparsifier(block) / size
        return block

    def _times_sparsifier(self, block):
        image = np.empty_like(block)
        multiply(self._solver.matrix, np.ascontiguousarray(block), image)
        return image


def _side_by_side(blocks):
    return blocks[0] if len(blocks) == 1 else np.column_stack(blocks)


def count_undecided(scores, others):
    """How many rows of `scores` may have another largest entry in the exact answer.

    Parameters
    ----------
    scores, others : array (n, C)
        Decision scores after either step.

    Examples
    --------
    Two answers whose margins, .04 and 1, differ by .02:

    >>> scores = np.array([[0.02, -0.02], [0.5, -0.5]])
    >>> count_undecided(scores, scores + [[0.01, -0.01]])
    1
    """
    if scores.shape[1] < 2:
        return 0
    second, best = np.partition(scores, -2, axis=1)[:, -2:].T
    own = ((scores - others) ** 2).sum(axis=1)
    error = 2 * (own + own.mean())  # squared, of a difference of two scores
    return int(np.count_nonzero((best - second) ** 2 <= _ERRORS**2 * error))
