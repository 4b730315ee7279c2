"""Rows as a table: HTML, as notebooks show it, or plain text for a terminal."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from graphsqueak.system.terminal import printable

__all__ = ["edge_table", "html_table", "sparkline", "text_table"]

_BLOCKS = "▁▂▃▄▅▆▇█"
_BINS = 16


def html_table(
    rows: Iterable[Iterable[object]],
    *,
    header: Sequence[object] = (),
    caption: str = "",
    words: bool = False,
) -> str:
    """Return a table; `words` sets its cells to the left, where numbers are on the right.

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
    """Return the first edges of a graph, how many more there are, and how its degrees are spread.

    Parameters
    ----------
    ends : two sequences
        Names of the sources and of the targets of the first edges.
    weight : ndarray of shape (n_edges,)
        Of all edges.
    n_neighbors : ndarray of shape (n_nodes,)
    known : object, optional
        A certificate; its text is the last line.

    Examples
    --------
    >>> shown = edge_table([["ann"], ["bob"]], np.array([2.0, 1.0]), np.array([1, 2, 1]))
    >>> "2 edges" in shown, "... 1 more" in shown, "1 to 2" in shown
    (True, True, True)
    """
    n_nodes, n_edges = n_neighbors.size, weight.size
    rows = [(*pair, f"{w:.4g}") for *pair, w in zip(*ends, weight, strict=False)]
    if n_edges > len(rows):
        rows.append((f"... {n_edges - len(rows):,} more", "", ""))
    caption = f"{n_nodes:,} nodes, {n_edges:,} edges, total weight {weight.sum():.6g}"
    if n_edges:
        low, high = int(n_neighbors.min()), int(n_neighbors.max())
        caption += f"; edges a node, {low:,} to {high:,}: {sparkline(n_neighbors)}"
    if known is not None:
        caption += f"; {known}"
    return html_table(rows, header=("source", "target", "weight"), caption=caption)


def sparkline(values: np.ndarray) -> str:
    """A histogram of numbers in a line of text, in bins of equal ratio where they are spread.

    >>> sparkline(np.array([1, 1, 1, 1, 2, 3]))
    '█▃▃'
    """
    low, high = float(values.min()), float(values.max())
    n_bins = int(min(_BINS, high - low + 1)) if values.dtype.kind in "iu" else _BINS
    shift = 1.0 if low < 1 else 0.0  # of values that may be 0
    is_wide = high + shift > 20 * (low + shift)
    spaced = np.geomspace if is_wide else np.linspace
    edges = spaced(low + shift, max(high, low + 1e-9) + shift, n_bins + 1)
    count = np.histogram(values + shift, edges)[0]
    height = np.ceil(count / max(count.max(), 1) * (len(_BLOCKS) - 1)).astype(int)
    return "".join(_BLOCKS[h] if c else " " for h, c in zip(height, count, strict=True))


def text_table(rows: Iterable[Iterable[object]], *, header: Sequence[object]) -> str:
    """Return columns two blanks apart; the first to the left, the others to the right.

    >>> print(text_table([("1-NN", 0.83), ("exact", 0.9)], header=("method", "accuracy")))
    method  accuracy
    1-NN        0.83
    exact        0.9
    """
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    width = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(_line(row, width) for row in cells)


def _line(cells, width):
    first, *others = zip(cells, width, strict=True)
    return "  ".join([f"{first[0]:<{first[1]}}", *(f"{cell:>{w}}" for cell, w in others)])


def _row(cells, tag):
    inner = "".join(f"<{tag}>{escape(printable(cell))}</{tag}>" for cell in cells)
    return f"<tr>{inner}</tr>"
