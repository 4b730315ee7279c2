"""Calls that users of pandas, networkx and scikit-learn type first.

Each call works, or raises an error that contains the call that works.
"""

import inspect

import duckdb
import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

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
gs.cross_validate(gs.Smoothed(logistic), path, truth, features=X, n_splits=2)
gs.Smoothed(logistic).fit(path, truth, X).score(path, truth)
gs.Smoothed(logistic).fit(path, truth_path, X).score(None, truth_path)
gs.Smoothed(LinearRegression()).fit(path, y.astype(float), X).score(path, y.astype(float))
gs.CorrectAndSmooth(logistic).fit(path, truth, X).score(path, truth)
gs.Smoothed(logistic).fit(path, truth, X).predict([0, 33])
gs.Smoothed(logistic).fit(path, truth, X).predict_proba([0, 33])
gs.NeighborMeans().fit_transform(X, graph=path)
gs.sparsify(duckdb.sql("select 0 as source, 1 as target union select 1, 2"), keep=0.9)
gs.sparsify(nx.MultiGraph(graph), keep=0.9)
gs.sparsify(frame.rename(columns={"source": "from", "target": "to"}), keep=0.9)
gs.sparsify(path, n_edges=60, random_state=np.random.RandomState(7))
gs.sparsify(path, keep=0.9).to_networkx()
gs.info(duckdb.sql("select 0 as source, 1 as target"))
gs.read_edges(frame).to_edge_list().to_pandas()
analysis.rank(graph).top(5)
analysis.communities(graph, resolution=1.0).labels
gs.neighbor_edges(X, n_neighbors=3)
gs.neighbor_edges(pd.DataFrame(X), 3)
np.asarray(H)
pl.DataFrame(H)
pd.DataFrame(list(H), columns=["source", "target", "weight"])
nx.from_pandas_edgelist(H.to_pandas(), edge_attr="weight")
scipy.sparse.csr_array(H)
gs.effective_resistance(graph, [[0, 33], [0, 1]])
gs.compare(graph, H, n_samples=5, n_eigenvalues=3).to_pandas()
gs.StableHFSClassifier().fit(graph, nx.get_node_attributes(graph, "club"))
gs.StableHFSClassifier().fit(graph, np.where(y < 0, np.nan, y)).predict()
gs.StableHFSClassifier().fit(graph, [None if label < 0 else int(label) for label in y])
gs.StableHFSClassifier().fit(graph, y).predict_proba()
gs.StableHFSClassifier().fit(graph, y).predict(graph)
gs.StableHFSClassifier().fit(graph, y).to_pandas()
gs.StableHFSClassifier().set_params(random_state=7).get_params()
clone(gs.SparseHFSClassifier(keep=0.9))
gs.cross_validate(gs.StableHFSClassifier(), graph, truth, scoring=["accuracy", "f1"], n_splits=2)
GridSearchCV(gs.HFSClassifier(), {}, cv=gs.GraphSplit(2)).fit(gs.GraphNodes(graph), truth)
gs.CorrectAndSmooth(logistic).fit(graph, truth_path, X).predict([0])
gs.LaplacianSolver(graph).solve(np.eye(34)[0] - np.eye(34)[33])
nx.resistance_distance(graph, 0, 33, backend="graphsqueak")
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
    "gs.Smoothed(logistic).fit(path, truth)": "features",
    "analysis.communities(graph, seed=7)": "communities(..., random_state=7)",
    "analysis.communities(graph, n_clusters=3)": "spectral_clusters(graph, n_clusters=3)",
    "gs.compare(graph, H, seed=7)": "compare(..., random_state=7)",
    "gs.sources.erdos_renyi(10, 20, seed=7)": "erdos_renyi(..., random_state=7)",
    "gs.sparsify(path, 0.5)": "sparsify(graph, keep=0.1)",
    "gs.sparsify(path, keep='50%')": "give 0.5",
    "gs.sparsify(path, keep=50)": "give 0.3 for 30 %",
    "gs.sparsify(path, eps=0.5)": "sparsify(..., epsilon=0.5)",
    "gs.sparsify(path, fraction=0.5)": "sparsify(..., keep=0.5)",
    "gs.sparsify(path, n=60)": "sparsify(..., n_edges=60)",
    "gs.sparsify(path, keep=0.5, seed=7)": "sparsify(..., random_state=7)",
    "gs.sparsify(path, keep=0.5, verbose=True)": "sparsify(..., progress=True)",
    "gs.sparsify(path, keep=0.5, n_jobs=2)": "sparsify(..., workers=2)",
    "gs.sparsify(path, kep=0.5)": "sparsify(..., keep=0.5)",
    "gs.sparsify(path, weight='weight')": "its parameters are graph, n_edges",
    "gs.sparsify(graph.edges, keep=0.9)": "EdgeList.from_pairs(edges)",
    "gs.sparsify(frame.to_numpy(), keep=0.9)": "EdgeList(tail=rows[:, 0], head=rows[:, 1])",
    "gs.StreamSparsifier(0.9)": "StreamSparsifier(n_edges=",
    "gs.StreamSparsifier(keep=0.9).fit(path)": "partial_fit(graph)",
    "gs.StreamSparsifier(keep=0.9).fit_transform(path)": "partial_fit(graph).sparsifier()",
    "gs.certify(path)": "certify(graph, sparsifier)",
    "gs.certify(path, H, steps=9)": "certify(..., max_iter=9)",
    "gs.certify(path, H).epsilon": "epsilon_upper",
    "gs.effective_resistance(graph, 0, 33)": "effective_resistance(graph, [(u, v)])",
    "gs.effective_resistance(graph, (0, 33))": "[(0, 33)]",
    "gs.effective_resistance(graph, node_pairs=[(0, 33)])": "pairs=[(0, 33)]",
    "gs.smallest_eigenpairs(graph, n=3)": "smallest_eigenpairs(..., k=3)",
    "gs.neighbor_edges(X, k=3)": "neighbor_edges(..., n_neighbors=3)",
    "gs.write_edges(folder / 'z.csv', H)": "write_edges(graph, path)",
    "gs.info(path, weighted=False)": "info(read_edges(path, weighted=False))",
    "gs.EdgeList(frame)": "read_edges(path_or_table).to_edge_list()",
    "gs.EdgeList(graph)": "EdgeList.from_networkx(graph)",
    "gs.Graph(frame)": "read_edges(frame)",
    "gs.read_csv(path)": "read_edges(path)",
    "gs.from_pandas(frame)": "read_edges(frame)",
    "gs.from_networkx(graph)": "EdgeList.from_networkx(graph)",
    "gs.pagerank(graph)": "analysis.rank(graph)",
    "gs.resistance_distance(graph, 0, 33)": "effective_resistance(graph, [(u, v)])",
    "gs.cross_val_score(gs.HFSClassifier(), graph, truth)": "cross_validate(estimator, graph, y)",
    "gs.cross_validate(gs.HFSClassifier(), graph, truth, cv=3)": "n_splits=3",
    "gs.read_edges(path).head()": "to_edge_list().edges.head()",
    "gs.read_edges(path).to_networkx()": "to_edge_list().to_networkx()",
    "H.number_of_nodes()": "H.n_nodes",
    "H.number_of_edges()": "H.n_edges",
    "H.degree(0)": "H.degrees()",
    "H.neighbors(0)": "H.to_networkx().neighbors(node)",
    "H.subgraph([0, 1, 2])": "H[ids]",
    "H.to_csv(folder / 'x.csv')": "H.save('edges.csv')",
    "H.sort_values('weight')": "H.edges.sort('weight')",
    "H.shape": "H.n_nodes",
    "0 in H": "`0 in H.nodes`",
    "(0, 1) in H": "H.to_networkx().has_edge(u, v)",
    "nx.pagerank(H)": "H.to_networkx()",
    "analysis.pagerank(graph)": "rank(graph)",
    "analysis.rank(graph, method='pagerank')": "rank(..., by='pagerank')",
    "analysis.rank(graph).head()": "to_pandas().head",
    "analysis.spectral_clusters(graph, k=2)": "spectral_clusters(..., n_clusters=2)",
    "analysis.spectral_clusters(graph, 2).labels_": "use labels",
    "analysis.spectral_embedding(graph, dim=2)": "spectral_embedding(..., n_components=2)",
    "analysis.louvain_communities(graph)": "communities(graph, method='louvain')",
    "gs.StableHFSClassifier(seed=7)": "StableHFSClassifier(..., random_state=7)",
    "gs.SparseHFSClassifier(passes=3)": "SparseHFSClassifier(..., max_passes=3)",
    "gs.StableHFSClassifier().fit_predict(graph, y)": "fit(graph, y).predict()",
    "gs.StableHFSClassifier().fit(graph, y).labels_": "transduction_",
    "gs.StableHFSClassifier().fit(graph, 'club')": "get_node_attributes(graph, 'club')",
    "gs.Smoothed(logistic).fit(graph, X, truth)": "fit(graph, y, features)",
    "gs.NeighborMeans().fit_transform(X, graph)": "fit_transform(X, graph=graph)",
    "gs.NeighborMeans().fit_transform(graph, X)": "fit_transform(X, graph=graph)",
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
    with pytest.raises(TypeError, match=rf"call {name}\(\.\.\., random_state=7\)"):
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
        "GridSearchCV": GridSearchCV,
        "clone": clone,
        "cross_val_score": cross_val_score,
        "duckdb": duckdb,
        "gs": gs,
        "igraph": igraph,
        "np": np,
        "nx": nx,
        "pd": pd,
        "pl": pl,
        "scipy": scipy,
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
    with pytest.raises((AttributeError, TypeError, ValueError, OSError)) as refusal:
        eval(call, namespace)  # noqa: S307
    assert REFUSED[call] in str(refusal.value)


