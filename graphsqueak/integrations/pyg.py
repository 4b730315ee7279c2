"""Sparsification as a transform of PyTorch Geometric (extra `pyg`).

The module can be imported without torch; `Sparsify` then raises an error with the command to
install it.
"""

import copy
from typing import Any

import numpy as np
import scipy.sparse

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.sparsify import sparsify
from graphsqueak.validation import check_weights

try:
    import torch
    from torch_geometric.data import Batch, Data
    from torch_geometric.transforms import BaseTransform
    from torch_geometric.utils import select
except ImportError:
    torch, BaseTransform = None, object

# Difference of the weights of the two directions of an edge that rounding explains, relative to the
# largest weight: weights in single precision, and a few operations. Halved or doubled, graphs whose
# directions differ by that much are refused or not.
ROUNDING = 1e-6


class Sparsify(BaseTransform):
    """Sparsify a graph: fewer edges with new weights, and about the same Laplacian.

    Use it to train graph neural networks on dense graphs faster. `Sparsify(keep=0.3)(data)` returns
    new data whose `edge_index` has fewer columns, in their old order and in both directions, and
    whose `edge_weight` has their weights, the third argument of many layers. All nodes are kept,
    and self-loops too, which a Laplacian ignores. Edge attributes are kept with their edges.
    `edge_label` and `edge_label_index`, the pairs of a link prediction, are not changed.

    Parameters
    ----------
    keep, n_edges, epsilon : exactly one
        Fraction of the edges, number of edges, or error, which is then certified. An edge counts
        once, although both directions are listed; self-loops do not count.
    weight : str
        Attribute with the edge weights, if it exists (otherwise all are 1). The new weights are
        written to it.
    reweight : bool
        Whether kept edges get new weights. Without them, layers that average over neighbors, such
        as GCNConv, may be more accurate for few edges per node, because a heavy edge outweighs the
        node itself.
    method : str
        As in `graphsqueak.sparsify`; "uniform" drops edges at random, as DropEdge does.
    random_state : int, Generator or None
        With an int, the same data give the same edges; with None, each call gives others.

    Examples
    --------
    Use it with other transforms; graphs must list both directions::

        import torch_geometric.transforms as T

        once = T.Compose([T.ToUndirected(), Sparsify(keep=0.3, random_state=7)])
        cora = Planetoid("data", "Cora", pre_transform=once)[0]
        layer = GCNConv(cora.num_features, 16)
        hidden = layer(cora.x, cora.edge_index, cora.edge_weight)
    """

    def __init__(
        self,
        *,
        keep: float | None = None,
        n_edges: int | None = None,
        epsilon: float | None = None,
        weight: str = "edge_weight",
        reweight: bool = True,
        method: str = "auto",
        random_state: RandomState = None,
    ) -> None:
        if torch is None:
            raise ImportError("Sparsify needs torch: pip install 'graphsqueak[pyg]'")
        Budget(n_edges, epsilon, keep).validate()
        self.keep = keep
        self.n_edges = n_edges
        self.epsilon = epsilon
        self.weight = weight
        self.reweight = reweight
        self.method = method
        self.random_state = random_state

    def forward(self, data: Any) -> Any:
        """Return the sparsified data.

        Parameters
        ----------
        data : torch_geometric.data.Data or Batch
            An undirected graph. The graphs of a batch are sparsified separately.
        """
        if isinstance(data, Batch):
            return Batch.from_data_list([self(one) for one in data.to_data_list()])
        _check_data(data)
        tail, head = data.edge_index.cpu().numpy()
        given = _given_weights(data, self.weight)
        weight = np.ones(tail.size) if given is None else given.cpu().numpy().astype(np.float64)
        check_weights(weight)
        attributes = _edge_attributes(data, self.weight, tail, head)
        graph = _undirected_graph(tail, head, weight, data.num_nodes)
        kept, new_weight = self._kept_columns(graph, tail, head, weight)
        dtype = torch.get_default_dtype()
        if given is not None and given.dtype.is_floating_point:
            dtype = given.dtype
        out = _select_columns(data, ["edge_index", *attributes], kept)
        device = data.edge_index.device
        out[self.weight] = torch.from_numpy(new_weight).to(device=device, dtype=dtype)
        return out

    def _kept_columns(self, graph, tail, head, weight):
        """Return the kept columns of the edge index in ascending order, and their weights."""
        kept_graph = graph
        if graph.n_edges:
            kept_graph = sparsify(
                graph, **self._budget(), method=self.method, random_state=self.random_state
            )
        matrix = kept_graph.to_scipy().tocsr()
        is_loop = tail == head
        # Columns that are listed twice become one.
        is_first = np.zeros(tail.size, dtype=bool)
        key = tail * np.int64(graph.n_nodes) + head
        is_first[np.unique(key, return_index=True)[1]] = True
        kept = np.flatnonzero(is_loop | (is_first & (_entries(matrix, tail, head) > 0)))
        if not self.reweight:
            matrix = graph.to_scipy().tocsr()
        new_weight = _entries(matrix, tail[kept], head[kept])
        return kept, np.where(is_loop[kept], weight[kept], new_weight)

    def _budget(self):
        return {"keep": self.keep, "n_edges": self.n_edges, "epsilon": self.epsilon}

    def __repr__(self) -> str:
        budget = [f"{name}={value}" for name, value in self._budget().items() if value is not None]
        return f"Sparsify({budget[0]})"


