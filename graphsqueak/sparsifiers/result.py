"""Result of `sparsify`, as figures and in words.

In words, an error of 0.1 means that the weight between any group of nodes and all others is off by
at most 10 %. It is 0 if no edge was dropped, measured if there is a certificate, and predicted
otherwise.
"""

import math
from dataclasses import dataclass
from typing import Any

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.sparsifiers.config import SparsifyConfig
from graphsqueak.sparsifiers.forecast import round_up
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.stream.timed_sparsifier import TimedSparsifier
from graphsqueak.sparsifiers.tree.parts import TreeResult
from graphsqueak.system.memory import peak_rss

# Error up to which a sparsifier is called good, and which is suggested if it is not: any cut then
# has at least half of its weight. Two cuts change relative to each other by at most kappa = 3,
# (1 + error) / (1 - error), which preserves clusters. Only the wording of messages depends on it.
_GOOD_ERROR = 0.5
# Error from which cuts are not trusted: kappa = 9. Only the wording of messages depends on it.
_ROUGH_ERROR = 0.8


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
    """Return what the error means for cuts.

    >>> from graphsqueak.sources import complete
    >>> from graphsqueak.sparsifiers.config import SparsifyConfig
    >>> from graphsqueak.sparsifiers.run import run_sparsify
    >>> config = SparsifyConfig(n_edges=20_000, certify=True, random_state=7)
    >>> print(verdict(run_sparsify(complete(300), config)))
    A good sparsifier. Between any group of nodes and all others, the sparsifier has the graph's
    total weight within 1... %, always.
    """
    stream = result.stream
    certificate = result.certificate
    if stream.is_exact_:
        if result.span is not None:
            return "The output has all edges that are not too old."
        n_parallel = stream.n_edges_seen_ - result.sparsifier.n_edges
        parallel = f"; {n_parallel:,} edges that repeat others were added to them"
        return f"The output is the whole graph{parallel if n_parallel else ''}."
    chosen = ""
    if result.method == "subgraph":
        chosen = (
            "The edges are a subgraph for preconditioning: their weights are the graph's times "
            f"{result.factor:.3g}, and their total weight is "
            f"{100 * result.total_weight_ratio:.0f} % of the graph's. Cuts and degrees are not "
            "preserved. "
        )
    if certificate is not None:
        return f"{_grade(certificate)}{chosen}{certificate.in_words()}"
    if chosen:
        return f"Not measured. {chosen.rstrip()}"
    if (error := result.epsilon_predicted) < _ROUGH_ERROR:
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


def uses(result: SparsifyResult) -> str:
    """Return what the sparsifier is good for and what it is not; empty without a certificate.

    >>> from graphsqueak.sources import cycle
    >>> from graphsqueak.sparsifiers.config import SparsifyConfig
    >>> from graphsqueak.sparsifiers.run import run_sparsify
    >>> config = SparsifyConfig(n_edges=49, method="subgraph", certify=True)
    >>> print(uses(run_sparsify(cycle(50), config)))
    Good as a preconditioner: about 8 steps of conjugate gradients for a digit. Not for cuts,
    clusters or random walks: of two groups, or of two commute times, one may change up to 50.1
    times as much as the other.
    """
    certificate = result.certificate
    if result.stream.is_exact_ or certificate is None or not math.isfinite(certificate.kappa):
        return ""
    kappa = round_up(certificate.kappa, 3)
    # Conjugate gradients gain a factor of exp(2 / sqrt(kappa)) per step.
    steps = max(round(math.log(10) / 2 * math.sqrt(certificate.kappa)), 1)
    solves = f"as a preconditioner: about {steps} steps of conjugate gradients for a digit"
    if certificate.epsilon_rescaled >= _ROUGH_ERROR:
        return (
            f"Good {solves}. Not for cuts, clusters or random walks: of two groups, or of two "
            f"commute times, one may change up to {kappa} times as much as the other."
        )
    longest = round_up(1 / certificate.lambda_min, 3)
    walks = f"random walks (commute times at most {longest} times the graph's)"
    if certificate.epsilon_rescaled > _GOOD_ERROR:
        return (
            f"Good for {walks} and {solves}. With care for cuts and clusters: of two groups one "
            f"may gain up to {kappa} times as much weight as the other. Not for single edges, "
            "triangles and shortest paths."
        )
    return (
        f"Good for cuts, clusters, {walks} and {solves}. Not for single edges, triangles and "
        "shortest paths."
    )


def next_step(result: SparsifyResult) -> str:
    """Return what to do next; empty if the error is small."""
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
    if error < _ROUGH_ERROR:
        return ""
    enough = Budget(None, _GOOD_ERROR, None)(n_nodes, n_seen)
    if enough < n_seen:
        return (
            f"Keep more edges: --epsilon {_GOOD_ERROR:g} takes about {round_up(enough, 3)} of them."
        )
    return (
        f"Keep more edges with a larger --keep. There are {n_seen / n_nodes:.1f} edges per "
        "node: few edges of a graph this sparse can be dropped."
    )


def _grade(certificate):
    error = certificate.epsilon_upper
    if certificate.problem or not math.isfinite(error):
        return ""
    if error <= _GOOD_ERROR:
        return "A good sparsifier. "
    if error < _ROUGH_ERROR:
        return "A rough sparsifier. "
    return "Too small a sparsifier to trust its cuts. "
