"""Budgets, options of a stream, and memory limits."""

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, StreamOptions, StreamSparsifier, sources
from graphsqueak.sparsifiers.budget import (
    Budget,
    check_memory_limit,
    edges_within,
    in_memory_bytes,
    predicted_epsilon,
    stream_bytes,
)
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
def test_invalid_budgets_raise(arguments, message):
    with pytest.raises(InputError, match=message):
        StreamSparsifier(**arguments)


@pytest.mark.parametrize("order", ["random", "sorted"])
def test_fraction_of_a_stream_of_unknown_length_is_as_accurate_as_the_number(order):
    """A stream that kept the scale of its first resparsification would keep too few edges."""
    options = StreamOptions(chunk_size=4096, min_budget=2000)
    graph = sources.erdos_renyi(400, 160_000, random_state=60_113).to_edge_list()
    if order == "sorted":
        order = np.argsort(graph.tail, kind="stable")
        columns = (graph.tail[order], graph.head[order], graph.weight[order])
        graph = EdgeList.from_validated(*columns, graph.n_nodes)
    by_fraction = run(graph, options, keep=0.05)
    by_number = run(graph, options, n_edges=8000)
    assert 0.97 * 8000 <= by_fraction.n_edges <= 8000
    assert reference.epsilon(graph, by_fraction) < 1.1 * reference.epsilon(graph, by_number)


def run(graph, options, **budget):
    stream = StreamSparsifier(**budget, options=options, random_state=5)
    return stream.partial_fit(graph).sparsifier()


def test_epsilon_and_number_of_edges_are_inverse():
    n_edges = Budget(None, 0.4, None)(n_nodes=1000, n_seen=10**6)
    assert predicted_epsilon(1000, n_edges) == pytest.approx(0.4)
    assert predicted_epsilon(1000, 0) == np.inf


def test_fraction_has_a_minimum_during_the_stream_only():
    budget = Budget(None, None, 0.1)
    assert budget(n_nodes=10, n_seen=5000) == 500
    assert budget.during_stream(10, 5000, least=2000) == 2000
    assert Budget(700, None, None).during_stream(10, 5000, least=2000) == 700


def test_fractions_of_sources_that_are_never_enumerated_raise():
    class Implicit(sources.EdgeSource):
        is_materialized = False

    with pytest.raises(InputError, match="never enumerated"):
        Budget(None, None, 0.1).validate(Implicit())
    assert Budget(5, None, None).validate(Implicit()).n_edges == 5
    graph = sources.path(3).to_edge_list()
    assert Budget(5, None, None).sample_source(graph) is graph


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"low_watermark": 0.5}, "low_watermark"),
        ({"high_watermark": 1.0}, "high_watermark"),
        ({"chunk_size": 0}, "chunk_size"),
        ({"filter_arrivals": 2}, "filter_arrivals"),
        ({"memory_limit": -1}, "memory_limit"),
    ],
)
def test_invalid_options_raise(options, message):
    with pytest.raises(InputError, match=message):
        StreamOptions(**options)


def test_watermarks_keep_their_ratio_within_a_memory_limit():
    limit = stream_bytes(100, 1500)
    high, low = StreamOptions(memory_limit=limit).watermarks(1000, n_nodes=100)
    assert (high, low) == (1500, 750)
    in_place = StreamOptions(inplace_min_edges=1000)
    assert in_place.watermarks(1000, n_nodes=100) == (2000, 1250)


def test_memory_limits():
    assert edges_within(stream_bytes(1000, 70_000), 1000) == 70_000
    assert edges_within(0, 1000) == 1000
    assert in_memory_bytes(1000, 70_000) > stream_bytes(1000, 70_000)
    with pytest.raises(InputError, match="at least 600 MiB"):
        check_memory_limit(10**8)
