"""Files and pipes are read while they are written."""

import gzip
import io
import os

import pytest

from graphsqueak import InputError
from graphsqueak.sources import follow_edges


def edges_of(source):
    batches = list(source)
    return [
        edge
        for batch in batches
        for edge in zip(batch.tail.tolist(), batch.head.tolist(), strict=True)
    ]


def test_a_pipe_ends_when_its_writer_closes_it():
    reader, writer = os.pipe()
    os.write(writer, b"source\ttarget\nann\tbob\nbob\tcy")
    os.close(writer)
    with open(reader, "rb") as pipe:
        source = follow_edges(pipe, poll=0.01)
        # The last line has no end.
        assert edges_of(source) == [(0, 1), (1, 2)]
    assert source.ids.tolist() == ["ann", "bob", "cy"]
    assert source.fraction_read == 1


def test_the_schema_waits_for_enough_lines():
    reader, writer = os.pipe()
    # The header and eight lines: no need to wait for more.
    os.write(writer, b"source\ttarget\n" + b"".join(b"%d\t%d\n" % (k, k + 1) for k in range(8)))
    with open(reader, "rb") as pipe, open(writer, "wb", buffering=0) as output:
        batches = iter(follow_edges(pipe, poll=0.01, schema_timeout=3600))
        assert next(batches).n_edges == 8
        output.write(b"8\t9\n")
        assert next(batch.n_edges for batch in batches if batch.n_edges) == 1


def test_few_lines_are_used_after_the_timeout():
    reader, writer = os.pipe()
    os.write(writer, b"1\t2\n2\t3\n")
    with open(reader, "rb") as pipe, open(writer, "wb"):
        batches = iter(follow_edges(pipe, poll=0.01, schema_timeout=0.05))
        assert next(batches).n_edges == 2
        # No line came; the consumer may act.
        assert next(batches).n_edges == 0


def test_line_numbers_continue_after_the_first_lines():
    reader, writer = os.pipe()
    os.write(writer, b"".join(b"%d\t%d\n" % (k, k + 1) for k in range(9)))
    with open(reader, "rb") as pipe, open(writer, "wb", buffering=0) as output:
        batches = iter(follow_edges(pipe, poll=0.01))
        assert next(batches).n_edges == 9
        output.write(b"9\tten\n")
        with pytest.raises(InputError, match=r"line 10: .*'ten'"):
            list(batches)


def test_the_schema_is_unknown_before_the_first_edge():
    source = follow_edges(io.BytesIO(b"# a comment\n"))
    with pytest.raises(InputError, match="no edges in the file object"):
        list(source)
    with pytest.raises(InputError, match="no edges"):
        source.detect_schema()


def test_a_replaced_file_is_an_error(tmp_path):
    path = tmp_path / "edges.tsv"
    path.write_text("1\t2\n" * 9)
    batches = iter(follow_edges(path, poll=0.01))
    assert next(batches).n_edges == 9
    other = tmp_path / "other.tsv"
    other.write_text("1\t2\n" * 20)
    other.replace(path)
    with pytest.raises(InputError, match="was replaced while it was followed"):
        list(batches)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (["a.tsv", "a.tsv"], {}, "one file or pipe can be followed"),
        ("a.tsv", {"duplicates": "first"}, "all duplicates summed"),
        ("a.tsv", {"duplicates": "error"}, "all duplicates summed"),
        (io.BytesIO(gzip.compress(b"1 2\n")), {}, "not plain text"),
        (io.BytesIO(b"%%MatrixMarket matrix coordinate\n"), {}, "not plain text"),
    ],
)
def test_other_input_is_refused(source, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tsv").write_text("1\t2\n")
    with pytest.raises(InputError, match=message):
        list(follow_edges(source, **options))
