"""Rows as an HTML table, as notebooks show it."""

from html import escape

__all__ = ["html_table"]


def html_table(rows, *, header=(), caption=""):
    """A small table; every cell is text.

    >>> html_table([("nodes", 34)], caption="karate")
    '<table><caption>karate</caption><tr><td>nodes</td><td>34</td></tr></table>'
    """
    parts = ["<table>"]
    if caption:
        parts.append(f"<caption>{escape(caption)}</caption>")
    if header:
        parts.append(_row(header, "th"))
    parts += [_row(row, "td") for row in rows]
    return "".join([*parts, "</table>"])


def _row(cells, tag):
    inner = "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells)
    return f"<tr>{inner}</tr>"
