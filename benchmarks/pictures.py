"""Draw the figures of docs/explanation/concepts.md from computed graphs.

python benchmarks/pictures.py        # writes docs/*.svg
"""

import numpy as np
from figure_style import BLUE, GRAY, RED, draw_edges, draw_nodes, save, style
from matplotlib import pyplot as plt

import graphsqueak as gs

# Edges of equal width are drawn as one path, so weights are rounded to a few widths.
WIDTHS = (0.3, 0.7, 1.2, 1.8)


def main():
    """Draw all figures."""
    with style():
        save(sparsifier(), "sparsifier.svg")
        save(resistance(), "resistance.svg")
        save(labels(), "labels.svg")


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
        width = np.array(WIDTHS)[np.minimum(drawn.weight // 2, len(WIDTHS) - 1).astype(int)]
        for value in WIDTHS:
            chosen = ~connects & (width == value)
            draw_edges(
                ax, positions, drawn.tail[chosen], drawn.head[chosen], color=BLUE, width=value
            )
        draw_edges(ax, positions, drawn.tail[connects], drawn.head[connects], color=RED, width=1.6)
        draw_nodes(ax, positions, color=GRAY, size=8)
        ax.set_title(title)
    sides = rng.uniform(size=(graph.n_nodes, 400)) < rng.uniform(0.02, 0.5, 400)
    # Every fourth cut is near the one between the communities.
    sides = sides ^ (is_right[:, None] & (np.arange(400) % 4 == 0))
    exact = cut_weights(graph, sides)
    approximate = cut_weights(H, sides)
    axes[2].plot([0, exact.max()], [0, exact.max()], color=GRAY, linewidth=1)
    axes[2].scatter(exact, approximate, s=6, alpha=0.5, color=BLUE, linewidth=0)
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
    figure, ax = plt.subplots(figsize=(5, 2), layout="constrained")
    for u, v, value in zip(graph.tail, graph.head, values, strict=True):
        color = RED if value > 0.99 else BLUE
        draw_edges(ax, positions, [u], [v], color=color, width=2.5)
        x, y = positions[[u, v]].mean(axis=0)
        ax.annotate(f"{value:.2f}", (x + 0.05, y + 0.06), color=color)
    draw_nodes(ax, positions, color=GRAY, size=50)
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
    draw_edges(axes[0], points, graph.tail, graph.head, color=GRAY, width=0.3)
    panels = ((axes[0], y, 60, "4 labels"), (axes[1], predicted, 16, "400 predictions"))
    for ax, classes, label_size, title in panels:
        for value, color, size in ((-1, GRAY, 5), (0, BLUE, label_size), (1, RED, label_size)):
            draw_nodes(ax, points[classes == value], color=color, size=size)
        ax.set_title(title)
    return figure


def cut_weights(graph, sides):
    """Return the weight of the cut that each column of `sides` defines."""
    return graph.weight @ (sides[graph.tail] != sides[graph.head])


if __name__ == "__main__":
    main()
