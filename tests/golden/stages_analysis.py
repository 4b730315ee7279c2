"""Results of `graphsqueak.analysis`: embeddings, clusters, rankings, cuts, layouts."""

import numpy as np

import graphsqueak as gs
from graphsqueak import analysis
from tests.golden.arrays import up_to_names, up_to_sign
from tests.golden.graphs import block_graph, components_graph, ring_lattice

__all__ = ["STAGES"]

SAMPLED_NODES = slice(None, None, 3)
# Tight enough that the results do not depend on the iteration that found them.
TIGHT_TOL = 1e-8


def three_blocks():
    """150 nodes, 2,400 edges."""
    return block_graph([60, 50, 40], n_edges=2400, within=0.85, seed=111)[0]


def spectral_embedding():
    """Coordinates of nodes, up to sign."""
    graph = three_blocks()
    found = {}
    for name, which, settings in (
        ("normalized", graph, {}),
        ("plain", graph, {"normalized": False}),
        ("streamed", graph, {"n_edges": 800}),
        ("components", components_graph(112)[0], {}),
        ("large", ring_lattice(1200, n_chords=2400, seed=113), {}),
    ):
        embedding = analysis.spectral_embedding(which, 2, tol=TIGHT_TOL, random_state=1, **settings)
        step = 1 + which.n_nodes // 50
        found[f"{name}_values"] = embedding.values
        found[f"{name}_points"] = up_to_sign(embedding.points)[::step]
    return found


def spectral_clusters():
    """Clusters with a given and a chosen number, and their conductances."""
    graph = three_blocks()
    found = {}
    for name, which, settings in (
        ("given", graph, {"n_clusters": 3}),
        ("chosen", graph, {}),
        ("streamed", graph, {"n_clusters": 3, "n_edges": 800}),
        ("components", components_graph(112)[0], {"n_clusters": 3}),
    ):
        clusters = analysis.spectral_clusters(which, tol=TIGHT_TOL, random_state=1, **settings)
        found[f"{name}_labels"] = up_to_names(clusters.labels)
        found[f"{name}_conductance"] = np.sort(clusters.conductance)
        found[f"{name}_values"] = clusters.values
    return found


def communities():
    """Partitions of high modularity."""
    graph = three_blocks()
    found = {}
    for name, settings in (
        ("chosen", {}),
        ("louvain", {"method": "louvain"}),
        ("resolution", {"method": "louvain", "resolution": 2.0}),
        ("streamed", {"method": "louvain", "n_edges": 800}),
    ):
        result = analysis.communities(graph, random_state=1, **settings)
        found[f"{name}_labels"] = up_to_names(result.labels)
        found[f"{name}_modularity"] = np.array(result.modularity)
    return found


def rankings():
    """Scores of nodes and edges in memory and streamed."""
    graph = three_blocks()
    sparse = gs.sparsify(graph, n_edges=900, random_state=2)
    found = {}
    for by in ("pagerank", "closeness", "spanning"):
        for name, settings in (("memory", {}), ("streamed", {"sparsifier": sparse})):
            ranking = analysis.rank(graph, by, random_state=1, **settings)
            step = 1 + ranking.scores.size // 80
            found[f"{by}_{name}"] = ranking.scores[::step]
            found[f"{by}_{name}_totals"] = np.array([ranking.kirchhoff, ranking.kemeny])
    ranking = analysis.rank(graph, damping=0.6, random_state=1)
    found["pagerank_damped"] = ranking.scores[SAMPLED_NODES]
    return found


def cuts():
    """Sweep cuts, balanced or not, in memory and streamed."""
    graph = three_blocks()
    found = {}
    for name, which, settings in (
        ("memory", graph, {}),
        ("balanced", graph, {"balance": 0.45}),
        ("streamed", graph, {"n_edges": 800}),
        ("components", components_graph(112)[0], {}),
    ):
        cut = analysis.cut(which, tol=TIGHT_TOL, random_state=1, **settings)
        found[f"{name}_side"] = cut.side
        found[f"{name}_figures"] = np.array(
            [cut.weight, cut.volume, cut.conductance, cut.cheeger_lower]
        )
    return found


def layouts():
    """Distances between the places of some nodes, which no rotation changes."""
    graph = three_blocks()
    found = {}
    for name, settings in (
        ("chosen", {}),
        ("spectral", {"method": "spectral"}),
        ("stress", {"method": "stress"}),
        ("streamed", {"n_edges": 800}),
    ):
        places = analysis.layout(graph, random_state=1, **settings)[::10]
        found[name] = np.linalg.norm(places[:, None] - places, axis=2)
    return found


def comparison():
    """Quantities of a graph, of its sparsifier and of uniform edges."""
    graph = three_blocks()
    sparse = gs.sparsify(graph, n_edges=900, random_state=2)
    certificate = gs.certify(graph, sparse, random_state=3)
    result = analysis.compare(
        graph, sparse, n_samples=20, n_eigenvalues=6, n_runs=2, certificate=certificate,
        random_state=1,
    )  # fmt: skip
    found = {}
    for name, (whole, part) in result.values.items():
        step = 1 + len(whole) // 30
        found[f"{name}_graph"] = np.asarray(whole)[::step]
        found[f"{name}_sparsifier"] = np.asarray(part)[::step]
    for name, values in result.uniform.items():
        found[f"{name}_uniform"] = np.asarray(values)[:: 1 + len(values) // 30]
    for name, (low, high) in result.bounds.items():
        found[f"{name}_bounds"] = np.column_stack([low, high])
    found["agreement"] = np.array(list(result.agreement.values()), dtype=float)
    found["ranking"] = np.array([result.rank_correlation, result.top_overlap])
    return found


STAGES = {
    stage.__name__: stage
    for stage in (
        spectral_embedding,
        spectral_clusters,
        communities,
        rankings,
        cuts,
        layouts,
        comparison,
    )
}
