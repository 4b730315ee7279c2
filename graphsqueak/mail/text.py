"""Text of a raw mail: its subject and all parts that are text.

Mails often break the standards, so no declaration is trusted: if a charset does not fit the bytes,
it is guessed; broken MIME is read as far as possible; HTML is reduced to the visible text;
attachments are left out.

Headers show the servers and programs that a mail passed. Their pieces become words prefixed with
the name of the header, such as received:mx.example.com. Only headers that standards define are
used, not those written by spam filters on the way.
"""

import codecs
import re
from email.errors import HeaderParseError
from email.header import decode_header
from typing import NamedTuple

from graphsqueak.mail.html_text import visible_text
from graphsqueak.mail.limits import LIMITS
from graphsqueak.mail.mime import first_field, parse_mail

# The digits of a number carry little information about the class of a mail, their count does.
DIGITS_TO_0 = str.maketrans("123456789", "0" * 9)

# Codecs for host names, which take quadratic time.
_SLOW_CODECS = {"idna", "punycode"}
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
# Longer pieces, such as keys and hashes, are in one mail only.
_HEADER_PIECE = re.compile(r"(?<![\w.$-])[\w.$-]{1,40}(?![\w.$-])")
# What `decode_header` raises on broken input.
_DECODE_ERRORS = (
    HeaderParseError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    RecursionError,
)


class MailText(NamedTuple):
    """The text of a mail.

    Attributes
    ----------
    text : str
    is_guessed : bool
        Whether a charset was missing, unknown or wrong.
    is_cut : bool
        Whether content beyond a limit was dropped.
    subject, sender : str
    headers : str
        Words of the headers, separated by spaces.
    """

    text: str
    is_guessed: bool = False
    is_cut: bool = False
    subject: str = ""
    sender: str = ""
    headers: str = ""


def mail_text(raw):
    """Return the text of a raw message; 2 MB of any content take less than a second.

    >>> header = b"Subject: =?utf-8?q?caf=C3=A9?=\\nContent-Type: text/html\\n\\n"
    >>> mail_text(header + b"<p>V<b>is</b>it <i>us</i>").text.split()
    ['café', 'Visit', 'us']
    """
    parsed = parse_mail(raw[: LIMITS.mail_bytes])
    subject, is_guessed = _decoded_field(parsed.fields, "subject")
    sender, _ = _decoded_field(parsed.fields, "from")
    texts = [subject]
    is_cut = parsed.is_cut or len(raw) > LIMITS.mail_bytes
    for part in parsed.parts:
        text, is_part_guessed, is_part_cut = _part_text(part)
        texts.append(text)
        is_guessed |= is_part_guessed
        is_cut |= is_part_cut
    return MailText(
        text="\n".join(texts),
        is_guessed=is_guessed,
        is_cut=is_cut,
        subject=subject,
        sender=sender,
        headers=header_words(parsed.fields),
    )


def header_words(fields):
    """Return the pieces of header fields, prefixed with the field's name, with digits set to 0.

    >>> header_words([("to", b"Ann <ann@mx7.example>"), ("x-spam", b"yes")])
    'has:to to:ann to:ann to:mx0.example'
    """
    words = []
    for name, value in fields:
        if name in _HEADERS:
            text = value.decode("ascii", "surrogateescape").lower().translate(DIGITS_TO_0)
            words.append(f"has:{name}")
            words += [f"{name}:{piece}" for piece in _HEADER_PIECE.findall(text)]
    return " ".join(words)


def read_bytes_as_text(data, charset=None):
    """Decode bytes as the declared charset, else as UTF-8, else as Windows-1252.

    Returns the text, and whether the declared charset (default: UTF-8) was wrong.

    >>> read_bytes_as_text("naïve".encode("latin-1"), "us-ascii")
    ('naïve', True)
    """
    declared = charset or "utf-8"
    for name in (declared, "utf-8", "cp1252"):
        try:
            if codecs.lookup(name).name not in _SLOW_CODECS:
                return data.decode(name), name != declared
        except (LookupError, ValueError):
            continue
    return data.decode("latin-1"), True


def _decoded_field(fields, name):
    """Return a header field as text, and whether a charset was guessed."""
    text, is_guessed = read_bytes_as_text(first_field(fields, name))
    try:
        pieces = decode_header(text)
    except _DECODE_ERRORS:
        return text, True
    texts = []
    for piece, charset in pieces:
        if isinstance(piece, bytes):
            piece, is_piece_guessed = read_bytes_as_text(piece, charset)
            is_guessed |= is_piece_guessed
        texts.append(piece)
    return "".join(texts), is_guessed


def _part_text(part):
    """Return the text of a part, whether its charset was guessed, and whether it was cut."""
    text, is_guessed = read_bytes_as_text(part.decoded(), part.charset)
    is_cut = False
    beginning = text[:200].lstrip().lower()
    if part.subtype == "html" or beginning.startswith(("<html", "<!doctype html")):
        is_cut = len(text) > LIMITS.html_characters
        text = visible_text(text[: LIMITS.html_characters])
    is_cut |= len(text) > LIMITS.text_characters
    return text[: LIMITS.text_characters], is_guessed, is_cut
