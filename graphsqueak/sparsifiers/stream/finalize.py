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

from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.forest import find_bridges
from graphsqueak.randomness import Step, child_seed
from graphsqueak.sparsifiers.error_prediction import (
    ErrorCurve,
    sampling_error,
    sampling_error_curve,
)
from graphsqueak.sparsifiers.resistance.estimate import resistances_if_current
from graphsqueak.sparsifiers.stream.coalesce import coalesce, coalesce_in_place
from graphsqueak.sparsifiers.stream.cut_probes import BottleneckCuts
from graphsqueak.sparsifiers.stream.edge_buffer import EdgeBuffer, SampledEdges
from graphsqueak.sparsifiers.stream.rescale import rescale_to_degrees
from graphsqueak.sparsifiers.stream.resparsify import (
    estimate_resistances,
    passing_fraction,
)
from graphsqueak.sparsifiers.stream.subsample import sample_to_budget
from graphsqueak.system.kernels import run_in_thread
from graphsqueak.system.memory import release_memory

__all__ = ["FINAL_OVERSHOOT", "Finalized", "finalize"]

# A sample of more than this many budgets is refiltered first: scoring takes longer than filtering.
# Halved: no change. Doubled: the error changes by less than 2 %. Times differ by no more than the
# noise of the measurement, about 8 %.
FINAL_OVERSHOOT = 1.75
# It is not if more than this fraction would pass. At 0.4 the run takes up to 14 % longer (noise:
# about 8 %); at 1 there is no change at six edges per node, but at other budgets.
_MAX_PASSING_FRACTION = 0.8
# Binary digits of dependent rounding. With 2 the error changes by -2 to +3 %. With 8 it changes by
# -4 to +1 %, and the run takes up to 14 % longer (noise: about 8 %).
_N_BITS = 4
# Above this number of edges one digit less saves more time than it costs error.
_MAX_EDGES_FOR_ALL_BITS = 2**20
# Standard deviations of chance that a change of a bottleneck cut must exceed to be reported.
_N_STD_OF_CUTS = 3


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
        Predicted error by number of edges, if the budget was an error.
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
    options = config.options
    in_place = config.works_in_place(state)
    buffer = _coalesced_sample(state, config, n_edges, consume=consume)
    edges = buffer.edges()
    has_all_edges = state.n_resparsifications == 0
    # How many edges an error needs is known only when they are scored.
    is_scored = edges.n_edges > n_edges or (epsilon is not None and edges.n_edges > 0)
    find_own_bridges = run_in_thread(
        find_bridges,
        edges.tail,
        edges.head,
        edges.in_forest,
        state.n_nodes,
        seed=child_seed(state.seed, Step.BRIDGES),
    )
    cuts = None
    if is_scored and options.keep_spanning_forest:
        cuts = BottleneckCuts.of(edges, state.n_nodes)
    bridge = find_own_bridges()
    result = Finalized(edges, is_exact=has_all_edges, cut_error=state.cut_error)
    if is_scored:
        n_forest = np.count_nonzero(edges.in_forest)
        if n_forest > n_edges:
            raise InputError(
                f"{n_edges:,} edges are too few to keep {state.n_nodes:,} nodes connected (at "
                f"least {n_forest:,}); ask for more edges"
            )
        if options.rescale_to_degrees and not has_all_edges:
            edges = rescale_to_degrees(edges, state.degrees, bridge, in_place=in_place)
        if in_place:
            release_memory()
        result, bridge = _score_and_sample(
            result._replace(edges=edges),
            state,
            config,
            bridge,
            cuts,
            n_edges,
            epsilon=epsilon,
            buffer=buffer if in_place else None,
            consume=consume,
        )
    edges = result.edges
    if options.rescale_to_degrees and not result.is_exact:
        edges = rescale_to_degrees(edges, state.degrees, bridge, in_place=in_place)
    if edges.weight.dtype != np.float64:
        edges = edges._replace(weight=edges.weight.astype(np.float64))
    if state.weight_scale != 1.0 or not in_place:
        edges = edges._replace(weight=edges.weight * state.weight_scale)
    return result._replace(edges=edges)


