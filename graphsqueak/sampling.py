"""Leverage-score sampling shared by graphs and kernels: EXPAND and SHRINK of the papers.

An item is kept with a probability that never increases, and is reweighted by the inverse of it. The
expectation of every weight is therefore constant, whatever scores determine the probabilities.
There are three sampling schemes.

*Copies* [CLV17, EXPAND and SHRINK of SQUEAK]. A `Sample` stores for every kept item its probability
p and the number of its q copies that are left. The weight is copies / (q p). SHRINK draws

    copies ~ Binomial(copies, p_new / p_old).

*Weights only*. An item of weight a and score r is kept with probability pi = min(1, c a r) and gets
the weight a / pi. Neither a nor pi has to be stored. With the threshold theta = 1 / (c r), a weight
w >= theta is unchanged, and any other becomes theta with probability w / theta, otherwise 0. This
is `subsample_weights`.

*Fixed size*. `shrink_to_size` keeps exactly a given number of items. The probabilities are those of
`subsample_weights` with the scale c that meets the size. One random number decides about all items
(systematic sampling [Mad49]).

The caller computes the scores: this module is independent of graphs and kernels. Random steps that
need the graph are in `graphsqueak.sparsifiers`.

References
----------
[CLV17] Calandriello, Lazaric, Valko. Distributed adaptive sampling for kernel matrix
        approximation. AISTATS 2017.
[GLS12] Grafstrom, Lundstrom, Schelin. Spatially balanced sampling through the pivotal method.
        Biometrics 68(2), 2012.
[Mad49] Madow. On the theory of systematic sampling, II. Annals of Mathematical Statistics 20(3),
        1949.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.system.kernels import inline_njit, njit_cached

__all__ = [
    "Sample",
    "expand",
    "find_scale",
    "importance_weights",
    "inclusion_probabilities",
    "local_pivotal_sample",
    "merge",
    "shrink",
    "shrink_to_size",
    "subsample_weights",
    "systematic_sample",
]


class Sample(NamedTuple):
    """Kept items: the caller's `index`, the probability `prob`, the remaining `copies`."""

    index: np.ndarray  # type: ignore[assignment]  # hides tuple.index
    prob: np.ndarray
    copies: np.ndarray


def expand(sample: Sample, index: np.ndarray, *, n_copies: int) -> Sample:
    """Add new items with probability 1 and `n_copies` copies each."""
    new = Sample(index, np.ones(len(index)), np.full(len(index), n_copies))
    return merge(sample, new)


def merge(first: Sample, second: Sample) -> Sample:
    """Concatenate two disjoint samples with the same number of copies."""
    return Sample(*map(np.concatenate, zip(first, second, strict=True)))


def shrink(sample: Sample, score: np.ndarray, *, rng: np.random.Generator) -> Sample:
    """Lower each probability to its score, subsample the copies, and drop items without copies.

    >>> everything = Sample(np.arange(3), np.ones(3), np.full(3, 10))
    >>> kept = shrink(everything, np.array([1.0, 7.0, 0.5]), rng=np.random.default_rng(90210))
    >>> kept.prob.tolist(), kept.copies[:2].tolist()
    ([1.0, 1.0, 0.5], [10, 10])
    """
    prob = np.minimum(score, sample.prob)
    copies = rng.binomial(sample.copies, prob / sample.prob)
    is_kept = copies > 0
    return Sample(sample.index[is_kept], prob[is_kept], copies[is_kept])


def shrink_to_size(
    sample: Sample,
    score: np.ndarray,
    size: int,
    *,
    rng: np.random.Generator,
    similarity: np.ndarray | None = None,
) -> Sample:
    """Keep exactly `size` items (or all, if there are fewer) with all their copies.

    An item is kept with probability min(1, c score / prob), where c is such that these add up to
    `size`. With a matrix of similarities, similar items are seldom kept together
    (`local_pivotal_sample`).

    >>> pair = Sample(np.arange(2), np.array([1.0, 0.5]), np.ones(2, int))
    >>> shrink_to_size(pair, np.array([1.0, 0.0]), 1, rng=np.random.default_rng(90210)).index
    array([0])
    """
    keep_prob = inclusion_probabilities(score / sample.prob, size)
    if similarity is None:
        chosen = systematic_sample(keep_prob, rng=rng)
    else:
        chosen = local_pivotal_sample(keep_prob, similarity, rng=rng)
    prob = sample.prob * keep_prob
    return Sample(sample.index[chosen], prob[chosen], sample.copies[chosen])


def importance_weights(sample: Sample, *, n_copies: int) -> np.ndarray:
    """Return the weights that make the sample unbiased: copies / (n_copies * prob)."""
    return sample.copies / (n_copies * sample.prob)


def subsample_weights(
    weight: np.ndarray, threshold: np.ndarray, *, rng: np.random.Generator
) -> np.ndarray:
    """Return new weights with the old ones as expectations, zero for dropped items.

    >>> rng = np.random.default_rng(7)
    >>> subsample_weights(np.array([3.0, 2.0, 0.0]), np.array([2.0, 2.0, 2.0]), rng=rng)
    array([3., 2., 0.])
    """
    is_kept = rng.random(weight.size) * threshold < weight
    return np.where(is_kept, np.maximum(weight, threshold), 0.0)


