"""One run from a graph to its sparsifier: one plan in, one result out.

    plan    budget, method, stream or tree, checkpoint, memory, certificate: checked at once
    run     one pass over the edges, or a merge tree over their parts
    goal    the certificate measures the accuracy; while it misses `epsilon`, another run follows

The function `graphsqueak.sparsify` and the command of the same name both make a `RunPlan` and
call `run_plan`.

The prediction eps = sqrt(2 n / n_edges) holds for dense graphs. Elsewhere the measured accuracy
says by how much to correct: it falls like 1 / sqrt(n_edges) or faster.
"""

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.sources.edge_source import GraphLike, as_stream
from graphsqueak.sparsifiers.budget import StreamOptions, check_room
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.sparsifiers.certificate.certify import certify
from graphsqueak.sparsifiers.stream.feeding import run_stream
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.tree.parts import DROPPED, TreeResult, run_parts
from graphsqueak.system.memory import peak_rss
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.system.signals import resumable_from
from graphsqueak.validation import check_count, check_real

__all__ = ["RunPlan", "RunResult", "certify_and_correct", "open_stream", "run_plan"]

_LEAST_GROWTH, _MOST_GROWTH = 1.1, 4.0
_MARGIN = 1.03  # more edges than the measured accuracy asks for


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """What a run is to do; one that makes no sense is refused here, before an edge is read.

    Its fields are the parameters of `graphsqueak.sparsify`, which documents them. Any of `workers`,
    `scheduler` and `tree` makes it a merge tree instead of a single pass.
    """

    n_edges: int | None = None
    epsilon: float | None = None
    keep: float | None = None
    method: str = "fast"
    ridge: float = 0.0
    options: StreamOptions = field(default_factory=StreamOptions)
    certify: bool | None = None
    delta: float = 0.01
    workers: int | None = None
    scheduler: str | None = None
    tree: str | int | None = None
    n_parts: int | None = None
    memory_limit: int | None = None
    checkpoint: str | os.PathLike | None = None
    every: float = 60.0
    resume: bool = False
    random_state: RandomState = None
    progress: Progress = False

    def __post_init__(self):
        if self.memory_limit is not None:
            limit = check_room(check_count("memory_limit", self.memory_limit), self.n_edges)
            object.__setattr__(self, "options", replace(self.options, memory_limit=limit))
        self.new_stream(seed=0)  # checks budget, method, ridge, and draws nothing
        check_real("every", self.every, least=0.0)
        check_real("delta", self.delta, above=0.0, below=1.0)
        if self.n_parts is not None:
            check_count("n_parts", self.n_parts)
            if not self.is_tree:
                raise InputError(
                    "n_parts is for merge trees; give workers, scheduler or tree as well"
                )
        if self.resume and self.checkpoint is None:
            raise InputError("resume=True needs checkpoint=PATH, the file or folder to go on from")

    @property
    def is_tree(self) -> bool:
        """Whether the input is read in parts that are merged."""
        return self.workers is not None or self.scheduler is not None or self.tree is not None

    @property
    def goal(self) -> float | None:
        """The accuracy that has to be proved; the thesis' method has a guarantee of its own."""
        return self.epsilon if self.method == "fast" else None

    def settings(self) -> dict[str, Any]:
        """The arguments of the `StreamSparsifier` but options and seed."""
        names = ("n_edges", "epsilon", "keep", "method", "ridge")
        return {name: getattr(self, name) for name in names}

    def new_stream(self, seed: int | None = None) -> StreamSparsifier:
        """A stream that has seen nothing yet; with a `seed` of its own, the plan's is not used."""
        random_state = self.random_state if seed is None else seed
        return StreamSparsifier(**self.settings(), options=self.options, random_state=random_state)

    def certifies(self, source: GraphLike) -> bool:
        """Whether the result on `source` is certified."""
        is_rereadable = getattr(source, "is_rereadable", True)
        if self.certify and not is_rereadable:
            raise InputError(
                "certify=True reads the input several times; a pipe can be read once: write it to "
                "a file, or leave certify=True out and get a predicted accuracy"
            )
        if self.certify is None:
            return self.goal is not None and is_rereadable
        return self.certify


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """A sparsifier and how it came about.

    Attributes
    ----------
    sparsifier : EdgeList
    stream : StreamSparsifier
        That made it: counters, exact degrees, predicted accuracy.
    certificate : Certificate or None
    n_runs : int
        How many streams were run until the accuracy was met.
    plan : RunPlan
    dropped : dict
        Self-loops, edges of weight zero and bad lines, as counts.
    tree : TreeResult or None
        Parts and traffic of a merge tree.
    seconds, edges_per_second : float
        Of everything, and of the first pass.
    """

    sparsifier: EdgeList
    stream: StreamSparsifier
    certificate: Certificate | None
    n_runs: int
    plan: RunPlan
    dropped: dict[str, int]
    tree: TreeResult | None
    seconds: float
    edges_per_second: float

    def record(self) -> dict[str, Any]:
        """The figures of the run by name, as `graphsqueak sparsify --json` prints them."""
        stream, certificate = self.stream, self.certificate
        record = {
            "nodes": stream.n_nodes_,
            "edges_read": stream.n_edges_seen_,
            "edges_kept": self.sparsifier.n_edges,
            "peak_rss_bytes": peak_rss(),
            "shrinks": stream.n_shrinks_,
            "epsilon_predicted": stream.epsilon_predicted_,
            "probe_error": stream.probe_error_,
            "components": stream.n_components_,
            "seed": self.plan.random_state,
        }
        if certificate is not None:
            for name in ("epsilon_lower", "epsilon_upper", "lambda_min", "lambda_max", "delta"):
                record[name] = getattr(certificate, name)
            record |= {"passes": certificate.passes, "runs": self.n_runs}
        record |= self.dropped
        if self.tree is not None:
            record |= {"parts": self.tree.n_parts, "parts_resumed": self.tree.n_resumed}
            record |= {"workers": self.plan.workers, "tree": self.plan.tree or "balanced"}
            record["worker_peak_bytes"] = self.tree.run.worker_peak_bytes
            record["moved_bytes"] = self.tree.run.moved_bytes
        return record | {"seconds": self.seconds, "edges_per_second": self.edges_per_second}


