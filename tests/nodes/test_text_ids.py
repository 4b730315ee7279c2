"""Test that text ids are numbered like keys of a dictionary, in order of first appearance."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsqueak.nodes.text_ids import TextIds


def number_by_dictionary(values):
    number = {}
    return [number.setdefault(value, len(number)) for value in values], list(number)


def spans_of(words):
    encoded = [word.encode() for word in words]
    stops = np.cumsum([0, *map(len, encoded)])
    text = np.frombuffer(b"".join(encoded) + b"\0", dtype=np.uint8)
    return text, np.column_stack([stops[:-1], stops[1:]]).reshape(-1, 4)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=12), min_size=2, max_size=150),
    st.sampled_from([64, 3, 0]),
)
def test_text_is_numbered_like_a_dictionary_does_even_if_all_hashes_collide(words, hash_bits):
    words = words[: len(words) // 2 * 2]
    ids = TextIds(hash_bits=hash_bits)
    nodes, order = number_by_dictionary(words)
    assert ids.number(*spans_of(words)).ravel().tolist() == nodes
    assert np.asarray(ids).tolist() == order
    assert ids[1:].tolist() == order[1:]


def test_many_texts():
    words = [f"node-{k * k}-{'x' * (k % 37)}" for k in range(20_000)]
    ids = TextIds()
    assert ids.number(*spans_of(words)).ravel().tolist() == list(range(20_000))
    assert ids.number(*spans_of(words[::-1])).ravel().tolist() == list(range(20_000))[::-1]
    assert np.asarray(ids).tolist() == words
