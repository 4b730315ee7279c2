"""Turn the sample of a stream into the sparsifier that was asked for.

    1. refilter   if the sample is much larger than the budget
    2. coalesce   merge parallel edges
    3. rescale    to the exact degrees, so that nodes which lost edges by chance get more of them
    4. score      effective resistances, with more probes than during the stream
    5. sample     to the budget, with a method that keeps degrees (`subsample`)
    6. rescale    again, for what is left to correct

Steps 3 to 6 are skipped if the sample is within the budget already, and step 3 if it holds all
edges of the graph. If the budget is an error epsilon, step 4 also predicts the error at every
number of edges (`sampling_error_curve`), and the sparsifier gets the number that it needs.

The state is not changed, since the stream may go on. With `consume`, the sample is worked on in its
own memory and the state is of no further use.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from graphsqueak.graph.forest import find_bridges
from graphsqueak.randomness import Step, child_seed
from graphsqueak.sparsifiers.budget import check_connected
from graphsqueak.sparsifiers.error_prediction import (
    GOOD_ERROR,
    ErrorCurve,
    sampling_error,
    sampling_error_curve,
)
from graphsqueak.sparsifiers.resistance.estimate import resistances_if_current
from graphsqueak.sparsifiers.stream.coalesce import coalesce
from graphsqueak.sparsifiers.stream.cut_probes import BottleneckCuts
from graphsqueak.sparsifiers.stream.edge_buffer import EdgeBuffer, SampledEdges
from graphsqueak.sparsifiers.stream.rescale import rescale_to_degrees
from graphsqueak.sparsifiers.stream.resparsify import estimate_resistances
from graphsqueak.sparsifiers.stream.subsample import sample_to_budget


class Finalized(NamedTuple):
    """A sparsifier, and what is predicted and known about it.

    Attributes
    ----------
    edges : SampledEdges
        With weights in the unit of the input.
    is_exact : bool
        Whether it has all edges of the graph, parallel ones merged: the error is 0.
    predicted_error : float or None
        None if nothing was sampled in the last step.
    error_curve : ErrorCurve or None
        Predicted error by number of edges, if the budget was an error or the error is large.
    cut_error : float
        Largest significant change of a bottleneck cut in any step.
    """

    edges: SampledEdges
    is_exact: bool
    predicted_error: float | None = None
    error_curve: ErrorCurve | None = None
    cut_error: float = 0.0


def finalize(state, config, n_edges, *, epsilon=None, consume=False):
    """Return the sparsifier of all edges so far, with at most `n_edges` edges.

    Parameters
    ----------
    state : StreamState
    config : StreamConfig
    n_edges : int
    epsilon : float, optional
        The sparsifier has as many edges as this error is predicted to need, and `n_edges` only
        decides how many edges are scored.
    consume : bool
        Reuse the memory of the sample; the state keeps its counters only.

    Returns
    -------
    Finalized
    """
    buffer = _coalesced_sample(state, config, n_edges, consume=consume)
    edges = buffer.edges()
    result = Finalized(edges, is_exact=state.n_resparsifications == 0, cut_error=state.cut_error)
    bridge = find_bridges(
        edges.tail,
        edges.head,
        edges.in_forest,
        state.n_nodes,
        seed=child_seed(state.seed, Step.BRIDGES),
    )
    # How many edges an error needs is known only when they are scored.
    if edges.n_edges > n_edges or (epsilon is not None and edges.n_edges > 0):
        n_forest = np.count_nonzero(edges.in_forest)
        check_connected(n_edges, state.n_nodes, n_forest=n_forest)
        if config.options.rescale_to_degrees and not result.is_exact:
            rescale_to_degrees(edges, state.degrees, bridge)
        result, bridge = _score_and_sample(
            result, state, config, bridge, n_edges, epsilon=epsilon, consume=consume
        )
        # Free the memory behind the sample; no view of the buffer is used after this.
        buffer.truncate(result.edges.n_edges)
        buffer.release_capacity()
        edges = buffer.edges()
    if config.options.rescale_to_degrees and not result.is_exact:
        rescale_to_degrees(edges, state.degrees, bridge)
    weight = edges.weight.astype(np.float64, copy=False)
    weight *= state.weight_scale
    return result._replace(edges=edges._replace(weight=weight))


def _score_and_sample(result, state, config, bridge, n_edges, *, epsilon, consume):
    """Estimate resistances, predict the error, and sample to the number of edges.

    Returns
    -------
    result : Finalized
        Its edges are views of the beginning of the same memory.
    bridge : ndarray of bool
        Which of its edges are bridges.
    """
    edges = result.edges
    cuts = BottleneckCuts.of(edges, state.n_nodes)
    resistance, is_from_degrees = _final_resistances(state, config, edges)
    if consume:
        state.drop_filter()
    resistance[bridge] = 1 / edges.weight[bridge]
    n_seen = state.n_seen if state.n_resparsifications else None
    if epsilon is not None:
        curve = sampling_error_curve(
            edges, resistance, epsilon=epsilon, n_nodes=state.n_nodes, n_seen=n_seen
        )
        result = result._replace(error_curve=curve)
        n_edges = min(curve.edges_for(epsilon), edges.n_edges)
        if n_edges == edges.n_edges:
            return result._replace(predicted_error=curve.error_at(n_edges)), bridge

    factor = state.priority.oversampling_for(edges, resistance, n_edges)
    resistance = state.priority.oversample(edges, resistance, factor)
    resistance[bridge] = 1 / edges.weight[bridge]
    predicted_error = sampling_error(
        edges, resistance, n_edges, n_nodes=state.n_nodes, n_seen=n_seen
    )
    method = "rounding"
    if not config.options.dependent_rounding:
        method = "independent"
    elif is_from_degrees and config.works_in_place(state):
        # Pivotal sampling needs resistances from degrees, see `pivotal_sampling`.
        method = "pivotal"
    if epsilon is None and predicted_error > GOOD_ERROR:
        # How many more edges would be enough, for the advice to the user.
        curve = sampling_error_curve(
            edges,
            resistance,
            epsilon=GOOD_ERROR,
            n_nodes=state.n_nodes,
            n_seen=n_seen,
            known=(n_edges, predicted_error),
        )
        result = result._replace(error_curve=curve)
    # In the memory of the resistances.
    leverage = resistance
    leverage *= edges.weight
    sampled, bridge = sample_to_budget(
        edges,
        leverage,
        n_edges,
        state.n_nodes,
        bridge=bridge,
        method=method,
        seed=child_seed(state.seed, Step.FINAL),
    )
    result = result._replace(
        edges=sampled,
        is_exact=False,
        predicted_error=predicted_error,
        cut_error=max(result.cut_error, cuts.significant_change(sampled)),
    )
    return result, bridge


def _final_resistances(state, config, edges):
    """Return the resistances of all edges, and whether they are from degrees."""
    if state.filter is not None and state.filter.is_from_degrees:
        resistance = resistances_if_current(edges, state.grounded_degrees(), state.filter.points)
        if resistance is not None:
            return resistance, True
    found = estimate_resistances(
        state, config, edges, n_probes=config.options.final_probes, key=Step.FINAL
    )
    return found.resistance, found.is_from_degrees


def _coalesced_sample(state, config, n_edges, *, consume):
    """Return a buffer of the sample, refiltered if it is much too large, without parallel edges."""
    arrival_filter = state.filter
    buffer = state.take_buffer() if consume else EdgeBuffer(state.buffer.edges().copy())
    options = config.options
    # Filtering takes less time than scoring, if it drops enough edges.
    is_large = buffer.n_edges > (options.high_watermark + options.low_watermark) / 2 * n_edges
    if is_large and arrival_filter is not None:
        seed = child_seed(state.seed, Step.FINAL_REFILTER)
        sample_block = partial(arrival_filter.sample_edges, seed=seed, priority=state.priority)
        buffer.replace_blocks(sample_block, options.chunk_size)
    if state.n_resparsifications == 0:
        # The sum of exact weights is exact in double precision.
        buffer.set_weight_dtype(np.float64)
    buffer.truncate(coalesce(buffer.edges(), state.n_nodes))
    buffer.release_capacity()
    return buffer
