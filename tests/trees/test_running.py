"""Runs of merge trees in this process: results, seeds, priors and sizes."""

import pytest

from graphsqueak.randomness import child_seed
from graphsqueak.trees.running import compute, run_here, run_tree, size_of
from graphsqueak.trees.shapes import as_tree


def leaf(item, seed):
    return {item: seed}


def merge(results, seed):
    return {item: seed for result in results for item, seed in result.items()}


@pytest.mark.parametrize("shape", ["balanced", "sequential", 3])
def test_each_leaf_gets_its_item_and_its_seed(shape):
    tree = as_tree(shape, 7)
    run = run_tree(tree, leaf, merge, "abcdefg", seed=5, backend=run_here)
    assert run.result == {item: child_seed(5, node) for node, item in enumerate("abcdefg")}


def test_moved_bytes_are_those_of_all_results_but_the_last():
    """Leaves of 10 bytes; merges of a balanced tree of four concatenate: 4 x 10 + 2 x 20."""
    tree = as_tree("balanced", 4)
    run = run_tree(
        tree,
        lambda item, seed: bytes(10),
        lambda results, seed: b"".join(results),
        range(4),
        seed=5,
        backend=run_here,
    )
    assert len(run.result) == 40
    assert run.moved_bytes == 80
    assert run.worker_peak_bytes > 0


def test_progress_counts_leaves():
    calls = []
    tree = as_tree("balanced", 3)
    run_tree(
        tree,
        leaf,
        merge,
        "abc",
        seed=5,
        backend=run_here,
        progress=lambda done, fraction, note: calls.append((done, fraction, note)),
    )
    assert calls == [
        (1, 1 / 5, "0 merges"),
        (2, 2 / 5, "0 merges"),
        (2, 3 / 5, "1 merges"),
        (3, 4 / 5, "1 merges"),
        (3, 1.0, "2 merges"),
    ]


def test_priors_are_passed_only_to_nodes_that_have_them():
    def with_prior(inputs, seed, *, prior):
        return inputs, seed, prior

    assert compute(lambda inputs, seed: inputs + seed, 3, 4) == 7
    assert compute(with_prior, 3, 4, prior="given") == (3, 4, "given")


def test_only_bytes_have_a_size():
    assert size_of(b"four") == 4
    assert size_of([1, 2]) == 0
