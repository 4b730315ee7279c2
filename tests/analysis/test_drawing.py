"""Communities, layouts and pictures: known partitions, known shapes, every node and edge drawn."""

import importlib.util
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, sources, sparsify
from graphsqueak.analysis import communities, draw, layout, rank, spectral_clusters
from graphsqueak.report.page import picture
from tests.analysis.graphs import SEED, as_file, examples

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_communities_are_the_blocks_and_their_modularity_is_networkxs(tmp_path):
    graph = examples()["blocks"]
    kept = sparsify(graph, keep=0.6, random_state=SEED)
    found = communities(kept, method="louvain", against=graph, random_state=SEED)
    assert found.n_communities == 4
    assert len(set(zip((np.arange(400) % 4).tolist(), found.labels.tolist(), strict=True))) == 4
    assert found.ami == pytest.approx(1.0)
    assert "AMI 1.000" in str(found)
    groups = [set(np.flatnonzero(found.labels == label).tolist()) for label in range(4)]
    known = nx.community.modularity(kept.to_networkx(), groups)
    assert found.modularity == pytest.approx(known)
    read = communities(as_file(graph, tmp_path), method="louvain", n_edges=4_000, random_state=SEED)
    groups = [set(read.ids[read.labels == label].tolist()) for label in range(4)]
    known = nx.community.modularity(graph.to_networkx(), groups)
    assert read.modularity == pytest.approx(known)  # the graph's, not the sparsifier's


def test_leiden_is_used_where_igraph_is_there():
    graph = sources.barbell(8).to_edge_list()
    if importlib.util.find_spec("igraph") is None:
        assert communities(graph, random_state=SEED).method == "louvain"
        with pytest.raises(InputError, match="method='leiden' needs igraph"):
            communities(graph, method="leiden")
    else:
        assert communities(graph, random_state=SEED).method == "leiden"


def test_a_second_graph_must_share_nodes():
    other = EdgeList.from_pairs([("a", "b"), ("b", "c")])
    with pytest.raises(InputError, match="no node in common"):
        communities(sources.barbell(4).to_edge_list(), method="louvain", against=other)


