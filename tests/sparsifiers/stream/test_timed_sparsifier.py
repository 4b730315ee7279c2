"""Windows and decay: edges of the window, decayed weights, reproducibility, clear errors."""

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, StreamOptions, StreamSparsifier, TimedEdges, sources
from graphsqueak.sparsifiers import TimedSparsifier, load_stream
from graphsqueak.sparsifiers.stream.timed_sparsifier import new_stream
from graphsqueak.system.packing import pack_bytes, unpack
from tests import reference

PLAIN = StreamOptions(
    rescale_to_degrees=False, high_watermark=1.5, low_watermark=1.25, chunk_size=80
)


def timed(graph, n_units, seed=77_191):
    """The same edges in random order, at sorted times from 0 to `n_units`."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(graph.n_edges)
    columns = {"tail": graph.tail[order], "head": graph.head[order], "weight": graph.weight[order]}
    time = np.sort(rng.uniform(0, n_units, graph.n_edges))
    return TimedEdges(**columns, time=time, n_nodes=graph.n_nodes)


def small_graph(n_edges=300, n_units=6.0):
    rng = np.random.default_rng(60_017)
    tail, head = rng.integers(12, size=(2, n_edges))
    head = np.where(rng.random(n_edges) < 0.8, tail // 6 * 6 + head % 6, head)
    weight = rng.lognormal(sigma=0.5, size=n_edges)
    return timed(EdgeList(tail=tail, head=head, weight=weight, n_nodes=12), n_units)


def edges_of(edges, since=-np.inf, until=np.inf, half_life=None):
    """The edges of a span, weights decayed to its last edge."""
    weight = edges.weight
    if half_life is not None:
        weight = weight * 2.0 ** ((edges.time - edges.time.max()) / half_life)
    own = (edges.time >= since) & (edges.time < until)
    columns = {"tail": edges.tail[own], "head": edges.head[own], "weight": weight[own]}
    return EdgeList(**columns, n_nodes=edges.n_nodes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("forgets", "n_runs"),
    [({"half_life": 1.5}, 2000), ({"window": 3.0, "n_panes": 2, "half_life": 2.0}, 200)],
    ids=["decay", "both"],
)
def test_the_mean_laplacian_is_that_of_the_decayed_graph(forgets, n_runs, tmp_path):
    """Within six standard deviations; at 48, after 32 half-lives, another pane begins."""
    half_life, edges = forgets["half_life"], small_graph(n_edges=170)
    edges = TimedEdges.from_edges(edges, edges.time + 44.5)
    total = square = n_resparsifications = 0.0
    for number in range(n_runs):
        seed = 7919 * number + 3
        stream = TimedSparsifier(n_edges=24, **forgets, options=PLAIN, random_state=seed)
        stream.partial_fit(edges.part(0, 90))
        if number % 100 == 0:
            stream.save(tmp_path / "run.ckpt")
            stream = TimedSparsifier.load(tmp_path / "run.ckpt")
        laplacian = stream.partial_fit(edges.part(90)).sparsifier().laplacian().toarray()
        total, square = total + laplacian, square + laplacian**2
        n_resparsifications += stream.n_resparsifications_
    mean = total / n_runs
    deviation = np.sqrt(np.maximum(square / n_runs - mean**2, 0) / n_runs)
    exact = edges_of(edges, stream.span_[0], half_life=half_life)
    assert n_resparsifications > n_runs
    assert (np.abs(mean - exact.laplacian().toarray()) <= 6 * deviation + 1e-12).all()
    expected = exact.degrees()
    np.testing.assert_allclose(stream.degrees_, expected, rtol=1e-12)


def test_a_graph_within_the_budget_is_returned_with_decayed_weights():
    """All edges, decayed exactly, over thousands of half-lives, with times before 1970."""
    edges = small_graph(n_units=5000.0)
    edges = TimedEdges.from_edges(edges, edges.time - 2000.0)
    stream = TimedSparsifier(n_edges=1000, half_life=7.0).partial_fit(edges)
    exact = edges_of(edges, stream.span_[0], half_life=7.0)
    got = stream.sparsifier()
    np.testing.assert_allclose(got.laplacian().toarray(), exact.laplacian().toarray(), rtol=1e-12)
    assert stream.is_exact_
    assert stream.epsilon_predicted_ == 0
    assert edges.time.max() - stream.span_[0] >= 32 * 7.0
    later = stream.sparsifier(at=edges.time.max() + 14.0)
    np.testing.assert_allclose(later.weight, got.weight / 4, rtol=1e-12)


@pytest.mark.parametrize(
    ("forgets", "most_budgets", "at_least"),
    [
        ({"window": 10.0, "n_panes": 2}, 5, 3.5),
        ({"window": 10.0, "n_panes": 5}, 8, 6.0),
        ({"window": 10.0, "n_panes": 5, "half_life": 3.0}, 8, 6.0),
        ({"half_life": 0.5}, 4, 3.0),
    ],
)
def test_sampled_edges_stay_within_the_documented_budgets(forgets, most_budgets, at_least):
    """A window of b panes keeps at most b + 3 budgets, a half-life one more than a stream."""
    edges = timed(sources.erdos_renyi(120, 40_000, random_state=7).to_edge_list(), 30.0)
    chunk, budget = 64, 960
    options = StreamOptions(chunk_size=chunk)
    stream = TimedSparsifier(n_edges=budget, **forgets, options=options, random_state=1)
    most = 0
    for start in range(0, edges.n_edges, 250):
        stream.partial_fit(edges.part(start, start + 250))
        most = max(most, stream.n_kept_)
    assert at_least * budget < most <= most_budgets * budget + chunk


def test_a_window_is_as_accurate_as_a_new_stream_and_has_its_components():
    """On five kinds of graphs; at most three budgets more than the number of panes are kept."""
    n, budget = 120, 960
    near = sources.gaussian_neighbors(n, 30, random_state=4).to_edge_list()
    again = np.random.default_rng(5).integers(near.n_edges, size=60_000)
    heavy = np.random.default_rng(6).lognormal(sigma=2.0, size=60_000)
    plain = sources.erdos_renyi(n, 60_000, random_state=7).to_edge_list()
    two = EdgeList(tail=plain.tail // 2 * 2, head=plain.head // 2 * 2, n_nodes=n)
    graphs = {
        "dense": plain,
        "heavy-tailed": sources.chung_lu(n, 60_000, random_state=8).to_edge_list(),
        "repeated": EdgeList(tail=near.tail[again], head=near.head[again], n_nodes=n),
        "weighted": EdgeList(tail=plain.tail, head=plain.head, weight=heavy[: plain.n_edges]),
        "in pieces": two,
    }
    ratios = {}
    for name, graph in graphs.items():
        edges = timed(graph, 30.0)
        of_window, of_new_stream = [], []
        for seed in range(3):
            stream = TimedSparsifier(n_edges=budget, window=10.0, random_state=seed)
            for start in range(0, edges.n_edges, 1000):
                stream.partial_fit(edges.part(start, start + 1000))
                assert stream.n_kept_ <= 19 * budget
            own = edges_of(edges, stream.span_[0])
            assert stream.span_[1] - stream.span_[0] <= 10.0 * 17 / 16
            result = stream.sparsifier()
            assert result.n_edges <= budget
            assert (result.components() == own.components()).all()
            once = StreamSparsifier(n_edges=budget, random_state=seed).partial_fit(own)
            of_window.append(reference.pencil_condition(own, result))
            of_new_stream.append(reference.pencil_condition(own, once.sparsifier()))
        ratios[name] = np.median(of_window) / np.median(of_new_stream)
    assert max(ratios.values()) < 1.35, ratios  # of kappa, which varies by 10 %


def test_spans_consist_of_whole_panes():
    edges = small_graph(n_units=6.0)
    stream = TimedSparsifier(n_edges=1000, window=4.0, n_panes=4).partial_fit(edges)

    def same(got, since, until):
        expected = edges_of(edges, since, until).laplacian().toarray()
        np.testing.assert_allclose(got.laplacian().toarray(), expected, atol=1e-12)

    same(stream.sparsifier(), 1.0, 6.0)
    assert stream.span_ == (1.0, edges.time.max())
    same(stream.sparsifier(since=2.5, until=4.0), 2.0, 4.0)
    assert stream.span_ == (2.0, 4.0)
    same(stream.sparsifier(since=4.2), 4.0, 6.0)
    same(stream.sparsifier(until=2.5), 1.0, 3.0)
    same(stream.sparsifier(at=7.5), 3.0, 6.0)
    for arguments, said in (
        ({"since": 0.5}, "forgotten"),
        ({"at": 3.0}, "forgotten"),
        ({"at": 20.0}, "no edges between"),
        ({"since": 5.0, "until": 4.0}, "after"),
        ({"until": 0.5}, "until=0.5 is before 1, the oldest time kept"),
        ({"at": 5.0, "since": 4.0}, "without at"),
    ):
        with pytest.raises(InputError, match=said):
            stream.sparsifier(**arguments)


@pytest.mark.parametrize(
    "forgets", [{"window": 9.0}, {"half_life": 0.8}, {"window": 5, "n_panes": 3}]
)
def test_batches_and_checkpoints_do_not_change_the_result(forgets, tmp_path):
    """Checkpoints are the same bytes, with late edges, for any batches and interruptions."""
    graph = timed(sources.erdos_renyi(60, 9000, random_state=2).to_edge_list(), 20.0)
    late = graph.time + np.random.default_rng(3).uniform(-1.5, 0, graph.n_edges)
    edges = TimedEdges.from_edges(graph, late)
    settings = {
        "n_edges": 150,
        **forgets,
        "random_state": 12,
        "options": StreamOptions(chunk_size=64),
    }
    whole = TimedSparsifier(**settings).partial_fit(edges)
    cut = TimedSparsifier(**settings)
    for start, stop in ((0, 1), (1, 777), (777, 7000), (7000, 7000), (7000, 8100), (8100, None)):
        cut.partial_fit(edges.part(start, stop))
        cut.save(tmp_path / "run.ckpt")
        cut = load_stream(tmp_path / "run.ckpt")
        assert isinstance(cut, TimedSparsifier)
    assert whole.n_resparsifications_ > 3
    whole.save(tmp_path / "whole.ckpt")
    assert (tmp_path / "whole.ckpt").read_bytes() == (tmp_path / "run.ckpt").read_bytes()
    one, other = whole.sparsifier(), cut.sparsifier()
    assert (one.weight == other.weight).all()
    assert (one.tail == other.tail).all()
    assert whole.span_ == cut.span_


def saved_record(stream, folder):
    """Return the record of the checkpoint of a stream."""
    stream.save(folder / "record.ckpt")
    record, _ = unpack((folder / "record.ckpt").read_bytes(), "record.ckpt")
    return record


@pytest.mark.parametrize(
    "change",
    [
        {"_latest_time": "soon"},
        {"_latest_time": None},
        {"_latest_time": 1.7e308},
        {"checksum_": [1, 2, 3]},
        {"checksum_": -7},
        {"_n_nodes": 3},
        {"n_edges_seen_": -1},
        {"_seed": 0.5},
    ],
    ids=str,
)
def test_counters_that_no_stream_wrote_are_refused(change, tmp_path):
    path = tmp_path / "run.ckpt"
    TimedSparsifier(n_edges=100, window=2.0).partial_fit(small_graph()).save(path)
    record, arrays = unpack(path.read_bytes(), path)
    assert change.keys() <= record["counters"].keys()
    broken = record | {"counters": record["counters"] | change}
    path.write_bytes(pack_bytes(broken, arrays))
    with pytest.raises(InputError, match=r"run\.ckpt is not the state of a stream"):
        TimedSparsifier.load(path)


def test_panes_that_no_stream_wrote_are_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    TimedSparsifier(n_edges=100, window=2.0).partial_fit(small_graph()).save(path)
    record, arrays = unpack(path.read_bytes(), path)
    number = next(iter(record["numbers"]))
    tail = f"{number}_tail"
    some_numbers = {key: record["numbers"][key] for key in record["numbers"].keys() - {number}}
    without_tail = {name: array for name, array in arrays.items() if name != tail}
    for broken_record, broken_arrays in (
        (record | {"numbers": some_numbers}, arrays),
        (record | {"numbers": list(some_numbers)}, arrays),
        (record, without_tail),
        (record, arrays | {tail: arrays[tail][:-3]}),
        (record, arrays | {tail: arrays[tail][:0]}),
        (record, arrays | {tail: arrays[tail] + 12}),
        (record, arrays | {"999_tail": arrays[tail]}),
    ):
        path.write_bytes(pack_bytes(broken_record, broken_arrays))
        with pytest.raises(InputError, match=r"run\.ckpt is not the state of a stream"):
            TimedSparsifier.load(path)


def test_edges_older_than_the_window_are_counted():
    stream = TimedSparsifier(n_edges=100, window=2.0, n_panes=2)
    stream.partial_fit(TimedEdges(tail=[0, 1, 2], head=[1, 2, 3], time=[9.5, 7.5, 3.0]))
    assert (stream.n_too_old_, stream.n_edges_seen_) == (1, 3)
    assert stream.sparsifier().n_edges == 2
    assert stream.n_components_ == 2


def test_a_merge_adds_panes_of_streams_that_number_nodes_differently():
    """Two halves of one stream, with other numbers for the same ids, and one lagging behind."""
    rng = np.random.default_rng(8)
    names = np.array([f"node {k}" for k in range(12)], dtype=object)
    edges = small_graph()
    first = TimedEdges.from_edges(
        EdgeList(tail=edges.tail, head=edges.head, weight=edges.weight, ids=names), edges.time
    ).part(0, 200)
    order = rng.permutation(12)
    place = np.argsort(order)
    second = TimedEdges(
        tail=place[edges.tail[200:]],
        head=place[edges.head[200:]],
        weight=edges.weight[200:],
        time=edges.time[200:],
        ids=names[order],
    )
    settings = {"n_edges": 1000, "window": 2.0, "n_panes": 4}
    streams = [TimedSparsifier(**settings).partial_fit(part) for part in (first, second)]
    for merged in (streams[0].merge(streams[1]), streams[1].merge(streams[0])):
        result = merged.sparsifier()
        numbers = [names.tolist().index(name) for name in result.ids]
        exact = edges_of(edges, merged.span_[0]).laplacian().toarray()
        got = result.laplacian().toarray()
        np.testing.assert_allclose(got, exact[np.ix_(numbers, numbers)], atol=1e-12)
        assert merged.n_edges_seen_ == edges.n_edges
    for name, other in (("window", {"window": 3.0}), ("half_life", {"half_life": 1.0})):
        with pytest.raises(InputError, match=f"different {name} cannot be merged"):
            streams[0].merge(TimedSparsifier(**settings | other))
    with pytest.raises(InputError, match="different n_panes cannot be merged"):
        streams[0].merge(TimedSparsifier(**settings | {"n_panes": 5}))
    with pytest.raises(InputError, match="TimedSparsifier cannot be merged with a StreamSpars"):
        streams[0].merge(StreamSparsifier(n_edges=1000))
    with pytest.raises(InputError, match="StreamSparsifier cannot be merged with a TimedSpars"):
        StreamSparsifier(n_edges=1000).merge(streams[0])


def test_edges_at_priority_nodes_are_kept():
    graph = timed(sources.erdos_renyi(80, 12_000, random_state=2).to_edge_list(), 10.0)
    kept = {}
    for priority_nodes in (None, [3]):
        settings = {
            "n_edges": 640,
            "window": 5.0,
            "priority_nodes": priority_nodes,
            "random_state": 1,
        }
        result = TimedSparsifier(**settings).partial_fit(graph).sparsifier()
        kept[priority_nodes is None] = np.count_nonzero((result.tail == 3) | (result.head == 3))
    assert kept[False] > 2 * kept[True]


def test_invalid_settings_and_requests_are_refused():
    for settings, said in (
        ({"window": 0.0}, "window"),
        ({"half_life": -1.0}, "half_life"),
        ({"half_life": np.inf}, "half_life"),
        ({"window": 1.0, "n_panes": 0}, "n_panes"),
        ({"window": 1e6, "half_life": 1.0}, "nothing is left"),
    ):
        with pytest.raises(InputError, match=said):
            TimedSparsifier(n_edges=10, **settings)
    stream = TimedSparsifier(n_edges=10, half_life=1.0)
    with pytest.raises(InputError, match="no edges"):
        stream.sparsifier()
    with pytest.raises(InputError, match="needs the time of every edge"):
        stream.partial_fit(EdgeList(tail=[0], head=[1]))
    stream.partial_fit(TimedEdges(tail=[0], head=[1], time=[5.0]))
    with pytest.raises(InputError, match="cannot be removed again"):
        stream.sparsifier(at=4.0)
    with pytest.raises(InputError, match="with a window"):
        stream.sparsifier(since=4.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'at'"):
        StreamSparsifier(n_edges=10).partial_fit(EdgeList(tail=[0], head=[1])).sparsifier(at=3)
    with pytest.raises(InputError, match="edges cannot be deleted from a stream"):
        EdgeList(tail=[0], head=[1], weight=[-1.0])
    with pytest.raises(InputError, match="2 entries for 1"):
        TimedEdges(tail=[0], head=[1], time=[1.0, 2.0])
    with pytest.raises(InputError, match="not a number"):
        TimedEdges(tail=[0], head=[1], time=[np.nan])


@pytest.mark.parametrize("forgets", [{"half_life": 0.2}, {"window": 4.0, "half_life": 1.5}])
def test_degrees_and_random_cuts_are_decayed_to_the_last_edge(forgets, tmp_path):
    """Over several panes: exact degrees, and no error on random cuts if nothing was dropped."""
    edges = small_graph(n_units=8.0)
    stream = TimedSparsifier(n_edges=1000, **forgets).partial_fit(edges)
    assert len(saved_record(stream, tmp_path)["numbers"]) > 1
    own = edges_of(edges, stream.span_[0])
    now = edges.time.max()
    late = edges.time >= stream.span_[0]
    decayed = edges.weight[late] * np.exp2((edges.time[late] - now) / forgets["half_life"])
    expected = EdgeList(tail=own.tail, head=own.head, weight=decayed, n_nodes=own.n_nodes)
    np.testing.assert_allclose(stream.degrees_, expected.degrees(), rtol=1e-9, atol=1e-15)
    result = stream.sparsifier()
    np.testing.assert_allclose(result.degrees(), expected.degrees(), rtol=1e-9, atol=1e-15)
    assert stream.cut_error_lower_ < 1e-9
    later = stream.sparsifier(at=now + 1.0)
    ratio = later.weight.sum() / result.weight.sum()
    assert ratio <= 2 ** (-1.0 / forgets["half_life"]) * (1 + 1e-9)


def test_a_merge_knows_which_edges_both_streams_have_forgotten(tmp_path):
    early = TimedEdges(tail=[0, 1, 2], head=[1, 2, 3], time=[9.5, 7.5, 3.0])
    late = TimedEdges(tail=[0, 1, 2, 3], head=[1, 2, 3, 0], time=[9.25, 8.5, 5.0, 4.0])
    settings = {"n_edges": 100, "window": 2.0, "n_panes": 2}
    one, two = (TimedSparsifier(**settings).partial_fit(edges) for edges in (early, late))
    assert (one.n_too_old_, two.n_too_old_) == (1, 2)
    for merged in (one.merge(two), two.merge(one)):
        assert merged.n_too_old_ == 3
        assert merged.n_edges_seen_ == 7
        assert saved_record(merged, tmp_path)["counters"]["_latest_time"] == 9.5
        with pytest.raises(InputError, match="forgotten"):
            merged.sparsifier(since=5.0, until=6.0)
        assert merged.sparsifier().weight.sum() == 4.0


def test_new_stream_chooses_the_class_by_its_settings():
    assert type(new_stream(n_edges=10, n_panes=4)) is StreamSparsifier
    timed_stream = new_stream(n_edges=10, window=8.0, n_panes=4, method="stream", ridge=0.0)
    assert type(timed_stream) is TimedSparsifier
    assert (timed_stream.window, timed_stream.n_panes) == (8.0, 4)
    assert new_stream(n_edges=10, half_life=2.0).half_life == 2.0
    for settings in ({"ridge": 1.0}, {"method": "kelner-levin"}):
        with pytest.raises(InputError, match="no ridge"):
            new_stream(n_edges=10, window=1.0, **settings)
