"""The tables of the online papers again: Tables 5.1 and 5.2 of the thesis, Table 1 of SkeGD.

    python benchmarks/repro_tables.py [--quick] [--json] [--write] [--runs N] [--only TABLE ...]

Every run has its own order of the rows (its own blocks, in the last table) and its own seed; ours
is the mean and the standard deviation over runs, next to the printed figures. The verdicts are
those of `repro_page`. `--write` stores the results in reproduction.csv and writes
docs/research/reproduction.md. Data are looked up as `real_data` says; missing data sets are left
out.

Algorithm 14 of the thesis (PROS-N-KONS) prints the step sigma_t / 2. For the squared loss with
predictions within C = 1, sigma is 1/8, so these rows ("printed step") have eta = 1/16. The rows
"auto step" have eta="auto", the curvature at the prediction, which is at least sigma.
"""

import argparse
import json
import time

import numpy as np
from online_data import available, load_online
from printed import SKEGD_1, THESIS_5_1, THESIS_5_2
from real_data import add_data_option
from repro_page import OURS, verdict, write
from threadpoolctl import threadpool_limits

from graphsqueak.online import (
    BKONS,
    CONKONS,
    FOGD,
    NOGD,
    PROSNKONS,
    DualSGD,
    SkeGD,
    flipped_blocks,
    get_loss,
    run_prequential,
)
from graphsqueak.online.evaluation import best_scores

WIDE = {"kernel": "gaussian", "kernel_params": {"bandwidth": 8.0}}
NEWTON = {"PROS-N-KONS": PROSNKONS, "CON-KONS": CONKONS, "B-KONS": BKONS}
STEPS = {"printed step": 1 / 16, "auto step": "auto"}  # eta of Table 5.1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="two runs, and no run above 10,000 rows"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_data_option(parser)
    parser.add_argument("--write", action="store_true", help="store the results and write the page")
    parser.add_argument(
        "--runs", type=int, help="runs per row instead of 15 (3 where they are long)"
    )
    parser.add_argument("--only", nargs="+", choices=list(TABLES), default=list(TABLES))
    options = parser.parse_args()
    if options.quick and options.write:
        parser.error("the page is for whole runs; leave out --quick")
    tables = {}
    for name in options.only:
        rows = []
        with threadpool_limits(1, user_api="blas"):
            for row in TABLES[name](options):
                rows.append(row)
                if not options.json:
                    print(name, *(f"{key} {_text(v)}" for key, v in row.items()), flush=True)
        tables[name] = rows
        if options.write and rows:
            write(name, rows)
    if options.json:
        print(json.dumps({"benchmark": "repro_tables", "tables": tables}))


def regression(options):
    """Thesis Table 5.1: alpha = gamma = 1, one copy per point, epsilon = 0.5, bandwidth 8."""
    for name in available(["parkinsons, voice", *THESIS_5_1]):
        X, y = load_online(name)
        printed = THESIS_5_1[name.partition(",")[0]]
        budget = printed["CON-KONS"][2]
        step = _NOGD_STEPS.get(name, 0.05)
        learners = {
            "FOGD": lambda seed: FOGD(
                learning_rate=6e-4 * 450 / 2, n_components=450, random_state=seed, **WIDE
            ),
            "NOGD": lambda seed, step=step: NOGD(
                learning_rate=step, tolerance=0.1, n_components=30, **WIDE
            ),
        }
        for algorithm, maker in NEWTON.items():
            for step_name, eta in STEPS.items():
                learners[f"{algorithm}, {step_name}"] = lambda seed, maker=maker, eta=eta: maker(
                    alpha=1.0, eta=eta, random_state=seed, **WIDE
                )
        learners["BATCH"] = learners["CON-KONS, auto step"]
        learners[OURS] = lambda seed, budget=budget: CONKONS(n_components=budget, random_state=seed)
        for algorithm, make in learners.items():
            batch = algorithm == "BATCH"
            values = [
                _one(make, X, y, seed, batch=batch, limit=options) for seed in _seeds(options, 15)
            ]
            if algorithm == OURS:
                best = min(printed[a][0] for a in printed if a != "BATCH")
                figure = (best, 0.0, budget)
            else:
                figure = printed[algorithm.partition(",")[0]]
            row = {"data": name, "algorithm": algorithm}
            yield _summary(row, values, figure)
        for algorithm in learners:  # the same, with features in [-1, 1]
            if algorithm in ("FOGD", "NOGD", OURS):
                continue
            batch = algorithm == "BATCH"
            values = [
                _one(learners[algorithm], 2 * X - 1, y, seed, batch=batch, limit=options)
                for seed in _seeds(options, 15)
            ]
            row = {"data": f"{name} in [-1, 1]", "algorithm": algorithm}
            yield _summary(row, values, printed[algorithm.partition(",")[0]])


