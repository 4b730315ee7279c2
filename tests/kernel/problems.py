"""Small kernel problems that several tests share."""

import numpy as np

from graphsqueak.kernel import as_kernel


def clusters(n_points=120, n_features=3, *, seed=531_942_087, spread=0.6):
    """Points around five centers, uneven in size, so that leverage scores differ widely."""
    rng = np.random.default_rng(seed)
    center = rng.normal(size=(5, n_features)) * 2
    label = rng.choice(5, size=n_points, p=[0.5, 0.25, 0.15, 0.07, 0.03])
    return center[label] + spread * rng.normal(size=(n_points, n_features))


def gaussian_matrix(X, gamma=0.5):
    """The Gaussian kernel matrix of X."""
    return as_kernel("rbf", {"gamma": gamma})(X, X)


def random_psd(n_points, rank, *, seed):
    """A kernel matrix of given rank with an uneven diagonal."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n_points, rank)) * rng.uniform(0.3, 3, size=(n_points, 1))
    return factor @ factor.T


def draw(K, n_copies, *, ridge, rng):
    """Weights of a dictionary drawn with the exact scores, binomial copies."""
    tau = np.diag(np.linalg.solve(K + ridge * np.eye(len(K)), K))
    return rng.binomial(n_copies, tau) / (n_copies * tau)
