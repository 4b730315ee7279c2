"""Run a merge tree in this process or on workers.

A backend is a function run(tree, leaf, merge, items, seeds, report, make_prior) that computes

    result(node) = leaf(item, seed)                 for a leaf
    result(node) = merge([results], seed)           for a merge

with the item and the seed of the node. It calls report(node, peak, size) after each node, with the
peak memory of the process and the bytes of the result, and returns the result of the root.

A leaf with a prior node is called with prior=, which is make_prior(result) of that node. All
functions are pure, so that every backend returns the same result, even if workers die.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from graphsqueak.system.memory import peak_rss
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.trees.shapes import Tree


class TreeRun(NamedTuple):
    """Result of the root, peak memory of a worker, and bytes of all results that were merged."""

    result: Any
    worker_peak_bytes: int
    moved_bytes: int


def run_tree(
    tree: Tree,
    leaf: Callable,
    merge: Callable,
    items: Sequence,
    *,
    seed: int,
    backend: Callable,
    make_prior: Callable | None = None,
    progress: Progress = False,
) -> TreeRun:
    """Run a merge tree on a backend.

    Parameters
    ----------
    tree : Tree
    leaf, merge : callable
        leaf(item, seed) and merge(results, seed). Functions of a module, or partials of them, so
        that they can be sent to workers.
    items : sequence
        Input of each leaf.
    seed : int
        Seed of the run. Every node gets a child seed.
    backend : callable
        From `open_backend`, or `run_here`.
    make_prior : callable, optional
        What leaves get of the result of their prior node. Only guided trees need it.
    progress : bool or callable
        As in `graphsqueak.system.progress`; counts leaves.

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
    peak_of_node: dict[int, int] = {}
    size_of_node: dict[int, int] = {}
    with reporter(progress, "running the tree", unit="parts") as show:

        def report(node, peak, size):
            # A node is reported twice if its worker died after the first report.
            peak_of_node[node] = peak
            size_of_node[node] = size
            n_done = len(size_of_node)
            n_leaves_done = sum(node < tree.n_leaves for node in size_of_node)
            show(n_leaves_done, n_done / tree.n_nodes, f"{n_done - n_leaves_done} merges")

        result = backend(tree, leaf, merge, items, tree.seeds(seed), report, make_prior)
    return TreeRun(
        result=result,
        worker_peak_bytes=max(peak_of_node.values(), default=0),
        moved_bytes=sum(size for node, size in size_of_node.items() if node != tree.root),
    )


def run_here(tree, leaf, merge, items, seeds, report, make_prior):
    """Run a tree in this process: a backend that keeps as few results as the tree allows."""
    results: dict[int, Any] = {}
    priors: dict[int | None, Any] = {}
    for node in tree.post_order():
        children = tree.children(node)
        results[node] = compute(
            merge if children else leaf,
            [results.pop(child) for child in children] if children else items[node],
            seeds[node],
            prior=priors.get(tree.prior_node(node)),
        )
        if node in tree.prior_nodes:
            priors[node] = make_prior(results[node])
        report(node, peak_rss(), size_of(results[node]))
    return results[tree.root]


def compute(function, inputs, seed, *, prior=None):
    """Return the result of the function of a node."""
    # Functions for trees without priors do not have this parameter.
    options = {} if prior is None else {"prior": prior}
    # BLAS rounds differently on several threads, and backends must agree.
    with threadpool_limits(1, user_api="blas"):
        return function(inputs, seed, **options)


def size_of(result):
    """Return the number of bytes of a result that is bytes, 0 of any other."""
    return len(result) if isinstance(result, bytes) else 0
