"""Sparsify the parts of a graph separately and merge their states up a tree.

The tasks of the tree are pure functions from bytes (or a part to be read) to bytes, so that they
can be repeated and run anywhere: same seed, parts and shape, same result.

    leaf(part, seed)       the state of a stream that has seen one part
    merge(states, seed)    the state of a stream that has seen the parts of all

A state is a compact checkpoint: sampled edges, exact degrees, components and ids, at most 14 bytes
per edge and 20 per node. Ids are matched when states are merged (`graphsqueak.nodes.union`).

For graphs a merge costs no accuracy, only its resparsification does [C17, Section 3.3.2]: the shape
of the tree decides about time and memory, not about quality. In a guided tree, the default, most
leaves also get a prior: ids, degrees, components and the arrival filter of the leader, which has
seen all parts from the first on. A part that continues it keeps about what a single pass would have
kept: about a third of the edges, for 16 parts, and merges that solve no linear system.

Finished parts may be stored in a folder, on disk or remote, so that a stopped run does not repeat
them:

    run.json          what they belong to: settings, seed, and the parts with their sizes
    part-00003.ckpt   the state of part 3, a checkpoint

Each is written by the worker that made it, so that all workers must see the same folder.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.files.reading import FileSource
from graphsqueak.sources.files.splitting import split, unread
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sparsifiers.budget import StreamOptions
from graphsqueak.sparsifiers.config import SparsifyConfig
from graphsqueak.sparsifiers.stream.base_stream import seed_from
from graphsqueak.sparsifiers.stream.resparsify import BufferOverflow
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.paths import is_remote, local_path
from graphsqueak.system.progress import Progress
from graphsqueak.system.remote import files_in, place_in, read_bytes, remove
from graphsqueak.trees.backends import check_backend, open_backend
from graphsqueak.trees.running import TreeRun, run_here, run_tree
from graphsqueak.trees.shapes import Tree, as_tree

# Counters of readers.
DROPPED = ("n_self_loops", "n_zero_weights", "n_bad_lines")
_RUN_FILE = "run.json"
_PART_FILES = "part-*.ckpt"


class Piece(NamedTuple):
    """Part `number` of an input: a graph, or a source of its edges."""

    number: int
    graph: object


class TreeResult(NamedTuple):
    """The stream at the root of a merge tree, and how the tree ran.

    Attributes
    ----------
    stream : StreamSparsifier
        Its `note` counts what readers dropped.
    run : TreeRun
        Memory and traffic.
    n_parts : int
    n_resumed : int
        Parts that were found in the folder of a stopped run.
    """

    stream: StreamSparsifier
    run: TreeRun
    n_parts: int
    n_resumed: int


def leaf(
    piece,
    seed,
    *,
    settings,
    options=None,
    store=None,
    is_leader=False,
    prior=None,
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
    prior : bytes, optional
        Of parts before this one, which this part continues; see `make_prior`.

    Returns
    -------
    bytes
    """
    state = None if store is None else store.get(piece.number)
    if state is not None:
        return state
    stream = _read(piece, seed, settings, options, prior)
    if is_leader and piece.number == 0:
        stream.lead()
    is_source = isinstance(piece.graph, EdgeSource)
    stream.set_note({name: getattr(piece.graph, name) if is_source else 0 for name in DROPPED})
    state = stream.to_bytes()
    if store is not None:
        store.put(piece.number, state)
    return state


def merge(states, seed):
    """Return the state of several parts, given in their order."""
    streams = [StreamSparsifier.from_bytes(state, n_streams=len(states)) for state in states]
    merged = streams[0].merge(*streams[1:], random_state=seed)
    merged.set_note({name: sum(stream.note[name] for stream in streams) for name in DROPPED})
    return merged.to_bytes()


def make_prior(state):
    """Return what later parts need of a state: all but its edges."""
    stream = StreamSparsifier.from_bytes(state)
    stream.drop_edges()
    return stream.to_bytes()


