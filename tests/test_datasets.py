"""Shipped and generated data have the properties that their documentation states."""

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors

from graphsqueak import InputError, datasets, neighbor_edges
from graphsqueak.sparsifiers import uniform_sparsifier


@pytest.mark.slow
def test_spam_and_ham_are_separated_by_nearest_neighbors():
    spam = datasets.load_spam()
    assert (int((spam.labels == 1).sum()), int((spam.labels == 0).sum())) == (1779, 4097)
    assert len(set(spam.ids)) == len(spam.ids)
    norms = np.sqrt(spam.points.multiply(spam.points).sum(axis=1))
    np.testing.assert_allclose(norms[norms > 0], 1, rtol=1e-5)
    assert (norms == 0).sum() == 1
    nearest = NearestNeighbors(n_neighbors=1, metric="cosine").fit(spam.points)
    agree = spam.labels[nearest.kneighbors()[1][:, 0]] == spam.labels
    assert agree.mean() > 0.95


def test_spam_labels_follow_the_folders():
    spam = datasets.load_spam()
    folder = np.char.partition(spam.ids, "/")[:, 0]
    assert set(folder[spam.labels == 1]) == {"spam-1", "spam-2"}
    assert set(folder[spam.labels == 0]) == {"easy-ham-1", "easy-ham-2", "hard-ham-1"}


def test_spambase_has_its_published_error_rate():
    """About 7 % misclassified, say its donors."""
    data = datasets.load_spambase()
    assert data.points.shape == (4601, len(data.columns))
    assert data.points[0, -3:] == pytest.approx([3.756, 61, 278])
    X, half = np.log1p(data.points), np.arange(len(data.labels)) % 2 == 0
    model = LogisticRegression(max_iter=2000).fit(X[half], data.labels[half])
    assert 0.04 < 1 - model.score(X[~half], data.labels[~half]) < 0.09


def test_stacked_clusters_lie_one_above_the_other():
    data = datasets.stacked_clusters(gap=0.5, random_state=71_828)
    assert data.points.shape == (12_100, 2)
    heights = np.floor(data.points[:, 1] / 1.5).astype(int)
    assert np.bincount(heights).tolist() == [3025] * 4
    assert (data.points[:, 1] - 1.5 * heights).max() < 1
    np.testing.assert_array_equal(data.labels, heights >= 2)
    again = datasets.stacked_clusters(gap=0.5, random_state=71_828)
    np.testing.assert_array_equal(again.points, data.points)


def test_stacked_clusters_stay_apart_until_k_exceeds_their_size():
    points = datasets.stacked_clusters(1210, random_state=71_828).points
    for k, n_components in ((301, 4), (320, 1)):
        edges = neighbor_edges(points, k, metric="euclidean", weight="unit").to_edge_list()
        assert edges.components().max() + 1 == n_components


def test_an_unknown_file_is_named():
    with pytest.raises(InputError, match=r"'karate.csv'"):
        datasets.shipped_file("karate.csv")


def test_the_social_graph_is_connected_by_few_edges():
    graph = datasets.social_graph()
    assert graph.components().max() == 0
    assert (graph.weight == 1).all()
    random_edges = uniform_sparsifier(graph, n_edges=graph.n_edges // 5, seed=91)
    assert random_edges.components().max() > 10


def test_teams_of_the_events_change_after_the_first_half(tmp_path):
    (path,) = datasets.write_example("events", tmp_path)
    events = pl.read_csv(path)
    ends = events.select(
        pl.min_horizontal("source", "target").alias("one"),
        pl.max_horizontal("source", "target").alias("other"),
    )
    quarters = [ends.slice(start, 10_000) for start in range(0, 40_000, 10_000)]

    def fraction_repeated(earlier, later):
        repeated = later.join(earlier.unique(), on=["one", "other"], how="semi")
        return repeated.height / later.height

    # A pair of one team, one of 4 x 60 x 59 / 2, has 1.27 events per quarter; members of
    # one team are in one team again with probability 59 / 239.
    same_half = 0.9 * (1 - np.exp(-1.27))
    assert fraction_repeated(quarters[0], quarters[1]) == pytest.approx(same_half, abs=0.05)
    assert fraction_repeated(quarters[2], quarters[3]) == pytest.approx(same_half, abs=0.05)
    assert fraction_repeated(quarters[1], quarters[2]) < 0.3
