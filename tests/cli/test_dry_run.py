"""--dry-run says what would be read and written, checks it, and does nothing."""

import json

import numpy as np
import polars as pl
import pytest

from graphsqueak import StreamSparsifier, read_edges
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
        (["sparsify", "edges.tsv", "-o", "out.tsv", "--keep", "0.5"], "begins with ann - bob"),
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
    stream = StreamSparsifier(keep=0.5, random_state=7).partial_fit(read_edges("edges.tsv"))
    stream.save("run.ckpt")
    arguments = ["sparsify", "edges.tsv", "-o", "out.tsv", "--keep", "0.5"]
    assert run([*arguments, "--checkpoint", "run.ckpt", "--resume", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "out.tsv, which exists: add --force" in printed
    assert "run.ckpt, which has seen 3 edges" in printed
    assert run([*arguments, "--force", "--dry-run"]) == 0
    assert "out.tsv, which would be overwritten" in capsys.readouterr().out
    assert (folder / "out.tsv").read_text() == "mine"


def _has_keep(arguments):
    return "--keep" in arguments
