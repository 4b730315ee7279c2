"""Checkpoints hold every option and every field: a loaded stream goes on bit for bit."""

import inspect
from dataclasses import fields

import numpy as np
import pytest

from graphsqueak import EdgeList, StreamOptions, StreamSparsifier, TimedEdges, sources
from graphsqueak.sparsifiers.budget import stream_bytes
from graphsqueak.sparsifiers.stream.engine import Engine
from graphsqueak.sparsifiers.stream.resparsify import lead, make_guide
from tests.comparison import differences

pytestmark = pytest.mark.filterwarnings("ignore::graphsqueak.errors.AccuracyWarning")

SHORT = {"chunk_size": 64}  # many small chunks, so that short streams shrink often
BUDGET = {"n_edges": 150}
SHARE = {"keep": 0.1, "min_budget": 60, **SHORT}
MANY_FAVORED = {"favored_nodes": list(range(0, 40, 8)), **BUDGET, **SHORT}
WINDOW = {"window": 3.0, "n_edges": 60, **SHORT}

# For every option of StreamSparsifier and StreamOptions: a value that is not the default, and the
# settings that it is compared with. Fields of StreamOptions are told from the others by name.
CASES = {
    "n_edges": (170, BUDGET | SHORT),
    "epsilon": (0.8, BUDGET | SHORT),
    "keep": (0.1, BUDGET | SHORT | {"min_budget": 60}),
    "method": ("thesis", {"epsilon": 0.8, **SHORT}),
    "n_copies": (9, {"method": "thesis", "n_copies": 7}),
    "ridge": (30.0, BUDGET | SHORT),
    "favored_nodes": ([3, 8, 21], BUDGET | SHORT),
    "favored_share": (0.25, MANY_FAVORED),
    "half_life": (1.5, WINDOW),
    "window": (4.0, WINDOW),
    "buckets": (5, WINDOW),
    "filter_arrivals": (False, BUDGET | SHORT),
    "options.n_copies": (5, BUDGET | SHORT),
    "keep_spanning_forest": (False, BUDGET | SHORT),
    "clamp": (False, BUDGET | SHORT),
    "rescale_to_degrees": (False, BUDGET | SHORT),
    "dependent_rounding": (False, BUDGET | SHORT),
    "n_probes": (4, BUDGET | SHORT),
    "final_probes": (8, BUDGET | SHORT),
    "high_watermark": (2.0, BUDGET | SHORT),
    "low_watermark": (1.2, BUDGET | SHORT),
    "memory_limit": (stream_bytes(40, 200), BUDGET | SHORT),
    "chunk_size": (96, BUDGET | SHORT),
    "degree_approx_min_nodes": (10, BUDGET | SHORT),
    "inplace_min_edges": (10, BUDGET | SHORT),
    "min_budget": (90, SHARE),
}
OPTIONS = {field.name for field in fields(StreamOptions)}


