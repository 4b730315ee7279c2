# written by docs/generate.py; do not edit
from graphsqueak.graph.edge_list import EdgeList as EdgeList

__all__ = [
    "EdgeList",
]
