"""What a line of an edge file means, slowly and in words.

`scan.py` reads millions of lines a second by the same rules and stops at the first line that breaks
them; the functions here then say what is wrong with it. They also look at the first lines of a
file, from which `dialect.py` guesses its shape. The rules:

- a line is two or more fields; blanks around a field do not count;
- fields are separated by one byte (tab, comma, ...) or, for separator "", by runs of blanks;
- a field may stand in double quotes, in which "" is one quote; a quote closes on its own line;
- an integer id is written canonically (7, not 007 or +7), a text id is not empty;
- a weight is a decimal number, not negative, below 1e308.
"""

import functools
import re

__all__ = ["find_fault", "find_row", "fits_integer", "is_number", "split_fields"]

_CANONICAL = re.compile(rb"-?[1-9][0-9]*|0")
_LENIENT = re.compile(rb"[+-]?[0-9]+")
_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_RANGES = {"int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1)}


def split_fields(line, separator):
    """Fields of one line (bytes, no line end), or None where quotes do not match.

    >>> split_fields(b'1, "a ""b"", c",2.5', ",")
    [b'1', b'a "b", c', b'2.5']
    >>> split_fields(b"  7   8 ", "")
    [b'7', b'8']
    """
    blanks = b" " if separator == "\t" else b" \t"
    if separator == "":
        line = line.strip(blanks)
    pattern, fields, place = _field_pattern(separator), [], 0
    while True:
        field = pattern.match(line, place)
        if field is None:
            return None
        quoted, plain = field["quoted"], field["plain"]
        fields.append(plain.strip(blanks) if quoted is None else quoted.replace(b'""', b'"'))
        place = field.end()
        if field["end"] == b"":
            return fields


def fits_integer(field, kind, *, canonical):
    """Whether `field` is an integer that `kind` ("int64" or "uint64") can hold.

    >>> [fits_integer(b"007", "int64", canonical=strict) for strict in (True, False)]
    [False, True]
    """
    if not (_CANONICAL if canonical else _LENIENT).fullmatch(field):
        return False
    low, high = _RANGES[kind]
    return len(field) < 40 and low <= int(field) <= high


def is_number(field):
    """Whether `field` is a decimal number: no nan, no inf, no 1_000."""
    return _NUMBER.fullmatch(field) is not None


def find_fault(line, dialect):
    """Say what is wrong with one line, as (topic, message); None if nothing is.

    `topic` is "columns", "id" or "weight".
    """
    fields = split_fields(line, dialect.separator)
    if fields is None:
        return "columns", f'the quotes in {_shown(line)} do not match; write " inside as ""'
    n_columns = len(dialect.roles)
    if len(fields) != n_columns:
        return "columns", (
            f"{len(fields)} column{'s' * (len(fields) != 1)} where {n_columns} were expected: "
            f"{_shown(line)}; repair the line, or give on_bad_line='skip' (--on-bad-line skip)"
        )
    for role, field in zip(dialect.roles, fields, strict=True):
        if role in ("source", "target"):
            if not field:
                return "columns", (
                    "a node id is empty; repair the line, or give on_bad_line='skip' "
                    "(--on-bad-line skip)"
                )
            fault = _fault_of_id(field, dialect)
            if fault:
                return "id", fault
        elif role == "weight":
            fault = _fault_of_weight(field)
            if fault:
                return "weight", fault
    return None


def find_row(text, row, dialect):
    """Place, from 0, of the line of `text` that holds the `row`-th good line of data."""
    marks = tuple(mark.encode() for mark in dialect.comments)
    for place, line in enumerate(text.split(b"\n")):
        line = line.strip()
        if line and not line.startswith(marks) and find_fault(line, dialect) is None:
            if row == 0:
                return place
            row -= 1
    raise IndexError(row)


@functools.cache
def _field_pattern(separator):
    if separator == "":
        return re.compile(
            rb'(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>(?!")[^ \t]*))(?P<end>[ \t]+|\Z)'
        )
    end = re.escape(separator.encode())
    blanks = b"[ ]*+" if separator == "\t" else b"[ \t]*+"
    return re.compile(
        blanks
        + rb'(?:"(?P<quoted>(?:[^"]|"")*)"'
        + blanks
        + rb'|(?P<plain>(?!")[^'
        + end
        + rb"]*))(?P<end>"
        + end
        + rb"|\Z)"
    )


def _fault_of_id(field, dialect):
    if dialect.kind == "text":
        return (
            None
            if _is_utf8(field)
            else (f"{_shown(field)} is not UTF-8; convert the file, e.g. iconv -f latin1 -t utf-8")
        )
    if fits_integer(field, dialect.kind, canonical=dialect.canonical):
        return None
    low, high = _RANGES[dialect.kind]
    if fits_integer(field, "int64", canonical=False) or fits_integer(
        field, "uint64", canonical=False
    ):
        value = int(field)
        if low <= value <= high:
            return (
                f"node id {_shown(field)} would be written back as {value}, unlike the ids before "
                "it; give ids='text' (--ids text) to keep it, or ids='integer' to change it"
            )
    return (
        f"node id {_shown(field)} is not an integer from {low} to {high} like the ids before it; "
        "give ids='text' (--ids text)"
    )


def _fault_of_weight(field):
    if not field:
        return "the weight is empty; repair the line, or give weighted=False"
    if not is_number(field):
        if field.lstrip(b"+-").lower() in (b"nan", b"inf", b"infinity"):
            return f"weight {_shown(field)} is not finite; weights are finite and not negative"
        remedy = "write decimals with a point" if b"," in field else "repair it"
        return f"weight {_shown(field)} is not a number; {remedy}, or give weighted=False"
    value = float(field)
    if value < 0:
        return f"weight {_shown(field)} is negative; weights are similarities, not negative"
    if value >= 1e308:
        return f"weight {_shown(field)} is too large, 1e308 or more; scale the weights"
    return None


def _is_utf8(field):
    try:
        field.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _shown(text, *, limit=60):
    """A short, printable quotation of bytes from the user's file."""
    text = text.decode("utf-8", errors="replace")
    return repr(text if len(text) <= limit else text[:limit] + "...")
