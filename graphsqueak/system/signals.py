"""What Ctrl-C and `kill` do: stop between two batches, save, clean up, leave with 130 or 143."""

import signal
import threading
from contextlib import contextmanager
from pathlib import Path

__all__ = ["Stopped", "hold_signals", "resumable_from", "stoppable"]


class Stopped(BaseException):
    """A signal asked for the end; `checkpoint` says where the state was saved, if it was.

    No KeyboardInterrupt, which typer would swallow.
    """

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number
        self.checkpoint = None


_waiting: list[int] = []  # signals that came while work was held together
_depth = [0]


@contextmanager
def stoppable():
    """Within it, SIGINT and SIGTERM raise `Stopped`, a second time at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    _waiting.clear()
    for number in before:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def hold_signals():
    """Work that must not be cut in the middle: a signal waits until it is done."""
    _depth[0] += 1
    try:
        yield
    finally:
        _depth[0] -= 1
    if _waiting and not _depth[0]:
        raise Stopped(_waiting.pop())


@contextmanager
def resumable_from(checkpoint):
    """Tell who is stopped within it where to go on from: a file, or a folder of finished parts."""
    try:
        yield
    except Stopped as stop:
        path = None if checkpoint is None else Path(checkpoint)
        if path is not None and (path.is_file() or any(path.glob("*.ckpt"))):
            stop.checkpoint = checkpoint
        raise


def _stop(number, frame):
    if _depth[0] and not _waiting:
        _waiting.append(number)
    else:
        raise Stopped(number)
