"""Connected components, consistency of right-hand sides, and breadth-first levels."""

import numpy as np
import pytest

from graphsqueak.errors import InputError
from graphsqueak.graph import EdgeList
from graphsqueak.solvers.components import Components, component_sums
from graphsqueak.solvers.matrix import build_laplacian
from graphsqueak.sources.synthetic import closed_forms, random_graphs


def components_of(graph, ridge=0.0):
    return Components(build_laplacian(graph, np.broadcast_to(ridge, graph.n_nodes).copy()))


def test_labels_are_those_of_the_graph():
    graph = random_graphs.erdos_renyi(300, 250, random_state=5).to_edge_list()
    found = components_of(graph)
    label = graph.components()
    assert found.size.size == label.max() + 1
    pairs = np.unique(np.column_stack([found.label, label]), axis=0)
    assert len(pairs) == found.size.size
    np.testing.assert_array_equal(found.size, np.bincount(found.label))


@pytest.mark.parametrize(
    ("source", "depth", "level_cubes"),
    [
        (closed_forms.path(50), 50, 50.0),
        (closed_forms.star(50), 2, 1 + 49.0**3),
        (closed_forms.cycle(7), 4, 1 + 3 * 8.0),
        (closed_forms.grid(3, 3), 5, 1 + 8 + 27 + 8 + 1.0),
    ],
)
def test_levels_of_known_graphs(source, depth, level_cubes):
    found = components_of(source.to_edge_list())
    assert (found.depth, found.level_cubes) == (depth, level_cubes)


def test_blocks_are_centered_over_singular_components_only():
    graph = EdgeList(tail=[0, 2], head=[1, 3], n_nodes=5)
    found = components_of(graph, np.array([0.0, 0.0, 1.0, 0.0, 0.0]))
    block = np.arange(10.0).reshape(5, 2)
    expected = block.copy()
    expected[:2] -= block[:2].mean(axis=0)
    expected[4] = 0.0
    np.testing.assert_allclose(found.centered(block), expected)
    np.testing.assert_array_equal(found.with_ridge(np.ones(5)).centered(block), block)


def test_sums_over_components():
    label = np.array([0, 1, 0, 1])
    block = np.arange(8.0, dtype=np.float32).reshape(4, 2)
    np.testing.assert_array_equal(component_sums(label, 2, block), [[4, 6], [8, 10]])


def test_an_inconsistent_column_names_component_and_sum():
    graph = EdgeList(tail=[0, 2], head=[1, 3])
    block = np.zeros((4, 2))
    block[3, 1] = 2.5
    with pytest.raises(InputError, match=r"column 1 .* sums to 2\.5 .* node 2 \(2 nodes\)"):
        components_of(graph).check_consistent(block)
