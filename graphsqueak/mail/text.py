"""One raw mail to plain text: its subject and every part that is text.

Mail in the wild breaks every rule, so nothing here trusts what a message says of itself: a charset
that does not fit its bytes is guessed again, broken MIME is read as far as it goes, HTML is
reduced to what a reader would see, attachments are left out.

Headers say by what ways and programs a mail came. Their pieces are words with the header's name in
front, received:mx.example.com. Only headers that standards define count, and not what a filter on
the way wrote.
"""

import codecs
import re
from email.errors import HeaderParseError
from email.header import decode_header
from typing import NamedTuple

from graphsqueak.mail.html_text import visible_text
from graphsqueak.mail.mime import first_field, parse_mail

__all__ = [
    "FOLD",
    "MAX_RAW_BYTES",
    "MailText",
    "header_words",
    "mail_text",
    "read_bytes_as_text",
]

FOLD = str.maketrans("123456789", "0" * 9)  # what number it is says nothing, how long it is does

MAX_RAW_BYTES = 1 << 23  # of a message; the rest is attachments, as a rule
_MAX_TEXT_CHARACTERS = 1 << 20  # of one part
_MAX_HTML_CHARACTERS = 1 << 21  # of one part, with its tags
_SLOW_CODECS = {"idna", "punycode"}  # for names of hosts; they take quadratic time
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
    """Subject and body of a message given as bytes; 2 MB of anything take less than a second.

    >>> header = b"Subject: =?utf-8?q?caf=C3=A9?=\\nContent-Type: text/html\\n\\n"
    >>> mail_text(header + b"<p>V<b>is</b>it <i>us</i>").text.split()
    ['café', 'Visit', 'us']
    """
    parsed = parse_mail(raw[:MAX_RAW_BYTES])
    is_cut = parsed.is_cut or len(raw) > MAX_RAW_BYTES
    subject, guessed = _decoded_field(parsed.fields, "subject")
    texts = [subject]
    for part in parsed.parts:
        text, is_guess, is_part_cut = _part_text(part)
        texts.append(text)
        guessed |= is_guess
        is_cut |= is_part_cut
    return MailText(
        text="\n".join(texts),
        guessed=guessed,
        cut=is_cut,
        subject=subject,
        sender=_decoded_field(parsed.fields, "from")[0],
        headers=header_words(parsed.fields),
    )


def header_words(fields):
    """Pieces of header fields, each after its field's name; digits are folded to 0.

    >>> header_words([("to", b"Ann <ann@mx7.example>"), ("x-spam", b"yes")])
    'has:to to:ann to:ann to:mx0.example'
    """
    found = []
    for name, value in fields:
        if name in _HEADERS:
            folded = value.decode("ascii", "surrogateescape").lower().translate(FOLD)
            pieces = [piece for piece in _PIECE.findall(folded) if len(piece) <= _LONGEST_PIECE]
            found += [f"has:{name}", *(f"{name}:{piece}" for piece in pieces)]
    return " ".join(found)


def read_bytes_as_text(data, charset=None):
    """Decode bytes with the charset that they claim, else UTF-8, else Windows' Western one.

    Returns the text, and whether the claim was wrong.

    >>> read_bytes_as_text("naïve".encode("latin-1"), "us-ascii")
    ('naïve', True)
    """
    claimed = charset or "utf-8"
    for name in (claimed, "utf-8", "cp1252"):
        try:
            if codecs.lookup(name).name not in _SLOW_CODECS:
                return data.decode(name), name != claimed
        except (LookupError, ValueError):
            continue
    return data.decode("latin-1"), True


def _decoded_field(fields, name):
    """A header field as text; encoded words that cannot be decoded stay as they are."""
    text, guessed = read_bytes_as_text(first_field(fields, name))
    try:
        pieces = decode_header(text)
    except (HeaderParseError, *_MISTAKES):
        return text, True
    texts = []
    for piece, charset in pieces:
        if isinstance(piece, bytes):
            piece, is_guess = read_bytes_as_text(piece, charset)
            guessed |= is_guess
        texts.append(piece)
    return "".join(texts), guessed


def _part_text(part):
    """The text of a part, whether its charset was guessed, and whether its end was cut off."""
    text, guessed = read_bytes_as_text(part.decoded(), part.charset)
    is_html = part.subtype == "html"
    is_html |= text[:200].lstrip().lower().startswith(("<html", "<!doctype html"))
    is_cut = False
    if is_html:
        is_cut = len(text) > _MAX_HTML_CHARACTERS
        text = visible_text(text[:_MAX_HTML_CHARACTERS])
    is_cut |= len(text) > _MAX_TEXT_CHARACTERS
    return text[:_MAX_TEXT_CHARACTERS], guessed, is_cut
