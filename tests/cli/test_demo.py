"""graphsqueak demo: its table, its files, its mistakes."""

import contextlib
import io
import json
import re

import polars as pl
import pytest

from graphsqueak.cli import run

METHODS = {
    "exact Stable-HFS",
    "label-aware Sparse-HFS",
    "plain sparsifier",
    "SubSampling",
    "1-NN",
    "just use k = 10",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "new" / "folder"


@pytest.fixture(scope="module")
def story(folder):
    """One quick run and what it says to a program."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert run(["demo", "--quick", "--json", "--out", str(folder)]) == 0
    return json.loads(said.getvalue())


def test_every_method_is_measured_on_both_numbers_of_labels(story):
    assert {row["method"] for row in story["rows"]} == METHODS
    assert len(story["rows"]) == 2 * len(METHODS)
    exact = [row["accuracy"] for row in story["rows"] if row["method"] == "exact Stable-HFS"]
    assert min(exact) > 0.7  # better than calling everything ham


def test_sparse_methods_stay_within_a_twentieth(story):
    for row in story["rows"]:
        if row["method"] in ("label-aware Sparse-HFS", "plain sparsifier"):
            assert row["edges"] <= 0.05 * story["edges_read"]


def test_the_folder_holds_table_figures_and_a_page_of_its_own(story, folder):
    assert pl.read_csv(folder / "rows.csv").height == len(story["rows"])
    assert (folder / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "index.html").read_text()
    assert page.count("data:image/png;base64") == 2
    assert set(re.findall(r"<td>([^<]*)</td>", page)) >= METHODS
    assert not re.search(r'(src|href)="(?!data:)', page)


def test_the_end_is_three_commands_for_own_files(tmp_path, capsys):
    assert run(["demo", "--quick", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    commands = [line.split()[1] for line in printed.splitlines() if line.startswith("  graph")]
    assert commands == ["neighbors", "sparsify", "label"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path, capsys):
    (tmp_path / "taken").write_text("mine")
    assert run(["demo", "--quick", "--out", str(tmp_path / "taken")]) == 2
    assert "give a folder" in capsys.readouterr().err
    assert (tmp_path / "taken").read_text() == "mine"
