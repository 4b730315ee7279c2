"""Edges that are still being written: the end of a growing file, or a pipe, as a stream of batches.

Whole lines become a batch as soon as they are there; a line that is half written waits for its
other half. Once there was an edge, empty batches come while nothing else does, a few a second, so
that whoever reads them can look at the clock.
"""

import io
import os
import select
import time as clock
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.files.parts import ByteStream, PathsLike
from graphsqueak.sources.files.reading import FileSource, detect_format, read_edges
from graphsqueak.sources.files.text import detect_text_schema, read_text

__all__ = ["follow_edges"]

_PIECE = 1 << 23  # bytes read at a time
_FIRST_LINES = 20  # that should be there before the columns are told,
_PATIENCE = 1.0  # unless no more come for so many seconds


def follow_edges(path: PathsLike, *, poll: float = 0.2, **reading: Any) -> EdgeSource:
    """Read edges from a file that grows, or from a pipe, as they come.

    A file is followed for ever: end the loop, or the program. A pipe ends with its writer.

    Parameters
    ----------
    path : str, Path or binary file object
        One plain text file; "-" is standard input.
    poll : float
        Seconds between two looks at a file to which nothing was added.
    **reading
        As of `read_edges`.

    Returns
    -------
    EdgeSource
        It can be read once.

    Examples
    --------
    >>> import io
    >>> source = follow_edges(io.BytesIO(b"ann bob\\nbob cy\\n"))
    >>> sum(batch.n_edges for batch in source), source.ids.tolist()
    (2, ['ann', 'bob', 'cy'])
    """
    source = read_edges(path, **reading)
    assert isinstance(source, FileSource)
    if len(source.parts) > 1 or source.options.duplicates == "once":
        raise InputError("one file or pipe can be followed, all duplicates summed; give one path")
    if source.parts[0].path is None and source.parts[0].file is None:
        raise InputError(
            f"{source.parts[0].name} cannot be followed: it is no file on disk and no pipe; read "
            "it as it is, or pipe it in"
        )
    return _FollowedFile(source.parts, source.options, batch_size=source.batch_size, poll=poll)


class _FollowedFile(FileSource):
    """The stream behind `follow_edges`."""

    def __init__(self, parts, options, *, batch_size, poll):
        super().__init__(parts, options, batch_size=batch_size)
        self.is_rereadable, self._poll = False, poll
        self._text_schema, self._line = None, 1

    def detect_schema(self):
        if self._input_schema is None:
            raise InputError(f"no edges in {self.parts[0].name}; check that this is the right file")
        return self._input_schema

    def _batches(self) -> Iterator[EdgeList]:
        check = self._make_chunk_check()
        builder = None
        for lines in self._whole_lines():
            if lines:
                opened = self._open(lines)
                if builder is None:
                    builder = self._make_builder()
                for chunk in opened.chunks:
                    yield from builder.add(check(chunk))
                self._set_counts(builder)
            if builder is not None:
                yield builder.rest()
        if builder is None:
            self.detect_schema()
        self.fraction_read = 1.0

    def _open(self, lines):
        """Some lines of the file, which the first ones say how to read."""
        stream = ByteStream(io.BytesIO(lines), name=self.parts[0].name)
        schema = self._text_schema
        if schema is not None:
            schema = replace(schema, start=0, first_line=self._line)
        else:
            self._text_schema = schema = detect_text_schema(stream, self.options)
        self._line += lines.count(b"\n")
        opened = read_text(stream, self.options, schema=schema)
        if self._input_schema is None:
            self._set_input_schema(opened, stream.name)
        return opened

    def _whole_lines(self):
        """Bytes that end with a line, empty while nothing comes; the first are some lines of data.

        Comments and a few lines are held back for a second, to see more of the file.
        """
        rest, held, since = b"", b"", clock.monotonic()
        for piece in self._pieces():
            cut = piece.rfind(b"\n") + 1
            lines, rest = (rest + piece[:cut], piece[cut:]) if cut else (b"", rest + piece)
            if self._text_schema is None:
                held += lines
                is_waiting = clock.monotonic() - since < _PATIENCE
                since = clock.monotonic() if lines else since
                if (held.count(b"\n") < _FIRST_LINES and is_waiting) or not self._has_data(held):
                    yield b""
                    continue
                lines, held = held, b""
            yield lines
        last = held + rest + (b"\n" if rest else b"")
        if last and (self._text_schema is not None or self._has_data(last)):
            yield last

    def _has_data(self, lines):
        stream = ByteStream(io.BytesIO(lines), name=self.parts[0].name)
        is_text = not stream.is_compressed and lines
        if lines and (not is_text or detect_format(stream, self.parts[0], self.options) != "text"):
            raise InputError(f"{stream.name} is no plain text; only such files can be followed")
        return bool(lines) and detect_text_schema(stream, self.options) is not None

    def _pieces(self):
        """Bytes as they come, empty while nothing does."""
        part = self.parts[0]
        if part.is_rereadable:
            yield from self._grown(part)
        elif part.path is not None:
            with open(part.path, "rb", buffering=0) as file:
                yield from self._piped(file)
        else:
            yield from self._piped(part.file)

    def _grown(self, part):
        with open(part.path, "rb", buffering=0) as file:
            while True:
                piece = file.read(_PIECE)
                yield piece
                if piece:
                    continue
                if not part.path.exists() or part.path.stat().st_size < file.tell():
                    raise InputError(
                        f"{part.name} was removed or cut while it was followed; start again"
                    )
                if not os.path.samestat(part.path.stat(), os.fstat(file.fileno())):
                    raise InputError(f"{part.name} was replaced while it was followed; start again")
                clock.sleep(self._poll)

    def _piped(self, file):
        try:
            handle = file.fileno()
        except (OSError, AttributeError):
            yield file.read()  # in memory
            return
        while True:
            if not select.select([handle], [], [], self._poll)[0]:
                yield b""
                continue
            piece = os.read(handle, _PIECE)
            if not piece:
                return
            yield piece
