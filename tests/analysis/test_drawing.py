"""Drawings show every node and edge, in the given colors."""

import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, sources, sparsify
from graphsqueak.analysis import draw, rank, spectral_clusters
from graphsqueak.report.page import picture
from tests.analysis.graphs import SEED, examples

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_every_node_and_edge_is_drawn_in_both_panels():
    graph = examples()["blocks"]
    kept = sparsify(graph, keep=0.3, random_state=SEED)
    turned = EdgeList(
        tail=399 - kept.tail, head=399 - kept.head, weight=kept.weight, ids=399 - np.arange(400)
    )
    positions = np.random.default_rng(SEED).random((400, 2))
    clusters = spectral_clusters(graph, 4, random_state=SEED)
    figure = graph.plot(color=clusters, other=turned, positions=positions)
    left, right = figure.axes
    assert left.get_title() == "graph: 8,000 edges"
    assert right.get_title() == f"sparsifier: {kept.n_edges:,} edges"
    for ax, edges in ((left, graph), (right, kept)):
        lines, *dots = ax.collections
        assert len(lines.get_paths()) == edges.n_edges
        shown = lines.get_segments()[17]
        assert shown.tolist() == [
            positions[edges.tail[17]].tolist(),
            positions[edges.head[17]].tolist(),
        ]
        assert sum(len(one.get_offsets()) for one in dots) == 400
    assert len(figure.legends[0].get_texts()) == 4
    assert "data:image/png;base64," in picture(figure, alt="")


def test_scores_have_a_color_bar_and_categories_a_legend():
    graph = EdgeList.from_networkx(nx.karate_club_graph())
    figure = graph.plot(color=rank(graph), random_state=SEED)
    assert [ax.get_ylabel() for ax in figure.axes] == ["", "score"]
    labels = np.where(np.arange(34) < 3, -1, np.arange(34) % 2)
    figure = draw(graph, color=labels, random_state=SEED)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["none", "0", "1"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture(graph.plot(color=np.array(["a", "b"] * 17), random_state=SEED), alt="")
    assert draw(EdgeList(tail=[], head=[], n_nodes=2), random_state=SEED).axes


def test_heavy_edges_are_wide_and_colors_are_those_given():
    graph = EdgeList(tail=[0, 1, 2], head=[1, 2, 3], weight=[1.0, 4.0, 16.0])
    positions = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    scores = np.array([0.1, 0.4, 0.2, 0.9])
    lines, dots = draw(graph, color=scores, positions=positions).axes[0].collections
    widths = np.asarray(lines.get_linewidths())
    assert (np.diff(widths) > 0).all()
    assert widths[2] - widths[1] == pytest.approx(2 * (widths[1] - widths[0]))  # by the root
    assert (np.diff(lines.get_colors()[:, 3]) > 0).all()
    np.testing.assert_allclose(dots.get_array(), scores)
    np.testing.assert_allclose(dots.get_offsets(), positions)
    _, none, *kinds = draw(graph, color=[-1, 5, 7, 5], positions=positions).axes[0].collections
    np.testing.assert_allclose(none.get_offsets(), positions[:1])
    found = {one.get_label(): one.get_offsets().tolist() for one in kinds}
    assert found == {"5": positions[[1, 3]].tolist(), "7": positions[[2]].tolist()}


def test_invalid_input_is_an_error():
    graph = sources.path(5).to_edge_list()
    with pytest.raises(InputError, match="6,000 nodes are too many to draw, the limit is 5,000"):
        sources.path(6_000).to_edge_list().plot()
    with pytest.raises(InputError, match=r"color has shape \(3,\); give one value for each of 5"):
        graph.plot(color=[1, 2, 3])
    with pytest.raises(InputError, match=r"positions has shape \(5,\); give two finite numbers"):
        graph.plot(positions=np.zeros(5))
