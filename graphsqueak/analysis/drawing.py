"""Drawings of graphs with up to 5,000 nodes, alone or next to a sparsifier.

Heavy edges are wider and darker, on the same scale in both panels. Categories (integers, text,
booleans) get a legend, scores (floats) a color bar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.analysis.analyzed_graph import on_nodes_of
from graphsqueak.analysis.layouts import layout
from graphsqueak.errors import InputError
from graphsqueak.randomness import RandomState
from graphsqueak.report.figure import COLORS, pyplot
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.validation import explain_keywords

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Nodes that can be told apart in a figure of 5 x 5 inches: one per pixel of 70 x 70. Part of the
# documented interface. Doubled, nodes cover each other.
MAX_NODES = 5_000
# A larger number of edges is sampled: more lines take seconds and cover each other. Halved or
# doubled, so is the time of drawing.
MAX_EDGES = 20_000


@explain_keywords()
def draw(
    graph: GraphLike,
    *,
    color: ArrayLike | None = None,
    other: GraphLike | None = None,
    positions: ArrayLike | None = None,
    random_state: RandomState = None,
) -> Figure:
    """Draw a graph, and optionally a second one with the same nodes, with matplotlib.

    Parameters
    ----------
    graph : GraphLike
        At most 5,000 nodes.
    color : array of shape (n_nodes,), optional
        Labels or scores of the nodes: results of `spectral_clusters`, `communities`, `cut` and
        `rank`, or an array. Integers and text are categories (-1 is none), other numbers are
        scores.
    other : any graph, optional
        A graph with the same ids, such as the sparsifier, for a second panel.
    positions : array of shape (n_nodes, 2), optional
        Default: `layout` of the graph.
    random_state : int, Generator or None
        Seed of the layout, and of the edges that are drawn.

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
    if whole.n_nodes > MAX_NODES:
        raise InputError(
            f"{whole.n_nodes:,} nodes are too many to draw, the limit is {MAX_NODES:,}; draw a "
            "part of the graph, or the points of spectral_embedding"
        )
    panels = {"": whole}
    if other is not None:
        panels = {"graph: ": whole, "sparsifier: ": on_nodes_of(whole, as_edge_list(other))}
    rng = np.random.default_rng(random_state)
    if positions is None:
        points = layout(whole, random_state=rng)
    else:
        points = _check_positions(positions, whole)
    values = None if color is None else _check_colors(color, whole)
    figure, axes = pyplot().subplots(
        1, len(panels), figsize=(5.2 * len(panels), 5.4), layout="constrained", squeeze=False
    )
    max_weight = max(one.weight.max(initial=0.0) for one in panels.values())
    for ax, (name, one) in zip(axes[0], panels.items(), strict=True):
        note = _draw_edges(ax, one, points, max_weight, rng)
        ax.set_title(name + note if name else f"{one.n_nodes:,} nodes, {note}", fontsize=11)
        ax.set_aspect("equal")
        ax.axis("off")
    _draw_nodes(figure, axes[0], points, values)
    return figure


def _check_positions(positions, graph):
    points = np.asarray(positions, dtype=np.float64)
    if points.shape != (graph.n_nodes, 2) or not np.isfinite(points).all():
        raise InputError(
            f"positions has shape {points.shape}; give two finite numbers for each of the "
            f"{graph.n_nodes} nodes"
        )
    return points


def _check_colors(color, graph):
    values = np.asarray(color)
    if values.shape != (graph.n_nodes,):
        raise InputError(
            f"color has shape {values.shape}; give one value for each of {graph.n_nodes} nodes"
        )
    return values


def _draw_edges(ax, graph, points, max_weight, rng):
    """Draw the edges as lines, and return a description of their number."""
    from matplotlib.collections import LineCollection

    drawn = np.arange(graph.n_edges)
    note = f"{graph.n_edges:,} edges"
    if drawn.size > MAX_EDGES:
        drawn = np.sort(rng.choice(drawn, MAX_EDGES, replace=False))
        note += f", {MAX_EDGES:,} of them drawn"
    strength = np.sqrt(graph.weight[drawn] / (max_weight or 1.0))
    # Many lines are drawn narrower and lighter.
    fade = np.sqrt(np.clip(500 / max(drawn.size, 1), 0.06, 1.0))
    color = np.full((drawn.size, 4), 0.35)
    color[:, 3] = np.clip((0.25 + 0.6 * strength) * fade, 0.04, 0.9)
    lines = np.stack([points[graph.tail[drawn]], points[graph.head[drawn]]], axis=1)
    # In points, from 0.15 to 2.5.
    width = 0.15 + 2.35 * strength * fade
    ax.add_collection(LineCollection(list(lines), linewidths=width, colors=color, zorder=1))
    return note


def _draw_nodes(figure, axes, points, values):
    """Draw the nodes in all panels, with a legend or a color bar."""
    size = np.clip(12_000 / max(len(points), 1), 3, 60)

    def scatter(ax, selected, **style):
        outline = 0.3 if size > 20 else 0.0
        return ax.scatter(
            *points[selected].T, s=size, linewidth=outline, edgecolor="white", zorder=2, **style
        )

    if values is None:
        for ax in axes:
            scatter(ax, slice(None), color=COLORS[0])
        return
    if values.dtype.kind == "f":
        for ax in axes:
            dots = scatter(ax, slice(None), c=values, cmap="viridis")
        figure.colorbar(dots, ax=list(axes), shrink=0.7, label="score")
        return
    names = [name for name in np.unique(values) if name not in (-1, "-1")]
    colors = COLORS[:6] if len(names) <= 6 else pyplot().get_cmap("tab20").colors
    is_none = ~np.isin(values, names)
    for ax in axes:
        if is_none.any():
            scatter(ax, is_none, color="#bbbbbb", label="none")
        for i, name in enumerate(names):
            scatter(ax, values == name, color=colors[i % len(colors)], label=str(name))
    # A longer legend would not fit below the drawing.
    if len(names) <= 18:
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=6 * len(axes),
            frameon=False,
            markerscale=1.5,
        )
