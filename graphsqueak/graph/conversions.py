"""Graphs of other libraries, in and out: networkx, igraph, and tables.

Names of nodes may be anything hashable, and what else is known of the nodes (their attributes) goes
with the names: an EdgeList that comes from networkx or igraph gives it back there, and so does its
sparsifier. Of the edges the weight alone is kept, since a sparsifier has edges of its own weight.
"""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.id_arrays import as_ids, node_attributes, with_attributes
from graphsqueak.system.frames import ArrowExport

if TYPE_CHECKING:
    import igraph
    import networkx

__all__ = ["Exchange"]


class Exchange(ArrowExport):
    """The part of `EdgeList` that speaks to other libraries."""

    node_ids: Any
    n_nodes: int

    @classmethod
    def _by_appearance(cls, tail: Any, head: Any, weight: Any, ids: np.ndarray) -> Self:
        raise NotImplementedError

    @classmethod
    def from_networkx(cls, graph: "networkx.Graph", *, weight: str = "weight") -> Self:
        """Build from an undirected networkx graph; its node attributes are kept.

        >>> import networkx as nx
        >>> from graphsqueak.graph import EdgeList
        >>> EdgeList.from_networkx(nx.path_graph(4))
        EdgeList(n_nodes=4, n_edges=3, total_weight=3)

        Parameters
        ----------
        graph : networkx.Graph or networkx.MultiGraph
        weight : str
            Name of the edge attribute that holds the weight; an edge without it weighs 1.
        """
        _refuse_directed(graph, "networkx", "graph.to_undirected()")
        nodes = list(graph)
        number = {name: node for node, name in enumerate(nodes)}
        tail, head, weights = [], [], []
        for source, target, value in graph.edges(data=weight, default=1.0):
            tail.append(number[source])
            head.append(number[target])
            weights.append(value)
        ids = with_attributes(as_ids(nodes), [known for _, known in graph.nodes(data=True)])
        return cls._by_appearance(tail, head, _numbers(weights, weight), ids)

    @classmethod
    def from_igraph(cls, graph: "igraph.Graph", *, weight: str = "weight") -> Self:
        """Build from an undirected igraph graph; its vertex attributes are kept.

        Nodes are named by the attribute `name` if there is one, else numbered.

        Parameters
        ----------
        graph : igraph.Graph
        weight : str
            Name of the edge attribute that holds the weight; without it all edges weigh 1.
        """
        _refuse_directed(graph, "igraph", "graph.as_undirected()")
        ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
        values = graph.es[weight] if weight in graph.es.attributes() else None
        known = {name: graph.vs[name] for name in graph.vs.attributes()}
        names = known.pop("name", list(range(graph.vcount())))
        if len(set(names)) < len(names):
            raise InputError("two vertices of the igraph graph have one name; rename one")
        rows = [dict(zip(known, row, strict=True)) for row in zip(*known.values(), strict=True)]
        weights = None if values is None else _numbers(values, weight)
        ids = with_attributes(as_ids(names), rows)
        return cls._by_appearance(ends[:, 0], ends[:, 1], weights, ids)

    @property
    def node_attributes(self) -> list[dict[str, Any]] | None:
        """What is known of each node beside its name, if the graph came with it; else None."""
        return node_attributes(self.node_ids)

    def to_networkx(self) -> "networkx.Graph":
        """`networkx.Graph` over the user's ids, parallel edges summed into attribute `weight`.

        >>> import networkx as nx
        >>> from graphsqueak.graph import EdgeList
        >>> graph = nx.Graph([("ann", "bob")])
        >>> graph.nodes["ann"]["age"] = 31
        >>> EdgeList.from_networkx(graph).to_networkx().nodes["ann"]
        {'age': 31}
        """
        import networkx as nx

        edges: Any = self
        simple, names = edges.simplified(), edges.ids.tolist()
        graph = nx.Graph()
        graph.add_nodes_from(zip(names, self._known_of_nodes(), strict=True))
        rows = zip(*(a.tolist() for a in (simple.tail, simple.head, simple.weight)), strict=True)
        graph.add_weighted_edges_from((names[u], names[v], w) for u, v, w in rows)
        return graph

    def to_igraph(self) -> "igraph.Graph":
        """`igraph.Graph`, vertices with the attribute `name`, parallel edges summed into `weight`.

        Where nodes are plain numbers they have no name.
        """
        try:
            import igraph
        except ModuleNotFoundError:
            raise InputError("igraph is not installed: pip install igraph") from None
        edges: Any = self
        simple, known = edges.simplified(), self._known_of_nodes()
        names = {} if edges.node_ids is None else {"name": simple.ids.tolist()}
        columns = sorted({name for row in known for name in row})
        return igraph.Graph(
            n=simple.n_nodes,
            edges=np.column_stack([simple.tail, simple.head]),
            edge_attrs={"weight": simple.weight.tolist()},
            vertex_attrs=names | {name: [row.get(name) for row in known] for name in columns},
        )

    def _known_of_nodes(self):
        known = self.node_attributes
        return [{}] * self.n_nodes if known is None else [dict(row) for row in known]

    def _columns(self):
        edges: Any = self
        return {
            "source": edges.ids[edges.tail],
            "target": edges.ids[edges.head],
            "weight": edges.weight,
        }


def _numbers(weights, name):
    try:
        return np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"the edge attribute {name!r} is not a number everywhere; choose another (weight=)"
        ) from None


def _refuse_directed(graph, library, line):
    if graph.is_directed():
        raise InputError(
            f"the {library} graph is directed; call {line} first, or add the weights of both "
            "directions yourself"
        )
