"""Damage to our own files is noticed: one flipped bit is an error, or changes no edge."""

import random

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import zstandard

from graphsqueak import EdgeList, InputError, read_edges, sources, write_edges
from graphsqueak.cli import run
from graphsqueak.sources.files.columnar import parquet_frame
from graphsqueak.sources.files.writing import write_columns
from graphsqueak.sources.table_files import table_writer


def make_edges(n_nodes, n_edges, *, names):
    graph = sources.erdos_renyi(n_nodes, n_edges, random_state=7).to_edge_list()
    weight = np.random.default_rng(5).random(graph.n_edges)
    ends = zip(graph.tail.tolist(), graph.head.tolist(), weight.tolist(), strict=True)
    if names:
        return EdgeList.from_pairs([(f"n{one}", f"n{other}", w) for one, other, w in ends])
    return EdgeList.from_pairs([(37 * one + 5, 37 * other + 5, w) for one, other, w in ends])


def content(path):
    edges = read_edges(path).to_edge_list()
    return edges.ids[edges.tail].tolist(), edges.ids[edges.head].tolist(), edges.weight.tolist()


def complaint(path, good):
    """What is said about a damaged file, or "" if its edges are unchanged."""
    try:
        assert content(path) == good
    except InputError as error:
        return str(error)
    return ""


def middle_of(path, column):
    """A byte of the values of a column of a Parquet file."""
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(column)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    return start + chunk.total_compressed_size - 3


def flipped(data, position, bit):
    return data[:position] + bytes([data[position] ^ (1 << bit)]) + data[position + 1 :]


@pytest.mark.parametrize("names", [False, True], ids=["numbers", "names"])
@pytest.mark.parametrize("name", ["e.parquet", "e.tsv.zst", "e.csv.gz", "e.tsv.bz2"])
def test_one_flipped_bit_is_an_error_or_changes_no_edge(tmp_path, name, names):
    path = tmp_path / name
    write_edges(make_edges(200, 3000, names=names), path)
    good, data = content(path), path.read_bytes()
    generator = random.Random(3)
    errors = []
    for _ in range(60):
        position = generator.randrange(len(data))
        path.write_bytes(flipped(data, position, generator.randrange(8)))
        errors.append(complaint(path, good))
    assert sum(name in said for said in errors) >= 50


def test_one_flipped_bit_in_the_footer_of_parquet(tmp_path):
    """The footer has no checksum, but redundancy: every 7th of its bits is tried."""
    path = tmp_path / "e.parquet"
    write_edges(make_edges(20, 80, names=False), path)
    good, data = content(path), path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for number in range(0, 8 * (len(data) - start), 7):
        position, bit = start + number // 8, number % 8
        path.write_bytes(flipped(data, position, bit))
        said = complaint(path, good)
        assert not said or "e.parquet" in said


def test_a_row_group_that_claims_fewer_rows(tmp_path):
    """Its rows are not read, and no checksum of a page notices."""
    path = tmp_path / "e.parquet"
    write_edges(make_edges(20, 80, names=False), path)
    good, data = content(path), path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    n_rows = bytes([0xA0, 0x01])  # 80, as Thrift writes it
    places = [at for at in range(start, len(data)) if data[at:].startswith(n_rows)]
    found = []
    for place in places:
        path.write_bytes(data[:place] + bytes([0x80, 0x01]) + data[place + 2 :])  # 64
        found.append(complaint(path, good))
    assert any("row groups have 64 rows, not 80" in said for said in found)


def test_the_command_says_that_a_file_is_damaged(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("e.parquet", "e.tsv.zst"):
        path = tmp_path / name
        write_edges(make_edges(200, 3000, names=False), path)
        path.write_bytes(flipped(path.read_bytes(), 5000, 3))
        assert run(["sparsify", name, "-o", "out.tsv", "--keep", "0.5", "--quiet"]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"graphsqueak: {name} is damaged: ")
        assert said.count("\n") == 1
        assert not (tmp_path / "out.tsv").exists()


@pytest.mark.parametrize("command", ["label", "neighbors", "neighbors --dry-run", "learn"])
def test_damaged_tables_are_noticed(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(3).random((500, 2))
    table = {"node": np.arange(500), "label": np.arange(500) % 3, "x": values[:, 0]}
    write_columns(table, "table.parquet")
    write_edges(make_edges(200, 3000, names=False), "edges.tsv")
    path = tmp_path / "table.parquet"
    path.write_bytes(flipped(path.read_bytes(), middle_of(path, 2), 1))
    words = {
        "label": ["label", "edges.tsv", "table.parquet", "-o", "out.tsv"],
        "neighbors": ["neighbors", "table.parquet", "-k", "2", "-o", "out.tsv"],
        "learn": ["learn", "table.parquet", "--target", "x", "-o", "out.csv"],
    }
    name, *options = command.split()
    assert run([*words[name], *options, "--quiet"]) == 2
    said = capsys.readouterr().err
    assert "table.parquet" in said
    assert "checksum" in said
    assert "damaged" in said


def test_a_damaged_file_of_a_dataset(tmp_path):
    path = tmp_path / "e.parquet"
    write_edges(make_edges(200, 3000, names=False), path)
    assert content(pyarrow.dataset.dataset(path)) == content(path)
    path.write_bytes(flipped(path.read_bytes(), middle_of(path, 1), 2))
    with pytest.raises(InputError, match=r"is damaged: .*checksum"):
        content(pyarrow.dataset.dataset(path))


def test_all_parquet_files_have_checksums_and_other_files_are_read_without(tmp_path):
    edges = make_edges(20, 80, names=True)
    write_edges(edges, tmp_path / "edges.parquet")
    write_columns({"node": np.arange(40)}, tmp_path / "table.parquet")
    with table_writer(tmp_path / "predictions.parquet") as write:
        write(np.arange(40.0))
    for name in ("edges", "table", "predictions"):
        assert _has_page_checksums(tmp_path / f"{name}.parquet")
    good = content(tmp_path / "edges.parquet")
    table = pq.read_table(tmp_path / "edges.parquet")
    pq.write_table(table, tmp_path / "others.parquet")
    assert not _has_page_checksums(tmp_path / "others.parquet")
    assert content(tmp_path / "others.parquet") == good
    assert len(parquet_frame(tmp_path / "others.parquet")) == edges.n_edges
    write_edges(edges, tmp_path / "edges.tsv")
    plain = (tmp_path / "edges.tsv").read_bytes()
    (tmp_path / "others.tsv.zst").write_bytes(zstandard.ZstdCompressor().compress(plain))
    assert content(tmp_path / "others.tsv.zst") == content(tmp_path / "edges.tsv")


def _has_page_checksums(path):
    """Whether a bit that is flipped in the middle of each column is noticed."""
    data = path.read_bytes()
    metadata = pq.ParquetFile(path).metadata
    for column in range(metadata.num_columns):
        broken = pa.BufferReader(flipped(data, middle_of(path, column), 0))
        try:
            pq.ParquetFile(broken, page_checksum_verification=True).read()
        except OSError as error:
            if "CRC" in str(error):
                continue
        return False
    return True
