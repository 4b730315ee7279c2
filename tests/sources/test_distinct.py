"""Edges listed more than once are kept once."""

import numpy as np
import pytest

from graphsqueak import InputError, read_edges
from graphsqueak.sources.distinct import DistinctEdges
from graphsqueak.sources.files.splitting import split


@pytest.mark.parametrize("batch_size", [7, 100, 10_000])
def test_once_keeps_the_first_of_each_pair(tmp_path, batch_size):
    rng = np.random.default_rng(8_080)
    rows = [(u, v, k + 1) for k, (u, v) in enumerate(rng.integers(12, size=(400, 2)).tolist())]
    first = {}
    for u, v, weight in rows:
        if u != v:
            first.setdefault(frozenset((u, v)), weight)
    path = tmp_path / "edges.tsv"
    path.write_text("".join(f"{u}\t{v}\t{w}.5\n" for u, v, w in rows))
    source = read_edges(path, duplicates="once", batch_size=batch_size)
    for _ in range(2):  # read again from what was put aside
        graph = source.to_edge_list()
        ends = zip(graph.ids[graph.tail], graph.ids[graph.head], graph.weight, strict=True)
        assert {frozenset((int(u), int(v))): w - 0.5 for u, v, w in ends} == first
        assert graph.n_edges == source.n_edges_read == len(first)
        assert source.n_self_loops == sum(u == v for u, v, _ in rows)
    assert source.inferred_schema["duplicates"] == "once"
    assert source.inferred_schema["repeated"] == 1 - len(first) / sum(u != v for u, v, _ in rows)


def test_parts_of_a_file_cannot_know_of_each_other(tmp_path):
    (tmp_path / "edges.tsv").write_text("1 2\n2 3\n" * 50)
    with pytest.raises(InputError, match=r"duplicates='once'.*in one piece"):
        split(read_edges(tmp_path / "edges.tsv", duplicates="once"), 4)


def test_edges_are_parted_by_pairs(tmp_path):
    edges = DistinctEdges(n_partitions=5)
    graph = read_edges(write(tmp_path, "1 2\n2 3\n3 1\n" * 5)).to_edge_list()
    edges.write(graph)
    edges.write(graph)
    assert sum(batch.n_edges for batch in edges.batches(2, 3, None)) == 3


def write(tmp_path, text):
    path = tmp_path / "edges.txt"
    path.write_text(text)
    return path
