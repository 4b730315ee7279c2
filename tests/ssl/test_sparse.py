"""Sparse-HFS: one pass, labels tallied exactly, late labels, and nothing changed where H = G."""

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.graph import EdgeList
from graphsqueak.sources import block_model
from graphsqueak.sources.neighbors.weights import neighbor_graph
from graphsqueak.ssl import LateLabelsWarning, UnreachedWarning
from graphsqueak.ssl.label_stream import Tie, _discount, aware_graph, small_graphs
from graphsqueak.ssl.labels import ClassLabels, encode_classes
from graphsqueak.ssl.stable import stable_scores
from graphsqueak.ssl.tally import Tally
from tests import reference
from tests.ssl.graphs import hide, random_graph, two_blocks

N_NODES = 300
TRUTH = np.arange(N_NODES) % 3
COLUMNS = ("tail", "head", "weight")


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
    sparse = gs.SparseHFSClassifier(n_edges=10**6, label_share=share, random_state=7).fit(graph, y)
    assert sparse.eta_ == exact.eta_
    np.testing.assert_allclose(sparse.scores_, exact.scores_, atol=1e-6)


def test_a_graph_that_fits_is_not_tied_even_with_many_labels():
    graph, truth = two_blocks(62_209)
    y = hide(truth, np.arange(0, 80, 4))
    exact = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    sparse = gs.SparseHFSClassifier(n_edges=10**6, random_state=7)
    sparse._fit_summed(graph, encode_classes(y))
    np.testing.assert_allclose(sparse.scores_, exact.scores_, atol=1e-6)


@pytest.mark.parametrize("per_class", [3, 20])
def test_a_dense_graph_is_labeled_from_a_small_part(dense, per_class):
    """With 60 labels there are more sums than the budget allows, and nodes are tied."""
    y, held = few(per_class), []

    def graphs(kept, labels):
        held.append(kept.tally)
        return small_graphs(kept, labels)

    clf = gs.SparseHFSClassifier(n_edges=2_900, random_state=7)
    clf._fit_summed(dense, encode_classes(y), graphs=graphs)
    exact = gs.StableHFSClassifier(random_state=7).fit(dense, y)
    assert clf.n_edges_seen_ == 40_000
    assert clf.n_edges_used_ <= 2_900
    assert 0 < clf.n_sums_ == held[0].edges(N_NODES).n_edges <= 2_900
    assert held[0].is_tied == (per_class == 20)
    unlabeled = y == -1
    assert np.mean(clf.transduction_[unlabeled] == exact.transduction_[unlabeled]) > 0.9


def tallied(graph, labeled, code, room, alone=()):
    tally = Tally(code, 2, np.isin(np.arange(code.size), alone), lambda n_nodes, n_seen: room)
    index = np.full(graph.n_nodes, -1)
    index[labeled] = np.arange(code.size)
    tally.meet(index)
    tally.absorb(graph.tail, graph.head, graph.weight)
    tally.settle()
    return tally


def others(graph, tally):
    """The edges between nodes without a label, and all sums."""
    both = (tally.index[graph.tail] < 0) & (tally.index[graph.head] < 0)
    sums = tally.edges(graph.n_nodes)
    columns = ((getattr(graph, name)[both], getattr(sums, name)) for name in COLUMNS)
    return EdgeList.from_validated(*map(np.concatenate, columns), graph.n_nodes)


