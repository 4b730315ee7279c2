"""Test that ids of two sides are distinguished by prefixes."""

import numpy as np
import pytest

from graphsqueak.nodes.bipartite_ids import prefix_ids, side_names


def decode(text, spans):
    whole = bytes(text)
    return [
        [whole[start:stop].decode() for start, stop in row.reshape(2, 2).tolist()] for row in spans
    ]


@pytest.mark.parametrize(
    ("kind", "ids", "expected"),
    [
        ("int64", np.array([[51, -3], [7, 51]]), [["user:51", "é:-3"], ["user:7", "é:51"]]),
        ("uint64", np.array([[2**64 - 1, 0]], np.uint64), [[f"user:{2**64 - 1}", "é:0"]]),
    ],
)
def test_integers_are_written_after_the_name_of_their_side(kind, ids, expected):
    text, spans = prefix_ids(ids.view(np.int64), None, ("user", "é"), kind=kind)
    assert decode(text, spans) == expected


def test_texts_are_copied_after_the_name_of_their_side():
    text = np.frombuffer(b"ann,bob,,cy", dtype=np.uint8)
    ends = np.array([[0, 3, 4, 7], [8, 8, 9, 11]])
    found = decode(*prefix_ids(ends, text, ("user", "item"), kind="text"))
    assert found == [["user:ann", "item:bob"], ["user:", "item:cy"]]


def test_no_edges_have_no_ids():
    nothing = np.zeros((0, 4), np.int64)
    text, spans = prefix_ids(nothing, np.zeros(0, np.uint8), ("user", "item"), kind="text")
    assert text.size == 0
    assert spans.shape == (0, 4)


@pytest.mark.parametrize("columns", [("a", "a"), (0, 1), ("a", 1)])
def test_sides_without_different_names_are_source_and_target(columns):
    assert side_names(columns) == ("source", "target")
    assert side_names(("a", "b", "weight")) == ("a", "b")
