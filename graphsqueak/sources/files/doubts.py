"""What a table of edges may mean in two ways: noticed in its first lines, and asked about.

A guess that is wrong here gives a graph that looks right. So whoever reads the table is asked, by
an InputError that says what was seen and which argument decides:

times       a third column without a name that holds times, not weights, or a first one that holds
            times, not nodes: Unix seconds, milli-, micro- or nanoseconds, days such as 20040417,
            dates
an index    a first column without a name that counts the lines
a header    a first line of names that occur nowhere else, or that occur again as nodes
spellings   ids 1 and 1.0 in a column that holds other texts, too
two kinds   columns called user and item, or a comment `% bip` as KONECT writes it, with nodes
            numbered alike, so that user 51 and item 51 become one

Weights are not asked about: numbers that span more than a factor of four and are not sorted, and
equal ones, are no times.
"""

import re

import numpy as np

from graphsqueak.errors import InputError, Message, Parameter
from graphsqueak.nodes.text_ids import TextIds
from graphsqueak.sources.files.fields import (
    is_number,
    may_be_rounded,
    rounded_id_fault,
)
from graphsqueak.sources.files.suggestions import Content, columns_parameter, time_parameter
from graphsqueak.sources.times import UNIX_TIMES, parse_time

__all__ = [
    "contents_of",
    "known_names",
    "refuse_bipartite_comment",
    "refuse_doubtful_columns",
    "refuse_strange_header",
    "refuse_times",
    "refuse_two_kinds",
    "refuse_two_spellings",
]

_WIDEST = 4.0  # largest over smallest of what is not sorted and yet taken for times
_MOSTLY = 0.95  # share of the values that must agree
_SORTED = 0.9  # share of the steps in one direction
_MONTH = rb"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DAYS = [
    rb"\d{4}[-/.]\d\d?[-/.]\d\d?",
    rb"\d\d?[-/.]\d\d?[-/.]\d{4}",
    rb"\d\d?/\d\d?/\d\d",
    rb"\d\d?[- ]%b[- ]\d{2,4}" % _MONTH,
    rb"%b \d\d?,? \d{4}" % _MONTH,
    rb"(?:18|19|20)\d\d-(?:0[1-9]|1[0-2])",
]
_DATE = re.compile(
    rb"(?:%b)([T ]\d\d?:\d\d.*)?|\d{8}T\d{4}.*|[a-z]{3} %b +\d\d? \d\d:\d\d.*"
    % (b"|".join(_DAYS), _MONTH),
    re.IGNORECASE,
)
_INTEGER = re.compile(rb"[+-]?\d+(\.0*)?")
_DECIMAL_COMMA = re.compile(rb"[+-]?\d+,\d+")
_CLOCK = re.compile(rb"\d\d?:\d\d(:\d\d([.,]\d+)?)?")
_WHOLE_FLOAT = re.compile(rb"(-?[0-9]+)\.0*")
_FEWEST_LINES = 8  # from which what is odd can be told
_FEW_LINES = 3  # the same, where it is odder still
_RARE = 0.01  # share of lines that may be as odd as a header would be

_ACTORS = """user customer client buyer member person people author actor artist reader reviewer
    voter visitor viewer player student teacher employee director writer editor patient donor
    investor account subscriber sender playerid researcher scientist inventor politician"""
_THINGS = """item product movie film book song track album article paper publication patent page
    website url domain tag keyword term word group team club community event venue conference
    journal project repo repository package company organization organisation institution
    city country place restaurant hotel business shop store course class subreddit topic category
    genre gene protein disease drug symptom document doc post thread question answer comment order
    transaction session query ad advertisement game show episode recipe ingredient"""
_ENDS = """source target src dst from to head tail node edge vertex id name label weight w value
    parent child follower followee friend sender receiver recipient caller callee citing cited
    origin destination start end first second left right row col column"""


def _words(*lists):
    return {word for words in lists for word in words.split()}


_KINDS = (_words(_ACTORS), _words(_THINGS))
_KNOWN = _words(_ACTORS, _THINGS, _ENDS)


def known_names(names):
    """Whether all of `names`, two or more, are words that people put above columns.

    >>> known_names(["user_id", "movieId"]), known_names(["ann", "bob"])
    (True, False)
    """
    words = [_stem(name) for name in names if name.strip()]
    return len(words) >= 2 and len(set(words)) > 1 and all(word in _KNOWN for word in words)


def contents_of(rows, n_columns):
    """What each column of some rows of text holds: a list of Content.

    >>> rows = [[b"2024-01-01", b"ann", b"0.5"], [b"2024-01-02", b"bob", b"2"]]
    >>> [content.name for content in contents_of(rows, 3)]
    ['TIMES', 'TEXTS', 'FRACTIONS']
    """
    rows = [row for row in rows if len(row) == n_columns]
    columns = [[row[column] for row in rows] for column in range(n_columns)]
    # Ids of ten digits look like Unix times, so the first two columns are not taken for them.
    return [
        _content(fields, may_be_unix_times=column >= 2) for column, fields in enumerate(columns)
    ]


