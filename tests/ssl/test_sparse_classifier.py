"""Sparse-HFS: one pass, late labels, and nothing changed where H = G."""

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.graph import EdgeList
from graphsqueak.sources import block_model
from graphsqueak.ssl import LateLabelsWarning, UnreachedWarning
from graphsqueak.ssl.stable import stable_scores
from tests import reference
from tests.ssl.graphs import hide, two_blocks

N_NODES = 300
TRUTH = np.arange(N_NODES) % 3


@pytest.fixture(scope="module")
def dense():
    return block_model(
        N_NODES, 40_000, n_blocks=3, within=0.5, random_state=4_871, batch_size=9_000
    )


def few(per_class=5):
    return hide(TRUTH, np.arange(3 * per_class) * 7 % N_NODES)


@pytest.mark.parametrize("share", ["auto", 0.4, 0.0])
def test_a_graph_that_fits_gives_the_answer_of_stable_hfs(share):
    graph, truth = two_blocks(62_209)
    y = hide(truth, [0, 7, 21, 33, 44, 51, 60, 77])
    exact = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    sparse = gs.SparseHFSClassifier(n_edges=10**6, priority_fraction=share, random_state=7).fit(
        graph, y
    )
    assert sparse.eta_ == exact.eta_
    np.testing.assert_allclose(sparse.scores_, exact.scores_, atol=1e-6)


def test_the_answer_does_not_depend_on_the_batches(dense):
    """Of one pass to the last bit; a product over all edges is rounded batch by batch."""
    y, graph = few(), dense.to_edge_list()
    for max_passes, tol in ((1, 0.0), ("auto", 1e-6)):
        clf = gs.SparseHFSClassifier(n_edges=2_000, max_passes=max_passes, random_state=7)
        one, whole = clf.fit(dense, y).scores_.copy(), clf.fit(graph, y).scores_
        np.testing.assert_allclose(one, whole, rtol=0, atol=tol)


def test_an_array_of_labels_means_the_same_whether_nodes_have_ids_or_not(dense):
    graph, y = dense.to_edge_list(), few()
    names = np.array([f"n{i}" for i in range(N_NODES)], dtype=object)
    named = EdgeList(
        tail=graph.tail, head=graph.head, weight=graph.weight, n_nodes=N_NODES, ids=names
    )
    plain = gs.SparseHFSClassifier(n_edges=2_000, random_state=7).fit(graph, y)
    other = gs.SparseHFSClassifier(n_edges=2_000, random_state=7).fit(named, y)
    np.testing.assert_array_equal(other.scores_, plain.scores_)


def test_labels_by_id_of_a_file(tmp_path):
    graph, truth = two_blocks(36_612)
    names = np.array([f"n{i}" for i in range(80)], dtype=object)
    path = tmp_path / "edges.tsv"
    gs.write_edges(EdgeList(tail=graph.tail, head=graph.head, ids=names, n_nodes=80), path)
    known = {f"n{i}": "low" if truth[i] == 0 else "high" for i in (0, 7, 21, 33, 44, 51, 60, 77)}
    for share in ("auto", 0.5):
        clf = gs.SparseHFSClassifier(n_edges=400, priority_fraction=share, random_state=7)
        clf.fit(gs.read_edges(path), known)
        right = [
            (truth[int(name[1:])] == 0) == (label == "low")
            for name, label in zip(clf.ids_, clf.transduction_, strict=True)
        ]
        assert np.mean(right) > 0.9
    with pytest.raises(gs.InputError, match="'zoe', which is not in the graph"):
        clf.fit(gs.read_edges(path), {"zoe": 1, "n3": 2})
    with pytest.raises(gs.InputError, match="a dict or a pandas Series indexed by node id"):
        clf.fit(gs.read_edges(path), hide(truth, [0, 50]))


def test_labels_may_come_late_and_change(dense):
    clf = gs.SparseHFSClassifier(n_edges=3_000, random_state=7)
    y = few(10)
    batches = list(dense) * 8
    clf.partial_fit(batches[0], y)
    early = clf.predict().copy()
    for batch in batches[1:]:
        clf.partial_fit(batch)
    late = clf.predict().copy()
    unlabeled = y == -1
    for answer in (early, late):  # a third is chance
        assert np.mean((answer == TRUTH)[unlabeled]) > 0.55
    swapped = np.where(y == -1, -1, (y + 1) % 3)
    np.testing.assert_array_equal(clf.relabel(swapped).predict(), (late + 1) % 3)
    with pytest.warns(LateLabelsWarning, match="1 labels were given after"):
        clf.relabel({200: 0, 0: 0, 7: 1, 14: 2})


def test_asking_for_answers_without_labels_is_an_error(dense):
    clf = gs.SparseHFSClassifier(n_edges=3_000).partial_fit(dense)
    with pytest.raises(gs.InputError, match="no labels"):
        clf.predict()
    with pytest.raises(gs.InputError, match="needs edges"):
        gs.SparseHFSClassifier(n_edges=9).relabel({0: 1})


def test_components_without_a_label_stay_unknown():
    far = EdgeList(tail=[0, 1, 2, 4], head=[1, 2, 0, 5], n_nodes=6)
    with pytest.warns(UnreachedWarning, match="3 of 6"):
        clf = gs.SparseHFSClassifier(n_edges=100).fit(far, [0, -1, 1, -1, -1, -1])
    assert clf.has_label_in_component_.tolist() == [True, True, True, False, False, False]


def test_regression_on_a_sparsifier_is_close_to_the_exact_one(dense):
    rng = np.random.default_rng(5_120)
    value = TRUTH + rng.normal(scale=0.1, size=N_NODES)
    y = np.full(N_NODES, np.nan)
    known = rng.choice(N_NODES, 60, replace=False)
    y[known] = value[known]
    exact = gs.StableHFSRegressor(random_state=7).fit(dense, y).transduction_
    sparse = gs.SparseHFSRegressor(n_edges=6_000, random_state=7).fit(dense, y)
    assert np.corrcoef(exact, sparse.transduction_)[0, 1] > 0.9
    assert sparse.n_edges_used_ <= 6_000


def test_a_real_sparsifier_is_as_close_as_its_epsilon_promises():
    """E <= eta eps^2 / (4 (1 - eps)) f' L f, with l eta = 0.3 and l = 3."""
    graph, _ = two_blocks(62_209)
    small = gs.sparsify(graph, n_edges=500, random_state=7)
    epsilon = reference.epsilon(graph, small)
    labeled, targets = np.array([0, 40, 79]), np.array([[1.0], [-1.0], [-1.0]])
    exact = stable_scores(graph, labeled, targets, 0.3).centered
    rough = stable_scores(small, labeled, targets, 0.3).centered
    energy = float(exact[:, 0] @ (graph.laplacian() @ exact[:, 0]))
    error = np.mean((exact - rough)[labeled] ** 2)
    assert epsilon < 1
    assert error <= 0.1 * epsilon**2 / (4 * (1 - epsilon)) * energy
