"""Prediction sets: exact left-out fits, coverage over random labels, sets as small as can be."""

import numpy as np
import pytest
from sklearn.base import clone

import graphsqueak as gs
from graphsqueak.graph import EdgeList
from graphsqueak.sources.neighbors.weights import neighbor_graph
from graphsqueak.ssl import base
from graphsqueak.ssl.base import GraphClassifier, UnreachedWarning
from graphsqueak.ssl.conformal import Round, conformal_sets, fit_without_each
from graphsqueak.ssl.labels import ClassLabels
from graphsqueak.ssl.stable import stable_scores
from tests.ssl.graphs import hide, three_parts, two_blocks
from tests.ssl.test_base import CLASSIFIERS


def three_clusters(seed):
    """Neighbors in the plane; the clusters overlap."""
    rng, truth = np.random.default_rng(seed), np.repeat([0, 1, 2], [18, 14, 10])
    points = rng.normal(size=(42, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[truth]
    return neighbor_graph(points, n_neighbors=5, metric="euclidean")[0], truth


GRAPHS = {
    "clear blocks": two_blocks(5_092, size=20, inside=0.5, between=0.03),
    "blurred blocks": two_blocks(81_270, size=20, inside=0.4, between=0.3),
    "overlapping clusters": three_clusters(20_994),
}
FIXED = gs.StableHFSClassifier(eta=0.05, prior_weight=0.0, random_state=7)


def coverage(clf, graph, truth, *, n_labels, alpha, n_draws, seed):
    """Share of the other nodes whose class is in their set, and the mean size of the sets."""
    rng, shares, sizes = np.random.default_rng(seed), [], []
    while len(shares) < n_draws:
        y = hide(truth, rng.choice(truth.size, n_labels, replace=False))
        if np.unique(y).size <= truth.max() + 1:
            continue  # every class has a label
        sets = clf.fit(graph, y).prediction_sets(alpha)[y == -1]
        shares.append(sets[np.arange(len(sets)), truth[y == -1]].mean())
        sizes.append(sets.sum(axis=1).mean())
    return np.array(shares), np.mean(sizes)


class DenseHFS(GraphClassifier):
    """Regularized least squares by dense algebra: quick on graphs as small as these."""

    def __init__(self, *, laplacian=None):
        self.laplacian = laplacian
        self.affinity, self.unknown, self.random_state = "precomputed", "prior", 7

    def _scores(self, graph, labels):
        matrix, rhs = 0.7 * self.laplacian, np.zeros((graph.n_nodes, labels.classes.size))
        matrix[labels.nodes, labels.nodes] += 1.0
        rhs[labels.nodes] = labels.one_hot() - labels.one_hot().mean(axis=0)
        return np.linalg.solve(matrix, rhs), np.ones(graph.n_nodes, dtype=bool)


def check_coverage(clf, name, n_draws, seed):
    """At least 1 - 2 alpha; on these graphs 1 - alpha, and not everything is called possible."""
    graph, truth = GRAPHS[name]
    shares, size = coverage(clf, graph, truth, n_labels=14, alpha=0.1, n_draws=n_draws, seed=seed)
    room = 6 * shares.std() / np.sqrt(n_draws)
    assert shares.mean() > 1 - 2 * 0.1 - room
    assert shares.mean() > 1 - 0.1 - room
    assert size < (1.05 if name == "clear blocks" else 0.9 * (truth.max() + 1))


@pytest.mark.parametrize("name", GRAPHS)
def test_coverage_over_five_hundred_draws_of_the_labels(name):
    laplacian = GRAPHS[name][0].laplacian().toarray()
    check_coverage(DenseHFS(laplacian=laplacian), name, 500, 64_190)


@pytest.mark.parametrize("name", GRAPHS)
def test_coverage_of_stable_hfs_by_its_closed_form(name):
    check_coverage(FIXED, name, 40, 71_023)


@pytest.mark.parametrize("name", ["clear blocks", "overlapping clusters"])
def test_sets_are_single_classes_where_the_graph_is_clear_and_larger_where_it_is_not(name):
    graph, truth = GRAPHS[name]
    _, size = coverage(FIXED, graph, truth, n_labels=20, alpha=0.1, n_draws=10, seed=3_310)
    assert size < 1.05 if name == "clear blocks" else size > 1.1


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda e: type(e).__name__)
def test_every_classifier_covers_what_it_promises(classifier):
    clf = clone(classifier)
    if isinstance(clf, gs.SparseHFSClassifier):
        clf.set_params(n_edges=100)  # of 190: the labels sample them
    graph, truth = GRAPHS["overlapping clusters"]
    shares, size = coverage(clf, graph, truth, n_labels=12, alpha=0.2, n_draws=12, seed=9_907)
    assert shares.mean() > 1 - 2 * 0.2
    assert 1 <= size <= 3


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda e: type(e).__name__)
def test_what_is_known_is_told_and_what_is_not_is_left_open(classifier):
    """A labeled node has its label, a node beyond reach all classes, any other its prediction."""
    blocks, truth = two_blocks(61_030)
    graph = EdgeList(tail=[*blocks.tail, 80], head=[*blocks.head, 81], n_nodes=82)
    y = np.append(hide(truth, np.arange(0, 80, 4)), [-1, -1])
    with pytest.warns(UnreachedWarning):
        clf = clone(classifier).fit(graph, y)
    sets = clf.prediction_sets(0.2)
    assert (sets.shape, sets.dtype) == ((82, 2), bool)
    np.testing.assert_array_equal(sets[y >= 0], np.eye(2)[y[y >= 0]] > 0)
    assert sets[80:].all()
    assert sets[np.arange(80), clf.transduction_[:80]].all()
    assert clone(classifier).fit(blocks, hide(truth, [3])).prediction_sets(0.2).all()


