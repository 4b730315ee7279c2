"""Public names that are imported when they are first used (PEP 562).

A package lists in its table of contents where each public name lives, and takes from here the
`__getattr__` and `__dir__` that Python asks of a module:

    __all__, __getattr__, __dir__ = lazy_names(__name__, {"EdgeList": "edge_list"})

So `import graphsqueak` costs nothing, and `graphsqueak --help` loads no numerics. Type checkers
cannot follow this; they read the `__init__.pyi` that `make docs` writes next to each table.

This module is imported before the command line can catch an interrupt, so it imports little itself.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # without `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = ["lazy_names", "tables_of_contents"]

_tables: dict[str, Mapping[str, str]] = {}


def lazy_names(
    package: str, home: Mapping[str, str], other_names: Mapping[str, str] | None = None
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package : str
        Its `__name__`.
    home : mapping of str to str
        The module, relative to the package, in which each public name lives; "" says that the
        name is itself a module of the package.
    other_names : mapping of str to str, optional
        Names that users of other libraries type, and the expression that works instead.

    Examples
    --------
    >>> import graphsqueak
    >>> "InputError" in graphsqueak.__all__, graphsqueak.InputError
    (True, <class 'graphsqueak.errors.InputError'>)
    """
    _tables[package] = home
    public = sorted(home)

    def get(name: str) -> Any:
        if name not in home:
            call = (other_names or {}).get(name)
            hint = "" if call is None else f"; use {call}"
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        if not home[name]:
            return import_module(f"{package}.{name}")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return public, get, lambda: public


def tables_of_contents(package: str) -> dict[str, Mapping[str, str]]:
    """Return the tables of a package and of all packages inside it, from which stubs are written.

    Examples
    --------
    >>> tables_of_contents("graphsqueak")["graphsqueak.graph"]["EdgeList"]
    'edge_list'
    """
    from pkgutil import walk_packages

    for found in walk_packages(import_module(package).__path__, f"{package}."):
        if found.ispkg:
            import_module(found.name)
    inside = (name for name in _tables if f"{name}.".startswith(f"{package}."))
    return {name: _tables[name] for name in sorted(inside)}
