"""Graphs in memory: lists of edges with or without times, union-find, and arrays of node ids."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "EdgeList": "edge_list",
        "TimedEdges": "timed_edges",
    },
)