def classification(options):
    """Thesis Table 5.2: hinge, eta = 1/8, on ijcnn1 in the units of its file, not clipped."""
    if not available(["ijcnn1"]):
        return
    X, y = load_online("ijcnn1")
    for alpha, printed in THESIS_5_2.items():
        hinge = {"loss": "hinge", "clip": 1e3, "eta": 0.125, "alpha": alpha}
        learners = {
            "FOGD": lambda seed: FOGD(
                loss="hinge", learning_rate=0.8, n_components=400, random_state=seed, **WIDE
            ),
            "NOGD": lambda seed: NOGD(loss="hinge", learning_rate=0.2, n_components=100, **WIDE),
            "Dual-SGD": lambda seed: DualSGD(
                loss="hinge",
                regularization=1e-4,
                n_components=100,
                kernel_params={"gamma": 1.0},
                random_state=seed,
            ),
        }
        for algorithm, maker in NEWTON.items():
            learners[algorithm] = lambda seed, maker=maker, hinge=hinge: maker(
                random_state=seed, **hinge, **WIDE
            )
        learners["BATCH"] = learners["B-KONS"]
        for algorithm, make in learners.items():
            if algorithm not in printed:
                continue
            many = alpha < 1 and algorithm in ("PROS-N-KONS", "CON-KONS")
            batch = algorithm == "BATCH"
            runs = 3 if many or batch else 15
            values = [
                _one(make, X, y, seed, batch=batch, limit=options) for seed in _seeds(options, runs)
            ]
            row = {"data": f"ijcnn1, alpha {alpha:g}", "algorithm": algorithm}
            yield _summary(row, values, printed[algorithm])
    for name in available(["cod-rna subset"]):
        X, y = load_online(name)
        for alpha in THESIS_5_2:
            for algorithm, maker in NEWTON.items():
                hinge = {"loss": "hinge", "clip": 1e3, "eta": 0.125, "alpha": alpha}
                values = [
                    _one(
                        lambda seed, maker=maker, hinge=hinge: maker(
                            random_state=seed, **hinge, **WIDE
                        ),
                        X,
                        y,
                        seed,
                        limit=options,
                    )
                    for seed in _seeds(options, 5)
                ]
                row = {"data": f"cod-rna, 30,000 rows, alpha {alpha:g}", "algorithm": algorithm}
                yield _summary(row, values, None)


