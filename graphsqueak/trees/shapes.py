"""The shape of a merge tree: which results are merged, and in which order.

Leaves are numbered 0, ..., n_leaves - 1 and merges follow; a node's seed comes from its number.
Merging neighbors only keeps the order of the parts: what is merged stands for consecutive parts of
the stream [C17, Section 3.3.2, Fig. 3.3].

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

from typing import NamedTuple

from graphsqueak.errors import InputError
from graphsqueak.randomness import child_seed
from graphsqueak.validation import check_count

__all__ = ["Tree", "as_tree", "guided", "k_ary", "random_tree", "sequential"]


_GROUP = 4  # results of one wave that are merged at a time


class Tree(NamedTuple):
    """Merge j of `merges`, node n_leaves + j, lists the nodes it merges; the last is the root.

    Leaf j may start from the prior of the node `prior_nodes[j]`, whose result it waits for; -1
    stands for none.

    >>> Tree(3, ((0, 1), (3, 2))).post_order()
    [0, 1, 3, 2, 4]
    """

    n_leaves: int
    merges: tuple
    prior_nodes: tuple = ()

    @property
    def root(self):
        """The node whose result is that of the whole."""
        return self.n_leaves + len(self.merges) - 1

    def children(self, node):
        """What `node` merges; nothing for a leaf."""
        return () if node < self.n_leaves else self.merges[node - self.n_leaves]

    def prior_node(self, node):
        """The node whose prior a leaf gets, or None."""
        found = self.prior_nodes[node] if node < len(self.prior_nodes) else -1
        return None if found < 0 else found

    def post_order(self):
        """All nodes, each after its children and as late as can be.

        Whoever follows this order holds the fewest results: in a tree of pairs, one per level.
        """
        order, waiting = [], [self.root]
        while waiting:
            node = waiting.pop()
            order.append(node)
            waiting += self.children(node)
        return order[::-1]

    def heights(self):
        """How many merges lie between each node and its deepest leaf.

        >>> sequential(4).heights()
        [0, 0, 0, 0, 1, 2, 3]
        """
        heights = [0] * self.n_leaves
        for merged in self.merges:
            heights.append(1 + max(heights[node] for node in merged))
        return heights

    def sizes(self):
        """How many leaves lie below each node.

        >>> sequential(4).sizes()
        [1, 1, 1, 1, 2, 3, 4]
        """
        sizes = [1] * self.n_leaves
        for merged in self.merges:
            sizes.append(sum(sizes[node] for node in merged))
        return sizes

    def seeds(self, seed):
        """A seed for every node, by its number."""
        return [child_seed(seed, node) for node in range(self.root + 1)]


def as_tree(shape, n_leaves, *, allow_guided=False):
    """The tree of a shape: "balanced", "sequential", how many results a merge takes, or a Tree.

    Or "guided", where leaves can be (`allow_guided`).

    >>> as_tree("balanced", 4).merges, as_tree(4, 4).merges
    (((0, 1), (2, 3), (4, 5)), ((0, 1, 2, 3),))
    """
    if isinstance(shape, Tree):
        return shape
    if shape == "guided" and allow_guided:
        return guided(n_leaves)
    if shape == "sequential":
        return sequential(n_leaves)
    if shape == "balanced":
        return k_ary(n_leaves, 2)
    if isinstance(shape, str):
        if not shape.isdecimal():
            known = "'guided', 'balanced'" if allow_guided else "'balanced'"
            raise InputError(
                f"tree={shape!r} is not {known}, 'sequential' or a number of results per merge"
            )
        shape = int(shape)
    return k_ary(n_leaves, check_count("tree", shape, least=2))


def k_ary(n_leaves, arity):
    """Merge `arity` neighbors at a time, level by level; one that is left alone moves up.

    >>> k_ary(5, 3).merges
    ((0, 1, 2), (3, 4), (5, 6))
    """
    merges, level, following = [], list(range(n_leaves)), n_leaves
    while len(level) > 1:
        groups = [level[start : start + arity] for start in range(0, len(level), arity)]
        level = []
        for group in groups:
            if len(group) == 1:
                level += group
            else:
                merges.append(tuple(group))
                level.append(following)
                following += 1
    return Tree(n_leaves, tuple(merges))


def guided(n_leaves):
    """Merge waves of 1, 2, 4, ... leaves into a leader; leaf j gets the prior of one of j / 4.

    The leaders are leaf 0 and merges of the first 2, 4, 8, ... leaves. A leaf's prior is so old
    that it is there before the leaf's turn: nobody waits for the merge of the wave before. Half of
    a large wave is merged into the leader at a time, in groups first, so that little is left to do
    after the last leaf.

    >>> guided(6).merges, guided(6).prior_nodes
    (((0, 1), (6, 2, 3), (7, 4, 5)), (-1, -1, -1, 0, 0, 6))
    """
    merges, leader, leaders, size = [], 0, {1: 0}, 1

    def merged(nodes):
        merges.append(tuple(nodes))
        return n_leaves + len(merges) - 1

    while size < n_leaves:
        half = max(size // 2, _GROUP)
        for start in range(size, min(2 * size, n_leaves), half):
            wave = list(range(start, min(start + half, 2 * size, n_leaves)))
            while len(wave) > _GROUP:
                groups = [wave[first : first + _GROUP] for first in range(0, len(wave), _GROUP)]
                wave = [merged(group) if len(group) > 1 else group[0] for group in groups]
            leader = merged([leader, *wave])
        size *= 2
        leaders[size] = leader
    known = [1 << ((leaf - 1) // 2).bit_length() - 1 if leaf > 2 else 0 for leaf in range(n_leaves)]
    return Tree(n_leaves, tuple(merges), tuple(leaders.get(size, -1) for size in known))


def sequential(n_leaves):
    """Merge one leaf after the other into what has been merged so far.

    >>> sequential(4).merges
    ((0, 1), (4, 2), (5, 3))
    """
    merges, so_far = [], 0
    for leaf in range(1, n_leaves):
        merges.append((so_far, leaf))
        so_far = n_leaves + leaf - 1
    return Tree(n_leaves, tuple(merges))


def random_tree(n_leaves, *, rng):
    """Merge any two, drawn at random, until one is left.

    >>> import numpy as np
    >>> random_tree(2, rng=np.random.default_rng(3)).n_leaves
    2
    """
    merges, left = [], list(range(n_leaves))
    while len(left) > 1:
        merges.append(tuple(left.pop(int(rng.integers(len(left)))) for _ in range(2)))
        left.append(n_leaves + len(merges) - 1)
    return Tree(n_leaves, tuple(merges))
