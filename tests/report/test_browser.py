"""Pages and tables in a browser, wide and narrow; figures without texts that meet."""

import itertools
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.cli import run
from graphsqueak.report import curves, figure
from graphsqueak.report.page import html_page, picture
from tests.report.browser import check_page, needs_browser

mpl.use("Agg")
SEED = 502_973
SITE = Path(__file__).parent.parent.parent / "build" / "site"


@pytest.fixture(scope="module")
def results():
    """A graph, its sparsifier, and what is looked at."""
    graph = gs.sources.block_model(400, 16_000, n_blocks=4, random_state=SEED).to_edge_list()
    kept = gs.sparsify(graph, keep=0.3, random_state=SEED)
    certificate = gs.certify(graph, kept, random_state=SEED)
    return graph, kept.with_certificate(certificate), certificate


def figures(results):
    """Every kind of figure, by name."""
    graph, kept, certificate = results
    rng = np.random.default_rng(SEED)
    degrees = graph.degrees()
    leverage = graph.weight * gs.effective_resistance(graph)
    rows = [
        {"method": name, "labels": labels, "edges": edges, "accuracy": 0.6 + 0.1 * rng.random()}
        for name in ("exact Stable-HFS", "5 % and three passes", "just use k = 10")
        for labels in (20, 100, 1_000)
        for edges in (1_000, 30_000, 1_000_000)
    ]
    places = rng.standard_normal((400, 2))
    losses = {name: np.cumsum(rng.random(2_000)) for name in ("KONS", "kernel gradient descent")}
    return {
        "certificate": certificate.plot().figure,
        "comparison": gs.compare(graph, kept, max_seconds=None, random_state=SEED).plot(),
        "calibration": figure.degree_calibration(
            degrees, degrees * rng.uniform(0.8, 1.2, 400), kept.degrees()
        ).figure,
        "cuts": figure.cut_ratios(degrees, kept.degrees(), degrees * rng.random(400)).figure,
        "degrees": figure.degree_histograms(degrees, kept.degrees()).figure,
        "wide degrees": figure.degree_ratios(
            degrees ** np.linspace(1, 3, 400), kept.degrees()
        ).figure,
        "leverage": figure.kept_against_leverage(leverage, rng.random(graph.n_edges) < 0.3).figure,
        "layout": figure.draw_layout(
            places,
            rng.random(400) < 0.3,
            ("ham", "spam"),
            title="all edges",
            limits=figure.layout_limits([places]),
        ).figure,
        "accuracy": curves.accuracy_against(rows, floor=0.5),
        "rounds": curves.over_rounds(losses, what="mean loss").figure,
        "graph": graph.plot(color=graph.degrees(), other=kept, random_state=SEED),
    }


def texts_that_meet(drawn):
    """Pairs of texts of one figure whose boxes overlap."""
    drawn.canvas.draw()
    hidden = {
        label for ax in drawn.axes for axis in (ax.xaxis, ax.yaxis) for label in _beyond(axis)
    }
    shown = [t for t in drawn.findobj(mpl.text.Text) if t.get_visible() and t not in hidden]
    boxes = [(t.get_text().strip(), t.get_window_extent()) for t in shown if t.get_text().strip()]
    pairs = itertools.combinations(boxes, 2)
    return [(a, b) for (a, one), (b, two) in pairs if _overlap(one, two)]


def _beyond(axis):
    """Labels of ticks that matplotlib has and does not draw."""
    low, high = sorted(axis.get_view_interval())
    slack = 1e-9 * (high - low)
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    outside = [t for t in ticks if not low - slack <= t.get_loc() <= high + slack]
    return [label for tick in outside for label in (tick.label1, tick.label2)]


def _overlap(one, two):
    """By more than a pixel in both directions."""
    across = min(one.x1, two.x1) - max(one.x0, two.x0)
    return across > 1 and min(one.y1, two.y1) - max(one.y0, two.y0) > 1


@pytest.mark.slow
def test_no_two_texts_of_a_figure_meet(results):
    drawn = figures(results)
    met = {name: texts_that_meet(getattr(one, "figure", one)) for name, one in drawn.items()}
    plt.close("all")
    assert not {name: pairs for name, pairs in met.items() if pairs}


def test_texts_that_meet_are_found():
    """The check itself: ten long tick labels in a narrow figure."""
    drawn, ax = plt.subplots(figsize=(2, 2))
    ax.set_xticks(range(10), [f"label {i}" for i in range(10)])
    assert texts_that_meet(drawn)
    plt.close(drawn)


@pytest.mark.slow
@needs_browser
def test_the_page_of_a_run(results, tmp_path):
    gs.write_edges(results[0], tmp_path / "edges.tsv")
    arguments = [str(tmp_path / "edges.tsv"), "-o", str(tmp_path / "sparse.tsv"), "--keep", "0.3"]
    page = tmp_path / "report.html"
    assert run(["sparsify", *arguments, "--report", str(page), "--quiet"]) == 0
    check_page(page, tmp_path, n_images=4)


@pytest.mark.slow
@needs_browser
def test_the_page_of_the_demo(tmp_path):
    assert run(["demo", "--quick", "--full", "--quiet", "--out", str(tmp_path / "demo")]) == 0
    check_page(tmp_path / "demo" / "index.html", tmp_path, n_images=6)


@pytest.mark.slow
@needs_browser
def test_what_notebooks_show_and_every_figure(results, tmp_path):
    """Certificate, comparison, graphs, streams, solvers, rankings, on one page."""
    graph, kept, certificate = results
    stream = gs.StreamSparsifier(n_edges=2_000, random_state=SEED).partial_fit(graph)
    solver = gs.LaplacianSolver(graph)
    solver.solve(np.eye(400)[:, :1] - 1 / 400)
    compared = gs.compare(graph, kept, max_seconds=None, random_state=SEED)
    found = [graph, kept, certificate, compared, stream, solver]
    found += [gs.analysis.rank(kept, "closeness"), gs.analysis.spectral_embedding(kept, 3)]
    found += [gs.analysis.communities(kept, random_state=SEED), gs.analysis.cut(kept)]
    parts = [("html", one._repr_html_()) for one in found]
    drawn = figures(results)
    for name, one in drawn.items():
        parts += [("heading", name), ("html", picture(getattr(one, "figure", one), alt=name))]
    page = tmp_path / "all.html"
    page.write_text(html_page("All that is shown", [("heading", "Tables"), *parts]))
    check_page(page, tmp_path, n_images=len(drawn))
    plt.close("all")


@pytest.mark.slow
@needs_browser
@pytest.mark.skipif(not (SITE / "index.html").exists(), reason="needs the site (make docs)")
@pytest.mark.parametrize("name", ["index", "analysis", "cli", "spam"])
def test_a_page_of_the_site(name, tmp_path):
    pages = sorted(SITE.rglob(f"{name}.html"), key=lambda path: len(path.parts))
    check_page(pages[0], tmp_path)
