"""Whether neighbors agree: against a dense count, on block models, and in the command's words."""

import json
import warnings

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.cli import run
from graphsqueak.graph import EdgeList
from graphsqueak.ssl import HomophilyWarning
from graphsqueak.ssl.decisions.homophily import measure_homophily
from graphsqueak.ssl.labels import class_labels
from tests.ssl.graphs import hide, uneven_blocks

pytestmark = pytest.mark.filterwarnings("always:the graph reveals little")


def drawn(seed, homophily, *, n_nodes=600, n_labels=80, **settings):
    """A graph, its truth, and the labels of some nodes."""
    graph, truth = uneven_blocks(seed, homophily, n_nodes=n_nodes, **settings)
    rng = np.random.default_rng(seed + 1)
    return graph, truth, hide(truth, rng.choice(n_nodes, n_labels, replace=False))


def is_warned(model, graph, y):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(graph, y)
    return any(said.category is HomophilyWarning for said in told)


def test_all_labels_give_the_correlation_of_neighbors():
    graph, truth = uneven_blocks(40_127, 0.5, n_nodes=3000)
    found = measure_homophily(graph, class_labels(truth, graph))
    ends = np.concatenate([[graph.tail, graph.head], [graph.head, graph.tail]], axis=1)
    exact = np.corrcoef(truth[ends])[0, 1]
    assert abs(found.value - exact) < 6 * found.error
    assert found.error < 0.03


def test_classes_count_by_their_degrees():
    """Hubs are of class 1: a tenth of the nodes has more than half of the ends."""
    rng = np.random.default_rng(40_128)
    truth = (np.arange(1000) < 100).astype(int)
    degree = np.where(truth == 1, 12.0, 1.0)
    tail, head = rng.choice(1000, size=(2, 20_000), p=degree / degree.sum())
    graph = EdgeList(tail=tail, head=head, n_nodes=1000)
    found = measure_homophily(graph, class_labels(truth, graph))
    ends = np.concatenate([[graph.tail, graph.head], [graph.head, graph.tail]], axis=1)
    assert abs(found.value - np.corrcoef(truth[ends])[0, 1]) < 6 * found.error
    assert found.error < 0.02
    assert abs(found.value) < 0.05  # by numbers of nodes it is about 0.5


@pytest.mark.parametrize("homophily", [-0.4, 0.0, 0.3, 0.7])
def test_the_error_is_that_of_few_labels(homophily):
    """Over 30 draws the mean square of value - truth in units of the error is 1, about."""
    off = []
    for seed in range(30):
        graph, _, y = drawn(71_000 + 10 * seed, homophily)
        found = measure_homophily(graph, class_labels(y, graph))
        off.append((found.value - homophily) / found.error)
    # a chi-square mean of 30 has a deviation of sqrt(2 / 30); two steps of estimation double it
    assert np.mean(np.square(off)) < 1 + 6 * np.sqrt(2 / 30)
    assert abs(np.mean(off)) < 6 / np.sqrt(30)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.4, 0.3, 0.3)])
@pytest.mark.parametrize("homophily", [0.0, 0.6, 0.9])
def test_two_errors_reach_the_truth_with_few_labels_on_small_graphs(homophily, shares):
    """In 90 of 100 draws; by chance in 96 of them, whose deviation is 2."""
    reached = 0
    for seed in range(100):
        settings = {"n_nodes": 150, "n_labels": 20, "degree": 10, "shares": shares}
        graph, truth, y = drawn(15_000 + 10 * seed, homophily, **settings)
        found = measure_homophily(graph, class_labels(y, graph))
        ends = np.concatenate([[graph.tail, graph.head], [graph.head, graph.tail]], axis=1)
        share = np.bincount(truth[ends[0]]) / ends.shape[1]
        alike = np.mean(truth[ends[0]] == truth[ends[1]])
        exact = (alike - share @ share) / (1 - share @ share)
        is_known = len(set(y)) > 2
        reached += not is_known or abs(found.value - exact) <= 2 * found.error
    assert reached >= 90


@pytest.mark.parametrize("n_labels", [60, 150])
def test_two_errors_reach_a_large_homophily_of_a_rare_class(n_labels):
    """One of twenty nodes, at .9. By chance in 96 of 100 draws, whose deviation is 2: 84 at least.

    With fewer labels hardly two of the rare class are joined.
    """
    reached = 0
    for seed in range(100):
        settings = {"n_nodes": 1000, "n_labels": n_labels, "degree": 10, "shares": (0.95, 0.05)}
        graph, _, y = drawn(28_000 + 10 * seed, 0.9, **settings)
        found = measure_homophily(graph, class_labels(y, graph))
        reached += np.isnan(found.value) or abs(found.value - 0.9) <= 2 * found.error
    assert reached >= 84