def run_plan(graph: GraphLike, plan: RunPlan) -> RunResult:
    """Run a plan.

    Parameters
    ----------
    graph : EdgeSource, EdgeList, scipy sparse adjacency or networkx graph
    plan : RunPlan

    Returns
    -------
    RunResult

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> result = run_plan(complete(300), RunPlan(n_edges=4000, random_state=7))
    >>> result.stream.n_edges_seen_, result.sparsifier.n_edges <= 4000, result.dropped["bad_lines"]
    (44850, True, 0)
    """
    began = time.perf_counter()
    source = as_stream(graph)
    certifies = plan.certifies(source)
    tree = rerun = None
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
    if certifies:
        made = certify_and_correct(
            source,
            stream,
            epsilon=plan.goal,
            delta=plan.delta,
            random_state=plan.random_state,
            progress=plan.progress,
            rerun=rerun,
        )
    else:
        made = _Certified(_thinned(stream, plan.progress), None, stream, 1)
    return RunResult(
        **made._asdict(),
        plan=plan,
        dropped={name.removeprefix("n_"): dropped[name] for name in DROPPED},
        tree=tree,
        seconds=time.perf_counter() - began,
        edges_per_second=rate,
    )


def open_stream(plan: RunPlan) -> StreamSparsifier:
    """The stream of a single pass: new, or, to be resumed, from its checkpoint."""
    fresh = plan.new_stream()
    if not plan.resume or plan.checkpoint is None or not Path(plan.checkpoint).exists():
        return fresh  # there may be no file: stopped before the first one
    stream = StreamSparsifier.load(plan.checkpoint)
    for name, asked in plan.settings().items():
        if getattr(stream, name) != asked:
            raise InputError(
                f"{plan.checkpoint} was written with {name}={getattr(stream, name)}, not {asked}; "
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


def certify_and_correct(
    source: GraphLike,
    stream: StreamSparsifier,
    *,
    epsilon: float | None = None,
    delta: float = 0.01,
    random_state: RandomState = None,
    progress: Progress = False,
    rerun: Callable[[int], StreamSparsifier] | None = None,
) -> "_Certified":
    """Certify what `stream` made of `source`; while `epsilon` is missed, run again with more edges.

    The certificate of run i may fail with probability delta / 2^i, so that what is returned meets
    epsilon with probability 1 - delta. When the budget holds all edges, the error is 0 and nothing
    is read again: it ends.

    Without `epsilon` it is certified once. `rerun(n_edges)` gives a stream that has seen all of
    `source`, by default in another pass.

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> stream = StreamSparsifier(n_edges=600, random_state=4).partial_fit(complete(200))
    >>> result = certify_and_correct(complete(200), stream, epsilon=0.5)
    >>> result.certificate.meets(0.5), result.n_runs > 1
    (True, True)
    """
    n_runs = 1
    while True:
        sparsifier = _thinned(stream, progress)
        if stream.is_whole_:
            exact = Certificate(0.0, 0.0, 1.0, 1.0, delta=0.0)
            return _Certified(sparsifier, exact, stream, n_runs)
        certificate = certify(
            source,
            sparsifier,
            delta=delta if epsilon is None else delta / 2**n_runs,
            ridge=stream.ridge,
            goal=epsilon,
            random_state=random_state,
            progress=progress,
        )
        if epsilon is None or certificate.meets(epsilon):
            return _Certified(sparsifier, certificate, stream, n_runs)
        n_edges = math.ceil(_growth(certificate, epsilon) * sparsifier.n_edges)
        if rerun is not None:
            stream = rerun(n_edges)
        else:
            more = StreamSparsifier(
                n_edges=n_edges,
                ridge=stream.ridge,
                options=stream.options,
                random_state=stream.random_state,
            )
            stream = run_stream(more, source, progress=progress)
        n_runs += 1


def _thinned(stream, progress):
    """The sparsifier of a stream; of a large one the last shrink takes a while."""
    with reporter(progress, "thinning to the budget"):
        return stream.sparsifier(use_up=True)


class _Certified(NamedTuple):
    """A sparsifier, what is proved about it, the stream that made it, and how many were made."""

    sparsifier: EdgeList
    certificate: Certificate | None
    stream: StreamSparsifier
    n_runs: int


def _growth(certificate, epsilon):
    """How many times as many edges are needed."""
    error = certificate.epsilon_upper
    if not math.isfinite(error):
        error = 2 * certificate.epsilon_lower
    return min(max(_MARGIN * (error / epsilon) ** 2, _LEAST_GROWTH), _MOST_GROWTH)
