"""Kernel dictionaries: how close to K at how many landmarks, and how fast.

    python benchmarks/bench_kernel.py [--quick] [--json]

*kernel matrix*: |K - K~| / |K| (spectral norm) and trace(K - K~) / trace(K) of the unregularized
Nystrom approximation, for every sampler at equal m, the median over seeds, and over that of
randomly pivoted Cholesky from all points. `RPCholesky` itself is run with other seeds, which shows
the noise; `UniformDictionary` has the landmarks of scikit-learn's `Nystroem`.
*regression*: mean squared test error (the variance of y is 1) of one pass of `NystromRidge`, beside
`Nystroem` and ridge regression at equal m, and the noise: the standard error of the difference,
over test points and over seeds.
*steps*: seconds per point of KORS and SQUEAK against m, and the exponent.
*blocks*: SQUEAK point by point and in blocks. *long*: KORS over 100,000 points.
"""

import argparse
import json
import time

import numpy as np
from points import load
from real_data import add_data_option
from scipy.sparse.linalg import eigsh
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge

from graphsqueak.kernel import (
    BLESS,
    KORS,
    SQUEAK,
    ExactRLS,
    ManyStepRLS,
    NystromRidge,
    RecursiveRLS,
    RPCholesky,
    TwoStepRLS,
    UniformDictionary,
    as_kernel,
    effective_dimension,
)

SAMPLERS = (
    UniformDictionary,
    ExactRLS,
    TwoStepRLS,
    ManyStepRLS,
    RecursiveRLS,
    BLESS,
    SQUEAK,
    KORS,
    RPCholesky,
)
SEED = 299_792


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer seeds, points and sizes")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_data_option(parser)
    parser.add_argument("--only", nargs="+", choices=list(STUDIES), default=list(STUDIES))
    options = parser.parse_args()
    studies = {}
    for name in options.only:
        studies[name] = []
        if not options.json:
            print(f"-- {name}")
        for row in STUDIES[name](options.quick):
            studies[name].append(row)
            if not options.json:
                print("  ".join(f"{key} {_text(value)}" for key, value in row.items()), flush=True)
    if options.json:
        print(json.dumps({"benchmark": "kernel", **studies}))


def _text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def kernel_matrix(quick):
    """One row per data set, size and sampler; ratios are to RPCholesky from all points."""
    n_points, sizes = (1000, (50,)) if quick else (2000, (50, 100, 200))
    seeds = range(3 if quick else 10)
    for name, X, _ in load():
        X = X[:n_points]
        params = {"gamma": 1 / X.shape[1]}
        K = as_kernel("rbf", params)(X, X)
        whole = np.array([_norm(K), np.trace(K)])
        for m in sizes:
            theirs = _median_errors(RPCholesky, m, X, K, params, seeds)
            again = _median_errors(RPCholesky, m, X, K, params, range(100, 100 + len(seeds)))
            for sampler in SAMPLERS:
                known = sampler is RPCholesky
                ours = again if known else _median_errors(sampler, m, X, K, params, seeds)
                row = {"data": name, "m": m, "sampler": sampler.__name__}
                row |= {"spectral": ours[0] / whole[0], "trace": ours[1] / whole[1]}
                row |= {"spectral_over_pivots": ours[0] / theirs[0]}
                yield row | {"trace_over_pivots": ours[1] / theirs[1]}


def _median_errors(sampler, m, X, K, params, seeds):
    errors = []
    for seed in seeds:
        settings = {"kernel_params": params, "random_state": SEED + seed}
        d = sampler(n_landmarks=m, ridge="auto", **settings).fit(X)
        errors.append(_errors(K, _features(K, d.indices_)))
    return np.median(errors, axis=0)


def _features(K, rows):
    lam, U = np.linalg.eigh(K[np.ix_(rows, rows)])
    kept = lam > 1e-12 * lam[-1]
    return K[:, rows] @ (U[:, kept] / np.sqrt(lam[kept]))


def _errors(K, z):
    rest = K - z @ z.T
    return _norm(rest), np.trace(rest)


def _norm(matrix):
    start = np.ones(len(matrix))
    return abs(float(eigsh(matrix, k=1, v0=start, tol=1e-4, return_eigenvectors=False)[0]))


def regression(quick):
    """Test error of one pass beside the peer's, the median over seeds of both."""
    rows = []
    n_train, n_test = (1500, 1000) if quick else (3600, 1000)
    for name, X, y in load():
        params = {"gamma": 1 / X.shape[1]}
        train, test = slice(0, n_train), slice(n_train, n_train + n_test)
        for sampling in ("squeak", "kors"):
            errors = []
            for seed in range(3 if quick else 10):
                ours, used = _one_pass(sampling, X[train], y[train], params, seed)
                peer = Nystroem(n_components=used, random_state=seed, **params).fit(X[train])
                model = Ridge(alpha=0.1, fit_intercept=False)
                model.fit(peer.transform(X[train]), y[train])
                predicted = model.predict(peer.transform(X[test]))
                errors.append([(ours.predict(X[test]) - y[test]) ** 2, (predicted - y[test]) ** 2])
            square = np.array(errors)
            mine, theirs = np.median(square.mean(axis=2), axis=0)
            gap = square[:, 0] - square[:, 1]
            of_points = gap.mean(axis=0).var() / gap.shape[1]
            of_seeds = gap.mean(axis=1).var() / gap.shape[0]
            noise = float(np.sqrt(of_points + of_seeds))
            row = {"data": name, "sampling": sampling, "landmarks": used, "error": float(mine)}
            rows.append(row | {"nystroem": float(theirs), "noise": noise})
    return rows


