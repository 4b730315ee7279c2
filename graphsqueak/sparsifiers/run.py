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

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError, Parameter, SavingWarning
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import add_degrees
from graphsqueak.graph.timed_edges import TimedEdges, checksum
from graphsqueak.randomness import RandomState
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.graph_like import GraphLike, as_edge_list, as_stream
from graphsqueak.sources.recent import recent_edges
from graphsqueak.sources.times import Duration
from graphsqueak.sparsifiers.budget import Budget, check_connected
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.sparsifiers.certificate.certify import certify
from graphsqueak.sparsifiers.config import SparsifyConfig
from graphsqueak.sparsifiers.edge_search import EdgeSearch
from graphsqueak.sparsifiers.error_prediction import ErrorCurve
from graphsqueak.sparsifiers.result import SparsifyResult
from graphsqueak.sparsifiers.stream.base_stream import seed_from
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.stream.timed_sparsifier import TimedSparsifier, load_stream
from graphsqueak.sparsifiers.subgraph.subgraph import best_subgraph
from graphsqueak.sparsifiers.tree.parts import DROPPED, MergeTree, TreeResult
from graphsqueak.sparsifiers.typical_error import measure_cuts_and_degrees
from graphsqueak.system.atomic import Stopped, hold_signals, resumable_from
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.system.remote import exists

Stream = StreamSparsifier | TimedSparsifier
# The error of a dense graph: proportional to 1 / sqrt(n_edges).
DENSE_CURVE = ErrorCurve(n_edges=np.array([1.0, np.inf]), error=np.array([1.0, 0.0]))


class CertifiedRun(NamedTuple):
    """A sparsifier, its certificate, the stream that made it, and the number of runs."""

    sparsifier: EdgeList
    certificate: Certificate | None
    stream: Stream
    n_runs: int


class _FirstPass(NamedTuple):
    """A stream that has seen the whole input, and what else the pass left.

    `dropped` has the numbers of `DROPPED`, and `rerun` is that of `certify_and_search`.
    """

    stream: Stream
    random_state: RandomState
    dropped: dict[str, int]
    tree_result: TreeResult | None = None
    rerun: Callable[[int], StreamSparsifier] | None = None


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
    source = _validated_source(graph, config)
    is_certified = config.is_certified(source)
    with resumable_from(config.checkpoint):
        first = _first_pass(source, config)
    stream = first.stream
    _refuse_empty(stream.n_edges_seen_)
    # A resumed run has the seed with which it began.
    if config.random_state is None:
        config = replace(config, random_state=first.random_state)
    edges_per_second = stream.n_edges_seen_ / (time.perf_counter() - began)
    # Further runs of the search make streams without times.
    span = stream.span_ if isinstance(stream, TimedSparsifier) else None
    method = config.stream_method
    predicted_error = None
    if config.needs_subgraph(stream):
        method = "subgraph"
        sparsifier, predicted_error = _choose_subgraph(source, stream.budget_, config)
    else:
        sparsifier = _finalize(stream, config.progress)
    made = CertifiedRun(sparsifier, None, stream, n_runs=1)
    if is_certified:
        # Edges that were forgotten do not count as errors.
        if span is not None:
            source = recent_edges(source, since=span[0], at=span[1], half_life=config.half_life)
        made = certify_and_search(source, stream, sparsifier, config, rerun=first.rerun)
    if predicted_error is None:
        predicted_error = made.stream.epsilon_predicted_
    typical_error = measure_cuts_and_degrees(
        made.sparsifier,
        cut_errors=made.stream.cut_errors(made.sparsifier),
        degrees=made.stream.degrees_,
        effective_edges=made.stream.effective_edges_,
        n_edges=made.stream.n_edges_recent_,
    )
    return SparsifyResult(
        sparsifier=made.sparsifier,
        stream=made.stream,
        certificate=made.certificate,
        n_runs=made.n_runs,
        typical_error=typical_error,
        method=method,
        epsilon_predicted=predicted_error,
        config=config,
        dropped={name.removeprefix("n_"): first.dropped[name] for name in DROPPED},
        tree=first.tree_result,
        seconds=time.perf_counter() - began,
        edges_per_second=edges_per_second,
        span=span,
    )


