"""Online learners: how much faster than the listing, and whether a round costs the same for ever.

    python benchmarks/bench_online.py [--quick] [--json] [--only STUDY ...]

*listing*: PROS-N-KONS on cadata (10,000 random points of the same shape, when it is absent),
against the literal form in the same run: eigenvectors at every reset, dense solves in every round
for KORS, the projection and the step. Both draw the same atoms; the largest difference of a
prediction is shown.
*rounds*: microseconds a round of B-KONS after so many rounds, the dictionary being full.
*sizes*: microseconds a round against the number of atoms, and the exponent.
*one row*: learn_one against rounds in blocks.
*peers*: progressive validation of `CONKONS` with 100 atoms, with its width found, and with 400, of
`SkeGD` and, for labels, of the learners with a budget of 100 points, beside scikit-learn's SGD on
100 Nystroem features of the first thousand rows, row by row, and river's forests (adaptive random,
Mondrian), Hoeffding tree and nearest neighbors, where river is installed (extra `bench`). Error:
mean squared over the variance, or share of wrong labels, after the first thousand rows.
"""

import argparse
import json
import time

import numpy as np
from online_data import available, load_online
from real_data import add_data_option
from threadpoolctl import threadpool_limits

from graphsqueak.online import (
    BKONS,
    BOGD,
    BPAS,
    CONKONS,
    NOGD,
    PROSNKONS,
    RBP,
    Forgetron,
    Projectron,
    ProjectronPP,
    SkeGD,
)
from graphsqueak.randomness import uniforms

SEED = 602_214
_FIRST = 1000
GAMMA, ALPHA, EPSILON, CLIP = 1 / 128, 1.0, 0.5, 1.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and repeats")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_data_option(parser)
    parser.add_argument("--only", nargs="+", choices=list(STUDIES), default=list(STUDIES))
    parser.add_argument("--rows", type=int, help="of the peers' study; default: 20,000")
    options = parser.parse_args()
    studies = {}
    with threadpool_limits(1, user_api="blas"):
        for name in options.only:
            more = {"n_rows": options.rows} if name == "peers" and options.rows else {}
            studies[name] = []
            if not options.json:
                print(f"-- {name}")
            for row in STUDIES[name](options.quick, **more):
                studies[name].append(row)
                if not options.json:
                    print("  ".join(f"{key} {_text(v)}" for key, v in row.items()), flush=True)
    if options.json:
        print(json.dumps({"benchmark": "online", **studies}))


def _text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def listing(quick):
    """One row: seconds of both, their ratio, how far predictions are apart."""
    if available(["cadata"]):
        name, (X, y) = "cadata", load_online("cadata")
    else:
        rng = np.random.default_rng(SEED)
        X = rng.random((10_000, 8))
        name, y = "random", X.mean(axis=1)
    order = np.random.default_rng(SEED).permutation(len(X))[: 4000 if quick else None]
    X, y = X[order], y[order]
    settings = {"kernel_params": {"gamma": GAMMA}, "alpha": ALPHA, "eta": "global"}
    PROSNKONS(random_state=SEED, **settings).fit(X[:300], y[:300])  # compiles
    ours, fast = _best(lambda: _run(settings, X, y), 3)
    learner, scores = fast
    seed = learner.models_[0].stream.seed
    theirs, slow = _best(lambda: literal(X, y, seed=seed), 1 if quick else 2)
    row = {"data": name, "rows": len(X), "atoms": learner.n_support_, "ours_s": ours}
    row |= {"listing_s": theirs, "ratio": theirs / ours}
    return [row | {"difference": float(np.abs(slow - scores).max())}]


def _run(settings, X, y):
    learner = PROSNKONS(random_state=SEED, **settings)
    return learner, learner.predict_then_learn(X, y)


