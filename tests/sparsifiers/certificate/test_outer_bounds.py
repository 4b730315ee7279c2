"""Bounds from outside: their formula, and how often they fail."""

import itertools

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.special

from graphsqueak import certify, sources
from graphsqueak.solvers.matrix import build_laplacian, multiply
from graphsqueak.sparsifiers.certificate import block_lanczos, outer_bounds
from graphsqueak.sparsifiers.certificate.block_lanczos import BlockLanczos
from graphsqueak.sparsifiers.certificate.outer_bounds import (
    OuterBounds,
    smallest_component,
    widen_block,
)
from tests import reference
from tests.sparsifiers.certificate.graded import bridged, random_pair, reweighted

GRID = 1e-3  # relative: bounds are found on a grid, whose next point outwards is taken


def small_pencil(n_nodes, *, change=0.5):
    """A complete graph, its sparsifier with weights that differ by up to `change`."""
    graph = sources.complete(n_nodes).to_edge_list()
    rng = np.random.default_rng(61_007 + n_nodes)
    return graph, reweighted(graph, 1 + change * rng.random(graph.n_edges))


def eigenpairs(graph, sparsifier):
    """Ratios mu of G to H, ascending, and vectors with x' L_H x = 1 and mean zero."""
    forms = [edges.laplacian().toarray()[1:, 1:] for edges in (graph, sparsifier)]
    values, vectors = scipy.linalg.eigh(*forms)
    vectors = np.vstack([np.zeros(len(values)), vectors])
    return values, vectors - vectors.mean(axis=0)


def run_from(start, graph, sparsifier, n_steps):
    """A run that begins with the columns of `start` instead of random ones."""
    run = BlockLanczos(sparsifier, ridge=0.0, n_columns=start.shape[1], random_state=1)
    run.newest = np.ascontiguousarray(start)
    for _ in range(n_steps):
        run.step(graph.laplacian() @ run.newest)
    return run


def bounds_after(run, delta):
    bounds = OuterBounds(run, delta=delta)
    bounds.update(force=True)
    return bounds


@pytest.mark.parametrize("delta", [0.02, 0.3, 0.7])
@pytest.mark.parametrize(("n_columns", "dimension"), [(1, 2), (1, 3), (1, 4), (2, 3), (3, 4)])
@pytest.mark.parametrize("end", [0, 1])
def test_a_bound_fails_just_when_the_start_has_too_little_of_a_vector(
    n_columns, dimension, delta, end
):
    """The failure rate is delta / 2 at each end, no more and no less.

    If all but one of the dimensions have been searched, the inequalities behind the bound are
    equalities: the bound fails if and only if the start's component along the extreme eigenvector
    is below t, which an isotropic start has with probability delta / 2. Components 0.3 % below and
    above t are tried. A gap that is 2 % too short, or a t for delta instead of delta / 2, is seen.
    """
    graph, sparsifier = small_pencil(dimension + 1)
    values, vectors = eigenpairs(graph, sparsifier)
    extreme = vectors[:, [-end]]
    others = np.delete(vectors, -end % dimension, axis=1)
    turn, _ = np.linalg.qr(np.random.default_rng(61_008).standard_normal(2 * [dimension - 1]))
    others = others @ turn
    t = np.sqrt(scipy.special.betaincinv(n_columns / 2, (dimension - n_columns) / 2, delta / 2))
    for share in (0.997, 1.003):
        start = others[:, :n_columns].copy()
        start[:, :1] = t * share * extreme + np.sqrt(1 - (t * share) ** 2) * start[:, :1]
        run = run_from(start, graph, sparsifier, dimension - n_columns)
        assert sum(len(block) for block in run.diagonal) == dimension - 1 or n_columns > 1
        bounds = bounds_after(run, delta)
        fails = bounds.high < values[-1] if end else bounds.low > values[0]
        assert fails == (share < 1)


