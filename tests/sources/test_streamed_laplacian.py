"""The Laplacian of a stream as an operator on the nodes of a sparsifier."""

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, sources
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian, check_same_edges

SEED = 77_310_482


def sparsifier_of(graph):
    """The same nodes, in another order."""
    order = np.random.default_rng(SEED).permutation(graph.n_nodes)
    return EdgeList(tail=[], head=[], n_nodes=graph.n_nodes, ids=order)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_columns", [1, 5])
def test_products_are_those_of_the_matrix(dtype, n_columns):
    # More than 64 edges per node, so that float32 sums are moved to the total.
    source = sources.erdos_renyi(40, 6000, random_state=SEED, batch_size=700)
    sparsifier = sparsifier_of(source)
    laplacian = StreamedLaplacian(source, sparsifier)
    matrix = source.to_edge_list().laplacian().toarray()[np.ix_(sparsifier.ids, sparsifier.ids)]
    X = np.random.default_rng(SEED).standard_normal((40, n_columns)).astype(dtype)
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(laplacian.multiply(X), matrix @ X, atol=tolerance)
    np.testing.assert_allclose(laplacian.degrees(), np.diag(matrix))
    np.testing.assert_allclose(laplacian.to_dense(), matrix, atol=1e-9)
    np.testing.assert_allclose(laplacian.to_edge_list().laplacian().toarray(), matrix, atol=1e-9)
    assert laplacian.n_passes == 4
    assert laplacian.n_edges == 6000


def test_the_first_pass_finds_the_components():
    graph = EdgeList(tail=[0, 3], head=[2, 4], n_nodes=6)
    laplacian = StreamedLaplacian(graph, graph)
    assert laplacian.component is None
    laplacian.degrees()
    assert laplacian.component.tolist() == [0, 1, 0, 3, 3, 5]


def test_a_source_that_changes_between_passes_is_refused():
    class Changing(sources.SyntheticSource):
        weight = 1.0

        def _batches(self):
            yield EdgeList(tail=[0, 1], head=[1, 2], weight=[1.0, self.weight])

    source = Changing(3, 2, None)
    laplacian = StreamedLaplacian(source, EdgeList(tail=[], head=[], n_nodes=3))
    laplacian.degrees()
    laplacian.degrees()
    source.weight = 2.0
    with pytest.raises(InputError, match="other edges in an earlier pass, as many as now, 2"):
        laplacian.degrees()


def test_passes_are_compared_by_number_and_checksum():
    assert check_same_edges(None, (3, 9)) == (3, 9)
    assert check_same_edges((3, 9), (3, 9)) == (3, 9)
    with pytest.raises(InputError, match="had 3 edges in an earlier pass and has 4 now"):
        check_same_edges((3, 9), (4, 9))
