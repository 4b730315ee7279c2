"""Tasks of a merge tree of a graph.

    leaf(part, seed)       the state of a stream that has seen one part
    merge(states, seed)    the state of a stream that has seen the parts of all

They are pure functions from bytes (or a part to be read) to bytes, so that they can be repeated and
run anywhere. A state is a compact checkpoint: sampled edges, exact degrees, components and ids, at
most 14 bytes per edge and 20 per node. Ids are matched when states are merged
(`graphsqueak.nodes.union`).

In a guided tree both also return a prior for later parts: a state without edges that has the ids,
degrees, components and the arrival filter of the leader, which has seen all parts from the first
on. A part that continues it keeps about what a single pass would have kept.
"""

from typing import NamedTuple

from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sparsifiers.stream.resparsify import BufferOverflow
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier

__all__ = ["DROPPED", "Piece", "leaf", "merge"]

# Counters of readers.
DROPPED = ("n_self_loops", "n_zero_weights", "n_bad_lines")


class Piece(NamedTuple):
    """Part `number` of an input: a graph, or a source of its edges."""

    number: int
    graph: object


def leaf(
    piece,
    seed,
    *,
    settings,
    options=None,
    store=None,
    is_leader=False,
    prior=b"",
    returns_prior=False,
):
    """Return the state of one part.

    Parameters
    ----------
    piece : Piece
    seed : int
    settings, options
        Parameters of the `StreamSparsifier`.
    store : LeafStore, optional
        Where finished parts are stored and looked up.
    is_leader : bool
        Whether later parts may continue the first one.
    prior : bytes
        Prior of the parts before this one; empty for none.
    returns_prior : bool
        Whether to return a prior as well.

    Returns
    -------
    bytes, or a pair of them
    """
    if store is not None and (found := store.get(piece.number)) is not None:
        return (
            (found, StreamSparsifier.from_bytes(found).export_prior()) if returns_prior else found
        )
    stream = _read_after(prior, piece, settings, seed) if prior else None
    if stream is None:
        stream = StreamSparsifier(**settings, options=options, random_state=seed)
        _read(piece, stream)
    if is_leader and piece.number == 0:
        stream.lead()
    is_source = isinstance(piece.graph, EdgeSource)
    stream.note = {name: getattr(piece.graph, name) if is_source else 0 for name in DROPPED}
    # The state is compacted in place, so that the prior comes after it.
    state = stream.to_bytes()
    if store is not None:
        store.put(piece.number, state)
    return (state, stream.export_prior()) if returns_prior else state


def merge(states, seed, *, returns_prior=False):
    """Return the state of several parts, given in their order, and its prior if asked for."""
    streams = [StreamSparsifier.from_bytes(state, n_streams=len(states)) for state in states]
    merged = streams[0].merge(*streams[1:], random_state=seed)
    merged.note = {name: sum(stream.note[name] for stream in streams) for name in DROPPED}
    state = merged.to_bytes()
    return (state, merged.export_prior()) if returns_prior else state


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
