"""Labels at few labels, with features, and for fraud: ours beside peers, on the same draws.

    python benchmarks/bench_labels.py [--part NAME] [--draws N]
                                      [--images DIR] [--points N] [--mbo-draws N] [--json]

`sizes`: 10-NN graphs of digits and, where DIR holds the four files of Fashion-MNIST (Debian package
dataset-fashion-mnist) or MNIST, of --points of its images; 1, 5 and 20 labels a class; accuracy and
seconds of processor time; Poisson learning and PoissonMBO of GraphLearning, which is told the class
sizes, as ours is where it says so; --mbo-draws N runs that one, which takes minutes on 70,000
images, on the first N draws only, and tells what our cut has on these. Every draw is told on
standard error when it is done. `features`: logistic regression alone, the graph alone, and both, on
degree-corrected block models of homophily -.2 to .9 and on Cora (its graph and classes; its words
are drawn). `fraud`: AUC of a class of a tenth of the nodes, 1 and 5 % labels, Sparse-HFS holding a
tenth of the edges. `homophily`: how often the warning fires. `speed`: processor time of a fit, with
everything chosen by leave-one-out and with eta given, beside that of scikit-network's
PageRankClassifier, which takes ten steps a class and works in a process of its own (counted), on
graphs of --edges edges with 20 and 200 labels a class; the least of three runs. `parse`: the same
fit beside one read of the graph from a text file, --parse-edges edges.
"""

import argparse
import gzip
import json
import resource
import statistics
import sys
import tempfile
import time
import warnings
from itertools import product
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF

import numpy as np
import scipy.sparse
from real_data import add_data_option, load_present
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from ssl_data import SEED, cora, drawn, largest_component, neighbors

import graphsqueak as gs
from graphsqueak.sources.neighbors.weights import neighbor_graph
from graphsqueak.ssl import HomophilyWarning

