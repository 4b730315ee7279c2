"""Expand and shrink: the randomized steps that graphs and kernels share.

An item is kept with a probability that only ever falls, and reweighted by its inverse, so that the
expectation of every weight never moves, whatever the scores that drive the probabilities. There are
three ways to draw.

*Copies* [CLV17, the EXPAND and SHRINK steps of SQUEAK]. A `Sample` holds for every kept item its
probability p and how many of its q copies survive; the weight is copies / (q p). Shrinking draws
copies ~ Binomial(copies, p_new / p_old).

*Weights alone.* Keeping an item once, with probability pi = min(1, c a r) and weight a / pi, needs
no memory of a or pi: with the threshold theta = 1 / (c r), a weight w >= theta stays as it is and
any other becomes theta with probability w / theta, else 0. This is `thin`.

*Fixed size.* `shrink_to` keeps exactly as many items as asked: the chances are those of `thin` at
the threshold that meets the size, and one random number for all decides (systematic sampling).

The caller scores the items; nothing here knows an edge, a point, a Laplacian or a kernel. The
stream of edges has random steps of its own, which need the graph: coins on arrival, rounding along
walks, signs of sketches and of probes. They are in `graphsqueak.sparsifiers`, with the numbers of
`graphsqueak.randomness`.

References
----------
[CLV17] Calandriello, Lazaric, Valko. Distributed adaptive sampling for kernel matrix
        approximation. AISTATS 2017.
[GLS12] Grafstrom, Lundstrom, Schelin. Spatially balanced sampling through the pivotal method.
        Biometrics 68(2), 2012.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graphsqueak.system.kernels import njit_cached

__all__ = [
    "Sample",
    "choose",
    "choose_apart",
    "expand",
    "inclusion",
    "merge",
    "scale_by",
    "scale_for",
    "shrink",
    "shrink_to",
    "thin",
    "weights",
]


class Sample(NamedTuple):
    """Kept items: the caller's `index`, the probability `prob`, the surviving `copies`."""

    index: np.ndarray  # type: ignore[assignment]  # hides tuple.index
    prob: np.ndarray
    copies: np.ndarray


def expand(sample: Sample, index: np.ndarray, *, n_copies: int) -> Sample:
    """Add new items, each certain (prob 1) and present `n_copies` times."""
    new = Sample(index, np.ones(len(index)), np.full(len(index), n_copies))
    return merge(sample, new)


def merge(first: Sample, second: Sample) -> Sample:
    """Items of two disjoint samples with the same number of copies, side by side."""
    return Sample(*map(np.concatenate, zip(first, second, strict=True)))


def shrink(sample: Sample, score: np.ndarray, *, rng: np.random.Generator) -> Sample:
    """Lower each prob to its score, thin the copies to match, drop what has none left.

    >>> everything = Sample(np.arange(3), np.ones(3), np.full(3, 10))
    >>> kept = shrink(everything, np.array([1.0, 7.0, 0.5]), rng=np.random.default_rng(90210))
    >>> kept.prob.tolist(), kept.copies[:2].tolist()
    ([1.0, 1.0, 0.5], [10, 10])
    """
    prob = np.minimum(score, sample.prob)
    copies = rng.binomial(sample.copies, prob / sample.prob)
    alive = copies > 0
    return Sample(sample.index[alive], prob[alive], copies[alive])


def shrink_to(
    sample: Sample,
    score: np.ndarray,
    size: int,
    *,
    rng: np.random.Generator,
    similarity: np.ndarray | None = None,
) -> Sample:
    """Keep exactly `size` items (or all, if they are fewer) and all copies of those.

    An item survives with probability min(1, c score / prob), where c makes these add up to `size`.
    With a matrix of similarities those that are alike are seldom kept together (`choose_apart`).

    >>> pair = Sample(np.arange(2), np.array([1.0, 0.5]), np.ones(2, int))
    >>> shrink_to(pair, np.array([1.0, 0.0]), 1, rng=np.random.default_rng(90210)).index
    array([0])
    """
    keep = inclusion(score / sample.prob, size)
    if similarity is None:
        chosen = choose(keep, rng=rng)
    else:
        chosen = choose_apart(keep, similarity, rng=rng)
    return Sample(sample.index[chosen], (sample.prob * keep)[chosen], sample.copies[chosen])


def scale_for(score: np.ndarray, budget: float) -> float:
    """The c for which sum min(1, c * score) = budget; infinite if everything fits.

    From c = 0 on, those with c * score < 1 share what the others leave of the budget; c only rises,
    and a few rounds are enough.

    >>> scale_for(np.array([1.0, 1.0, 0.5]), 2.5)
    1.0
    """
    return scale_by(lambda scale: _sums(score, scale), score.size, budget)


