"""Test that integer ids are numbered like keys of a dictionary, in order of first appearance."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsqueak.nodes.integer_ids import IntegerIds

any_int64 = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.integers(-5, 50), st.sampled_from([-(2**63), -1, 0, 2**62])
)


def number_by_dictionary(values):
    number = {}
    return [number.setdefault(value, len(number)) for value in values], list(number)


@settings(max_examples=200, deadline=None)
@given(st.lists(any_int64, min_size=1, max_size=200), st.integers(1, 50))
def test_integers_are_numbered_like_a_dictionary_does(values, piece):
    ids = IntegerIds(np.int64)
    array = np.array(values)
    found = [ids.number(array[k : k + piece]) for k in range(0, len(values), piece)]
    nodes, order = number_by_dictionary(values)
    assert np.concatenate(found).tolist() == nodes
    assert np.asarray(ids).tolist() == order


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(any_int64, any_int64), min_size=1, max_size=99), st.integers(1, 50))
def test_ends_of_edges_are_numbered_row_by_row_in_both_memory_layouts(pairs, piece):
    by_rows, by_columns = (IntegerIds(np.int64) for _ in range(2))
    rows = np.array(pairs)
    columns = np.array(rows.T, order="C").T
    nodes, order = number_by_dictionary(rows.ravel().tolist())
    for ids, ends in ((by_rows, rows), (by_columns, columns)):
        found = [ids.number(ends[k : k + piece]) for k in range(0, len(pairs), piece)]
        assert np.concatenate(found).ravel().tolist() == nodes
        assert np.asarray(ids).tolist() == order


@pytest.mark.parametrize("scale", [1, 1000, 10**9])
def test_more_ends_than_the_first_tables_have_entries(scale):
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


def test_numbers_survive_the_change_to_a_hash_table():
    ids = IntegerIds(np.int64)
    small = np.arange(5000)
    assert ids.number(small).tolist() == small.tolist()
    assert ids.number(np.array([2**40, -1, 17])).tolist() == [5000, 5001, 17]
    assert ids.number(small).tolist() == small.tolist()


def test_memory_of_large_ids_is_proportional_to_their_number():
    values = np.arange(100_000) * 10**12
    tracemalloc.start()
    ids = IntegerIds(np.int64)
    ids.number(values)
    in_use, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # At most four slots of 16 bytes per node, and an array of ids that doubles.
    assert in_use <= (64 + 16) * 100_000 + 2**16


@pytest.mark.parametrize("shape", [(0,), (0, 2)])
def test_no_ids_have_no_numbers(shape):
    ids = IntegerIds(np.int64)
    assert ids.number(np.zeros(shape, np.int64)).shape == shape
    assert len(ids) == 0


def test_unsigned_ids_are_returned_unsigned():
    ids = IntegerIds(np.uint64)
    values = np.array([2**64 - 1, 3, 2**63], dtype=np.uint64)
    assert ids.number(values.view(np.int64)).tolist() == [0, 1, 2]
    assert np.asarray(ids).tolist() == values.tolist()
