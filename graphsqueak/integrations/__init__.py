"""graphsqueak inside other libraries."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, {"Sparsify": "pyg", "to_river": "river"})
