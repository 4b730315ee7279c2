"""Corpora that are one table of texts: the SMS Spam Collection, and csv files of any make."""

import csv
import io
import re

from graphsqueak.errors import InputError
from graphsqueak.sources.mail.text import read_bytes_as_text

__all__ = ["csv_messages", "looks_like_sms", "sms_messages"]

_TEXT_NAMES = ("text", "message", "body", "mail", "email", "content", "sms", "v2")
_LABEL_NAMES = ("label", "class", "category", "type", "spam", "is_spam", "target", "v1")
_ID_NAMES = ("id", "name", "file", "message_id")
_LABELS = {"spam": 1, "1": 1, "true": 1, "junk": 1, "1.0": 1}
_LABELS |= {"ham": 0, "0": 0, "false": 0, "nonspam": 0, "not spam": 0, "0.0": 0}
_UNSAID = {"", "-1", "?", "nan", "none", "unknown"}
_SMS_LINE = re.compile(rb"(ham|spam)\t")


def looks_like_sms(first):
    """Whether the first bytes of a file are labels and texts, a tab between them."""
    lines = [line for line in first.split(b"\n")[:5] if line.strip()]
    return bool(lines) and all(_SMS_LINE.match(line) for line in lines)


def sms_messages(path):
    """(id, label, text) of each line "ham<tab>text"."""
    for place, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        if not _SMS_LINE.match(line):
            raise InputError(f"{path}, line {place}: starts with neither 'ham' nor 'spam' and tab")
        label, text = read_bytes_as_text(line.rstrip(b"\r"))[0].split("\t", 1)
        yield str(place), _LABELS[label], text


def csv_messages(path):
    """(id, label, text) of each row of a table with a header; columns are told by their names."""
    csv.field_size_limit(1 << 27)
    text = read_bytes_as_text(path.read_bytes())[0].replace("\0", "").removeprefix("\ufeff")
    header = text.partition("\n")[0]
    separator = max(",;\t", key=header.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    names = [name.strip().lower() for name in next(rows, [])]
    of_text, of_label, of_id = (_column(names, k) for k in (_TEXT_NAMES, _LABEL_NAMES, _ID_NAMES))
    if of_text is None:
        raise InputError(
            f"{path} has the columns {', '.join(names) or '(none)'}; one of them must be called "
            f"{', '.join(_TEXT_NAMES)}, and labels {', '.join(_LABEL_NAMES)}"
        )
    for row in rows:
        if not row:
            continue
        label = -1 if of_label is None else _label(_cell(row, of_label), path, rows.line_num)
        name = str(rows.line_num) if of_id is None else _cell(row, of_id)
        yield name, label, _cell(row, of_text)


def _column(names, wanted):
    return next((names.index(name) for name in wanted if name in names), None)


def _cell(row, column):
    return row[column] if column < len(row) else ""


def _label(value, path, line):
    value = value.strip().lower()
    if value in _UNSAID:
        return -1
    if value not in _LABELS:
        raise InputError(f"{path}, line {line}: label {value!r} is neither spam nor ham (1 nor 0)")
    return _LABELS[value]
