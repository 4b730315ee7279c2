"""The chain of Kelner and Levin with the constants of the thesis: guarantee, size, steps."""

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, StreamSparsifier, effective_resistance, sources
from graphsqueak.randomness import Step, child_seed
from graphsqueak.sparsifiers.stream import kelner_levin
from graphsqueak.sparsifiers.stream.kelner_levin import (
    _upper_resistances,
    kelner_levin_copies,
    kelner_levin_engine,
)
from tests import reference

EPSILON, DELTA = 0.5, 0.1


def parallel_edges(n_nodes=30, n_edges=60_000, seed=271_828):
    rng = np.random.default_rng(seed)
    tail = rng.integers(n_nodes, size=n_edges)
    head = (tail + rng.integers(1, n_nodes, size=n_edges)) % n_nodes
    return EdgeList(tail=tail, head=head, weight=rng.uniform(0.5, 2, n_edges), n_nodes=n_nodes)


def run_engine(graph, n_copies, seed):
    engine = kelner_levin_engine(None, n_copies, seed=seed)
    engine.ingest(graph.tail, graph.head, graph.weight, graph.n_nodes)
    return engine


def finalized(engine):
    return engine.finalize(engine.final_budget()).edges


def merged(one, two, *, seed):
    """The engine of two that number their nodes alike."""
    node_maps = [np.arange(engine.state.n_nodes, dtype=np.int32) for engine in (one, two)]
    return one.merge([one, two], node_maps, seed=seed)


@pytest.mark.slow
def test_the_theorem_holds_at_its_own_number_of_copies():
    graph = parallel_edges()
    n_copies = kelner_levin_copies(EPSILON, delta=DELTA, n_nodes=30, n_resparsifications=8)
    failures = 0
    for seed in range(200):
        engine = run_engine(graph, n_copies, 7_919 * seed + 3)
        assert engine.state.n_resparsifications >= 1
        kept = finalized(engine)
        assert kept.tail.size <= 3 * n_copies * graph.n_nodes
        result = EdgeList.from_validated(kept.tail, kept.head, kept.weight, 30)
        failures += reference.epsilon(graph, result) > EPSILON
    assert failures <= DELTA * 200


def test_components_may_be_lost_with_few_copies_but_not_by_the_fast_method():
    """Two dense halves joined by two edges; one copy of each edge, no spanning forest."""
    dense = [sources.erdos_renyi(20, 400, random_state=seed).to_edge_list() for seed in (3, 4)]
    tail = np.concatenate([[0, 1], *(20 * i + half.tail for i, half in enumerate(dense))])
    head = np.concatenate([[20, 21], *(20 * i + half.head for i, half in enumerate(dense))])
    graph = EdgeList(tail=tail, head=head, n_nodes=40)
    n_pieces = []
    for seed in range(20):
        kept = finalized(run_engine(graph, 1, seed))
        result = EdgeList.from_validated(kept.tail, kept.head, kept.weight, 40)
        n_pieces.append(result.components().max() + 1)
        fast = StreamSparsifier(n_edges=60, random_state=seed).partial_fit(graph).sparsifier()
        assert fast.components().max() == 0
    assert max(n_pieces) > 1


@pytest.mark.slow
def test_the_mean_laplacian_is_that_of_the_graph():
    graph = parallel_edges(10, 900, seed=577_215)
    expected = graph.laplacian().toarray()
    runs = []
    for seed in range(2000):
        one = run_engine(graph.part(0, 400), 6, 6_700_417 * seed + 5)
        two = run_engine(graph.part(400, 700), 6, 6_700_417 * seed + 6)
        both = merged(one, two, seed=7_919 * seed)
        both.ingest(graph.tail[700:], graph.head[700:], graph.weight[700:], 10)
        kept = finalized(both)
        runs.append(
            EdgeList.from_validated(kept.tail, kept.head, kept.weight, 10).laplacian().toarray()
        )
    mean = np.mean(runs, axis=0)
    sigma = np.std(runs, axis=0) / np.sqrt(len(runs))
    assert np.all(np.abs(mean - expected) < 6 * sigma + 1e-9)


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_every_step_matches_a_literal_chain(seed):
    """The same random numbers give the same edges, with the same weights up to rounding."""
    graph = parallel_edges(9, 700, seed=seed)
    weight = graph.weight * np.random.default_rng(seed).lognormal(size=700)
    engine = kelner_levin_engine(None, 7, seed=seed)
    engine.ingest(graph.tail, graph.head, weight, 9)
    assert engine.state.n_resparsifications >= 4
    numbers = [*range(engine.state.n_resparsifications), Step.FINAL]
    expected, _ = reference.thesis_chain(
        list(zip(graph.tail.tolist(), graph.head.tolist(), weight.tolist(), strict=True)),
        9,
        n_copies=7,
        block=9 * 7,
        generators=(np.random.default_rng(child_seed(seed, number)) for number in numbers),
    )
    kept = finalized(engine)
    numbers = sorted(expected)
    np.testing.assert_array_equal(kept.tail, graph.tail[numbers])
    np.testing.assert_array_equal(kept.head, graph.head[numbers])
    np.testing.assert_allclose(kept.weight, [expected[e] for e in numbers], rtol=1e-9)
    assert 9 < len(numbers) < 300


