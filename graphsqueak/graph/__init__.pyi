# written by docs/generate.py; do not edit
from graphsqueak.graph.edge_list import EdgeList as EdgeList
from graphsqueak.graph.timed_edges import TimedEdges as TimedEdges

__all__ = [
    "EdgeList",
    "TimedEdges",
]
