"""Figures, drawn with matplotlib (extra `plot`)."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLORS",
    "as_axes",
    "cut_ratios",
    "degree_calibration",
    "degree_histograms",
    "degree_ratios",
    "draw_layout",
    "kept_against_leverage",
    "layout_limits",
    "pyplot",
    "side_by_side",
    "spectrum",
]

COLORS = ("#4477aa", "#cc6677", "#228833", "#ccbb44", "#aa3377", "#66ccee", "#777777")


def spectrum(
    ratios: np.ndarray,
    shares: ArrayLike,
    interval: tuple[float, float],
    *,
    ax: "Axes | None" = None,
) -> "Axes":
    """Plot the distribution of the ratios x' L_H x / x' L_G x over all dimensions.

    Lanczos gives a few ratios that each stand for others near them. Every ratio is spread over the
    usual gap between two of them, so that the bars show the spectrum and not the Lanczos nodes.

    Parameters
    ----------
    ratios, shares : ndarray
        Ratios, and the fraction of all dimensions for which each of them stands.
    interval : pair of float
        Bounds of all ratios, drawn as lines if they are finite.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    edges, heights = _smoothed_histogram(np.asarray(ratios), 100 * np.asarray(shares))
    ax.bar(edges[:-1], heights, np.diff(edges), align="edge", color=COLORS[0])
    for end in interval:
        if np.isfinite(end):
            ax.axvline(end, color=COLORS[1], linestyle="--")
    ax.axvline(1.0, color="black", linewidth=0.8)
    ax.set(xlabel="x'Lx in the sparsifier / in the graph", ylabel="dimensions (%)")
    return ax


