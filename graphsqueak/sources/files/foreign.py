"""Recognize files of formats that are not read, and explain how to convert them."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from graphsqueak.errors import InputError

_NETWORKX_READERS = {
    ".graphml": ("GraphML", "read_graphml"),
    ".gexf": ("GEXF", "read_gexf"),
    ".gml": ("GML", "read_gml"),
    ".net": ("a Pajek file", "read_pajek"),
}


class _Format(NamedTuple):
    """How to recognize a format by its first bytes, in lower case, and what to do with the file."""

    pattern: re.Pattern
    message: str
    suffixes: tuple = ()


_FORMATS = (
    _Format(
        re.compile(rb"(?s:.*?)^p (edge|col|sp|max|cut) +\d+ +\d+ *\r?$", re.MULTILINE),
        "is a DIMACS file, which is not read; pass its edges alone: "
        "grep '^[ae] ' {quoted} | cut -d ' ' -f 2- | graphsqueak info -",
    ),
    _Format(
        re.compile(b"(\xef\xbb\xbf)?sep="),
        "begins with a line for Excel, 'sep='; remove it: tail -n +2 {quoted} | graphsqueak info -",
    ),
    _Format(
        re.compile(b"<!doctype html|<html"),
        "is a page of HTML, not a list of edges; download the file itself",
    ),
    _Format(
        re.compile(rb"<\?xml"),
        "is XML, which is not read; write a line 'source,target' per edge",
    ),
    _Format(
        re.compile(rb"[{\[]"),
        "is JSON, which is not read; write a line 'source,target' per edge, e.g. with "
        "jq -r '.links[] | [.source, .target] | @csv'",
        suffixes=(".json", ".jsonl"),
    ),
)


def refuse_foreign(stream):
    """Raise an InputError if a stream holds a graph in a format that is not read.

    Parameters
    ----------
    stream : ByteStream
        At its beginning.
    """
    name = stream.name
    suffix = Path(name.lower()).suffix
    if suffix in _NETWORKX_READERS:
        form, reader = _NETWORKX_READERS[suffix]
        raise InputError(
            f"{name} is {form}, which is not read; in Python, convert it: write_edges(EdgeList"
            f".from_networkx(networkx.Graph(networkx.{reader}({name!r}))), 'edges.tsv')"
        )
    beginning = stream.peek(1000)[:1000].lstrip().lower()
    for form in _FORMATS:
        if suffix in form.suffixes or form.pattern.match(beginning):
            raise InputError(f"{name} {form.message.replace('{quoted}', shlex.quote(name))}")


def refuse_binary(sample, name):
    """Raise an InputError if the first bytes of a file are not lines of UTF-8 or ASCII text."""
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name} is UTF-16 text; convert it to UTF-8 (iconv -f utf-16 -t utf-8)")
    if b"\0" in sample:
        raise InputError(
            f"{name} is neither text nor a known format (Parquet, Arrow, gzip, zstd, bzip2); "
            "convert it to one of these"
        )
    if b"\r" in sample and b"\n" not in sample:
        raise InputError(
            f"{name} ends its lines with carriage returns alone; convert them (tr '\\r' '\\n')"
        )
