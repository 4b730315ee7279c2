"""Split a raw mail into its header fields and its text parts, in time linear in its size.

The parser of the standard library needs quadratic time on some inputs: a header field of a million
semicolons, lines below hundreds of nested boundaries. This one reads every byte a fixed number of
times, and the sizes that multiply (headers, nesting, parts) are limited by `Limits`.

A mail that exceeds a limit is returned without the rest, with `is_cut` set. On mails within the
limits the parts are those that `email.message_from_bytes` finds.
"""

import re
from email.message import Message
from itertools import count
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from graphsqueak.mail.limits import LIMITS

_HEADER_LINE = re.compile(rb"(?:From |[!-9;-~]*:|[\t ])[^\n]*(?:\n|\Z)")
# Never fails, so it never backtracks: an open quote extends to the end of the field.
_PARAMETER_TOKEN = re.compile(r'"[^"\\]*(?:\\.?[^"\\]*)*"?|;|[^";]+', re.DOTALL)


class MailPart(NamedTuple):
    """A leaf of a mail whose type is text, as it was sent."""

    subtype: str
    charset: str | None
    encoding: str
    body: bytes

    def decoded(self) -> bytes:
        """Return the body without its transfer encoding; undecodable data is returned unchanged."""
        message = Message()
        message["Content-Transfer-Encoding"] = self.encoding
        message.set_payload(self.body.decode("ascii", "surrogateescape"))
        return bytes(message.get_payload(decode=True))


class ParsedMail(NamedTuple):
    """The header fields of a mail, as (lower-case name, value), and its text parts."""

    fields: list[tuple[str, bytes]]
    parts: list[MailPart]
    is_cut: bool


def parse_mail(raw: bytes) -> ParsedMail:
    r"""Split a raw mail into its header fields and its text parts; attachments are left out.

    Parameters
    ----------
    raw : bytes

    Examples
    --------
    >>> mail = b"To: ann\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nhello\n--x--\n"
    >>> parsed = parse_mail(mail)
    >>> parsed.fields[0], [part.body for part in parsed.parts]
    (('to', b'ann'), [b'hello'])
    """
    data = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    parser = _Parser(data)
    fields = parser.read_entity(0, len(data), default_type="text/plain", depth=0)
    return ParsedMail(fields=fields, parts=parser.parts, is_cut=parser.is_cut)


def first_field(fields: list[tuple[str, bytes]], name: str) -> bytes:
    """Return the value of the first field of that name, empty if there is none."""
    return next((value for found, value in fields if found == name), b"")


