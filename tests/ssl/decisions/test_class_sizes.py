"""Class sizes are met, and known sizes and cuts raise the accuracy."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import graphsqueak as gs
from graphsqueak.ssl.base import neighbor_graph
from graphsqueak.ssl.decisions.class_sizes import class_fractions, cut_scores, meet_sizes
from graphsqueak.ssl.labels import ClassLabels, class_labels
from tests import reference
from tests.ssl.graphs import hide, random_graph, three_parts, two_blocks, uneven_blocks

pytestmark = pytest.mark.filterwarnings("ignore::graphsqueak.ssl.base.UnreachedWarning")


@pytest.fixture(scope="module")
def digits():
    points, truth = load_digits(return_X_y=True)
    return neighbor_graph(points, n_neighbors=10, metric="euclidean")[0], truth


def one_a_class(truth, seed):
    rng = np.random.default_rng(seed)
    return hide(truth, [rng.choice(np.flatnonzero(truth == c)) for c in np.unique(truth)])


@pytest.mark.parametrize("shares", [(0.5, 0.3, 0.2), (0.9, 0.05, 0.05)])
def test_offsets_meet_the_sizes(shares):
    scores = np.random.default_rng(44_017).normal(size=(4000, 3)) * [1, 5, 0.2] + [3, 0, 0]
    found = np.bincount(meet_sizes(scores, np.array(shares)).argmax(axis=1), minlength=3) / 4000
    np.testing.assert_allclose(found, shares, atol=0.005)


def test_estimated_sizes_are_those_of_the_scores_shrunk_by_the_number_of_labels():
    """Eight of ten nodes score highest for class 0; three labels, two classes."""
    labels = ClassLabels(np.arange(3), np.array([0, 0, 1]), np.array(["ham", "spam"]))
    scores = np.where(np.arange(10)[:, None] < 8, [1.0, 0.0], [0.0, 1.0])
    np.testing.assert_allclose(class_fractions("auto", labels, scores), [3.4 / 5, 1.6 / 5])
    np.testing.assert_allclose(class_fractions("labels", labels, scores), [2 / 3, 1 / 3])


@pytest.mark.parametrize("decision", ["sizes", "cut"])
def test_known_sizes_help_where_there_is_one_label_a_class(digits, decision):
    graph, truth = digits
    sizes = dict(enumerate(np.bincount(truth)))
    gain = []
    for seed in range(6):
        y = one_a_class(truth, 300 + seed)
        plain = gs.StableHFSClassifier(random_state=7).fit(graph, y)
        sized = gs.StableHFSClassifier(class_sizes=sizes, decision=decision, random_state=7)
        gain.append(sized.fit(graph, y).score(None, truth) - plain.score(None, truth))
        found = np.bincount(sized.transduction_, minlength=10) / truth.size
        np.testing.assert_allclose(found, np.bincount(truth) / truth.size, atol=0.01)
    assert np.mean(gain) > 0.02


def test_a_cut_is_decided_by_six_steps_of_diffusion():
    graph, truth = two_blocks(61_403)
    labeled, classes, half = np.array([3, 50]), np.eye(2), np.array([0.5, 0.5])
    labels = class_labels(hide(truth, labeled), graph)
    found = cut_scores(graph, labels, classes[truth], np.ones(truth.size, dtype=bool), half)
    np.testing.assert_array_equal(found.argmax(axis=1), truth)  # so that there was one cut
    spread = reference.diffused(graph, labeled, classes, classes[truth], 2.0, 6)
    expected = meet_sizes(spread, half)
    # solves to 1e-3, six times; a single step of the same time is off by 0.7
    np.testing.assert_allclose(found, expected - expected.mean(axis=1, keepdims=True), atol=0.05)


def test_a_cut_finds_uneven_blocks_whose_neighbors_often_disagree():
    """By .115 better than the sizes alone (deviation .016), by .019 if it diffuses in one step."""
    gain = []
    for seed in range(83_020, 83_024):
        graph, truth = uneven_blocks(seed, 0.6, n_nodes=2000, degree=10, shares=(0.7, 0.2, 0.1))
        rng, sizes = np.random.default_rng(seed), np.bincount(truth)
        picks = [rng.choice(np.flatnonzero(truth == c), 5, replace=False) for c in range(3)]
        y, right = hide(truth, np.concatenate(picks)), {}
        for decision in ("sizes", "cut"):
            model = gs.StableHFSClassifier(
                class_sizes=dict(enumerate(sizes)), decision=decision, random_state=7
            ).fit(graph, y)
            right[decision] = model.score(None, truth)
        np.testing.assert_allclose(np.bincount(model.transduction_), sizes, atol=20)
        gain.append(right["cut"] - right["sizes"])
    assert np.mean(gain) > 0.06


def test_estimated_sizes_cost_little_where_labels_tell(digits):
    graph, truth = digits
    y = hide(truth, np.random.default_rng(9).choice(truth.size, 200, replace=False))
    plain = gs.StableHFSClassifier(random_state=7).fit(graph, y).score(None, truth)
    for decision in ("sizes", "cut"):
        other = gs.StableHFSClassifier(decision=decision, random_state=7).fit(graph, y)
        assert other.score(None, truth) > plain - 0.01


def test_sparsifiers_pieces_and_the_sizes_of_the_labels():
    graph, truth = uneven_blocks(27_191, 0.7, degree=60)
    y = hide(truth, np.random.default_rng(3).choice(600, 60, replace=False))
    share = np.bincount(y[y >= 0]) / 60
    for decision in ("sizes", "cut"):
        for max_passes in (1, "auto"):
            model = gs.SparseHFSClassifier(
                n_edges=5000,
                class_sizes="labels",
                decision=decision,
                max_passes=max_passes,
                random_state=7,
            )
            found = np.bincount(model.fit(graph, y).transduction_) / 600
            np.testing.assert_allclose(found, share, atol=0.03)
            assert model.score(None, truth) > 0.9
    parts, labeled = three_parts(88_011)
    y = np.full(26, -1)
    y[labeled] = np.arange(6) % 2
    model = gs.StableHFSClassifier(decision="cut").fit(parts, y)
    assert model.has_label_in_component_.sum() == 21
    assert np.isfinite(model.scores_).all()


def test_sizes_and_decisions_that_are_not_understood_are_refused():
    graph, y = random_graph(1_907), [0, 1] + 28 * [-1]
    with pytest.raises(gs.InputError, match="give one size per class"):
        gs.StableHFSClassifier(class_sizes={0: 5}).fit(graph, y)
    with pytest.raises(gs.InputError, match="class_sizes='many'"):
        gs.StableHFSClassifier(class_sizes="many").fit(graph, y)
    with pytest.raises(gs.InputError, match="decision"):
        gs.StableHFSClassifier(decision="best").fit(graph, y)
