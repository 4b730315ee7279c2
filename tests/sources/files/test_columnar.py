"""Parquet and Arrow files hold the same graphs as text."""

from dataclasses import replace

import polars as pl
import pyarrow as pa
import pytest

from graphsqueak.errors import InputError
from graphsqueak.sources import read_edges

WRITE = {
    "g.parquet": lambda frame, path: frame.write_parquet(path, row_group_size=2),
    "g.feather": lambda frame, path: frame.write_ipc(path),
    "g.arrow": lambda frame, path: frame.write_ipc(path, compression="zstd"),
    "g.arrows": lambda frame, path: frame.write_ipc_stream(path),
}


@pytest.fixture(params=WRITE)
def save(request, tmp_path):
    def write(columns, **schema):
        path = tmp_path / request.param
        WRITE[request.param](pl.DataFrame(columns, **schema), path)
        return path

    return write


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (("source", "target", "weight"), (0, 1, 2)),
        (("w", "dst", "src"), (2, 1, 0)),
        (("from", "note", "to", "weight"), (0, None, 1, 2)),
        (("left", "right"), (0, 1)),
    ],
)
def test_columns_by_name_or_position(save, names, order):
    values = [[5, 7, 9], [7, 9, 5], [0.5, 2.0, 1.0]]
    path = save(
        {n: ["x"] * 3 if k is None else values[k] for n, k in zip(names, order, strict=True)}
    )
    edges = read_edges(path).to_edge_list()
    assert edges.ids.tolist() == [5, 7, 9]
    assert (edges.tail.tolist(), edges.head.tolist()) == ([0, 1, 2], [1, 2, 0])
    assert edges.weight.tolist() == (values[2] if len(names) > 2 else [1, 1, 1])


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int16, pl.UInt32, pl.Int64, pl.UInt64])
def test_integer_types(save, dtype):
    path = save({"u": [1, 2], "v": [2, 3]}, schema={"u": dtype, "v": dtype})
    assert read_edges(path).to_edge_list().ids.tolist() == [1, 2, 3]
    assert read_edges(path, ids="text").to_edge_list().ids.tolist() == ["1", "2", "3"]


def test_huge_integers(save):
    path = save({"u": [2**64 - 1], "v": [2**63]}, schema={"u": pl.UInt64, "v": pl.UInt64})
    assert read_edges(path).to_edge_list().ids.tolist() == [2**64 - 1, 2**63]


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_text_types(save, dtype):
    path = save({"u": ["b", "zoë"], "v": ["zoë", "a b"]}, schema={"u": dtype, "v": dtype})
    source = read_edges(path)
    assert source.to_edge_list().ids.tolist() == ["b", "zoë", "a b"]
    assert source.id_kind == "text"


def test_slices_of_arrow_arrays_keep_their_offset(tmp_path):
    names = [f"n{k}" * (k + 1) for k in range(7)]
    kind = pa.large_string()
    table = pa.table({"u": pa.array(names[:-1], kind), "v": pa.array(names[1:], kind)})
    with (
        pa.OSFile(str(tmp_path / "g.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    source = read_edges(tmp_path / "g.arrow")
    source.options = replace(source.options, block_rows=2)
    assert source.to_edge_list().ids.tolist() == names


def test_loops_and_zeros_are_dropped_and_counted(save):
    source = read_edges(save({"u": [1, 1, 3], "v": [1, 2, 4], "w": [1.0, 0.0, 2.0]}))
    assert source.to_edge_list().n_nodes == 4
    assert (source.n_edges_read, source.n_self_loops, source.n_zero_weights) == (1, 1, 1)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"u": [1, None], "v": [2, 3]}, "row 2 \\(None, 3\\): the source is empty"),
        ({"u": ["a", "b"], "v": ["b", ""]}, "row 2 \\(b, \\): the target is an empty text"),
        (
            {"u": [1, 2], "v": [2, 3], "w": [1.0, -1.0]},
            "row 2 \\(2, 3, -1.0\\): the weight is not finite",
        ),
        ({"u": [1, 2], "v": [2, 3], "w": [1.0, float("nan")]}, "row 2 .*the weight is not finite"),
        ({"u": [1, 2], "v": [2, 3], "w": [1.0, None]}, "row 2 .*the weight is empty"),
        ({"u": [1.5, 2], "v": [2.0, 3]}, "column 'u' \\(source\\) holds double.*cast it"),
        ({"u": [1, 2], "v": [2, 3], "w": ["x", "y"]}, "column 'w' \\(weight\\).*numbers"),
        (
            {"a": [1, 2], "b": [2, 3], "c": [2, 3]},
            r"\(a, b, c\), and none of them is called weight",
        ),
        ({"u": [1, 2]}, "one column"),
    ],
)
def test_mistakes(save, columns, words):
    with pytest.raises(InputError, match=words):
        read_edges(save(columns)).to_edge_list()


def test_bad_rows_can_be_skipped(save):
    columns = {"u": [1, None, 2, 3], "v": [2, 3, 3, 4], "w": [1.0, 1.0, -1.0, 2.0]}
    source = read_edges(save(columns), on_bad_line="skip")
    assert source.to_edge_list().ids.tolist() == [1, 2, 3, 4]
    assert (source.n_edges_read, source.n_bad_lines) == (2, 2)


def test_text_asked_to_be_integers_is_refused(save):
    with pytest.raises(InputError, match=r"holds .*string.* where integers are expected"):
        read_edges(save({"u": ["1"], "v": ["2"]}), ids="integer").to_edge_list()


def test_an_empty_table_is_an_error(save):
    with pytest.raises(InputError, match="no edges"):
        read_edges(save({"u": [], "v": []}, schema={"u": pl.Int64, "v": pl.Int64})).to_edge_list()


def test_in_a_pipe_or_compressed_as_a_whole_it_is_refused(tmp_path):
    path = tmp_path / "g.parquet"
    pl.DataFrame({"u": [1], "v": [2]}).write_parquet(path)
    with open(path, "rb") as file, pytest.raises(InputError, match="must lie on disk as it is"):
        read_edges(file).to_edge_list()


def test_parts_of_both_kinds_share_one_numbering(tmp_path):
    pl.DataFrame({"u": [5], "v": [7]}).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("7,9\n")
    assert read_edges(tmp_path).to_edge_list().ids.tolist() == [5, 7, 9]
    edges = read_edges(tmp_path, ids="text").to_edge_list()
    assert edges.ids.tolist() == ["5", "7", "9"]
    pl.DataFrame({"u": ["x"], "v": ["y"]}).write_parquet(tmp_path / "c.parquet")
    with pytest.raises(InputError, match=r"c\.parquet: column 'u' .*integers are expected"):
        read_edges(tmp_path).to_edge_list()


def test_a_bad_weight_is_skipped_also_if_another_one_is_missing():
    table = pa.table({"source": [1, 2, 3], "target": [2, 3, 4], "weight": [None, -1.0, 2.0]})
    source = read_edges(table, on_bad_line="skip")
    assert source.to_edge_list().weight.tolist() == [2.0]
    assert source.n_bad_lines == 2
