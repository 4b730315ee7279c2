"""Suggest columns of source, target, weight and time, for error messages.

A table that can be read in two ways is refused, and the message suggests columns: for
`id,user,friend` these are user and friend. A column is not an end of an edge if its name or its
values show that it is a row number, a quantity, a time or a date. If exactly two columns remain,
they are suggested; otherwise the choice is left to the user.
"""

from typing import NamedTuple

from graphsqueak.errors import Message, Parameter
from graphsqueak.sources.files.column_names import (
    excludes_ends,
    find_counterparts,
    is_distance_name,
    is_quantity_name,
    is_time_name,
)
from graphsqueak.sources.files.contents import Content


class Suggestion(NamedTuple):
    """Positions of the suggested columns; None if that is not clear."""

    ends: tuple[int, int] | None
    weight: int | None = None
    time: int | None = None


def suggest_columns(names, contents, *, ends=None):
    """Suggest source, target, weight and time.

    Parameters
    ----------
    names : list of str or None
        Names of the columns, if known.
    contents : list of Content
        What each column holds.
    ends : pair of int, optional
        Source and target, if their names show them.

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
    if ends is None:
        ends = _suggest_ends(names, contents)
    others = [column for column in range(len(contents)) if ends is None or column not in ends]

    def columns_of(content, is_name):
        return [
            column
            for column in others
            if contents[column] is content
            or (names and contents[column] is Content.INTEGERS and is_name(names[column]))
        ]

    weights = columns_of(Content.FRACTIONS, is_quantity_name)
    times = columns_of(Content.TIMES, is_time_name)
    if Content.DATES in contents:
        # The date and the time of day are in two columns, and neither can be read alone.
        times = []
    return Suggestion(
        ends,
        weight=weights[0] if len(weights) == 1 else None,
        time=times[0] if len(times) == 1 else None,
    )


def _suggest_ends(names, contents):
    """Return the two columns that can be ends of edges; None if not exactly two can."""
    possible = [
        column
        for column, content in enumerate(contents)
        if content in (Content.INTEGERS, Content.TEXTS)
        and (names is None or not excludes_ends(names[column]))
    ]
    if len(possible) == 2:
        return tuple(possible)
    # If there are more, names such as from_city and to_city show the ends.
    return find_counterparts(names, among=possible, is_header=True) if names else None


def columns_parameter(columns, names):
    """Return the argument that chooses columns: by name if names are plain, else by position.

    >>> print(columns_parameter((1, 2), ["id", "user", "friend"]))
    columns=('user', 'friend')
    >>> print(columns_parameter((0, 1), None))
    columns=(0, 1)
    """
    chosen = [_name_or_number(column, names) for column in columns]
    # Names and positions are not mixed.
    if any(isinstance(column, int) for column in chosen):
        chosen = list(columns)
    return Parameter("columns", tuple(chosen))


def time_parameter(column, names):
    """Return the argument that chooses the column of times.

    >>> print(time_parameter(0, ["ts", "user", "friend"]))
    time='ts'
    """
    return Parameter("time", _name_or_number(column, names))


def _name_or_number(column, names):
    """Return the name of a column if it can be given on the command line, else its position."""
    if names is None or names.count(names[column]) > 1:
        return column
    name = names[column]
    # On the command line, commas separate names, and digits are positions.
    is_plain = name.isprintable() and name == name.strip() and not set(name) & set(",()'\"")
    return name if is_plain and name and not name.isdecimal() else column


def suggestion_in_words(suggestion, names):
    """Return the end of a message: the arguments to give."""
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
