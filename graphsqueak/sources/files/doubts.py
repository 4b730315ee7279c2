"""What a table of edges may mean in two ways: noticed in its first lines, and asked about.

A guess that is wrong here gives a graph that looks right. So whoever reads the table is asked, by
an InputError that says what was seen and which argument decides:

times       a third column without a name that holds times, not weights: Unix seconds, milli-,
            micro- or nanoseconds, days such as 20040417, ISO dates
an index    a first column without a name that counts the lines
a header    a first line of names that occur nowhere else, or that occur again as nodes
two kinds   columns called user and item, numbered alike, so that user 51 and item 51 become one

Weights are not asked about: numbers that span more than a factor of four and are not sorted, and
equal ones, are no times.
"""

import re

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.nodes.text_ids import TextIds
from graphsqueak.sources.files.fields import fits_integer, is_number

__all__ = [
    "known_names",
    "refuse_doubtful_columns",
    "refuse_strange_header",
    "refuse_times",
    "refuse_two_kinds",
    "whole_decimal",
]

_UNITS = {
    "seconds": (1e8, 4.2e9),
    "milliseconds": (1e11, 4.2e12),
    "microseconds": (1e14, 4.2e15),
    "nanoseconds": (1e17, 4.2e18),
}
_WIDEST = 4.0  # largest over smallest of what is not sorted and yet taken for times
_MOSTLY = 0.95  # share of the values that must agree
_SORTED = 0.9  # share of the steps in one direction
_DATE = re.compile(rb"\d{4}-\d\d?-\d\d?([T ]\d\d?:\d\d.*)?|\d\d?[./]\d\d?[./]\d{4}")
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


def refuse_two_kinds(names):
    """Ask about columns of numbers that are named like two kinds of things."""
    kinds = [_kind(_stem(name)) for name in names]
    if None not in kinds and _stem(names[0]) != _stem(names[1]):
        raise InputError(
            f"columns {names[0]} and {names[1]} name two kinds of things by number: is "
            f"{names[0]} 1 another node than {names[1]} 1? give bipartite=True (--bipartite) to "
            "keep them apart, bipartite=False (--one-kind) to join them"
        )


def refuse_times(values):
    """Ask about a column of weights that looks like times."""
    if len(values) and (unit := _unit(values)):
        raise InputError(
            f"the third column looks like times ({unit}, such as {values[0]:.0f}), not weights; "
            "give time=2 (--time 2) to read it as times, weighted=False (--no-weights) to ignore "
            "it, weighted=True (--weights) to take it as weights"
        )


def whole_decimal(rows, roles):
    """An id such as 1.0 if all ids are written so: whole numbers, as pandas writes them."""
    ends = [column for column, role in enumerate(roles) if role in ("source", "target")]
    ids = [row[column] for row in rows if len(row) == len(roles) for column in ends]
    are_whole = (b"." in field and fits_integer(field, "int64", canonical=False) for field in ids)
    return ids[0].decode() if ids and all(are_whole) else None


def refuse_doubtful_columns(rows, roles, *, weighted):
    """Ask about three columns without names of which the first or the last is not what it seems."""
    rows = [row for row in rows if len(row) == len(roles)]
    if weighted is not True:
        _refuse_index(rows)
    if weighted == "auto":
        _refuse_dates([row[2] for row in rows])


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
            f"the names in the first line, {shown!r}, occur nowhere below: give header=True "
            "(--header) if they name the columns, header=False (--no-header) if it is an edge"
        )


def _refuse_dates(fields):
    """Ask about a column that holds dates where weights are expected."""
    if len(fields) and np.mean([_DATE.fullmatch(field) is not None for field in fields]) > _MOSTLY:
        shown = fields[0].decode("utf-8", "replace")
        raise InputError(
            f"the third column holds dates, such as {shown}, not weights; give time=2 (--time 2) "
            "to read them, weighted=False (--no-weights) to ignore them"
        )


def _refuse_index(rows):
    """Ask about a first of three columns that counts the lines."""
    firsts, thirds = [row[0] for row in rows], [row[2] for row in rows]
    fewest = _FEWEST_LINES if any(map(is_number, thirds)) else _FEW_LINES
    begins = [[b"%d" % (i + start) for i in range(len(rows))] for start in (0, 1)]
    is_id = fewest == _FEW_LINES or all(re.fullmatch(rb"\d+", third) for third in thirds)
    if len(rows) >= fewest and firsts in begins and is_id and len(set(thirds)) > 1:
        raise InputError(
            "the first column counts the lines; give columns=(1, 2) if it is an index, "
            "columns=(0, 1, 2) if it is the source of an edge and the third its weight"
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
    for unit, (low, high) in _UNITS.items():
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
