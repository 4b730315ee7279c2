"""Commands from and to addresses give the bytes that they give on disk, whole or not at all."""

import json

import pytest

from graphsqueak import sources, write_edges
from graphsqueak.cli import run
from graphsqueak.system.atomic import Stopped, resumable_from

fsspec = pytest.importorskip("fsspec")

SPARSIFY = ["--n-edges", "300", "--seed", "8", "--quiet"]
TREE = ["--tree", "balanced", "--parts", "3"]
AT = "memory://bucket"


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The same files on disk, where the test runs, and at an address."""
    monkeypatch.chdir(tmp_path)
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    edges = sources.erdos_renyi(60, 900, random_state=77).to_edge_list()
    for place in ("", f"{AT}/"):
        write_edges(edges, f"{place}edges.tsv")
        write_edges(edges.part(0, 400), f"{place}monday.tsv")
        write_edges(edges.part(400), f"{place}tuesday.tsv")
    labels = b"node,label\n" + b"".join(b"%d,%s\n" % (n, b"ab"[n % 2 :][:1]) for n in range(8))
    (tmp_path / "labels.csv").write_bytes(labels)
    system.pipe_file("/bucket/labels.csv", labels)
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def both(words):
    """Run a command on disk, then with every file of it at an address."""
    assert run(words) == 0
    assert run([f"{AT}/{word}" if "." in word else word for word in words]) == 0


def same(store, path, tmp_path):
    return store.cat_file(f"/bucket/{path}") == (tmp_path / path).read_bytes()


@pytest.mark.parametrize("how", [[], TREE], ids=["one", "tree"])
def test_a_resumed_run_replaces_what_it_has_written_itself(store, how, tmp_path, capsys):
    command = ["sparsify", "edges.tsv", "-o", "out.tsv", "--checkpoint", "run.ckpt"]
    both([*command, *SPARSIFY, *how])
    assert same(store, "out.tsv", tmp_path)
    command = ["sparsify", f"{AT}/edges.tsv", "-o", f"{AT}/out.tsv", *SPARSIFY, *how]
    command += ["--checkpoint", f"{AT}/run.ckpt"]
    assert run(command) == 2
    assert "--resume to continue from it" in capsys.readouterr().err
    assert run([*command, "--resume"]) == 0
    assert same(store, "out.tsv", tmp_path)
    store.pipe_file("/bucket/out.tsv", b"changed by hand")
    assert run([*command, "--resume"]) == 2
    assert f"--out {AT}/out.tsv already exists" in capsys.readouterr().err
    assert store.cat_file("/bucket/out.tsv") == b"changed by hand"
    assert run([*command, "--force"]) == 0
    assert same(store, "out.tsv", tmp_path)


def test_parts_of_a_tree_are_kept_at_an_address(store, capsys):
    command = ["sparsify", f"{AT}/edges.tsv", "-o", f"{AT}/out.tsv", *SPARSIFY, *TREE, "--json"]
    command += ["--checkpoint", f"{AT}/leaves"]
    assert run(command) == 0
    assert json.loads(capsys.readouterr().out)["parts_resumed"] == 0
    kept = [f"/bucket/leaves/part-{number:05d}.ckpt" for number in range(3)]
    assert sorted(store.find("/bucket/leaves")) == [*kept, "/bucket/leaves/run.json"]
    store.rm_file(kept[1])
    store.pipe_file(kept[2], b"damaged")
    first = store.cat_file("/bucket/out.tsv")
    assert run([*command, "--resume"]) == 0
    assert json.loads(capsys.readouterr().out)["parts_resumed"] == 2  # and one of them done anew
    assert store.cat_file("/bucket/out.tsv") == first
    assert run([*command, "--resume", "--parts", "2"]) == 2
    assert f"{AT}/leaves was written with other parts" in capsys.readouterr().err
    assert run([*command, "--force", "--parts", "2"]) == 0
    assert store.find("/bucket/leaves") == [*kept[:2], "/bucket/leaves/run.json"]


def test_merge_label_and_certify(store, tmp_path, capsys):
    both(["merge", "monday.tsv", "tuesday.tsv", "-o", "week.tsv", *SPARSIFY])
    assert same(store, "week.tsv", tmp_path)
    for day in ("monday", "tuesday"):
        both(
            ["sparsify", f"{day}.tsv", "-o", f"{day}.csv", *SPARSIFY, "--checkpoint", f"{day}.ckpt"]
        )
    both(["merge", "monday.ckpt", "tuesday.ckpt", "-o", "both.tsv", "--seed", "8", "--quiet"])
    assert same(store, "both.tsv", tmp_path)
    both(["label", "edges.tsv", "labels.csv", "-o", "labeled.csv", *SPARSIFY])
    assert same(store, "labeled.csv", tmp_path)
    capsys.readouterr()
    both(["certify", "edges.tsv", "week.tsv", "--seed", "8", "--json"])
    local, there = map(json.loads, capsys.readouterr().out.splitlines())
    assert there["epsilon_upper"] == local["epsilon_upper"]
    assert run(["info", f"{AT}/monday.ckpt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["edges_seen"] == 400


def test_an_input_is_no_output_and_what_cannot_be_is_refused_first(store, capsys):
    for edges, out, says in (
        (f"{AT}/edges.tsv", f"{AT}/edges.tsv", f"is an input of this run ({AT}/edges.tsv)"),
        (f"{AT}/edges.tsv", "memory:///bucket//./edges.tsv", "is an input of this run"),
        (AT, f"{AT}/new.tsv", f"lies in {AT}, an input of this run"),
        (f"{AT}/*.tsv", f"{AT}/new.tsv", f"lies in {AT}/*.tsv, an input of this run"),
    ):
        assert run(["sparsify", edges, "-o", out, *SPARSIFY, "--force"]) == 2
        assert f"--out {out} {says}" in capsys.readouterr().err
    assert run(["sparsify", "edges.tsv", "-o", "https://host/out.tsv", *SPARSIFY]) == 2
    assert "nothing can be written at an address of the web" in capsys.readouterr().err
    assert run(["sparsify", f"{AT}/edges.tsv", "-o", "out.tsv", *SPARSIFY, "--follow"]) == 2
    assert f"{AT}/edges.tsv cannot be followed" in capsys.readouterr().err
    assert run(["label", f"{AT}/edges.tsv", f"{AT}/none.csv", "-o", "o.csv", *SPARSIFY]) == 2
    assert f"{AT}/none.csv does not exist" in capsys.readouterr().err
    assert run(["sparsify", f"{AT}/edges.tsv", "-o", f"{AT}/week.tsv", *SPARSIFY, "--dry-run"]) == 0
    assert not store.exists("/bucket/week.tsv")


def test_who_is_stopped_is_told_of_a_checkpoint_at_an_address(store):
    store.pipe_file("/bucket/one.ckpt", b"state")
    store.pipe_file("/bucket/leaves/part-00000.ckpt", b"state")
    for name, told in (("one.ckpt", True), ("leaves", True), ("none.ckpt", False)):
        stop = Stopped(2)
        with pytest.raises(Stopped), resumable_from(f"{AT}/{name}"):
            raise stop
        assert stop.checkpoint == (f"{AT}/{name}" if told else None)