def _score_and_sample(result, state, config, bridge, cuts, n_edges, *, epsilon, buffer, consume):
    """Estimate resistances, predict the error, and sample to the number of edges.

    Returns
    -------
    result : Finalized
    bridge : ndarray of bool
        Which of its edges are bridges.
    """
    options = config.options
    edges = result.edges
    if cuts is not None:
        cuts = cuts.with_weights(edges)
    resistance, is_from_degrees = _final_resistances(state, config, edges)
    if consume:
        state.drop_filter()
    resistance[bridge] = 1 / edges.weight[bridge]
    n_seen = state.n_seen if state.n_resparsifications else None
    if epsilon is not None:
        curve = sampling_error_curve(
            edges.tail,
            edges.head,
            edges.weight,
            resistance,
            edges.in_forest,
            epsilon=epsilon,
            n_nodes=state.n_nodes,
            n_seen=n_seen,
        )
        result = result._replace(error_curve=curve)
        n_edges = min(curve.edges_for(epsilon), edges.n_edges)
        if n_edges == edges.n_edges:
            return result._replace(predicted_error=curve.error_at(n_edges)), bridge

    factor = state.priority.oversampling_for(edges, resistance, n_edges)
    resistance = state.priority.oversample(edges, resistance, factor)
    resistance[bridge] = 1 / edges.weight[bridge]
    # Pivotal sampling needs resistances from degrees, see `pivotal_sampling`.
    in_place = buffer is not None and options.dependent_rounding and is_from_degrees
    predicted_error = run_in_thread(
        sampling_error,
        edges.tail,
        edges.head,
        edges.weight,
        resistance if in_place else resistance.copy(),
        edges.in_forest,
        n_edges,
        n_nodes=state.n_nodes,
        n_seen=n_seen,
    )
    if in_place:
        # Wait: the edges are about to be moved.
        predicted_error()
    n_bits = _N_BITS if edges.n_edges <= _MAX_EDGES_FOR_ALL_BITS else _N_BITS - 1
    sampled, bridge = sample_to_budget(
        edges,
        resistance,
        n_edges,
        state.n_nodes,
        bridge=bridge,
        keep_spanning_forest=options.keep_spanning_forest,
        n_bits=n_bits if options.dependent_rounding else 0,
        in_place=in_place,
        seed=child_seed(state.seed, Step.FINAL),
    )
    cut_error = result.cut_error
    if cuts is not None:
        cut_error = max(cut_error, cuts.significant_change(sampled, n_std=_N_STD_OF_CUTS))
    if in_place:
        # Free the memory behind the sample; no view of the buffer is used after this.
        bridge = bridge.copy()
        buffer.truncate(sampled.n_edges)
        buffer.release_capacity()
        sampled = buffer.edges()
    result = result._replace(
        edges=sampled,
        is_exact=False,
        predicted_error=predicted_error(),
        cut_error=cut_error,
    )
    return result, bridge


def _final_resistances(state, config, edges):
    """Return the resistances of all edges, and whether they are from degrees."""
    if state.is_filter_from_degrees and state.filter is not None:
        resistance = resistances_if_current(
            state.filter.points, state.grounded_degrees(), edges.tail, edges.head, edges.weight
        )
        if resistance is not None:
            return resistance, True
    found = estimate_resistances(
        state, config, edges, n_probes=config.options.final_probes, key=Step.FINAL
    )
    return found.resistance, found.is_from_degrees


def _coalesced_sample(state, config, n_edges, *, consume):
    """Return a buffer of the sample, refiltered if it is much too large, without parallel edges."""
    in_place = config.works_in_place(state)
    arrival_filter = state.filter
    buffer = state.take_buffer() if consume else state.buffer
    is_refiltered = (
        buffer.n_edges > FINAL_OVERSHOOT * n_edges
        and arrival_filter is not None
        and passing_fraction(arrival_filter, buffer.edges()) < _MAX_PASSING_FRACTION
    )
    if is_refiltered:
        sample_block = arrival_filter.block_sampler(
            state.priority, child_seed(state.seed, Step.FINAL_REFILTER)
        )
        refiltered = buffer if consume else EdgeBuffer()
        if not consume:
            refiltered.set_weight_dtype(buffer.weight_dtype)
        refiltered.replace_blocks(sample_block, buffer.edges())
        buffer = refiltered
    elif in_place and not consume:
        buffer = EdgeBuffer(buffer.edges().copy())
    if not in_place:
        return EdgeBuffer(coalesce(buffer.edges(), state.n_nodes))
    if state.n_resparsifications == 0:
        # The sum of exact weights is exact in double precision.
        buffer.set_weight_dtype(np.float64)
    buffer.truncate(coalesce_in_place(buffer.edges(), state.n_nodes))
    buffer.release_capacity()
    release_memory()
    return buffer
