"""A graph network on fewer edges: those of `Sparsify` beside edges drawn uniformly (DropEdge).

    python -m benchmarks.bench_pyg [--seeds 5] [--epochs 100] [--quick]

A GCN of two layers (16 hidden units, half of them dropped, Adam at .01, weight decay 5e-4), 20
labels a class, accuracy at all other nodes; edges, labels and first weights are drawn anew for each
seed. "old weights" takes the edges of the sparsifier, and leaves them the weights they had.

Three graphs: a degree-corrected block model with as many nodes, classes and words as Cora has and
ten times its edges; the nearest neighbors of the digits of scikit-learn; and Cora's own graph
and classes, if they are there (`--data`). Words are drawn: a quarter of a node's are from
those of its class. "uniform" keeps every edge with the same probability, once, and weighs it as it
was, as DropEdge does in an epoch.

Cora has two edges a node, so that it is kept to more of them: a forest takes half.

Seconds of one processor, for the transform and for the training. Needs the extra `pyg`.
"""

import argparse
import time

import numpy as np
import scipy.sparse
from sklearn.datasets import load_digits

from benchmarks.graphs import LABEL_SEED as SEED
from benchmarks.graphs import cora, neighbors
from benchmarks.real_data import add_data_option, load_present

try:
    import torch
    from torch_geometric.data import Data
    from torch_geometric.nn import GCNConv
    from torch_geometric.utils import from_scipy_sparse_matrix
except ImportError as missing:
    print(f"left out: {missing.name} is not installed; pip install 'graphsqueak[pyg]'")
    raise SystemExit from None

from graphsqueak.integrations import Sparsify

