"""Every mistake in a file is one line that names the file, the line and the remedy."""

import bz2
import gzip
import io
import re
from dataclasses import replace

import pytest
import zstandard

from graphsqueak.errors import InputError
from graphsqueak.sources import read_edges

LATE = "1 2\n" * 300_000  # beyond the sample from which the shape is guessed


def message_of(tmp_path, content, **options):
    path = tmp_path / "graph.tsv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError) as caught:
        read_edges(path, **options).to_edge_list()
    message = str(caught.value)
    assert "\n" not in message
    assert "graph.tsv" in message
    return message


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("1\t2\t1\n2\t3\tabc\n", 2, "weight 'abc' is not a number"),
        ("1\t2\t1\n2\t3\t\n", 2, "the weight is empty"),
        ("1\t2\t1\n2\t3\tnan\n", 2, "weight 'nan' is not finite"),
        ("1\t2\t1\n2\t3\t-inf\n", 2, "weight '-inf' is not finite"),
        ("1\t2\t1\n2\t3\t-0.5\n", 2, "weight '-0.5' is negative"),
        ("1\t2\t1\n2\t3\t1e999\n", 2, "weight '1e999' is too large"),
        ("1;2;1.5\n2;3;0,5\n", 2, "weight '0,5' is not a number; write decimals with a point"),
        ("# c\n\n1 2\n2 3 4\n", 4, "3 columns where 2 were expected: '2 3 4'"),
        ("1 2 1\n2 3\n", 2, "2 columns where 3 were expected"),
        ("1,2\n,3\n", 2, "a node id is empty"),
        ('a,b\n"c,d\n', 2, "do not match"),
        (LATE + "1 x\n", 300_001, "node id 'x' is not an integer.*ids='text'"),
        (LATE + "1 007\n", 300_001, "node id '007' would be written back as 7.*ids='text'"),
        (LATE + "1 9223372036854775808\n", 300_001, "'9223372036854775808' is not an integer"),
        ("1\n2\n", 1, "one column where an edge needs two.*delimiter"),
        ("1 2 3 4\n2 3 4 5\n", 1, "4 columns, and no header.*columns="),
        ("a,b,c,d\n1,2,3,4\n", 1, "4 columns \\(a, b, c, d\\), and no header.*columns="),
        (
            "source,target,day\n1,2,3\n",
            1,
            r"none of them is called weight.*columns=.'source', 'target'",
        ),
        (b"ann bob\nzo\xeb bob\n", 2, "is not UTF-8.*iconv"),
        (b"%\xeb\nann bob\n" * 3 + b"\xeb x\n", 7, "is not UTF-8.*iconv"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, line, words):
    message = message_of(tmp_path, text)
    assert f"graph.tsv, line {line}: " in message
    assert re.search(words, message), message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no edges"),
        (b"# nothing\n\n", "no edges"),
        (b"source,target\n", "no edges"),
        (b"\x00\x01\x02junk", "neither text nor a known format"),
        (b"\xff\xfe1\x00 \x002\x00", "UTF-16"),
        (b"1 2\r3 4\r", "carriage returns"),
        (b"\xfd7zXZ\x00rest of it", "compressed with xz"),
        (b"PK\x03\x04rest of it", "compressed with zip"),
        (gzip.compress(b"1 2\n" * 999, mtime=0)[:-12], "ends in the middle of its gzip data"),
        (bz2.compress(b"1 2\n" * 999)[:-12], "ends in the middle of its bzip2 data"),
        (zstandard.compress(b"1 2\n" * 999)[:-3], "ends in the middle of its zstd data"),
        (gzip.compress(b"1 2\n" * 999, mtime=0)[:-12] + b"x" * 12, "is damaged: its gzip data"),
        (gzip.compress(b"1 2\n" * 999, mtime=0) + b"junk", "is damaged: its gzip data"),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 50, "is damaged: its zstd data"),
        (b"PAR1 and then nothing", "cannot be read"),
        (b"ARROW1 and then nothing", "cannot be read"),
        (b"1 2\n" + b"1" * 70_000_000, "a line of more than 64 MiB"),
    ],
)
def test_a_bad_file_is_named(tmp_path, content, words):
    assert words in message_of(tmp_path, content)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weighted": True}, "no weight column, but weighted=True"),
        ({"columns": (0, 5)}, "there is no column 5"),
        ({"columns": ("a", "b")}, "there is no column named 'a'"),
        ({"columns": (0, 0)}, "names a column twice"),
        ({"columns": (0,)}, "must have two or three entries"),
    ],
)
def test_a_choice_of_columns_that_cannot_be(tmp_path, options, words):
    assert words in message_of(tmp_path, "1 2\n", **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delimiter": "ab"}, "delimiter='ab'"),
        ({"delimiter": "1"}, "delimiter='1'"),
        ({"delimiter": ""}, "delimiter=''"),
        ({"header": "yes"}, "header='yes' is not one of"),
        ({"weighted": 2}, "weighted=2 is not one of"),
        ({"ids": "int"}, "ids='int' is not one of"),
        ({"comments": ("//",)}, "'//' is not"),
        ({"on_bad_line": "ignore"}, "on_bad_line='ignore'"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"format": "xlsx"}, "format='xlsx'"),
    ],
)
def test_an_option_that_cannot_be(options, words):
    with pytest.raises(InputError) as caught:
        read_edges(io.BytesIO(b"1 2\n"), **options)
    assert words in str(caught.value)