CUT, MBO = "cut, known sizes", "gl MBO, known sizes"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--images", type=Path, help="folder of (Fashion-)MNIST")
    parser.add_argument("--points", type=int, default=70_000, help="images to take")
    parser.add_argument("--mbo-draws", type=int, help="draws of PoissonMBO (default: all)")
    parser.add_argument("--edges", type=float, nargs="+", default=[1e4, 1e5, 1e6])
    parser.add_argument("--parse-edges", type=float, default=1e7)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_data_option(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in PARTS if arguments.part == "all" else [arguments.part]:
        for row in PARTS[name](arguments):
            rows.append({"part": name} | row)
            if not arguments.json:
                shown = "  ".join(f"{key} {told(value)}" for key, value in row.items())
                print(f"{name:<10}{shown}", flush=True)
    if arguments.json:
        print(json.dumps({"benchmark": "labels", "rows": rows}))


def told(value):
    if isinstance(value, list):
        return f"{value[0]:.3f} ({value[1]:.2f} s)"
    return f"{value:.3f}" if isinstance(value, float) else value


def size_rows(arguments):
    points, truth = load_digits(return_X_y=True)
    graphs = [("digits", neighbors(points, 10), truth)]
    if arguments.images is not None:
        points, truth = images(arguments.images, arguments.points)
        graphs.append((arguments.images.name, image_graph(points), truth))
    given = arguments.mbo_draws
    n_mbo_draws = arguments.draws if given is None else given
    for name, graph, truth in graphs:
        for per_class in (1, 5, 20):
            results = {}
            for seed in range(arguments.draws):
                nodes = drawn(truth, per_class * 10, seed, balanced=True)
                for method, predict in sized(graph, truth, nodes).items():
                    if method == MBO and seed >= n_mbo_draws:
                        continue
                    began = time.process_time()
                    answer = np.asarray(predict())
                    spent = time.process_time() - began
                    right = np.delete(answer == truth, nodes).mean()
                    results.setdefault(method, []).append((right, spent))
                new = {key: got for key, got in results.items() if len(got) > seed}
                last = "  ".join(f"{key} {told([*got[-1]])}" for key, got in new.items())
                print(f"  {name}, {per_class} a class, draw {seed}: {last}", file=sys.stderr)
            n_mbo = len(results.get(MBO, []))
            if 0 < n_mbo < arguments.draws:
                results[f"cut on {n_mbo} draws of MBO"] = results[CUT][:n_mbo]
            means = {key: np.mean(value, axis=0).tolist() for key, value in results.items()}
            yield {"data": name, "labels a class": per_class} | means


def sized(graph, truth, nodes):
    edges, y = gs.EdgeList.from_scipy(graph), hidden(truth, nodes)
    shares = np.bincount(truth) / truth.size
    sizes = dict(enumerate(shares))

    def ours(**settings):
        return gs.StableHFSClassifier(**settings, random_state=SEED).fit(edges, y).predict()

    methods = {
        "stable": ours,
        "auto sizes": lambda: ours(class_sizes="auto"),
        "known sizes": lambda: ours(class_sizes=sizes),
        CUT: lambda: ours(class_sizes=sizes, decision="cut"),
        "poisson": lambda: gs.PoissonClassifier(random_state=SEED).fit(edges, y).predict(),
    }
    try:
        import graphlearning as gl
    except ImportError:
        return methods
    known = truth[nodes]
    return methods | {
        "gl poisson": lambda: gl.ssl.poisson(graph).fit_predict(nodes, known),
        MBO: lambda: gl.ssl.poisson_mbo(graph, shares).fit_predict(nodes, known),
    }


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


def feature_rows(arguments):
    for name, graph, truth, features in featured():
        for per_class in (5, 20):
            results = {}
            for seed in range(arguments.draws):
                n_labels = per_class * (truth.max() + 1)
                nodes = drawn(truth, n_labels, seed, balanced=True)
                y, rest = hidden(truth, nodes), np.delete(np.arange(truth.size), nodes)
                model = LogisticRegression(max_iter=300)
                answers = {
                    "features": model.fit(features[nodes], truth[nodes]).predict(features),
                    "graph": gs.StableHFSClassifier(random_state=SEED).fit(graph, y).predict(),
                }
                both = gs.ssl.GraphStacking(LogisticRegression(max_iter=300), random_state=SEED)
                answers["GraphStacking"] = both.fit(graph, y, features).predict()
                for method, answer in answers.items():
                    results.setdefault(method, []).append(float((answer == truth)[rest].mean()))
            means = {key: statistics.mean(value) for key, value in results.items()}
            yield {"data": name, "labels a class": per_class} | means


def featured():
    rng = np.random.default_rng(SEED)
    for homophily in (-0.2, 0.0, 0.3, 0.6, 0.9):
        graph, truth = blocks(2000, 10, homophily, (0.5, 0.3, 0.2), rng)
        yield f"blocks, homophily {homophily}", graph, truth, gaussians(truth, 1.5, rng)
    graph, truth = blocks(2000, 10, 0.6, (0.5, 0.3, 0.2), rng)
    yield "blocks, noise as features", graph, truth, gaussians(truth, 0.0, rng)
    for name, (graph, truth) in load_present({"cora": cora}):
        graph, truth = largest_component(graph, truth)
        yield name, gs.EdgeList.from_scipy(graph), truth, words(truth, rng)


def fraud_rows(arguments):
    for homophily, degree in ((0.3, 90), (0.15, 90), (0.6, 30)):
        for share in (0.01, 0.05):
            results = {}
            for seed in range(arguments.draws):
                rng = np.random.default_rng([SEED, seed])
                graph, truth = blocks(5000, degree, homophily, (0.9, 0.1), rng)
                nodes = rng.choice(5000, int(share * 5000), replace=False)
                y, rest = hidden(truth, nodes), np.delete(np.arange(5000), nodes)
                models = {
                    "stable": gs.StableHFSClassifier(random_state=SEED),
                    "sparse 10 %": gs.SparseHFSClassifier(keep=0.1, random_state=SEED),
                    "sparse 10 %, one pass": gs.SparseHFSClassifier(
                        keep=0.1, max_passes=1, random_state=SEED
                    ),
                    "poisson": gs.PoissonClassifier(random_state=SEED),
                }
                for method, model in models.items():
                    scores = model.fit(graph, y).scores_[rest, 1]
                    results.setdefault(method, []).append(roc_auc_score(truth[rest], scores))
            means = {key: statistics.mean(value) for key, value in results.items()}
            yield {"homophily": homophily, "degree": degree, "labeled": share} | means


def homophily_rows(arguments):
    for homophily in (-0.2, 0.0, 0.3, 0.6, 0.9):
        for n_labels in (50, 100, 300):
            fired = []
            for seed in range(arguments.draws):
                rng = np.random.default_rng([SEED, seed])
                graph, truth = blocks(1000, 10, homophily, (0.7, 0.3), rng)
                y = hidden(truth, rng.choice(1000, n_labels, replace=False))
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    gs.StableHFSClassifier(random_state=SEED).fit(graph, y)
                fired.append(any(one.category is HomophilyWarning for one in said))
            yield {"homophily": homophily, "labels": n_labels, "fired": statistics.mean(fired)}


def speed_rows(arguments):
    from sknetwork.classification import PageRankClassifier

    kinds = {"blocks": even_blocks, "plane": plane, "R-MAT": rmat}
    for name, n_edges, per_class in product(kinds, map(int, arguments.edges), (20, 200)):
        graph, truth = kinds[name](n_edges)
        if 2 * per_class * (truth.max() + 1) > truth.size:
            continue
        matrix = scipy.sparse.csr_matrix(graph.to_scipy())
        y = hidden(truth, drawn(truth, per_class * (truth.max() + 1), SEED, balanced=True))

        def ours(graph=graph, y=y, **given):
            return gs.StableHFSClassifier(random_state=SEED, **given).fit(graph, y)

        eta = ours().eta_
        ways = {
            "pagerank": lambda matrix=matrix, y=y: PageRankClassifier().fit_predict(matrix, y),
            "stable": lambda ours=ours: ours().predict(),
            "eta given": lambda ours=ours, eta=eta: ours(eta=eta, prior_weight=0.0).predict(),
        }
        told = {}
        for method, predict in ways.items():
            answer, spent = least_time(predict)
            told[method] = [float((answer == truth)[y == -1].mean()), spent]
        ratio = told["stable"][1] / told["pagerank"][1]
        yield {"data": name, "edges": n_edges, "labels a class": per_class, "ratio": ratio} | told


def parse_rows(arguments):
    n_edges = int(arguments.parse_edges)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.tsv"
        graph, truth = even_blocks(n_edges)
        gs.write_edges(graph, path)
        del graph
        graph, parse = least_time(lambda: gs.read_edges(path).to_edge_list())
    truth = truth[np.asarray(graph.ids, dtype=int)]
    y = hidden(truth, drawn(truth, 20 * (truth.max() + 1), SEED, balanced=True))
    _, fit = least_time(lambda: gs.StableHFSClassifier(random_state=SEED).fit(graph, y))
    yield {"edges": n_edges, "parse": parse, "fit": fit, "ratio": fit / parse}


def least_time(call, n_runs=3):
    """What it returns, and the least processor time of some runs."""
    spent = []
    for _ in range(n_runs):
        began = processor_time()
        result = call()
        spent.append(processor_time() - began)
    return result, min(spent)


def processor_time():
    return sum(sum(resource.getrusage(who)[:2]) for who in (RUSAGE_SELF, RUSAGE_CHILDREN))


def even_blocks(n_edges):
    source = gs.sources.block_model(n_edges // 10, n_edges, n_blocks=5, within=0.7, random_state=7)
    return source.to_edge_list(), np.arange(n_edges // 10) % 5


def plane(n_edges):
    """Points of a square joined to their neighbors; the classes are six rectangles."""
    points = np.random.default_rng(SEED).random((n_edges // 6, 2))
    truth = (np.floor(3 * points[:, 0]) + 3 * (points[:, 1] > 0.5)).astype(int)
    return gs.EdgeList.from_scipy(neighbors(points, 8)), truth


def rmat(n_edges):
    """Hubs; the first two digits of a node are its class, which edges hardly respect."""
    rng, n_digits = np.random.default_rng(SEED), int(np.ceil(np.log2(n_edges / 8)))
    ends = np.zeros((2, n_edges), dtype=int)
    for _ in range(n_digits):
        drawn_at = rng.random(n_edges)
        ends = 2 * ends + [
            drawn_at > 0.76,
            ((drawn_at > 0.57) & (drawn_at < 0.76)) | (drawn_at > 0.95),
        ]
    used, ends = np.unique(ends[:, ends[0] != ends[1]], return_inverse=True)
    tail, head = ends.reshape(2, -1)
    return gs.EdgeList(tail=tail, head=head, n_nodes=used.size), used >> (n_digits - 2)


def blocks(n_nodes, degree, homophily, shares, rng):
    """A degree-corrected block model in which the classes at the ends of an edge correlate so."""
    truth = rng.choice(len(shares), n_nodes, p=shares)
    weight = rng.pareto(2.5, n_nodes) + 0.3

    def draw(size, among):
        cumulative = np.cumsum(np.where(among, weight, 0.0))
        return np.searchsorted(cumulative, rng.random(size) * cumulative[-1])

    n_edges = n_nodes * degree // 2
    tail, head = (draw(n_edges, np.ones(n_nodes, dtype=bool)) for _ in range(2))
    told = rng.random(n_edges) < abs(homophily)
    for number in range(len(shares)):
        pick = told & (truth[tail] == number)
        head[pick] = draw(pick.sum(), (truth == number) == (homophily > 0))
    keep = tail != head
    return gs.EdgeList(tail=tail[keep], head=head[keep], n_nodes=n_nodes), truth


def gaussians(truth, apart, rng):
    centers = rng.normal(size=(truth.max() + 1, 10))
    centers *= apart / np.linalg.norm(centers, axis=1, keepdims=True)
    return centers[truth] + rng.normal(size=(truth.size, 10))


def words(truth, rng, n_words=1433):
    """Bags of some 18 words, half of which are those of the class."""
    common = 1 / np.arange(1, n_words + 1) ** 0.8
    common /= common.sum()
    own = np.array([rng.permutation(n_words) for _ in range(truth.max() + 1)])
    bags = np.zeros((truth.size, n_words), dtype=np.float32)
    for row, number in enumerate(truth):
        drawn_words = rng.choice(n_words, max(rng.poisson(18), 1), p=common)
        is_own = rng.random(drawn_words.size) < 0.5
        bags[row, np.where(is_own, own[number][drawn_words], drawn_words)] = 1.0
    return bags


def hidden(truth, nodes):
    y = np.full(truth.size, -1)
    y[nodes] = truth[nodes]
    return y


PARTS = {
    "sizes": size_rows,
    "features": feature_rows,
    "fraud": fraud_rows,
    "homophily": homophily_rows,
    "speed": speed_rows,
    "parse": parse_rows,
}

if __name__ == "__main__":
    main()
