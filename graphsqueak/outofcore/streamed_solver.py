"""Solve (L + diag(ridge)) x = b on a graph that is read from its source and never held.

The sparsifier H of a graph G is a preconditioner for it: if every ratio x'L_G x / x'L_H x lies in
[1 - eps, 1 + eps], then conjugate gradients on G, with a solve on H in every step, have at most

    2 ((sqrt(kappa) - 1) / (sqrt(kappa) + 1))^t,   kappa = (1 + eps) / (1 - eps),

times their first error after t steps, one pass over the edges of G each (`block_cg`). Memory holds
H and a few blocks of one row per node. The error of the sparsifier does not enter the answer: it
only decides how often the graph is read.

What decides at the end is the true residual b - A x, measured by a pass of its own.
"""

import os
import warnings
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from graphsqueak.errors import ConvergenceWarning, InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.outofcore.block_cg import BlockCG
from graphsqueak.outofcore.checkpoint import Saved, digest, load, save
from graphsqueak.outofcore.convergence import Convergence, Iterate
from graphsqueak.outofcore.parted_laplacian import Sharing
from graphsqueak.outofcore.pencil import Pencil, find_sparsifier, rereadable
from graphsqueak.randomness import RandomState
from graphsqueak.report.shown import ReprMixin
from graphsqueak.solvers.conjugate_gradient import column_norms
from graphsqueak.solvers.matrix import power_of_two
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.system.atomic import check_writable, resumable_from
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.system.remote import exists
from graphsqueak.trees.backends import open_backend
from graphsqueak.validation import check_block, check_count, check_real, check_ridge

__all__ = ["StreamedSolver"]

_MOST_PASSES = 100
_SAFETY = 0.95  # the recursion's residual aims this much below tol
_TOO_MANY = 50  # more passes than this are a sign of too coarse a sparsifier
_GROWTH = 4  # times as many edges for the next sparsifier


