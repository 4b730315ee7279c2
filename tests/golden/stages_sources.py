"""Edges that the sources give: generators, neighbors, entity-attribute tables, times, files."""

import io
import tempfile
from dataclasses import asdict
from pathlib import Path

import igraph
import networkx as nx
import numpy as np
import polars as pl
import scipy.sparse

import graphsqueak as gs
from graphsqueak import sources
from graphsqueak.graph import EdgeList, TimedEdges
from tests.golden.arrays import edge_columns, named
from tests.golden.graphs import block_graph, components_graph, points_in_clusters

__all__ = ["STAGES"]


def generators():
    """Edges of the synthetic graphs."""
    found = {}
    for name, source in (
        ("barbell", sources.barbell(5, 3)),
        ("block_model", sources.block_model(60, 200, random_state=1)),
        ("chung_lu", sources.chung_lu(60, 200, random_state=1)),
        ("complete", sources.complete(7)),
        ("complete_bipartite", sources.complete_bipartite(3, 4)),
        ("cycle", sources.cycle(6)),
        ("erdos_renyi", sources.erdos_renyi(60, 200, random_state=1, batch_size=70)),
        ("gaussian_neighbors", sources.gaussian_neighbors(60, 4, random_state=1)),
        ("grid", sources.grid(4, 5)),
        ("hypercube", sources.hypercube(4)),
        ("path", sources.path(6)),
        ("small_world", sources.small_world(6, 6, 40, random_state=1)),
        ("star", sources.star(6)),
    ):
        edges = source.to_edge_list()
        found[name] = np.stack([edges.tail, edges.head])
    return found


def neighbor_graphs():
    """Nearest-neighbor graphs by metric, symmetrization and weight."""
    points, _ = points_in_clusters(120, 4, seed=121)
    sparse = scipy.sparse.csr_array(np.where(np.abs(points) > 1.5, points, 0.0))
    results = {}
    for name, which, settings in (
        ("cosine", points, {}),
        ("euclidean", points, {"metric": "euclidean"}),
        ("mutual", points, {"symmetrize": "mutual"}),
        ("gaussian", points, {"metric": "euclidean", "weight": "gaussian"}),
        ("local", points, {"metric": "euclidean", "weight": "local"}),
        ("sigma", points, {"metric": "euclidean", "weight": "thesis", "sigma": 0.7}),
        ("unit", points, {"weight": "unit", "batch_size": 50}),
        ("sparse", sparse[np.diff(sparse.indptr) > 0], {}),
    ):
        results[name] = edge_columns(sources.neighbor_edges(which, 4, **settings).to_edge_list())
    return named(results)


def projections():
    """One-mode projections of an entity-attribute table, exact and sampled, and their products."""
    rng = np.random.default_rng(122)
    pairs = np.unique(
        np.column_stack([rng.integers(60, size=300), rng.geometric(0.15, 300)]), axis=0
    )
    weight = rng.integers(1, 6, size=len(pairs))
    rows = zip(pairs[:, 0].tolist(), pairs[:, 1].tolist(), weight.tolist(), strict=True)
    text = "account,device,visits\n" + "".join(f"{e},d{a},{w}\n" for e, a, w in rows)
    results = {}
    for name, settings in (
        ("size", {}),
        ("none", {"normalize": "none"}),
        ("idf", {"normalize": "idf"}),
        ("max_size", {"max_group_size": 15}),
        ("weight", {"weight": "visits"}),
        ("degree", {"clique_degree": 4}),
    ):
        table = sources.read_projection(
            io.BytesIO(text.encode()), entity="account", attribute="device", random_state=1,
            **settings,
        )  # fmt: skip
        edges = table.to_edge_list()
        X = np.random.default_rng(123).normal(size=(table.n_nodes, 1))
        # A change of the edges changes these sums; all edges would take 100 KB.
        sums = EdgeList(tail=edges.tail, head=edges.head, weight=edges.weight).degrees()
        counts = (table.n_nodes, table.n_pairs, table.n_attributes, table.n_skipped_attributes)
        results[name] = {
            "degrees": sums,
            "ids": edges.ids,
            "product": table.multiply(X)[:, 0],
            "counts": np.array([*counts, table.n_projected_edges, edges.n_edges, table.is_exact]),
        }
    sparse = gs.sparsify(table, n_edges=200, random_state=2)
    results["sparsifier"] = edge_columns(sparse)
    return named(results)


