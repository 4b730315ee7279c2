"""Files appear whole or not at all, with the weights and ids they should have."""

import gzip
import io
import os
import threading

import networkx as nx
import numpy as np
import pytest

from graphsqueak.errors import InputError
from graphsqueak.graph import EdgeList
from graphsqueak.sources import EdgeSource, read_edges, write_edges

TRIANGLE = EdgeList(tail=[0, 1, 2], head=[1, 2, 0])
HEAVY = EdgeList(tail=[0, 1], head=[1, 2], weight=[1.0, 2.5])


class Batches(EdgeSource):
    """A source of ready-made batches that may fail at the end."""

    def __init__(self, *batches, fails=False):
        super().__init__()
        self._given, self._fails = batches, fails

    def _batches(self):
        yield from self._given
        if self._fails:
            raise InputError("the source broke")


def test_text_formats(tmp_path):
    write_edges(HEAVY, tmp_path / "a.tsv")
    write_edges(TRIANGLE, tmp_path / "a.csv")
    assert (tmp_path / "a.tsv").read_text() == "source\ttarget\tweight\n0\t1\t1.0\n1\t2\t2.5\n"
    assert (tmp_path / "a.csv").read_text() == "source,target\n0,1\n1,2\n2,0\n"


@pytest.mark.parametrize(
    ("edges", "weights", "columns"),
    [
        (TRIANGLE, "auto", 2),
        (TRIANGLE, True, 3),
        (HEAVY, "auto", 3),
        (HEAVY, False, 2),
        (Batches(TRIANGLE, TRIANGLE), "auto", 2),
        (Batches(TRIANGLE, HEAVY), "auto", 3),
        (Batches(HEAVY, TRIANGLE), "auto", 3),
        (Batches(TRIANGLE, HEAVY), False, 2),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_weights_are_written_where_they_matter(tmp_path, edges, weights, columns, name):
    write_edges(edges, tmp_path / name, weights=weights)
    back = read_edges(tmp_path / name).to_edge_list()
    expected = edges.to_edge_list() if isinstance(edges, EdgeSource) else edges
    assert back.n_edges == expected.n_edges
    assert np.array_equal(back.weight, expected.weight) or columns == 2
    if name.endswith("csv"):
        assert (tmp_path / name).read_text().split("\n")[0].count(",") == columns - 1


def test_a_pipe_is_written_in_one_pass_with_weights(tmp_path):
    write_edges(read_edges(io.BytesIO(b"5 6\n6 7\n")), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "source,target,weight\n5,6,1.0\n6,7,1.0\n"


def test_the_same_edges_give_the_same_bytes(tmp_path):
    write_edges(HEAVY, tmp_path / "a.tsv.gz")
    write_edges(HEAVY, tmp_path / "b.tsv.gz")
    assert (tmp_path / "a.tsv.gz").read_bytes() == (tmp_path / "b.tsv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.tsv.gz").read_bytes()).startswith(b"source")


@pytest.mark.parametrize(
    "name", ["a.csv", "a.csv.gz", "a.csv.zst", "a.csv.bz2", "a.parquet", "a.arrow"]
)
@pytest.mark.parametrize("existed", [True, False])
def test_nothing_is_left_of_a_failed_write(tmp_path, name, existed):
    if existed:
        (tmp_path / name).write_text("before")
    with pytest.raises(InputError, match="the source broke"):
        write_edges(Batches(TRIANGLE, fails=True), tmp_path / name)
    assert os.listdir(tmp_path) == [name] * existed
    if existed:
        assert (tmp_path / name).read_text() == "before"


def test_a_file_is_not_written_over_itself(tmp_path):
    path, link = tmp_path / "a.tsv", tmp_path / "b.tsv"
    path.write_text("1 2\n2 3\n")
    link.symlink_to(path)
    with pytest.raises(InputError, match="is what the edges are read from"):
        write_edges(read_edges(path), link)
    assert path.read_text() == "1 2\n2 3\n"
    assert sorted(os.listdir(tmp_path)) == ["a.tsv", "b.tsv"]


def test_text_without_a_header(tmp_path):
    write_edges(TRIANGLE, tmp_path / "a.tsv", header=False)
    assert (tmp_path / "a.tsv").read_text() == "0\t1\n1\t2\n2\t0\n"


def test_modes_and_links_are_those_of_an_ordinary_file(tmp_path):
    (tmp_path / "real.csv").write_text("")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_edges(TRIANGLE, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("source")
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "real.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_networkx_ids_are_written_by_name(tmp_path):
    graph = nx.Graph([(1, "a"), ("a", (2, 3))])
    write_edges(EdgeList.from_networkx(graph), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == 'source,target\n1,a\na,"(2, 3)"\n'


@pytest.mark.parametrize(
    ("edges", "name", "words"),
    [
        (TRIANGLE, "a.xlsx", "does not say the format; end it in .tsv"),
        (TRIANGLE, "a", "does not say the format"),
        (TRIANGLE, "a.parquet.gz", "leave .gz away"),
        (TRIANGLE, "no/such/folder/a.csv", "does not exist; create it"),
        (TRIANGLE, "folder.csv", "is a folder"),
        ([(1, 2)], "a.csv", "EdgeList.from_pairs"),
        (EdgeList.from_pairs([("a\nb", "c")]), "a.csv", "cannot be written as text"),
        (EdgeList.from_pairs([("", "c")]), "a.tsv", "cannot be written as text"),
        (EdgeList.from_pairs([(1, "1")]), "a.tsv", "written the same"),
        (EdgeList.from_pairs([("a", "b")]), "a.mtx", "cannot hold other ids such as 'a'"),
        (EdgeList.from_pairs([(3, 7)]), "a.graph", "cannot hold other ids"),
        (HEAVY, "a.graph", "whole-numbered weights, not 2.5"),
    ],
)
def test_mistakes_leave_nothing_behind(tmp_path, edges, name, words):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=words):
        write_edges(edges, tmp_path / name)
    assert os.listdir(tmp_path) == ["folder.csv"]


def test_an_option_that_cannot_be(tmp_path):
    with pytest.raises(InputError, match="weights='maybe'"):
        write_edges(TRIANGLE, tmp_path / "a.csv", weights="maybe")


def test_a_named_pipe_is_written_to_directly(tmp_path):
    pipe = tmp_path / "a.csv"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write_edges(TRIANGLE, pipe)
    reader.join()
    assert got == ["source,target\n0,1\n1,2\n2,0\n"]