N_NODES, N_CLASSES, N_WORDS, MEAN_DEGREE = 2708, 7, 1433, 39.0
LABELS = 20
SHARES = {"blocks": (0.3, 0.1), "digits": (0.3, 0.1), "cora": (0.7, 0.5)}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seeds", type=int, default=5)
    arguments.add_argument("--epochs", type=int, default=100)
    arguments.add_argument("--quick", action="store_true", help="one seed, 50 epochs")
    add_data_option(arguments)
    given = arguments.parse_args()
    if given.quick:
        given.seeds, given.epochs = 1, 50
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    print("| graph | edges | kept | edges a node | accuracy | seconds: edges | training |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    run(digits(), "Sparsify", 0.3, 0, 1)  # loads compiled code
    for name, data in load_present({"blocks": blocks, "digits": digits, "cora": real_cora}):
        study(name, data, given)


def study(name, data, given):
    ways = [("all", 1.0), ("features alone", 0.0)]
    for share in SHARES[name]:
        ways += [(way, share) for way in ("Sparsify", "Sparsify, old weights", "uniform")]
    for way, share in ways:
        runs = [run(data, way, share, seed, given.epochs) for seed in range(given.seeds)]
        accuracy, kept, first, training = np.array(runs).T
        print(
            f"| {name} | {way} | {share:.0%} | {kept.mean() / data.num_nodes:.1f} | "
            f"{accuracy.mean():.1%} ± {accuracy.std():.1%} | {first.mean():.2f} | "
            f"{training.mean():.2f} |",
            flush=True,
        )


def run(data, way, share, seed, epochs):
    """Accuracy, edges kept, seconds for them and seconds of the training."""
    torch.manual_seed(SEED + seed)
    start = time.process_time()
    if way.startswith("Sparsify"):
        used = Sparsify(keep=share, reweight=way == "Sparsify", random_state=seed)(data)
    elif way == "uniform":
        used = dropped(data, share)
    else:
        used = data.edge_subgraph(torch.arange(0)) if way == "features alone" else data
    first = time.process_time() - start
    start = time.process_time()
    accuracy = train(used, epochs, np.random.default_rng(SEED + seed))
    return accuracy, used.num_edges / 2, first, time.process_time() - start


def dropped(data, share):
    """Every edge, both directions of it, with the same probability; its weight as it was."""
    low, high = data.edge_index.sort(dim=0).values
    _, number = torch.unique(low * data.num_nodes + high, return_inverse=True)
    coin = torch.rand(int(number.max()) + 1) < share
    return data.edge_subgraph(coin[number])


def train(data, epochs, rng):
    labeled = np.concatenate(
        [
            rng.choice(np.flatnonzero(data.y.numpy() == c), LABELS, replace=False)
            for c in classes(data)
        ]
    )
    is_test = torch.ones(data.num_nodes, dtype=torch.bool)
    is_test[labeled] = False
    labeled = torch.from_numpy(labeled)
    network = Network(data.num_features, len(classes(data)))
    descent = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(epochs):
        network.train()
        descent.zero_grad()
        scores = network(data)
        torch.nn.functional.cross_entropy(scores[labeled], data.y[labeled]).backward()
        descent.step()
    network.eval()
    with torch.no_grad():
        right = network(data).argmax(dim=1) == data.y
    return float(right[is_test].double().mean())


class Network(torch.nn.Module):
    """Two layers of graph convolutions [Kipf and Welling 2017]."""

    def __init__(self, n_features, n_classes):
        super().__init__()
        self.first = GCNConv(n_features, 16)
        self.second = GCNConv(16, n_classes)

    def forward(self, data):
        dropout = torch.nn.functional.dropout
        hidden = self.first(data.x, data.edge_index, data.edge_weight).relu()
        hidden = dropout(hidden, training=self.training)
        return self.second(hidden, data.edge_index, data.edge_weight)


def classes(data):
    return range(int(data.y.max()) + 1)


def blocks():
    """Degrees follow a power law; two edges of three stay in their class."""
    rng = np.random.default_rng(SEED)
    truth = rng.integers(N_CLASSES, size=N_NODES)
    pull = rng.pareto(2.5, size=N_NODES) + 0.3
    tails = rng.choice(N_NODES, size=int(N_NODES * MEAN_DEGREE / 2), p=pull / pull.sum())
    heads = rng.choice(N_NODES, size=tails.size, p=pull / pull.sum())
    for c in range(N_CLASSES):
        own = np.flatnonzero(truth == c)
        inside = np.flatnonzero((truth[tails] == c) & (rng.random(tails.size) < 0.6))
        heads[inside] = rng.choice(own, size=inside.size, p=pull[own] / pull[own].sum())
    half = scipy.sparse.coo_array((np.ones(tails.size), (tails, heads)), shape=(N_NODES,) * 2)
    return of_matrix(half + half.T, words(truth, rng), truth)


def digits():
    points, truth = load_digits(return_X_y=True)
    return of_matrix(neighbors(points, 20), points / 16.0, truth)


def real_cora():
    graph, truth = cora()
    return of_matrix(graph, words(truth, np.random.default_rng(SEED)), truth)


def words(truth, rng):
    """Eighteen words a node, as in Cora; a word in four is one of the hundred of its class."""
    points = np.zeros((truth.size, N_WORDS))
    for node, c in enumerate(truth):
        own = rng.integers(100 * c, 100 * (c + 1), size=18)
        any_word = rng.integers(N_WORDS, size=18)
        points[node, np.where(rng.random(18) < 1 / 4, own, any_word)] = 1.0
    return points


def of_matrix(graph, points, truth):
    """The data as layers take them: every edge once in each direction, no loops, weight 1."""
    graph = scipy.sparse.csr_matrix(graph, dtype=np.float64)
    graph.setdiag(0)
    graph.eliminate_zeros()
    index, _ = from_scipy_sparse_matrix(graph)
    x = torch.from_numpy(points).float()
    ones = torch.ones(index.shape[1])
    return Data(x=x, edge_index=index, edge_weight=ones, y=torch.from_numpy(truth).long())


if __name__ == "__main__":
    main()
