"""Checkpoints hold every option and every field: a loaded stream continues bit for bit."""

import inspect
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, StreamOptions, StreamSparsifier, TimedEdges, sources
from graphsqueak.sparsifiers import TimedSparsifier, load_stream
from graphsqueak.sparsifiers.budget import stream_bytes
from graphsqueak.sparsifiers.stream import base_stream
from graphsqueak.sparsifiers.stream.engine import PracticalEngine
from graphsqueak.sparsifiers.stream.state import StreamState
from graphsqueak.system.packing import pack_bytes
from tests.comparison import differences
from tests.sparsifiers.stream import engine_state
from tests.sparsifiers.stream.test_stream_sparsifier import fed, same_bytes, small_graph

pytestmark = pytest.mark.filterwarnings("ignore::graphsqueak.errors.AccuracyWarning")

SHORT = {"chunk_size": 64}  # short streams are resparsified often
BUDGET = {"n_edges": 150}
FRACTION = {"keep": 0.1, "min_budget": 60, **SHORT}
PRIORITY = {"priority_nodes": list(range(0, 40, 8)), **BUDGET, **SHORT}
WINDOW = {"window": 3.0, "n_edges": 60, **SHORT}

# For every option of StreamSparsifier and StreamOptions: a value that is not the default, and the
# settings with which it is compared.
CASES = {
    "n_edges": (170, BUDGET | SHORT),
    "epsilon": (0.8, BUDGET | SHORT),
    "keep": (0.1, BUDGET | SHORT | {"min_budget": 60}),
    "method": ("kelner-levin", {"epsilon": 0.8, **SHORT}),
    "n_copies": (9, {"method": "kelner-levin", "n_copies": 7}),
    "ridge": (30.0, BUDGET | SHORT),
    "priority_nodes": ([3, 8, 21], BUDGET | SHORT),
    "priority_fraction": (0.25, PRIORITY),
    "filter_arrivals": (False, BUDGET | SHORT),
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
    "min_budget": (90, FRACTION),
}
# The same for every option of TimedSparsifier.
TIMED_CASES = {
    "n_edges": (70, WINDOW),
    "epsilon": (0.9, WINDOW),
    "keep": (0.1, WINDOW | {"min_budget": 60}),
    "window": (4.0, WINDOW),
    "half_life": (1.5, WINDOW),
    "n_panes": (5, WINDOW),
    "priority_nodes": ([3, 8, 21], WINDOW),
    "priority_fraction": (0.25, WINDOW | {"priority_nodes": list(range(0, 40, 8))}),
}
OPTIONS = {field.name for field in fields(StreamOptions)}
# Results of the last `sparsifier()`, which are not part of the stream, and how it was made.
NOT_SAVED = {
    "_result",
    "_result_n_seen",
    "_result_span",
    "_is_consumed",
    "cut_error_lower_",
    "random_state",
}


