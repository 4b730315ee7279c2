"""One raw mail to plain text: its subject and every part that is text.

Mail in the wild breaks every rule, so nothing here trusts what a message says of itself: a charset
that does not fit its bytes is guessed again, broken MIME is read as far as it goes, HTML is
reduced to what a reader would see, attachments are left out.

Headers say by what ways and programs a mail came. Their pieces are words with the header's name in
front, received:mx.example.com. Only headers that standards define count, and not what a filter on
the way wrote.
"""

import re
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from html import unescape
from html.parser import HTMLParser
from typing import NamedTuple

__all__ = ["FOLD", "MailText", "header_words", "mail_text", "read_bytes_as_text"]

FOLD = str.maketrans("123456789", "0" * 9)  # what number it is says nothing, how long it is does

_LONGEST_RAW = 1 << 23  # bytes of a message that are looked at; the rest is attachments, as a rule
_LONGEST_TEXT = 1 << 20  # characters of one part
_UNSEEN = {"script", "style", "title"}
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
_HEADERS = {
    "cc",
    "content-transfer-encoding",
    "content-type",
    "errors-to",
    "from",
    "in-reply-to",
    "list-id",
    "message-id",
    "mime-version",
    "organization",
    "precedence",
    "received",
    "references",
    "reply-to",
    "return-path",
    "sender",
    "to",
    "user-agent",
    "x-mailer",
    "x-priority",
}
_PIECE = re.compile(r"[\w.$-]+")
_LONGEST_PIECE = 40  # longer ones are keys
_MISTAKES = (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError)


class MailText(NamedTuple):
    """A text, whether some charset had to be guessed, whether the end was cut off; who wrote it.

    `headers` are words about the way it came, with spaces between.
    """

    text: str
    guessed: bool = False
    cut: bool = False
    subject: str = ""
    sender: str = ""
    headers: str = ""


def mail_text(raw):
    """Subject and body of a message given as bytes, or None where even the parser gives up.

    >>> header = b"Subject: =?utf-8?q?caf=C3=A9?=\\nContent-Type: text/html\\n\\n"
    >>> mail_text(header + b"<p>V<b>is</b>it <i>us</i>").text.split()
    ['café', 'Visit', 'us']
    """
    cut = len(raw) > _LONGEST_RAW
    try:
        message = message_from_bytes(raw[:_LONGEST_RAW])
        parts = [part for part in message.walk() if _is_text(part)]
    except _MISTAKES:
        return None
    subject, guessed = _header(message, "subject")
    texts = [subject]
    for part in parts:
        text, doubtful = _part_text(part)
        cut |= len(text) > _LONGEST_TEXT
        texts.append(text[:_LONGEST_TEXT])
        guessed |= doubtful
    sender = _header(message, "from")[0]
    return MailText("\n".join(texts), guessed, cut, subject, sender, header_words(message))


def header_words(message):
    """Pieces of the headers of a message, each after its header's name; digits are folded to 0.

    >>> header_words(message_from_bytes(b"To: Ann <ann@mx7.example>\\nX-Spam: yes\\n\\n"))
    'has:to to:ann to:ann to:mx0.example'
    """
    found = []
    for name, value in message.raw_items():
        name = name.lower()
        if name in _HEADERS:
            folded = str(value).lower().translate(FOLD)
            pieces = [piece for piece in _PIECE.findall(folded) if len(piece) <= _LONGEST_PIECE]
            found += [f"has:{name}", *(f"{name}:{piece}" for piece in pieces)]
    return " ".join(found)


def read_bytes_as_text(data, charset=None):
    """Decode bytes with the charset that they claim, else UTF-8, else Windows' Western one.

    Returns the text, and whether the claim was wrong.

    >>> read_bytes_as_text("naïve".encode("latin-1"), "us-ascii")
    ('naïve', True)
    """
    for name in (charset or "utf-8", "utf-8", "cp1252"):
        try:
            return data.decode(name), name != (charset or "utf-8")
        except (LookupError, ValueError):
            continue
    return data.decode("latin-1"), True


def _is_text(part):
    if part.is_multipart() or part.get_content_maintype() != "text":
        return False
    return "attachment" not in str(part.get("Content-Disposition", "")).lower()


def _header(message, wanted):
    """A header, decoded; encoded words that cannot be decoded stay as they are."""
    raw = next((value for name, value in message.raw_items() if name.lower() == wanted), "")
    # Bytes above 127 arrive as surrogates; they are not allowed there, and common.
    text, guessed = read_bytes_as_text(raw.encode("utf-8", "surrogateescape"))
    try:
        pieces = decode_header(text)
    except (HeaderParseError, *_MISTAKES):
        return text, True
    texts = []
    for piece, charset in pieces:
        if isinstance(piece, bytes):
            piece, doubtful = read_bytes_as_text(piece, charset)
            guessed |= doubtful
        texts.append(piece)
    return "".join(texts), guessed


def _part_text(part):
    try:
        data = part.get_payload(decode=True)
        charset = part.get_content_charset()
    except _MISTAKES:
        data, charset = str(part.get_payload()).encode("utf-8", "replace"), None
    text, guessed = read_bytes_as_text(data or b"", charset)
    looks_html = part.get_content_subtype() == "html" or text[:200].lstrip().lower().startswith(
        ("<html", "<!doctype html")
    )
    return (_seen_text(text[: 2 * _LONGEST_TEXT]) if looks_html else text), guessed


def _seen_text(html):
    """What a reader of the page would see."""
    page = _Page()
    try:
        page.feed(html)
        page.close()
    except _MISTAKES:
        return unescape(re.sub(r"<[^>]*>", " ", html))
    return "".join(page.pieces)


class _Page(HTMLParser):
    """Collects text; tags that stand inside words leave no gap."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.pieces = []
        self._unseen = ""

    def handle_starttag(self, tag, attributes):
        if tag in _UNSEEN:
            self._unseen = tag
        elif tag not in _INSIDE_WORDS:
            self.pieces.append(" ")

    def handle_endtag(self, tag):
        if tag == self._unseen:
            self._unseen = ""
        if tag not in _INSIDE_WORDS:
            self.pieces.append(" ")

    def handle_data(self, data):
        if not self._unseen:
            self.pieces.append(data)
