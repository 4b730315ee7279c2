"""The interface of learners: purity, classes, refusals, scikit-learn, files."""

import sys

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from graphsqueak import InputError
from graphsqueak.online import (
    BKONS,
    BOGD,
    BPAS,
    CONKONS,
    FOGD,
    KONS,
    NOGD,
    PROSNKONS,
    RBP,
    DualSGD,
    Forgetron,
    KernelOGD,
    ProjectronPP,
    SkeGD,
    SketchedKONS,
    run_prequential,
)
from graphsqueak.system.packing import pack_bytes
from tests.kernel.problems import clusters

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
    BOGD(n_components=10, random_state=3),
    BPAS(loss="epsilon_insensitive", n_components=10),
]


CHECKED = [
    KONS(),
    CONKONS(loss="squared_hinge", clip=2.0, alpha=0.01, random_state=3),
    PROSNKONS(random_state=3),
    SkeGD(n_components=20, cycle=10, random_state=3),
    NOGD(loss="logistic", learning_rate=0.5, n_components=50, rank=0.5),
    FOGD(loss="hinge", learning_rate=0.5, random_state=3),
    BPAS(),
    ProjectronPP(),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


LEARNERS_OF_CLASSES = [
    CONKONS(loss="squared_hinge", clip=3.0, n_components=30, random_state=3),
    KONS(loss="logistic", clip=3.0),
    KernelOGD(loss="hinge"),
    FOGD(loss="hinge", n_components=60, random_state=3),
    NOGD(loss="hinge", n_components=20),
    DualSGD(loss="hinge", n_components=20, random_state=3),
    SkeGD(loss="hinge", n_components=20, cycle=10, random_state=3),
    RBP(n_components=20, random_state=3),
    Forgetron(n_components=20),
    ProjectronPP(n_components=20),
    BOGD(loss="hinge", n_components=20, random_state=3),
]


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


@pytest.mark.parametrize("learner", LEARNERS_OF_CLASSES, ids=lambda m: type(m).__name__)
def test_several_classes_are_one_against_the_rest(learner):
    rng = np.random.default_rng(81_204)
    X = rng.normal(size=(300, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.4, 0.4])]
    whole = type(learner)(**learner.get_params())
    scores = whole.predict_then_learn(X, y)
    assert scores.shape == whole.decision_function(X).shape == (300, 3)
    for k, name in enumerate("abc"):
        single = type(learner)(**learner.get_params())
        one = single.predict_then_learn(X, np.where(y == name, 1, -1))
        np.testing.assert_allclose(scores[:, k], one, atol=1e-9)
    np.testing.assert_array_equal(
        whole.predict(X), whole.classes_[whole.decision_function(X).argmax(1)]
    )
    assert whole.predict_one(X[0]) in ("a", "b", "c")
    run = run_prequential(type(learner)(**learner.get_params()), X, y, regret=True)
    assert run.losses.shape == (300,)
    assert run.error_rate == np.mean(whole.classes_[scores.argmax(axis=1)] != y) < 0.45
    assert whole.learn_one(X[0], "c").n_rounds_ == 301


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "huber"])
def test_losses_that_forgive_are_not_led_astray_by_wild_targets(loss):
    rng = np.random.default_rng(15_611)
    X = rng.uniform(-1, 1, size=(2000, 1))
    clean = 0.5 * np.sin(3 * X[:, 0])
    y = np.where(rng.random(2000) < 0.2, 1.0, clean)  # a fifth of them says 1
    settings = {"kernel_params": {"gamma": 1.0}, "random_state": 5}
    error = {}
    for name in ("squared", loss):
        learner = CONKONS(loss=name, **settings).fit(X, y)
        error[name] = np.mean(np.abs(learner.predict(X) - clean))
    assert error[loss] < 0.6 * error["squared"]
    ogd = KernelOGD(loss=loss, tolerance=0.05, learning_rate=0.1).fit(X, y)
    assert is_regressor(ogd)
    assert np.mean(np.abs(ogd.predict(X) - clean)) < error["squared"]


def test_errors_within_a_tolerance_make_no_step():
    learner = KernelOGD(kernel="linear", learning_rate=0.25, tolerance=0.3)
    learner.learn_one([1.0], 0.3)
    assert learner.n_support_ == 0
    assert learner.learn_one([1.0], 0.4).predict_one([1.0]) == pytest.approx(0.2)


def test_labels_without_classes():
    learner = KONS(loss="hinge").learn_one([1.0, 0.0], True)
    assert learner.predict_one([1.0, 0.0]) is True
    assert KONS(loss="hinge").learn_one([1.0], 1).predict_one([1.0]) == 1
    assert KONS(loss="hinge").predict_one([1.0]) == -1
    with pytest.raises(InputError, match="label 3 is not one of the classes"):
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
        (KernelOGD(tolerance=-1.0), "tolerance"),
        (KONS(tolerance=0.1), "first-order"),
        (KONS(loss="hinge", tolerance=0.1), "tolerance is for regression"),
        (KONS(loss="huber", clip=None), "needs a clip"),
    ],
)
def test_bad_settings_are_named(learner, message):
    X, y = problem()
    with pytest.raises(InputError, match=message):
        learner.fit(X, np.sign(y) if learner.loss in ("hinge", "logistic") else y)


