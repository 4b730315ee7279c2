"""Labels, weights and features reach the nodes that they are about, however the graph is given.

A block model with integer ids 0, ..., n - 1, edges shuffled, so that nodes appear in another order
than that of their ids. The same graph as a scipy matrix, whose rows are the ids, is the reference.
"""

import pickle

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score, train_test_split

import graphsqueak as gs
from graphsqueak import EdgeList, GraphNodes, GraphSplit, InputError
from graphsqueak.graph.id_arrays import as_permutation
from graphsqueak.sources.graph_like import as_edge_list
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.ssl import AbsentLabelsWarning
from graphsqueak.ssl.alignment import NodeValues, split_by_id, values_of_rows
from graphsqueak.ssl.class_sums import read_once
from graphsqueak.ssl.labels import encode_classes, is_missing

N_NODES, N_BLOCKS = 90, 3
TRUTH = np.arange(N_NODES) % N_BLOCKS  # of the node with id i
LABELED = np.arange(0, N_NODES, 4)
Y = np.full(N_NODES, -1)
Y[LABELED] = TRUTH[LABELED]

CLASSIFIERS = [
    gs.HFSClassifier(),
    gs.StableHFSClassifier(random_state=7),
    gs.SparseHFSClassifier(random_state=7),
    gs.SparseHFSClassifier(n_edges=10_000, max_passes=1, random_state=7),
    gs.PoissonClassifier(),
    gs.SimpleHFSClassifier(random_state=7),
    gs.EigenfunctionClassifier(random_state=7),
    gs.NearestLabelClassifier(),
    gs.SubsampledHFSClassifier(n_samples=60, random_state=7),
]
REGRESSORS = [gs.StableHFSRegressor(random_state=7), gs.SparseHFSRegressor(random_state=7)]


def _shuffled_edges():
    """Ends of the edges of a block model, in an order in which ids do not appear sorted."""
    rng = np.random.default_rng(4_127)
    low, high = np.triu_indices(N_NODES, 1)
    is_edge = rng.random(low.size) < np.where(TRUTH[low] == TRUTH[high], 0.4, 0.05)
    ends = np.column_stack([low[is_edge], high[is_edge]])
    rng.shuffle(ends)
    return rng.permuted(ends, axis=1)


ENDS = _shuffled_edges()
MATRIX = EdgeList(tail=ENDS[:, 0], head=ENDS[:, 1], n_nodes=N_NODES).to_scipy()
FRAME = pd.DataFrame({"source": ENDS[:, 0], "target": ENDS[:, 1]})
APPEARANCE = pd.unique(ENDS.ravel())
assert not np.array_equal(APPEARANCE, np.arange(N_NODES))
assert APPEARANCE.size == N_NODES

GRAPHS = {
    "pandas": FRAME,
    "polars": pl.DataFrame({"source": ENDS[:, 0], "target": ENDS[:, 1]}),
    "networkx": nx.Graph(ENDS.tolist()),
    "networkx, numpy integers": nx.Graph([(low, high) for low, high in ENDS]),
    "networkx, floats": nx.Graph(ENDS.astype(float).tolist()),
    "igraph": igraph.Graph.TupleList(ENDS.tolist()),
    "pairs": EdgeList.from_pairs(ENDS.tolist()),
    "read": gs.read_edges(FRAME),
    "read into memory": gs.read_edges(FRAME).to_edge_list(),
    "listed": EdgeList(
        tail=np.argsort(APPEARANCE)[ENDS[:, 0]],
        head=np.argsort(APPEARANCE)[ENDS[:, 1]],
        ids=APPEARANCE,
    ),
}

LABELS = {
    "array": Y,
    "list": Y.tolist(),
    "masked array": np.ma.masked_equal(Y, -1),
    "Series": pd.Series(Y),
    "Series with NaN": pd.Series(np.where(Y < 0, np.nan, Y)),
    "nullable Series": pd.Series(np.where(Y < 0, None, Y), dtype="Int64"),
    "shuffled Series": pd.Series(Y).sample(frac=1, random_state=3),
    "Series of the labeled": pd.Series(Y[LABELED], index=LABELED),
    "dict": dict(zip(LABELED.tolist(), Y[LABELED].tolist(), strict=True)),
    "pandas frame": pd.DataFrame({"node": LABELED, "label": Y[LABELED]}),
    "frame with an index": pd.DataFrame({"label": Y}).rename_axis("node"),
    "polars frame": pl.DataFrame({"label": Y[LABELED], "node": LABELED}),
    "Arrow table": pa.table({"node": LABELED, "label": Y[LABELED]}),
}


def kind(model):
    return type(model).__name__


def as_file(folder, ends=ENDS):
    path = folder / "edges.csv"
    pd.DataFrame(ends, columns=["source", "target"]).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def references():
    """Each model fitted to the matrix, whose rows are the ids."""
    return {repr(model): clone(model).fit(MATRIX, Y) for model in CLASSIFIERS}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("graph", ["pandas", "networkx"])
def test_labels_in_any_form_are_about_the_ids(graph, labels, references):
    """With nodes numbered as they appear, accuracy was that of guessing."""
    model = gs.StableHFSClassifier(random_state=7)
    fitted = clone(model).fit(GRAPHS[graph], LABELS[labels])
    expected = references[repr(model)]
    np.testing.assert_array_equal(fitted.transduction_, expected.transduction_)
    np.testing.assert_array_equal(fitted.ids_, np.arange(N_NODES))
    assert np.mean(fitted.transduction_ == TRUTH) > 0.95


