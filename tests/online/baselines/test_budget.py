"""Learners with a budget of support points, each against the same rounds in dense algebra."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from graphsqueak import InputError
from graphsqueak.kernel import as_kernel
from graphsqueak.online import BOGD, BPAS, RBP, Forgetron, Projectron, ProjectronPP
from graphsqueak.online.losses import LOSSES
from graphsqueak.randomness import uniforms
from tests.kernel.problems import clusters

PARAMS = {"gamma": 0.5}


BUDGET = 12


FAMILY = [
    RBP(n_components=BUDGET, random_state=3),
    Forgetron(n_components=BUDGET),
    Projectron(n_components=BUDGET),
    ProjectronPP(n_components=BUDGET),
    BPAS(n_components=BUDGET),
    BOGD(loss="hinge", n_components=BUDGET, random_state=3),
]


each = pytest.mark.parametrize("learner", FAMILY, ids=lambda learner: type(learner).__name__)


def problem(n_points=300):
    """Labels that cannot be told for sure, so that there are mistakes until the end."""
    X = clusters(n_points)
    noise = 0.7 * np.random.default_rng(518_203).normal(size=n_points)
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] + noise > 0, 1.0, -1.0)


def matrix(X):
    return as_kernel("rbf", PARAMS)(X, X)


def fresh(learner, **settings):
    return type(learner)(**{**learner.get_params(), "kernel_params": PARAMS, **settings})


def random_slots(learner, n):
    """The slot that would be emptied in every round."""
    return (uniforms(learner.models_[0].seed, 0, n) * BUDGET).astype(int)


@each
def test_the_budget_is_never_exceeded_and_rows_may_come_one_by_one(learner):
    X, y = problem()
    many, one = fresh(learner), fresh(learner)
    scores = many.predict_then_learn(X, y)
    for t in range(len(X)):
        if t:
            assert one.predict_one(X[t]) == (1 if scores[t] > 0 else -1)
        one.learn_one(X[t], int(y[t]))
        assert one.n_support_ <= BUDGET
    assert one.n_support_ == many.n_support_ == len(many.components_) == BUDGET
    np.testing.assert_allclose(one.decision_function(X), many.decision_function(X), atol=1e-9)


def test_a_random_point_makes_room_for_a_mistake():
    X, y = problem()
    learner = fresh(FAMILY[0])
    got = learner.predict_then_learn(X, y)
    K, kept, expected, mistakes = matrix(X), [], [], 0
    for t, slot in enumerate(random_slots(learner, len(X))):
        expected.append(K[t, kept] @ y[kept])
        if y[t] * expected[-1] > 0:
            continue
        mistakes += 1
        if len(kept) < BUDGET:
            kept.append(t)
        else:
            kept[slot] = t
    assert mistakes > 2 * BUDGET
    np.testing.assert_allclose(got, expected, atol=1e-10)


@pytest.mark.parametrize("scale", [1.0, 0.3])  # of k(x, x), which the proof wants to be at most 1
def test_the_forgetron_shrinks_as_little_as_its_bound_allows(scale):
    X, y = problem()
    learner = fresh(FAMILY[1], kernel=ScaledGaussian(scale), kernel_params=None)
    got = learner.predict_then_learn(X, y)
    K, kept, a, lost, mistakes, expected = scale * matrix(X), [], np.zeros(300), 0.0, 0, []
    shrunk = 0
    for t in range(len(X)):
        expected.append(K[t] @ a)
        if y[t] * expected[-1] > 0:
            continue
        mistakes += 1
        kept.append(t)
        a[t] = y[t]
        if len(kept) <= BUDGET:
            continue
        r = kept.pop(0)

        def cost(phi, r=r, a=a):
            size = phi * abs(a[r])
            return size**2 * K[r, r] + 2 * size - 2 * size * np.sign(a[r]) * phi * (K[r] @ a)

        grid = np.linspace(1, 0, 200_001)  # from the largest
        room = 15 / 32 * mistakes - lost
        phi = grid[np.argmax(cost(grid) <= room)]
        shrunk += phi < 1
        a *= largest_phi(cost, room, phi)
        lost += cost(1.0)  # of coefficients that have shrunk
        assert lost <= 15 / 32 * mistakes + 1e-9
        a[r] = 0.0
    assert shrunk > 3
    np.testing.assert_allclose(got, expected, atol=1e-8)
    assert learner.removal_cost_ == pytest.approx(lost / mistakes, abs=1e-8)
    assert learner.removal_cost_ <= 15 / 32


def largest_phi(cost, room, near):
    """The largest phi with cost(phi) <= room, from one that is right to 5e-6, by bisection."""
    if near == 1.0:
        return 1.0
    low, high = near, near + 1e-5
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) <= room else (low, middle)
    return low


class ScaledGaussian:
    """A Gaussian kernel times a number."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, X, Y=None):
        return self.scale * as_kernel("rbf", PARAMS)(X, Y)

    def diag(self, X):
        return np.full(len(X), self.scale)


