"""Sample the edges in the buffer again, when they have become too many.

*Refiltering.* Degrees have grown since the edges were sampled, so the arrival filter with current
degrees gives smaller resistances, and a smaller scale c leaves fewer edges. No linear system is
solved. By Foster's theorem the leverages w r of all edges sum to n minus the number of components.
If those of the filter sum to much more, its resistances are outdated.

*Resparsifying.* Otherwise parallel edges are merged, their effective resistances are estimated from
degrees (`resistance.degrees`) or by a sketch (`resistance.sketch`), and edge e is kept with
probability min(1, c w_e r_e), where c makes the probabilities sum to the low watermark. By Foster's
theorem c is about the number of edges per node. The embedding of this step becomes the next filter.

This is the loop of [C17, Algorithm 11] as corrected: blocks as large as the sample, probabilities
of at most 1, original weights in the probabilities.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Section 4.3.
"""

import numpy as np

from graphsqueak.graph.forest import find_all
from graphsqueak.randomness import child_seed
from graphsqueak.sampling import find_scale
from graphsqueak.sparsifiers.resistance.degrees import FOSTER_TOLERANCE
from graphsqueak.sparsifiers.resistance.estimate import estimate
from graphsqueak.sparsifiers.stream.arrival_filter import ArrivalFilter
from graphsqueak.sparsifiers.stream.cut_probes import BottleneckCuts
from graphsqueak.sparsifiers.stream.edge_buffer import fits_float32
from graphsqueak.sparsifiers.stream.subsample import sample_edges
from graphsqueak.system.memory import release_memory

# Below this density the degree embedding is not averaged over neighbors: averaging underestimates
# resistances on near-trees (nested rings at 4 edges per node: error 0.85 instead of 0.73).
_MIN_EDGES_PER_NODE_FOR_AVERAGING = 5.0
# Sampled edges by which a scale or a fraction is estimated: within 1 %. Halved or doubled, the
# error changes by at most 1 %, and by 5 % on one random graph (means of four seeds).
_N_SAMPLED_EDGES = 2**16


class BufferOverflow(Exception):  # noqa: N818 - not an error: the part is read again without prefix
    """The sample of a state with a prefix is full: its edges are unlike those of the prefix."""


def resparsify_if_full(state, config):
    """Refilter or resparsify if the sample exceeds the high watermark.

    Parameters
    ----------
    state : StreamState
    config : StreamConfig

    Raises
    ------
    BufferOverflow
        If the state has a prefix: it must not be resparsified before it is merged.
    """
    high, low = config.watermarks(state)
    if state.buffer.n_edges > high:
        if state.prefix_edges:
            raise BufferOverflow
        if state.filter is not None:
            refilter(state, config, low + (high - low) / 3)
        # Refiltering is not enough if the filter is outdated or most nodes are new.
        if state.buffer.n_edges > (high + low) / 2:
            resparsify(state, config, int(low))
    elif state.filter is not None and _is_refresh_due(state, config):
        _refresh_filter(state, config)


def resparsify(state, config, n_edges):
    """Sample the edges in the buffer down to about `n_edges`, but not below the forest.

    Parameters
    ----------
    state : StreamState
    config : StreamConfig
    n_edges : int
    """
    if config.works_in_place(state) and fits_float32(state.buffer.edges().weight):
        # Sampled weights are not exact any more, so that single precision is enough.
        state.buffer.set_weight_dtype(np.float32)
    edges = state.coalesce()
    # A smaller sample would hardly have more than the forest, at a tiny scale for all other edges.
    n_forest = np.count_nonzero(edges.in_forest)
    n_edges = max(n_edges, int(config.options.low_watermark * n_forest))
    found = None
    if edges.n_edges > n_edges:
        found = estimate_resistances(
            state,
            config,
            edges,
            n_probes=config.options.n_probes,
            key=state.n_resparsifications,
        )
    if found is None:
        state.record_resparsification()
    elif found.is_from_degrees:
        # The new filter samples the edges, and no resistance has to be stored.
        state.set_filter(
            ArrivalFilter.from_sketch(found.embedding, find_all(state.parent), is_from_degrees=True)
        )
        refilter(state, config, n_edges, is_new=True)
    else:
        _sample_by_resistances(state, config, edges, found, n_edges)
    if not config.options.filter_arrivals:
        state.drop_filter()


