"""Tables of pairs: the product is exact, the stream has the graph as its mean, odd tables."""

import io

import numpy as np
import polars as pl
import pytest

import graphsqueak as gs
from graphsqueak.errors import InputError
from graphsqueak.sources.projections.entity_attribute_table import EntityAttributeTable
from tests import reference


def random_table(seed, *, weighted=False):
    """Pairs of up to 300 entities, none repeated, with attributes of all sizes."""
    rng = np.random.default_rng([seed, 77_215])
    n_entities, n_attributes = int(rng.integers(5, 300)), int(rng.integers(1, 20))
    share = rng.random(n_attributes) ** 3
    has = rng.random((n_entities, n_attributes)) < share
    has[np.arange(n_entities), rng.integers(n_attributes, size=n_entities)] = True
    entity, attribute = np.nonzero(has)
    weight = rng.lognormal(size=entity.size) if weighted else np.ones(entity.size)
    order = rng.permutation(entity.size)
    return entity[order], attribute[order], weight[order], n_entities, n_attributes


def cliques_of(table, normalize="size"):
    entity, attribute, weight, n_entities, n_attributes = table
    rows = EntityAttributeTable()
    rows.append(entity, attribute, None if (weight == 1).all() else weight)
    cliques = rows.group_by_attribute(n_entities, n_attributes)
    cliques.set_scale(normalize)
    return cliques


def read(text, **options):
    return gs.read_projection(io.BytesIO(text.encode()), **options)