def literal(X, y, *, seed):
    """[C17, Algorithms 8 and 14] as listed, with dense algebra in every round."""
    uniform = uniforms(seed, 0, len(X))
    atoms, weight, out = [], [], np.empty(len(X))
    back, w, A = np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0))
    gram = np.zeros((0, 0))
    for t, x in enumerate(X):
        k = np.exp(-GAMMA * ((X[atoms] - x) ** 2).sum(axis=1))
        z = back.T @ k
        raw = z @ w
        out[t] = prediction = np.clip(raw, -CLIP, CLIP)
        if atoms:
            direction = np.linalg.solve(A, z)
            w = w - (raw - prediction) / (z @ direction) * direction
            g = 2 * (prediction - y[t]) * z
            A = A + np.outer(g, g) / (8 * CLIP**2)
            w = w - np.linalg.solve(A, g)
        s = np.array([*weight, 1.0])
        wide = np.block([[gram, k[:, None]], [k[None], np.ones((1, 1))]])
        row = np.append(k, 1.0)
        tau = (1 - row @ np.linalg.solve(wide + np.diag(ALPHA / s), row)) / ALPHA
        p = (1 - EPSILON) * tau
        if uniform[t] > 1 - p:
            atoms.append(t)
            weight.append(1 / p)
            gram = wide
            lam, U = np.linalg.eigh(gram)
            back = U / np.sqrt(np.maximum(lam, 1e-12))
            w, A = np.zeros(len(atoms)), ALPHA * np.eye(len(atoms))
    return out


def rounds(quick):
    """Time of a round at different times of one long run."""
    n = 40_000 if quick else 400_000
    rng = np.random.default_rng(SEED)
    X = rng.random((n, 8))
    y = X[:, 0] * X[:, 1]
    learner = BKONS(n_components=50, random_state=SEED).fit(X[:4000], y[:4000])
    rows, part = [], n // 10
    for start in range(0, n, part):
        some = slice(start, start + part)
        began = time.perf_counter()
        learner.partial_fit(X[some], y[some])
        spent = 1e6 * (time.perf_counter() - began) / part
        rows.append({"after": start + 4000, "atoms": learner.n_support_, "us_per_round": spent})
    first, last = (
        np.median([row["us_per_round"] for row in some]) for some in (rows[:3], rows[-3:])
    )
    return [*rows, {"last_over_first": float(last / first)}]


def sizes(quick):
    """Time of a round by the number of atoms."""
    rows, times = [], []
    many = (50, 100, 200) if quick else (50, 100, 200, 400, 800)
    rng = np.random.default_rng(SEED)
    X = rng.random((6000, 8))
    y = X[:, 0] * X[:, 1]
    for m in many:
        learner = BKONS(
            n_components=m, kernel_params={"gamma": 4.0}, alpha=1e-6, n_copies=50, random_state=SEED
        ).fit(X[:4000], y[:4000])
        spent, _ = _best(lambda learner=learner: learner.partial_fit(X[4000:], y[4000:]), 3)
        times.append(1e6 * spent / 2000)
        rows.append({"atoms": learner.n_support_, "us_per_round": times[-1]})
    exponent = np.polyfit(np.log(many[-3:]), np.log(times[-3:]), 1)[0]
    return [*rows, {"exponent": float(exponent)}]


def one_row(quick):
    """A round by learn_one, and within a block."""
    rng = np.random.default_rng(SEED)
    X = rng.random((1000 if quick else 4000, 8))
    y = X[:, 0] * X[:, 1]
    learner = BKONS(n_components=20, random_state=SEED).fit(X, y)
    single, _ = _best(lambda: [learner.learn_one(x, t) for x, t in zip(X, y, strict=True)], 1)
    block, _ = _best(lambda: learner.partial_fit(X, y), 3)
    n = len(X)
    return [{"learn_one_us": 1e6 * single / n, "block_us": 1e6 * block / n}]


