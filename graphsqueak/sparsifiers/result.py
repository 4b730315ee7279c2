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
from graphsqueak.sparsifiers.tree.parts import TreeResult
from graphsqueak.system.memory import peak_rss

__all__ = ["RunResult", "error_in_short", "measured_error", "next_step", "uses", "verdict"]

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
    span: tuple[float, float] | None = (
        None  # from when to when the edges are, where they have times
    )

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
        if self.span is not None:
            record |= {"since": self.span[0], "until": self.span[1]}
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
        return f"error about {result.epsilon_predicted:.2g} (predicted, not measured)"
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
    if certificate is not None:
        how = ""
        if result.factor != 1:
            chosen = "The edges are chosen as a subgraph. " if result.method == "subgraph" else ""
            how = f"{chosen}All weights got a factor of {result.factor:.3g}, for the least error. "
        return f"{_grade(certificate)}{how}{certificate.in_words()}"
    if (error := result.epsilon_predicted) < _POOR:
        return (
            "Not measured. The weight between any group of nodes and all others is expected within "
            f"about {100 * error:.0f} % of the graph's."
        )
    return (
        "Not measured, and too few edges to keep cuts: connected nodes stay connected, but the "
        "weight between a group of nodes and all others may be several times the graph's."
    )


def uses(result: RunResult) -> str:
    """What the sparsifier is good for and what it is not, by the measured interval; else empty.

    >>> from graphsqueak.sources import cycle
    >>> from graphsqueak.sparsifiers.plan import RunPlan
    >>> from graphsqueak.sparsifiers.run import run_plan
    >>> print(uses(run_plan(cycle(50), RunPlan(n_edges=49, certify=True))))
    Good as a preconditioner: about 8 steps of conjugate gradients for a digit. Not for cuts,
    clusters or random walks: of two groups, or of two commute times, one may change up to 50 times
    as much as the other.
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


def _larger_error(asked, n_nodes, n_seen):
    """An error above the one asked for at which half the edges can go, if there is one below 1."""
    error = math.sqrt(Budget(None, 1.0, None)(n_nodes, n_seen) / (0.5 * n_seen))
    error = math.ceil(20 * error) / 20
    return f"--epsilon {error:g} would drop about half, and " if asked < error < 1 else ""


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
