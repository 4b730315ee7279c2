"""Figures, drawn with matplotlib (extra `plot`)."""

import numpy as np

__all__ = ["spectrum"]


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


def _axes(ax):
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "figures need matplotlib; install it with pip install 'graphsqueak[plot]'"
        ) from None
    return plt.subplots(figsize=(6, 3.5), layout="constrained")[1]
