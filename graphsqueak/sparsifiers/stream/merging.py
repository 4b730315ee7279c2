"""Engines that have seen parts of one stream: merged into one, and guided by an earlier one.

*Merging.* Degrees are added, forests united, kept edges put side by side, and one shrink follows if
they are too many. An edge that one stream's forest needs and the joint one does not is thinned as
any other from now on.

*Guides.* What a part keeps alone is a sparsifier of that part, and of k parts together k times what
is wanted. An engine that follows a guide begins with the arrival filter, the degrees and the
union-find of an engine that has seen earlier parts, and keeps of its own part what one pass would
have kept after those: edge e with probability min(1, c w r), r from the guide's resistances and
from degrees of the guide's edges and its own together. Those are too large, if anything, for the
graph of all parts, so that the sum stays unbiased and later thinning valid, by the argument of one
pass. What such an engine keeps is no sparsifier by itself: `n_before` says how many edges its guide
had seen, and it is not shrunk before it is merged into the one that `leads`, which has seen all
parts from the first on.
"""

import numpy as np

from graphsqueak.graph.forest import find_all, make_sets, union_edges
from graphsqueak.sparsifiers.stream.edges import KeptBuffer, KeptEdges

__all__ = ["TooMany", "lead", "make_guide", "merge_engines"]


class TooMany(Exception):  # noqa: N818 - not a mistake: its part is read again, without a guide
    """The edges that follow a guide are not like those that it has seen."""


def merge_engines(engines, numbers, *, seed):
    """An engine that has seen all streams; `numbers` are their nodes in the joint numbering.

    Where the first leads, its filter goes on thinning, as it would have in one pass.
    """
    first = engines[0]
    ridge = sum(engine.ridge for engine in engines)  # each is exact up to its own
    both = type(first)(first.budget, first.options, ridge=ridge, seed=seed)
    both.unit = next((engine.unit for engine in engines if engine.n_seen), 1.0)
    both.grow(1 + max(int(number.max(initial=-1)) for number in numbers))
    both.favored.share, parts = first.favored.share, []
    for engine, number in zip(engines, numbers, strict=True):
        ratio, edges = engine.unit / both.unit, engine.buffer.edges()
        both.degree[number] += engine.degree * ratio
        both.favored.mask[number] |= engine.favored.mask
        joins = union_edges(both.parent, number, number[find_all(engine.parent)])
        both.n_joins += int(np.count_nonzero(joins))
        if not np.array_equal(number, np.arange(number.size)):
            edges = edges._replace(tail=number[edges.tail], head=number[edges.head])
        if ratio != 1.0:
            edges = edges._replace(weight=edges.weight * ratio)
        parts.append(edges)
        both.n_seen += engine.n_seen
        both.n_shrinks += engine.n_shrinks
        both.cut_error = max(both.cut_error, engine.cut_error)
    edges = KeptEdges(*map(np.concatenate, zip(*parts, strict=True)))
    forest = np.flatnonzero(edges.pinned)
    edges.pinned[forest] = union_edges(
        make_sets(both.n_nodes), edges.tail[forest], edges.head[forest]
    )
    both.buffer = KeptBuffer(edges)
    if first.leads:
        for name in ("leads", "filter", "per_node", "n_by_degrees"):
            setattr(both, name, getattr(first, name))
        both.favored.boost = first.favored.boost
    else:
        both.n_before = max(engine.n_before for engine in engines)
    if both.n_before == 0:
        both.shrink_if_full()
    if both.leads:
        lead(both)
    return both


def lead(engine):
    """Keep the filter from now on, and have one where there are edges to drop, for a guide."""
    engine.leads, (_, target) = 1, engine.most_kept
    if engine.filter is None and engine.buffer.size > target:
        engine.shrink(int(target))


def make_guide(engine):
    """An engine without edges that goes on where another one stands; None if that has no filter."""
    if engine.filter is None:
        return None
    guide = type(engine)(engine.budget, engine.options, ridge=engine.ridge, seed=engine.seed)
    guide.unit, guide.parent, guide.n_joins = engine.unit, engine.parent, engine.n_joins
    guide.favored, guide.per_node = engine.favored, engine.per_node
    guide.degree, guide.base = np.zeros(engine.n_nodes), engine.grounded_degree
    guide.n_before, guide.n_shrinks, guide.leads = engine.n_seen, 1, 1
    guide.filter = engine.filter.refresh(guide.base)
    return guide
