"""The merge tree of a graph: as good as one pass in any shape, and the same wherever it runs."""

from dataclasses import replace

import numpy as np
import pytest

from graphsqueak import (
    EdgeList,
    InputError,
    StreamOptions,
    StreamSparsifier,
    read_edges,
    sources,
    sparsify,
    write_edges,
)
from graphsqueak.sources.files.splitting import split
from graphsqueak.sparsifiers.budget import stream_bytes
from graphsqueak.sparsifiers.config import SparsifyConfig
from graphsqueak.sparsifiers.run import certify_and_search
from graphsqueak.sparsifiers.tree.parts import (
    MergeTree,
    Piece,
    grow_tree,
    leaf,
    make_prior,
    merge,
    open_store,
    run_record,
)
from graphsqueak.trees.running import run_here, run_tree
from graphsqueak.trees.shapes import as_tree
from tests import reference
from tests.sparsifiers.stream import engine_state
from tests.trees.test_shapes import random_tree

N_PARTS, N_SEEDS = 6, 30


SHORT = StreamOptions(chunk_size=512)  # small streams are resparsified as well


@pytest.mark.slow
def test_the_shape_does_not_matter():
    """Mean eps of 30 seeds each; every tree within six sigma of one pass, at equal kept edges."""
    graph = sources.block_model(500, 60_000, random_state=60_493).to_edge_list()
    parts, settings = split(graph, N_PARTS), {"n_edges": 3_000}
    shapes = {name: as_tree(name, N_PARTS) for name in ("balanced", "sequential", 4)}
    errors = {name: [] for name in (*shapes, "random", "guided", "one pass")}
    kept = []
    for run in range(N_SEEDS):
        seed = 15_485_863 * run + 11
        seeds = as_tree("balanced", N_PARTS).seeds(seed)
        states = [
            leaf(Piece(number, part), seeds[number], settings=settings, options=SHORT)
            for number, part in enumerate(parts)
        ]
        whole = StreamSparsifier(**settings, random_state=seed, options=SHORT).partial_fit(graph)
        streams = {"one pass": whole}
        rng = np.random.default_rng(seed)
        for name, tree in (shapes | {"random": random_tree(N_PARTS, rng=rng)}).items():
            root = run_tree(tree, _as_it_is, merge, states, seed=seed, backend=run_here).result
            streams[name] = StreamSparsifier.from_bytes(root)
        how = {"settings": settings, "options": SHORT, "seed": seed}
        streams["guided"] = grow_tree(parts, **how, shape="guided").stream
        for name, stream in streams.items():
            result = stream.sparsifier()
            kept.append(result.n_edges)
            errors[name].append(reference.epsilon(graph, result))
    assert (
        StreamSparsifier.from_bytes(states[0]).n_resparsifications_ > 0
    )  # leaves, too, have thinned
    assert min(kept) > 0.99 * max(kept)
    once = errors.pop("one pass")
    for name, found in errors.items():
        sigma = np.hypot(np.std(found), np.std(once)) / np.sqrt(N_SEEDS)
        assert abs(np.mean(found) - np.mean(once)) < 6 * sigma, name


def _as_it_is(state, seed):
    return state


def test_a_merge_is_a_function_of_states_and_seed():
    parts = split(sources.erdos_renyi(200, 20_000, random_state=8).to_edge_list(), 3)
    how = {"settings": {"n_edges": 1000}}
    states = [leaf(Piece(i, part), 31 + i, **how) for i, part in enumerate(parts)]
    assert states[1] == leaf(Piece(1, parts[1]), 32, **how)
    assert merge(states, 5) == merge(states, 5)
    assert merge(states, 5) != merge(states, 6)


@pytest.mark.parametrize("kind", ["integer", "text"])
def test_nodes_are_matched_by_id_and_numbered_as_in_one_pass(tmp_path, kind):
    """Parts name overlapping sets of nodes; what fits the budget comes back exactly."""
    rng = np.random.default_rng(77_003)
    path = tmp_path / "edges.csv"
    ends = rng.integers(80, size=(900, 2)) ** 3
    name = "{}" if kind == "integer" else "né {}"
    path.write_text("".join(f"{name.format(u)},{name.format(v)},{u % 5 + 1}\n" for u, v in ends))
    source = read_edges(path)
    tree = grow_tree(split(source, 7), settings={"n_edges": 5_000}, seed=3)
    result, whole = tree.stream.sparsifier(), source.to_edge_list()
    assert result.ids.tolist() == whole.ids.tolist()
    assert tree.stream.note["n_self_loops"] == source.n_self_loops > 0
    np.testing.assert_allclose(result.laplacian().toarray(), whole.laplacian().toarray())
    assert tree.stream.n_components_ == whole.components().max() + 1