def _one_pass(sampling, X, y, params, seed, m=100):
    settings = {"kernel_params": params, "random_state": SEED + seed}
    model = NystromRidge(alpha=0.1, n_landmarks=m, sampling=sampling, **settings)
    for start in range(0, len(X), 200):
        model.partial_fit(X[start : start + 200], y[start : start + 200])
    return model, len(model.landmarks_)


def steps(quick):
    """Seconds per point once the dictionary has m landmarks, each point by itself and in blocks."""
    rows, times = [], {}
    rng = np.random.default_rng(SEED)
    sizes = (100, 200, 400) if quick else (200, 400, 800, 1600)
    for m in sizes:
        for what, seconds in _step_times(m, rng).items():
            times.setdefault(what, []).append(seconds)
    for what, seconds in times.items():
        tail = slice(-3, None)
        exponent = np.polyfit(np.log(sizes[tail]), np.log(seconds[tail]), 1)[0]
        row = {"what": what, "exponent": float(exponent)}
        rows.append(row | {f"m{m}_us": 1e6 * s for m, s in zip(sizes, seconds, strict=True)})
    return rows


def _step_times(m, rng):
    X = rng.normal(size=(m + 512, 10))
    kors = KORS(kernel_params={"gamma": 0.05}, ridge=1e-6, n_copies=10**6, n_landmarks=m)
    kors.fit(X[:m])
    squeak = SQUEAK(kernel_params={"gamma": 0.05}, n_landmarks=m, ridge=1e-3)
    squeak.fit(X[: m + 64])
    many = rng.normal(size=(4 * m, 10))
    return {
        "KORS step": _per_point(lambda: _single(kors, X[m:]), 512),
        "KORS block": _per_point(lambda: kors.partial_fit(X[m:]), 512),
        "SQUEAK": _per_point(lambda: squeak.partial_fit(many), 4 * m),
    }


def _single(kors, points):
    """The triangular solve of KORS, point by point, kernel values given."""
    sampler = kors._stream.sampler
    values = as_kernel("rbf", kors.kernel_params)(kors.components_, points)
    for column in values.T:
        sampler.score(column, 1.0)


def _per_point(work, n_points, repeats=3):
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best / n_points


def blocks(quick):
    """SQUEAK over 5,000 points: seconds and accuracy (median of the seeds)."""
    rows, seconds = [], []
    X = np.random.default_rng(SEED).normal(size=(1500 if quick else 5000, 10))
    for batch_size in (1, None):
        spent, accuracy, landmarks = [], [], []
        for seed in range(2 if quick else 3):
            began = time.perf_counter()
            d = SQUEAK(
                kernel_params={"bandwidth": 4.0},
                ridge=20.0,
                n_copies=8,
                batch_size=batch_size,
                random_state=seed,
            ).fit(X)
            landmarks.append(len(d.indices_))
            spent.append(time.perf_counter() - began)
            accuracy.append(d.accuracy(X))
        seconds.append(min(spent))
        row = {"batch_size": batch_size or "half of m", "seconds": seconds[-1]}
        row |= {"landmarks": float(np.median(landmarks)), "epsilon": float(np.median(accuracy))}
        rows.append(row)
    rows.append({"speed_up": seconds[0] / seconds[1]})
    return rows


def long(quick):
    """KORS over many points of dimension 10."""
    n = 10_000 if quick else 100_000
    X = np.random.default_rng(SEED).normal(size=(n, 10))
    settings = {"kernel_params": {"bandwidth": 4.0}}
    sample = 2000  # K of all points has about n / sample times the eigenvalues of a sample's
    d_eff = effective_dimension(X[:sample], ridge=46.0 * sample / 100_000, **settings)
    rows = []
    for n_copies in (1, 8):
        began = time.perf_counter()
        d = KORS(ridge=46.0 * n / 100_000, n_copies=n_copies, random_state=SEED, **settings).fit(X)
        row = {"points": n, "d_eff": d_eff, "n_copies": n_copies, "landmarks": len(d.indices_)}
        rows.append(row | {"seconds": time.perf_counter() - began})
    return rows


STUDIES = {
    "kernel_matrix": kernel_matrix,
    "regression": regression,
    "steps": steps,
    "blocks": blocks,
    "long": long,
}


if __name__ == "__main__":
    main()