@pytest.mark.parametrize(
    ("loss", "scale"), [("hinge", 1.0), ("hinge", 2.5), ("epsilon_insensitive", 1.0)]
)
def test_passive_aggressive_rounds_replace_the_cheapest_point_by_the_best_step(loss, scale):
    X, y = problem(120)
    y = y if loss == "hinge" else 0.8 * y + 0.1 * X[:, 0]
    most = 0.4
    settings = {"kernel": ScaledGaussian(scale), "kernel_params": None, "clip": None}
    learner = fresh(FAMILY[4], loss=loss, aggressiveness=most, **settings)
    got = learner.predict_then_learn(X, y)
    K, a, kept, law = scale * matrix(X), np.zeros(120), [], LOSSES[loss]
    for t in range(len(X)):
        value = K[t] @ a
        assert got[t] == pytest.approx(value, abs=1e-6)
        if law.value(y[t], value) == 0:
            continue
        best = (np.inf, None, None)
        for r in [None] if len(kept) < BUDGET else kept:

            def objective(new, r=r, t=t, value=value):
                moved = np.zeros(120)
                moved[t] = new
                if r is not None:
                    moved[r] = -a[r]
                return moved @ K @ moved / 2 + most * law.value(y[t], value + K[t] @ moved)

            found = minimize_scalar(objective, bounds=(-5, 5), options={"xatol": 1e-10})
            best = min(best, (found.fun, r, found.x), key=lambda one: one[0])
        _, r, new = best
        if r is not None:
            a[r] = 0.0
            kept.remove(r)
        a[t] = new
        kept.append(t)
    assert learner.n_support_ == BUDGET


def test_bounded_descent_keeps_its_expectation_and_its_bound():
    X, y = problem()
    settings = {"learning_rate": 0.3, "regularization": 0.1}
    learner = fresh(FAMILY[5], max_coefficient=2.5, **settings)
    got = learner.predict_then_learn(X, y)
    K, slots, kept, a, expected, capped = matrix(X), random_slots(learner, 300), [], [], [], 0
    for t in range(len(X)):
        expected.append(K[t, kept] @ np.array(a))
        a = [0.97 * one for one in a]
        if y[t] * expected[-1] >= 1:
            continue
        if len(kept) < BUDGET:
            kept.append(t)
            a.append(0.3 * y[t])
            continue
        grown = np.array(a) * BUDGET / (BUDGET - 1)
        each = (1 - np.eye(BUDGET)) * grown  # a row for every point that may go
        np.testing.assert_allclose(np.mean(each, axis=0), a)
        now, r = each[slots[t]], slots[t]
        now[r], kept[r] = 0.3 * y[t], t
        capped += np.abs(now).max() > 0.75
        a = list(now * min(0.75 / np.abs(now).max(), 1.0))
    assert capped > 3
    np.testing.assert_allclose(got, expected, atol=1e-9)


def test_a_point_without_length_is_passed_over():
    zeros = np.zeros((3, 2))
    learner = BPAS(kernel="linear", n_components=2).partial_fit(zeros, [1, 1, -1])
    assert learner.n_support_ == 0
    flat = Projectron(kernel="linear", n_components=2).partial_fit(zeros, [1, 1, -1])
    assert flat.n_support_ == 0


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (RBP(n_components=0), "n_components"),
        (RBP(loss="squared"), "RBP does not support loss='squared'"),
        (Projectron(loss="logistic"), "Projectron does not support loss='logistic'"),
        (BPAS(loss="huber"), "use 'hinge' or 'epsilon_insensitive'"),
        (BPAS(aggressiveness=0.0), "aggressiveness"),
        (Projectron(threshold=-1.0), "threshold"),
        (ProjectronPP(threshold=0.0), "threshold"),
        (BOGD(loss="hinge", max_coefficient=0.0), "max_coefficient"),
    ],
)
def test_bad_settings_are_named(learner, message):
    with pytest.raises(InputError, match=message):
        learner.fit(np.eye(4), [-1, 1, -1, 1])
