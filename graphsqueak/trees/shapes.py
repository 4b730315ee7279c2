"""Shapes of merge trees: which results are merged, and in which order.

Leaves are numbered 0, ..., n_leaves - 1, and merges follow. The seed of a node is derived from its
number. Only neighbors are merged, so that a result stands for consecutive parts of the stream
[C17, Section 3.3.2, Fig. 3.3].

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

from typing import NamedTuple

from graphsqueak.errors import InputError, Parameter
from graphsqueak.randomness import child_seed
from graphsqueak.validation import check_count

# Results that a merge of a guided tree takes, besides the leader. The bound limits the memory of a
# merge. Halved or doubled (32 parts, 12 seeds, two graphs): epsilon changes by at most 1.2 %,
# with a standard error of 1 %.
_LEAVES_PER_MERGE = 4


class Tree(NamedTuple):
    """Merge tree with nodes 0, ..., n_nodes - 1; the last one is the root.

    Parameters
    ----------
    n_leaves : int
    merges : tuple of tuple of int
        The nodes that each merge takes. Merge j is node n_leaves + j.
    prior_nodes : tuple of (int or None)
        The node whose prior each leaf starts from, or None. Empty if no leaf has a prior.

    Examples
    --------
    >>> Tree(3, ((0, 1), (3, 2))).post_order()
    [0, 1, 3, 2, 4]
    """

    n_leaves: int
    merges: tuple[tuple[int, ...], ...]
    prior_nodes: tuple[int | None, ...] = ()

    @property
    def n_nodes(self) -> int:
        """Number of leaves and merges."""
        return self.n_leaves + len(self.merges)

    @property
    def root(self) -> int:
        """The node whose result is the result of the tree."""
        return self.n_nodes - 1

    def children(self, node: int) -> tuple[int, ...]:
        """Return the nodes that `node` merges; none for a leaf."""
        return () if node < self.n_leaves else self.merges[node - self.n_leaves]

    def prior_node(self, node: int) -> int | None:
        """Return the node whose prior a leaf starts from; None for merges and without a prior."""
        return self.prior_nodes[node] if node < len(self.prior_nodes) else None

    def post_order(self) -> list[int]:
        """Return all nodes, each as late as possible but after its children.

        In this order the fewest results are in memory: one per level of a binary tree.
        """
        order = []
        stack = [self.root]
        while stack:
            node = stack.pop()
            order.append(node)
            stack += self.children(node)
        return order[::-1]

    def heights(self) -> list[int]:
        """Return the number of merges between each node and its deepest leaf.

        >>> sequential(4).heights()
        [0, 0, 0, 0, 1, 2, 3]
        """
        heights = [0] * self.n_leaves
        for children in self.merges:
            heights.append(1 + max(heights[node] for node in children))
        return heights

    def sizes(self) -> list[int]:
        """Return the number of leaves below each node.

        >>> sequential(4).sizes()
        [1, 1, 1, 1, 2, 3, 4]
        """
        sizes = [1] * self.n_leaves
        for children in self.merges:
            sizes.append(sum(sizes[node] for node in children))
        return sizes

    def seeds(self, seed: int) -> list[int]:
        """Return a seed for each node, which depends on its number only."""
        return [child_seed(seed, node) for node in range(self.n_nodes)]


def as_tree(shape: str | int | Tree, n_leaves: int, *, allow_guided: bool = False) -> Tree:
    """Return the tree of a shape.

    Parameters
    ----------
    shape : {"guided", "balanced", "sequential"}, int or Tree
        A number, also as text, is the number of results per merge.
    n_leaves : int
    allow_guided : bool
        Whether the leaves accept priors, which "guided" needs.

    Examples
    --------
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
                Parameter("tree", shape),
                f" is not {known}, 'sequential' or a number of results per merge",
            )
        shape = int(shape)
    return k_ary(n_leaves, check_count("tree", shape, least=2))


def k_ary(n_leaves: int, arity: int) -> Tree:
    """Return the tree that merges `arity` neighbors at a time, level by level.

    >>> k_ary(5, 3).merges
    ((0, 1, 2), (3, 4), (5, 6))
    """
    merges = _Merges(n_leaves)
    merges.add_groups(range(n_leaves), arity, max_left=1)
    return merges.tree()


def guided(n_leaves: int) -> Tree:
    """Return the tree whose leaves start from the prior of a leader, a merge of earlier leaves.

    The leaders are leaf 0 and the merges of the first 2, 4, 8, ... leaves. Leaf j > 2 starts from
    the leader of the first 2^k leaves, with j / 4 <= 2^k < j / 2. This leader is so old that it is
    finished before the leaf starts: no leaf waits for the merge of the previous leaves.

    >>> guided(6).merges, guided(6).prior_nodes
    (((0, 1), (6, 2, 3), (7, 4, 5)), (None, None, None, 0, 0, 6))
    """
    merges = _Merges(n_leaves)
    leader = 0
    leader_of_size = {1: 0}
    size = 1
    while size < n_leaves:
        # The leaves size, ..., 2 size - 1 are merged in two halves, each in groups first, so that
        # little is left to merge after the last leaf.
        half = max(size // 2, _LEAVES_PER_MERGE)
        end = min(2 * size, n_leaves)
        for start in range(size, end, half):
            leaves = range(start, min(start + half, end))
            left = merges.add_groups(leaves, _LEAVES_PER_MERGE, max_left=_LEAVES_PER_MERGE)
            leader = merges.add([leader, *left])
        size *= 2
        leader_of_size[size] = leader
    # The largest power of two below leaf / 2; 0, which is no size, for the first three leaves.
    prior_sizes = [1 << max((leaf - 1) // 2, 0).bit_length() >> 1 for leaf in range(n_leaves)]
    return merges.tree(leader_of_size.get(size) for size in prior_sizes)


def sequential(n_leaves: int) -> Tree:
    """Return the tree that merges the leaves one by one into the result of the earlier ones.

    >>> sequential(4).merges
    ((0, 1), (4, 2), (5, 3))
    """
    merges = _Merges(n_leaves)
    merged = 0
    for leaf in range(1, n_leaves):
        merged = merges.add([merged, leaf])
    return merges.tree()


class _Merges:
    """Merges of a tree under construction, numbered in the order in which they are added."""

    def __init__(self, n_leaves):
        self._n_leaves = n_leaves
        self._merges = []

    def add(self, nodes):
        """Add a merge and return its node."""
        self._merges.append(tuple(nodes))
        return self._n_leaves + len(self._merges) - 1

    def add_groups(self, nodes, n_per_group, *, max_left):
        """Merge neighbors, level by level, until at most `max_left` are left; return these.

        A node that is alone in its group moves up to the next level.
        """
        while len(nodes) > max_left:
            groups = [nodes[i : i + n_per_group] for i in range(0, len(nodes), n_per_group)]
            nodes = [self.add(group) if len(group) > 1 else group[0] for group in groups]
        return nodes

    def tree(self, prior_nodes=()):
        return Tree(self._n_leaves, tuple(self._merges), tuple(prior_nodes))
