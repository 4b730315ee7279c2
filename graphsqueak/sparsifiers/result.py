"""Result of `sparsify`, as figures and in words.

Two errors are reported. The *typical error* is the median over random cuts, degrees and effective
resistances (`typical_error`). The *worst-case error* is that of all cuts: an error of 0.1 means
that the weight between any group of nodes and all others is off by at most 10 %. It is 0 if no edge
was dropped, measured if there is a certificate, and predicted otherwise.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.report.table import percent
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.recent import recent_edges
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.sparsifiers.config import SparsifyConfig
from graphsqueak.sparsifiers.cut_comparison import CutComparison, compare_cuts
from graphsqueak.sparsifiers.error_prediction import GOOD_ERROR, ErrorCurve
from graphsqueak.sparsifiers.forecast import round_up
from graphsqueak.sparsifiers.stream.base_stream import seed_from
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.stream.timed_sparsifier import TimedSparsifier
from graphsqueak.sparsifiers.tree.parts import TreeResult
from graphsqueak.sparsifiers.typical_error import (
    ACCURATE_ERROR,
    EQUAL_ERROR_RATIO,
    ROUGHLY_ACCURATE_ERROR,
    TypicalError,
    measure_resistances,
)
from graphsqueak.system.memory import peak_rss

QUANTITIES = {"cuts": "cuts", "degrees": "degrees", "resistances": "effective resistances"}


@dataclass(frozen=True, kw_only=True)
class SparsifyResult:
    """A sparsifier and how it was made.

    Attributes
    ----------
    sparsifier : EdgeList
    stream : StreamSparsifier or TimedSparsifier
        The stream that made it: counters, exact degrees, predicted error.
    certificate : Certificate or None
    method : {"stream", "subgraph", "kelner-levin"}
    epsilon_predicted : float
        Predicted error, 0 if no edge was dropped.
    n_runs : int
        Runs that were needed to meet `epsilon`.
    typical_error : TypicalError
        Median errors of cuts and degrees, and of effective resistances if they were measured
        (`with_resistances`), with those of random edges.
    config : SparsifyConfig
    dropped : dict
        Numbers of self-loops, edges of weight zero and bad lines.
    tree : TreeResult or None
        Parts and traffic of a merge tree.
    seconds : float
        Of the whole run.
    edges_per_second : float
        Of the first pass.
    span : tuple of float, optional
        First and last time of the edges, if they have times.
    """

    sparsifier: EdgeList
    stream: StreamSparsifier | TimedSparsifier
    certificate: Certificate | None
    method: str
    epsilon_predicted: float
    n_runs: int
    typical_error: TypicalError
    config: SparsifyConfig
    dropped: dict[str, int]
    tree: TreeResult | None
    seconds: float
    edges_per_second: float
    span: tuple[float, float] | None = None

    @property
    def total_weight_ratio(self) -> float:
        """Total weight of the sparsifier over that of the graph."""
        graph_weight = float(self.stream.degrees_.sum()) / 2
        return float(self.sparsifier.weight.sum()) / graph_weight if graph_weight > 0 else 1.0

    @property
    def factor(self) -> float:
        """Factor of a subgraph on the weights of the graph; 1 for other methods."""
        return 1 + self.epsilon_predicted if self.method == "subgraph" else 1.0

    @property
    def cut_error_lower(self) -> float | None:
        """Error of the stream on a few cuts; None for a subgraph, which it did not make."""
        return None if self.method == "subgraph" else self.stream.cut_error_lower_

    def with_resistances(self, graph: EdgeList) -> Self:
        """Return the result with the typical error of effective resistances, measured here.

        Parameters
        ----------
        graph : EdgeList
            The whole graph. It takes about 30 linear systems.
        """
        seed = seed_from(self.config.random_state)
        error = measure_resistances(self.typical_error, graph, self.sparsifier, seed=seed)
        return replace(self, typical_error=error)

    def compare_cuts(self, graph: EdgeSource | EdgeList) -> CutComparison:
        """Return cuts of the graph, of the sparsifier and of as many random edges.

        Parameters
        ----------
        graph : EdgeSource or EdgeList
            The input of the run, which is read once more.
        """
        if self.span is not None:
            since, until = self.span
            graph = recent_edges(graph, since=since, at=until, half_life=self.config.half_life)
        return compare_cuts(
            graph,
            self.sparsifier,
            n_edges=self.stream.n_edges_recent_,
            seed=seed_from(self.config.random_state),
            progress=self.config.progress,
        )

    def record(self) -> dict[str, Any]:
        """Return the figures by name, as `graphsqueak sparsify --json` prints them."""
        stream = self.stream
        record = {
            "nodes": stream.n_nodes_,
            "edges_read": stream.n_edges_seen_,
            "edges_kept": self.sparsifier.n_edges,
            "peak_rss_bytes": peak_rss(),
            "method": self.method,
            "factor": self.factor,
            "total_weight_ratio": self.total_weight_ratio,
            "resparsifications": stream.n_resparsifications_,
            "epsilon_predicted": self.epsilon_predicted,
            "cut_error_lower": self.cut_error_lower,
            "typical_error": self.typical_error.sparsifier._asdict(),
            "typical_error_of_random_edges": self.typical_error.random_edges._asdict(),
            "components": stream.n_components_,
            "seed": self.config.random_state,
        }
        if self.certificate is not None:
            record |= self.certificate.figures()
            record |= {"passes": self.certificate.passes, "runs": self.n_runs}
        if self.span is not None:
            record |= {"since": self.span[0], "until": self.span[1]}
            record["edges_in_window"] = stream.n_edges_recent_
        record |= self.dropped
        if self.tree is not None:
            record |= {"parts": self.tree.n_parts, "parts_resumed": self.tree.n_resumed}
            record |= {"workers": self.config.workers, "tree": self.config.tree_shape}
            record["worker_peak_bytes"] = self.tree.run.worker_peak_bytes
            record["moved_bytes"] = self.tree.run.moved_bytes
        return record | {"seconds": self.seconds, "edges_per_second": self.edges_per_second}


def measured_error(certificate: Certificate) -> str:
    """Return the error that a certificate proves, in a few words.

    >>> measured_error(Certificate(0.63, 0.6456, 0.4, 1.6, delta=0.01))
    'error at most 0.646, kappa 4 (measured, with probability 0.99)'
    >>> measured_error(Certificate(0.25, 0.25, 0.8, 1.25, delta=0.0))
    'error 0.25, kappa 1.57 (measured, exact)'
    """
    if certificate.problem:
        return f"error not bounded: {certificate.problem}"
    error = round_up(certificate.epsilon_upper, 3)
    confidence = "exact"
    if certificate.delta > 0:
        error = f"at most {error}"
        confidence = f"with probability {1 - certificate.delta:g}"
    return f"error {error}, kappa {round_up(certificate.kappa, 3)} (measured, {confidence})"


def error_in_short(result: SparsifyResult) -> str:
    """Return the error, and whether it was measured or predicted.

    >>> from graphsqueak.sources import complete
    >>> from graphsqueak.sparsifiers.config import SparsifyConfig
    >>> from graphsqueak.sparsifiers.run import run_sparsify
    >>> error_in_short(run_sparsify(complete(9), SparsifyConfig(keep=1.0)))
    'error 0: nothing was dropped'
    >>> error_in_short(run_sparsify(complete(300), SparsifyConfig(n_edges=4800, random_state=7)))
    'error about 0.33 (predicted, not measured)'
    """
    if result.stream.is_exact_:
        return "error 0: nothing was dropped"
    if result.certificate is None:
        error = result.epsilon_predicted
        size = f"about {error:.2g}" if error < 1 else "above 1"
        return f"error {size} (predicted, not measured)"
    return measured_error(result.certificate)


def verdict(result: SparsifyResult) -> str:
    """Return the typical error, compared with random edges, and then the worst case.

    >>> from graphsqueak.sources import complete
    >>> from graphsqueak.sparsifiers.config import SparsifyConfig
    >>> from graphsqueak.sparsifiers.run import run_sparsify
    >>> config = SparsifyConfig(n_edges=20_000, certify=True, random_state=7)
    >>> print(verdict(run_sparsify(complete(300), config)))
    Typical error: cuts ... % (random edges 0.36 %), degrees ... % (random edges 4.5 %). Accurate
    for typical quantities. Worst case: error 0.1..., kappa 1.2... (measured, exact). Between any
    group of nodes and all others, the sparsifier has the graph's total weight within ... % (exact).
    """
    if result.stream.is_exact_:
        return _describe_whole_graph(result)
    sentences = [_typical_sentence(result.typical_error)]
    if result.method == "subgraph":
        sentences.append(
            "The edges are a subgraph for preconditioning: their weights are the graph's times "
            f"{result.factor:.3g}, and their total weight is "
            f"{100 * result.total_weight_ratio:.0f} % of the graph's. Cuts and degrees are not "
            "preserved."
        )
    sentences.append(_worst_case(result))
    return " ".join(filter(None, sentences))


def _describe_whole_graph(result):
    if result.span is not None:
        return "Error 0: the output has all edges that are not too old."
    n_parallel = result.stream.n_edges_seen_ - result.sparsifier.n_edges
    parallel = ""
    if n_parallel:
        parallel = f"; {n_parallel:,} edges that repeat others were added to them"
    return f"Error 0: nothing was dropped, and the output is the whole graph{parallel}."


def _typical_sentence(typical_error):
    """Return the median errors with those of random edges, and a grade.

    >>> from graphsqueak.sparsifiers.typical_error import MedianErrors
    >>> errors = MedianErrors(cuts=0.004, degrees=0.05), MedianErrors(cuts=0.02, degrees=0.5)
    >>> print(_typical_sentence(TypicalError(*errors)))
    Typical error: cuts 0.4 % (random edges 2 %), degrees 5 % (random edges 50 %). Accurate for
    typical quantities.
    """
    rows = typical_error.rows()
    if not rows:
        return ""
    errors = ", ".join(
        f"{QUANTITIES[name]} {percent(error)} (random edges {_percent_or_reason(baseline)})"
        for name, error, baseline in rows
    )
    accuracy = grade(typical_error)
    accuracy += " even" if accuracy == "Inaccurate" else ""
    comparison = ""
    if is_random_as_accurate(typical_error):
        comparison = " Random edges are at least about as accurate."
    return f"Typical error: {errors}. {accuracy} for typical quantities.{comparison}"


def _percent_or_reason(error):
    """Return an error in percent, or why it is infinite, which only resistances can be."""
    return percent(error) if math.isfinite(error) else "infinite: disconnected pairs"


def grade(typical_error: TypicalError) -> str:
    """Return how accurate a sparsifier is for typical quantities, in a word or two.

    >>> from graphsqueak.sparsifiers.typical_error import MedianErrors
    >>> errors = [MedianErrors(cuts=error) for error in (0.05, 0.2, 0.5)]
    >>> [grade(TypicalError(error, error)) for error in errors]
    ['Accurate', 'Roughly accurate', 'Inaccurate']
    """
    if typical_error.largest > ROUGHLY_ACCURATE_ERROR:
        return "Inaccurate"
    return "Accurate" if typical_error.largest <= ACCURATE_ERROR else "Roughly accurate"


def is_random_as_accurate(typical_error: TypicalError) -> bool:
    """Return whether random edges are at least about as accurate for every typical quantity.

    >>> from graphsqueak.sparsifiers.typical_error import MedianErrors
    >>> errors = MedianErrors(cuts=0.02, degrees=0.01)
    >>> is_random_as_accurate(TypicalError(errors, MedianErrors(cuts=0.02, degrees=0.5)))
    False
    """
    least = ACCURATE_ERROR / 10
    return all(
        baseline <= EQUAL_ERROR_RATIO * max(error, least)
        for _, error, baseline in typical_error.rows()
    )


def _worst_case(result):
    """Return the error of the worst cut, certified or predicted."""
    certificate = result.certificate
    short = f"Worst case: {error_in_short(result)}."
    if certificate is not None:
        words = certificate.in_words()
        # Otherwise there is no bound.
        is_bounded = not certificate.problem and math.isfinite(certificate.epsilon_upper)
        return f"{short} {words}" if is_bounded else words
    if result.method == "subgraph":
        return short
    # With an error of 1, a cut may lose all its weight.
    if (error := result.epsilon_predicted) < 1:
        return (
            f"{short} The weight between any group of nodes and all others is expected within "
            f"about {100 * error:.0f} % of the graph's."
        )
    return (
        f"{short} There are too few edges to preserve every cut: the total weight is "
        f"{100 * result.total_weight_ratio:.0f} % of the graph's and connected nodes stay "
        "connected, but the weight between some group of nodes and all others may be several times "
        "the graph's, or a small part of it."
    )


def uses(result: SparsifyResult) -> str:
    """Return what the sparsifier is good for and what it is not; empty without a certificate.

    >>> from graphsqueak.sources import cycle
    >>> from graphsqueak.sparsifiers.config import SparsifyConfig
    >>> from graphsqueak.sparsifiers.run import run_sparsify
    >>> config = SparsifyConfig(n_edges=49, method="subgraph", certify=True)
    >>> print(uses(run_sparsify(cycle(50), config)))
    Good as a preconditioner: about 8 steps of conjugate gradients per digit. No guarantee for
    cuts, clusters or random walks: in the worst case, of two groups, or of two commute times, one
    changes 50.1 times as much as the other.
    """
    certificate = result.certificate
    if result.stream.is_exact_ or certificate is None or not math.isfinite(certificate.kappa):
        return ""
    kappa = round_up(certificate.kappa, 3)
    # Conjugate gradients gain a factor of exp(2 / sqrt(kappa)) per step.
    steps = max(round(math.log(10) / 2 * math.sqrt(certificate.kappa)), 1)
    solves = f"as a preconditioner: about {steps} steps of conjugate gradients per digit"
    if certificate.epsilon_rescaled > GOOD_ERROR:
        return (
            f"Good {solves}. No guarantee for cuts, clusters or random walks: in the worst case, "
            f"of two groups, or of two commute times, one changes {kappa} times as much as the "
            "other."
        )
    longest = round_up(1 / certificate.lambda_min, 3)
    walks = f"random walks (commute times at most {longest} times the graph's)"
    return (
        f"Good for cuts, clusters, {walks} and {solves}. Not for single edges, triangles and "
        "shortest paths."
    )


def next_step(result: SparsifyResult) -> str:
    """Return what to do next; empty if the error is small.

    >>> from graphsqueak.sources import complete
    >>> from graphsqueak.sparsifiers.config import SparsifyConfig
    >>> from graphsqueak.sparsifiers.run import run_sparsify
    >>> next_step(run_sparsify(complete(300), SparsifyConfig(keep=0.02, random_state=7)))
    '--keep 0.05... would bring the worst-case error to about 0.5.'
    """
    epsilon = result.config.epsilon
    stream = result.stream
    n_nodes = stream.n_nodes_
    n_seen = stream.n_edges_recent_
    if stream.is_exact_:
        advice = ""
        if epsilon is not None:
            advice = (
                f"No edge can be dropped at an error of {epsilon:g}: {n_seen / n_nodes:.1f} edges "
                "per node are too few. Allow a larger error. "
            )
        # Fewer edges than a spanning forest are refused.
        if n_nodes - stream.n_components_ <= 0.5 * n_seen:
            advice += "For a smaller graph keep half of the edges, whatever the error: --keep 0.5."
        return advice.rstrip()
    if result.method == "subgraph":
        return "For cuts, degrees and random walks use the stream: --method auto."
    certificate = result.certificate
    error = result.epsilon_predicted if certificate is None else certificate.epsilon_upper
    # The guarantee of the Kelner-Levin method is its epsilon.
    if error <= GOOD_ERROR or result.method == "kelner-levin":
        return ""
    n_kept = result.sparsifier.n_edges
    curve = stream.error_curve_ or ErrorCurve(
        np.array([n_kept, n_seen]), np.array([result.epsilon_predicted, 0.0])
    )
    enough = curve.edges_for(GOOD_ERROR)
    keep = round_up(enough / n_seen, 2)
    if float(keep) >= 1:
        return (
            f"There are {n_seen / n_nodes:.1f} edges per node: few edges of a graph this sparse "
            "can be dropped. Keep more edges with a larger --keep."
        )
    # The measured error is larger than the predicted one.
    if enough <= n_kept:
        return f"--epsilon {GOOD_ERROR:g} searches for the edges that a smaller error needs."
    option = f"--keep {keep}"
    if result.config.n_edges is not None:
        option = f"--n-edges {round_up(enough, 3).replace(',', '')}"
    return f"{option} would bring the worst-case error to about {GOOD_ERROR:g}."
