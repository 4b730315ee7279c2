"""--dry-run says what would be read and written, checks it, and does nothing."""

import contextlib
import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from graphsqueak import StreamSparsifier, read_edges, sources, write_edges
from graphsqueak.cli import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "edges.tsv").write_text("ann\tbob\nbob\tcy\ncy\tann\n")
    (tmp_path / "labels.csv").write_text("node,label\nann,red\ncy,blue\n")
    np.save(tmp_path / "points.npy", np.eye(4))
    pl.DataFrame({"x": [0.0, 1.0], "y": [1.0, 2.0]}).write_parquet(tmp_path / "points.parquet")
    (tmp_path / "points.csv").write_text("id,x,y\na,0,1\nb,2,3\n")
    (tmp_path / "bad.csv").write_text("id,x,y\na,0,1\nb,2,\n")
    (tmp_path / "bad.tsv").write_text("ann\tbob\t-3\n")
    (tmp_path / "SMSSpamCollection").write_text("ham\tlunch at noon?\nspam\tWIN pills\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sparsify", "edges.tsv", "-o", "out.tsv", "--keep", "0.7"], "begins with ann - bob"),
        (["label", "edges.tsv", "labels.csv", "-o", "out.csv"], "2 labels of 2 classes"),
        (["neighbors", "points.npy", "-k", "2", "-o", "out.tsv"], "4 coordinates"),
        (["neighbors", "points.parquet", "-k", "1", "-o", "out.tsv"], "2 coordinates"),
        (["neighbors", "points.csv", "-k", "1", "-o", "out.tsv"], "2 coordinates"),
        (["neighbors", "SMSSpamCollection", "-k", "1", "-o", "out.tsv"], "layout sms"),
    ],
)
def test_it_looks_and_leaves_no_file(folder, arguments, said, capsys):
    before = sorted(folder.iterdir())
    assert run([*arguments, "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert said in printed
    assert "would write  out" in printed
    assert run([*arguments, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["writes"] == [
        arguments[-1 - 2 * _has_keep(arguments)]
    ]
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["sparsify", "bad.tsv", "-o", "out.tsv", "--keep", "0.5"], "line 1"),
        (["sparsify", "edges.tsv", "-o", "out.tsv", "--keep", "5"], "at most 1"),
        (
            ["sparsify", "edges.tsv", "-o", "no/out.tsv", "--keep", "0.5"],
            "does not exist; create it first",
        ),
        (
            ["sparsify", "edges.tsv", "-o", "out.tsv", "--keep", ".5", "--report", "no/r"],
            "--report",
        ),
        (["label", "edges.tsv", "nothing.csv", "-o", "out.csv"], "nothing.csv"),
        (["neighbors", "bad.csv", "-k", "1", "-o", "out.tsv"], "'y' is empty in row 2"),
        (["neighbors", "missing.npy", "-k", "1", "-o", "out.tsv"], "does not exist"),
    ],
)
def test_what_would_fail_fails_now(folder, arguments, wrong, capsys):
    assert run([*arguments, "--dry-run"]) == 2
    assert wrong in capsys.readouterr().err


def test_it_says_which_files_it_would_replace_and_where_it_would_go_on(folder, capsys):
    (folder / "out.tsv").write_text("mine")
    stream = StreamSparsifier(keep=0.7, random_state=7).partial_fit(read_edges("edges.tsv"))
    stream.save("run.ckpt")
    arguments = ["sparsify", "edges.tsv", "-o", "out.tsv", "--keep", "0.7"]
    resumed = [*arguments, "--checkpoint", "run.ckpt", "--resume", "--dry-run"]
    assert run(resumed) == 2
    assert "out.tsv already exists; use --force" in capsys.readouterr().err
    assert run([*resumed, "--force"]) == 0
    assert "run.ckpt, which has seen 3 edges" in capsys.readouterr().out
    assert run([*arguments, "--force", "--dry-run"]) == 0
    assert "out.tsv, which would be overwritten" in capsys.readouterr().out
    assert (folder / "out.tsv").read_text() == "mine"


def _has_keep(arguments):
    return "--keep" in arguments


OUT = ["-o", "out.tsv"]
HALF = [*OUT, "--keep", "0.5"]
RESUME = ["--checkpoint", "run.ckpt", "--resume"]
TREE = ["--tree", "balanced", "--parts", "2"]
RESUME_TREE = ["--checkpoint", "parts.ckpt", "--resume", *TREE]
WRONG_RUNS = {
    "missing column": ["table.csv", *HALF, "--columns", "from,zu"],
    "missing time": ["table.csv", *HALF, "--columns", "from,to", "--time", "stamp"],
    "window without times": ["random.tsv", *HALF, "--window", "3"],
    "fewer edges than nodes": ["random.tsv", *OUT, "--n-edges", "10"],
    "smaller fraction than nodes": ["random.tsv", *OUT, "--keep", "0.01"],
    "subgraph of too few edges": ["random.tsv", *OUT, "--n-edges", "10", "--method", "subgraph"],
    "no budget": ["random.tsv", *OUT],
    "output exists": ["random.tsv", "-o", "taken.tsv", "--keep", "0.5"],
    "checkpoint exists": ["random.tsv", *HALF, "--checkpoint", "run.ckpt"],
    "no such folder": ["random.tsv", "-o", "no/out.tsv", "--keep", "0.5"],
    "report without a folder": ["random.tsv", *HALF, "--report", "no/page.html"],
    "resumed with another budget": ["random.tsv", *OUT, "--keep", "0.4", *RESUME],
    "resumed with another seed": ["random.tsv", *HALF, *RESUME, "--seed", "2"],
    "resumed with other edges": ["other.tsv", *HALF, *RESUME],
    "resumed with fewer edges": ["edges.tsv", *HALF, *RESUME],
    "tree with another budget": ["random.tsv", *OUT, "--keep", "0.4", *RESUME_TREE],
    "tree of other edges": ["other.tsv", *HALF, *RESUME_TREE],
    "tree from a file": ["random.tsv", *HALF, *RESUME, *TREE],
    "unknown shape": ["random.tsv", *HALF, "--tree", "shape"],
    "certified pipe": ["pipe", *HALF, "--certify"],
    "pipe in parts": ["pipe", *HALF, "--workers", "2"],
    "pipe read twice": ["pipe", *HALF, "--method", "subgraph"],
    "broken second part": ["broken", *HALF],
    "unlike second part": ["mixed", *HALF],
    "bad last line": ["late.csv", *HALF],
    "no edges": ["loops.tsv", *HALF],
    "fraction of a projection": ["table.csv", "--project", *HALF],
    "projection in parts": ["table.csv", "--project", *OUT, "--n-edges", "60", "--workers", "2"],
    "subgraph of a projection": [
        "table.csv", "--project", *OUT, "--n-edges", "60", "--method", "subgraph",
    ],
    "distinct edges in parts": ["random.tsv", *HALF, "--duplicates", "first", "--workers", "2"],
}  # fmt: skip


@pytest.fixture(scope="module")
def wrong_inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    with contextlib.chdir(folder):
        write_edges(sources.erdos_renyi(60, 900, random_state=1), "random.tsv")
        write_edges(sources.erdos_renyi(60, 900, random_state=2), "other.tsv")
        Path("edges.tsv").write_text("1\t2\n2\t3\n3\t1\n")
        Path("table.csv").write_text("from,to\n" + "".join(f"{i},{i % 7}\n" for i in range(9, 60)))
        Path("taken.tsv").write_text("mine")
        Path("late.csv").write_text("from,to\n" + "1,2\n" * 200 + "1,2,x,y\n")
        Path("loops.tsv").write_text("1\t1\n2\t2\n")
        for name, second in (("broken", "1\tx y\t\n"), ("mixed", "1\t2\t3.5\n")):
            Path(name).mkdir()
            Path(name, "a.tsv").write_bytes(Path("random.tsv").read_bytes())
            Path(name, "b.tsv").write_text(f"source\ttarget{chr(9)}weight\n{second}")
        os.mkfifo("pipe")
        run(["sparsify", "random.tsv", "-o", "a.tsv", "--keep", "0.5", *RESUME[:2], "--seed", "1"])
        tree = [*RESUME_TREE[:2], *TREE, "--seed", "1"]
        run(["sparsify", "random.tsv", "-o", "b.tsv", "--keep", "0.5", *tree])
    return folder


@pytest.mark.parametrize("arguments", WRONG_RUNS.values(), ids=WRONG_RUNS)
def test_a_dry_run_fails_with_the_error_of_the_run(wrong_inputs, arguments, monkeypatch, capsys):
    monkeypatch.chdir(wrong_inputs)
    errors = []
    for more in (["--dry-run"], []):
        assert run(["sparsify", *arguments, *more]) == 2
        errors.append(capsys.readouterr().err.splitlines()[-1])
        assert not Path("out.tsv").exists()
    assert errors[0] == errors[1]
    assert errors[0].startswith("graphsqueak: ")


@pytest.mark.parametrize("extra", [[], TREE, RESUME, RESUME_TREE, ["--method", "subgraph"]])
def test_a_dry_run_of_a_right_run_succeeds(wrong_inputs, extra, monkeypatch):
    monkeypatch.chdir(wrong_inputs)
    before = sorted(Path().rglob("*"))
    assert run(["sparsify", "random.tsv", *HALF, *extra, "--dry-run"]) == 0
    assert sorted(Path().rglob("*")) == before
