"""Atoms, the points that a dictionary keeps, and DICT-MERGE: several dictionaries in, one out.

A user sees `Atoms`: points with weights. In the tree of merges of SQUEAK and DISQUEAK a `Node`
holds for every atom the probability p and the copies left of q; its weight is copies / (q p). Raw
points are an exact node, p = 1 and all copies. A merge puts nodes side by side, scores all atoms
with their union (`leverage`), and thins the copies [C17, Algorithm 10]:

    p_new = min(p, tau~),     copies ~ Binomial(copies, p_new / p),     drop what has none left.

p never rises and the expectation of every weight stays 1. For a fixed size there is one copy, and
the chance to survive is min(1, c tau~ / p) with the c that meets the size. Of points that are alike
one is kept rather than none or both, which leaves every chance as it is and lowers the variance.
There tau~ may have a part that is the same for all, (1 - s) tau~ + s mean(tau~): a share s of the
atoms then comes from all points alike. It only overestimates tau~, which keeps the guarantees.
A merge depends on nothing but its nodes and its random generator, so it can run anywhere.

Of the atoms that are held, a fixed-size dictionary shows `size` (`show_atoms`). Half of them are
drawn as above; the others one after the other, by how much of them, with their weights, those
before leave unexplained, and by how much they explain of the others (`pivots`), which makes the
span of the atoms as good as that of pivots from all points or better. Both halves give an unbiased
sum over all points, the first one with less variance, and the weights are .97 and .03 of the two.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Section 3.3.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import brentq

from graphsqueak.kernel.cholesky import cholesky
from graphsqueak.kernel.kernels import Kernel
from graphsqueak.kernel.leverage import atom_leverage, merged_ridge
from graphsqueak.kernel.pivots import draw_best_pivots, pivot_weights
from graphsqueak.sampling import (
    Sample,
    inclusion_probabilities,
    local_pivotal_sample,
    shrink,
    shrink_to_size,
)
from graphsqueak.system.packing import pack_bytes, unpack

__all__ = ["Atoms", "MergeRule", "Node", "leaf", "merge_nodes", "merge_packed"]
__all__ += ["ATOMS_PER_DIMENSION", "cosines", "ridge_for_dimension", "show_atoms", "shrink_leaf"]
__all__ += ["unpack_node"]

ATOMS_PER_DIMENSION = 4  # with ridge="auto"; 2 favors outlying points, 8 the bulk of them
_FLOOR = 1e-3  # of the chances of pivots, so that no atom is out of reach
_SURE = 0.97  # share of the weights that is by inclusion, the rest by pivots
_COLUMNS = ("rows", "points", "prob", "copies")


class Atoms(NamedTuple):
    """Kept points: their row numbers, the points as the kernel takes them, and the weights."""

    rows: np.ndarray
    points: np.ndarray
    weight: np.ndarray


class Node(NamedTuple):
    """Atoms of some part of the data; `ridge` is the one it is accurate for."""

    rows: np.ndarray
    points: np.ndarray
    prob: np.ndarray
    copies: np.ndarray
    ridge: float
    exact: bool

    def renumber(self, offset: int) -> "Node":
        """The same atoms, their rows numbered from `offset`."""
        return self._replace(rows=self.rows + offset)


class MergeRule(NamedTuple):
    """How to merge: exactly one of `n_copies` and `size` is given; ridge 0 follows the size."""

    kernel: Kernel
    ridge: float
    epsilon: float
    n_copies: int | None
    size: int | None
    uniform_share: float = 0.0

    def weight(self, node: Node) -> np.ndarray:
        """Weights of a node's atoms."""
        return node.copies / ((self.n_copies or 1) * node.prob)

    def atoms(self, node: Node) -> Atoms:
        """What a user sees of a node."""
        return Atoms(node.rows, node.points, self.weight(node))


