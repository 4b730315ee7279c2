"""Weights of labels: against dense algebra, and by what it means for a label."""

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.errors import InputError
from graphsqueak.ssl.decisions.label_weights import class_factors, class_weighted
from graphsqueak.ssl.labels import ClassLabels
from graphsqueak.ssl.stable import inv_mean_degree, stable_scores
from tests import reference
from tests.ssl.graphs import hide, leave_one_out, three_parts, two_blocks, uneven_blocks

WEIGHTS = np.array([0.3, 2.0, 1.0, 4.0, 0.1, 1.5])
TARGETS = np.eye(3)[[0, 1, 2, 0, 1, 1]]


def test_a_weighted_fit_is_that_of_dense_algebra():
    graph, labeled = three_parts(71_203)
    fit = stable_scores(graph, labeled, TARGETS, 0.4, sample_weight=WEIGHTS, tol=1e-12)
    centered, mean, reached = reference.stable_hfs(graph, labeled, TARGETS, 0.4, WEIGHTS)
    np.testing.assert_allclose(fit.centered, centered, atol=1e-9)
    np.testing.assert_allclose(fit.offset, mean)
    np.testing.assert_array_equal(fit.has_label, reached)


def test_weighted_leave_one_out_is_what_refitting_gives():
    graph, labeled = three_parts(71_204)
    out = leave_one_out(graph, labeled, TARGETS, 0.4, sample_weight=WEIGHTS)
    for i in range(labeled.size):
        rest = np.arange(labeled.size) != i
        others = labeled[rest], TARGETS[rest], 0.4, WEIGHTS[rest]
        centered, mean, _ = reference.stable_hfs(graph, *others)
        np.testing.assert_allclose(out.scores[i], centered[labeled[i]], atol=1e-8)
        np.testing.assert_allclose(out.mean[i], mean[labeled[i]], atol=1e-12)


def test_weights_of_one_change_nothing_and_zeros_are_no_labels():
    graph, truth = two_blocks(40_551)
    y = hide(truth, np.arange(0, 80, 4))
    plain = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    ones = gs.StableHFSClassifier(random_state=7).fit(graph, y, sample_weight=np.ones(80))
    np.testing.assert_array_equal(ones.scores_, plain.scores_)
    weight = np.ones(80)
    weight[:8], y[40] = 0.0, -1
    some = gs.StableHFSClassifier(random_state=7).fit(graph, y, sample_weight=weight)
    y[:8] = -1
    np.testing.assert_array_equal(
        some.scores_, gs.StableHFSClassifier(random_state=7).fit(graph, y).scores_
    )


def test_labels_that_are_wrong_and_known_to_be_doubtful_do_less_harm():
    """A third of the labels is turned around; their weight is a twentieth."""
    graph, truth = two_blocks(40_552, inside=0.2, between=0.06)
    nodes = np.arange(0, 80, 2)
    y, weight = hide(truth, nodes), np.ones(80)
    y[nodes[::3]], weight[nodes[::3]] = 1 - y[nodes[::3]], 0.05
    plain = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    trusted = gs.StableHFSClassifier(random_state=7).fit(graph, y, sample_weight=weight)
    by_id = {node: weight[node] for node in range(80)}
    named = gs.StableHFSClassifier(random_state=7).fit(graph, y, sample_weight=by_id)
    rest = np.setdiff1d(np.arange(80), nodes)
    right = [(model.transduction_ == truth)[rest].mean() for model in (plain, trusted)]
    assert right[1] > right[0] + 0.1
    np.testing.assert_array_equal(named.scores_, trusted.scores_)
    assert trusted.prediction_sets(0.2).any(axis=1).all()
    assert "different weights" in trusted.bound_.statement


@pytest.mark.filterwarnings("ignore:the graph reveals little", "ignore:.*without a label")
def test_balanced_classes_find_more_of_the_rare_one():
    """Of a tenth of the nodes; the prior weight does not take back what the weights have given."""
    found = {None: [], "balanced": []}
    for seed in range(6):
        graph, truth = uneven_blocks(83_000 + seed, 0.35, n_nodes=800, shares=(0.9, 0.1))
        y = hide(truth, np.random.default_rng(seed).choice(800, 120, replace=False))
        for weight, recalls in found.items():
            model = gs.StableHFSClassifier(class_weight=weight, random_state=7).fit(graph, y)
            rare = (truth == 1) & (y == -1)
            recalls.append((model.transduction_[rare] == 1).mean())
    assert np.mean(found["balanced"]) > np.mean(found[None]) + 0.1


@pytest.mark.parametrize("class_weight", ["balanced", {1: 30.0}])
def test_class_weights_move_decisions_and_keep_the_ranking(class_weight):
    graph, truth = uneven_blocks(83_100, 0.35, n_nodes=800, shares=(0.95, 0.05))
    y = hide(truth, np.random.default_rng(3).choice(800, 200, replace=False))
    plain = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    weighted = gs.StableHFSClassifier(class_weight=class_weight, random_state=7).fit(graph, y)
    # Scores differ by a constant.
    change = weighted.decision_function() - plain.decision_function()
    assert np.ptp(change[plain.has_label_in_component_]) < 1e-9
    assert (weighted.transduction_ == 1).sum() > (plain.transduction_ == 1).sum()


def test_balanced_classes_have_the_same_weight_in_sum_also_if_labels_have_weights():
    code, weight = np.array([0, 0, 0, 1, 1]), np.array([1.0, 2.0, 0.5, 4.0, 0.25])
    labels = ClassLabels(np.arange(5), code, np.array(["ham", "spam"]), weight)
    found = class_weighted(labels, class_factors(labels, "balanced")).sample_weight
    np.testing.assert_allclose(np.bincount(code, found), weight.sum() / 2)
    np.testing.assert_allclose(found[:3] / weight[:3], found[0] / weight[0])


