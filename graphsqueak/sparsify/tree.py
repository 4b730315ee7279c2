"""The merge tree of a graph: parts of the stream apart, their states merged up to one.

    leaf(part, seed)       the state of a stream that has seen one part
    merge(states, seed)    the state of a stream that has seen the parts of all

Both are pure functions from bytes (or a part to be read) to bytes, so a tree of them can run
anywhere, and a task can be repeated: same seed, parts and shape, same bytes. A state is what a
checkpoint holds (`checkpoint`), settled: kept edges, exact degrees, union-find and ids, at most 12
bytes per kept edge and 20 per node. Ids are reconciled where states are merged (`reconciling`).

For graphs a merge costs no accuracy, only its shrink does [C17, Section 3.3.2]: the shape of the
tree decides about time and memory, not about quality.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

from functools import partial
from typing import NamedTuple

from graphsqueak.sources.base import EdgeSource
from graphsqueak.sparsify.stream import StreamSparsifier
from graphsqueak.trees.running import TreeRun, run_here, run_tree
from graphsqueak.trees.shapes import as_tree

__all__ = ["GrownTree", "Piece", "grow", "leaf", "merge"]

_DROPPED = ("n_self_loops", "n_zero_weights", "n_bad_lines")


class Piece(NamedTuple):
    """Part `number` of an input: a graph, or a source of its edges."""

    number: int
    graph: object


class GrownTree(NamedTuple):
    """The stream at the root, whose `note` says what readers dropped, and how the tree ran."""

    stream: StreamSparsifier
    run: TreeRun


def leaf(piece, seed, *, settings, options=None, store=None):
    """The state of one part.

    Parameters
    ----------
    piece : Piece
    seed : int
    settings, options
        Of the `StreamSparsifier`.
    store : LeafStore, optional
        Where finished leaves are kept, and looked up.

    Returns
    -------
    bytes
    """
    if store is not None and (found := store.get(piece.number)) is not None:
        return found
    stream = StreamSparsifier(**settings, options=options, random_state=seed)
    for batch in piece.graph:
        stream.partial_fit(batch)
    is_source = isinstance(piece.graph, EdgeSource)
    stream.note = {name: getattr(piece.graph, name) if is_source else 0 for name in _DROPPED}
    state = stream.to_bytes()
    if store is not None:
        store.put(piece.number, state)
    return state


def merge(states, seed):
    """The state of all parts whose states are given, in their order."""
    streams = [StreamSparsifier.from_bytes(state, n_streams=len(states)) for state in states]
    merged = streams[0].merge(*streams[1:], random_state=seed)
    merged.note = {name: sum(stream.note[name] for stream in streams) for name in _DROPPED}
    return merged.to_bytes()


def grow(
    pieces,
    *,
    settings,
    options=None,
    shape="balanced",
    seed,
    backend=run_here,
    store=None,
    progress=False,
):
    """Run the merge tree over the parts of a graph.

    Parameters
    ----------
    pieces : list
        Graphs or sources, as from `graphsqueak.sources.splitting.split`.
    settings, options
        Of the `StreamSparsifier`.
    shape : {"balanced", "sequential"}, int or Tree
    seed : int
    backend : callable
        See `graphsqueak.trees.running`.
    store : LeafStore, optional
    progress : bool or callable

    Returns
    -------
    GrownTree

    Examples
    --------
    >>> from graphsqueak.sources import erdos_renyi
    >>> from graphsqueak.sources.splitting import split
    >>> parts = split(erdos_renyi(500, 100_000, random_state=7).to_edge_list(), 5)
    >>> tree = grow(parts, settings={"n_edges": 4000}, seed=7)
    >>> H = tree.stream.sparsifier()
    >>> tree.stream.n_edges_seen_, 3600 <= H.n_edges <= 4000
    (100000, True)
    """
    tree = as_tree(shape, len(pieces))
    ridge = settings.get("ridge", 0.0)
    settings = settings | {"ridge": ridge / len(pieces)}
    run = run_tree(
        tree,
        partial(leaf, settings=settings, options=options, store=store),
        merge,
        [Piece(number, graph) for number, graph in enumerate(pieces)],
        seed=seed,
        backend=backend,
        progress=progress,
    )
    stream = StreamSparsifier.from_bytes(run.result)
    stream.set_ridge(ridge)
    return GrownTree(stream, run)
