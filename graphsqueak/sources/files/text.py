"""Read a text file of edges, one line each, block by block."""

from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.sources.edge_source import Chunk
from graphsqueak.sources.files.dialect import Scan, detect_dialect, scan_block
from graphsqueak.sources.files.fields import find_fault, is_utf8
from graphsqueak.sources.files.parts import line_blocks
from graphsqueak.system.threads import map_ahead

__all__ = ["ScannedBlock", "doubtful_count_error", "first_look", "read_text", "scan_lines"]

_SAMPLE = 1 << 20
_LONGEST_PREAMBLE = 1 << 26


class ScannedBlock(NamedTuple):
    """Lines of a file, what they hold, the number of the first, and how far the file is read."""

    text: np.ndarray
    scan: Scan
    line_number: int
    fraction_read: float


def read_text(stream, options, *, kind=None, dialect=None):
    """Read the lines of `stream`.

    Parameters
    ----------
    stream : ByteStream
        At its beginning.
    options : ReadOptions
        What the user has set.
    kind : {"int64", "uint64", "text"}, optional
        Kind of the ids, if earlier files of the same stream have settled it.
    dialect : Dialect, optional
        Of a piece of a file, whose beginning says what it is.

    Returns
    -------
    kind, is_weighted, chunks : str, bool, iterator of Chunk
        None, False and nothing for a file without a line of data.
    """
    doubts = dialect is None and options.header == "auto"
    if dialect is None:
        dialect = first_look(stream, options, kind)
    if dialect is None:
        return None, False, iter(())
    doubts &= dialect.kind != "text" and len(dialect.roles) == 2 and not dialect.is_named
    return dialect.kind, "weight" in dialect.roles, _chunks(stream, dialect, options, doubts)


def first_look(stream, options, kind=None):
    """The `Dialect` of a stream at its beginning; None if it holds no line of data."""
    size = _SAMPLE
    while True:
        sample = stream.peek(size)
        is_whole = len(sample) < size
        whole_lines = sample if is_whole else sample[: sample.rfind(b"\n") + 1] or sample
        dialect = detect_dialect(whole_lines, options, name=stream.name, kind=kind)
        if dialect is not None or is_whole or size >= _LONGEST_PREAMBLE:
            return dialect
        size *= 4


def _chunks(stream, dialect, options, doubts):
    doubt = _CountDoubt() if doubts else None
    for block in scan_lines(stream, dialect, options):
        if doubt and not doubt.remains(block.scan.ends):
            doubt = None
        yield Chunk(
            block.scan.ends,
            block.scan.weight,
            text=block.text if dialect.kind == "text" else None,
            n_bad_lines=block.scan.n_bad,
            fraction_read=block.fraction_read,
        )
    if doubt and doubt.is_exact:
        raise doubtful_count_error(stream.name, f"{doubt.n_nodes} {doubt.n_lines}")


def doubtful_count_error(name, line):
    """What to say of a first line that may count nodes and lines."""
    return InputError(
        f"{name}: its first line, '{line}', may be an edge or count the nodes and edges that "
        "follow; give header=True (--header) to skip it, header=False (--no-header) to keep it"
    )


class _CountDoubt:
    """Whether the first line could be "n m": m lines follow, and no id in them exceeds n."""

    def __init__(self):
        self.n_nodes = None
        self.n_lines = self._n_seen = 0

    def remains(self, ends):
        """Take the next lines; False once the first line cannot be a count."""
        if self.n_nodes is None and len(ends):
            self.n_nodes, self.n_lines = ends[0].tolist()
            ends = ends[1:]
        self._n_seen += len(ends)
        return self._n_seen <= self.n_lines and ends.max(initial=0) <= (self.n_nodes or 0)

    @property
    def is_exact(self):
        return self._n_seen == self.n_lines > 0


def scan_lines(stream, dialect, options):
    """Yield a `ScannedBlock` after the other; a bad line that is not skipped is an error."""
    skip_bad = options.on_bad_line == "skip"

    def work(drawn):
        text, fraction = drawn
        scan = scan_block(text, dialect, skip_bad=skip_bad)
        if dialect.kind == "text" and text.max() >= 128:
            scan = _without_broken_text(text, scan, skip_bad=skip_bad)
        return text, scan, fraction

    texts = line_blocks(stream, skip=dialect.start, size=options.block_bytes)
    blocks = ((text, stream.fraction_read) for text in texts)
    line_number = dialect.first_line
    for text, scan, fraction in map_ahead(work, blocks):
        if scan.bad_line >= 0 and not skip_bad:
            line = text[scan.bad_start :].tobytes().partition(b"\n")[0].removesuffix(b"\r")
            _, fault = find_fault(line, dialect)
            raise InputError(f"{stream.name}, line {line_number + scan.bad_line}: {fault}")
        yield ScannedBlock(text, scan, line_number, fraction)
        line_number += scan.n_lines


def _without_broken_text(text, scan, *, skip_bad):
    """Treat lines whose ids are not UTF-8 as bad; comments may hold any bytes."""
    if is_utf8(text):
        return scan
    good = np.array([is_utf8(text[a:b]) and is_utf8(text[c:d]) for a, b, c, d in scan.ends])
    if good.all():
        return scan
    n_bad = scan.n_bad + int(np.count_nonzero(~good))
    if skip_bad:
        weight = None if scan.weight is None else scan.weight[good]
        return scan._replace(ends=scan.ends[good], weight=weight, n_bad=n_bad)
    before = text[: scan.ends[np.argmin(good), 0]].tobytes()
    return scan._replace(bad_line=before.count(b"\n"), bad_start=before.rfind(b"\n") + 1)
