"""One pass over a stream whose labeled nodes are known beforehand: a small graph to label on."""

from typing import NamedTuple

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.matching import Numbering
from graphsqueak.sparsifiers import StreamSparsifier
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.ssl.choice import natural_unit
from graphsqueak.ssl.tally import Tally
from graphsqueak.system.progress import reporter

__all__ = ["SmallGraph", "read_with_labels"]

_FEW = 256  # labels that are tallied one by one
_JUDGES = 128  # of more labels: at most so many, and an eighth, stay out to choose eta by


class SmallGraph(NamedTuple):
    """What is left of the stream."""

    graph: EdgeList  # with C nodes for the classes at the end if `tied` is not empty
    tied: np.ndarray  # nodes that stand behind their class
    untied: EdgeList | None  # the same with every labeled node by itself, where that is known
    n_nodes: int
    n_seen: int  # edges of the stream
    n_used: int  # edges, and entries of the tally, that are left: at most the budget
    ids: np.ndarray
    unit: float  # `natural_unit` of the stream


def read_with_labels(source, who, code, n_classes, settings, *, by_number, rng, progress=False):
    """Sparsify `source`, with the edges at labeled nodes summed exactly (see `tally`).

    Sums count as edges: where both together are above the budget, they are thinned to it, the sums
    favored.

    Parameters
    ----------
    source : EdgeList or EdgeSource
    who : dict
        From node id (or number, where edges carry no ids) to the place in `code`.
    by_number : bool
        Whether `who` is keyed by node number even where edges carry ids.
    code : array of int
        The class of every label.
    settings : dict
        Of `StreamSparsifier`: exactly one of n_edges, epsilon and keep, and random_state.
    """
    few = code.size <= _FEW
    judges = set()
    if not few:
        n_judges = min(code.size // 8, _JUDGES)
        judges = set(rng.choice(code.size, n_judges, replace=False).tolist())
    tally = Tally(code, n_classes, per_node=few)
    stream, numbering = StreamSparsifier(**settings), Numbering()
    allowed = Budget(stream.n_edges, stream.epsilon, stream.keep)
    spare, n_seen = [], 0  # all edges, while they still fit
    with reporter(progress, "labeling") as report:
        for batch in source:
            tail, head, n_nodes = numbering.apply(batch)
            _meet(tally, None if by_number else numbering.ids, n_nodes, who, judges)
            left = tally.absorb(tail, head, batch.weight)
            stream.partial_fit(EdgeList.from_clean(*left, n_nodes))
            n_seen += batch.n_edges
            budget = allowed(n_nodes, n_seen)
            if spare is not None:
                spare = [*spare, (tail, head, batch.weight)] if n_seen <= budget else None
            report(n_seen, getattr(source, "fraction_read", 1.0), f"kept {stream.n_kept_:,}")
    n_nodes = tally.who.size
    ids = np.arange(n_nodes) if numbering.ids is None else np.asarray(numbering.ids)[:n_nodes]
    nobody = np.zeros(0, dtype=np.int64)
    if spare is not None:
        columns = map(np.concatenate, zip(*spare, strict=True))
        whole = EdgeList.from_clean(*columns, n_nodes, ids)
        unit = natural_unit(whole)
        return SmallGraph(whole, nobody, whole, n_nodes, n_seen, whole.n_edges, ids, unit)
    rest, budget = stream.sparsifier(), allowed(n_nodes, n_seen)
    unit = natural_unit(tally.joined(rest))
    n_left = max(budget - tally.n_edges(), budget // 2)
    rest = _discounted(rest, min(n_left, rest.n_edges), stream.n_edges_seen_)
    untied = None
    if tally.per_node:
        few_sums = tally.n_edges() <= n_nodes * n_classes
        labeled = np.flatnonzero(tally.who >= 0)
        untied = _within(tally.joined(rest, ids), labeled, budget, stream.random_state)
        if few_sums:
            return SmallGraph(untied, nobody, untied, n_nodes, n_seen, untied.n_edges, ids, unit)
        tally.merge_classes()
    leaders = np.arange(n_nodes, n_nodes + n_classes)
    graph = _within(tally.joined(rest), leaders, budget, stream.random_state)
    tied = np.flatnonzero(tally.who >= 0)
    return SmallGraph(graph, tied, untied, n_nodes, n_seen, graph.n_edges, ids, unit)


def _discounted(rest, n_left, n_seen):
    """`rest` with less weight, the coarser a sparsifier the `n_left` edges make that it may keep.

    At mean degree d, eps is 2 / sqrt(d) at best. Where that is a half or more, the sampled edges
    drown what the exact sums say, and each counts as itself alone, not as all those that it stands
    for: they still carry labels to where no sum does. As eps falls to zero they count in full; in
    between, weights are multiplied by share^min(1, 2 eps), share being that of the edges kept.
    """
    degree = 2 * n_left / max(rest.n_nodes, 1)
    share = min(rest.n_edges / max(n_seen, 1), 1.0)
    weight = rest.weight * share ** min(1.0, 4 / max(degree, 1.0) ** 0.5)
    return EdgeList.from_clean(rest.tail, rest.head, weight, rest.n_nodes, rest.own_ids)


def _within(graph, carriers, budget, seed):
    """`graph`, thinned to the budget if it is above; edges of those who carry labels come first."""
    if graph.n_edges <= budget:
        return graph
    names = (np.arange(graph.n_nodes) if graph.own_ids is None else graph.own_ids)[carriers]
    stream = StreamSparsifier(n_edges=budget, favored_nodes=names, random_state=seed)
    return stream.partial_fit(graph).sparsifier()


def _meet(tally, ids, n_nodes, who, judges):
    """Tell the tally which of the new nodes carry a label that is not a judge's."""
    start = tally.who.size
    if start == n_nodes:
        return
    names = range(start, n_nodes) if ids is None else np.asarray(ids[start:n_nodes]).tolist()
    places = (who.get(name, -1) for name in names)
    tally.meet(np.array([-1 if place in judges else place for place in places]))
