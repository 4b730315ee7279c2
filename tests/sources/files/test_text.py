"""Text files of every shape are read as the graph they mean."""

import bz2
import gzip
import io
import time
from dataclasses import replace

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources import read_edges, write_edges

COMPRESS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def read(text, **options):
    text = text.encode() if isinstance(text, str) else text
    return read_edges(io.BytesIO(text), **options)


def triples(source):
    """Every edge as (source id, target id, weight)."""
    edges = source.to_edge_list()
    ids = edges.ids.tolist()
    return [
        (ids[u], ids[v], w)
        for u, v, w in zip(
            edges.tail.tolist(), edges.head.tolist(), edges.weight.tolist(), strict=True
        )
    ]


PATH = [(5, 7, 1.0), (7, 9, 1.0)]
WEIGHTED = [(5, 7, 0.5), (7, 9, 2000.0)]


@pytest.mark.parametrize(
    "text",
    [
        "5\t7\n7\t9\n",
        "5,7\n7,9\n",
        "5;7\n7;9\n",
        "5 7\n7 9\n",
        "5   7\n 7\t 9  \n",
        "  5 7\n  7 9",
        "5\t\t7\n7\t\t9\n",
        "5, 7\r\n7, 9\r\n",
        "\ufeff5 7\n7 9\n",
        "# FromNodeId\tToNodeId\n5\t7\n7\t9\n",
        "% a comment of five words\n\n5 7\n\n  # another\n7 9\n\n",
        "source,target\n5,7\n7,9\n",
        "left right\n5 7\n7 9\n",
        "target\tsource\n7\t5\n9\t7\n",
        '"5","7"\n"7","9"\n',
        "src,dst,w\n5,7,1\n7,9,1\n",
        "id,from,to,weight,day\nx,5,7,1,mon\ny,7,9,1,tue\n",
    ],
)
def test_shapes_of_the_same_path(text):
    assert triples(read(text)) == PATH


@pytest.mark.parametrize(
    "text",
    [
        "5 7 .5\n7 9 2e3\n",
        "5\t7\t+0.5\n7\t9\t2000\n",
        "u,v,weight\n5,7,0.5\n7,9,2.0E+3\n",
        "a,b,weight\n5,7,0.5\n7,9,2000.\n",
        "# source target weight\n5 7 5e-1\n7 9 2000\n",
        "5;7;0.5\n7;9;2000\n",
    ],
)
def test_shapes_of_the_same_weighted_path(text):
    assert triples(read(text)) == WEIGHTED


@pytest.mark.parametrize("compression", COMPRESS)
def test_compression_is_told_by_the_bytes(compression, tmp_path):
    path = tmp_path / "edges.txt"
    path.write_bytes(COMPRESS[compression](b"5 7\n7 9\n"))
    assert triples(read_edges(path)) == PATH


@pytest.mark.parametrize("compression", ["gzip", "bzip2", "zstd"])
def test_several_compressed_members_are_one_file(compression):
    compress = COMPRESS[compression]
    assert triples(read(compress(b"5 7\n7") + compress(b" ") + compress(b"9\n"))) == PATH


def test_zero_padding_after_gzip_is_ignored():
    assert triples(read(gzip.compress(b"5 7\n7 9\n") + b"\0" * 512)) == PATH


def test_a_first_line_of_two_integers_is_an_edge_unless_called_a_header():
    assert triples(read("3 2\n5 7\n7 9\n"))[0] == (3, 2, 1.0)
    assert triples(read("0 1\n1 2\n")) == [(0, 1, 1.0), (1, 2, 1.0)]
    assert triples(read("3 2\n5 7\n7 9\n", header=True)) == PATH
    assert triples(read("%%a\n% b\n9 9 2\n5 7 1\n7 9 1\n", header=True)) == PATH


def test_a_first_line_that_fits_as_a_count_must_be_decided():
    text = "9 2\n5 7\n7 9\n"
    with pytest.raises(InputError, match=r"'9 2', may be an edge or count.*header=True"):
        read(text).to_edge_list()
    assert triples(read(text, header=True)) == PATH
    assert triples(read(text, header=False))[0] == (9, 2, 1.0)
    assert read("8 2\n5 7\n7 9\n").to_edge_list().n_edges == 3
    assert read("9 3\n5 7\n7 9\n").to_edge_list().n_edges == 3
    assert read("# source target\n" + text).to_edge_list().n_edges == 3


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"delimiter": "|"}, "5|7\n7|9\n"),
        ({"delimiter": "tab"}, "5\t7\n7\t9\n"),
        ({"delimiter": "whitespace"}, "5 \t7\n7  9\n"),
        ({"columns": (3, 0)}, "7 1 1 5\n9 1 1 7\n"),
        ({"columns": ("b", "a")}, "a,b,c\n7,5,1\n9,7,1\n"),
        ({"weighted": False}, "5 7 0.3\n7 9 x\n"),
        ({"weighted": False}, "source,target,day\n5,7,mon\n7,9,tue\n"),
        ({"comments": (">",)}, "> no\n5 7\n7 9\n"),
        ({"header": False}, "5 7\n7 9\n"),
        ({"ids": "integer"}, "005 +7\n07 9\n"),
        ({"format": "text"}, "5 7\n7 9\n"),
    ],
)
def test_what_is_set_is_not_guessed(options, text):
    assert triples(read(text, **options)) == PATH


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("ann bob\nbob cy\n", ["ann", "bob", "cy"]),
        ("ann lee\tbob\nbob\tzoë ✓\n", ["ann lee", "bob", "zoë ✓"]),
        ('"a, b",c\nc,"say ""hi"""\n', ["a, b", "c", 'say "hi"']),
        ("007 8\n8 9\n", ["007", "8", "9"]),
        ("+7 8\n", ["+7", "8"]),
        ("-0 8\n", ["-0", "8"]),
        ("1 18446744073709551616\n", ["1", "18446744073709551616"]),
        ("-1 18446744073709551615\n", ["-1", "18446744073709551615"]),
        ("1.5 2\n", ["1.5", "2"]),
        ("1 18446744073709551615\n", [1, 2**64 - 1]),
        ("-9223372036854775808 9223372036854775807\n", [-(2**63), 2**63 - 1]),
        ("b a\na 1\n", ["b", "a", "1"]),
    ],
)
def test_kinds_of_ids(text, ids):
    source = read(text)
    assert source.to_edge_list().ids.tolist() == ids
    assert source.id_kind == ("integer" if isinstance(ids[0], int) else "text")


