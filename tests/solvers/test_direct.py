"""The exact factorization as a preconditioner."""

import copy

import numpy as np
import pytest

from graphsqueak.graph import EdgeList
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.solvers.components import Components
from graphsqueak.solvers.direct import Direct
from graphsqueak.solvers.matrix import build_laplacian
from tests import reference

TWO_PARTS = EdgeList(
    tail=[0, 1, 2, 4, 5], head=[1, 2, 0, 5, 6], weight=[1, 2, 3, 4, 5.0], n_nodes=8
)


def test_components_with_and_without_a_ridge_are_solved_exactly():
    ridge = np.array([0, 0, 0, 0, 0.5, 0, 0, 0])
    matrix = build_laplacian(TWO_PARTS, ridge)
    components = Components(matrix)
    b = components.centered(np.random.default_rng(7).standard_normal((8, 3)))
    z = components.centered(Direct(matrix, components)(b))
    np.testing.assert_allclose(z, reference.pseudo_solve(TWO_PARTS, b, ridge), atol=1e-12)


def test_a_copy_factorizes_again():
    matrix = build_laplacian(TWO_PARTS, np.ones(8))
    direct = Direct(matrix, Components(matrix))
    b = np.eye(8)
    np.testing.assert_array_equal(copy.deepcopy(direct)(b), direct(b))


def test_isolated_nodes_without_a_ridge_get_zero():
    matrix = build_laplacian(EdgeList(tail=[], head=[], n_nodes=3), np.zeros(3))
    np.testing.assert_array_equal(Direct(matrix, Components(matrix))(np.ones((3, 2))), 0.0)


def test_a_pivot_that_is_rounded_to_zero_does_not_stop_the_direct_solver():
    """Behind an edge of weight 1e-20 the exact factor has a pivot of 1e-20 = 1 - 1 + 1e-20."""
    path = EdgeList(tail=[0, 1, 2], head=[1, 2, 3], weight=[1.0, 1e-20, 1.0])
    x = LaplacianSolver(path, solver="direct").solve(np.array([1.0, -1.0, 2.0, -2.0]))
    assert x[0] - x[1] == pytest.approx(1.0)
    assert x[2] - x[3] == pytest.approx(2.0)
