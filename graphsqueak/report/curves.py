"""Curves of accuracy and of losses, drawn with matplotlib (extra `plot`)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.report.figure import COLORS, as_axes, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["accuracy_against", "over_rounds"]

# Where lines lie on top of each other, the lower ones are seen through the gaps.
_DASHES = ((), (9, 2), (5, 2), (3, 2), (6, 2, 1, 2), (1, 1.5), (4, 4))

_MARKERS = "osD^vPX"


def accuracy_against(
    rows: Sequence[Mapping[str, Any]],
    x: str = "edges",
    *,
    label: str | None = None,
    floor: float | None = None,
) -> "Figure":
    """Accuracy over edges, bytes or seconds: one panel per number of labels, one mark per row.

    Parameters
    ----------
    rows : sequence of dict
        With the keys method, labels, accuracy and `x`; rows of one method are joined in the order
        of `x`, and an optional error is drawn as a bar.
    x : str
        The key on the horizontal axis, which is logarithmic.
    label : str, optional
        Its name. Default: `x`.
    floor : float, optional
        Accuracy of the most frequent class, drawn as a line.

    Returns
    -------
    matplotlib Figure
    """
    labels = sorted({row["labels"] for row in rows})
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, panels = pyplot().subplots(
        1,
        len(labels),
        figsize=(3.8 * len(labels), 3.9),
        layout="constrained",
        squeeze=False,
        sharey=True,
    )
    for ax, n_labels in zip(panels[0], labels, strict=True):
        for i, method in enumerate(methods):
            own = [row for row in rows if (row["method"], row["labels"]) == (method, n_labels)]
            own.sort(key=lambda row: row[x])
            ax.errorbar(
                [row[x] for row in own],
                [row["accuracy"] for row in own],
                [row.get("error", 0.0) for row in own],
                color=COLORS[i % len(COLORS)],
                marker=_MARKERS[i % len(_MARKERS)],
                markersize=6,
                linewidth=1,
                label=method,
            )
        if floor is not None:
            ax.axhline(floor, color="black", linewidth=0.8, linestyle=":")
        ax.set_xscale("log")
        ax.xaxis.set_minor_formatter("")  # they would cover each other
        ax.set_title(f"{n_labels:,} labels")
        ax.set_xlabel(label or x)
    panels[0][0].set_ylabel("accuracy")
    handles, names = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    return figure


def over_rounds(curves: Mapping[str, ArrayLike], *, what: str, ax: "Axes | None" = None) -> "Axes":
    """Something that happens round by round: one line each, rounds on a logarithmic axis.

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
        color, dashes = COLORS[number % len(COLORS)], _DASHES[number % len(_DASHES)]
        heights = np.asarray(values)
        shown = np.unique(np.geomspace(1, heights.size, 400).astype(np.int64))  # enough to look at
        ax.plot(shown, heights[shown - 1], color=color, dashes=dashes, label=name)
    ax.set_xscale("log")
    ax.set_xlabel("rounds")
    ax.set_ylabel(what)
    ax.legend(frameon=False)
    return ax
