"""Test edges with times."""

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, TimedEdges
from graphsqueak.graph.timed_edges import checksum


def test_times_of_dropped_edges_are_dropped():
    edges = TimedEdges(
        tail=[0, 1, 1, 2], head=[1, 1, 2, 0], weight=[1.0, 1.0, 0.0, 2.0], time=[5, 6, 7, 8]
    )
    assert edges.time.tolist() == [5.0, 8.0]
    assert (edges.n_self_loops, edges.n_zero_weights) == (1, 1)


@pytest.mark.parametrize(
    ("time", "message"),
    [
        ([5], "time has 1 entries for 2 edges; pass one per edge"),
        ([5, np.nan], r"the time of edge 1 is infinite or not a number \(nan\)"),
        ([-np.inf, 5], "the time of edge 0 is infinite"),
    ],
)
def test_invalid_times_are_errors(time, message):
    with pytest.raises(InputError, match=message):
        TimedEdges(tail=[0, 1], head=[1, 2], time=time)


def test_parts_are_views_with_their_times():
    edges = TimedEdges(tail=[0, 1, 2], head=[1, 2, 3], time=[5, 6, 7], ids=[9, 8, 7, 6])
    part = edges.part(1, 3)
    assert isinstance(part, TimedEdges)
    assert part.time.tolist() == [6.0, 7.0]
    assert part.ids.tolist() == [9, 8, 7, 6]
    assert np.shares_memory(part.time, edges.time)


def test_times_are_added_to_edges_without_a_copy():
    edges = EdgeList(tail=[0, 1], head=[1, 2], weight=[2.0, 3.0])
    time = np.array([5.0, 6.0])
    timed = TimedEdges.from_edges(edges, time)
    assert timed.tail is edges.tail
    assert timed.time is time
    with pytest.raises(AttributeError, match="immutable"):
        timed.time = time


@pytest.mark.parametrize("column", ["tail", "head", "weight", "time"])
def test_checksums_depend_on_every_column_but_not_on_batches(column):
    columns = {
        "tail": np.array([0, 1, 2]),
        "head": np.array([1, 2, 3]),
        "weight": np.array([1.0, 2.0, 3.0]),
        "time": np.array([5.0, 6.0, 7.0]),
    }
    whole = TimedEdges(**columns, n_nodes=9)
    batches = 0
    for start, stop in ((0, 1), (1, 1), (1, 3)):
        batches = checksum(whole.part(start, stop), batches)
    assert batches == checksum(whole)
    other = TimedEdges(**columns | {column: columns[column] + 4}, n_nodes=9)
    assert checksum(other) != checksum(whole)
