"""Models of node features and a graph, against each of the two alone and simple combinations.

    python -m benchmarks.bench_features [--split tuning|checking] [--draws N] [--only NAME] [--json]

Every method gets the same graph, features and labels. Settings of the package were chosen on the
graphs of `TUNING`; those of `CHECKING` are of other sizes, homophilies and kinds. Graphs are
degree-corrected block models with Gaussian features or words, Cora (its graph and classes; words
are drawn), the shipped mails (TF-IDF), and rare classes with tables of weakly informative columns,
as in studies of fraud. Each draw is a new graph, or new words, and new labels.

Accuracy, or AUROC and average precision of a rare class, is over the nodes without a label: mean
over draws. `features` is the estimator alone, `propagated` the estimator on 10 steps of
Z <- 0.15 X + 0.85 P Z, `neighbors` the estimator on `NeighborMeans`, `graph` is
StableHFSClassifier. Seconds are processor time.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

import graphsqueak as gs
from benchmarks.graphs import LABEL_SEED as SEED
from benchmarks.graphs import cora, spam, spam_graph
from benchmarks.real_data import add_data_option

# Below it, HistGradientBoostingClassifier cannot split 20 labels.
TREES = HistGradientBoostingClassifier(max_iter=100, min_samples_leaf=5, random_state=SEED)
LINEAR = LogisticRegression(max_iter=300)


class Case(NamedTuple):
    """A kind of graph: `draw(rng)` returns graph, classes and features.

    With `is_rare` or `is_uneven`, labels are drawn at random, else equally many of each class.
    """

    draw: Callable
    n_labels: tuple[int, ...]
    estimator: object = LINEAR
    is_rare: bool = False
    is_uneven: bool = False


def blocks(rng, n_nodes, degree, homophily, shares, *, n_parts=1):
    """Degree-corrected block model: adjacency matrix and classes.

    An edge ends, with probability |homophily|, in the class it began in (in another one, if it is
    negative), else anywhere. With `n_parts`, the graph has `n_parts` unconnected parts.
    """
    truth = rng.choice(len(shares), n_nodes, p=shares)
    part = rng.integers(n_parts, size=n_nodes)
    weight = rng.pareto(3.0, n_nodes) + 0.5
    n_edges = n_nodes * degree // 2
    tail = rng.choice(n_nodes, n_edges, p=weight / weight.sum())
    by_class = rng.random(n_edges) < abs(homophily)
    head = np.zeros(n_edges, dtype=int)
    for number in range(n_parts):
        for code in range(-1, len(shares)):
            same = np.full(n_nodes, True) if code < 0 else truth == code
            allowed = (part == number) & (same if homophily >= 0 or code < 0 else ~same)
            begins = (truth[tail] == code) & by_class if code >= 0 else ~by_class
            picked = np.flatnonzero(begins & (part[tail] == number))
            probability = np.where(allowed, weight, 0.0)
            if picked.size and probability.sum() > 0:
                probability /= probability.sum()
                head[picked] = rng.choice(n_nodes, picked.size, p=probability)
    keep = tail != head
    shape = (n_nodes, n_nodes)
    half = scipy.sparse.csr_matrix((np.ones(keep.sum()), (tail[keep], head[keep])), shape=shape)
    graph = half.maximum(half.T)
    graph.data[:] = 1.0
    return graph, truth


def gaussians(rng, truth, distance):
    """Ten columns; the centers of classes are `distance` standard deviations from the origin."""
    centers = rng.normal(size=(truth.max() + 1, 10))
    centers *= distance / np.linalg.norm(centers, axis=1, keepdims=True)
    return rng.normal(size=(truth.size, 10)) + centers[truth]


def words(rng, truth, topical, *, n_words=800, length=18):
    """A sparse 0/1 matrix of words; a fraction `topical` of them is drawn from a class's topic."""
    background = rng.pareto(1.5, n_words) + 0.1
    topics = [rng.permutation(background) for _ in range(truth.max() + 1)]
    row = np.repeat(np.arange(truth.size), length)
    column = rng.choice(n_words, row.size, p=background / background.sum())
    is_topical = rng.random(row.size) < topical
    for code, topic in enumerate(topics):
        picked = is_topical & (truth[row] == code)
        column[picked] = rng.choice(n_words, picked.sum(), p=topic / topic.sum())
    matrix = scipy.sparse.csr_matrix((np.ones(row.size), (row, column)), (truth.size, n_words))
    matrix.data[:] = 1.0
    return matrix