@pytest.mark.parametrize("normalize", ["size", "none", "idf"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_product_is_that_of_the_whole_graph(normalize, weighted):
    for seed in range(5):
        table = random_table(seed, weighted=weighted)
        adjacency = reference.shared_attributes(*table[:4], normalize)
        laplacian = np.diag(adjacency.sum(axis=0)) - adjacency
        found = cliques_of(table, normalize).multiply(np.eye(table[3]))
        np.testing.assert_allclose(found, laplacian, rtol=1e-9, atol=1e-9 * laplacian.max())


@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_does_not_change_the_product(weighted):
    """To rounding of the differences between entities, however large the constant is."""
    table = random_table(3, weighted=weighted)
    rng = np.random.default_rng(77_216)
    x = rng.integers(1024, size=(table[3], 2)) / 1024  # exact after the shift, too
    cliques = cliques_of(table)
    expected = cliques.multiply(x)
    found = cliques.multiply(x + 2.0**36)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("table", range(20))
def test_the_stream_has_the_graph_as_its_mean(table):
    """Over 2,000 seeds. A pair is on each of m cycles with probability p = 2 / (d - 1).

    Half of the tables draw by shares, which gives attributes different numbers of cycles.
    """
    entity, attribute, weight, n_entities, n_attributes = drawn = random_table(
        table, weighted=table % 2 == 1
    )
    n_seeds, cliques = 2000, cliques_of(drawn)
    if table < 10:
        cliques.sample_at_degree(4)
    else:
        cliques.sample_to_size(3 * n_entities)
    ends, weights = zip(
        *(part for seed in range(n_seeds) for part in cliques.edges(seed)), strict=True
    )
    ends = np.sort(np.concatenate(ends), axis=1)
    index = ends[:, 0] * n_entities + ends[:, 1]
    mean = np.bincount(index, np.concatenate(weights), minlength=n_entities**2) / n_seeds
    mean = mean.reshape(n_entities, n_entities)
    variance = np.zeros_like(mean)
    for value in range(n_attributes):
        one, n_cycles = attribute == value, cliques.n_cycles[value]
        if n_cycles:
            chance = 2 / (np.count_nonzero(one) - 1)
            own = reference.shared_attributes(
                entity[one], attribute[one], weight[one], n_entities, "size"
            )
            variance += own**2 * (1 - chance) / chance / n_cycles
    wanted = np.triu(reference.shared_attributes(*drawn[:4], "size"))
    tolerance = 6 * np.sqrt(np.triu(variance) / n_seeds) + 1e-9
    assert np.all(np.abs(mean - wanted) <= tolerance)
    assert (variance.max() > 0) == bool(cliques.n_cycles.any())


@pytest.mark.parametrize("normalize", ["size", "none", "idf"])
@pytest.mark.parametrize("weighted", [False, True])
def test_attributes_are_sampled_by_their_fraction_of_the_degrees(normalize, weighted):
    """At k c (d - 1) (sum w^2 / s^2) sum w^2 / D edges an entity, for one k, rounded to cycles."""
    entity, attribute, weight, n_entities, n_attributes = table = random_table(8, weighted=weighted)
    cliques = cliques_of(table, normalize)
    cliques.sample_to_size(12 * n_entities)
    assert 12 * n_entities <= cliques.n_sampled().sum() <= 16 * n_entities
    degrees = reference.shared_attributes(*table[:4], normalize).sum(axis=0)
    share = np.zeros(n_attributes)
    for value in range(n_attributes):
        one = attribute == value
        size, squares = np.count_nonzero(one), weight[one] ** 2
        part = squares.sum() / weight[one].sum() ** 2
        share[value] = cliques.scale[value] * (size - 1) * part
        share[value] *= (squares / degrees[entity[one]]).sum()
    some = cliques.n_cycles > 1
    assert np.count_nonzero(some) > 2
    low, high = ((cliques.n_cycles[some] + half) / share[some] for half in (-0.5, 0.5))
    assert low.max() <= high.min() * (1 + 1e-9)


def test_all_edges_are_listed_if_they_fit():
    cliques = cliques_of(random_table(8))
    cliques.sample_to_size(cliques.n_edges)
    assert not cliques.n_cycles.any()
    assert cliques.n_sampled().sum() == cliques.n_edges


def test_a_larger_sparsifier_reads_more_edges_of_the_cliques():
    """A sparsifier of 50 edges an entity; 32 were drawn of them when nobody asked for more."""
    pairs = read("".join(f"u{i} d\n" for i in range(400)), random_state=5)
    drawn = pairs.to_edge_list().n_edges
    small = gs.sparsify(pairs, n_edges=20_000, random_state=2)
    assert drawn < 12_000
    assert 18_000 < small.n_edges <= 20_000
    assert gs.certify(pairs, small).epsilon_upper < 0.2  # 2 / sqrt(100)
    assert pairs.to_edge_list().n_edges == drawn  # the source is as it was
    stream = gs.StreamSparsifier(n_edges=20_000, random_state=2).partial_fit(pairs)
    np.testing.assert_array_equal(stream.sparsifier().weight, small.weight)


def test_a_requested_error_is_met_by_sampling_more():
    lines = "".join(f"u{i} d\n" for i in range(400))
    met = gs.sparsify(read(lines, random_state=5), epsilon=0.15, random_state=2)
    assert gs.certify(read(lines), met).epsilon_upper <= 0.15
    with pytest.raises(InputError, match="draw more of them"):
        gs.sparsify(read(lines, clique_degree=8, random_state=5), epsilon=0.15, random_state=2)


def test_labels_are_those_of_the_whole_graph_if_all_sampled_edges_are_kept():
    entity, attribute, weight, n_entities, _ = random_table(3)
    lines = "".join(f"{e} d{a}\n" for e, a in zip(entity, attribute, strict=True))
    graph = gs.EdgeList.from_scipy(
        reference.shared_attributes(entity, attribute, weight, n_entities, "size")
    )
    known = {node: int(node % 2) for node in range(0, 40, 3)}
    settings = {"eta": 0.05, "prior_weight": 0.0, "random_state": 7}
    exact = gs.StableHFSClassifier(**settings).fit(graph, known)
    pairs = read(lines, clique_degree=2, random_state=5)
    found = gs.SparseHFSClassifier(n_edges=10**6, max_passes=12, **settings).fit(pairs, known)
    assert found.n_passes_ > 1
    order = np.argsort(found.ids_)
    np.testing.assert_allclose(found.scores_[order], exact.scores_, atol=1e-4)


def test_certificates_are_about_the_whole_graph():
    entity, attribute, weight, n_entities, _ = random_table(3)
    lines = "".join(f"{e},d{a}\n" for e, a in zip(entity, attribute, strict=True))
    pairs = read("account,device\n" + lines, clique_degree=6, random_state=5)
    whole = reference.shared_attributes(entity, attribute, weight, n_entities, "size")
    graph = gs.EdgeList.from_scipy(whole)
    sparsifier = gs.sparsify(pairs, n_edges=4 * n_entities, random_state=2)
    order = np.argsort(sparsifier.ids)  # the matrix has the entities in the order of their ids
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    same = gs.EdgeList(
        tail=rank[sparsifier.tail],
        head=rank[sparsifier.head],
        weight=sparsifier.weight,
        n_nodes=n_entities,
    )
    exact = reference.epsilon(graph, same)
    assert gs.certify(pairs, sparsifier).epsilon_upper == pytest.approx(exact, rel=1e-6)
    proved = gs.certify(pairs, sparsifier, method="lanczos", random_state=4)
    assert proved.epsilon_lower <= exact * (1 + 1e-9)
    assert proved.epsilon_upper >= exact * (1 - 1e-9)
    emitted = reference.epsilon(pairs.to_edge_list(), sparsifier)
    assert abs(emitted - exact) > 0.01  # what is handed out is another graph


def test_a_stream_within_the_budget_is_still_a_sample():
    entity, attribute, *_ = random_table(3)
    lines = "".join(f"{e},d{a}\n" for e, a in zip(entity, attribute, strict=True))
    pairs = read("account,device\n" + lines, clique_degree=2, random_state=5)
    assert not pairs.is_exact
    n_emitted = pairs.to_edge_list().n_edges
    found = gs.sparsify(pairs, n_edges=n_emitted, random_state=2)
    assert gs.certify(pairs, found).epsilon_upper > 0.1


def test_repeated_pairs_count_once_or_with_their_sum():
    once = read("ann d1\nbob d1\nann d1\ncy d1\n")
    assert once.n_duplicates == 1
    assert once.n_pairs == 3
    assert once.to_edge_list().weight.tolist() == [0.5] * 3
    summed = read("ann d1 1\nbob d1 2\nann d1 3\n", weight=2, normalize="none").to_edge_list()
    assert summed.weight.tolist() == [4 * 2 / 3]


def test_an_attribute_of_one_entity_has_no_edges():
    pairs = read("ann d1\nbob d1\ncy d2\n")
    edges = pairs.to_edge_list()
    assert edges.n_nodes == 3
    assert edges.n_edges == 1
    assert pairs.components().tolist() == [0, 0, 2]


def test_large_attributes_can_be_skipped():
    lines = "".join(f"u{i} everyone\n" for i in range(50)) + "u1 d\nu2 d\n"
    pairs = read(lines, max_group_size=10)
    assert pairs.n_projected_edges == 1
    assert pairs.n_skipped_attributes == 1
    assert any("more than 10 entities" in remark for remark in pairs.inferred_schema["remarks"])
    assert np.unique(pairs.components()).size == 49
    at_the_limit = read(lines, max_group_size=50)
    assert at_the_limit.n_skipped_attributes == 0
    assert at_the_limit.n_projected_edges == 50 * 49 // 2 + 1


def test_an_attribute_of_all_entities_has_weight_zero_by_idf():
    pairs = read("".join(f"u{i} everyone\n" for i in range(9)) + "u1 d\nu2 d\n", normalize="idf")
    edges = pairs.to_edge_list()
    assert edges.n_edges == 1
    assert edges.weight[0] == pytest.approx(np.log(9 / 2))


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("5 d1\n7 d1\n", [5, 7]),
        ("5 1\n7 1\n", [5, 7]),
        ("007 d1\n7 d1\n", ["007", "7"]),
        ("ann 1\nbob 1\n", ["ann", "bob"]),
        ("é d1\nann d1\n", ["é", "ann"]),
    ],
)
def test_ids_of_any_kind(text, ids):
    assert read(text).to_edge_list().ids.tolist() == ids


