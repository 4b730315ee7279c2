"""One run from a graph to its sparsifier: a plan in, a result out.

    pass    all batches of the edges through one stream, with checkpoints, from where it stands
    tree    or the parts of the input, merged
    choice  with method="subgraph" the graph is read once more, held, and its edges are chosen
    goal    the certificate measures the error; further runs search for the fewest edges that meet
            `epsilon` (`edge_search`)

During the first pass for an `epsilon`, memory is planned as for a dense graph, which needs
n_edges = 2 n / eps^2. At its end the edges are scored, and the predicted error gives the number of
edges that this graph needs.
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
from graphsqueak.sparsifiers.budget import Budget, ErrorCurve
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.sparsifiers.certificate.certify import certify
from graphsqueak.sparsifiers.edge_search import EdgeSearch
from graphsqueak.sparsifiers.plan import RunPlan
from graphsqueak.sparsifiers.result import RunResult
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.stream.timed_sparsifier import TimedSparsifier, load_stream
from graphsqueak.sparsifiers.subgraph.subgraph import best_subgraph
from graphsqueak.sparsifiers.tree.parts import run_parts
from graphsqueak.sparsifiers.tree.tasks import DROPPED
from graphsqueak.system.atomic import Stopped, hold_signals, resumable_from
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.system.remote import exists

__all__ = ["certify_and_correct", "follow_stream", "open_stream", "run_plan", "run_stream"]

Stream = StreamSparsifier | TimedSparsifier
# The error of a dense graph: proportional to 1 / sqrt(n_edges).
DENSE_CURVE = ErrorCurve(n_edges=np.array([1.0, np.inf]), error=np.array([1.0, 0.0]))


def run_plan(graph: GraphLike, plan: RunPlan) -> RunResult:
    """Run a plan.

    Parameters
    ----------
    graph : EdgeSource, EdgeList, scipy sparse adjacency or networkx graph
    plan : RunPlan

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> result = run_plan(complete(300), RunPlan(n_edges=4000, random_state=7))
    >>> result.stream.n_edges_seen_, result.sparsifier.n_edges <= 4000, result.dropped["bad_lines"]
    (44850, True, 0)
    """
    began = time.perf_counter()
    source = as_stream(graph)
    source = Budget(plan.n_edges, plan.epsilon, plan.keep).checked(source).drawn(source)
    certifies = plan.certifies(source)
    _expect_seconds(source, plan)
    tree = rerun = None
    stream: Stream
    with resumable_from(plan.checkpoint):
        if plan.is_tree:
            tree = run_parts(source, plan)
            rerun = tree.rerun
            stream, dropped = tree.stream, tree.stream.note
        else:
            stream = run_stream(
                open_stream(plan),
                source,
                progress=plan.progress,
                checkpoint=plan.checkpoint,
                every=plan.every,
            )
            dropped = {name: getattr(source, name, 0) for name in DROPPED}
    rate = stream.n_edges_seen_ / (time.perf_counter() - began)
    span = stream.span_ if isinstance(stream, TimedSparsifier) else None
    if certifies and span is not None:
        source = recent_edges(source, since=span[0], at=span[1], half_life=plan.half_life)
    method, factor = plan.settings()["method"], 1.0
    sparsifier = expected = None
    if plan.takes_a_subgraph(source, stream):
        sparsifier, expected = _chosen_subgraph(source, stream.budget_, plan)
        method, factor = "subgraph", 1 + expected
    if certifies:
        made = certify_and_correct(
            source,
            stream,
            epsilon=plan.goal,
            delta=plan.delta,
            random_state=plan.random_state,
            progress=plan.progress,
            rerun=rerun,
            sparsifier=sparsifier,
        )
    else:
        thinned = _thinned(stream, plan.progress) if sparsifier is None else sparsifier
        made = _Certified(thinned, None, stream, 1)
    return RunResult(
        **made._asdict(),
        method=method,
        factor=factor,
        epsilon_predicted=made.stream.epsilon_predicted_ if expected is None else expected,
        plan=plan,
        dropped={name.removeprefix("n_"): dropped[name] for name in DROPPED},
        tree=tree,
        seconds=time.perf_counter() - began,
        edges_per_second=rate,
        span=span,
    )


def _expect_seconds(source, plan):
    """Hold a source to times in seconds where the plan has a span such as 7d."""
    has_unit = isinstance(plan.window, Duration) or isinstance(plan.half_life, Duration)
    if has_unit and isinstance(source, EdgeSource):
        source.expect_seconds()


def open_stream(plan: RunPlan) -> Stream:
    """The stream of a single pass: new, or, to be resumed, from its checkpoint."""
    fresh = plan.new_stream()
    if not plan.resume or plan.checkpoint is None or not exists(plan.checkpoint):
        return fresh  # there may be no file: stopped before the first one
    stream = load_stream(plan.checkpoint)
    times = {"half_life": plan.half_life, "window": plan.window}
    for name, asked in (times | plan.settings()).items():
        if (held := getattr(stream, name, None)) != asked:
            raise InputError(
                f"{plan.checkpoint} was written with {name}={held}, not {asked}; "
                "resume with the same options"
            )
    if stream.options != plan.options:
        raise InputError(
            f"{plan.checkpoint} was written with another memory_limit or other options; resume "
            "with the same"
        )
    if plan.random_state is not None and not stream.same_seed(fresh):
        raise InputError(
            f"{plan.checkpoint} was written with another random_state; resume with the same one"
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
    """Feed all batches of `source` to `stream`, from where it stands.

    A stream that has seen edges already (a loaded checkpoint) skips them, after checking by
    their degrees that they are the same. With `checkpoint`, its state is saved every `every`
    seconds, at the end, and when something ends the run between two batches (a signal, a bad line).
    A checkpoint that cannot be written is a warning: the work goes on. `write` is called as often,
    where edges have come since, and at the end.
    """
    n_skip = n_saved = stream.n_edges_seen_
    skipped = _Skipped(stream)
    n_read, saved, is_busy = 0, time.monotonic(), False
    try:
        with reporter(progress, "sparsifying") as report:
            for batch in source:
                with hold_signals():
                    is_busy = True
                    n_old = min(n_skip - n_read, batch.n_edges) if n_read < n_skip else 0
                    if n_old:
                        skipped.add(batch.part(0, n_old), is_last=n_read + batch.n_edges >= n_skip)
                    n_read += batch.n_edges
                    if n_old < batch.n_edges:
                        stream.partial_fit(batch.part(n_old))
                    is_due = stream.n_edges_seen_ > n_saved and time.monotonic() - saved > every
                    if is_due and (checkpoint or write):
                        _save(stream, checkpoint, write)
                        n_saved, saved = stream.n_edges_seen_, time.monotonic()
                    is_busy = False
                report(n_read, getattr(source, "fraction_read", 1.0), f"kept {stream.n_kept_:,}")
    except BaseException:
        if (checkpoint or write) and not is_busy and stream.n_edges_seen_ > n_saved:
            with hold_signals():
                _save(stream, checkpoint, write)
        raise
    if n_read < n_skip:
        raise InputError(
            f"the checkpoint has seen {n_skip:,} edges, the input holds {n_read:,}; "
            "it belongs to another input"
        )
    if (checkpoint or write) and stream.n_edges_seen_ > n_saved:
        _save(stream, checkpoint, write)
    return stream


def follow_stream(source: EdgeSource, plan: RunPlan, write: Callable[[Stream], None]) -> Stream:
    """Feed edges as they come to the stream of a plan until a signal, or a pipe's end, ends it.

    Every `plan.every` seconds, if edges have come, and at the end, `write(stream)` is called and
    the checkpoint saved.

    Parameters
    ----------
    source : EdgeSource
        That gives empty batches while nothing comes (`follow_edges`).
    plan : RunPlan
    write : callable
    """
    _expect_seconds(source, plan)
    stream = open_stream(plan)
    with suppress(Stopped):
        run_stream(
            stream,
            source,
            progress=plan.progress,
            checkpoint=plan.checkpoint,
            every=plan.every,
            write=write,
        )
    return stream


def certify_and_correct(
    source: EdgeSource | EdgeList,
    stream: Stream,
    *,
    epsilon: float | None = None,
    delta: float = 0.01,
    random_state: RandomState = None,
    progress: Progress = False,
    rerun: Callable[[int], Stream] | None = None,
    sparsifier: EdgeList | None = None,
) -> "_Certified":
    """Certify the sparsifier of `stream`; with `epsilon`, search for the fewest edges that meet it.

    The certificate of run i may fail with probability delta / 2^i, so that the result meets epsilon
    with probability 1 - delta.

    Parameters
    ----------
    source : EdgeSource or EdgeList
        The graph.
    stream : StreamSparsifier
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

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> stream = StreamSparsifier(n_edges=600, random_state=4).partial_fit(complete(200))
    >>> result = certify_and_correct(complete(200), stream, epsilon=0.5, random_state=4)
    >>> result.certificate.meets(0.5), result.n_runs > 1
    (True, True)
    """
    if sparsifier is None:
        sparsifier = _thinned(stream, progress)
    if epsilon is None:
        certificate = _certified(source, sparsifier, stream, delta, random_state, progress)
        return _Certified(sparsifier, certificate, stream, n_runs=1)
    search = EdgeSearch(epsilon, stream.error_curve_ or DENSE_CURVE)
    best = None
    while best is None or not search.is_finished:
        if search.n_runs > 0:
            source = Budget(search.next_n_edges, None, None).drawn(source)
            if rerun is not None:
                stream = rerun(search.next_n_edges)
            else:
                fresh = StreamSparsifier(
                    n_edges=search.next_n_edges,
                    ridge=stream.ridge,
                    options=stream.options,
                    random_state=random_state,
                )
                stream = run_stream(fresh, source, progress=progress)
            sparsifier = _thinned(stream, progress)
        delta_of_run = delta / 2 ** (search.n_runs + 1)
        certificate = _certified(source, sparsifier, stream, delta_of_run, random_state, progress)
        error = certificate.epsilon_upper
        if search.record(sparsifier.n_edges, error):
            best = _Certified(sparsifier, certificate, stream, n_runs=search.n_runs)
        elif stream.is_whole_ and error > epsilon and not _can_draw_more(source, search):
            raise InputError(
                f"epsilon={epsilon:g} cannot be met: all edges drawn of large cliques are kept, at "
                f"{error:.2g}; draw more of them: degree=... (--degree)"
            )
    return best._replace(n_runs=search.n_runs)


def _certified(source, sparsifier, stream, delta, random_state, progress):
    """Return the certificate of a sparsifier; that of a whole graph needs no measurement."""
    if stream.is_whole_ and getattr(source, "is_exact", True):
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
    """Whether a source that samples its edges gives others for the next number of edges."""
    return Budget(search.next_n_edges, None, None).drawn(source) is not source


def _chosen_subgraph(source, n_edges, plan):
    """The best subgraph of the whole source, which is held, and the error to expect of it."""
    with reporter(plan.progress, "reading again, for a subgraph"):
        graph = as_edge_list(source).simplified()
    seed = int(np.random.default_rng(plan.random_state).integers(2**63))
    with reporter(plan.progress, "choosing a subgraph"):
        return best_subgraph(graph, n_edges, seed=seed)


def _thinned(stream, progress):
    """The sparsifier of a stream; of a large one the last shrink takes a while."""
    with reporter(progress, "thinning to the budget"):
        return stream.sparsifier(consume=True)


class _Certified(NamedTuple):
    """A sparsifier, what is proved about it, the stream that made it, and how many were made."""

    sparsifier: EdgeList
    certificate: Certificate | None
    stream: Stream
    n_runs: int


def _save(stream, checkpoint, write=None):
    """A full disk must not end a run that can do without: the last checkpoint is still whole."""
    if write is not None:
        write(stream)
    if checkpoint is None:
        return
    try:
        stream.save(checkpoint)
    except InputError as error:
        warnings.warn(SavingWarning(f"no checkpoint: {error}"), stacklevel=3)


class _Skipped:
    """Edges of an input that a checkpoint has seen; an InputError if they are others.

    A plain stream knows the degrees of all that it has seen, one with times a checksum.
    """

    def __init__(self, stream):
        self._stream, self._n_seen = stream, stream.n_edges_seen_
        self._is_timed = isinstance(stream, TimedSparsifier)
        self._found = NO_CHECKSUMS if self._is_timed else np.zeros(stream.n_nodes_)
        self._wanted = stream.checksums_ if self._is_timed else stream.degrees_

    def add(self, edges, *, is_last):
        fits = isinstance(edges, TimedEdges)
        if self._is_timed and fits:
            self._found = checksums(edges, self._found)
        elif not self._is_timed:
            fits = max(edges.tail.max(), edges.head.max()) < self._found.size
            if fits:
                add_degrees(self._found, edges.tail, edges.head, edges.weight)
        if not fits or (is_last and not np.array_equal(self._found, self._wanted)):
            raise InputError(
                f"the first {self._n_seen:,} edges of the input are not those that the checkpoint "
                "has seen; it belongs to another input"
            )
