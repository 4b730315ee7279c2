"""Figures show the numbers that they are given."""

import base64
import re

import matplotlib as mpl
import numpy as np
import pytest

from graphsqueak.report import curves, figure, page, table

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    mpl.pyplot.close("all")


def test_every_number_of_labels_has_a_panel_with_all_methods():
    rows = [
        {"method": name, "labels": labels, "edges": edges, "accuracy": 0.5 + labels / 300}
        for name in ("exact", "sparse")
        for labels in (20, 100)
        for edges in (1000, 10)
    ]
    drawn = curves.accuracy_against(rows, floor=0.5)
    assert [ax.get_title() for ax in drawn.axes] == ["20 labels", "100 labels"]
    for ax in drawn.axes:
        lines = [container[0] for container in ax.containers]
        assert len(lines) == 2
        np.testing.assert_array_equal(lines[0].get_xdata(), [10, 1000])


def test_bins_of_leverage_show_the_share_kept():
    leverage = np.repeat([0.1, 1.0], 50)
    kept = np.concatenate([np.arange(50) < 10, np.ones(50, dtype=bool)])
    ax = figure.kept_against_leverage(leverage, kept, n_bins=2)
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[0.1, 0.2], [1.0, 1.0]])


def test_a_spectrum_is_no_comb():
    """Gauss's rule of 20 places for a half circle, from 12 starts that hardly differ."""
    angle = np.pi * np.arange(1, 21) / 21
    rng = np.random.default_rng(773_201)
    ratios = 1 + 0.3 * np.cos(angle) + 1e-3 * rng.standard_normal((12, 20))
    shares = np.tile(np.sin(angle) ** 2, (12, 1))
    ax = figure.spectrum(ratios.ravel(), shares.ravel() / shares.sum(), (0.6, 1.4))
    bars = [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in ax.patches]
    assert sum(height for _, height in bars) == pytest.approx(100.0)
    middle = np.array([height for x, height in bars if abs(x - 1) < 0.2])
    assert middle.size > 15
    assert middle.min() > 0.4 * middle.max()  # the half circle itself has 0.75 of its top there


@pytest.mark.parametrize("most", [1.0, 1.4, 2.5, 60.0])
def test_the_axis_of_ratios_begins_at_0_or_above_and_shows_every_node(most):
    whole = np.full(50, 10.0)
    sparse = whole * np.linspace(0.2, most, 50)
    axis = figure.degree_ratios(whole, sparse)
    left, right = axis.get_xlim()
    assert 0.0 <= left < 0.2
    assert right < 3.2
    assert sum(bar.get_height() for bar in axis.patches) == 50
    assert ("above 3" in axis.get_xlabel()) == (most > 3)


def test_degree_histograms_count_every_node_that_has_edges():
    degrees = np.array([0.0, 1.0, 2.0, 4.0])
    ax = figure.degree_calibration(degrees, [0, 0.5, 2, 6], [0, 1, 2, 4.1])
    counts = [sum(bar.get_height() for bar in bars) for bars in ax.containers]
    assert counts == [3, 3]


@pytest.mark.parametrize(("largest", "scale"), [(4.0, "linear"), (400.0, "log")])
def test_degrees_of_graph_and_sparsifier_are_all_counted(largest, scale):
    whole, sparse = np.array([0.0, 1.0, 2.0, largest]), np.array([0.0, 1.1, 2.0, largest])
    left = figure.degree_histograms(whole, sparse)
    right = figure.degree_ratios(whole, sparse)
    assert left.get_xscale() == scale
    assert sum(bar.get_height() for bar in right.patches) == 3


def test_a_picture_is_a_png_that_a_page_can_carry():
    ax = figure.spectrum(np.array([0.5, 1.0]), np.array([0.5, 0.5]), (0.4, 1.2))
    tag = page.picture(ax.figure, alt='"ratios"')
    assert 'alt="&quot;ratios&quot;"' in tag
    data = re.search('src="data:image/png;base64,([^"]*)"', tag)[1]
    assert base64.b64decode(data).startswith(b"\x89PNG")


def test_marks_of_cuts_are_ratios_within_the_axis():
    """A cut of random edges that is lost has the ratio 0, which a logarithmic axis has not."""
    graph = np.array([1.0, 10.0, 100.0])
    ax = figure.cut_ratios(graph, graph * [0.9, 1.0, 1.1], graph * [0.0, 1.0, 30.0])
    random_edges, sparsifier = ax.lines[:2]
    low, high = ax.get_ylim()
    np.testing.assert_allclose(sparsifier.get_ydata(), [0.9, 1.0, 1.1])
    np.testing.assert_allclose(random_edges.get_ydata(), [low, 1.0, high])
    assert ax.get_xscale() == "log"


def test_layouts_have_one_scale_and_show_every_node():
    places = np.random.default_rng(86_117).standard_normal((300, 2))
    limits = figure.layout_limits([places, 0.5 * places])
    is_spam = np.arange(300) < 120
    ax = figure.draw_layout(places, is_spam, ("ham", "spam"), title="all", limits=limits)
    ham, spam = (points.get_offsets() for points in ax.collections)
    assert (len(ham), len(spam)) == (180, 120)
    for drawn in (ham, spam):
        assert (drawn >= limits[0]).all()
        assert (drawn <= limits[1]).all()
    assert np.abs(places).max() > np.abs(limits).max()


def test_cells_of_a_page_are_escaped():
    assert "&lt;b&gt;" in table.html_table([("<b>",)])
    with pytest.raises(ValueError, match="shorter"):
        table.text_table([("one",)], header=("a", "b"))


def test_lines_that_lie_on_each_other_are_all_seen():
    """The upper ones have gaps, and no two have the same color."""
    ax = curves.over_rounds({name: np.arange(50.0) for name in "abcd"}, what="regret")
    assert len({line.get_color() for line in ax.lines}) == 4
    assert all(line.is_dashed() for line in ax.lines[1:])
