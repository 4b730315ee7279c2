"""Norms from flows along a spanning forest: upper bounds, exact on trees."""

import numpy as np
import pytest

from graphsqueak import EdgeList
from graphsqueak.sparsifiers.certificate.forest_norm import ROUNDING_UNIT, ForestNorm
from tests import reference
from tests.sparsifiers.certificate.graded import random_pair


def test_forest_norms_are_upper_bounds():
    """Of a residual, on graphs with weights over twelve decades, with and without a ridge."""
    for seed in range(37_001, 37_021):
        graph, _, ridge = random_pair(seed)
        rng = np.random.default_rng(seed)
        flow = rng.standard_normal((graph.n_edges, 3)) * np.sqrt(graph.weight)[:, None]
        residual = graph.incidence().T @ flow
        if ridge > 0:
            residual += np.sqrt(ridge) * rng.standard_normal(residual.shape)
        bound = ForestNorm(graph, ridge)(residual)
        for column, most in zip(residual.T, bound, strict=True):
            norm = reference.energy_norm(graph, column[:, None], ridge)
            assert norm <= most * (1 + 1e-9) <= 100 * norm


def test_the_forest_norm_of_a_tree_is_exact():
    rng = np.random.default_rng(61_010)
    tree = EdgeList(
        tail=[int(rng.integers(node)) for node in range(1, 60)],
        head=np.arange(1, 60),
        weight=10.0 ** rng.uniform(-12, 0, size=59),
    )
    flow = rng.standard_normal((59, 1)) * np.sqrt(tree.weight)[:, None]
    found = ForestNorm(tree, 0.0)(tree.incidence().T @ flow)
    assert found == pytest.approx(np.sqrt((flow[:, 0] ** 2 / tree.weight).sum()), rel=1e-8)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_rounding_of_a_path_has_a_closed_form(ridge):
    """chi sums, over the edges of a forest, the smaller volume next to an edge over its weight.

    Without a ridge the path 0 - 1 - 2 of weights 1 and 4 has volumes 1 and 9, 6 and 4 on the two
    sides of its edges. A ridge adds a node 3 with edges of weight 0.5, and the edge of 3 in the
    forest has volume 3 * 0.5 on its side, 11.5 on the other.
    """
    path = EdgeList(tail=[0, 1], head=[1, 2], weight=[1.0, 4.0])
    chi = 1 / 1 + 4 / 4
    if ridge:
        chi = 1.5 / 1 + 4.5 / 4 + 1.5 / 0.5
    assert ForestNorm(path, ridge).rounding == pytest.approx(ROUNDING_UNIT * np.sqrt(chi))
