"""SQUEAK: a dictionary from one pass, with removal, in a chain or a tree of merges.

Points are taken in as exact, a block at a time, and merged with the dictionary so far (`atoms`).
A block costs one Cholesky factorization, so blocks of half the dictionary's size make a point
O(m^2) instead of O(m^3), and the estimates of a chain are the better ones, k = 1.

The tree merges blocks, two or more at a time, on any number of workers [C17, Section 3.3], with
the trees and backends that graphs have (`graphsqueak.trees`). A merge is a pure function with a
seed of its own: same tree and seed, same dictionary.

References
----------
[C17]   Calandriello. Efficient sequential learning in structured and constrained environments.
        PhD thesis, 2017.
[CLV17] Calandriello, Lazaric, Valko. Distributed adaptive sampling for kernel matrix
        approximation. AISTATS 2017.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.leverage import rho
from graphsqueak.kernel.samplers.atoms import (
    MergeRule,
    leaf,
    merge_nodes,
    merge_packed,
    show_atoms,
    shrink_leaf,
    unpack_node,
)
from graphsqueak.kernel.samplers.dictionary import (
    HORIZON,
    Dictionary,
    squeak_copies,
    squeak_horizon,
    warn_beyond,
)
from graphsqueak.randomness import Step, child_seed
from graphsqueak.trees.backends import open_backend
from graphsqueak.trees.running import run_tree
from graphsqueak.trees.shapes import as_tree
from graphsqueak.validation import check_count, check_real

__all__ = ["SQUEAK"]

_LEAST_BLOCK = 64
_ROOM = 2  # atoms held on the way for each of n_components


@dataclass(kw_only=True, eq=False, repr=False)
class SQUEAK(Dictionary):
    """Sequential or tree-shaped sampling with removal.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_components` only, grows
        with the stream: a quarter as many effective dimensions as atoms.
    n_components : int, optional
        Exactly that many atoms (all points, if there are fewer). Otherwise the copies decide.
    epsilon : float in (0, 1)
        Accuracy asked for.
    budget : {"practical", "theory"}
        Copies by rho log(n) / epsilon^2, or as many as the proof needs for `tree`. To `merge`
        dictionaries with budget="theory", fit them with tree="balanced".
    delta : float in (0, 1)
        With budget="theory", the probability of being less accurate.
    n_copies : int, optional
        Copies per point instead of `budget`'s. Not with `n_components`.
    tree : {"sequential", "balanced"} or int
        The shape of `fit`: a chain, a tree of pairs, or one that merges so many dictionaries at a
        time. `partial_fit` always goes on sequentially.
    uniform_share : float in [0, 1)
        With n_components: the share of the atoms that is drawn from all points alike. 0 is best for
        K; a third serves regression, whose error is made where points are many.
    batch_size : int, optional
        Points per merge; by default half the dictionary, or n_components; in a tree, the points
        of a leaf.
    n_jobs : int, optional
        Processes to start for a tree.
    scheduler : str, optional
        Address of a Dask cluster to run a tree on instead, as "tcp://host:8786".
    horizon : int, optional
        n, the points for which epsilon is meant; by default those of `fit`, or a million for
        `partial_fit`.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the atoms (for "precomputed", row numbers again).
    ridge_, n_copies_, n_seen_
        The ridge so far, the copies (None with `n_components`), and the number of points seen.

    Examples
    --------
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = SQUEAK(ridge=0.1, n_components=5, random_state=7).fit(X)
    >>> len(d.indices_), 1000 in d.indices_
    (5, True)
    >>> d = d.partial_fit(X + 4)
    >>> d.n_seen_, len(d.indices_)
    (2002, 5)
    """

    tree: Literal["sequential", "balanced"] | int = "sequential"
    uniform_share: float = 0.0
    batch_size: int | None = None
    n_jobs: int | None = None
    scheduler: str | None = None
    horizon: int | None = None

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Start again, and take in the rows of X.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or their kernel matrix.
        y : ignored
        """
        kernel, points = self._bind(X, reset=True)
        self._begin(kernel, points, n_points=len(points))
        if self.tree != "sequential":
            self._node = self._merge_tree(points)
            self.n_seen_ = len(points)
            return self
        return self._absorb(points)

    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:
        """Take in more rows; how they are cut into calls does not matter.

        Parameters
        ----------
        X : array of shape (n, d)
            Points.
        y : ignored
        """
        kernel, points, fresh = self._bind_more(X)
        if fresh:
            self._begin(kernel, points, n_points=HORIZON)
        return self._absorb(points)

    def merge(self, other: "SQUEAK") -> "SQUEAK":
        """A dictionary of the points of both; the rows of `other` follow those of this one.

        Both need the same number of copies. With budget="theory" there must be enough of them for
        all points and for a merge of two inexact dictionaries: `squeak_copies` with rho(epsilon,
        n_inexact=2). A chain plans for fewer, and lost copies cannot be recovered. Fit both with
        `tree="balanced"` and `horizon` set to the total number of points.

        Parameters
        ----------
        other : SQUEAK
            Of other points, with the same kernel, ridge, size, budget and copies.
        """
        alike = ("kernel", "kernel_params", "ridge", "n_components", "epsilon", "uniform_share")
        for name in (*alike, "budget"):
            if getattr(self, name) != getattr(other, name):
                raise InputError(f"dictionaries with different {name} cannot be merged")
        if self.n_copies_ != other.n_copies_:
            raise InputError(
                f"dictionaries of {self.n_copies_} and {other.n_copies_} copies cannot be merged; "
                "give both the same n_copies or horizon"
            )
        if self._precomputed():
            raise InputError("dictionaries of two kernel matrices cannot be merged")
        n_points = self.n_seen_ + other.n_seen_
        horizon = self._horizon
        if self.budget == "theory" and self.n_copies_ is not None:
            horizon = self._horizon_of_merge(other, n_points=n_points)
        merged = clone(self)
        merged._rule, merged.n_copies_ = self._rule, self.n_copies_
        merged._horizon = horizon
        merged.n_features_in_ = self.n_features_in_
        merged._seed, merged._n_merges = child_seed(self._seed, other._seed % 2**32), 1
        nodes = [*self._parts(), *(node.renumber(self.n_seen_) for node in other._parts())]
        rng = np.random.default_rng(child_seed(merged._seed, 0))
        merged._node = merge_nodes(self._rule, nodes, rng=rng)
        merged._pending, merged._finished = self._pending[:0], None
        merged.n_seen_ = n_points
        return merged

    @property
    def ridge_(self) -> float:
        """The ridge that the dictionary is for."""
        return self._finish()[1]

    def _held_points(self):
        return np.concatenate([node.points for node in self._parts()])

    def _kept_atoms(self):
        return self._finish()[0]

    def _begin(self, kernel, points, *, n_points):
        self._check()
        self._check_tree()
        if self.batch_size is not None:
            check_count("batch_size", self.batch_size)
        if self.horizon is not None:
            n_points = check_count("horizon", self.horizon)
        self._horizon = n_points
        factor = rho(self.epsilon, n_inexact=self._n_inexact())
        self.n_copies_ = self._copies(n_points, rho=factor, theory=squeak_copies)
        size = None if self.n_components is None else _ROOM * self.n_components
        ridge = 0.0 if isinstance(self.ridge, str) else float(self.ridge)
        share = check_real("uniform_share", self.uniform_share, least=0.0, below=1.0)
        self._rule = MergeRule(kernel, ridge, self.epsilon, self.n_copies_, size, share)
        self._seed = int(np.random.default_rng(self.random_state).integers(2**63))
        self._node = leaf(self._rule, points[:0], 0)
        self._pending, self._n_merges, self.n_seen_, self._finished = points[:0], 0, 0, None

    def _n_inexact(self):
        """The most inexact dictionaries that one merge of `fit` combines."""
        if self.tree == "sequential":
            return 1
        return 2 if self.tree == "balanced" else self.tree

    def _horizon_of_merge(self, other, *, n_points):
        """Number of points for which a merge keeps the guarantee; an error if it does not."""
        n_inexact = max(2, self._n_inexact(), other._n_inexact())
        factor = rho(self.epsilon, n_inexact=n_inexact)
        needed = squeak_copies(self.epsilon, delta=self.delta, n_points=n_points, rho=factor)
        if self.n_copies_ < needed:
            raise InputError(
                Parameter("budget", "theory"),
                f" needs {needed} copies for a merged dictionary of {n_points} points, "
                f"and these have {self.n_copies_}; fit both with ",
                Parameter("tree", "balanced"),
                " and ",
                Parameter("horizon", n_points),
                ", or with ",
                Parameter("n_copies", needed),
            )
        return squeak_horizon(self.epsilon, delta=self.delta, n_copies=self.n_copies_, rho=factor)

    def _check_tree(self):
        as_tree(self.tree, 1)
        elsewhere = self.n_jobs is not None or self.scheduler is not None
        if elsewhere and self.tree == "sequential":
            raise InputError(
                "n_jobs and scheduler share out a tree; give ", Parameter("tree", "balanced")
            )
        if elsewhere and self._precomputed():
            raise InputError(
                "a precomputed kernel matrix would be sent to every worker; give points and a "
                "kernel, or leave n_jobs and scheduler out"
            )

    def _absorb(self, points):
        if self.budget == "theory" or self.horizon is not None:
            warn_beyond(self._horizon, self.n_seen_, len(points))
        self._finished = None
        while len(points):
            room = self._block() - len(self._pending)
            self._pending = np.concatenate([self._pending, points[:room]])
            self.n_seen_ += min(room, len(points))
            points = points[room:]
            if len(self._pending) >= self._block():
                rng = np.random.default_rng(child_seed(self._seed, self._n_merges))
                self._node = merge_nodes(self._rule, self._parts(), rng=rng)
                self._pending = self._pending[:0]
                self._n_merges += 1
        return self

    def _block(self):
        """Points per merge, as things stand."""
        if self.batch_size is not None:
            return self.batch_size
        if self.n_components is not None:
            return max(self.n_components, _LEAST_BLOCK)
        return max(self._node.rows.size // 2, _LEAST_BLOCK)

    def _parts(self):
        """The dictionary so far and, if there are any, the points that wait."""
        if not len(self._pending):
            return [self._node]
        waiting = leaf(self._rule, self._pending, self.n_seen_ - len(self._pending))
        return [self._node, waiting] if self._node.rows.size else [waiting]

    def _finish(self):
        """The atoms for all points so far, and their ridge; the stream is left as it is."""
        if self._finished is None:
            rng = np.random.default_rng(child_seed(self._seed, Step.FINAL))
            if self.n_components is not None:
                size = self.n_components
                self._finished = show_atoms(self._rule, self._parts(), size, rng=rng)
            else:
                node = self._node
                if len(self._pending):
                    node = merge_nodes(self._rule, self._parts(), rng=rng)
                self._finished = self._rule.atoms(node), node.ridge
        return self._finished

    def _merge_tree(self, points):
        """The root of a tree over blocks of rows."""
        size = self.batch_size or max(4 * (self.n_components or 0), 4 * _LEAST_BLOCK)
        items = [(start, points[start : start + size]) for start in range(0, len(points), size)]
        with open_backend(workers=self.n_jobs, scheduler=self.scheduler) as backend:
            run = run_tree(
                as_tree(self.tree, len(items)),
                partial(shrink_leaf, rule=self._rule),
                partial(merge_packed, rule=self._rule),
                items,
                seed=self._seed,
                backend=backend,
            )
        return unpack_node(run.result)