def scale_by(sums: Callable[[float], tuple[int, float]], size: int, budget: float) -> float:
    """`scale_for` of `size` scores that are told by their sums alone.

    sums(c) is how many have c * score >= 1, and the sum of the others.
    """
    if size <= budget:
        return np.inf
    scale, total = 0.0, sums(0.0)[1]
    while total > 0:
        n_certain, total = sums(scale)
        larger = (budget - n_certain) / total if total > 0 else np.inf
        if larger <= scale * (1 + 1e-9):
            break
        scale = larger
    return scale


def inclusion(score: np.ndarray, size: int) -> np.ndarray:
    """Chances min(1, c score) that add up to `size`; all of the positive ones, if they are fewer.

    >>> inclusion(np.array([8.0, 2.0, 1.0, 1.0, 0.0]), 3)
    array([1. , 1. , 0.5, 0.5, 0. ])
    """
    if np.count_nonzero(score) <= size:
        return (score > 0).astype(np.float64)
    return np.minimum(scale_for(score, size) * score, 1.0)


def choose(prob: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """Indices of a sample that holds item i with probability prob[i], its size as even as can be.

    Items are laid end to end in random order, each as long as its probability, and those in which
    u, u + 1, u + 2, ... fall are taken, u uniform in (0, 1).

    >>> choose(np.array([1.0, 0.0, 1.0]), rng=np.random.default_rng(7))
    array([0, 2])
    """
    order = rng.permutation(prob.size)
    ends = np.floor(np.cumsum(prob[order]) + rng.random())
    taken = np.diff(ends, prepend=0.0) > 0
    return np.sort(order[taken])


def choose_apart(
    prob: np.ndarray, similarity: np.ndarray, *, rng: np.random.Generator
) -> np.ndarray:
    """Indices of a sample that holds item i with probability prob[i] and is spread out [GLS12].

    An undecided item, drawn at random, meets the one most similar to it; one of the two hands as
    much of its probability to the other as that can take, by a coin that keeps both expectations,
    and is decided. So one of two twins is kept rather than none or both.

    >>> twins = np.array([[1.0, 0.9, 0.0, 0.0], [0.9, 1.0, 0.0, 0.0],
    ...                   [0.0, 0.0, 1.0, 0.9], [0.0, 0.0, 0.9, 1.0]])
    >>> choose_apart(np.full(4, 0.5), twins, rng=np.random.default_rng(7)) // 2
    array([0, 1])
    """
    prob = np.array(prob, dtype=np.float64)
    coins = rng.random((2, prob.size))
    _compete(prob, np.ascontiguousarray(similarity), coins)
    return np.flatnonzero(prob > 0.5)


def weights(sample: Sample, *, n_copies: int) -> np.ndarray:
    """Reweighting that keeps the sample unbiased: copies / (n_copies * prob)."""
    return sample.copies / (n_copies * sample.prob)


def thin(weight: np.ndarray, threshold: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """New weights, zero for what is dropped: each has the old weight as its expectation.

    >>> thin(np.array([3.0, 2.0, 0.0]), np.array([2.0, 2.0, 2.0]), rng=np.random.default_rng(7))
    array([3., 2., 0.])
    """
    survives = rng.random(weight.size) * threshold < weight
    return np.where(survives, np.maximum(weight, threshold), 0.0)


@njit_cached
def _compete(prob, similarity, coins):
    """Turn probabilities into zeros and ones, neighbor against neighbor, in place."""
    open_items = np.flatnonzero((prob > 1e-12) & (prob < 1 - 1e-12))
    n_open = open_items.size
    meeting = 0
    while n_open > 1:
        a = min(int(coins[0, meeting] * n_open), n_open - 1)
        i = open_items[a]
        b, most = -1, -np.inf
        for other in range(n_open):
            if other != a and similarity[i, open_items[other]] > most:
                b, most = other, similarity[i, open_items[other]]
        j = open_items[b]
        both = prob[i] + prob[j]
        if both < 1:
            i_wins = coins[1, meeting] * both < prob[i]
            prob[i], prob[j] = (both, 0.0) if i_wins else (0.0, both)
        else:
            i_wins = coins[1, meeting] * (2 - both) < 1 - prob[j]
            prob[i], prob[j] = (1.0, both - 1) if i_wins else (both - 1, 1.0)
        for slot in (max(a, b), min(a, b)):
            item = open_items[slot]
            if prob[item] < 1e-12 or prob[item] > 1 - 1e-12:
                n_open -= 1
                open_items[slot] = open_items[n_open]
        meeting += 1
    if n_open == 1:
        item = open_items[0]
        prob[item] = 1.0 if coins[1, meeting] < prob[item] else 0.0


@njit_cached
def _sums(score, scale):
    """How many have c * score >= 1, and the sum of the others."""
    n_certain, total = 0, 0.0
    for e in range(score.size):
        if scale * score[e] >= 1.0:
            n_certain += 1
        else:
            total += score[e]
    return n_certain, total
