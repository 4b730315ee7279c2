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
from graphsqueak.sources.files.suggestions import (
    Content,
    columns_parameter,
    find_counterparts,
    is_distance_name,
    is_time_name,
    suggest_columns,
    suggestion_in_words,
)
from graphsqueak.sources.times import parse_time

__all__ = [
    "SMALLEST_DISTANCE",
    "choose_columns",
    "find_fault",
    "find_separator",
    "fits_integer",
    "is_index_name",
    "is_number",
    "is_utf8",
    "may_be_rounded",
    "names_columns",
    "refuse_unknown_separator",
    "rounded_id_fault",
    "split_fields",
]

_PAIRS = [
    ("source", "target"),
    ("source", "destination"),
    ("source", "dest"),
    ("src", "dst"),
    ("src", "dest"),
    ("from", "to"),
    ("fromnodeid", "tonodeid"),
    ("fromnode", "tonode"),
    ("sourceid", "targetid"),
    ("srcid", "dstid"),
    ("sourcenode", "targetnode"),
    ("u", "v"),
    ("i", "j"),
    ("node1", "node2"),
    ("id1", "id2"),
    ("tail", "head"),
    ("start", "end"),
    ("row", "col"),
    ("row", "column"),
]
SMALLEST_DISTANCE = 1e-307  # its inverse is a finite weight
_WEIGHTS = {"weight", "weights", "w", "value", "similarity", "strength", "affinity", "conductance"}
_CANONICAL = re.compile(rb"(-?[1-9][0-9]*|0)(\.0*)?")
_DIGITS = re.compile(rb"[+-]?[0-9]+")
_LENIENT = re.compile(rb"[+-]?[0-9]+(\.0*)?")
_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LARGEST_EXACT_FLOAT = 2**53
_RANGES = {"int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1)}


def names_columns(names):
    """Whether `names` has a known pair of names for the two ends of an edge.

    >>> names_columns(["From Node Id", "ToNodeId"]), names_columns(["ann", "bob"])
    (True, False)
    """
    return _ends(names) is not None


def choose_columns(
    n_columns,
    names,
    *,
    columns=None,
    weighted="auto",
    time=None,
    weights_are=None,
    contents=None,
):
    """Give each column its role.

    Parameters
    ----------
    n_columns : int
        Columns there are.
    names : list of str or None
        Their names, if known.
    columns : sequence of int or str, optional
        Source, target and, if wanted, weight, by position from 0 or by name.
    weighted : bool or "auto"
        Whether there must be a weight (True) or it is to be ignored (False).
    time : int or str, optional
        The column of times.
    weights_are : {"similarity", "distance"}, optional
        "distance" demands a weight, which may be called distance, cost or the like.
    contents : list of Content, optional
        What each column holds, where that is known.

    Returns
    -------
    tuple of {"source", "target", "weight", "time", "skip"}
        One per column.

    Examples
    --------
    >>> choose_columns(3, ["dst", "src", "w"])
    ('target', 'source', 'weight')
    >>> choose_columns(4, None, columns=(3, 0))
    ('target', 'skip', 'skip', 'source')
    >>> choose_columns(3, ["", "source", "target"])  # as pandas writes a frame with its index
    ('skip', 'source', 'target')
    """
    if weights_are == "distance":
        if weighted is False:
            raise InputError(
                Parameter("weights_are", "distance"),
                " needs weights, which ",
                Parameter("weighted", False),
                " ignores",
            )
        weighted = True
    contents = contents or [Content.INTEGERS] * n_columns
    clock = [] if time is None else [_index(time, n_columns, names, "time")]
    if columns is not None:
        chosen = _chosen(columns, n_columns, names)
        if set(chosen) & set(clock):
            raise InputError(
                Parameter("time", time),
                " is one of ",
                Parameter("columns", tuple(columns)),
                "; choose another",
            )
    elif n_columns < 2 + len(clock):
        raise InputError(
            "one column where an edge needs two, source and target; if they are "
            "separated by an unusual character, name it (",
            Parameter("delimiter"),
            ")",
        )
    else:
        ends = _ends(names) if names else None
        every = [c for c in range(n_columns) if c not in clock]
        own = [c for c in every if not (names and is_index_name(names[c], c))]
        own = [c for c in own if contents[c] is not Content.NOTHING]
        own = own if len(own) > 1 else every
        # Neither an index nor the times that were chosen are suggested for anything else.
        contents = [contents[c] if c in own else Content.OTHER for c in range(n_columns)]
        suggestion = suggest_columns(names, contents, ends=ends)
        chosen = ends or own[:2]
        if ends is None:
            _refuse_doubtful_ends(chosen, own, names, contents, suggestion)
        if weighted is not False and len(own) > 2:
            others = [column for column in own if column not in chosen]
            weight = _weight_column(others, names, weighted, weights_are)
            if weight is None:
                raise _ambiguity("none of them is called weight", names, n_columns, suggestion)
            chosen = [*chosen, weight]
    if weighted is True and len(chosen) < 3:
        wanted = Parameter("weighted", True)
        if weights_are is not None:
            wanted = Parameter("weights_are", weights_are)
        raise InputError(
            "no weight column, but ", wanted, " needs one; choose it (", Parameter("columns"), ")"
        )
    if weighted is False:
        chosen = chosen[:2]
    roles = ["skip"] * n_columns
    for role, column in zip(("source", "target", "weight"), chosen, strict=False):
        roles[column] = role
    for column in clock:
        roles[column] = "time"
    return tuple(roles)


def is_index_name(name, column):
    """Whether this is what pandas and R call a column of row numbers."""
    return name == "__index_level_0__" or (column == 0 and name.strip() in ("", "Unnamed: 0"))


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


def find_fault(line, dialect):
    """Say what is wrong with one line, as (topic, message); None if nothing is.

    `topic` is "columns", "id", "weight" or "time".
    """
    fields = split_fields(line, dialect.separator)
    if fields is None:
        return "columns", f'the quotes in {_shown(line)} do not match; write " inside as ""'
    n_columns = len(dialect.roles)
    if len(fields) != n_columns:
        return "columns", Message(
            f"{len(fields)} column{'s' * (len(fields) != 1)} where {n_columns} were expected: "
            f"{_shown(line)}; repair the line, or give ",
            Parameter("on_bad_line", "skip"),
        )
    for role, field in zip(dialect.roles, fields, strict=True):
        if role in ("source", "target"):
            if not field:
                return "columns", Message(
                    "a node id is empty; repair the line, or give ",
                    Parameter("on_bad_line", "skip"),
                )
            fault = _fault_of_id(field, dialect)
            if fault:
                return "id", fault
        elif role == "weight":
            fault = _fault_of_weight(field, are_distances=dialect.are_distances)
            if fault:
                return "weight", fault
        elif role == "time" and parse_time(field.decode("utf-8", "replace")) is None:
            return "time", f"{_shown(field)} is no time; write a number or a date as 2026-11-17"
    return None


def _ends(names):
    plain = ["".join(filter(str.isalnum, name.lower())) for name in names]
    for source, target in _PAIRS:
        if plain.count(source) == plain.count(target) == 1:
            return [plain.index(source), plain.index(target)]
    counterparts = find_counterparts(names)
    return None if counterparts is None else list(counterparts)


def _weight_column(others, names, weighted, weights_are):
    """The first column whose name says that it holds weights; None if there is none."""
    if names is None:
        return others[0]
    known = [column for column in others if names[column].strip().lower() in _WEIGHTS]
    if weights_are == "distance":
        distances = [column for column in others if is_distance_name(names[column])]
        known = distances or known
    if known:
        return known[0]
    if weighted is True and len(others) == 1:
        return others[0]
    return None


def _refuse_doubtful_ends(chosen, own, names, contents, suggestion):
    """Refuse to take the first two columns for source and target if they may be something else."""
    n_columns = len(contents)
    if len(own) > 3:
        problem = "no header says which are source, target and weight"
        raise _ambiguity(problem, names, n_columns, suggestion)
    for column in chosen:
        is_named_as_time = names is not None and is_time_name(names[column])
        if not is_named_as_time and contents[column] not in (Content.TIMES, Content.DATES):
            continue
        shown = names[column] if names else column
        if len(own) == 2:
            raise InputError(
                f"column {shown} of two seems to hold dates or times; give ",
                columns_parameter(chosen, names),
                " if they are nodes",
            )
        problem = f"column {shown} seems to hold dates or times, not nodes"
        raise _ambiguity(problem, names, n_columns, suggestion)
    if len(own) == 3 and suggestion.ends not in (None, tuple(chosen)):
        problem = "the first two do not seem to be source and target"
        raise _ambiguity(problem, names, n_columns, suggestion)


def _ambiguity(problem, names, n_columns, suggestion):
    """The error about columns that can be taken in two ways, and what was probably meant."""
    return InputError(
        f"{n_columns} columns{_listed(names)}, and {problem}; ",
        suggestion_in_words(suggestion, names),
    )


def _chosen(columns, n_columns, names):
    columns = [columns] if isinstance(columns, str | int) else list(columns)
    if len(columns) not in (2, 3):
        raise InputError(
            Parameter("columns", columns), " must have two or three entries: source, target, weight"
        )
    chosen = [_index(column, n_columns, names, "columns") for column in columns]
    if len(set(chosen)) < len(chosen):
        raise InputError(Parameter("columns", columns), " names a column twice")
    return chosen


def _index(column, n_columns, names, option):
    """Which column it is that an option names."""
    if isinstance(column, str) and (names is None or column not in names):
        raise InputError(
            f"there is no column named {column!r}{_listed(names)}; see ", Parameter(option)
        )
    index = names.index(column) if isinstance(column, str) else int(column)
    if not 0 <= index < n_columns:
        raise InputError(
            f"there is no column {index}: {n_columns} columns are counted from 0; see ",
            Parameter(option),
        )
    return index


def _listed(names):
    return f" ({', '.join(names)})" if names else ""


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
            if is_utf8(field)
            else (f"{_shown(field)} is not UTF-8; convert the file, e.g. iconv -f latin1 -t utf-8")
        )
    if fits_integer(field, dialect.kind, canonical=dialect.canonical):
        return None
    if may_be_rounded(field):
        return rounded_id_fault(_shown(field))
    low, high = _RANGES[dialect.kind]
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
