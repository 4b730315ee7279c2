"""DICT-MERGE of SQUEAK: several dictionaries in, one out; and the choice of a fixed number.

In the tree of merges of SQUEAK and DISQUEAK, a `Node` stores for every landmark a probability p and
the number of its q copies that are left. The weight is copies / (q p). Raw points are an exact
node: p = 1 and all copies. A merge concatenates nodes (EXPAND), estimates the leverage score tau~
of every landmark from the union (`leverage`), and subsamples the copies (SHRINK) [C17, Algorithm
10]:

    p_new = min(p, tau~),     copies ~ Binomial(copies, p_new / p),     drop landmarks without any.

Probabilities never increase, and the expectation of every weight stays 1. A merge depends only on
its nodes and its random generator, so that it can run in any process.

For a fixed number of landmarks there is one copy per point, and a landmark is kept with probability
min(1, c tau~ / p), where c meets the number. Similar landmarks are seldom kept or dropped together
(`local_pivotal_sample`), which lowers the variance and leaves each probability as it is. The scores
may be mixed with their mean, (1 - s) tau~ + s mean(tau~): a fraction s of the landmarks is then
sampled uniformly from all points. Up to the factor 1 - s, the scores only grow, so that the
guarantees stay.

`select_landmarks` chooses the landmarks that a user sees from the larger number that a fixed-size
sampler stores. Half of them are sampled as above. The others are drawn one by one by what the
previous ones leave unexplained (`pivots`), which makes the span as good as with pivots from all
points. Both halves give unbiased sums over all points, the first with less variance. The weights
are a mixture of the two.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Section 3.3.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from graphsqueak.kernel.cholesky import cholesky
from graphsqueak.kernel.kernels import Kernel
from graphsqueak.kernel.leverage import (
    auto_ridge,
    landmark_leverage,
    merged_ridge,
    weighted_gram,
)
from graphsqueak.kernel.pivots import FLOOR, draw_best_pivots, pivot_weights
from graphsqueak.randomness import RandomState
from graphsqueak.sampling import (
    Sample,
    inclusion_probabilities,
    local_pivotal_sample,
    shrink,
    shrink_to_size,
)

# Fraction of the weights that is by pivots, whose variance is larger. Accuracy of `SQUEAK` and
# `KORS` on four data sets: 2 % better if doubled, 1 % worse if halved.
PIVOT_FRACTION = 0.03


# Landmarks stored for each one that `select_landmarks` returns. Trace that is left by `SQUEAK` on
# four data sets: 16 % more if halved, 3 % less if doubled.
STORED_PER_LANDMARK = 2


class Landmarks(NamedTuple):
    """Row numbers of the landmarks, the points as the kernel takes them, and their weights."""

    rows: np.ndarray
    points: np.ndarray
    weights: np.ndarray


class Node(NamedTuple):
    """Landmarks of a part of the data, with the state of their sampling.

    Attributes
    ----------
    rows, points : ndarray
        Row numbers of the landmarks, and the points as the kernel takes them.
    prob, copies : ndarray
        Probability of each copy so far, and the number of copies left.
    ridge : float
        The ridge for which the node is accurate.
    is_exact : bool
        Whether these are all points of the part, with weight 1.
    """

    rows: np.ndarray
    points: np.ndarray
    prob: np.ndarray
    copies: np.ndarray
    ridge: float
    is_exact: bool


class MergeRule(NamedTuple):
    """Parameters of merges.

    Attributes
    ----------
    kernel : Kernel
    ridge : float
        The ridge of the leverage scores. With 0, it follows the number of landmarks.
    epsilon : float
        Accuracy that is assumed of inexact nodes.
    n_copies : int
        Copies per point; 1 for a fixed number of landmarks.
    size : int or None
        Number of landmarks of a merged node; None if the copies determine it.
    uniform_share : float
        Fraction of a fixed number of landmarks that is sampled uniformly from all points.
    """

    kernel: Kernel
    ridge: float
    epsilon: float
    n_copies: int
    size: int | None
    uniform_share: float = 0.0

    def weights(self, node: Node) -> np.ndarray:
        """Return the weights of the landmarks of a node."""
        return node.copies / (self.n_copies * node.prob)

    def landmarks(self, node: Node) -> Landmarks:
        """Return the landmarks of a node with their weights."""
        return Landmarks(node.rows, node.points, self.weights(node))


def leaf(rule: MergeRule, points: np.ndarray, first_row: int) -> Node:
    """Return raw points as an exact node.

    >>> rule = MergeRule(None, 1.0, 0.5, n_copies=5, size=None)
    >>> leaf(rule, np.zeros((2, 1)), 7).rows
    array([7, 8])
    """
    n = len(points)
    return Node(
        rows=np.arange(first_row, first_row + n),
        points=points,
        prob=np.ones(n),
        copies=np.full(n, rule.n_copies),
        ridge=rule.ridge,
        is_exact=True,
    )


def union(nodes: Sequence[Node]) -> Node:
    """Return the landmarks of all nodes as one node, for the largest of their ridges."""
    return Node(
        rows=np.concatenate([node.rows for node in nodes]),
        points=np.concatenate([node.points for node in nodes]),
        prob=np.concatenate([node.prob for node in nodes]),
        copies=np.concatenate([node.copies for node in nodes]),
        ridge=max(node.ridge for node in nodes),
        is_exact=all(node.is_exact for node in nodes),
    )


def merge_nodes(nodes: Sequence[Node], random_state: RandomState, *, rule: MergeRule) -> Node:
    """Merge nodes and subsample their landmarks: DICT-MERGE.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> rule = MergeRule(as_kernel("linear"), 1.0, 0.5, n_copies=1, size=3)
    >>> two = [leaf(rule, np.ones((4, 1)), 0), leaf(rule, np.ones((4, 1)), 4)]
    >>> node = merge_nodes(two, 7, rule=rule)
    >>> float(rule.weights(node).sum()), node.prob.round(3)
    (8.0, array([0.375, 0.375, 0.375]))
    """
    rng = np.random.default_rng(random_state)
    # EXPAND.
    merged = union(nodes)
    if rule.size is not None and merged.rows.size <= rule.size:
        return merged
    gram = rule.kernel(merged.points, merged.points)
    score, ridge = score_landmarks(rule, nodes, gram, rule.size)
    # SHRINK.
    sample = Sample(np.arange(merged.rows.size), merged.prob, merged.copies)
    if rule.size is None:
        kept = shrink(sample, score, rng=rng)
    else:
        kept = shrink_to_size(sample, score, rule.size, rng=rng, similarity=cosines(gram))
    i = kept.index
    return Node(merged.rows[i], merged.points[i], kept.prob, kept.copies, ridge, is_exact=False)


def score_landmarks(
    rule: MergeRule, nodes: Sequence[Node], gram: np.ndarray, size: int | None
) -> tuple[np.ndarray, float]:
    """Estimate the leverage scores of the landmarks of nodes from their union.

    Parameters
    ----------
    rule : MergeRule
    nodes : sequence of Node
    gram : ndarray
        Kernel matrix of the landmarks of all nodes.
    size : int or None
        Number of landmarks to keep, if it is fixed.

    Returns
    -------
    score : ndarray
        tau~ of every landmark.
    ridge : float
        The ridge of these scores.
    """
    merged = union(nodes)
    weights = rule.weights(merged)
    if size is None:
        n_inexact = sum(not node.is_exact for node in nodes)
        epsilon = rule.epsilon if n_inexact else 0.0
        ridge = merged_ridge(rule.ridge, rule.epsilon, n_inexact=n_inexact)
        return (1 - epsilon) * landmark_leverage(gram, weights, ridge=ridge) / weights, rule.ridge
    # Only proportions of the scores matter, and so the bounds of (1 +- e) are left out.
    ridge = merged.ridge
    if rule.ridge == 0:
        ridge = max(ridge, auto_ridge(weighted_gram(gram, weights), size))
    score = landmark_leverage(gram, weights, ridge=ridge) / weights
    mean = np.average(score, weights=weights)
    return (1 - rule.uniform_share) * score + rule.uniform_share * mean, ridge


def select_landmarks(
    rule: MergeRule, nodes: Sequence[Node], size: int, *, rng: np.random.Generator
) -> tuple[Landmarks, float]:
    """Select `size` landmarks from nodes, with unbiased weights; return them and their ridge.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> rule = MergeRule(as_kernel("rbf"), 1.0, 0.5, n_copies=1, size=2)
    >>> X = np.array([[0.0], [0.0], [0.0], [9.0]])
    >>> rng = np.random.default_rng(7)
    >>> selected, ridge = select_landmarks(rule, [leaf(rule, X, 0)], 2, rng=rng)
    >>> sorted(selected.points.ravel().tolist()), ridge
    ([0.0, 9.0], 1.0)
    """
    merged = union(nodes)
    if merged.rows.size <= size:
        return rule.landmarks(merged), merged.ridge
    gram = rule.kernel(merged.points, merged.points)
    weights = rule.weights(merged)
    score, ridge = score_landmarks(rule, nodes, gram, size)
    scaled = weighted_gram(gram, weights)

    # The scores of the points that landmarks stand for add up, weight by weight.
    keep_prob = inclusion_probabilities(score * weights, size - size // 2)
    sampled = local_pivotal_sample(keep_prob, _explained_fractions(scaled, ridge), rng=rng)
    floor = max(rule.uniform_share, FLOOR)
    pivots = draw_best_pivots(scaled, size - sampled.size, rng=rng, first=sampled, floor=floor)

    # The mean of the sampled half's estimate and of the other's, which is the sampled half with
    # weight 1 and the pivots for the rest.
    of_sampled = (1 - PIVOT_FRACTION) / keep_prob[sampled] + PIVOT_FRACTION
    of_pivots = PIVOT_FRACTION * pivot_weights(pivots.prob)
    index = np.append(sampled, pivots.rows)
    selected_weights = np.append(of_sampled, of_pivots) * weights[index]
    order = np.argsort(merged.rows[index])
    index = index[order]
    selected = Landmarks(merged.rows[index], merged.points[index], selected_weights[order])
    return selected, ridge


def cosines(gram: np.ndarray) -> np.ndarray:
    """Return the cosines of the angles between landmarks, from their kernel matrix.

    >>> cosines(np.array([[4.0, 1.0], [1.0, 1.0]]))[0, 1]
    np.float64(0.5)
    """
    length = np.sqrt(np.maximum(np.diagonal(gram), np.finfo(np.float64).tiny))
    return gram / np.outer(length, length)


def _explained_fractions(scaled, ridge):
    """Return P_ij^2 / (P_ii P_jj), P = K_hat (K_hat + g I)^-1, as similarities above the ridge.

    Cosines instead make the accuracy of `SQUEAK` and `KORS` 4 % worse on four data sets.
    """
    lower, _ = lapack.dpotri(cholesky(scaled, ridge), lower=1)
    # P = I - g (K_hat + g I)^-1; LAPACK returns the lower triangle.
    P = np.eye(len(scaled)) - ridge * (lower + np.tril(lower, -1).T)
    return cosines(P) ** 2