def adversarial(options):
    """SkeGD Table 1, and the same streams from german: 500 blocks, hinge, bandwidth 8, step 0.1."""
    for name in available(["spambase", "german"]):
        X, y = load_online(name)
        for n_repeats, printed in SKEGD_1.items():
            if name != "spambase":
                printed = {}
            rows = {
                "FOGD": lambda seed, T: FOGD(random_state=seed, **_STEP),
                "NOGD": lambda seed, T: NOGD(**_STEP),
                "PROS-N-KONS": lambda seed, T: PROSNKONS(
                    loss="hinge", eta=0.125, alpha=1.0, random_state=seed, **WIDE
                ),
            }
            thetas = (
                (0.1, 0.01) if options.quick or name != "spambase" else (0.1, 0.01, 0.005, 0.001)
            )
            for theta in thetas:
                rows[theta] = lambda seed, T, theta=theta: SkeGD(
                    regularization=1.0,
                    cycle=max(int(theta * (T - 100)), 1),
                    transfer="paper",
                    random_state=seed,
                    **_SKETCH,
                    **_STEP,
                )
            for theta in thetas[:3]:
                rows[f"SkeGD, theta {theta:g}, bandwidth 0.3"] = lambda seed, T, theta=theta: SkeGD(
                    regularization=1.0,
                    cycle=max(int(theta * (T - 100)), 1),
                    transfer="paper",
                    random_state=seed,
                    **_SKETCH,
                    **(_STEP | {"kernel_params": {"bandwidth": 0.3}}),
                )
            rows["SkeGD, lam 0"] = lambda seed, T: SkeGD(
                cycle=int(0.01 * (T - 100)), random_state=seed, **_SKETCH, **_STEP
            )
            rows["FOGD, lam 1"] = lambda seed, T: FOGD(
                regularization=1.0, random_state=seed, **_STEP
            )
            rows["NOGD, lam 1"] = lambda seed, T: NOGD(regularization=1.0, **_STEP)
            rows[OURS] = lambda seed, T: CONKONS(
                loss="squared_hinge", n_components=100, random_state=seed
            )
            for algorithm, make in rows.items():
                values = []
                for seed in _seeds(options, 5 if algorithm == 0.001 else 15):
                    A, b = flipped_blocks(
                        X, y, n_blocks=500, n_repeats=n_repeats, random_state=seed
                    )
                    run = run_prequential(make(seed, len(A)), A, b)
                    values.append((100 * run.error_rate, run.n_support, run.seconds))
                label = algorithm if isinstance(algorithm, str) else f"SkeGD, theta {algorithm:g}"
                figure = printed.get(algorithm)
                row = {"data": f"{name}, {n_repeats} repeats", "algorithm": label}
                yield _summary(row, values, figure and (*figure, None))


_NOGD_STEPS = {"cpusmall": 0.2, "cadata": 0.2}  # those that meet the printed figures
_SKETCH = {"sketch_size": 75, "n_landmarks": 15, "rank": 10}  # the authors', for 100 points
_STEP = {"loss": "hinge", "learning_rate": 0.1, **WIDE}
TABLES = {"regression": regression, "classification": classification, "adversarial": adversarial}


def _seeds(options, runs):
    return range(2 if options.quick else options.runs or runs)


def _one(make, X, y, seed, *, limit, batch=False):
    """(figure, points kept, seconds) of one run."""
    order = np.random.default_rng(1000 + seed).permutation(len(X))
    order = order[:10_000] if limit.quick else order
    X, y = X[order], y[order]
    learner = make(seed)
    began = time.perf_counter()
    run = run_prequential(learner, X, y)
    seconds = time.perf_counter() - began
    if not batch:
        figure = run.average_loss if run.error_rate is None else 100 * run.error_rate
        return figure, run.n_support, seconds
    features = learner.models_[0].features(X)
    best = best_scores(features, y, loss=get_loss(learner.loss), alpha=learner.alpha)
    if run.error_rate is None:
        return np.mean((y - best) ** 2), run.n_support, seconds
    return 100 * np.mean((best > 0) != (y > 0)), run.n_support, seconds


def _summary(row, values, printed):
    """The row with mean and deviation over the runs, the printed figures and the verdict."""
    figure, kept, seconds = np.mean(values, axis=0)
    mean, deviation, size = printed or (None, None, None)
    row |= {
        "ours": float(figure),
        "sd": float(np.std([value[0] for value in values], ddof=1)) if len(values) > 1 else 0.0,
        "kept": None if row["algorithm"] == "BATCH" else float(kept),
        "seconds": float(seconds),
        "runs": len(values),
        "printed": mean,
        "printed_sd": deviation,
        "printed_kept": size,
    }
    return row | {"verdict": verdict(row)}


def _text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
