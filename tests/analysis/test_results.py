"""Results of an analysis are data frames with the values of their arrays."""

import numpy as np
import pytest

from graphsqueak import analysis
from graphsqueak.graph import EdgeList

NAMES = ["ann", "bob", "cy", "dan", "eve", "fay"]
# Two triangles, joined by an edge.
GRAPH = EdgeList(tail=[0, 1, 2, 3, 4, 5, 0], head=[1, 2, 0, 4, 5, 3, 3], ids=NAMES)


@pytest.mark.parametrize(
    ("result", "column"),
    [
        (analysis.rank(GRAPH), "score"),
        (analysis.spectral_clusters(GRAPH, n_clusters=2, random_state=7), "cluster"),
        (analysis.spectral_embedding(GRAPH, n_components=1), "x1"),
        (analysis.communities(GRAPH, method="louvain", random_state=7), "community"),
        (analysis.cut(GRAPH, random_state=7), "side"),
    ],
)
def test_a_row_per_node(result, column):
    frame = result.to_polars()
    assert frame["node"].to_list() == NAMES
    np.testing.assert_array_equal(frame[column].to_numpy(), np.asarray(result).ravel())
    assert result.to_pandas()[column].tolist() == frame[column].to_list()


def test_ranked_edges_have_two_nodes():
    frame = analysis.rank(GRAPH, by="spanning", random_state=7).to_polars()
    assert frame.columns == ["source", "target", "score"]
    assert set(frame.row(6)[:2]) == {"ann", "dan"}


def test_a_comparison_has_a_row_per_quantity():
    comparison = analysis.compare(GRAPH, GRAPH, n_samples=5, n_eigenvalues=2, random_state=7)
    frame = comparison.to_polars()
    assert frame["quantity"].to_list() == [row[0] for row in comparison.rows()]
    assert frame["verdict"].to_list() == [row[-1] for row in comparison.rows()]