@pytest.mark.parametrize("max_passes", [1, 4])
def test_weights_count_in_a_graph_that_is_read_and_not_held(max_passes):
    """A third of 60 labels is turned around and hardly trusted: as on the whole graph, nearly."""
    source = gs.sources.block_model(300, 9_000, n_blocks=2, within=0.62, random_state=40_556)
    nodes, truth = np.arange(60), np.arange(300) % 2
    y, weight = hide(truth, nodes), dict.fromkeys(range(0, 60, 3), 0.05)
    y[::3][y[::3] >= 0] ^= 1
    settings = {"keep": 0.3, "max_passes": max_passes, "random_state": 7}
    whole = gs.StableHFSClassifier(random_state=7).fit(source, y, weight)
    plain = gs.SparseHFSClassifier(**settings).fit(source, y)
    read = gs.SparseHFSClassifier(**settings).fit(source, y, weight)
    assert read.n_edges_used_ < 9_000
    assert (read.transduction_ == whole.transduction_).mean() > (0.95 if max_passes > 1 else 0.65)
    right = [(model.transduction_ == truth)[60:].mean() for model in (plain, read)]
    assert right[1] > right[0] + (0.05 if max_passes > 1 else 0.02)


def test_a_class_weight_is_the_same_read_or_held():
    graph, truth = two_blocks(40_557)
    y = hide(truth, np.arange(0, 80, 5))
    held = gs.StableHFSClassifier(class_weight="balanced", random_state=7).fit(graph, y)
    settings = {"n_edges": 10_000, "class_weight": "balanced", "random_state": 7}
    read = gs.SparseHFSClassifier(**settings).fit(graph, y)
    np.testing.assert_allclose(read.scores_, held.scores_, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*without a value")
@pytest.mark.parametrize("model", [gs.StableHFSRegressor, gs.SparseHFSRegressor])
def test_a_value_that_is_not_trusted_hardly_counts(model):
    """Trust of 0 is no value; of all other values the fit is that of the dense reference."""
    graph, labeled = three_parts(71_205)
    values = np.random.default_rng(1_412).normal(size=6)
    y, weight = np.full(graph.n_nodes, np.nan), np.ones(graph.n_nodes)
    y[labeled], weight[labeled] = values, WEIGHTS
    found = model(eta=0.4 / 6, tol=1e-10, random_state=7).fit(graph, y, sample_weight=weight)
    centered, mean, _ = reference.stable_hfs(graph, labeled, values[:, None], 0.4, WEIGHTS)
    np.testing.assert_allclose(found.transduction_, (centered + mean).ravel(), atol=1e-7)
    assert found.mean_ == pytest.approx(np.average(values, weights=WEIGHTS))
    weight[labeled[0]], y[labeled[0]] = 0.0, 1e6
    assert np.abs(model(random_state=7).fit(graph, y, weight).transduction_).max() < 1e3


def test_eta_of_values_has_the_least_weighted_error_of_refits_without_each_value():
    """On a grid, and around 3: errors without weights, or without the mean, choose another eta."""
    graph = gs.sources.grid(8, 8).to_edge_list()
    rng = np.random.default_rng(24)
    labeled = np.sort(rng.choice(64, 20, replace=False))
    values = 3 + np.sin(labeled % 8 / 2) + 0.8 * rng.normal(size=20)
    trust = rng.uniform(0.1, 3, size=20)
    unit = inv_mean_degree(graph)
    errors = {}
    for alpha in (2.0, 0.1, 30.0, 300.0):
        wrong = np.empty((3, 20))
        for i, node in enumerate(labeled):
            rest = np.arange(20) != i
            others = labeled[rest], values[rest, None], alpha * unit, trust[rest]
            centered, mean, _ = reference.stable_hfs(graph, *others)
            wrong[:2, i] = (centered + mean)[node, 0] - values[i]
            wrong[2, i] = centered[node, 0] - values[i]
        weights = np.array([trust, np.ones(20), trust])
        errors[alpha] = np.average(wrong**2, axis=1, weights=weights)
    best = [min(errors, key=lambda alpha, kind=kind: errors[alpha][kind]) for kind in range(3)]
    assert len(set(best)) == 3
    y, weight = np.full(64, np.nan), np.ones(64)
    y[labeled], weight[labeled] = values, trust
    model = gs.StableHFSRegressor(tol=1e-10, random_state=7).fit(graph, y, sample_weight=weight)
    assert model.eta_ == pytest.approx(best[0] * unit / 20)


@pytest.mark.parametrize(
    ("settings", "weight", "told"),
    [
        ({"class_weight": "even"}, None, "class_weight='even' is not understood"),
        ({"class_weight": {2: 1.0}}, None, "has 2, which is not a class"),
        ({"class_weight": {1: 0.0}}, None, "weight of class 1"),
        ({}, np.ones(3), r"shape \(3,\) for 80 nodes; give one weight per node"),
        ({}, -np.ones(80), "labeled node 0 is -1.0; it must be finite"),
        ({}, np.full(80, np.nan), "labeled node 0 is nan; it must be finite"),
        ({}, np.zeros(80), "give at least one a positive weight"),
        ({}, {99: 1.0}, "has a weight for node 99, which is not in the graph"),
        ({}, ["much"] * 80, "must be numbers"),
    ],
)
def test_what_is_refused(settings, weight, told):
    graph, truth = two_blocks(40_554)
    y = hide(truth, np.arange(0, 80, 8))
    with pytest.raises(InputError, match=told):
        gs.StableHFSClassifier(**settings).fit(graph, y, sample_weight=weight)