class _Parser:
    """Collects the text parts of `data`, whose lines end in a newline character."""

    def __init__(self, data):
        self._data = data
        self._n_entities = 0
        self.parts = []
        self.is_cut = False

    def read_entity(self, start, stop, *, default_type, depth):
        """Read the headers and the body in data[start:stop]; return the header fields."""
        self._n_entities += 1
        fields, body = self._read_fields(start, stop)
        content_type = first_field(fields, "content-type").decode("ascii", "replace")
        kind = content_type.partition(";")[0].strip().lower() or default_type
        maintype, _, subtype = kind.partition("/")
        # RFC 2045, 5.2: an entity with an invalid type is plain text.
        if kind.count("/") != 1:
            maintype, subtype = "text", "plain"
        if maintype == "text":
            self._add_text(subtype, content_type, fields, body, stop)
        elif depth == LIMITS.nesting:
            self.is_cut |= maintype in ("multipart", "message")
        elif maintype == "multipart":
            # RFC 2046, 5.1.5: the parts of a digest are messages unless they declare a type.
            child_type = "message/rfc822" if subtype == "digest" else "text/plain"
            self._read_multipart(content_type, body, stop, default_type=child_type, depth=depth + 1)
        elif maintype == "message" and subtype != "delivery-status":
            self.read_entity(body, stop, default_type="text/plain", depth=depth + 1)
        return fields

    def _read_fields(self, start, stop):
        """Return the header fields from `start`, and where the body begins."""
        data = self._data
        fields = []
        position = start
        # Start of a line "From ..." that no header line has followed.
        last_envelope = None
        while line := _HEADER_LINE.match(data, position, stop):
            # The rest of the section is skipped, so that the body can still be read.
            if line.end() - start > LIMITS.header_section_bytes:
                self.is_cut = True
                blank_line = data.find(b"\n\n", position, stop)
                return self._joined(fields), stop if blank_line < 0 else blank_line + 2
            text = line[0]
            is_envelope = text.startswith(b"From ")
            if is_envelope:
                last_envelope = position if position > start else None
            elif text[:1] in (b" ", b"\t"):
                if fields:
                    fields[-1][1].append(text)
            else:
                name, _, value = text.partition(b":")
                if name:
                    fields.append((name.decode("ascii").lower(), [value.lstrip(b" \t")]))
            if not is_envelope:
                last_envelope = None
            position = line.end()
            if position == stop:
                break
        # Such a line is the first one of the body, not a header.
        if last_envelope is not None:
            return self._joined(fields), last_envelope
        is_blank = data[position : position + 1] == b"\n" and position < stop
        return self._joined(fields), position + is_blank

    def _joined(self, fields):
        joined = []
        for name, lines in fields:
            value = b"".join(lines).rstrip(b"\n")
            self.is_cut |= len(value) > LIMITS.header_bytes
            joined.append((name, value[: LIMITS.header_bytes]))
        return joined

    def _add_text(self, subtype, content_type, fields, start, stop):
        if b"attachment" in first_field(fields, "content-disposition").lower():
            return
        encoding = first_field(fields, "content-transfer-encoding").decode("ascii", "replace")
        part = MailPart(
            subtype=subtype,
            charset=_parameter(content_type, "charset"),
            encoding=encoding.strip().lower(),
            body=self._data[start:stop],
        )
        self.parts.append(part)

    def _read_multipart(self, content_type, start, stop, *, default_type, depth):
        boundary = (_parameter(content_type, "boundary") or "").rstrip()
        if not boundary:
            return
        line = rb"\n--" + re.escape(boundary.encode("ascii", "replace")) + rb"(--)?[ \t]*(?=\n|\Z)"
        part_start = None
        # The newline before a boundary belongs to it: the first one ends the header section.
        for found in re.compile(line).finditer(self._data, max(start - 1, 0), stop):
            self._read_part(part_start, found.start(), default_type=default_type, depth=depth)
            part_start = found.end() + 1
            if found[1] or self._n_entities >= LIMITS.parts:
                self.is_cut |= not found[1]
                return
        self._read_part(part_start, stop, default_type=default_type, depth=depth)

    def _read_part(self, start, stop, *, default_type, depth):
        if start is not None and start < stop:
            self.read_entity(start, stop, default_type=default_type, depth=depth)


def _parameter(content_type, wanted):
    """Return a parameter of a content type, None if it has none (RFC 2045, RFC 2231).

    >>> _parameter('text/plain; charset="utf-8"; format=flowed', "charset")
    'utf-8'
    >>> _parameter("multipart/mixed; boundary*0=a; boundary*1*=%62", "boundary")
    'ab'
    """
    if wanted not in content_type.lower():
        return None
    assignments = [[]]
    for token in _PARAMETER_TOKEN.findall(content_type):
        if token == ";":
            assignments.append([])
        else:
            assignments[-1].append(token)
    values = {}
    for tokens in assignments[1:]:
        name, _, value = "".join(tokens).partition("=")
        values.setdefault(name.strip().lower(), value.strip())
    if wanted in values:
        return _unquoted(values[wanted])
    if f"{wanted}*" in values:
        return _percent_decoded(_unquoted(values[f"{wanted}*"]))
    # RFC 2231: long values are split into boundary*0, boundary*1, ...; with a further * they are
    # percent-encoded.
    pieces = []
    for number in count():
        name = f"{wanted}*{number}"
        if name in values:
            pieces.append(_unquoted(values[name]))
        elif f"{name}*" in values:
            pieces.append(_percent_decoded(_unquoted(values[f"{name}*"])))
        else:
            break
    return "".join(pieces) or None


def _unquoted(value):
    if len(value) > 1 and value.startswith('"') and value.endswith('"'):
        return value[1:-1].replace("\\\\", "\\").replace('\\"', '"')
    return value


def _percent_decoded(value):
    """Return the text of utf-8'en'%41, which is ASCII for boundaries and names of charsets."""
    return unquote_to_bytes(value.rpartition("'")[2]).decode("ascii", "replace")