@pytest.mark.parametrize("graph", GRAPHS)
def test_graphs_in_any_form_have_their_nodes_in_the_order_of_the_ids(graph, references):
    model = gs.StableHFSClassifier(random_state=7)
    fitted = clone(model).fit(GRAPHS[graph], Y)
    expected = references[repr(model)]
    np.testing.assert_array_equal(fitted.transduction_, expected.transduction_)
    np.testing.assert_allclose(fitted.scores_, expected.scores_, atol=1e-6)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=kind)
@pytest.mark.parametrize("graph", ["pandas", "networkx", "listed"])
def test_every_classifier_answers_by_id(graph, model, references):
    fitted = clone(model).fit(GRAPHS[graph], Y)
    expected = references[repr(model)]
    same = np.mean(fitted.transduction_ == expected.transduction_)
    accuracy = np.mean(expected.transduction_ == TRUTH)
    assert accuracy > 0.8
    if isinstance(model, gs.EigenfunctionClassifier):  # histograms of close eigenvectors differ
        assert np.mean(fitted.transduction_ == TRUTH) > 0.8
    else:
        assert same == 1.0
        np.testing.assert_allclose(
            fitted.label_distributions_, expected.label_distributions_, atol=1e-4
        )
        np.testing.assert_array_equal(
            fitted.has_label_in_component_, expected.has_label_in_component_
        )
        for truth in (TRUTH, pd.Series(TRUTH), dict(enumerate(TRUTH.tolist()))):
            assert fitted.score(GRAPHS[graph], truth) == accuracy
    np.testing.assert_array_equal(fitted.predict(), fitted.transduction_)
    np.testing.assert_array_equal(fitted.predict_proba(), fitted.label_distributions_)
    np.testing.assert_array_equal(fitted.ids_, np.arange(N_NODES))
    assert fitted.to_pandas()["node"].tolist() == list(range(N_NODES))


@pytest.mark.parametrize("model", CLASSIFIERS[:4], ids=kind)
def test_prediction_sets_are_about_the_ids(model, references):
    sets = clone(model).fit(FRAME, pd.Series(Y)).prediction_sets(0.2)
    np.testing.assert_array_equal(sets, references[repr(model)].prediction_sets(0.2))
    assert sets[np.arange(N_NODES), TRUTH].mean() > 0.8
    np.testing.assert_array_equal(sets[LABELED], np.eye(3, dtype=bool)[TRUTH[LABELED]])


@pytest.mark.parametrize("model", REGRESSORS, ids=kind)
@pytest.mark.parametrize("graph", ["pandas", "networkx"])
def test_every_regressor_answers_by_id(graph, model):
    values = np.where(Y < 0, np.nan, 10.0 * TRUTH)
    expected = clone(model).fit(MATRIX, values)
    known = dict(zip(LABELED.tolist(), values[LABELED].tolist(), strict=True))
    for y in (values, pd.Series(values), known):
        fitted = clone(model).fit(GRAPHS[graph], y)
        np.testing.assert_allclose(fitted.transduction_, expected.transduction_, atol=1e-4)
        for truth in (10.0 * TRUTH, pd.Series(10.0 * TRUTH)[::-1]):
            assert fitted.score(None, truth) == pytest.approx(expected.score(None, 10.0 * TRUTH))


@pytest.mark.parametrize("graph", ["pandas", "networkx"])
def test_weights_of_labels_are_about_the_ids(graph):
    """Wrong labels with weight zero do no harm, if the weights reach them."""
    y = np.where(LABELED % 8 == 0, (Y[LABELED] + 1) % 3, Y[LABELED])
    wrong = np.full(N_NODES, -1)
    wrong[LABELED] = y
    weight = np.ones(N_NODES)
    weight[LABELED[LABELED % 8 == 0]] = 0.0
    weights = [weight, pd.Series(weight), dict(enumerate(weight.tolist()))]
    for model in (gs.StableHFSClassifier(random_state=7), gs.SparseHFSClassifier(random_state=7)):
        expected = clone(model).fit(MATRIX, wrong, sample_weight=weight).transduction_
        for given in weights:
            fitted = clone(model).fit(GRAPHS[graph], wrong, sample_weight=given)
            np.testing.assert_array_equal(fitted.transduction_, expected)
    at_three = np.where(np.arange(N_NODES) == 3, 1.0, 0.0)
    fitted = gs.HFSClassifier().fit(GRAPHS[graph], Y)
    right = np.where(np.arange(N_NODES) == 3, fitted.transduction_, -1 - fitted.transduction_)
    assert fitted.score(None, np.abs(right), sample_weight=at_three) == 1.0
    assert fitted.score(None, np.abs(right), sample_weight=pd.Series(at_three)[::-1]) == 1.0


@pytest.mark.parametrize("labels", ["array", "Series", "shuffled Series", "dict", "polars frame"])
def test_labels_are_hidden_by_id_in_cross_validation(labels):
    model = gs.StableHFSClassifier()
    expected = gs.cross_validate(model, MATRIX, Y, random_state=7)["test_score"]
    assert expected.mean() > 0.9
    for graph in (FRAME, GRAPHS["networkx"], gs.read_edges(FRAME)):
        scores = gs.cross_validate(model, graph, LABELS[labels], random_state=7)["test_score"]
        assert scores.mean() > 0.9
        if labels == "array":  # others may be listed in another order, which draws other folds
            np.testing.assert_array_equal(scores, expected)


def test_a_node_that_the_graph_does_not_have_is_not_scored_in_cross_validation():
    """The row of an absent node was -1: the last node of the graph was scored in its place."""
    labels = LABELS["dict"] | {5_000 + k: k % 3 for k in range(9)}
    with pytest.warns(AbsentLabelsWarning):
        scores = gs.cross_validate(gs.StableHFSClassifier(), FRAME, labels, random_state=7)
    assert scores["test_score"].mean() > 0.9


