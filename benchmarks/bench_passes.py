"""Labels from a graph that is read: accuracy lost to the whole graph, by passes and by share kept.

    python -m benchmarks.bench_passes [--quick] [--json] [--draws N] [--part NAME] [--only NAME]

`passes`: `SparseHFSClassifier` as it is beside `StableHFSClassifier` on all edges: accuracy of
both, share of equal decisions (`agree`), nodes that differ and those that it calls undecided,
draws in which the first are more than the second (`missed`), passes.
`once`: one pass, as from a pipe, on a sparsifier (plain), on one with
`priority_fraction=0.5` (priority),
and with exact sums at labeled nodes (ours).

Mails (shipped), k = 100, 300 and 979 neighbors, 5 % of the edges; nested rings, moons, blobs,
digits and Spambase (shipped) at 1, 2 and 5 %; and graphs that no setting was chosen by: blocks,
blocks in pieces, political blogs and Cora (where the shared data are there). A share with fewer
edges than nodes is left out. Generators and draws are its own.
"""

import argparse
import json
import statistics
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.neighbors import NearestNeighbors

import graphsqueak as gs
from benchmarks.graphs import cora, polblogs
from benchmarks.real_data import add_data_option, load_present
from graphsqueak.sources.neighbors.weights import neighbor_graph
from graphsqueak.ssl import HomophilyWarning, UnreachedWarning

SEED = 40_417


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--part", choices=("passes", "once"))
    parser.add_argument("--only", default="", help="data whose names begin so")
    add_data_option(parser)
    args = parser.parse_args()
    for said in (UnreachedWarning, HomophilyWarning):
        warnings.simplefilter("ignore", said)
    parts = {"passes": measure_passes, "once": measure_once}
    for part, measure in parts.items():
        if args.part in (None, part):
            for row in rows(measure, args):
                print(json.dumps(row) if args.json else shown(row), flush=True)


def rows(measure, args):
    makers = {name: make for name, make in MAKERS.items() if name.startswith(args.only)}
    if args.quick:
        makers = {name: makers[name] for name in ("moons", "digits") if name in makers}
    for name, (graph, truth) in load_present(makers):
        n_draws = 2 if args.quick else args.draws
        for n_labels in LABELS.get(name.split()[0], (20, 100)):
            for keep in (0.05,) if name.startswith("mails") else (0.01, 0.02, 0.05):
                n_edges = int(np.ceil(keep * graph.n_edges))
                if n_edges < graph.n_nodes:
                    continue
                fits = []
                for draw in range(n_draws):
                    y = drawn(truth, n_labels, draw)
                    fits.append(measure(graph, truth, y, n_edges, SEED + draw))
                means = {key: statistics.mean(fit[key] for fit in fits) for key in fits[0]}
                if "differ" in means:
                    means["missed"] = sum(fit["differ"] > fit["undecided"] for fit in fits)
                yield {"data": name, "labels": n_labels, "kept": keep, **means}


def measure_passes(graph, truth, y, n_edges, seed):
    exact, exact_seconds = timed(gs.StableHFSClassifier(random_state=seed), graph, y)
    ours, seconds = timed(gs.SparseHFSClassifier(n_edges=n_edges, random_state=seed), graph, y)
    same = exact.transduction_ == ours.transduction_
    right, lost = accuracy(exact, truth, y), accuracy(ours, truth, y)
    return {
        "exact": right,
        "ours": lost,
        "points lost": 100 * (right - lost),
        "agree": same.mean().item(),
        "differ": int(np.count_nonzero(~same)),
        "undecided": ours.n_unstable_,
        "passes": ours.n_passes_,
        "edges a node": ours.n_edges_used_ / graph.n_nodes,
        "seconds exact": exact_seconds,
        "seconds": seconds,
    }


def measure_once(graph, truth, y, n_edges, seed):
    row = {}
    for name, priority_fraction in (("plain", 0), ("priority", 0.5), ("ours", "auto")):
        clf = gs.SparseHFSClassifier(
            n_edges=n_edges, priority_fraction=priority_fraction, max_passes=1, random_state=seed
        )
        row[name] = accuracy(clf.fit(graph, y), truth, y)
    return row


