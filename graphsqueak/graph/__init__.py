"""Graphs in memory: `EdgeList`, the one currency of the package, and union-find."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "EdgeList": "edge_list",
        "TimedEdges": "timed_edges",
    },
)
