"""L_G X as a sum over the parts of a graph, multiplied by any number of workers.

    leaf(part)         product of one part, its number of edges, and the nodes that it connects
    merge(results)     their sums, in the order of the parts

Both are pure functions, run as a merge tree (`graphsqueak.trees`). The sum is bit-for-bit the same
for the same parts in this process, on workers of this machine or on a cluster. X and the ids of its
rows are sent to every part, and a block of the same size is returned.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import find_all, union_edges
from graphsqueak.nodes.union import pack_ids, unpack_ids
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.files.splitting import split
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian, check_same_edges
from graphsqueak.system.packing import pack_bytes, unpack
from graphsqueak.trees.running import run_here, run_tree
from graphsqueak.trees.shapes import as_tree


class Sharing(NamedTuple):
    """Number of parts of a graph, and the workers that read them. Default: one part."""

    workers: int | None = None
    scheduler: str | None = None
    n_parts: int | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether the graph is divided into parts."""
        return any(value is not None for value in self)

    def settings(self) -> dict[str, Any]:
        """Return the same as arguments of `sparsify`."""
        return self._asdict() | {"tree": "balanced"} if self.is_wanted else {}


class PartedLaplacian:
    """Laplacian of a graph in parts, as an operator on the nodes of `sparsifier`.

    It replaces a `StreamedLaplacian`, and has the same attributes.

    Parameters
    ----------
    source : EdgeSource of files, or EdgeList
    sparsifier : EdgeList
    n_parts : int, optional

    Attributes
    ----------
    backend : callable
        Runs the tree, see `graphsqueak.trees.backends`. Default: in this process.

    Examples
    --------
    >>> path = EdgeList(tail=[0, 1, 2], head=[1, 2, 3], weight=[1.0, 2.0, 1.0])
    >>> PartedLaplacian(path, path, 2).multiply(np.array([[1.0], [0.0], [0.0], [0.0]])).ravel()
    array([ 1., -1.,  0.,  0.])
    """

    def __init__(
        self, source: EdgeSource | EdgeList, sparsifier: EdgeList, n_parts: int | None
    ) -> None:
        self.backend: Callable = run_here
        self._pieces = split(source, n_parts)
        self._n_nodes = sparsifier.n_nodes
        self._ids = pack_ids(sparsifier.node_ids, sparsifier.n_nodes)
        self.n_passes = 0
        self.n_edges: int | None = None
        self.component: np.ndarray | None = None
        self.fingerprint: tuple | None = None

    def multiply(self, X: np.ndarray, report: Callable | None = None) -> np.ndarray:
        """Return L_G X, in one pass over all parts."""
        block = pack_bytes({"n_nodes": self._n_nodes}, self._ids | {"X": X})

        def report_edges(n_parts, fraction, note):
            if report is not None:
                report(int(fraction * (self.n_edges or 0)), fraction)

        with warnings.catch_warnings():
            # A warning of Dask: the block is large, and every part needs it.
            warnings.filterwarnings("ignore", "Sending large graph")
            run = run_tree(
                as_tree("balanced", len(self._pieces)),
                partial(_leaf, block=block),
                _merge,
                self._pieces,
                seed=0,
                backend=self.backend,
                progress=report_edges,
            )
        record, arrays = unpack(run.result, "the product")
        fingerprint = (record["n_edges"], record["checksum"])
        self.fingerprint = check_same_edges(self.fingerprint, fingerprint)
        self.n_edges = record["n_edges"]
        self.component = arrays["component"]
        self.n_passes += 1
        return arrays["product"]


def _leaf(piece, seed, *, block):
    record, arrays = unpack(block, "the block")
    nodes = EdgeList.from_validated([], [], [], record["n_nodes"], unpack_ids(arrays))
    laplacian = StreamedLaplacian(piece, nodes)
    product = laplacian.multiply(arrays["X"])
    n_edges, checksum = laplacian.fingerprint or (laplacian.n_edges, 0)
    return pack_bytes(
        {"n_edges": n_edges, "checksum": checksum},
        {"product": product, "component": laplacian.component},
    )


def _merge(results, seed):
    """Return the sums of products and counts, and the components of the union of the parts."""
    found = [unpack(result, "a product") for result in results]
    product = found[0][1]["product"]
    parent = found[0][1]["component"].copy()
    node = np.arange(parent.size, dtype=parent.dtype)
    # In the order of the parts, so that rounding does not depend on which worker was first.
    for _, arrays in found[1:]:
        product = product + arrays["product"]
        union_edges(parent, node, arrays["component"])
    record = {
        "n_edges": sum(record["n_edges"] for record, _ in found),
        "checksum": sum(record["checksum"] for record, _ in found) % 2**64,
    }
    return pack_bytes(record, {"product": product, "component": find_all(parent)})
