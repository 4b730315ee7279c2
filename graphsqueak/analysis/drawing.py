"""A picture of a graph of some thousands of nodes, alone or beside its sparsifier.

Edges are drawn below the nodes, the wider and darker the heavier, on one scale for both graphs.
What is categories (whole numbers, text, truth values) gets a legend, what is scores a bar of
colors.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.analysis.layouts import layout
from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.numbering import NodeMatching
from graphsqueak.randomness import RandomState
from graphsqueak.report.figure import COLORS, pyplot
from graphsqueak.sources.graph_like import GraphLike, as_edge_list

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

_MOST_NODES = 5_000
_MOST_EDGES = 20_000  # that are drawn; of more, so many are drawn at random
_WIDTHS = (0.15, 2.5)  # of the lightest and the heaviest edge, in points
_MOST_NAMES = 18  # in a legend
_OUTSIDE = "#bbbbbb"  # of nodes without a category


def draw(
    graph: GraphLike,
    *,
    color: ArrayLike | None = None,
    beside: GraphLike | None = None,
    places: ArrayLike | None = None,
    random_state: RandomState = None,
) -> "Figure":
    """Draw a graph.

    Parameters
    ----------
    graph : EdgeList, scipy sparse adjacency, networkx graph or EdgeSource
        At most 5,000 nodes.
    color : array of shape (n_nodes,), optional
        Labels, clusters or scores of the nodes: whatever `spectral_clusters`, `communities`, `cut`
        and `rank` return, or an array. Whole numbers and text are categories (-1 is none), other
        numbers are scores.
    beside : any graph, optional
        Another one with the same ids, such as the sparsifier, drawn in a second panel at the same
        places.
    places : array of shape (n_nodes, 2), optional
        Default: `layout` of the graph.
    random_state : int, Generator or None
        Of the layout.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from graphsqueak.sources import barbell
    >>> len(draw(barbell(5).to_edge_list(), color=[0] * 5 + [1] * 5, random_state=7).axes)
    1
    """
    whole = as_edge_list(graph)
    if whole.n_nodes > _MOST_NODES:
        raise InputError(
            f"{whole.n_nodes:,} nodes are too many to draw, {_MOST_NODES:,} the most; draw a part, "
            "or what spectral_embedding makes of it as points"
        )
    panels = [("graph" if beside is not None else "", whole)]
    if beside is not None:
        other = as_edge_list(beside)
        tail, head = NodeMatching(whole).ends(other)
        other = EdgeList.from_validated(tail, head, other.weight, whole.n_nodes)
        panels.append(("sparsifier", other))
    rng = np.random.default_rng(random_state)
    where = _check_places(places, whole) if places is not None else None
    where = layout(whole, random_state=rng) if where is None else where
    figure, axes = pyplot().subplots(
        1, len(panels), figsize=(5.2 * len(panels), 5.4), layout="constrained", squeeze=False
    )
    heaviest = max(one.weight.max(initial=0.0) for _, one in panels)
    for ax, (name, one) in zip(axes[0], panels, strict=True):
        _draw_edges(ax, one, where, heaviest, name, rng)
    size = float(np.clip(12_000 / max(whole.n_nodes, 1), 3, 60))
    _draw_nodes(figure, axes[0], where, size, _check_colors(color, whole.n_nodes))
    return figure


def _check_places(places, graph):
    where = np.asarray(places, dtype=np.float64)
    if where.shape != (graph.n_nodes, 2) or not np.isfinite(where).all():
        raise InputError(
            f"places has shape {where.shape}; give two finite numbers for each of the "
            f"{graph.n_nodes} nodes"
        )
    return where


def _check_colors(color, n_nodes):
    if color is None:
        return None
    values = np.asarray(color)
    if values.shape != (n_nodes,):
        raise InputError(
            f"color has shape {values.shape}; give one value for each of {n_nodes} nodes"
        )
    return values


def _draw_edges(ax, graph, where, heaviest, name, rng):
    from matplotlib.collections import LineCollection

    shown = np.arange(graph.n_edges)
    note = f"{graph.n_edges:,} edges"
    if shown.size > _MOST_EDGES:
        shown = np.sort(rng.choice(shown, _MOST_EDGES, replace=False))
        note += f", {_MOST_EDGES:,} of them drawn"
    share = np.sqrt(graph.weight[shown] / (heaviest or 1.0))
    crowd = float(np.clip(500 / max(shown.size, 1), 0.06, 1.0)) ** 0.5
    lines = np.stack([where[graph.tail[shown]], where[graph.head[shown]]], axis=1)
    width = _WIDTHS[0] + (_WIDTHS[1] - _WIDTHS[0]) * share * crowd
    gray = np.zeros((shown.size, 4))
    gray[:, :3] = 0.35
    gray[:, 3] = np.clip((0.25 + 0.6 * share) * crowd, 0.04, 0.9)
    ax.add_collection(LineCollection(list(lines), linewidths=width, colors=gray, zorder=1))
    ax.set_title(f"{name}: {note}" if name else f"{graph.n_nodes:,} nodes, {note}", fontsize=11)
    ax.set_aspect("equal")
    ax.axis("off")


def _draw_nodes(figure, axes, where, size, values):
    style = {"s": size, "linewidth": 0.3 if size > 20 else 0.0, "edgecolor": "white", "zorder": 2}
    if values is None:
        for ax in axes:
            ax.scatter(*where.T, color=COLORS[0], **style)
        return
    if values.dtype.kind == "f":
        for ax in axes:
            dots = ax.scatter(*where.T, c=values, cmap="viridis", **style)
        figure.colorbar(dots, ax=list(axes), shrink=0.7, label="score")
        return
    names = [name for name in np.unique(values) if name not in (-1, "-1")]
    tab = pyplot().get_cmap("tab20").colors
    colors = COLORS[:6] if len(names) <= 6 else tab
    for ax in axes:
        outside = ~np.isin(values, names)
        if outside.any():
            ax.scatter(*where[outside].T, color=_OUTSIDE, label="none", **style)
        for i, name in enumerate(names):
            own = values == name
            ax.scatter(*where[own].T, color=colors[i % len(colors)], label=str(name), **style)
    if len(names) <= _MOST_NAMES:
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=6 * len(axes),
            frameon=False,
            markerscale=1.5,
        )
