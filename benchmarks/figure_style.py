"""One style for the figures of the documentation.

A figure has at most two highlighted series (BLUE, then RED), GRAY for context, labels next to the
data instead of a legend, and axes in words. Figures have no background, and their colors have
enough contrast on a white and on a dark page.
"""

import re
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.collections import PathCollection
from matplotlib.path import Path as Line

__all__ = ["BLUE", "GRAY", "RED", "STYLE", "draw_edges", "draw_nodes", "save", "style"]

DOCS = Path(__file__).parent.parent / "docs"

# Contrast with white and with the dark pages of the site and of GitHub: 3.0 or more.
BLUE = "#3d7fc4"
RED = "#e4572e"
GRAY = "#808890"

STYLE = {
    "font.size": 10,
    "text.color": GRAY,
    "axes.edgecolor": GRAY,
    "axes.labelcolor": GRAY,
    "axes.titlecolor": GRAY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": GRAY,
    "ytick.color": GRAY,
    "savefig.transparent": True,
    # Fixed ids and no date: an unchanged figure is an unchanged file.
    "svg.hashsalt": "graphsqueak",
    "svg.fonttype": "path",
}


def style():
    """Return a context in which figures have the style."""
    return plt.rc_context(STYLE)


def save(figure, name, folder=DOCS):
    """Write a figure to a folder and close it."""
    path = folder / name
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    # One decimal is enough for coordinates in points, and halves the size.
    svg = re.sub(
        r' d="[^"]*"', lambda match: re.sub(r"(\.\d)\d+", r"\1", match[0]), path.read_text()
    )
    path.write_text(svg)
    print(f"{path.parent.name}/{name}  {path.stat().st_size / 1000:.0f} kB")


def draw_edges(ax, positions, tail, head, *, color, width):
    """Draw edges as one path, which takes a tenth of the size of one path per edge.

    `tail` and `head` are indices into `positions`, an array with a row (x, y) per node.
    """
    points = positions[[end for edge in zip(tail, head, strict=True) for end in edge]]
    codes = [Line.MOVETO, Line.LINETO] * len(tail)
    lines = Line(points, codes)
    ax.add_collection(
        PathCollection([lines], facecolor="none", edgecolor=color, linewidth=width, zorder=1)
    )


def draw_nodes(ax, positions, *, color=BLUE, size=10):
    """Draw nodes as dots, without axes."""
    ax.scatter(*positions.T, s=size, color=color, linewidth=0, zorder=3)
    ax.set_aspect("equal")
    ax.axis("off")
