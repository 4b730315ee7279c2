"""Guides: what later parts of a merge tree need to know of those that were merged before them.

A guide is the state of a stream without edges: ids, degrees, union-find and the arrival filter of
what the leading streams, from the first part on, have kept. A part that follows it keeps little
more than one pass would have kept of it (`graphsqueak.sparsifiers.stream.merging`).
"""

from graphsqueak.sparsifiers.stream.merging import TooMany, lead, make_guide
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier

__all__ = ["TooMany", "follow", "guide", "lead_others"]


def lead_others(stream):
    """Make a stream the first of those that others follow."""
    if stream.method == "fast":
        lead(stream._engine)


def guide(state):
    """The guide that a leading state gives; empty if it has dropped no edges yet.

    Parameters
    ----------
    state : bytes

    Returns
    -------
    bytes
    """
    stream = StreamSparsifier.from_bytes(state)
    engine = make_guide(stream._engine) if stream.method == "fast" else None
    if engine is None:
        return b""
    stream._engine, stream._probes = engine, type(stream._probes)()
    return stream.to_bytes()


def follow(state, *, ridge, seed):
    """A stream for a part that follows a guide.

    Parameters
    ----------
    state : bytes
        Of the guide.
    ridge : float
        Of the part alone.
    seed : int
    """
    stream = StreamSparsifier.from_bytes(state)
    stream._engine.seed, stream._engine.leads = seed, 0
    stream.set_ridge(ridge)
    return stream
