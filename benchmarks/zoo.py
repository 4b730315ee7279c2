"""The graphs on which solvers and resistances are measured: a name, and how to make it.

Real graphs are looked up as `real_data` says; one that is absent is left out.
"""

import gzip

import numpy as np
import scipy.io
from real_data import data_file, load_present

from graphsqueak.graph import EdgeList
from graphsqueak.sources.synthetic import closed_forms as synthetic
from graphsqueak.sources.synthetic import random_graphs

__all__ = ["ZOO", "load"]

SEED = 20_261_116


def load(names=None):
    """Yield (name, EdgeList) for each name of the zoo whose file, if it needs one, is there."""
    return load_present(ZOO, names)


def _rough_grid(side):
    """A grid whose weights spread over six decades, 10^uniform(-3, 3)."""
    smooth = synthetic.grid(side, side).to_edge_list()
    exponent = np.random.default_rng(SEED).uniform(-3, 3, smooth.n_edges)
    return EdgeList(tail=smooth.tail, head=smooth.head, weight=10**exponent)


def _solid_grid(side, decades=0):
    """A grid in three dimensions; weights 10^uniform(-decades, decades)."""
    node = np.arange(side**3).reshape(side, side, side)
    pairs = [(node[1:], node[:-1]), (node[:, 1:], node[:, :-1]), (node[..., 1:], node[..., :-1])]
    tail, head = (np.concatenate([pair[end].ravel() for pair in pairs]) for end in (0, 1))
    exponent = np.random.default_rng(SEED).uniform(-decades, decades, tail.size)
    return EdgeList(tail=tail, head=head, weight=10**exponent)


def _rmat(scale, n_edges):
    """Each bit of the two ids falls into one of four quadrants; loops go, repeats stay."""
    rng = np.random.default_rng(SEED)
    tail = head = np.zeros(n_edges, dtype=np.int64)
    for _ in range(scale):
        quadrant = np.searchsorted([0.57, 0.76, 0.95], rng.random(n_edges), side="right")
        tail, head = 2 * tail + quadrant // 2, 2 * head + quadrant % 2
    return EdgeList(tail=tail, head=head, n_nodes=2**scale)


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


def _neighbors(n_nodes, n_neighbors):
    """Gaussian weights of at least 1e-6, as neighbor graphs are made in practice.

    Without the floor a few outliers have degrees of 1e-13, and no solution of mean zero to a
    random right-hand side can be written in float64 with a residual below 1e-7.
    """
    raw = random_graphs.gaussian_neighbors(n_nodes, n_neighbors, random_state=SEED).to_edge_list()
    return EdgeList(tail=raw.tail, head=raw.head, weight=np.maximum(raw.weight, 1e-6))


def _random(make, *arguments):
    return lambda: make(*arguments, random_state=SEED).to_edge_list()


ZOO = {
    "grid 500x500": lambda: synthetic.grid(500, 500).to_edge_list(),
    "grid 300x300 rough": lambda: _rough_grid(300),
    "grid 64^3": lambda: _solid_grid(64),
    "grid 64^3 rough": lambda: _solid_grid(64, decades=2),
    "Erdos-Renyi 1e5 x 1e6": _random(random_graphs.erdos_renyi, 100_000, 1_000_000),
    "Erdos-Renyi 2e4 x 2e6": _random(random_graphs.erdos_renyi, 20_000, 2_000_000),
    "Chung-Lu 1e5 x 2e6": _random(random_graphs.chung_lu, 100_000, 2_000_000),
    "Chung-Lu 1e5 x 1.5e5": _random(random_graphs.chung_lu, 100_000, 150_000),
    "R-MAT 2^16": lambda: _rmat(16, 2_450_000),
    "Gaussian 50-NN 4e4": lambda: _neighbors(40_000, 50),
    "barbell 2 x 500": lambda: synthetic.barbell(500, 1000).to_edge_list(),
    "path 1e5": lambda: synthetic.path(100_000).to_edge_list(),
    "star 1e5": lambda: synthetic.star(100_000).to_edge_list(),
    "4elt": lambda: _metis("4elt.graph"),
    "fe_4elt2": lambda: _metis("fe_4elt2.graph"),
    "wing": lambda: _metis("wing.graph"),
    "minnesota": _minnesota,
    "ca-AstroPh": _astro,
}