def test_scikit_learn_picks_rows_of_nodes_in_the_order_of_the_ids():
    expected = cross_val_score(
        gs.HFSClassifier(), GraphNodes(MATRIX), Y, cv=GraphSplit(4, random_state=7)
    )
    assert expected.mean() > 0.9
    for graph in (GRAPHS["listed"], GRAPHS["networkx"]):
        nodes = GraphNodes(graph)
        np.testing.assert_array_equal(nodes.ids, np.arange(N_NODES))
        for y in (Y, pd.Series(Y)):
            scores = cross_val_score(gs.HFSClassifier(), nodes, y, cv=GraphSplit(4, random_state=7))
            np.testing.assert_array_equal(scores, expected)
    with pytest.raises(InputError, match=r"pass y\.reindex\(X\.ids\)"):
        gs.HFSClassifier().fit(nodes, pd.Series(Y)[::-1])
    some = nodes[10:40]
    fitted = gs.StableHFSClassifier(random_state=7).fit(some, pd.Series(Y)[10:40])
    assert fitted.score(nodes[50:], pd.Series(TRUTH)[50:]) > 0.7
    with pytest.raises(InputError, match="lists other nodes than X"):
        fitted.score(nodes[50:], pd.Series(TRUTH)[:40])


def test_scikit_learn_does_not_pick_rows_of_an_array_where_they_could_be_any_node():
    nodes = GraphNodes(nx.Graph((ENDS + 1).tolist()))
    with pytest.raises(InputError, match="not exactly 0"):
        gs.HFSClassifier().fit(nodes, Y)
    fitted = gs.HFSClassifier().fit(nodes, pd.Series(Y, index=range(1, 91)).reindex(nodes.ids))
    with pytest.raises(InputError, match="not exactly 0"):
        fitted.score(nodes, TRUTH)
    assert fitted.score(nodes, pd.Series(TRUTH, index=range(1, 91)).reindex(nodes.ids)) > 0.9


def test_folds_of_labels_by_id_are_numbers_of_nodes_in_the_order_of_the_ids():
    folds = [
        list(GraphSplit(3, random_state=7).split(graph, y))
        for graph, y in ((GRAPHS["networkx"], LABELS["dict"]), (None, Y), (None, pd.Series(Y)))
    ]
    for others in folds[1:]:
        for (train, test), (other_train, other_test) in zip(folds[0], others, strict=True):
            np.testing.assert_array_equal(train, other_train)
            np.testing.assert_array_equal(test, other_test)


@pytest.mark.parametrize("share", ["auto", 0.5, 0.0])
@pytest.mark.parametrize("max_passes", [1, "auto"])
@pytest.mark.parametrize("labels", ["array", "Series with NaN", "dict"])
def test_files_that_are_read_answer_by_id(labels, max_passes, share, tmp_path):
    """Nodes of a file are numbered as they appear until it has been read."""
    path = as_file(tmp_path)
    settings = {"priority_fraction": share, "max_passes": max_passes, "random_state": 7}
    model = gs.SparseHFSClassifier(n_edges=500, **settings)
    fitted = model.fit(gs.read_edges(path, batch_size=200), LABELS[labels])
    assert fitted.n_edges_used_ < ENDS.shape[0]
    np.testing.assert_array_equal(fitted.ids_, np.arange(N_NODES))
    assert np.mean(fitted.transduction_ == TRUTH) > 0.85
    assert np.mean(fitted.transduction_[LABELED] == TRUTH[LABELED]) > 0.9
    assert fitted.score(None, TRUTH) == np.mean(fitted.transduction_ == TRUTH)
    # The sparsifier's edges lie where the graph has edges, by id.
    kept = fitted.sparsifier_
    assert MATRIX[kept.ids[kept.tail], kept.ids[kept.head]].min() > 0
    sets = fitted.prediction_sets(0.2)
    np.testing.assert_array_equal(sets[LABELED], np.eye(3, dtype=bool)[TRUTH[LABELED]])


@pytest.mark.parametrize("max_passes", [1, "auto"])
def test_values_of_files_that_are_read_are_by_id(max_passes, tmp_path):
    values = np.where(Y < 0, np.nan, 10.0 * TRUTH)
    model = gs.SparseHFSRegressor(n_edges=600, max_passes=max_passes, random_state=7)
    fitted = model.fit(gs.read_edges(as_file(tmp_path)), values)
    assert fitted.score(None, 10.0 * TRUTH) > 0.5
    by_id = clone(model).fit(gs.read_edges(as_file(tmp_path)), pd.Series(values))
    np.testing.assert_array_equal(fitted.transduction_, by_id.transduction_)


def test_eigenvectors_of_a_file_are_in_the_order_of_the_ids(tmp_path):
    model = gs.SimpleHFSClassifier(n_edges=500, random_state=7)
    fitted = model.fit(gs.read_edges(as_file(tmp_path)), Y)
    assert np.mean(fitted.transduction_ == TRUTH) > 0.9
    np.testing.assert_array_equal(fitted.ids_, np.arange(N_NODES))


@pytest.mark.parametrize("labels", ["array", "Series", "dict"])
def test_edges_that_keep_coming_are_answered_by_id(labels):
    model = gs.SparseHFSClassifier(n_edges=2_000, random_state=7)
    expected = gs.StableHFSClassifier(random_state=7).fit(MATRIX, Y).transduction_
    for start in range(0, len(ENDS), 300):
        part = FRAME.iloc[start : start + 300]
        model.partial_fit(part, LABELS[labels] if start == 0 else None)
    np.testing.assert_array_equal(model.predict(), expected)
    np.testing.assert_array_equal(model.ids_, np.arange(N_NODES))
    turned = (3 - Y) % 4 - 1  # -1 stays, and classes are renamed
    turned = {"array": turned, "Series": pd.Series(turned), "dict": dict(enumerate(turned))}[labels]
    model.relabel(turned)
    np.testing.assert_array_equal(model.predict(), 2 - expected)


