"""Graphs that cases measure: a name, and a function that returns an `EdgeList`.

Real graphs are read from the folder of `real_data`; a FileNotFoundError is raised if one is absent.
"""

import gzip
from collections.abc import Iterator

import numpy as np
import scipy.io
import scipy.sparse
import scipy.spatial
from sklearn.datasets import load_digits, make_moons
from sklearn.neighbors import kneighbors_graph

from benchmarks.real_data import data_file, load_present
from graphsqueak.datasets import load_spam
from graphsqueak.graph import EdgeList
from graphsqueak.sources import neighbor_edges, read_edges
from graphsqueak.sources.synthetic import closed_forms, random_graphs

SEED = 20_261_116
# Probabilities of three of the quadrants of an R-MAT graph, as in Graph 500.
RMAT_QUADRANTS = (0.57, 0.19, 0.19)


def load(names: list[str] | None = None) -> Iterator[tuple[str, EdgeList]]:
    """Yield (name, graph) for each name whose file, if it needs one, exists."""
    return load_present(GRAPHS, names)


def grid(side: int, decades: float = 0.0) -> EdgeList:
    """Return a square grid with weights 10^uniform(-decades, decades)."""
    return _rough(closed_forms.grid(side, side).to_edge_list(), decades)


def solid_grid(side: int, decades: float = 0.0) -> EdgeList:
    """Return a grid in three dimensions with weights 10^uniform(-decades, decades)."""
    node = np.arange(side**3).reshape(side, side, side)
    pairs = [(node[1:], node[:-1]), (node[:, 1:], node[:, :-1]), (node[..., 1:], node[..., :-1])]
    tail = np.concatenate([first.ravel() for first, _ in pairs])
    head = np.concatenate([second.ravel() for _, second in pairs])
    return _rough(EdgeList(tail=tail, head=head), decades)


def _rough(graph, decades):
    exponent = np.random.default_rng(SEED).uniform(-decades, decades, graph.n_edges)
    return EdgeList(tail=graph.tail, head=graph.head, weight=10**exponent, n_nodes=graph.n_nodes)


def rmat(scale: int, n_edges: int) -> EdgeList:
    """Return an R-MAT graph of 2^scale nodes."""
    tail, head = rmat_ends(scale, n_edges, seed=SEED)
    return EdgeList(tail=tail, head=head, n_nodes=2**scale)


