"""Run `sparsify`: one pass or a merge tree, then the certificate and further runs if needed.

    pass        all batches of edges through one stream, with checkpoints
    tree        or the parts of the input, merged (`tree.parts`)
    subgraph    with method="subgraph" the graph is read again into memory and its edges are chosen
    epsilon     the certificate measures the error; further runs search for the fewest edges that
                meet it (`edge_search`)

During the first pass for an `epsilon`, memory is that of a dense graph, which needs 2 n / eps^2
edges. At its end the edges are scored, and the predicted error gives the number of edges that this
graph needs.
"""

import os
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError, SavingWarning
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import add_degrees
from graphsqueak.graph.timed_edges import NO_CHECKSUMS, TimedEdges, checksums
from graphsqueak.randomness import RandomState
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.graph_like import GraphLike, as_edge_list, as_stream
from graphsqueak.sources.recent import recent_edges
from graphsqueak.sources.times import Duration
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.sparsifiers.certificate.certify import certify
from graphsqueak.sparsifiers.config import SparsifyConfig
from graphsqueak.sparsifiers.edge_search import EdgeSearch
from graphsqueak.sparsifiers.error_prediction import ErrorCurve
from graphsqueak.sparsifiers.result import SparsifyResult
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.stream.timed_sparsifier import TimedSparsifier, load_stream
from graphsqueak.sparsifiers.subgraph.subgraph import best_subgraph
from graphsqueak.sparsifiers.tree.parts import DROPPED, MergeTree
from graphsqueak.system.atomic import Stopped, hold_signals, resumable_from
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.system.remote import exists

__all__ = [
    "CertifiedRun",
    "certify_and_search",
    "follow_stream",
    "open_stream",
    "run_sparsify",
    "run_stream",
]

Stream = StreamSparsifier | TimedSparsifier
# The error of a dense graph: proportional to 1 / sqrt(n_edges).
DENSE_CURVE = ErrorCurve(n_edges=np.array([1.0, np.inf]), error=np.array([1.0, 0.0]))


class CertifiedRun(NamedTuple):
    """A sparsifier, its certificate, the stream that made it, and the number of runs."""

    sparsifier: EdgeList
    certificate: Certificate | None
    stream: Stream
    n_runs: int


def run_sparsify(graph: GraphLike, config: SparsifyConfig) -> SparsifyResult:
    """Sparsify a graph; return the sparsifier with counters, certificate and timings.

    Parameters
    ----------
    graph : EdgeSource, EdgeList, scipy sparse adjacency or networkx graph
    config : SparsifyConfig

    Returns
    -------
    SparsifyResult

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> result = run_sparsify(complete(300), SparsifyConfig(n_edges=4000, random_state=7))
    >>> result.stream.n_edges_seen_, result.sparsifier.n_edges <= 4000, result.dropped["bad_lines"]
    (44850, True, 0)
    """
    began = time.perf_counter()
    source = as_stream(graph)
    source = config.budget.validate(source).sample_source(source)
    is_certified = config.is_certified(source)
    _require_seconds(source, config)
    tree = None
    tree_result = None
    stream: Stream
    with resumable_from(config.checkpoint):
        if config.is_tree:
            tree = MergeTree(source, config)
            tree_result = tree.run()
            stream = tree_result.stream
            dropped = stream.note
        else:
            stream = run_stream(
                open_stream(config),
                source,
                progress=config.progress,
                checkpoint=config.checkpoint,
                every=config.every,
            )
            dropped = {name: getattr(source, name) for name in DROPPED}
    edges_per_second = stream.n_edges_seen_ / (time.perf_counter() - began)
    span = stream.span_ if isinstance(stream, TimedSparsifier) else None
    if is_certified and span is not None:
        source = recent_edges(source, since=span[0], at=span[1], half_life=config.half_life)
    method = config.stream_method
    factor = 1.0
    sparsifier = None
    predicted_error = None
    if config.needs_subgraph(source, stream):
        sparsifier, predicted_error = _choose_subgraph(source, stream.budget_, config)
        method = "subgraph"
        factor = 1 + predicted_error
    if is_certified:
        made = certify_and_search(
            source,
            stream,
            epsilon=config.certified_epsilon,
            delta=config.delta,
            random_state=config.random_state,
            progress=config.progress,
            rerun=None if tree is None else tree.rerun,
            sparsifier=sparsifier,
        )
    else:
        if sparsifier is None:
            sparsifier = _finalize(stream, config.progress)
        made = CertifiedRun(sparsifier, None, stream, n_runs=1)
    if predicted_error is None:
        predicted_error = made.stream.epsilon_predicted_
    return SparsifyResult(
        sparsifier=made.sparsifier,
        stream=made.stream,
        certificate=made.certificate,
        n_runs=made.n_runs,
        method=method,
        factor=factor,
        epsilon_predicted=predicted_error,
        config=config,
        dropped={name.removeprefix("n_"): dropped[name] for name in DROPPED},
        tree=tree_result,
        seconds=time.perf_counter() - began,
        edges_per_second=edges_per_second,
        span=span,
    )