def _smoothed_histogram(ratios, shares):
    """Return bar edges and the share in each bar; a ratio is a uniform density of some width."""
    order = np.argsort(ratios)
    ratios = ratios[order]
    shares = shares[order]
    # Outliers at either end may be far from all other ratios, so 1 % there does not count.
    below = np.cumsum(shares) / shares.sum()
    gaps = np.sort(np.diff(ratios[(below > 0.01) & (below < 0.99)]))
    covered = np.cumsum(gaps) if gaps.size else np.zeros(1)
    usual_gap = 0.0
    if covered[-1] > 0:
        # 90 % of the range is in gaps that are at most this wide.
        usual_gap = gaps[np.searchsorted(covered, 0.9 * covered[-1])]
    low = ratios[0]
    high = max(ratios[-1], low + 1e-9)
    n_bars = int(np.clip(ratios.size // 4, 8, 40))
    edges = np.linspace(low, high, n_bars + 1)
    # A little wider than the gap, so that neighbors overlap.
    width = min(max(1.25 * usual_gap, 1e-3 * (high - low)), high - low)
    start = np.clip(ratios - width / 2, low, high - width)
    cumulative = np.clip((edges - start[:, None]) / width, 0.0, 1.0)
    return edges, shares @ np.diff(cumulative, axis=1)


def side_by_side(
    pairs: Mapping[str, Sequence[np.ndarray]],
    *,
    uniform: Mapping[str, np.ndarray] | None = None,
    bounds: Mapping[str, tuple[np.ndarray, np.ndarray]] | None = None,
    agreement: Mapping[str, float] | None = None,
) -> "Figure":
    """Plot one panel per quantity: its ratio, sparsifier to graph, over its value on the graph.

    All panels have the same scale of ratios. Ratios beyond it are drawn at its end.

    Parameters
    ----------
    pairs : mapping of str to two arrays
        By name, the values of a quantity on the graph and on the sparsifier.
    uniform : mapping of str to array, optional
        The values on equally many uniformly sampled edges.
    bounds : mapping of str to two arrays, optional
        Lower and upper bounds of the values on the graph.
    agreement : mapping of str to float, optional
        Agreement of clusters, as bars in a panel of their own. The first is that of the graph with
        itself.

    Returns
    -------
    matplotlib Figure
    """
    n_panels = len(pairs) + bool(agreement)
    n_rows = math.ceil(n_panels / 4)
    n_columns = math.ceil(n_panels / n_rows)
    figure, grid = pyplot().subplots(
        n_rows,
        n_columns,
        figsize=(3 * n_columns, 2.9 * n_rows),
        layout="constrained",
        squeeze=False,
    )
    panels = grid.ravel()
    series = {
        "uniform edges": (uniform or {}, COLORS[1]),
        "sparsifier": ({name: pair[1] for name, pair in pairs.items()}, COLORS[0]),
    }
    ratios = [values[n] / pairs[n][0] for values, _ in series.values() for n in values]
    reach = _ratio_range(ratios)
    for ax, (name, (whole, sparse)) in zip(panels, pairs.items(), strict=False):
        for label, (values, color) in series.items():
            if name in values:
                ratio = np.clip(np.asarray(values[name]) / whole, 1 / reach, reach)
                ax.scatter(
                    whole,
                    ratio,
                    s=9,
                    alpha=0.55,
                    linewidth=0,
                    color=color,
                    label=label,
                    clip_on=False,
                    zorder=2,
                )
        if bounds and name in bounds:
            for bound in bounds[name]:
                ax.axhline((sparse / bound).max(), color=COLORS[2], linewidth=1, linestyle="--")
        _format_ratio_axes(ax, name, whole, reach)
    if agreement:
        ax = panels[len(pairs)]
        names = ["graph again", *list(agreement)[1:]]
        ax.bar(names, list(agreement.values()), color=["#777777", *COLORS[: len(names) - 1]])
        ax.set_ylim(0, 1.05)
        ax.set_title("clusters, agreement (AMI)", fontsize=10)
        ax.tick_params(labelsize=8)
    for ax in panels[n_panels:]:
        ax.axis("off")
    figure.supylabel("sparsifier / graph", fontsize=9)
    handles, names = panels[0].get_legend_handles_labels()
    if bounds:
        handles.append(pyplot().Line2D([], [], color=COLORS[2], linewidth=1, linestyle="--"))
        names.append("bounds of all ratios (certificate)")
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False, markerscale=2)
    return figure


def _ratio_range(ratios):
    """Return the largest ratio that is drawn: that of the values, between 1.5 and 8."""
    distances = np.abs(np.log2(np.clip(np.concatenate([*ratios, [1.0]]), 1 / 8, 8)))
    return 2 ** np.clip(1.1 * distances.max(), 0.6, 3)


def _format_ratio_axes(ax, name, whole, reach):
    """Set scales, ticks that do not overlap, and labels of a panel of `side_by_side`."""
    ax.axhline(1.0, color="black", linewidth=0.8, zorder=1)
    ax.set_yscale("log", base=2)
    ax.set_ylim(1 / reach, reach)
    ticks = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8) if reach > 2 else (1 / 2, 0.7, 1, 1.4, 2)
    ticks = [tick for tick in ticks if 1 / reach <= tick <= reach]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.yaxis.set_minor_locator(pyplot().NullLocator())
    if _is_wide(whole):
        ax.set_xscale("log")
    else:
        ax.locator_params(axis="x", nbins=3)
        ax.ticklabel_format(axis="x", scilimits=(-2, 4))
    ax.tick_params(labelsize=8)
    ax.set_title(name, fontsize=10)
    ax.set_xlabel("on the graph", fontsize=9)


def _is_wide(values):
    """Return whether values need a logarithmic axis."""
    return values.max() > 20 * values.min()