def test_the_bound_after_one_step_has_a_closed_form():
    """In three dimensions |g| is uniform on [0, 1], and t = delta / 2.

    With T_1 = a and B_1 = b, |g| <= R / sqrt(1 + R^2) for R = b / |mu - a|. So no eigenvalue is
    further from a than b sqrt(1 - t^2) / t.
    """
    graph, sparsifier = small_pencil(4, change=0.05)
    for seed, delta in itertools.product(range(3), (0.2, 0.6)):
        run = BlockLanczos(sparsifier, ridge=0.0, n_columns=1, random_state=seed)
        run.step(graph.laplacian() @ run.newest)
        bounds = bounds_after(run, delta)
        assert run.dimension == 3
        t = delta / 2
        far = run.coupling[0].item() * np.sqrt(1 - t**2) / t
        a = run.diagonal[0].item()
        assert far <= bounds.high - a <= far * (1 + GRID)
        assert far <= a - bounds.low <= far * (1 + GRID)


@pytest.mark.parametrize("error", [0.0, 1e-5, 1e-3])
@pytest.mark.parametrize("is_orthonormal", [True, False])
@pytest.mark.parametrize(("n_columns", "n_steps"), [(1, 1), (1, 5), (2, 3), (4, 2)])
def test_bounds_are_where_the_formula_says(n_columns, n_steps, is_orthonormal, error):
    """The inequality of the module, written with inverses, and its outermost root by bisection."""
    graph, sparsifier = small_pencil(40)
    delta = 0.1
    run = BlockLanczos(sparsifier, ridge=0.0, n_columns=n_columns, random_state=61_009)
    for _ in range(n_steps):
        run.step(graph.laplacian() @ run.newest)
    run.is_orthonormal = is_orthonormal
    run.error = error
    bounds = bounds_after(run, delta)
    t = smallest_component(delta / 2, n_columns, 39) - run.start_error
    T = whole_tridiagonal(run)
    values = np.linalg.eigvalsh(T)

    def largest_component(mu):
        inverse = np.linalg.inv(mu * np.eye(len(T)) - T)
        R = run.coupling[-1] @ inverse[-n_columns:]
        seen = R if is_orthonormal else R[:, -n_columns:]
        form = np.eye(n_columns) + seen @ seen.T
        P = R[:, :n_columns]
        g = np.sqrt(scipy.linalg.eigh(P @ P.T, form, eigvals_only=True)[-1])
        of_error = error * np.linalg.norm(inverse[:, :n_columns])
        return (1 + error * np.linalg.norm(inverse, 2)) * g + of_error - t

    width = values[-1] - values[0] if len(values) > 1 else values[-1]
    far = scipy.optimize.brentq(lambda x: largest_component(values[-1] + x), 1e-9, 1e3 * width)
    near = scipy.optimize.brentq(lambda x: largest_component(values[0] - x), 1e-9, 1e3 * width)
    assert far * (1 - 1e-9) <= bounds.high - values[-1] <= far * (1 + GRID)
    if near * (1 + GRID) < values[0]:
        assert near * (1 - 1e-9) <= values[0] - bounds.low <= near * (1 + GRID)
    else:
        assert bounds.low == pytest.approx(max(values[0] - near, 0.0), abs=GRID * near)


def whole_tridiagonal(run):
    size = sum(len(block) for block in run.diagonal)
    T = np.zeros((size, size))
    begin = 0
    for diagonal, below in zip(run.diagonal, run.coupling, strict=True):
        end = begin + len(diagonal)
        T[begin:end, begin:end] = diagonal
        following = slice(end, end + len(below))
        T[following, begin:end] = below[: max(size - end, 0)]
        T[begin:end, following] = below[: max(size - end, 0)].T
        begin = end
    return T


@pytest.mark.slow
def test_certificates_fail_as_often_as_delta_says():
    """Binomial test of the failure rate of `certify`, on graphs of three nodes.

    In two dimensions, after one step, the two ends fail for disjoint sets of starts, each of
    probability delta / 2 (see the test above), so that failures are Binomial(400, delta). With
    delta = 0.2 these are 80 with a standard deviation of 8. A right certificate is more than 5
    standard deviations off for one choice of seeds in 1.7 million. If delta were not halved, 160
    would be expected.
    """
    n_runs, delta = 400, 0.2
    graph = sources.complete(3).to_edge_list()
    sparsifier = reweighted(graph, np.array([1.0, 1.05, 0.98]))
    truth = certify(graph, sparsifier)
    n_failures = 0
    for seed in range(n_runs):
        found = certify(
            graph, sparsifier, method="lanczos", max_iter=1, delta=delta, random_state=seed
        )
        n_failures += found.lambda_max < truth.lambda_max or found.lambda_min > truth.lambda_min
    spread = np.sqrt(n_runs * delta * (1 - delta))
    assert abs(n_failures - n_runs * delta) <= 5 * spread


