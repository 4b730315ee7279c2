"""Feed a source to a stream: progress, checkpoints, and going on after a stop.

From a predicted accuracy to a proved one: certify, and spend more edges where it was missed.

The prediction eps = sqrt(2 n / n_edges) holds for dense graphs. Elsewhere the measured accuracy
says by how much to correct: it falls like 1 / sqrt(n_edges) or faster.
"""

import math
import time
import warnings
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError, SavingWarning
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import add_degrees
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.sparsifiers.certificate.certify import certify
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.system.progress import reporter

__all__ = ["Corrected", "corrected", "run_stream"]

_LEAST_GROWTH, _MOST_GROWTH = 1.1, 4.0
_MARGIN = 1.03  # more edges than the measured accuracy asks for


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


class Corrected(NamedTuple):
    """A sparsifier, what is proved about it, the stream that made it, and how many were made."""

    sparsifier: EdgeList
    certificate: Certificate
    stream: StreamSparsifier
    n_runs: int


def corrected(
    source,
    stream,
    *,
    epsilon=None,
    delta=0.01,
    steps=None,
    random_state=None,
    progress=False,
    rerun=None,
):
    """Certify what `stream` made of `source`; while `epsilon` is missed, run again with more edges.

    The certificate of run i may fail with probability delta / 2^i, so that what is returned meets
    epsilon with probability 1 - delta. When the budget holds all edges, epsilon is 0: it ends.

    Parameters
    ----------
    source : EdgeSource or EdgeList
        Readable again.
    stream : StreamSparsifier
        It has seen all of `source`.
    epsilon : float, optional
        Default: certify once, whatever comes out.
    delta, steps, random_state, progress
        As of `certify`.
    rerun : callable, optional
        rerun(n_edges) gives a stream that has seen all of `source`. Default: one pass.

    Returns
    -------
    Corrected

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> stream = StreamSparsifier(n_edges=600, random_state=4).partial_fit(complete(200))
    >>> result = corrected(complete(200), stream, epsilon=0.5)
    >>> result.certificate.meets(0.5), result.n_runs > 1
    (True, True)
    """
    n_runs = 1
    while True:
        sparsifier = stream.sparsifier()
        certificate = certify(
            source,
            sparsifier,
            delta=delta if epsilon is None else delta / 2**n_runs,
            steps=steps,
            ridge=stream.ridge,
            goal=epsilon,
            random_state=random_state,
            progress=progress,
        )
        if epsilon is None or certificate.meets(epsilon):
            return Corrected(sparsifier, certificate, stream, n_runs)
        n_edges = math.ceil(_growth(certificate, epsilon) * sparsifier.n_edges)
        again = _one_pass(source, stream, progress) if rerun is None else rerun
        stream = again(n_edges)
        n_runs += 1


def _one_pass(source, stream, progress):
    def rerun(n_edges):
        how = {"ridge": stream.ridge, "options": stream.options}
        fresh = StreamSparsifier(n_edges=n_edges, **how, random_state=stream.random_state)
        return run_stream(fresh, source, progress=progress)

    return rerun


def _growth(certificate, epsilon):
    """By how much more edges are needed."""
    error = certificate.epsilon_upper
    if not math.isfinite(error):
        error = 2 * certificate.epsilon_lower
    return min(max(_MARGIN * (error / epsilon) ** 2, _LEAST_GROWTH), _MOST_GROWTH)
