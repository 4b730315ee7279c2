"""Laplacian solvers on the zoo: set-up plus solve to a true residual of 1e-8, one and 16 columns.

    python benchmarks/bench_solvers.py [--quick] [--json] [--cpu] [--only NAME ...]

Ours takes an `EdgeList` and all columns at once. The peers are handed the matrix they want ready
made and solve column after column. A run counts only if the true residual, b - L x with scipy, is
below 1e-8; otherwise its time is printed as a dash. Times are the best of a few runs. To bound the
time, backends and peers that a graph rules out (a direct factorization of a large expander, say)
are not started, and a peer's 16 columns are extrapolated from the first few when they are slow.
--quick keeps the graphs and the two peers that take no longer than a second.
"""

import argparse
import json
import sys
import time
import warnings

import numba
import numpy as np
import scipy.sparse.csgraph
import scipy.sparse.linalg
import threadpoolctl
from real_data import add_data_option
from zoo import ZOO, load

from graphsqueak.solvers import LaplacianSolver
from graphsqueak.sources.synthetic import closed_forms as synthetic

TOL = 1e-8
OURS = ("auto", "jacobi", "cholesky", "amg", "direct")
MAX_ITER = {"jacobi": 1000, "amg": 100}
QUICK = ("grid 300x300 rough", "barbell 2 x 500", "path 1e5", "star 1e5", "4elt", "ca-AstroPh")
QUICK_PEERS = ("approx-chol", "scipy direct")  # the best peer of each of these graphs
REPEATS = 3
SEED = 481_205_933


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="a few graphs, under a minute")
    options.add_argument("--json", action="store_true", help="one JSON object on stdout")
    add_data_option(options)
    options.add_argument(
        "--cpu", action="store_true", help="one thread, processor time: for a busy machine"
    )
    options.add_argument("--only", nargs="+", choices=list(ZOO), metavar="NAME")
    options = options.parse_args()
    warnings.simplefilter("ignore")
    if options.cpu:
        use_processor_time()
    if options.quick:
        for peer in set(PEERS).difference(QUICK_PEERS):
            del PEERS[peer]
    warm_up()
    rows = []
    for name, graph in load(options.only or (QUICK if options.quick else None)):
        failed = set()
        for n_columns in (1, 16):
            row = measure(name, graph, n_columns, failed, seconds=0.5 if options.quick else 6)
            rows.append(row)
            if not options.json:
                print_row(row, header=len(rows) == 1)
    summary = summarize(rows)
    if options.json:
        print(json.dumps({"rows": rows, "summary": summary}))
    else:
        print()
        for label, value in summary.items():
            print(f"{label}: {value}")


clock = time.perf_counter


def use_processor_time():
    """Count processor seconds, and let nobody use more than one thread."""
    global clock
    clock = time.process_time
    numba.set_num_threads(1)
    threadpoolctl.threadpool_limits(1)


def warm_up():
    """Compile every kernel, and drop the peers that are not installed."""
    graph = synthetic.grid(40, 40).to_edge_list()
    for n_columns in (1, 16):
        b = right_hand_sides(graph, n_columns)
        for solver in OURS:
            LaplacianSolver(graph, solver=solver).solve(b)
    for peer in list(PEERS):
        try:
            run_peer(peer, graph, graph.laplacian(), b)
        except ImportError as missing:
            print(f"{peer}: left out, {missing}", file=sys.stderr)
            del PEERS[peer]


def right_hand_sides(graph, n_columns):
    """Gaussian columns that sum to zero over every component."""
    label = graph.components()
    b = np.random.default_rng(SEED).standard_normal((graph.n_nodes, n_columns))
    size = np.bincount(label)
    for column in b.T:
        column -= (np.bincount(label, column) / size)[label]
    return b


def measure(name, graph, n_columns, failed, *, seconds):
    """Best seconds of every backend and every peer, None where it failed or was not tried.

    They take turns, so that a busy moment of the machine does not hit only one of them. What
    fails on one column is added to `failed`, and not tried on 16. Each runs three times or more,
    unless that takes longer than `seconds`.
    """
    laplacian = graph.laplacian()
    b = right_hand_sides(graph, n_columns)
    times = {solver: [] for solver in (*OURS, *PEERS)}
    row = {"graph": name, "nodes": graph.n_nodes, "edges": graph.n_edges, "columns": n_columns}
    for _ in range(3 * REPEATS):
        for solver, spent in times.items():
            if solver in failed or not sensible(solver, graph) or enough(spent, seconds):
                continue
            took, x, about = (run_ours if solver in OURS else run_peer)(solver, graph, laplacian, b)
            residual = true_residual(laplacian, x, b)
            if solver == "auto":
                row.update(about, residual=residual)
            if residual <= TOL:
                spent.append(took)
            else:
                failed.add(solver)
    best = {solver: min(spent, default=None) for solver, spent in times.items()}
    row["ours"] = {solver: best[solver] for solver in OURS}
    row["peers"] = {peer: best[peer] for peer in PEERS}
    best_own = min(filter(None, (best[solver] for solver in OURS[1:])), default=None)
    best_peer = min(filter(None, row["peers"].values()), default=None)
    auto = best["auto"]
    row["auto_over_best_own"] = auto / best_own if auto and best_own else None
    row["best_peer_over_auto"] = best_peer / auto if auto and best_peer else None
    return row


