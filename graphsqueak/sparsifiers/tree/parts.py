"""Sparsify an input by its parts: cut it, run the merge tree on workers, keep finished leaves.

The merge tree of a graph: parts of the stream apart, their states merged up to one.

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

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.files.splitting import split
from graphsqueak.sparsifiers.budget import StreamOptions
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.tree.leaves import open_store, stored_seed
from graphsqueak.trees.running import TreeRun, open_backend, run_here, run_tree
from graphsqueak.trees.shapes import as_tree
from graphsqueak.validation import check_count

__all__ = [
    "GrownTree",
    "Parted",
    "Piece",
    "grow",
    "leaf",
    "merge",
    "runs_in_parts",
    "sparsify_parts",
]

_DROPPED = ("n_self_loops", "n_zero_weights", "n_bad_lines")


class Parted(NamedTuple):
    """The stream at the root of a tree, and how it came about.

    `stream.note` counts what readers dropped. `rerun(n_edges)` gives the stream of another tree
    over the same parts, by which the accuracy is corrected.
    """

    stream: StreamSparsifier
    n_parts: int
    n_resumed: int
    run: TreeRun
    rerun: Callable


def runs_in_parts(*, workers, scheduler, tree, n_parts, memory_limit, checkpoint, resume):
    """Whether these options ask for a merge tree; those that mean nothing without are refused."""
    if workers is not None or scheduler is not None or tree is not None:
        return True
    given = {"n_parts": n_parts, "memory_limit": memory_limit, "checkpoint": checkpoint}
    for name, value in (given | {"resume": resume or None}).items():
        if value is not None:
            raise InputError(f"{name} is for merge trees; give workers, scheduler or tree as well")
    return False


def sparsify_parts(
    graph,
    settings,
    *,
    options=None,
    tree=None,
    n_parts=None,
    workers=None,
    scheduler=None,
    memory_limit=None,
    checkpoint=None,
    resume=False,
    random_state=None,
    progress=False,
):
    """Run the merge tree over the parts of `graph`.

    Parameters
    ----------
    graph : files that `read_edges` opened, or a graph in memory
    settings, options
        Of the `StreamSparsifier`.
    tree : {"balanced", "sequential"} or int, optional
        Shape of the tree, or how many states a merge takes. Default: balanced.
    n_parts : int, optional
        See `graphsqueak.sources.files.splitting.split`.
    workers : int, optional
        Processes to start on this machine.
    scheduler : str, optional
        Address of a Dask scheduler to use instead.
    memory_limit : int, optional
        Bytes that a worker's stream may take; it shrinks earlier to keep to them.
    checkpoint : path, optional
        A folder for finished leaves, which all workers see.
    resume : bool
        Go on from the leaves in `checkpoint`.
    random_state : int, Generator or None
    progress : bool or callable

    Returns
    -------
    Parted
    """
    tree = tree or "balanced"
    options = StreamOptions() if options is None else options
    if memory_limit is not None:
        options = replace(options, memory_limit=check_count("memory_limit", memory_limit))
    StreamSparsifier(**settings, options=options)  # refuses what means nothing before work begins
    if n_parts is not None:
        check_count("n_parts", n_parts)
    pieces = split(graph, n_parts)
    store = None
    if resume and checkpoint is None:
        raise InputError("resume needs checkpoint, the folder of leaves to go on from")
    seed = stored_seed(checkpoint) if resume and random_state is None else None
    if seed is None:
        seed = int(np.random.default_rng(random_state).integers(2**63))
    if checkpoint is not None:
        wanted = settings | {"tree": str(tree), "memory_limit": memory_limit}
        store = open_store(checkpoint, pieces, wanted, seed=seed, resume=resume)
    how = {"options": options, "shape": tree, "seed": seed, "progress": progress}

    def planted(settings, store):
        with open_backend(workers=workers, scheduler=scheduler) as backend:
            return grow(pieces, settings=settings, **how, backend=backend, store=store)

    def rerun(n_edges):
        return planted({"n_edges": n_edges, "ridge": settings["ridge"]}, None).stream

    n_resumed = 0 if store is None else store.count()
    grown = planted(settings, store)
    return Parted(grown.stream, len(pieces), n_resumed, grown.run, rerun)


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
        Graphs or sources, as from `graphsqueak.sources.files.splitting.split`.
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
    >>> from graphsqueak.sources.files.splitting import split
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
