"""What came of a run, in figures and in plain words.

In words an error of 0.1 lets the weight between any group of nodes and all others be off by a
tenth. It is 0 where the budget held every edge, measured where a certificate was made, and
predicted elsewhere.
"""

import math
from dataclasses import dataclass
from typing import Any

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.sparsifiers.plan import RunPlan
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.stream.timed_sparsifier import TimedSparsifier
from graphsqueak.sparsifiers.tree.parts import TreeResult
from graphsqueak.system.memory import peak_rss

__all__ = [
    "RunResult",
    "error_in_short",
    "measured_error",
    "next_step",
    "uses",
    "verdict",
]

_CLOSE, _GOOD, _POOR = 0.25, 0.5, 0.8
_LEAST_SHOWN = 0.001
_ALIKE, _APART = 3.0, 9.0  # kappa up to which clusters are alike, and from which they are not


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
        By which a subgraph multiplies the weights of the graph; 1 for other methods.
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
    stream: StreamSparsifier | TimedSparsifier
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
    span: tuple[float, float] | None = (
        None  # from when to when the edges are, where they have times
    )

    @property
    def total_weight_ratio(self) -> float:
        """Total weight of the sparsifier over that of the graph."""
        whole = float(self.stream.degrees_.sum()) / 2
        return float(self.sparsifier.weight.sum()) / whole if whole > 0 else 1.0

    @property
    def n_edges_counted(self) -> int:
        """Edges that the sparsifier stands for: all that were read, or those of the window."""
        return self.stream.n_edges_recent_

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
            "total_weight_ratio": self.total_weight_ratio,
            "shrinks": stream.n_shrinks_,
            "epsilon_predicted": self.epsilon_predicted,
            "probe_error": self.probe_error,
            "components": stream.n_components_,
            "seed": self.plan.random_state,
        }
        if certificate is not None:
            record |= certificate.figures()
            record |= {"passes": certificate.passes, "runs": self.n_runs}
        if self.span is not None:
            record |= {"since": self.span[0], "until": self.span[1]}
            record["edges_in_window"] = self.n_edges_counted
        record |= self.dropped
        if self.tree is not None:
            record |= {"parts": self.tree.n_parts, "parts_resumed": self.tree.n_resumed}
            record |= {"workers": self.plan.workers, "tree": self.plan.shape}
            record["worker_peak_bytes"] = self.tree.run.worker_peak_bytes
            record["moved_bytes"] = self.tree.run.moved_bytes
        return record | {"seconds": self.seconds, "edges_per_second": self.edges_per_second}


def measured_error(certificate: Certificate) -> str:
    """The error that a certificate proves, in a few words.

    >>> measured_error(Certificate(0.63, 0.6456, 0.4, 1.6, delta=0.01))
    'error at most 0.646, kappa 4 (measured, with probability 0.99)'
    >>> measured_error(Certificate(0.25, 0.25, 0.8, 1.25, delta=0.0))
    'error 0.25, kappa 1.57 (measured, exact)'
    """
    if certificate.problem:
        return f"error not bounded: {certificate.problem}"
    kappa = f"kappa {_rounded_up(certificate.kappa)}"
    if certificate.delta == 0:
        return f"error {_rounded_up(certificate.epsilon_upper)}, {kappa} (measured, exact)"
    sure = f"measured, with probability {1 - certificate.delta:g}"
    return f"error at most {_rounded_up(certificate.epsilon_upper)}, {kappa} ({sure})"


def error_in_short(result: RunResult) -> str:
    """The error of a run, and how it is known.

    >>> from graphsqueak.sources import complete
    >>> from graphsqueak.sparsifiers.run import RunPlan, run_plan
    >>> error_in_short(run_plan(complete(9), RunPlan(keep=1.0)))
    'error 0: nothing was dropped'
    >>> error_in_short(run_plan(complete(300), RunPlan(n_edges=4800, random_state=7)))
    'error about 0.33 (predicted, not measured)'
    """
    if result.stream.is_whole_:
        return "error 0: nothing was dropped"
    if result.certificate is None:
        error = result.epsilon_predicted
        size = f"about {error:.2g}" if error < 1 else "above 1"
        return f"error {size} (predicted, not measured)"
    return measured_error(result.certificate)


