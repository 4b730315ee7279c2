"""Subgraph sparsifiers for few edges: a low-stretch spanning forest plus off-tree edges."""
