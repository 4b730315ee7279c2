"""Calls that users of pandas, networkx and scikit-learn type first.

Each call works, or raises an error that contains the call that works.
"""

import inspect

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score

import graphsqueak as gs
from graphsqueak.sources.synthetic import random_graphs

pytestmark = pytest.mark.filterwarnings("ignore")

WORKING = """
gs.info(path)
gs.info(str(path))
gs.info(frame)
gs.info(graph)
gs.info(H).nodes
gs.info(path)._repr_html_()
gs.sparsify(path, keep=0.9)
gs.sparsify(str(path), keep=0.9)
gs.sparsify(frame, keep=0.9)
gs.sparsify(pl.DataFrame(frame), keep=0.9)
gs.sparsify(pl.DataFrame(frame).lazy(), keep=0.9)
gs.sparsify(pl.DataFrame(frame).to_arrow(), keep=0.9)
gs.sparsify(graph, keep=0.9)
gs.sparsify(igraph.Graph.from_networkx(graph), keep=0.9)
gs.sparsify(nx.to_scipy_sparse_array(graph), keep=0.9)
gs.sparsify(nx.to_numpy_array(graph), keep=0.9)
gs.certify(path, gs.sparsify(path, keep=0.9))
gs.certify(path, path)
gs.compare(path, gs.sparsify(path, keep=0.9), n_samples=5, n_eigenvalues=3)
gs.effective_resistance(path, [(0, 33)])
gs.smallest_eigenpairs(path, 2)
gs.StreamedSolver(path, keep=0.9)
gs.LaplacianSolver(graph)
gs.LaplacianSolver(path)
gs.StreamSparsifier(keep=0.9).partial_fit(path)
gs.write_edges(graph, folder / "from_networkx.csv")
gs.write_edges(frame, folder / "from_pandas.csv")
analysis.rank(path)
analysis.rank(graph).to_pandas()
analysis.rank(path, by="pagerank").to_polars()
analysis.spectral_clusters(path, n_clusters=2)
analysis.spectral_clusters(path, 2).to_pandas()
analysis.spectral_embedding(graph, n_components=2).to_pandas()
analysis.communities(graph).to_pandas()
analysis.cut(graph).to_polars()
analysis.draw(path)
len(H)
list(H)[0]
[(u, v, w) for u, v, w in H]
H.edges.head()
H.nodes[:5]
H.weights.sum()
H.degrees()
H.save(folder / "saved.csv")
H.save(str(folder / "saved.parquet"))
H == H.simplified()
H != gs.EdgeList(tail=[0], head=[1])
H in [H]
H[[0, 1, 2, 3]]
H[np.arange(4)]
H._repr_html_()
H.to_pandas()
gs.HFSClassifier().fit(path, labels)
gs.HFSClassifier().fit(graph, labels_path).predict()
gs.HFSClassifier().fit(frame, pd.Series(labels))
gs.StableHFSClassifier().fit(path, pd.DataFrame({"node": [0, 33], "label": ["a", "b"]}))
gs.StableHFSClassifier().fit(path, str(labels_path)).score(None, truth)
gs.StableHFSClassifier().fit(path, labels).score(path, labels_path)
gs.StableHFSClassifier().fit(path, y).predict([0, 5, 33])
gs.StableHFSClassifier().fit(path, y).predict(np.array([0, 5, 33]))
gs.StableHFSClassifier().fit(path, y).predict_proba([0, 5, 33])
gs.StableHFSClassifier().fit(names_path, {"ann": 0, "dan": 1}).predict(["bob", "cy"])
gs.SparseHFSClassifier(keep=0.9).fit(path, labels_path)
gs.StableHFSRegressor().fit(path, {0: 0.5, 33: 2.5, 5: 0.7}).predict([3])
gs.cross_validate(gs.StableHFSClassifier(), path, truth, n_splits=2)
gs.cross_validate(gs.StableHFSClassifier(), graph, truth, scoring="roc_auc", n_splits=2)
gs.cross_validate(gs.HFSClassifier(), path, truth_path, n_splits=2)
gs.cross_validate(gs.GraphStacking(logistic), path, truth, features=X, n_splits=2)
gs.GraphStacking(logistic).fit(path, truth, X).score(path, truth)
gs.GraphStacking(logistic).fit(path, truth_path, X).score(None, truth_path)
gs.GraphStacking(LinearRegression()).fit(path, y.astype(float), X).score(path, y.astype(float))
gs.GraphStacking(logistic).fit(path, truth, X).predict([0, 33])
gs.GraphStacking(logistic).fit(path, truth, X).predict_proba([0, 33])
gs.NeighborMeans().fit_transform(X, graph=path)
cross_val_score(gs.StableHFSClassifier(), gs.GraphNodes(path), truth, cv=gs.GraphSplit(2))
"""

