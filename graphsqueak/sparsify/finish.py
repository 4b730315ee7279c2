"""The last shrink: from what a stream keeps to the sparsifier it promises.

During the stream a spanning forest is pinned at its own, light weights, which wastes a slot per
node. At the end the forest is thinned like every other edge, and a forest edge comes back, at
the weight it would have been given, only where the thinned graph fell apart. By Foster's theorem
every cut holds at least c edges in expectation, so that this happens with a probability of at most
about exp(-c) per cut; below c = 4 the forest stays pinned.

The degrees are calibrated twice: before, so that what coins left uneven is mended by how many edges
a node gets, and after, for the little that is left by then.
"""

import numpy as np

from graphsqueak.sampling import child_seed
from graphsqueak.sources.forest import join, roots
from graphsqueak.sparsify.calibration import calibrated
from graphsqueak.sparsify.kept import Kept
from graphsqueak.sparsify.rounding import count_spread
from graphsqueak.sparsify.scoring import scale_for
from graphsqueak.sparsify.thinning import thinned
from graphsqueak.validation import InputError

__all__ = ["finished"]

_SAFE_SCALE = 4.0
_BITS = 3
_LAST = 2**40  # number of the last shrink, for its seed


def finished(engine, budget):
    """The sparsifier of all edges so far, of at most `budget` edges; `engine` is left as it is.

    Returns
    -------
    Kept
    """
    options, n_nodes = engine.options, engine.n_nodes
    edges = engine.last_edges(budget)
    is_whole = engine.n_shrinks == 0
    if edges.tail.size > budget:
        n_pinned = np.count_nonzero(edges.pinned)
        if n_pinned > budget:
            raise InputError(
                f"{budget:,} edges cannot hold {n_nodes:,} nodes together: at least {n_pinned:,} "
                "are needed; ask for more edges"
            )
        if options.calibrate and not is_whole:
            edges = _calibrated(edges, engine.degree)
        resistance, _ = engine.score(edges, options.final_probes, _LAST)
        resistance, _ = engine.favoured.boosted(edges, resistance, budget)
        seed = child_seed(engine.seed, _LAST)
        edges = _thin_to(edges, resistance, budget, n_nodes, seed, options)
        is_whole = False
    return _calibrated(edges, engine.degree) if options.calibrate and not is_whole else edges


def _calibrated(edges, degree):
    return edges._replace(weight=calibrated(edges.tail, edges.head, edges.weight, degree))


def _thin_to(edges, resistance, budget, n_nodes, seed, options):
    """Thin without a pinned forest where that is safe, with it otherwise."""
    n_bits = options.bits(_BITS)
    spread = np.sqrt(budget)
    if n_bits:
        spread = count_spread(edges.tail.size, budget, n_bits=n_bits)
    aim = budget - 4 * spread
    free = edges._replace(pinned=np.zeros_like(edges.pinned))
    scale = scale_for(edges.weight * resistance, aim)
    if scale >= _SAFE_SCALE or not options.pin_forest:
        thin = thinned(free, resistance, scale, n_nodes, seed=seed, n_bits=n_bits)
        if options.pin_forest:
            thin = _rejoined(thin, edges, resistance, scale, n_nodes)
        if thin.tail.size <= budget:
            return thin
    n_pinned = np.count_nonzero(edges.pinned)
    leverage = (edges.weight * resistance)[~edges.pinned]
    scale = scale_for(leverage, max(aim - n_pinned, 0.0))
    return thinned(edges, resistance, scale, n_nodes, seed=seed, n_bits=n_bits)


def _rejoined(thin, edges, resistance, scale, n_nodes):
    """Add the forest edges without which `thin` has more components than `edges`."""
    parent = roots(n_nodes)
    join(parent, thin.tail, thin.head)
    forest = np.flatnonzero(edges.pinned)
    lost = forest[join(parent, edges.tail[forest], edges.head[forest])]
    back = edges.select(lost)
    back = back._replace(weight=np.maximum(back.weight, 1 / (scale * resistance[lost])))
    return Kept(*map(np.concatenate, zip(thin, back, strict=True)))
