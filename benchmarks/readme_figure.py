"""Draw the figure of README.md: a graph, its sparsifier, and as many random edges.

python benchmarks/readme_figure.py        # writes docs/hero.svg
"""

import numpy as np
from figure_style import GRAY, RED, draw_edges, draw_nodes, save, style
from matplotlib import pyplot as plt

import graphsqueak as gs

SEED = 7
KEEP = 0.2
# People per group. Pairs of people of the same group are friends with the probability below. These
# give 12 edges per node.
GROUP_SIZES = (46, 36, 40, 28, 32, 22)
FRIENDS = 0.65
# Groups that one friendship connects. Each is a bridge: without it, the graph falls apart.
BRIDGES = ((0, 1), (0, 2), (2, 3), (0, 4), (4, 5))
# Centers of the groups. A group of 40 people has radius 1.
CENTERS = np.array([(0.0, 0.3), (-2.5, 1.1), (2.4, 0.9), (3.7, -1.2), (-1.7, -1.6), (1.1, -1.9)])


def main():
    """Write the figure."""
    rng = np.random.default_rng(SEED)
    graph, group, positions = groups_and_bridges(rng)
    sparsifier = gs.sparsify(graph, keep=KEEP, random_state=SEED)
    random_edges = gs.sparsify(
        graph, n_edges=sparsifier.n_edges, method="uniform", random_state=SEED
    )
    panels = (
        ("Graph", graph),
        ("graphsqueak, 20 %", sparsifier),
        ("Random edges, 20 %", random_edges),
    )
    with style():
        figure, axes = plt.subplots(1, 3, figsize=(10, 2.4), layout="constrained")
        for ax, (title, drawn) in zip(axes, panels, strict=True):
            draw_panel(ax, drawn, group, positions)
            n_parts = int(drawn.components().max()) + 1
            parts = "1 component" if n_parts == 1 else f"{n_parts} components"
            ax.set_title(f"{title}\n{drawn.n_edges:,} edges, {parts}", fontsize=14)
        save(figure, "hero.svg")


def groups_and_bridges(rng):
    """Return a graph, the group of each node and the position of each node."""
    group = np.repeat(np.arange(len(GROUP_SIZES)), GROUP_SIZES)
    first, second = np.triu_indices(group.size, k=1)
    is_edge = (group[first] == group[second]) & (rng.random(first.size) < FRIENDS)
    tail = first[is_edge]
    head = second[is_edge]

    # Uniform on a disc whose area is proportional to the number of people.
    angle = rng.uniform(0, 2 * np.pi, group.size)
    radius = np.sqrt(rng.random(group.size) * np.array(GROUP_SIZES)[group] / 40)
    offset = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    positions = CENTERS[group] + offset

    # A bridge connects the members that are closest to the other group.
    ends = [
        [closest_member(positions, group, one, other), closest_member(positions, group, other, one)]
        for one, other in BRIDGES
    ]
    bridges = np.array(ends)
    graph = gs.EdgeList(
        tail=np.append(tail, bridges[:, 0]),
        head=np.append(head, bridges[:, 1]),
        n_nodes=group.size,
    )
    return graph, group, positions


def closest_member(positions, group, one, other):
    """Return the member of group `one` that is closest to the center of group `other`."""
    members = np.flatnonzero(group == one)
    distance = np.linalg.norm(positions[members] - CENTERS[other], axis=1)
    return members[distance.argmin()]


def draw_panel(ax, graph, group, positions):
    """Draw a graph with its bridges highlighted. Heavier edges are wider."""
    is_bridge = group[graph.tail] != group[graph.head]
    # Four widths, so that each is one path.
    level = np.digitize(graph.weight, [1.5, 4.5, 9.0])
    for number, width in enumerate((0.3, 0.6, 1.0, 1.5)):
        drawn = ~is_bridge & (level == number)
        draw_edges(ax, positions, graph.tail[drawn], graph.head[drawn], color=GRAY, width=width)
    draw_edges(ax, positions, graph.tail[is_bridge], graph.head[is_bridge], color=RED, width=3.0)
    draw_nodes(ax, positions, size=14)


if __name__ == "__main__":
    main()
