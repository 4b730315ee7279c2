"""Where edges come from: files of any size, synthetic graphs, points and their neighbours.

The table of contents: each name is imported when it is first used.
"""

from importlib import import_module

_HOME = {
    "EdgeSource": "base",
    "Summary": "summary",
    "SyntheticSource": "synthetic",
    "as_edge_list": "coerce",
    "as_stream": "coerce",
    "barbell": "synthetic",
    "block_model": "random_graphs",
    "chung_lu": "random_graphs",
    "complete": "synthetic",
    "complete_bipartite": "synthetic",
    "cycle": "synthetic",
    "erdos_renyi": "random_graphs",
    "gaussian_neighbors": "random_graphs",
    "grid": "synthetic",
    "hypercube": "synthetic",
    "neighbor_edges": "neighbors",
    "path": "synthetic",
    "read_edges": "files",
    "read_mail": "mail",
    "small_world": "random_graphs",
    "star": "synthetic",
    "summarise": "summary",
    "text_points": "mail_words",
    "write_columns": "result_writing",
    "write_edges": "writing",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__():
    return __all__
