"""The record of a prequential run, the best hypothesis in hindsight, and hard streams."""

import matplotlib as mpl
import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.online import (
    CONKONS,
    flipped_blocks,
    run_prequential,
)
from graphsqueak.online.evaluation import best_scores
from graphsqueak.online.losses import get_loss
from tests.online.baselines.test_kernel_descent import labeled
from tests.online.test_learner import EVERY, problem

mpl.use("Agg")


def test_a_run_is_recorded():
    X, y = problem(3000)
    seen = []
    learner = CONKONS(kernel_params={"gamma": 0.5}, random_state=1)
    run = run_prequential(
        learner, X, y, regret=True, progress=lambda done, fraction, note: seen.append(done)
    )
    assert seen == run.rounds.tolist() == [1024, 2048, 3000]
    np.testing.assert_allclose(run.losses, (run.scores - y) ** 2)
    assert run.support[-1] == run.n_support == learner.n_support_
    assert run.error_rate is None
    assert run.hindsight.mean() < run.average_loss < 0.1 * np.var(y)
    assert "regret" in str(run)
    ax = run.plot(label="CON-KONS")
    ends = [line.get_ydata()[-1] for line in ax.lines]
    np.testing.assert_allclose(ends, [run.average_loss, run.hindsight.mean()])
    mpl.pyplot.close("all")


def test_errors_and_regret_of_classifiers():
    X, y = problem(600)
    labels = np.sign(y)
    for loss in ("hinge", "logistic", "squared_hinge"):
        learner = CONKONS(loss=loss, clip=2.0, kernel_params={"gamma": 0.5}, random_state=1)
        run = run_prequential(learner, X, labels, regret=True)
        assert run.error_rate == np.mean((run.scores > 0) != (labels > 0))
        assert run.hindsight.mean() < run.average_loss
        assert "errors" in str(run)
    with pytest.raises(InputError, match="regret=True"):
        run_prequential(learner, X, labels).regret  # noqa: B018


@pytest.mark.parametrize("learner", EVERY, ids=lambda learner: type(learner).__name__)
def test_every_learner_has_a_space_to_be_compared_in(learner):
    X, y = problem()
    run = run_prequential(type(learner)(**learner.get_params()), X, y, regret=True)
    assert run.hindsight.mean() < run.average_loss


def test_flipped_blocks_repeat_and_flip():
    X, y = labeled(50)
    A, b = flipped_blocks(X, y, n_blocks=20, n_repeats=5, random_state=2)
    assert (A.reshape(20, 5, -1) == A[::5, None]).all()
    row = [int(np.flatnonzero((a == X).all(axis=1))[0]) for a in A[::5]]
    np.testing.assert_array_equal(b[::5] * y[row], np.tile([1.0, -1.0], 10))
    with pytest.raises(InputError, match="-1 and 1"):
        flipped_blocks(X, np.zeros(50), n_blocks=2, n_repeats=2)
    with pytest.raises(InputError, match="50 rows"):
        flipped_blocks(X, y[:3], n_blocks=2, n_repeats=2)


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_the_best_hypothesis_has_no_slope(loss):
    """Of sum_t l(y_t, z_t'w) + alpha |w|^2: sum_t l' z_t + 2 alpha w = 0."""
    rng = np.random.default_rng(60_137)
    features, alpha = rng.normal(size=(40, 3)), 2.5
    targets = np.sign(features[:, 0] + rng.normal(size=40))
    scores = best_scores(features, targets, loss=get_loss(loss), alpha=alpha)
    w = np.linalg.lstsq(features, scores)[0]
    slope = features.T @ get_loss(loss).derivative(targets, scores) + 2 * alpha * w
    # The search stops at about 1e-3; with alpha in place of 2 alpha the slope is above 0.25.
    np.testing.assert_allclose(slope, 0.0, atol=0.01)
    assert np.abs(w).max() > 0.1
