"""Edges of a window or with decayed weights, against a dense reference."""

import io

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, TimedEdges, read_edges
from graphsqueak.sources import recent_edges


def test_recent_edges_are_exactly_those(tmp_path):
    rng = np.random.default_rng(2)
    ends = rng.integers(40, size=(2, 500))
    time = np.sort(rng.integers(101, size=500)).astype(float)  # some at both ends of every span
    rows = zip(*ends, time, strict=True)
    (tmp_path / "e.tsv").write_text("".join(f"{u}\t{v}\t{t}\n" for u, v, t in rows))
    source = read_edges(tmp_path / "e.tsv", time=2, batch_size=90)
    keep, now = ends[0] != ends[1], time[ends[0] != ends[1]].max()
    for options, weight in (
        ({"window": 20.0}, np.where(time > now - 20, 1.0, 0.0)),
        ({"half_life": 5.0}, 2.0 ** ((time - now) / 5)),
        ({"half_life": 5.0, "at": 60.0}, np.where(time <= 60, 2.0 ** ((time - 60) / 5), 0)),
        ({"since": 30.0, "at": 50.0}, np.where((time >= 30) & (time <= 50), 1.0, 0.0)),
    ):
        recent = recent_edges(source, **options)
        numbers = {name: node for node, name in enumerate(recent.to_edge_list().ids.tolist())}
        tail, head = ([numbers.get(name, 0) for name in side.tolist()] for side in ends)
        exact = EdgeList(tail=tail, head=head, weight=weight * keep, n_nodes=len(numbers))
        got = recent.to_edge_list().laplacian().toarray()
        np.testing.assert_allclose(got, exact.laplacian().toarray(), atol=1e-12)
        assert recent.n_self_loops == np.count_nonzero(~keep)
    with pytest.raises(InputError, match="can be read once"):
        recent_edges(read_edges(io.BytesIO(b"1 2 3\n"), time=2), window=1.0)
    with pytest.raises(InputError, match="needs the time"):
        recent_edges(EdgeList(tail=[0], head=[1]), window=1.0)


def test_text_ids_of_edges_in_memory_stay_text():
    edges = TimedEdges(tail=[0, 1], head=[1, 2], time=[1, 2], ids=np.array(["ann", "bob", "cy"]))
    recent = recent_edges(edges, window=1.5)
    assert recent.to_edge_list().ids.tolist() == ["ann", "bob", "cy"]
    assert recent.id_kind == "text"
