"""Which columns of a table are probably meant: what an error message suggests.

A table that can be read in two ways is refused, and the message names the columns that were
probably meant: of `id,user,friend` those are user and friend. A column is not an end of an edge if
its name or its values show that it is a row number, a quantity, a time or a date. If exactly two
columns remain, they are suggested; otherwise the choice is left to the user.
"""

import re
from enum import Enum
from typing import NamedTuple

from graphsqueak.errors import Message, Parameter

__all__ = [
    "Content",
    "Suggestion",
    "columns_parameter",
    "find_counterparts",
    "is_distance_name",
    "is_time_name",
    "name_words",
    "suggest_columns",
    "suggestion_in_words",
    "time_parameter",
]


class Content(Enum):
    """What the values of a column are."""

    INTEGERS = "integers"
    TEXTS = "texts"
    FRACTIONS = "numbers that are not all integers"
    TIMES = "dates and Unix times, which can be read as times"
    DATES = "dates and times of day, which cannot"
    NOTHING = "nothing: all its fields are empty"
    OTHER = "something else"


_ROW_NUMBERS = {
    *("id", "index", "idx", "row", "row id", "rowid", "no", "nr", "number", "line", "key", "uuid"),
    *("edge", "edge id", "edgeid", "unnamed 0", ""),
}
_DISTANCES = {"distance", "dist", "cost", "length", "time", "duration", "rank"}
_QUANTITIES = _DISTANCES | {
    *("weight", "weights", "w", "value", "amount", "price", "count", "total", "sum", "quantity"),
    *("qty", "rating", "score", "strength", "similarity", "affinity", "conductance", "frequency"),
    *("freq", "hits", "percent", "share", "probability", "confidence", "sign", "km", "miles"),
    *("minutes", "seconds", "hours"),
}
_TIMES = {"date", "datetime", "timestamp", "ts", "time", "since", "epoch"}
_ENDS = [
    ("from", "to"),
    ("source", "target"),
    ("source", "destination"),
    ("source", "dest"),
    ("src", "dst"),
    ("src", "dest"),
    ("start", "end"),
    ("origin", "destination"),
    ("orig", "dest"),
    ("sender", "receiver"),
    ("sender", "recipient"),
    ("payer", "payee"),
    ("buyer", "seller"),
    ("caller", "callee"),
    ("follower", "followee"),
]
_NUMBERED = [("1", "2"), ("a", "b")]


class Suggestion(NamedTuple):
    """Numbers of the columns that were probably meant, None where that is not clear."""

    ends: tuple[int, int] | None
    weight: int | None = None
    time: int | None = None