@pytest.fixture(scope="module")
def edges():
    """Weighted edges with times, of a graph that becomes denser as the stream goes on.

    Half of the nodes appear late, so that filters meet nodes that they do not know.
    """
    rng = np.random.default_rng(31_415)
    n_edges = 4000
    n_nodes = np.where(np.arange(n_edges) < n_edges // 2, 20, 40)
    tail = (rng.random(n_edges) * n_nodes).astype(int)
    head = (tail + 1 + (rng.random(n_edges) * (n_nodes - 1)).astype(int)) % n_nodes
    weight = rng.lognormal(sigma=0.7, size=n_edges)
    plain = EdgeList(tail=tail, head=head, weight=weight, n_nodes=40)
    return TimedEdges.from_edges(plain, np.linspace(0, 10, n_edges))


def make(settings):
    """Return a stream; fields of StreamOptions are recognized by their names."""
    options = {name: value for name, value in settings.items() if name in OPTIONS}
    own = {name: value for name, value in settings.items() if name not in OPTIONS}
    is_timed = "window" in settings or "half_life" in settings
    cls = TimedSparsifier if is_timed else StreamSparsifier
    return cls(**own, options=StreamOptions(**options), random_state=271)


def changed_settings(name, value, base):
    changed = base | {name: value}
    if name in ("epsilon", "keep"):
        del changed["n_edges"]
    return changed


def parameters(cls):
    return set(inspect.signature(cls).parameters) - {"random_state", "options"}


def test_every_option_has_a_case():
    assert CASES.keys() == parameters(StreamSparsifier) | OPTIONS
    assert TIMED_CASES.keys() == parameters(TimedSparsifier)
    assert not parameters(StreamSparsifier) & OPTIONS
    assert not parameters(TimedSparsifier) & OPTIONS
    for name in OPTIONS:
        assert CASES[name][0] != getattr(StreamOptions(), name)


@pytest.mark.parametrize(
    ("name", "value", "base"),
    [
        pytest.param(name, *case, id=f"{kind} {name}")
        for kind, cases in (("stream", CASES), ("timed", TIMED_CASES))
        for name, case in cases.items()
    ],
)
def test_a_loaded_stream_continues_bit_for_bit_with_every_option(
    name, value, base, edges, tmp_path
):
    """The option matters as well: without it the result is another one."""
    settings = changed_settings(name, value, base)
    uninterrupted = make(settings).partial_fit(edges)
    expected = uninterrupted.sparsifier()
    assert uninterrupted.n_resparsifications_ > 1 or settings.get("epsilon")
    stream = make(settings)
    start = 0
    for stop in (700, 1333, 2600, 3500):
        stream.partial_fit(edges.part(start, stop)).save(tmp_path / "run.ckpt")
        loaded = load_stream(tmp_path / "run.ckpt")
        check_same_stream(loaded, stream)
        stream = loaded
        start = stop
    result = stream.partial_fit(edges.part(start)).sparsifier()
    assert differences(result, expected) == []
    check_same_stream(stream, uninterrupted)
    other = make(base).partial_fit(edges).sparsifier()
    assert differences(result, other) != []


def check_same_stream(loaded, stream):
    """Compare all attributes of two streams."""
    assert type(loaded) is type(stream)
    assert vars(loaded).keys() - NOT_SAVED == vars(stream).keys() - NOT_SAVED
    compared_below = {"_engines", "_numbering"}
    for name in vars(stream).keys() - NOT_SAVED - compared_below:
        assert differences(vars(loaded)[name], vars(stream)[name], name) == []
    assert np.array_equal(loaded.ids_, stream.ids_)
    assert loaded._engines.keys() == stream._engines.keys()
    for number, engine in stream._engines.items():
        check_same_engine(loaded._engines[number], engine)


def check_same_engine(loaded, engine):
    assert type(loaded) is type(engine)
    if type(engine) is PracticalEngine:
        assert vars(engine).keys() == {"config", "state"}
        assert loaded.config == engine.config
        check_same_state(loaded.state, engine.state)
    else:
        arrays, numbers = engine.to_arrays()
        loaded_arrays, loaded_numbers = loaded.to_arrays()
        assert differences(loaded_arrays, arrays) == []
        assert loaded_numbers == numbers


def check_same_state(loaded, state):
    """Compare all fields, except for spare capacity of the buffer."""
    assert vars(loaded).keys() == vars(state).keys()
    assert differences(loaded.buffer.edges(), state.buffer.edges(), "buffer") == []
    for field in fields(StreamState):
        if field.name != "buffer":
            one, other = getattr(loaded, field.name), getattr(state, field.name)
            assert differences(one, other, field.name) == []


def unusual_value(field):
    """Return a value that no stream has by default."""
    special = {"seed": 2**63 - 25, "weight_scale": 0.25}
    by_type = {int: 7, float: 0.375, bool: True}
    return special.get(field.name, by_type.get(field.type))


def test_every_number_of_a_state_is_restored(edges, tmp_path):
    """Each has a value that is not the default, so that none can be forgotten."""
    stream = make(PRIORITY).partial_fit(edges.part(0, 3000))
    state = engine_state(stream)
    # The ridge is also a parameter of the stream, and unions are checked against `parent`.
    numbers = {
        field.name: unusual_value(field)
        for field in fields(StreamState)
        if field.type in (int, float, bool) and field.name not in ("ridge", "n_unions")
    }
    assert {
        "cut_error",
        "is_leader",
        "n_condensed",
        "prefix_edges",
        "weight_scale",
    } <= numbers.keys()
    for name, value in numbers.items():
        assert getattr(state, name) != value
        setattr(state, name, value)
    state.set_oversampling(3.25)
    state.prefix_degrees = np.arange(40.0)
    stream.set_note({"n_bad_lines": 4})
    stream.save(tmp_path / "run.ckpt")
    loaded = StreamSparsifier.load(tmp_path / "run.ckpt")
    check_same_stream(loaded, stream)
    for name, value in numbers.items():
        assert getattr(engine_state(loaded), name) == value
    assert engine_state(loaded).priority.oversampling == 3.25
    assert engine_state(loaded).priority.fraction == 0.5
    assert loaded.note == {"n_bad_lines": 4}


def test_streams_reach_values_that_are_not_the_default_in_every_field(edges):
    """The tests above do not compare defaults with defaults."""
    unchanged = {field.name for field in fields(StreamState)}
    for settings in (
        PRIORITY,
        FRACTION | {"degree_approx_min_nodes": 10},
        BUDGET | SHORT | {"ridge": 2.0},
    ):
        stream = make(settings).partial_fit(edges)
        stream.sparsifier()
        state = engine_state(stream)
        new = engine_state(make(settings | {"ridge": 0.0}))
        for name in sorted(unchanged):
            own, other = getattr(state, name), getattr(new, name)
            if name == "priority":
                own, other = own.oversampling, other.oversampling
            if differences(own, other) != []:
                unchanged.discard(name)
    # A change of a bottleneck cut, what only panes have, and what only parts of a merge tree have.
    of_panes = {"n_condensed"}
    of_parts = {"is_leader", "prefix_degrees", "prefix_edges"}
    assert unchanged <= {"cut_error", "seed"} | of_panes | of_parts


def test_the_state_of_a_leader_is_restored(edges):
    stream = make(PRIORITY).partial_fit(edges)
    stream.lead()
    assert engine_state(stream).is_leader
    assert engine_state(stream).filter is not None
    data = stream.to_bytes()  # compacts the stream first
    loaded = StreamSparsifier.from_bytes(data)
    check_same_stream(loaded, stream)
    assert loaded.to_bytes() == data


def test_the_state_of_a_continuation_is_restored(edges, tmp_path):
    stream = make(PRIORITY).partial_fit(edges)
    continued = stream.continuation(ridge=0.5, seed=99)
    expected = engine_state(continued)
    assert (continued.ridge, expected.ridge, expected.seed) == (0.5, 0.5, 99)
    continued.save(tmp_path / "part.ckpt")
    loaded = StreamSparsifier.load(tmp_path / "part.ckpt")
    state = engine_state(loaded)
    check_same_state(state, expected)
    assert state.filter is not None
    prefix_degrees = state.prefix_degrees * state.weight_scale
    np.testing.assert_allclose(prefix_degrees, edges.degrees(), rtol=1e-12)
    assert state.prefix_edges == edges.n_edges
    loaded.save(tmp_path / "prior.ckpt")
    assert (tmp_path / "prior.ckpt").read_bytes() == (tmp_path / "part.ckpt").read_bytes()


def test_a_fraction_that_grows_continues_with_the_same_filter(tmp_path):
    """The scale of the filter follows the budget per node, which must be restored."""
    graph = sources.erdos_renyi(40, 30_000, random_state=8).to_edge_list()
    settings = {"keep": 0.05, "min_budget": 200, "chunk_size": 250}
    expected = make(settings).partial_fit(graph)
    stream = make(settings).partial_fit(graph.part(0, 12_000))
    edges_per_node = engine_state(stream).filter.edges_per_node
    assert np.isfinite(edges_per_node)
    stream.save(tmp_path / "run.ckpt")
    stream = StreamSparsifier.load(tmp_path / "run.ckpt").partial_fit(graph.part(12_000))
    assert engine_state(stream).filter.edges_per_node > 1.5 * edges_per_node
    assert differences(stream.sparsifier(), expected.sparsifier()) == []


def test_the_oversampling_factor_is_restored(tmp_path):
    """The filter needs a finite factor before the next resparsification finds another one."""
    graph = sources.erdos_renyi(60, 40_000, random_state=8).to_edge_list()
    settings = {"n_edges": 400, "priority_nodes": list(range(0, 60, 5)), "chunk_size": 250}
    expected = make(settings).partial_fit(graph)
    stream = make(settings).partial_fit(graph.part(0, 10_000))
    assert 1.0 < engine_state(stream).priority.oversampling < 1e6
    stream.save(tmp_path / "run.ckpt")
    stream = StreamSparsifier.load(tmp_path / "run.ckpt")
    stream.partial_fit(graph.part(10_000))
    assert differences(stream.sparsifier(), expected.sparsifier()) == []


@pytest.mark.parametrize("has_text_ids", [False, True])
def test_a_loaded_stream_keeps_ids_and_continues_bit_for_bit(tmp_path, has_text_ids):
    graph = small_graph(40, 3000)
    if has_text_ids:
        names = np.array([f"nöde {i}" for i in range(40)], dtype=object)
        graph = EdgeList.from_validated(graph.tail, graph.head, graph.weight, 40, names)
    options = StreamOptions(chunk_size=64)
    uninterrupted = fed(
        StreamSparsifier(n_edges=120, random_state=3_524_578, options=options), graph
    ).sparsifier()
    for stop in (10, 1000, 1501, 2900):
        stream = StreamSparsifier(n_edges=120, random_state=3_524_578, options=options)
        stream.partial_fit(graph.part(0, stop)).save(tmp_path / "run.ckpt")
        resumed = StreamSparsifier.load(tmp_path / "run.ckpt").partial_fit(graph.part(stop))
        assert same_bytes(resumed.sparsifier(), uninterrupted)
        assert resumed.sparsifier().ids.tolist() == graph.ids.tolist()


def test_broken_checkpoints_are_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    StreamSparsifier(n_edges=50).partial_fit(sources.complete(20)).save(path)
    complete = path.read_bytes()
    for broken in (complete[: len(complete) // 2], complete[:-30], b"", b"junk" * 100):
        path.write_bytes(broken)
        with pytest.raises(InputError, match="is not a complete checkpoint"):
            StreamSparsifier.load(path)
    path.write_bytes(pack_bytes({"format": "another"}, {}))
    with pytest.raises(InputError, match="is not a checkpoint of graphsqueak sparsify"):
        StreamSparsifier.load(path)
    with pytest.raises(InputError, match="does not exist"):
        StreamSparsifier.load(tmp_path / "none.ckpt")


def test_checkpoints_of_later_versions_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    with monkeypatch.context() as future:
        future.setattr(base_stream, "VERSION", 13)
        StreamSparsifier(n_edges=50).partial_fit(sources.complete(20)).save(path)
    with pytest.raises(InputError, match="of version 13, this program reads version 12; start"):
        StreamSparsifier.load(path)


@pytest.mark.parametrize("load", [StreamSparsifier.load, TimedSparsifier.load, load_stream])
def test_checkpoints_of_earlier_versions_are_refused(load):
    path = Path(__file__).with_name("version_4.ckpt")
    words = r"version_4.ckpt is a checkpoint of version 4, this program reads version 12; start"
    with pytest.raises(InputError, match=words):
        load(path)


@pytest.mark.parametrize(
    ("writer", "reader"),
    [(StreamSparsifier, TimedSparsifier), (TimedSparsifier, StreamSparsifier)],
)
def test_a_checkpoint_is_loaded_by_its_own_class_only(writer, reader, edges, tmp_path):
    settings = BUDGET if writer is StreamSparsifier else BUDGET | {"window": 3.0}
    make(settings).partial_fit(edges).save(tmp_path / "run.ckpt")
    with pytest.raises(InputError, match=r"of another class; use .*load_stream"):
        reader.load(tmp_path / "run.ckpt")
    assert type(load_stream(tmp_path / "run.ckpt")) is writer
