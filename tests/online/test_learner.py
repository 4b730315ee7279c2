"""One interface: purity, classes, refusals, scikit-learn's checks, the record of a run."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from graphsqueak import InputError
from graphsqueak.online import (
    BKONS,
    CONKONS,
    FOGD,
    KONS,
    NOGD,
    PROSNKONS,
    DualSGD,
    KernelOGD,
    SkeGD,
    SketchedKONS,
    progressive,
)
from tests.kernel.problems import clusters

mpl.use("Agg")

EVERY = [
    KONS(),
    SketchedKONS(random_state=3),
    PROSNKONS(random_state=3),
    CONKONS(random_state=3),
    BKONS(random_state=3),
    KernelOGD(),
    FOGD(random_state=3),
    NOGD(n_components=10),
    DualSGD(n_components=10, random_state=3),
    SkeGD(n_components=20, cycle=10, random_state=3),
]
CHECKED = [
    KONS(),
    CONKONS(loss="squared_hinge", clip=2.0, alpha=0.01, random_state=3),
    PROSNKONS(random_state=3),
    SkeGD(n_components=20, cycle=10, random_state=3),
    NOGD(loss="logistic", learning_rate=0.5, n_components=50, rank=0.5),
    FOGD(loss="hinge", learning_rate=0.5, random_state=3),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def problem(n_points=120):
    X = clusters(n_points)
    return X, np.clip(np.sin(X[:, 0]), -0.9, 0.9)


@pytest.mark.parametrize("learner", EVERY, ids=lambda learner: type(learner).__name__)
def test_one_row_and_many_are_the_same_rounds_and_predicting_is_pure(learner):
    X, y = problem()
    many = type(learner)(**learner.get_params())
    scores = many.predict_then_learn(X, y)
    one = type(learner)(**learner.get_params())
    for t in range(len(X)):
        first, second = one.predict_one(X[t]), one.predict_one(X[t])
        assert first == second == pytest.approx(scores[t], abs=1e-8)
        one.learn_one(X[t], y[t])
    np.testing.assert_allclose(one.predict(X), many.predict(X), atol=1e-8)
    assert one.n_support_ == many.n_support_
    assert one.n_rounds_ == len(X)


def test_the_loss_decides_what_a_learner_is():
    assert is_regressor(KONS())
    assert is_classifier(KONS(loss="logistic"))
    assert not hasattr(KONS(), "decision_function")
    X, y = problem()
    labels = np.where(y > 0, "up", "down")
    learner = CONKONS(loss="logistic", clip=3.0, random_state=2).fit(X, labels)
    assert learner.classes_.tolist() == ["down", "up"]
    assert learner.score(X, labels) > 0.9
    assert learner.predict_one(X[0]) in ("down", "up")


def test_labels_without_classes():
    learner = KONS(loss="hinge").learn_one([1.0, 0.0], True)
    assert learner.predict_one([1.0, 0.0]) is True
    assert KONS(loss="hinge").learn_one([1.0], 1).predict_one([1.0]) == 1
    assert KONS(loss="hinge").predict_one([1.0]) == -1
    with pytest.raises(InputError, match="none of the classes"):
        KONS(loss="hinge").learn_one([1.0], 3)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (KONS(loss="logistic", clip=None), "needs a clip"),
        (KONS(eta="global", clip=None), "needs a clip"),
        (KONS(alpha=0.0), "alpha"),
        (KONS(eta="fast"), "eta"),
        (KONS(eta=-1.0), "eta"),
        (KONS(clip=0.0), "clip"),
        (CONKONS(form="short"), "form"),
        (CONKONS(n_components=0), "n_components"),
        (SketchedKONS(beta=0.0), "beta"),
        (FOGD(kernel="poly"), "for kernel='rbf'"),
        (NOGD(rank=0.0), "rank"),
        (DualSGD(regularization=0.0), "regularization"),
        (SkeGD(transfer="none"), "transfer"),
        (KernelOGD(learning_rate=0.0), "learning_rate"),
    ],
)
def test_bad_settings_are_named(learner, message):
    X, y = problem()
    with pytest.raises(InputError, match=message):
        learner.fit(X, np.sign(y) if learner.loss != "squared" else y)


def test_bad_rows_are_named():
    learner = KONS().learn_one([1.0, 2.0], 0.5)
    with pytest.raises(InputError, match="3 features"):
        learner.predict_one([1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="NaN"):
        learner.learn_one([np.nan, 2.0], 0.5)
    with pytest.raises(InputError, match="one class"):
        KONS(loss="hinge").fit(np.eye(2), [1, 1])
    with pytest.raises(InputError, match="not \\["):
        progressive([], np.eye(2), [1, 1])


def test_a_run_is_recorded():
    X, y = problem(3000)
    seen = []
    learner = CONKONS(kernel_params={"gamma": 0.5}, random_state=1)
    run = progressive(
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
        run = progressive(learner, X, labels, regret=True)
        assert run.error_rate == np.mean((run.scores > 0) != (labels > 0))
        assert run.hindsight.mean() < run.average_loss
        assert "errors" in str(run)
    with pytest.raises(InputError, match="regret=True"):
        progressive(learner, X, labels).regret  # noqa: B018


@pytest.mark.parametrize("learner", EVERY, ids=lambda learner: type(learner).__name__)
def test_every_learner_has_a_space_to_be_compared_in(learner):
    X, y = problem()
    run = progressive(type(learner)(**learner.get_params()), X, y, regret=True)
    assert run.hindsight.mean() < run.average_loss