def _content(fields, *, may_be_unix_times=False):
    if not fields:
        return Content.OTHER
    if not any(fields):
        return Content.NOTHING
    if _are_mostly(fields, _DATE.fullmatch):
        # Only ISO dates are read as times: 01/02/2024 is a day in January or in February.
        is_iso = _are_mostly(fields, lambda field: parse_time(field.decode("latin-1")) is not None)
        return Content.TIMES if is_iso else Content.DATES
    if _are_mostly(fields, _CLOCK.fullmatch):
        return Content.DATES
    if _are_mostly(fields, is_number):
        numbers = [field for field in fields if is_number(field)]
        if may_be_unix_times and _unit(np.array(numbers, dtype=float)) is not None:
            return Content.TIMES
        are_integers = all(_INTEGER.fullmatch(field) for field in numbers)
        return Content.INTEGERS if are_integers else Content.FRACTIONS
    return Content.TEXTS


def _are_mostly(fields, test):
    return np.mean([bool(test(field)) for field in fields]) > _MOSTLY


def _count_the_lines(fields):
    return any(fields == [b"%d" % (i + start) for i in range(len(fields))] for start in (0, 1))


def refuse_two_kinds(names):
    """Ask about columns of numbers that are named like two kinds of things."""
    kinds = [_kind(_stem(name)) for name in names]
    if None not in kinds and _stem(names[0]) != _stem(names[1]):
        raise InputError(
            f"columns {names[0]} and {names[1]} name two kinds of things by number: "
            f"is {names[0]} 1 another node than {names[1]} 1? give ",
            Parameter("bipartite", True),
            " to keep them apart, ",
            Parameter("bipartite", False),
            " to join them",
        )


def refuse_bipartite_comment(comment):
    """Ask about a file of the KONECT collection whose two columns are numbered apart.

    Its first line is, for example, `% bip unweighted`.
    """
    if comment.split()[:1] == [b"bip"]:
        raise InputError(
            f"the comment {comment.decode('utf-8', 'replace')!r} declares two kinds of "
            "nodes, each numbered from 1; give ",
            Parameter("bipartite", True),
            " to keep them apart, ",
            Parameter("bipartite", False),
            " to join nodes of the same number",
        )


def refuse_times(values):
    """Ask about a column of weights that looks like times."""
    if len(values) and (unit := _unit(values)):
        raise InputError(
            f"the third column looks like times ({unit}, such as {values[0]:.0f}), "
            "not weights; give ",
            Parameter("time", 2),
            " to read it as times, ",
            Parameter("weighted", False),
            " to ignore it, ",
            Parameter("weighted", True),
            " to take it as weights",
        )


def refuse_two_spellings(tokens):
    """Ask about text ids, an Arrow array, of which two are one number: 1 and 1.0.

    In a column of integers they are one node. Next to ids such as 1.5 or ann they are texts.
    """
    ids = set(tokens.cast("large_binary").unique().to_pylist())
    for field in sorted(ids):
        whole = _WHOLE_FLOAT.fullmatch(field)
        if whole and whole[1] in ids:
            raise InputError(
                f"ids {whole[1].decode()} and {field.decode()} may be one node, but other "
                "ids are not integers; give ",
                Parameter("ids", "text"),
                " to keep them apart, or write them alike",
            )
    if all(map(is_number, ids)):
        for field in sorted(ids):
            if may_be_rounded(field):
                raise InputError(rounded_id_fault(repr(field.decode())))


def refuse_doubtful_columns(rows, roles, *, weighted):
    """Ask about three columns without names of which the first or the last is not what it seems."""
    rows = [row for row in rows if len(row) == len(roles)]
    thirds = [row[2] for row in rows]
    if weighted == "auto":
        _refuse_dates(thirds)
    if weighted is not True:
        _refuse_index(rows)
        _refuse_numbers_of_times(rows)
    if weighted == "auto":
        _refuse_texts(thirds)


def refuse_strange_header(line, text, spans):
    """Ask about a first line whose two names occur nowhere else in the lines that were looked at.

    `spans` (n, 4) are start and stop of both names of every line in `text`, the first line's first.
    """
    if len(spans) < _FEWEST_LINES:
        return
    nodes = TextIds().number(text, spans)
    is_single = np.bincount(nodes.ravel())[nodes].max(axis=1) == 1
    if is_single[0] and np.mean(is_single[1:]) <= _RARE:
        shown = line.decode("utf-8", "replace")
        raise InputError(
            f"the names in the first line, {shown!r}, occur nowhere below: give ",
            Parameter("header", True),
            " if they name the columns, ",
            Parameter("header", False),
            " if it is an edge",
        )


