"""Small files that announce or decompress to a multiple of their size: one limit, one message."""

import io
import os
import struct
import threading
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
import zstandard

from graphsqueak import InputError, cli, neighbor_edges, read_edges
from graphsqueak.sources.files.parts import ByteStream
from graphsqueak.sources.neighbors.point_files import read_points
from graphsqueak.sources.table_files import table_batches
from graphsqueak.ssl.label_table import read_labels
from graphsqueak.system.expansion import EXPANSION_VARIABLE, allowed_bytes, refuse_bomb
from graphsqueak.system.memory import peak_rss
from graphsqueak.system.packing import pack_bytes, unpack

BOMB = "like a decompression bomb"
MANY_ROWS = 20_000_000  # of two 64-bit columns: more than 256 MiB
LONG_TEXT = "x" * 1_000_000


def write_constant_table(path, **options):
    """A Parquet file of MANY_ROWS equal rows, a few kilobytes large, written in little memory."""
    rows = MANY_ROWS // 4
    node = pa.array(np.zeros(rows, dtype=np.int64))
    label = pa.array(np.ones(rows))
    table = pa.table({"node": node, "label": label})
    with pq.ParquetWriter(path, table.schema, compression="zstd", **options) as writer:
        for _ in range(4):
            writer.write_table(table)
    assert path.stat().st_size < 250_000
    return path