def test_an_array_for_some_of_the_nodes_of_a_stream_is_refused():
    model = gs.SparseHFSClassifier(random_state=7).partial_fit(FRAME[:20], Y)
    with pytest.raises(InputError, match=r"dict\(enumerate\(y\)\)"):
        model.predict()
    assert model.partial_fit(FRAME[20:]).score(None, TRUTH) > 0.95


FEATURES = np.random.default_rng(8).normal(size=(N_NODES, 2))
FEATURES[:, 0] += 2 * (TRUTH == 0)
FEATURES[:, 1] += 2 * (TRUTH == 1)
SHUFFLED = np.random.default_rng(9).permutation(N_NODES)
ROWS = {
    "array": (FEATURES, None),
    "default index": (pd.DataFrame(FEATURES, columns=["a", "b"]), None),
    "shuffled frame": (pd.DataFrame(FEATURES, columns=["a", "b"]).iloc[SHUFFLED], None),
    "ids": (FEATURES[SHUFFLED], SHUFFLED),
    "column node": (
        pd.DataFrame(FEATURES[SHUFFLED], columns=["a", "b"]).assign(node=SHUFFLED),
        None,
    ),
    "polars column node": (
        pl.DataFrame({"node": SHUFFLED, "a": FEATURES[SHUFFLED, 0], "b": FEATURES[SHUFFLED, 1]}),
        None,
    ),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("graph", ["pandas", "networkx", "read into memory"])
def test_features_and_labels_meet_at_the_ids(graph, rows):
    expected = gs.GraphStacking(LogisticRegression(), random_state=7).fit(MATRIX, Y, FEATURES)
    X, ids = ROWS[rows]
    fitted = gs.GraphStacking(LogisticRegression(), random_state=7)
    fitted.fit(GRAPHS[graph], Y, X, ids=ids)
    assert np.mean(fitted.transduction_ == TRUTH) > 0.9
    np.testing.assert_array_equal(fitted.ids_, np.arange(N_NODES))
    if graph != "pandas":  # a table is read, with fewer steps
        np.testing.assert_allclose(
            fitted.label_distributions_, expected.label_distributions_, atol=1e-3
        )


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("graph", ["pandas", "networkx"])
def test_rows_of_features_reach_their_nodes_where_the_graph_says_nothing(graph, rows):
    halves = np.arange(N_NODES) // 45  # not the blocks of the graph
    X, ids = ROWS[rows]
    node_of_row = np.arange(N_NODES) if rows in ("array", "default index") else SHUFFLED
    column = halves[node_of_row].astype(float)
    if isinstance(X, pl.DataFrame):
        X = X.with_columns(pl.Series("a", column))
    else:
        X = X.assign(a=column) if hasattr(X, "assign") else np.column_stack([column, X[:, 1]])
    y = np.where(Y < 0, -1, halves)
    fitted = gs.GraphStacking(LogisticRegression(C=100.0), random_state=7)
    fitted.fit(GRAPHS[graph], y, X, ids=ids)
    assert fitted.weights_["graph"] == 0
    np.testing.assert_array_equal(fitted.transduction_, halves)


def test_values_and_features_meet_at_the_ids():
    values = np.where(Y < 0, np.nan, 10.0 * TRUTH)
    expected = gs.GraphStacking(LinearRegression(), random_state=7).fit(MATRIX, values, FEATURES)
    X, ids = ROWS["shuffled frame"]
    fitted = gs.GraphStacking(LinearRegression(), random_state=7)
    fitted.fit(GRAPHS["networkx"], pd.Series(values), X, ids=ids)
    np.testing.assert_allclose(fitted.transduction_, expected.transduction_, atol=1e-4)
    scores = gs.cross_validate(
        gs.GraphStacking(LinearRegression(), random_state=7),
        GRAPHS["networkx"],
        pd.Series(values),
        features=X,
        random_state=7,
    )
    assert scores["test_score"].mean() > 0.4


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_features_of_neighbors_are_those_of_the_ids(graph, rows):
    expected = gs.NeighborMeans().fit_transform(FEATURES, graph=MATRIX)
    X, ids = ROWS[rows]
    found = gs.NeighborMeans().fit_transform(X, graph=GRAPHS[graph], ids=ids)
    order = np.arange(N_NODES) if rows in ("array", "default index") else SHUFFLED
    np.testing.assert_allclose(found, expected[order], atol=1e-9)


# Graphs whose ids are not 0, ..., n - 1.

NAMES = np.array([f"n{i:02}" for i in range(N_NODES)])
NAMED_FRAME = pd.DataFrame({"source": NAMES[ENDS[:, 0]], "target": NAMES[ENDS[:, 1]]})
NAMED = {
    "pandas": NAMED_FRAME,
    "networkx": nx.Graph(NAMES[ENDS].tolist()),
    "igraph": igraph.Graph.TupleList(NAMES[ENDS].tolist()),
    "pairs": EdgeList.from_pairs(NAMES[ENDS].tolist()),
    "in memory": gs.read_edges(NAMED_FRAME).to_edge_list(),
    "digits": nx.Graph(ENDS.astype(str).tolist()),
    "booleans": nx.Graph([(True, False)]),
    "from one": FRAME + 1,
    "networkx from one": nx.Graph((ENDS + 1).tolist()),
    "gaps": FRAME * 3,
}


@pytest.mark.parametrize("model", [*CLASSIFIERS[:4], *REGRESSORS], ids=kind)
@pytest.mark.parametrize("graph", NAMED)
def test_an_array_is_refused_where_a_position_could_be_any_node(graph, model):
    ids = as_edge_list(NAMED[graph]).in_id_order().ids.tolist()
    y = Y[: len(ids)] + 0.0
    message = "a dict or a pandas Series indexed by node id, such as"
    with pytest.raises(InputError, match=message) as refused:
        clone(model).fit(NAMED[graph], y)
    assert any(repr(name) in str(refused.value) for name in ids)
    assert f"y is an array of {len(ids)} entries" in str(refused.value)


@pytest.mark.parametrize("graph", ["pandas", "networkx", "in memory", "igraph"])
def test_named_nodes_are_labeled_by_name(graph):
    expected = gs.StableHFSClassifier(random_state=7).fit(MATRIX, Y).transduction_
    y = pd.Series(Y, index=NAMES)
    for labels in (y, y.sample(frac=1, random_state=3), dict(y), y.rename_axis("node").to_frame()):
        fitted = gs.StableHFSClassifier(random_state=7).fit(NAMED[graph], labels)
        answer = pd.Series(fitted.transduction_, index=fitted.ids_)[NAMES]
        assert np.mean(answer == expected) > 0.98
        assert fitted.score(None, pd.Series(TRUTH, index=NAMES)[::-1]) > 0.95
        with pytest.raises(InputError, match="y is an array of 90 entries"):
            fitted.score(None, TRUTH)
        with pytest.raises(InputError, match="sample_weight is an array of 90 entries"):
            fitted.score(None, dict(y), sample_weight=np.ones(N_NODES))


def test_columns_of_links_are_refused_if_they_could_be_any_node():
    links = np.eye(N_NODES)[:5]
    fitted = gs.HFSClassifier().fit(GRAPHS["networkx"], Y)
    np.testing.assert_array_equal(fitted.predict_new(links), fitted.transduction_[:5])
    fitted = gs.HFSClassifier().fit(NAMED["networkx"], dict(zip(NAMES, Y, strict=True)))
    with pytest.raises(InputError, match="pass triples"):
        fitted.predict_new(links)
    expected = dict(zip(fitted.ids_, fitted.transduction_, strict=True))
    assert fitted.predict_new([("new", NAMES[8])]) == expected[NAMES[8]]


def test_an_array_goes_by_the_order_in_which_the_nodes_were_listed():
    turned = NAMES[::-1]
    number = np.argsort(turned)
    listed = EdgeList(tail=number[ENDS[:, 0]], head=number[ENDS[:, 1]], ids=turned)
    expected = gs.StableHFSClassifier(random_state=7).fit(MATRIX, Y).transduction_
    sources = [
        listed,
        pickle.loads(pickle.dumps(listed)),  # noqa: S301
        gs.sparsify(listed, n_edges=10_000),
        listed.simplified(),
        EdgeList.from_scipy(MATRIX[::-1][:, ::-1], ids=turned),
    ]
    for graph in sources:
        assert graph.has_explicit_order
        fitted = gs.StableHFSClassifier(random_state=7).fit(graph, Y[::-1])
        assert np.mean(fitted.transduction_ == expected[::-1]) > 0.98
        assert fitted.ids_.tolist() == turned.tolist()
        assert fitted.score(None, TRUTH[::-1]) > 0.95
    streamed = gs.SparseHFSClassifier(n_edges=10_000, random_state=7)
    streamed.partial_fit(listed.part(0, 100), Y[::-1]).partial_fit(listed.part(100))
    assert streamed.score(None, TRUTH[::-1]) > 0.95
    assert streamed.relabel(Y[::-1]).score(None, TRUTH[::-1]) > 0.95
    with pytest.raises(InputError, match="y has 30 entries for 90 nodes"):
        streamed.relabel(Y[:30])


def test_neighbors_of_named_points_are_in_the_order_of_the_points():
    edges = gs.neighbor_edges(FEATURES, 6, ids=NAMES)
    for graph in (edges, edges.to_edge_list()):
        fitted = gs.SparseHFSClassifier(random_state=7).fit(graph, Y)
        assert np.mean(fitted.transduction_[LABELED] == TRUTH[LABELED]) > 0.7
        by_name = gs.SparseHFSClassifier(random_state=7).fit(graph, pd.Series(Y, index=NAMES))
        np.testing.assert_array_equal(fitted.transduction_, by_name.transduction_)
        assert gs.NeighborMeans(hops=1).fit_transform(FEATURES, graph=graph).shape == (90, 6)


def test_a_series_of_integers_labels_nodes_whose_names_are_digits():
    fitted = gs.StableHFSClassifier(random_state=7).fit(NAMED["digits"], pd.Series(Y))
    answer = pd.Series(fitted.transduction_, index=fitted.ids_.astype(int)).sort_index()
    assert np.mean(answer == TRUTH) > 0.95


def test_a_series_of_text_does_not_label_nodes_that_are_integers():
    y = pd.Series(Y, index=np.arange(N_NODES).astype(str))
    with pytest.raises(InputError, match="ids of the graph are integers, such as 0: convert yours"):
        gs.HFSClassifier().fit(FRAME, y)
    # A table with one text id is read as text.
    first = y.index[y >= 0][0]
    y = y.rename({first: "total"})
    with pytest.raises(InputError, match="ids of the graph are integers, and 'total' is not"):
        gs.HFSClassifier().fit(FRAME, y)


@pytest.mark.parametrize("model", [gs.StableHFSClassifier(), *CLASSIFIERS[2:4]], ids=kind)
def test_a_node_without_edges_makes_an_array_ambiguous(model, tmp_path):
    """The array has an entry for a node that no edge names: the graph has one node less."""
    rest = ENDS[(ENDS != 5).all(axis=1)]
    isolated = (range(5), range(6, N_NODES))
    for graph in (gs.read_edges(as_file(tmp_path, rest)), nx.Graph(rest.tolist())):
        with pytest.raises(InputError, match=r"are 89 of the integers 0, \.\.\., 89,"):
            clone(model).fit(graph, Y)
        for labels in (pd.Series(Y), dict(enumerate(Y.tolist()))):
            fitted = clone(model).fit(graph, labels)
            answer = pd.Series(fitted.transduction_, index=fitted.ids_)
            assert sorted(answer.index) == [*isolated[0], *isolated[1]]
            assert np.mean(answer == TRUTH[answer.index]) > 0.95


@pytest.mark.parametrize("max_passes", [1, "auto"])
def test_an_array_of_another_length_is_refused_after_the_stream(max_passes, tmp_path):
    model = gs.SparseHFSClassifier(n_edges=500, max_passes=max_passes, random_state=7)
    with pytest.raises(InputError, match=r"shape \(91,\) for 90 nodes|90 of the integers"):
        model.fit(gs.read_edges(as_file(tmp_path)), np.append(Y, -1))
    with pytest.raises(InputError, match=r"not exactly 0, \.\.\., 88 \(one is 89\)"):
        model.fit(gs.read_edges(as_file(tmp_path)), Y[:-1])


def test_absent_nodes_are_warned_about():
    labels = LABELS["Series of the labeled"].to_dict() | {7_000: 0}
    with pytest.warns(AbsentLabelsWarning, match="7000"):
        fitted = gs.StableHFSClassifier(random_state=7).fit(FRAME, pd.Series(labels))
    with pytest.warns(AbsentLabelsWarning, match="7000"):
        assert fitted.score(None, pd.Series(labels)) > 0.9


def test_a_class_of_absent_nodes_alone_is_named():
    labels = LABELS["dict"] | {7_000: 0, 7_001: 8}
    with pytest.raises(InputError, match=r"node 7001, .* no node of the graph has the label 8"):
        gs.StableHFSClassifier().fit(FRAME, labels)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (pd.Series([0, 1, 1], index=[3, 5, 3]), "y has node 3 twice in its index"),
        (pd.DataFrame({"node": [3, 3], "label": [0, 1]}), "y has node 3 twice in its column"),
        (pd.DataFrame({"a": [3], "b": [0], "c": [1]}), "y has the columns a, b, c; give two"),
        (pd.Series([0, 1], index=["x", "y"]), "node 'x', which is not in the graph"),
    ],
)
def test_what_cannot_be_matched_is_refused(y, message):
    with pytest.raises(InputError, match=message):
        gs.HFSClassifier().fit(FRAME, y)


