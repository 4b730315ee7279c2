"""Figures, drawn with matplotlib (extra `plot`)."""

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
    "before_and_after",
    "degree_calibration",
    "degrees_of_both",
    "kept_against_leverage",
    "pyplot",
    "side_by_side",
    "spectrum",
]

COLORS = ("#4477aa", "#cc6677", "#228833", "#ccbb44", "#aa3377", "#66ccee", "#777777")
_MOST = 0.9  # of the range is in gaps that are no wider than the usual one
_WIDER = 1.25  # than that gap, as the places have a width, too
_TAIL = 0.01  # of the dimensions at either end, whose ratios may stand alone
_MOST_RATIO = 3.0  # of degrees: few nodes lie beyond, and all others would be one bar


def spectrum(
    ratios: np.ndarray,
    shares: ArrayLike,
    interval: tuple[float, float],
    *,
    ax: "Axes | None" = None,
) -> "Axes":
    """How many dimensions have which ratio x' L_H x / x' L_G x.

    Ratios of Lanczos stand for others near them, and lie in a few places: each is spread over the
    gap that is usual between these, so that the bars show the spectrum and not the places.

    Parameters
    ----------
    ratios, shares : ndarray
        Ratios, ascending, and the share of all dimensions that each stands for.
    interval : pair of float
        Ends that no ratio passes, drawn as lines where they are finite.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    edges, heights = _spread(np.asarray(ratios), 100 * np.asarray(shares))
    ax.bar(edges[:-1], heights, np.diff(edges), align="edge", color=COLORS[0])
    for end in interval:
        if np.isfinite(end):
            ax.axvline(end, color="#cc6677", linestyle="--")
    ax.axvline(1.0, color="black", linewidth=0.8)
    ax.set_xlabel("x'Lx in the sparsifier / in the graph")
    ax.set_ylabel("dimensions (%)")
    return ax


def _spread(ratios, shares):
    """Edges of bars, and the share in each, every ratio spread evenly over the usual gap."""
    order = np.argsort(ratios)
    ratios, shares = ratios[order], shares[order]
    below = np.cumsum(shares) / shares.sum()
    gaps = np.sort(np.diff(ratios[(below > _TAIL) & (below < 1 - _TAIL)]))
    passed = np.cumsum(gaps) if gaps.size else np.zeros(1)
    usual = gaps[np.searchsorted(passed, _MOST * passed[-1])] if passed[-1] > 0 else 0.0
    low, high = ratios[0], max(ratios[-1], ratios[0] + 1e-9)
    edges = np.linspace(low, high, int(min(40, max(8, ratios.size // 4))) + 1)
    width = min(max(_WIDER * usual, 1e-3 * (high - low)), high - low)
    left = np.clip(ratios - width / 2, low, high - width)
    inside = np.clip((edges - left[:, None]) / width, 0.0, 1.0)
    return edges, shares @ np.diff(inside, axis=1)


def side_by_side(
    pairs: Mapping[str, Sequence[np.ndarray]],
    *,
    uniform: Mapping[str, np.ndarray] | None = None,
    brackets: Mapping[str, tuple[np.ndarray, np.ndarray]] | None = None,
    agreement: Mapping[str, float] | None = None,
) -> "Figure":
    """One panel per quantity: how many times the graph's value the sparsifier has.

    Agreement is a level line at 1, on one scale for all; what lies beyond it is drawn at its end.

    Parameters
    ----------
    pairs : mapping of str to two arrays
        By name, a quantity on the graph and on the sparsifier.
    uniform : mapping of str to array, optional
        The same on as many uniform edges.
    brackets : mapping of str to two arrays, optional
        Between which the graph's values lie.
    agreement : mapping of str to float, optional
        Agreement of clusters, bars in a panel of their own: of the graph with itself, of others.

    Returns
    -------
    matplotlib Figure
    """
    n_panels = len(pairs) + bool(agreement)
    n_rows = -(-n_panels // 4)
    shape = (n_rows, -(-n_panels // n_rows))
    figure, grid = pyplot().subplots(
        *shape, figsize=(3 * shape[1], 2.9 * shape[0]), layout="constrained", squeeze=False
    )
    panels = grid.ravel()
    own = {name: pair[1] for name, pair in pairs.items()}
    drawn: dict[str, Any] = {"uniform edges": uniform, "sparsifier": own}
    ratios = [values[n] / pairs[n][0] for values in drawn.values() for n in values or ()]
    far = max((np.abs(np.log2(np.clip(r, 1 / 8, 8))).max(initial=0.0) for r in ratios), default=0.0)
    reach = 2 ** min(max(1.1 * far, 0.6), 3)
    for ax, (name, (whole, sparse)) in zip(panels, pairs.items(), strict=False):
        for who, values in drawn.items():
            if values:
                ratio = np.clip(np.asarray(values[name]) / whole, 1 / reach, reach)
                style = {"s": 9, "alpha": 0.55, "linewidth": 0, "color": COLORS[values is not own]}
                ax.scatter(whole, ratio, label=who, clip_on=False, zorder=2, **style)
        if brackets and name in brackets:
            for end in brackets[name]:
                ax.axhline((sparse / end).max(), color=COLORS[2], linewidth=1, linestyle="--")
        _ratio_axes(ax, name, whole, reach)
    if agreement:
        ax, names = panels[len(pairs)], ["graph again", *list(agreement)[1:]]
        ax.bar(names, list(agreement.values()), color=["#777777", *COLORS[: len(names) - 1]])
        ax.set_ylim(0, 1.05)
        ax.set_title("clusters, agreement (AMI)", fontsize=10)
        ax.tick_params(labelsize=8)
    for ax in panels[n_panels:]:
        ax.axis("off")
    figure.supylabel("times the graph's", fontsize=9)
    handles, names = panels[0].get_legend_handles_labels()
    if brackets:
        handles.append(pyplot().Line2D([], [], color=COLORS[2], linewidth=1, linestyle="--"))
        names.append("no ratio is beyond (certificate)")
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False, markerscale=2)
    return figure


def _ratio_axes(ax, name, whole, reach):
    """Axes of values and of ratios to them, with ticks that do not meet."""
    ax.axhline(1.0, color="black", linewidth=0.8, zorder=1)
    ax.set_yscale("log", base=2)
    ax.set_ylim(1 / reach, reach)
    some = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8) if reach > 2 else (1 / 2, 0.7, 1, 1.4, 2)
    some = [tick for tick in some if 1 / reach <= tick <= reach]
    ax.set_yticks(some, [f"{tick:g}" for tick in some])
    ax.yaxis.set_minor_locator(pyplot().NullLocator())
    if whole.max() > 20 * whole.min():
        ax.set_xscale("log")
    else:
        ax.locator_params(axis="x", nbins=3)
        ax.ticklabel_format(axis="x", scilimits=(-2, 4))
    ax.tick_params(labelsize=8)
    ax.set_title(name, fontsize=10)
    ax.set_xlabel("on the graph", fontsize=9)


def degree_calibration(
    degrees: ArrayLike, before: ArrayLike, after: ArrayLike, *, ax: "Axes | None" = None
) -> "Axes":
    """Degrees of a sparsifier over those of the graph, before and after calibration.

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
    seen = np.asarray(degrees) > 0
    ratios = [np.asarray(some)[seen] / np.asarray(degrees)[seen] for some in (before, after)]
    bins = np.linspace(min(map(np.min, ratios)), max(map(np.max, ratios)), 50)
    for ratio, name, color in zip(ratios, ("before", "after"), COLORS, strict=False):
        ax.hist(ratio, bins=bins.tolist(), color=color, alpha=0.7, label=name)
    ax.axvline(1.0, color="black", linewidth=0.8)
    ax.set_yscale("log")
    ax.set_xlabel("degree, sparsifier / graph")
    ax.set_ylabel("nodes")
    ax.legend(title="calibration", frameon=False)
    return ax


