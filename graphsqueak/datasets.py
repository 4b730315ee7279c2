"""Data that comes with the package, and where it lies.

Origin, licence and checksum of each file are in `datasets/README.md`.
"""

from pathlib import Path

from graphsqueak.sources import read_edges
from graphsqueak.validation import InputError

__all__ = ["load_karate", "shipped_file"]


def load_karate():
    """Zachary's karate club: 34 members, 78 ties, weighted by how often two members met.

    >>> load_karate()
    EdgeList(n_nodes=34, n_edges=78, total_weight=231)
    """
    return read_edges(shipped_file("karate.tsv")).to_edge_list()


def shipped_file(name):
    """Path of a shipped file: inside an installed package, or beside it in a checkout.

    >>> shipped_file("karate.tsv").name
    'karate.tsv'
    """
    package = Path(__file__).parent
    for folder in (package / "_data", package.parent / "datasets"):
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"no shipped file is called {name!r}; see datasets/README.md for their names")
