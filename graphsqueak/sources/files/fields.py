"""The columns of a table of edges: which one is which, and what a field of each may hold.

A table has a column of sources, one of targets and perhaps one of weights, told by its names or
chosen by the user (`choose_columns`). In text, a line is a row:

- a line is two or more fields; blanks around a field do not count;
- fields are separated by one byte (tab, comma, ...) or, for separator "", by runs of blanks;
- a field may stand in double quotes, in which "" is one quote; a quote closes on its own line;
- an integer id is written canonically (7, not 007 or +7), or as the float that pandas makes of it
  (7.0, up to 2^53); a text id is not empty;
- a weight is a decimal number, not negative, below 1e308; a time is a number or an ISO date.

Here the rules are applied slowly. `scan.py` reads millions of lines a second by the same rules and
stops at the first line that breaks them; `find_fault` then says what is wrong with it.
"""

import functools
import re
from decimal import Decimal

from graphsqueak.errors import InputError, Message, Parameter
from graphsqueak.sources.times import parse_time

__all__ = [
    "SMALLEST_DISTANCE",
    "find_fault",
    "find_separator",
    "fits_integer",
    "is_number",
    "is_utf8",
    "may_be_rounded",
    "refuse_unknown_separator",
    "rounded_id_fault",
    "split_fields",
]

SMALLEST_DISTANCE = 1e-307  # its inverse is a finite weight
_CANONICAL = re.compile(rb"(-?[1-9][0-9]*|0)(\.0*)?")
_DIGITS = re.compile(rb"[+-]?[0-9]+")
_LENIENT = re.compile(rb"[+-]?[0-9]+(\.0*)?")
_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LARGEST_EXACT_FLOAT = 2**53
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
    pattern, fields, cursor = _field_pattern(separator), [], 0
    while True:
        field = pattern.match(line, cursor)
        if field is None:
            return None
        quoted, plain = field["quoted"], field["plain"]
        fields.append(plain.strip(blanks) if quoted is None else quoted.replace(b'""', b'"'))
        cursor = field.end()
        if field["end"] == b"":
            return fields


def find_separator(lines):
    """The separator that splits most lines alike."""
    best, best_share = "", 0.0
    for separator in ("\t", ";", ",", ""):
        fields = [split_fields(line, separator) or [] for line in lines]
        if all(len(row) > 2 and not row[-1] for row in fields):
            fields = [row[:-1] for row in fields]  # every line ends with a separator
        n_columns = max(len(fields[0]), len(fields[-1]))
        alike = sum(len(row) == n_columns and all(row) for row in fields)
        if n_columns >= 2 and alike / len(lines) > best_share:
            best, best_share = separator, alike / len(lines)
    return best


def refuse_unknown_separator(lines):
    """Refuse lines of one field, with the character that seems to separate them."""
    if all(b"::" in line for line in lines):
        raise InputError(
            "columns are separated by two characters, '::', where one is expected; replace them, "
            "e.g. with sed 's/::/;/g'"
        )
    for mark in "|:/!^~&":
        n_marks = {line.count(mark.encode()) for line in lines}
        if len(n_marks) == 1 and n_marks != {0}:
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
    if len(field) >= 40 or not (_CANONICAL if canonical else _LENIENT).fullmatch(field):
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
    if not is_number(field) or _DIGITS.fullmatch(field):
        return False
    return abs(Decimal(field.decode())) > _LARGEST_EXACT_FLOAT


def is_number(field):
    """Whether `field` is a decimal number: no nan, no inf, no 1_000."""
    return _NUMBER.fullmatch(field) is not None


def is_utf8(field):
    """Whether bytes, or an array of them, are UTF-8 text."""
    try:
        bytes(field).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def find_fault(line, schema):
    """Say what is wrong with one line, as (topic, message); None if nothing is.

    `topic` is "columns", "id", "weight" or "time".
    """
    fields = split_fields(line, schema.separator)
    if fields is None:
        return "columns", f'the quotes in {_shown(line)} do not match; write " inside as ""'
    n_columns = len(schema.roles)
    if len(fields) != n_columns:
        return "columns", Message(
            f"{len(fields)} column{'s' * (len(fields) != 1)} where {n_columns} were expected: "
            f"{_shown(line)}; repair the line, or give ",
            Parameter("on_bad_line", "skip"),
        )
    for role, field in zip(schema.roles, fields, strict=True):
        if role in ("source", "target"):
            if not field:
                return "columns", Message(
                    "a node id is empty; repair the line, or give ",
                    Parameter("on_bad_line", "skip"),
                )
            fault = _fault_of_id(field, schema)
            if fault:
                return "id", fault
        elif role == "weight":
            fault = _fault_of_weight(field, are_distances=schema.are_distances)
            if fault:
                return "weight", fault
        elif role == "time" and parse_time(field.decode("utf-8", "replace")) is None:
            return "time", f"{_shown(field)} is no time; write a number or a date as 2026-11-17"
    return None


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


def _fault_of_id(field, schema):
    if schema.kind == "text":
        return (
            None
            if is_utf8(field)
            else (f"{_shown(field)} is not UTF-8; convert the file, e.g. iconv -f latin1 -t utf-8")
        )
    if fits_integer(field, schema.kind, canonical=schema.canonical):
        return None
    if may_be_rounded(field):
        return rounded_id_fault(_shown(field))
    low, high = _RANGES[schema.kind]
    if fits_integer(field, "int64", canonical=False) or fits_integer(
        field, "uint64", canonical=False
    ):
        value = int(field.partition(b".")[0])
        if low <= value <= high:
            return Message(
                f"node id {_shown(field)} would be written back as {value}, unlike the ids before "
                "it; give ",
                Parameter("ids", "text"),
                " to keep it, or ",
                Parameter("ids", "integer"),
                " to change it",
            )
    return Message(
        f"node id {_shown(field)} is not an integer from {low} to {high} like the ids before it; "
        "give ",
        Parameter("ids", "text"),
    )


def rounded_id_fault(shown):
    """What is wrong with an id that was a float beyond 2^53."""
    return Message(
        f"node id {shown} is a float beyond 2^53, which may have been rounded to the id of another "
        "node; write ids as integers, or give ",
        Parameter("ids", "text"),
        " to keep them as they are",
    )


def _fault_of_weight(field, *, are_distances):
    if not field:
        return Message(
            "the weight is empty; repair the line, or give ", Parameter("weighted", False)
        )
    if not is_number(field):
        if field.lstrip(b"+-").lower() in (b"nan", b"inf", b"infinity"):
            return f"weight {_shown(field)} is not finite; weights are finite and not negative"
        remedy = "write decimals with a point" if b"," in field else "repair it"
        return Message(
            f"weight {_shown(field)} is not a number; {remedy}, or give ",
            Parameter("weighted", False),
        )
    value = float(field)
    if value < 0:
        return f"weight {_shown(field)} is negative; neither similarities nor distances are"
    if value >= 1e308:
        return f"weight {_shown(field)} is too large, 1e308 or more; scale the weights"
    if are_distances and value < SMALLEST_DISTANCE:
        return (
            f"distance {_shown(field)} is zero or below {SMALLEST_DISTANCE:g}, and the weight of "
            "an edge is 1 / distance; merge the two nodes, or give the distance that is meant"
        )
    return None


def _shown(text, *, limit=60):
    """A short, printable quotation of bytes from the user's file."""
    text = text.decode("utf-8", errors="replace")
    return repr(text if len(text) <= limit else text[:limit] + "...")
