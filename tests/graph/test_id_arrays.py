"""Test arrays of node ids: types, explicit order, attributes and permutations."""

import pickle

import numpy as np
import pytest

from graphsqueak.graph.id_arrays import (
    as_ids,
    as_object_array,
    as_permutation,
    first_ids,
    has_explicit_order,
    is_integer,
    node_attributes,
    with_attributes,
    with_explicit_order,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (3, True),
        (np.uint8(3), True),
        (-(2**63) + 1, True),
        (2**63, False),
        (True, False),
        (np.True_, False),
        (3.0, False),
        ("3", False),
    ],
)
def test_integers_fit_into_64_bits_and_booleans_are_none(name, expected):
    assert is_integer(name) == expected


def test_ids_are_integers_only_if_all_are():
    assert as_ids([3, np.int8(4)]).dtype == np.int64
    assert as_ids([]).dtype == np.int64
    assert as_ids([3, "3"]).tolist() == [3, "3"]
    assert as_ids([1, 2**70]).tolist() == [1, 2**70]


def test_tuples_are_single_objects():
    array = as_object_array([(0, 1), (2, 3)])
    assert array.shape == (2,)
    assert array.tolist() == [(0, 1), (2, 3)]
    assert with_explicit_order([(0, 1), (2, 3)]).tolist() == [(0, 1), (2, 3)]


def test_order_and_attributes_survive_pickling_but_not_slicing():
    ids = with_attributes(np.array([7, 8]), [{"age": 3}, {}])
    ids = with_explicit_order(ids)
    assert with_explicit_order(ids) is ids
    copied = pickle.loads(pickle.dumps(ids))  # noqa: S301 - our own bytes
    assert has_explicit_order(copied)
    assert node_attributes(copied) == [{"age": 3}, {}]
    assert not has_explicit_order(copied[:1])
    assert node_attributes(copied[:1]) is None


def test_nodes_without_attributes_have_plain_ids():
    ids = np.array([7, 8])
    assert with_attributes(ids, [{}, {}]) is ids
    assert node_attributes(ids) is None
    assert not has_explicit_order(ids)
    assert has_explicit_order(None)


def test_first_ids_keep_the_attributes_of_all_nodes():
    ids = with_attributes(np.array([7, 8]), [{"age": 3}, {}])
    assert first_ids(ids, 2) is ids
    assert first_ids(ids, 1).tolist() == [7]
    assert first_ids(None, 1) is None


@pytest.mark.parametrize(
    "ids",
    [
        np.array([2, 0, 1]),
        np.array([2, 0, 1], dtype=np.uint64),
        np.array([2.0, 0.0, 1.0]),
        np.array([2, 0.0, np.int8(1)], dtype=object),
        np.array([2, 0, 1, 9]),
    ],
)
def test_permutations_are_recognized(ids):
    assert as_permutation(ids, 3).tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    "ids",
    [
        None,
        np.array([2, 0, 3]),
        np.array([2, 0, 0]),
        np.array([-1, 0, 1]),
        np.array([0.5, 0.0, 1.0]),
        np.array([np.nan, 0.0, 1.0]),
        np.array([np.inf, 0.0, 1.0]),
        np.array(["0", "1", "2"]),
        np.array([True, 0, 2], dtype=object),
        np.array([False, True, True]),
    ],
)
def test_other_ids_are_not_permutations(ids):
    assert as_permutation(ids, 3) is None