def write_compressed(path, line):
    path.write_bytes(zstandard.compress(line * ((300 << 20) // len(line))))
    assert path.stat().st_size < 100_000
    return path


@pytest.mark.parametrize("read", [read_labels, read_points])
def test_compressed_text_that_expands_too_much_is_refused(tmp_path, read):
    path = write_compressed(tmp_path / "table.csv", b"1234567,1\n")
    with pytest.raises(InputError, match=BOMB) as caught:
        read(path)
    assert "damaged" not in str(caught.value)


def test_compressed_tables_within_the_limit_are_read(tmp_path):
    (tmp_path / "labels.csv").write_bytes(zstandard.compress(b"node,label\nann,spam\nbob,ham\n"))
    assert read_labels(tmp_path / "labels.csv")[0] == {"ann": "spam", "bob": "ham"}
    (tmp_path / "points.tsv").write_bytes(zstandard.compress(b"1\t2\n3\t4\n"))
    assert read_points(tmp_path / "points.tsv")[0].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("read", [read_labels, read_points])
def test_a_table_in_memory_may_not_announce_too_many_rows(tmp_path, read):
    path = write_constant_table(tmp_path / "table.parquet")
    with pytest.raises(InputError, match=BOMB) as caught:
        read(path)
    assert "damaged" not in str(caught.value)


def test_equal_numbers_are_not_a_bomb_in_a_stream_of_edges(tmp_path):
    path = write_constant_table(tmp_path / "edges.parquet")
    edges = read_edges(path, columns=("node", "label"), weighted=False, ids="integer")
    assert next(iter(edges)).n_edges == edges.batch_size


@pytest.mark.parametrize("read", [read_edges, lambda path: table_batches(path, 10)])
def test_compressed_pages_that_expand_too_much_are_refused(tmp_path, read):
    path = tmp_path / "edges.parquet"
    write_constant_table(path, use_dictionary=False)
    with pytest.raises(InputError, match=BOMB):
        next(iter(read(path)))


def shared_text(n_rows):
    indices = pa.array(np.zeros(n_rows, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array([LONG_TEXT]))


def write_shared_text(path):
    """100 GB of text in a kilobyte: one long text in a dictionary, and a reference in each row."""
    table = pa.table({"node": shared_text(50_000), "label": shared_text(50_000)})
    pq.write_table(table, path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 10_000
    return path


def test_a_text_that_many_rows_of_a_parquet_file_share(tmp_path):
    path = write_shared_text(tmp_path / "edges.parquet")
    before = peak_rss()
    with pytest.raises(InputError, match=BOMB):
        list(read_edges(path))
    with pytest.raises(InputError, match=BOMB):
        read_labels(path)
    assert peak_rss() - before < 1 << 30


def test_long_texts_within_the_limit_are_read_in_smaller_batches(tmp_path):
    texts = ["a" * 100_000, "b" * 100_000, "c"]
    source = pa.array([texts[i % 3] for i in range(300)])
    target = pa.array([texts[(i + 1) % 3] for i in range(300)])
    pq.write_table(pa.table({"source": source, "target": target}), tmp_path / "edges.parquet")
    edges = read_edges(tmp_path / "edges.parquet", bipartite=False)
    assert edges.to_edge_list().n_edges == 300
    assert sorted(map(len, edges.ids)) == [1, 100_000, 100_000]


def test_a_text_that_many_rows_of_an_arrow_table_share():
    table = pa.table({"source": shared_text(1000), "target": shared_text(1000)})
    with pytest.raises(InputError, match=BOMB):
        list(read_edges(table, bipartite=False))


@pytest.mark.parametrize("is_file", [True, False])
@pytest.mark.parametrize("announced", [1 << 29, 1 << 50])
def test_an_arrow_batch_that_announces_too_much(tmp_path, is_file, announced):
    n_rows = 1003
    source = pa.array(np.arange(n_rows) % 7)
    target = pa.array(np.arange(n_rows) % 7 + 1)
    batch = pa.record_batch({"source": source, "target": target})
    path = tmp_path / "edges.arrow"
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    new_writer = pa.ipc.new_file if is_file else pa.ipc.new_stream
    with new_writer(path, batch.schema, options=options) as writer:
        writer.write_batch(batch)
        writer.write_batch(batch)
    assert read_edges(path).to_edge_list().n_edges == 2 * n_rows
    data = path.read_bytes()
    size = struct.pack("<q", 8 * n_rows)
    assert data.count(size) == 4
    last = data.rindex(size)
    path.write_bytes(data[:last] + struct.pack("<q", announced) + data[last + 8 :])
    with pytest.raises(InputError, match=BOMB):
        read_edges(path).to_edge_list()


def test_arrow_dictionaries_are_counted(tmp_path):
    words = pa.array([f"{i:06}" for i in range(1003)])
    column = pa.DictionaryArray.from_arrays(pa.array(np.arange(1003, dtype=np.int32)), words)
    batch = pa.record_batch({"source": column, "target": column})
    path = tmp_path / "edges.arrow"
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(path, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    assert list(read_edges(path, bipartite=False))
    data = path.read_bytes()
    size = struct.pack("<q", 6 * 1003)  # of the texts of the first dictionary
    first = data.index(size)
    path.write_bytes(data[:first] + struct.pack("<q", 1 << 40) + data[first + 8 :])
    with pytest.raises(InputError, match=BOMB):
        list(read_edges(path, bipartite=False))


def test_a_checkpoint_that_announces_too_much():
    """Whoever makes a checkpoint can give it a correct checksum."""
    data = pack_bytes({"format": "x"}, {"a": np.zeros(1003)})
    assert unpack(data, "here")[1]["a"].size == 1003
    body = data[:-20].replace(struct.pack("<q", 8 * 1003), struct.pack("<q", 1 << 50))
    assert body != data[:-20]
    data = body + struct.pack("<8sQI", b"squeaked", len(body), zlib.crc32(body))
    with pytest.raises(InputError, match=BOMB):
        unpack(data, "here")


@pytest.mark.parametrize("n_columns", [10**9, 10**12])
def test_memory_follows_the_entries_of_sparse_points_not_their_columns(tmp_path, n_columns):
    rng = np.random.default_rng(5)
    small = scipy.sparse.random_array((60, 40), density=0.3, format="csr", rng=rng)
    wide = small.tocoo()
    column = np.sort(rng.choice(n_columns, size=40, replace=False))
    wide = scipy.sparse.csr_array(
        (small.data, column[small.indices], small.indptr), shape=(60, n_columns)
    )
    path = tmp_path / "points.npz"
    scipy.sparse.save_npz(path, wide)
    points, _ = read_points(path)
    assert points.shape == (60, n_columns)
    found = neighbor_edges(points, 5).to_edge_list()
    expected = neighbor_edges(small, 5).to_edge_list()
    assert np.array_equal(found.tail, expected.tail)
    assert np.array_equal(found.head, expected.head)
    assert np.array_equal(found.weight, expected.weight)


@pytest.mark.parametrize("form", ["coo", "csc", "dia"])
def test_sparse_points_may_not_announce_too_many_rows(tmp_path, form):
    """Their rows take no bytes in these formats, and eight bytes each in CSR."""
    points = scipy.sparse.coo_array((np.ones(2), ([0, 1], [0, 1])), shape=(10**11, 2)).asformat(
        form
    )
    scipy.sparse.save_npz(tmp_path / "points.npz", points)
    with pytest.raises(InputError, match=BOMB):
        read_points(tmp_path / "points.npz")


def test_labels_of_lists_are_refused(tmp_path):
    table = pa.table({"node": [[1], [2]], "label": ["a", "b"]})
    pq.write_table(table, tmp_path / "labels.parquet")
    with pytest.raises(InputError, match=r"column node has type List\(Int64\), not text"):
        read_labels(tmp_path / "labels.parquet")


def numpy_header(shape):
    file = io.BytesIO()
    described = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue()


@pytest.mark.parametrize("shape", [(10**15, 2), (10**18,)])
def test_a_numpy_header_that_announces_too_much(tmp_path, shape):
    (tmp_path / "points.npy").write_bytes(numpy_header(shape) + bytes(80))
    with zipfile.ZipFile(tmp_path / "points.npz", "w") as members:
        members.writestr("points.npy", numpy_header(shape) + bytes(80))
    for name in ("points.npy", "points.npz"):
        with pytest.raises(InputError, match=rf"{name} .*(memory|cannot be read)"):
            read_points(tmp_path / name)


@pytest.mark.parametrize("compress", [False, True])
def test_a_matrix_market_file_that_announces_too_many_nodes(tmp_path, compress):
    text = b"%%MatrixMarket matrix coordinate pattern symmetric\n10000000 10000000 1\n2 1\n"
    path = tmp_path / "edges.mtx"
    path.write_bytes(zstandard.compress(text) if compress else text)
    with pytest.raises(InputError, match=BOMB) as caught:
        read_edges(path).to_edge_list()
    assert "a graph of 10000000 nodes" in str(caught.value)


def test_the_limit_can_be_raised(monkeypatch):
    data = zstandard.compress(b"1 2\n" * (1 << 20))
    with pytest.raises(InputError, match=rf"{EXPANSION_VARIABLE} \(a factor, now 1000\)"):
        list(ByteStream(io.BytesIO(data), name="edges.zst", min_limit=1 << 21))
    monkeypatch.setenv(EXPANSION_VARIABLE, "1e6")
    read = ByteStream(io.BytesIO(data), name="edges.zst", min_limit=1 << 21)
    assert sum(map(len, read)) == 1 << 22
    assert allowed_bytes(10**6) == 10**12


@pytest.mark.parametrize("value", ["much", "0", "-3", "nan"])
def test_a_limit_that_is_not_a_factor_is_refused(monkeypatch, value):
    monkeypatch.setenv(EXPANSION_VARIABLE, value)
    with pytest.raises(InputError, match=rf"{EXPANSION_VARIABLE}='{value}' is not a factor"):
        refuse_bomb("edges.gz", 1, 2)


def test_the_limit_is_met_exactly():
    refuse_bomb("edges.gz", 0, 1 << 28)
    refuse_bomb("edges.gz", 10**6, 10**9)
    for n_stored, n_decoded in ((0, (1 << 28) + 1), (10**6, 10**9 + 1)):
        with pytest.raises(InputError, match=BOMB):
            refuse_bomb("edges.gz", n_stored, n_decoded)


def test_a_bomb_on_the_command_line_is_one_line_and_exit_code_two(tmp_path, capsys):
    labels = write_constant_table(tmp_path / "labels.parquet")
    (tmp_path / "edges.csv").write_text("0,1\n1,2\n")
    out = tmp_path / "out.csv"
    assert cli.run(["label", str(tmp_path / "edges.csv"), str(labels), "-o", str(out)]) == 2
    said = capsys.readouterr().err
    assert BOMB in said.splitlines()[-1]
    assert "Traceback" not in said
    assert "damaged" not in said
    assert not out.exists()


def test_running_out_of_memory_is_not_a_traceback(monkeypatch, capsys):
    def allocate(*_, **__):
        raise MemoryError("Unable to allocate 8.00 TiB for an array")

    monkeypatch.setattr(cli, "app", allocate)
    assert cli.run(["info", "edges.csv"]) == 2
    assert capsys.readouterr().err == (
        "graphsqueak: out of memory: Unable to allocate 8.00 TiB for an array\n"
    )


def test_labels_may_be_a_named_pipe_but_not_a_device(tmp_path):
    pipe = tmp_path / "labels.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("node,label\nann,spam\n",))
    writer.start()
    assert read_labels(pipe)[0] == {"ann": "spam"}
    writer.join()
    with pytest.raises(InputError, match="/dev/zero is not a file or a pipe"):
        read_labels("/dev/zero")
    os.mkfifo(tmp_path / "labels.parquet")
    with pytest.raises(InputError, match="Parquet must lie on disk"):
        read_labels(tmp_path / "labels.parquet")