def test_fits_without_each_label_are_refits():
    """Components of 12 and 9 nodes, one label alone in its part, one alone in its class."""
    graph, labeled = three_parts(71_226)
    labeled = np.append(labeled, 25)  # of the part that had none
    labels = ClassLabels(labeled, np.array([0, 1, 1, 0, 1, 1, 2]), np.arange(3))
    rounds = fit_without_each(graph, labels, 0.7, lambda f: f.centered, np.arange(7), tol=1e-12)
    for i, left in enumerate(rounds):
        others = np.delete(np.arange(7), i)
        fit = stable_scores(graph, labeled[others], labels.one_hot()[others], 0.7, tol=1e-12)
        np.testing.assert_array_equal(left.has_label, fit.has_label)
        seen = np.unique(labels.code[others])
        np.testing.assert_allclose(left.scores[:, seen], fit.centered[:, seen], atol=1e-8)
        assert np.isneginf(np.delete(left.scores, seen, axis=1)).all()
        assert (left.nodes.tolist(), left.code.tolist()) == ([labeled[i]], [labels.code[i]])


def test_folds_keep_what_has_a_mean_p_value_above_alpha():
    """Two folds of four labels: p = 5/5 and 1/5, mean 0.6; class 1 has 1/5 and 1/5."""
    reached, code = np.ones(9, bool), np.zeros(4, int)
    scores = np.zeros((9, 2))
    scores[:, 0] = 1.0
    first = Round(scores, reached, np.arange(4), code)
    worse = scores.copy()
    worse[4:8, 0] = 5.0
    second = Round(worse, reached, np.arange(4, 8), code)
    assert conformal_sets([first, second], 0.59)[8].tolist() == [True, False]
    assert conformal_sets([first, second], 0.61)[8].tolist() == [False, False]
    assert conformal_sets([first, second], 0.19)[8].tolist() == [True, True]


def test_a_label_alone_in_its_component_counts_only_there():
    """Nodes 0, 1 and 2 are labeled and 2 is alone with 3: of 3 nothing is known without 2."""
    score, here = np.array([[1.0, -1.0]] * 4), np.array([True, True, False, False])
    everywhere = np.ones(4, bool)
    rounds = [
        Round(score, everywhere, np.array([0]), np.array([0])),
        Round(score, everywhere, np.array([1]), np.array([0])),
        Round(score, here, np.array([2]), np.array([0])),
    ]
    sets = conformal_sets(rounds, 0.3)  # class 1: 1 > 0.3 (1 + 2) at 0, 2 > 0.3 (1 + 3) at 3
    assert sets[0].tolist() == [True, True]
    assert sets[3].tolist() == [True, True]
    assert conformal_sets(rounds, 0.4)[:, 1].tolist() == [False, False, True, True]


def test_many_labels_are_left_out_in_folds():
    graph, truth = two_blocks(33_702, size=60, inside=0.3, between=0.1)
    shares, size = coverage(
        gs.HFSClassifier(), graph, truth, n_labels=80, alpha=0.1, n_draws=6, seed=41_118
    )
    assert shares.mean() > 0.8
    assert size < 1.8


def test_sets_do_not_look_at_the_labels_to_choose_eta(monkeypatch):
    """A label that is left out must not have chosen eta: those that choose are never left out."""
    graph, truth = GRAPHS["blurred blocks"]
    clf = gs.StableHFSClassifier(random_state=7)
    shares, _ = coverage(clf, graph, truth, n_labels=26, alpha=0.12, n_draws=40, seed=5_118)
    assert shares.mean() > 1 - 2 * 0.12 - 6 * shares.std() / np.sqrt(40)
    y = hide(truth, np.arange(0, 40, 2))
    n_rounds = []

    def count_rounds(rounds, alpha):
        rounds = list(rounds)
        n_rounds.append(len(rounds))
        return conformal_sets(rounds, alpha)

    monkeypatch.setattr(base, "conformal_sets", count_rounds)
    # A third of 20 labels is too few to select by, a third of 30 is not.
    clf.fit(graph, y).prediction_sets(0.15)
    clf.fit(graph, hide(truth, np.arange(30))).prediction_sets(0.15)
    # A prior weight that is given needs no labels to select it by.
    given = clone(clf).set_params(prior_weight=0.0)
    given.fit(graph, hide(truth, np.arange(30))).prediction_sets(0.15)
    assert n_rounds == [20, 20, 30]


def test_sets_of_a_stream_that_cannot_be_read_again_are_refused():
    dense = gs.sources.block_model(60, 1_200, random_state=5)
    y = np.where(np.arange(60) < 24, np.arange(60) % 4, -1)
    clf = gs.SparseHFSClassifier(n_edges=400, random_state=7).partial_fit(dense, y)
    with pytest.raises(gs.InputError, match="not possible here: give the edges as a file"):
        clf.prediction_sets(0.1)
    plain = gs.SparseHFSClassifier(n_edges=400, priority_fraction=0.0, random_state=7)
    assert plain.partial_fit(dense, y).prediction_sets(0.1).shape == (60, 4)
    again = gs.SparseHFSClassifier(n_edges=400, random_state=7).fit(dense, y)
    assert again.prediction_sets(0.1).shape == (60, 4)


@pytest.mark.parametrize("alpha", [0, 0.5, -1, "much"])
def test_unusable_rates_are_refused(alpha):
    graph, truth = GRAPHS["clear blocks"]
    clf = FIXED.fit(graph, hide(truth, [0, 30]))
    with pytest.raises(gs.InputError, match="alpha"):
        clf.prediction_sets(alpha)
