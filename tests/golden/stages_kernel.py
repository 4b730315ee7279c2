"""Results of the samplers, leverage scores and estimators of `graphsqueak.kernel`."""

import numpy as np

from graphsqueak import kernel
from tests.golden.arrays import named
from tests.golden.graphs import points_in_clusters

__all__ = ["STAGES"]

GAMMA = {"gamma": 0.4}


def points():
    """160 points in three dimensions."""
    return points_in_clusters(160, 3, seed=91)[0]


def dictionary(sampler):
    """Landmarks of a fitted sampler, their weights and how much they leave unexplained."""
    X = points()
    return {
        "indices": sampler.indices_,
        "weights": sampler.weights_,
        "quality": np.array([sampler.accuracy(X), sampler.unexplained(X)]),
    }


def streaming_samplers():
    """Dictionaries of SQUEAK and KORS: sequential, as trees, in batches, merged."""
    X = points()
    common = {"kernel_params": GAMMA, "random_state": 4}
    results = {}
    for name, sampler in (
        ("squeak", kernel.SQUEAK(**common)),
        ("squeak_size", kernel.SQUEAK(n_landmarks=25, **common)),
        ("squeak_copies", kernel.SQUEAK(n_copies=6, ridge=0.5, **common)),
        ("squeak_balanced", kernel.SQUEAK(tree="balanced", batch_size=40, **common)),
        ("squeak_uniform", kernel.SQUEAK(uniform_share=0.3, batch_size=20, **common)),
        ("squeak_laplacian", kernel.SQUEAK(kernel="laplacian", n_landmarks=25, **common)),
        ("kors", kernel.KORS(**common)),
        ("squeak_theory", kernel.SQUEAK(budget="theory", ridge=200.0, **common)),
        ("kors_theory", kernel.KORS(budget="theory", ridge=200.0, **common)),
        ("kors_size", kernel.KORS(n_landmarks=25, **common)),
        ("kors_copies", kernel.KORS(n_copies=6, ridge=0.5, **common)),
    ):
        results[name] = dictionary(sampler.fit(X))
    for name, make in (("squeak", kernel.SQUEAK), ("kors", kernel.KORS)):
        sampler = make(n_copies=6, horizon=200, **common)
        results[f"{name}_parts"] = dictionary(sampler.partial_fit(X[:70]).partial_fit(X[70:]))
    halves = [
        kernel.SQUEAK(n_copies=6, horizon=200, **common).fit(part) for part in (X[:80], X[80:])
    ]
    results["squeak_merged"] = dictionary(halves[0].merge(halves[1]))
    return named(results)


def batch_samplers():
    """Dictionaries of the samplers that read all points several times."""
    X = points()
    common = {"kernel_params": GAMMA, "random_state": 4}
    results = {}
    for make in (
        kernel.BLESS,
        kernel.ExactRLS,
        kernel.ManyStepRLS,
        kernel.RPCholesky,
        kernel.RecursiveRLS,
        kernel.TwoStepRLS,
        kernel.UniformDictionary,
    ):
        for name, settings in (("size", {"n_landmarks": 25}), ("copies", {"n_copies": 6})):
            if name == "copies" and make in (kernel.RPCholesky, kernel.UniformDictionary):
                continue
            sampler = make(**settings, **common).fit(X)
            results[f"{make.__name__}_{name}"] = dictionary(sampler)
    for make in (kernel.ExactRLS, kernel.RecursiveRLS):
        sampler = make(n_copies=6, scheme="bernoulli", **common).fit(X)
        results[f"{make.__name__}_bernoulli"] = dictionary(sampler)
    for removal in (True, False):
        sampler = kernel.StreamingExactRLS(n_copies=6, removal=removal, **common).fit(X)
        results[f"StreamingExactRLS_{removal}"] = dictionary(sampler)
    sampler = kernel.RPCholesky(n_landmarks=25, block_size=5, **common).fit(X)
    results["RPCholesky_blocks"] = dictionary(sampler)
    return named(results)


