"""The summary of a stream agrees with the graph in memory."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsqueak.graph import EdgeList
from graphsqueak.sources import info, read_edges


@settings(max_examples=60, deadline=None)
@given(
    edges=st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 30), st.sampled_from([0.0, 0.5, 1.0, 4.0])),
        min_size=1,
        max_size=40,
    ),
    batch_size=st.integers(1, 10),
)
def test_agrees_with_the_graph_in_memory(edges, batch_size):
    text = "# source target weight\n" + "".join(f"{u} {v} {w}\n" for u, v, w in edges)
    source = read_edges(io.BytesIO(text.encode()), batch_size=batch_size)
    summary = info(source)
    graph = EdgeList.from_pairs(edges)
    degree = np.bincount(np.concatenate([graph.tail, graph.head]), minlength=graph.n_nodes)
    assert summary.nodes == graph.n_nodes
    assert summary.edges == graph.n_edges
    assert summary.self_loops == graph.n_self_loops
    assert summary.zero_weights == graph.n_zero_weights
    assert summary.components == len(np.unique(graph.components()))
    assert summary.isolated_nodes == np.count_nonzero(degree == 0)
    assert summary.degree_min == degree.min()
    assert summary.degree_median == np.median(degree)
    assert summary.degree_max == degree.max()
    assert summary.weight_total == pytest.approx(graph.weight.sum())
    assert summary.weight_min == graph.weight.min(initial=np.inf if graph.n_edges else 0.0)
    assert summary.weight_max == graph.weight.max(initial=0.0)
    assert summary.weighted == bool((graph.weight != 1).any())


def test_kind_of_ids_bad_lines_and_cost():
    text = b"a b 1\nb c\nc d 2\n"
    summary = info(read_edges(io.BytesIO(text), on_bad_line="skip"))
    assert (summary.id_kind, summary.bad_lines, summary.edges) == ("text", 1, 2)
    assert 0 < summary.seconds < 60
    assert summary.peak_rss_bytes > 2**20
    assert info(EdgeList.from_pairs([("a", "b")])).id_kind == "text"


def test_a_graph_without_nodes():
    summary = info(EdgeList(tail=[], head=[]))
    assert (summary.nodes, summary.components, summary.degree_min) == (0, 0, 0)
    assert not summary.weighted


def test_progress_is_told_after_every_batch():
    told = []
    source = read_edges(io.BytesIO(b"1 2\n2 3\n3 4\n"), batch_size=2)
    info(source, progress=lambda done, fraction, note: told.append((done, note)))
    assert told == [(2, "3 nodes"), (3, "4 nodes")]
