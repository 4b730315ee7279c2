"""Long runs of the Krylov space: whatever the width, it ends, and with the right eigenvalues."""

import numpy as np
import pytest

from graphsqueak import EdgeList, certify, sources, sparsify
from graphsqueak.sparsifiers.certificate import block_lanczos
from graphsqueak.sparsifiers.certificate.block_lanczos import BlockLanczos
from graphsqueak.sparsifiers.certificate.dense_pencil import dense_ratios
from graphsqueak.sparsifiers.certificate.outer_bounds import OuterBounds

WIDTHS = [1, 2, 4, 16]
KEPT = block_lanczos.WINDOW_NUMBERS
SURE = 1e-6  # the probability with which a bound from outside may fail


def many_components():
    """200 complete graphs of four nodes and a random graph of 500 nodes, half the edges kept."""
    rng = np.random.default_rng(40_417)
    tail, head = np.triu_indices(4, 1)
    first = 4 * np.arange(200)[:, None]
    ends = 800 + rng.integers(500, size=(2, 5000))
    graph = EdgeList(
        tail=np.append((first + tail).ravel(), ends[0]),
        head=np.append((first + head).ravel(), ends[1]),
        n_nodes=1300,
    ).simplified()
    return graph, sparsify(graph, keep=0.5, method="stream", random_state=40_418)


def one_eigenvalue():
    """Everything twice as heavy."""
    graph = sources.complete(60).to_edge_list()
    return graph, EdgeList(tail=graph.tail, head=graph.head, weight=np.full(graph.n_edges, 2.0))


def few_eigenvalues():
    """A complete graph with the edges inside a group of 20 nodes three times as heavy."""
    graph = sources.complete(60).to_edge_list()
    inside = (graph.tail < 20) & (graph.head < 20)
    return graph, EdgeList(tail=graph.tail, head=graph.head, weight=np.where(inside, 3.0, 1.0))


def equal_parts():
    """70 times the same random graph of nine nodes, with the same weights."""
    rng = np.random.default_rng(40_419)
    tail, head = np.triu_indices(9, 1)
    first = 9 * np.arange(70)[:, None]
    tail, head = (first + tail).ravel(), (first + head).ravel()
    weight = np.tile(rng.lognormal(size=36), 70)
    return EdgeList(tail=tail, head=head), EdgeList(tail=tail, head=head, weight=weight)


def a_tree():
    """A sparsifier that is a path: the ratios spread over five orders of magnitude."""
    graph = sources.complete(150).to_edge_list()
    return graph, sources.path(150).to_edge_list()


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", WIDTHS)
@pytest.mark.parametrize(
    ("pair", "small", "rtol"),
    [
        (many_components, KEPT, 0.01),
        (one_eigenvalue, KEPT, 1e-8),
        (few_eigenvalues, KEPT, 1e-8),
        (equal_parts, KEPT, 1e-8),
        (a_tree, KEPT, 1e-4),
        (many_components, 0, 0.02),
        (few_eigenvalues, 0, 1e-8),
        (equal_parts, 0, 1e-4),
        (a_tree, 0, 0.03),
    ],
)
def test_a_run_to_exhaustion_has_the_dense_eigenvalues(pair, small, rtol, n_columns, monkeypatch):
    """350 vectors at least: the ratios of true vectors never leave the interval, and reach it.

    With all blocks kept, and with a window alone, which may lose a little.
    """
    monkeypatch.setattr(block_lanczos, "WINDOW_NUMBERS", small)
    graph, sparsifier = pair()
    laplacian = graph.laplacian()
    ratios = dense_ratios(laplacian.toarray(), sparsifier.laplacian().toarray())
    mu = 1 / ratios.values[::-1]
    run = BlockLanczos(sparsifier, ridge=0.0, n_columns=n_columns, random_state=40_420)
    bounds = OuterBounds(run, delta=SURE)
    for n_steps in range(1, 350 // n_columns + 2):
        gram = run.newest.T @ (sparsifier.laplacian() @ run.newest)
        assert np.abs(gram - np.eye(len(gram))).max() < 1e-9
        run.step(laplacian @ run.newest)
        bounds.update(force=n_steps % 16 == 0)
        assert mu[0] * (1 - 1e-9) <= run.ritz[0]
        assert run.ritz[1] <= mu[-1] * (1 + 1e-9)
        assert bounds.low <= mu[0] * (1 + 1e-9)
        assert mu[-1] * (1 - 1e-9) <= bounds.high
        if run.newest.shape[1] == 0:
            break
    assert run.dimension == mu.size
    assert run.ritz == pytest.approx(mu[[0, -1]], rel=rtol)
    for end in (0, 1):
        x = run.ritz_vector(end)
        ratio = (x @ (laplacian @ x)) / (x @ (sparsifier.laplacian() @ x))
        assert ratio == pytest.approx(run.ritz[end], rel=max(rtol, 2e-5))


@pytest.mark.parametrize("small", [KEPT, 0])
def test_all_blocks_count_only_while_they_are_orthonormal(small, monkeypatch):
    """A tighter bound from all blocks is for blocks that are orthonormal together, no others."""
    monkeypatch.setattr(block_lanczos, "WINDOW_NUMBERS", small)
    graph, sparsifier = many_components()
    run = BlockLanczos(sparsifier, ridge=0.0, n_columns=4, random_state=40_422)
    blocks = [run.newest]
    for n_steps in range(1, 13):
        run.step(graph.laplacian() @ run.newest)
        blocks.append(run.newest)
        basis = np.hstack(blocks)
        off = np.abs(basis.T @ (sparsifier.laplacian() @ basis) - np.eye(4 * n_steps + 4)).max()
        assert run.is_orthonormal == (small > 0 or n_steps <= 10)
        assert off < 1e-9 or not run.is_orthonormal
    whole = bounds_of(run, is_orthonormal=True)
    local = bounds_of(run, is_orthonormal=False)
    assert local.low < whole.low
    assert whole.high < local.high


def bounds_of(run, *, is_orthonormal):
    run.is_orthonormal = is_orthonormal
    bounds = OuterBounds(run, delta=SURE)
    bounds.update(force=True)
    return bounds


def test_a_long_certificate_is_still_one():
    """Constants on components, which no norm sees, once grew with every step."""
    graph, sparsifier = many_components()
    truth = certify(graph, sparsifier).epsilon_upper
    found = certify(
        graph, sparsifier, method="lanczos", max_iter=200, rtol=1e-12, random_state=40_421
    )
    for lower, upper in found.history:
        assert lower <= truth * (1 + 1e-9)
        assert upper >= truth * (1 - 1e-9)
    assert found.epsilon_lower == pytest.approx(truth, rel=1e-4)
    assert found.epsilon_upper == pytest.approx(truth, rel=1e-3)
