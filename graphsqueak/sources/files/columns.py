"""Which columns of a table hold the source, the target and the weight of an edge."""

from graphsqueak.errors import InputError

__all__ = ["choose_columns", "names_columns"]

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
_WEIGHTS = {"weight", "weights", "w", "value", "similarity", "strength", "affinity", "conductance"}


def names_columns(names):
    """Whether `names` has a known pair of names for the two ends of an edge.

    >>> names_columns(["From Node Id", "ToNodeId"]), names_columns(["ann", "bob"])
    (True, False)
    """
    return _ends(names) is not None


def choose_columns(n_columns, names, *, columns=None, weighted="auto"):
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

    Returns
    -------
    tuple of {"source", "target", "weight", "skip"}
        One per column.

    Examples
    --------
    >>> choose_columns(3, ["dst", "src", "w"])
    ('target', 'source', 'weight')
    >>> choose_columns(4, None, columns=(3, 0))
    ('target', 'skip', 'skip', 'source')
    """
    if columns is not None:
        chosen = _chosen(columns, n_columns, names)
    elif n_columns < 2:
        raise InputError(
            "one column where an edge needs two, source and target; if they are separated by an "
            "unusual character, name it (delimiter=)"
        )
    else:
        ends = _ends(names) if names else None
        if ends is None and n_columns > 3:
            raise InputError(
                f"{n_columns} columns{_listed(names)}, and no header that says which are source, "
                "target and weight; choose them, e.g. columns=(0, 1) or columns=(0, 1, 2)"
            )
        chosen = ends or [0, 1]
        if weighted is not False and n_columns > 2:
            chosen = [*chosen, _weight_column(n_columns, names, chosen, weighted)]
    if weighted is True and len(chosen) < 3:
        raise InputError("no weight column, but weighted=True asks for one; choose it (columns=)")
    if weighted is False:
        chosen = chosen[:2]
    roles = ["skip"] * n_columns
    for role, place in zip(("source", "target", "weight"), chosen, strict=False):
        roles[place] = role
    return tuple(roles)


def _ends(names):
    plain = ["".join(filter(str.isalnum, name.lower())) for name in names]
    for source, target in _PAIRS:
        if plain.count(source) == plain.count(target) == 1:
            return [plain.index(source), plain.index(target)]
    return None


def _weight_column(n_columns, names, ends, weighted):
    others = [place for place in range(n_columns) if place not in ends]
    if names is None:
        return others[0]
    known = [place for place in others if names[place].strip().lower() in _WEIGHTS]
    if known:
        return known[0]
    if weighted is True and len(others) == 1:
        return others[0]
    raise InputError(
        f"no column{_listed(names)} is called weight; say weighted=False to ignore the rest, or "
        "choose source, target and weight (columns=)"
    )


def _chosen(columns, n_columns, names):
    columns = [columns] if isinstance(columns, str | int) else list(columns)
    if len(columns) not in (2, 3):
        raise InputError(
            f"columns={columns} must have two or three entries: source, target, weight"
        )
    chosen = []
    for column in columns:
        if isinstance(column, str) and (names is None or column not in names):
            raise InputError(f"there is no column named {column!r}{_listed(names)}; see columns=")
        place = names.index(column) if isinstance(column, str) else int(column)
        if not 0 <= place < n_columns:
            raise InputError(
                f"there is no column {place}: {n_columns} columns are counted from 0; see columns="
            )
        chosen.append(place)
    if len(set(chosen)) < len(chosen):
        raise InputError(f"columns={columns} names a column twice")
    return chosen


def _listed(names):
    return f" ({', '.join(names)})" if names else ""
