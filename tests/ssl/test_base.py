"""What all estimators share: the interface on graphs, the checks of scikit-learn on points."""

import inspect

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import graphsqueak as gs
from graphsqueak.sources.neighbors.weights import neighbor_graph
from graphsqueak.ssl import UnreachedWarning
from tests.ssl.graphs import hide, two_blocks

CLASSIFIERS = [
    gs.HFSClassifier(),
    gs.StableHFSClassifier(random_state=7),
    gs.SparseHFSClassifier(random_state=7),
    gs.NearestLabelClassifier(),
    gs.PoissonClassifier(random_state=7),
    gs.SubsampledHFSClassifier(n_samples=60, random_state=7),
    gs.SimpleHFSClassifier(random_state=7),
    gs.EigenfunctionClassifier(random_state=7),
]
REGRESSORS = [gs.StableHFSRegressor(random_state=7), gs.SparseHFSRegressor(random_state=7)]
NODES = [0, 7, 21, 33, 44, 51, 60, 77]

GRAPH_CHANGES = "a point that is left out, or repeated, changes the graph of neighbors"
CENTERED = "scores sum to zero, whatever a class weighs: no weight makes a single class of all"
LABEL_MEANS_NONE = "-1 marks a point without a label, so it cannot be a class of its own"


def known_failures(estimator):
    failures = {
        "check_sample_weight_equivalence_on_dense_data": GRAPH_CHANGES,
        "check_sample_weight_equivalence_on_sparse_data": GRAPH_CHANGES,
    }
    if estimator.__class__.__name__.endswith("Classifier"):
        failures["check_classifiers_classes"] = LABEL_MEANS_NONE
        failures["check_class_weight_classifiers"] = CENTERED
    return failures


@parametrize_with_checks(
    [clone(e).set_params(affinity="knn", n_neighbors=5) for e in CLASSIFIERS + REGRESSORS],
    expected_failed_checks=known_failures,
)
@pytest.mark.filterwarnings("ignore::graphsqueak.ssl.base.UnreachedWarning")
def test_scikit_learn_checks_on_points(estimator, check):
    check(estimator)


@pytest.fixture(params=CLASSIFIERS, ids=lambda e: type(e).__name__)
def classifier(request):
    return clone(request.param)


def test_blocks_are_found(classifier):
    graph, truth = two_blocks(90_551)
    least = 0.85 if "Nearest" in type(classifier).__name__ else 0.9
    assert classifier.fit(graph, hide(truth, NODES)).score(None, truth) > least


def test_every_form_of_a_graph_gives_the_same_answer(classifier):
    graph, truth = two_blocks(17_733)
    y = hide(truth, NODES)
    shares = classifier.fit(graph, y).label_distributions_
    for form in (graph.to_scipy(), graph.to_scipy().toarray(), graph.to_networkx()):
        other = clone(classifier).fit(form, y).label_distributions_
        np.testing.assert_allclose(other, shares, atol=1e-6)


def test_labels_may_be_text_and_keyed_by_id(classifier):
    graph = nx.relabel_nodes(nx.karate_club_graph(), lambda node: f"n{node}")
    clf = classifier.fit(graph, {"n0": "Mr Hi", "n33": "Officer"})
    predicted = dict(zip(clf.ids_, clf.transduction_, strict=True))
    assert predicted["n1"] == "Mr Hi"
    assert predicted["n32"] == "Officer"
    assert set(clf.classes_) == {"Mr Hi", "Officer"}


def test_swapping_the_names_of_classes_swaps_the_answers(classifier):
    graph, truth = two_blocks(61_408)
    y = hide(truth, NODES)
    first = classifier.fit(graph, y).label_distributions_
    swapped = clone(classifier).fit(graph, np.where(y == -1, -1, 1 - y)).label_distributions_
    np.testing.assert_allclose(swapped[:, ::-1], first, atol=1e-9)


def test_one_class_only(classifier):
    graph, truth = two_blocks(22_871)
    clf = classifier.fit(graph, hide(truth, [0, 3]))
    assert set(clf.transduction_) == {0}
    assert (clf.label_distributions_ == 1).all()


def test_a_single_node(classifier):
    clf = classifier.fit(gs.EdgeList(tail=[], head=[], n_nodes=1), ["yes"])
    assert clf.transduction_.tolist() == ["yes"]