def recent_edges():
    """Edges of a window, of a half-life and since a time."""
    graph, _ = block_graph([30, 30], n_edges=200, within=0.8, seed=124)
    time = np.sort(np.random.default_rng(125).uniform(0.0, 50.0, size=graph.n_edges))
    edges = TimedEdges(tail=graph.tail, head=graph.head, weight=graph.weight, time=time)
    results = {}
    for name, settings in (
        ("window", {"window": 12.0}),
        ("half_life", {"half_life": 8.0}),
        ("since", {"since": 35.0}),
        ("seconds", {"window": "12s"}),
        ("at", {"window": 12.0, "at": 30.0}),
    ):
        results[name] = edge_columns(sources.recent_edges(edges, **settings).to_edge_list())
    return named(results)


def edge_files():
    """Edges read back from every format that can be written, and the size of text files."""
    graph, _ = block_graph([20, 20], n_edges=120, within=0.8, seed=126)
    names = np.array([f"node {number}" for number in range(graph.n_nodes)], dtype=object)
    texts = EdgeList(tail=graph.tail, head=graph.head, weight=graph.weight, ids=names)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".tsv", ".csv", ".tsv.gz", ".csv.zst", ".parquet", ".arrow"):
            path = Path(folder) / f"edges{suffix}"
            sources.write_edges(graph, path)
            edges = sources.read_edges(path).to_edge_list()
            results[suffix[1:]] = edge_columns(edges) | {"ids": edges.ids}
            sources.write_edges(texts, path)
            edges = sources.read_edges(path).to_edge_list()
            order = np.argsort(edges.ids)
            results[f"text_{suffix[1:]}"] = {
                "degrees": edges.degrees()[order],
                "numbers": np.array([int(name.split()[1]) for name in edges.ids[order]]),
            }
        path = Path(folder) / "plain.tsv"
        sources.write_edges(graph, path, weights=False, header=False)
        results["bytes"] = {"plain": np.frombuffer(path.read_bytes(), dtype=np.uint8)}
    return named(results)


def summaries():
    """Figures of graphs, and products with their Laplacians."""
    results = {}
    for name, graph in (
        ("components", components_graph(127)[0]),
        ("grid", sources.grid(6, 7).to_edge_list()),
        ("blocks", block_graph([30, 30], n_edges=300, within=0.8, seed=128)[0]),
    ):
        summary = asdict(sources.info(graph))
        measured = ("seconds", "peak_rss_bytes", "id_kind")
        figures = [value for key, value in summary.items() if key not in measured]
        laplacian = sources.StreamedLaplacian(graph, graph)
        X = np.random.default_rng(129).normal(size=(graph.n_nodes, 2))
        results[name] = {
            "figures": np.array(figures, dtype=float),
            "degrees": laplacian.degrees(),
            "product": laplacian.multiply(X)[::3],
        }
    return named(results)


def graph_forms():
    """The same graph from the objects of other libraries."""
    graph, _ = block_graph([12, 12], n_edges=80, within=0.8, seed=130)
    rows = zip(graph.tail.tolist(), graph.head.tolist(), graph.weight.tolist(), strict=True)
    weighted = nx.Graph()
    weighted.add_weighted_edges_from(rows)
    table = pl.DataFrame({"from": graph.tail, "to": graph.head, "weight": graph.weight})
    adjacency = nx.to_scipy_sparse_array(weighted)
    results = {}
    for name, form in (
        ("networkx", weighted),
        ("igraph", igraph.Graph.from_networkx(weighted)),
        ("scipy", adjacency),
        ("dense", adjacency.toarray()),
        ("polars", table),
        ("lazy", table.lazy()),
        ("arrow", table.to_arrow()),
        ("pandas", table.to_pandas()),
        ("network", nx.karate_club_graph()),
    ):
        results[name] = edge_columns(sources.as_edge_list(form))
    return named(results)


def mail_points():
    """TF-IDF vectors of a few texts."""
    subjects = ("cheap pills", "lunch at noon", "meeting notes", "win money now", "project plans")
    texts = [
        f"{subjects[k % 5]} {subjects[(2 * k) % 5]} offer {k} for you!! running runners"
        * (1 + k % 3)
        for k in range(12)
    ]
    found = {}
    for name, settings in (
        ("default", {}),
        ("plain", {"sublinear": False, "punctuation": False}),
        ("sublinear", {"punctuation": False}),
        ("marks", {"sublinear": False, "stemming": False}),
        (
            "dropped",
            {
                "drop_common": 0.2,
                "drop_rare": 0.1,
                "min_mails": 2,
                "sublinear": False,
                "punctuation": False,
            },
        ),
    ):
        points, _ = gs.mail.text_points(texts, **settings)
        found[name] = points.toarray()
    return found


STAGES = {
    stage.__name__: stage
    for stage in (
        generators,
        neighbor_graphs,
        projections,
        recent_edges,
        edge_files,
        summaries,
        graph_forms,
        mail_points,
    )
}
