"""Projections of the Projectrons are those of least squares."""

import numpy as np
import pytest

from graphsqueak.online import ProjectronPP
from tests.online.baselines.test_budget import (
    BUDGET,
    FAMILY,
    ScaledGaussian,
    fresh,
    matrix,
    problem,
)


@pytest.mark.parametrize("learner", FAMILY[2:4], ids=["plain", "margins"])
@pytest.mark.parametrize(("threshold", "scale"), [(0.2, 1.0), (0.2, 0.4), (1.5, 1.0)])
def test_projections_are_the_least_squares_ones(learner, threshold, scale):
    X, y = problem()
    kernel = ScaledGaussian(scale)
    learner = fresh(learner, threshold=threshold, kernel=kernel, kernel_params=None)
    got = learner.predict_then_learn(X, y)
    K, kept, a, expected = scale * matrix(X), [], np.zeros(300), []
    for t in range(len(X)):
        expected.append(K[t] @ a)
        margin = y[t] * expected[-1]
        share = np.linalg.lstsq(K[np.ix_(kept, kept)], K[kept, t])[0]  # of P k(x, .)
        square = K[t, kept] @ share
        far = np.sqrt(max(K[t, t] - square, 0.0))
        if margin <= 0:
            if len(kept) < BUDGET and (far > threshold or not kept):
                kept.append(t)
                a[t] = y[t]
            else:
                a[kept] += y[t] * share
        elif margin < 1 and isinstance(learner, ProjectronPP):
            surplus = 1 - margin - far / threshold
            if surplus > 0:
                step = min(1, (1 - margin) / square, 2 * surplus / square)
                a[kept] += step * y[t] * share
    np.testing.assert_allclose(got, expected, atol=1e-7)
    np.testing.assert_array_equal(learner.components_, X[kept])
    assert learner.n_support_ == (BUDGET if threshold < 1 else 1)
