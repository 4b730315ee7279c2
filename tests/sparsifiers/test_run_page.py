"""HTML reports of runs: headings, figures and commands."""

import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot

from graphsqueak import TimedEdges, sources
from graphsqueak.sparsifiers import SparsifyConfig, run_sparsify, write_report

DENSE = sources.complete(40).to_edge_list()


def report(path, *, certify, **details):
    config = SparsifyConfig(n_edges=250, certify=certify, random_state=5)
    write_report(run_sparsify(DENSE, config), path, out="folder/out.tsv", **details)
    return path.read_text()


def header_entries(page):
    """Label and value of every box of the header strip."""
    return dict(re.findall(r'<dt>(.*?)</dt><dd class="value">(.*?)</dd>', page))


@pytest.mark.parametrize("certify", [True, False])
def test_headings_and_figures(tmp_path, certify):
    page = report(tmp_path / "report.html", certify=certify, edges=["edges.tsv"])
    headings = re.findall("<h2>(.*?)</h2>", page)
    assert headings == ["Degrees", "What to do next", "Error in detail", "Input", "Output"]
    assert page.count("data:image/png") == 2 + certify
    assert ("epsilon_upper" in page) == certify
    entries = header_entries(page)
    assert list(entries) == ["Verdict", "Edges", "Memory", "Time", "Typical error", "Worst case"]
    assert re.fullmatch(r"780 → 2[45]\d", entries["Edges"])
    assert re.fullmatch(r"18\.3 KiB → 5\.\d KiB", entries["Memory"].replace("\xa0", " "))
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


def test_cuts_are_drawn_and_summarized(tmp_path):
    result = run_sparsify(DENSE, SparsifyConfig(n_edges=250, random_state=5))
    cuts = result.compare_cuts(DENSE)
    path = tmp_path / "report.html"
    write_report(result, path, edges=["edges.tsv"], out="out.tsv", cuts=cuts, file_sizes=(9, 2**20))
    page = path.read_text()
    assert re.findall("<h2>(.*?)</h2>", page)[0] == "Cuts"
    assert page.count("data:image/png") == 3
    errors = 100 * np.abs(cuts.sparsifier / cuts.graph - 1)
    random_errors = 100 * np.abs(cuts.random_edges / cuts.graph - 1)
    assert f"Half of the cuts are within {np.median(errors):.2g} % of the graph" in page
    assert f"it is {np.median(random_errors):.2g} % and" in page
    assert header_entries(page)["Files"] == "9\xa0bytes → 1.0\xa0MiB"


@pytest.mark.parametrize(
    ("settings", "verdict", "worst_case"),
    [
        ({"n_edges": 780, "certify": False}, "Whole graph", "0 %"),
        ({"n_edges": 60, "method": "subgraph", "certify": True}, "Preconditioner", " %"),
        ({"n_edges": 60, "certify": True}, "ccurate", "times"),
        ({"n_edges": 250, "certify": True}, "ccurate", " %"),
        ({"n_edges": 500, "certify": False}, "ccurate", "about "),
        ({"n_edges": 60, "certify": False}, "ccurate", "above 100 %"),
    ],
)
def test_the_header_has_a_verdict_and_the_worst_case(tmp_path, settings, verdict, worst_case):
    path = tmp_path / "report.html"
    result = run_sparsify(DENSE, SparsifyConfig(**settings, random_state=5))
    write_report(result, path, edges=["edges.tsv"], out="out.tsv")
    entries = header_entries(path.read_text())
    assert verdict in entries["Verdict"]
    assert worst_case in entries["Worst case"]


def test_the_worst_case_is_rounded_upwards(tmp_path):
    path = tmp_path / "report.html"
    result = run_sparsify(DENSE, SparsifyConfig(n_edges=250, certify=True, random_state=5))
    certificate = replace(result.certificate, epsilon_upper=0.12301, delta=0.01)
    write_report(replace(result, certificate=certificate), path, edges=["e.tsv"], out="out.tsv")
    assert header_entries(path.read_text())["Worst case"] == "12.4 %"


def test_cuts_of_a_window_are_those_of_its_edges():
    """With all edges of the stream, the cuts of the graph would be twice as heavy."""
    rng = np.random.default_rng(94_201)
    ends = rng.integers(60, size=(2, 8000))
    edges = TimedEdges(tail=ends[0], head=ends[1], time=np.arange(8000.0))
    config = SparsifyConfig(n_edges=1500, window=4000, random_state=5)
    cuts = run_sparsify(edges, config).compare_cuts(edges)
    assert np.median(np.abs(cuts.sparsifier / cuts.graph - 1)) < 0.1
    assert np.median(np.abs(cuts.random_edges / cuts.graph - 1)) < 0.1
