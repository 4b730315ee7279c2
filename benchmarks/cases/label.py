"""Label the nodes of a graph from few labels: wrong labels in percent, and time.

All methods get the same graph and the same labels, have their default options, and are compared on
the nodes without a label. Values are means over draws of the labels.
"""

import statistics
import warnings
from functools import partial

import numpy as np
import scipy.sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import graphsqueak as gs
from benchmarks import graphs
from benchmarks.runner import OURS, Run, Timed, case
from graphsqueak.sources.synthetic import random_graphs

N_DRAWS = 20
N_DRAWS_SHORT = 3
NUMBERS_OF_LABELS = (20, 100, 1000)
LABELS_PER_CLASS = (1, 5, 20)
KEPT_OF_DENSE = 0.05
HOMOPHILIES = (-0.2, 0.0, 0.3, 0.6, 0.9)


@case("label", short=("digits", "moons"), full=tuple(graphs.LABELED))
def accuracy(run: Run, name: str) -> None:
    """Label nodes of 10-nearest-neighbor graphs and of graphs of links."""
    matrix, truth = graphs.LABELED[name]()
    edges = gs.EdgeList.from_scipy(matrix)
    for n_labels in NUMBERS_OF_LABELS[: None if run.is_full else 2]:
        if n_labels > truth.size // 2:
            continue
        draws = []
        for seed in _draws(run):
            is_balanced = name == "digits"
            draws.append(graphs.labeled_nodes(truth, n_labels, seed, is_balanced=is_balanced))
        contenders = {
            OURS: lambda y: gs.StableHFSClassifier(random_state=0).fit(edges, y).predict(),
            "graphsqueak HFS": lambda y: gs.HFSClassifier(random_state=0).fit(edges, y).predict(),
            "graphsqueak 1-NN": lambda y: gs.NearestLabelClassifier().fit(edges, y).predict(),
            "scikit-learn LabelSpreading": partial(_label_spreading, matrix),
            "scikit-learn LabelPropagation": partial(_label_propagation, matrix),
            "scikit-network diffusion": partial(_sknetwork, matrix, "DiffusionClassifier"),
            "scikit-network PageRank": partial(_sknetwork, matrix, "PageRankClassifier"),
            "GraphLearning Laplace": partial(_graphlearning, matrix, "laplace"),
            "GraphLearning Poisson": partial(_graphlearning, matrix, "poisson"),
            "PyG LabelPropagation": partial(_pyg, matrix),
        }
        _measure(run, contenders, truth, draws, f", {n_labels} labels")


@case("label", short=("digits",), full=("digits", "cora", "blocks of 70, 20, 10 %"))
def known_class_sizes(run: Run, name: str) -> None:
    """Label nodes if the sizes of the classes are known."""
    if name in graphs.LABELED:
        matrix, truth = graphs.LABELED[name]()
    else:
        edges, truth = blocks(2000, 10, 0.6, (0.7, 0.2, 0.1), np.random.default_rng(run.seed))
        matrix, truth = graphs.largest_component(scipy.sparse.csr_matrix(edges.to_scipy()), truth)
    edges = gs.EdgeList.from_scipy(matrix)
    fractions = np.bincount(truth) / truth.size
    sizes = dict(enumerate(fractions))

    def ours(y, **options):
        return gs.StableHFSClassifier(random_state=0, **options).fit(edges, y).predict()

    for per_class in LABELS_PER_CLASS:
        n_labels = per_class * fractions.size
        draws = [
            graphs.labeled_nodes(truth, n_labels, seed, is_balanced=True) for seed in _draws(run)
        ]
        contenders = {
            OURS: partial(ours, class_sizes=sizes, decision="cut"),
            "graphsqueak, scores": partial(ours, class_sizes=sizes),
            "graphsqueak, estimated sizes": partial(ours, class_sizes="auto"),
            "graphsqueak, unknown sizes": ours,
            "GraphLearning PoissonMBO": partial(
                _graphlearning, matrix, "poisson_mbo", class_priors=fractions
            ),
        }
        _measure(run, contenders, truth, draws, f", {per_class} labels per class")


