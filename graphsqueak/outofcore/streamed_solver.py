"""Solve (L + diag(ridge)) x = b on a graph that is streamed instead of loaded.

The sparsifier H of a graph G is a preconditioner for it. If all ratios x'L_G x / x'L_H x lie in
[1 - eps, 1 + eps], conjugate gradients on G with a solve on H per iteration reduce the error by

    2 ((sqrt(kappa) - 1) / (sqrt(kappa) + 1))^t,   kappa = (1 + eps) / (1 - eps),

after t iterations (`block_cg`). Each iteration takes one pass over the edges of G. Memory holds H
and a few blocks with one row per node. The error of the sparsifier determines the number of passes,
not the error of the solution.

The recursion of CG only estimates the residual, so that a last pass measures b - A x.
"""

from __future__ import annotations

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
from graphsqueak.validation import (
    check_block,
    check_count,
    check_real,
    check_ridge,
    explain_keywords,
)

# Size of the next sparsifier relative to one that is too coarse. On a small-world graph, 23 passes
# in total; halved: 28; doubled: 22, with 9 % more edges in memory.
GROWTH_FACTOR = 4


@explain_keywords()
class StreamedSolver(ReprMixin):
    """Solver of A x = b for a graph that does not fit in memory, A = L + diag(ridge).

    One pass makes a sparsifier, unless one is given. Each further pass is an iteration of block
    conjugate gradients for all right-hand sides. Pass exactly one of `n_edges`, `epsilon`, `keep`
    and `sparsifier`. For graphs in memory use `graphsqueak.solvers.LaplacianSolver`.

    Parameters
    ----------
    source : EdgeSource, EdgeList, scipy sparse adjacency or networkx graph
        The graph. It must be readable more than once, as files and folders are; pipes are not.
    n_edges, epsilon, keep : optional
        Size of the sparsifier, as in `sparsify`; `epsilon` is predicted, not certified.
    sparsifier : EdgeList or any graph, optional
        An existing sparsifier with the ids of the graph.
    ridge : float or array of shape (n_nodes,)
        Nonnegative numbers that are added to the diagonal.
    tol : float
        Relative tolerance: ||b - A x|| <= tol * ||b|| for each column.
    max_passes : int, default=100
        Maximum number of passes per `solve`, at least 2; 10 to 20 are typical.
    max_edges : int, optional
        Largest sparsifier that replaces one that is too coarse, which takes another pass. Default:
        it is not replaced, or, with `epsilon`, replaced without a limit.
    checkpoint : path, optional
        File for the sparsifier and, after every pass, the state of the iteration.
    resume : bool
        Continue from `checkpoint` if it exists, with the same result as without interruption.
    workers, scheduler : int, str, optional
        Multiply the parts of the edges in this number of processes, or on the Dask cluster of a
        scheduler. The edges must be in files or in memory.
    n_parts : int, optional
        Approximate number of parts. Results are bit-for-bit reproducible for the same parts.
    random_state : int, Generator or None
        The same seed gives bit-for-bit the same result on any number of threads.
    progress : bool or callable

    Attributes
    ----------
    sparsifier_ : EdgeList
        The preconditioner. Row i of b and x belongs to the node sparsifier_.ids[i]. These are the
        nodes of `source` in their order, unless a given `sparsifier` of a file has another order.
    n_passes_ : int
        Number of passes over the source, including those for sparsifiers.
    residual_ : float
        Largest measured ||b - A x|| / ||b|| over the columns of the last `solve`.
    history_ : list of (int, float)
        `n_passes_` and the largest relative residual after each pass of the last `solve`.

    Examples
    --------
    A unit of current through a complete graph, with 10 % of its edges in memory:

    >>> from graphsqueak.sources import complete
    >>> solver = StreamedSolver(complete(300), keep=0.1, tol=1e-8, random_state=7)
    >>> b = np.zeros(300)
    >>> b[:2] = [1.0, -1.0]
    >>> x = solver.solve(b)
    >>> float(x[0] - x[1]), bool(solver.residual_ <= 1e-8)
    (0.00666667, True)
    """

    _shown: ClassVar[dict[str, str]] = {
        "tol": "relative tolerance",
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
        max_passes: int = 100,
        max_edges: int | None = None,
        checkpoint: str | os.PathLike | None = None,
        resume: bool = False,
        workers: int | None = None,
        scheduler: str | None = None,
        n_parts: int | None = None,
        random_state: RandomState = None,
        progress: Progress = False,
    ) -> None:
        self._source = rereadable(source)
        self._sharing = Sharing(workers=workers, scheduler=scheduler, n_parts=n_parts)
        self.tol = check_real("tol", tol, above=0.0, below=1.0)
        self.max_passes = check_count("max_passes", max_passes, least=2)
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
        budget = Budget(n_edges=n_edges, epsilon=epsilon, keep=keep)
        self._may_grow = sparsifier is None and (epsilon or max_edges) is not None
        self._checkpoint = checkpoint
        self._progress = progress
        self.residual_ = float("inf")
        self.history_: list[tuple[int, float]] = []
        seed = None if random_state is None else _seed_from(random_state)
        settings = {"budget": list(budget), "is_given": sparsifier is not None, "seed": seed}
        self._saved: Saved | None = None
        if resume and checkpoint is not None and exists(checkpoint):
            self._saved = load(checkpoint, settings)
        saved = self._saved
        if saved is None:
            kept = find_sparsifier(
                self._source, budget, sparsifier, random_state, progress, self._sharing
            )
            settings["seed"] = seed or _seed_from(None)
            saved = Saved(kept, settings, {"n_passes": int(sparsifier is None)}, arrays={})
        self._settings = saved.settings
        self.n_passes_ = saved.numbers["n_passes"]
        self.ridge = check_ridge(ridge, saved.sparsifier.n_nodes)
        self._use(
            saved.sparsifier,
            backend=saved.numbers.get("backend", "auto"),
            fingerprint=saved.numbers.get("fingerprint"),
        )
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
            Right-hand sides. They must sum to zero over every component without a ridge.
        x0 : ndarray of the shape of B, optional
            Initial guess, whose residual takes a pass. Default: the solution on the sparsifier,
            which takes none.

        Returns
        -------
        ndarray of the shape and dtype of B
            The solution, with mean zero over every component without a ridge.
        """
        given = check_block(B, self.sparsifier_.n_nodes)
        # Powers of two scale columns without rounding, so that squares do not overflow.
        largest = np.abs(given).max(axis=0, initial=0)
        unit = np.array([power_of_two(size or 1) for size in largest], dtype=given.dtype)
        start = None if x0 is None else _check_start(x0, given.shape) / unit
        x = np.zeros(given.shape)
        self.residual_ = 0.0
        for now in self.iterate(given / unit, x0=start):
            x = now.x
            self.residual_ = float(now.relative.max(initial=0.0))
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
        """Solve A x = b pass by pass, and yield the solution after each of them.

        The residual of the last one is measured. Leave the loop as soon as x is accurate enough. If
        b is 0, the edges are not read and nothing is yielded: x is 0.

        Parameters
        ----------
        B : ndarray of shape (n_nodes,) or (n_nodes, K)
            Right-hand sides whose squares do not overflow.
        x0 : ndarray of the shape of B, optional
            Initial guess, whose residual takes a pass.

        Yields
        ------
        Iterate
        """
        block = self._pencil.consistent(check_block(B, self.sparsifier_.n_nodes))
        block = block.astype(np.float64, copy=False)
        # The given block may be large: this frame keeps no reference to it.
        del B
        start = None if x0 is None else self._pencil.centered(_check_start(x0, block.shape))
        self.history_ = []
        self._stopped_by = ""
        with (
            resumable_from(self._checkpoint),
            reporter(self._progress, "solving") as report,
            open_backend(
                workers=self._sharing.workers, scheduler=self._sharing.scheduler
            ) as self._backend,
        ):
            steps = self._iterate(block, start, report)
            # The limit of one thread must not outlive a step, or it applies to the caller's code.
            one_thread = threadpool_limits.wrap(limits=1, user_api="blas")
            while (now := one_thread(next)(steps, None)) is not None:
                yield now

    def precondition(self, R: ArrayLike) -> np.ndarray:
        """Return M^+ R approximately, M = L_H + diag(ridge), without a pass.

        Parameters
        ----------
        R : ndarray of shape (n_nodes,) or (n_nodes, K)
            Centered first over components without a ridge.
        """
        return self._pencil.precondition(R)

    def _iterate(self, block, start, report):
        norms = column_norms(block)
        size = np.where(norms > 0, norms, 1.0)
        name = digest(block, self.ridge, *([] if start is None else [start]))
        x = np.zeros_like(block) if start is None else start.copy()
        cg = BlockCG(x, block.copy(), self._pencil.times_sparsifier)
        convergence = Convergence(is_measured=start is None)
        now = None
        self._restore(name, cg, convergence)
        while True:
            relative = column_norms(cg.residual) / size
            reason = self._reason_to_stop(convergence, float(relative.max(initial=0.0)))
            if reason and convergence.is_measured:
                self._stopped_by = reason
                # A finished solve that was saved yields its result once more.
                if now is None and self.history_:
                    yield self._make_iterate(cg, relative, convergence)
                return
            if reason:
                # The recursion only estimates the residual. Measure it; the next turn decides.
                cg.restart(block - self._multiply(cg.x, report))
            else:
                z = self._pencil.precondition(cg.residual) if now is None else now.release()
                cg.turn(z, relative > self.tol)
                # Free the block before the pass, which is the peak of memory.
                del z
                cg.advance(self._multiply(cg.direction, report))
            relative = column_norms(cg.residual) / size
            convergence.note(float(relative.max()), is_measured=bool(reason))
            self.history_.append((self.n_passes_, convergence.worst[-1]))
            if not reason and self._replace_coarse_sparsifier(convergence):
                cg.restart(cg.residual, self._pencil.times_sparsifier)
            self._save(name, cg, convergence)
            now = self._make_iterate(cg, relative, convergence)
            yield now

    def _make_iterate(self, cg, relative, convergence):
        return Iterate(
            x=cg.x,
            residual=cg.residual,
            relative=relative,
            n_passes=len(self.history_),
            is_measured=convergence.is_measured,
            lowest=cg.lowest(),
            _precondition=self._pencil.precondition,
        )

    def _reason_to_stop(self, convergence, worst):
        """Return why the recursion ends, or an empty string. The solve ends if it is measured."""
        if not convergence.is_measured and not self.history_:
            return "the residual of x0 is not known yet"
        if worst <= self.tol:
            return "it is reached"
        # The last pass is for the measurement.
        if len(self.history_) >= self.max_passes - (not convergence.is_measured):
            return f"max_passes={self.max_passes} was reached"
        return "more passes do not reduce it" if convergence.is_stuck() else ""

    def _multiply(self, block, report):
        n_before = len(self.history_)
        n_edges = self._pencil.laplacian.n_edges or 0
        note = f"pass {n_before + 1}"
        if self.history_:
            note += f", residual {self.history_[-1][1]:.2g}"

        def report_pass(n_read, fraction):
            report(n_before * n_edges + n_read, np.nan, note)

        # The workers live as long as the solve, and the Laplacian as long as the solver.
        if self._sharing.is_wanted:
            self._pencil.laplacian.backend = self._backend
        product = self._pencil.multiply(block, report_pass)
        self.n_passes_ += 1
        return product

    def _replace_coarse_sparsifier(self, convergence):
        """Return whether the sparsifier was too coarse and has been replaced; warn if it cannot."""
        n_more = convergence.passes_left(self.tol)
        if n_more <= self.max_passes - len(self.history_):
            return False
        n_kept = self.sparsifier_.n_edges
        n_all = self._pencil.laplacian.n_edges
        n_edges = min(GROWTH_FACTOR * n_kept, self.max_edges or n_all, n_all)
        if not self._may_grow or n_edges <= n_kept:
            convergence.warn_once(n_more)
            return False
        grown = find_sparsifier(
            self._source,
            Budget(n_edges=n_edges, epsilon=None, keep=None),
            None,
            self._settings["seed"],
            self._progress,
            self._sharing,
        )
        self.n_passes_ += 1
        self._use(grown, fingerprint=self._pencil.laplacian.fingerprint)
        convergence.forget_rate()
        return True

    def _use(self, sparsifier, *, backend="auto", fingerprint=None):
        self._pencil = Pencil(
            self._source,
            sparsifier,
            self.ridge,
            seed=self._settings["seed"],
            backend=backend,
            sharing=self._sharing,
        )
        if fingerprint is not None:
            self._pencil.laplacian.fingerprint = tuple(fingerprint)

    def _save(self, name=None, cg=None, convergence=None):
        if self._checkpoint is None:
            return
        pencil = self._pencil
        arrays = {}
        numbers = {
            "n_passes": self.n_passes_,
            "backend": pencil.backend,
            "fingerprint": pencil.laplacian.fingerprint,
        }
        if name is not None:
            numbers |= {"name": name, "history": self.history_, "course": convergence.numbers()}
            arrays = cg.arrays()
        save(self._checkpoint, Saved(pencil.sparsifier, self._settings, numbers, arrays))

    def _restore(self, name, cg, convergence):
        """Restore the iteration from the checkpoint, if it belongs to the same system."""
        if self._saved is not None and self._saved.numbers.get("name") == name:
            cg.restore(self._saved.arrays)
            convergence.restore(self._saved.numbers["course"])
            self.history_ = [tuple(row) for row in self._saved.numbers["history"]]
            self._saved = None


def _check_start(x0, shape):
    start = np.array(check_block(x0, shape[0]), dtype=np.float64)
    if start.shape != shape:
        raise InputError(f"x0 has shape {start.shape}; the right-hand side has {shape}")
    return start


def _seed_from(random_state):
    return int(np.random.default_rng(random_state).integers(2**63))