@pytest.mark.parametrize("graph", ["pandas", "networkx", "in memory", "pairs", "from one"])
def test_rows_of_features_of_named_nodes_need_ids(graph):
    ids = as_edge_list(NAMED[graph]).in_id_order().ids
    by_name = NAMES if ids.dtype.kind != "i" else np.arange(1, N_NODES + 1)
    frame = pd.DataFrame(FEATURES, columns=["a", "b"])
    for X in (FEATURES, frame):
        with pytest.raises(InputError, match=r"ids=|no row of features"):
            gs.NeighborMeans().fit_transform(X, graph=NAMED[graph])
        with pytest.raises(InputError, match=r"ids=|no row of features"):
            gs.GraphStacking(LogisticRegression()).fit(NAMED[graph], dict(enumerate(Y)), X)
    expected = gs.NeighborMeans().fit_transform(FEATURES, graph=MATRIX)
    for X, ids in ((FEATURES, by_name), (frame.set_axis(by_name), None)):
        found = gs.NeighborMeans().fit_transform(X, graph=NAMED[graph], ids=ids)
        np.testing.assert_allclose(found, expected, atol=1e-9)
    turned = frame.set_axis(by_name)[::-1]
    found = gs.NeighborMeans().fit_transform(turned, graph=NAMED[graph])
    np.testing.assert_allclose(found, expected[::-1], atol=1e-9)
    y = pd.Series(Y, index=by_name)
    model = gs.GraphStacking(LogisticRegression(), random_state=7).fit(NAMED[graph], y, turned)
    assert model.ids_.tolist() == by_name[::-1].tolist()
    assert np.mean(model.transduction_ == TRUTH[::-1]) > 0.9
    # Rows of features list the nodes: an array of labels goes by them.
    model = gs.GraphStacking(LogisticRegression(), random_state=7).fit(
        NAMED[graph], Y[::-1], turned
    )
    assert np.mean(model.transduction_ == TRUTH[::-1]) > 0.9


