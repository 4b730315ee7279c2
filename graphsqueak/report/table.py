"""Tables of rows, as HTML for notebooks and pages or as plain text for a terminal."""

import math
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from graphsqueak.system.terminal import printable

__all__ = ["edge_table", "html_table", "percent", "sparkline", "text_table"]

_BLOCKS = "▁▂▃▄▅▆▇█"


def html_table(
    rows: Iterable[Iterable[object]],
    *,
    header: Sequence[object] = (),
    caption: str = "",
    words: bool = False,
) -> str:
    """Return rows as an HTML table; cells are right-aligned, with `words` left-aligned.

    >>> html_table([("nodes", 34)], caption="karate")
    '<table><caption>karate</caption><tr><td>nodes</td><td>34</td></tr></table>'
    """
    parts = ['<table class="words">' if words else "<table>"]
    if caption:
        parts.append(f"<caption>{escape(printable(caption))}</caption>")
    if header:
        parts.append(_row(header, "th"))
    parts += [_row(row, "td") for row in rows]
    return "".join([*parts, "</table>"])


def edge_table(
    ends: Sequence[Sequence], weight: np.ndarray, n_neighbors: np.ndarray, known: object = None
) -> str:
    """Return the first edges of a graph, the number of others, and the distribution of degrees.

    Parameters
    ----------
    ends : pair of sequences
        Source ids and target ids of the first edges.
    weight : ndarray of shape (n_edges,)
        Weights of all edges.
    n_neighbors : ndarray of shape (n_nodes,)
    known : object, optional
        A certificate; its text ends the caption.

    Examples
    --------
    >>> shown = edge_table([["ann"], ["bob"]], np.array([2.0, 1.0]), np.array([1, 2, 1]))
    >>> "2 edges" in shown, "... 1 more" in shown, "1 to 2" in shown
    (True, True, True)
    """
    n_nodes = n_neighbors.size
    n_edges = weight.size
    rows = [(*pair, f"{w:.4g}") for *pair, w in zip(*ends, weight, strict=False)]
    if n_edges > len(rows):
        rows.append((f"... {n_edges - len(rows):,} more", "", ""))
    caption = f"{n_nodes:,} nodes, {n_edges:,} edges, total weight {weight.sum():.6g}"
    if n_edges:
        low = int(n_neighbors.min())
        high = int(n_neighbors.max())
        caption += f"; edges per node, {low:,} to {high:,}: {sparkline(n_neighbors)}"
    if known is not None:
        caption += f"; {known}"
    return html_table(rows, header=("source", "target", "weight"), caption=caption)


def percent(error: float) -> str:
    """Return an error in percent with two digits.

    >>> [percent(error) for error in (0.0, 0.0000321, 0.0123, 0.5, 23.0, math.inf)]
    ['0 %', '0.0032 %', '1.2 %', '50 %', '2,300 %', 'infinite']
    """
    if math.isinf(error):
        return "infinite"
    # Rescaled degrees are exact up to rounding.
    if error < 1e-9:
        return "0 %"
    return f"{100 * error:.2g} %" if error < 0.995 else f"{100 * error:,.0f} %"


def sparkline(values: np.ndarray, max_bins: int = 16) -> str:
    """Return a histogram of numbers as one line of text, with logarithmic bins for a wide range.

    >>> sparkline(np.array([1, 1, 1, 1, 2, 3]))
    '█▃▃'
    """
    low = float(values.min())
    high = float(values.max())
    n_bins = max_bins
    if values.dtype.kind in "iu":
        n_bins = int(min(max_bins, high - low + 1))
    # Values below 1 may be 0, which has no logarithm.
    shift = 1.0 if low < 1 else 0.0
    is_wide = high + shift > 20 * (low + shift)
    spaced = np.geomspace if is_wide else np.linspace
    edges = spaced(low + shift, max(high, low + 1e-9) + shift, n_bins + 1)
    count, _ = np.histogram(values + shift, edges)
    height = np.ceil(count / max(count.max(), 1) * (len(_BLOCKS) - 1)).astype(int)
    return "".join(_BLOCKS[h] if c else " " for h, c in zip(height, count, strict=True))


def text_table(rows: Iterable[Iterable[object]], *, header: Sequence[object]) -> str:
    """Return rows as text: the first column is left-aligned, the others are right-aligned.

    >>> print(text_table([("1-NN", 0.83), ("exact", 0.9)], header=("method", "accuracy")))
    method  accuracy
    1-NN        0.83
    exact        0.9
    """
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    columns = []
    for number, column in enumerate(zip(*cells, strict=True)):
        width = max(map(len, column))
        columns.append(
            [f"{cell:<{width}}" if number == 0 else f"{cell:>{width}}" for cell in column]
        )
    return "\n".join("  ".join(row) for row in zip(*columns, strict=True))


def _row(cells, tag):
    inner = "".join(f"<{tag}>{escape(printable(cell))}</{tag}>" for cell in cells)
    return f"<tr>{inner}</tr>"
