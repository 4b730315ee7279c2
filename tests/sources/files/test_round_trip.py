"""What is written is what is read, in every format, compression and kind of id."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsqueak.graph import EdgeList
from graphsqueak.sources import read_edges, write_edges

TABLES = [
    *(f"g.{form}{way}" for form in ("tsv", "csv") for way in ("", ".gz", ".zst", ".bz2")),
    "g.parquet",
    "g.txt",
    "g.arrow",
]
MATRICES = ["g.mtx", "g.mtx.gz", "g.graph", "g.metis.zst"]

integer_ids = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.integers(0, 9), st.integers(2**62, 2**63 - 1)
)
huge_ids = st.integers(0, 2**64 - 1)
text_ids = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), min_size=1, max_size=6),
    st.sampled_from(
        ["source", "target", "# x", "%", '"', 'a"b', " a ", "a,b", "a\tb", "007", "\ufeff"]
    ),
)
weights = st.one_of(
    st.just(1.0), st.floats(1e-300, 1e300), st.floats(min_value=5e-324, max_value=1.0)
)


@st.composite
def graphs(draw, ids):
    names = draw(st.lists(ids, min_size=2, max_size=12, unique=True))
    node = st.integers(0, len(names) - 1)
    ends = draw(st.lists(st.tuples(node, node), min_size=1, max_size=30))
    ends = [(u, v) for u, v in ends if u != v] or [(0, 1)]
    weight = draw(st.lists(weights, min_size=len(ends), max_size=len(ends)))
    if draw(st.booleans()):
        weight = [1.0] * len(ends)
    kind = object if isinstance(names[0], str) else np.uint64 if min(names) >= 0 else np.int64
    return EdgeList(
        tail=[u for u, _ in ends],
        head=[v for _, v in ends],
        weight=weight,
        n_nodes=len(names),
        ids=np.array(names, dtype=kind),
    )


def triples(edges):
    ids = edges.ids.tolist()
    return [
        (ids[u], ids[v], w)
        for u, v, w in zip(
            edges.tail.tolist(), edges.head.tolist(), edges.weight.tolist(), strict=True
        )
    ]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("ids", [integer_ids, huge_ids, text_ids], ids=["int", "huge", "text"])
def test_tables(tmp_path_factory, name, ids):
    path = tmp_path_factory.mktemp("round") / name
    kind = "text" if ids is text_ids else "integer"

    @settings(max_examples=10, deadline=None)
    @given(graph=graphs(ids), batch_size=st.integers(1, 9))
    def check(graph, batch_size):
        write_edges(graph, path)
        source = read_edges(path, ids=kind, batch_size=batch_size)
        assert triples(source.to_edge_list()) == triples(graph)
        again = path.with_name("again-" + path.name)
        write_edges(source, again)
        assert triples(read_edges(again, ids=kind).to_edge_list()) == triples(graph)

    check()


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(tmp_path_factory, name):
    path = tmp_path_factory.mktemp("round") / name

    @settings(max_examples=10, deadline=None)
    @given(graph=graphs(integer_ids))
    def check(graph):
        weight = np.ceil(np.minimum(graph.weight, 1e6)) if "mtx" not in name else graph.weight
        graph = EdgeList(
            tail=graph.tail, head=graph.head, weight=weight, n_nodes=graph.n_nodes + 1
        ).simplified()
        write_edges(graph, path)
        back = read_edges(path).to_edge_list()
        assert back.n_nodes == graph.n_nodes
        assert back.ids.tolist() == list(range(1, graph.n_nodes + 1))
        assert np.array_equal(back.to_scipy().toarray(), graph.to_scipy().toarray())
        write_edges(back, path)
        again = read_edges(path).to_edge_list()
        assert np.array_equal(again.to_scipy().toarray(), graph.to_scipy().toarray())

    check()


def test_text_that_looks_like_numbers_is_written_as_it_was(tmp_path):
    (tmp_path / "a.csv").write_text("007,1e5\n1e5,18446744073709551616\n")
    write_edges(read_edges(tmp_path / "a.csv"), tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == (
        "source,target\n007,1e5\n1e5,18446744073709551616\n"
    )
