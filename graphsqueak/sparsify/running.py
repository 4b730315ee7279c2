"""Feed a source to a stream: progress, checkpoints, and going on after a stop."""

import time
import warnings
from contextlib import nullcontext

import numpy as np

from graphsqueak.report.progress import reporter
from graphsqueak.sources.forest import add_degrees
from graphsqueak.validation import InputError, SavingWarning

__all__ = ["run_stream"]


def run_stream(stream, source, *, progress=False, checkpoint=None, every=60.0, held=None):
    """Feed all batches of `source` to `stream`, from where it stands.

    A stream that has seen edges already (a loaded checkpoint) skips them, after checking by
    their degrees that they are the same. With `checkpoint`, its state is saved every `every`
    seconds and at the end. A checkpoint that cannot be written is a warning: the work goes on.

    Parameters
    ----------
    held : callable, optional
        A context manager that puts signals off. With it, what ends the run between two batches (a
        signal, a bad line) is passed on after the state was saved.
    """
    n_skip = n_saved = stream.n_edges_seen_
    skipped = np.zeros(stream.n_nodes_)
    n_read, saved, busy = 0, time.monotonic(), False
    try:
        with reporter(progress, "sparsifying") as report:
            for batch in source:
                with (held or nullcontext)():
                    busy = True
                    n_old = min(n_skip - n_read, batch.n_edges) if n_read < n_skip else 0
                    if n_old:
                        _add(skipped, batch, n_old, stream)
                    n_read += batch.n_edges
                    if n_read >= n_skip and n_old:
                        _check_same(skipped, stream)
                    if n_old < batch.n_edges:
                        stream.partial_fit(batch.part(n_old))
                    if checkpoint and n_read > n_skip and time.monotonic() - saved > every:
                        _save(stream, checkpoint)
                        n_saved, saved = stream.n_edges_seen_, time.monotonic()
                    busy = False
                report(n_read, getattr(source, "fraction_read", 1.0), f"kept {stream.n_kept_:,}")
    except BaseException:
        if held and checkpoint and not busy and stream.n_edges_seen_ > n_saved:
            with held():
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


def _add(degree, batch, n_old, stream):
    tail, head = batch.tail[:n_old], batch.head[:n_old]
    if n_old and max(tail.max(), head.max()) >= degree.size:
        raise _another_input(stream)
    add_degrees(degree, tail, head, batch.weight[:n_old])


def _check_same(degree, stream):
    if not np.array_equal(degree, stream.degrees_):
        raise _another_input(stream)


def _another_input(stream):
    return InputError(
        f"the first {stream.n_edges_seen_:,} edges of the input are not those that the checkpoint "
        "has seen; it belongs to another input"
    )
