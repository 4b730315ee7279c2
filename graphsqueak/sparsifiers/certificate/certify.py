"""certify(): measure the accuracy of a sparsifier H on the whole graph G.

H is an eps-sparsifier of G if every ratio x' L_H x / x' L_G x lies in [1 - eps, 1 + eps]. The
extreme ratios are eigenvalues of the pencil (L_H, L_G).

*Small graphs.* All eigenvalues are computed by dense linear algebra (`dense_pencil`), and the two
bounds on eps differ by rounding only.

*Large graphs.* Block Lanczos on L_H^+ L_G (`block_lanczos`) finds vectors, whose ratios bound eps
from below. The Lanczos recurrence bounds eps from above (`outer_bounds`). Each step multiplies by
L_G once: a pass over the edges, unless they fit in memory.

*Inverse pencil.* The largest ratio mu of G to H is isolated and converges in a few steps. If it is
large, Lanczos on L_H^+ L_G converges slowly to the smallest mu. That one is the inverse of the
largest eigenvalue of L_G^+ L_H, which a second run finds in fewer steps, by a factor of about
sqrt(kappa). Each of them solves with G, which must be in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.matrix import build_laplacian, build_laplacian_from_batches, multiply
from graphsqueak.sources.graph_like import GraphLike, as_edge_list, as_stream
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sparsifiers.certificate.block_lanczos import WINDOW_NUMBERS, BlockLanczos
from graphsqueak.sparsifiers.certificate.certificate import Certificate, component_problem
from graphsqueak.sparsifiers.certificate.dense_pencil import dense_ratios
from graphsqueak.sparsifiers.certificate.forest_norm import ForestNorm
from graphsqueak.sparsifiers.certificate.outer_bounds import OuterBounds, widen_block
from graphsqueak.sparsifiers.certificate.stopping_rule import (
    KAPPA_RTOL,
    ROUNDING_DOMINATES,
    ExtremeRatios,
    StoppingRule,
)
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_choice, check_count, check_real, explain_keywords

# Nodes up to which all ratios are computed, in time n^3 and memory n^2: 0.3 s for 1000 nodes and
# 1.7 s for 2000, against 0.2 s by Lanczos. The bounds are then exact and hold always.
MAX_EXACT_NODES = 2000

# Columns of a block if each step reads the graph again: wider blocks share the cost of reading.
# Halved: 25 % more passes, and 30 % less time between them. Doubled: 15 % fewer passes, and 20 % or
# more time between them.
N_COLUMNS_OF_STREAM = 8

# Memory for the edges of the graph between products, 28 million edges or more. Larger graphs are
# read again in every step.
MAX_GRAPH_BYTES = 5 * 2**27

# Approximate memory of a solver with approximate Cholesky per edge. It decides which graphs are
# small enough for the inverse pencil: halved or doubled, those of 9.0 or 2.2 instead of 4.5
# million edges.
SOLVER_BYTES_PER_EDGE = 150

# Fields of the certificate of a graph without edges.
NO_ERROR = ExtremeRatios((1.0, 1.0), (1.0, 1.0)).fields() | {"delta": 0.0}


@explain_keywords()
def certify(
    graph: GraphLike,
    sparsifier: GraphLike,
    *,
    delta: float = 0.01,
    max_iter: int = 500,
    rtol: float = 0.02,
    ridge: float = 0.0,
    goal: float | None = None,
    method: str = "auto",
    random_state: RandomState = None,
    progress: Progress = False,
) -> Certificate:
    """Bound the error of a sparsifier from below and from above.

    Use it to check whether a sparsifier, made by any method, can replace the graph. The bounds
    cover all edges of the graph and all vectors x:

        (1 - epsilon) x' L_G x  <=  x' L_H x  <=  (1 + epsilon) x' L_G x.

    Parameters
    ----------
    graph : EdgeSource, EdgeList, scipy sparse adjacency, networkx or igraph graph, or table
        The graph G. It is read once if its edges take at most 640 MiB in memory, else once per
        step.
    sparsifier : EdgeList or any other graph
        The sparsifier H. Its nodes are matched with those of `graph` by id.
    delta : float, default=0.01
        Probability that the upper bound fails, over the random start of the measurement.
    max_iter : int, default=500
        Maximum number of Lanczos steps. Each multiplies all edges of the graph by a block of
        vectors. Most certificates need 20 to 150 steps, and trees of heavy-tailed graphs more.
    rtol : float, default=0.02
        Relative distance of the two bounds at which the measurement stops. kappa is also bounded,
        within 10 %.
    ridge : float, default=0.0
        gamma of an (epsilon, gamma)-sparsifier: gamma I is added to both Laplacians.
    goal : float, optional
        Stop as soon as epsilon is proved to be below `goal`, or more than 10 % above it.
    method : {"auto", "dense", "lanczos"}, default="auto"
        "dense" computes all ratios. "lanczos" iterates, in little memory. "auto" is "dense" up to
        2000 nodes.
    random_state : int, Generator or None, default=None
        Seed of the random start.
    progress : bool or callable, default=False
        Whether to show a progress bar, or a function that receives the progress.

    Returns
    -------
    Certificate
        Bounds on epsilon, on all ratios and on kappa, and the nodes with the largest errors.

    Raises
    ------
    InputError
        If the graph can be read only once, or a node of the graph is not in the sparsifier.

    See Also
    --------
    sparsify : Sparsify a graph; with `epsilon`, the result is certified.
    compare : Compare cuts, resistances and eigenvalues of a graph and its sparsifier.

    Notes
    -----
    The lower bound comes from Ritz vectors of block Lanczos on L_H^+ L_G, and holds always. The
    upper bound follows from the Lanczos recurrence, with probability 1 - `delta`. Errors of the
    solves and of rounding are included.

    Examples
    --------
    Halve the weight of one edge of a triangle. For x = (1, -1, 0), x' L_G x = 4 + 1 + 1 and
    x' L_H x = 4/2 + 1 + 1.

    >>> from graphsqueak.graph import EdgeList
    >>> triangle = EdgeList(tail=[0, 1, 2], head=[1, 2, 0])
    >>> halved = EdgeList(tail=[0, 1, 2], head=[1, 2, 0], weight=[0.5, 1.0, 1.0])
    >>> certificate = certify(triangle, halved)
    >>> print(certificate)
    epsilon 0.3333, exact
    >>> certificate.minimizing_pair
    (0, 1)
    """
    start_time = time.perf_counter()
    check_real("delta", delta, above=0.0, below=1.0)
    check_real("rtol", rtol, above=0.0, below=np.inf)
    ridge = check_real("ridge", ridge, least=0.0, below=np.inf)
    max_steps = check_count("max_iter", max_iter)
    check_choice("method", method, ("auto", "dense", "lanczos"))
    source = as_stream(graph)
    sparsifier = as_edge_list(sparsifier)
    if not source.is_rereadable:
        raise InputError(
            "certify reads the graph several times, and a pipe can be read once; "
            "write the edges to a file and pass its path"
        )
    laplacian = StreamedLaplacian(source, sparsifier)
    rule = StoppingRule(max_steps, rtol, goal)
    is_small = sparsifier.n_nodes <= MAX_EXACT_NODES
    # The matrices of Lanczos are small: threads of BLAS would cost more than they save.
    with reporter(progress, "measuring the error") as report, threadpool_limits(1, user_api="blas"):
        if method == "dense" or (method == "auto" and is_small):
            fields = _certify_dense(laplacian, sparsifier, ridge, rule, report)
        else:
            certifier = _LanczosCertifier(
                laplacian=laplacian,
                sparsifier=sparsifier,
                ridge=ridge,
                delta=delta,
                rule=rule,
                rng=np.random.default_rng(random_state),
                report=report,
            )
            fields = certifier.run()
    seconds = time.perf_counter() - start_time
    return Certificate(**fields, ridge=ridge, passes=laplacian.n_passes, seconds=seconds)


def _certify_dense(laplacian, sparsifier, ridge, rule, report):
    """Return the fields of a certificate from all ratios, each with its rounding error."""
    graph_laplacian = laplacian.to_dense(report)
    problem = component_problem(laplacian.component, sparsifier, ridge)
    if problem is not None:
        return problem
    ratios = dense_ratios(graph_laplacian, sparsifier.laplacian().toarray(), ridge)
    n_ratios = ratios.values.size
    if n_ratios == 0:
        return NO_ERROR
    smallest = ratios.values[0]
    largest = ratios.values[-1]
    extremes = ExtremeRatios(
        lowest=(max(smallest - ratios.error, 0.0), smallest + ratios.error),
        highest=(largest - ratios.error, largest + ratios.error),
    )
    fields = extremes.fields() | {
        "delta": 0.0,
        "ratios": ratios.values,
        "fractions": np.full(n_ratios, 1 / n_ratios),
    }
    if np.isfinite(ratios.error):
        fields["minimizing_pair"] = _find_farthest_nodes(ratios.lowest, sparsifier)
        fields["maximizing_pair"] = _find_largest_edge(ratios.highest, sparsifier)
    if not rule.is_close(*extremes.epsilon):
        fields["unresolved"] = f"rounding may change every ratio by up to {ratios.error:.2g}"
    return fields


@dataclass
class _LanczosCertifier:
    """Measurement by block Lanczos, of one sparsifier."""

    laplacian: StreamedLaplacian
    sparsifier: EdgeList
    ridge: float
    delta: float
    rule: StoppingRule
    rng: np.random.Generator
    report: Callable
    history: list = field(default_factory=list)

    def run(self):
        """Return the fields of the certificate."""
        multiply_by_graph, n_columns = self._prepare_product()
        problem = component_problem(self.laplacian.component, self.sparsifier, self.ridge)
        if problem is not None:
            return problem
        if self.sparsifier.n_edges == 0 and self.ridge == 0:
            return NO_ERROR
        forest_norm = ForestNorm(self.sparsifier, self.ridge)
        if forest_norm.rounding >= 1:
            fields = ExtremeRatios((0.0, 1.0), (1.0, np.inf)).fields()
            return fields | {"delta": self.delta, "unresolved": ROUNDING_DOMINATES}
        return self._measure(self.sparsifier, forest_norm, n_columns, multiply_by_graph)

    def _measure(self, graph, forest_norm, n_columns, multiply_by_other, known_lowest=None):
        """Return fields of the certificate by Lanczos, solving with one graph of the pair.

        Parameters
        ----------
        graph : EdgeList
            The sparsifier. For the inverse pencil, the graph.
        forest_norm : ForestNorm
            The norm of `graph`.
        n_columns : int
            Smallest width of a block.
        multiply_by_other : callable
            Multiplies a block by the Laplacian of the other graph.
        known_lowest : (float, float), optional
            Bounds on the lowest ratio of H to G, for the inverse pencil, which bounds the highest
            ratio. Both bounds fail with probability delta / 2.
        """
        is_inverse = known_lowest is not None
        lanczos = BlockLanczos(
            graph,
            ridge=self.ridge,
            n_columns=widen_block(n_columns, graph.n_nodes, self.delta, forest_norm.rounding),
            forest_norm=forest_norm,
            random_state=self.rng,
        )
        bounds = OuterBounds(lanczos, delta=self.delta)
        is_done = False
        while not is_done:
            lanczos.step(multiply_by_other(lanczos.newest))
            bounds.update(force=len(self.history) + 1 >= self.rule.max_steps)
            if is_inverse:
                extremes = ExtremeRatios(known_lowest, highest=(lanczos.ritz[1], bounds.high))
            else:
                # Lanczos is about the ratios of G to H, the inverses of those of H to G.
                extremes = ExtremeRatios(
                    lowest=(1 / bounds.high, _inverse(lanczos.ritz[1])),
                    highest=(_inverse(lanczos.ritz[0]), _inverse(bounds.low)),
                )
            self.history.append(extremes.epsilon)
            # The errors limit the bound on the lower end only, which the inverse pencil ignores.
            is_limited = bounds.is_limited and not is_inverse
            is_done = (
                self.rule.is_met(self.history, extremes)
                or lanczos.is_exhausted
                or (is_limited and self.rule.is_stagnant(self.history))
            )
            if not (is_done or is_inverse) and self._should_invert(extremes):
                minimizing_pair = _find_farthest_nodes(lanczos.ritz_vector(1), self.sparsifier)
                inverse_fields = self._measure_inverse_pencil(extremes.lowest)
                return inverse_fields | {"minimizing_pair": minimizing_pair}
        fields = extremes.fields() | {
            "delta": self.delta,
            "steps": len(self.history),
            "history": self.history,
            "unresolved": self.rule.describe_unresolved(
                self.history, extremes, is_limited=is_limited
            ),
        }
        if is_inverse:
            return fields | {
                "maximizing_pair": _find_largest_edge(lanczos.ritz_vector(1), self.sparsifier),
                "ratios": bounds.values,
                "fractions": bounds.fractions,
            }
        return fields | {
            "minimizing_pair": _find_farthest_nodes(lanczos.ritz_vector(1), self.sparsifier),
            "maximizing_pair": _find_largest_edge(lanczos.ritz_vector(0), self.sparsifier),
            "ratios": 1 / bounds.values[::-1],
            "fractions": bounds.fractions[::-1],
        }

    def _measure_inverse_pencil(self, known_lowest):
        graph = self.laplacian.to_edge_list(self._report_progress)
        rows = build_laplacian(self.sparsifier, np.zeros(graph.n_nodes))
        return self._measure(
            graph,
            ForestNorm(graph, self.ridge),
            n_columns=1,
            multiply_by_other=self._multiplication_by(rows),
            known_lowest=known_lowest,
        )

    def _prepare_product(self):
        """Return a function that multiplies by L_G, and the width of the blocks for it.

        The first pass finds the components, and loads the edges if they fit in memory. Otherwise
        every product is a pass.
        """
        laplacian = self.laplacian
        n_nodes = self.sparsifier.n_nodes
        rows = None
        if laplacian.is_materialized:
            rows = build_laplacian_from_batches(
                laplacian.edges(self._report_progress), n_nodes, MAX_GRAPH_BYTES
            )
        else:
            laplacian.multiply(np.zeros((n_nodes, 1)), self._report_progress)
        if rows is not None:
            return self._multiplication_by(rows), 1
        n_columns = 1
        if not laplacian.is_in_memory:
            # Half the columns for many nodes, to save memory.
            has_many_nodes = 2 * n_nodes > WINDOW_NUMBERS
            n_columns = N_COLUMNS_OF_STREAM // 2 if has_many_nodes else N_COLUMNS_OF_STREAM
        return lambda block: laplacian.multiply(block, self._report_progress), n_columns

    def _multiplication_by(self, rows):
        def multiply_by_rows(block):
            product = np.empty_like(block)
            multiply(rows, block, product)
            self._report_progress(self.laplacian.n_edges, 1.0)
            return product

        return multiply_by_rows

    def _should_invert(self, extremes):
        """Return whether only the highest ratio is unknown, and the inverse pencil is faster."""
        # The edges of a source that samples them, such as a projection, are another graph.
        if not self.laplacian.is_materialized:
            return False
        if not self.rule.is_close(extremes.epsilon[0], 1 - extremes.lowest[0]):
            return False
        # Both runs together have to bound kappa within KAPPA_RTOL, and the second needs rtol of it.
        if (1 + self.rule.rtol) * extremes.lowest[1] > (1 + KAPPA_RTOL) * extremes.lowest[0]:
            return False
        # The inverse pencil takes fewer steps by a factor of sqrt(kappa), but each solves with G
        # instead of H. Twice, because the second run starts from the beginning.
        n_edges = self.laplacian.n_edges
        is_faster = 2 * n_edges <= extremes.kappa[0] * self.sparsifier.n_edges
        return is_faster and SOLVER_BYTES_PER_EDGE * n_edges <= MAX_GRAPH_BYTES

    def _report_progress(self, n_edges, fraction_of_pass):
        n_steps = len(self.history)
        n_before = max(self.laplacian.n_passes, n_steps) * (self.laplacian.n_edges or 0)
        note = ""
        if self.history:
            lower, upper = self.history[-1]
            note = f"error {lower:.3g} to {upper:.3g} after step {n_steps}"
        fraction = self.rule.fraction_done(self.history, fraction_of_pass)
        self.report(n_before + n_edges, fraction, note)


def _inverse(value):
    return 1 / value if value > 0 else np.inf


def _find_farthest_nodes(x, graph):
    """Return the ids of the nodes where x is largest and smallest."""
    return _ids_of_pair(graph, np.argmax(x), np.argmin(x))


def _find_largest_edge(x, graph):
    """Return the ids of the ends of the edge that contributes most to x' L x."""
    energy = graph.weight * (x[graph.tail] - x[graph.head]) ** 2
    edge = np.argmax(energy)
    return _ids_of_pair(graph, graph.tail[edge], graph.head[edge])


def _ids_of_pair(graph, u, v):
    # tolist() turns ids from numpy scalars into Python objects.
    return tuple(graph.ids[np.sort([u, v])].tolist())
