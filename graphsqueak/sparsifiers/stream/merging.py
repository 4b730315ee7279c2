"""Several streams into one: degrees added, forests united, kept edges side by side, one shrink.

The sum of eps-sparsifiers of several graphs is an eps-sparsifier of their sum, whatever nodes and
edges they share; so uniting costs no accuracy, only the shrink that may follow does. With a ridge
that is not so: k sparsifiers that are accurate up to a ridge gamma are together accurate up to
k gamma (the ground node counts k times), so a merge tree gives each of its k leaves gamma / k.
"""

from functools import reduce
from operator import xor

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.nodes.matching import Numbering
from graphsqueak.nodes.union import unite_ids
from graphsqueak.randomness import child_seed

__all__ = ["check_alike", "united_parts"]

_MERGE = 2**41  # its number, for its seed


def check_alike(streams):
    """Refuse streams that cannot be merged."""
    first = streams[0]
    for other in streams[1:]:
        if first.options != other.options or first.ridge != other.ridge:
            raise InputError("streams with different options or ridge cannot be merged")
        if first.method != other.method:
            raise InputError(f"a {first.method} stream cannot be merged with a {other.method} one")


def united_parts(engines, numberings, probes, *, seed=None):
    """Engine, numbering and probes of all streams; without a seed, theirs decide."""
    if seed is None:
        seed = child_seed(reduce(xor, (engine.seed for engine in engines)), _MERGE)
    counts = [engine.n_nodes for engine in engines]
    names = [numbering.ids for numbering in numberings]
    ids, places = unite_ids(list(zip(names, counts, strict=True)))
    engine = engines[0].merged(engines[1:], places[1:], seed=seed)
    same_nodes = all(np.array_equal(place, np.arange(place.size)) for place in places)
    probes = probes[0].merged(probes[1:], engine.n_nodes, same_nodes=same_nodes)
    return engine, Numbering(ids), probes
