"""The iterative certificate on weights that span many decades: never wrong, seldom open."""

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak import EdgeList, certify
from graphsqueak.sparsifiers.certificate.block_lanczos import BlockLanczos
from tests import reference
from tests.sparsifiers.certificate.graded import bridged, random_pair, reweighted

SURE = 1e-6  # the probability that the start is to blame


@pytest.mark.parametrize("bridge", [1e-3, 1e-6, 1e-9, 1e-12, 1e-13, 1e-14, 1e-15, 1e-18])
@pytest.mark.parametrize("factor", [1.5, 0.25])
def test_a_light_bridge_is_measured(bridge, factor):
    graph, sparsifier = bridged(bridge, factor=factor)
    truth = abs(factor - 1)
    found = certify(graph, sparsifier, method="lanczos", random_state=34_300)
    assert found.epsilon_lower <= truth <= found.epsilon_upper <= 1.02 * truth
    assert found.lambda_min <= min(factor, 1.0)
    assert max(factor, 1.0) <= found.lambda_max
    assert not found.unresolved


@pytest.mark.parametrize("bridge", [1e-26, 1e-30, 1e-100, 1e-300])
def test_a_bridge_below_rounding_is_left_open(bridge):
    """Vectors are not known well enough to see it; the certificate says so, and stops."""
    graph, sparsifier = bridged(bridge)
    found = certify(graph, sparsifier, method="lanczos", random_state=34_301)
    assert found.epsilon_lower <= 0.5 <= found.epsilon_upper
    assert found.epsilon_upper == np.inf
    assert found.steps <= 5
    assert found.unresolved.endswith("for method='lanczos'; use method='dense'")
    assert found.delta > 0
    assert found.unresolved in found.in_words()


@pytest.mark.parametrize("density", [0.01, 0.1])
def test_a_light_bridge_between_large_blocks(density):
    """Jacobi and multigrid solvers do not see the bridge, and are changed when that is noticed."""
    graph, sparsifier = bridged(1e-13, n_nodes=1_000, density=density)
    found = certify(graph, sparsifier, method="lanczos", random_state=34_302)
    assert found.epsilon_lower <= 0.5 <= found.epsilon_upper <= 0.51


@pytest.mark.slow
def test_random_graphs_with_weights_over_many_decades():
    """500 graphs against the reference; every step of the history counts, every fifth run ends."""
    excess = []
    for seed in range(500):
        graph, sparsifier, ridge = random_pair(34_100 + seed)
        ratios = reference.laplacian_ratios(graph, sparsifier, ridge)
        truth = max(1 - ratios[0], ratios[-1] - 1)
        found = certify(
            graph,
            sparsifier,
            ridge=ridge,
            method="lanczos",
            delta=SURE,
            max_iter=4 if seed % 5 else 500,
            random_state=seed,
        )
        slack = 1e-9 * ratios[-1]
        for lower, upper in found.history:
            assert lower <= truth + slack, seed
            assert truth <= upper + slack, seed
        assert found.lambda_min <= ratios[0] + slack, seed
        assert ratios[-1] <= found.lambda_max + slack, seed
        assert found.kappa_lower <= ratios[-1] / ratios[0] * (1 + 1e-9), seed
        if seed % 5 == 0:
            excess.append(found.epsilon_upper / truth - 1)
    assert np.quantile(excess, 0.95) <= 0.03


@pytest.mark.slow
def test_nested_blocks():
    """Eight paths of 30 nodes in blocks, each level of blocks joined by much lighter edges."""
    n_open = 0
    for seed in range(4):
        graph, sparsifier = nested_blocks(seed, step=10.0 ** -(3 + seed))
        truth = certify(graph, sparsifier)
        found = certify(graph, sparsifier, method="lanczos", delta=SURE, random_state=seed)
        assert found.epsilon_lower <= truth.epsilon_upper
        assert truth.epsilon_lower <= found.epsilon_upper
        assert found.lambda_min <= truth.lambda_min * (1 + 1e-6)
        assert found.lambda_max >= truth.lambda_max * (1 - 1e-6)
        n_open += not np.isfinite(found.epsilon_upper)
    assert n_open <= 1


def nested_blocks(seed, *, step):
    rng = np.random.default_rng([34_303, seed])
    first = 30 * np.arange(8)[:, None]
    tail, head = [(first + np.arange(29)).ravel()], [(first + np.arange(1, 30)).ravel()]
    weight = [np.ones(8 * 29)]
    for level, size in enumerate((30, 60, 120), start=1):
        for begin in range(0, 240, 2 * size):
            tail.append(rng.integers(begin, begin + size, size=2))
            head.append(rng.integers(begin + size, begin + 2 * size, size=2))
            weight.append(step**level * rng.uniform(0.5, 2.0, size=2))
    columns = [np.concatenate(part) for part in (tail, head, weight)]
    graph = EdgeList(**dict(zip(("tail", "head", "weight"), columns, strict=True))).simplified()
    return graph, reweighted(graph, graph.weight * rng.uniform(0.5, 2.0, size=graph.n_edges))


def test_the_start_has_the_right_share_of_a_light_bridge():
    """The component along the bridge's vector is a random number of unit variance.

    The unit vector is constant on both blocks. Over 60 starts the mean square of the component,
    times the dimension, is 1 with a standard deviation of at most sqrt(2 / 60) = 0.18.
    """
    _, sparsifier = bridged(1e-14, n_nodes=12)
    root = np.sqrt(sparsifier.weight[-1])
    component = []
    for seed in range(60):
        run = BlockLanczos(sparsifier, ridge=0.0, n_columns=1, random_state=seed)
        component.append(root * (run.newest[11, 0] - run.newest[12, 0]))
    assert run.dimension == 23
    assert abs(23 * np.mean(np.square(component)) - 1) <= 5 * 0.18


def test_a_table_of_pairs_with_a_light_attribute(tmp_path):
    """Two groups that share one attribute, of which both have very little."""
    lines = ["entity,attribute,weight"]
    lines += [f"e{i},left,1" for i in range(20)] + [f"e{i},right,1" for i in range(20, 40)]
    lines += ["e3,both,1e-12", "e30,both,1e-12"]
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(lines))
    table = gs.read_projection(path, weight="weight", normalize="none")
    edges = table.to_edge_list()
    is_bridge = edges.weight < 1e-6
    assert is_bridge.sum() == 1
    sparsifier = EdgeList(
        tail=edges.tail,
        head=edges.head,
        weight=np.where(is_bridge, 1.5 * edges.weight, edges.weight),
        ids=edges.ids,
    )
    for method in ("dense", "lanczos"):
        found = certify(table, sparsifier, method=method, random_state=34_304)
        assert found.epsilon_lower <= 0.5 + 1e-9, method
        assert 0.5 - 1e-9 <= found.epsilon_upper <= 0.51, method