class StreamedSolver(ReprMixin):
    """Solver of A x = b with A = L + diag(ridge), L the Laplacian of a graph that is only read.

    One pass makes a sparsifier; each further pass is a step of block conjugate gradients for all
    right-hand sides at once. Give exactly one of `n_edges`, `epsilon`, `keep` and `sparsifier`.

    Parameters
    ----------
    source : EdgeSource, EdgeList, scipy sparse adjacency or networkx graph
        The graph. It must be readable again: a file, a folder, anything in memory; not a pipe.
    n_edges, epsilon, keep : optional
        Size of the sparsifier, as of `sparsify`; `epsilon` is predicted, not proved.
    sparsifier : EdgeList or any graph, optional
        One that is there already, with the ids of the graph.
    ridge : float or array of shape (n_nodes,)
        Added to the diagonal, not negative.
    tol : float
        A column is solved when |b - A x| <= tol * |b|.
    max_passes : int, optional
        Most passes of one `solve`, at least 2. Default: 100; 10 to 20 are usual.
    max_edges : int, optional
        How far the sparsifier may grow when it turns out to be too coarse; a pass makes another.
        Default: not at all, and without limit if `epsilon` is given.
    checkpoint : path, optional
        File in which the sparsifier is saved and, after every pass, the iteration.
    resume : bool
        Go on from `checkpoint`, if it is there, to the same result.
    workers, scheduler : int, str, optional
        Let so many processes of this machine, or the Dask cluster of a scheduler, each multiply
        some parts of the edges, which must lie in files or in memory.
    n_parts : int, optional
        About how many parts; the same parts give the same bytes, whoever reads them.
    random_state : int, Generator or None
        Same seed, same bytes, on any number of threads.
    progress : bool or callable

    Attributes
    ----------
    sparsifier_ : EdgeList
        The preconditioner. Row i of b and x belongs to the node sparsifier_.ids[i]; these are the
        nodes of `source` in their order, unless a `sparsifier` of a stream came in another.
    n_passes_ : int
        How often the source has been read, for the sparsifiers as well.
    residual_ : float
        Largest |b - A x| / |b| over the columns of the last `solve`, measured.
    history_ : list of (int, float)
        `n_passes_` and the largest relative residual after each pass of the last `solve`.

    Examples
    --------
    A unit of current through a complete graph, of which a tenth of the edges is held:

    >>> from graphsqueak.sources import complete
    >>> solver = StreamedSolver(complete(300), keep=0.1, tol=1e-8, random_state=7)
    >>> b = np.zeros(300)
    >>> b[0], b[1] = 1.0, -1.0
    >>> x = solver.solve(b)
    >>> float(x[0] - x[1]), bool(solver.residual_ <= 1e-8)
    (0.00666667, True)
    """

    _shown: ClassVar[dict[str, str]] = {
        "tol": "relative residual wanted",
        "sparsifier_": "preconditioner",
        "n_passes_": "passes over the edges",
        "residual_": "largest relative residual of the last solve",
    }

    def __init__(
        self,
        source: GraphLike,
        *,
        n_edges: int | None = None,
        epsilon: float | None = None,
        keep: float | None = None,
        sparsifier: GraphLike | None = None,
        ridge: ArrayLike = 0.0,
        tol: float = 1e-6,
        max_passes: int | None = None,
        max_edges: int | None = None,
        checkpoint: str | os.PathLike | None = None,
        resume: bool = False,
        workers: int | None = None,
        scheduler: str | None = None,
        n_parts: int | None = None,
        random_state: RandomState = None,
        progress: Progress = False,
    ) -> None:
        self._source, self._sharing = rereadable(source), Sharing(workers, scheduler, n_parts)
        self.tol = check_real("tol", tol, above=0.0, below=1.0)
        most = _MOST_PASSES if max_passes is None else max_passes
        self.max_passes = check_count("max_passes", most, least=2)
        self.max_edges = None if max_edges is None else check_count("max_edges", max_edges)
        if resume and checkpoint is None:
            raise InputError(
                Parameter("resume", True),
                " needs ",
                Parameter("checkpoint"),
                ", the file to resume from",
            )
        if checkpoint is not None:
            check_writable(checkpoint)
        budget = Budget(n_edges, epsilon, keep)
        self._may_grow = sparsifier is None and (epsilon or max_edges) is not None
        self._checkpoint, self._progress = checkpoint, progress
        seed = None if random_state is None else _seed_from(random_state)
        self._settings = {"budget": list(budget), "is_given": sparsifier is not None, "seed": seed}
        self._saved = None
        if resume and checkpoint is not None and exists(checkpoint):
            self._saved = load(checkpoint, self._settings)
            self._settings = self._saved.settings
            kept, numbers = self._saved.sparsifier, self._saved.numbers
        else:
            how = (random_state, progress, self._sharing)
            kept = find_sparsifier(self._source, budget, sparsifier, *how)
            numbers = {"n_passes": int(sparsifier is None), "backend": "auto"}
            self._settings["seed"] = seed or _seed_from(None)
        self.ridge = check_ridge(ridge, kept.n_nodes)
        self.n_passes_ = numbers["n_passes"]
        self._use(kept, backend=numbers["backend"], fingerprint=numbers.get("fingerprint"))
        self.residual_, self.history_ = float("inf"), list[tuple[int, float]]()
        if self._saved is None:
            self._save()

    @property
    def sparsifier_(self) -> EdgeList:
        """The preconditioner; row i of b and x belongs to the node sparsifier_.ids[i]."""
        return self._pencil.sparsifier

    def solve(self, B: ArrayLike, *, x0: ArrayLike | None = None) -> np.ndarray:
        """Solve A x = b for every column of B.

        Parameters
        ----------
        B : ndarray of shape (n_nodes,) or (n_nodes, K)
            Right-hand sides. Where a component has no ridge they must sum to zero over it.
        x0 : ndarray of the shape of B, optional
            Where to begin; its residual takes a pass. Default: the solution on the sparsifier,
            which takes none.

        Returns
        -------
        ndarray of the shape and dtype of B
            The solution, of mean zero over every component without a ridge.
        """
        given = check_block(B, self.sparsifier_.n_nodes)
        largest = np.abs(given).max(axis=0, initial=0)
        unit = np.array([power_of_two(size or 1) for size in largest], dtype=given.dtype)
        start = None if x0 is None else _check_start(x0, given.shape) / unit
        x, self.residual_ = np.zeros(given.shape), 0.0
        for now in self.iterate(given / unit, x0=start):
            x, self.residual_ = now.x, float(now.relative.max(initial=0.0))
        if self.residual_ > self.tol:
            warnings.warn(
                ConvergenceWarning(
                    f"stopped after {len(self.history_)} passes at a relative residual of "
                    f"{self.residual_:.2g}, above ",
                    Parameter("tol", self.tol),
                    f": {self._stopped_by}",
                    residual=self.residual_,
                ),
                stacklevel=2,
            )
        x = self._pencil.centered(x) * unit
        return x.astype(given.dtype, copy=False).reshape(np.shape(B))

    def iterate(self, B: ArrayLike, *, x0: ArrayLike | None = None) -> Iterator[Iterate]:
        """Solve A x = b pass by pass: yields where it stands after each, until it is done.

        The last one that is yielded has its residual measured. Leave the loop whenever x is good
        enough for you. Where b is 0 nothing is read and nothing is yielded: x is 0.

        Parameters
        ----------
        B : ndarray of shape (n_nodes,) or (n_nodes, K)
            Right-hand sides, of a size whose squares are numbers.
        x0 : ndarray of the shape of B, optional
            Where to begin; its residual takes a pass.

        Yields
        ------
        Iterate
        """
        block = self._pencil.consistent(check_block(B, self.sparsifier_.n_nodes))
        B = block = block.astype(np.float64, copy=False)  # the one that was given is let go
        start = None if x0 is None else self._pencil.centered(_check_start(x0, block.shape))
        self.history_, self._stopped_by = [], ""
        workers, scheduler, _ = self._sharing
        with (
            resumable_from(self._checkpoint),
            reporter(self._progress, "solving") as report,
            open_backend(workers=workers, scheduler=scheduler) as self._backend,
        ):
            steps = self._iterate(block, start, report)
            one_thread = threadpool_limits.wrap(limits=1, user_api="blas")
            while (now := one_thread(next)(steps, None)) is not None:
                yield now

    def precondition(self, R: ArrayLike) -> np.ndarray:
        """M^+ R, about, M = L_H + diag(ridge): the answer of the sparsifier alone, without a pass.

        Parameters
        ----------
        R : ndarray of shape (n_nodes,) or (n_nodes, K)
            Centered first, where a component has no ridge.
        """
        return self._pencil.precondition(R)

    def _iterate(self, block, start, report):
        size = np.where((found := column_norms(block)) > 0, found, 1.0)
        name = digest(block, self.ridge, *([] if start is None else [start]))
        x = np.zeros_like(block) if start is None else start.copy()
        cg = BlockCG(x, block.copy(), self._pencil.times_sparsifier)
        course, now = Convergence(is_measured=start is None), None
        self._restore(name, cg, course)
        while True:
            relative = column_norms(cg.residual) / size
            if reason := self._reason_to_stop(course, float(relative.max(initial=0.0))):
                if course.is_measured:
                    self._stopped_by = reason
                    if now is None and self.history_:  # it was done when it was saved
                        yield self._iterate_of(cg, relative, course)
                    return
                cg.restart(block - self._multiply(cg.x, report))
            else:
                z = self._pencil.precondition(cg.residual) if now is None else now.release()
                cg.turn(z, relative > _SAFETY * self.tol)
                z = None
                cg.advance(self._multiply(cg.direction, report))
            relative = column_norms(cg.residual) / size
            course.note(float(relative.max()), is_measured=bool(reason))
            self.history_.append((self.n_passes_, course.worst[-1]))
            if not reason and self._is_too_slow(course):
                cg.restart(cg.residual, self._pencil.times_sparsifier)
            self._save(name, cg, course)
            yield (now := self._iterate_of(cg, relative, course))

    def _iterate_of(self, cg, relative, course):
        where = (cg.x, cg.residual, relative, len(self.history_), course.is_measured)
        return Iterate(*where, cg.lowest(), self._pencil.precondition)

    def _reason_to_stop(self, course, worst):
        """Why no further step is taken, or nothing; measured, this is where it ends."""
        if not course.is_measured and not self.history_:
            return "the residual of x0 is not known yet"
        if worst <= (self.tol if course.is_measured else _SAFETY * self.tol):
            return "it is reached"
        if len(self.history_) >= self.max_passes - (not course.is_measured):
            return f"max_passes={self.max_passes} was reached"
        return "more passes do not lessen it" if course.is_stuck() else ""

    def _multiply(self, block, report):
        n_before, n_edges = len(self.history_), self._pencil.laplacian.n_edges or 0
        note = f"residual {self.history_[-1][1]:.2g}" if self.history_ else ""

        def tell(n_read, share):
            report(n_before * n_edges + n_read, np.nan, f"pass {n_before + 1}, {note}".rstrip(", "))

        if self._sharing.is_wanted:
            self._pencil.laplacian.backend = self._backend
        product = self._pencil.multiply(block, tell)
        self.n_passes_ += 1
        return product

    def _is_too_slow(self, course):
        """Notice a sparsifier that is too coarse, and make a larger one where that is allowed."""
        n_more = course.passes_left(self.tol)
        if n_more <= min(self.max_passes - len(self.history_), _TOO_MANY):
            return False
        kept, n_all = self.sparsifier_.n_edges, self._pencil.laplacian.n_edges
        n_edges = min(_GROWTH * kept, self.max_edges or n_all, n_all)
        if self._may_grow and n_edges > kept:
            how = (self._settings["seed"], self._progress, self._sharing)
            grown = find_sparsifier(self._source, Budget(n_edges, None, None), None, *how)
            self.n_passes_ += 1
            self._use(grown, fingerprint=self._pencil.laplacian.fingerprint)
            course.begin_anew()
            return True
        course.warn_once(n_more)
        return False

    def _use(self, sparsifier, *, backend="auto", fingerprint=None):
        how = {"seed": self._settings["seed"], "backend": backend, "sharing": self._sharing}
        self._pencil = Pencil(self._source, sparsifier, self.ridge, **how)
        if fingerprint is not None:
            self._pencil.laplacian.fingerprint = tuple(fingerprint)

    def _save(self, name=None, cg=None, course=None):
        if self._checkpoint is None:
            return
        pencil, arrays = self._pencil, {}
        numbers = {"n_passes": self.n_passes_, "backend": pencil.backend}
        numbers["fingerprint"] = pencil.laplacian.fingerprint
        if name is not None:
            numbers |= {"name": name, "history": self.history_, "course": course.numbers()}
            arrays = cg.arrays()
        save(self._checkpoint, Saved(pencil.sparsifier, self._settings, numbers, arrays))

    def _restore(self, name, cg, course):
        """Go on where the checkpoint left this very solve, if it did."""
        if self._saved is not None and self._saved.numbers.get("name") == name:
            cg.restore(self._saved.arrays)
            course.restore(self._saved.numbers["course"])
            self.history_ = [tuple(row) for row in self._saved.numbers["history"]]
            self._saved = None


def _check_start(x0, shape):
    if (start := np.array(check_block(x0, shape[0]), dtype=np.float64)).shape != shape:
        raise InputError(f"x0 has shape {start.shape}; the right-hand side has {shape}")
    return start


def _seed_from(random_state):
    return int(np.random.default_rng(random_state).integers(2**63))