def test_a_guided_part_keeps_what_one_pass_would_and_stays_unbiased():
    """Guided by a part of 20,000 edges, one as large keeps target * log(2) of them, unguided all.

    Over 40 seeds; sum of the weights, in expectation the number of edges, within six sigma.
    """
    first, second = split(sources.erdos_renyi(300, 40_000, random_state=17).to_edge_list(), 2)
    how, kept, weight = {"settings": {"n_edges": 3_000}, "options": SHORT}, [], []
    for seed in range(40):
        prior = make_prior(leaf(Piece(0, first), 100 + seed, is_leader=True, **how))
        own = leaf(Piece(1, second), 1_000 + seed, prior=prior, **how)
        stream = StreamSparsifier.from_bytes(own)
        edges = engine_state(stream).buffer.edges()
        np.testing.assert_array_equal(stream.degrees_, second.degrees())
        kept.append(edges.tail.size)
        weight.append(edges.weight.sum())
    assert abs(np.mean(kept) / (1.5 * 3_000 * np.log(2)) - 1) < 0.15
    sigma = np.std(weight) / np.sqrt(40)
    assert abs(np.mean(weight) - second.n_edges) < 6 * sigma


def test_later_parts_of_a_guided_tree_keep_less(tmp_path):
    """Part 15 follows four: 1.5 to 2 budgets times log(1 + 1/4), 500 to 670 of 2,500 edges."""
    graph = sources.erdos_renyi(300, 40_000, random_state=17).to_edge_list()
    parts, how = split(graph, 16), {"settings": {"n_edges": 1_500}, "options": SHORT, "seed": 5}
    store = open_store(tmp_path, run_record(parts, {}, seed=5), resume=False)
    stream = grow_tree(parts, store=store, **how).stream
    kept = [StreamSparsifier.from_bytes(store.get(number)).n_kept_ for number in range(16)]
    assert kept[1] > 2_300  # it has no prior
    assert 400 < kept[15] < 800
    assert stream.n_kept_ <= 3 * 1_500
    assert reference.epsilon(graph, stream.sparsifier()) < 0.75  # sqrt(2 n / edges) is 0.63


def test_a_part_that_its_guide_does_not_know_is_read_without():
    """Edges between other nodes all stay, until they are too many: then the part stands alone."""
    known = sources.erdos_renyi(200, 20_000, random_state=8).to_edge_list()
    ids = np.arange(1_000, 1_200)
    known = EdgeList(tail=known.tail, head=known.head, ids=ids)
    other = EdgeList(tail=known.tail, head=known.head, ids=ids + 500)
    how = {"settings": {"n_edges": 1_000}, "options": SHORT}
    prior = make_prior(leaf(Piece(0, known), 3, is_leader=True, **how))
    assert leaf(Piece(1, other), 4, prior=prior, **how) == leaf(Piece(1, other), 4, **how)
    assert leaf(Piece(1, known), 4, prior=prior, **how) != leaf(Piece(1, known), 4, **how)


def test_a_part_stands_alone_after_a_leader_that_dropped_no_edge():
    first, second = split(sources.erdos_renyi(200, 4_000, random_state=8).to_edge_list(), 2)
    how = {"settings": {"n_edges": 50_000}, "options": SHORT}
    prior = make_prior(leaf(Piece(0, first), 3, is_leader=True, **how))
    assert leaf(Piece(1, second), 4, prior=prior, **how) == leaf(Piece(1, second), 4, **how)