def table(rng, truth, strength):
    """Twelve columns as of transactions: skewed, partly noise, one of them informative by pairs."""
    X = rng.normal(size=(truth.size, 12))
    X[:, 0] += strength * truth
    X[:, 1] -= 0.7 * strength * truth
    # The sign of a product: no single column reveals it.
    flip = (truth == 1) & (rng.random(truth.size) < 0.5 * strength)
    X[flip, 3] = np.abs(X[flip, 3]) * np.sign(X[flip, 2])
    X[:, 4:6] = np.exp(X[:, 4:6] + 0.4 * strength * truth[:, None])
    return X


def gaussian_case(
    homophily, distance, shares=(0.5, 0.3, 0.2), *, n_nodes=1500, n_parts=1, is_uneven=False
):
    def draw(rng):
        graph, truth = blocks(rng, n_nodes, 8, homophily, shares, n_parts=n_parts)
        return graph, truth, gaussians(rng, truth, distance)

    return Case(draw, (5 * len(shares), 20 * len(shares)), is_uneven=is_uneven)


def words_case(homophily, topical, shares=(0.5, 0.3, 0.2), *, n_nodes=1500, n_parts=1):
    def draw(rng):
        graph, truth = blocks(rng, n_nodes, 8, homophily, shares, n_parts=n_parts)
        return graph, truth, words(rng, truth, topical)

    return Case(draw, (5 * len(shares), 20 * len(shares)))