@case(
    "label",
    short=("blocks, homophily 0.6",),
    full=(
        *(f"blocks, homophily {homophily}" for homophily in HOMOPHILIES),
        "blocks, noise as features",
        "cora, random words",
    ),
)
def features(run: Run, name: str) -> None:
    """Label nodes that have features: both, next to the features alone."""
    rng = np.random.default_rng(run.seed)
    if name.startswith("cora"):
        matrix, truth = graphs.LABELED["cora"]()
        graph = gs.EdgeList.from_scipy(matrix)
        points = _words(truth, rng)
    else:
        is_noise = name.endswith("noise as features")
        homophily = 0.6 if is_noise else float(name.split()[-1])
        graph, truth = blocks(2000, 10, homophily, (0.5, 0.3, 0.2), rng)
        points = _gaussians(truth, 0.0 if is_noise else 1.5, rng)
    for per_class in (5, 20):
        n_labels = per_class * (truth.max() + 1)
        draws = [
            graphs.labeled_nodes(truth, n_labels, seed, is_balanced=True) for seed in _draws(run)
        ]
        contenders = {
            OURS: partial(_stacked, graph, points),
            "graphsqueak, graph alone": lambda y: (
                gs.StableHFSClassifier(random_state=0).fit(graph, y).predict()
            ),
            "scikit-learn, features alone": partial(_regression, points),
        }
        _measure(run, contenders, truth, draws, f", {per_class} labels per class")


