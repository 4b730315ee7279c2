"""Symmetry of a matrix in one pass, and nodes 1, ..., n."""

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError
from graphsqueak.sources.files.adjacency import SymmetryCheck, numbers_from_one


def test_symmetry_is_found_in_any_order_and_any_blocks():
    rng = np.random.default_rng(4)
    entries = rng.integers(1, 200, size=(5000, 2))
    values = rng.exponential(size=5000)
    both = np.concatenate([entries, entries[:, ::-1]])
    order = rng.permutation(len(both))
    check = SymmetryCheck()
    for block in np.array_split(order, 7):
        check.add(both[block], np.tile(values, 2)[block])
    assert check.holds
    # One entry of 10,000 differs in the sixth digit.
    check.add(both[:1], np.array([1e-6]))
    assert not check.holds


def test_ids_that_are_not_numbered_are_refused():
    assert numbers_from_one(EdgeList(tail=[0], head=[1])).tolist() == [1, 2]
    for ids in ([1, 3], [0, 2], np.array(["1", "2"])):
        with pytest.raises(InputError, match=r"number nodes 1, \.\.\., n"):
            numbers_from_one(EdgeList(tail=[0], head=[1], ids=ids))