def refilter(state, config, n_edges, *, is_new=False):
    """Put the sample to the arrival filter again, at a scale that leaves about `n_edges`.

    Parameters
    ----------
    state : StreamState
        With a filter. If its resistances are outdated, the scale is not changed and few edges are
        dropped.
    config : StreamConfig
    n_edges : float
    is_new : bool
        Whether the filter was made from this sample: it then has no scale yet.
    """
    _refresh_filter(state, config)
    step = 1 + state.buffer.n_edges // _N_SAMPLED_EDGES
    some = state.buffer.edges().select(slice(None, None, step))
    leverage = state.filter.leverages(some)
    total_leverage = step * np.minimum(leverage, 1.0).sum()
    is_outdated = total_leverage > FOSTER_TOLERANCE * state.n_nodes
    edges_per_node = config.current_budget(state) / state.n_nodes
    arrival_filter = state.filter._replace(edges_per_node=edges_per_node)
    if is_new or not is_outdated:
        is_free = ~some.in_forest
        n_free = n_edges / step - np.count_nonzero(some.in_forest)
        some = some.select(is_free)
        leverage = leverage[is_free]
        # More edges at priority nodes may have arrived than fit into their fraction of the budget.
        # With the earlier factor they would take all of it.
        factor = state.priority.oversampling_for(some, leverage / some.weight, n_free)
        state.set_oversampling(factor)
        leverage = state.priority.oversample(some, leverage, factor)
        scale = find_scale(leverage, max(n_free, 1.0))
        arrival_filter = arrival_filter._replace(scale=min(arrival_filter.scale, scale))
    state.refilter(arrival_filter, block_size=config.options.chunk_size)


def estimate_resistances(state, config, edges, *, n_probes, key):
    """Estimate the effective resistances of the edges in the sample of a state.

    Parameters
    ----------
    state : StreamState
    config : StreamConfig
    edges : SampledEdges
        Without parallel edges.
    n_probes : int
        Right-hand sides, if linear systems have to be solved.
    key : int
        Key of the random numbers.

    Returns
    -------
    ResistanceEstimate
    """
    edges_per_node = config.current_budget(state) / state.n_nodes
    found = estimate(
        edges,
        state.grounded_degrees(),
        n_probes=n_probes,
        seed=child_seed(state.seed, key) >> 1,
        ridge=state.ridge / state.weight_scale,
        is_averaged=edges_per_node >= _MIN_EDGES_PER_NODE_FOR_AVERAGING,
        min_nodes=config.options.degree_approx_min_nodes,
    )
    if config.works_in_place(state):
        release_memory()
    return found


def _sample_by_resistances(state, config, edges, found, n_edges):
    """Sample the edges by their sketched resistances, and make a filter of their embedding."""
    factor = state.priority.oversampling_for(edges, found.resistance, n_edges)
    state.set_oversampling(factor)
    resistance = state.priority.oversample(edges, found.resistance, factor)
    leverage = edges.weight * resistance
    n_free = n_edges - np.count_nonzero(edges.in_forest)
    scale = find_scale(leverage[~edges.in_forest], n_free)
    cuts = None
    if found.embedding.has_bottlenecks:
        # Few random signs say little about such cuts: check what happens to them.
        cuts = BottleneckCuts.of(edges, state.n_nodes)
    sampled = sample_edges(edges, leverage, scale, seed=state.resparsification_seed())
    cut_error = 0.0 if cuts is None else cuts.significant_change(sampled)
    state.buffer.truncate(sampled.n_edges)
    state.set_filter(
        ArrivalFilter.from_sketch(
            found.embedding,
            find_all(state.parent),
            scale=scale,
            edges_per_node=config.current_budget(state) / state.n_nodes,
        )
    )
    state.record_resparsification(cut_error)


def _is_refresh_due(state, config):
    """Refresh at most once per node that arrives: the work stays constant per edge."""
    chunk_size = config.options.chunk_size
    return state.n_seen // chunk_size % (1 + state.n_nodes // chunk_size) == 0


def _refresh_filter(state, config):
    """Use current degrees, and follow a budget that grows with the stream (`keep`)."""
    arrival_filter = state.filter.refresh(state.grounded_degrees())
    growth = config.current_budget(state) / state.n_nodes / arrival_filter.edges_per_node
    if config.budget.keep is not None and growth > 1:
        arrival_filter = arrival_filter._replace(
            scale=arrival_filter.scale * growth,
            edges_per_node=arrival_filter.edges_per_node * growth,
        )
    state.set_filter(arrival_filter)