def test_tables_in_parquet_with_columns_by_name(tmp_path):
    frame = pl.DataFrame({"when": [1, 2, 3], "device": ["x", "x", "y"], "account": [30, 10, 30]})
    frame.write_parquet(tmp_path / "pairs.parquet")
    pairs = gs.read_projection(tmp_path / "pairs.parquet", entity="account", attribute="device")
    assert pairs.ids.tolist() == []  # nothing was read yet
    edges = pairs.to_edge_list()
    assert edges.ids.tolist() == [30, 10]
    assert pairs.n_attributes == 2


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "no edges"),
        ("ann\nbob\n", {}, "column"),
        ("ann,\nbob,d1\n", {"delimiter": ","}, "line 1"),
        ("ann d1 -1\nbob d1 1\n", {"weight": 2}, "line 1"),
        ("ann d1\nbob d1\n", {"normalize": "sum"}, "normalize"),
        ("ann d1\nbob d1\n", {"max_group_size": 1}, "max_group_size"),
    ],
)
def test_bad_tables_and_options_are_refused(text, options, message):
    with pytest.raises(InputError, match=message):
        read(text, **options).to_edge_list()


def test_an_empty_attribute_can_be_skipped():
    pairs = read("ann,\nbob,d1\ncy,d1\n", delimiter=",", on_bad_line="skip")
    assert pairs.to_edge_list().ids.tolist() == ["bob", "cy"]
    assert pairs.n_bad_lines == 1


def test_a_pipe_of_pairs_can_be_certified():
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    pairs = gs.read_projection(Pipe(b"ann d1\nbob d1\ncy d1\n"))
    found = gs.sparsify(pairs, n_edges=3, random_state=1)
    assert gs.certify(pairs, found).epsilon_upper == pytest.approx(0, abs=1e-9)


def test_pairs_are_not_cut_into_parts():
    with pytest.raises(InputError, match="grouped by attribute"):
        gs.sparsify(read("ann d1\nbob d1\n"), n_edges=10, tree="balanced")


def test_batches_do_not_change_the_sampled_edges():
    entity, attribute, *_ = random_table(6)
    lines = "".join(f"{e} d{a}\n" for e, a in zip(entity, attribute, strict=True))
    first, second = (
        read(lines, clique_degree=4, random_state=3, batch_size=size).to_edge_list()
        for size in (17, 10**6)
    )
    np.testing.assert_array_equal(first.tail, second.tail)
    np.testing.assert_array_equal(first.weight, second.weight)