def test_a_prior_has_no_edges_and_a_stored_leader_has_the_same(tmp_path):
    first, second = split(sources.erdos_renyi(200, 40_000, random_state=8).to_edge_list(), 2)
    store = open_store(tmp_path, run_record([first, second], {}, seed=5), resume=False)
    how = {"settings": {"n_edges": 1_000}, "options": SHORT, "is_leader": True}
    state = leaf(Piece(0, first), 3, **how, store=store)
    assert leaf(Piece(0, first), 3, **how, store=store) == state
    prior = make_prior(state)
    assert StreamSparsifier.from_bytes(prior).n_kept_ == 0
    merged = merge([state, leaf(Piece(1, second), 4, **how, prior=prior)], 5)
    # The merged leader has seen twice as many edges.
    states = [
        leaf(Piece(2, second), 6, **how, prior=earlier) for earlier in (prior, make_prior(merged))
    ]
    n_kept = [StreamSparsifier.from_bytes(state).n_kept_ for state in states]
    assert n_kept[1] < n_kept[0]


def test_a_guided_tree_holds_late_nodes_together():
    """Half of the nodes come in the second half of the stream, hung on by one edge each way."""
    rng = np.random.default_rng(40_961)
    ends = rng.integers(150, size=(2, 40_000))
    ends[:, 20_000:] += 150
    ends[:, 19_999], ends[:, -1] = (3, 299), (7, 300)
    keep = ends[0] != ends[1]
    graph = EdgeList(tail=ends[0, keep], head=ends[1, keep], n_nodes=302)
    graph = EdgeList(tail=graph.tail, head=graph.head, ids=9 * np.arange(302) ** 2)
    how = {"settings": {"n_edges": 2_500}, "options": SHORT, "seed": 5}
    stream = grow_tree(split(graph, 12), shape="guided", **how).stream
    assert stream.n_kept_ <= 3 * 2_500  # the root is shrunk, though parts that follow are not
    result = stream.sparsifier()
    assert stream.n_edges_seen_ == graph.n_edges
    assert stream.n_components_ == graph.components().max() + 1
    by_id = dict(zip(result.ids.tolist(), result.degrees(), strict=True))
    wanted = dict(zip(graph.ids.tolist(), graph.degrees(), strict=True))
    found = np.array([by_id[name] / wanted[name] for name in by_id if wanted[name]])
    assert abs(found.mean() - 1) < 0.02
    np.testing.assert_array_equal(stream.degrees_, [wanted[name] for name in stream.ids_.tolist()])
    assert result.components().max() + 1 == stream.n_components_


def test_a_ridge_is_shared_among_the_leaves():
    """Each of k leaves is accurate up to ridge / k, so that the sum is up to the ridge."""
    graph = sources.erdos_renyi(200, 20_000, random_state=8).to_edge_list()
    settings = {"n_edges": 1000, "ridge": 40.0}
    single = settings | {"ridge": 10.0}
    one = StreamSparsifier.from_bytes(leaf(Piece(0, graph), 3, settings=single, options=SHORT))
    tree = grow_tree(split(graph, 4), settings=settings, options=SHORT, seed=3)
    assert (one.ridge, tree.stream.ridge) == (10.0, 40.0)
    assert reference.epsilon(graph, tree.stream.sparsifier(), ridge=40.0) < 0.5


def test_empty_parts_do_no_harm():
    nothing = EdgeList.from_validated([], [], [], n_nodes=0)
    edge = EdgeList.from_pairs([("ann", "bob")])
    stream = grow_tree([nothing, edge, nothing], settings={"n_edges": 5}, seed=1).stream
    assert stream.sparsifier().ids.tolist() == ["ann", "bob"]


