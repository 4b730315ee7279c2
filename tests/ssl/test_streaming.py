"""Labels over time: only recent edges count, in every way that edges are read."""

import io

import numpy as np
import pytest
from sklearn.base import clone

from graphsqueak import InputError, SparseHFSClassifier, SparseHFSRegressor, TimedEdges, read_edges

N = 120


@pytest.fixture(scope="module")
def edges():
    """Two kinds of nodes by parity up to time 7, by size afterwards."""
    rng = np.random.default_rng(31)
    tail, head = rng.integers(N, size=(2, 8000))
    time = np.sort(rng.uniform(0, 10, 8000))
    by_size = head % (N // 2) + N // 2 * (tail >= N // 2)
    same = np.where(time < 7, head // 2 * 2 + tail % 2, by_size)
    head = np.where(rng.random(8000) < 0.9, same, head)
    return TimedEdges(tail=tail, head=head, time=time, n_nodes=N)


TRUTH = np.arange(N) >= N // 2
LABELED = np.arange(3, N, 8)


@pytest.mark.parametrize("forgets", [{"window": 2.5}, {"half_life": 0.4}], ids=["window", "decay"])
@pytest.mark.parametrize("reading", ["memory", "file", "pipe", "online"])
def test_labels_follow_the_recent_edges(edges, forgets, reading, tmp_path):
    model = clone(SparseHFSClassifier(n_edges=1500, random_state=2, **forgets))
    y = {int(node): int(TRUTH[node]) for node in LABELED}
    lines = zip(edges.tail.tolist(), edges.head.tolist(), edges.time.tolist(), strict=True)
    text = "".join(f"{u} {v} {t}\n" for u, v, t in lines)
    if reading == "memory":
        array = np.full(N, -1)
        array[LABELED] = TRUTH[LABELED]
        model.fit(edges, array)
    elif reading == "file":
        (tmp_path / "edges.txt").write_text(text)
        model.fit(read_edges(tmp_path / "edges.txt", time=2), y)
    elif reading == "pipe":
        model.fit(read_edges(io.BytesIO(text.encode()), time=2), y)
        assert model.n_passes_ == 1
    else:
        for start in range(0, edges.n_edges, 1000):
            model.partial_fit(edges.part(start, start + 1000), y if start == 0 else None)
    found = model.predict()
    right = found == TRUTH[np.asarray(model.ids_, dtype=np.int64)]
    assert right.mean() > 0.98  # without a window, parity counts as well


def test_values_follow_the_recent_edges(edges):
    y = np.full(N, np.nan)
    y[LABELED] = TRUTH[LABELED]
    found = {}
    for window in (None, 2.5):
        model = SparseHFSRegressor(n_edges=1500, window=window, random_state=2).fit(edges, y)
        found[window] = np.corrcoef(model.transduction_, TRUTH)[0, 1]
    assert found[2.5] > 0.9 > found[None]


def test_times_are_needed_for_a_window(edges):
    plain = edges.simplified()
    with pytest.raises(InputError, match="needs the time of every edge"):
        SparseHFSClassifier(n_edges=500, window=1.0).fit(plain, np.arange(N) % 2)
