"""Self-contained HTML pages of text, tables, figures and commands."""

import base64
import io
import re
import shlex
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from graphsqueak.system.terminal import printable

__all__ = ["html_page", "picture"]

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:52em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse}td,th{padding:.2em .7em;text-align:right}"
    "td:first-child,th:first-child{text-align:left}tr:nth-child(even){background:#f3f3f3}"
    "pre{background:#f3f3f3;padding:1em;white-space:pre-wrap;overflow-wrap:anywhere}img{max-width:100%}"
    "code{background:#f3f3f3;white-space:nowrap}"
    "h1,h2,p,td:first-child,.words td:last-child{overflow-wrap:anywhere}"
    ".words td,.words th,caption{text-align:left}table{margin:1em 0}"
    "@media(max-width:40em){table{display:block;overflow-x:auto}td,th{padding:.2em .4em}"
    "td:first-child{min-width:7em}.words td:last-child{min-width:9em}}"
)
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


def picture(figure: "Figure", *, alt: str, dpi: int = 110) -> tuple[bytes, str]:
    """Return a figure as PNG bytes, and as an <img> element that contains them."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=dpi, metadata={"Software": None})
    data = file.getvalue()
    text = base64.b64encode(data).decode()
    return data, f'<img alt="{escape(alt, quote=True)}" src="data:image/png;base64,{text}">'
