"""Neighbor graphs against brute force: which pairs, which weights, the same however it is run."""

import signal
import sys
import time
import tracemalloc
from functools import partial

import numba
import numpy as np
import pytest
import scipy.sparse

import graphsqueak as gs
from graphsqueak import InputError, neighbor_edges
from graphsqueak.sources.neighbors import edges
from graphsqueak.sources.neighbors.edges import NeighborLists, NeighborSource
from graphsqueak.sources.neighbors.points import prepare_points
from graphsqueak.sources.neighbors.weights import weigh_pairs

SEED = 61_409_733


def reference(points, k, metric="cosine", symmetrize="union"):
    """{(i, j): d} by sorting every row of the full table of distances, ties to the lower number."""
    points = np.asarray(points, dtype=float)
    if metric == "cosine":
        points = points / np.linalg.norm(points, axis=1)[:, None]
    squared = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2).round(12)
    n = len(points)
    listed = np.zeros((n, n), dtype=bool)
    for i in range(n):
        others = [j for j in np.lexsort((np.arange(n), squared[i])) if j != i]
        listed[i, others[:k]] = True
    joined = listed & listed.T if symmetrize == "mutual" else listed | listed.T
    return {(i, j): np.sqrt(squared[i, j]) for i, j in np.argwhere(np.triu(joined)).tolist()}


def pairs_of(edges):
    ends = np.sort(np.column_stack([edges.tail, edges.head]), axis=1)
    return [tuple(pair) for pair in ends.tolist()]


def in_small_blocks(points, k, *, block_entries, batch_size):
    """The source of `neighbor_edges`, with other blocks."""
    prepared = prepare_points(points, "cosine")
    return NeighborSource(
        prepared,
        partial(NeighborLists, prepared, k, block_entries=block_entries),
        mutual=False,
        weigh=partial(weigh_pairs, "cosine"),
        ids=None,
        batch_size=batch_size,
    )


def scattered(n=70, d=6):
    return np.random.default_rng(SEED).standard_normal((n, d))


def lattice():
    """Points at equal distances, and twins: all the ties that there can be."""
    across, up = np.divmod(np.arange(49), 7)
    order = np.random.default_rng(SEED).permutation(np.arange(60) % 49)
    return np.column_stack([across, up, np.ones(49)])[order]


@pytest.mark.parametrize("symmetrize", ["union", "mutual"])
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("k", [1, 8, 69])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_pairs_are_those_of_brute_force_each_once(form, k, metric, symmetrize):
    points = scattered()
    edges = neighbor_edges(
        form(points), k, metric=metric, symmetrize=symmetrize, sigma=1.0
    ).to_edge_list()
    expected = reference(points, k, metric, symmetrize)
    assert sorted(pairs_of(edges)) == sorted(expected)
    distance = [expected[pair] for pair in pairs_of(edges)]
    np.testing.assert_allclose(edges.weight, np.exp(np.negative(distance) / 2), rtol=1e-6)


@pytest.mark.parametrize("symmetrize", ["union", "mutual"])
@pytest.mark.parametrize("k", [3, 4, 11, 30])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_ties_go_to_the_lower_number(form, k, symmetrize):
    points = lattice()
    edges = neighbor_edges(
        form(points), k, metric="euclidean", symmetrize=symmetrize, weight="unit"
    )
    expected = reference(points, k, "euclidean", symmetrize)
    assert sorted(pairs_of(edges.to_edge_list())) == sorted(expected)


def test_many_points_agree_with_scikit_learn():
    from sklearn.neighbors import NearestNeighbors

    points = scipy.sparse.random(
        3000, 400, density=0.03, format="csr", random_state=np.random.default_rng(SEED)
    )
    k, rows = 200, np.arange(0, 3000, 61)
    graph = neighbor_edges(points, k, weight="cosine").to_edge_list().to_scipy()
    search = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute").fit(points)
    reach = search.kneighbors()[0][:, -1]
    unit = points.multiply(1 / np.sqrt(points.multiply(points).sum(axis=1))).tocsr()
    cosines = (unit[rows] @ unit.T).toarray()
    joined = (1 - cosines <= reach[rows][:, None] + 1e-12) | (1 - cosines <= reach[None, :] + 1e-12)
    joined[np.arange(rows.size), rows] = False
    np.testing.assert_allclose(graph[rows].toarray(), np.where(joined, cosines, 0), atol=1e-12)


