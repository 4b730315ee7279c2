"""Progress of long work: nothing, a bar on standard error, or the caller's own function.

Long-running functions take `progress=`: False says nothing, True draws a bar with rate and time
left, and a function is called as progress(done, fraction, note): how many items are behind us,
which share of the whole that is (NaN when the whole is unknown), and a few words.
"""

import math
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TypeAlias

__all__ = ["Progress", "reporter"]

Progress: TypeAlias = bool | Callable[[int, float, str], None]

_PATIENCE = 0.5  # seconds of work before a bar appears
_REDRAW = 0.1


@contextmanager
def reporter(progress, what, *, unit="edges"):
    """Yield a function report(done, fraction, note="") that tells whoever asked.

    >>> with reporter(lambda done, fraction, note: print(done, fraction, note), "read") as report:
    ...     report(3, 0.5, "3 nodes")
    3 0.5 3 nodes
    """
    if callable(progress):
        yield lambda done, fraction, note="": progress(done, fraction, note)
    elif progress:
        bar = _Bar(what, unit)
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield lambda done, fraction, note="": None


class _Bar:
    """A rich progress bar that appears once the work has lasted a moment."""

    def __init__(self, what, unit):
        self._what, self._unit = what, unit
        self._began = self._drawn = time.monotonic()
        self._bar = self._task = None

    def __call__(self, done, fraction, note=""):
        now = time.monotonic()
        if now - self._drawn < (_REDRAW if self._bar else _PATIENCE):
            return
        self._drawn = now
        if self._bar is None:
            self._open()
        rate = f"{done / (now - self._began):,.0f} {self._unit}/s"
        known = not math.isnan(fraction)
        self._bar.update(
            self._task,
            completed=fraction if known else 0,
            total=1 if known else None,
            count=f"{done:,} {self._unit}",
            rate=rate,
            note=note,
        )

    def _open(self):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[count]}  {task.fields[rate]}  {task.fields[note]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self._what, total=None, count="", rate="", note="")
        self._bar.start()

    def close(self):
        if self._bar is not None:
            self._bar.stop()