def rmat_ends(scale: int, n_edges: int, seed) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of R-MAT edges: each bit of two ids falls into one of four quadrants."""
    rng = np.random.default_rng(seed)
    tail = np.zeros(n_edges, dtype=np.int64)
    head = np.zeros(n_edges, dtype=np.int64)
    for _ in range(scale):
        quadrant = np.searchsorted(np.cumsum(RMAT_QUADRANTS), rng.random(n_edges), side="right")
        tail = 2 * tail + quadrant // 2
        head = 2 * head + quadrant % 2
    return tail, head


def delaunay(n_nodes: int) -> EdgeList:
    """Return the Delaunay triangulation of random points in a square."""
    points = np.random.default_rng(SEED).random((n_nodes, 2))
    corners = scipy.spatial.Delaunay(points).simplices
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    sides = np.unique(np.sort(sides, axis=1), axis=0)
    return EdgeList(tail=sides[:, 0], head=sides[:, 1], n_nodes=n_nodes)


def road_like(n_nodes: int) -> EdgeList:
    """Return the shortest spanning tree of a Delaunay triangulation and 15 % of its other edges.

    The mean degree is 2.6, as in road networks, and weights are inverse lengths.
    """
    points = np.random.default_rng(SEED).random((n_nodes, 2))
    whole = delaunay(n_nodes)
    length = np.linalg.norm(points[whole.tail] - points[whole.head], axis=1)
    matrix = scipy.sparse.coo_matrix((length, (whole.tail, whole.head)), shape=(n_nodes, n_nodes))
    tree = scipy.sparse.csgraph.minimum_spanning_tree(matrix.tocsr()).tocoo()
    in_tree = np.isin(
        whole.tail.astype(np.int64) * n_nodes + whole.head,
        np.minimum(tree.row, tree.col).astype(np.int64) * n_nodes + np.maximum(tree.row, tree.col),
    )
    is_kept = in_tree | (np.random.default_rng(SEED + 1).random(whole.n_edges) < 0.15)
    weight = 1 / np.maximum(length[is_kept] * np.sqrt(n_nodes), 1e-3)
    return EdgeList(
        tail=whole.tail[is_kept], head=whole.head[is_kept], weight=weight, n_nodes=n_nodes
    )


def gaussian_neighbors(n_nodes: int, n_neighbors: int) -> EdgeList:
    """Return a k-nearest-neighbor graph with Gaussian weights of at least 1e-6.

    Without this bound a few outliers have degrees of 1e-13, and no solution of mean zero to a
    random right-hand side can be written in float64 with a residual below 1e-7.
    """
    raw = random_graphs.gaussian_neighbors(n_nodes, n_neighbors, random_state=SEED).to_edge_list()
    return EdgeList(tail=raw.tail, head=raw.head, weight=np.maximum(raw.weight, 1e-6))


def _random(make, *arguments):
    return lambda: make(*arguments, random_state=SEED).to_edge_list()


def _metis(name):
    lines = data_file("meshes", name).read_text().splitlines()
    rows = [np.array(line.split(), dtype=np.int64) - 1 for line in lines[1:]]
    tail = np.repeat(np.arange(len(rows)), [row.size for row in rows])
    head = np.concatenate(rows)
    return EdgeList(tail=tail[tail < head], head=head[tail < head], n_nodes=len(rows))


def _minnesota():
    path = data_file("meshes", "minnesota.mat")
    return EdgeList.from_scipy(scipy.io.loadmat(path)["A"].astype(np.float64))


def _astro():
    with gzip.open(data_file("ca-AstroPh", "astro-ph-cc1.jlg.gz"), "rt") as lines:
        pairs = np.loadtxt(lines, delimiter=",", skiprows=1, usecols=(0, 1), dtype=np.int64) - 1
    return EdgeList(tail=pairs[:, 0], head=pairs[:, 1])


def _snap(name):
    """Read a graph of SNAP from a folder of its name, which has one file."""
    files = sorted(data_file(name).iterdir())
    return read_edges(files[0]).to_edge_list().simplified()


def _facebook():
    path = data_file("facebook_combined", "facebook_combined.txt")
    # Some copies have a first line with the numbers of nodes and edges.
    has_header = path.read_text().partition("\n")[0].split() == ["4039", "88234"]
    pairs = np.loadtxt(path, dtype=np.int64, skiprows=int(has_header))
    return EdgeList(tail=pairs[:, 0], head=pairs[:, 1]).simplified()


def pairs_of(folder: str, name: str, n_skipped: int) -> EdgeList:
    """Read a text file with two ids per line; nodes are numbered in the order of their ids."""
    pairs = np.loadtxt(data_file(folder, name), dtype=np.int64, skiprows=n_skipped)
    _, nodes = np.unique(pairs, return_inverse=True)
    tail, head = nodes.reshape(-1, 2).T
    return EdgeList(tail=tail, head=head).simplified()


GRAPHS = {
    "grid 300x300": lambda: grid(300),
    "grid 500x500": lambda: grid(500),
    "grid 700x700": lambda: grid(700),
    "grid 300x300 rough": lambda: grid(300, decades=3),
    "grid 500x500 rough": lambda: grid(500, decades=3),
    "grid 64^3": lambda: solid_grid(64),
    "grid 64^3 rough": lambda: solid_grid(64, decades=2),
    "Delaunay 3e5": lambda: delaunay(300_000),
    "road-like 3e5": lambda: road_like(300_000),
    "small world 2e5": _random(random_graphs.small_world, 400, 500, 200_000),
    "Erdos-Renyi 1e5 x 1e6": _random(random_graphs.erdos_renyi, 100_000, 1_000_000),
    "Erdos-Renyi 2e4 x 2e6": _random(random_graphs.erdos_renyi, 20_000, 2_000_000),
    "Chung-Lu 1e5 x 2e6": _random(random_graphs.chung_lu, 100_000, 2_000_000),
    "Chung-Lu 1e5 x 1.5e5": _random(random_graphs.chung_lu, 100_000, 150_000),
    "R-MAT 2^16": lambda: rmat(16, 2_450_000),
    "R-MAT 2^18": lambda: rmat(18, 4_000_000),
    "Gaussian 50-NN 4e4": lambda: gaussian_neighbors(40_000, 50),
    "barbell 2 x 500": lambda: closed_forms.barbell(500, 1000).to_edge_list(),
    "path 1e5": lambda: closed_forms.path(100_000).to_edge_list(),
    "star 1e5": lambda: closed_forms.star(100_000).to_edge_list(),
    "4elt": lambda: _metis("4elt.graph"),
    "fe_4elt2": lambda: _metis("fe_4elt2.graph"),
    "wing": lambda: _metis("wing.graph"),
    "minnesota": _minnesota,
    "ca-AstroPh": _astro,
    "ca-GrQc": lambda: pairs_of("ca-GrQc", "CA-GrQc.txt", 4),
    "facebook_combined": _facebook,
    "com-Amazon": lambda: _snap("com-Amazon"),
    "as-Skitter": lambda: _snap("as-Skitter"),
    "com-LiveJournal": lambda: _snap("com-LiveJournal"),
    "com-Orkut": lambda: _snap("com-Orkut"),
}


# Dense graphs on n nodes, on which the error of sparsifiers is measured.


def _lognormal_weights(n_nodes, seed):
    n_edges = n_nodes * n_nodes // 16
    plain = random_graphs.erdos_renyi(n_nodes, n_edges, random_state=seed + 1).to_edge_list()
    weight = np.random.default_rng(seed).lognormal(sigma=2.0, size=plain.n_edges)
    return EdgeList(tail=plain.tail, head=plain.head, weight=weight, n_nodes=n_nodes)


def _grid_and_far_edges(n_nodes, seed):
    side = int(n_nodes**0.5)
    return random_graphs.small_world(side, side, 25 * n_nodes, random_state=seed).to_edge_list()


DENSE_SEED = 137_035
DENSE = {
    "Erdos-Renyi": lambda n: random_graphs.erdos_renyi(
        n, n * n // 2, random_state=DENSE_SEED
    ).to_edge_list(),
    "block model": lambda n: random_graphs.block_model(
        n, n * n // 2, random_state=DENSE_SEED
    ).to_edge_list(),
    "Gaussian 900-NN": lambda n: random_graphs.gaussian_neighbors(
        n, 9 * n // 20, random_state=DENSE_SEED
    ).to_edge_list(),
    "barbell": lambda n: closed_forms.barbell(n // 2).to_edge_list(),
    "lognormal weights": lambda n: _lognormal_weights(n, DENSE_SEED),
    "Chung-Lu": lambda n: random_graphs.chung_lu(
        n, n * n // 10, random_state=DENSE_SEED
    ).to_edge_list(),
    "grid and far edges": lambda n: _grid_and_far_edges(n, DENSE_SEED),
}
SOCIAL = ("facebook_combined", "ca-GrQc", "ca-AstroPh")


def dense_graphs(n_nodes: int) -> Iterator[tuple[str, EdgeList]]:
    """Yield (name, graph): the dense graphs, and from 2,000 nodes the social ones that exist."""
    for name, make in DENSE.items():
        yield name, make(n_nodes)
    if n_nodes >= 2000:
        yield from load(SOCIAL)


# Graphs with a class per node, as SciPy matrices.

LABEL_SEED = 52_361


def neighbors(points: np.ndarray, k: int) -> scipy.sparse.csr_matrix:
    """Return the symmetric k-nearest-neighbor graph with unit weights."""
    half = kneighbors_graph(points, k)
    return half.maximum(half.T).tocsr()


def blobs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points of two Gaussian classes, of 30 and 70 %."""
    rng = np.random.default_rng(LABEL_SEED)
    truth = (np.arange(n) >= 3 * n // 10).astype(int)
    points = rng.normal(size=(n, 2)) + np.outer(truth, [2.5, 0.0])
    order = rng.permutation(n)
    return points[order], truth[order]


def polblogs() -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    """Return links between political blogs, and their sides."""
    stored = np.load(data_file("polblogs", "polblogs.npz"))
    parts = (stored["adj_data"], stored["adj_indices"], stored["adj_indptr"])
    half = scipy.sparse.csr_matrix(parts, shape=stored["adj_shape"]).astype(float)
    return unweighted(half), stored["labels"].astype(int)


def cora() -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    """Return citations between papers, and their topics."""
    with gzip.open(data_file("planetoid_cora", "edges.txt.gz")) as lines:
        ends = np.loadtxt(lines, dtype=int)
    with gzip.open(data_file("planetoid_cora", "labels.txt.gz")) as lines:
        truth = np.loadtxt(lines, dtype=int)
    shape = (truth.size, truth.size)
    return unweighted(scipy.sparse.csr_matrix((np.ones(len(ends)), ends.T), shape=shape)), truth


def unweighted(half: scipy.sparse.csr_matrix) -> scipy.sparse.csr_matrix:
    """Return a symmetric adjacency matrix of ones, without loops."""
    both = half.maximum(half.T).tolil()
    both.setdiag(0)
    both = both.tocsr()
    both.eliminate_zeros()
    both.data[:] = 1.0
    return both


def largest_component(graph, truth) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    """Return the largest component: some baselines do not return on disconnected graphs."""
    component = scipy.sparse.csgraph.connected_components(graph)[1]
    kept = np.flatnonzero((component == np.bincount(component).argmax()) & (truth >= 0))
    return graph[kept][:, kept].tocsr(), np.unique(truth[kept], return_inverse=True)[1]


def spambase() -> tuple[np.ndarray, np.ndarray]:
    """Return standardized points of Spambase, without repetitions, and their classes."""
    table = np.unique(np.loadtxt(data_file("spambase", "spambase.data"), delimiter=","), axis=0)
    table = table[np.random.default_rng(LABEL_SEED).permutation(len(table))]
    points = np.log1p(table[:, :57])
    return (points - points.mean(axis=0)) / points.std(axis=0), table[:, -1].astype(int)


def spam():
    """Return points and classes of the shipped mails."""
    mails = load_spam()
    return mails.points, mails.labels


def spam_graph() -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    """Return the neighbor graph of the shipped mails, and their classes."""
    # By cosines: some mails have no word left, and the origin is near to everything.
    points, truth = spam()
    return scipy.sparse.csr_matrix(neighbor_edges(points, 10).to_edge_list().to_scipy()), truth


def _neighbor_graph(load_points):
    points, truth = load_points()
    return neighbors(points, 10), truth


LABELED = {
    "digits": lambda: _neighbor_graph(lambda: load_digits(return_X_y=True)),
    "moons": lambda: _neighbor_graph(lambda: make_moons(1000, noise=0.1, random_state=LABEL_SEED)),
    "blobs 30/70": lambda: _neighbor_graph(lambda: blobs(1000)),
    "polblogs": lambda: largest_component(*polblogs()),
    "cora": lambda: largest_component(*cora()),
    "spambase": lambda: largest_component(*_neighbor_graph(spambase)),
    "spam": lambda: largest_component(*spam_graph()),
}


def labeled_nodes(truth, n_labels: int, seed: int, *, is_balanced: bool) -> np.ndarray:
    """Return random nodes to label, with every class among them."""
    rng = np.random.default_rng([LABEL_SEED, seed, n_labels])
    classes = np.unique(truth)
    if is_balanced:
        per_class = n_labels // classes.size
        picks = [rng.permutation(np.flatnonzero(truth == c))[:per_class] for c in classes]
        return np.concatenate(picks)
    while True:
        nodes = rng.choice(truth.size, n_labels, replace=False)
        if np.unique(truth[nodes]).size == classes.size:
            return nodes