def ridge_for_dimension(eigenvalues: np.ndarray, dimension: float) -> float:
    """The ridge g at which sum lam / (lam + g) is `dimension`.

    >>> round(ridge_for_dimension(np.ones(4), 1.0), 6)
    3.0
    """
    lam = eigenvalues[eigenvalues > 1e-13 * eigenvalues.max(initial=0.0)]
    if lam.size <= dimension:
        return float(max(lam.min(initial=1.0), np.finfo(np.float64).tiny))
    low, high = np.log(1e-6 * lam.min()), np.log(lam.sum() / dimension)
    root = brentq(lambda log_g: np.sum(lam / (lam + np.exp(log_g))) - dimension, low, high)
    return float(np.exp(root))


def leaf(rule: MergeRule, points: np.ndarray, first_row: int) -> Node:
    """Raw points as an exact node.

    >>> rule = MergeRule(None, 1.0, 0.5, n_copies=5, size=None)
    >>> leaf(rule, np.zeros((2, 1)), 7).rows
    array([7, 8])
    """
    n = len(points)
    copies = np.full(n, rule.n_copies or 1)
    rows = np.arange(first_row, first_row + n)
    return Node(rows, points, np.ones(n), copies, rule.ridge, exact=True)


def merge_nodes(rule: MergeRule, nodes: Sequence[Node], *, rng: np.random.Generator) -> Node:
    """One node for the data of all, thinned.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> rule = MergeRule(as_kernel("linear"), 1.0, 0.5, n_copies=None, size=3)
    >>> two = [leaf(rule, np.ones((4, 1)), 0), leaf(rule, np.ones((4, 1)), 4)]
    >>> node = merge_nodes(rule, two, rng=np.random.default_rng(7))
    >>> float(rule.weight(node).sum()), node.prob.round(3)
    (8.0, array([0.375, 0.375, 0.375]))
    """
    union = _union(nodes)
    if rule.size is not None and union.rows.size <= rule.size:
        return union
    n_inexact = sum(not node.exact for node in nodes)
    gram = rule.kernel(union.points, union.points)
    score, ridge = _scores(rule, union, gram, n_inexact)
    sample = Sample(np.arange(union.rows.size), union.prob, union.copies)
    if rule.size is None:
        kept = shrink(sample, score, rng=rng)
    else:
        kept = shrink_to_size(sample, score, rule.size, rng=rng, similarity=cosines(gram))
    i = kept.index
    return Node(union.rows[i], union.points[i], kept.prob, kept.copies, ridge, exact=False)


def cosines(gram: np.ndarray) -> np.ndarray:
    """Cosines of the angles between atoms, from their kernel matrix.

    >>> cosines(np.array([[4.0, 1.0], [1.0, 1.0]]))[0, 1]
    np.float64(0.5)
    """
    length = np.sqrt(np.maximum(np.diagonal(gram), np.finfo(np.float64).tiny))
    return gram / np.outer(length, length)


