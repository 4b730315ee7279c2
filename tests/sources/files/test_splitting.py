"""Pieces of an input: each edge once, in order, whatever the format and the cuts."""

import gzip
import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphsqueak import EdgeList, InputError, read_edges, sources, write_edges
from graphsqueak.sources.files.splitting import split, unread


def edges_of(source):
    """Pairs of ids and weights, as they come."""
    found = []
    for batch in source:
        ids = np.asarray(batch.ids)
        ends = (ids[batch.tail].tolist(), ids[batch.head].tolist(), batch.weight.tolist())
        found += zip(*ends, strict=True)
    return found


def all_edges_of(pieces):
    return [edge for piece in pieces for edge in edges_of(piece)]


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


NAMED = ["# a comment", "source,target,weight", *(f"a{i},b{i % 7},{i + 1}" for i in range(300))]


@pytest.mark.parametrize("n_parts", [1, 2, 7, 50])
@pytest.mark.parametrize(
    "lines",
    [NAMED, [f"{i} {i * i}" for i in range(1, 400)], ["1\t2", "# only", "", "2\t3\r"]],
    ids=["names and weights", "numbers", "comments"],
)
def test_ranges_of_bytes_hold_every_line_once(tmp_path, lines, n_parts):
    whole = read_edges(write(tmp_path / "edges.txt", lines))
    pieces = split(whole, n_parts)
    assert all_edges_of(pieces) == edges_of(whole)
    assert n_parts > 7 or len(lines) < 9 or len(pieces) == n_parts


def test_no_newline_at_the_end_and_long_lines_between_cuts(tmp_path):
    path = tmp_path / "edges.txt"
    names = ["x" * 400, "y", "z" * 150_000, "w"]
    path.write_text("\n".join(f"{a} {b}" for a, b in pairwise(names)))
    pieces = split(read_edges(path, ids="text"), 40)
    assert all_edges_of(pieces) == edges_of(read_edges(path))


def test_row_groups_of_a_parquet_file(tmp_path):
    path = tmp_path / "edges.parquet"
    table = pa.table({"source": np.arange(1000), "target": np.arange(1000) + 5})
    pq.write_table(table, path, row_group_size=100)
    pieces = split(read_edges(path), 4)
    assert len(pieces) == 4
    assert all_edges_of(pieces) == edges_of(read_edges(path))


def test_small_files_are_read_together_and_large_ones_cut(tmp_path):
    sizes = [10, 10, 10, 1000, 10, 10, 500, 500]
    graph = sources.erdos_renyi(100, sum(sizes), random_state=4).to_edge_list()
    for number, stop in enumerate(np.cumsum(sizes).tolist()):
        write_edges(graph.part(stop - sizes[number], stop), tmp_path / f"part{number}.tsv")
    whole = read_edges(tmp_path)
    pieces = split(whole, 4)
    assert [len(piece.parts) for piece in pieces] == [3, 1, 1, 2, 1, 1]
    assert all_edges_of(pieces) == edges_of(whole)


def test_compressed_text_stays_whole(tmp_path):
    path = tmp_path / "edges.gz"
    path.write_bytes(gzip.compress(b"1 2\n" * 1000))
    assert len(split(read_edges(path), 4)) == 1


def test_later_pieces_read_ids_as_the_first_lines_say(tmp_path):
    path = write(tmp_path / "edges.txt", ["007 x"] + [f"{i} {i + 1}" for i in range(100, 300)])
    ids = {
        str(name)
        for piece in split(read_edges(path, header=False), 5)
        for pair in edges_of(piece)
        for name in pair[:2]
    }
    assert {"007", "x", "299"} <= ids


def test_a_bad_line_is_named_by_its_range_and_its_place_there(tmp_path):
    lines = [f"{i} {i + 1}" for i in range(1000, 1100)] + ["5 6 7", "6 7"]
    last = split(read_edges(write(tmp_path / "edges.txt", lines)), 3)[-1]
    with pytest.raises(InputError, match=r"edges.txt, bytes [\d,]+ to [\d,]+, line \d+:"):
        edges_of(last)


def test_a_first_line_that_may_count_the_lines_is_not_guessed_at(tmp_path):
    path = write(tmp_path / "edges.txt", ["500 400"] + [f"{i} {i + 1}" for i in range(1, 401)])
    with pytest.raises(InputError, match=r"'500 400', may be an edge or\s+count"):
        split(read_edges(path), 4)
    for header, n_edges in ((True, 400), (False, 401)):
        pieces = split(read_edges(path, header=header), 4)
        assert sum(len(edges_of(piece)) for piece in pieces) == n_edges


def test_files_with_and_without_weights_do_not_mix(tmp_path):
    write(tmp_path / "a.txt", ["1 2 0.5"] * 9)
    write(tmp_path / "b.txt", ["1 2"] * 9)
    with pytest.raises(InputError, match=r"b.txt has no weight column, unlike .*a.txt"):
        all_edges_of(split(read_edges(tmp_path), 2))


def test_an_empty_piece_is_no_error_but_an_empty_input_is(tmp_path):
    write(tmp_path / "a.txt", ["1 2"] * 9)
    write(tmp_path / "b.txt", ["# nothing but a remark, and that is a long one"])
    assert [len(edges_of(piece)) for piece in split(read_edges(tmp_path), 2)] == [9, 0]
    (tmp_path / "a.txt").unlink()
    with pytest.raises(InputError, match="no edges in"):
        split(read_edges(tmp_path), 2)


def test_only_what_can_be_read_again_is_cut():
    with pytest.raises(InputError, match="only files and graphs in memory"):
        split(sources.complete(5), 2)
    assert len(split(EdgeList(tail=[0], head=[1]))) == 1


def test_a_piece_that_was_read_is_sent_without_what_was_found(tmp_path):
    """Ids and samples of edges would go to every worker with it."""
    path = tmp_path / "edges.tsv"
    path.write_text("".join(f"{u * 1_000}\t{(u + 1) * 1_000}\n" for u in range(20_000)))
    piece = split(read_edges(path), 2)[0]
    before = len(pickle.dumps(piece))
    n_edges = piece.to_edge_list().n_edges
    assert len(pickle.dumps(piece)) > 10 * before
    assert len(pickle.dumps(unread(piece))) < 2 * before
    assert unread(piece).to_edge_list().n_edges == n_edges
