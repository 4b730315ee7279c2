"""Sparsifiers as transforms of PyTorch Geometric (extra `pyg`).

The module is importable without torch; `Sparsify` then says what to install.
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

__all__ = ["Sparsify"]

_ROUNDING = 1e-6  # of the largest weight: single precision, and some operations on it


class Sparsify(BaseTransform):
    """Keep few edges of a graph, with new weights, so that its Laplacian stays about the same.

    `Sparsify(keep=0.3)(data)` returns new data in which `edge_index` has fewer columns, in their
    old order and both directions of an edge, and `edge_weight` says how much each counts; hand it
    to layers as their third argument. Nodes stay, isolated ones too, and so do self-loops, which a
    Laplacian does not see. Attributes of edges go with the edges that are kept; `edge_label` and
    `edge_label_index`, the pairs of a link prediction, are left alone.

    Parameters
    ----------
    keep, n_edges, epsilon : exactly one
        Share of the edges, or their number (an edge counts once, though both directions are
        listed; self-loops do not count), or the accuracy, which is then certified.
    weight : str
        Attribute that holds the weight of each edge, if there is one (else all weigh 1); the new
        weights are put there.
    reweight : bool
        False leaves kept edges the weights they had. Layers that take means over neighbors, as
        GCNConv does, may do better so where few edges a node are kept: a heavy edge drowns the
        node itself.
    method : str
        As of `graphsqueak.sparsify`; "uniform" drops edges blindly, as DropEdge does.
    random_state : int, Generator or None
        With an int the same data give the same edges; with None others at every call.

    Examples
    --------
    A transform among others; graphs must list both directions::

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
            raise ImportError("this needs torch; install it with pip install 'graphsqueak[pyg]'")
        Budget(n_edges, epsilon, keep).validate()
        self.keep = keep
        self.n_edges = n_edges
        self.epsilon = epsilon
        self.weight = weight
        self.reweight = reweight
        self.method = method
        self.random_state = random_state

    def forward(self, data: Any) -> Any:
        """The sparsified data.

        Parameters
        ----------
        data : torch_geometric.data.Data or Batch
            An undirected graph; of a batch, every graph is sparsified for itself.
        """
        if isinstance(data, Batch):
            return Batch.from_data_list([self(one) for one in data.to_data_list()])
        _check_kind(data)
        tail, head = data.edge_index.cpu().numpy()
        given = _weights(data, self.weight)
        weight = np.ones(tail.size) if given is None else given.cpu().numpy().astype(np.float64)
        check_weights(weight)
        attributes = _of_edges(data, self.weight, np.stack([tail, head]))
        graph = _undirected(tail, head, weight, data.num_nodes)
        kept, weight = self._kept(graph, tail, head, weight)
        kind = torch.get_default_dtype() if given is None else given.dtype
        kind = kind if kind.is_floating_point else torch.get_default_dtype()
        out = _cut(data, [*attributes, "edge_index"], kept)
        where = data.edge_index.device
        out[self.weight] = torch.from_numpy(weight).to(device=where, dtype=kind)
        return out

    def _kept(self, graph, tail, head, weight):
        """Columns of the edge index that stay, in their order, and what they weigh then."""
        small, n = self._sparsified(graph), np.int64(graph.n_nodes)
        pair = np.minimum(tail, head) * n + np.maximum(tail, head)
        is_loop, is_first = tail == head, np.zeros(tail.size, dtype=bool)
        is_first[np.unique(tail * n + head, return_index=True)[1]] = True
        kept = np.flatnonzero(is_loop | (is_first & (_weights_of(pair, small) > 0)))
        new = _weights_of(pair[kept], small if self.reweight else graph)
        return kept, np.where(is_loop[kept], weight[kept], new)

    def _sparsified(self, graph):
        if graph.n_edges == 0:
            return graph
        how = {"keep": self.keep, "n_edges": self.n_edges, "epsilon": self.epsilon}
        return sparsify(graph, **how, method=self.method, random_state=self.random_state)

    def __repr__(self) -> str:
        how = {"keep": self.keep, "n_edges": self.n_edges, "epsilon": self.epsilon}
        return f"Sparsify({', '.join(f'{k}={v}' for k, v in how.items() if v is not None)})"


def _check_kind(data):
    if not isinstance(data, Data):
        raise InputError(
            f"Sparsify takes the graph of a Data, not a {type(data).__name__}; of several kinds of "
            "nodes, call data.to_homogeneous() first"
        )
    if data.edge_index is None:
        raise InputError("the data have no edge_index; put Sparsify before T.ToSparseTensor()")


def _weights(data, name):
    """A weight for each column of the edge index, or None."""
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


def _undirected(tail, head, weight, n_nodes):
    """Each edge once, parallel ones added up; self-loops left out."""
    off = tail != head
    matrix = scipy.sparse.coo_array(
        (weight[off], (tail[off], head[off])), shape=(n_nodes, n_nodes)
    ).tocsr()
    gap = abs(matrix - matrix.T).tocoo()
    wrong = np.flatnonzero(gap.data > _ROUNDING * weight.max(initial=0.0))
    if wrong.size:
        u, v = gap.row[wrong[0]], gap.col[wrong[0]]
        raise InputError(
            f"the graph is directed: {u} -> {v} weighs {matrix[u, v]:g}, {v} -> {u} "
            f'{matrix[v, u]:g}; apply T.ToUndirected() first (reduce="mean" for two weights)'
        )
    half = scipy.sparse.triu((matrix + matrix.T) / 2, format="coo")
    return EdgeList(tail=half.row, head=half.col, weight=half.data, n_nodes=n_nodes)


def _weights_of(pair, graph):
    """The weights in `graph` of pairs of nodes, low * n_nodes + high; 0 where it has none."""
    simple = graph.simplified()  # sorted
    known = simple.tail * np.int64(graph.n_nodes) + simple.head
    place = np.searchsorted(known, pair)
    is_there = np.append(known, -1)[place] == pair
    return np.where(is_there, np.append(simple.weight, 0.0)[place], 0.0)


def _of_edges(data, weight, ends):
    """Names of the attributes, beside the weight, that go with the columns of the edge index."""
    others = ("edge_index", "edge_label", "edge_label_index", weight)
    names = [name for name, _ in data if name not in others and data.is_edge_attr(name)]
    off = ends[:, ends[0] != ends[1]]
    if names and np.unique(off, axis=1).shape[1] < off.shape[1]:
        raise InputError(
            f"{', '.join(names)} cannot be kept: some edges are listed twice, and become one; call "
            "data.coalesce() first, or remove the attribute"
        )
    return names


def _cut(data, attributes, kept):
    """A copy of the data in which these attributes have the kept columns alone."""
    n_nodes, index = data.num_nodes, torch.from_numpy(kept).to(data.edge_index.device)
    out = copy.copy(data)
    for name in attributes:
        out[name] = select(data[name], index, dim=data.__cat_dim__(name, data[name]))
    if out.num_nodes != n_nodes:  # known by the largest end only
        out.num_nodes = n_nodes
    return out
