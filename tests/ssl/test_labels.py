"""Labels find their nodes: by number, by id, and by ids that only look like numbers."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import graphsqueak as gs
from graphsqueak import EdgeList, InputError
from graphsqueak.ssl import AmbiguousLabelsWarning
from graphsqueak.ssl.labels import (
    class_labels,
    encode_classes,
    given_labels,
    is_unlabeled,
    real_labels,
)
from tests.ssl.graphs import hide, two_blocks

NAMED = EdgeList.from_pairs([("7", "ann"), ("ann", "12"), ("12", "bob")])
LISTED = EdgeList(tail=[0, 1, 2], head=[1, 2, 3], ids=NAMED.ids)  # in an order that we chose


def test_numbers_stand_for_their_digits_where_nodes_are_named_by_text():
    labels = class_labels({12: "b", 7: "a", "bob": "b"}, NAMED)
    assert labels.nodes.tolist() == [0, 2, 3]
    assert labels.classes[labels.code].tolist() == ["a", "b", "b"]


def test_text_does_not_stand_for_a_number():
    graph = EdgeList(tail=[0], head=[1], ids=np.array([7, 12]))
    with pytest.raises(InputError, match="node '7', which is not in the graph"):
        class_labels({"7": "a"}, graph)


@pytest.mark.parametrize("name", [2**70, (3, 4), 2.0])
def test_any_id_that_the_graph_has_is_found(name):
    graph = EdgeList.from_networkx(nx.Graph([(1, "x"), ("x", name)]))
    labels = class_labels({name: "a", 1: "b"}, graph)
    assert [graph.ids.tolist()[node] for node in labels.nodes] == [1, name]


def test_ids_above_the_signed_integers():
    ids = np.array([2**63 + 1, 5, 2**63 + 2], dtype=np.uint64)
    graph = EdgeList(tail=[0, 1], head=[1, 2], ids=ids)
    assert class_labels({2**63 + 2: "a", 5: "b"}, graph).nodes.tolist() == [1, 2]


@pytest.mark.parametrize(("cut", "y"), [(1, ["a", -1, "b", -1]), (3, {"ann": "a", 12: "b"})])
def test_nodes_may_be_asked_for_in_pieces(cut, y):
    given, ids = given_labels(y, is_unlabeled), LISTED.node_ids
    pieces = [given.find(ids, 0, cut), given.find(ids, cut, 4)]
    whole = given.find(ids, 0, 4)
    np.testing.assert_array_equal(np.concatenate(pieces), whole)
    np.testing.assert_array_equal(given.values[whole[whole >= 0]], ["a", "b"])


def test_an_array_goes_by_the_order_in_which_the_caller_listed_the_nodes():
    assert class_labels([-1, 5, -1, 6], LISTED).nodes.tolist() == [1, 3]
    by_id = given_labels([-1, 5, -1, 6], is_unlabeled).by_id(LISTED.node_ids)
    assert by_id == {"ann": 5, "bob": 6}


def test_classes_of_several_types_are_sorted_as_text():
    encoded = encode_classes({0: "b", 1: 3, 2: "a"})
    assert encoded.classes.tolist() == [3, "a", "b"]
    assert encoded.code.tolist() == [2, 0, 1]


def test_values_are_those_of_their_nodes():
    labels = real_labels({"bob": 2.5, "7": None, 12: -1}, NAMED)
    assert (labels.nodes.tolist(), labels.value.tolist()) == ([2, 3], [-1.0, 2.5])


def test_a_user_masks_the_labels_to_hide():
    """What is under the mask must not be seen: neither in fits, nor in scores."""
    graph, truth = two_blocks(12_870, inside=0.2, between=0.12)
    hidden = np.arange(80) % 4 != 0
    masked = np.ma.masked_array(truth, mask=hidden)
    plain = gs.HFSClassifier().fit(graph, np.where(hidden, -1, truth))
    clf = gs.HFSClassifier().fit(graph, masked)
    np.testing.assert_array_equal(clf.label_distributions_, plain.label_distributions_)
    assert clf.score(None, masked) == 1.0 > clf.score(None, truth)
    values = np.where(hidden, 1e6, truth)
    wanted = gs.StableHFSRegressor(random_state=7).fit(graph, np.where(hidden, np.nan, truth))
    model = gs.StableHFSRegressor(random_state=7).fit(graph, np.ma.masked_array(values, hidden))
    np.testing.assert_array_equal(model.transduction_, wanted.transduction_)
    assert model.score(None, np.ma.masked_array(values, hidden)) > 0


@pytest.mark.parametrize("y", [["a", "", "b", ""], {"7": "a", 12: "b", "ann": "", "bob": ""}])
def test_a_user_leaves_labels_empty_as_in_a_file(y):
    labels = class_labels(y, LISTED)
    assert (labels.nodes.tolist(), labels.classes.tolist()) == ([0, 2], ["a", "b"])
    mixed = class_labels([3, "", None, 4], LISTED)
    assert mixed.nodes.tolist() == [0, 3]


def test_a_user_has_missing_values_of_a_data_frame():
    class NA:
        def __eq__(self, other):
            return self

        def __bool__(self):
            raise TypeError("boolean value of NA is ambiguous")

        __hash__ = None

    labels = class_labels(np.array([1, NA(), 0, None], dtype=object), LISTED)
    assert labels.nodes.tolist() == [0, 2]


def test_a_user_codes_classes_as_signs_and_none_as_zero():
    y = np.zeros(80, dtype=int)
    graph, truth = two_blocks(12_870)
    y[[0, 1, 50, 60]] = -1, -1, 1, 1
    with pytest.warns(AmbiguousLabelsWarning, match="0, which 76 of 80 nodes have, as a class"):
        clf = gs.HFSClassifier().fit(graph, y)
    assert clf.classes_.tolist() == [0, 1]
    with pytest.warns(AmbiguousLabelsWarning, match="1 is the only class"):
        gs.SparseHFSClassifier(random_state=7).fit(graph, 2 * truth - 1)
    gs.HFSClassifier().fit(graph, hide(truth, [0, 50]))  # -1, 0 and 1 as they are meant: no warning


def test_a_user_cross_validates_with_unlabeled_points():
    """The share of right answers among the labeled points of each fold, not among all."""
    from sklearn.model_selection import cross_val_score

    rng = np.random.default_rng(66_203)
    truth = np.arange(120) % 2
    X = rng.normal(size=(120, 2)) + 8 * truth[:, None]
    y = np.where(np.arange(120) % 3 == 0, truth, -1)
    scores = cross_val_score(gs.HFSClassifier(affinity="knn"), X, y, cv=3)
    np.testing.assert_array_equal(scores, 1.0)
    value = np.where(y == -1, np.nan, truth)
    model = gs.StableHFSRegressor(affinity="knn", random_state=7).fit(X, value)
    assert model.score(X, value) > 0.9


def test_nodes_of_the_graph_are_predicted_by_id():
    graph, truth = two_blocks(12_870)
    names = [f"n{number}" for number in range(graph.n_nodes)]
    named = gs.EdgeList(tail=graph.tail, head=graph.head, weight=graph.weight, ids=names)
    y = hide(truth, [0, 50])
    for model, wanted in (
        (gs.HFSClassifier().fit(graph, y), [51, 0, 3]),
        (gs.StableHFSClassifier().fit(named, y), ["n51", "n0", "n3"]),
    ):
        for listed in (wanted, np.array(wanted), pd.Series(wanted)):
            np.testing.assert_array_equal(model.predict(listed), model.predict()[[51, 0, 3]])
            np.testing.assert_array_equal(
                model.predict_proba(listed), model.predict_proba()[[51, 0, 3]]
            )


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("n1", r"predict\(\['n1'\]\)"),
        (1, r"predict\(\[1\]\)"),
        ([1, 999], "node 999 is not in the graph"),
        ([("x",)], "pass a list of their ids"),
        ([("x", 0, 1, 2)], "pass a list of their ids"),
        (two_blocks(12_870)[0], r"predict\(\) for all nodes"),
    ],
)
def test_other_ways_to_ask_for_nodes_are_refused_with_the_working_call(asked, words):
    graph, truth = two_blocks(12_870)
    clf = gs.HFSClassifier().fit(graph, hide(truth, [0, 50]))
    with pytest.raises(InputError, match=words):
        clf.predict(asked)
