"""Curves of accuracy and of losses, drawn with matplotlib (extra `plot`)."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.report.figure import COLORS, as_axes, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["accuracy_against", "over_rounds"]

# The gaps show lines that are below others.
_DASHES = ((), (9, 2), (5, 2), (3, 2), (6, 2, 1, 2), (1, 1.5), (4, 4))
_MARKERS = "osD^vPX"


def accuracy_against(
    rows: Sequence[Mapping[str, Any]],
    x: str = "edges",
    *,
    label: str | None = None,
    floor: float | None = None,
) -> "Figure":
    """Plot accuracy over edges, bytes or seconds: one panel per number of labels.

    Parameters
    ----------
    rows : sequence of dict
        One per point, with the keys method, labels, accuracy and `x`. Points of one method are
        connected in the order of `x`. An optional error is drawn as a bar.
    x : str
        The key on the horizontal axis, which is logarithmic.
    label : str, optional
        Label of that axis. Default: `x`.
    floor : float, optional
        Accuracy of the most frequent class, drawn as a line.

    Returns
    -------
    matplotlib Figure
    """
    label_counts = sorted({row["labels"] for row in rows})
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, panels = pyplot().subplots(
        1,
        len(label_counts),
        figsize=(3.8 * len(label_counts), 3.9),
        layout="constrained",
        squeeze=False,
        sharey=True,
    )
    for ax, n_labels in zip(panels[0], label_counts, strict=True):
        for number, method in enumerate(methods):
            points = [row for row in rows if row["method"] == method and row["labels"] == n_labels]
            points.sort(key=itemgetter(x))
            ax.errorbar(
                [row[x] for row in points],
                [row["accuracy"] for row in points],
                [row.get("error", 0.0) for row in points],
                color=COLORS[number % len(COLORS)],
                marker=_MARKERS[number % len(_MARKERS)],
                markersize=6,
                linewidth=1,
                label=method,
            )
        if floor is not None:
            ax.axhline(floor, color="black", linewidth=0.8, linestyle=":")
        ax.set(xscale="log", title=f"{n_labels:,} labels", xlabel=label or x)
        # Minor tick labels would overlap.
        ax.xaxis.set_minor_formatter("")
    panels[0][0].set_ylabel("accuracy")
    handles, names = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    return figure


def over_rounds(curves: Mapping[str, ArrayLike], *, what: str, ax: "Axes | None" = None) -> "Axes":
    """Plot values of every round, such as losses: one line each, rounds on a logarithmic axis.

    Parameters
    ----------
    curves : dict of str to array
        A value for every round.
    what : str
        The name of the values.
    ax : matplotlib Axes, optional
        More lines on these axes get the next colors.

    Returns
    -------
    matplotlib Axes
    """
    ax = as_axes(ax)
    for name, values in curves.items():
        number = len(ax.lines)
        heights = np.asarray(values)
        # More points than pixels would only make the file larger.
        rounds = np.unique(np.geomspace(1, heights.size, 400).astype(np.int64))
        ax.plot(
            rounds,
            heights[rounds - 1],
            color=COLORS[number % len(COLORS)],
            dashes=_DASHES[number % len(_DASHES)],
            label=name,
        )
    ax.set(xscale="log", xlabel="rounds", ylabel=what)
    ax.legend(frameon=False)
    return ax
