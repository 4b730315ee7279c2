"""A run on paper: what it is to do, what came of it, and that in plain words.

The function `graphsqueak.sparsify` and the command of the same name both make a `RunPlan`, hand it
to `run.run_plan` and get a `RunResult`.

In words an error of 0.1 lets the weight between any group of nodes and all others be off by a
tenth. It is 0 where the budget held every edge, measured where a certificate was made, and
predicted elsewhere.
"""

import math
import os
from dataclasses import dataclass, field, replace
from typing import Any

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.sources.edge_source import GraphLike
from graphsqueak.sparsifiers.budget import Budget, StreamOptions, check_room
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.tree.parts import TreeResult
from graphsqueak.system.memory import peak_rss
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_count, check_real

__all__ = ["RunPlan", "RunResult", "error_in_short", "measured_error", "next_step", "verdict"]

_CLOSE, _GOOD, _POOR = 0.25, 0.5, 0.8
_LEAST_SHOWN = 0.001


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


def measured_error(certificate: Certificate) -> str:
    """The error that a certificate proves, in a few words.

    >>> measured_error(Certificate(0.63, 0.6456, 0.4, 1.6, delta=0.01))
    'error at most 0.646 (measured, with probability 0.99)'
    >>> measured_error(Certificate(0.25, 0.25, 0.8, 1.25, delta=0.0))
    'error 0.25 (measured, exact)'
    """
    if certificate.problem:
        return f"error not bounded: {certificate.problem}"
    if certificate.delta == 0:
        return f"error {_rounded_up(certificate.epsilon_upper)} (measured, exact)"
    sure = f"measured, with probability {1 - certificate.delta:g}"
    return f"error at most {_rounded_up(certificate.epsilon_upper)} ({sure})"


def error_in_short(result: RunResult) -> str:
    """The error of a run, and how it is known.

    >>> from graphsqueak.sources import complete
    >>> from graphsqueak.sparsifiers.run import run_plan
    >>> error_in_short(run_plan(complete(9), RunPlan(keep=1.0)))
    'error 0: nothing was dropped'
    >>> error_in_short(run_plan(complete(300), RunPlan(n_edges=4800, random_state=7)))
    'error about 0.35 (predicted, not measured)'
    """
    if result.stream.is_whole_:
        return "error 0: nothing was dropped"
    if result.certificate is None:
        return f"error about {result.stream.epsilon_predicted_:.2g} (predicted, not measured)"
    return measured_error(result.certificate)


def verdict(result: RunResult) -> str:
    """What the error means to someone who thinks of cuts and not of matrices.

    >>> from graphsqueak.sources import complete
    >>> from graphsqueak.sparsifiers.run import run_plan
    >>> plan = RunPlan(n_edges=20_000, certify=True, random_state=7)
    >>> print(verdict(run_plan(complete(300), plan)))
    A close copy. Between any group of nodes and all others, the sparsifier has the graph's total
    weight within 1... %, always.
    """
    stream, certificate = result.stream, result.certificate
    if stream.is_whole_:
        n_parallel = stream.n_edges_seen_ - result.sparsifier.n_edges
        parallel = f"; {n_parallel:,} edges that repeat others were added to them"
        return f"The output is the whole graph{parallel if n_parallel else ''}."
    if certificate is not None:
        return f"{_grade(certificate)}{certificate.in_words()}"
    if (error := stream.epsilon_predicted_) < _POOR:
        return (
            f"Not measured. If the graph is dense, the weight between any group of nodes and all "
            f"others is within about {100 * error:.0f} % of the graph's."
        )
    return (
        "Not measured, and too few edges to keep cuts: connected nodes stay connected, but the "
        "weight between a group of nodes and all others may be several times the graph's."
    )


def next_step(result: RunResult) -> str:
    """What to do about it; empty where all is well."""
    plan, stream = result.plan, result.stream
    n_nodes, n_seen = stream.n_nodes_, stream.n_edges_seen_
    if stream.is_whole_:
        if plan.epsilon is None:
            return "For a smaller graph keep fewer edges: --keep 0.2 keeps a fifth."
        return (
            f"Nothing can be dropped at this error; {plan.epsilon:g} would need about "
            f"{_about(stream.budget_)} edges, there are {n_seen:,}. "
            f"{_larger_error(plan.epsilon, n_nodes, n_seen)}--keep 0.5 keeps half of them, "
            "whatever the error."
        )
    certificate = result.certificate
    error = stream.epsilon_predicted_ if certificate is None else certificate.epsilon_upper
    if error < _POOR:
        return ""
    enough = Budget(None, _GOOD, None)(n_nodes, n_seen)
    if enough < n_seen:
        return f"Keep more edges: --epsilon {_GOOD:g} takes about {_about(enough)} of them."
    return (
        f"Keep more edges with a larger --keep. There are {n_seen / n_nodes:.1f} edges a node: "
        "of so sparse a graph few can be dropped."
    )


def _grade(certificate):
    error = certificate.epsilon_upper
    if certificate.problem or not math.isfinite(error):
        return ""
    if error <= _CLOSE:
        return "A close copy. "
    if error <= _GOOD:
        return "A good sparsifier. "
    return "A rough sparsifier. " if error < _POOR else "Too small a sparsifier to trust its cuts. "


def _larger_error(asked, n_nodes, n_seen):
    """An error above the one asked for at which half the edges can go, if there is one below 1."""
    error = math.sqrt(Budget(None, 1.0, None)(n_nodes, n_seen) / (0.5 * n_seen))
    error = math.ceil(20 * error) / 20
    return f"--epsilon {error:g} would drop about half, and " if asked < error < 1 else ""


def _rounded_up(error):
    """Three digits, upwards: what is proved stays true.

    >>> _rounded_up(0.34561), _rounded_up(4.2801), _rounded_up(0.0)
    ('0.346', '4.29', '0')
    """
    if 0 < error < _LEAST_SHOWN:
        return f"below {_LEAST_SHOWN:g}"
    if not math.isfinite(error) or error == 0:
        return f"{error:g}"
    unit = 10.0 ** (math.floor(math.log10(error)) - 2)
    return f"{math.ceil(error / unit - 1e-9) * unit:.3g}"


def _about(count):
    """A count to three digits: 815,432 is about 815,000.

    >>> _about(815_432), _about(97)
    ('815,000', '97')
    """
    unit = 10 ** max(len(str(count)) - 3, 0)
    return f"{round(count / unit) * unit:,}"
