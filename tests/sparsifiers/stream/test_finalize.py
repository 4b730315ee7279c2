"""The sparsifier of a sample: bridges, in-place work, consumption and the predicted error."""

import networkx as nx
import numpy as np
import pytest

from graphsqueak import (
    EdgeList,
    InputError,
    StreamOptions,
    StreamSparsifier,
    sources,
    sparsify,
)
from graphsqueak.sparsifiers.error_prediction import sampling_error
from graphsqueak.sparsifiers.stream import finalize
from tests import reference
from tests.sparsifiers.stream.graphs import weighted_graph

N_BLOCKS = 10
BLOCK = 16  # nodes
IN_PLACE = StreamOptions(inplace_min_edges=1, degree_approx_min_nodes=1, chunk_size=2**11)

VARIANTS = {
    "in memory": StreamOptions(chunk_size=64),
    "in place": StreamOptions(chunk_size=64, inplace_min_edges=1, degree_approx_min_nodes=1),
    "independent sampling": StreamOptions(chunk_size=64, dependent_rounding=False),
    "without a filter": StreamOptions(chunk_size=64, filter_arrivals=False),
}


@pytest.fixture(scope="module")
def graph():
    """Dense blocks joined by a tree of bridges, and pendant paths, in random order."""
    rng = np.random.default_rng(60_221)
    inside = rng.integers(BLOCK, size=(2, 3000)) + BLOCK * rng.integers(N_BLOCKS, size=3000)
    block = np.arange(1, N_BLOCKS)
    above = (rng.random(block.size) * block).astype(int)
    between = np.stack([BLOCK * block + 3, BLOCK * above + rng.integers(BLOCK, size=block.size)])
    n_inner = N_BLOCKS * BLOCK
    pendant = np.arange(n_inner, n_inner + 30)
    to = np.where(pendant % 3 == 0, rng.integers(n_inner, size=30), pendant - 1)
    tail, head = np.concatenate([inside, between, np.stack([pendant, to])], axis=1)
    weight = rng.lognormal(sigma=1.5, size=tail.size)
    order = rng.permutation(tail.size)
    return EdgeList(tail=tail[order], head=head[order], weight=weight, n_nodes=n_inner + 30)


def bridges_of(graph):
    """Weight of every bridge, by its ends."""
    simple = graph.simplified()
    weight = {
        (min(u, v), max(u, v)): w
        for u, v, w in zip(
            simple.tail.tolist(), simple.head.tolist(), simple.weight.tolist(), strict=True
        )
    }
    return {
        pair: weight[pair]
        for u, v in nx.bridges(nx.Graph(list(weight)))
        for pair in [(min(u, v), max(u, v))]
    }


