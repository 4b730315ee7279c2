"""Edges from the tables of other libraries, by way of Arrow: the same graph as from a file."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import graphsqueak as gs
from graphsqueak import EdgeList, InputError
from graphsqueak.sources import as_edge_list, as_stream
from tests.ssl.graphs import two_blocks

N = 60


@pytest.fixture(scope="module")
def columns():
    """Text ids, a self-loop and an edge of weight zero among them."""
    rng = np.random.default_rng(8_123)
    source, target = rng.integers(N, size=(2, 900))
    source[4], target[4] = 7, 7
    weight = rng.integers(0, 5, 900).astype(float)
    return {
        "weight": weight,
        "target": [f"n{t}" for t in target],
        "note": ["x"] * 900,
        "source": [f"n{s}" for s in source],
    }


def pandas_frame(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def duckdb_relation(columns):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.from_arrow(pa.table(columns))


FORMS = {
    "pyarrow": pa.table,
    "reader": lambda columns: pa.table(columns).to_reader(max_chunksize=70),
    "batch": lambda columns: pa.table(columns).combine_chunks().to_batches()[0],
    "dataset": lambda columns: pyarrow.dataset.dataset(pa.table(columns)),
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pandas": pandas_frame,
    "duckdb": duckdb_relation,
}
ONCE = ("reader",)


def graph_of(source):
    edges = source.to_edge_list()
    columns = [array.tolist() for array in (edges.tail, edges.head, edges.weight, edges.ids)]
    return *columns, source.n_self_loops, source.n_zero_weights


@pytest.mark.parametrize("form", FORMS)
def test_every_table_is_the_graph_of_a_file(form, columns, tmp_path):
    pq.write_table(pa.table(columns), tmp_path / "edges.parquet")
    expected = graph_of(gs.read_edges(tmp_path / "edges.parquet"))
    source = as_stream(FORMS[form](columns))
    assert graph_of(source) == expected
    assert expected[-2] > 0 < expected[-1]
    if form not in ONCE:
        assert graph_of(source) == expected
    source = gs.read_edges(FORMS[form](columns), batch_size=100)
    assert graph_of(source) == expected


@pytest.mark.parametrize("form", ONCE)
def test_a_reader_is_read_once_and_says_so(form, columns):
    source = gs.read_edges(FORMS[form](columns))
    H = gs.sparsify(source, n_edges=200, random_state=7)
    assert H.n_edges <= 200
    with pytest.raises(InputError, match="has been read already, and can be read once; make a"):
        source.to_edge_list()
    with pytest.raises(InputError, match="can be read once"):
        gs.certify(FORMS[form](columns), H)


@pytest.mark.parametrize("form", ["lazy", "pandas", "duckdb"])
def test_functions_and_estimators_take_tables(form):
    graph, truth = two_blocks(7_031)
    plain = {"source": graph.tail, "target": graph.head, "weight": graph.weight}
    table = FORMS[form](plain)
    held = as_edge_list(pa.table(plain))
    budget = {"n_edges": graph.n_edges // 3, "random_state": 7}
    H = gs.sparsify(table, **budget)
    assert np.array_equal(H.weight, gs.sparsify(gs.read_edges(pa.table(plain)), **budget).weight)
    assert gs.certify(table, H).epsilon_upper == gs.certify(held, H).epsilon_upper
    y = {int(node): int(truth[node]) for node in range(0, graph.n_nodes, 7)}
    frame = pl.DataFrame({"node": list(y), "label": list(y.values())})
    model = gs.SparseHFSClassifier(**budget).fit(table, frame)
    expected = gs.SparseHFSClassifier(**budget).fit(gs.read_edges(pa.table(plain)), y)
    assert np.array_equal(model.transduction_, expected.transduction_)
    r = gs.effective_resistance(table, pairs=[(0, 1)])
    assert r == pytest.approx(gs.effective_resistance(held, pairs=[(0, 1)]))
    b = np.zeros(held.n_nodes)
    b[:2] = 1, -1
    solver = gs.StreamedSolver(table, n_edges=graph.n_edges // 3, random_state=7)
    assert np.ptp(solver.solve(b)[:2]) == pytest.approx(r[0], rel=1e-4)


def test_columns_are_chosen_by_name():
    frame = pl.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "c": [2.0, 3.0], "d": [0, 1]})
    with pytest.raises(InputError, match=r"the polars DataFrame: 4 columns \(a, b, c, d\)"):
        gs.sparsify(frame, n_edges=1)
    edges = gs.read_edges(frame, columns=("b", "a", "c")).to_edge_list()
    assert edges.ids.tolist() == ["y", "x", "z"]
    assert edges.weight.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("form", ["polars", "pandas", "lazy", "duckdb"])
def test_bad_rows_are_named(form):
    table = FORMS[form]({"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, -2.0]})
    with pytest.raises(InputError, match=r"row 2 \(b, c, -2.0\): the weight is not finite"):
        as_edge_list(table)
    with pytest.raises(InputError, match="no edges in the"):
        as_edge_list(FORMS[form]({"source": np.zeros(0, int), "target": np.zeros(0, int)}))


def test_a_column_of_anything_is_refused():
    frame = pandas_frame({"source": ["a", 1], "target": [2, 3]})
    with pytest.raises(InputError, match="has a column that Arrow cannot hold"):
        as_edge_list(frame)


def test_a_query_that_changes_its_order_is_refused():
    """Nodes are numbered in order: another order would be another graph, silently."""
    calls = []

    def shuffled(frame):
        calls.append(1)
        return frame.sample(fraction=1.0, shuffle=True, seed=len(calls))

    frame = pl.DataFrame({"source": np.arange(500), "target": np.arange(500) + 1})
    source = gs.read_edges(frame.lazy().map_batches(shuffled))
    source.to_edge_list()
    with pytest.raises(InputError, match="another order of them, when it is run again"):
        source.to_edge_list()
    steady = gs.read_edges(frame.lazy())
    assert graph_of(steady) == graph_of(steady)


def test_tables_cannot_be_cut_into_parts_unless_held(columns):
    with pytest.raises(InputError, match=r"hold its edges: read_edges\(\.\.\.\)\.to_edge_list\(\)"):
        gs.sparsify(pl.DataFrame(columns), n_edges=100, tree="balanced", n_parts=2)


@pytest.mark.parametrize(
    ("thing", "line"),
    [
        ("edges.tsv", r"there is no file edges\.tsv"),
        ([(0, 1)], "EdgeList.from_pairs"),
        ({0: [1]}, r"from_networkx\(networkx.Graph\(neighbors\)\)"),
        (7, "an EdgeList, the path of a file"),
    ],
)
def test_what_is_unknown_is_told_the_line_that_converts_it(thing, line):
    with pytest.raises(InputError, match=line):
        gs.sparsify(thing, n_edges=1)


@pytest.mark.parametrize("ids", [None, [5, 3, 9], ["ann", "bob", "cy"], [(0, 1), "x", 4]])
def test_edges_go_out_as_arrow_and_come_back(ids):
    names = None if ids is None else np.array([*ids, None], dtype=object)[:3]
    edges = EdgeList(tail=[0, 1], head=[1, 2], weight=[2.0, 0.5], ids=names)
    if ids == [5, 3, 9]:
        edges = EdgeList(tail=[0, 1], head=[1, 2], weight=[2.0, 0.5], ids=np.array(ids))
    table = pa.table(edges)
    assert table.column_names == ["source", "target", "weight"]
    assert table.equals(edges.to_arrow())
    assert edges.to_polars()["target"].to_list() == table["target"].to_pylist()
    back = as_edge_list(pl.DataFrame(edges))
    assert [str(name) for name in back.ids.tolist()] == [str(i) for i in edges.ids.tolist()]
    assert np.array_equal(back.weight, edges.weight)
    pytest.importorskip("pandas")
    assert edges.to_pandas()["weight"].tolist() == [2.0, 0.5]


def test_a_pass_that_was_left_early_is_not_compared_with_later_ones():
    frame = pl.LazyFrame({"source": range(50), "target": range(1, 51)})
    source = gs.read_edges(frame, batch_size=10)
    next(iter(source))
    assert source.to_edge_list().n_edges == source.to_edge_list().n_edges == 50
