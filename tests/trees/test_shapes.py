"""Shapes of merge trees: every part once, in order, children before parents."""

from itertools import chain

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.trees.running import run_here, run_tree
from graphsqueak.trees.shapes import as_tree, random_tree


def shapes(n_leaves):
    rng = np.random.default_rng(811_203)
    named = [as_tree(shape, n_leaves) for shape in ("balanced", "sequential", 3, "4")]
    return [*named, random_tree(n_leaves, rng=rng)]


@pytest.mark.parametrize("n_leaves", [1, 2, 3, 7, 16, 33])
def test_every_leaf_is_merged_once_and_neighbors_stay_in_order(n_leaves):
    for place, tree in enumerate(shapes(n_leaves)):
        merged = run_tree(
            tree,
            lambda item, seed: [item],
            lambda parts, seed: list(chain(*parts)),
            range(n_leaves),
            seed=5,
            backend=run_here,
        ).result
        assert sorted(merged) == list(range(n_leaves))
        if place < 4:
            assert merged == list(range(n_leaves))


def test_a_post_order_holds_one_result_per_level():
    tree = as_tree("balanced", 64)
    held, most = set(), 0
    for node in tree.post_order():
        held -= set(tree.children(node))
        held.add(node)
        most = max(most, len(held))
    assert held == {tree.root}
    assert most == 1 + max(tree.heights())


def test_every_place_has_a_seed_of_its_own():
    seeds = as_tree("balanced", 1000).seeds(7)
    assert len(set(seeds)) == 1999
    assert seeds[:10] == as_tree("sequential", 1000).seeds(7)[:10]


@pytest.mark.parametrize(
    ("shape", "said"), [("bushy", "'balanced', 'sequential' or"), (1, "tree=1 must be at least 2")]
)
def test_what_is_no_shape_is_refused(shape, said):
    with pytest.raises(InputError, match=said):
        as_tree(shape, 4)