def _read(piece, seed, settings, options, prior):
    """Return the stream of a part; without the prior if the edges are unlike those before."""
    stream = None
    if prior is not None:
        leader = StreamSparsifier.from_bytes(prior)
        stream = leader.continuation(ridge=settings.get("ridge", 0.0), seed=seed)
    if stream is None:
        stream = StreamSparsifier(**settings, options=options, random_state=seed)
    try:
        for batch in piece.graph.batches():
            stream.partial_fit(batch)
    except BufferOverflow:
        return _read(piece, seed, settings, options, prior=None)
    return stream


def grow_tree(
    pieces: Sequence,
    *,
    settings: dict[str, Any],
    options: StreamOptions | None = None,
    shape: str | int | Tree = "guided",
    seed: int,
    backend: Callable = run_here,
    store: LeafStore | None = None,
    progress: Progress = False,
) -> TreeResult:
    """Run the merge tree over the parts of a graph.

    Parameters
    ----------
    pieces : list
        Graphs or sources, as from `graphsqueak.sources.files.splitting.split`.
    settings : dict
        Parameters of the `StreamSparsifier` but options and seed.
    options : StreamOptions, optional
    shape : {"guided", "balanced", "sequential"}, int or Tree
    seed : int
    backend : callable
        Where it runs, see `graphsqueak.trees.backends`. Default: this process.
    store : LeafStore, optional
        Where finished parts are stored and looked up.
    progress : bool or callable

    Returns
    -------
    TreeResult

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
    tree = as_tree(shape, len(pieces), allow_guided=True)
    n_resumed = 0 if store is None else store.count()
    # Ridges of merged streams add up.
    leaf_settings = settings | {"ridge": settings.get("ridge", 0.0) / len(pieces)}
    run = run_tree(
        tree,
        partial(
            leaf,
            settings=leaf_settings,
            options=options,
            store=store,
            is_leader=bool(tree.prior_nodes),
        ),
        merge,
        [Piece(number, unread(graph)) for number, graph in enumerate(pieces)],
        seed=seed,
        backend=backend,
        make_prior=make_prior,
        progress=progress,
    )
    return TreeResult(StreamSparsifier.from_bytes(run.result), run, len(pieces), n_resumed)


class MergeTree:
    """The merge tree of a graph and a configuration.

    Parameters
    ----------
    graph : graph-like
    config : SparsifyConfig
    """

    def __init__(self, graph: GraphLike, config: SparsifyConfig) -> None:
        self._config = config
        self._pieces = split(as_stream(graph), config.n_parts)
        earlier = None
        if config.resume and config.random_state is None:
            earlier = _read_run(config.checkpoint)
        self._seed = seed_from(config.random_state) if earlier is None else earlier["seed"]
        random_state = config.random_state
        self.random_state = random_state if earlier is None else earlier.get("random_state")

    def check(self) -> None:
        """Raise the errors that `run` would raise before the first part, and write nothing."""
        config = self._config
        as_tree(config.tree_shape, len(self._pieces), allow_guided=True)
        if config.checkpoint is not None and config.resume:
            _check_resumed(config.checkpoint, _read_run(config.checkpoint), self._record())
        # Only a cluster may fail to answer.
        check_backend(workers=config.workers, scheduler=config.scheduler)
        if config.scheduler is not None:
            with open_backend(scheduler=config.scheduler):
                pass

    def _record(self):
        """Return what the run file of this tree contains."""
        config = self._config
        settings = config.stream_settings() | {
            "tree": str(config.tree_shape),
            "memory_limit": config.memory_limit,
        }
        return run_record(self._pieces, settings, seed=self._seed, random_state=self.random_state)

    def run(self) -> TreeResult:
        """Return the result, with the parts that a stopped run has stored if it is resumed."""
        config = self._config
        settings = config.stream_settings()
        store = None
        if config.checkpoint is not None:
            store = open_store(config.checkpoint, self._record(), resume=config.resume)
        return self._grow(settings, store)

    def rerun(self, n_edges: int) -> StreamSparsifier:
        """Return the stream of another run over the same parts, with another budget."""
        return self._grow({"n_edges": n_edges, "ridge": self._config.ridge}, None).stream

    def _grow(self, settings, store):
        config = self._config
        with open_backend(workers=config.workers, scheduler=config.scheduler) as backend:
            return grow_tree(
                self._pieces,
                settings=settings,
                options=config.options,
                shape=config.tree_shape,
                seed=self._seed,
                backend=backend,
                store=store,
                progress=config.progress,
            )


@dataclass(frozen=True)
class LeafStore:
    """Folder with the finished parts of one run."""

    folder: str

    def get(self, number: int) -> bytes | None:
        """Return the state of a part; None if it is missing or damaged."""
        try:
            state = read_bytes(self._path(number))
            StreamSparsifier.from_bytes(state)
        except (FileNotFoundError, InputError):
            return None
        return state

    def put(self, number: int, state: bytes) -> None:
        """Store the state of a part."""
        with atomic_file(self._path(number)) as file:
            file.write(state)

    def count(self) -> int:
        """Return the number of finished parts."""
        return len(files_in(self.folder, _PART_FILES))

    def _path(self, number):
        return place_in(self.folder, f"part-{number:05d}.ckpt")


def run_record(pieces, settings, *, seed, random_state=None):
    """Return the contents of a run file, which must be equal if a run is resumed.

    Parameters
    ----------
    pieces : list
        The parts of the input.
    settings : dict
    seed : int
    random_state : int, optional
        The seed that the user gave, or that was drawn, from which `seed` follows.
    """
    record = {
        "seed": seed,
        "random_state": random_state if isinstance(random_state, int) else None,
        "settings": settings,
        "parts": _describe(pieces),
    }
    # Tuples become lists, as in the file.
    return json.loads(json.dumps(record))


def open_store(folder, record, *, resume):
    """Return the store of a run: empty, or with `resume` what an equal run has stored.

    Parameters
    ----------
    folder : path
    record : dict
        Contents of the run file (`run_record`).
    resume : bool
    """
    given = folder
    if not is_remote(folder):
        folder = local_path(folder).resolve()
        _refuse_file(folder)
        folder.mkdir(parents=True, exist_ok=True)
    folder = str(folder)
    earlier = _read_run(folder)
    if resume and earlier is not None:
        _check_resumed(given, earlier, record)
    else:
        for old in files_in(folder, _PART_FILES):
            remove(place_in(folder, old))
        with atomic_file(place_in(folder, _RUN_FILE)) as file:
            file.write(json.dumps(record, indent=1).encode())
    return LeafStore(folder)


def _check_resumed(folder, earlier, record):
    """Raise an InputError if the run to resume had other settings; None is no earlier run."""
    if earlier is None:
        return
    for name, value in record.items():
        if earlier.get(name) != value:
            raise InputError(
                f"{folder} was written with other {name}; resume with the same input and "
                "options, or leave ",
                Parameter("resume"),
                " out to start again",
            )


def _refuse_file(folder):
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; the parts of a merge tree need a folder")


def _read_run(folder):
    """Return the contents of the run file of a folder; None if there is none."""
    if not is_remote(folder):
        _refuse_file(local_path(folder))
    name = place_in(folder, _RUN_FILE)
    try:
        return json.loads(read_bytes(name))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{name} cannot be read: {error}; remove the folder") from None


def _describe(pieces):
    """Return name and size of every part: enough to notice another input."""
    return [
        [[part.name, part.n_bytes()] for part in piece.parts]
        if isinstance(piece, FileSource)
        else [["edges in memory", piece.n_edges]]
        for piece in pieces
    ]