def test_a_column_node_is_not_a_feature():
    table, _ = ROWS["column node"]
    means = gs.NeighborMeans(hops=1, deviations=False).fit(table)
    assert means.get_feature_names_out().tolist() == ["a", "b", "mean1_a", "mean1_b"]
    with pytest.raises(InputError, match="pass one of them"):
        means.transform(table, FRAME, ids=SHUFFLED)


@pytest.mark.parametrize("X", [FEATURES[:-1], pd.DataFrame(FEATURES[:-1])], ids=["array", "frame"])
def test_rows_for_nodes_that_have_no_edge_need_ids(X):
    """Row i may be about the node with id i, or about the i-th node that has an edge."""
    path = nx.path_graph(N_NODES - 3)
    with pytest.raises(InputError, match=r"ids=range\(89\) if row i is about the node with id i"):
        gs.NeighborMeans().fit_transform(X, graph=nx.relabel_nodes(path, {0: N_NODES - 2}))


def test_rows_of_features_must_be_about_different_nodes():
    with pytest.raises(InputError, match="two rows of features are about one node"):
        gs.NeighborMeans().fit_transform(FEATURES, graph=FRAME, ids=np.arange(N_NODES) // 2)


def test_a_stream_with_fewer_nodes_than_rows_of_features_is_refused(tmp_path):
    X = np.vstack([FEATURES, FEATURES[:1]])
    source = gs.read_edges(as_file(tmp_path))
    with pytest.raises(InputError, match=r"ids=range\(91\)"):
        gs.NeighborMeans().fit_transform(X, graph=source)
    found = gs.NeighborMeans().fit_transform(X, graph=source, ids=range(91))
    expected = gs.NeighborMeans().fit_transform(FEATURES, graph=MATRIX)
    np.testing.assert_allclose(found[:90, 2], expected[:, 2], atol=1e-9)


def test_points_and_their_labels_are_matched_as_rows():
    """A Series that was split with an array of points goes by position, not by its index."""
    rng = np.random.default_rng(11)
    truth = pd.Series(np.arange(120) % 2)
    X = rng.normal(size=(120, 2)) + 8 * truth.to_numpy()[:, None]
    points, others, y, rest = train_test_split(X, truth, random_state=7)
    model = gs.HFSClassifier(affinity="knn").fit(points, y)
    assert model.score(others, rest) == model.score(points, y) == 1.0
    frame = pd.DataFrame(X, columns=["a", "b"])
    points, others, y, rest = train_test_split(frame, truth, random_state=7)
    model = gs.HFSClassifier(affinity="knn").fit(points, y.sample(frac=0.3, random_state=7))
    assert model.score(others, rest.sample(frac=1, random_state=7)) == 1.0
    with pytest.raises(InputError, match="not in the index of X"):
        model.fit(points, rest)
    weights = pd.Series(1.0, index=points.index)
    assert gs.StableHFSClassifier(affinity="knn").fit(points, y, sample_weight=weights[::-1])


LABELS_OF_POINTS = {
    "Series": lambda label: label,
    "sorted Series": lambda label: label.sort_index(),
    "frame of one column": lambda label: label.to_frame(),
    "frame of one sorted column": lambda label: label.sort_index().to_frame(),
    "dict": lambda label: label.to_dict(),
    "pandas frame": lambda label: label.rename_axis("node").rename("label").reset_index(),
    "polars frame": lambda label: pl.DataFrame({"node": label.index, "label": label.to_numpy()}),
    "array": lambda label: label.to_numpy(),
}


@pytest.mark.parametrize("labels", LABELS_OF_POINTS)
@pytest.mark.parametrize("first", [0, 1000])
def test_labels_by_id_reach_the_points_that_their_index_names(first, labels):
    """An index that is shuffled or does not begin at 0 is not the row number."""
    rng = np.random.default_rng(23)
    table = pd.DataFrame({"truth": np.arange(120) % 2}, index=first + np.arange(120))
    table[["a", "b"]] = rng.normal(size=(120, 2)) + 8 * table[["truth"]].to_numpy()
    table = table.sample(frac=1, random_state=7)
    as_given = LABELS_OF_POINTS[labels]
    y = as_given(table["truth"].where(rng.random(120) < 0.3, -1))
    points = table[["a", "b"]]
    model = gs.StableHFSClassifier(affinity="knn", random_state=7)
    model.fit(points, y, sample_weight=as_given(table["truth"] + 1.0))
    np.testing.assert_array_equal(model.transduction_, table["truth"])
    assert model.score(points, as_given(table["truth"]), as_given(table["truth"] + 1.0)) == 1.0


def test_a_column_of_labels_next_to_an_array_of_points_goes_by_position():
    """As in scikit-learn, where transformers turn a data frame of points into an array."""
    truth = pd.DataFrame({"label": np.arange(120) % 2}).sample(frac=1, random_state=7)
    points = np.random.default_rng(23).normal(size=(120, 2)) + 8 * truth.to_numpy()
    model = gs.HFSClassifier(affinity="knn").fit(points, truth)
    np.testing.assert_array_equal(model.transduction_, truth["label"])


def test_rows_with_repeated_indices_are_matched_only_if_they_agree():
    X = pd.DataFrame({"a": [1.0, 2.0]}, index=[3, 3])
    assert values_of_rows(pd.Series([0, 1], index=[3, 3]), X).tolist() == [0, 1]
    with pytest.raises(InputError, match="reset X"):
        values_of_rows(pd.Series([0, 1], index=[3, 4]), X)


@pytest.mark.parametrize(
    ("ids", "numbers"),
    [
        ([2, 0, 1], [2, 0, 1]),
        ([2.0, 0.0, 1.0], [2, 0, 1]),
        (np.array([1, np.int32(0), 2.0], dtype=object), [1, 0, 2]),
        (np.array([1, 0], dtype=np.uint64), [1, 0]),
        ([], []),
        ([1, 2, 3], None),
        ([0, 0, 1], None),
        ([-1, 0, 1], None),
        ([0.5, 0.0, 1.0], None),
        ([0.0, np.nan], None),
        (["0", "1"], None),
        (np.array(["0", "1"], dtype=object), None),
        ([True, False], None),
        (np.array([True, False], dtype=object), None),
        (np.array([0, "1"], dtype=object), None),
        (np.array([(0, 1), 0], dtype=object), None),
    ],
)
def test_which_ids_are_exactly_the_numbers(ids, numbers):
    ids = ids if isinstance(ids, np.ndarray) else np.array(ids)
    found = as_permutation(ids, ids.size)
    assert numbers is None if found is None else found.tolist() == numbers


def test_a_graph_that_was_read_is_in_the_order_of_its_ids():
    for edges in (gs.read_edges(FRAME).to_edge_list(), EdgeList.from_pairs(ENDS.tolist())):
        assert edges.ids.tolist() == list(range(N_NODES))
        assert edges.has_explicit_order
        np.testing.assert_array_equal(np.column_stack([edges.tail, edges.head]), ENDS)
    named = gs.read_edges(NAMED_FRAME).to_edge_list()
    assert named.ids.tolist() == NAMES[APPEARANCE].tolist()
    assert not named.has_explicit_order


def test_attributes_of_nodes_follow_their_ids():
    graph = nx.Graph([(2, 0), (0, 1)])
    for node in graph:
        graph.nodes[node]["name"] = f"node {node}"
    edges = EdgeList.from_networkx(graph)
    assert edges.ids.tolist() == [0, 1, 2]
    assert [row["name"] for row in edges.node_attributes] == ["node 0", "node 1", "node 2"]
    back = pickle.loads(pickle.dumps(edges))  # noqa: S301
    assert back.to_networkx().nodes[2] == {"name": "node 2"}
    assert sorted(map(sorted, edges.to_networkx().edges)) == [[0, 1], [0, 2]]


@pytest.mark.parametrize("make", [lambda path: gs.read_edges(path), pd.read_csv])
def test_a_sparsifier_and_its_clusters_are_in_the_order_of_the_ids(make, tmp_path):
    graph = make(as_file(tmp_path))
    sparse = gs.sparsify(graph, n_edges=600, random_state=7)
    assert sparse.ids.tolist() == list(range(N_NODES))
    assert MATRIX[sparse.tail, sparse.head].min() > 0
    fitted = gs.StableHFSClassifier(random_state=7).fit(sparse, Y)
    assert fitted.score(None, TRUTH) > 0.85
    clusters = gs.analysis.spectral_clusters(sparse, N_BLOCKS, random_state=7).labels
    again = gs.HFSClassifier().fit(graph, np.where(Y < 0, -1, clusters)).transduction_
    assert np.mean(again == clusters) > 0.85


def test_flags_of_one_class_are_by_id():
    """A Series of known labels was taken for a collection of ids."""
    y, truth = pd.Series(Y).replace(-1, np.nan), pd.Series(TRUTH)
    model = gs.StableHFSClassifier(random_state=7).fit(FRAME, Y)
    wanted = gs.ssl.find_positives(
        model, 1, known=LABELED.tolist(), truth=dict(enumerate(TRUTH.tolist())), top=5
    )
    found = gs.ssl.find_positives(model, 1, known=y.dropna(), truth=truth[::-1], top=5)
    np.testing.assert_array_equal(found[1], wanted[1])
    assert found[2] == wanted[2]
    assert wanted[2]["precision"] == 1.0
    with pytest.raises(InputError, match="truth is an array"):
        gs.ssl.find_positives(model, 1, truth=TRUTH)


def test_values_keep_their_types():
    for values, dtype in [
        ({"a": 1, "b": 0, "c": None}, np.int64),
        ({"a": 1.5, "b": 2}, np.float64),
        ({"a": "x", "b": "yes"}, np.dtype("U3")),
        ({"a": "x", "b": 1}, object),
        ({"a": True}, bool),
    ]:
        assert NodeValues(values, is_missing).values.dtype == dtype
    assert split_by_id(pd.Series([3, 4]))[0] == [0, 1]
    assert split_by_id(pl.Series([3, 4]))[0] is None


def test_sums_at_labeled_nodes_are_renumbered_with_their_graph():
    """The same stream under text ids, which stay in the order of appearance, has the same sums."""
    chosen = np.random.default_rng(12).permutation(N_NODES)[:12]
    by_number = {int(node): int(TRUTH[node]) for node in chosen}
    by_name = {NAMES[node]: label for node, label in by_number.items()}
    budget = Budget(120, None, None)
    number, name = (
        read_once(gs.read_edges(frame), encode_classes(y), budget, random_state=7)
        for frame, y in ((FRAME, by_number), (NAMED_FRAME, by_name))
    )
    order = np.argsort(name.sparsifier.ids)
    np.testing.assert_array_equal(number.sums.sums, name.sums.sums[order])
    np.testing.assert_array_equal(number.sums.label, name.sums.label[order])
    graph, other = (found.sparsifier.to_scipy().toarray() for found in (number, name))
    np.testing.assert_allclose(graph, other[np.ix_(order, order)])


def test_degrees_of_a_file_are_renumbered_with_its_sparsifier():
    """They precondition the solves: at the wrong nodes, three passes leave an error of 12 %."""
    rng = np.random.default_rng(3)
    truth = np.arange(300) % 2
    reach = rng.random(300) ** -0.7  # a few nodes have most of the edges
    low, high = np.triu_indices(300, 1)
    share = np.minimum(0.06 * reach[low] * reach[high], 1.0)
    share *= np.where(truth[low] == truth[high], 1.0, 0.25)
    is_edge = rng.random(low.size) < share
    ends = np.column_stack([low[is_edge], high[is_edge]])
    rng.shuffle(ends)
    graph = pd.DataFrame(ends, columns=["source", "target"])
    y = np.where(rng.random(300) < 0.15, truth, -1)
    settings = {"eta": 1e-3, "prior_weight": 0.0, "random_state": 7}
    exact = gs.StableHFSClassifier(**settings).fit(graph, y).scores_
    fitted = gs.SparseHFSClassifier(n_edges=900, max_passes=3, **settings).fit(graph, y)
    assert fitted.n_passes_ == 3
    assert np.linalg.norm(fitted.scores_ - exact) < 0.04 * np.linalg.norm(exact)
