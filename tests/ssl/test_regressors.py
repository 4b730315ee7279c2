"""Regression on smooth functions, and without a label in reach."""

import networkx as nx
import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.ssl.base import UnreachedWarning


def test_regression_recovers_a_smooth_function():
    graph = nx.grid_2d_graph(12, 12)
    truth = {(i, j): i + 2.0 * j for i, j in graph.nodes}
    known = np.random.default_rng(88_301).choice(144, 40, replace=False)
    y = {node: truth[node] for node in (divmod(number, 12) for number in known.tolist())}
    model = gs.StableHFSRegressor(random_state=7).fit(graph, y)
    assert model.score(None, truth) > 0.9


def test_regression_predicts_the_mean_where_nothing_reaches():
    graph = gs.EdgeList(tail=[0, 2], head=[1, 3])
    with pytest.warns(UnreachedWarning, match="2 of 4"):
        model = gs.StableHFSRegressor(eta=1.0).fit(graph, [1.0, 2.0, np.nan, np.nan])
    assert model.transduction_[2:].tolist() == [1.5, 1.5]