def open_stream(config: SparsifyConfig) -> Stream:
    """Return the stream of a single pass: a new one, or the one of its checkpoint to resume."""
    fresh = config.new_stream()
    # A run that was stopped before its first checkpoint starts again.
    if not config.resume or config.checkpoint is None or not exists(config.checkpoint):
        return fresh
    stream = load_stream(config.checkpoint)
    wanted = {"half_life": config.half_life, "window": config.window} | config.stream_settings()
    for name, value in wanted.items():
        found = getattr(stream, name, None)
        if found != value:
            raise InputError(
                f"{config.checkpoint} was written with {name}={found}, not {value}; resume with "
                "the same options"
            )
    if stream.options != config.options:
        raise InputError(
            f"{config.checkpoint} was written with another memory_limit or other options; resume "
            "with the same"
        )
    if config.random_state is not None and not stream.same_seed(fresh):
        raise InputError(
            f"{config.checkpoint} was written with another random_state; resume with the same one"
        )
    return stream


def run_stream(
    stream: Stream,
    source: EdgeSource | EdgeList,
    *,
    progress: Progress = False,
    checkpoint: str | os.PathLike | None = None,
    every: float = 60.0,
    write: Callable[[Stream], None] | None = None,
) -> Stream:
    """Process all batches of `source`, from where the stream stands.

    Parameters
    ----------
    stream : StreamSparsifier or TimedSparsifier
        If it has seen edges already (a loaded checkpoint), these are skipped, after checking by
        degrees or checksums that they are the same.
    source : EdgeSource or EdgeList
    progress : bool or callable
    checkpoint : path, optional
        Save the state every `every` seconds, at the end, and when something ends the run between
        two batches: a signal or a bad line. If that fails, a warning is issued and the run goes on.
    every : float
        Seconds between two checkpoints.
    write : callable, optional
        Called as `write(stream)` when the state is saved, if new edges have arrived.

    Returns
    -------
    StreamSparsifier or TimedSparsifier
    """
    n_skip = stream.n_edges_seen_
    n_saved = n_skip
    prefix = _PrefixCheck(stream)
    n_read = 0
    last_saved = time.monotonic()
    is_saving = checkpoint is not None or write is not None
    is_busy = False
    try:
        with reporter(progress, "sparsifying") as report:
            for batch in source:
                # A signal waits until the stream is consistent again.
                with hold_signals():
                    is_busy = True
                    n_old = min(max(n_skip - n_read, 0), batch.n_edges)
                    if n_old:
                        prefix.add(batch.part(0, n_old), is_last=n_read + batch.n_edges >= n_skip)
                    n_read += batch.n_edges
                    if n_old < batch.n_edges:
                        stream.partial_fit(batch.part(n_old))
                    has_new_edges = stream.n_edges_seen_ > n_saved
                    is_due = time.monotonic() - last_saved > every
                    if is_saving and has_new_edges and is_due:
                        _save(stream, checkpoint, write)
                        n_saved = stream.n_edges_seen_
                        last_saved = time.monotonic()
                    is_busy = False
                fraction = source.fraction_read
                report(n_read, fraction, f"kept {stream.n_kept_:,}")
    except BaseException:
        if is_saving and not is_busy and stream.n_edges_seen_ > n_saved:
            with hold_signals():
                _save(stream, checkpoint, write)
        raise
    if n_read < n_skip:
        raise InputError(
            f"the checkpoint has seen {n_skip:,} edges, the input holds {n_read:,}; "
            "it belongs to another input"
        )
    if is_saving and stream.n_edges_seen_ > n_saved:
        _save(stream, checkpoint, write)
    return stream


