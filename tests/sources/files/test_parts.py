"""Folders, globs, lists and pipes are one stream with one numbering, whatever pieces arrive."""

import gzip
import io
import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsqueak.errors import InputError
from graphsqueak.sources import read_edges
from graphsqueak.sources.files import parts
from graphsqueak.sources.files.parts import ByteStream
from graphsqueak.sources.files.text import line_blocks


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "part-2.csv").write_text("source,target\n3,4\n")
    (tmp_path / "part-1.tsv.gz").write_bytes(gzip.compress(b"2\t3\n"))
    (tmp_path / "part-0.txt").write_text("# c\n1 2\n")
    (tmp_path / "part-3.txt").write_text("")
    (tmp_path / "part-4").mkdir()
    (tmp_path / "part-4" / "a.txt").write_text("4 1\n")
    for name in ("_SUCCESS", ".hidden", "part-0.txt.crc"):
        (tmp_path / name).write_text("not data at all")
    return tmp_path


def ids_and_tails(path):
    edges = read_edges(path).to_edge_list()
    return edges.ids.tolist(), edges.tail.tolist()


def test_a_folder_is_all_its_files_in_order(folder):
    assert ids_and_tails(folder) == ([1, 2, 3, 4], [0, 1, 2, 3])
    assert ids_and_tails(str(folder)) == ids_and_tails(folder)


def test_a_glob_is_what_it_matches_in_order(folder):
    assert ids_and_tails(f"{folder}/part-[12]*") == ([2, 3, 4], [0, 1])
    assert ids_and_tails(f"{folder}/*") == ids_and_tails(folder)
    assert ids_and_tails(f"{folder}/**/*.txt") == ([1, 2, 4], [0, 2])


def test_a_list_keeps_its_order(folder):
    files = [folder / "part-2.csv", str(folder / "part-0.txt")]
    assert ids_and_tails(files) == ([3, 4, 1, 2], [0, 2])


def test_a_file_whose_name_looks_like_a_glob(tmp_path):
    (tmp_path / "a[1].txt").write_text("1 2\n")
    assert ids_and_tails(tmp_path / "a[1].txt") == ([1, 2], [0])


def test_text_in_a_later_part_is_an_error_that_names_it(tmp_path):
    (tmp_path / "a.txt").write_text("1 2\n")
    (tmp_path / "b.txt").write_text("2 x\n")
    with pytest.raises(InputError, match=r"b\.txt, line 1: node id 'x'.*ids='text'"):
        read_edges(tmp_path).to_edge_list()
    assert read_edges(tmp_path, ids="text").to_edge_list().ids.tolist() == ["1", "2", "x"]


def test_parts_with_and_without_weights_do_not_mix(tmp_path):
    (tmp_path / "a.txt").write_text("1 2\n")
    (tmp_path / "b.txt").write_text("2 3 0.5\n")
    with pytest.raises(InputError, match=r"b\.txt has a weight column, unlike .*a\.txt"):
        read_edges(tmp_path).to_edge_list()
    assert read_edges(tmp_path, weighted=False).to_edge_list().n_edges == 2


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nowhere.txt", "there is no file nowhere.txt"),
        ("nowhere*.txt", "no file matches"),
        ([], "list of files is empty"),
        (17, "17 is not a path"),
        (io.StringIO("1 2\n"), "open as text"),
    ],
)
def test_paths_that_lead_nowhere(path, words):
    with pytest.raises(InputError, match=words):
        read_edges(path)


def test_an_empty_folder_is_an_error(tmp_path):
    (tmp_path / "_SUCCESS").write_text("")
    with pytest.raises(InputError, match="holds no files"):
        read_edges(tmp_path)


def test_a_folder_of_empty_files_is_an_error(tmp_path):
    (tmp_path / "a").write_text("")
    (tmp_path / "b").write_text("# c\n")
    with pytest.raises(InputError, match="no edges in 2 files"):
        read_edges(tmp_path).to_edge_list()


def test_a_file_that_went_away_is_an_error(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1 2\n")
    source = read_edges(path)
    path.unlink()
    with pytest.raises(InputError, match=r"a\.txt cannot be opened: No such file"):
        source.to_edge_list()


def refuse(*arguments, **options):
    raise PermissionError(13, "Permission denied")


def test_a_file_that_may_not_be_read_is_an_error(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("1 2\n")
    monkeypatch.setattr(parts, "open", refuse, raising=False)
    with pytest.raises(InputError, match="cannot be opened: Permission denied"):
        read_edges(path).to_edge_list()


def test_a_folder_that_may_not_be_read_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(parts.Path, "iterdir", refuse)
    with pytest.raises(InputError, match=r"folder .* cannot be read: Permission denied"):
        read_edges(tmp_path)


def test_standard_input():
    code = (
        "from graphsqueak.sources import read_edges; source = read_edges('-');"
        "edges = source.to_edge_list(); print(edges.ids.tolist(), source.is_rereadable)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=gzip.compress(b"7 8\n8 9\n"), capture_output=True
    )
    assert done.stdout.decode().split("\n")[0] == "[7, 8, 9] False", done.stderr


def test_a_named_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("1 2\n"))
    writer.start()
    source = read_edges(pipe)
    assert not source.is_rereadable
    assert source.to_edge_list().n_edges == 1
    writer.join()


def test_importing_sources_is_light():
    code = (
        "import sys, graphsqueak.sources;"
        "print(sorted({'numba', 'polars', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"


class Trickle(io.RawIOBase):
    """A pipe that gives a few bytes at a time."""

    def __init__(self, content, most):
        self._content, self._most = io.BytesIO(content), most

    def read(self, size=-1):
        return self._content.read(min(size, self._most))


@given(
    lines=st.lists(st.text("12 ", max_size=9), min_size=1, max_size=30),
    most=st.integers(1, 20),
    size=st.integers(1, 40),
    skip=st.integers(0, 10),
)
def test_blocks_depend_on_the_bytes_alone(lines, most, size, skip):
    content = "\n".join(lines).encode()
    whole = ByteStream(io.BytesIO(content), name="whole")
    blocks = [block.tobytes() for block in line_blocks(whole, skip=skip, size=size)]
    trickle = ByteStream(Trickle(content, most), name="trickle")
    assert [block.tobytes() for block in line_blocks(trickle, skip=skip, size=size)] == blocks
    assert all(block.endswith(b"\n") for block in blocks)
    rest = content[skip:]
    assert b"".join(blocks) == (rest if rest.endswith(b"\n") or not rest else rest + b"\n")