def test_hints_name_nothing_that_exists():
    """A hint for an attribute that was added later would never be seen."""
    for owner in (gs.EdgeList, gs.EdgeSource, gs.StableHFSClassifier, gs.StreamSparsifier):
        assert not set(owner._other_names) & set(dir(owner))


def test_an_error_inside_a_call_stays_as_it_is():
    """Only wrong arguments of the function itself are explained."""

    def progress(done):
        raise AssertionError(done)

    graph = gs.sources.complete(40).to_edge_list()
    with pytest.raises(TypeError, match=r"progress\(\) takes 1 positional argument"):
        gs.sparsify(graph, keep=0.5, progress=progress)


def forms_of(namespace):
    """The same graph in every form that is accepted, by name."""
    graph = namespace["graph"]
    frame = namespace["frame"]
    table = pl.DataFrame(frame)
    return {
        "str": str(namespace["path"]),
        "Path": namespace["path"],
        "pandas": frame,
        "polars": table,
        "lazy polars": table.lazy(),
        "Arrow": table.to_arrow(),
        "DuckDB": duckdb.from_arrow(table.to_arrow()),
        "networkx": graph,
        "igraph": igraph.Graph.from_networkx(graph),
        "scipy": nx.to_scipy_sparse_array(graph),
        "numpy": nx.to_numpy_array(graph),
        "EdgeList": namespace["H"],
        "source": gs.read_edges(namespace["path"]),
    }


