"""Which node to label next: rules beside random nodes and those of largest degree.

    python -m benchmarks.bench_suggest [--draws N] [--images DIR] [--only NAME] [--json]

From one label a class on, five nodes are labeled at a time, eight times, and Stable-HFS answers
after each. The accuracy over the nodes without a label is averaged over the eight. With C, the
covariance (alpha L + I_S)^-1 of the field, `variance` takes the node of the largest C_kk,
`var-opt` that of the largest |C e_k|^2 / (1 + C_kk), and `sigma-opt` that of the largest
(1' C e_k)^2 / (1 + C_kk) [MGS13]; the first two of a C that is centered, as the scores are.
C is held in full: 1,000 nodes of each graph, and all of Cora.

[MGS13] Ma, Garnett, Schneider. Sigma-optimality for active learning on Gaussian random fields.
        NIPS 2013.
"""

import argparse
import gzip
import json
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.datasets import load_digits

import graphsqueak as gs
from benchmarks.cases.label import blocks
from benchmarks.graphs import LABEL_SEED as SEED
from benchmarks.graphs import cora, largest_component, neighbors, spam
from benchmarks.real_data import add_data_option, load_present
from graphsqueak.sources.neighbors.weights import neighbor_graph
from graphsqueak.ssl.stable import inv_mean_degree

BATCH, ROUNDS = 5, 8
RULES = ("random", "degree", "variance", "var-opt", "sigma-opt")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--images", type=Path, help="folder of (Fashion-)MNIST")
    parser.add_argument("--only", default="", help="graphs whose name begins so")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_data_option(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name, graph, truth in graphs(arguments.images):
        if not name.startswith(arguments.only):
            continue
        for rule in RULES:
            means = [follow(graph, truth, rule, draw) for draw in range(arguments.draws)]
            error = np.std(means) / np.sqrt(len(means))
            rows.append({"data": name, "rule": rule, "accuracy": np.mean(means), "error": error})
            if not arguments.json:
                print(f"{name:<14}{rule:<10}{np.mean(means):.3f} +- {error:.3f}", flush=True)
    if arguments.json:
        print(json.dumps({"benchmark": "suggest", "rows": rows}))


def graphs(folder):
    rng = np.random.default_rng(SEED)
    points, truth = load_digits(return_X_y=True)
    some = rng.permutation(truth.size)[:1000]
    yield "digits", gs.EdgeList.from_scipy(neighbors(points[some], 10)), truth[some]
    if folder is not None:
        points, truth = images(folder, 1000)
        yield folder.name, gs.EdgeList.from_scipy(image_graph(points)), truth
    yield "blocks", *blocks(1000, 20, 0.5, (0.5, 0.3, 0.2), rng)
    points, truth = spam()
    some = rng.permutation(len(truth))[:1000]
    graph = gs.neighbor_edges(points[some], 10).to_edge_list().to_scipy()
    graph, truth = largest_component(scipy.sparse.csr_matrix(graph), np.asarray(truth)[some])
    yield "mails", gs.EdgeList.from_scipy(graph), truth
    for name, (graph, truth) in load_present({"cora": cora}):
        graph, truth = largest_component(graph, truth)
        yield name, gs.EdgeList.from_scipy(graph), truth


def follow(graph, truth, rule, draw):
    rng, unit = np.random.default_rng([SEED, draw]), inv_mean_degree(graph)
    kinds = range(truth.max() + 1)
    nodes = [int(rng.choice(np.flatnonzero(truth == number))) for number in kinds]
    covariance = None if rule in RULES[:2] else covariances(graph, nodes, 2 * unit, rule)
    right = []
    for _ in range(ROUNDS):
        free = np.setdiff1d(np.arange(truth.size), nodes)
        if rule == "random":
            nodes += rng.choice(free, BATCH, replace=False).tolist()
        elif rule == "degree":
            nodes += free[np.argsort(-graph.degrees()[free], kind="stable")[:BATCH]].tolist()
        else:
            for _ in range(BATCH):
                nodes.append(best_node(covariance, nodes, rule))
                column = covariance[:, nodes[-1]].copy()
                covariance -= np.outer(column, column / (1 + column[nodes[-1]]))
        y = hidden(truth, nodes)
        settings = {"eta": 2 * unit / len(nodes), "prior_weight": 0.0, "random_state": SEED}
        answer = gs.StableHFSClassifier(**settings).fit(graph, y).predict()
        right.append((answer == truth)[y == -1].mean())
    return float(np.mean(right))


def covariances(graph, nodes, alpha, rule):
    matrix = alpha * (np.diag(graph.degrees()) - graph.to_scipy().toarray())
    matrix[nodes, nodes] += 1
    whole = np.linalg.inv(matrix)
    v = whole.sum(axis=1)
    return whole if rule == "sigma-opt" else whole - np.outer(v, v) / v.sum()


def best_node(covariance, nodes, rule):
    own = np.diag(covariance).copy()
    if rule == "var-opt":
        own = (covariance**2).sum(axis=0) / (1 + own)
    elif rule == "sigma-opt":
        own = covariance.sum(axis=0) ** 2 / (1 + own)
    own[nodes] = -np.inf
    return int(own.argmax())


def images(folder, n_points):
    parts = [("train", 16, 8), ("t10k", 16, 8)]
    points, truth = [], []
    for name, skip_images, skip_labels in parts:
        with gzip.open(folder / f"{name}-images-idx3-ubyte.gz") as file:
            points.append(np.frombuffer(file.read(), np.uint8, offset=skip_images))
        with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz") as file:
            truth.append(np.frombuffer(file.read(), np.uint8, offset=skip_labels))
    points = np.concatenate(points).reshape(-1, 784).astype(np.float32) / 255
    kept = np.random.default_rng(SEED).permutation(len(points))[:n_points]
    return points[kept], np.concatenate(truth)[kept].astype(int)


def image_graph(points):
    from sklearn.decomposition import PCA

    points = PCA(50, random_state=SEED).fit_transform(points)
    return scipy.sparse.csr_matrix(
        neighbor_graph(points, n_neighbors=10, metric="euclidean")[0].to_scipy()
    )


def hidden(truth, nodes):
    y = np.full(truth.size, -1)
    y[nodes] = truth[nodes]
    return y


if __name__ == "__main__":
    main()