def check_bridges(result, graph, rtol):
    expected = bridges_of(graph)
    found = {
        (min(u, v), max(u, v)): w
        for u, v, w in zip(
            result.tail.tolist(), result.head.tolist(), result.weight.tolist(), strict=True
        )
    }
    assert len(expected) >= 39
    assert expected.keys() <= found.keys()
    np.testing.assert_allclose(
        [found[pair] for pair in expected], list(expected.values()), rtol=rtol
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_bridges_keep_their_weights_through_every_step(variant, graph, tmp_path):
    """Through arrivals, resparsifications, a checkpoint, a merge and the rescaling."""
    settings = {"n_edges": 700, "options": VARIANTS[variant]}
    rtol = 1e-6 if variant == "in place" else 1e-12  # large samples are in single precision
    whole = StreamSparsifier(**settings, random_state=1).partial_fit(graph)
    assert whole.n_resparsifications_ > 0
    result = whole.sparsifier()
    assert result.n_edges < 0.7 * graph.simplified().n_edges
    check_bridges(result, graph, rtol)
    first = StreamSparsifier(**settings, random_state=2).partial_fit(graph.part(0, 1200))
    second = StreamSparsifier(**settings, random_state=3).partial_fit(graph.part(1200, 2600))
    merged = first.merge(second)
    merged.save(tmp_path / "half.ckpt")
    resumed = StreamSparsifier.load(tmp_path / "half.ckpt").partial_fit(graph.part(2600))
    check_bridges(resumed.sparsifier(consume=True), graph, rtol)


def test_bridges_keep_their_weights_in_sparsify(graph):
    check_bridges(sparsify(graph, n_edges=900, random_state=4, method="stream"), graph, 1e-12)


def test_edges_that_are_not_bridges_are_rescaled(graph):
    """Degrees are met although bridges keep their weights."""
    whole = StreamSparsifier(n_edges=700, options=VARIANTS["in memory"], random_state=1)
    result = whole.partial_fit(graph).sparsifier()
    plain = StreamSparsifier(
        n_edges=700, options=StreamOptions(chunk_size=64, rescale_to_degrees=False), random_state=1
    )
    other = plain.partial_fit(graph).sparsifier()
    error = np.abs(result.degrees() / graph.degrees() - 1).mean()
    assert error < 0.02
    assert error < 0.2 * np.abs(other.degrees() / graph.degrees() - 1).mean()


def sparsify_in_parts(graph, *, seed, options=IN_PLACE, cuts=(), consume=False):
    stream = StreamSparsifier(n_edges=3000, random_state=seed, options=options)
    for start, stop in zip((0, *cuts), (*cuts, graph.n_edges), strict=True):
        stream.partial_fit(graph.part(start, stop))
    return stream, stream.sparsifier(consume=consume)


def test_the_in_place_code_is_as_accurate():
    """Medians over five seeds differ by less than 10 %."""
    graph = sources.erdos_renyi(300, 30_000, random_state=9).to_edge_list()
    simple = graph.simplified()
    variants = {"in place": IN_PLACE, "copied": StreamOptions(chunk_size=2**11)}
    errors = {name: [] for name in variants}
    for seed in range(5):
        for name, options in variants.items():
            stream, result = sparsify_in_parts(graph, seed=seed, options=options)
            assert 0.9 * 3000 <= result.n_edges <= 3000
            assert result.weight.dtype == np.float64
            assert stream.n_resparsifications_ > 0
            errors[name].append(reference.epsilon(simple, result))
    assert np.median(errors["in place"]) <= 1.1 * np.median(errors["copied"])


def test_the_in_place_code_is_unbiased():
    """The mean weight of a cut over 200 seeds is within six standard errors."""
    graph = sources.erdos_renyi(100, 8000, random_state=2).to_edge_list()
    options = StreamOptions(
        inplace_min_edges=1, degree_approx_min_nodes=1, chunk_size=2**10, rescale_to_degrees=False
    )
    is_across = (graph.tail < 50) != (graph.head < 50)
    cuts = []
    for seed in range(200):
        stream = StreamSparsifier(n_edges=1500, random_state=seed, options=options)
        result = stream.partial_fit(graph).sparsifier()
        cuts.append(result.weight[(result.tail < 50) != (result.head < 50)].sum())
    expected = graph.weight[is_across].sum()
    assert abs(np.mean(cuts) - expected) <= 6 * np.std(cuts) / np.sqrt(len(cuts))


def test_batches_checkpoints_and_consumption_do_not_change_the_result(tmp_path):
    graph = sources.erdos_renyi(300, 30_000, random_state=9).to_edge_list()
    stream, result = sparsify_in_parts(graph, seed=4)
    again = stream.sparsifier()  # the state was not changed
    _, in_parts = sparsify_in_parts(graph, seed=4, cuts=(777, 20_000))
    consumed, from_consumed = sparsify_in_parts(graph, seed=4, consume=True)
    first = StreamSparsifier(n_edges=3000, random_state=4, options=IN_PLACE)
    first.partial_fit(graph.part(0, 21_111)).save(tmp_path / "run.ckpt")
    resumed = StreamSparsifier.load(tmp_path / "run.ckpt").partial_fit(graph.part(21_111))
    for other in (again, in_parts, from_consumed, resumed.sparsifier()):
        for column in ("tail", "head", "weight"):
            np.testing.assert_array_equal(getattr(other, column), getattr(result, column))
    assert consumed.n_edges_seen_ == graph.n_edges
    for method in (lambda: consumed.partial_fit(graph), consumed.sparsifier, consumed.to_bytes):
        with pytest.raises(InputError, match="has consumed this stream"):
            method()


@pytest.mark.filterwarnings("ignore::graphsqueak.errors.AccuracyWarning")
@pytest.mark.parametrize("n_read", [900, 4000])
def test_the_predicted_error_depends_on_the_number_of_edges_read(n_read, monkeypatch):
    """If edges were sampled before, their leverages in the graph were smaller."""
    calls = []

    def recorded(*arguments, **named):
        calls.append((named["n_seen"], arguments[2], sampling_error(*arguments, **named)))
        return calls[-1][-1]

    monkeypatch.setattr(finalize, "sampling_error", recorded)
    graph = weighted_graph().part(0, n_read)
    options = StreamOptions(chunk_size=64, high_watermark=6.0)
    stream = StreamSparsifier(n_edges=200, options=options, random_state=5).partial_fit(graph)
    assert (stream.n_resparsifications_ > 0) == (n_read == 4000)
    stream.sparsifier()
    ((n_seen, budget, error),) = calls
    assert n_seen == (4000 if stream.n_resparsifications_ else None)
    assert budget == 200
    assert stream.epsilon_predicted_ == error > 0
