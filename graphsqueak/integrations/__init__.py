"""graphsqueak inside other libraries."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, {"to_river": "river"})