def test_integers_can_be_read_as_text():
    assert read("7 8\n", ids="text").to_edge_list().ids.tolist() == ["7", "8"]


def test_self_loops_and_zero_weights_are_dropped_and_counted_but_their_nodes_stay():
    source = read("1 1 2\n2 3 0\n4 5 1\n6 6 0\n")
    edges = source.to_edge_list()
    assert (edges.n_nodes, edges.n_edges) == (6, 1)
    assert (source.n_self_loops, source.n_zero_weights, source.n_edges_read) == (2, 1, 1)
    assert (edges.n_self_loops, edges.n_zero_weights) == (2, 1)


def test_a_file_of_self_loops_is_a_graph_without_edges():
    source = read("1 1\n2 2\n")
    assert [batch.n_nodes for batch in source] == [2]
    assert source.n_edges_read == 0


def test_repeated_edges_and_both_directions_add_up():
    edges = read("1 2\n2 1\n1 2\n").to_edge_list()
    assert edges.n_edges == 3
    assert edges.simplified().weight.tolist() == [3.0]


def test_a_long_preamble_of_comments():
    assert triples(read("# words\n" * 300_000 + "5 7\n7 9\n")) == PATH


def test_ids_and_nodes_of_a_batch_are_those_seen_so_far():
    batches = list(read("1 2\n2 3\n9 9\n4 1\n", batch_size=1))
    assert [batch.n_nodes for batch in batches] == [2, 4, 5]
    assert [batch.ids.tolist() for batch in batches][1] == [1, 2, 3, 9]


def test_progress_reaches_one(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text("1 2\n" * 1_000_000)
    source = read_edges(path, batch_size=10_000)
    source.options = replace(source.options, block_bytes=1 << 14)
    fractions = [source.fraction_read for _ in source]
    assert fractions == sorted(fractions)
    assert source.fraction_read == 1.0
    assert 0 < fractions[0] < 0.5


def test_progress_is_that_of_the_batch_at_hand_while_the_next_is_read(tmp_path):
    path = tmp_path / "edges.parquet"
    write_edges(EdgeList(tail=np.zeros(4000, int), head=np.ones(4000, int), n_nodes=2), path)
    source = read_edges(path, batch_size=800)
    source.options = replace(source.options, block_rows=1000)
    fractions = []
    for _ in source:
        time.sleep(0.05)
        fractions.append(source.fraction_read)
    assert fractions == [0.25, 0.5, 0.75, 1.0, 1.0]


def test_progress_of_a_pipe_is_unknown():
    source = read("1 2\n2 3\n3 4\n" * 10, batch_size=1)
    assert all(np.isnan([source.fraction_read for _ in source]))


@settings(max_examples=60, deadline=None)
@given(
    edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 3)), min_size=1),
    batch_size=st.integers(1, 12),
    block_size=st.integers(1, 60),
    as_text=st.booleans(),
)
def test_batches_depend_on_the_edges_and_the_batch_size_alone(
    edges, batch_size, block_size, as_text
):
    text = "".join(f"{u} {v} {w}\n" for u, v, w in edges)
    ids = "text" if as_text else "integer"
    options = {"batch_size": batch_size, "ids": ids, "header": False}
    expected = list(read(text, **options))
    source = read(text, **options)
    source.options = replace(source.options, block_bytes=block_size)
    found = list(source)
    kept = sum(u != v and w > 0 for u, v, w in edges)
    sizes = [batch_size] * (kept // batch_size) + [kept % batch_size] * (kept % batch_size > 0)
    assert [batch.n_edges for batch in found] == (sizes or [0])
    for one, other in zip(expected, found, strict=True):
        assert one.n_nodes == other.n_nodes
        assert one.tail.tolist() == other.tail.tolist()
        assert one.head.tolist() == other.head.tolist()
        assert one.weight.tolist() == other.weight.tolist()


def test_reading_again_gives_the_same(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text("9 3\n3 5\n")
    source = read_edges(path)
    assert source.is_rereadable
    assert triples(source) == triples(source) == [(9, 3, 1.0), (3, 5, 1.0)]


def test_a_pipe_is_read_once():
    source = read("1 2\n")
    assert not source.is_rereadable
    source.to_edge_list()
    with pytest.raises(InputError, match="pipe and has been read already; save it"):
        source.to_edge_list()


def test_stopping_early_and_starting_again(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text("".join(f"{k} {k + 1}\n" for k in range(1000)))
    source = read_edges(path, batch_size=10)
    first = next(iter(source))
    again = next(iter(source))
    assert first.tail.tolist() == again.tail.tolist() == list(range(10))
    assert source.to_edge_list().n_edges == 1000
