"""graphsqueak sparsify with a tree: planned, run on workers, killed and resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphsqueak import sources, write_edges
from graphsqueak.cli import run
from graphsqueak.sources.files.splitting import split

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sixteen files of 50,000 edges."""
    path = tmp_path_factory.mktemp("parts")
    graph = sources.erdos_renyi(2_000, 800_000, random_state=27_182).to_edge_list()
    for number, part in enumerate(split(graph, 16)):
        write_edges(part, path / f"part{number:02d}.tsv")
    return path


@pytest.mark.slow
def test_a_killed_run_redoes_only_unfinished_parts(folder, tmp_path, capsys):
    command = [
        "sparsify",
        str(folder),
        "--n-edges",
        "9000",
        "--seed",
        "6",
        "--parts",
        "16",
        "--json",
    ]
    straight, resumed, leaves = tmp_path / "a.tsv", tmp_path / "b.tsv", tmp_path / "leaves"
    assert run([*command, "--tree", "balanced", "-o", str(straight)]) == 0
    command += ["--tree", "balanced", "--checkpoint", str(leaves), "-o", str(resumed)]
    program = [sys.executable, "-m", "graphsqueak", *command]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(program, env=env, stdout=subprocess.DEVNULL)
    while process.poll() is None and len(list(leaves.glob("part-*.ckpt"))) < 3:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = {path: path.stat().st_mtime_ns for path in leaves.glob("part-*.ckpt")}
    assert 3 <= len(finished) < 16
    assert not resumed.exists()
    capsys.readouterr()
    assert run([*command, "--resume"]) == 0
    assert json.loads(capsys.readouterr().out)["parts_resumed"] == len(finished)
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert resumed.read_bytes() == straight.read_bytes()
    assert run([*command[:4], "--tree", "balanced", "--resume", "-o", str(resumed)]) == 2
    assert "--resume needs --checkpoint, " in capsys.readouterr().err


def test_a_plan_needs_no_output_and_knows_its_input(folder, tmp_path, capsys):
    asked = ["sparsify", str(folder), "--n-edges", "9000", "--estimate-cost", "--workers", "2"]
    assert run([*asked, "--parts", "16", "--json"]) == 0
    cost = json.loads(capsys.readouterr().out)
    assert cost["parts"] == 16
    assert (cost["tree"], cost["levels"]) == ("guided", 5)
    assert cost["edges"] == pytest.approx(800_000, rel=0.05)
    assert cost["nodes"] == 2_000
    assert cost["seconds"] >= cost["seconds_of_a_leaf"] * 8
    assert run(asked) == 0
    assert "memory per worker" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--tree", "oak", "-o", "x.tsv"], "--tree oak is not"),
        (["--parts", "3", "-o", "x.tsv"], "--parts is for merge trees"),
        ([], "--out PATH is missing"),
    ],
)
def test_mistakes_are_one_line(folder, capsys, wrong, said):
    assert run(["sparsify", str(folder), "--n-edges", "9000", *wrong]) == 2
    assert said in capsys.readouterr().err


def test_a_pipe_cannot_be_cut(capsys, monkeypatch):
    reader, writer = os.pipe()
    os.write(writer, b"1 2\n2 3\n")
    os.close(writer)
    with open(reader, "rb", buffering=0) as pipe:
        monkeypatch.setattr(sys, "stdin", type("Pipe", (), {"buffer": pipe}))
        assert run(["sparsify", "-", "--n-edges", "9", "--tree", "balanced", "-o", "x.tsv"]) == 2
    assert "a pipe cannot" in capsys.readouterr().err