def test_threads_blocks_and_batches_do_not_matter():
    points = scipy.sparse.random(
        500, 90, density=0.1, format="csr", random_state=np.random.default_rng(SEED)
    )
    for rows in (points, points.toarray()):
        whole = neighbor_edges(rows, 20).to_edge_list()
        numba.set_num_threads(1)
        try:
            alone = neighbor_edges(rows, 20).to_edge_list()
        finally:
            numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
        cut = in_small_blocks(rows, 20, block_entries=20 * 70, batch_size=777)
        assert {batch.n_edges for batch in list(cut)[:-1]} == {777}
        for other in (alone, cut.to_edge_list()):
            np.testing.assert_array_equal(other.tail, whole.tail)
            np.testing.assert_array_equal(other.head, whole.head)
            np.testing.assert_array_equal(other.weight, whole.weight)


def test_it_can_be_read_again_and_sparsified():
    source = neighbor_edges(scattered(400), 60, batch_size=1000)
    first, second = source.to_edge_list(), source.to_edge_list()
    np.testing.assert_array_equal(first.weight, second.weight)
    assert source.fraction_read == 1
    assert source.n_edges_read == first.n_edges
    kept = gs.sparsify(source, n_edges=3000, random_state=SEED)
    assert kept.n_edges <= 3000
    assert kept.weight.sum() == pytest.approx(first.weight.sum(), rel=0.05)