def enough(spent, seconds):
    """True after `REPEATS` runs that took a while, or fewer that took long."""
    return sum(spent) > seconds or (len(spent) >= REPEATS and sum(spent) > 0.5)


def run_ours(solver, graph, laplacian, b):
    began = clock()
    fitted = LaplacianSolver(
        graph, solver=solver, tol=TOL, max_iter=MAX_ITER.get(solver, 20_000), random_state=SEED
    )
    x = fitted.solve(b)
    seconds = clock() - began
    return seconds, x, {"chosen": fitted.solver_, "steps": fitted.n_iter_}


def run_peer(peer, graph, laplacian, b):
    """Set-up plus one solve per column; after 4 seconds the other columns are extrapolated."""
    began = clock()
    solve = PEERS[peer](laplacian)
    setup = clock() - began
    solved = []
    while not solved or (len(solved) < b.shape[1] and clock() - began < 4):
        solved.append(solve(b[:, len(solved)]))
    spent = clock() - began - setup
    return setup + spent * b.shape[1] / len(solved), np.column_stack(solved), {}


def true_residual(laplacian, x, b):
    """Largest |b - L x| / |b| over the columns that x has."""
    b = b[:, : x.shape[1]]
    difference = np.linalg.norm(b - laplacian @ x, axis=0)
    return float((difference / np.linalg.norm(b, axis=0)).max())


def sensible(solver, graph):
    """Leave out what would take minutes: factorizations that fill in, aggregating expanders."""
    mean_degree = 2 * graph.n_edges / graph.n_nodes
    is_tame = graph.n_edges < graph.n_nodes or graph.degrees().max() < 500 * graph.weight.mean()
    if solver in ("direct", "scipy direct"):
        return graph.n_nodes < 3000 or (mean_degree < 7 and graph.n_nodes <= 250_000 and is_tame)
    if solver in ("amg", "pyamg"):
        return mean_degree < 25 and graph.n_edges < 800_000 and is_tame
    return True


def pyamg_solver(laplacian):
    import pyamg

    hierarchy = pyamg.smoothed_aggregation_solver(laplacian)
    return conjugate_gradient(laplacian, hierarchy.aspreconditioner().matvec)


def approx_chol_solver(laplacian):
    import approx_chol

    return conjugate_gradient(laplacian, approx_chol.factorize(laplacian).solve)


def conjugate_gradient(laplacian, apply):
    operator = scipy.sparse.linalg.LinearOperator(laplacian.shape, matvec=apply, dtype=float)
    return lambda b: scipy.sparse.linalg.cg(laplacian, b, rtol=0.95 * TOL, maxiter=200, M=operator)[
        0
    ]


def apxchol_solver(laplacian):
    import apxchol

    factor = apxchol.factorize(laplacian)
    return lambda b: factor.solve(b, rtol=0.95 * TOL, maxiter=200).x


def direct_solver(laplacian):
    """The first node of every component is grounded."""
    label = scipy.sparse.csgraph.connected_components(laplacian, directed=False)[1]
    kept = np.delete(np.arange(label.size), np.unique(label, return_index=True)[1])
    factor = scipy.sparse.linalg.splu(
        laplacian[kept][:, kept].tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )

    def solve(b):
        x = np.zeros(label.size)
        x[kept] = factor.solve(b[kept])
        return x

    return solve


PEERS = {
    "pyamg": pyamg_solver,
    "approx-chol": approx_chol_solver,
    "apxchol": apxchol_solver,
    "scipy direct": direct_solver,
}


def print_row(row, *, header):
    columns = [*OURS, *PEERS]
    if header:
        print(f"{'graph':22} {'K':>2} {'chosen':>8} {'steps':>5} {'residual':>8} |", end="")
        print("".join(f"{name:>13}" for name in columns), "| auto/own  peer/auto")
    times = {**row["ours"], **row["peers"]}
    print(
        f"{row['graph']:22} {row['columns']:>2} {row['chosen']:>8} {row['steps']:>5} "
        f"{row['residual']:8.1e} |" + "".join(f"{_number(times[name]):>13}" for name in columns),
        f"| {_number(row['auto_over_best_own'], 2):>8}",
        f"{_number(row['best_peer_over_auto'], 2):>10}",
        flush=True,
    )


def _number(value, digits=4):
    return "-" if value is None else f"{value:.{digits}f}"


def summarize(rows):
    one = [row["best_peer_over_auto"] for row in rows if row["columns"] == 1]
    many = [row["best_peer_over_auto"] for row in rows if row["columns"] == 16]
    own = [row["auto_over_best_own"] for row in rows if row["columns"] == 16]
    own_one = [row["auto_over_best_own"] for row in rows if row["columns"] == 1]
    solved = sum(row["residual"] <= TOL for row in rows)
    return {
        "cases at a true residual of 1e-8": f"{solved} of {len(rows)}",
        "16 columns, auto / best own backend, worst": round(max(filter(None, own)), 2),
        "1 column, auto / best own backend, worst": round(max(filter(None, own_one)), 2),
        "16 columns, best peer / auto, median": round(float(np.median([x for x in many if x])), 2),
        "1 column, best peer / auto, median": round(float(np.median([x for x in one if x])), 2),
        "1 column, auto / best peer, worst": round(1 / min(filter(None, one)), 2),
    }


if __name__ == "__main__":
    sys.exit(main())
