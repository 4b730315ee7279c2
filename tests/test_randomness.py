"""Counter-based numbers: uniform, each a function of its own keys; keys that never meet."""

import numpy as np

from graphsqueak.randomness import Step, child_seed, mix64, shuffled, uniforms


def test_uniforms_are_uniform_and_know_only_their_own_number():
    values = uniforms(90_210, 0, 100_000)
    counts = np.bincount((values * 50).astype(int), minlength=50)
    assert np.all(np.abs(counts - 2000) < 6 * np.sqrt(2000))
    np.testing.assert_array_equal(uniforms(90_210, 777, 900), values[777:900])
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 6 / np.sqrt(100_000)


def test_every_order_is_as_likely_within_a_heap():
    counts = np.zeros((5, 5))
    for seed in range(20_000):
        counts[np.arange(5), shuffled(np.arange(5), seed)] += 1
    assert np.all(np.abs(counts - 4000) < 6 * np.sqrt(4000 * 0.8))


def test_many_items_go_anywhere_and_none_is_lost():
    """Eight heaps: where an item lands has the mean and the neighbors of a random order."""
    n = 30_000
    order = shuffled(np.arange(n), 141_421)
    assert np.array_equal(np.sort(order), np.arange(n))
    for start in range(0, n, 5000):
        mean = order[start : start + 5000].mean() / n
        assert abs(mean - 0.5) < 6 * np.sqrt(1 / 12 / 5000)
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 6 / np.sqrt(n)
    assert np.count_nonzero(np.diff(order) > 0) < n / 2 + 6 * np.sqrt(n / 12)
    assert not np.array_equal(order, shuffled(np.arange(n), 141_422))


def test_children_of_a_seed_differ():
    seeds = {child_seed(5, number) for number in range(1000)} | {child_seed(6, 0)}
    assert len(seeds) == 1001


def test_no_counted_step_has_the_number_of_a_named_one():
    assert len(set(Step)) == len(Step.__members__)
    assert min(Step) >= 2**40


def test_the_mixer_is_that_of_splitmix64():
    """The first numbers of the generator with seed 1234567, as its author publishes them."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        state = [np.uint64(1_234_567) + golden * np.uint64(i) for i in (1, 2)]
    assert [int(mix64(z)) for z in state] == [6457827717110365317, 3203168211198807973]
