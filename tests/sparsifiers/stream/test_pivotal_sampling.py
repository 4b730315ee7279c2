"""Ordered pivotal sampling: probabilities and degrees."""

import numpy as np

from graphsqueak.sparsifiers.stream.pivotal_sampling import pivotal_sample
from graphsqueak.system.kernels import N_PARTS


def test_every_edge_is_sampled_with_its_probability():
    """Frequencies over 2,000 seeds are within six standard deviations."""
    n_runs = 2000
    rng = np.random.default_rng(3)
    leverage = rng.uniform(0.02, 1.6, size=200)
    is_certain = rng.random(200) < 0.01
    prob = np.where(is_certain, 1.0, np.minimum(leverage, 1.0))
    count = np.zeros(200)
    for seed in range(n_runs):
        chosen = pivotal_sample(leverage, is_certain, 1.0, seed=seed)
        assert abs(np.count_nonzero(chosen) - prob.sum()) < N_PARTS
        count += chosen
    std = np.sqrt(prob * (1 - prob) / n_runs)
    assert (np.abs(count / n_runs - prob) <= 6 * std + 1e-12).all()


def test_nodes_get_their_expected_number_of_edges():
    """Edges are sorted by head: counts are off by less than two; independent ones by five."""
    head = np.repeat(np.arange(400), 100)
    leverage = np.random.default_rng(8).uniform(0.2, 0.8, size=head.size)
    chosen = pivotal_sample(leverage, np.zeros(head.size, dtype=np.bool_), 1.0, seed=77)
    error = np.bincount(head[chosen]) - np.bincount(head, leverage)
    assert np.abs(error).max() < 2