def test_the_graph_is_never_held():
    source = in_small_blocks(scattered(4000), 1900, block_entries=50_000, batch_size=20_000)
    next(iter(source))  # compiles
    tracemalloc.start()
    n_edges = sum(batch.n_edges for batch in source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * 16 * n_edges


def test_weights_have_their_closed_forms():
    points = np.array([[3.0, 0.0], [0.0, 4.0], [-1.0, 0.0], [6.0, 8.0]])
    distance = {(0, 1): 5.0, (0, 2): 4.0, (1, 2): 17**0.5, (0, 3): 73**0.5, (1, 3): 52**0.5}
    distance[2, 3] = 113**0.5
    reach = np.array([73**0.5, 52**0.5, 113**0.5, 113**0.5])  # with three neighbors, of all others

    def weights(form, **options):
        source = neighbor_edges(points, 3, metric="euclidean", weight=form, **options)
        edges = source.to_edge_list()
        return dict(zip(pairs_of(edges), edges.weight.tolist(), strict=True))

    for (i, j), d in distance.items():
        assert weights("unit")[i, j] == 1
        assert weights("thesis")[i, j] == pytest.approx(np.exp(-d / 6))
        assert weights("thesis", sigma=2)[i, j] == pytest.approx(np.exp(-d / 8))
        assert weights("gaussian", sigma=2)[i, j] == pytest.approx(np.exp(-(d**2) / 8))
        sigma = reach.mean()
        assert weights("gaussian")[i, j] == pytest.approx(np.exp(-(d**2) / (2 * sigma**2)))
        assert weights("local")[i, j] == pytest.approx(np.exp(-(d**2) / (reach[i] * reach[j])))
    assert weights("cosine") == pytest.approx({(0, 3): 0.6, (1, 3): 0.8})


def test_edges_of_no_weight_are_counted():
    source = neighbor_edges(np.eye(5), 2, weight="cosine")
    assert source.to_edge_list().n_edges == 0
    assert source.n_zero_weights == len(reference(np.eye(5), 2))
    assert source.n_nodes == 5


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_rows_of_zeros_have_cosine_zero_with_everything(form):
    points = form([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    edges = neighbor_edges(points, 3, weight="gaussian", sigma=1.0).to_edge_list()
    weights = dict(zip(pairs_of(edges), edges.weight, strict=True))
    for pair in [(0, 1), (1, 2), (1, 3), (0, 3), (2, 3)]:
        assert weights[pair] == pytest.approx(np.exp(-1))
    assert weights[0, 2] == pytest.approx(np.exp(-(1 - 0.5**0.5)))


def test_twins_of_twins_keep_a_local_scale():
    points = np.repeat([[0.0], [1.0]], 10, axis=0)
    edges = neighbor_edges(points, 12, metric="euclidean", weight="local").to_edge_list()
    assert set(edges.weight.round(6)) == {1.0, round(np.exp(-1), 6)}


def test_distances_far_from_the_origin_are_not_lost():
    near = scattered(50, 2)
    edges = neighbor_edges(near, 5, metric="euclidean").to_edge_list()
    far = neighbor_edges(near + 2.0**30, 5, metric="euclidean").to_edge_list()
    assert pairs_of(far) == pairs_of(edges)
    np.testing.assert_allclose(far.weight, edges.weight, rtol=1e-6)


def test_ids_are_those_of_the_points():
    names = np.array(["ann", "bob", "cy"])
    source = neighbor_edges([[1.0, 0], [1, 0.1], [0, 1]], 1, ids=names)
    assert source.id_kind == "text"
    assert source.to_edge_list().ids.tolist() == names.tolist()


def test_progress_is_reported():
    told = []
    source = neighbor_edges(scattered(), 3, progress=lambda *report: told.append(report))
    list(source)
    assert told[-1][:2] == (70, 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": [1.0, 2.0]}, "are not a table"),
        ({"points": [["a", "b"]]}, "are not numbers"),
        ({"points": [[1.0], [np.nan], [2.0]]}, "point 1 has the coordinate nan"),
        ({"points": scipy.sparse.csr_array([[0, 1.0], [np.inf, 0]])}, "point 1 has the coordinate"),
        ({"n_neighbors": 70}, "below the number of points, 70"),
        ({"n_neighbors": 0}, "at least 1"),
        ({"metric": "manhattan"}, "metric='manhattan'"),
        ({"symmetrize": "both"}, "symmetrize='both'"),
        ({"weight": "heavy"}, "weight='heavy'"),
        ({"sigma": 0.0}, "sigma=0.0 must be above"),
        ({"sigma": 1.0, "weight": "local"}, "no meaning for weight='local'"),
        ({"ids": ["a"]}, "one id per point"),
        ({"ids": ["a"] * 70}, "the same id"),
        ({"batch_size": 0}, "batch_size=0"),
    ],
)
def test_mistakes_are_explained(change, message):
    with pytest.raises(InputError, match=message):
        neighbor_edges(**{"points": scattered(), "n_neighbors": 3} | change)


def test_pynndescent_is_asked_for_only_when_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(InputError, match="pip install pynndescent"):
        neighbor_edges(scattered(), 3, approximate=True).to_edge_list()


@pytest.mark.parametrize("symmetrize", ["union", "mutual"])
def test_approximate_lists_that_are_right_give_the_exact_graph(symmetrize, monkeypatch):
    """With brute force in place of pynndescent, whose lists are not sorted."""

    def by_brute_force(points, n_neighbors, random_state=None):
        distance = np.linalg.norm(points.rows[:, None] - points.rows, axis=2)
        index = np.argsort(distance, axis=1)[:, 1 : n_neighbors + 1][:, ::-1]
        return index, np.take_along_axis(distance, index, axis=1)

    monkeypatch.setattr(edges, "find_approximate_neighbors", by_brute_force)
    settings = {"metric": "euclidean", "symmetrize": symmetrize, "weight": "local"}
    exact = neighbor_edges(scattered(), 9, **settings).to_edge_list()
    nearly = neighbor_edges(scattered(), 9, approximate=True, **settings).to_edge_list()
    np.testing.assert_allclose(nearly.to_scipy().toarray(), exact.to_scipy().toarray(), atol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_approximate_neighbors_are_mostly_the_nearest():
    pytest.importorskip("pynndescent")
    points = scattered(2000, 5)
    for symmetrize in ("union", "mutual"):
        options = {"symmetrize": symmetrize, "random_state": SEED}
        exact = neighbor_edges(points, 10, **options).to_edge_list()
        nearly = neighbor_edges(points, 10, approximate=True, **options).to_edge_list()
        found = set(pairs_of(nearly))
        assert len(found) == nearly.n_edges
        assert len(found & set(pairs_of(exact))) > 0.9 * exact.n_edges


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_signal_ends_a_long_search(is_sparse):
    """The whole search takes a minute on one thread, the wait for the signal about a second."""
    rng = np.random.default_rng(SEED)
    points = rng.standard_normal((30_000, 256))
    if is_sparse:
        points = scipy.sparse.random_array((40_000, 2000), density=0.05, format="csr", rng=rng)
    list(neighbor_edges(points[:100], 3))  # compiles the kernels

    class RungError(Exception):
        pass

    def ring(number, frame):
        raise RungError

    n_threads = numba.get_num_threads()
    numba.set_num_threads(1)
    before = signal.signal(signal.SIGALRM, ring)
    source = neighbor_edges(points, 3)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        began = time.perf_counter()
        with pytest.raises(RungError):
            next(iter(source))
        assert time.perf_counter() - began < 15
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        numba.set_num_threads(n_threads)
