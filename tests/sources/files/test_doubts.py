"""What may be taken in two ways is asked about; what may not is left alone."""

import io

import numpy as np
import pytest

from graphsqueak import InputError, read_edges, sparsify, write_edges
from graphsqueak.sources.files.doubts import refuse_times

DAY = 86_400


def read(text, **options):
    return read_edges(io.BytesIO(text.encode()), **options).to_edge_list()


@pytest.mark.parametrize(
    "times",
    [
        1_600_000_000 + np.arange(50) * 3600,
        -np.sort(-(700_000_000 + np.arange(50) * 7 * DAY)),
        np.random.default_rng(17).integers(1_000_000_000, 1_700_000_000, size=300),
        np.append(1_500_000_000 + np.arange(60) * DAY, [0, 0]),  # two unknown ones
        1_600_000_000_000 + np.arange(50) * 17,
        1.6e18 + np.arange(50) * 1e9,
        1_600_000_000.25 + np.arange(50) * 3.5,
        19_991_201 + np.arange(31),
    ],
)
def test_times(times):
    with pytest.raises(InputError, match="looks like times"):
        refuse_times(np.asarray(times, dtype=float))


@pytest.mark.parametrize(
    "weights",
    [
        np.arange(1, 500),
        np.random.default_rng(18).random(300),
        np.random.default_rng(18).random(300) * 1e9,
        np.random.default_rng(18).lognormal(12, 3, size=300).round(),
        np.random.default_rng(18).pareto(1.2, size=300) * 1e8,
        np.random.default_rng(18).integers(1_800, 2_030, size=300),
        np.full(300, 1_600_000_000),
        np.array([20_041_301, 20_040_132]),
        np.zeros(0),
    ],
)
def test_weights(weights):
    refuse_times(np.asarray(weights, dtype=float))


def test_the_library_names_the_keyword():
    rows = "".join(f"{i % 9} {(i * i + 1) % 9} {1_600_000_000 + 60 * i}\n" for i in range(40))
    with pytest.raises(InputError, match=r"weighted=False .*weighted=True"):
        read(rows)
    assert read(rows, weighted=False).weight.sum() == 40.0
    with pytest.raises(InputError, match=r"bipartite=True .*bipartite=False"):
        read("user,item\n1,1\n2,1\n")
    with pytest.raises(InputError, match=r"header=True .*header=False"):
        read("zig zag\n" + "ann bob\nbob cy\ncy ann\n" * 5)


def test_two_sides_keep_their_own_numbers(tmp_path):
    path, out = tmp_path / "likes.csv", tmp_path / "out.tsv"
    path.write_text("user,item\n1,1\n2,1\n2,-3\n")
    graph = read_edges(path, bipartite=True).to_edge_list()
    assert graph.ids.tolist() == ["user:1", "item:1", "user:2", "item:-3"]
    write_edges(sparsify(read_edges(path, bipartite=True), n_edges=9, random_state=7), out)
    assert read_edges(out).to_edge_list().ids.tolist() == graph.ids.tolist()
    tree = sparsify(
        read_edges(path, bipartite=True), n_edges=9, tree="balanced", n_parts=2, random_state=7
    )
    assert sorted(tree.ids.tolist()) == sorted(graph.ids.tolist())
    names = read('"a b",x\nx,x\n', bipartite=True)
    assert names.ids.tolist() == ["source:a b", "target:x", "source:x"]
    assert names.n_edges == 2
    huge = read(f"{2**64 - 1} 7\n", bipartite=True)
    assert huge.ids.tolist() == [f"source:{2**64 - 1}", "target:7"]


@pytest.mark.parametrize(
    ("text", "n_edges"),
    [
        ("book paper\npaper word\nword book\n", 3),  # nodes, in spite of their names
        ("name friend\nann bob\nbob cy\n", 2),
        ("007 x1\n008 x2\n007 x2\n", 3),
        ("a,b\nc1,d2\nc2,d2\nc3,d1\n", 3),
        ("source target\nsource x\n", 1),  # as it is written here
    ],
)
def test_first_lines(text, n_edges):
    assert read(text).n_edges == n_edges


def test_a_known_pair_of_names_that_are_nodes():
    with pytest.raises(InputError, match="may name the columns or be an edge, since 'v' occurs"):
        read("u v\nv w\n")
    assert read("u v\nv w\n", header=False).n_edges == 2


def test_later_files_have_the_header_of_the_first(tmp_path):
    (tmp_path / "a.csv").write_text("zig,zag\n" + "u1,i2\nu2,i3\nu3,i1\n")
    (tmp_path / "b.csv").write_text("zig,zag\nu4,i2\n")
    graph = read_edges(tmp_path).to_edge_list()
    assert graph.n_edges == 4
    assert "zig" not in graph.ids.tolist()


def test_whole_decimals_mean_the_same_in_text_and_in_parquet(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"source": [1.0, -2.0], "target": [30.0, 1.0]}), tmp_path / "f.parquet")
    (tmp_path / "f.csv").write_text("source,target\n1.0,30.0\n-2.0,1.0\n")
    for name in ("f.csv", "f.parquet"):
        text = read_edges(tmp_path / name).to_edge_list()
        assert text.ids.tolist() == ["1.0", "30.0", "-2.0"]
        assert read_edges(tmp_path / name, ids="integer").to_edge_list().ids.tolist() == [1, 30, -2]
    with pytest.raises(InputError, match=r"1\.5"):
        read("1.0 2.0\n1.5 2.0\n", ids="integer")


def test_an_index_is_no_edge():
    rows = "".join(f"{i},{i % 7 + 3},{i % 5 + 20}\n" for i in range(30))
    with pytest.raises(InputError, match=r"columns=\(1, 2\)"):
        read(rows)
    with pytest.raises(InputError, match=r"columns=\(0, 1, 2\)"):
        read(rows, weighted=False)
    assert read(rows, columns=(1, 2)).n_nodes == 12
    assert read(rows, weighted=True).n_edges == 30
    assert read(",user,friend\n" + rows).n_nodes == 12
    path = "".join(f"{i} {i + 1} {0.5 + i}\n" for i in range(30))
    assert read(path).n_edges == 30  # a path with weights