def _first_pass(source, config):
    """Process the whole input, by a merge tree or as one stream with checkpoints."""
    if config.is_tree:
        tree = MergeTree(source, config)
        result = tree.run()
        return _FirstPass(
            result.stream,
            tree.random_state,
            result.stream.note,
            tree_result=result,
            rerun=tree.rerun,
        )
    stream = open_stream(config)
    run_stream(
        stream,
        source,
        progress=config.progress,
        checkpoint=config.checkpoint,
        checkpoint_interval=config.checkpoint_interval,
    )
    dropped = {name: getattr(source, name) for name in DROPPED}
    return _FirstPass(stream, stream.random_state, dropped)


def check_run(graph: GraphLike, config: SparsifyConfig, *, reads_all: bool = False) -> int:
    """Raise the errors of `run_sparsify`, without a run.

    Parameters
    ----------
    graph : EdgeSource, EdgeList, scipy sparse adjacency or networkx graph
    config : SparsifyConfig
    reads_all : bool
        Read the whole input into memory, which detects all errors. Default: those that are found
        before the first edge is processed.

    Returns
    -------
    int
        Number of edges that the checkpoint to resume has seen.

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> check_run(complete(30), SparsifyConfig(n_edges=20), reads_all=True)
    Traceback (most recent call last):
    graphsqueak.errors.InputError: 20 edges are too few to keep 30 nodes connected (at least 29)...
    """
    source = _validated_source(graph, config)
    n_seen = 0
    if config.is_tree:
        MergeTree(source, config).check()
    else:
        stream = open_stream(config)
        n_seen = stream.n_edges_seen_
        if reads_all and n_seen:
            prefix = _PrefixCheck(stream)
            for batch in source.batches():
                prefix.skip(batch)
            prefix.finish()
    if reads_all:
        edges = as_edge_list(source)
        _refuse_empty(edges.n_edges)
        n_edges = config.budget(edges.n_nodes, edges.n_edges)
        # The spanning forest of recent edges is known only at the end, as are the budgets that an
        # error needs.
        if config.epsilon is None and not config.is_timed:
            check_connected(
                n_edges,
                edges.n_nodes,
                n_forest=edges.n_nodes - 1 - int(edges.components().max(initial=-1)),
            )
    return n_seen


def _validated_source(graph, config):
    """Return the graph as a source; an InputError if it does not fit the configuration.

    Everything that can be refused is refused before the first edge is read.
    """
    source = as_stream(graph)
    source = config.budget.validate(source).sample_source(source)
    config.is_certified(source)
    _require_seconds(source, config)
    return source


def _refuse_empty(n_edges):
    if n_edges == 0:
        raise InputError(
            "the input has no edges besides self-loops and edges of weight zero; check its columns"
        )


def open_stream(config: SparsifyConfig) -> Stream:
    """Return the stream of a single pass: a new one, or the one of its checkpoint to resume."""
    fresh = config.new_stream()
    # A run that was stopped before its first checkpoint starts again.
    if not config.resume or config.checkpoint is None or not exists(config.checkpoint):
        return fresh
    stream = load_stream(config.checkpoint)
    # A `StreamSparsifier` has neither attribute, which stands for None.
    wanted = {"half_life": config.half_life, "window": config.window} | config.stream_settings()
    found = {name: getattr(stream, name, None) for name in wanted} | vars(stream.options)
    for name, value in (wanted | vars(config.options)).items():
        if found[name] != value:
            raise InputError(
                f"{config.checkpoint} was written with ",
                Parameter(name, found[name]),
                f", not {value}; resume with the same options",
            )
    if config.random_state is not None and not stream.same_seed(fresh):
        raise InputError(
            f"{config.checkpoint} was written with another ",
            Parameter("random_state"),
            "; resume with the same one",
        )
    return stream


