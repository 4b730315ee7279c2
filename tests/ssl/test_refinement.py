"""Labels of a graph that is read several times: those of the whole graph."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import graphsqueak as gs
from graphsqueak.graph import EdgeList
from graphsqueak.sources import EdgeSource, block_model
from graphsqueak.sources.neighbors.weights import neighbor_graph
from graphsqueak.ssl import UnreachedWarning
from graphsqueak.ssl.labels import ClassLabels
from graphsqueak.ssl.refinement import Refinement, count_unstable
from graphsqueak.ssl.stable import stable_scores
from tests.ssl.graphs import hide, random_graph, uneven_blocks

N_NODES = 600
TRUTH = np.arange(N_NODES) % 3


@pytest.fixture(scope="module")
def blurred():
    """Blocks of a dense graph that a sparsifier of a twentieth blurs."""
    source = block_model(N_NODES, 120_000, n_blocks=3, within=0.4, random_state=64_203)
    return source.to_edge_list()


def labels(n_labels, seed):
    rng = np.random.default_rng([90_127, seed])
    y = np.full(N_NODES, -1)
    nodes = rng.choice(N_NODES, n_labels, replace=False)
    y[nodes] = TRUTH[nodes]
    return y


class Counted(EdgeSource):
    """A graph in batches that says how often it was read, or changes, or is a pipe."""

    def __init__(self, graph, *, is_rereadable=True, grows=False):
        super().__init__()
        self._graph, self.is_rereadable, self._grows = graph, is_rereadable, grows
        self.n_reads = 0

    def _batches(self):
        self.n_reads += 1
        g = self._graph
        n_edges = g.n_edges - (5 if self._grows and self.n_reads == 1 else 0)
        for start in range(0, n_edges, 50_000):
            part = slice(start, min(start + 50_000, n_edges))
            yield EdgeList.from_validated(g.tail[part], g.head[part], g.weight[part], g.n_nodes)


@pytest.mark.parametrize("n_labels", [24, 120])
def test_a_few_reads_give_the_decisions_of_the_whole_graph(blurred, n_labels):
    """One pass leaves every fifth decision wrong; eight at most leave hardly any."""
    y = labels(n_labels, 1)
    exact = gs.StableHFSClassifier(random_state=7).fit(blurred, y).transduction_
    settings = {"n_edges": 6_000, "random_state": 7}
    plain = gs.SparseHFSClassifier(**settings, priority_fraction=0.0, max_passes=1).fit(blurred, y)
    refined = gs.SparseHFSClassifier(**settings).fit(blurred, y)
    assert np.mean(plain.transduction_ == exact) < 0.9
    assert np.mean(refined.transduction_ == exact) > 0.99
    assert np.count_nonzero(refined.transduction_ != exact) <= refined.n_unstable_
    assert 2 <= refined.n_passes_ <= 4
    assert refined.n_edges_used_ <= 6_000
    assert plain.n_passes_ == 1
    assert plain.n_unstable_ is None


def test_many_reads_give_its_scores():
    """Without any choice to make, by a dense reference: H of a coarse and of a finer kind."""
    graph = random_graph(40_112, n_nodes=60, n_edges=900)
    nodes, targets = np.array([0, 7, 21, 40]), np.eye(2)[[0, 1, 1, 0]]
    labels_at = ClassLabels(nodes, np.array([0, 1, 1, 0]), np.arange(2))
    alpha = 0.3
    exact = stable_scores(graph, nodes, targets, alpha, tol=1e-12).centered
    for n_edges in (120, 500):
        held = gs.sparsify(graph, n_edges=n_edges, random_state=7)
        refined = Refinement(
            graph,
            held,
            graph.degrees(),
            labels_at,
            [alpha / 4],
            n_edges=graph.n_edges,
            random_state=7,
        )
        for _ in range(25):
            refined.read()
        for answers in (refined.smoothed, refined.preconditioned):
            np.testing.assert_allclose(answers.fit(alpha / 4).centered, exact, atol=1e-7)


def test_a_coarse_sparsifier_is_helped_by_its_smoothest_functions():
    """Points of a strip, two edges a node: with them three reads leave a tenth of the error.

    The logarithm of the ratio is 2.5 with a standard deviation of 0.6 over 4 draws.
    """
    ratios = []
    for seed in range(3):
        rng = np.random.default_rng([31_774, seed])
        place = rng.random((1000, 2)) * [4, 1]
        graph, _ = neighbor_graph(place, n_neighbors=100, metric="euclidean")
        nodes = rng.choice(1000, 10, replace=False)
        eta = 0.2 / graph.degrees().mean()
        labels_at = ClassLabels(nodes, (place[nodes, 0] > 2).astype(int), np.arange(2))
        exact = stable_scores(graph, nodes, labels_at.targets, 10 * eta).centered
        kept = gs.sparsify(graph, n_edges=2200, certify=False, random_state=seed)
        errors = []
        for n_smooth in (0, 32):
            refined = Refinement(
                graph,
                kept,
                graph.degrees(),
                labels_at,
                [eta],
                n_edges=graph.n_edges,
                n_smooth=n_smooth,
                random_state=seed,
            )
            for is_last in (False, False, True):
                refined.read(is_last=is_last)
            errors.append(np.linalg.norm(refined.smoothed.fit(eta).centered - exact))
        ratios.append(np.log(errors[0] / errors[1]))
    assert np.mean(ratios) > 2.5 - 6 * 0.6 / np.sqrt(3)


def test_reading_is_counted_and_a_pipe_is_read_once(blurred):
    y = labels(24, 2)
    source = Counted(blurred)
    clf = gs.SparseHFSClassifier(n_edges=6_000, max_passes=3, random_state=7).fit(source, y)
    assert clf.n_passes_ == source.n_reads == 3
    n_reads = source.n_reads
    sets = clf.prediction_sets(0.1)  # of the sparsifier, in which no label had a say
    assert source.n_reads == n_reads
    unlabeled = y == -1
    assert np.mean(sets[unlabeled, TRUTH[unlabeled]]) > 0.75
    assert np.isfinite(clf.bound_.value)  # of the whole graph, by reading it again
    pipe = Counted(blurred, is_rereadable=False)
    clf = gs.SparseHFSClassifier(n_edges=6_000, random_state=7).fit(pipe, y)
    assert (clf.n_passes_, pipe.n_reads) == (1, 1)
    with pytest.raises(gs.InputError, match="a pipe can be read once"):
        gs.SparseHFSClassifier(n_edges=6_000, max_passes=2).fit(pipe, y)


def test_a_graph_that_changes_between_two_reads_is_noticed(blurred):
    source = Counted(blurred, grows=True)
    with pytest.raises(gs.InputError, match="119,995 edges in an earlier pass and has 120,000"):
        gs.SparseHFSClassifier(n_edges=6_000, random_state=7).fit(source, labels(24, 2))


def test_pieces_and_nodes_that_no_label_reaches(blurred):
    """Two copies of a graph, the labels of one of class 0 only, and a node that stands alone."""
    n = blurred.n_nodes
    tail, head = (np.concatenate([part, part + n]) for part in (blurred.tail, blurred.head))
    weight = np.concatenate([blurred.weight, blurred.weight])
    graph = EdgeList.from_validated(tail, head, weight, 2 * n + 1)
    y = np.concatenate([labels(24, 3), np.full(n + 1, -1)])
    y[n : n + 4] = 0
    with pytest.warns(UnreachedWarning, match="1 of 1201"):
        exact = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    with pytest.warns(UnreachedWarning, match="1 of 1201"):
        refined = gs.SparseHFSClassifier(n_edges=12_000, random_state=7).fit(graph, y)
    assert (refined.has_label_in_component_ == exact.has_label_in_component_).all()
    assert (refined.transduction_[n : 2 * n] == 0).all()
    assert np.mean(refined.transduction_ == exact.transduction_) > 0.99


def test_one_class_is_everywhere(blurred):
    y = np.full(N_NODES, -1)
    y[:9] = 4
    clf = gs.SparseHFSClassifier(n_edges=6_000, random_state=7).fit(blurred, y)
    assert (clf.transduction_ == 4).all()


def test_values_are_those_of_the_whole_graph(blurred):
    rng = np.random.default_rng(5_120)
    y = np.full(N_NODES, np.nan)
    known = rng.choice(N_NODES, 60, replace=False)
    y[known] = TRUTH[known] + rng.normal(scale=0.1, size=60)
    exact = gs.StableHFSRegressor(random_state=7).fit(blurred, y)
    once, refined = (
        gs.SparseHFSRegressor(n_edges=6_000, max_passes=max_passes, random_state=7).fit(blurred, y)
        for max_passes in (1, "auto")
    )
    assert refined.eta_ == pytest.approx(exact.eta_)
    spread = exact.transduction_.std()
    assert np.abs(refined.transduction_ - exact.transduction_).max() < 0.05 * spread
    assert np.abs(once.transduction_ - exact.transduction_).max() > 0.25 * spread
    assert 2 <= refined.n_passes_ <= 4


def test_values_at_many_nodes_have_an_eta_of_the_sparsifier(blurred, monkeypatch):
    """They are those of the whole graph for this eta."""
    monkeypatch.setattr("graphsqueak.ssl.streaming.LARGE_MIN_NODES", N_NODES)
    y = np.full(N_NODES, np.nan)
    known = np.random.default_rng(5_121).choice(N_NODES, 60, replace=False)
    y[known] = TRUTH[known]
    refined = gs.SparseHFSRegressor(n_edges=6_000, max_passes=4, random_state=7).fit(blurred, y)
    on_sparsifier = gs.StableHFSRegressor(random_state=7).fit(refined.sparsifier_, y)
    assert refined.eta_ == pytest.approx(on_sparsifier.eta_, rel=1e-3)
    exact = gs.StableHFSRegressor(eta=refined.eta_, random_state=7).fit(blurred, y)
    difference = np.abs(refined.transduction_ - exact.transduction_).max()
    assert difference < 0.1 * exact.transduction_.std()


@pytest.mark.filterwarnings("ignore:the graph reveals little")
def test_a_rare_class_is_ranked_as_on_the_whole_graph():
    """Where hardly a node is decided for it, decisions settle long before the ranks do."""
    graph, truth = uneven_blocks(47_107, 0.3, n_nodes=2000, degree=80, shares=(0.9, 0.1))
    y = hide(truth, np.random.default_rng(7).choice(2000, 30, replace=False))
    exact = gs.StableHFSClassifier(random_state=7).fit(graph, y).scores_[:, 1]
    refined = gs.SparseHFSClassifier(keep=0.1, random_state=7).fit(graph, y).scores_[:, 1]
    rest = y == -1
    whole, part = (roc_auc_score(truth[rest], scores[rest]) for scores in (exact, refined))
    assert part > whole - 0.01


def test_decisions_that_two_steps_make_differently_are_unstable():
    scores = np.array([[0.3, 0.1, -0.4], [0.0, 0.2, -0.2], [0.5, -0.1, -0.4]])
    others = np.array([[0.1, 0.3, -0.4], [0.1, 0.2, -0.3], [0.4, 0.0, -0.4]])
    assert count_unstable(scores, others) == 1
    assert count_unstable(scores, scores) == 0


@pytest.mark.parametrize("edges_per_node", [1.1, 3.0])
def test_a_sparse_sparsifier_is_refined_until_decisions_are_exact(edges_per_node):
    graph, truth = uneven_blocks(47_108, 0.6, n_nodes=1000, degree=20, shares=(0.4, 0.3, 0.3))
    y = hide(truth, np.random.default_rng(7).choice(1000, 100, replace=False))
    exact = gs.StableHFSClassifier(random_state=7).fit(graph, y).transduction_
    clf = gs.SparseHFSClassifier(n_edges=int(edges_per_node * 1000), random_state=7).fit(graph, y)
    changed = np.count_nonzero(clf.transduction_ != exact)
    assert changed <= 5
    # Both are counts of rare events, of at most 5: six deviations of sqrt(5).
    assert abs(changed - clf.n_unstable_) <= 6 * np.sqrt(5)
    assert clf.n_passes_ <= 8