def show_atoms(
    rule: MergeRule, nodes: Sequence[Node], size: int, *, rng: np.random.Generator
) -> tuple[Atoms, float]:
    """The `size` atoms that nodes show, with unbiased weights, and their ridge.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> rule = MergeRule(as_kernel("rbf"), 1.0, 0.5, n_copies=None, size=2)
    >>> X = np.array([[0.0], [0.0], [0.0], [9.0]])
    >>> atoms, ridge = show_atoms(rule, [leaf(rule, X, 0)], 2, rng=np.random.default_rng(7))
    >>> sorted(atoms.points.ravel().tolist()), ridge
    ([0.0, 9.0], 1.0)
    """
    union = _union(nodes)
    weight = rule.weight(union)
    if union.rows.size <= size:
        return Atoms(union.rows, union.points, weight), union.ridge
    gram = rule.kernel(union.points, union.points)
    rule = rule._replace(size=size)
    score, ridge = _scores(rule, union, gram, sum(not node.exact for node in nodes))
    keep = inclusion_probabilities(score * weight, size - size // 2)
    root = np.sqrt(weight)
    scaled = root[:, None] * gram * root
    chosen = local_pivotal_sample(keep, _likeness(scaled, ridge), rng=rng)
    share = max(rule.uniform_share, _FLOOR)
    pivots = draw_best_pivots(scaled, size - chosen.size, rng=rng, first=chosen, floor=share)
    sure = (_SURE / keep[chosen] + 1 - _SURE) * weight[chosen]
    others = (1 - _SURE) * pivot_weights(pivots.chance) * weight[pivots.rows]
    i, shown = np.append(chosen, pivots.rows), np.append(sure, others)
    order = np.argsort(union.rows[i])
    i = i[order]
    return Atoms(union.rows[i], union.points[i], shown[order]), ridge


def shrink_leaf(item: tuple[int, np.ndarray], seed: int, *, rule: MergeRule) -> bytes:
    """A leaf of a tree: raw points from a row on, as an exact node, thinned at once and packed."""
    first_row, points = item
    return pack_node(
        merge_nodes(rule, [leaf(rule, points, first_row)], rng=np.random.default_rng(seed))
    )


def merge_packed(nodes: Sequence[bytes], seed: int, *, rule: MergeRule) -> bytes:
    """A merge of a tree: `merge_nodes` of packed nodes."""
    unpacked = [unpack_node(node) for node in nodes]
    return pack_node(merge_nodes(rule, unpacked, rng=np.random.default_rng(seed)))


def pack_node(node: Node) -> bytes:
    """A node as bytes, to travel."""
    numbers = {"ridge": float(node.ridge), "exact": bool(node.exact)}
    return pack_bytes(numbers, {name: getattr(node, name) for name in _COLUMNS})


def unpack_node(data: bytes) -> Node:
    """What `pack_node` was given.

    >>> rule = MergeRule(None, 1.0, 0.5, n_copies=5, size=None)
    >>> unpack_node(pack_node(leaf(rule, np.zeros((1, 1)), 3))).copies
    array([5])
    """
    numbers, columns = unpack(data, "the node")
    return Node(**columns, **numbers)


def _union(nodes):
    """Nodes side by side."""
    columns = (np.concatenate([getattr(node, name) for node in nodes]) for name in _COLUMNS)
    ridge = max(node.ridge for node in nodes)
    return Node(*columns, ridge, all(node.exact for node in nodes))


def _likeness(scaled, ridge):
    """P_ij^2 / (P_ii P_jj), P = K_hat (K_hat + g I)^-1: how much i tells of j above the ridge."""
    inverse, _ = lapack.dpotri(cholesky(scaled, ridge), lower=1)
    P = -ridge * (inverse + np.tril(inverse, -1).T)
    P[np.diag_indices_from(P)] += 1.0
    own = np.maximum(np.diagonal(P), np.finfo(np.float64).eps)
    return P**2 / np.outer(own, own)


def _scores(rule, union, gram, n_inexact):
    """tau~ of every atom of a union, and the ridge that it is for."""
    weight = rule.weight(union)
    if rule.size is None:
        slack, ridge = rule.epsilon if n_inexact else 0.0, rule.ridge
        looked_at = merged_ridge(ridge, rule.epsilon, n_inexact=n_inexact)
        return (1 - slack) * atom_leverage(gram, weight, ridge=looked_at) / weight, ridge
    ridge = union.ridge
    if rule.ridge == 0:
        root = np.sqrt(weight)
        eigenvalues = np.linalg.eigvalsh(root[:, None] * gram * root)
        ridge = max(ridge, ridge_for_dimension(eigenvalues, rule.size / ATOMS_PER_DIMENSION))
    score = atom_leverage(gram, weight, ridge=ridge) / weight
    share = rule.uniform_share
    return (1 - share) * score + share * np.average(score, weights=weight), ridge
