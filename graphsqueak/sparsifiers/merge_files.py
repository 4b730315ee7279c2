"""Merge files of edge-disjoint parts of one graph: checkpoints of streams, or sparsifiers.

The sum of eps-sparsifiers is an eps-sparsifier of the sum. A checkpoint contains the degrees of all
edges seen, so the merged result is rescaled to the degrees of the whole graph. Sparsifiers have
rescaled weights already, and are streamed like any other edges.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.files.parts import find_parts
from graphsqueak.sources.files.reading import read_edges
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.run import run_stream
from graphsqueak.sparsifiers.stream.checkpoint import is_checkpoint
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier


class MergedFiles(NamedTuple):
    """Result of `merge_edge_files`.

    Attributes
    ----------
    sparsifier : EdgeList
        Sparsifier of the whole graph.
    n_edges_read : int
        Number of edges from which the parts were made, or that were read.
    ridge : float
        Ridge of the result: the sum over checkpoints, see `StreamSparsifier.merge`.
    source : EdgeSource or None
        Source of edge files, which reports how they were read.
    """

    sparsifier: EdgeList
    n_edges_read: int
    ridge: float = 0.0
    source: EdgeSource | None = None


def merge_edge_files(
    paths: Sequence[str | os.PathLike],
    *,
    n_edges: int | None = None,
    epsilon: float | None = None,
    keep: float | None = None,
    random_state: RandomState = None,
) -> MergedFiles:
    """Merge checkpoints, or sparsifiers, of edge-disjoint parts of one graph.

    Parameters
    ----------
    paths : sequence of path
        Only checkpoints, or only edge files.
    n_edges, epsilon, keep : at most one
        Size of the result, for edge files only: checkpoints have their own budget.
    random_state : int, Generator or None

    Returns
    -------
    MergedFiles
    """
    parts = [part for path in paths for part in find_parts(path)[0]]
    if not all(part.path or part.remote for part in parts):
        raise InputError("a pipe cannot be merged; save it to a file first")
    files = [part.path or part.remote.address for part in parts]
    are_checkpoints = [is_checkpoint(path) for path in files]
    budget = Budget(n_edges, epsilon, keep)
    given = [name for name, value in budget._asdict().items() if value is not None]
    if all(are_checkpoints):
        if given:
            raise InputError(
                f"checkpoints have a budget already; remove {given[0]}, or merge sparsifiers"
            )
        first, *others = map(StreamSparsifier.load, files)
        stream = first.merge(*others, random_state=random_state)
        return MergedFiles(stream.sparsifier(), stream.n_edges_seen_, stream.ridge)
    if any(are_checkpoints):
        edge_file = files[are_checkpoints.index(False)]
        raise InputError(
            f"{edge_file} is not a checkpoint, but other files are; merge only checkpoints or only "
            "edge files"
        )
    source = read_edges(list(paths))
    if not given:
        merged = source.to_edge_list().simplified()
        return MergedFiles(merged, source.n_edges_read, source=source)
    stream = StreamSparsifier(
        n_edges=n_edges, epsilon=epsilon, keep=keep, random_state=random_state
    )
    run_stream(stream, source)
    return MergedFiles(stream.sparsifier(), source.n_edges_read, source=source)
