"""Edges listed more than once: counted in fixed memory, and kept once."""

import numpy as np
import pytest

from graphsqueak import InputError, read_edges
from graphsqueak.graph.duplicate_edges import DuplicateCounter
from graphsqueak.sources.distinct import DistinctEdges
from graphsqueak.sources.files.splitting import split


def listed(rng, n_pairs, n_lines):
    """Lines of `n_pairs` different pairs, some of them far more often than others."""
    nodes = int(4 * n_pairs**0.5)
    codes = rng.choice(nodes * nodes, size=2 * n_pairs, replace=False)
    tail, head = codes // nodes, codes % nodes
    tail, head = tail[tail < head][:n_pairs], head[tail < head][:n_pairs]
    more = (tail.size * rng.random(n_lines - tail.size) ** 4).astype(np.int64)
    which = rng.permutation(np.concatenate([np.arange(tail.size), more]))
    turned = rng.random(which.size) < 0.5
    tail, head = tail[which], head[which]
    return np.where(turned, head, tail), np.where(turned, tail, head), np.unique(which).size


@pytest.mark.parametrize(("n_pairs", "n_lines"), [(3000, 3000), (40_000, 90_000), (9000, 400_000)])
def test_the_share_is_as_near_as_its_standard_deviation_says(n_pairs, n_lines):
    tail, head, n_different = listed(np.random.default_rng(90_210), n_pairs, n_lines)
    sample = DuplicateCounter(capacity=1 << 10)
    for start in range(0, len(tail), 1777):
        sample.add(tail[start : start + 1777], head[start : start + 1777])
    true = 1 - n_different / n_lines
    assert not sample.is_exact
    assert abs(sample.fraction - true) < 6 * sample.standard_deviation
    roomy = DuplicateCounter()
    roomy.add(tail, head)
    assert roomy.is_exact
    assert roomy.fraction == pytest.approx(true, abs=1e-12)


def test_no_repeat_is_claimed_where_none_can_be_told():
    rng = np.random.default_rng(31_415)
    told = []
    for _ in range(20):
        tail, head, _ = listed(rng, 20_000, 20_000)
        sample = DuplicateCounter(capacity=1 << 10)
        sample.add(tail, head)
        told.append(sample.fraction)
    assert told == [0.0] * 20


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
    assert source.understood["duplicates"] == "once"
    assert source.understood["repeated"] == 1 - len(first) / sum(u != v for u, v, _ in rows)


def test_parts_of_a_file_cannot_know_of_each_other(tmp_path):
    (tmp_path / "edges.tsv").write_text("1 2\n2 3\n" * 50)
    with pytest.raises(InputError, match=r"duplicates='once'.*in one piece"):
        split(read_edges(tmp_path / "edges.tsv", duplicates="once"), 4)


def test_edges_are_parted_by_pairs(tmp_path):
    edges = DistinctEdges(n_parts=5)
    graph = read_edges(write(tmp_path, "1 2\n2 3\n3 1\n" * 5)).to_edge_list()
    edges.write(graph)
    edges.write(graph)
    assert sum(batch.n_edges for batch in edges.batches(2, 3, None)) == 3


def write(tmp_path, text):
    path = tmp_path / "edges.txt"
    path.write_text(text)
    return path
