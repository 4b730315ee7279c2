"""DICT-MERGE, the step of SQUEAK and DISQUEAK: several dictionaries in, one small one out.

A node of the tree holds for every atom the probability p and the copies left of q; its weight is
copies / (q p). Raw points are an exact node, p = 1 and all copies. A merge puts nodes side by side,
scores all atoms with their union (`estimator`), and thins the copies [C17, Algorithm 10]:

    p_new = min(p, tau~),     copies ~ Binomial(copies, p_new / p),     drop what has none left.

p never rises and the expectation of every weight stays 1. For a fixed size there is one copy, and
the chance to survive is min(1, c tau~ / p) with the c that meets the size; of points that are alike
one is kept rather than none or both, which leaves every chance as it is and lowers the variance.
There tau~ may have a part that is the same for all, (1 - s) tau~ + s mean(tau~): s is the share of
the atoms that come from anywhere. That is tau~ overestimated, which no guarantee minds.
A merge depends on nothing but its nodes and its random generator, so it can run anywhere.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Section 3.3.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.kernel.dictionary import ATOMS_PER_DIMENSION, Atoms, ridge_for_dimension
from graphsqueak.kernel.estimator import atom_leverage, merged_ridge
from graphsqueak.sampling import Sample, shrink, shrink_to
from graphsqueak.system.packing import pack_bytes, unpack

__all__ = [
    "MergeRule",
    "Node",
    "leaf",
    "merge_nodes",
    "merged_nodes",
    "packed_node",
    "shrunk_leaf",
    "unpacked_node",
]

_COLUMNS = ("rows", "points", "prob", "copies")


class Node(NamedTuple):
    """Atoms of some part of the data; `ridge` is the one it is accurate for."""

    rows: np.ndarray
    points: np.ndarray
    prob: np.ndarray
    copies: np.ndarray
    ridge: float
    exact: bool

    def moved(self, offset):
        """The same atoms, numbered from `offset`."""
        return self._replace(rows=self.rows + offset)


class MergeRule(NamedTuple):
    """How to merge: exactly one of `n_copies` and `size` is given; ridge 0 follows the size."""

    kernel: object
    ridge: float
    epsilon: float
    n_copies: int | None
    size: int | None
    uniform_share: float = 0.0

    def weight(self, node):
        """Weights of a node's atoms."""
        return node.copies / ((self.n_copies or 1) * node.prob)

    def atoms(self, node):
        """What a user sees of a node."""
        return Atoms(node.rows, node.points, self.weight(node))


def leaf(rule, points, first_row):
    """Raw points as an exact node.

    >>> rule = MergeRule(None, 1.0, 0.5, n_copies=5, size=None)
    >>> leaf(rule, np.zeros((2, 1)), 7).rows
    array([7, 8])
    """
    n = len(points)
    copies = np.full(n, rule.n_copies or 1)
    rows = np.arange(first_row, first_row + n)
    return Node(rows, points, np.ones(n), copies, rule.ridge, exact=True)


def merge_nodes(rule, nodes, *, rng):
    """One node for the data of all, thinned.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> rule = MergeRule(as_kernel("linear"), 1.0, 0.5, n_copies=None, size=3)
    >>> two = [leaf(rule, np.ones((4, 1)), 0), leaf(rule, np.ones((4, 1)), 4)]
    >>> node = merge_nodes(rule, two, rng=np.random.default_rng(7))
    >>> float(rule.weight(node).sum()), node.prob.round(3)
    (8.0, array([0.375, 0.375, 0.375]))
    """
    rows, points, prob, copies = (
        np.concatenate([node[field] for node in nodes]) for field in range(4)
    )
    ridge = max(node.ridge for node in nodes)
    union = Node(rows, points, prob, copies, ridge, all(node.exact for node in nodes))
    if rule.size is not None and rows.size <= rule.size:
        return union
    n_inexact = sum(not node.exact for node in nodes)
    gram = rule.kernel(points, points)
    score, ridge = _scores(rule, union, gram, n_inexact)
    sample = Sample(np.arange(rows.size), prob, copies)
    if rule.size is None:
        kept = shrink(sample, score, rng=rng)
    else:
        length = np.sqrt(np.maximum(np.diagonal(gram), np.finfo(np.float64).tiny))
        cosine = gram / np.outer(length, length)
        kept = shrink_to(sample, score, rule.size, rng=rng, similarity=cosine)
    i = kept.index
    return Node(rows[i], points[i], kept.prob, kept.copies, ridge, exact=False)


def shrunk_leaf(item, seed, *, rule):
    """A leaf of a tree: raw points from a row on, as an exact node, thinned at once."""
    first_row, points = item
    return packed_node(
        merge_nodes(rule, [leaf(rule, points, first_row)], rng=np.random.default_rng(seed))
    )


def merged_nodes(nodes, seed, *, rule):
    """A merge of a tree: packed nodes in, one out."""
    nodes = [unpacked_node(node) for node in nodes]
    return packed_node(merge_nodes(rule, nodes, rng=np.random.default_rng(seed)))


def packed_node(node):
    """A node as bytes, to travel."""
    numbers = {"ridge": float(node.ridge), "exact": bool(node.exact)}
    return pack_bytes(numbers, {name: getattr(node, name) for name in _COLUMNS})


def unpacked_node(data):
    """What `packed_node` was given.

    >>> rule = MergeRule(None, 1.0, 0.5, n_copies=5, size=None)
    >>> unpacked_node(packed_node(leaf(rule, np.zeros((1, 1)), 3))).copies
    array([5])
    """
    numbers, columns = unpack(data, "the node")
    return Node(**columns, **numbers)


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