def follow_stream(
    source: EdgeSource, config: SparsifyConfig, write: Callable[[Stream], None]
) -> Stream:
    """Process edges as they arrive, until a signal or the end of a pipe.

    Every `config.every` seconds, if new edges have arrived, and at the end, `write(stream)` is
    called and the checkpoint is saved.

    Parameters
    ----------
    source : EdgeSource
    config : SparsifyConfig
    write : callable
    """
    _require_seconds(source, config)
    stream = open_stream(config)
    with suppress(Stopped):
        run_stream(
            stream,
            source,
            progress=config.progress,
            checkpoint=config.checkpoint,
            every=config.every,
            write=write,
        )
    return stream


def certify_and_search(
    source: EdgeSource | EdgeList,
    stream: Stream,
    *,
    epsilon: float | None = None,
    delta: float = 0.01,
    random_state: RandomState = None,
    progress: Progress = False,
    rerun: Callable[[int], StreamSparsifier] | None = None,
    sparsifier: EdgeList | None = None,
) -> CertifiedRun:
    """Certify the sparsifier of a stream; with `epsilon`, search for the fewest edges that meet it.

    The certificate of run i may fail with probability delta / 2^i, so that the result meets epsilon
    with probability 1 - delta.

    Parameters
    ----------
    source : EdgeSource or EdgeList
        The graph.
    stream : StreamSparsifier or TimedSparsifier
        That has seen all of it. Its sparsifier is the first one to be measured.
    epsilon : float, optional
        Without it, the first sparsifier is certified and returned.
    delta : float
    random_state : int, Generator or None
        Seed of the certificates and of further runs. (A stream that was loaded from a checkpoint
        does not have the one that it was made with.)
    progress : bool or callable
    rerun : callable, optional
        `rerun(n_edges)` returns a stream that has seen all of `source`. Default: another pass.
    sparsifier : EdgeList, optional
        Replaces the one that `stream` makes.

    Returns
    -------
    CertifiedRun

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> stream = StreamSparsifier(n_edges=600, random_state=4).partial_fit(complete(200))
    >>> result = certify_and_search(complete(200), stream, epsilon=0.5, random_state=4)
    >>> result.certificate.meets(0.5), result.n_runs > 1
    (True, True)
    """
    if sparsifier is None:
        sparsifier = _finalize(stream, progress)
    if epsilon is None:
        certificate = _certificate(source, sparsifier, stream, delta, random_state, progress)
        return CertifiedRun(sparsifier, certificate, stream, n_runs=1)
    search = EdgeSearch(epsilon, stream.error_curve_ or DENSE_CURVE)
    best = None
    while best is None or not search.is_finished:
        if search.n_runs > 0:
            n_edges = search.next_n_edges
            source = Budget(n_edges, None, None).sample_source(source)
            if rerun is not None:
                stream = rerun(n_edges)
            else:
                fresh = StreamSparsifier(
                    n_edges=n_edges,
                    ridge=stream.ridge,
                    options=stream.options,
                    random_state=random_state,
                )
                stream = run_stream(fresh, source, progress=progress)
            sparsifier = _finalize(stream, progress)
        run_delta = delta / 2 ** (search.n_runs + 1)
        certificate = _certificate(source, sparsifier, stream, run_delta, random_state, progress)
        error = certificate.epsilon_upper
        if search.record(sparsifier.n_edges, error):
            best = CertifiedRun(sparsifier, certificate, stream, n_runs=search.n_runs)
        elif stream.is_whole_ and error > epsilon and not _can_draw_more(source, search):
            raise InputError(
                f"epsilon={epsilon:g} cannot be met: all edges drawn of large cliques are kept, at "
                f"{error:.2g}; draw more of them: degree=... (--degree)"
            )
    return best._replace(n_runs=search.n_runs)