def test_finished_leaves_are_not_read_again(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    graph = sources.erdos_renyi(100, 8_000, random_state=4).to_edge_list()
    for number, part in enumerate(split(graph, 4)):
        write_edges(part, folder / f"{number}.tsv")
    pieces, how = split(read_edges(folder), 4), {"settings": {"n_edges": 800}, "seed": 9}
    plain = grow_tree(pieces, **how)
    store = open_store(tmp_path / "leaves", run_record(pieces, {}, seed=9), resume=True)
    assert grow_tree(pieces, **how, store=store).run.result == plain.run.result
    damaged, lost = (tmp_path / "leaves" / f"part-0000{i}.ckpt" for i in (1, 3))
    damaged.write_bytes(damaged.read_bytes()[:-9])
    lost.unlink()
    for unread in (0, 2):
        size = (folder / f"{unread}.tsv").stat().st_size
        (folder / f"{unread}.tsv").write_text("?" * size)  # would be an error if it were read
    store = open_store(tmp_path / "leaves", run_record(pieces, {}, seed=9), resume=True)
    again = grow_tree(pieces, **how, store=store)
    assert again.run.result == plain.run.result
    with pytest.raises(InputError, match="written with other seed"):
        open_store(tmp_path / "leaves", run_record(pieces, {}, seed=10), resume=True)
    with pytest.raises(InputError, match="written with other parts"):
        open_store(tmp_path / "leaves", run_record(pieces[:3], {}, seed=9), resume=True)
    assert (
        open_store(tmp_path / "leaves", run_record(pieces, {}, seed=10), resume=False).count() == 0
    )


def test_little_memory_makes_a_leaf_shrink_earlier():
    """Room for 8,000 edges instead of 10,500: never more, and two states of 3,500 fit into it."""
    graph = sources.erdos_renyi(300, 44_850, random_state=4).to_edge_list()
    settings = {"n_edges": 3_500}
    options = replace(SHORT, memory_limit=stream_bytes(300, 8_000))
    most = []
    for limited in (SHORT, options):
        stream, kept = StreamSparsifier(**settings, options=limited, random_state=3), []
        for start in range(0, graph.n_edges, 512):
            kept.append(stream.partial_fit(graph.part(start, start + 512)).n_kept_)
        most.append(max(kept))
    assert most[0] > 10_000
    assert most[1] <= 8_000
    for shape, least in (("balanced", 3_150), (4, 1_600)):  # four at once get 2,000 each
        tree = grow_tree(split(graph, 8), settings=settings, options=options, shape=shape, seed=3)
        assert tree.stream.n_kept_ <= 8_000
        result = tree.stream.sparsifier()
        assert least <= result.n_edges <= 3_500
        assert reference.epsilon(graph, result) < 1.1 * np.sqrt(2 * 300 / result.n_edges)


def test_an_accuracy_that_was_missed_is_met_by_another_tree():
    graph = sources.complete(200).to_edge_list()
    how = {"tree": 3, "n_parts": 5, "random_state": 4}
    tree = MergeTree(graph, SparsifyConfig(n_edges=600, **how))
    stream = tree.run().stream
    config = SparsifyConfig(epsilon=0.5, **how)
    made = certify_and_search(graph, stream, stream.sparsifier(), config, rerun=tree.rerun)
    assert made.n_runs > 1
    assert made.certificate.meets(0.5)
    again = sparsify(graph, n_edges=made.stream.n_edges, **how)
    np.testing.assert_array_equal(again.weight, made.sparsifier.weight)
    how["random_state"] = np.random.default_rng(4)
    assert sparsify(graph, epsilon=0.5, **how).certificate.meets(0.5)


@pytest.mark.parametrize("tree", [None, "auto"])
def test_a_tree_is_guided_unless_memory_is_limited(tree):
    how = {"n_edges": 600, "workers": 2, "tree": tree}
    assert SparsifyConfig(**how).tree_shape == "guided"
    assert SparsifyConfig(**how, memory_limit=1 << 30).tree_shape == "balanced"


def test_a_guided_part_has_its_own_ridge_and_its_own_seed():
    """Not those of its prior, which has seen more parts."""
    first, second = split(sources.erdos_renyi(200, 40_000, random_state=8).to_edge_list(), 2)
    settings, options = {"n_edges": 1_000}, SHORT
    leader = leaf(
        Piece(0, first),
        3,
        settings=settings | {"ridge": 0.75},
        options=options,
        is_leader=True,
    )
    prior = make_prior(leader)
    assert StreamSparsifier.from_bytes(prior).ridge == 0.75
    states = [
        leaf(
            Piece(1, second),
            seed,
            settings=settings | {"ridge": 0.25},
            options=options,
            prior=prior,
        )
        for seed in (4, 5, 4)
    ]
    assert states[0] == states[2]
    own, other = (StreamSparsifier.from_bytes(state) for state in states[:2])
    assert (own.ridge, engine_state(own).ridge) == (0.25, 0.25)
    assert (engine_state(own).seed, engine_state(other).seed) == (4, 5)
    kept = [engine_state(stream).buffer.edges() for stream in (own, other)]
    assert kept[0].tail.tolist() != kept[1].tail.tolist()
