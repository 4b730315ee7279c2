"""A learner that was saved goes on as if it had not been."""

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.online import CONKONS, KernelOGD
from graphsqueak.system.packing import pack_bytes
from tests.online.test_learner import EVERY, LEARNERS_OF_CLASSES, problem

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