def find_scale(score: np.ndarray, budget: float) -> float:
    """Return the scale c with sum min(1, c * score) = budget; infinite if everything fits.

    >>> find_scale(np.array([1.0, 1.0, 0.5]), 2.5)
    1.0
    """
    if score.size <= budget:
        return np.inf
    scale = 0.0
    n_capped, remaining_sum = _capped_sums(score, scale)
    # Items capped at 1 take one unit of the budget each, the others share the rest. The scale only
    # grows, and so does the set of capped items: a few rounds are enough.
    while remaining_sum > 0:
        new_scale = (budget - n_capped) / remaining_sum
        if new_scale <= scale:
            return scale
        scale = new_scale
        n_capped, remaining_sum = _capped_sums(score, scale)
    # All positive scores are capped, and the budget is not used up.
    return np.inf if scale > 0 else 0.0


def inclusion_probabilities(score: np.ndarray, size: int) -> np.ndarray:
    """Return probabilities min(1, c score) that add up to `size`.

    If at most `size` scores are positive, their probabilities are 1.

    >>> inclusion_probabilities(np.array([8.0, 2.0, 1.0, 1.0, 0.0]), 3)
    array([1. , 1. , 0.5, 0.5, 0. ])
    """
    if np.count_nonzero(score) <= size:
        return (score > 0).astype(np.float64)
    return np.minimum(find_scale(score, size) * score, 1.0)


def systematic_sample(prob: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """Sample item i with probability prob[i]; the size is the sum of prob, rounded up or down.

    Systematic sampling [Mad49]: items are intervals of length prob[i], placed end to end in random
    order. With u uniform in (0, 1), items that contain one of u, u + 1, u + 2, ... are chosen.

    Returns
    -------
    ndarray of int
        The chosen items, sorted.

    Examples
    --------
    >>> systematic_sample(np.array([1.0, 0.0, 1.0]), rng=np.random.default_rng(7))
    array([0, 2])
    """
    order = rng.permutation(prob.size)
    n_points_before_end = np.floor(np.cumsum(prob[order]) + rng.random())
    is_chosen = np.diff(n_points_before_end, prepend=0.0) > 0
    return np.sort(order[is_chosen])


def local_pivotal_sample(
    prob: np.ndarray, similarity: np.ndarray, *, rng: np.random.Generator
) -> np.ndarray:
    """Sample item i with probability prob[i] such that similar items are seldom chosen together.

    Local pivotal method [GLS12]: a random undecided item competes with the undecided item most
    similar to it. One of the two passes as much of its probability as possible to the other and is
    decided. The choice of the winner keeps both expectations.

    Returns
    -------
    ndarray of int
        The chosen items, sorted.

    Examples
    --------
    >>> twins = np.array([[1.0, 0.9, 0.0, 0.0], [0.9, 1.0, 0.0, 0.0],
    ...                   [0.0, 0.0, 1.0, 0.9], [0.0, 0.0, 0.9, 1.0]])
    >>> local_pivotal_sample(np.full(4, 0.5), twins, rng=np.random.default_rng(7)) // 2
    array([0, 1])
    """
    prob = np.array(prob, dtype=np.float64)
    item_uniforms, winner_uniforms = rng.random((2, prob.size))
    _decide_by_pairs(prob, np.ascontiguousarray(similarity), item_uniforms, winner_uniforms)
    return np.flatnonzero(prob > 0.5)


@njit_cached
def _decide_by_pairs(prob, similarity, item_uniforms, winner_uniforms):
    """Turn probabilities into zeros and ones, in place."""
    undecided = np.flatnonzero((prob > 0.0) & (prob < 1.0))
    n_undecided = undecided.size
    n_rounds = 0
    while n_undecided > 1:
        # min: rounding can turn a uniform number just below 1 into n_undecided.
        a = min(int(item_uniforms[n_rounds] * n_undecided), n_undecided - 1)
        b = _most_similar(similarity[undecided[a]], undecided[:n_undecided], a)
        _compete(prob, undecided[a], undecided[b], winner_uniforms[n_rounds])
        # The larger position first: the last entry takes the place of a decided one.
        for position in (max(a, b), min(a, b)):
            # A competition leaves a probability of exactly 0 or 1.
            p = prob[undecided[position]]
            if p == 0.0 or p == 1.0:
                n_undecided -= 1
                undecided[position] = undecided[n_undecided]
        n_rounds += 1
    if n_undecided == 1:
        item = undecided[0]
        prob[item] = 1.0 if winner_uniforms[n_rounds] < prob[item] else 0.0


@inline_njit
def _most_similar(similarity, items, excluded):
    """Return the position of the item with the largest similarity, other than `excluded`."""
    best = -1
    largest = -np.inf
    for position in range(items.size):
        if position != excluded and similarity[items[position]] > largest:
            best = position
            largest = similarity[items[position]]
    return best


@inline_njit
def _compete(prob, i, j, uniform):
    """Move probability between two items so that at least one of them is decided [GLS12]."""
    total = prob[i] + prob[j]
    # The winner gets as much as it can hold, the loser the rest. The probability of winning keeps
    # both expectations: prob[i] / total, or (1 - prob[j]) / (2 - total) if the winner gets 1.
    winner_prob = min(total, 1.0)
    loser_prob = total - winner_prob
    if total < 1:
        numerator = prob[i]
        denominator = total
    else:
        numerator = 1 - prob[j]
        denominator = 2 - total
    i_wins = uniform * denominator < numerator
    prob[i] = winner_prob if i_wins else loser_prob
    prob[j] = loser_prob if i_wins else winner_prob


@njit_cached
def _capped_sums(score, scale):
    """Return the number of items with scale * score >= 1, and the sum of the other scores."""
    n_capped = 0
    remaining_sum = 0.0
    for value in score:
        if scale * value >= 1.0:
            n_capped += 1
        else:
            remaining_sum += value
    return n_capped, remaining_sum