def _check_data(data):
    if not isinstance(data, Data):
        raise InputError(
            f"Sparsify takes the graph of a Data, not a {type(data).__name__}; convert graphs with "
            "several kinds of nodes by data.to_homogeneous() first"
        )
    if data.edge_index is None:
        raise InputError("the data have no edge_index; put Sparsify before T.ToSparseTensor()")


def _given_weights(data, name):
    """Return the weight of each column of the edge index, or None."""
    values = data.get(name)
    if values is None:
        return None
    flat = values[:, 0] if values.dim() == 2 and values.shape[1] == 1 else values
    if flat.shape != data.edge_index.shape[1:]:
        raise InputError(
            f"{name} has the shape {tuple(values.shape)}, which is not a weight for "
            f"each of the {data.edge_index.shape[1]} columns of edge_index; name "
            "another attribute (",
            Parameter("weight"),
            ")",
        )
    return flat


def _undirected_graph(tail, head, weight, n_nodes):
    """Return the graph with each edge once, parallel edges summed, without self-loops."""
    shape = (n_nodes, n_nodes)
    matrix = scipy.sparse.coo_array((weight, (tail, head)), shape=shape).tocsr()
    difference = abs(matrix - matrix.T).tocoo()
    wrong = np.flatnonzero(difference.data > ROUNDING * weight.max(initial=0.0))
    if wrong.size:
        u = difference.row[wrong[0]]
        v = difference.col[wrong[0]]
        raise InputError(
            f"the graph is directed: {u} -> {v} weighs {matrix[u, v]:g}, {v} -> {u} "
            f'{matrix[v, u]:g}; apply T.ToUndirected() first (reduce="mean" for two weights)'
        )
    upper = scipy.sparse.triu((matrix + matrix.T) / 2, k=1, format="coo")
    return EdgeList(tail=upper.row, head=upper.col, weight=upper.data, n_nodes=n_nodes)


def _entries(matrix, tail, head):
    """Return the entries of a sparse matrix, 0 if there is none."""
    return np.asarray(matrix[tail, head]).ravel() if tail.size else np.zeros(0)


def _edge_attributes(data, weight, tail, head):
    """Return the names of the edge attributes, except the weight."""
    others = ("edge_index", "edge_label", "edge_label_index", weight)
    names = [name for name, _ in data if name not in others and data.is_edge_attr(name)]
    is_edge = tail != head
    edges = np.stack([tail[is_edge], head[is_edge]])
    if names and np.unique(edges, axis=1).shape[1] < edges.shape[1]:
        raise InputError(
            f"{', '.join(names)} cannot be kept, because some edges are listed twice and become "
            "one; call data.coalesce() first, or remove the attribute"
        )
    return names


def _select_columns(data, attributes, kept):
    """Return a copy of the data in which the attributes have the kept columns only."""
    n_nodes = data.num_nodes
    index = torch.from_numpy(kept).to(data.edge_index.device)
    out = copy.copy(data)
    for name in attributes:
        out[name] = select(data[name], index, dim=data.__cat_dim__(name, data[name]))
    # torch_geometric may infer the number of nodes from the edges.
    if out.num_nodes != n_nodes:
        out.num_nodes = n_nodes
    return out