def _certificate(source, sparsifier, stream, delta, random_state, progress):
    """Return the certificate of a sparsifier; that of a whole graph needs no measurement."""
    if stream.is_whole_ and source.is_exact:
        return Certificate(0.0, 0.0, 1.0, 1.0, delta=0.0)
    return certify(
        source,
        sparsifier,
        delta=delta,
        ridge=stream.ridge,
        random_state=random_state,
        progress=progress,
    )


def _can_draw_more(source, search):
    """Return whether a source that samples its edges gives others for the next number of edges."""
    return Budget(search.next_n_edges, None, None).sample_source(source) is not source


def _choose_subgraph(source, n_edges, config):
    """Read the graph into memory; return its best subgraph and the expected error."""
    with reporter(config.progress, "reading again, for a subgraph"):
        graph = as_edge_list(source).simplified()
    seed = int(np.random.default_rng(config.random_state).integers(2**63))
    with reporter(config.progress, "choosing a subgraph"):
        return best_subgraph(graph, n_edges, seed=seed)


def _finalize(stream, progress):
    """Return the sparsifier of a stream and end it, which takes a while for large samples."""
    with reporter(progress, "sampling to the budget"):
        return stream.sparsifier(consume=True)


def _require_seconds(source, config):
    """Check that times are in seconds if a duration has a unit, such as 7d."""
    durations = (config.window, config.half_life)
    has_unit = any(isinstance(duration, Duration) for duration in durations)
    if has_unit and isinstance(source, EdgeSource):
        source.expect_seconds()


def _save(stream, checkpoint, write=None):
    """Write outputs and a checkpoint. A full disk does not end the run: the last one is intact."""
    if write is not None:
        write(stream)
    if checkpoint is None:
        return
    try:
        stream.save(checkpoint)
    except InputError as error:
        warnings.warn(SavingWarning(f"no checkpoint: {error}"), stacklevel=3)


class _PrefixCheck:
    """Check that the edges which are skipped are those that a checkpoint has seen.

    A `StreamSparsifier` has the degrees of all edges so far, a `TimedSparsifier` a checksum.
    """

    def __init__(self, stream):
        self._n_seen = stream.n_edges_seen_
        self._is_timed = isinstance(stream, TimedSparsifier)
        if self._is_timed:
            self._found = NO_CHECKSUMS
            self._expected = stream.checksums_
        else:
            self._found = np.zeros(stream.n_nodes_)
            self._expected = stream.degrees_

    def add(self, edges, *, is_last):
        """Add skipped edges; raise an InputError if they are others."""
        if self._is_timed:
            is_same_kind = isinstance(edges, TimedEdges)
            if is_same_kind:
                self._found = checksums(edges, self._found)
        else:
            is_same_kind = max(edges.tail.max(), edges.head.max()) < self._found.size
            if is_same_kind:
                add_degrees(self._found, edges.tail, edges.head, edges.weight)
        is_complete = not is_last or np.array_equal(self._found, self._expected)
        if not is_same_kind or not is_complete:
            raise InputError(
                f"the first {self._n_seen:,} edges of the input are not those that the checkpoint "
                "has seen; it belongs to another input"
            )