def run_stream(
    stream: Stream,
    source: EdgeSource | EdgeList,
    *,
    progress: Progress = False,
    checkpoint: str | os.PathLike | None = None,
    checkpoint_interval: float = 60.0,
    write: Callable[[Stream], None] | None = None,
    write_interval: float = 60.0,
) -> Stream:
    """Process all batches of `source`, from where the stream stands.

    Parameters
    ----------
    stream : StreamSparsifier or TimedSparsifier
        If it has seen edges already (a loaded checkpoint), these are skipped, after checking by
        degrees or a checksum that they are the same.
    source : EdgeSource or EdgeList
    progress : bool or callable
    checkpoint : path, optional
        Save the state every `checkpoint_interval` seconds, at the end, and when something ends the
        run between two batches: a signal or a bad line. If that fails, a warning is issued and the
        run goes on.
    checkpoint_interval : float
        Seconds between two checkpoints.
    write : callable, optional
        Called as `write(stream)` every `write_interval` seconds and at the end, if new edges have
        arrived.
    write_interval : float
        Seconds between two calls.

    Returns
    -------
    StreamSparsifier or TimedSparsifier
    """
    n_saved = stream.n_edges_seen_
    n_written = n_saved
    prefix = _PrefixCheck(stream)
    n_read = 0
    last_saved = time.monotonic()
    last_written = last_saved
    # Whether the state is that of a whole number of batches.
    is_consistent = True

    def save_new_edges():
        nonlocal n_saved, last_saved
        if checkpoint is None or stream.n_edges_seen_ == n_saved:
            return
        # A full disk does not end the run: the last checkpoint is intact.
        try:
            stream.save(checkpoint)
        except InputError as error:
            warnings.warn(SavingWarning("no checkpoint: ", error), stacklevel=2)
        n_saved = stream.n_edges_seen_
        last_saved = time.monotonic()

    def write_new_edges():
        nonlocal n_written, last_written
        if write is None or stream.n_edges_seen_ == n_written:
            return
        write(stream)
        n_written = stream.n_edges_seen_
        last_written = time.monotonic()

    try:
        with reporter(progress, "sparsifying") as report:
            for batch in source.batches():
                # A signal waits until the stream is consistent again.
                with hold_signals():
                    is_consistent = False
                    # A resumed stream has seen the first edges.
                    n_old = prefix.skip(batch)
                    n_read += batch.n_edges
                    if n_old < batch.n_edges:
                        stream.partial_fit(batch.part(n_old))
                    if time.monotonic() - last_written > write_interval:
                        write_new_edges()
                    if time.monotonic() - last_saved > checkpoint_interval:
                        save_new_edges()
                    is_consistent = True
                report(n_read, source.fraction_read, f"kept {stream.n_kept_:,}")
    except BaseException:
        # Signals arrive as exceptions. The work so far is saved, so that it can be resumed.
        if is_consistent:
            with hold_signals():
                write_new_edges()
                save_new_edges()
        raise
    prefix.finish()
    write_new_edges()
    save_new_edges()
    return stream


def follow_stream(
    source: EdgeSource,
    config: SparsifyConfig,
    write: Callable[[Stream], None],
    *,
    interval: float = 60.0,
) -> Stream:
    """Process edges as they arrive, until a signal or the end of a pipe.

    `write(stream)` is called every `interval` seconds and at the end, if new edges have arrived.
    Checkpoints are saved as in `run_stream`.

    Parameters
    ----------
    source : EdgeSource
    config : SparsifyConfig
    write : callable
    interval : float
        Seconds between two calls of `write`.
    """
    _require_seconds(source, config)
    stream = open_stream(config)
    with suppress(Stopped):
        run_stream(
            stream,
            source,
            progress=config.progress,
            checkpoint=config.checkpoint,
            checkpoint_interval=config.checkpoint_interval,
            write=write,
            write_interval=interval,
        )
    return stream


def certify_and_search(
    source: EdgeSource | EdgeList,
    stream: Stream,
    sparsifier: EdgeList,
    config: SparsifyConfig,
    *,
    rerun: Callable[[int], StreamSparsifier] | None = None,
) -> CertifiedRun:
    """Certify a sparsifier; with `epsilon`, search for the fewest edges that meet it.

    The certificate of run i may fail with probability delta / 2^i, so that the result meets epsilon
    with probability 1 - delta.

    Parameters
    ----------
    source : EdgeSource or EdgeList
        The graph.
    stream : StreamSparsifier or TimedSparsifier
        That has seen all of it.
    sparsifier : EdgeList
        The first one to be measured, of this stream or a subgraph.
    config : SparsifyConfig
        Without `epsilon`, the sparsifier is certified and returned.
    rerun : callable, optional
        `rerun(n_edges)` returns a stream that has seen all of `source`. Default: another pass.

    Returns
    -------
    CertifiedRun

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> stream = StreamSparsifier(n_edges=600, random_state=4).partial_fit(complete(200))
    >>> config = SparsifyConfig(epsilon=0.5, random_state=4)
    >>> result = certify_and_search(complete(200), stream, stream.sparsifier(), config)
    >>> result.certificate.meets(0.5), result.n_runs > 1
    (True, True)
    """
    epsilon = config.certified_epsilon
    # Without a target there is nothing to search for.
    if epsilon is None:
        certificate = _certificate(source, sparsifier, stream, config, config.delta)
        return CertifiedRun(sparsifier, certificate, stream, n_runs=1)
    search = EdgeSearch(epsilon, stream.error_curve_ or DENSE_CURVE)
    best = None
    while best is None or not search.is_finished:
        if search.n_runs > 0:
            n_edges = search.next_n_edges
            # Large cliques of a projected table are sampled for the number of edges to keep.
            source = Budget(n_edges, None, None).sample_source(source)
            if rerun is not None:
                stream = rerun(n_edges)
            else:
                again = replace(config, n_edges=n_edges, epsilon=None, half_life=None, window=None)
                stream = run_stream(again.new_stream(), source, progress=config.progress)
            sparsifier = _finalize(stream, config.progress)
        # The failure probabilities of all runs sum to less than delta.
        run_delta = config.delta / 2 ** (search.n_runs + 1)
        certificate = _certificate(source, sparsifier, stream, config, run_delta)
        error = certificate.epsilon_upper
        if search.record(sparsifier.n_edges, error):
            best = CertifiedRun(sparsifier, certificate, stream, n_runs=search.n_runs)
        elif stream.is_exact_ and error > epsilon:
            # A source that samples its edges gives others for another number of edges.
            if Budget(search.next_n_edges, None, None).sample_source(source) is not source:
                continue
            raise InputError(
                Parameter("epsilon", epsilon),
                " cannot be met: all edges drawn of large cliques are kept, at "
                f"{error:.2g}; draw more of them: ",
                Parameter("clique_degree"),
            )
    return best._replace(n_runs=search.n_runs)


