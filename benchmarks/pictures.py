"""Draw the figures of docs/explanation/concepts.md from computed graphs.

python benchmarks/pictures.py        # writes docs/*.svg
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection

import graphsqueak as gs

DOCS = Path(__file__).parent.parent / "docs"
BLUE = "#3b6ea5"
RED = "#c8553d"
GRAY = "#b5b5b5"
# Hundreds of lines and dots are smaller as pixels. Text, axes and few lines stay vectors.
DOTS_PER_INCH = 120
MAX_VECTOR_EDGES = 50
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    # Fixed ids and no date: an unchanged figure is an unchanged file.
    "svg.hashsalt": "graphsqueak",
    "svg.fonttype": "path",
}


def main():
    """Draw all figures."""
    drawings = {
        "sparsifier.svg": sparsifier,
        "resistance.svg": resistance,
        "labels.svg": labels,
    }
    for name, draw in drawings.items():
        with plt.rc_context(STYLE):
            figure = draw()
            figure.savefig(DOCS / name, dpi=DOTS_PER_INCH, metadata={"Date": None})
        plt.close(figure)
        print(f"docs/{name}  {(DOCS / name).stat().st_size / 1000:.0f} kB")


def two_communities(rng):
    """Return two dense groups of 40 nodes, joined by three edges, and positions of the nodes."""
    angle = rng.uniform(0, 2 * np.pi, 80)
    radius = np.sqrt(rng.uniform(0, 1, 80))
    positions = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    positions[40:, 0] += 3.2
    within = [(u, v) for u in range(80) for v in range(u) if u // 40 == v // 40]
    pairs = [pair for pair in within if rng.uniform() < 0.7]
    return gs.EdgeList.from_pairs([*pairs, (3, 43), (11, 57), (29, 71)]), positions


def sparsifier():
    """Draw a graph, its sparsifier, and the weights of cuts of both."""
    rng = np.random.default_rng(20_181)
    graph, positions = two_communities(rng)
    positions = positions[graph.ids]
    is_right = positions[:, 0] > 1.6
    H = gs.sparsify(graph, n_edges=300, random_state=7)
    figure, axes = plt.subplots(
        1, 3, figsize=(9, 2.7), layout="constrained", width_ratios=[1.5, 1.5, 1]
    )
    titles = (f"graph: {graph.n_edges:,} edges", f"sparsifier: {H.n_edges:,} edges, reweighted")
    for ax, drawn, title in zip(axes, (graph, H), titles, strict=False):
        connects = is_right[drawn.tail] != is_right[drawn.head]
        colors = np.where(connects, RED, BLUE)
        # Line widths grow with the weights, up to those of the heaviest edges of the sparsifier.
        widths = np.where(connects, 1.6, 0.25 * drawn.weight)
        draw_graph(ax, drawn, positions, widths, colors)
        ax.set_title(title)
    sides = rng.uniform(size=(graph.n_nodes, 400)) < rng.uniform(0.02, 0.5, 400)
    # Every fourth cut is near the one between the communities.
    sides = sides ^ (is_right[:, None] & (np.arange(400) % 4 == 0))
    exact = cut_weights(graph, sides)
    approximate = cut_weights(H, sides)
    axes[2].plot([0, exact.max()], [0, exact.max()], color=GRAY, linewidth=1)
    axes[2].scatter(exact, approximate, s=6, alpha=0.5, color=BLUE, linewidth=0, rasterized=True)
    axes[2].set(title="400 cuts", xlabel="weight in the graph", ylabel="weight in the sparsifier")
    axes[2].locator_params(nbins=4)
    return figure


def resistance():
    """Draw a square with a tail, with the effective resistance of every edge."""
    pairs = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("d", "e"), ("e", "f")]
    graph = gs.EdgeList.from_pairs(pairs)
    position = {"a": (0, 0), "b": (0, 1), "c": (1, 1), "d": (1, 0), "e": (2, 0), "f": (3, 0)}
    positions = np.array([position[name] for name in graph.ids], dtype=float)
    values = gs.effective_resistance(graph)
    colors = np.where(values > 0.99, RED, BLUE)
    figure, ax = plt.subplots(figsize=(5, 2), layout="constrained")
    draw_graph(ax, graph, positions, np.full(graph.n_edges, 2.5), colors, size=50)
    for u, v, value, color in zip(graph.tail, graph.head, values, colors, strict=True):
        x, y = positions[[u, v]].mean(axis=0)
        ax.annotate(f"{value:.2f}", (x + 0.05, y + 0.06), color=color)
    ax.annotate("bridges", (2, -0.3), color=RED, ha="center")
    ax.set_ylim(-0.4, 1.25)
    return figure


def labels():
    """Draw two rings of points, two labels in each, and the predicted labels of all points."""
    rng = np.random.default_rng(20_182)
    angle = rng.uniform(0, 2 * np.pi, 400)
    radius = np.where(np.arange(400) < 200, 1.0, 2.0) + rng.normal(0, 0.08, 400)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    y = np.full(400, -1)
    y[[0, 1]] = 0
    y[[200, 201]] = 1
    graph = gs.neighbor_edges(points, 8, metric="euclidean").to_edge_list()
    predicted = gs.StableHFSClassifier(random_state=7).fit(graph, y).transduction_
    figure, axes = plt.subplots(1, 2, figsize=(6, 3), layout="constrained")
    draw_graph(axes[0], graph, points, np.full(graph.n_edges, 0.5), GRAY, size=0)
    panels = ((axes[0], y, "4 labels"), (axes[1], predicted, "400 predictions"))
    for ax, classes, title in panels:
        for value, color in ((-1, GRAY), (0, BLUE), (1, RED)):
            size = 5 if value < 0 else 16
            ax.scatter(
                *points[classes == value].T,
                s=size,
                color=color,
                zorder=3,
                linewidth=0,
                rasterized=True,
            )
        ax.set_title(title)
        ax.set_aspect("equal")
        ax.axis("off")
    return figure


def draw_graph(ax, graph, positions, widths, colors, *, size=8):
    """Draw edges as lines and nodes as dots."""
    lines = positions[np.column_stack([graph.tail, graph.head])]
    are_pixels = graph.n_edges > MAX_VECTOR_EDGES
    drawn = LineCollection(lines, linewidths=widths, colors=colors, alpha=0.7)
    drawn.set_rasterized(are_pixels)
    ax.add_collection(drawn)
    ax.scatter(*positions.T, s=size, color="black", zorder=3, linewidth=0, rasterized=are_pixels)
    ax.set_aspect("equal")
    ax.axis("off")


def cut_weights(graph, sides):
    """Return the weight of the cut that each column of `sides` defines."""
    return graph.weight @ (sides[graph.tail] != sides[graph.head])


if __name__ == "__main__":
    main()
