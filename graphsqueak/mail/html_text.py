"""Visible text of an HTML page, in time linear in its length.

`html.parser` of the standard library searches the rest of the page for the end of each unclosed
tag, so that `<a <a <a ...` takes quadratic time. This scanner passes over the page once. It
searches to the end of the page in two cases, each of which can occur only once: a comment without
an end hides the rest, and after a tag whose quotes do not close, quotes are ordinary characters.
"""

import re
from html import unescape

_HIDDEN = {"script", "style", "title"}
# Tags that do not separate words.
_INSIDE_WORDS = {
    "a",
    "b",
    "em",
    "font",
    "i",
    "s",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "tt",
    "u",
}
# Any other < is text.
_TAG_OPENING = re.compile(r"<(?=[a-zA-Z!?/])")
_TAG_NAME = re.compile(r"/?([a-zA-Z][^\s/>\0]*)")
_QUOTE_OR_END = re.compile(r""">|=\s*(["'])""")
# Bounded repeats: `unescape` raises on numbers of more than 4,300 digits.
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[a-zA-Z][a-zA-Z0-9]{1,31};?)")
_CLOSING = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _HIDDEN}


def visible_text(page: str) -> str:
    """Return the text of a page as a browser shows it, without formatting.

    Parameters
    ----------
    page : str

    Examples
    --------
    >>> visible_text("<p>Caf&eacute; <b>vis</b>it<script>no</script><!-- no -->us").split()
    ['Café', 'visit', 'us']
    """
    pieces: list[str] = []
    position = 0
    is_quote_aware = True
    while found := _TAG_OPENING.search(page, position):
        opening = found.start()
        pieces.append(_unescaped(page[position:opening]))
        if page.startswith("<!--", opening):
            # From the second hyphen on, since <!--> is a comment as well.
            end = page.find("-->", opening + 2)
            if end < 0:
                return "".join(pieces)
            position = end + 3
            continue
        name = _TAG_NAME.match(page, opening + 1)
        end = -1
        if name is not None and is_quote_aware:
            end = _tag_end(page, name.end())
            is_quote_aware = end >= 0
        if end < 0:
            end = page.find(">", opening)
        # The rest has no complete tag.
        if end < 0:
            pieces.append(_unescaped(page[opening:]))
            return "".join(pieces)
        position = end + 1
        if name is None:
            continue
        tag = name[1].lower()
        if tag not in _INSIDE_WORDS:
            pieces.append(" ")
        is_opening = page[opening + 1] != "/" and page[end - 1] != "/"
        if tag in _HIDDEN and is_opening:
            closing = _CLOSING[tag].search(page, position)
            if closing is None:
                return "".join(pieces)
            position = closing.start()
    pieces.append(_unescaped(page[position:]))
    return "".join(pieces)


def _tag_end(page, start):
    """Return the end of the tag whose name ends at `start`; -1 if it or a quote does not close."""
    while found := _QUOTE_OR_END.search(page, start):
        if found[1] is None:
            return found.start()
        closing = page.find(found[1], found.end())
        if closing < 0:
            return -1
        start = closing + 1
    return -1


def _unescaped(text):
    if "&" not in text:
        return text
    return _REFERENCE.sub(lambda found: unescape(found[0]), text)
