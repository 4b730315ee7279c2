"""The merge tree of a graph: parts of the stream apart, their states merged up to one.

The tasks of the tree (`tasks`) are pure functions, so that it can run anywhere: same seed, parts
and shape, same bytes.

Finished leaves may be kept in a folder, on disk or at an address, so that a stopped run does not
repeat them:

    run.json          what the leaves belong to: settings, seed, and the parts with their sizes
    part-00003.ckpt   the state of part 3, a checkpoint

A leaf is written, whole or not at all, by the worker that made it: workers and whoever resumes must
see the same folder.

For graphs a merge costs no accuracy, only its shrink does [C17, Section 3.3.2]: the shape of the
tree decides about time and memory, not about quality. In a guided tree, the default, a later part
keeps what one pass would have kept of it, not a sparsifier of its own: about a third of
the edges in all, for 16 parts, and merges that need no solve.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.sources.files.reading import FileSource
from graphsqueak.sources.files.splitting import split, unread
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sparsifiers.budget import StreamOptions
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.tree.tasks import Piece, leaf, merge
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.paths import is_remote, local_path
from graphsqueak.system.progress import Progress
from graphsqueak.system.remote import files_in, place_in, read_bytes, remove
from graphsqueak.trees.backends import open_backend
from graphsqueak.trees.running import TreeRun, run_here, run_tree
from graphsqueak.trees.shapes import Tree, as_tree

__all__ = [
    "GrownTree",
    "LeafStore",
    "TreeResult",
    "grow_tree",
    "open_store",
    "run_parts",
    "stored_seed",
]

_RUN, _LEAVES = "run.json", "part-*.ckpt"


class GrownTree(NamedTuple):
    """The stream at the root, whose `note` says what readers dropped, and how the tree ran."""

    stream: StreamSparsifier
    run: TreeRun


def grow_tree(
    pieces: Sequence,
    *,
    settings: dict[str, Any],
    options: StreamOptions | None = None,
    shape: str | int | Tree = "guided",
    seed: int,
    backend: Callable = run_here,
    store: "LeafStore | None" = None,
    progress: Progress = False,
) -> GrownTree:
    """Run the merge tree over the parts of a graph.

    Parameters
    ----------
    pieces : list
        Graphs or sources, as from `graphsqueak.sources.files.splitting.split`.
    settings : dict
        Arguments of the `StreamSparsifier` but options and seed.
    options : StreamOptions, optional
    shape : {"guided", "balanced", "sequential"}, int or Tree
    seed : int
    backend : callable
        Who computes it, see `graphsqueak.trees.backends`. Default: this process.
    store : LeafStore, optional
        Where finished leaves are kept, and looked up.
    progress : bool or callable

    Returns
    -------
    GrownTree

    Examples
    --------
    >>> from graphsqueak.sources import erdos_renyi
    >>> from graphsqueak.sources.files.splitting import split
    >>> parts = split(erdos_renyi(500, 100_000, random_state=7).to_edge_list(), 5)
    >>> tree = grow_tree(parts, settings={"n_edges": 4000}, seed=7)
    >>> H = tree.stream.sparsifier()
    >>> tree.stream.n_edges_seen_, 3600 <= H.n_edges <= 4000
    (100000, True)
    """
    tree = as_tree(shape, len(pieces), may_guide=True)
    ridge = settings.get("ridge", 0.0)
    settings = settings | {"ridge": ridge / len(pieces)}
    run = run_tree(
        tree,
        partial(leaf, settings=settings, options=options, store=store, leads=bool(tree.guides)),
        merge,
        [Piece(number, unread(graph)) for number, graph in enumerate(pieces)],
        seed=seed,
        backend=backend,
        progress=progress,
    )
    stream = StreamSparsifier.from_bytes(run.result)
    stream.set_ridge(ridge)
    return GrownTree(stream, run)


class TreeResult(NamedTuple):
    """The stream at the root of a merge tree, its parts, and how the tree ran.

    `rerun(n_edges)` gives the stream of another tree over the same parts.
    """

    stream: StreamSparsifier
    n_parts: int
    n_resumed: int
    run: TreeRun
    rerun: Callable[[int], StreamSparsifier]


def run_parts(graph: GraphLike, plan: Any) -> TreeResult:
    """Cut a graph into parts and grow their merge tree, as a `RunPlan` says."""
    pieces = split(as_stream(graph), plan.n_parts)
    seed = stored_seed(plan.checkpoint) if plan.resume and plan.random_state is None else None
    if seed is None:
        seed = int(np.random.default_rng(plan.random_state).integers(2**63))
    shape, store, n_resumed = plan.shape, None, 0
    if plan.checkpoint is not None:
        wanted = plan.settings() | {"tree": str(shape), "memory_limit": plan.memory_limit}
        store = open_store(plan.checkpoint, pieces, wanted, seed=seed, resume=plan.resume)
        n_resumed = store.count()

    def grow(settings, store):
        with open_backend(workers=plan.workers, scheduler=plan.scheduler) as backend:
            return grow_tree(
                pieces,
                settings=settings,
                options=plan.options,
                shape=shape,
                seed=seed,
                backend=backend,
                store=store,
                progress=plan.progress,
            )

    grown = grow(plan.settings(), store)
    return TreeResult(
        grown.stream,
        len(pieces),
        n_resumed,
        grown.run,
        lambda n_edges: grow({"n_edges": n_edges, "ridge": plan.ridge}, None).stream,
    )


class LeafStore(NamedTuple):
    """Where the leaves of one run lie."""

    folder: str

    def get(self, number):
        """The state of a part, or None if it is not there or damaged."""
        try:
            state = read_bytes(self._path(number))
            StreamSparsifier.from_bytes(state)
        except (FileNotFoundError, InputError):
            return None
        return state

    def put(self, number, state):
        """Keep the state of a part."""
        with atomic_file(self._path(number)) as file:
            file.write(state)

    def count(self):
        """How many leaves are there."""
        return len(files_in(self.folder, _LEAVES))

    def _path(self, number):
        return place_in(self.folder, f"part-{number:05d}.ckpt")


def open_store(folder, pieces, settings, *, seed, resume):
    """The store of a run: emptied, or, with `resume`, with what an equal run has left."""
    folder = _made(folder)
    run = json.loads(json.dumps({"seed": seed, "settings": settings, "parts": _describe(pieces)}))
    before = _read_run(folder)
    if resume and before is not None:
        for name, value in run.items():
            if before.get(name) != value:
                raise InputError(
                    f"{folder} was written with other {name}; resume with the same input and "
                    "options, or leave --resume out to start again (--force)"
                )
    else:
        for old in files_in(folder, _LEAVES):
            remove(place_in(folder, old))
        with atomic_file(place_in(folder, _RUN)) as file:
            file.write(json.dumps(run, indent=1).encode())
    return LeafStore(folder)


def stored_seed(folder):
    """The seed of the run whose leaves lie in a folder; None if there are none."""
    run = _read_run(folder)
    return None if run is None else run["seed"]


def _made(folder):
    """A folder on disk, made if it is not there, from the root; an address as it is."""
    if is_remote(folder):
        return str(folder)
    folder = local_path(folder).resolve()
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; the leaves of a merge tree need a folder")
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def _read_run(folder):
    name = place_in(folder, _RUN)
    try:
        return json.loads(read_bytes(name))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{name} cannot be read: {error}; remove the folder") from None


def _describe(pieces):
    """Name and size of every part: enough to notice another input."""
    rows = []
    for piece in pieces:
        if isinstance(piece, FileSource):
            rows.append([[part.name, part.n_bytes()] for part in piece.parts])
        else:
            rows.append([["edges in memory", piece.n_edges]])
    return rows
