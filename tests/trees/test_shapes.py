"""Shapes of merge trees: every part once, in order, children before parents."""

from itertools import chain

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.trees.running import run_here, run_tree
from graphsqueak.trees.shapes import Tree, as_tree


def shapes(n_leaves):
    rng = np.random.default_rng(811_203)
    known = ("balanced", "sequential", 3, "4", "guided")
    named = [as_tree(shape, n_leaves, allow_guided=True) for shape in known]
    return [*named, random_tree(n_leaves, rng=rng)]


def random_tree(n_leaves, rng):
    """Merge two random results until one is left."""
    merges = []
    unmerged = list(range(n_leaves))
    while len(unmerged) > 1:
        merges.append(tuple(unmerged.pop(rng.integers(len(unmerged))) for _ in range(2)))
        unmerged.append(n_leaves + len(merges) - 1)
    return Tree(n_leaves, tuple(merges))


@pytest.mark.parametrize("n_leaves", [1, 2, 3, 7, 16, 33])
def test_every_leaf_is_merged_once_and_neighbors_stay_in_order(n_leaves):
    for place, tree in enumerate(shapes(n_leaves)):
        merged = run_tree(
            tree,
            lambda item, seed, *, prior=None: [item],
            lambda parts, seed: list(chain(*parts)),
            range(n_leaves),
            seed=5,
            backend=run_here,
            make_prior=len,
        ).result
        assert sorted(merged) == list(range(n_leaves))
        if place < 5:
            assert merged == list(range(n_leaves))


def test_a_leaf_gets_the_prior_of_its_prior_node():
    tree = as_tree("guided", 16, allow_guided=True)
    prior_of_leaf = {}

    def leaf(item, seed, *, prior=None):
        prior_of_leaf[item] = prior
        return [item]

    def merge(parts, seed):
        return list(chain(*parts))

    run_tree(tree, leaf, merge, range(16), seed=5, backend=run_here, make_prior=len)
    sizes = tree.sizes()
    expected = {leaf: None if leaf < 3 else sizes[tree.prior_nodes[leaf]] for leaf in range(16)}
    assert prior_of_leaf == expected


def test_a_post_order_holds_one_result_per_level():
    tree = as_tree("balanced", 64)
    held, most = set(), 0
    for node in tree.post_order():
        held -= set(tree.children(node))
        held.add(node)
        most = max(most, len(held))
    assert held == {tree.root}
    assert most == 1 + max(tree.heights())


@pytest.mark.parametrize("n_leaves", [1, 5, 16, 17, 100])
def test_priors_cover_a_quarter_of_the_earlier_leaves_and_are_ready_in_time(n_leaves):
    tree = as_tree("guided", n_leaves, allow_guided=True)
    turn, sizes = {node: turn for turn, node in enumerate(tree.post_order())}, tree.sizes()
    for leaf in range(n_leaves):
        prior = tree.prior_node(leaf)
        assert (prior is None) == (leaf < 3)
        if prior is not None:
            assert turn[prior] < turn[leaf]
            assert leaf / 4 <= sizes[prior] < leaf / 2
    if n_leaves == 100:  # no merge takes many results, and few are on the way to the root
        assert max(map(len, tree.merges)) <= 5
        assert max(tree.heights()) < 16


def test_every_node_has_its_own_seed():
    seeds = as_tree("balanced", 1000).seeds(7)
    assert len(set(seeds)) == 1999
    assert seeds[:10] == as_tree("sequential", 1000).seeds(7)[:10]


@pytest.mark.parametrize(
    ("shape", "message"),
    [("bushy", "'balanced', 'sequential' or"), (1, "tree=1 must be at least 2")],
)
def test_unknown_shapes_are_refused(shape, message):
    with pytest.raises(InputError, match=message):
        as_tree(shape, 4)


def test_guided_trees_need_leaves_with_priors():
    with pytest.raises(InputError, match="tree='guided' is not 'balanced', 'sequential' or"):
        as_tree("guided", 4)
