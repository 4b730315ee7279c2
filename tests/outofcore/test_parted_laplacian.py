"""The product as a sum over parts: the same numbers, the same bits whoever computes it."""

import numpy as np
import pytest

from graphsqueak import InputError, StreamedSolver, read_edges, sources, write_edges
from graphsqueak.outofcore.parted_laplacian import PartedLaplacian
from graphsqueak.sources import StreamedLaplacian
from tests import reference
from tests.outofcore.graphs import examples, right_hand_sides

SEED = 99_000


@pytest.mark.parametrize("name", ["heavy", "pieces"])
def test_parts_add_up_to_the_whole(tmp_path, name):
    graph = examples()[name]
    write_edges(graph, tmp_path / "edges.tsv")
    X = np.random.default_rng(SEED).standard_normal((graph.n_nodes, 3))
    for source in (graph, read_edges(tmp_path / "edges.tsv", ids="text")):
        held = source if source is graph else source.to_edge_list()
        whole = StreamedLaplacian(source, held)
        for n_parts in (1, 2, 5):
            parts = PartedLaplacian(source, held, n_parts)
            rows = X[: held.n_nodes]
            product = parts.multiply(rows)
            assert np.allclose(product, whole.multiply(rows), atol=1e-10)
            assert np.array_equal(parts.component, whole.component)
            assert parts.n_edges == graph.n_edges
            assert parts.multiply(rows).tobytes() == product.tobytes()
            if source is not graph:
                assert parts.fingerprint == whole.fingerprint


def test_parts_that_change_are_noticed(tmp_path):
    graph = examples()["dense"]
    write_edges(graph, tmp_path / "edges.tsv")
    source = read_edges(tmp_path / "edges.tsv")
    parts = PartedLaplacian(source, source.to_edge_list(), 3)
    parts.multiply(np.ones((150, 1)))
    parts.fingerprint = (parts.fingerprint[0], parts.fingerprint[1] ^ 1)
    with pytest.raises(InputError, match="the input had other edges in an earlier pass"):
        parts.multiply(np.ones((150, 1)))
    with pytest.raises(InputError, match="only files and graphs in memory can be cut into parts"):
        StreamedSolver(sources.complete(50), keep=0.5, n_parts=2)


def test_a_solve_in_parts():
    graph = examples()["heavy"]
    b = right_hand_sides(graph, 2, SEED)
    solver = StreamedSolver(graph, keep=0.4, tol=1e-10, n_parts=3, random_state=SEED)
    truth = reference.pseudo_solve(graph, b)
    assert np.abs(solver.solve(b) - truth).max() <= 1e-8 * np.abs(truth).max()
