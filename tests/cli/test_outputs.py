"""Outputs that are there already: who may replace them, and when somebody is asked."""

import sys

import pytest

from graphsqueak import sources, write_edges
from graphsqueak.cli import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_edges(sources.erdos_renyi(60, 900, random_state=77), "edges.tsv")
    return tmp_path


COMMAND = ["sparsify", "edges.tsv", "-o", "out.tsv", "--edges", "300", "--seed", "8", "--quiet"]


@pytest.mark.parametrize("how", [[], ["--tree", "balanced", "--parts", "2"]], ids=["one", "tree"])
def test_a_resumed_run_replaces_what_it_has_written_itself(folder, how, capsys):
    command = [*COMMAND, *how, "--checkpoint", "run.ckpt"]
    assert run(command) == 0
    first = (folder / "out.tsv").read_bytes()
    assert run(command) == 2
    assert "--resume to go on from it" in capsys.readouterr().err
    assert run([*command, "--resume"]) == 0
    assert (folder / "out.tsv").read_bytes() == first
    (folder / "out.tsv").write_text("changed by hand")
    assert run([*command, "--resume"]) == 2
    assert "--out out.tsv is there already" in capsys.readouterr().err
    assert (folder / "out.tsv").read_text() == "changed by hand"


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2)])
def test_a_person_at_a_terminal_is_asked(folder, monkeypatch, capsys, answer, code):
    (folder / "out.tsv").write_text("mine")
    answers = iter(answer.splitlines())
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda text, err: next(answers) == "y")
    command = [word for word in COMMAND if word != "--quiet"]
    assert run([*command, "--json"]) == code
    assert ((folder / "out.tsv").read_text() == "mine") == (code == 2)
    monkeypatch.setattr("typer.confirm", lambda text, err: pytest.fail("asked though quiet"))
    (folder / "out.tsv").write_text("mine")
    assert run(COMMAND) == 2
    assert (folder / "out.tsv").read_text() == "mine"


def test_a_table_goes_to_standard_output(folder, capsysbinary):
    (folder / "small.tsv").write_text("ann\tbob\nbob\tcy\n")
    assert run(["resistance", "small.tsv", "-o", "-", "--quiet"]) == 0
    header, *rows = capsysbinary.readouterr().out.decode().splitlines()
    assert header.split("\t") == ["source", "target", "weight", "resistance"]
    assert rows[0].split("\t")[:2] == ["ann", "bob"]


def test_a_result_that_its_format_cannot_hold_replaces_nothing(folder, capsys):
    (folder / "named.tsv").write_text("".join(f"u{i % 30}\tv{i % 29}\n" for i in range(800)))
    (folder / "out.mtx.parquet").write_text("mine")
    assert run(["sparsify", "named.tsv", "-o", "out.mtx", "--edges", "100", "--seed", "8"]) == 2
    assert "The result is in out.mtx.2.parquet" in capsys.readouterr().err
    assert (folder / "out.mtx.parquet").read_text() == "mine"
