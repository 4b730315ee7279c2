"""One pass: exact sums at labeled nodes, the contracted graph, and what they are good for."""

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.graph import EdgeList
from graphsqueak.sources import block_model
from graphsqueak.sources.neighbors.weights import neighbor_graph
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.ssl.class_sums import ContractedSolver, read_once
from graphsqueak.ssl.labels import encode_classes
from tests.ssl.graphs import hide, random_graph, two_blocks

N_NODES = 300
TRUTH = np.arange(N_NODES) % 3


@pytest.fixture(scope="module")
def dense():
    return block_model(
        N_NODES, 40_000, n_blocks=3, within=0.5, random_state=4_871, batch_size=9_000
    )


def few(per_class=5):
    return hide(TRUTH, np.arange(3 * per_class) * 7 % N_NODES)


def read(graph, y, n_edges):
    encoded = encode_classes(y)
    found = read_once(graph, encoded, Budget(n_edges, None, None), random_state=7)
    return found, encoded.locate(found.sums.label)


def test_sums_are_those_of_the_whole_graph(dense):
    y = few(8)
    found, labels = read(dense, y, 2_000)
    one_hot = np.zeros((N_NODES, 3))
    one_hot[labels.nodes] = labels.one_hot()
    expected = dense.to_edge_list().to_scipy() @ one_hot
    np.testing.assert_allclose(found.sums.sums.sum(axis=1), expected)
    for number in range(found.sums.fold.max() + 1):
        is_in = found.sums.fold[found.sums.label[labels.nodes]] == number
        assert 5 <= np.count_nonzero(is_in) <= 7


def test_sums_do_not_depend_on_the_batches(dense):
    found, _ = read(dense, few(), 2_000)
    other, _ = read(dense.to_edge_list(), few(), 2_000)
    np.testing.assert_array_equal(found.sums.sums, other.sums.sums)


def test_a_graph_that_fits_gives_the_answer_of_stable_hfs():
    graph, truth = two_blocks(62_209)
    y = hide(truth, np.arange(0, 80, 4))
    exact = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    sparse = gs.SparseHFSClassifier(n_edges=10**6, max_passes=1, random_state=7).fit(graph, y)
    np.testing.assert_allclose(sparse.scores_, exact.scores_, atol=1e-6)
    assert sparse.n_sums_ == 0


@pytest.mark.parametrize("per_class", [3, 20])
def test_a_dense_graph_is_labeled_from_a_small_part(dense, per_class):
    y = few(per_class)
    clf = gs.SparseHFSClassifier(n_edges=2_900, max_passes=1, random_state=7).fit(dense, y)
    exact = gs.StableHFSClassifier(random_state=7).fit(dense, y)
    assert clf.n_edges_seen_ == 40_000
    assert clf.n_edges_used_ <= 2_900
    assert 0 < clf.n_sums_ <= 4 * 3 * N_NODES
    unlabeled = y == -1
    assert np.mean(clf.transduction_[unlabeled] == exact.transduction_[unlabeled]) > 0.9


def test_the_contracted_fit_is_that_of_labels_with_equal_values():
    """By a dense reference: all nodes of a class share one value, in loss and energy."""
    graph = random_graph(23_113)
    labeled, code = np.array([1, 5, 9, 14, 20]), np.array([0, 0, 1, 1, 1])
    y = np.full(30, -1)
    y[labeled] = code
    found, labels = read(graph, y, 10**6)
    eta = 0.3
    solver = ContractedSolver(found, labels, eta=eta, tol=1e-12, random_state=7)
    assert solver.gamma == 1.0
    lift = np.eye(30)
    lift[labeled] = np.eye(30)[np.array([1, 1, 9, 9, 9])]
    lift = np.delete(lift, [5, 14, 20], axis=1)
    chosen = np.zeros(30)
    chosen[labeled] = 1.0
    targets = np.zeros((30, 2))
    targets[labeled] = np.eye(2)[code] - np.array([2, 3]) / 5
    matrix = lift.T @ (5 * eta * graph.laplacian().toarray() + np.diag(chosen)) @ lift
    constraint = np.ones(lift.shape[1])
    system = np.block([[matrix, constraint[:, None]], [constraint, np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.vstack([lift.T @ targets, np.zeros((1, 2))]))[:-1]
    np.testing.assert_allclose(solver.fit(eta).centered, lift @ solution, atol=1e-8)


def test_labels_of_two_components_are_not_contracted_into_one_node():
    """A label of each class in the first component, of one class in the second."""
    tail, head = [0, 1, 2, 4, 5, 6], [1, 2, 3, 5, 6, 7]
    graph = EdgeList(tail=tail, head=head)
    y = np.array([0, -1, -1, 1, 0, -1, -1, -1])
    found, labels = read(graph, y, 10**6)
    fit = ContractedSolver(found, labels, eta=0.1, tol=1e-12, random_state=7).fit(0.1)
    np.testing.assert_allclose(fit.offset[:4], 0.5)
    np.testing.assert_allclose(fit.offset[4:], [[1.0, 0.0]] * 4)
    np.testing.assert_allclose(fit.centered[4:], 0.0, atol=1e-12)


@pytest.mark.parametrize("per_ring", [5, 8])
def test_one_pass_labels_nested_rings_as_a_plain_sparsifier_does(per_ring):
    """Labels have to travel along the rings.

    One sparsifier in five, or so, lets labels through between two rings, the plain one as well.
    """
    rng = np.random.default_rng(31_337)
    radius = np.array([1.0, 4.0, 7.0])
    truth = rng.choice(3, size=1500, p=radius / radius.sum())
    angle, far = 2 * np.pi * rng.random(1500), radius[truth] + 0.1 * rng.normal(size=1500)
    points = np.column_stack([far * np.cos(angle), far * np.sin(angle)])
    graph, _ = neighbor_graph(points, n_neighbors=120, metric="euclidean")
    y, rng = np.full(1500, -1), np.random.default_rng(0)
    for kind in range(3):
        y[rng.permutation(np.flatnonzero(truth == kind))[:per_ring]] = kind

    def accuracy(priority_fraction):
        right = []
        for seed in (7, 8, 9):
            clf = gs.SparseHFSClassifier(
                keep=0.1, max_passes=1, priority_fraction=priority_fraction, random_state=seed
            ).fit(graph, y)
            right.append(np.mean((clf.transduction_ == truth)[y == -1]))
        return np.mean(right)

    assert accuracy("auto") > max(accuracy(0) - 0.01, 0.9)
