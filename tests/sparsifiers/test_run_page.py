"""HTML reports of runs: headings, figures and commands."""

import re

import pytest
from matplotlib import pyplot

from graphsqueak import sources
from graphsqueak.sparsifiers import SparsifyConfig, run_sparsify, write_report

DENSE = sources.complete(40).to_edge_list()


def report(path, *, certify, **details):
    config = SparsifyConfig(n_edges=250, certify=certify, random_state=5)
    write_report(run_sparsify(DENSE, config), path, out="folder/out.tsv", **details)
    return path.read_text()


@pytest.mark.parametrize("certify", [True, False])
def test_headings_and_figures(tmp_path, certify):
    page = report(tmp_path / "report.html", certify=certify, edges=["edges.tsv"])
    headings = re.findall("<h2>(.*?)</h2>", page)
    expected = ["Verdict", "What to do next", "Input", "Output", "Measured error", "Degrees"]
    if not certify:
        expected.remove("Measured error")
    assert headings == expected
    assert page.count("data:image/png") == 1 + certify
    assert ("epsilon_upper" in page) == certify
    assert re.search(r"2[45]\d of 780 edges were kept", page)
    assert "<td>total weight of the graph</td><td>780</td>" in page


def test_commands_repeat_the_options_of_the_input(tmp_path):
    page = report(
        tmp_path / "report.html",
        certify=False,
        edges=["a.csv", "b.csv"],
        reading=["--weight", "w"],
    )
    assert "graphsqueak certify a.csv folder/out.tsv b.csv --weight w" in page
    assert "Sparsifier of a.csv, b.csv" in page


def test_pipe_has_no_commands(tmp_path):
    page = report(tmp_path / "report.html", certify=False, edges=["-"], is_rereadable=False)
    assert "came from a pipe" in page
    assert "graphsqueak certify" not in page
    assert "Sparsifier of a pipe" in page


def test_figures_of_the_caller_stay(tmp_path):
    figure = pyplot.figure()
    report(tmp_path / "report.html", certify=True, edges=["edges.tsv"])
    assert pyplot.get_fignums() == [figure.number]
    pyplot.close(figure)
