"""Choose the columns of source, target, weight and time in a table of edges.

Columns are chosen by the user, by their names, or by position: the first two are source and target,
and the third is the weight. If there are four or more columns without names, or a third one that is
not named as a weight, the user must choose. A first column without a name under a header is an
index, which is skipped.
"""

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.files.ambiguities import (
    RULES_FOR_ENDS,
    PossibleEnds,
    columns_error,
    refuse_ambiguities,
)
from graphsqueak.sources.files.column_names import (
    find_ends,
    is_distance_name,
    is_index_name,
    is_weight_name,
)
from graphsqueak.sources.files.contents import Content
from graphsqueak.sources.files.suggestions import suggest_columns


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
    """Return the role of each column.

    Parameters
    ----------
    n_columns : int
        Number of columns.
    names : list of str or None
        Their names, if known.
    columns : sequence of int or str, optional
        Source, target and, if wanted, weight, by position from 0 or by name.
    weighted : bool or "auto"
        Whether a weight is required (True) or ignored (False).
    time : int or str, optional
        The column of times.
    weights_are : {"similarity", "distance"}, optional
        "distance" requires a weight, which may be called distance, cost or the like.
    contents : list of Content, optional
        What each column holds, if known.

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
        # Distances are in the column of weights.
        weighted = True
    time_column = None if time is None else _position(time, n_columns, names, "time")
    if columns is None:
        contents = contents or [Content.INTEGERS] * n_columns
        chosen = _infer_columns(names, contents, time_column, weighted, weights_are)
    else:
        chosen = _positions(columns, n_columns, names)
        if time_column in chosen:
            raise InputError(
                Parameter("time", time),
                " is one of ",
                Parameter("columns", tuple(columns)),
                "; choose another",
            )
    if weighted is True and len(chosen) < 3:
        wanted = Parameter("weighted", True)
        if weights_are is not None:
            wanted = Parameter("weights_are", weights_are)
        raise InputError(
            "no weight column, but ", wanted, " needs one; choose it (", Parameter("columns"), ")"
        )
    roles = ["skip"] * n_columns
    wanted_roles = ("source", "target") if weighted is False else ("source", "target", "weight")
    # There may be no weight among the chosen columns, or one that is ignored.
    for role, column in zip(wanted_roles, chosen, strict=False):
        roles[column] = role
    if time_column is not None:
        roles[time_column] = "time"
    return tuple(roles)


def _infer_columns(names, contents, time_column, weighted, weights_are):
    """Return source, target and perhaps weight, by name or by position."""
    n_columns = len(contents)
    others = [column for column in range(n_columns) if column != time_column]
    if len(others) < 2:
        raise InputError(
            "one column where an edge needs two, source and target; if they are "
            "separated by an unusual character, name it (",
            Parameter("delimiter"),
            ")",
        )
    candidates = [
        column
        for column in others
        if contents[column] is not Content.NOTHING
        and not (names and is_index_name(names[column], column))
    ]
    # Columns that look like an index, or are empty, are ends if there are no others.
    if len(candidates) < 2:
        candidates = others
    # Neither an index nor the chosen column of times is suggested for anything else.
    contents = [contents[c] if c in candidates else Content.OTHER for c in range(n_columns)]
    ends = find_ends(names) if names else None
    suggestion = suggest_columns(names, contents, ends=ends)
    possible = PossibleEnds(names, contents, candidates, suggestion)
    if ends is None:
        refuse_ambiguities(RULES_FOR_ENDS, possible)
        ends = candidates[:2]
    if weighted is False or len(candidates) < 3:
        return [*ends]
    others = [column for column in candidates if column not in ends]
    weight = _weight_column(others, names, weighted, weights_are)
    if weight is None:
        raise columns_error("none of them is called weight", possible)
    return [*ends, weight]


def _weight_column(others, names, weighted, weights_are):
    """Return the first column that is named as a weight; None if there is none."""
    # Without names, the third column is the weight.
    if names is None:
        return others[0]
    named = [column for column in others if is_weight_name(names[column])]
    # A table may have both a distance and a weight: the distance is meant.
    if weights_are == "distance":
        named = [column for column in others if is_distance_name(names[column])] or named
    if named:
        return named[0]
    # If a weight is required, it can have any name, unless there is a choice.
    return others[0] if weighted is True and len(others) == 1 else None


def _positions(columns, n_columns, names):
    """Return the positions of the columns that the user has chosen."""
    columns = [columns] if isinstance(columns, str | int) else list(columns)
    if len(columns) not in (2, 3):
        raise InputError(
            Parameter("columns", columns), " must have two or three entries: source, target, weight"
        )
    positions = [_position(column, n_columns, names, "columns") for column in columns]
    if len(set(positions)) < len(positions):
        raise InputError(Parameter("columns", columns), " names a column twice")
    return positions


def _position(column, n_columns, names, option):
    """Return the position of the column that an option names, by name or by position."""
    if isinstance(column, str) and (names is None or column not in names):
        listed = f" ({', '.join(names)})" if names else ""
        raise InputError(f"there is no column named {column!r}{listed}; see ", Parameter(option))
    position = names.index(column) if isinstance(column, str) else int(column)
    if not 0 <= position < n_columns:
        raise InputError(
            f"there is no column {position}: {n_columns} columns are counted from 0; see ",
            Parameter(option),
        )
    return position