@pytest.mark.parametrize("alone", [(), (4,)])
def test_tied_nodes_are_those_of_a_fit_with_equal_values(alone):
    """A leader with copies is the solution in which its followers share its value."""
    graph = random_graph(23_113)
    labeled, code = np.array([1, 5, 9, 14, 20]), np.array([0, 0, 1, 1, 1])
    tally = tallied(graph, labeled, code, 0, alone)
    assert tally.is_tied
    expected = np.array([1, 1, 9, 9, 20 if alone else 9])
    np.testing.assert_array_equal(tally.leader[labeled], expected)
    tie = Tie.of(tally, ClassLabels(labeled, code, np.array([0, 1])))
    nodes = np.concatenate([tie.leaders, labeled[tie.is_alone]])
    one_hot = np.eye(2)[np.concatenate([tie.classes, code[tie.is_alone]])]
    about = {"copies": tie.copies, "tol": 1e-12}
    fit = stable_scores(others(graph, tally), nodes, one_hot, 5 * 0.3, **about)
    lift = np.eye(30)[tally.leader]  # from values with ties to values of all nodes
    lift = np.delete(lift, np.setdiff1d(labeled, nodes), axis=1)
    chosen = np.zeros(30)
    chosen[labeled] = 1.0
    targets = np.zeros((30, 2))
    targets[labeled] = np.eye(2)[code] - np.array([2, 3]) / 5
    matrix = lift.T @ (1.5 * graph.laplacian().toarray() + np.diag(chosen)) @ lift
    constraint = lift.sum(axis=0)
    system = np.block([[matrix, constraint[:, None]], [constraint, np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.vstack([lift.T @ targets, np.zeros((1, 2))]))[:-1]
    np.testing.assert_allclose(fit.centered[tally.leader], lift @ solution, atol=1e-8)


def test_sums_lose_nothing_while_there_is_room():
    graph = random_graph(91_310).simplified()
    tally = tallied(graph, np.array([19, 3, 4]), np.array([0, 1, 1]), 10**6)
    assert not tally.is_tied
    for whole in (others(graph, tally), others(graph, tally.without([1]))):
        lost = graph.laplacian() - whole.laplacian()
        assert abs(lost).max() < 1e-12


def test_labels_to_choose_by_take_what_the_others_do_not_need():
    """Ten of sixteen labels at 200 others each are left alone; of the rest two groups do."""
    tail, head = np.repeat(np.arange(16), 200), np.tile(np.arange(16, 216), 16)
    graph, code = EdgeList(tail=tail, head=head), np.arange(16) % 2
    tally = tallied(graph, np.arange(16), code, 2_500, np.arange(10))
    np.testing.assert_array_equal(np.flatnonzero(tally.alone), np.arange(10))
    assert tally.edges(216).n_edges == 12 * 200


def test_labels_are_tied_in_groups_no_larger_than_room_demands():
    """Sixteen labels at 200 others each: 1,700 sums are held by eight groups of two."""
    tail, head = np.repeat(np.arange(16), 200), np.tile(np.arange(16, 216), 16)
    graph, code = EdgeList(tail=tail, head=head), np.arange(16) % 2
    tally = tallied(graph, np.arange(16), code, 1_700)
    assert np.unique(tally.leader[:16]).size == 8
    assert (code[tally.leader[:16]] == code).all()
    np.testing.assert_array_equal(tally.edges(216).weight, 2.0)


def test_labels_alone_take_half_of_the_room_at_most():
    """Sixteen labels at 200 others each: of 1,700 sums, four labels alone take 800."""
    tail, head = np.repeat(np.arange(16), 200), np.tile(np.arange(16, 216), 16)
    graph, code = EdgeList(tail=tail, head=head), np.arange(16) % 2
    tally = tallied(graph, np.arange(16), code, 1_700, alone=np.arange(16))
    assert np.count_nonzero(tally.alone) == 4
    assert tally.edges(216).n_edges <= 1_700


def test_labels_of_two_components_are_never_tied():
    """Two stars of four labels of a class each: no room at all leaves one leader a star."""
    tail, head = np.arange(8), np.repeat([8, 9], 4)
    tally = tallied(EdgeList(tail=tail, head=head), tail, np.zeros(8, dtype=int), 0)
    np.testing.assert_array_equal(tally.leader, [0, 0, 0, 0, 4, 4, 4, 4, 8, 9])
    np.testing.assert_array_equal(tally.edges(10).weight, [4.0, 4.0])


def test_the_answer_does_not_depend_on_the_batches(dense):
    """Of one pass to the last bit; a product over all edges is rounded batch by batch."""
    y, graph = few(), dense.to_edge_list()
    for passes, tol in ((1, 0.0), ("auto", 1e-6)):
        clf = gs.SparseHFSClassifier(n_edges=2_000, passes=passes, random_state=7)
        one, whole = clf.fit(dense, y).scores_.copy(), clf.fit(graph, y).scores_
        np.testing.assert_allclose(one, whole, rtol=0, atol=tol)


@pytest.mark.parametrize("size", [130, 777])
def test_ties_in_the_middle_of_a_stream_do_not_depend_on_the_batches(size, monkeypatch):
    """Labels come one after the other, each with 40 edges: who is tied hangs on when."""
    monkeypatch.setattr("graphsqueak.ssl.tally._STEP", 250)
    tail, head = np.tile(np.arange(40), 75), np.repeat(np.arange(40, 115), 40)
    code, weight = np.arange(75) % 2, np.random.default_rng(90_210).random(tail.size)
    found = []
    for step in (tail.size, size):
        tally = Tally(code, 2, np.zeros(75, dtype=bool), lambda n_nodes, n_seen: 700)
        for at in range(0, tail.size, step):
            ends = tail[at : at + step], head[at : at + step]
            new = np.arange(tally.index.size, max(40, ends[1].max() + 1))
            tally.meet(np.where(new < 40, -1, new - 40))
            tally.absorb(*ends, weight[at : at + step])
        tally.settle()
        found.append((tally.leader, tally.edges(115).weight))
    assert 2 < np.unique(found[0][0][40:]).size < 75
    for first, second in zip(*found, strict=True):
        np.testing.assert_array_equal(first, second)


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
        clf = gs.SparseHFSClassifier(n_edges=400, label_share=share, random_state=7)
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
    with pytest.warns(LateLabelsWarning, match="1 labels came after"):
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
    assert clf.reached_.tolist() == [True, True, True, False, False, False]


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


@pytest.mark.parametrize(("n_left", "power"), [(100, 1.0), (30 * 128, 0.25)])
def test_sampled_edges_count_the_less_the_coarser_the_sparsifier(n_left, power):
    """Mean degree 20/3 is below 16; at 256, 2 eps = 4 / 16."""
    weight = np.random.default_rng(7_003).random(n_left)
    np.testing.assert_allclose(_discount(weight, 30, 0.02), weight * 0.02**power)
    np.testing.assert_array_equal(_discount(weight, 30, 1.0), weight)


@pytest.mark.parametrize("per_ring", [5, 8])
def test_one_pass_labels_nested_rings_as_a_plain_sparsifier_does(per_ring):
    """Labels have to travel along the rings: discounted edges hardly carry them.

    With eight labels a ring the nodes have two labeled neighbors, and labels kept out tell. One
    sparsifier in five, or so, lets labels through between two rings, the plain one as well.
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

    def accuracy(**how):
        right = []
        for seed in (7, 8, 9):
            clf = gs.SparseHFSClassifier(keep=0.1, passes=1, random_state=seed)
            clf._fit_summed(graph, encode_classes(y), **how)
            right.append(np.mean((clf.transduction_ == truth)[y == -1]))
        return np.mean(right)

    plain = accuracy(graphs=lambda kept, labels: [(kept.plain, 1.0)])
    damped = accuracy(graphs=lambda kept, labels: [(aware_graph(kept, is_damped=True), 1.0)])
    assert plain > damped + 0.1
    assert accuracy() > max(plain - 0.01, 0.9)