@pytest.mark.slow
@pytest.mark.parametrize(("homophily", "least", "most"), [(0.0, 95, 100), (0.6, 0, 5)])
def test_the_warning_fires_without_homophily_and_is_silent_with_it(homophily, least, most):
    draws = (drawn(92_000 + 10 * seed, homophily, n_nodes=400) for seed in range(100))
    fired = sum(is_warned(gs.StableHFSClassifier(random_state=7), g, y) for g, _, y in draws)
    assert least <= fired <= most


def test_a_dense_graph_that_tells_the_classes_is_not_warned_of():
    """Neighbors agree little more often than random nodes, but a node has 150 of them."""
    graph, truth, y = drawn(5_501, 0.15, degree=150, n_labels=200)
    model = gs.StableHFSClassifier(random_state=7)
    assert not is_warned(model, graph, y)
    assert abs(model.homophily_) < 0.2
    assert model.score(None, truth) > 0.85
    # It does not score labeled nodes without their own labels.
    assert not is_warned(gs.HFSClassifier(), graph, y)


def test_two_labels_tell_nothing_and_nothing_is_said():
    graph, _, y = drawn(8_713, 0.0, n_labels=4)
    model = gs.StableHFSClassifier(random_state=7)
    assert not is_warned(model, graph, y)
    assert model.homophily_error_ > 0.2


def test_the_sign_is_known_from_neighbors_in_common_and_scores():
    """Hardly two labeled nodes are joined: r_2 alone would give 0."""
    for homophily in (-0.8, 0.8):
        graph, _, y = drawn(61_007, homophily, n_nodes=4000, n_labels=60, degree=40)
        model = gs.StableHFSClassifier(random_state=7)
        assert is_warned(model, graph, y) == (homophily < 0)
        assert abs(model.homophily_ - homophily) < 6 * max(model.homophily_error_, 0.05)


@pytest.mark.parametrize(
    "settings", [{"max_passes": "auto"}, {"max_passes": 1}, {"n_edges": 10**6}]
)
def test_sparsifiers_tell_it_too(settings):
    graph, _, y = drawn(17_239, 0.0, degree=60, n_labels=150)
    model = gs.SparseHFSClassifier(**{"n_edges": 4000} | settings, random_state=7)
    assert is_warned(model, graph, y)
    assert abs(model.homophily_) < 6 * model.homophily_error_


def test_one_class_has_no_homophily():
    model = gs.StableHFSClassifier().fit(EdgeList(tail=[0, 1], head=[1, 2]), [0, -1, -1])
    assert np.isnan(model.homophily_)


def test_the_command_says_so(tmp_path, capsys):
    graph, _, y = drawn(33_501, 0.0)
    gs.write_edges(graph, tmp_path / "edges.tsv")
    rows = [f"{node},{'ab'[y[node]]}" for node in np.flatnonzero(y >= 0)]
    (tmp_path / "labels.csv").write_text("\n".join(["node,label", *rows]))
    words = ["label", *(str(tmp_path / name) for name in ("edges.tsv", "labels.csv"))]
    assert run([*words, "-o", str(tmp_path / "out.csv")]) == 0
    said = capsys.readouterr()
    assert "warning: the graph reveals little" in said.err
    assert "NeighborMeans" in said.err
    assert "homophily " in said.out
    assert run([*words, "-o", str(tmp_path / "out.csv"), "--force", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert abs(record["homophily"]) < 6 * record["homophily_error"]
    assert len(record["warnings"]) == 1


@pytest.mark.parametrize(("noise", "least", "most"), [(0.3, 0, 0), (None, 17, 20)])
def test_regressors_warn_if_values_have_nothing_to_do_with_the_graph(noise, least, most):
    """Values that vary along a ring, or drawn at random: 19.5 of 20 are then warned of."""
    fired = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        node = np.arange(300)
        graph = EdgeList(tail=np.tile(node, 2), head=np.append(node + 1, node + 2) % 300)
        values = rng.normal(size=300)
        if noise is not None:
            values = np.sin(node * 2 * np.pi / 300) + noise * values
        y = np.full(300, np.nan)
        labeled = rng.choice(300, 60, replace=False)
        y[labeled] = values[labeled]
        fired += is_warned(gs.StableHFSRegressor(random_state=7), graph, y)
    assert least <= fired <= most
