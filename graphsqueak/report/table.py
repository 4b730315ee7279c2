"""Rows as a table: HTML, as notebooks show it, or plain text for a terminal."""

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html_table", "text_table"]


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
        parts.append(f"<caption>{escape(caption)}</caption>")
    if header:
        parts.append(_row(header, "th"))
    parts += [_row(row, "td") for row in rows]
    return "".join([*parts, "</table>"])


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
    inner = "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells)
    return f"<tr>{inner}</tr>"
