"""Graphs of several kinds, small enough for dense algebra, and their files."""

import numpy as np

from graphsqueak import EdgeList, certify, read_edges, sources, sparsify, write_edges

SEED = 97_531


def examples():
    """By name: dense, clustered, heavy-tailed with weights, a grid, several components."""
    rng = np.random.default_rng(SEED)
    heavy = sources.chung_lu(300, 3_000, random_state=SEED).to_edge_list()
    weights = 10.0 ** rng.uniform(-2, 2, heavy.n_edges)
    heavy = EdgeList(tail=heavy.tail, head=heavy.head, weight=weights, n_nodes=300)
    blocks = sources.block_model(400, 8_000, n_blocks=4, random_state=SEED).to_edge_list()
    tail = np.concatenate([blocks.tail, [400, 401, 403]])
    head = np.concatenate([blocks.head, [401, 402, 404]])
    return {
        "dense": sources.erdos_renyi(200, 8_000, random_state=SEED).to_edge_list(),
        "blocks": blocks,
        "heavy": heavy,
        "grid": sources.grid(15, 12).to_edge_list(),
        "pieces": EdgeList(tail=tail, head=head, n_nodes=406),
    }


def as_file(graph, folder):
    """The same graph, to be read; ids are node numbers."""
    write_edges(graph, folder / "edges.parquet")
    return read_edges(folder / "edges.parquet")


def certified_sparsifier():
    """A graph of four blocks, and its sparsifier with a certificate."""
    graph = examples()["blocks"]
    kept = sparsify(graph, keep=0.5, random_state=SEED)
    return graph, kept.with_certificate(certify(graph, kept, random_state=SEED))


def normalized_laplacian(graph):
    """D^-1/2 L D^-1/2, dense."""
    degree = graph.degrees()
    root = np.where(degree > 0, np.sqrt(degree), np.inf)
    return graph.laplacian().toarray() / (root[:, None] * root)


def conductance(graph, side):
    """Weight between the sides over the total degree of the smaller one."""
    degree = graph.degrees()
    weight = graph.weight @ (side[graph.tail] != side[graph.head])
    return weight / min(degree[side].sum(), degree[~side].sum())