def test_bad_lines_can_be_skipped_and_are_counted():
    text = "1 2 1\n2 x\n3 4 -1\n4 5 1\n5 6 nan\n6 7 1 1\n7 8 2\n"
    source = read_edges(io.BytesIO(text.encode()), on_bad_line="skip", ids="integer")
    edges = source.to_edge_list()
    assert edges.ids.tolist() == [1, 2, 4, 5, 7, 8]
    assert source.n_bad_lines == 4


def test_lines_that_are_not_utf8_can_be_skipped():
    source = read_edges(io.BytesIO(b"a b\n\xeb c\nb \xe9\nc d\n"), on_bad_line="skip")
    assert source.to_edge_list().ids.tolist() == ["a", "b", "c", "d"]
    assert source.n_bad_lines == 2


def test_a_block_of_one_line_that_is_not_utf8_is_skipped():
    # 512 lines of 8 bytes fill a block, so that the last line has its own.
    content = b"ann,bob\n" * (512 * 400) + b"\xff\n"
    source = read_edges(io.BytesIO(content), on_bad_line="skip")
    source.options = replace(source.options, block_bytes=512 * 8)
    assert source.to_edge_list().n_edges == 512 * 400
    assert source.n_bad_lines == 1


def test_a_file_of_bad_lines_alone_is_an_error_even_if_they_are_skipped():
    source = read_edges(io.BytesIO(b"1 2 x\n2 3 y\n"), on_bad_line="skip", weighted=True)
    with pytest.raises(InputError, match=r"no edges in .* \(2 bad lines skipped\)"):
        source.to_edge_list()


def test_line_numbers_count_comments_in_earlier_blocks(tmp_path):
    path = tmp_path / "graph.tsv"
    path.write_text("# one\n1 2\n\n3 4\n# five\n5 6\n\n7 8\n# nine\nx\n")
    source = read_edges(path)
    source.options = replace(source.options, block_bytes=16)
    with pytest.raises(InputError, match=r"graph\.tsv, line 10: 1 column where 2"):
        list(source)


def test_edges_before_a_bad_line_are_still_there_batch_by_batch(tmp_path):
    path = tmp_path / "graph.tsv"
    path.write_text(LATE * 9 + "1 x\n")
    source = read_edges(path)
    with pytest.raises(InputError, match="line 2700001"):
        list(source)
    assert source.n_edges_read >= 1_000_000
