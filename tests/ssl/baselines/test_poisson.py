"""Poisson learning solves its equation, and meets class sizes."""

import numpy as np
import pytest

import graphsqueak as gs
from tests.ssl.graphs import hide, uneven_blocks


@pytest.mark.filterwarnings("ignore::graphsqueak.ssl.base.UnreachedWarning")
def test_poisson_solves_its_equation():
    graph, truth = uneven_blocks(50_021, 0.6)
    y = hide(truth, np.random.default_rng(3).choice(600, 20, replace=False))
    model = gs.PoissonClassifier(tol=1e-10).fit(graph, y)
    reached = model.has_label_in_component_
    adjacency, degrees = graph.to_scipy(), graph.degrees()
    flow = (degrees[:, None] * model.scores_ - adjacency @ model.scores_)[:, 0]
    known = y >= 0
    expected = np.where(known, (y == 0) - (y[known] == 0).mean(), 0.0)
    np.testing.assert_allclose(flow[reached], expected[reached], atol=1e-6)
    assert abs(degrees @ model.scores_[:, 0]) < 1e-6
    sized = gs.PoissonClassifier(class_sizes={0: 7, 1: 3}).fit(graph, y)
    assert abs((sized.transduction_ == 0).mean() - 0.7) < 0.01
