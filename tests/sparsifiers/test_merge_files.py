"""Merging files of edge-disjoint parts of one graph."""

import numpy as np
import pytest

from graphsqueak import InputError, StreamSparsifier, sources, write_edges
from graphsqueak.sparsifiers import merge_edge_files

GRAPH = sources.erdos_renyi(80, 2_000, random_state=17).to_edge_list().simplified()
PARTS = [GRAPH.part(0, 900), GRAPH.part(900, GRAPH.n_edges)]


@pytest.fixture
def edge_files(tmp_path):
    paths = [tmp_path / f"{number}.tsv" for number in range(2)]
    for part, path in zip(PARTS, paths, strict=True):
        write_edges(part, path)
    return paths


@pytest.fixture
def checkpoints(tmp_path):
    paths = [tmp_path / f"{number}.ckpt" for number in range(2)]
    for number, path in enumerate(paths):
        stream = StreamSparsifier(n_edges=600, ridge=0.5, random_state=number)
        stream.partial_fit(PARTS[number]).save(path)
    return paths


def test_edge_files_without_a_budget_are_added_up(edge_files):
    merged = merge_edge_files(edge_files)
    assert merged.n_edges_read == GRAPH.n_edges
    assert merged.sparsifier.n_edges == GRAPH.n_edges
    assert merged.sparsifier.weight.sum() == pytest.approx(GRAPH.weight.sum())
    assert merged.source is not None


def test_edge_files_with_a_budget_are_sparsified(edge_files):
    merged = merge_edge_files(edge_files, keep=0.4, random_state=3)
    assert merged.sparsifier.n_edges <= 0.4 * GRAPH.n_edges
    assert merged.sparsifier.weight.sum() == pytest.approx(GRAPH.weight.sum(), rel=0.01)


def test_checkpoints_keep_their_budget_and_add_their_ridges(checkpoints):
    merged = merge_edge_files(checkpoints, random_state=3)
    assert merged.n_edges_read == GRAPH.n_edges
    assert merged.sparsifier.n_edges <= 600
    assert merged.ridge == 1.0
    np.testing.assert_allclose(merged.sparsifier.degrees(), GRAPH.degrees(), rtol=0.05)


def test_mixed_files_and_second_budgets_raise(edge_files, checkpoints):
    with pytest.raises(InputError, match=r"1\.tsv is not a checkpoint"):
        merge_edge_files([checkpoints[0], edge_files[1]])
    with pytest.raises(InputError, match="have a budget already; remove n_edges"):
        merge_edge_files(checkpoints, n_edges=50)