def test_a_merge_keeps_the_probabilities_of_both_chains():
    graph = parallel_edges(9, 600, seed=8)
    one = run_engine(graph.part(0, 300), 7, 11)
    two = run_engine(graph.part(300), 7, 12)
    both = merged(one, two, seed=13)
    parts = [engine.to_arrays()[0] for engine in (one, two)]
    arrays, _ = both.to_arrays()
    for name in ("tail", "head", "weight", "sample_prob", "sample_copies"):
        np.testing.assert_array_equal(arrays[name], np.concatenate([part[name] for part in parts]))
    np.testing.assert_allclose(both.state.degrees, graph.degrees())
    assert both.state.n_seen == 600
    assert both.state.n_components == 1
    assert min(arrays["sample_prob"]) < 0.5


def test_probabilities_never_rise():
    graph = parallel_edges(12, 2000)
    engine = kelner_levin_engine(None, 5, seed=9)
    before = {}
    for start in range(0, 2000, 100):
        part = graph.part(start, start + 100)
        engine.ingest(part.tail, part.head, part.weight, 12)
        arrays, _ = engine.to_arrays()
        keys = zip(*(arrays[name].tolist() for name in ("tail", "head", "weight")), strict=True)
        now = dict(zip(keys, arrays["sample_prob"].tolist(), strict=True))
        assert all(now[key] <= before[key] for key in now.keys() & before.keys())
        before = now
    assert engine.state.n_resparsifications > 3
    assert min(before.values()) < 0.2


def test_batches_and_checkpoints_do_not_change_the_result(tmp_path):
    graph = parallel_edges(12, 3000)
    whole = StreamSparsifier(method="kelner-levin", n_copies=10, random_state=4).partial_fit(graph)
    pieces = StreamSparsifier(method="kelner-levin", n_copies=10, random_state=4)
    for start in range(0, 3000, 70):
        pieces.partial_fit(graph.part(start, start + 70))
        if start == 1400:
            pieces.save(tmp_path / "run.ckpt")
            pieces = StreamSparsifier.load(tmp_path / "run.ckpt")
    assert whole.n_resparsifications_ > 0
    np.testing.assert_array_equal(whole.sparsifier().weight, pieces.sparsifier().weight)


def test_sketched_resistances_are_never_too_small(monkeypatch):
    """They are twice those of a sketch with enough probes for all edges."""
    graph = sources.erdos_renyi(150, 600, random_state=6).to_edge_list().simplified()
    exact = effective_resistance(graph, method="exact")
    monkeypatch.setattr(kelner_levin, "MAX_DENSE_NODES", 100)
    for seed in range(20):
        upper = _upper_resistances(graph, n_earlier=0, seed=seed)
        assert np.all(upper >= exact * (1 - 1e-9))
        assert (upper / exact).mean() <= 2.1


def test_sketches_and_samples_have_different_seeds(monkeypatch):
    seeds = []
    sketch = kelner_levin.resistances_in_memory

    def note(graph, **arguments):
        seeds.append(arguments["random_state"])
        return sketch(graph, **arguments)

    monkeypatch.setattr(kelner_levin, "resistances_in_memory", note)
    graph = sources.erdos_renyi(1100, 3000, random_state=3).to_edge_list().simplified()
    StreamSparsifier(method="kelner-levin", n_copies=2, random_state=4).partial_fit(
        graph
    ).sparsifier()
    sample_seed = child_seed(int(np.random.default_rng(4).integers(2**63)), Step.FINAL)
    assert seeds
    assert sample_seed not in seeds


def test_numbers_of_copies_of_the_theorem_and_of_the_default():
    assert kelner_levin_copies(0.5, delta=0.01, n_nodes=10**4, n_resparsifications=50) == 2937
    assert 4000 < kelner_levin_engine(0.5, None, seed=1).n_copies < 6000


@pytest.mark.parametrize(
    "arguments",
    [{"n_edges": 5}, {"keep": 0.5}, {"n_copies": 5, "ridge": 1.0}, {}, {"n_copies": 0}],
)
def test_the_kelner_levin_method_has_no_budget_and_no_ridge(arguments):
    with pytest.raises(InputError):
        StreamSparsifier(method="kelner-levin", **arguments)
