"""Layouts of known shapes, with components that do not overlap."""

import networkx as nx
import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, sources
from graphsqueak.analysis import layout
from tests.analysis.graphs import SEED, as_file


@pytest.mark.parametrize("method", ["stress", "spectral"])
def test_neighbors_are_closer_than_other_nodes(method):
    graph = sources.grid(15, 12).to_edge_list()
    positions = layout(graph, method, random_state=SEED)
    apart = np.linalg.norm(positions[:, None] - positions, axis=2)
    near = apart[graph.tail, graph.head].mean()
    assert near < apart.mean() / 4
    steps = np.abs(np.subtract.outer(np.arange(180) // 12, np.arange(180) // 12))
    steps += np.abs(np.subtract.outer(np.arange(180) % 12, np.arange(180) % 12))
    wanted = 0.97 if method == "stress" else 0.9
    assert np.corrcoef(apart.ravel(), steps.ravel())[0, 1] > wanted


@pytest.mark.parametrize("method", ["stress", "spectral"])
def test_components_do_not_overlap_and_every_node_has_a_position(method):
    graph = EdgeList.from_networkx(
        nx.disjoint_union_all(
            [nx.cycle_graph(12), nx.complete_graph(6), nx.path_graph(2), nx.empty_graph(3)]
        )
    )
    positions = layout(graph, method, random_state=SEED)
    assert np.isfinite(positions).all()
    assert np.abs(positions).max() <= 1.0
    component = graph.components()
    for label in range(component.max() + 1):
        own = positions[component == label]
        radius = np.linalg.norm(own - own.mean(axis=0), axis=1).max()
        others = np.linalg.norm(positions[component != label] - own.mean(axis=0), axis=1)
        assert others.min() > radius


def test_a_file_has_a_spectral_layout(tmp_path):
    graph = sources.block_model(
        300, 9_000, n_blocks=3, within=0.9, random_state=SEED
    ).to_edge_list()
    source = as_file(graph, tmp_path)
    positions = layout(source, n_edges=4_000, random_state=SEED)
    block = np.arange(300) % 3
    middle = np.array([positions[block == b].mean(axis=0) for b in range(3)])
    spread = np.linalg.norm(positions - middle[block], axis=1).mean()
    assert np.linalg.norm(middle[0] - middle[1]) > 5 * spread


def test_distances_of_a_tree_are_those_of_its_paths():
    """Stress, relative: 0.1 by the landmarks, 0.2 where only edges have their length."""
    tree = nx.balanced_tree(2, 6)
    positions = layout(EdgeList.from_networkx(tree), "stress", random_state=SEED)
    steps = np.asarray(nx.floyd_warshall_numpy(tree))
    one, two = np.triu_indices(len(tree), 1)
    apart = np.linalg.norm(positions[one] - positions[two], axis=1) / steps[one, two]
    scale = apart.sum() / (apart @ apart)
    assert ((scale * apart - 1) ** 2).mean() < 0.15


def test_the_area_of_a_component_is_proportional_to_its_nodes():
    rings = nx.disjoint_union(nx.cycle_graph(48), nx.cycle_graph(12))
    positions = layout(EdgeList.from_networkx(rings), "stress", random_state=SEED)
    radius = [np.linalg.norm(own - own.mean(axis=0), axis=1) for own in np.split(positions, [48])]
    assert radius[0].mean() == pytest.approx(2 * radius[1].mean(), rel=0.1)
    for own in radius:
        assert own.min() > 0.8 * own.max()  # a ring is drawn round


def test_a_component_of_two_nodes_has_two_positions():
    pairs = EdgeList(tail=[0, 2], head=[1, 3])
    for method in ("stress", "spectral"):
        positions = layout(pairs, method, random_state=SEED)
        assert np.isfinite(positions).all()
        assert np.linalg.norm(positions[::2] - positions[1::2], axis=1).min() > 0.1


def test_an_unknown_method_is_an_error():
    with pytest.raises(InputError, match="method='force' is not one of"):
        layout(sources.path(5).to_edge_list(), "force")
