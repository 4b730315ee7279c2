"""What may be taken in two ways is asked about; what may not is left alone."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphsqueak import InputError, read_edges, sparsify, write_edges
from graphsqueak.sources.files.ambiguities import refuse_times

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


def test_whole_floats_are_integers_in_every_format(tmp_path):
    """pandas makes floats of a column of integers that has gaps."""
    floats = pa.table({"source": [1.0, -2.0], "target": [30.0, 1.0]})
    mixed = pa.table({"source": pa.array([1, -2]), "target": pa.array([30, 1], pa.float32())})
    pq.write_table(floats, tmp_path / "floats.parquet")
    (tmp_path / "floats.csv").write_text("source,target\n1.0,30.0\n-2.0,1.0\n")
    (tmp_path / "both.csv").write_text("source,target\n1,30.0\n-2.0,1.\n")
    paths = [tmp_path / name for name in ("floats.csv", "both.csv", "floats.parquet")]
    for table in (*paths, floats, mixed, floats.to_pandas(), mixed.to_pandas()):
        for ids in ("auto", "integer"):
            graph = read_edges(table, ids=ids).to_edge_list()
            assert graph.ids.tolist() == [1, 30, -2]
            assert graph.ids.dtype.kind == "i"
    assert read_edges(floats, ids="text").to_edge_list().ids.tolist() == ["1", "30", "-2"]
    beside_text = pa.table({"source": ["1", "ann"], "target": [1.0, 2.0]})
    assert read_edges(beside_text).to_edge_list().ids.tolist() == ["1", "ann", "2"]
    with_gap = pa.table({"source": [1.0, float("nan")], "target": [2.0, 3.0]})
    with pytest.raises(InputError, match=r"row 2 .*the source is empty"):
        read_edges(with_gap).to_edge_list()


def test_1_and_1_0_are_one_node_wherever_they_are():
    assert read("1 2\n1.0 3\n2.00 3.\n").ids.tolist() == [1, 2, 3]
    late = "".join(f"{i} {i + 1}\n" for i in range(200_000))  # beyond the lines looked at first
    assert read(late + "0.0 7.0\n0 7\n").n_nodes == 200_001
    assert read("1 2\n1.0 3\n", ids="text").ids.tolist() == ["1", "2", "1.0", "3"]
    with pytest.raises(InputError, match="unlike the ids before it"):
        read("1 2\n" * 400_000 + "01.0 2\n")


def test_1_and_1_0_in_a_column_of_texts_are_asked_about():
    assert read("1.5 1\n2 1\n").ids.tolist() == ["1.5", "1", "2"]
    assert read("1.0 1.1\n1.1 2.0\n").ids.tolist() == ["1.0", "1.1", "2.0"]  # sections of a text
    for text in ("1.5 1\n1.0 2\n", "ann 1\n1.0 bob\n"):
        with pytest.raises(InputError, match=r"ids 1 and 1\.0 may be one node.*ids='text'"):
            read(text)
        assert len(read(text, ids="text").ids) == 4
    with pytest.raises(InputError, match=r"1\.5.*not an integer"):
        read("1.0 2.0\n1.5 2.0\n", ids="integer")


@pytest.mark.parametrize("ids", ["auto", "integer"])
def test_floats_that_skip_integers_are_no_ids(ids):
    largest = 2**53
    assert read(f"{largest}.0 1\n", ids=ids).ids.tolist() == [largest, 1]
    assert read(f"{largest + 1} {-largest - 1}\n", ids=ids).ids.tolist() == [
        largest + 1,
        -largest - 1,
    ]
    for text in (f"{largest + 1}.0 1\n", f"1 -{largest + 2}.0\n", "12345678901234567890.0 1\n"):
        with pytest.raises(InputError, match=r"float beyond 2\^53.*ids='text'"):
            read(text, ids=ids)
    with pytest.raises(InputError, match=r"1: node id .*float beyond 2\^53"):
        read(f"{largest + 1}.0 1\n" + "1 2\n", ids="integer")
    single = pa.table({"source": pa.array([2.0**24 + 2], pa.float32()), "target": [1]})
    with pytest.raises(InputError, match=r"float such as 16777218\.0 .*2\^24"):
        read_edges(single, ids=ids).to_edge_list()
    for odd in (1.5, 2.0**53 + 2):
        with pytest.raises(InputError, match=r"'source' .*double such as .*2\^53"):
            read_edges(pa.table({"source": [odd], "target": [1.0]}), ids=ids).to_edge_list()


def test_exponents_of_large_floats_are_no_ids():
    with pytest.raises(InputError, match=r"'1e\+16' is a float beyond 2\^53"):
        read("1 2\n1e+16 3\n")
    assert read("1 ann\n12e45678 ann\n").ids.tolist() == ["1", "ann", "12e45678"]  # a hash


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


def test_a_header_is_recognized_by_one_column_of_numbers():
    """The third field alone shows that the first line names the columns; or the second."""
    assert read("a,b,weight\nann,bob,2\nbob,cy,3\n").weight.tolist() == [2.0, 3.0]
    assert read("a,b,weight\nann,bob,2\nbob,cy,3\n").ids.tolist() == ["ann", "bob", "cy"]
    one_line = read("a,b,weight\nann,bob,2\n")
    assert (one_line.n_edges, one_line.weight.tolist()) == (1, [2.0])
    for text in ("a,b,hits\nann,bob,2\nbob,cy,x\n", "ann,bob,x\nbob,cy,y\n"):
        with pytest.raises(InputError, match=r"third column holds texts|weight 'hits'"):
            read(text)  # a text below, too: not a header
    chosen = read("a,n,b\nann,2,bob\nbob,3,cy\n", columns=("a", "b", "n"))
    assert chosen.weight.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("line", ["1,2,NA", "1,2,x", "ann,bob,NA", "ann,bob,-", "ann,bob,"])
def test_an_edge_without_a_weight_is_not_a_header(line):
    with pytest.raises(InputError, match=r"line 1: .*weight|line 1: 2 columns|weight is empty"):
        read(f"{line}\n1,3,0.5\n3,1,1.5\n1,2,2.5\n", ids="text")


def test_the_first_column_that_is_called_like_a_weight_is_the_weight():
    rows = "1,2,3,0.5,9\n2,3,4,0.25,9\n"
    assert read("source,target,weight,similarity,x\n" + rows).weight.tolist() == [3.0, 4.0]
    assert read("source,target,similarity,weight,x\n" + rows).weight.tolist() == [3.0, 4.0]
    assert read("source,target,x,value,w\n" + rows).weight.tolist() == [0.5, 0.25]
    table = pa.table({"u": [1], "v": [2], "strength": [3.0], "weight": [5.0]})
    assert read_edges(table).to_edge_list().weight.tolist() == [3.0]
    distances = read("source,target,length,cost,weight\n" + rows, weights_are="distance")
    assert distances.weight.tolist() == [1 / 3, 1 / 4]