def degrees_of_both(
    whole: ArrayLike, sparse: ArrayLike, *, figure: "Figure | None" = None
) -> "Figure":
    """Plot weighted degrees of a graph and of its sparsifier: their distributions and their ratio.

    Parameters
    ----------
    whole, sparse : ndarray
        Weighted degrees of the same nodes.
    figure : matplotlib Figure, optional
        An empty figure. Default: a new one of 8.5 x 3.2 inches.

    Returns
    -------
    matplotlib Figure
    """
    if figure is None:
        figure = pyplot().figure(figsize=(8.5, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    seen = (np.asarray(whole) > 0) & (np.asarray(sparse) > 0)
    pairs = ((np.asarray(whole)[seen], "graph"), (np.asarray(sparse)[seen], "sparsifier"))
    both = np.concatenate([degrees for degrees, _ in pairs])
    is_wide = both.max() > 20 * both.min()
    spaced = np.geomspace if is_wide else np.linspace
    bins = spaced(0.99 * both.min(), 1.01 * both.max(), 40)
    for (degrees, name), style in zip(pairs, ("stepfilled", "step"), strict=True):
        color = COLORS[0] if style == "stepfilled" else COLORS[1]
        left.hist(degrees, bins=bins, histtype=style, color=color, linewidth=1.5, label=name)
    left.set_xscale("log" if is_wide else "linear")
    left.set_xlabel("total weight of a node's edges")
    left.set_ylabel("nodes")
    left.legend(frameon=False)
    ratio = pairs[1][0] / pairs[0][0]
    least = min(0.99, ratio.min(initial=1.0))
    most = max(1.01, min(ratio.max(initial=1.0), _MOST_RATIO))
    right.hist(np.minimum(ratio, most), bins=np.linspace(least, most, 42), color=COLORS[0])
    right.set_xlim(max(0.0, least - 0.03 * (most - least)), most + 0.03 * (most - least))
    beyond = f" (above {most:g}: drawn there)" if ratio.max(initial=1.0) > most else ""
    right.set_xlabel(f"sparsifier / graph{beyond}")
    right.set_ylabel("nodes")
    return figure


def kept_against_leverage(
    leverage: ArrayLike, kept: ArrayLike, *, n_bins: int = 20, ax: "Axes | None" = None
) -> "Axes":
    """Share of the edges that were kept, over bins of equally many edges of similar leverage.

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
    scores, is_kept = np.asarray(leverage), np.asarray(kept)
    bins = np.array_split(np.argsort(scores, kind="stable"), min(n_bins, scores.size))
    middle = np.array([np.median(scores[part]) for part in bins])
    share = np.array([is_kept[part].mean() for part in bins])
    ax.plot(middle, share, color=COLORS[0], marker="o", label="kept")
    expected = np.minimum(1.0, is_kept.sum() * middle / scores.sum())
    ax.plot(middle, expected, color="black", linewidth=0.8, label="in proportion to leverage")
    ax.set_xlabel("leverage (bins of equally many edges)")
    ax.set_ylabel("share of the edges kept")
    ax.set_ylim(0.0, 1.05)
    ax.legend(frameon=False)
    return ax


def before_and_after(
    places: Mapping[str, np.ndarray], is_marked: np.ndarray, names: tuple[str, str]
) -> "Figure":
    """The same nodes in the plane, once a panel, in two colors and on equal scales.

    Parameters
    ----------
    places : mapping of str to ndarray (n, 2)
        Coordinates by the title of a panel; a few far away are not drawn.
    is_marked : ndarray of bool (n,)
    names : pair of str
        Of the nodes that are not marked, and of those that are.

    Returns
    -------
    matplotlib Figure
    """
    figure, panels = pyplot().subplots(
        1, len(places), figsize=(9, 4), layout="constrained", squeeze=False
    )
    ends = np.percentile(np.concatenate(list(places.values())), [0.5, 99.5], axis=0)
    ends += 0.05 * (ends[1] - ends[0]) * np.array([[-1.0], [1.0]])
    for ax, (title, place) in zip(panels[0], places.items(), strict=True):
        for shown, name, color in zip((~is_marked, is_marked), names, COLORS, strict=False):
            ax.scatter(*place[shown].T, s=5, alpha=0.5, color=color, linewidth=0, label=name)
        ax.set(title=title, xlim=ends[:, 0], ylim=ends[:, 1], xticks=[], yticks=[])
    handles, shown_names = panels[0][0].get_legend_handles_labels()
    legend = {"loc": "outside lower center", "ncols": 2, "frameon": False, "markerscale": 3}
    for handle in figure.legend(handles, shown_names, **legend).legend_handles:
        handle.set_alpha(1.0)
    return figure


def as_axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=(6, 3.5), layout="constrained")[1]


def pyplot() -> Any:
    """matplotlib.pyplot, or an ImportError that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "figures need matplotlib; install it with pip install 'graphsqueak[plot]'"
        ) from None
    return plt