def leverage():
    """Exact, online and estimated leverage scores, and effective dimensions."""
    X = points()
    landmarks = np.arange(0, 160, 8)
    rbf = kernel.as_kernel("rbf", GAMMA)
    found = {
        "exact": kernel.leverage_scores(X, kernel_params=GAMMA, ridge=[0.5, 2.0])[:, ::3],
        "online": kernel.online_leverage_scores(X, kernel_params=GAMMA, ridge=0.5)[::3],
        "effective_dimension": np.array(
            kernel.effective_dimension(X, kernel_params=GAMMA, ridge=0.5)
        ),
        "online_dimension": np.array(
            kernel.online_effective_dimension(X, kernel_params=GAMMA, ridge=0.5)
        ),
    }
    for side in ("under", "over"):
        found[f"estimated_{side}"] = kernel.estimate_leverage(
            rbf, X, X[landmarks], np.full(20, 8.0), ridge=0.5, epsilon=0.3, side=side
        )[::3]
    for name, params in (
        ("rbf", GAMMA),
        ("laplacian", GAMMA),
        ("linear", None),
        ("polynomial", {"degree": 2}),
    ):
        function = kernel.as_kernel(name, params)
        found[f"kernel_{name}"] = function(X[:6], X[6:10])
        found[f"diagonal_{name}"] = function.diag(X[:6])
    return found


def kernel_bounds():
    """Risk bounds of regression on a dictionary, and rates of the ridge."""
    found = {}
    for regularized in (False, True):
        risk = kernel.ridge_risk(0.5, ridge=0.1, alpha=1.0, regularized=regularized)
        found[f"risk_{regularized}"] = np.array(risk.value)
    found["rate"] = np.array(kernel.ridge_rate(1000, decay=2.0), dtype=float)
    return found


def nystrom():
    """Regression, features and principal components with landmarks; exact regression."""
    X = points()
    y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(92).normal(size=160)
    common = {"kernel_params": GAMMA, "random_state": 4}
    found = {}
    for sampling in ("squeak", "kors", "rp-cholesky", "uniform"):
        model = kernel.NystromRidge(sampling=sampling, n_landmarks=25, alpha=0.1, **common)
        found[f"ridge_{sampling}"] = model.fit(X, y).predict(X)[::3]
    model = kernel.NystromRidge(n_landmarks=25, alpha=0.1, regularized=True, **common)
    found["ridge_regularized"] = model.fit(X, y).predict(X)[::3]
    model = kernel.NystromRidge(n_landmarks=25, alpha=0.1, **common)
    found["ridge_parts"] = (
        model.partial_fit(X[:80], y[:80]).partial_fit(X[80:], y[80:]).predict(X)[::3]
    )
    for name, landmarks in (("points", X[::8]), ("rows", np.arange(0, 160, 8))):
        model = kernel.NystromRidge(landmarks=landmarks, alpha=0.1, **common)
        found[f"ridge_landmark_{name}"] = model.fit(X, y).predict(X)[::3]
    for regularized in (False, True):
        model = kernel.NystromTransformer(n_components=10, regularized=regularized, **common)
        features = model.fit_transform(X)
        # Features are unique up to a rotation, their products are not changed by it.
        found[f"features_{regularized}"] = features[::8] @ features[::8].T
    for center in (False, True):
        model = kernel.NystromPCA(n_components=3, n_landmarks=25, center=center, **common)
        found[f"components_{center}"] = np.abs(model.fit(X).transform(X[::4]))
    for preconditioner in ("rp-cholesky", None):
        model = kernel.KernelRidge(alpha=0.1, preconditioner=preconditioner, tol=1e-10, **common)
        found[f"exact_{preconditioner}"] = model.fit(X, y).predict(X)[::3]
    return found


STAGES = {
    stage.__name__: stage
    for stage in (streaming_samplers, batch_samplers, leverage, kernel_bounds, nystrom)
}