@case("label", short=(100_000,), full=(10_000, 100_000, 1_000_000))
def block_model(run: Run, n_edges: int) -> None:
    """Label nodes of a block model of five classes, with 200 labels per class."""
    n_nodes = n_edges // 10
    graph = random_graphs.block_model(
        n_nodes, n_edges, n_blocks=5, within=0.7, random_state=run.seed
    ).to_edge_list()
    truth = np.arange(n_nodes) % 5
    matrix = scipy.sparse.csr_matrix(graph.to_scipy())
    n_labels = 5 * min(200, n_nodes // 20)
    draws = [graphs.labeled_nodes(truth, n_labels, run.seed, is_balanced=True)]
    contenders = {
        OURS: lambda y: gs.StableHFSClassifier(random_state=0).fit(graph, y).predict(),
        "scikit-network PageRank": partial(_sknetwork, matrix, "PageRankClassifier"),
        "scikit-network diffusion": partial(_sknetwork, matrix, "DiffusionClassifier"),
        "scikit-learn LabelSpreading": partial(_label_spreading, matrix),
        "GraphLearning Poisson": partial(_graphlearning, matrix, "poisson"),
    }
    _measure(run, contenders, truth, draws, "")


@case("label", short=("digits",), full=("digits", "spambase", "spam"))
def dense(run: Run, name: str) -> None:
    """Label nodes of a dense neighbor graph (k = n / 6) with 5 % of its edges in memory."""
    if name == "digits":
        points, truth = load_digits(return_X_y=True)
    else:
        points, truth = getattr(graphs, name)()
    k = len(truth) // 6
    if name == "spam":
        whole = gs.neighbor_edges(points, k).to_edge_list()
    else:
        whole = gs.EdgeList.from_scipy(graphs.neighbors(points, k))
    truth = np.asarray(truth)
    n_kept = int(KEPT_OF_DENSE * whole.n_edges)

    def from_sparsifier(y, method):
        edges = gs.sparsify(whole, n_edges=n_kept, method=method, random_state=0)
        return gs.StableHFSClassifier(random_state=0).fit(edges, y).predict()

    for n_labels in (20, 100):
        draws = [
            graphs.labeled_nodes(truth, n_labels, seed, is_balanced=False) for seed in _draws(run)
        ]
        contenders = {
            OURS: lambda y: (
                gs.SparseHFSClassifier(keep=KEPT_OF_DENSE, random_state=0).fit(whole, y).predict()
            ),
            "graphsqueak, one pass": lambda y: (
                gs.SparseHFSClassifier(keep=KEPT_OF_DENSE, max_passes=1, random_state=0)
                .fit(whole, y)
                .predict()
            ),
            "graphsqueak, all edges": lambda y: (
                gs.StableHFSClassifier(random_state=0).fit(whole, y).predict()
            ),
            "any sparsifier": partial(from_sparsifier, method="auto"),
            "random edges": partial(from_sparsifier, method="uniform"),
        }
        _measure(run, contenders, truth, draws, f", {n_labels} labels")


def _draws(run):
    return range(N_DRAWS if run.is_full else N_DRAWS_SHORT)


def _measure(run, contenders, truth, draws, suffix):
    """Record the mean time of a fit and the mean percentage of wrong labels."""
    with warnings.catch_warnings():
        # Some draws are too small for an estimate, which is part of the comparison.
        warnings.simplefilter("ignore")
        calls = {
            name: partial(_mean_fit, run.clock, predict, truth, draws)
            for name, predict in contenders.items()
        }
        outputs = run.time(calls, n_rounds=1, quantity=f"time{suffix}")
    for contender, wrong in outputs.items():
        run.record(contender, f"wrong labels{suffix}", 100 * wrong, unit="%")


def _mean_fit(clock, predict, truth, draws):
    seconds = []
    wrong = []
    for nodes in draws:
        y = np.full(truth.size, -1)
        y[nodes] = truth[nodes]
        began = clock()
        predicted = np.asarray(predict(y))
        seconds.append(clock() - began)
        is_compared = y == -1
        wrong.append(float(np.mean(predicted[is_compared] != truth[is_compared])))
    return Timed(statistics.mean(seconds), statistics.mean(wrong))


def _label_spreading(matrix, y):
    from sklearn.semi_supervised import LabelSpreading

    # scikit-learn takes a function in place of a kernel; ours returns the graph.
    model = LabelSpreading(kernel=lambda X, Y: matrix)
    return model.fit(np.arange(y.size)[:, None], y).transduction_


def _label_propagation(matrix, y):
    from sklearn.semi_supervised import LabelPropagation

    model = LabelPropagation(kernel=lambda X, Y: matrix)
    return model.fit(np.arange(y.size)[:, None], y).transduction_


def _sknetwork(matrix, name, y):
    from sknetwork import classification

    return getattr(classification, name)().fit_predict(matrix, y)


def _graphlearning(matrix, name, y, **options):
    import graphlearning

    nodes = np.flatnonzero(y >= 0)
    return getattr(graphlearning.ssl, name)(matrix, **options).fit_predict(nodes, y[nodes])


def _pyg(matrix, y):
    """Propagate labels 50 times with alpha = 0.9, as in PyG's example."""
    import torch
    from torch_geometric.nn.models import LabelPropagation

    both = matrix.tocoo()
    ends = torch.from_numpy(np.stack([both.row, both.col]).astype(np.int64))
    weight = torch.from_numpy(both.data.astype(np.float32))
    is_labeled = torch.from_numpy(y >= 0)
    classes = torch.from_numpy(np.maximum(y, 0))
    scores = LabelPropagation(num_layers=50, alpha=0.9)(
        classes, ends, mask=is_labeled, edge_weight=weight
    )
    return scores.argmax(dim=1).numpy()


def _stacked(graph, points, y):
    model = gs.ssl.GraphStacking(LogisticRegression(max_iter=300), random_state=0)
    return model.fit(graph, y, points).predict()


def _regression(points, y):
    is_labeled = y >= 0
    model = LogisticRegression(max_iter=300).fit(points[is_labeled], y[is_labeled])
    return model.predict(points)


def _gaussians(truth, distance, rng):
    centers = rng.normal(size=(truth.max() + 1, 10))
    centers *= distance / np.linalg.norm(centers, axis=1, keepdims=True)
    return centers[truth] + rng.normal(size=(truth.size, 10))


def _words(truth, rng, n_words=1433):
    """Return bags of about 18 words: half of them are drawn from the words of the class."""
    frequency = 1 / np.arange(1, n_words + 1) ** 0.8
    frequency /= frequency.sum()
    words_of_class = np.array([rng.permutation(n_words) for _ in range(truth.max() + 1)])
    bags = np.zeros((truth.size, n_words), dtype=np.float32)
    for node, label in enumerate(truth):
        words = rng.choice(n_words, max(rng.poisson(18), 1), p=frequency)
        is_of_class = rng.random(words.size) < 0.5
        bags[node, np.where(is_of_class, words_of_class[label][words], words)] = 1.0
    return bags


def blocks(n_nodes, degree, homophily, fractions, rng):
    """Return a degree-corrected block model and its classes.

    Parameters
    ----------
    n_nodes, degree : int
        Number of nodes, and mean degree.
    homophily : float
        Fraction of edges that join equal classes (negative: different ones) on purpose.
    fractions : sequence of float
        Sizes of the classes.
    rng : Generator
    """
    truth = rng.choice(len(fractions), n_nodes, p=fractions)
    popularity = rng.pareto(2.5, n_nodes) + 0.3

    def draw(size, is_allowed):
        cumulative = np.cumsum(np.where(is_allowed, popularity, 0.0))
        return np.searchsorted(cumulative, rng.random(size) * cumulative[-1])

    n_edges = n_nodes * degree // 2
    everywhere = np.ones(n_nodes, dtype=bool)
    tail = draw(n_edges, everywhere)
    head = draw(n_edges, everywhere)
    is_directed_by_class = rng.random(n_edges) < abs(homophily)
    for number in range(len(fractions)):
        chosen = is_directed_by_class & (truth[tail] == number)
        head[chosen] = draw(chosen.sum(), (truth == number) == (homophily > 0))
    is_kept = tail != head
    return gs.EdgeList(tail=tail[is_kept], head=head[is_kept], n_nodes=n_nodes), truth
