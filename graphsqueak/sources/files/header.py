"""Rules that decide whether the first line of a text file names the columns.

The rules of `HEADER_RULES` are applied in order. Each returns True (a header), False (an edge) or
None (no evidence). The first result that is not None decides; without one the line is an edge. A
first line that may be both is an error. A first line of two integers is an edge here; if it can
also be the number of nodes and of lines, reading to the end of the file raises an error.
"""

from dataclasses import dataclass
from functools import cached_property

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.files.ambiguities import MIN_LINES_FOR_PATTERN
from graphsqueak.sources.files.column_names import are_known_names, find_ends
from graphsqueak.sources.files.fields import is_number

# Spellings of a missing value, which a name of a column is not.
_MISSING = (b"", b"na", b"n/a", b"nan", b"null", b"none", b"-", b"?")


@dataclass(frozen=True)
class FirstLine:
    """The fields of the first line and of the sampled lines below it.

    `chosen` are the columns that the user, or an earlier file of the same input, has named.
    """

    fields: list[bytes]
    below: list[list[bytes]]
    chosen: tuple = ()

    @cached_property
    def names(self) -> list[str]:
        return [field.decode("utf-8", "replace") for field in self.fields]

    @cached_property
    def repeated(self) -> bytes | None:
        """The first field that occurs again below, in any column."""
        return next((field for row in self.below for field in row if field in self.fields), None)

    @property
    def has_number(self) -> bool:
        return any(map(is_number, self.fields))


def has_header(first: FirstLine) -> bool:
    """Whether the first line names the columns.

    >>> has_header(FirstLine([b"a", b"b"], below=[[b"1", b"2"], [b"2", b"3"]]))
    True
    >>> has_header(FirstLine([b"ann", b"bob"], below=[[b"bob", b"cy"]]))
    False
    """
    decisions = (rule(first) for rule in HEADER_RULES)
    return next((decision for decision in decisions if decision is not None), False)


def lacks_name_of_row_names(fields):
    """Whether the first line has one name fewer than columns, as R writes a data frame."""
    first = fields[0]
    # The row names have no name of their own.
    is_shorter = len(fields) > 1 and all(len(row) == len(first) + 1 for row in fields[1:])
    return is_shorter and len(first) > 1 and not any(map(is_number, first))


def _has_chosen_names(first):
    chosen = {column for column in first.chosen if isinstance(column, str)}
    return True if chosen and chosen <= set(first.names) else None


def _names_source_and_target(first):
    if find_ends(first.names) is None:
        return None
    # `write_edges` begins files with these two names; nodes may have the same names.
    is_ours = first.names[:2] == ["source", "target"]
    if first.repeated is not None and not is_number(first.repeated) and not is_ours:
        raise InputError(
            f"the first line, {', '.join(first.names)}, may name the columns or be an edge, "
            f"since {first.repeated.decode('utf-8', 'replace')!r} occurs below; give ",
            Parameter("header", True),
            " or ",
            Parameter("header", False),
        )
    return True


def _consists_of_known_names(first):
    is_possible = not first.has_number and first.repeated is None
    return True if is_possible and are_known_names(first.names) else None


def _cannot_be_compared(first):
    # Without lines below, or with a single column, there is no evidence.
    return False if not first.below or len(first.fields) < 2 else None


def _has_unnamed_index(first):
    # pandas and R write no name above their index.
    return True if not first.fields[0] and all(row and row[0] for row in first.below) else None


def _stands_above_numbers(first):
    # Later columns of a header may be numbers, such as years.
    is_text = not any(map(is_number, first.fields[:2]))
    return True if is_text and _all_ends(first.below, is_number) else None


def _stands_above_ids_with_digits(first):
    """No digit is in the first line, and all ids below have digits, such as u17."""
    if len(first.below) < MIN_LINES_FOR_PATTERN or any(map(_has_digit, first.fields[:2])):
        return None
    return True if _all_ends(first.below, _has_digit) else None


def _numbers_the_columns(first):
    """The names are 0, 1, 2, ..., as pandas writes those of unnamed columns."""
    is_count = first.fields == [b"%d" % k for k in range(len(first.fields))]
    if len(first.below) < MIN_LINES_FOR_PATTERN or not is_count:
        return None
    return _all_ends(first.below, lambda field: not is_number(field))


def _may_be_edge(first):
    """There are two columns of texts, uneven lines, or a number or a missing value in the line."""
    n_columns = len(first.fields)
    if n_columns < 3 or any(len(row) != n_columns for row in first.below):
        return False
    has_missing = any(field.lower() in _MISSING for field in first.fields)
    return False if first.has_number or has_missing else None


def _stands_above_column_of_numbers(first):
    # A weight or a time is below the name of its column.
    columns = zip(*first.below, strict=True)
    return True if any(all(map(is_number, column)) for column in columns) else None


# Names that the user has given, or that are known, come before patterns of the values.
HEADER_RULES = [
    _has_chosen_names,
    _names_source_and_target,
    _consists_of_known_names,
    _cannot_be_compared,
    _has_unnamed_index,
    _stands_above_numbers,
    _stands_above_ids_with_digits,
    _numbers_the_columns,
    _may_be_edge,
    _stands_above_column_of_numbers,
]


def _all_ends(rows, test):
    return all(len(row) >= 2 and test(row[0]) and test(row[1]) for row in rows)


def _has_digit(field):
    return any(48 <= byte < 58 for byte in field)
