"""Edges listed more than once: the first one is kept, or they are an error."""

import numpy as np
import pytest

from graphsqueak import InputError, read_edges
from graphsqueak.sources.distinct import DistinctEdges
from graphsqueak.sources.files.splitting import split


@pytest.mark.parametrize("batch_size", [7, 100, 10_000])
def test_first_keeps_the_first_of_each_pair(tmp_path, batch_size):
    rng = np.random.default_rng(8_080)
    rows = [(u, v, k + 1) for k, (u, v) in enumerate(rng.integers(12, size=(400, 2)).tolist())]
    first = {}
    for u, v, weight in rows:
        if u != v:
            first.setdefault(frozenset((u, v)), weight)
    path = tmp_path / "edges.tsv"
    path.write_text("".join(f"{u}\t{v}\t{w}.5\n" for u, v, w in rows))
    source = read_edges(path, duplicates="first", batch_size=batch_size)
    for _ in range(2):  # the second pass reads the temporary file
        graph = source.to_edge_list()
        ends = zip(graph.ids[graph.tail], graph.ids[graph.head], graph.weight, strict=True)
        assert {frozenset((int(u), int(v))): w - 0.5 for u, v, w in ends} == first
        assert graph.n_edges == source.n_edges_read == len(first)
        assert source.n_self_loops == sum(u == v for u, v, _ in rows)
    assert source.inferred_schema["duplicates"] == "first"
    assert source.inferred_schema["repeated"] == 1 - len(first) / sum(u != v for u, v, _ in rows)


def test_duplicates_are_not_found_in_parts_of_a_file(tmp_path):
    (tmp_path / "edges.tsv").write_text("1 2\n2 3\n" * 50)
    with pytest.raises(InputError, match=r"duplicates='first'.*in one piece"):
        split(read_edges(tmp_path / "edges.tsv", duplicates="first"), 4)


def test_equal_edges_are_in_one_partition(tmp_path):
    edges = DistinctEdges(n_partitions=5)
    graph = read_edges(write(tmp_path, "1 2\n2 3\n3 1\n" * 5)).to_edge_list()
    edges.write(graph)
    edges.write(graph)
    assert sum(batch.n_edges for batch in edges.batches(2, 3, None)) == 3


@pytest.mark.parametrize("batch_size", [2, 100])
@pytest.mark.parametrize("repeat", ["ann bob 7", "bob ann 7"])
def test_error_names_the_edge_before_the_first_batch(tmp_path, batch_size, repeat):
    path = write(tmp_path, f"ann bob 1\nbob cy 2\ncy dan 3\ndan eve 4\n{repeat}\n")
    batches = iter(read_edges(path, duplicates="error", batch_size=batch_size))
    names = repeat.rsplit(maxsplit=1)[0].replace(" ", " to ")
    with pytest.raises(InputError, match=rf"edges.txt: the edge from {names} is listed .*'first'"):
        next(batches)


@pytest.mark.parametrize("batch_size", [2, 100])
def test_error_reads_edges_that_are_listed_once(tmp_path, batch_size):
    # Repeated self-loops are dropped, not refused.
    path = write(tmp_path, "1 2 5\n2 3 6\n3 3 1\n3 3 1\n3 1 7\n4 1 8\n")
    source = read_edges(path, duplicates="error", batch_size=batch_size)
    for _ in range(2):
        graph = source.to_edge_list()
        assert graph.n_edges == 4
        assert graph.weight.sum() == 26
    assert source.inferred_schema["repeated"] == 0
    assert source.inferred_schema["is_exact"]


def test_error_compares_two_kinds_of_nodes_by_kind(tmp_path):
    path = write(tmp_path, "user item\n1 2\n2 1\n")
    read_edges(path, duplicates="error", bipartite=True).to_edge_list()
    with pytest.raises(InputError, match="from 2 to 1"):
        read_edges(path, duplicates="error", bipartite=False).to_edge_list()


def test_times_are_read_with_all_duplicates(tmp_path):
    with pytest.raises(InputError, match="all duplicates summed"):
        read_edges(write(tmp_path, "1 2 3\n"), time=2, duplicates="error")


def write(tmp_path, text):
    path = tmp_path / "edges.txt"
    path.write_text(text)
    return path