@pytest.mark.parametrize("method", ["stress", "spectral"])
def test_neighbors_lie_nearer_than_others(method):
    graph = sources.grid(15, 12).to_edge_list()
    places = layout(graph, method, random_state=SEED)
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    near = apart[graph.tail, graph.head].mean()
    assert near < apart.mean() / 4
    steps = np.abs(np.subtract.outer(np.arange(180) // 12, np.arange(180) // 12))
    steps += np.abs(np.subtract.outer(np.arange(180) % 12, np.arange(180) % 12))
    wanted = 0.97 if method == "stress" else 0.9
    assert np.corrcoef(apart.ravel(), steps.ravel())[0, 1] > wanted


@pytest.mark.parametrize("method", ["stress", "spectral"])
def test_components_do_not_overlap_and_every_node_has_a_place(method):
    graph = EdgeList.from_networkx(
        nx.disjoint_union_all(
            [nx.cycle_graph(12), nx.complete_graph(6), nx.path_graph(2), nx.empty_graph(3)]
        )
    )
    places = layout(graph, method, random_state=SEED)
    assert np.isfinite(places).all()
    assert np.abs(places).max() <= 1.0
    component = graph.components()
    for label in range(component.max() + 1):
        own = places[component == label]
        radius = np.linalg.norm(own - own.mean(axis=0), axis=1).max()
        others = np.linalg.norm(places[component != label] - own.mean(axis=0), axis=1)
        assert others.min() > radius


def test_a_file_has_a_spectral_layout(tmp_path):
    graph = sources.block_model(
        300, 9_000, n_blocks=3, within=0.9, random_state=SEED
    ).to_edge_list()
    source = as_file(graph, tmp_path)
    places = layout(source, n_edges=4_000, random_state=SEED)
    block = np.arange(300) % 3
    middle = np.array([places[block == b].mean(axis=0) for b in range(3)])
    spread = np.linalg.norm(places - middle[block], axis=1).mean()
    assert np.linalg.norm(middle[0] - middle[1]) > 5 * spread


def test_every_node_and_edge_is_drawn_on_both_sides():
    graph = examples()["blocks"]
    kept = sparsify(graph, keep=0.3, random_state=SEED)
    turned = EdgeList(
        tail=399 - kept.tail, head=399 - kept.head, weight=kept.weight, ids=399 - np.arange(400)
    )
    places = np.random.default_rng(SEED).random((400, 2))
    clusters = spectral_clusters(graph, 4, random_state=SEED)
    figure = graph.plot(color=clusters, beside=turned, places=places)
    left, right = figure.axes
    assert left.get_title() == "graph: 8,000 edges"
    assert right.get_title() == f"sparsifier: {kept.n_edges:,} edges"
    for ax, edges in ((left, graph), (right, kept)):
        lines, *dots = ax.collections
        assert len(lines.get_paths()) == edges.n_edges
        shown = lines.get_segments()[17]
        assert shown.tolist() == [places[edges.tail[17]].tolist(), places[edges.head[17]].tolist()]
        assert sum(len(one.get_offsets()) for one in dots) == 400
    assert len(figure.legends[0].get_texts()) == 4
    assert picture(figure, alt="")[0].startswith(b"\x89PNG")


def test_scores_have_a_bar_and_categories_are_told_apart():
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
    places = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    scores = np.array([0.1, 0.4, 0.2, 0.9])
    lines, dots = draw(graph, color=scores, places=places).axes[0].collections
    widths = np.asarray(lines.get_linewidths())
    assert (np.diff(widths) > 0).all()
    assert widths[2] - widths[1] == pytest.approx(2 * (widths[1] - widths[0]))  # by the root
    assert (np.diff(lines.get_colors()[:, 3]) > 0).all()
    np.testing.assert_allclose(dots.get_array(), scores)
    np.testing.assert_allclose(dots.get_offsets(), places)
    _, none, *kinds = draw(graph, color=[-1, 5, 7, 5], places=places).axes[0].collections
    np.testing.assert_allclose(none.get_offsets(), places[:1])
    found = {one.get_label(): one.get_offsets().tolist() for one in kinds}
    assert found == {"5": places[[1, 3]].tolist(), "7": places[[2]].tolist()}


def test_distances_of_a_tree_are_those_of_its_paths():
    """Stress, relative: 0.1 by the landmarks, 0.2 where only edges have their length."""
    tree = nx.balanced_tree(2, 6)
    places = layout(EdgeList.from_networkx(tree), "stress", random_state=SEED)
    steps = np.asarray(nx.floyd_warshall_numpy(tree))
    one, two = np.triu_indices(len(tree), 1)
    apart = np.linalg.norm(places[one] - places[two], axis=1) / steps[one, two]
    scale = apart.sum() / (apart @ apart)
    assert ((scale * apart - 1) ** 2).mean() < 0.15


def test_the_area_of_a_component_is_its_share_of_the_nodes():
    rings = nx.disjoint_union(nx.cycle_graph(48), nx.cycle_graph(12))
    places = layout(EdgeList.from_networkx(rings), "stress", random_state=SEED)
    radius = [np.linalg.norm(own - own.mean(axis=0), axis=1) for own in np.split(places, [48])]
    assert radius[0].mean() == pytest.approx(2 * radius[1].mean(), rel=0.1)
    for own in radius:
        assert own.min() > 0.8 * own.max()  # a ring is drawn round


def test_what_is_wrong_is_said():
    graph = sources.path(5).to_edge_list()
    with pytest.raises(InputError, match="6,000 nodes are too many to draw, 5,000 the most"):
        sources.path(6_000).to_edge_list().plot()
    with pytest.raises(InputError, match=r"color has shape \(3,\); give one value for each of 5"):
        graph.plot(color=[1, 2, 3])
    with pytest.raises(InputError, match=r"places has shape \(5,\); give two finite numbers"):
        graph.plot(places=np.zeros(5))
    with pytest.raises(InputError, match="method='force' is not one of"):
        layout(graph, "force")
