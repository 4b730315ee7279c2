"""The fields of a line of text: how a line is split, and what a field may hold.

A table of edges has a column of sources, one of targets and perhaps one of weights and one of
times. In text, a line is a row:

- a line is two or more fields; blanks around a field do not count;
- fields are separated by one byte (tab, comma, ...) or, for separator "", by runs of blanks;
- a field may be in double quotes, in which "" is one quote; a quote ends on its own line;
- an integer id is written canonically (7, not 007 or +7), or as the float that pandas makes of it
  (7.0, up to 2^53); a text id is not empty;
- a weight is a decimal number, not negative, below 1e308; a time is a number or an ISO date.

The functions here apply the rules to one line, in Python. `scan.py` applies the same rules to
millions of lines per second and stops at the first line that breaks one; `find_fault` then explains
what is wrong with that line.
"""

import functools
import re
from decimal import Decimal

import numpy as np

from graphsqueak.errors import InputError, Message, Parameter
from graphsqueak.sources.files.numerals import LARGEST_EXACT_INTEGER
from graphsqueak.sources.times import parse_time

# The smallest normal number. The inverse of a smaller one may be infinite.
SMALLEST_DISTANCE = float(np.finfo(np.float64).tiny)
_CANONICAL_INTEGER = re.compile(rb"(-?[1-9][0-9]*|0)(\.0*)?")
_INTEGER = re.compile(rb"[+-]?[0-9]+(\.0*)?")
_DIGITS = re.compile(rb"[+-]?[0-9]+")
_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_RANGES = {"int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1)}
_SKIP_BAD_LINES = Parameter("on_bad_line", "skip")


def split_fields(line, separator):
    """Return the fields of one line (bytes, no line end), or None if quotes do not match.

    >>> split_fields(b'1, "a ""b"", c",2.5', ",")
    [b'1', b'a "b", c', b'2.5']
    >>> split_fields(b"  7   8 ", "")
    [b'7', b'8']
    """
    blanks = b" " if separator == "\t" else b" \t"
    if separator == "":
        line = line.strip(blanks)
    pattern = _field_pattern(separator)
    fields = []
    cursor = 0
    while True:
        field = pattern.match(line, cursor)
        if field is None:
            return None
        if field["quoted"] is None:
            fields.append(field["plain"].strip(blanks))
        else:
            fields.append(field["quoted"].replace(b'""', b'"'))
        cursor = field.end()
        if field["end"] == b"":
            return fields


@functools.cache
def _field_pattern(separator):
    """Return the pattern of one field and of what ends it."""
    quoted = rb'"(?P<quoted>(?:[^"]|"")*)"'
    if separator == "":
        return re.compile(rb'(?:%b|(?P<plain>(?!")[^ \t]*))(?P<end>[ \t]+|\Z)' % quoted)
    end = re.escape(separator.encode())
    # Possessive: without quotes, blanks are part of the plain field.
    blanks = b"[ ]*+" if separator == "\t" else b"[ \t]*+"
    plain = rb'(?P<plain>(?!")[^%b]*)' % end
    return re.compile(
        rb"%b(?:%b%b|%b)(?P<end>%b|\Z)" % (blanks, quoted, blanks, plain, end),
    )


def find_separator(lines):
    """Return the separator that splits most lines into the same number of fields."""
    best = ""
    best_fraction = 0.0
    for separator in ("\t", ";", ",", ""):
        fields = [split_fields(line, separator) or [] for line in lines]
        if all(len(row) > 2 and not row[-1] for row in fields):
            # Every line ends with a separator.
            fields = [row[:-1] for row in fields]
        n_columns = max(len(fields[0]), len(fields[-1]))
        n_alike = sum(len(row) == n_columns and all(row) for row in fields)
        if n_columns >= 2 and n_alike / len(lines) > best_fraction:
            best = separator
            best_fraction = n_alike / len(lines)
    return best


def refuse_unknown_separator(lines):
    """Raise an InputError about lines of one field, with the probable separator."""
    if all(b"::" in line for line in lines):
        raise InputError(
            "columns are separated by two characters, '::', where one is expected; replace them, "
            "e.g. with sed 's/::/;/g'"
        )
    # Each line has the same number of separators.
    for mark in "|:/!^~&":
        counts = {line.count(mark.encode()) for line in lines}
        if len(counts) == 1 and counts != {0}:
            raise InputError(
                "one column where an edge needs two, source and target; if they are "
                f"separated by {mark!r}, give ",
                Parameter("delimiter", mark),
            )


def fits_integer(field, kind, *, canonical):
    """Whether `field` is an integer that `kind` ("int64" or "uint64") can hold.

    >>> [fits_integer(b"007", "int64", canonical=strict) for strict in (True, False)]
    [False, True]
    >>> fits_integer(b"7.0", "int64", canonical=True)
    True
    """
    # No number of 40 digits fits, unless it begins with zeros.
    if len(field) >= 40 or not (_CANONICAL_INTEGER if canonical else _INTEGER).fullmatch(field):
        return False
    low, high = _RANGES[kind]
    return low <= int(field.partition(b".")[0]) <= high and not may_be_rounded(field)


def may_be_rounded(field):
    """Whether this is an integer written as a float that does not hold all integers of its size.

    >>> may_be_rounded(b"9007199254740993.0"), may_be_rounded(b"9007199254740993")
    (True, False)
    >>> may_be_rounded(b"1e+16"), may_be_rounded(b"1e+05"), may_be_rounded(b"1.5")
    (True, False, False)
    """
    # Digits alone were not a float.
    if not is_number(field) or _DIGITS.fullmatch(field):
        return False
    return abs(Decimal(field.decode())) > int(LARGEST_EXACT_INTEGER)


def is_number(field):
    """Whether `field` is a decimal number: no nan, no inf, no 1_000."""
    return _NUMBER.fullmatch(field) is not None


def is_integer(field):
    """Whether `field` is an integer, perhaps written as a float such as 7.0."""
    return _INTEGER.fullmatch(field) is not None


def is_utf8(field):
    """Whether bytes, or an array of them, are UTF-8 text."""
    try:
        bytes(field).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def find_fault(line, schema):
    """Explain what is wrong with one line.

    Returns
    -------
    (topic, message) or None
        The topic is "columns", "id", "weight" or "time". None if nothing is wrong.
    """
    fields = split_fields(line, schema.separator)
    if fields is None:
        return "columns", f'the quotes in {_quoted(line)} do not match; write " inside as ""'
    n_columns = len(schema.roles)
    if len(fields) != n_columns:
        return "columns", Message(
            f"{len(fields)} column{'s' * (len(fields) != 1)} where {n_columns} were expected: "
            f"{_quoted(line)}; repair the line, or give ",
            _SKIP_BAD_LINES,
        )
    for role, field in zip(schema.roles, fields, strict=True):
        if role in ("source", "target") and not field:
            return "columns", Message(
                "a node id is empty; repair the line, or give ", _SKIP_BAD_LINES
            )
        topic, find_fault_of_field = _FIELD_RULES[role]
        fault = find_fault_of_field(field, schema)
        if fault is not None:
            return topic, fault
    return None


def _fault_of_id(field, schema):
    if schema.kind == "text":
        if is_utf8(field):
            return None
        return f"{_quoted(field)} is not UTF-8; convert the file, e.g. iconv -f latin1 -t utf-8"
    if fits_integer(field, schema.kind, canonical=schema.canonical):
        return None
    if may_be_rounded(field):
        return rounded_id_fault(_quoted(field))
    # An integer that fits but is not canonical.
    if fits_integer(field, schema.kind, canonical=False):
        value = int(field.partition(b".")[0])
        return Message(
            f"node id {_quoted(field)} would be written back as {value}, unlike the ids before "
            "it; give ",
            Parameter("ids", "text"),
            " to keep it, or ",
            Parameter("ids", "integer"),
            " to change it",
        )
    low, high = _RANGES[schema.kind]
    return Message(
        f"node id {_quoted(field)} is not an integer from {low} to {high} like the ids before it; "
        "give ",
        Parameter("ids", "text"),
    )


def rounded_id_fault(shown):
    """Return what is wrong with an id that was a float beyond 2^53."""
    return Message(
        f"node id {shown} is a float beyond 2^53, which may have been rounded to the id of another "
        "node; write ids as integers, or give ",
        Parameter("ids", "text"),
        " to keep them as they are",
    )


def _fault_of_weight(field, schema):
    if not field:
        return Message(
            "the weight is empty; repair the line, or give ", Parameter("weighted", False)
        )
    if not is_number(field):
        if field.lstrip(b"+-").lower() in (b"nan", b"inf", b"infinity"):
            return f"weight {_quoted(field)} is not finite; weights are finite and not negative"
        remedy = "write decimals with a point" if b"," in field else "repair it"
        return Message(
            f"weight {_quoted(field)} is not a number; {remedy}, or give ",
            Parameter("weighted", False),
        )
    value = float(field)
    if value < 0:
        return f"weight {_quoted(field)} is negative; neither similarities nor distances are"
    if value >= 1e308:
        return f"weight {_quoted(field)} is too large, 1e308 or more; scale the weights"
    if schema.are_distances and value < SMALLEST_DISTANCE:
        return (
            f"distance {_quoted(field)} is zero or below {SMALLEST_DISTANCE:.1e}, and the weight "
            "of an edge is 1 / distance; merge the two nodes, or give the distance that is meant"
        )
    return None


def _fault_of_time(field, schema):
    if parse_time(field.decode("utf-8", "replace")) is not None:
        return None
    return f"{_quoted(field)} is not a time; write a number or a date as 2026-11-17"


# Per role: the topic of a fault, and the rules of its fields.
_FIELD_RULES = {
    "source": ("id", _fault_of_id),
    "target": ("id", _fault_of_id),
    "weight": ("weight", _fault_of_weight),
    "time": ("time", _fault_of_time),
    "skip": ("columns", lambda field, schema: None),
}


def shorten(text, *, limit=60):
    """Return the beginning of bytes from the user's file, as text for a message."""
    text = text.decode("utf-8", errors="replace")
    return text if len(text) <= limit else text[:limit] + "..."


def _quoted(text):
    return repr(shorten(text))
