"""graphsqueak demo: its table, its files, its mistakes."""

import contextlib
import io
import json
import re
import shlex
from html import unescape
from pathlib import Path

import polars as pl
import pytest

from graphsqueak import read_edges
from graphsqueak.cli import run
from graphsqueak.system.memory import readable_size

METHODS = {
    "exact Stable-HFS",
    "5 % and three passes",
    "5 % and one pass",
    "plain sparsifier",
    "SubSampling",
    "1-NN",
    "just use k = 10",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "new" / "folder"


@pytest.fixture(scope="module")
def record(folder):
    """One quick run with all methods, and what it says to a program."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert run(["demo", "--quick", "--full", "--json", "--out", str(folder)]) == 0
    return json.loads(said.getvalue())


def test_every_method_is_measured_on_both_numbers_of_labels(record):
    assert {row["method"] for row in record["rows"]} == METHODS
    assert len(record["rows"]) == 2 * len(METHODS)
    exact = [row["accuracy"] for row in record["rows"] if row["method"] == "exact Stable-HFS"]
    assert min(exact) > 0.7  # better than calling everything ham


def test_sparse_methods_stay_within_a_twentieth(record):
    """One pass also has a sum for each node, class and fold of the labels: 2 classes, 4 folds."""
    sums = 2 * 4 * record["nodes"] / record["edges_read"]
    most = {"5 % and three passes": 0.05, "5 % and one pass": 0.05 + sums, "plain sparsifier": 0.05}
    held = {row["method"]: row["edges"] / record["edges_read"] for row in record["rows"]}
    assert all(held[method] <= share for method, share in most.items())


def test_three_passes_give_the_labels_of_the_whole_graph(record):
    assert record["edges_kept"] <= 0.05 * record["edges_read"]
    assert record["labels_predicted"] > 600
    assert record["labels_different"] <= 0.02 * record["labels_predicted"]
    assert record["labels_different"] < record["labels_different_random_edges"]
    assert abs(record["accuracy_three_passes"] - record["accuracy_exact"]) <= 0.02
    assert record["accuracy_few_neighbors"] > 0.9
    assert record["epsilon_lower"] <= record["epsilon_upper"] < 1


def test_the_folder_holds_table_figures_and_a_page_of_its_own(record, folder):
    assert pl.read_csv(folder / "rows.csv").height == len(record["rows"])
    page = (folder / "index.html").read_text()
    assert page.count("data:image/png;base64") == 6
    strip = dict(re.findall(r'<dt>(.*?)</dt><dd class="value">(.*?)</dd>', page))
    assert strip["Edges"] == f"{record['edges_read']:,} → {record['edges_kept']:,}"
    n_same = record["labels_predicted"] - record["labels_different"]
    assert strip["Same labels"] == f"{n_same:,} of {record['labels_predicted']:,}"
    files = [folder / name for name in ("dense.parquet", "sparsifier.parquet")]
    sizes = " → ".join(readable_size(path.stat().st_size) for path in files)
    assert strip["Files"].replace("\xa0", " ") == sizes
    assert read_edges(files[1]).to_edge_list().n_edges == record["edges_kept"]
    assert set(re.findall(r"<td>([^<]*)</td>", page)) >= METHODS
    assert not re.search(r'(src|href)="(?!data:)', page)


def test_the_commands_at_the_end_work_as_printed_on_the_files_left_behind(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    folder = Path("a demo")  # a blank has to be quoted
    assert run(["demo", "--quick", "--out", str(folder)]) == 0
    printed = capsys.readouterr().out
    commands = [line.strip() for line in printed.splitlines() if line.startswith("  graph")]
    page = unescape((folder / "index.html").read_text())
    on_page = re.findall(r"<pre>(graphsqueak .*?)</pre>", page, re.DOTALL)
    words = [shlex.split(command)[1:] for command in commands]
    assert [shlex.split(text.replace("\\\n", " "))[1:] for text in on_page] == words
    assert all(len(line) < 100 or len(line.split()) < 3 for line in "\n".join(on_page).splitlines())
    names = ["info", "sparsify", "label", "neighbors", "label"]
    assert [name for name, *_ in words] == names
    for arguments in words:
        assert run(arguments) == 0, arguments
    found = re.findall(r"accuracy (0\.\d+)", capsys.readouterr().out)
    dense, few = map(float, found)
    assert dense > 0.85
    assert few > 0.9
    said = re.findall(r"(\d+\.\d) %", printed.partition("labeled correctly")[0])
    assert dense == pytest.approx(float(said[-1]) / 100, abs=0.02)  # as printed by the demo
    labeled = pl.read_csv(folder / "labeled.csv")
    assert set(labeled["label"]) == {"ham", "spam"}
    assert "<dt>Verdict</dt>" in (folder / "report.html").read_text()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path, capsys):
    (tmp_path / "taken").write_text("mine")
    assert run(["demo", "--quick", "--out", str(tmp_path / "taken")]) == 2
    assert "give a folder" in capsys.readouterr().err
    assert (tmp_path / "taken").read_text() == "mine"
