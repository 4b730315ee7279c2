"""What one looks at: a graph beside its sparsifier."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Comparison": "comparison",
        "compare": "comparison",
    },
)
