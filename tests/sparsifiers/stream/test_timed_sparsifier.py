"""Streams that forget: the window's own edges, decayed weights, the same bytes, clear refusals."""

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, StreamOptions, StreamSparsifier, TimedEdges, sources
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
    [({"half_life": 1.5}, 2000), ({"window": 3.0, "buckets": 2, "half_life": 2.0}, 200)],
    ids=["decay", "both"],
)
def test_the_mean_is_the_decayed_graph(forgets, n_runs, tmp_path):
    """Entrywise within six sigma; at 24, after 16 half-lives, another bucket begins."""
    half_life, edges = forgets["half_life"], small_graph(n_edges=170)
    edges = TimedEdges.of(edges, edges.time + 20.5)
    total = square = shrinks = 0.0
    for number in range(n_runs):
        seed = 7919 * number + 3
        stream = StreamSparsifier(n_edges=24, **forgets, options=PLAIN, random_state=seed)
        stream.partial_fit(edges.part(0, 90))
        if number % 100 == 0:
            stream.save(tmp_path / "run.ckpt")
            stream = StreamSparsifier.load(tmp_path / "run.ckpt")
        laplacian = stream.partial_fit(edges.part(90)).sparsifier().laplacian().toarray()
        total, square = total + laplacian, square + laplacian**2
        shrinks += stream.n_shrinks_
    mean = total / n_runs
    deviation = np.sqrt(np.maximum(square / n_runs - mean**2, 0) / n_runs)
    exact = edges_of(edges, stream.span_[0], half_life=half_life)
    assert shrinks > n_runs
    assert (np.abs(mean - exact.laplacian().toarray()) <= 6 * deviation + 1e-12).all()
    expected = exact.degrees()
    np.testing.assert_allclose(stream.degrees_, expected, rtol=1e-12)


def test_nothing_is_lost_of_a_graph_that_fits():
    """All edges, decayed exactly, through thousands of half-lives and times before 1970."""
    edges = small_graph(n_units=5000.0)
    edges = TimedEdges.of(edges, edges.time - 2000.0)
    stream = StreamSparsifier(n_edges=1000, half_life=7.0).partial_fit(edges)
    exact = edges_of(edges, stream.span_[0], half_life=7.0)
    got = stream.sparsifier()
    np.testing.assert_allclose(got.laplacian().toarray(), exact.laplacian().toarray(), rtol=1e-12)
    assert stream.is_whole_
    assert stream.epsilon_predicted_ == 0
    assert edges.time.max() - stream.span_[0] >= 32 * 7.0
    later = stream.sparsifier(at=edges.time.max() + 14.0)
    np.testing.assert_allclose(later.weight, got.weight / 4, rtol=1e-12)


@pytest.mark.parametrize(
    ("forgets", "most_budgets", "at_least"),
    [
        ({"window": 10.0, "buckets": 2}, 4, 3.0),
        ({"window": 10.0, "buckets": 5}, 7, 4.0),
        ({"window": 10.0, "buckets": 5, "half_life": 3.0}, 7, 4.0),
        ({"half_life": 0.5}, 5, 3.5),
    ],
)
def test_kept_edges_stay_within_the_documented_budgets(forgets, most_budgets, at_least):
    """A window of b buckets keeps at most b + 2 budgets, a half-life two more than a stream.

    Both are more than the three budgets and a chunk of a stream without times.
    """
    edges = timed(sources.erdos_renyi(120, 40_000, random_state=7).to_edge_list(), 30.0)
    chunk, budget = 64, 960
    options = StreamOptions(chunk_size=chunk)
    stream = StreamSparsifier(n_edges=budget, **forgets, options=options, random_state=1)
    most = 0
    for start in range(0, edges.n_edges, 250):
        stream.partial_fit(edges.part(start, start + 250))
        most = max(most, stream.n_kept_)
    assert at_least * budget < most <= most_budgets * budget + chunk


def test_a_window_is_close_to_a_fresh_run_and_has_its_components():
    """On five kinds of graphs; the ring keeps at most two budgets more than it has buckets."""
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
        ring, fresh = [], []
        for seed in range(3):
            stream = StreamSparsifier(n_edges=budget, window=10.0, random_state=seed)
            for start in range(0, edges.n_edges, 1000):
                stream.partial_fit(edges.part(start, start + 1000))
                assert stream.n_kept_ <= 18 * budget
            own = edges_of(edges, stream.span_[0])
            assert stream.span_[1] - stream.span_[0] <= 10.0 * 17 / 16
            result = stream.sparsifier()
            assert result.n_edges <= budget
            assert (result.components() == own.components()).all()
            once = StreamSparsifier(n_edges=budget, random_state=seed).partial_fit(own)
            ring.append(reference.pencil_condition(own, result))
            fresh.append(reference.pencil_condition(own, once.sparsifier()))
        ratios[name] = np.median(ring) / np.median(fresh)
    assert max(ratios.values()) < 1.35, ratios  # of kappa, whose spread is a tenth


