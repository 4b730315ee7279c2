"""Two views of the same points as one graph."""

import numpy as np
import pytest

from graphsqueak.mail.two_views import SecondView, TwoViews
from graphsqueak.sources import neighbor_edges

SEED = 660_127


def dense_second_view(points, k):
    """Half of the cosine where it is above that of either's k-th neighbor."""
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -np.inf)
    last = np.sort(cosine, axis=1)[:, -k]
    near = (cosine > last[:, None] + 1e-6) & (cosine > last[None, :] + 1e-6) & (cosine > 0)
    return np.where(near, cosine / 2, 0.0), last


def test_points_are_joined_that_are_nearer_than_the_last_neighbors():
    points = np.random.default_rng(SEED).random((120, 4))
    view = SecondView(points, 7)
    expected, last = dense_second_view(points, 7)
    assert np.count_nonzero(expected) > 300
    assert np.allclose(view.to_edge_list().to_scipy().toarray(), expected, atol=1e-6)
    assert np.allclose(view.last_cosine, last, atol=1e-6)


def test_points_that_look_the_same_are_not_joined_and_a_few_twins_are():
    points = np.vstack([np.tile([1.0, 2.0, 0.0], (50, 1)), np.tile([0.0, 1.0, 5.0], (4, 1))])
    edges = SecondView(points, 6).to_edge_list()
    assert edges.n_edges == 6  # the four twins
    assert min(edges.tail.min(), edges.head.min()) == 50


def test_fewer_points_than_neighbors_have_no_last_one():
    view = SecondView(np.eye(3) + 1, 9)
    assert view.last_cosine.tolist() == [0, 0, 0]
    assert view.to_edge_list().n_edges == 3


@pytest.mark.parametrize("ids", [None, [f"mail {i}" for i in range(60)]])
def test_both_views_are_summed(ids):
    rng = np.random.default_rng(SEED)
    texts, headers = rng.random((60, 5)), rng.random((60, 3))
    names = None if ids is None else np.array(ids)
    parts = neighbor_edges(texts, 4, ids=names), SecondView(headers, 5, ids=names)
    both = TwoViews(*parts)
    found = both.to_edge_list()
    expected = sum(part.to_edge_list().to_scipy().toarray() for part in parts)
    assert np.allclose(found.to_scipy().toarray(), expected)
    assert both.n_edges_read == sum(part.n_edges_read for part in parts)
    assert found.ids.tolist() == (list(range(60)) if ids is None else ids)