def fraud_case(rate, homophily, strength, *, degree=20, n_nodes=3000):
    """A rare class; with negative homophily it is joined to the other one."""

    def draw(rng):
        graph, truth = blocks(rng, n_nodes, degree, homophily, (1 - rate, rate))
        return graph, truth, table(rng, truth, strength)

    return Case(draw, (n_nodes // 3,), TREES, is_rare=True)


def cora_words(rng):
    graph, truth = cora()
    return graph, truth, words(rng, truth, 0.45)


def spam_words(rng):
    graph, truth = spam_graph()
    points, _ = spam()
    return graph, np.unique(truth, return_inverse=True)[1], scipy.sparse.csr_matrix(points)


def trees(case):
    return case._replace(estimator=TREES)


TUNING = {
    "blocks 0.0": gaussian_case(0.0, 1.2),
    "blocks -0.2": gaussian_case(-0.2, 1.2, (0.6, 0.4)),
    "blocks 0.6": gaussian_case(0.6, 1.0),
    "blocks 0.5, noise": gaussian_case(0.5, 0.0, (0.2,) * 5),
    "words 0.2": words_case(0.2, 0.3),
    "words 0.9": words_case(0.9, 0.15),
    "60 parts 0.7": gaussian_case(0.7, 1.2, n_parts=60),
    "trees 0.4": trees(gaussian_case(0.4, 1.5)),
    "uneven 0.6, noise": gaussian_case(0.6, 0.0, (0.7, 0.3), is_uneven=True),
    "uneven 0.3": gaussian_case(0.3, 1.0, (0.7, 0.3), is_uneven=True),
    "fraud 3 %, 0.3": fraud_case(0.03, 0.3, 0.8),
    "fraud 2 %, -0.3": fraud_case(0.02, -0.3, 1.0),
}
CHECKING = {
    "blocks 0.1": gaussian_case(0.1, 1.5, (0.4, 0.3, 0.2, 0.1), n_nodes=2000),
    "blocks 0.3": gaussian_case(0.3, 1.0, (0.7, 0.3)),
    "blocks 0.8": gaussian_case(0.8, 0.7, (0.3, 0.3, 0.2, 0.2)),
    "blocks 0.7, noise": gaussian_case(0.7, 0.0, (0.5, 0.5)),
    "words -0.2": words_case(-0.2, 0.3, (0.4, 0.3, 0.3)),
    "words 0.5": words_case(0.5, 0.2, (1 / 6,) * 6, n_nodes=2000),
    "words 0.0": words_case(0.0, 0.4),
    "100 parts 0.8": words_case(0.8, 0.2, n_parts=100),
    "trees 0.5": trees(gaussian_case(0.5, 1.2, (0.5, 0.5))),
    "cora": Case(cora_words, (35, 140)),
    "spam": Case(spam_words, (20, 100)),
    "fraud 1 %, -0.2": fraud_case(0.01, -0.2, 1.2, n_nodes=4000),
    "fraud 5 %, 0.2": fraud_case(0.05, 0.2, 0.6),
    "fraud 3 %, 0.0": fraud_case(0.03, 0.0, 0.8),
}


def draw_labels(rng, truth, n_labels, *, is_random):
    """Labeled nodes: at random, or equally many of each class."""
    classes = truth.max() + 1
    if is_random:
        return rng.choice(truth.size, n_labels, replace=False)
    picks = [
        rng.permutation(np.flatnonzero(truth == c))[: n_labels // classes] for c in range(classes)
    ]
    return np.concatenate(picks)


def draws(cases, n_draws, only=""):
    """Yield name, case, number of labels, draw, graph, classes, features and labeled nodes."""
    for name, case in cases.items():
        if not name.startswith(only):
            continue
        for seed in range(n_draws):
            rng = np.random.default_rng([SEED, list(cases).index(name), seed, len(cases)])
            graph, truth, X = case.draw(rng)
            for n_labels in case.n_labels:
                is_random = case.is_rare or case.is_uneven
                nodes = draw_labels(rng, truth, n_labels, is_random=is_random)
                yield name, case, n_labels, seed, gs.EdgeList.from_scipy(graph), truth, X, nodes


def propagated(X, graph):
    """10 steps of Z <- 0.15 X + 0.85 P Z, as a dense array."""
    X = X.toarray() if scipy.sparse.issparse(X) else X
    adjacency = graph.to_scipy().tocsr()
    degree = graph.degrees()[:, None]
    Z = X
    for _ in range(10):
        means = np.where(degree > 0, adjacency @ Z / np.where(degree > 0, degree, 1.0), Z)
        Z = 0.15 * X + 0.85 * means
    return Z


def methods(case, graph, y, X):
    """Yield the name of a method, its probabilities for all nodes, and its seconds."""
    known = y >= 0
    dense = X.toarray() if scipy.sparse.issparse(X) else X
    tables = {
        "features": lambda: X,
        "propagated": lambda: propagated(X, graph),
        "neighbors": lambda: gs.NeighborMeans().fit_transform(dense, graph=graph),
    }
    for name, make in tables.items():
        start = time.process_time()
        rows = make()
        fitted = clone(case.estimator).fit(rows[known], y[known])
        yield name, fitted.predict_proba(rows), time.process_time() - start
    for name, model, more in (
        ("graph", gs.StableHFSClassifier(random_state=SEED), ()),
        ("stacking", gs.ssl.GraphStacking(case.estimator, random_state=SEED), (X,)),
    ):
        start = time.process_time()
        model.fit(graph, y, *more)
        yield name, model.predict_proba(), time.process_time() - start


def measure(case, truth, probability, is_test):
    """Accuracy in percent, or AUROC and average precision of a rare class."""
    truth = truth[is_test]
    probability = probability[is_test]
    if not case.is_rare:
        return {"accuracy": 100 * np.mean(probability.argmax(axis=1) == truth)}
    score = probability[:, 1]
    return {
        "AUROC": 100 * roc_auc_score(truth, score),
        "AP": 100 * average_precision_score(truth, score),
    }


def collect(cases, n_draws, only):
    """Return, per case, number of labels and metric, the results of each method over draws."""
    results: dict = {}
    for name, case, n_labels, _, graph, truth, X, nodes in draws(cases, n_draws, only):
        y = np.full(truth.size, -1)
        y[nodes] = truth[nodes]
        for method, probability, seconds in methods(case, graph, y, X):
            found = measure(case, truth, probability, y == -1)
            for metric, value in (found | {"seconds": seconds}).items():
                row = results.setdefault((name, n_labels, metric), {})
                row.setdefault(method, []).append(float(value))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--split", choices=["tuning", "checking"], default="checking")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose name begins so")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_data_option(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = TUNING if arguments.split == "tuning" else CHECKING
    rows = []
    for (name, n_labels, metric), results in collect(
        cases, arguments.draws, arguments.only
    ).items():
        means = {method: float(np.mean(values)) for method, values in results.items()}
        row = {"data": name, "labels": n_labels, "metric": metric} | means
        if metric != "seconds":
            gain = np.array(results["stacking"]) - max(
                (results["features"], results["graph"]), key=np.mean
            )
            row["gain"] = float(gain.mean())
            row["error"] = float(gain.std(ddof=1) / np.sqrt(gain.size)) if gain.size > 1 else 0.0
        rows.append(row)
        if not arguments.json:
            numbers = [
                f"{key} {value:.1f}" for key, value in row.items() if isinstance(value, float)
            ]
            print(f"{name:<18}{n_labels:>5} {metric:<9}", ", ".join(numbers), flush=True)
    if arguments.json:
        print(json.dumps({"benchmark": "features", "rows": rows}))


if __name__ == "__main__":
    main()
