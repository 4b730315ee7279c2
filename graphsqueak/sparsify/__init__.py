"""Sparsifiers and what they stand on: effective resistances.

The package is named after its main function and is that function, too: `graphsqueak.sparsify(...)`
calls `graphsqueak.sparsify.one_call.sparsify`, whichever of its modules were imported before.
"""

import sys
from importlib import import_module
from types import ModuleType

_HOME = {
    "Certificate": "certificate",
    "Comparison": "comparison",
    "StreamOptions": "options",
    "StreamSparsifier": "stream",
    "certify": "certifying",
    "compare": "comparison",
    "effective_resistance": "resistance",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


class _CallablePackage(ModuleType):
    def __call__(self, graph, **settings):
        """See `graphsqueak.sparsify.one_call.sparsify`."""
        return import_module(f"{__name__}.one_call").sparsify(graph, **settings)


sys.modules[__name__].__class__ = _CallablePackage