def test_new_nodes_are_averages_of_their_neighbors(classifier):
    graph, truth = two_blocks(70_015)
    clf = classifier.fit(graph, hide(truth, NODES))
    links = np.zeros((2, 80))
    links[0, [3, 4]], links[1, 50] = 1.0, 2.0
    assert clf.predict_new(links).tolist() == [0, 1]
    np.testing.assert_allclose(clf.predict_proba(links)[1], clf.label_distributions_[50])
    assert clf.predict_new([("x", 3), ("x", 4, 1.0), ("y", 50, 2.0)]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([-1] * 80, "labels no node"),
        ([0, 1], "one label per node"),
        ({"zoe": 1}, "'zoe', which is not in the graph"),
        (np.linspace(0, 1, 80), "use a regressor"),
    ],
)
def test_unusable_labels_are_refused(classifier, y, said):
    graph, _ = two_blocks(5_003)
    with pytest.raises(gs.InputError, match=said):
        classifier.fit(graph, y)


def test_links_of_the_wrong_shape_are_refused():
    graph, truth = two_blocks(5_003)
    clf = gs.HFSClassifier().fit(graph, hide(truth, NODES))
    with pytest.raises(gs.InputError, match="3 columns for 80 nodes"):
        clf.predict_new(np.ones((1, 3)))
    with pytest.raises(gs.InputError, match="'zoe', which is not"):
        clf.predict_new([("x", "zoe")])


@pytest.mark.parametrize("dimension", [1, 30])
def test_the_nearest_neighbor_weighs_twenty_times_the_furthest_in_any_dimension(dimension):
    points = np.random.default_rng(88_210).normal(size=(400, dimension))
    _, index = neighbor_graph(points, n_neighbors=10, metric="euclidean")
    distance = index.search.kneighbors()[0]
    ratio = np.median(distance[:, 0] ** 2 / distance[:, -1] ** 2)
    assert np.exp(index.sharpness * (1 - ratio)) == pytest.approx(20)


@pytest.mark.filterwarnings("ignore::graphsqueak.ssl.base.UnreachedWarning")
def test_nodes_without_a_label_in_reach_have_no_say_and_get_the_most_frequent_class():
    """Two labels of class 0 and one of class 1 on a path, and a pair of nodes with none."""
    graph = gs.EdgeList(tail=[0, 1, 2, 4], head=[1, 2, 3, 5])
    model = gs.HFSClassifier().fit(graph, [0, 0, -1, 1, -1, -1])
    assert model.transduction_[4:].tolist() == [0, 0]
    links = np.zeros((2, 6))
    links[0, [2, 4]] = 1.0, 9.0  # of these only node 2, which is half-way between the classes
    links[1, 5] = 1.0
    np.testing.assert_allclose(model.predict_proba(links), [[1 / 2, 1 / 2], [2 / 3, 1 / 3]])
    links[0, 3] = 1.0
    np.testing.assert_allclose(model.predict_proba(links)[0], [0.25, 0.75])
    assert model.predict_new(links).tolist() == [1, 0]


def test_the_warning_about_components_without_a_label_names_the_prediction():
    graph = gs.EdgeList(tail=[0, 2], head=[1, 3])
    expected = (
        r"^2 of 4 nodes lie in components without a label; they are predicted as unknown='prior' "
        r"\(see has_label_in_component_\)$"
    )
    with pytest.warns(UnreachedWarning, match=expected):
        gs.HFSClassifier().fit(graph, [0, -1, -1, -1])


@pytest.mark.parametrize("name", ["SparseHFSClassifier", "SparseHFSRegressor"])
def test_a_streaming_estimator_has_the_parameters_of_the_one_in_memory(name):
    streamed = inspect.signature(getattr(gs, name)).parameters
    in_memory = inspect.signature(getattr(gs, name.replace("Sparse", "Stable"))).parameters
    assert in_memory.keys() < streamed.keys()
    own = {"n_edges", "epsilon", "keep", "priority_fraction", "max_passes", "window", "half_life"}
    assert streamed.keys() - in_memory.keys() == own | {"progress"}
    assert all(streamed[key].default == in_memory[key].default for key in in_memory)


def test_scores_count_only_nodes_with_a_label():
    graph, truth = two_blocks(31_121)
    y = np.where(np.arange(80) % 10 == 0, truth, -1)
    model = gs.StableHFSClassifier(random_state=7).fit(graph, y)
    is_right = model.predict() == truth
    some = np.where(np.arange(80) < 30, truth, -1)
    assert model.score(None, some) == is_right[:30].mean()
    values = np.where(y >= 0, y, np.nan)
    assert gs.StableHFSRegressor(random_state=7).fit(graph, values).score(None, truth) > 0