def timed(model, graph, y):
    began = time.perf_counter()
    model.fit(graph, y)
    return model, time.perf_counter() - began


def accuracy(model, truth, y):
    return float(np.mean((model.transduction_ == truth)[y == -1]))


def drawn(truth, n_labels, draw):
    """Labels at random, every class among them."""
    rng = np.random.default_rng([SEED, draw, n_labels])
    classes = np.unique(truth)
    while True:
        nodes = rng.choice(truth.size, n_labels, replace=False)
        if np.unique(truth[nodes]).size == classes.size:
            break
    y = np.full(truth.size, -1)
    y[nodes] = truth[nodes]
    return y


def shown(row):
    values = {key: value for key, value in row.items() if key not in ("data", "labels", "kept")}
    digits = {"points lost": ".2f", "agree": ".4f", "differ": ".1f", "undecided": ".1f"}
    text = "  ".join(f"{key} {value:{digits.get(key, '.3g')}}" for key, value in values.items())
    if "plain" in values:
        gained = 100 * (values["ours"] - values["plain"])
        text += f"  gained on plain: {gained:.1f} points"
    return f"{row['data']:<14}{row['labels']:>5} labels  {row['kept']:.0%}  {text}"


def mails(k):
    spam = gs.datasets.load_spam()
    return gs.neighbor_edges(spam.points, k).to_edge_list(), spam.labels


def joined(points, truth, k):
    graph, _ = neighbor_graph(np.asarray(points, float), n_neighbors=k, metric="euclidean")
    return graph, np.asarray(truth)


def rings(n=5000):
    rng = np.random.default_rng(SEED)
    radius = np.array([1.0, 4.0, 7.0])
    truth = rng.choice(3, size=n, p=radius / radius.sum())
    angle, far = 2 * np.pi * rng.random(n), radius[truth] + 0.1 * rng.normal(size=n)
    return joined(np.column_stack([far * np.cos(angle), far * np.sin(angle)]), truth, 400)


def moons():
    return joined(*make_moons(4000, noise=0.15, random_state=SEED), 400)


def blobs():
    return joined(*make_blobs(4000, 8, centers=4, cluster_std=4.0, random_state=SEED), 400)


def digits():
    return joined(*load_digits(return_X_y=True), 300)


def spambase():
    data = gs.datasets.load_spambase()
    points = np.log1p(data.points)
    return joined((points - points.mean(axis=0)) / points.std(axis=0), data.labels, 400)


def blocks():
    graph = gs.sources.block_model(3000, 600_000, n_blocks=3, within=0.5, random_state=SEED)
    return graph.to_edge_list(), np.arange(3000) % 3


def pieces():
    """Six components, in which the two classes are separated by a gap of the weights only."""
    rng = np.random.default_rng(SEED)
    place = rng.normal(size=(3000, 2))
    truth = (place[:, 0] > 0).astype(int)
    place[:, 0] += np.where(truth, 0.4, -0.4)
    piece = rng.integers(6, size=3000)
    tails, heads, n_near = [], [], 200
    for number in range(6):
        own = np.flatnonzero(piece == number)
        near = NearestNeighbors(n_neighbors=n_near).fit(place[own]).kneighbors()[1]
        tails.append(np.repeat(own, n_near))
        heads.append(own[near.ravel()])
    ends = {"tail": np.concatenate(tails), "head": np.concatenate(heads)}
    graph = gs.EdgeList(**ends, n_nodes=3000).simplified()
    return graph, truth


def of_matrix(make):
    graph, truth = make()
    return gs.EdgeList.from_scipy(graph), truth


LABELS = {"mails": (20, 100, 1000), "rings": (15, 60), "moons": (10, 40), "digits": (50, 200)}
MAKERS = {
    **{f"mails k={k}": lambda k=k: mails(k) for k in (100, 300, 979)},
    "rings": rings,
    "moons": moons,
    "blobs": blobs,
    "digits": digits,
    "spambase": spambase,
    "blocks": blocks,
    "pieces": pieces,
    "polblogs": lambda: of_matrix(polblogs),
    "cora": lambda: of_matrix(cora),
}


if __name__ == "__main__":
    main()