def verdict(result: RunResult) -> str:
    """What the error means to someone who thinks of cuts and not of matrices.

    >>> from graphsqueak.sources import complete
    >>> from graphsqueak.sparsifiers.run import RunPlan, run_plan
    >>> plan = RunPlan(n_edges=20_000, certify=True, random_state=7)
    >>> print(verdict(run_plan(complete(300), plan)))
    A close copy. Between any group of nodes and all others, the sparsifier has the graph's total
    weight within 1... %, always.
    """
    stream, certificate = result.stream, result.certificate
    if stream.is_whole_:
        if result.span is not None:
            return "The output has all edges that are not too old."
        n_parallel = stream.n_edges_seen_ - result.sparsifier.n_edges
        parallel = f"; {n_parallel:,} edges that repeat others were added to them"
        return f"The output is the whole graph{parallel if n_parallel else ''}."
    chosen = _about_subgraph(result) if result.method == "subgraph" else ""
    if certificate is not None:
        return f"{_grade(certificate)}{chosen}{certificate.in_words()}"
    if chosen:
        return f"Not measured. {chosen.rstrip()}"
    if (error := result.epsilon_predicted) < _POOR:
        return (
            "Not measured. The weight between any group of nodes and all others is expected within "
            f"about {100 * error:.0f} % of the graph's."
        )
    return (
        "Not measured, and too few edges to preserve every cut: the total weight is "
        f"{100 * result.total_weight_ratio:.0f} % of the graph's and connected nodes stay "
        "connected, but the weight between some group of nodes and all others may be several times "
        "the graph's, or a small part of it."
    )


def _about_subgraph(result):
    """What a subgraph is, and what it does not preserve."""
    return (
        f"The edges are a subgraph for preconditioning: their weights are the graph's times "
        f"{result.factor:.3g}, and their total weight is {100 * result.total_weight_ratio:.0f} % "
        "of the graph's. Cuts and degrees are not preserved. "
    )


def uses(result: RunResult) -> str:
    """What the sparsifier is good for and what it is not, by the measured interval; else empty.

    >>> from graphsqueak.sources import cycle
    >>> from graphsqueak.sparsifiers.plan import RunPlan
    >>> from graphsqueak.sparsifiers.run import run_plan
    >>> plan = RunPlan(n_edges=49, method="subgraph", certify=True)
    >>> print(uses(run_plan(cycle(50), plan)))
    Good as a preconditioner: about 8 steps of conjugate gradients for a digit. Not for cuts,
    clusters or random walks: of two groups, or of two commute times, one may change up to 50.1
    times as much as the other.
    """
    certificate = result.certificate
    if result.stream.is_whole_ or certificate is None or not math.isfinite(certificate.kappa):
        return ""
    kappa = certificate.kappa
    steps = max(round(math.log(10) / 2 * math.sqrt(kappa)), 1)
    solves = f"as a preconditioner: about {steps} steps of conjugate gradients for a digit"
    if kappa >= _APART:
        return (
            f"Good {solves}. Not for cuts, clusters or random walks: of two groups, or of two "
            f"commute times, one may change up to {_rounded_up(kappa)} times as much as the other."
        )
    longest = _rounded_up(1 / certificate.lambda_min)
    walks = f"random walks (commute times at most {longest} times the graph's)"
    if kappa > _ALIKE:
        return (
            f"Good for {walks} and {solves}. With care for cuts and clusters: of two groups one "
            f"may gain up to {_rounded_up(kappa)} times as much weight as the other. Not for "
            "single edges, triangles and shortest paths."
        )
    return (
        f"Good for cuts, clusters, {walks} and {solves}. Not for single edges, triangles and "
        "shortest paths."
    )


def next_step(result: RunResult) -> str:
    """What to do about it; empty where all is well."""
    plan, stream = result.plan, result.stream
    n_nodes = stream.n_nodes_
    n_seen = result.n_edges_counted
    if stream.is_whole_:
        n_forest = n_nodes - stream.n_components_
        if plan.epsilon is None:
            # Fewer edges than a spanning forest are refused.
            is_possible = n_forest <= 0.2 * n_seen
            advice = "For a smaller graph keep fewer edges: --keep 0.2 keeps a fifth."
            return advice if is_possible else ""
        said = (
            f"No edge can be dropped at an error of {plan.epsilon:g}: {n_seen / n_nodes:.1f} edges "
            "per node are too few. Allow a larger error"
        )
        if n_forest > 0.5 * n_seen:
            return f"{said}."
        return f"{said}, or keep half of the edges whatever the error: --keep 0.5."
    if result.method == "subgraph":
        return "For cuts, degrees and random walks use the stream: --method auto."
    certificate = result.certificate
    error = result.epsilon_predicted if certificate is None else certificate.epsilon_upper
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


def _rounded_up(error):
    """Three digits, upwards: what is proved stays true.

    >>> _rounded_up(0.34561), _rounded_up(4.2801), _rounded_up(0.0), _rounded_up(12345.6)
    ('0.346', '4.29', '0', '12,400')
    """
    if 0 < error < _LEAST_SHOWN:
        return f"below {_LEAST_SHOWN:g}"
    if not math.isfinite(error) or error == 0:
        return f"{error:g}"
    unit = 10.0 ** (math.floor(math.log10(error)) - 2)
    rounded = math.ceil(error / unit - 1e-9) * unit
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:.3g}"


def _about(count):
    """A count to three digits: 815,432 is about 815,000.

    >>> _about(815_432), _about(97)
    ('815,000', '97')
    """
    unit = 10 ** max(len(str(count)) - 3, 0)
    return f"{round(count / unit) * unit:,}"
