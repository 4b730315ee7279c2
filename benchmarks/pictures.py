"""The pictures of README.md and docs/explanation/concepts.md, drawn anew from computed graphs.

python benchmarks/pictures.py        # writes docs/*.png
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection

import graphsqueak as gs

DOCS = Path(__file__).parent.parent / "docs"
BLUE, RED, GREEN, GRAY = "#4477aa", "#cc6677", "#228833", "#bbbbbb"


def main():
    """Draw all three."""
    drawings = {
        "sparsifier.png": sparsifier,
        "resistance.png": resistance,
        "labels.png": labels,
    }
    for name, draw in drawings.items():
        figure = draw()
        figure.savefig(DOCS / name, dpi=72, metadata={"Software": None})
        plt.close(figure)
        print(f"docs/{name}  {(DOCS / name).stat().st_size / 1000:.0f} kB")


def two_communities(rng):
    """Two dense groups of 40 nodes, joined by three edges, and where to draw them."""
    angle, radius = rng.uniform(0, 2 * np.pi, 80), np.sqrt(rng.uniform(0, 1, 80))
    place = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    place[40:, 0] += 3.2
    inside = [(u, v) for u in range(80) for v in range(u) if u // 40 == v // 40]
    pairs = [pair for pair in inside if rng.uniform() < 0.7]
    return gs.EdgeList.from_pairs([*pairs, (3, 43), (11, 57), (29, 71)]), place


def sparsifier():
    """A graph, its sparsifier, and cuts of both."""
    rng = np.random.default_rng(20_181)
    graph, place = two_communities(rng)
    H = gs.sparsify(graph, n_edges=300, random_state=7)
    figure, axes = plt.subplots(
        1, 3, figsize=(11, 3.1), layout="constrained", width_ratios=[1.5, 1.5, 1]
    )
    place = place[graph.ids]
    for ax, drawn, title in ((axes[0], graph, "edges"), (axes[1], H, "kept, reweighted")):
        draw_graph(ax, drawn, place, drawn.weight * 0.25, BLUE)
        ax.set_title(f"{drawn.n_edges:,} {title}")
    sides = rng.uniform(size=(graph.n_nodes, 400)) < rng.uniform(0.02, 0.5, 400)
    side_of = sides ^ ((place[:, :1] > 1.6) & (np.arange(400) % 4 == 0))
    whole, kept = (cuts(drawn, side_of) for drawn in (graph, H))
    axes[2].plot([0, whole.max()], [0, whole.max()], color="black", linewidth=0.8)
    axes[2].scatter(whole, kept, s=7, alpha=0.5, color=RED, linewidth=0)
    axes[2].set(title="400 cuts", xlabel="weight in the graph", ylabel="in the sparsifier")
    axes[2].locator_params(nbins=4)
    return figure


def resistance():
    """A square with a tail, every edge with its effective resistance."""
    pairs = [("ann", "bob"), ("bob", "cy"), ("cy", "dan"), ("dan", "ann"), ("dan", "eve")]
    graph = gs.EdgeList.from_pairs([*pairs, ("eve", "flo")])
    corner = {"ann": (0, 0), "bob": (0, 1), "cy": (1, 1), "dan": (1, 0), "eve": (2, 0)}
    corner["flo"] = (3, 0)
    place = np.array([corner[name] for name in graph.ids], dtype=float)
    values = gs.effective_resistance(graph)
    figure, ax = plt.subplots(figsize=(6, 2.4), layout="constrained")
    colors = [RED if value > 0.99 else BLUE for value in values]
    draw_graph(ax, graph, place, np.full(graph.n_edges, 2.5), colors, size=60)
    for u, v, value in zip(graph.tail, graph.head, values, strict=True):
        x, y = place[[u, v]].mean(axis=0)
        ax.annotate(f"{value:.2f}", (x + 0.05, y + 0.05))
    for name, (x, y) in zip(graph.ids, place, strict=True):
        ax.annotate(name, (x, y + (0.1 if y > 0 else -0.18)), ha="center")
    ax.set_ylim(-0.35, 1.3)
    return figure


def labels():
    """Two rings of points: two labels each, and what a harmonic function makes of them."""
    rng = np.random.default_rng(20_182)
    angle = rng.uniform(0, 2 * np.pi, 400)
    radius = np.where(np.arange(400) < 200, 1.0, 2.0) + rng.normal(0, 0.08, 400)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    y = np.full(400, -1)
    y[[0, 1]], y[[200, 201]] = 0, 1
    graph = gs.neighbor_edges(points, 8, metric="euclidean").to_edge_list()
    said = gs.StableHFSClassifier(random_state=7).fit(graph, y).transduction_
    figure, axes = plt.subplots(1, 2, figsize=(7, 3.3), layout="constrained")
    draw_graph(axes[0], graph, points, np.full(graph.n_edges, 0.6), GRAY, size=0)
    for ax, known, title in ((axes[0], y, "4 labels"), (axes[1], said, "400 answers")):
        for value, color in ((-1, GRAY), (0, BLUE), (1, RED)):
            ax.scatter(*points[known == value].T, s=10 if value < 0 else 22, color=color, zorder=3)
        ax.set_title(title)
        ax.set_aspect("equal")
        ax.axis("off")
    return figure


def draw_graph(ax, graph, place, widths, colors, *, size=12):
    """Edges as lines, nodes as dots."""
    lines = place[np.column_stack([graph.tail, graph.head])]
    ax.add_collection(LineCollection(lines, linewidths=widths, colors=colors, alpha=0.7))
    ax.scatter(*place.T, s=size, color="black", zorder=3)
    ax.set_aspect("equal")
    ax.axis("off")


def cuts(graph, sides):
    """Weight of the edges between each column's nodes and the others."""
    return ((sides[graph.tail] != sides[graph.head]) * graph.weight[:, None]).sum(axis=0)


if __name__ == "__main__":
    main()