@pytest.mark.slow
def test_early_bounds_of_wide_blocks_hold_with_their_probability():
    """Few steps in 39 dimensions: failures at either end are at most Binomial(150, delta / 2).

    Pooled over blocks of one, two and four columns, with delta = 0.5: 37.5 with a standard
    deviation of 5.3 at most, and 5 standard deviations above that are 64. The inequalities have
    some slack in more dimensions: failures may be fewer.
    """
    graph, sparsifier = small_pencil(40, change=3.0)
    values, _ = eigenpairs(graph, sparsifier)
    laplacian = graph.laplacian()
    n_failures = np.zeros(2)
    for seed in range(150):
        n_columns = (1, 2, 4)[seed % 3]
        run = BlockLanczos(sparsifier, ridge=0.0, n_columns=n_columns, random_state=seed)
        bounds = OuterBounds(run, delta=0.5)
        for _ in range(4 // n_columns + 1):
            run.step(laplacian @ run.newest)
            bounds.update()
        assert run.ritz[0] >= values[0] * (1 - 1e-9)
        assert run.ritz[1] <= values[-1] * (1 + 1e-9)
        n_failures += [bounds.low > values[0] * (1 + 1e-9), bounds.high < values[-1] * (1 - 1e-9)]
    assert (n_failures <= 64).all()


@pytest.mark.parametrize("dimension", [1, 2, 3, 50])
def test_a_start_that_is_the_whole_space_has_all_of_every_vector(dimension):
    assert smallest_component(0.3, dimension, dimension) == 1.0


def test_blocks_widen_with_rounding():
    widths = [widen_block(1, 3000, 0.01, rounding) for rounding in (0.0, 1e-7, 1e-6, 1e-5, 0.99)]
    assert widths == sorted(widths)
    assert widths[0] == 1
    assert widths[-1] > 16


def test_a_start_that_is_not_isotropic_proves_less():
    """What the solves may have changed of the start is taken off its component."""
    graph, sparsifier = small_pencil(4, change=0.05)
    run = BlockLanczos(sparsifier, ridge=0.0, n_columns=1, random_state=5)
    run.step(graph.laplacian() @ run.newest)
    run.start_error = 0.06
    bounds = bounds_after(run, 0.2)
    t = 0.2 / 2 - 0.06
    far = run.coupling[0].item() * np.sqrt(1 - t**2) / t
    assert bounds.high == pytest.approx(run.diagonal[0].item() + far, rel=1e-3)
    run.start_error = 0.11
    nothing = bounds_after(run, 0.2)
    assert (nothing.low, nothing.high) == (0.0, np.inf)
    assert nothing.is_limited


def test_errors_that_are_not_known_prove_nothing():
    graph, sparsifier = small_pencil(10)
    for error in (np.inf, np.nan, 1e200):
        run = BlockLanczos(sparsifier, ridge=0.0, n_columns=1, random_state=5)
        run.step(graph.laplacian() @ run.newest)
        run.error = error
        bounds = bounds_after(run, 0.1)
        assert bounds.low == 0
        assert bounds.high == np.inf
        assert bounds.is_limited


def test_no_bound_where_none_is_found_on_the_grid(monkeypatch):
    """The outermost point of the grid was once taken for a bound, whether it was one or not."""
    monkeypatch.setattr(outer_bounds, "GRID", np.geomspace(1e-7, 1e-2, 50))
    graph, sparsifier = small_pencil(10)
    run = BlockLanczos(sparsifier, ridge=0.0, n_columns=1, random_state=5)
    run.step(graph.laplacian() @ run.newest)
    bounds = bounds_after(run, 1e-6)
    assert (bounds.low, bounds.high) == (0.0, np.inf)


class TestRecurrence:
    """T Q_j = Q_{j-1} B_{j-1}' + Q_j A_j + Q_{j+1} B_j + F_j, and `error` bounds all F_j."""

    @pytest.mark.parametrize("bridge", [1.0, 1e-6, 1e-10, 1e-13, 1e-15])
    def test_bridges(self, bridge):
        graph, sparsifier = bridged(bridge, n_nodes=24, density=0.5)
        found, stated = recurrence_error(graph, sparsifier, n_columns=2)
        assert 1e-18 <= found <= stated

    def test_a_given_tolerance_is_taken_for_the_error(self):
        graph, sparsifier = small_pencil(40)
        found, stated = recurrence_error(graph, sparsifier, n_columns=2, tol=1e-4)
        assert 1e-9 <= found <= stated

    @pytest.mark.parametrize("seed", range(36_001, 36_031))
    def test_random_weights(self, seed):
        graph, sparsifier, _ = random_pair(seed, decades=15)
        found, stated = recurrence_error(graph, sparsifier, n_columns=1 + seed % 3, n_steps=12)
        assert found <= stated

    @pytest.mark.parametrize("bridge", [1e-9, 1e-15])
    def test_rounding_counts_even_if_solves_are_exact(self, bridge):
        """One rounding of a vector that crosses the bridge costs u sqrt(volume / bridge)."""
        graph, sparsifier = bridged(bridge, n_nodes=24)
        run = BlockLanczos(sparsifier, ridge=0.0, n_columns=1, random_state=7)
        product = np.empty_like(run.newest)
        multiply(build_laplacian(graph, np.zeros(graph.n_nodes)), run.newest, product)
        run.step(product)
        least = np.finfo(np.float64).eps * np.sqrt(24 * 23 / bridge)
        assert run.rounding >= least
        assert run.error >= run.rounding * run.ritz[0]
        assert run.start_error >= run.rounding

    def test_a_cut_that_every_solver_misses_is_noticed(self, monkeypatch):
        """Solutions lose their step across the bridge, which Euclidean residuals hardly show.

        Solving for the residual shows nothing either. The flow along the forest does.
        """
        solve = BlockLanczos._solve

        def solve_blocks_only(run, b):
            x = solve(run, b)
            step = x[:24].mean(axis=0) - x[24:].mean(axis=0)
            x[:24] -= step / 2
            x[24:] += step / 2
            return x

        monkeypatch.setattr(BlockLanczos, "_solve", solve_blocks_only)
        graph, sparsifier = bridged(1e-12, n_nodes=24, density=0.5)
        run = BlockLanczos(sparsifier, ridge=0.0, n_columns=1, random_state=7)
        assert run.start_error > 0.01
        found = certify(graph, sparsifier, method="lanczos", random_state=7)
        assert found.epsilon_lower <= 0.5 <= found.epsilon_upper

    def test_a_solver_that_stops_early_is_noticed(self, monkeypatch):
        """With the error of solves left out, what is stated would be too small."""
        monkeypatch.setattr(block_lanczos, "SOLVE_TOL", 1e-3)
        graph, sparsifier = small_pencil(40)
        found, stated = recurrence_error(graph, sparsifier, n_columns=1, n_steps=4)
        assert 1e-7 < found <= stated


def recurrence_error(graph, sparsifier, *, n_columns, n_steps=6, tol=None):
    """The norm of all F_j, computed in extended precision, and the one that the run states."""
    run = BlockLanczos(sparsifier, ridge=0.0, n_columns=n_columns, tol=tol, random_state=7)
    rows = build_laplacian(graph, np.zeros(graph.n_nodes))
    before = np.zeros((graph.n_nodes, 0))
    coupling = np.zeros((run.newest.shape[1], 0))
    total = 0.0
    for _ in range(n_steps):
        block = run.newest
        if block.shape[1] == 0:
            break
        product = np.empty_like(block)
        multiply(rows, block, product)
        run.step(product)
        parts = ((before, coupling.T), (block, run.diagonal[-1]), (run.newest, run.coupling[-1]))
        combined = sum(Q.astype(np.longdouble) @ B for Q, B in parts)
        residual = exact_product(graph, block) - exact_product(sparsifier, combined)
        total = np.hypot(total, reference.energy_norm(sparsifier, residual))
        before, coupling = block, run.coupling[-1]
    return total, run.error


def exact_product(graph, block):
    flow = graph.weight.astype(np.longdouble)[:, None] * (
        block[graph.tail].astype(np.longdouble) - block[graph.head]
    )
    product = np.zeros((graph.n_nodes, block.shape[1]), dtype=np.longdouble)
    np.add.at(product, graph.tail, flow)
    np.subtract.at(product, graph.head, flow)
    return product
