"""Sparsify an input by its parts: cut it, run the merge tree on workers, keep finished leaves."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from graphsqueak.sources.splitting import split
from graphsqueak.sparsify.leaf_store import open_store, stored_seed
from graphsqueak.sparsify.options import StreamOptions
from graphsqueak.sparsify.stream import StreamSparsifier
from graphsqueak.sparsify.tree import grow
from graphsqueak.trees.running import TreeRun, open_backend
from graphsqueak.validation import InputError, check_count

__all__ = ["Parted", "runs_in_parts", "sparsify_parts"]


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
        See `graphsqueak.sources.splitting.split`.
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
