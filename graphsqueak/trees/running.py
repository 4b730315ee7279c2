"""Run a merge tree, here or on workers.

A backend is a function run(tree, leaf, merge, items, seeds, report) that computes

    result(node) = leaf(item, seed)                 for a leaf
    result(node) = merge([results], seed)           for a merge

for the node's own item and seed, tells report(node, peak, size) as each is finished (most memory
its process has held, bytes of its result), and returns the root's result. For a node whose
prior leaves get, the function gets returns_prior=True as well and returns two: its result, and the
prior that each of those leaves gets as prior=. The functions are pure, so that all backends return
the same, however often a worker dies.
"""

from typing import NamedTuple

from threadpoolctl import threadpool_limits

from graphsqueak.system.memory import peak_rss
from graphsqueak.system.progress import reporter

__all__ = ["TreeRun", "compute", "run_here", "run_tree", "size_of"]


class TreeRun(NamedTuple):
    """The root's result, the largest memory of a worker, and bytes that merges took in."""

    result: object
    worker_peak_bytes: int
    moved_bytes: int


def run_tree(tree, leaf, merge, items, *, seed, backend, progress=False, unit="parts"):
    """Run `tree` on a backend.

    Parameters
    ----------
    tree : Tree
    leaf, merge : callable
        leaf(item, seed) and merge(results, seed); module-level functions, or partials of them, so
        that they can be sent to workers.
    items : list
        What each leaf is made of.
    seed : int
        Of the whole; every node gets a child of it.
    backend : callable
        From `open_backend`, or `run_here`.
    progress : bool or callable
        As of `graphsqueak.system.progress`, in leaves.

    Returns
    -------
    TreeRun

    Examples
    --------
    >>> from graphsqueak.trees.shapes import as_tree
    >>> def leaf(item, seed): return [item]
    >>> def merge(parts, seed): return sum(parts, [])
    >>> run_tree(as_tree("balanced", 3), leaf, merge, "abc", seed=7, backend=run_here).result
    ['a', 'b', 'c']
    """
    done = {}
    with reporter(progress, "running the tree", unit=unit) as show:

        def report(node, peak, size):
            done[node] = peak, size
            n_leaves = sum(node < tree.n_leaves for node in done)
            show(n_leaves, len(done) / (tree.root + 1), f"{len(done) - n_leaves} merges")

        result = backend(tree, leaf, merge, items, tree.seeds(seed), report)
    moved = sum(size for node, (_, size) in done.items() if node != tree.root)
    return TreeRun(result, max((peak for peak, _ in done.values()), default=0), moved)


def run_here(tree, leaf, merge, items, seeds, report):
    """The backend of this process: node by node, holding as few results as the tree allows."""
    held, priors = {}, {}
    for node in tree.post_order():
        children, prior_node = tree.children(node), tree.prior_node(node)
        more = {} if prior_node is None else {"prior": priors[prior_node]}
        if children:
            function, inputs = merge, [held.pop(child) for child in children]
        else:
            function, inputs = leaf, items[node]
        if node in tree.prior_nodes:
            result = compute(function, inputs, seeds[node], returns_prior=True, **more)
            held[node], priors[node] = result
        else:
            held[node] = compute(function, inputs, seeds[node], **more)
        report(node, peak_rss(), size_of(held[node]))
    return held[tree.root]


def compute(function, *inputs, **more):
    """function(*inputs, **more) with BLAS on one thread: on more, it may round otherwise."""
    with threadpool_limits(1, user_api="blas"):
        return function(*inputs, **more)


def size_of(result):
    """Bytes of a result that is bytes, 0 of anything else."""
    return len(result) if isinstance(result, bytes) else 0
