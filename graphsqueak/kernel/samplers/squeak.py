"""SQUEAK: a dictionary from one pass, with removal, by a chain or a tree of merges.

Every landmark i has a probability p_i, 1 for a new point, and a number of its q copies that are
left. Its weight is s_i = copies_i / (q p_i). New points are merged with the dictionary so far, a
block at a time, and each merge subsamples by new leverage scores [C17, Algorithm 10]: with the
landmarks I of both, W = diag(s), and the ridge g' = g if one of the two is exact, or (1 + e) g,

    tau~_i = (1 - e) (k_ii - k_I(x_i)' (K_II + g' W^-1)^-1 k_I(x_i)) / g',
    p_new = min(p_i, tau~_i),    copies_i ~ Binomial(copies_i, p_new / p_i),

without the factor 1 - e if both are exact. Landmarks without copies are dropped (`merging`). A
merge takes one Cholesky factorization, so that blocks of half the size of the dictionary take
O(m^2) per point, and blocks of one point O(m^3). A chain has better estimates than a tree, as only
one of two merged dictionaries is inexact.

A tree merges dictionaries of blocks, two or more at a time, on any number of workers (DISQUEAK)
[C17, Section 3.3], with the trees and backends of `graphsqueak.trees`. A merge is a pure function
with a seed of its own, so that the dictionary depends only on the tree and the seed.

With `n_landmarks`, twice as many are stored, and the ones that are returned are selected from them
(`merging.select_landmarks`).

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
from graphsqueak.kernel.samplers.dictionary import (
    StreamDictionary,
    squeak_copies,
    squeak_horizon,
)
from graphsqueak.kernel.samplers.merging import (
    STORED_PER_LANDMARK,
    MergeRule,
    leaf,
    merge_nodes,
    select_landmarks,
)
from graphsqueak.randomness import Step, child_seed
from graphsqueak.trees.backends import open_backend
from graphsqueak.trees.running import run_tree
from graphsqueak.trees.shapes import as_tree
from graphsqueak.validation import check_count, check_real

# Points per merge at least. Halved or doubled: on four data sets, the trace that is left by 40 and
# 100 landmarks changes by 1 % and their accuracy by 3 %.
MIN_BLOCK_SIZE = 64


@dataclass(kw_only=True, eq=False, repr=False)
class SQUEAK(StreamDictionary):
    """One-pass sampler that also removes landmarks, in a chain or a tree of merges.

    Use it for points that are seen once, or that are spread over several workers. Its landmarks are
    as good as those of samplers that need all points in memory. `KORS` takes fewer operations per
    point, but keeps every landmark unless `n_landmarks` limits them.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_landmarks` only, grows with
        the stream: the effective dimension is a quarter of `n_landmarks`.
    n_landmarks : int, optional
        Number of landmarks (all points, if there are fewer). Default: determined by the copies.
    epsilon : float in (0, 1)
        Accuracy asked for.
    budget : {"practical", "theory"}
        Copies per point: rho log(n) / epsilon^2, or the number in the proof for `tree`. To `merge`
        dictionaries with budget="theory", fit them with tree="balanced".
    delta : float in (0, 1)
        Probability of a worse accuracy with budget="theory".
    n_copies : int, optional
        Copies per point, instead of those of `budget`. Not with `n_landmarks`.
    tree : {"sequential", "balanced"} or int
        Shape of `fit`: a chain, a binary tree, or a tree of merges of this many dictionaries.
        `partial_fit` always continues as a chain.
    uniform_share : float in [0, 1)
        Fraction of `n_landmarks` that is sampled uniformly from all points. 0 approximates K best;
        1/3 suits regression, whose error is largest where most points are.
    batch_size : int, optional
        Points per merge. Default: half the dictionary, or `n_landmarks`; in a tree, the points of a
        leaf.
    n_jobs : int, optional
        Number of processes for a tree.
    scheduler : str, optional
        Address of a Dask cluster for a tree, such as "tcp://host:8786".
    horizon : int, optional
        Number of points n for which epsilon is meant. Default: the points of `fit`, or a million
        for `partial_fit`.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the landmarks (row numbers for "precomputed").
    ridge_, n_copies_, n_seen_, seed_
        The ridge so far, the copies (None with `n_landmarks`), the number of points seen, and the
        seed of all merges.

    Examples
    --------
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = SQUEAK(ridge=0.1, n_landmarks=5, random_state=7).fit(X)
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

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Sample a dictionary of the rows of X; earlier rows are forgotten.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or their kernel matrix.
        y : ignored
        """
        if self.tree == "sequential":
            return super().fit(X)
        kernel, points = self._bind(X, reset=True)
        self._restart(kernel, points, n_points=len(points))
        self._node = self._merge_tree(points)
        self.n_seen_ = len(points)
        return self

    def merge(self, other: "SQUEAK") -> "SQUEAK":
        """Return a dictionary of the points of both; the rows of `other` follow those of this one.

        Both need the same number of copies. With budget="theory" there must be enough of them for
        all points and for a merge of two inexact dictionaries: `squeak_copies` with rho(epsilon,
        n_inexact=2). A chain plans for fewer, and lost copies cannot be recovered. Fit both with
        `tree="balanced"` and `horizon` set to the total number of points.

        Parameters
        ----------
        other : SQUEAK
            Dictionary of other points, with the same kernel, ridge, size, budget and copies.
        """
        same = ("kernel", "kernel_params", "ridge", "n_landmarks", "epsilon", "uniform_share")
        for name in (*same, "budget"):
            if getattr(self, name) != getattr(other, name):
                raise InputError(f"dictionaries with different {name} cannot be merged")
        # Weights are copies / (q p) with one q.
        if self.n_copies_ != other.n_copies_:
            raise InputError(
                f"dictionaries of {self.n_copies_} and {other.n_copies_} copies cannot be merged; "
                "give both the same n_copies or horizon"
            )
        if self._is_precomputed():
            raise InputError("dictionaries of two kernel matrices cannot be merged")
        return clone(self)._begin_merged(self, other)

    def stored_points(self) -> np.ndarray:
        """Return all points that are in memory: the landmarks, and others that may become ones."""
        return np.concatenate([node.points for node in self._nodes()])

    def _begin(self, kernel, points):
        as_tree(self.tree, 1)
        self._check_workers()
        if self.batch_size is not None:
            check_count("batch_size", self.batch_size)
        factor = rho(self.epsilon, n_inexact=self._max_inexact())
        self.n_copies_ = self._count_copies(self._horizon, rho=factor, theory=squeak_copies)
        self._rule = MergeRule(
            kernel=kernel,
            # 0 if the ridge follows the number of landmarks.
            ridge=0.0 if isinstance(self.ridge, str) else float(self.ridge),
            epsilon=self.epsilon,
            n_copies=self.n_copies_ or 1,
            size=self.n_landmarks and STORED_PER_LANDMARK * self.n_landmarks,
            uniform_share=check_real("uniform_share", self.uniform_share, least=0.0, below=1.0),
        )
        self._node = leaf(self._rule, points[:0], 0)
        self._pending = points[:0]
        self._n_merges = 0
        self._selected = None

    def _begin_merged(self, one, two):
        """Start with the points of two dictionaries."""
        self.n_seen_ = one.n_seen_ + two.n_seen_
        self.n_copies_ = one.n_copies_
        self.n_features_in_ = one.n_features_in_
        self.seed_ = child_seed(one.seed_, two.seed_ % 2**32)
        self._horizon = one._horizon
        if self.budget == "theory" and self.n_copies_ is not None:
            n_inexact = max(2, one._max_inexact(), two._max_inexact())
            self._horizon = self._horizon_of_merge(n_inexact)
        self._rule = one._rule
        nodes = [*one._nodes(), *(_renumber(node, one.n_seen_) for node in two._nodes())]
        self._node = merge_nodes(nodes, child_seed(self.seed_, 0), rule=self._rule)
        # The pending points of both are in the merged node.
        self._pending = one._pending[:0]
        self._n_merges = 1
        self._selected = None
        return self

    def _horizon_of_merge(self, n_inexact):
        """Return the number of points for which the copies suffice; an error if it is too small."""
        factor = rho(self.epsilon, n_inexact=n_inexact)
        needed = squeak_copies(self.epsilon, delta=self.delta, n_points=self.n_seen_, rho=factor)
        if self.n_copies_ < needed:
            raise InputError(
                Parameter("budget", "theory"),
                f" needs {needed} copies for a merged dictionary of {self.n_seen_} points, "
                f"and these have {self.n_copies_}; fit both with ",
                Parameter("tree", "balanced"),
                " and ",
                Parameter("horizon", self.n_seen_),
                ", or with ",
                Parameter("n_copies", needed),
            )
        return squeak_horizon(self.epsilon, delta=self.delta, n_copies=self.n_copies_, rho=factor)

    def _max_inexact(self):
        """Return the largest number of inexact dictionaries that one merge of `fit` combines."""
        return {"sequential": 1, "balanced": 2}.get(self.tree, self.tree)

    def _check_workers(self):
        has_workers = self.n_jobs is not None or self.scheduler is not None
        if has_workers and self.tree == "sequential":
            raise InputError(
                "n_jobs and scheduler need a tree, whose parts run in parallel; give ",
                Parameter("tree", "balanced"),
            )
        if has_workers and self._is_precomputed():
            raise InputError(
                "a precomputed kernel matrix would be sent to every worker; give points and a "
                "kernel, or leave n_jobs and scheduler out"
            )

    def _update(self, kernel, points):
        # Blocks begin at fixed rows, so that the result does not depend on the calls.
        while len(points):
            # The size of a block depends on the dictionary so far.
            n_missing = self._block_size() - len(self._pending)
            self._pending = np.concatenate([self._pending, points[:n_missing]])
            self.n_seen_ += len(points[:n_missing])
            points = points[n_missing:]
            if len(self._pending) >= self._block_size():
                seed = child_seed(self.seed_, self._n_merges)
                self._node = merge_nodes(self._nodes(), seed, rule=self._rule)
                self._pending = self._pending[:0]
                self._n_merges += 1

    def _block_size(self):
        """Return the number of points of the next merge."""
        if self.batch_size is not None:
            return self.batch_size
        return max(self.n_landmarks or self._node.rows.size // 2, MIN_BLOCK_SIZE)

    def _nodes(self):
        """Return the dictionary so far and the points that wait for a merge, if there are any."""
        waiting = leaf(self._rule, self._pending, self.n_seen_ - len(self._pending))
        nodes = [node for node in (self._node, waiting) if node.rows.size]
        return nodes or [self._node]

    def _select(self):
        rng = np.random.default_rng(child_seed(self.seed_, Step.FINAL))
        if self.n_landmarks is not None:
            return select_landmarks(self._rule, self._nodes(), self.n_landmarks, rng=rng)
        # The state keeps the pending points, so that later merges are at the same rows.
        node = self._node
        if len(self._pending):
            node = merge_nodes(self._nodes(), rng, rule=self._rule)
        return self._rule.landmarks(node), node.ridge

    def _merge_tree(self, points):
        """Return the root of a tree over blocks of rows."""
        size = self.batch_size or 4 * max(self.n_landmarks or 0, MIN_BLOCK_SIZE)
        leaves = [
            [leaf(self._rule, points[start : start + size], start)]
            for start in range(0, len(points), size)
        ]
        # A leaf is a merge of a single node.
        merge = partial(merge_nodes, rule=self._rule)
        with open_backend(workers=self.n_jobs, scheduler=self.scheduler) as backend:
            return run_tree(
                as_tree(self.tree, len(leaves)),
                merge,
                merge,
                leaves,
                seed=self.seed_,
                backend=backend,
            ).result


def _renumber(node, offset):
    """Return a node whose row numbers are larger by `offset`."""
    return node._replace(rows=node.rows + offset)