def test_spans_are_whole_buckets():
    edges = small_graph(n_units=6.0)
    stream = StreamSparsifier(n_edges=1000, window=4.0, buckets=4).partial_fit(edges)

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
        ({"at": 5.0, "since": 4.0}, "without at"),
    ):
        with pytest.raises(InputError, match=said):
            stream.sparsifier(**arguments)


@pytest.mark.parametrize(
    "forgets", [{"window": 9.0}, {"half_life": 0.8}, {"window": 5, "buckets": 3}]
)
def test_batches_order_and_a_stop_change_nothing(forgets, tmp_path):
    """Cut anywhere, saved and loaded anywhere, late edges included: the same bytes."""
    graph = timed(sources.erdos_renyi(60, 9000, random_state=2).to_edge_list(), 20.0)
    late = graph.time + np.random.default_rng(3).uniform(-1.5, 0, graph.n_edges)
    edges = TimedEdges.of(graph, late)
    settings = {
        "n_edges": 150,
        **forgets,
        "random_state": 12,
        "options": StreamOptions(chunk_size=64),
    }
    whole = StreamSparsifier(**settings).partial_fit(edges)
    cut = StreamSparsifier(**settings)
    for start, stop in ((0, 1), (1, 777), (777, 7000), (7000, 7000), (7000, 8100), (8100, None)):
        cut.partial_fit(edges.part(start, stop))
        cut.save(tmp_path / "run.ckpt")
        cut = StreamSparsifier.load(tmp_path / "run.ckpt")
        assert cut.is_timed
    assert whole.n_shrinks_ > 3
    assert whole.to_bytes() == cut.to_bytes()
    one, other = whole.sparsifier(), cut.sparsifier()
    assert (one.weight == other.weight).all()
    assert (one.tail == other.tail).all()
    assert whole.span_ == cut.span_


def test_states_that_no_stream_wrote_are_refused(tmp_path):
    stream = StreamSparsifier(n_edges=100, window=2.0).partial_fit(small_graph())
    record, arrays = unpack(stream.to_bytes(), "here")
    some = next(name for name in arrays if name.startswith("bucket_"))
    for change in (
        {"latest": "soon"},
        {"gone": float("inf")},
        {"checksums": [1, 2, 3]},
        {"n_nodes": 3},
        {"late": [10**6]},
        {"buckets": [1, 2]},
    ):
        broken = record | {"ring": record["ring"] | change}
        with pytest.raises(InputError, match="here holds no state of a stream"):
            StreamSparsifier._from(pack_bytes(broken, arrays), "here")
    cut = pack_bytes(record, arrays | {some: arrays[some][:-3]})
    with pytest.raises(InputError, match="is not a complete checkpoint"):
        StreamSparsifier._from(cut, "here")


def test_edges_older_than_the_window_are_counted():
    stream = StreamSparsifier(n_edges=100, window=2.0, buckets=2)
    stream.partial_fit(TimedEdges(tail=[0, 1, 2], head=[1, 2, 3], time=[9.5, 7.5, 3.0]))
    assert (stream.n_too_old_, stream.n_edges_seen_) == (1, 3)
    assert stream.sparsifier().n_edges == 2
    assert stream.n_components_ == 2


