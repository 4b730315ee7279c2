"""Predictions of the online learners over one small stream, and what is computed from them."""

import numpy as np

from graphsqueak import online
from tests.golden.arrays import named
from tests.golden.graphs import points_in_clusters

__all__ = ["STAGES"]

GAMMA = {"gamma": 0.4}
# Predictions are recorded in every third round.
SAMPLED_ROUNDS = slice(None, None, 3)


def stream():
    """240 rows: points, a target of values in [-1, 1] and one of classes -1 and 1."""
    X, _ = points_in_clusters(240, 3, seed=101)
    noise = np.random.default_rng(102).normal(size=240)
    y = np.clip(np.sin(X[:, 0]) + 0.1 * noise, -1.0, 1.0)
    return X, y, np.where(np.sin(2.0 * X[:, 0]) + X[:, 1] > 0.3 * noise, 1, -1)


def learned(learner, X, y):
    """Predictions before each round, predictions after the last one, and the size of the model."""
    before = learner.predict_then_learn(X, y)
    after = learner.decision_function(X) if learner.loss == "hinge" else learner.predict(X)
    return {
        "before": before[SAMPLED_ROUNDS],
        "after": after[::8],
        "n_support": np.array(learner.n_support_),
    }


def newton_learners():
    """Second-order learners."""
    X, y, label = stream()
    common = {"kernel_params": GAMMA}
    seeded = common | {"random_state": 5}
    sampled = seeded | {"horizon": 240}
    results = {}
    for name, learner, target in (
        ("kons", online.KONS(**common), y),
        ("kons_hinge", online.KONS(loss="squared_hinge", **common), label),
        ("sketched_kons", online.SketchedKONS(beta=0.5, **seeded), y),
        ("pros_n_kons", online.PROSNKONS(**sampled), y),
        ("pros_n_kons_copies", online.PROSNKONS(n_copies=4, ridge=0.5, **sampled), y),
        ("con_kons", online.CONKONS(**sampled), y),
        ("con_kons_size", online.CONKONS(n_components=20, **sampled), y),
        ("con_kons_discount", online.CONKONS(n_components=20, discount=0.98, **sampled), y),
        ("con_kons_hinge", online.CONKONS(loss="squared_hinge", n_components=20, **sampled), label),
        ("b_kons", online.BKONS(n_components=20, **sampled), y),
        ("b_kons_thin", online.BKONS(n_components=20, when_full="subsample", **sampled), y),
    ):
        results[name] = learned(learner, X, target)
        if hasattr(learner, "n_epochs_"):
            results[name]["indices"] = learner.indices_
            results[name]["n_epochs"] = np.array(learner.n_epochs_)
    return named(results)


def gradient_learners():
    """First-order learners."""
    X, y, label = stream()
    common = {"kernel_params": GAMMA}
    seeded = common | {"random_state": 5}
    results = {}
    for name, learner, target in (
        ("kernel_ogd", online.KernelOGD(**common), y),
        ("kernel_ogd_hinge", online.KernelOGD(loss="hinge", regularization=0.01, **common), label),
        ("fogd", online.FOGD(n_components=50, **seeded), y),
        ("fogd_hinge", online.FOGD(n_components=50, loss="hinge", **seeded), label),
        ("nogd", online.NOGD(n_components=25, **common), y),
        ("nogd_hinge", online.NOGD(n_components=25, rank=8, loss="hinge", **common), label),
        ("dual_sgd", online.DualSGD(n_components=20, n_frequencies=50, **seeded), y),
        ("skegd", online.SkeGD(n_components=25, cycle=30, **seeded), y),
        ("skegd_hinge", online.SkeGD(n_components=25, loss="hinge", **seeded), label),
        ("bogd", online.BOGD(n_components=20, **seeded), y),
        ("bogd_hinge", online.BOGD(n_components=20, loss="hinge", **seeded), label),
    ):
        results[name] = learned(learner, X, target)
    return named(results)


def perceptrons():
    """Perceptrons and passive-aggressive learners with a budget."""
    X, _, label = stream()
    common = {"kernel_params": GAMMA, "n_components": 20}
    results = {}
    for name, learner in (
        ("rbp", online.RBP(random_state=5, **common)),
        ("forgetron", online.Forgetron(**common)),
        ("projectron", online.Projectron(**common)),
        ("projectron_pp", online.ProjectronPP(**common)),
        ("bpas", online.BPAS(**common)),
    ):
        results[name] = learned(learner, X, label)
        results[name]["n_mistakes"] = np.array(np.count_nonzero(learner.predict(X) != label))
    return named(results)


def prequential_runs():
    """Runs with regret, mixtures of kernel widths, blocks of flipped labels, several classes."""
    X, y, label = stream()
    found = {}
    for name, learner, target in (
        ("values", online.CONKONS(kernel_params=GAMMA, n_components=20, random_state=5), y),
        ("classes", online.FOGD(kernel_params=GAMMA, n_components=50, loss="logistic",
                                random_state=5), label),
    ):  # fmt: skip
        run = online.run_prequential(learner, X, target, regret=True)
        found[f"{name}_losses"] = run.losses[SAMPLED_ROUNDS]
        found[f"{name}_hindsight"] = run.hindsight[SAMPLED_ROUNDS]
        found[f"{name}_regret"] = run.regret[SAMPLED_ROUNDS]
        found[f"{name}_support"] = run.support
        error_rate = np.nan if run.error_rate is None else run.error_rate
        found[f"{name}_average"] = np.array([run.average_loss, error_rate])
    mixture = online.CONKONS(kernel_params="auto", n_components=20, random_state=5)
    found["mixture_before"] = mixture.predict_then_learn(X, y)[SAMPLED_ROUNDS]
    found["mixture_shares"] = mixture.mixture_.weights
    points, flipped = online.flipped_blocks(X, label, n_blocks=6, n_repeats=4, random_state=6)
    found["flipped_points"] = points[::4]
    found["flipped_labels"] = flipped
    return found


def regret_bounds():
    """Bounds on the regret and on the error of sketches."""
    X, y, _ = stream()
    common = {"kernel_params": GAMMA, "norm": 2.0}
    bounds = {
        "kons": online.kons_regret(X, **common),
        "sketched_kons": online.sketched_kons_regret(X, beta=500.0, min_probability=0.5, **common),
        "pros_n_kons_points": online.pros_n_kons_regret(X, ridge=0.005, n_epochs=9, **common),
        "pros_n_kons": online.pros_n_kons_regret(X, y, ridge=0.005, **common),
        "skegd": online.skegd_regret(
            1000, cycle=50, learning_rate=0.1, regularization=0.01, norm=2.0, kernel_error=0.1
        ),
    }
    found = {name: np.array(bound.value) for name, bound in bounds.items()}
    found["sketch_error"] = np.array(
        online.sketch_error(1000, n_landmarks=200, sketch_size=400).value
    )
    return found


STAGES = {
    stage.__name__: stage
    for stage in (
        newton_learners,
        gradient_learners,
        perceptrons,
        prequential_runs,
        regret_bounds,
    )
}
