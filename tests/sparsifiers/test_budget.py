"""Budgets: what is refused, and a share that grows while nobody knows how long a stream is."""

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, StreamOptions, StreamSparsifier, sources
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
def test_a_share_of_a_stream_of_unknown_length_is_as_good_as_the_number(order):
    """A stream that stayed with the scale of its first shrink would be left with a fraction."""
    options = StreamOptions(chunk_size=4096, min_budget=2000)
    graph = sources.erdos_renyi(400, 160_000, random_state=60_113).to_edge_list()
    if order == "sorted":
        order = np.argsort(graph.tail, kind="stable")
        columns = (graph.tail[order], graph.head[order], graph.weight[order])
        graph = EdgeList.from_validated(*columns, graph.n_nodes)
    share = run(graph, options, keep=0.05)
    number = run(graph, options, n_edges=8000)
    assert 0.97 * 8000 <= share.n_edges <= 8000
    assert reference.epsilon(graph, share) < 1.1 * reference.epsilon(graph, number)


def run(graph, options, **budget):
    stream = StreamSparsifier(**budget, options=options, random_state=5)
    return stream.partial_fit(graph).sparsifier()