@pytest.fixture(scope="module")
def edges():
    """Weighted edges with text ids and times, of a graph that grows denser as the stream goes on.

    A half of the nodes appears late, so that filters meet nodes that they do not know.
    """
    rng = np.random.default_rng(31_415)
    n = 4000
    many = np.where(np.arange(n) < n // 2, 20, 40)
    tail = (rng.random(n) * many).astype(int)
    head = (tail + 1 + (rng.random(n) * (many - 1)).astype(int)) % many
    weight = rng.lognormal(sigma=0.7, size=n)
    plain = EdgeList(tail=tail, head=head, weight=weight, n_nodes=40)
    return TimedEdges.of(plain, np.linspace(0, 10, n))


def make(settings):
    options = {
        name.removeprefix("options."): value
        for name, value in settings.items()
        if name.removeprefix("options.") in OPTIONS and name != "n_copies"
    }
    own = {
        name: value
        for name, value in settings.items()
        if name == "n_copies" or name.removeprefix("options.") not in OPTIONS
    }
    return StreamSparsifier(**own, options=StreamOptions(**options), random_state=271)


def of(case):
    """The settings of a case, and those that it is compared with."""
    value, base = CASES[case]
    changed = base | {case: value}
    if case in ("epsilon", "keep"):
        del changed["n_edges"]
    return changed, base


def test_every_option_has_a_case():
    own = set(inspect.signature(StreamSparsifier).parameters) - {"random_state", "options"}
    shared = {"n_copies"}
    assert {name.removeprefix("options.") for name in CASES} == own | OPTIONS
    assert own & OPTIONS == shared
    for name in CASES:
        defaults = StreamOptions() if name.removeprefix("options.") in OPTIONS else None
        if defaults is not None and name != "n_copies":
            assert CASES[name][0] != getattr(defaults, name.removeprefix("options."))


@pytest.mark.parametrize("case", CASES)
def test_a_loaded_stream_goes_on_bit_for_bit_under_every_option(case, edges, tmp_path):
    """And the option matters: without it the result is another one."""
    settings, base = of(case)
    straight = make(settings).partial_fit(edges)
    expected = straight.sparsifier()
    assert straight.n_shrinks_ > 1 or settings.get("epsilon")
    stream = make(settings)
    before = 0
    for stop in (700, 1333, 2600, 3500):
        stream.partial_fit(edges.part(before, stop)).save(tmp_path / "run.ckpt")
        loaded = StreamSparsifier.load(tmp_path / "run.ckpt")
        check_same_state(loaded, stream)
        stream, before = loaded, stop
    result = stream.partial_fit(edges.part(before)).sparsifier()
    assert differences(result, expected) == []
    check_same_state(stream, straight)
    other = make(base).partial_fit(edges).sparsifier()
    assert differences(result, other) != []


# Results of the last `sparsifier()`, which are not part of the stream; and how it was made.
OF_A_RESULT = {
    "predicted",
    "error_curve",
    "is_result_whole",
    "result_error",
    "probe_error_",
    "_last_span",
    "_last_times",
}
NOT_SAVED = OF_A_RESULT | {"random_state", "_is_used_up"}


def check_same_state(loaded, stream):
    """All attributes of two streams and their engines, but for room behind the kept edges."""
    assert vars(loaded).keys() - NOT_SAVED == vars(stream).keys() - NOT_SAVED
    for name in vars(stream).keys() - NOT_SAVED - {"_engine", "_numbering"}:
        assert differences(vars(loaded)[name], vars(stream)[name], name) == []
    assert np.array_equal(loaded.ids_, stream.ids_)
    one, other = loaded._engine, stream._engine
    assert type(one) is type(other)
    assert vars(one).keys() == vars(other).keys()
    for name in vars(other).keys() - OF_A_RESULT - {"buffer", "streams"}:
        assert differences(vars(one)[name], vars(other)[name], name) == []
    if isinstance(other, Engine):
        assert differences(one.buffer.edges(), other.buffer.edges(), "buffer") == []
    for number, bucket in getattr(other, "streams", {}).items():
        check_same_state(one.streams[number], bucket)


def filled(name, like):
    """A value of a field that no stream has by default, and its kind."""
    if name == "seed":
        return 2**63 - 25
    if name == "unit":
        return 0.25
    return type(like)(7 if isinstance(like, int) else 0.375)


def test_every_number_of_an_engine_is_restored(edges, tmp_path):
    """Each set to a value that is not the default, so that none can be forgotten."""
    stream = make(MANY_FAVORED | {"degree_approx_min_nodes": 10}).partial_fit(edges.part(0, 3000))
    engine = stream._engine
    names = [
        name
        for name, value in vars(engine).items()
        if isinstance(value, int | float) and name not in OF_A_RESULT | {"ridge", "n_joins"}
    ]
    assert {"per_node", "cut_error", "n_by_degrees", "leads", "n_before", "unit"} <= set(names)
    for name in names:
        setattr(engine, name, filled(name, getattr(engine, name)))
    engine.favored.boost = 3.25
    engine.base = np.arange(40.0)
    stream.note = {"n_bad_lines": 4}
    stream.save(tmp_path / "run.ckpt")
    loaded = StreamSparsifier.load(tmp_path / "run.ckpt")
    check_same_state(loaded, stream)
    for name in names:
        assert getattr(loaded._engine, name) == filled(name, getattr(engine, name))
    assert loaded._engine.favored.boost == 3.25
    assert loaded._engine.favored.share == 0.5


def test_streams_reach_values_that_are_not_the_default_in_every_field(edges):
    """So the comparison above is not of defaults with defaults."""
    left = set(vars(make(BUDGET)._engine)) - OF_A_RESULT - {"options", "budget", "leads"}
    for settings in (
        MANY_FAVORED,
        SHARE | {"degree_approx_min_nodes": 10},
        BUDGET | SHORT | {"ridge": 2.0},
    ):
        stream = make(settings).partial_fit(edges)
        stream.sparsifier()
        fresh = make(settings | {"ridge": 0.0})._engine
        for name in sorted(left):
            own, other = getattr(stream._engine, name), getattr(fresh, name)
            if name == "favored":
                own, other = own.boost, other.boost
            if differences(own, other) != []:
                left.discard(name)
    # An unusual cut, and what only a part of a merge tree has; set by hand above.
    assert left <= {"cut_error", "base", "n_before", "seed"}


@pytest.mark.parametrize("kind", ["leader", "guide"])
def test_states_of_a_merge_tree_are_restored(kind, edges):
    stream = make(MANY_FAVORED | {"filter_arrivals": True}).partial_fit(edges)
    lead(stream._engine)
    if kind == "guide":
        stream._engine = make_guide(stream._engine)
        stream._probes = type(stream._probes)()
    assert stream._engine.leads == 1
    assert stream._engine.filter is not None
    data = stream.to_bytes()  # settles the stream first
    loaded = StreamSparsifier.from_bytes(data)
    if kind == "leader":
        check_same_state(loaded, stream)
    else:
        base = loaded._engine.base * loaded._engine.unit
        np.testing.assert_allclose(base, edges.degrees(), rtol=1e-12)
        assert loaded._engine.n_before == edges.n_edges
        for name in vars(stream._engine).keys() - OF_A_RESULT - {"buffer"}:
            own, other = getattr(loaded._engine, name), getattr(stream._engine, name)
            assert differences(own, other, name) == []
    assert loaded.to_bytes() == data


def test_a_share_that_grows_goes_on_with_the_same_filter(tmp_path):
    """The scale of the filter follows the budget per node (`per_node`), which must be restored."""
    graph = sources.erdos_renyi(40, 30_000, random_state=8).to_edge_list()
    settings = {"keep": 0.05, "min_budget": 200, "chunk_size": 250}
    expected = make(settings).partial_fit(graph)
    stream = make(settings).partial_fit(graph.part(0, 12_000))
    before = stream._engine.per_node
    assert np.isfinite(before)
    stream.save(tmp_path / "run.ckpt")
    stream = StreamSparsifier.load(tmp_path / "run.ckpt").partial_fit(graph.part(12_000))
    assert stream._engine.per_node > 1.5 * before
    assert differences(stream.sparsifier(), expected.sparsifier()) == []


def test_the_boost_of_favored_nodes_is_restored(tmp_path):
    """A finite boost, which the filter needs before the next shrink finds another."""
    graph = sources.erdos_renyi(60, 40_000, random_state=8).to_edge_list()
    settings = {"n_edges": 400, "favored_nodes": list(range(0, 60, 5)), "chunk_size": 250}
    expected = make(settings).partial_fit(graph)
    stream = make(settings).partial_fit(graph.part(0, 10_000))
    assert 1.0 < stream._engine.favored.boost < 1e6
    stream.save(tmp_path / "run.ckpt")
    stream = StreamSparsifier.load(tmp_path / "run.ckpt")
    stream.partial_fit(graph.part(10_000))
    assert differences(stream.sparsifier(), expected.sparsifier()) == []