def degree_calibration(
    degrees: ArrayLike, before: ArrayLike, after: ArrayLike, *, ax: "Axes | None" = None
) -> "Axes":
    """Plot histograms of degrees, sparsifier to graph, before and after calibration.

    Parameters
    ----------
    degrees, before, after : ndarray
        Weighted degrees, of the graph and of its sparsifier without and with calibration.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    whole = np.asarray(degrees)
    has_edges = whole > 0
    ratios = {
        "before": np.asarray(before)[has_edges] / whole[has_edges],
        "after": np.asarray(after)[has_edges] / whole[has_edges],
    }
    all_ratios = np.concatenate(list(ratios.values()))
    bins = np.linspace(all_ratios.min(), all_ratios.max(), 50).tolist()
    for (label, ratio), color in zip(ratios.items(), COLORS, strict=False):
        ax.hist(ratio, bins=bins, color=color, alpha=0.7, label=label)
    ax.axvline(1.0, color="black", linewidth=0.8)
    ax.set(yscale="log", xlabel="degree, sparsifier / graph", ylabel="nodes")
    ax.legend(title="calibration", frameon=False)
    return ax


def cut_ratios(
    graph: ArrayLike, sparsifier: ArrayLike, random_edges: ArrayLike, *, ax: "Axes | None" = None
) -> "Axes":
    """Plot ratios of cuts to those of the graph, for a sparsifier and for random edges.

    Ratios beyond the axis are drawn at its end.

    Parameters
    ----------
    graph, sparsifier, random_edges : ndarray
        Weights of the same cuts.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    weights = np.asarray(graph)
    series = {
        "random edges": (np.asarray(random_edges) / weights, COLORS[1], "x"),
        "sparsifier": (np.asarray(sparsifier) / weights, COLORS[0], "o"),
    }
    reach = _ratio_range([ratios for ratios, _, _ in series.values()])
    for label, (ratios, color, marker) in series.items():
        ax.plot(
            weights,
            np.clip(ratios, 1 / reach, reach),
            marker,
            markersize=5,
            color=color,
            label=label,
            clip_on=False,
            zorder=2,
        )
    _format_ratio_axes(ax, "", weights, reach)
    ax.set(xlabel="weight of the cut in the graph", ylabel="weight / weight in the graph")
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


def degree_histograms(whole: ArrayLike, sparse: ArrayLike, *, ax: "Axes | None" = None) -> "Axes":
    """Plot the distributions of weighted degrees of a graph and of its sparsifier.

    Parameters
    ----------
    whole, sparse : ndarray
        Weighted degrees of the same nodes. Nodes without edges are left out.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    of_graph, of_sparsifier = _positive_degrees(whole, sparse)
    both = np.concatenate([of_graph, of_sparsifier])
    scale = "log" if _is_wide(both) else "linear"
    spaced = np.geomspace if _is_wide(both) else np.linspace
    bins = spaced(0.99 * both.min(), 1.01 * both.max(), 40).tolist()
    ax.hist(of_graph, bins=bins, histtype="stepfilled", color=COLORS[0], label="graph")
    ax.hist(
        of_sparsifier,
        bins=bins,
        histtype="step",
        color=COLORS[1],
        linewidth=1.5,
        label="sparsifier",
    )
    ax.set(xscale=scale, xlabel="total weight of a node's edges", ylabel="nodes")
    ax.legend(frameon=False)
    return ax


def degree_ratios(whole: ArrayLike, sparse: ArrayLike, *, ax: "Axes | None" = None) -> "Axes":
    """Plot the distribution of weighted degrees, sparsifier to graph.

    Parameters
    ----------
    whole, sparse : ndarray
        Weighted degrees of the same nodes. Nodes without edges are left out.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    of_graph, of_sparsifier = _positive_degrees(whole, sparse)
    ratio = of_sparsifier / of_graph
    lowest = min(0.99, ratio.min(initial=1.0))
    # With the few nodes of larger ratios on the axis, all others would be one bar.
    highest = max(1.01, min(ratio.max(initial=1.0), 3.0))
    margin = 0.03 * (highest - lowest)
    is_clipped = ratio.max(initial=1.0) > highest
    bins = np.linspace(lowest, highest, 42).tolist()
    ax.hist(np.minimum(ratio, highest), bins=bins, color=COLORS[0])
    ax.set(
        xlim=(max(0.0, lowest - margin), highest + margin),
        xlabel="degree, sparsifier / graph"
        + (f" (above {highest:g}: drawn there)" if is_clipped else ""),
        ylabel="nodes",
    )
    return ax


