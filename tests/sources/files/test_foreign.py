"""Formats that are not read are recognized, and the message shows the conversion."""

import io

import pytest

from graphsqueak import InputError
from graphsqueak.sources.files.foreign import refuse_binary, refuse_foreign
from graphsqueak.sources.files.parts import ByteStream


def stream(content, name="edges.txt"):
    return ByteStream(io.BytesIO(content), name=name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"c comment\np edge 3 2\ne 1 2\n", "DIMACS file.*grep '.*' 'my edges.txt'"),
        (b"p sp 3 2\r\na 1 2 5\n", "DIMACS"),
        (b"sep=;\n1;2\n", "a line for Excel"),
        (b"\xef\xbb\xbfsep=;\n1;2\n", "a line for Excel"),
        (b"<!DOCTYPE html>\n<p>", "a page of HTML"),
        (b"\n\n  <html>", "a page of HTML"),
        (b'<?xml version="1.0"?>', "is XML"),
        (b'{"links": []}', "is JSON"),
        (b"[[1, 2]]", "is JSON"),
    ],
)
def test_formats_are_recognized_by_their_first_bytes(content, message):
    with pytest.raises(InputError, match=message):
        refuse_foreign(stream(content, "my edges.txt"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.graphml", r"GraphML.*networkx\.read_graphml\('a\.graphml'\)"),
        ("a.GEXF", "read_gexf"),
        ("a.gml", "read_gml"),
        ("a.net", "Pajek.*read_pajek"),
        ("a.json", "is JSON"),
        ("a.jsonl", "is JSON"),
    ],
)
def test_formats_are_recognized_by_their_suffix(name, message):
    with pytest.raises(InputError, match=message):
        refuse_foreign(stream(b"1 2\n", name))


@pytest.mark.parametrize("content", [b"1 2\n", b"p edge\n", b"html xml\n", b"sep ok\n", b""])
def test_lists_of_edges_pass(content):
    refuse_foreign(stream(content))
    refuse_binary(content, "edges.txt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 2\n".encode("utf-16"), "UTF-16 text.*iconv"),
        (b"1 2\n\0", "neither text nor a known format"),
        (b"1 2\r3 4\r", "carriage returns alone"),
    ],
)
def test_bytes_that_are_not_lines_of_text_are_refused(content, message):
    with pytest.raises(InputError, match=message):
        refuse_binary(content, "edges.txt")