FORMS = (
    "str",
    "Path",
    "pandas",
    "polars",
    "lazy polars",
    "Arrow",
    "DuckDB",
    "networkx",
    "igraph",
    "scipy",
    "numpy",
    "EdgeList",
    "source",
)
TAKES_A_GRAPH = """
gs.info(form)
gs.sparsify(form, keep=0.9)
gs.sparsify(form, keep=0.9, method="subgraph")
gs.certify(form, H)
gs.certify(path, form)
gs.compare(form, H, n_samples=3, n_eigenvalues=2, n_runs=0)
gs.compare(H, form, n_samples=3, n_eigenvalues=2, n_runs=0)
gs.effective_resistance(form, [(0, 33)])
gs.smallest_eigenpairs(form, 2)
gs.LaplacianSolver(form)
gs.StreamedSolver(form, keep=0.9)
gs.StreamSparsifier(keep=0.9).partial_fit(form)
gs.write_edges(form, folder / "form.csv")
analysis.rank(form)
analysis.spectral_clusters(form, 2)
analysis.spectral_embedding(form, 2)
analysis.communities(form)
analysis.cut(form)
analysis.layout(form)
gs.HFSClassifier().fit(form, labels).score(form, labels)
gs.StableHFSClassifier().fit(form, labels).score(form, labels)
gs.SparseHFSClassifier(keep=0.9).fit(form, labels).score(form, labels)
gs.StableHFSRegressor().fit(form, {0: 0.5, 33: 2.5, 5: 0.7}).score(form, {0: 0.5, 33: 2.5})
gs.NearestLabelClassifier().fit(form, labels)
gs.PoissonClassifier().fit(form, labels)
gs.cross_validate(gs.HFSClassifier(), form, dict(enumerate(truth.tolist())), n_splits=2)
gs.Smoothed(logistic).fit(form, dict(enumerate(truth.tolist())), pd.DataFrame(X))
gs.CorrectAndSmooth(logistic).fit(form, dict(enumerate(truth.tolist())), pd.DataFrame(X))
gs.NeighborMeans().fit_transform(pd.DataFrame(X), graph=form)
gs.GraphNodes(form)
"""


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_graph_is_accepted_everywhere(form, namespace):
    failures = {}
    for call in TAKES_A_GRAPH.strip().splitlines():
        try:
            eval(call, namespace | {"form": forms_of(namespace)[form]})  # noqa: S307
        except Exception as error:
            failures[call] = error
    assert not failures