def name_words(name):
    """The words of a column name, in lower case.

    >>> name_words("avgCost"), name_words("distance_km"), name_words("GPSTime2")
    (['avg', 'cost'], ['distance', 'km'], ['gps', 'time', '2'])
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+", name)
    return [part.lower() for part in parts]


def is_distance_name(name):
    """Whether a column of this name probably holds distances: the smaller, the closer.

    >>> [is_distance_name(name) for name in ("distance_km", "travelTime", "RANK", "costs")]
    [True, True, True, True]
    >>> [is_distance_name(name) for name in ("distinct", "lengthy", "costume", "timestamp")]
    [False, False, False, False]
    """
    words = {word.removesuffix("s") for word in name_words(name)}
    return not _DISTANCES.isdisjoint(words)


def is_time_name(name):
    """Whether a column of this name probably holds times.

    >>> is_time_name("event_date"), is_time_name("updated")
    (True, False)
    """
    return not _TIMES.isdisjoint(name_words(name))


def suggest_columns(names, contents, *, ends=None):
    """Suggest source, target, weight and time.

    Parameters
    ----------
    names : list of str or None
        Names of the columns, if known.
    contents : list of Content
        What each column holds.
    ends : pair of int, optional
        Source and target, where the names leave no doubt about them.

    Returns
    -------
    Suggestion

    Examples
    --------
    >>> suggest_columns(["id", "user", "friend"], [Content.INTEGERS] * 3)
    Suggestion(ends=(1, 2), weight=None, time=None)
    >>> suggest_columns(["user", "amount", "merchant"], [Content.INTEGERS] * 3)
    Suggestion(ends=(0, 2), weight=1, time=None)
    >>> suggest_columns(None, [Content.TIMES, Content.TEXTS, Content.TEXTS])
    Suggestion(ends=(1, 2), weight=None, time=0)
    """
    words = [[]] * len(contents) if names is None else [name_words(name) for name in names]
    if ends is None:
        ends = _suggest_ends(names, words, contents)
    others = [column for column in range(len(contents)) if ends is None or column not in ends]
    weights = [
        column
        for column in others
        if contents[column] is Content.FRACTIONS
        or (contents[column] is Content.INTEGERS and not _QUANTITIES.isdisjoint(words[column]))
    ]
    times = [
        column
        for column in others
        if contents[column] is Content.TIMES
        or (contents[column] is Content.INTEGERS and not _TIMES.isdisjoint(words[column]))
    ]
    if Content.DATES in contents:
        times = []  # the date and the time of day are two columns
    return Suggestion(
        ends,
        weight=weights[0] if len(weights) == 1 else None,
        time=times[0] if len(times) == 1 else None,
    )


def _suggest_ends(names, words, contents):
    """The two columns that can be ends of edges, None if they are more or fewer."""
    possible = [
        column
        for column, content in enumerate(contents)
        if content in (Content.INTEGERS, Content.TEXTS)
        and (names is None or not _excludes_ends(words[column]))
    ]
    if len(possible) == 2:
        return tuple(possible)
    return find_counterparts(names, among=possible, is_header=True) if names else None


def _excludes_ends(words):
    return " ".join(words) in _ROW_NUMBERS or not (_QUANTITIES | _TIMES).isdisjoint(words)


def find_counterparts(names, *, among=None, is_header=False):
    """The two columns whose names differ in one pair of words; None if they are more or fewer.

    Parameters
    ----------
    names : list of str
        Names of all columns.
    among : list of int, optional
        Columns to look at; default: all.
    is_header : bool
        Whether `names` are known to be a header. Names of nodes can be such a pair as well if they
        end in 1 and 2, or in a and b, or are single words.

    Examples
    --------
    >>> find_counterparts(["line", "from_station", "to_station"])
    (1, 2)
    >>> find_counterparts(["user1", "user2"]), find_counterparts(["user1", "user2"], is_header=True)
    (None, (0, 1))
    >>> find_counterparts(["tx", "sender", "receiver"], is_header=True)
    (1, 2)
    """
    words = [name_words(name) for name in names]
    known = _ENDS + _NUMBERED if is_header else _ENDS
    columns = range(len(names)) if among is None else among
    pairs = [
        (source, target)
        for source in columns
        for target in columns
        if _differing_words(words[source], words[target]) in known
        and (is_header or len(words[source]) > 1)
    ]
    return pairs[0] if len(pairs) == 1 else None


def _differing_words(source, target):
    """The words in which two names of equally many words differ; None unless it is one of each."""
    if len(source) != len(target):
        return None
    different = [pair for pair in zip(source, target, strict=True) if pair[0] != pair[1]]
    return different[0] if len(different) == 1 else None


def columns_parameter(columns, names):
    """How to choose columns: by name where names are plain, else by number.

    >>> print(columns_parameter((1, 2), ["id", "user", "friend"]))
    columns=('user', 'friend')
    >>> print(columns_parameter((0, 1), None))
    columns=(0, 1)
    """
    chosen = [_name_or_number(column, names) for column in columns]
    if any(isinstance(column, int) for column in chosen):
        chosen = list(columns)
    return Parameter("columns", tuple(chosen))


def time_parameter(column, names):
    """How to choose the column of times.

    >>> print(time_parameter(0, ["ts", "user", "friend"]))
    time='ts'
    """
    return Parameter("time", _name_or_number(column, names))


def _name_or_number(column, names):
    """The name of a column if the command line can hold it, else its number."""
    if names is None or names.count(names[column]) > 1:
        return column
    name = names[column]
    is_plain = name.isprintable() and name == name.strip() and not set(name) & set(",()'\"")
    return name if is_plain and name and not name.isdecimal() else column


def suggestion_in_words(suggestion, names):
    """What to give instead of a guess, as the end of a message."""
    if suggestion.ends is None:
        pieces = [
            "choose source and target, ",
            Parameter("columns", ("SOURCE", "TARGET")),
            ", or source, target and weight, ",
            Parameter("columns", ("SOURCE", "TARGET", "WEIGHT")),
            ", by name or by number from 0",
        ]
    else:
        ends = columns_parameter(suggestion.ends, names)
        pieces = ["give ", ends, " if these are source and target"]
    if suggestion.ends is not None and suggestion.weight is not None:
        all_three = (*suggestion.ends, suggestion.weight)
        pieces += [", or ", columns_parameter(all_three, names), " for the weights as well"]
        if names is not None and is_distance_name(names[suggestion.weight]):
            pieces += [", with ", Parameter("weights_are", "distance"), " if small is close"]
    if suggestion.time is not None:
        pieces += ["; ", time_parameter(suggestion.time, names), " reads the times"]
    return Message(*pieces)
