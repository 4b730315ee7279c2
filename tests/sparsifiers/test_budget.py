"""Budgets: what is refused, and a share that grows while nobody knows how long a stream is."""

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, StreamSparsifier, sources
from graphsqueak.sparsifiers import budget
from graphsqueak.sparsifiers.stream import engine
from tests import reference


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one"),
        ({"n_edges": 5, "keep": 0.1}, "n_edges and keep"),
        ({"keep": 1.5}, "at most 1"),
        ({"epsilon": 0.0}, "above 0"),
        ({"epsilon": 1.0}, "below 1"),
        ({"n_edges": 0}, "at least 1"),
        ({"n_edges": 5, "ridge": -1.0}, "ridge"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        StreamSparsifier(**arguments)


@pytest.mark.parametrize("order", ["random", "sorted"])
def test_a_share_of_a_stream_of_unknown_length_is_as_good_as_the_number(monkeypatch, order):
    """A stream that stayed with the scale of its first shrink would be left with a fraction."""
    monkeypatch.setattr(engine, "CHUNK", 4096)
    monkeypatch.setattr(budget, "_FEWEST", 2000)
    graph = sources.erdos_renyi(400, 160_000, random_state=60_113).to_edge_list()
    if order == "sorted":
        places = np.argsort(graph.tail, kind="stable")
        columns = (graph.tail[places], graph.head[places], graph.weight[places])
        graph = EdgeList.from_clean(*columns, graph.n_nodes)
    share = StreamSparsifier(keep=0.05, random_state=5).partial_fit(graph).sparsifier()
    number = StreamSparsifier(n_edges=8000, random_state=5).partial_fit(graph).sparsifier()
    assert 0.97 * 8000 <= share.n_edges <= 8000
    assert reference.epsilon(graph, share) < 1.1 * reference.epsilon(graph, number)
