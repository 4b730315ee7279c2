"""Edges that are still being written: a growing file or a pipe as a stream of batches.

Complete lines become a batch as soon as they are written. Between them, after the first edge, empty
batches are yielded a few times per second, so that the consumer can act at regular times.
"""

from __future__ import annotations

import io
import os
import queue
import threading
import time as clock
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.files.ambiguities import MIN_LINES_FOR_LIKELY_PATTERN
from graphsqueak.sources.files.inflating import PIECE_BYTES
from graphsqueak.sources.files.parts import ByteStream, PathsLike
from graphsqueak.sources.files.reading import FileSource, detect_format, read_edges
from graphsqueak.sources.files.text import detect_text_schema, read_text


def follow_edges(
    path: PathsLike, *, poll: float = 0.2, schema_timeout: float = 1.0, **reading: Any
) -> EdgeSource:
    """Read edges from a growing file or from a pipe as they are written.

    A file is followed forever: end the loop, or the program. A pipe ends when its writer closes it.

    Parameters
    ----------
    path : str, Path or binary file object
        One plain text file; "-" is standard input.
    poll : float
        Seconds between two checks of a file that has not grown.
    schema_timeout : float
        The schema is inferred from the first lines: a header alone, or a few lines, may be
        ambiguous. If no line comes for this number of seconds, those that came are used.
    **reading
        Options of `read_edges`.

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
    if len(source.parts) > 1 or source.options.duplicates != "sum":
        raise InputError(
            "one file or pipe can be followed, all duplicates summed; pass a single path"
        )
    (part,) = source.parts
    if part.path is None and part.file is None:
        raise InputError(
            f"{part.name} cannot be followed: it is neither a local file nor a pipe; use "
            "read_edges, or pipe it in"
        )
    return _FollowedFile(source, poll=poll, schema_timeout=schema_timeout)


class _FollowedFile(FileSource):
    """Stream of the edges of a growing file, returned by `follow_edges`."""

    def __init__(self, source, *, poll, schema_timeout):
        super().__init__(source.parts, source.options, batch_size=source.batch_size)
        self.is_rereadable = False
        self._poll = poll
        self._schema_timeout = schema_timeout
        # None until there are enough lines to infer it.
        self._text_schema = None
        # Number of the next line in the file, for messages.
        self._line_number = 1

    def detect_schema(self):
        """Return the inferred schema, which is known after the first edges."""
        if self._input_schema is None:
            raise InputError(f"no edges in {self.parts[0].name}; check that this is the right file")
        return self._input_schema

    def _batches(self) -> Iterator[EdgeList]:
        check = self._make_chunk_check()
        batcher = None
        for lines in self._complete_lines():
            if lines:
                opened = self._open(lines)
                if batcher is None:
                    batcher = self._make_batcher()
                for chunk in opened.chunks:
                    yield from batcher.add_chunk(check(chunk))
                self._set_counts(batcher)
            # Also if no line came, so that the consumer can act: see above.
            if batcher is not None:
                yield batcher.rest()
        if batcher is None:
            # Raises an error that names the file.
            self.detect_schema()
        self.fraction_read = 1.0

    def _open(self, lines):
        """Return these lines as an opened file, with the schema of the first lines."""
        schema = self._text_schema
        if self._line_number > 1:
            # Later lines have no header.
            schema = replace(schema, start=0, first_line=self._line_number)
        stream = self._stream_of(lines)
        self._line_number += lines.count(b"\n")
        opened = read_text(stream, self.options, schema=schema)
        if self._input_schema is None:
            self._set_input_schema(opened, stream.name)
        return opened

    def _complete_lines(self):
        """Yield bytes of complete lines, empty if none came; the first have data.

        The first lines are collected until there are enough to infer the schema.
        """
        incomplete = b""
        collected = b""
        last_arrival = clock.monotonic()
        for piece in self._pieces():
            # The writer may be in the middle of a line.
            lines, newline, incomplete = (incomplete + piece).rpartition(b"\n")
            lines += newline
            if self._text_schema is None:
                collected += lines
                is_waiting = clock.monotonic() - last_arrival < self._schema_timeout
                if lines:
                    last_arrival = clock.monotonic()
                # With a header, these are the lines that every rule for ambiguities needs.
                is_short = collected.count(b"\n") <= MIN_LINES_FOR_LIKELY_PATTERN
                if (is_short and is_waiting) or not self._infer_schema(collected):
                    yield b""
                    continue
                lines = collected
                collected = b""
            yield lines
        # The last line may have no end.
        rest = collected + incomplete + (b"\n" if incomplete else b"")
        if rest and (self._text_schema is not None or self._infer_schema(rest)):
            yield rest

    def _stream_of(self, lines):
        return ByteStream(io.BytesIO(lines), name=self.parts[0].name)

    def _infer_schema(self, lines):
        """Return whether lines other than comments came, which show the schema.

        An InputError is raised if the file is not plain text.
        """
        if not lines:
            return False
        (part,) = self.parts
        stream = self._stream_of(lines)
        if stream.is_compressed or detect_format(stream, part, self.options) != "text":
            raise InputError(f"{part.name} is not plain text; only text files can be followed")
        self._text_schema = detect_text_schema(stream, self.options)
        return self._text_schema is not None

    def _pieces(self):
        """Yield bytes as they are written, empty if there are none."""
        (part,) = self.parts
        if part.path is None:
            yield from self._read_pipe(part.file)
            return
        with open(part.path, "rb", buffering=0) as file:
            # A path may also be that of a named pipe.
            if part.is_rereadable:
                yield from self._read_growing(file, part)
            else:
                yield from self._read_pipe(file)

    def _read_growing(self, file, part):
        while True:
            piece = file.read(PIECE_BYTES)
            yield piece
            if piece:
                continue
            # Its end was reached. Edges that were read may have been removed or replaced since.
            if not part.path.exists() or part.path.stat().st_size < file.tell():
                raise InputError(
                    f"{part.name} was removed or truncated while it was followed; start again"
                )
            if not os.path.samestat(part.path.stat(), os.fstat(file.fileno())):
                raise InputError(f"{part.name} was replaced while it was followed; start again")
            clock.sleep(self._poll)

    def _read_pipe(self, file):
        try:
            descriptor = file.fileno()
        except (OSError, AttributeError):
            # A file object in memory.
            yield file.read()
            return
        # A read blocks until the writer writes, and `select` knows no pipes on Windows: so a thread
        # of its own reads.
        pieces: queue.Queue = queue.Queue(maxsize=1)
        is_abandoned = threading.Event()
        reader = threading.Thread(
            target=_put_pieces, args=(descriptor, pieces, is_abandoned), daemon=True
        )
        reader.start()
        try:
            while True:
                try:
                    piece = pieces.get(timeout=self._poll)
                except queue.Empty:
                    yield b""
                    continue
                if isinstance(piece, OSError):
                    raise piece
                # No bytes: the writer has closed the pipe.
                if not piece:
                    return
                yield piece
        finally:
            is_abandoned.set()
            # The thread may be waiting for a free place.
            with suppress(queue.Empty):
                pieces.get_nowait()


def _put_pieces(descriptor, pieces, is_abandoned):
    """Put what is read from a pipe into a queue: bytes, empty at the end, or an OSError."""
    piece = None
    while piece != b"" and not is_abandoned.is_set():
        try:
            piece = os.read(descriptor, PIECE_BYTES)
        except OSError as error:
            pieces.put(error)
            return
        pieces.put(piece)
