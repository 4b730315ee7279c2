"""Self-contained HTML pages of text, tables, figures and commands."""

import base64
import io
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from graphsqueak.system.terminal import printable

__all__ = ["header_strip", "html_page", "panels", "picture", "wide_picture"]

# Inches, of a figure that is as wide as a phone. Two of them fit side by side on a
# desktop screen. Only the look of pages depends on these.
_PANEL_SIZE = (4.6, 3.3)
_DOTS_PER_INCH = 110
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:54em;margin:2em auto;padding:0 1em;color:#222}
h1{font-size:1.6em;line-height:1.25}h2{font-size:1.2em;margin:2em 0 .5em}
h1,h2,p,dd,td:first-child,.words td:last-child{overflow-wrap:anywhere}
.words td:first-child{overflow-wrap:normal}
.strip{display:grid;grid-template-columns:repeat(auto-fit,minmax(11em,1fr));gap:.6em;margin:1em 0}
.strip div{background:#f3f3f3;padding:.6em .8em;border-left:4px solid #4477aa}
.strip dt{font-size:.85em;color:#555}.strip dd{margin:0;font-size:.85em;color:#555}
.strip dd.value{font-size:1.15em;font-weight:600;color:#222}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(22em,100%),1fr));
gap:1em;margin:1em 0}
img{max-width:100%;height:auto}
.wide{overflow-x:auto}.wide img{min-width:44em}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .7em;text-align:right}
td:first-child,th:first-child,.words td,.words th,caption{text-align:left}
tr:nth-child(even){background:#f3f3f3}
pre{background:#f3f3f3;padding:1em;white-space:pre-wrap;overflow-wrap:anywhere}
code{background:#f3f3f3;white-space:nowrap}
@media(max-width:40em){body{margin:1em auto}.strip{grid-template-columns:1fr 1fr}
table{display:block;overflow-x:auto}td,th{padding:.2em .4em}
td:first-child{min-width:5.5em}.words td:last-child{min-width:9em}pre{padding:.6em}}
@media print{body{font-size:11pt;max-width:none;margin:0}h2{break-after:avoid}
.wide img{min-width:0}
.strip div,img,tr,pre{break-inside:avoid}.figures{grid-template-columns:1fr 1fr}
.strip div,tr:nth-child(even),pre,code{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
# An option of the command line, which browsers would break at its hyphens.
_OPTION = re.compile(r"--[a-z][a-z-]*(?: \d[\d.]*\d)?")
# Nothing is loaded and no script is run, even if a text were not escaped by mistake.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def html_page(title: str, parts: Iterable[tuple[str, str]]) -> str:
    """Return a page of `parts`: pairs of a kind and a text.

    Kinds are "heading", "text", "code", "command" (of a shell, with line breaks so that all of it
    is visible) and "html".

    >>> page = html_page("A < B", [("text", "1 < 2"), ("code", "ls")])
    >>> "<title>A &lt; B</title>" in page, "<p>1 &lt; 2</p>" in page, "<pre>ls</pre>" in page
    (True, True, True)
    """
    wrap = {
        "heading": lambda text: f"<h2>{_as_html(text)}</h2>",
        "text": lambda text: "<p>" + _OPTION.sub(r"<code>\g<0></code>", _as_html(text)) + "</p>",
        "code": lambda text: f"<pre>{_as_html(text)}</pre>",
        "command": lambda text: f"<pre>{_as_html(_folded(text))}</pre>",
        "html": lambda text: text,
    }
    body = "\n".join(wrap[kind](text) for kind, text in parts)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{_as_html(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{_as_html(title)}</h1>\n{body}\n</body></html>\n"
    )


def _as_html(text):
    """Return a text as HTML; control characters and bytes that are not UTF-8 are escaped."""
    return escape(printable(text, keep="\n\t"))


def _folded(command, width=84):
    """Break a command into lines that a shell reads as one; an option stays with its value.

    >>> print(_folded("graphsqueak neighbors 'my mails' -o " + "folder/" * 9 + "edges.parquet"))
    graphsqueak neighbors 'my mails' \\
        -o folder/folder/folder/folder/folder/folder/folder/folder/folder/edges.parquet
    """
    first, *words = map(shlex.quote, shlex.split(command))
    groups = [first]
    for word in words:
        if groups[-1].startswith("-") and " " not in groups[-1] and not word.startswith("-"):
            groups[-1] += f" {word}"
        else:
            groups.append(word)
    lines = [groups[0]]
    for group in groups[1:]:
        if len(lines[-1]) + len(group) < width:
            lines[-1] += f" {group}"
        else:
            lines.append(f"    {group}")
    return " \\\n".join(lines)


def picture(figure: "Figure", *, alt: str, dpi: int = _DOTS_PER_INCH) -> str:
    """Return a figure as an <img> element that contains it.

    The image has twice as many pixels as the screen shows by default, for phones and printers.
    """
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=2 * dpi, metadata={"Software": None})
    text = base64.b64encode(file.getvalue()).decode()
    width = round(figure.get_figwidth() * dpi)
    return (
        f'<img alt="{escape(alt, quote=True)}" width="{width}" src="data:image/png;base64,{text}">'
    )


def panels(drawings: Mapping[str, Callable[..., object]]) -> str:
    """Return small figures as HTML, side by side on a wide screen.

    Parameters
    ----------
    drawings : mapping of str to function
        By the alternative text of a figure, the function that draws it: it is called as
        `draw(ax=axes)`.
    """
    from matplotlib.figure import Figure

    images = []
    for alt, draw in drawings.items():
        # pyplot does not manage the figure: the caller's figures and backend stay.
        figure = Figure(figsize=_PANEL_SIZE, layout="constrained")
        draw(ax=figure.subplots())
        images.append(picture(figure, alt=alt))
    return f'<div class="figures">{"".join(images)}</div>'


def wide_picture(figure: "Figure", *, alt: str) -> str:
    """Return a figure of several panels as HTML: on a phone it keeps its size and is scrolled."""
    return f'<div class="wide">{picture(figure, alt=alt)}</div>'


def header_strip(entries: Iterable[tuple[str, str, str]]) -> str:
    """Return the main figures of a page as HTML: label, value and a note in small print each.

    >>> header_strip([("edges", "12", "of 100")])
    '<dl class="strip"><div><dt>edges</dt><dd class="value">12</dd><dd>of 100</dd></div></dl>'
    """
    boxes = [
        f'<div><dt>{_as_html(label)}</dt><dd class="value">{_as_html(value)}</dd>'
        f"<dd>{_as_html(note)}</dd></div>"
        for label, value, note in entries
    ]
    return f'<dl class="strip">{"".join(boxes)}</dl>'
