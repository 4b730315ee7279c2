"""Rules that refuse a table of edges which can be read in two ways.

A wrong guess would give a graph that looks right. So each rule looks for one ambiguity in the first
lines of a table, and raises an InputError that quotes the lines and names the argument that
decides.

There are three lists of rules, by what is known when they are applied (`refuse_ambiguities`):

`RULES_FOR_ENDS`
    The names of the columns do not show source and target: there are too many columns, one of the
    first two holds times, or others look more like ends.
`RULES_FOR_UNNAMED_COLUMNS`
    Three columns without names: dates, an index, times or texts where an edge and its weight are
    expected.
`RULES_FOR_LINES`
    The columns are chosen: times as weights, a first line of names that do not occur below, ids 1
    and 1.0 among texts, and two kinds of nodes numbered alike, so that user 51 and item 51 would
    become one node.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from graphsqueak.errors import InputError, Message, Parameter
from graphsqueak.nodes.text_ids import TextIds
from graphsqueak.sources.files.column_names import is_time_name, name_two_entities
from graphsqueak.sources.files.contents import Content, content_of, time_unit
from graphsqueak.sources.files.fields import (
    is_number,
    may_be_rounded,
    rounded_id_fault,
)
from graphsqueak.sources.files.scan import Scan, scan_block, tokens_at
from graphsqueak.sources.files.suggestions import (
    Suggestion,
    columns_parameter,
    suggestion_in_words,
    time_parameter,
)

# Lines from which a pattern in all of them is evidence: two short lines may agree by chance.
# With 2 or 6, golden text files are read differently.
MIN_LINES_FOR_PATTERN = 3
# The same if another explanation is likely: edges of a path are numbered 1, 2, 3, ..., and each
# name occurs once in a short list. With 4, a golden text file is read differently, with 16 none.
MIN_LINES_FOR_LIKELY_PATTERN = 8
# Fraction of lines below an unknown header whose names both occur only there: in a graph, a few
# edges are components of their own. Halved or doubled, no test file is read differently.
_MAX_FRACTION_OF_SINGLE_EDGES = 0.01

_DECIMAL_COMMA = re.compile(rb"[+-]?\d+,\d+")
_WHOLE_FLOAT = re.compile(rb"(-?[0-9]+)\.0*")


def refuse_ambiguities(rules: Iterable[Callable[[Any], None]], evidence: Any) -> None:
    """Apply rules to the evidence: the first one that finds an ambiguity raises an InputError."""
    for rule in rules:
        rule(evidence)


# Rules for ends


@dataclass(frozen=True)
class PossibleEnds:
    """Columns that can be source and target, if their names do not show which are.

    `candidates` are all columns except an index, empty ones and the chosen column of times.
    """

    names: list[str] | None
    contents: list[Content]
    candidates: list[int]
    suggestion: Suggestion


def columns_error(problem, columns):
    """Return the error about columns that can be read in two ways, with a suggestion."""
    listed = f" ({', '.join(columns.names)})" if columns.names else ""
    return InputError(
        f"{len(columns.contents)} columns{listed}, and {problem}; ",
        suggestion_in_words(columns.suggestion, columns.names),
    )


def _too_many_columns(columns):
    if len(columns.candidates) > 3:
        raise columns_error("no header says which are source, target and weight", columns)


def _end_holds_times(columns):
    names = columns.names
    ends = columns.candidates[:2]
    for column in ends:
        is_named_as_time = names is not None and is_time_name(names[column])
        if not is_named_as_time and columns.contents[column] not in (Content.TIMES, Content.DATES):
            continue
        shown = names[column] if names else column
        if len(columns.candidates) == 2:
            raise InputError(
                f"column {shown} of two seems to hold dates or times; give ",
                columns_parameter(ends, names),
                " if they are nodes",
            )
        raise columns_error(f"column {shown} seems to hold dates or times, not nodes", columns)


def _others_look_like_ends(columns):
    suggested = columns.suggestion.ends
    if len(columns.candidates) == 3 and suggested not in (None, tuple(columns.candidates[:2])):
        raise columns_error("the first two do not seem to be source and target", columns)


RULES_FOR_ENDS = [_too_many_columns, _end_holds_times, _others_look_like_ends]


# Rules for three columns without names


class UnnamedColumns(NamedTuple):
    """Fields of sampled lines of three columns without names, and what `weighted` is set to."""

    firsts: list[bytes]
    seconds: list[bytes]
    thirds: list[bytes]
    weighted: bool | str


def _third_column_holds_dates(columns):
    thirds = columns.thirds
    if columns.weighted != "auto" or not thirds or is_number(thirds[0]):
        return
    content = content_of(thirds)
    if content not in (Content.TIMES, Content.DATES):
        return
    remedy = Message(Parameter("weighted", False), " to ignore them")
    if content is Content.TIMES:
        remedy = Message(time_parameter(2, None), " to read them, ", remedy)
    shown = thirds[0].decode("utf-8", "replace")
    raise InputError(
        f"the third column holds dates or times, such as {shown}, not weights; give ", remedy
    )


def _first_column_counts_lines(columns):
    thirds = columns.thirds
    has_numbers = any(map(is_number, thirds))
    # Weights of edges that are numbered by their source are common. Texts in the third column are
    # not weights, so then the second and third are the ends.
    fewest = MIN_LINES_FOR_LIKELY_PATTERN if has_numbers else MIN_LINES_FOR_PATTERN
    if columns.weighted is True or len(thirds) < fewest or len(set(thirds)) == 1:
        return
    may_be_ids = not has_numbers or all(map(bytes.isdigit, thirds))
    if not may_be_ids or content_of(thirds) in (Content.TIMES, Content.DATES):
        return
    counts = ([b"%d" % (start + k) for k in range(len(thirds))] for start in (0, 1))
    if columns.firsts not in counts:
        return
    edge = (0, 1, 2) if all(map(is_number, thirds)) else (0, 1)
    raise InputError(
        "the first column counts the lines; give ",
        columns_parameter((1, 2), None),
        " if it is an index, ",
        columns_parameter(edge, None),
        " if it is the source of an edge",
    )


def _first_column_holds_times(columns):
    """Unix times, or days such as 20040417, in the first of three columns of ids."""
    are_digits = all(map(bytes.isdigit, columns.firsts))
    if columns.weighted is True or len(columns.firsts) < MIN_LINES_FOR_PATTERN or not are_digits:
        return
    contents = {content_of(columns.seconds), content_of(columns.thirds)}
    if contents not in ({Content.INTEGERS}, {Content.TEXTS}):
        return
    firsts = np.array(columns.firsts, dtype=float)
    unit = time_unit(firsts)
    # Sources that are numbered like times have targets that are numbered like times.
    targets = [float(field) for field in columns.seconds if is_number(field)]
    if unit is None or max(targets, default=0.0) >= firsts.min() / 10:
        return
    raise InputError(
        f"the first column looks like times ({unit}, such as {firsts[0]:.0f}), not nodes; give ",
        columns_parameter((1, 2), None),
        " if these are source and target, with ",
        time_parameter(0, None),
        " to read the times; ",
        columns_parameter((0, 1, 2), None),
        " if the first column holds nodes",
    )


def _third_column_holds_texts(columns):
    texts = [field for field in columns.thirds if field and not is_number(field)]
    # A number with a decimal comma, and nan, are reported as the bad weights that they are.
    texts = [field for field in texts if not _DECIMAL_COMMA.fullmatch(field)]
    texts = [field for field in texts if field.lstrip(b"+-").lower() not in (b"nan", b"inf")]
    if columns.weighted != "auto" or len(texts) <= len(columns.thirds) / 2:
        return
    shown = texts[0].decode("utf-8", "replace")
    raise InputError(
        f"the third column holds texts such as {shown!r}, not weights; give ",
        Parameter("header", True),
        " if the first line names the columns, or choose source and target, ",
        columns_parameter((0, 1), None),
        " if they are the first two",
    )


RULES_FOR_UNNAMED_COLUMNS = [
    _third_column_holds_dates,
    _first_column_counts_lines,
    _first_column_holds_times,
    _third_column_holds_texts,
]


# Rules for lines whose columns and ids are known


@dataclass(frozen=True)
class SampledLines:
    """Sampled lines below a header, with their schema and the options of the reader."""

    schema: Any
    options: Any
    text: np.ndarray
    first_line: bytes
    first_comment: bytes

    @cached_property
    def scan(self) -> Scan:
        return scan_block(self.text, self.schema, skip_bad=True)

    @property
    def has_text_ids(self) -> bool:
        return self.schema.kind == "text"


def refuse_times(values):
    """Raise an InputError about weights that look like times."""
    unit = time_unit(values) if len(values) else None
    if unit is None:
        return
    raise InputError(
        f"the third column looks like times ({unit}, such as {values[0]:.0f}), not weights; give ",
        Parameter("time", 2),
        " to read it as times, ",
        Parameter("weighted", False),
        " to ignore it, ",
        Parameter("weighted", True),
        " to take it as weights",
    )


def _weights_look_like_times(lines):
    options = lines.options
    is_chosen = options.columns is not None or options.weights_are is not None
    is_asked = not is_chosen and options.weighted == "auto" and not lines.schema.is_named
    if is_asked and lines.scan.weight is not None:
        refuse_times(lines.scan.weight)


def _first_line_is_unlike_others(lines):
    """Both names in the first line do not occur below, as in a header of unknown words."""
    is_asked = lines.options.header == "auto" and not lines.schema.is_named
    if not is_asked or not lines.has_text_ids:
        return
    spans = lines.scan.ends
    if len(spans) < MIN_LINES_FOR_LIKELY_PATTERN:
        return
    nodes = TextIds().number(lines.text, spans)
    is_single = np.bincount(nodes.ravel())[nodes].max(axis=1) == 1
    if not is_single[0] or np.mean(is_single[1:]) > _MAX_FRACTION_OF_SINGLE_EDGES:
        return
    shown = lines.first_line.decode("utf-8", "replace")
    raise InputError(
        f"the names in the first line, {shown!r}, occur nowhere below: give ",
        Parameter("header", True),
        " if they name the columns, ",
        Parameter("header", False),
        " if it is an edge",
    )


def _one_number_has_two_spellings(lines):
    """1 and 1.0 are one node in a column of integers, and two texts next to ids such as ann."""
    if not lines.has_text_ids or lines.options.ids != "auto":
        return
    start, stop = lines.scan.ends.reshape(-1, 2).T
    ids = set(tokens_at(lines.text, start, stop).cast("large_binary").unique().to_pylist())
    for field in sorted(ids):
        whole = _WHOLE_FLOAT.fullmatch(field)
        if whole and whole[1] in ids:
            raise InputError(
                f"ids {whole[1].decode()} and {field.decode()} may be one node, but other "
                "ids are not integers; give ",
                Parameter("ids", "text"),
                " to keep them apart, or write them alike",
            )
    # Numbers became text ids because of one that may be rounded.
    rounded = sorted(filter(may_be_rounded, ids)) if all(map(is_number, ids)) else []
    if rounded:
        raise InputError(rounded_id_fault(repr(rounded[0].decode())))


def _comment_declares_two_kinds(lines):
    """KONECT begins a file whose columns are numbered apart with `% bip unweighted` or the like."""
    is_asked = lines.options.bipartite == "auto" and not lines.has_text_ids
    if not is_asked or lines.first_comment.split()[:1] != [b"bip"]:
        return
    raise InputError(
        f"the comment {lines.first_comment.decode('utf-8', 'replace')!r} declares two kinds of "
        "nodes, each numbered from 1; give ",
        Parameter("bipartite", True),
        " to keep them apart, ",
        Parameter("bipartite", False),
        " to join nodes of the same number",
    )


def refuse_two_entities(names):
    """Raise an InputError about numbered columns that are named after two kinds of entities."""
    if not name_two_entities(names):
        return
    raise InputError(
        f"columns {names[0]} and {names[1]} name two kinds of things by number: "
        f"is {names[0]} 1 another node than {names[1]} 1? give ",
        Parameter("bipartite", True),
        " to keep them apart, ",
        Parameter("bipartite", False),
        " to join them",
    )


def _columns_name_two_kinds(lines):
    is_asked = lines.options.bipartite == "auto" and not lines.has_text_ids
    if is_asked and lines.schema.names:
        refuse_two_entities(lines.schema.columns[:2])


RULES_FOR_LINES = [
    _weights_look_like_times,
    _first_line_is_unlike_others,
    _one_number_has_two_spellings,
    _comment_declares_two_kinds,
    _columns_name_two_kinds,
]