def _refuse_dates(fields):
    """Ask about a column that holds dates where weights are expected."""
    content = _content(fields)
    if len(fields) and not is_number(fields[0]) and content in (Content.TIMES, Content.DATES):
        shown = fields[0].decode("utf-8", "replace")
        remedy = Message(Parameter("weighted", False), " to ignore them")
        if content is Content.TIMES:
            remedy = Message(time_parameter(2, None), " to read them, ", remedy)
        raise InputError(
            f"the third column holds dates or times, such as {shown}, not weights; give ", remedy
        )


def _refuse_texts(fields):
    """Ask about a third column that holds texts where weights are expected."""
    texts = [field for field in fields if field and not is_number(field)]
    # A number with a decimal comma, and nan, are reported as the bad weights that they are.
    texts = [field for field in texts if not _DECIMAL_COMMA.fullmatch(field)]
    texts = [field for field in texts if field.lstrip(b"+-").lower() not in (b"nan", b"inf")]
    if len(texts) > len(fields) / 2:
        shown = texts[0].decode("utf-8", "replace")
        raise InputError(
            f"the third column holds texts such as {shown!r}, not weights; give ",
            Parameter("header", True),
            " if the first line names the columns, or choose source and target, ",
            columns_parameter((0, 1), None),
            " if they are the first two",
        )


def _refuse_index(rows):
    """Ask about a first of three columns that counts the lines."""
    firsts, thirds = [row[0] for row in rows], [row[2] for row in rows]
    fewest = _FEWEST_LINES if any(map(is_number, thirds)) else _FEW_LINES
    is_id = fewest == _FEW_LINES or all(re.fullmatch(rb"\d+", third) for third in thirds)
    counts = len(rows) >= fewest and _count_the_lines(firsts)
    edge = (0, 1, 2) if all(map(is_number, thirds)) else (0, 1)
    is_id &= _content(thirds) not in (Content.TIMES, Content.DATES)
    if counts and is_id and len(set(thirds)) > 1:
        raise InputError(
            "the first column counts the lines; give ",
            columns_parameter((1, 2), None),
            " if it is an index, ",
            columns_parameter(edge, None),
            " if it is the source of an edge",
        )


def _refuse_numbers_of_times(rows):
    """Ask about a first of three columns that holds Unix times, or days such as 20040417.

    Sources that are numbered like that have targets that are numbered like that.
    """
    if len(rows) < _FEW_LINES or not all(re.fullmatch(rb"\d+", row[0]) for row in rows):
        return
    contents = [_content([row[column] for row in rows]) for column in (1, 2)]
    if contents not in ([Content.INTEGERS] * 2, [Content.TEXTS] * 2):
        return
    firsts = np.array([row[0] for row in rows], dtype=float)
    unit = _unit(firsts)
    targets = [float(row[1]) for row in rows if is_number(row[1])]
    if unit is not None and max(targets, default=0.0) < firsts.min() / 10:
        raise InputError(
            f"the first column looks like times ({unit}, such as {firsts[0]:.0f}), not nodes; "
            "give ",
            columns_parameter((1, 2), None),
            " if these are source and target, with ",
            time_parameter(0, None),
            " to read the times; ",
            columns_parameter((0, 1, 2), None),
            " if the first column holds nodes",
        )


def _stem(name):
    """user_id, UserID, users and user are one word."""
    plain = "".join(filter(str.isalpha, name.lower()))
    for ending in ("ids", "id"):
        if plain.endswith(ending) and len(plain) > len(ending) + 1:
            plain = plain.removesuffix(ending)
            break
    return plain if plain in _KNOWN else plain.removesuffix("s")


def _kind(word):
    return next((number for number, words in enumerate(_KINDS) if word in words), None)


def _unit(values):
    """What unit of time the values are in; None if they are weights."""
    if values.min() == values.max():
        return None
    if _are_days(values):
        return "days"
    for unit, (low, high) in UNIX_TIMES.items():
        inside = (values >= low) & (values < high)
        if inside.mean() < _MOSTLY:
            continue
        times = values[inside]
        steps = np.sign(np.diff(times))
        steps = steps[steps != 0]
        is_sorted = steps.size > 0 and abs(steps.mean()) >= 2 * _SORTED - 1
        low, high = np.quantile(times, [0.02, 0.98])
        is_whole = bool((times == np.floor(times)).all())
        if is_sorted or (is_whole and high < _WIDEST * low):
            return unit
    return None


def _are_days(values):
    """Numbers such as 20040417."""
    if not ((values > 1e7) & (values < 1e8) & (values == np.floor(values))).all():
        return False
    day = values.astype(np.int64)
    years, months, days = day // 10_000, day // 100 % 100, day % 100
    fits = (years >= 1800) & (years < 2200) & (months >= 1) & (months <= 12)
    return bool((fits & (days >= 1) & (days <= 31)).all())