def test_merging_adds_buckets_of_streams_with_their_own_ids():
    """Two halves of one stream, with other numbers for the same ids, and one lagging behind."""
    rng = np.random.default_rng(8)
    names = np.array([f"node {k}" for k in range(12)], dtype=object)
    edges = small_graph()
    first = TimedEdges.of(
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
    settings = {"n_edges": 1000, "window": 2.0, "buckets": 4}
    streams = [StreamSparsifier(**settings).partial_fit(part) for part in (first, second)]
    for merged in (streams[0].merge(streams[1]), streams[1].merge(streams[0])):
        result = merged.sparsifier()
        numbers = [names.tolist().index(name) for name in result.ids]
        exact = edges_of(edges, merged.span_[0]).laplacian().toarray()
        got = result.laplacian().toarray()
        np.testing.assert_allclose(got, exact[np.ix_(numbers, numbers)], atol=1e-12)
        assert merged.n_edges_seen_ == edges.n_edges
    with pytest.raises(InputError, match="same window"):
        streams[0].merge(StreamSparsifier(n_edges=1000, window=3.0, buckets=4))
    with pytest.raises(InputError, match="same window"):
        streams[0].merge(StreamSparsifier(n_edges=1000))


def test_favored_nodes_keep_their_edges():
    graph = timed(sources.erdos_renyi(80, 12_000, random_state=2).to_edge_list(), 10.0)
    kept = {}
    for favored in (None, [3]):
        settings = {"n_edges": 640, "window": 5.0, "favored_nodes": favored, "random_state": 1}
        result = StreamSparsifier(**settings).partial_fit(graph).sparsifier()
        kept[favored is None] = np.count_nonzero((result.tail == 3) | (result.head == 3))
    assert kept[False] > 2 * kept[True]


def test_what_makes_no_sense_is_refused():
    for settings, said in (
        ({"window": 0.0}, "window"),
        ({"half_life": -1.0}, "half_life"),
        ({"half_life": np.inf}, "half_life"),
        ({"window": 1.0, "buckets": 0}, "buckets"),
        ({"window": 1.0, "ridge": 1.0}, "no ridge"),
        ({"window": 1e6, "half_life": 1.0}, "nothing is left"),
    ):
        with pytest.raises(InputError, match=said):
            StreamSparsifier(n_edges=10, **settings)
    stream = StreamSparsifier(n_edges=10, half_life=1.0)
    with pytest.raises(InputError, match="no edges"):
        stream.sparsifier()
    with pytest.raises(InputError, match="needs the time of every edge"):
        stream.partial_fit(EdgeList(tail=[0], head=[1]))
    stream.partial_fit(TimedEdges(tail=[0], head=[1], time=[5.0]))
    with pytest.raises(InputError, match="cannot be taken out again"):
        stream.sparsifier(at=4.0)
    with pytest.raises(InputError, match="with a window"):
        stream.sparsifier(since=4.0)
    with pytest.raises(InputError, match="streams with times"):
        StreamSparsifier(n_edges=10).partial_fit(EdgeList(tail=[0], head=[1])).sparsifier(at=3)
    with pytest.raises(InputError, match="linear sketch"):
        EdgeList(tail=[0], head=[1], weight=[-1.0])
    with pytest.raises(InputError, match="2 entries for 1"):
        TimedEdges(tail=[0], head=[1], time=[1.0, 2.0])
    with pytest.raises(InputError, match="not a number"):
        TimedEdges(tail=[0], head=[1], time=[np.nan])


@pytest.mark.parametrize("forgets", [{"half_life": 0.2}, {"window": 4.0, "half_life": 1.5}])
def test_degrees_and_probes_are_decayed_to_the_last_edge(forgets):
    """Over several buckets: exact degrees, and no error on random cuts if nothing was dropped."""
    edges = small_graph(n_units=8.0)
    stream = StreamSparsifier(n_edges=1000, **forgets).partial_fit(edges)
    assert len(stream._engine.streams) > 2
    own = edges_of(edges, stream.span_[0])
    now = edges.time.max()
    late = edges.time >= stream.span_[0]
    decayed = edges.weight[late] * np.exp2((edges.time[late] - now) / forgets["half_life"])
    expected = EdgeList(tail=own.tail, head=own.head, weight=decayed, n_nodes=own.n_nodes)
    np.testing.assert_allclose(stream.degrees_, expected.degrees(), rtol=1e-9, atol=1e-15)
    result = stream.sparsifier()
    np.testing.assert_allclose(result.degrees(), expected.degrees(), rtol=1e-9, atol=1e-15)
    assert stream.probe_error_ < 1e-9
    later = stream.sparsifier(at=now + 1.0)
    ratio = later.weight.sum() / result.weight.sum()
    assert ratio <= 2 ** (-1.0 / forgets["half_life"]) * (1 + 1e-9)


def test_a_merged_ring_knows_what_both_have_forgotten():
    early = TimedEdges(tail=[0, 1, 2], head=[1, 2, 3], time=[9.5, 7.5, 3.0])
    late = TimedEdges(tail=[0, 1, 2, 3], head=[1, 2, 3, 0], time=[9.25, 8.5, 5.0, 4.0])
    settings = {"n_edges": 100, "window": 2.0, "buckets": 2}
    one, two = (StreamSparsifier(**settings).partial_fit(edges) for edges in (early, late))
    assert (one.n_too_old_, two.n_too_old_) == (1, 2)
    for merged in (one.merge(two), two.merge(one)):
        assert merged.n_too_old_ == 3
        assert merged.n_edges_seen_ == 7
        assert merged._engine.gone == two._engine.gone == 5
        assert merged._engine.latest == 9.5
        with pytest.raises(InputError, match="forgotten"):
            merged.sparsifier(since=5.0, until=6.0)
        assert merged.sparsifier().weight.sum() == 4.0
