"""Figures, drawn with matplotlib (extra `plot`)."""

import numpy as np

__all__ = ["side_by_side", "spectrum"]


def spectrum(ratios, shares, interval, *, ax=None):
    """How many dimensions have which ratio x' L_H x / x' L_G x.

    Parameters
    ----------
    ratios, shares : ndarray
        Ratios, ascending, and the share of all dimensions that each stands for.
    interval : pair of float
        Drawn as the two ends that no ratio passes.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    ax = _axes(ax)
    bins = min(60, max(8, len(ratios) // 4))
    ax.hist(ratios, bins=bins, weights=100 * np.asarray(shares), color="#4477aa")
    for end in interval:
        if np.isfinite(end):
            ax.axvline(end, color="#cc6677", linestyle="--")
    ax.axvline(1.0, color="black", linewidth=0.8)
    ax.set_xlabel("sparsifier / graph, x'Lx")
    ax.set_ylabel("dimensions (%)")
    return ax


def side_by_side(pairs):
    """One panel per quantity, values on the sparsifier against those on the graph.

    Parameters
    ----------
    pairs : dict of str to two arrays

    Returns
    -------
    matplotlib Figure
    """
    figure, panels = _pyplot().subplots(
        1, len(pairs), figsize=(3 * len(pairs), 3.2), layout="constrained", squeeze=False
    )
    for ax, (name, (whole, sparse)) in zip(panels[0], pairs.items(), strict=True):
        ends = [min(whole.min(), sparse.min()), max(whole.max(), sparse.max())]
        ax.plot(ends, ends, color="black", linewidth=0.8)
        ax.scatter(whole, sparse, s=8, alpha=0.5, color="#4477aa", linewidth=0)
        ax.set_title(name)
        ax.set_xlabel("graph")
    panels[0][0].set_ylabel("sparsifier")
    return figure


def _axes(ax):
    if ax is not None:
        return ax
    return _pyplot().subplots(figsize=(6, 3.5), layout="constrained")[1]


def _pyplot():
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "figures need matplotlib; install it with pip install 'graphsqueak[plot]'"
        ) from None
    return plt
