"""One run from a graph to its sparsifier: one plan in, one result out.

    run     one pass over the edges, or a merge tree over their parts
    few     where less than three edges a node are to be kept, the graph is read once more and the
            best subgraph is found; between one and a half and three, what has the smaller kappa
    goal    the certificate measures the accuracy; while it misses `epsilon`, another run follows

The function `graphsqueak.sparsify` and the command of the same name both make a `RunPlan` and
call `run_plan`.

Edges for an `epsilon` are first counted as for a dense graph, n_edges = 2 n / eps^2. Elsewhere the
measured accuracy says by how much to correct: it falls like 1 / sqrt(n_edges) or faster.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.sources.edge_source import GraphLike, as_stream
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.sparsifiers.certificate.certify import certify
from graphsqueak.sparsifiers.plan import RunPlan
from graphsqueak.sparsifiers.stream.feeding import run_stream
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.subgraph.few_edges import sparsifier_of_few
from graphsqueak.sparsifiers.tree.parts import DROPPED, TreeResult, run_parts
from graphsqueak.system.memory import peak_rss
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.system.signals import resumable_from

__all__ = ["RunPlan", "RunResult", "certify_and_correct", "open_stream", "run_plan"]

_LEAST_GROWTH, _MOST_GROWTH = 1.1, 4.0
_MARGIN = 1.03  # more edges than the measured accuracy asks for


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """A sparsifier and how it came about.

    Attributes
    ----------
    sparsifier : EdgeList
    stream : StreamSparsifier
        That made it: counters, exact degrees, predicted accuracy.
    certificate : Certificate or None
    method : {"fast", "subgraph", "thesis"}
        That made it.
    factor : float
        That all weights got, to make the error of few edges least; 1 of others, whose weights are
        unbiased.
    epsilon_predicted : float
        The error to expect, 0 where nothing was dropped.
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
    method: str
    factor: float
    epsilon_predicted: float
    n_runs: int
    plan: RunPlan
    dropped: dict[str, int]
    tree: TreeResult | None
    seconds: float
    edges_per_second: float

    @property
    def probe_error(self) -> float | None:
        """The stream's error on a few cuts; None of a subgraph, which it did not make."""
        return None if self.method == "subgraph" else self.stream.probe_error_

    def record(self) -> dict[str, Any]:
        """The figures of the run by name, as `graphsqueak sparsify --json` prints them."""
        stream, certificate = self.stream, self.certificate
        record = {
            "nodes": stream.n_nodes_,
            "edges_read": stream.n_edges_seen_,
            "edges_kept": self.sparsifier.n_edges,
            "peak_rss_bytes": peak_rss(),
            "method": self.method,
            "factor": self.factor,
            "shrinks": stream.n_shrinks_,
            "epsilon_predicted": self.epsilon_predicted,
            "probe_error": self.probe_error,
            "components": stream.n_components_,
            "seed": self.plan.random_state,
        }
        if certificate is not None:
            record |= certificate.figures()
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
    sparsifier, method, expected, factor = sparsifier_of_few(source, stream, plan)
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
    sparsifier: EdgeList | None = None,
) -> "_Certified":
    """Certify what `stream` made of `source`; while `epsilon` is missed, run again with more edges.

    The certificate of run i may fail with probability delta / 2^i, so that what is returned meets
    epsilon with probability 1 - delta. When the budget holds all edges, the error is 0 and nothing
    is read again: it ends.

    Without `epsilon` it is certified once. `rerun(n_edges)` gives a stream that has seen all of
    `source`, by default in another pass; `sparsifier` stands in for what the first stream makes.

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
        if sparsifier is None:
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
        n_runs, sparsifier = n_runs + 1, None


def _thinned(stream, progress):
    """The sparsifier of a stream; of a large one the last shrink takes a while."""
    with reporter(progress, "thinning to the budget"):
        return stream.sparsifier()


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