# The call, and the call that its error shows.
REFUSED = {
    "gs.sparsify('missing.csv', keep=0.5)": "missing.csv",
    "gs.sparsify([(0, 1), (1, 2)], keep=0.9)": "EdgeList.from_pairs(edges)",
    "gs.sparsify({'ann': ['bob']}, keep=0.9)": "EdgeList.from_networkx(networkx.Graph(neighbors))",
    "gs.sparsify(nx.DiGraph(graph), keep=0.9)": "graph.to_undirected()",
    "gs.sparsify(path)": "keep=",
    "gs.cross_validate(path, gs.HFSClassifier(), truth)": "cross_validate(estimator, graph, y)",
    "H[0]": "H[[0]]",
    "H[:10]": "H.edges[:10]",
    "gs.StableHFSClassifier().fit(path, y).predict(5)": "predict([5])",
    "gs.StableHFSClassifier().fit(path, y).predict([99])": "99",
    "gs.StableHFSClassifier().fit(names_path, [0, 1, 0, 1])": "pandas Series",
    "gs.GraphStacking(logistic).fit(path, truth)": "features",
    "analysis.communities(graph, seed=7)": "communities(..., random_state=7)",
    "analysis.communities(graph, n_clusters=3)": "spectral_clusters(graph, n_clusters=3)",
    "gs.compare(graph, H, seed=7)": "compare(..., random_state=7)",
    "gs.sources.erdos_renyi(10, 20, seed=7)": "erdos_renyi(..., random_state=7)",
}


def public_signatures():
    for name in gs.__all__:
        member = getattr(gs, name)
        if inspect.ismodule(member) or (inspect.isclass(member) and issubclass(member, Warning)):
            continue
        yield name, member
        for method in ("fit", "partial_fit", "predict", "score"):
            if hasattr(member, method):
                yield f"{name}.{method}", getattr(member, method)


@pytest.mark.parametrize(("name", "function"), list(public_signatures()))
def test_signature_shows_names_of_types_and_all_parameters(name, function):
    text = str(inspect.signature(function))
    assert "Union[" not in text
    assert "**" not in text


def functions_with_a_random_state():
    for package in (gs.analysis, random_graphs):
        for name in package.__all__:
            member = getattr(package, name)
            if (
                inspect.isfunction(member)
                and "random_state" in inspect.signature(member).parameters
            ):
                yield name, member


@pytest.mark.parametrize(("name", "function"), list(functions_with_a_random_state()))
def test_seed_is_explained(name, function):
    with pytest.raises(gs.InputError, match=rf"call {name}\(\.\.\., random_state=7\)"):
        function(seed=7)


@pytest.fixture(scope="module")
def namespace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("natural")
    graph = nx.karate_club_graph()
    for _, _, data in graph.edges(data=True):
        data.pop("weight", None)
    frame = pd.DataFrame(graph.edges, columns=["source", "target"])
    truth = np.array([0 if graph.nodes[v]["club"] == "Mr. Hi" else 1 for v in range(34)])
    y = np.where(np.isin(np.arange(34), [0, 1, 2, 3, 8, 30, 32, 33]), truth, -1)
    labels = {0: "a", 33: "b"}
    frame.to_csv(folder / "edges.csv", index=False)
    (folder / "names.csv").write_text("source,target\nann,bob\nbob,cy\ncy,dan\n")
    (folder / "labels.csv").write_text("node,label\n0,a\n33,b\n")
    pd.DataFrame({"node": range(34), "label": truth}).to_csv(folder / "truth.csv", index=False)
    return {
        "LinearRegression": LinearRegression,
        "analysis": gs.analysis,
        "cross_val_score": cross_val_score,
        "gs": gs,
        "igraph": igraph,
        "np": np,
        "nx": nx,
        "pd": pd,
        "pl": pl,
        "folder": folder,
        "path": folder / "edges.csv",
        "names_path": folder / "names.csv",
        "labels_path": folder / "labels.csv",
        "truth_path": folder / "truth.csv",
        "graph": graph,
        "frame": frame,
        "H": gs.read_edges(folder / "edges.csv").to_edge_list(),
        "truth": truth,
        "y": y,
        "labels": labels,
        "X": np.random.default_rng(7).random((34, 3)),
        "logistic": LogisticRegression(),
    }


@pytest.mark.parametrize("call", WORKING.strip().splitlines())
def test_natural_call_works(call, namespace):
    eval(call, namespace)  # noqa: S307


@pytest.mark.parametrize("call", REFUSED)
def test_refusal_contains_the_working_call(call, namespace):
    with pytest.raises((TypeError, ValueError, OSError)) as refusal:
        eval(call, namespace)  # noqa: S307
    assert REFUSED[call] in str(refusal.value)
