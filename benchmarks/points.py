"""The points on which kernel dictionaries are measured: a name, and how to make them.

Real data is looked up as `real_data` says; what is absent is left out. Features are standardized
(spambase: scaled to [0, 1]) and rows shuffled.
"""

import numpy as np
from real_data import data_file, load_present
from sklearn.datasets import load_svmlight_file

__all__ = ["POINTS", "load"]

SEED = 20_261_117


def load(names=None):
    """Yield (name, X, y) for each set whose file, if it needs one, is there."""
    for name, (X, y) in load_present(POINTS, names):
        order = np.random.default_rng(SEED).permutation(len(X))
        yield name, X[order], (y[order] - y.mean()) / y.std()


def _standard(X):
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)


def _cadata():
    table = np.loadtxt(data_file("cadata", "cal_housing.data"), delimiter=",")
    return _standard(table[:, :-1]), table[:, -1]


def _cpusmall():
    X, y = load_svmlight_file(str(data_file("cpusmall", "cpusmall.txt")))
    return _standard(X.toarray()), y


def _casp():
    table = np.loadtxt(data_file("casp", "CASP.csv"), delimiter=",", skiprows=1)
    return _standard(table[:, 1:]), table[:, 0]


def _spambase():
    table = np.loadtxt(data_file("spambase", "spambase.data"), delimiter=",")
    X = table[:, :-1]
    return (X - X.min(axis=0)) / np.ptp(X, axis=0), table[:, -1]


def _coherent(n_points=8000, n_groups=60):
    """Most points in one group, sixty small groups far away: uniform sampling misses most."""
    rng = np.random.default_rng(SEED)
    center = np.vstack([np.zeros(6), 6 * rng.normal(size=(n_groups, 6))])
    share = np.r_[0.97, np.full(n_groups, 0.03 / n_groups)]
    label = rng.choice(n_groups + 1, size=n_points, p=share)
    X = center[label] + 0.1 * rng.normal(size=(n_points, 6))
    return X, rng.normal(size=n_groups + 1)[label] + X[:, 0]


def _ring(n_points=4000):
    """A ring around a blob, two of three in the blob."""
    rng = np.random.default_rng(SEED)
    on_ring = rng.random(n_points) < 1 / 3
    angle = rng.uniform(0, 2 * np.pi, size=n_points)
    ring = 5 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(
        size=(n_points, 2)
    )
    X = np.where(on_ring[:, None], ring, 0.3 * rng.normal(size=(n_points, 2)))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n_points)


def _cloud(n_points=4000):
    """A cloud, and every twenty-fifth point far away and alone."""
    rng = np.random.default_rng(SEED)
    far = rng.random(n_points) < 1 / 25
    X = np.where(far[:, None], 12.0, 0.5) * rng.normal(size=(n_points, 3))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n_points)


POINTS = {
    "ring": _ring,
    "cloud": _cloud,
    "cadata": _cadata,
    "cpusmall": _cpusmall,
    "casp": _casp,
    "spambase": _spambase,
    "coherent": _coherent,
}
