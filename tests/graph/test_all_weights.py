"""No weight is lost on the way out: in other libraries, in summaries and on pages."""

import json
import re

import matplotlib as mpl
import numpy as np
import pytest

from graphsqueak import EdgeList, read_edges, sparsify, write_edges
from graphsqueak.cli import run
from graphsqueak.report.figure import degree_ratios
from graphsqueak.report.table import sparkline
from graphsqueak.sources import info

mpl.use("Agg")


@pytest.fixture(scope="module")
def graph():
    """120 nodes, 900 different edges, weights over twelve decades."""
    rng = np.random.default_rng(55_103)
    pair = rng.choice(120 * 119 // 2, size=900, replace=False)
    tail = ((1 + np.sqrt(8.0 * pair + 1)) / 2).astype(int)
    head = pair - tail * (tail - 1) // 2
    names = np.array([f"n{k}" for k in range(120)], dtype=object)
    return EdgeList(tail=tail, head=head, weight=10 ** rng.uniform(-6, 6, 900), ids=names)


def by_pair(source, target, weight):
    rows = zip(source, target, weight, strict=True)
    found = {frozenset((str(u), str(v))): float(w) for u, v, w in rows}
    assert len(found) == len(weight)
    return found


def in_tables(graph):
    for name in ("to_arrow", "to_polars", "to_pandas"):
        table = getattr(graph, name)()
        columns = table.to_pydict() if name == "to_arrow" else table
        yield name, by_pair(*(list(columns[key]) for key in ("source", "target", "weight")))


def in_graphs(graph):
    matrix = graph.to_scipy().tocoo()
    upper = matrix.row < matrix.col
    ends = (graph.ids[matrix.row[upper]], graph.ids[matrix.col[upper]])
    yield "to_scipy", by_pair(*ends, matrix.data[upper])
    other = graph.to_networkx()
    yield "to_networkx", by_pair(*zip(*other.edges(data="weight"), strict=True))
    other = graph.to_igraph()
    ends = np.array(other.vs["name"])[np.array(other.get_edgelist())].T
    yield "to_igraph", by_pair(*ends, other.es["weight"])
    names = graph.ids.tolist()
    laplacian = graph.laplacian().tocoo()
    lower = laplacian.row > laplacian.col
    ends = ([names[k] for k in side[lower]] for side in (laplacian.row, laplacian.col))
    yield "laplacian", by_pair(*ends, -laplacian.data[lower])


def test_every_library_gets_every_weight(graph):
    expected = by_pair(graph.ids[graph.tail], graph.ids[graph.head], graph.weight)
    for name, found in (*in_tables(graph), *in_graphs(graph)):
        assert found == expected, name
    np.testing.assert_allclose(graph.laplacian().diagonal(), graph.degrees(), rtol=1e-12)
    assert graph.degrees().sum() == pytest.approx(2 * graph.weight.sum(), rel=1e-12)


@pytest.mark.parametrize("name", ["g.tsv", "g.csv.gz", "g.parquet", "g.arrow", "g.txt.zst"])
def test_every_file_gets_every_weight(graph, name, tmp_path):
    expected = by_pair(graph.ids[graph.tail], graph.ids[graph.head], graph.weight)
    write_edges(graph, tmp_path / name)
    back = read_edges(tmp_path / name).to_edge_list()
    assert by_pair(back.ids[back.tail], back.ids[back.head], back.weight) == expected


def test_what_is_shown_of_the_weights_adds_up(graph, tmp_path, capsys):
    total = f"{graph.weight.sum():.6g}"
    assert f"total_weight={total}" in repr(graph)
    shown = graph._repr_html_()
    assert f"900 edges, total weight {total}" in shown
    assert "... 895 more" in shown
    for weight in graph.weight[:5]:
        assert f"<td>{weight:.4g}</td>" in shown
    summary = info(graph)
    assert summary.weight_total == pytest.approx(graph.weight.sum(), rel=1e-12)
    assert (summary.weight_min, summary.weight_max) == (graph.weight.min(), graph.weight.max())
    write_edges(graph, tmp_path / "g.csv")
    assert run(["info", str(tmp_path / "g.csv"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["edges"] == 900
    assert record["weight_total"] == pytest.approx(graph.weight.sum(), rel=1e-12)
    assert (record["weight_min"], record["weight_max"]) == (graph.weight.min(), graph.weight.max())


@pytest.mark.parametrize(
    "values",
    [
        np.arange(17),
        np.repeat([1, 2, 3, 1000], [5, 4, 3, 1]),
        np.random.default_rng(3).lognormal(sigma=3, size=500),
        np.random.default_rng(3).uniform(2, 3, size=500),
    ],
    ids=["even", "wide", "heavy-tailed", "narrow"],
)
def test_a_line_of_bars_counts_every_value(values, monkeypatch):
    counts = []
    histogram = np.histogram

    def counted(*arguments):
        counts.append(histogram(*arguments)[0].sum())
        return histogram(*arguments)

    monkeypatch.setattr(np, "histogram", counted)
    assert len(sparkline(values)) <= 16
    assert counts == [values.size]


@pytest.mark.parametrize("largest", [2.0, 1e4])
def test_histograms_of_degrees_count_every_node(largest):
    rng = np.random.default_rng(9)
    whole = np.geomspace(1.0, largest, 300)
    sparse = whole * rng.uniform(0.5, 2.0, 300)
    right = degree_ratios(whole, sparse)
    assert sum(bar.get_height() for bar in right.patches) == 300
    mpl.pyplot.close("all")


def test_a_page_tells_both_total_weights_and_all_degrees(tmp_path):
    rng = np.random.default_rng(4)
    ends = rng.integers(60, size=(2, 5000))
    graph = EdgeList(tail=ends[0], head=ends[1], weight=rng.lognormal(size=5000), n_nodes=60)
    write_edges(graph, tmp_path / "g.csv")
    page, out = tmp_path / "page.html", tmp_path / "h.csv"
    arguments = ["sparsify", str(tmp_path / "g.csv"), "-o", str(out), "--n-edges", "600"]
    assert run([*arguments, "--seed", "3", "--quiet", "--report", str(page)]) == 0
    kept, text = read_edges(out).to_edge_list(), page.read_text()
    rows = dict(re.findall(r"<td>([^<]*)</td><td>([^<]*)</td>", text))
    assert rows["total weight"] == f"{kept.weight.sum():,.0f}"
    assert rows["total weight of the graph"] == f"{graph.weight.sum():,.0f}"
    degrees = dict(zip(kept.ids.tolist(), kept.degrees().tolist(), strict=True))
    n_kept = np.bincount(np.concatenate([kept.tail, kept.head]))
    n_kept = dict(zip(kept.ids.tolist(), n_kept.tolist(), strict=True))
    heaviest = np.argsort(-graph.degrees())[:10]
    for node in heaviest.tolist():
        cells = "".join(
            f"<td>{cell}</td>"
            for cell in (
                node,
                _amount(graph.degrees()[node]),
                _amount(degrees[node]),
                n_kept[node],
            )
        )
        assert cells in text


def _amount(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def test_a_sparsifier_of_everything_has_every_weight(graph):
    whole = sparsify(graph, keep=1.0)
    expected = by_pair(graph.ids[graph.tail], graph.ids[graph.head], graph.weight)
    assert by_pair(whole.ids[whole.tail], whole.ids[whole.head], whole.weight) == expected
