"""Feed a source to a stream: progress, checkpoints, and going on after a stop."""

import os
import time
import warnings

import numpy as np

from graphsqueak.errors import InputError, SavingWarning
from graphsqueak.graph.forest import add_degrees
from graphsqueak.sources.edge_source import GraphLike
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.system.atomic import hold_signals
from graphsqueak.system.progress import Progress, reporter

__all__ = ["run_stream"]


def run_stream(
    stream: StreamSparsifier,
    source: GraphLike,
    *,
    progress: Progress = False,
    checkpoint: str | os.PathLike | None = None,
    every: float = 60.0,
) -> StreamSparsifier:
    """Feed all batches of `source` to `stream`, from where it stands.

    A stream that has seen edges already (a loaded checkpoint) skips them, after checking by
    their degrees that they are the same. With `checkpoint`, its state is saved every `every`
    seconds, at the end, and when something ends the run between two batches (a signal, a bad line).
    A checkpoint that cannot be written is a warning: the work goes on.
    """
    n_skip = n_saved = stream.n_edges_seen_
    skipped = np.zeros(stream.n_nodes_)
    n_read, saved, is_busy = 0, time.monotonic(), False
    try:
        with reporter(progress, "sparsifying") as report:
            for batch in source:
                with hold_signals():
                    is_busy = True
                    n_old = min(n_skip - n_read, batch.n_edges) if n_read < n_skip else 0
                    if n_old:
                        _add_skipped(skipped, batch, n_old, stream)
                    n_read += batch.n_edges
                    if n_read >= n_skip and n_old and not np.array_equal(skipped, stream.degrees_):
                        raise _another_input(stream)
                    if n_old < batch.n_edges:
                        stream.partial_fit(batch.part(n_old))
                    if checkpoint and n_read > n_skip and time.monotonic() - saved > every:
                        _save(stream, checkpoint)
                        n_saved, saved = stream.n_edges_seen_, time.monotonic()
                    is_busy = False
                report(n_read, getattr(source, "fraction_read", 1.0), f"kept {stream.n_kept_:,}")
    except BaseException:
        if checkpoint and not is_busy and stream.n_edges_seen_ > n_saved:
            with hold_signals():
                _save(stream, checkpoint)
        raise
    if n_read < n_skip:
        raise InputError(
            f"the checkpoint has seen {n_skip:,} edges, the input holds {n_read:,}; "
            "it belongs to another input"
        )
    if checkpoint and stream.n_edges_seen_ > n_saved:
        _save(stream, checkpoint)
    return stream


def _save(stream, checkpoint):
    """A full disk must not end a run that can do without: the last checkpoint is still whole."""
    try:
        stream.save(checkpoint)
    except InputError as error:
        warnings.warn(SavingWarning(f"no checkpoint: {error}"), stacklevel=3)


def _add_skipped(degree, batch, n_old, stream):
    """Add the first `n_old` edges of a batch to the degrees of those that are skipped."""
    tail, head = batch.tail[:n_old], batch.head[:n_old]
    if max(tail.max(), head.max()) >= degree.size:
        raise _another_input(stream)
    add_degrees(degree, tail, head, batch.weight[:n_old])


def _another_input(stream):
    return InputError(
        f"the first {stream.n_edges_seen_:,} edges of the input are not those that the checkpoint "
        "has seen; it belongs to another input"
    )
