"""sparsify(): what one call does beyond the stream."""

import inspect
import pickle

import numpy as np
import pytest

from graphsqueak import (
    InputError,
    StreamSparsifier,
    read_edges,
    sources,
    sparsify,
    write_edges,
)
from tests.sparsifiers.stream.test_stream_sparsifier import small_graph


def test_small_graphs_come_back_whole():
    graph = small_graph()
    result = sparsify(graph, n_edges=10_000)
    np.testing.assert_allclose(result.laplacian().toarray(), graph.laplacian().toarray())


def test_too_small_a_budget_is_refused_and_the_least_is_named():
    # 49 of 1,225 edges.
    for size in ({"n_edges": 30}, {"keep": 0.03}):
        with pytest.raises(
            InputError, match=r"too few to keep 50 .* n_edges=49 or keep=0.04, or m"
        ):
            sparsify(sources.complete(50), **size)
    assert sparsify(sources.complete(50), keep=0.04, random_state=7).n_edges == 49


def test_a_graph_in_memory_gets_its_share():
    graph = sources.erdos_renyi(1000, 1_500_000, random_state=31).to_edge_list()
    assert 0.9 * 75_000 <= sparsify(graph, keep=0.05, random_state=31).n_edges <= 75_000


@pytest.fixture
def file_of_edges(tmp_path):
    path = tmp_path / "edges.tsv"
    write_edges(sources.erdos_renyi(200, 30_000, random_state=12), path)
    return path


def test_one_pass_saves_its_state_and_goes_on_from_it(file_of_edges, tmp_path):
    saved, plan = tmp_path / "run.ckpt", {"n_edges": 2000, "random_state": 5}
    whole = sparsify(read_edges(file_of_edges), **plan)
    first = sparsify(
        read_edges(file_of_edges, batch_size=7000), **plan, checkpoint=saved, checkpoint_interval=0
    )
    assert StreamSparsifier.load(saved).n_edges_seen_ == 30_000
    half = StreamSparsifier(n_edges=2000, random_state=5)
    half.partial_fit(next(iter(read_edges(file_of_edges, batch_size=12_345)))).save(saved)
    again = sparsify(read_edges(file_of_edges), **plan, checkpoint=saved, resume=True)
    for result in (first, again):
        assert np.array_equal(result.weight, whole.weight)


def test_a_checkpoint_of_another_run_is_refused(file_of_edges, tmp_path):
    saved = tmp_path / "run.ckpt"
    sparsify(read_edges(file_of_edges), n_edges=2000, random_state=5, checkpoint=saved)
    for other, words in [
        ({"n_edges": 3000, "random_state": 5}, "n_edges=2000, not 3000"),
        ({"n_edges": 2000, "random_state": 6}, "another random_state"),
        ({"n_edges": 2000, "memory_limit": 10**9}, "memory_limit=None, not 1000000000"),
    ]:
        with pytest.raises(InputError, match=words):
            sparsify(read_edges(file_of_edges), **other, checkpoint=saved, resume=True)
    with pytest.raises(InputError, match="resume=True needs checkpoint,"):
        sparsify(read_edges(file_of_edges), n_edges=2000, resume=True)


def test_one_pass_keeps_to_a_memory_limit_or_refuses_it(file_of_edges):
    plan = {"n_edges": 2000, "random_state": 5}
    roomy = sparsify(read_edges(file_of_edges), **plan, memory_limit=10**9)
    assert np.array_equal(roomy.weight, sparsify(read_edges(file_of_edges), **plan).weight)
    with pytest.raises(InputError, match="at least 600 MiB"):
        sparsify(read_edges(file_of_edges), **plan, memory_limit=10**8)
    with pytest.raises(InputError, match=r"100,000,000 edges need 9\.6 GiB"):
        sparsify(read_edges(file_of_edges), n_edges=10**8, memory_limit=10**9)


def test_one_pass_is_certified_on_request(file_of_edges):
    result = sparsify(read_edges(file_of_edges), n_edges=4000, certify=True, random_state=5)
    assert 0 < result.certificate.epsilon_upper < 1
    with file_of_edges.open("rb") as pipe, pytest.raises(InputError, match="a pipe can be read"):
        sparsify(read_edges(pipe), n_edges=4000, certify=True)


def test_one_seed_is_drawn_from_a_generator():
    graph = sources.erdos_renyi(100, 20_000, random_state=12).to_edge_list()
    result = sparsify(graph, n_edges=1000, random_state=np.random.default_rng(11))
    stream = StreamSparsifier(n_edges=1000, random_state=np.random.default_rng(11))
    assert np.array_equal(result.weight, stream.partial_fit(graph).sparsifier().weight)


def test_it_is_a_function_like_any_other():
    assert pickle.loads(pickle.dumps(sparsify)) is sparsify  # noqa: S301
    parameters = inspect.signature(sparsify).parameters
    assert {"checkpoint", "resume", "memory_limit", "certify"} <= parameters.keys()
    assert "Parameters" in sparsify.__doc__
