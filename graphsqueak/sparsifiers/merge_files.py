"""Merge files: checkpoints of streams, or sparsifiers, of edge-disjoint parts of one graph.

The sum of eps-sparsifiers is an eps-sparsifier of the sum. A checkpoint still knows the degrees of
everything it has seen, so the merged result is calibrated to the whole graph's; sparsifiers carry
calibrated weights of their own, and are streamed like any other edges.
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

__all__ = ["MergedFiles", "merge_edge_files"]


class MergedFiles(NamedTuple):
    """The sparsifier of the whole, and what is to be said of its parts.

    `n_edges_read` is how many edges they had read, `ridge` the one that holds (those of checkpoints
    add up, see `StreamSparsifier.merge`), `source` tells how edge files were understood.
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
        All checkpoints, or all edge files.
    n_edges, epsilon, keep : at most one
        To thin the sum of sparsifiers; checkpoints have a budget of their own.
    random_state : int, Generator or None

    Returns
    -------
    MergedFiles
    """
    parts = [part for path in paths for part in find_parts(path)]
    if not all(part.path or part.remote for part in parts):
        raise InputError("a pipe cannot be merged; save it to a file first")
    files = [part.path or part.remote.address for part in parts]
    kinds = [is_checkpoint(path) for path in files]
    budget = Budget(n_edges, epsilon, keep)
    given = [name for name, value in budget._asdict().items() if value is not None]
    if all(kinds):
        if given:
            raise InputError(
                f"checkpoints have a budget already; leave {given[0]} out, or merge sparsifiers"
            )
        first, *others = map(StreamSparsifier.load, files)
        stream = first.merge(*others, random_state=random_state)
        return MergedFiles(stream.sparsifier(), stream.n_edges_seen_, stream.ridge)
    if any(kinds):
        odd = files[kinds.index(False)]
        raise InputError(f"{odd} is no checkpoint, others are; merge one kind at a time")
    source = read_edges(list(paths))
    if not given:
        whole = source.to_edge_list().simplified()
        return MergedFiles(whole, source.n_edges_read, source=source)
    stream = StreamSparsifier(
        n_edges=n_edges, epsilon=epsilon, keep=keep, random_state=random_state
    )
    run_stream(stream, source)
    return MergedFiles(stream.sparsifier(), source.n_edges_read, source=source)
