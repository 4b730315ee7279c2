"""The tasks of a merge tree of a graph.

    leaf(part, seed)       the state of a stream that has seen one part
    merge(states, seed)    the state of a stream that has seen the parts of all

and, where they are asked for it, the guide: what later parts need to know of those before them.

They are pure functions from bytes (or a part to be read) to bytes, and can be repeated. A state is
what a checkpoint holds, settled: kept edges, exact degrees, union-find and ids, at most 14 bytes
per kept edge and 20 per node. Ids are matched where states are merged (`graphsqueak.nodes.union`).

A guide is the state of a stream without edges: ids, degrees, union-find and the arrival filter of
the stream that leads, which has seen all parts from the first on. A part that follows it keeps
about what one pass would have kept of it (`graphsqueak.sparsifiers.stream.merging`).
"""

from typing import NamedTuple

from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sparsifiers.stream.resparsify import BufferOverflow
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier

__all__ = ["DROPPED", "Piece", "leaf", "merge"]

DROPPED = ("n_self_loops", "n_zero_weights", "n_bad_lines")  # what readers count


class Piece(NamedTuple):
    """Part `number` of an input: a graph, or a source of its edges."""

    number: int
    graph: object


def leaf(piece, seed, *, settings, options=None, store=None, leads=False, guide=b"", guides=False):
    """The state of one part.

    Parameters
    ----------
    piece : Piece
    seed : int
    settings, options
        Arguments of the `StreamSparsifier`.
    store : LeafStore, optional
        Where finished leaves are kept, and looked up.
    leads : bool
        Whether later parts may be guided by the first.
    guide : bytes
        What guides this part, if anything does.
    guides : bool
        Whether to return a guide as well.

    Returns
    -------
    bytes, or two of them
    """
    if store is not None and (found := store.get(piece.number)) is not None:
        return (found, StreamSparsifier.from_bytes(found).export_prior()) if guides else found
    stream = _read_after(guide, piece, settings, seed) if guide else None
    if stream is None:
        stream = StreamSparsifier(**settings, options=options, random_state=seed)
        _read(piece, stream)
    if leads and piece.number == 0:
        stream.lead()
    is_source = isinstance(piece.graph, EdgeSource)
    stream.note = {name: getattr(piece.graph, name) if is_source else 0 for name in DROPPED}
    # The state is compacted in place, so that the prior comes after it.
    state = stream.to_bytes()
    if store is not None:
        store.put(piece.number, state)
    return (state, stream.export_prior()) if guides else state


def merge(states, seed, *, guides=False):
    """The state of all parts whose states are given, in their order, and its guide if asked for."""
    streams = [StreamSparsifier.from_bytes(state, n_streams=len(states)) for state in states]
    merged = streams[0].merge(*streams[1:], random_state=seed)
    merged.note = {name: sum(stream.note[name] for stream in streams) for name in DROPPED}
    state = merged.to_bytes()
    return (state, merged.export_prior()) if guides else state


def _read(piece, stream):
    for batch in piece.graph:
        stream.partial_fit(batch)


def _read_after(prior, piece, settings, seed):
    """Return the stream of a part that continues others; None if its edges are unlike theirs."""
    stream = StreamSparsifier.from_prior(prior, ridge=settings.get("ridge", 0.0), seed=seed)
    try:
        _read(piece, stream)
    except BufferOverflow:
        return None
    return stream