def test_bad_rows_are_named():
    learner = KONS().learn_one([1.0, 2.0], 0.5)
    with pytest.raises(InputError, match="3 features"):
        learner.predict_one([1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="NaN"):
        learner.learn_one([np.nan, 2.0], 0.5)
    with pytest.raises(InputError, match="one class"):
        KONS(loss="hinge").fit(np.eye(2), [1, 1])
    with pytest.raises(InputError, match="not \\["):
        run_prequential([], np.eye(2), [1, 1])


HALF = 60


def goes_on(learner, path, X, y):
    classes = None if y.dtype == np.float64 else np.unique(y)
    learner.partial_fit(X[:HALF], y[:HALF], classes=classes)
    learner.save(path)
    copy = type(learner).load(path)
    expected = learner.predict_then_learn(X[HALF:], y[HALF:])
    assert copy.n_rounds_ == HALF
    assert copy.predict_then_learn(X[HALF:], y[HALF:]).tobytes() == expected.tobytes()
    assert copy.predict(X).tolist() == learner.predict(X).tolist()
    assert copy.get_params() == learner.get_params()


@pytest.mark.parametrize("learner", EVERY, ids=lambda learner: type(learner).__name__)
def test_every_learner_goes_on_to_the_same_bytes(learner, tmp_path):
    goes_on(type(learner)(**learner.get_params()), tmp_path / "learner", *problem())


@pytest.mark.parametrize("learner", LEARNERS_OF_CLASSES, ids=lambda m: type(m).__name__)
def test_classes_go_on_as_well(learner, tmp_path):
    X, y = problem()
    names = np.array(["a", "b", "c"])[np.digitize(y, [-0.4, 0.4])]
    goes_on(type(learner)(**learner.get_params()), tmp_path / "learner", X, names)


def test_a_mixture_and_a_generator_go_on(tmp_path):
    X, y = problem()
    goes_on(CONKONS(kernel_params="auto", random_state=2), tmp_path / "mixture", X, y)
    learner = CONKONS(n_components=8, random_state=np.random.default_rng(5)).fit(X, y)
    learner.save(tmp_path / "learner")
    copy = CONKONS.load(tmp_path / "learner")
    assert copy.random_state.random() == learner.random_state.random()


def test_what_cannot_be_saved_or_read_is_refused(tmp_path):
    X, y = problem()
    path = tmp_path / "learner"
    own = KernelOGD(kernel=lambda a, b: float(a @ b)).fit(X, y)
    with pytest.raises(InputError, match="cannot be saved"):
        own.save(path)
    assert not path.exists()
    KernelOGD().fit(X, y).save(path)
    with pytest.raises(InputError, match="does not contain a CONKONS"):
        CONKONS.load(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match="truncated"):
        KernelOGD.load(path)


@pytest.mark.parametrize(
    "part",
    [
        ["object", "os", "environ", {}],
        ["object", "graphsqueak.online.learner", "get_loss", {}],
        ["object", "graphsqueak.nowhere", "Thing", {}],
        ["dict", [[0, 7]]],
        ["spell", 1],
    ],
)
def test_only_our_classes_are_made(part, tmp_path):
    record = {"format": "graphsqueak learner", "version": 1, "root": 0, "parts": [part]}
    path = tmp_path / "learner"
    path.write_bytes(pack_bytes(record, {}))
    with pytest.raises(InputError, match="was not written by this program"):
        KernelOGD.load(path)


def compiled_kernels():
    """All compiled functions of the package of online learners that are loaded."""
    for name, module in sys.modules.items():
        if name.startswith("graphsqueak.online"):
            for value in vars(module).values():
                if isinstance(value, Dispatcher) and value.py_func.__module__ == name:
                    yield value


@pytest.mark.parametrize("learner", LEARNERS_OF_CLASSES, ids=lambda m: type(m).__name__)
def test_kernels_are_compiled_for_one_memory_layout(learner):
    """Processes that compile two forms of a kernel at once may damage numba's cache on disk."""
    X, y = problem()
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-0.4, 0.4])]
    X.flags.writeable = False
    for points in (X[::2], np.asfortranarray(X[::2])):
        three = type(learner)(**learner.get_params()).fit(points, labels[::2])
        three.learn_one(points[0], "a")
    type(learner)(**learner.get_params()).fit(X, labels == "a")
    kernels = list(compiled_kernels())
    assert len(kernels) > 2
    assert {k.py_func.__name__: len(k.signatures) for k in kernels if len(k.signatures) > 1} == {}