def peers(quick, n_rows=20_000):
    """One row per data set and model."""
    n_rows = min(n_rows, 3000) if quick else n_rows
    few = np.random.default_rng(SEED).normal(size=(400, 2))
    for labels in (False, True):
        for name, run in _models(labels, 2).items():
            if not name.startswith(("river", "scikit-learn")):
                run(few, np.sign(few[:, 0]))  # compiles
    for name in available(["cadata", "casp", "cpusmall", "parkinsons", "ijcnn1", "cod-rna subset"]):
        X, y = load_online(name)
        order = np.random.default_rng(SEED).permutation(len(X))[:n_rows]
        X, y = X[order], y[order]
        labels = name in ("ijcnn1", "cod-rna subset")
        X = (X - X[:_FIRST].mean(axis=0)) / np.maximum(X[:_FIRST].std(axis=0), 1e-9)
        if not labels:
            y = (y - y[:_FIRST].mean()) / y[:_FIRST].std()
        for model, run in _models(labels, X.shape[1]).items():
            began = time.process_time()
            predicted = run(X, y)[_FIRST:]
            spent = time.process_time() - began
            truth = y[_FIRST:]
            wrong = np.mean(np.sign(predicted) != truth) if labels else None
            error = wrong if labels else np.mean((predicted - truth) ** 2) / truth.var()
            row = {"data": name, "model": model, "error": float(error)}
            yield row | {"us_per_round": 1e6 * spent / len(X)}


def _models(labels, n_features):
    random, kernel = {"random_state": SEED}, {"kernel_params": {"gamma": 1 / n_features}}
    newton = {"loss": "squared_hinge", "clip": 3.0} if labels else {"clip": None}
    newton |= random
    hinge = {"loss": "hinge"} if labels else {"learning_rate": 0.1}
    auto = {"kernel_params": "auto"}
    ours = {
        "CON-KONS, 100 atoms": CONKONS(n_components=100, **newton, **kernel),
        "CON-KONS, 100 atoms, width found": CONKONS(n_components=100, **newton, **auto),
        "CON-KONS, 400 atoms, width found": CONKONS(n_components=400, **newton, **auto),
        "SkeGD": SkeGD(**hinge, **random, **kernel),
        "NOGD": NOGD(**hinge, **kernel),
        "BOGD": BOGD(**hinge, **random, **kernel),
    }
    if labels:
        ours |= {kind.__name__: kind(**kernel) for kind in (Projectron, ProjectronPP, BPAS)}
        ours |= {"Forgetron": Forgetron(**kernel), "RBP": RBP(**random, **kernel)}
    models = {name: learner.predict_then_learn for name, learner in ours.items()}
    models["scikit-learn SGD, Nystroem"] = lambda X, y: _sgd(X, y, labels, n_features)
    try:
        from river import forest, neighbors, tree
    except ImportError:
        return models
    theirs = [
        (forest.AMFClassifier, forest.ARFClassifier, tree.HoeffdingAdaptiveTreeClassifier),
        (forest.AMFRegressor, forest.ARFRegressor, tree.HoeffdingAdaptiveTreeRegressor),
    ][not labels]
    near = neighbors.KNNClassifier if labels else neighbors.KNNRegressor
    for model in (*(kind(seed=SEED) for kind in theirs), near()):
        name = f"river {type(model).__name__}"
        models[name] = lambda X, y, model=model: _river(model, X, y)
    return models


def _sgd(X, y, labels, n_features):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    nystroem = Nystroem(gamma=1 / n_features, n_components=100, random_state=SEED).fit(X[:_FIRST])
    z = nystroem.transform(X)
    model = SGDClassifier(random_state=SEED) if labels else SGDRegressor(random_state=SEED)
    out = np.zeros(len(X))
    for t in range(len(X)):
        row = z[t : t + 1]
        if t:
            out[t] = model.predict(row)[0]
        model.partial_fit(row, y[t : t + 1], **({"classes": [-1.0, 1.0]} if labels else {}))
    return out


def _river(model, X, y):
    out = np.zeros(len(X))
    for t, row in enumerate(X):
        features = dict(enumerate(row))
        out[t] = model.predict_one(features) or 0.0
        model.learn_one(features, y[t])
    return out


def _best(work, repeats):
    """Least seconds, and what the work returned."""
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - began)
    return best, result


STUDIES = {"listing": listing, "rounds": rounds, "sizes": sizes, "one row": one_row, "peers": peers}


if __name__ == "__main__":
    main()