def _positive_degrees(whole, sparse):
    """Return both degrees of the nodes that have edges in both graphs."""
    of_graph = np.asarray(whole)
    of_sparsifier = np.asarray(sparse)
    has_edges = (of_graph > 0) & (of_sparsifier > 0)
    return of_graph[has_edges], of_sparsifier[has_edges]


def kept_against_leverage(
    leverage: ArrayLike, kept: ArrayLike, *, n_bins: int = 20, ax: "Axes | None" = None
) -> "Axes":
    """Plot the fraction of edges that were kept by leverage, in bins of equally many edges.

    Parameters
    ----------
    leverage : ndarray
        Weight times effective resistance of every edge of the graph.
    kept : ndarray of bool
        Which of them the sparsifier has.
    n_bins : int
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    scores = np.asarray(leverage)
    is_kept = np.asarray(kept)
    bins = np.array_split(np.argsort(scores, kind="stable"), min(n_bins, scores.size))
    median = np.array([np.median(scores[edges]) for edges in bins])
    fraction = np.array([is_kept[edges].mean() for edges in bins])
    expected = np.minimum(1.0, is_kept.sum() * median / scores.sum())
    ax.plot(median, fraction, color=COLORS[0], marker="o", label="kept")
    ax.plot(median, expected, color="black", linewidth=0.8, label="in proportion to leverage")
    ax.set(
        xlabel="leverage (bins of equally many edges)",
        ylabel="fraction of edges kept",
        ylim=(0.0, 1.05),
    )
    ax.legend(frameon=False)
    return ax


def draw_layout(
    places: np.ndarray,
    is_marked: np.ndarray,
    names: tuple[str, str],
    *,
    title: str,
    limits: np.ndarray,
    ax: "Axes | None" = None,
) -> "Axes":
    """Plot the nodes of a layout in two colors.

    Parameters
    ----------
    places : ndarray (n, 2)
        Coordinates. Nodes beyond `limits` are drawn at the border.
    is_marked : ndarray of bool (n,)
    names : pair of str
        Of the nodes that are not marked, and of those that are.
    title : str
    limits : ndarray (2, 2)
        Lowest and highest coordinates, the same for layouts that are compared (`layout_limits`).
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    shown = np.clip(places, *limits)
    for is_shown, name, color in zip((~is_marked, is_marked), names, COLORS, strict=False):
        x, y = shown[is_shown].T
        ax.scatter(
            x,
            y,
            s=5,
            alpha=0.5,
            color=color,
            linewidth=0,
            label=name,
            clip_on=False,
        )
    ax.set(title=title, xlim=limits[:, 0], ylim=limits[:, 1], xticks=[], yticks=[])
    legend = ax.legend(loc="lower left", frameon=False, markerscale=3)
    for handle in filter(None, legend.legend_handles):
        handle.set_alpha(1.0)
    return ax


def layout_limits(several: Sequence[np.ndarray]) -> np.ndarray:
    """Return the lowest and the highest coordinates that show nearly all nodes of some layouts.

    Some nodes may be far from all others: 0.5 % of them on each side are left out.
    """
    low, high = np.percentile(np.concatenate(several), [0.5, 99.5], axis=0)
    margin = 0.05 * (high - low)
    return np.stack([low - margin, high + margin])


def as_axes(ax: "Axes | None") -> "Axes":
    """Return the given axes, or those of a new figure."""
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=(6, 3.5), layout="constrained")[1]


def pyplot() -> Any:
    """Return matplotlib.pyplot, or raise an ImportError with the command that installs it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "figures need matplotlib; install it with pip install 'graphsqueak[plot]'"
        ) from None
    return plt
