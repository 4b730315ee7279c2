"""Public names that are imported when they are first used (PEP 562).

A package lists in its table of contents where each public name lives, and takes from here the
`__getattr__` and `__dir__` that Python asks of a module:

    __all__, __getattr__, __dir__ = lazy_names(__name__, {"EdgeList": "edge_list"})

So `import graphsqueak` costs nothing, and `graphsqueak --help` loads no numerics. Type checkers
cannot follow this; they read the `__init__.pyi` that `make docs` writes beside each table.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["TABLES", "lazy_names"]

TABLES: dict[str, Mapping[str, str]] = {}
"""The table of contents of every package imported so far: stubs and tests are made from it."""


def lazy_names(
    package: str, home: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package : str
        Its `__name__`.
    home : mapping of str to str
        The module, relative to the package, in which each public name lives; "" says that the
        name is itself a module of the package.

    Examples
    --------
    >>> import graphsqueak
    >>> TABLES["graphsqueak"]["InputError"], graphsqueak.InputError
    ('errors', <class 'graphsqueak.errors.InputError'>)
    """
    TABLES[package] = home
    public = sorted(home)

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not home[name]:
            return import_module(f"{package}.{name}")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return public, get, lambda: public
