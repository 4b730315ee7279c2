"""Labeled graphs of different kinds: one half to tune defaults on, the other to check them.

The split was written down before anything was measured, and defaults are changed by results on the
graphs for tuning only. Generators have the properties of graphs on which defaults are hard: degrees
with hubs and weak separation (co-purchases), a class of 0.6 to 2.3 %, weak homophily, small
components. Every kind is in both halves with other parameters; real graphs are in one of them.
"""

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from benchmarks.graphs import cora, neighbors, polblogs, spam_graph, spambase, unweighted
from benchmarks.real_data import data_file, load_present

__all__ = ["CHECKING", "TUNING", "load_graphs"]


def from_pairs(tail, head, n_nodes):
    """Return the adjacency matrix of an unweighted graph without loops."""
    half = scipy.sparse.coo_array((np.ones(len(tail)), (tail, head)), shape=(n_nodes, n_nodes))
    return unweighted(half.tocsr())


def uneven_classes(n_nodes, n_classes, rng, *, ratio):
    """Return classes whose sizes fall geometrically, the first `ratio` times the last."""
    share = np.geomspace(ratio, 1, n_classes)
    return rng.choice(n_classes, n_nodes, p=share / share.sum())


def co_purchases(n_nodes, *, n_classes, topic_size, degree, exponent, p_topic, p_class, seed):
    """Edges inside small topics, inside classes and anywhere; popular nodes are hubs.

    `exponent` is that of the popularity (Pareto): 1.5 gives nodes that a tenth of the others are
    joined to.
    """
    rng = np.random.default_rng(seed)
    truth = uneven_classes(n_nodes, n_classes, rng, ratio=5)
    topic = truth * n_nodes + rng.integers(n_nodes, size=n_nodes) % (n_nodes // topic_size)
    popularity = 1 + rng.pareto(exponent, n_nodes)
    n_edges = n_nodes * degree // 2
    tail = rng.integers(n_nodes, size=n_edges)
    kind = rng.choice(3, n_edges, p=[p_topic, p_class, 1 - p_topic - p_class])
    head = np.zeros(n_edges, dtype=np.int64)
    for number, group in enumerate((topic, truth, np.zeros(n_nodes))):
        chosen = np.flatnonzero(kind == number)
        head[chosen] = popular_members(group, tail[chosen], popularity, rng)
    return from_pairs(tail, head, n_nodes), truth


def popular_members(group, nodes, popularity, rng):
    """Return for each node another member of its group, drawn by popularity."""
    head = np.zeros(nodes.size, dtype=np.int64)
    for value in np.unique(group[nodes]):
        members = np.flatnonzero(group == value)
        of_value = np.flatnonzero(group[nodes] == value)
        share = popularity[members] / popularity[members].sum()
        head[of_value] = rng.choice(members, of_value.size, p=share)
    return head


def corrected_blocks(n_nodes, *, n_classes, degree, homophily, exponent, ratio, seed):
    """Degree-corrected blocks: an edge stays inside its class with probability `homophily`."""
    rng = np.random.default_rng(seed)
    truth = uneven_classes(n_nodes, n_classes, rng, ratio=ratio)
    activity = 1 + rng.pareto(exponent, n_nodes)
    n_edges = n_nodes * degree // 2
    tail = rng.choice(n_nodes, n_edges, p=activity / activity.sum())
    head = rng.choice(n_nodes, n_edges, p=activity / activity.sum())
    inside = np.flatnonzero(rng.random(n_edges) < homophily)
    head[inside] = popular_members(truth, tail[inside], activity, rng)
    return from_pairs(tail, head, n_nodes), truth


def citations(n_nodes, *, n_classes, homophily, p_copy, p_new, seed):
    """Nodes that cite one to three earlier ones, often of their class, or what these cite.

    A fraction `p_new` cites none, so that there are many components.
    """
    rng = np.random.default_rng(seed)
    truth = uneven_classes(n_nodes, n_classes, rng, ratio=4)
    cited = [[] for _ in range(n_nodes)]
    members = [[] for _ in range(n_classes)]
    pairs = []
    for node in range(n_nodes):
        for _ in range(0 if rng.random() < p_new else rng.integers(1, 4)):
            if cited[node] and rng.random() < p_copy:
                options = cited[cited[node][0]] or cited[node]
                target = options[rng.integers(len(options))]
            elif rng.random() < homophily and members[truth[node]]:
                # Recent nodes are cited more often.
                own = members[truth[node]]
                target = own[int(len(own) * rng.random() ** 0.5)]
            elif node:
                target = int(rng.integers(node))
            else:
                continue
            cited[node].append(target)
            pairs.append((node, target))
        members[truth[node]].append(node)
    tail, head = np.array(pairs).T
    return from_pairs(tail, head, n_nodes), truth


def texts(n_nodes, *, n_classes, n_words, length, mixture, ratio, seed):
    """10-NN graph by cosines of texts whose words come from their class with share `mixture`."""
    rng = np.random.default_rng(seed)
    truth = uneven_classes(n_nodes, n_classes, rng, ratio=ratio)
    background = 1 / np.arange(1, n_words + 1)
    background /= background.sum()
    # Three topics per class, each a sparse distribution over words.
    topics = rng.dirichlet(background * 60, size=3 * n_classes)
    topic = 3 * truth + rng.integers(3, size=n_nodes)
    share = mixture * topics[topic] + (1 - mixture) * background
    lengths = 1 + rng.poisson(length * rng.exponential(size=n_nodes))
    share /= share.sum(axis=1, keepdims=True)
    counts = np.array([rng.multinomial(n, p) for n, p in zip(lengths, share, strict=True)])
    points = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    cosines = (points @ points.T).toarray()
    np.fill_diagonal(cosines, -1)
    nearest = np.argpartition(-cosines, 10, axis=1)[:, :10]
    tail = np.repeat(np.arange(n_nodes), 10)
    weight = np.maximum(cosines[tail, nearest.ravel()], 1e-3)
    half = scipy.sparse.csr_array((weight, (tail, nearest.ravel())), shape=cosines.shape)
    return half.maximum(half.T).tocsr(), truth


def images(n_nodes, *, n_classes, noise, seed):
    """10-NN graph of points on a curved surface of two dimensions per class, in 30 dimensions."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_nodes)
    angles = rng.uniform(0, 2 * np.pi, size=(n_nodes, 2))
    points = np.zeros((n_nodes, 30))
    for value in range(n_classes):
        own = truth == value
        frequency = rng.normal(size=(2, 30))
        phase = rng.uniform(0, 2 * np.pi, 30)
        points[own] = np.cos(angles[own] @ frequency + phase)
    return neighbors(points + noise * rng.normal(size=points.shape), 10), truth


def geometric(n_nodes, *, n_classes, n_cells, degree, seed):
    """Points of a square that are joined if they are close; classes are unions of Voronoi cells."""
    rng = np.random.default_rng(seed)
    points = rng.random((n_nodes, 2))
    centers = rng.random((n_cells, 2))
    class_of_cell = np.arange(n_cells) % n_classes
    truth = class_of_cell[((points[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)]
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    tail, head = np.nonzero(np.triu(squared < degree / (np.pi * n_nodes), k=1))
    return from_pairs(tail, head, n_nodes), truth


def many_components(n_components, *, size, n_classes, purity, seed):
    """Small random graphs, each mostly of one class; a node has its class with `purity`."""
    rng = np.random.default_rng(seed)
    sizes = 2 + rng.geometric(1 / size, n_components)
    component = np.repeat(np.arange(n_components), sizes)
    main = uneven_classes(n_components, n_classes, rng, ratio=3)[component]
    is_other = rng.random(component.size) > purity
    truth = np.where(is_other, rng.integers(n_classes, size=component.size), main)
    first = np.cumsum(sizes) - sizes
    # A random tree, and as many further edges, in every component.
    position = np.arange(component.size) - first[component]
    parent = first[component] + (rng.random(component.size) * position).astype(int)
    further = first[component] + (rng.random(component.size) * sizes[component]).astype(int)
    node = np.arange(component.size)
    tail = np.concatenate([node, node])
    head = np.concatenate([np.where(position > 0, parent, node), further])
    return from_pairs(tail, head, component.size), truth


def fraud(n_nodes, *, fraction, ring_size, degree, camouflage, exponent, seed):
    """A rare class in rings; a fraction `camouflage` of the edges of its nodes leaves the rings."""
    rng = np.random.default_rng(seed)
    base, _ = corrected_blocks(
        n_nodes, n_classes=6, degree=degree, homophily=0.7, exponent=exponent, ratio=3, seed=seed
    )
    n_positive = round(fraction * n_nodes)
    positive = rng.choice(n_nodes, n_positive, replace=False)
    truth = np.zeros(n_nodes, dtype=np.int64)
    truth[positive] = 1
    kept = base.tocoo()
    # Most edges of the base at positive nodes give way to those of the rings.
    is_rare = (truth[kept.row] == 1) | (truth[kept.col] == 1)
    kept_rows = ~is_rare | (rng.random(kept.row.size) < camouflage / 2)
    ring = np.arange(n_positive) // ring_size
    n_own = n_positive * degree // 2
    start = rng.integers(n_positive, size=n_own)
    end = popular_members(ring, start, np.ones(n_positive), rng)
    tail = np.concatenate([kept.row[kept_rows], positive[start]])
    head = np.concatenate([kept.col[kept_rows], positive[end]])
    return from_pairs(tail, head, n_nodes), truth


def rare_points(n_nodes, *, fraction, n_clusters, distance, seed):
    """10-NN graph of normal points in ten dimensions, and a rare class in clusters at the edge."""
    rng = np.random.default_rng(seed)
    truth = np.zeros(n_nodes, dtype=np.int64)
    truth[: round(fraction * n_nodes)] = 1
    points = rng.normal(size=(n_nodes, 10))
    direction = rng.normal(size=(n_clusters, 10))
    direction *= distance / np.linalg.norm(direction, axis=1, keepdims=True)
    own = np.flatnonzero(truth)
    points[own] = 0.6 * points[own] + direction[rng.integers(n_clusters, size=own.size)]
    order = rng.permutation(n_nodes)
    return neighbors(points[order], 10), truth[order]


def credit():
    """10-NN graph of the german credit data."""
    table = np.loadtxt(data_file("german", "german.data-numeric"), skiprows=1)
    points = StandardScaler().fit_transform(table[:, :-1])
    return neighbors(points, 10), table[:, -1].astype(int) - 1


def scaled_neighbors(load):
    """10-NN graph of a data set of scikit-learn, with features of unit deviation."""
    points, truth = load(return_X_y=True)
    return neighbors(StandardScaler().fit_transform(points), 10), truth


def spambase_sample():
    """10-NN graph of 2,500 mails of Spambase."""
    points, truth = spambase()
    return neighbors(points[:2500], 10), truth[:2500]


TUNING = {
    "co-purchases a": lambda: co_purchases(
        2500, n_classes=8, topic_size=60, degree=30, exponent=1.3, p_topic=0.5, p_class=0.3, seed=1
    ),
    "co-purchases b": lambda: co_purchases(
        2000, n_classes=10, topic_size=25, degree=20, exponent=1.6, p_topic=0.6, p_class=0.1, seed=2
    ),
    "blocks a": lambda: corrected_blocks(
        1500, n_classes=4, degree=12, homophily=0.6, exponent=2, ratio=2, seed=3
    ),
    "citations a": lambda: citations(
        2500, n_classes=6, homophily=0.85, p_copy=0.4, p_new=0.15, seed=4
    ),
    "texts a": lambda: texts(
        1500, n_classes=5, n_words=2000, length=40, mixture=0.25, ratio=3, seed=5
    ),
    "images a": lambda: images(2000, n_classes=10, noise=0.45, seed=6),
    "geometric a": lambda: geometric(1500, n_classes=4, n_cells=12, degree=12, seed=7),
    "weak a": lambda: corrected_blocks(
        1500, n_classes=3, degree=10, homophily=0.25, exponent=2, ratio=2, seed=8
    ),
    "components a": lambda: many_components(250, size=8, n_classes=3, purity=0.9, seed=9),
    "fraud a": lambda: fraud(
        3000, fraction=0.015, ring_size=9, degree=10, camouflage=0.3, exponent=2, seed=10
    ),
    "rare points a": lambda: rare_points(3000, fraction=0.01, n_clusters=2, distance=3.5, seed=11),
    "polblogs": lambda: polblogs(),
    "digits": lambda: scaled_neighbors(load_digits),
    "spambase": spambase_sample,
    "german": credit,
}

CHECKING = {
    "co-purchases c": lambda: co_purchases(
        3000,
        n_classes=7,
        topic_size=40,
        degree=36,
        exponent=1.4,
        p_topic=0.55,
        p_class=0.2,
        seed=21,
    ),
    "co-purchases d": lambda: co_purchases(
        2000,
        n_classes=12,
        topic_size=100,
        degree=16,
        exponent=1.2,
        p_topic=0.7,
        p_class=0.1,
        seed=22,
    ),
    "blocks b": lambda: corrected_blocks(
        2000, n_classes=6, degree=20, homophily=0.5, exponent=2.5, ratio=4, seed=23
    ),
    "citations b": lambda: citations(
        3000, n_classes=5, homophily=0.75, p_copy=0.6, p_new=0.1, seed=24
    ),
    "texts b": lambda: texts(
        1500, n_classes=8, n_words=3000, length=80, mixture=0.15, ratio=2, seed=25
    ),
    "images b": lambda: images(2500, n_classes=6, noise=0.6, seed=26),
    "geometric b": lambda: geometric(2000, n_classes=3, n_cells=20, degree=8, seed=27),
    "weak b": lambda: corrected_blocks(
        1500, n_classes=5, degree=24, homophily=0.2, exponent=3, ratio=1, seed=28
    ),
    "components b": lambda: many_components(150, size=15, n_classes=4, purity=0.8, seed=29),
    "fraud b": lambda: fraud(
        4000, fraction=0.008, ring_size=16, degree=8, camouflage=0.2, exponent=1.5, seed=30
    ),
    "fraud c": lambda: fraud(
        2500, fraction=0.022, ring_size=6, degree=14, camouflage=0.5, exponent=3, seed=31
    ),
    "rare points b": lambda: rare_points(4000, fraction=0.02, n_clusters=5, distance=3.0, seed=32),
    "rare points c": lambda: rare_points(4000, fraction=0.006, n_clusters=1, distance=4.0, seed=33),
    "cora": lambda: cora(),
    "mails": spam_graph,
    "breast cancer": lambda: scaled_neighbors(load_breast_cancer),
    "wine": lambda: scaled_neighbors(load_wine),
}


def load_graphs(split, names=None):
    """Yield (name, graph, classes) of the graphs for "tuning" or for "checking"."""
    makers = {"tuning": TUNING, "checking": CHECKING}[split]
    for name, (graph, truth) in load_present(makers, names):
        graph = scipy.sparse.csr_array(graph, dtype=float)
        # Nodes without a known class stay, and are not measured.
        yield name, graph, np.asarray(truth)


def is_rare(truth):
    """Return whether the graph has two classes, one of them with at most 3 % of the nodes."""
    counts = np.bincount(truth[truth >= 0])
    return counts.size == 2 and counts.min() <= 0.03 * counts.sum()


def describe(graph, truth):
    """Return size, mean and largest degree, classes, agreement of neighbors, and components."""
    row, column = graph.nonzero()
    degree = np.bincount(row, minlength=graph.shape[0])
    agree = float((truth[row] == truth[column]).mean())
    n_components, _ = connected_components(graph)
    counts = np.bincount(truth[truth >= 0])
    return {
        "nodes": graph.shape[0],
        "degree": float(degree.mean()),
        "largest": int(degree.max()),
        "classes": counts.size,
        "smallest class": counts.min() / counts.sum(),
        "neighbors agree": agree,
        "components": n_components,
    }
