"""Time limits for services that accept a connection and then stop answering.

File systems of fsspec and Dask have time limits for some of their steps, and none for others. So
each call to them runs in a thread of its own. The caller waits at most 60 seconds, or
GRAPHSQUEAK_TIMEOUT, and handles signals meanwhile. fsspec fetches some megabytes per call, so that
60 seconds allow connections of 100 kB/s.
"""

import errno
import io
import math
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from graphsqueak.system.environment import number_from_environment

TIMEOUT_VARIABLE = "GRAPHSQUEAK_TIMEOUT"


def timeout_seconds() -> float:
    """Return the time limit: 60 seconds, or the environment variable GRAPHSQUEAK_TIMEOUT."""
    return number_from_environment(
        TIMEOUT_VARIABLE,
        60.0,
        least=sys.float_info.min,
        meaning="a positive number of seconds",
    )


def call_within(seconds: float, function: Callable, *arguments: Any, **options: Any) -> Any:
    """Call a function and return its result; raise a TimeoutError if it takes too long.

    The call itself cannot be stopped. It continues in a thread that ends with the process.

    Examples
    --------
    >>> call_within(60, pow, 2, 10)
    1024
    >>> call_within(0.01, threading.Event().wait)
    Traceback (most recent call last):
    TimeoutError: [Errno 110] no answer within 0.01 s (GRAPHSQUEAK_TIMEOUT sets another limit)
    """
    answer: Future = Future()

    def work():
        try:
            answer.set_result(function(*arguments, **options))
        except BaseException as error:  # raised again by the caller
            answer.set_exception(error)

    # A daemon thread: a call that never returns must not keep the process alive.
    threading.Thread(target=work, daemon=True).start()
    # Waiting has no infinity; None stands for it.
    wait([answer], None if math.isinf(seconds) else seconds)
    if not answer.done():
        reason = f"no answer within {seconds:g} s ({TIMEOUT_VARIABLE} sets another limit)"
        raise TimeoutError(errno.ETIMEDOUT, reason)
    return answer.result()


class TimedFile(io.RawIOBase):
    """Binary file, open for reading, whose reads have the time limit."""

    def __init__(self, file: Any) -> None:
        super().__init__()
        self._file = file

    def read(self, size: int | None = -1) -> bytes:
        return call_within(timeout_seconds(), self._file.read, -1 if size is None else size)

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return self.read()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    # Seeking is local: fsspec fetches data on the next read.
    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
