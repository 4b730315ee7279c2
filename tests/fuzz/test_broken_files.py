"""Broken files of every kind raise our own error, or are read after all; and what was found."""

import random
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsqueak import EdgeList, InputError, StreamSparsifier, read_edges
from graphsqueak.report.table import html_table
from graphsqueak.sources.neighbors import point_files
from graphsqueak.system.packing import pack_bytes, unpack
from tests.fuzz.examples import FILES, kind_of, read
from tests.fuzz.mutations import mutated


@pytest.mark.parametrize("name", FILES)
def test_broken_files_raise_our_own_error_only(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    read(path)
    sealed = kind_of(name) == "checkpoint"

    said = []

    @settings(max_examples=15, deadline=None, derandomize=True)
    @given(seed=st.integers(0, 2**32))
    def check(seed):
        path.write_bytes(mutated(FILES[name], random.Random(seed), is_sealed=sealed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read(path)
            except InputError as error:
                said.append(str(error))

    check()
    assert not [message for message in said if "\n" in message]


def refused(tmp_path, name, data, words):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError, match=words):
        read(path)


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("edges.mtx", b"5 5 3", b"4294967296000 4294967296000 3", "like a decompression bomb"),
        ("edges.graph", b"4 3 001", b"4294967296000 3 001", "needs .* GiB of memory"),
        ("edges.graph", b"4 3 001", b"147483648 3 001", "too short for the 147483648 nodes"),
        ("points.parquet", b"x", b"\xff", "cannot be read as parquet"),
        ("labels.parquet", b"node", b"no\xffe", "cannot be read as a table of labels"),
        ("edges.graph", b"4 3 001", b"4 3 011 99999999999999999999", "node weights"),
        ("points.npy", b"(4, 3), }", b"(4, 3,    ", "cannot be read as npy"),
        ("sparse.npz", b"PK\x01\x02", b"PK\x01\x03", "cannot be read as npz"),
        ("points.parquet", b"PAR1", b"PAR2", "cannot be read as parquet"),
        ("points.csv", b"\nb,", b"\n,", "column 'id' is empty in row 2"),
        ("edges.parquet", b"source", b"so\xff\xfece", "edges.parquet"),
        ("edges.arrow", b"source", b"so\xff\xfece", "edges.arrow"),
    ],
)
def test_what_was_found_in_files(tmp_path, name, old, new, words):
    assert old in FILES[name]
    refused(tmp_path, name, FILES[name].replace(old, new), words)


@pytest.mark.parametrize("name", ["text.parquet", "text.arrow"])
def test_ids_that_are_not_utf8_are_found_where_they_are_read(tmp_path, name):
    text, offsets = pa.py_buffer(b"a\xffb"), pa.py_buffer(np.array([0, 1, 2, 3], dtype=np.int32))
    wrong = pa.StringArray.from_buffers(3, offsets, text)
    table, path = pa.table({"source": wrong, "target": ["x", "y", "z"]}), tmp_path / name
    if name.endswith("parquet"):
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    with pytest.raises(InputError, match=r"is damaged: In column 0: .*UTF8"):
        read_edges(path).to_edge_list()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda record, arrays: arrays.pop("0_tail"), "'tail' is missing"),
        (lambda record, arrays: arrays["0_tail"].__setitem__(0, 99), "tail has values out of"),
        (lambda record, arrays: arrays["0_head"].__setitem__(0, -1), "head has values out of"),
        (lambda record, arrays: arrays["0_weight"].__setitem__(0, np.nan), "weight has values"),
        (
            lambda record, arrays: arrays.update({"0_weight": arrays["0_weight"].astype("f2")}),
            "float16 of",
        ),
        (lambda record, arrays: arrays["0_parent"].__setitem__(0, 5), "parent is not a forest"),
        (
            lambda record, arrays: arrays.update({"0_in_forest": arrays["0_in_forest"][1:]}),
            "in_forest is bool",
        ),
        (
            lambda record, arrays: arrays.update({"0_tail": arrays["0_tail"] * 1.0}),
            "tail is float64",
        ),
        (lambda record, arrays: arrays.update(x=arrays["0_tail"]), "the array x does not belong"),
        (
            lambda record, arrays: arrays["ids_end"].__setitem__(0, 10**6),
            "offset for slot 1 out of bounds",
        ),
        (lambda record, arrays: arrays["ids_text"].__setitem__(1, 255), "Invalid UTF8 sequence"),
        (lambda record, arrays: record["numbers"]["0"].update(judge=1), "numbers are not those of"),
        (
            lambda record, arrays: record["numbers"]["0"].update(n_seen=-1),
            "the number n_seen is -1",
        ),
        (
            lambda record, arrays: record["numbers"]["0"].update(weight_scale=0.0),
            "weight_scale is 0.0",
        ),
        (lambda record, arrays: record["settings"].update(evil=1), "evil"),
        (lambda record, arrays: record["settings"].update(n_edges="x"), "n_edges='x'"),
        (
            lambda record, arrays: record["options"].update(rescale_to_degrees="x"),
            "rescale_to_degrees='x'",
        ),
        (
            lambda record, arrays: record["numbers"]["0"].update(is_leader=1),
            "the number is_leader is 1",
        ),
        (lambda record, arrays: record.pop("numbers"), "numbers"),
    ],
)
def test_a_checkpoint_that_was_made_wrong(tmp_path, change, words):
    """The checksum is right: only the content can tell."""
    record, arrays = unpack(FILES["texts.ckpt"], "here")
    change(record, arrays)
    refused(tmp_path, "texts.ckpt", pack_bytes(record, arrays), words)


def test_a_right_checksum_over_no_arrow_stream(tmp_path):
    body = FILES["texts.ckpt"]
    broken = mutated(body[:400] + body[500:], random.Random(3), is_sealed=False)
    refused(tmp_path, "texts.ckpt", broken, "is not a complete checkpoint")


def test_a_zip_that_explodes_is_refused(tmp_path):
    path = tmp_path / "points.npz"
    np.savez_compressed(path, points=np.zeros((1_000_000, 6)))
    assert point_files.read_points(path)[0].shape == (1_000_000, 6)
    np.savez_compressed(path, points=np.zeros((7_000_000, 6)))
    with pytest.raises(InputError, match="like a decompression bomb"):
        point_files.read_points(path)


def test_ids_are_text_in_html():
    evil = EdgeList.from_pairs([("<script>alert(1)</script>", "b&b")])
    assert "<script>" not in evil._repr_html_()
    assert "&lt;script&gt;" in evil._repr_html_()
    assert "<b>" not in html_table([("<b>",)], header=("<b>",), caption="<b>")


def test_a_checkpoint_is_loaded_without_running_anything(tmp_path):
    """Names in the record become settings, checked ones, never attributes or calls."""
    record, arrays = unpack(FILES["numbers.ckpt"], "here")
    record["numbers"]["0"]["__class__"] = "Evil"
    path = tmp_path / "run.ckpt"
    path.write_bytes(pack_bytes(record, arrays))
    with pytest.raises(InputError, match="numbers are not those"):
        StreamSparsifier.load(path)
