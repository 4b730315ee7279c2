"""graphsqueak example: its files, the commands it suggests, and existing files."""

import json
import shlex

import polars as pl
import pytest

from graphsqueak.cli import run
from graphsqueak.datasets import EXAMPLES

NAME = pytest.mark.parametrize("name", EXAMPLES)


def rows(path):
    """Return a written table as a data frame."""
    if path.suffix == ".parquet":
        return pl.read_parquet(path)
    return pl.read_csv(path, separator="\t" if path.suffix == ".tsv" else ",")


@NAME
def test_an_example_is_the_same_in_every_run_and_as_described(name, tmp_path, capsys):
    for folder in ("one", "two"):
        assert run(["example", name, "--out", str(tmp_path / folder), "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[1])
    files = EXAMPLES[name].files
    assert record["files"] == [str(tmp_path / "two" / file) for file in files]
    assert {path.name for path in (tmp_path / "two").iterdir()} == set(files)
    for file, description in files.items():
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
        table = rows(tmp_path / "one" / file)
        what, _, columns = description.partition(": ")
        number = what.partition(" ")[0].replace(",", "")
        if "node" in table.columns:
            assert table["label"].is_not_null().sum() == int(number)
            assert table["truth"].null_count() == 0
        elif number.isdecimal():
            assert table.height == int(number)
        named = columns.split("; ")[0].split(", ")
        assert [column.partition(" ")[0] for column in named] == table.columns[: len(named)]


@pytest.mark.slow
@NAME
def test_the_command_that_is_suggested_works(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["example", name]) == 0
    suggestion = capsys.readouterr().out.splitlines()[-1]
    assert suggestion == f"Try: {EXAMPLES[name].command}"
    program, *arguments = shlex.split(EXAMPLES[name].command)
    assert program == "graphsqueak"
    assert run(arguments) == 0


def test_existing_files_are_replaced_only_on_request(tmp_path, capsys):
    (tmp_path / "known.csv").write_text("mine\n")
    assert run(["example", "logins", "-o", str(tmp_path)]) == 2
    message = f"{tmp_path}/known.csv already exists; use --force to overwrite"
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["known.csv"]
    assert (tmp_path / "known.csv").read_text() == "mine\n"
    assert run(["example", "logins", "-o", str(tmp_path), "--force"]) == 0
    assert rows(tmp_path / "known.csv").height == 3_000


def test_a_file_is_not_a_folder(tmp_path, capsys):
    (tmp_path / "taken").write_text("mine\n")
    assert run(["example", "karate", "-o", str(tmp_path / "taken")]) == 2
    assert f"{tmp_path}/taken is a file; give a folder" in capsys.readouterr().err


def test_the_suggestion_names_the_folder(tmp_path, capsys):
    assert run(["example", "karate", "-o", str(tmp_path / "new")]) == 0
    assert f"Try in {tmp_path}/new: graphsqueak info karate.tsv" in capsys.readouterr().out
    assert run(["example", "karate", "-o", str(tmp_path / "new"), "--force", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_an_unknown_name_lists_the_known_ones(capsys):
    assert run(["example", "sociable"]) == 2
    known = ", ".join(map(repr, EXAMPLES))
    assert f"'sociable' is not one of {known}. " in capsys.readouterr().err
