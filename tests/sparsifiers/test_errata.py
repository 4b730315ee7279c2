"""The graph entries of docs/research/errata.md: the printed formula fails on an example, ours
holds."""

import math
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from graphsqueak.graph import EdgeList
from graphsqueak.sampling import Sample, shrink
from graphsqueak.ssl.bounds import approximation_error, spectral_stability
from graphsqueak.ssl.stable import stable_scores
from tests import reference

PAGE = Path(__file__).parents[2] / "docs" / "research" / "errata.md"


def test_every_entry_of_the_section_has_its_test_and_every_test_its_entry():
    section = PAGE.read_text().split("## Graphs")[1]
    here = {name for name in globals() if name.startswith("test_")}
    named = set(re.findall(r"`(test_\w+)`", section))
    assert named == here - {"test_every_entry_of_the_section_has_its_test_and_every_test_its_entry"}


def edges(tail, head, weight, n_nodes):
    return EdgeList(tail=tail, head=head, weight=weight, n_nodes=n_nodes)


def complete(n_nodes, weight=1.0):
    tail, head = np.triu_indices(n_nodes, 1)
    return EdgeList(tail=tail, head=head, weight=np.full(tail.size, weight))


def algorithm_11(graph, n_copies, block, *, seed, remember=True):
    """The listing with dense resistances: the sparsifier, and edges visited for each of G."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(graph.n_edges)
    kept, a = Sample(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64)), np.zeros(0)
    visits = 0
    for start in range(0, order.size, block):
        new = order[start : start + block]
        index, prob = np.append(kept.index, new), np.append(kept.prob, np.ones(new.size))
        copies = np.append(kept.copies, np.full(new.size, n_copies))
        a = np.append(a, graph.weight[new])
        visits += index.size
        weight = a * copies / (n_copies * prob)
        pairs = np.column_stack([graph.tail[index], graph.head[index]])
        now = edges(*pairs.T, weight, graph.n_nodes)
        score = np.minimum(a * reference.resistances(now, pairs), 1.0)
        part = shrink(Sample(np.arange(index.size), prob, copies), score, rng=rng)
        kept, a = part._replace(index=index[part.index]), a[part.index]
        if not remember:
            a = a * kept.copies / (n_copies * kept.prob)
            fresh = np.ones(a.size)
            kept = Sample(kept.index, fresh, (n_copies * fresh).astype(np.int64))
    weight = a * kept.copies / (n_copies * kept.prob)
    i = kept.index
    sparse = edges(graph.tail[i], graph.head[i], weight, graph.n_nodes)
    return sparse, visits / graph.n_edges


def test_blocks_must_be_as_large_as_the_sparsifier():
    graph = complete(40)
    small, large = (algorithm_11(graph, 8, block, seed=71_802) for block in (8, 40 * 8))
    assert small[1] > 20
    assert large[1] < 2
    assert reference.epsilon(graph, large[0]) < 1.3 * reference.epsilon(graph, small[0])


def test_a_sparsifier_must_remember_the_weights_of_the_graph():
    graph = complete(40)
    ours, anew = (
        reference.epsilon(graph, algorithm_11(graph, 8, 8, seed=30_551, remember=remember)[0])
        for remember in (True, False)
    )
    assert ours < 1.2
    assert anew > 2


def test_a_sum_of_sparsifiers_is_as_accurate_as_its_parts():
    rng = np.random.default_rng(48_113)
    for _ in range(20):
        parts, sparse = [], []
        for _ in range(2):  # on the same nodes, overlapping, not connected
            tail, head = rng.integers(12, size=(2, 20))
            good = tail != head
            graph = edges(tail[good], head[good], rng.random(good.sum()) + 0.1, 12)
            factor = rng.uniform(0.5, 1.5, size=graph.n_edges)
            parts.append(graph)
            sparse.append(edges(graph.tail, graph.head, graph.weight * factor, 12))
        each = [reference.epsilon(g, h) for g, h in zip(parts, sparse, strict=True)]
        both = reference.epsilon(union(parts), union(sparse))
        assert both <= max(each) + 1e-9
    printed = 26 * (1 + 3 * 0.5) / (1 - 0.5) * math.log(3 * 10**6 / 0.1) / 0.5**2
    needed = 13 * (1 + 0.5) / (1 - 0.5) * math.log(3 * 10**4 * 100 / 0.1) / 0.5**2
    assert (printed, needed) == pytest.approx((8_953, 2_686), abs=1)


def union(graphs):
    columns = (
        np.concatenate([getattr(g, name) for g in graphs]) for name in ("tail", "head", "weight")
    )
    return edges(*columns, 12)


def test_the_projected_inverse_is_projected_on_both_sides():
    path = EdgeList(tail=[0, 1, 2], head=[1, 2, 3])
    ours = stable_scores(path, np.array([0, 1]), np.array([[1.0], [0.0]]), alpha=1.0)
    A = path.laplacian().toarray() + np.diag([1.0, 1.0, 0.0, 0.0])
    project, y = np.eye(4) - 1 / 4, np.array([0.5, -0.5, 0.0, 0.0])
    right = np.linalg.pinv(project @ A @ project) @ y
    np.testing.assert_allclose(ours.centered.ravel(), right, atol=1e-7)
    assert right.sum() == pytest.approx(0, abs=1e-12)
    printed = np.linalg.pinv(project @ A) @ y
    assert printed.sum() == pytest.approx(0.091, abs=5e-4)
    everywhere = np.linalg.pinv(project @ A @ project) @ (project @ np.array([1.0, 0, 0, 0]))
    assert np.abs(everywhere - right).max() > 0.1  # centered on all nodes it is another function


def test_labels_must_be_centered_before_they_are_projected():
    """Path of four nodes, label 1 on the first two: no node differs from another."""
    path = EdgeList(tail=[0, 1, 2], head=[1, 2, 3])
    inverse = np.linalg.inv(path.laplacian().toarray() + np.diag([1.0, 1.0, 0.0, 0.0]))

    def with_multiplier(y):
        """A^-1 (y - mu 1), mu such that the scores add up to 0."""
        mu = np.sum(inverse @ y) / np.sum(inverse @ np.ones(4))
        return inverse @ (y - mu)

    printed = with_multiplier(np.array([1.0, 1.0, 0.0, 0.0]))
    np.testing.assert_allclose(printed, [0.512, 0.317, -0.268, -0.561], atol=5e-4)
    ours = stable_scores(path, np.array([0, 1]), np.ones((2, 1)), alpha=1.0)
    np.testing.assert_allclose(ours.centered, 0.0, atol=1e-9)
    np.testing.assert_allclose(ours.offset, 1.0)
    # Labels 1 and 0: printed, the second labeled node is above 0; with centered labels, below.
    printed = with_multiplier(np.array([1.0, 0.0, 0.0, 0.0]))
    centered = with_multiplier(np.array([0.5, -0.5, 0.0, 0.0]))
    ours = stable_scores(path, np.array([0, 1]), np.array([[1.0], [0.0]]), alpha=1.0)
    np.testing.assert_allclose(ours.centered.ravel(), centered, atol=1e-7)
    assert (printed[1], centered[1]) == pytest.approx((0.049, -0.110), abs=5e-4)


def scores(graph, nodes, y, alpha):
    nodes = np.array(nodes)
    return reference.stable_hfs(graph, nodes, y[nodes][:, None], alpha)[0].ravel()


def test_the_stability_of_a_loss_is_not_that_of_a_score():
    graph, M, kappa, n_labels = complete(6), 10.0, 3.0, 3
    alpha = kappa / 6  # lambda_2 = 6
    most_loss, most_score = 0.0, 0.0
    for signs in product((-M, M), repeat=6):
        y = np.array(signs)
        one, other = (scores(graph, nodes, y, alpha) for nodes in ((0, 1, 2), (1, 2, 3)))
        most_loss = max(most_loss, np.abs((one - y) ** 2 - (other - y) ** 2).max())
        most_score = max(most_score, float(np.linalg.norm(one - other)))
    printed = 1.5 * M * math.sqrt(n_labels) / (kappa - 1) ** 2 + 4 * M / (kappa - 1)
    assert (most_loss, printed) == pytest.approx((55.6, 26.5), abs=0.05)
    stability = spectral_stability(n_labels, alpha / n_labels, 6.0, M)
    assert most_score <= stability
    assert most_loss <= 4 * M * stability  # 2 c, c = 2 M
    project = np.eye(6) - 1 / 6
    for tiny in (0.1, 0.9, 3.0):  # kappa <= 1: the printed denominators are not positive
        A = tiny / 6 * graph.laplacian().toarray() + np.diag([1.0, 1, 1, 0, 0, 0])
        assert np.linalg.norm(np.linalg.pinv(project @ A @ project), 2) <= 1 / tiny + 1e-12


def test_the_training_error_on_a_sparsifier_grows_with_epsilon_not_its_square():
    y, epsilon, found = np.array([1.0, -1.0] + [0.0] * 10), 0.1, []
    for kappa in (5.0, 50.0):
        exact, sparse = (
            np.mean((scores(complete(12, w), (0, 1), y, kappa / 12)[:2] - y[:2]) ** 2)
            for w in (1.0, 1.1)
        )
        printed = (epsilon * kappa / ((1 - epsilon) * kappa - 1) ** 2) ** 2
        found.append((sparse - exact, printed))
        error = approximation_error(2, kappa / 24, 12.0, epsilon, 1.0)
        assert sparse <= (math.sqrt(exact) + error) ** 2
    assert np.ravel(found) == pytest.approx([0.0215, 0.0017, 0.0034, 0.000007], rel=0.05)
