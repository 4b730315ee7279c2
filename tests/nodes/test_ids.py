"""Ids are numbered in order of first appearance, exactly, whatever they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsqueak.nodes.integer_ids import IntegerIds
from graphsqueak.nodes.sides import side_names
from graphsqueak.nodes.text_ids import TextIds

any_int64 = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.integers(-5, 50), st.sampled_from([-(2**63), -1, 0, 2**62])
)


def numbered(values):
    number = {}
    return [number.setdefault(value, len(number)) for value in values], list(number)


@settings(max_examples=200, deadline=None)
@given(st.lists(any_int64, min_size=1, max_size=200), st.integers(1, 50))
def test_integers_are_numbered_like_a_dictionary_does(values, piece):
    ids = IntegerIds(np.int64)
    array = np.array(values)
    found = [ids.number(array[k : k + piece]) for k in range(0, len(values), piece)]
    nodes, order = numbered(values)
    assert np.concatenate(found).tolist() == nodes
    assert np.asarray(ids).tolist() == order


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(any_int64, any_int64), min_size=1, max_size=99), st.integers(1, 50))
def test_ends_of_edges_are_numbered_in_order_whichever_way_they_lie(pairs, piece):
    by_rows, by_columns = (IntegerIds(np.int64, free_table=32) for _ in range(2))
    rows = np.array(pairs)
    columns = np.array(rows.T, order="C").T
    nodes, order = numbered(rows.ravel().tolist())
    for ids, ends in ((by_rows, rows), (by_columns, columns)):
        found = [ids.number(ends[k : k + piece]) for k in range(0, len(pairs), piece)]
        assert np.concatenate(found).ravel().tolist() == nodes
        assert np.asarray(ids).tolist() == order


@pytest.mark.parametrize("scale", [1, 1000, 10**9])
def test_more_ends_than_there_was_room_for(scale):
    values = np.random.default_rng(481217).permutation(49_999) * scale
    ids = IntegerIds(np.int64)
    assert ids.number(np.r_[values[0], values].reshape(-1, 2)).ravel()[1:].tolist() == list(
        range(49_999)
    )
    assert np.array_equal(np.asarray(ids), values)


@pytest.mark.parametrize("scale", [1, 7, 10**9, 10**13])
def test_many_integers_dense_and_sparse(scale):
    values = np.random.default_rng(481216).permutation(50_000) * scale
    ids = IntegerIds(np.int64)
    assert ids.number(values).tolist() == list(range(50_000))
    assert ids.number(values[::-1]).tolist() == list(range(50_000))[::-1]
    assert np.array_equal(np.asarray(ids), values)


def test_a_dense_table_turns_into_a_hash_table_without_forgetting():
    ids = IntegerIds(np.int64, free_table=4096)
    small = np.arange(5000)
    assert ids.number(small).tolist() == small.tolist()
    assert ids.number(np.array([2**40, -1, 17])).tolist() == [5000, 5001, 17]
    assert ids.number(small).tolist() == small.tolist()


def test_memory_of_sparse_ids_follows_their_number():
    ids = IntegerIds(np.int64)
    ids.number(np.arange(100_000) * 10**12)
    assert ids._table is None
    assert ids._slots.nbytes <= 64 * 100_000 + 2**16


def test_unsigned_ids_come_back_unsigned():
    ids = IntegerIds(np.uint64)
    values = np.array([2**64 - 1, 3, 2**63], dtype=np.uint64)
    assert ids.number(values.view(np.int64)).tolist() == [0, 1, 2]
    assert np.asarray(ids).tolist() == values.tolist()


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
    nodes, order = numbered(words)
    assert ids.number(*spans_of(words)).ravel().tolist() == nodes
    assert np.asarray(ids).tolist() == order
    assert ids[1:].tolist() == order[1:]


def test_many_texts():
    words = [f"node-{k * k}-{'x' * (k % 37)}" for k in range(20_000)]
    ids = TextIds()
    assert ids.number(*spans_of(words)).ravel().tolist() == list(range(20_000))
    assert ids.number(*spans_of(words[::-1])).ravel().tolist() == list(range(20_000))[::-1]
    assert np.asarray(ids).tolist() == words


def test_two_columns_of_one_name_keep_their_sides_apart():
    assert side_names(("id", "id", "weight")) == ("source", "target")
    assert side_names(("user", 1)) == ("source", "target")
