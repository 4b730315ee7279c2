"""Block conjugate gradients: the proved rate, columns that depend on each other, loose solves."""

import numpy as np
import pytest

from graphsqueak import sparsify
from graphsqueak.outofcore import BlockCG
from tests import reference
from tests.outofcore.graphs import examples, right_hand_sides


def matrices(graph, ridge):
    """L + diag(ridge), and its pseudo-inverse."""
    matrix = graph.laplacian().toarray() + np.diag(np.broadcast_to(ridge, graph.n_nodes))
    return matrix, np.linalg.pinv(matrix, rcond=1e-12, hermitian=True)


def steps(A, M, M_inverse, B, n_steps, error=0.0):
    """Iterates of BlockCG with dense products; solves with M are off by `error`, at random."""
    rng = np.random.default_rng(93_010)
    cg = BlockCG(np.zeros_like(B), B.copy(), lambda y: M @ y)
    for _ in range(n_steps):
        z = M_inverse @ cg.residual
        noise = rng.standard_normal(z.shape)
        noise -= noise.mean(axis=0)
        z += error * noise * np.linalg.norm(z, axis=0) / np.linalg.norm(noise, axis=0)
        cg.turn(z, np.linalg.norm(cg.residual, axis=0) > 1e-13 * np.linalg.norm(B, axis=0))
        cg.advance(A @ cg.direction)
        yield cg.x.copy()


@pytest.mark.parametrize("name", ["dense", "heavy", "clusters", "grid", "pieces"])
@pytest.mark.parametrize(("n_columns", "ridge"), [(1, 0.0), (5, 0.0), (3, 0.7)])
def test_the_error_falls_at_the_proved_rate(name, n_columns, ridge):
    """2 ((sqrt k - 1) / (sqrt k + 1))^t in the energy norm, k of the exact pencil."""
    graph = examples()[name]
    sparsifier = sparsify(graph, keep=0.4, random_state=93_011)
    kappa = reference.pencil_condition(graph, sparsifier, ridge)
    rate = (np.sqrt(kappa) - 1) / (np.sqrt(kappa) + 1)
    B = right_hand_sides(graph, n_columns, 93_012)
    A, _ = matrices(graph, ridge)
    truth = reference.pseudo_solve(graph, B, ridge)
    energy = np.sqrt((truth * (A @ truth)).sum(axis=0))
    for t, x in enumerate(steps(A, *matrices(sparsifier, ridge), B, 12), start=1):
        error = x - truth
        found = np.sqrt((error * (A @ error)).sum(axis=0).clip(0))
        assert (found <= 2 * rate**t * energy + 1e-10 * energy).all()


def test_the_proved_rate_needs_its_factor_of_two():
    """Eigenvalues 1 and 9, the right-hand side that is worst for one step.

    The step leaves (kappa - 1) / (kappa + 1) = 0.8 of the error, the most that any single step can.
    That is more than the rate 0.5, and less than twice the rate.
    """
    A = np.diag([1.0, 9.0])
    truth = np.array([[9.0], [1.0]])
    B = A @ truth
    energy = np.sqrt(np.sum(truth * B))
    first, second = steps(A, np.eye(2), np.eye(2), B, 2)
    left = [np.sqrt(np.sum((x - truth) * (A @ (x - truth)))) / energy for x in (first, second)]
    assert left[0] == pytest.approx(0.8)
    assert 0.5 < left[0] < 2 * 0.5
    assert left[1] == pytest.approx(0.0, abs=1e-12)


def test_many_columns_need_no_more_steps_than_one():
    graph = examples()["clusters"]
    sparsifier = sparsify(graph, keep=0.15, random_state=93_013)
    B = right_hand_sides(graph, 12, 93_014)
    A, _ = matrices(graph, 0.0)
    truth = reference.pseudo_solve(graph, B)
    errors = []
    for columns in (slice(0, 1), slice(0, 12)):
        *_, x = steps(A, *matrices(sparsifier, 0.0), B[:, columns], 6)
        error = x[:, 0] - truth[:, 0]
        errors.append(error @ A @ error)
    assert errors[1] < 0.5 * errors[0]


def test_columns_that_depend_on_others():
    graph = examples()["dense"]
    sparsifier = sparsify(graph, keep=0.4, random_state=93_015)
    two = right_hand_sides(graph, 2, 93_016)
    B = np.column_stack([two, two @ [1.0, -2.0], 1e-9 * two[:, 0], np.zeros(graph.n_nodes)])
    A, _ = matrices(graph, 0.0)
    *_, x = steps(A, *matrices(sparsifier, 0.0), B, 25)
    truth = reference.pseudo_solve(graph, B)
    scale = np.abs(truth).max(axis=0) + 1e-300
    assert (np.abs(x - truth) <= 1e-10 * scale).all()


def test_loose_solves_cost_few_steps():
    """Solves that are off by a twentieth, differently each time: still a factor 2 per step."""
    graph = examples()["dense"]
    sparsifier = sparsify(graph, keep=0.5, random_state=93_017)
    B = right_hand_sides(graph, 4, 93_018)
    A, _ = matrices(graph, 0.0)
    *_, x = steps(A, *matrices(sparsifier, 0.0), B, 20, error=0.05)
    error = np.linalg.norm(B - A @ x) / np.linalg.norm(B)
    assert error <= 2.0**-20