def _certificate(source, sparsifier, stream, config, delta):
    """Return the certificate of a sparsifier; that of a whole graph needs no measurement."""
    if stream.is_exact_ and source.is_exact:
        return Certificate(0.0, 0.0, 1.0, 1.0, delta=0.0)
    return certify(
        source,
        sparsifier,
        delta=delta,
        ridge=config.ridge,
        random_state=config.random_state,
        progress=config.progress,
    )


def _choose_subgraph(source, n_edges, config):
    """Read the graph into memory; return its best subgraph and the expected error."""
    with reporter(config.progress, "reading again, for a subgraph"):
        graph = as_edge_list(source).simplified()
    with reporter(config.progress, "choosing a subgraph"):
        return best_subgraph(graph, n_edges, seed=seed_from(config.random_state))


def _finalize(stream, progress):
    """Return the sparsifier of a stream and end it, which takes a while for large samples."""
    with reporter(progress, "sampling to the budget"):
        return stream.sparsifier(consume=True)


def _require_seconds(source, config):
    """Check that times are in seconds if a duration has a unit, such as 7d."""
    has_unit = isinstance(config.window, Duration) or isinstance(config.half_life, Duration)
    if has_unit and isinstance(source, EdgeSource):
        source.expect_seconds()


class _PrefixCheck:
    """Check that the edges which are skipped are those that a checkpoint has seen.

    A `StreamSparsifier` has the degrees of all edges so far, a `TimedSparsifier` a checksum.
    """

    def __init__(self, stream):
        self._n_seen = stream.n_edges_seen_
        self._n_skipped = 0
        self._is_timed = isinstance(stream, TimedSparsifier)
        self._expected = stream.checksum_ if self._is_timed else stream.degrees_
        self._found = 0 if self._is_timed else np.zeros(stream.n_nodes_)

    def skip(self, batch):
        """Return how many edges of the next batch were seen; an InputError if they are others."""
        n_old = min(self._n_seen - self._n_skipped, batch.n_edges)
        if n_old:
            self._n_skipped += n_old
            self._add(batch.part(0, n_old), is_last=self._n_skipped == self._n_seen)
        return n_old

    def finish(self):
        """Raise an InputError if the input has fewer edges than were seen."""
        if self._n_skipped < self._n_seen:
            raise InputError(
                f"the checkpoint has seen {self._n_seen:,} edges, the input holds "
                f"{self._n_skipped:,}; it belongs to another input"
            )

    def _add(self, edges, *, is_last):
        if self._is_timed:
            is_same = isinstance(edges, TimedEdges)
            if is_same:
                self._found = checksum(edges, self._found)
        else:
            is_same = max(edges.tail.max(), edges.head.max()) < self._found.size
            if is_same:
                add_degrees(self._found, edges.tail, edges.head, edges.weight)
        if is_last:
            is_same = is_same and np.array_equal(self._found, self._expected)
        if not is_same:
            raise InputError(
                f"the first {self._n_seen:,} edges of the input are not those that the checkpoint "
                "has seen; it belongs to another input"
            )
