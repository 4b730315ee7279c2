"""Progress of long work: nothing, a bar or lines on standard error, or the caller's own function.

Long-running functions take `progress=`: False says nothing, True tells on standard error how far
they are, with rate and time left, and a function is called as progress(done, fraction, note): how
many items are behind us, which share of the whole that is (NaN when the whole is unknown), and a
few words.

What is told comes from a thread of its own: work that reports late or never is named all the same.
A person at a terminal sees a bar; a log gets a line now and then, ever more seldom. While code is
being compiled, which happens when it is first used on a machine, that is what is told.
"""

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias

from graphsqueak.system.terminal import printable

__all__ = ["Progress", "reporter"]

Progress: TypeAlias = bool | Callable[[int, float, str], None]

_REDRAW = 0.1
_BEFORE_A_LINE = 4  # times the patience that a bar has
_NEXT_LINE, _SLOWER, _LAST_LINE = 8.0, 1.5, 300.0  # seconds between lines
_KIND = "numba:compile"
_COMPILING = "compiling, once on this machine (up to half a minute)"


@contextmanager
def reporter(progress, what, *, unit="edges", patience=0.5):
    """Yield a function report(done, fraction, note="") that tells whoever asked.

    Nothing is drawn before the work has lasted `patience` seconds.

    >>> with reporter(lambda done, fraction, note: print(done, fraction, note), "read") as report:
    ...     report(3, 0.5, "3 nodes")
    3 0.5 3 nodes
    """
    if callable(progress):
        yield lambda done, fraction, note="": progress(done, fraction, note)
    elif progress:
        with _told(_Phase(what, unit), patience) as phase:
            yield phase
    else:
        yield lambda done, fraction, note="": None


class _Phase:
    """What is being done, and how far it is."""

    def __init__(self, what, unit):
        self.what, self._unit = printable(what), unit
        self._began = time.monotonic()
        self._done, self._fraction, self._note = 0, math.nan, ""

    def __call__(self, done, fraction, note=""):
        self._done, self._fraction, self._note = done, fraction, printable(note)

    @property
    def fraction(self):
        """Share of the whole, or None where that is unknown."""
        return None if math.isnan(self._fraction) else self._fraction

    def words(self):
        """Count, rate and note, as far as they are known."""
        if not self._done:
            return self._note
        rate = self._done / max(time.monotonic() - self._began, 1e-9)
        rate = f"{rate:,.0f} {self._unit}/s" if rate >= 10 else f"{rate:.2g} {self._unit}/s"
        return "  ".join(filter(None, [f"{self._done:,} {self._unit}", rate, self._note]))

    def line(self):
        """All of it, for a log.

        >>> phase = _Phase("reading", "edges")
        >>> phase(500, 0.25, "kept 20")
        >>> phase.line()
        'reading: 25 %, 500 edges, ... edges/s, kept 20, about ... s left'
        """
        said = self.words().split("  ") if self._done or self._note else []
        if self.fraction:
            passed = time.monotonic() - self._began
            said = [f"{100 * self.fraction:.0f} %", *said]
            said += [f"about {passed * (1 / self.fraction - 1):,.0f} s left"]
        return f"{self.what}: {', '.join(said)}" if said else f"{self.what} ..."


class _Screen:
    """Tells of the innermost phase, until it is closed."""

    def __init__(self, patience):
        from rich.console import Console

        self.phases: list[_Phase] = []
        self._console, self._patience = Console(stderr=True), patience
        self._compiler = _Compiler()
        self._closed = threading.Event()
        is_seen = self._console.is_terminal or self._console.is_jupyter
        self._thread = threading.Thread(target=self._bar if is_seen else self._lines, daemon=True)

    def open(self):
        """Begin to tell, once there is a phase."""
        self._compiler.follow()
        self._thread.start()

    def close(self):
        """Tell no more."""
        self._closed.set()
        self._thread.join()
        self._compiler.leave()

    def _lines(self):
        pause = _BEFORE_A_LINE * self._patience
        with suppress(OSError, ValueError):  # nobody listens any more
            while not self._closed.wait(pause):
                phase, compiling = self.phases[-1], self._compiler.words()
                line = f"{phase.what}: {compiling}" if compiling else phase.line()
                self._console.file.write(f"graphsqueak: {line}\n")
                self._console.file.flush()
                pause = max(_NEXT_LINE, min(_SLOWER * pause, _LAST_LINE))

    def _bar(self):
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        if self._closed.wait(self._patience):
            return
        name = TextColumn("{task.description}", markup=False)  # a file may be called [red].tsv
        words = TextColumn("{task.fields[words]}", markup=False)
        columns = (name, BarColumn(bar_width=24), TimeRemainingColumn(), words)
        with Progress(*columns, console=self._console, transient=True) as bar:
            phase, task = None, None
            while not self._closed.wait(_REDRAW):
                if self.phases[-1] is not phase:
                    if task is not None:
                        bar.remove_task(task)
                    phase = self.phases[-1]
                    task = bar.add_task(phase.what, total=None, words="")
                share, said = phase.fraction, self._compiler.words() or phase.words()
                total = None if share is None else 1
                bar.update(task, completed=share or 0, total=total, words=said)


class _Compiler:
    """What numba's compiler is doing, if it is there at all."""

    def __init__(self):
        self._events = None

    def follow(self):
        """Listen from now on."""
        if "numba" in sys.modules:
            from numba.core import event

            self._events = event.RecordingListener()
            event.register(_KIND, self._events)

    def leave(self):
        """Listen no more."""
        if self._events is not None:
            from numba.core import event

            event.unregister(_KIND, self._events)

    def words(self):
        """That it compiles, and how many functions it has begun; nothing while it rests."""
        seen = [] if self._events is None else [found.is_start for _, found in self._events.buffer]
        is_busy = 2 * sum(seen) > len(seen)
        return f"{_COMPILING}, function {sum(seen)}" if is_busy else ""


_screen: _Screen | None = None


@contextmanager
def _told(phase: _Phase, patience: float) -> Iterator[_Phase]:
    """Phases inside others share one screen."""
    global _screen
    mine = None
    if _screen is None:
        mine = _screen = _Screen(patience)
    screen = _screen
    screen.phases.append(phase)
    try:
        if mine is not None:
            mine.open()
        yield phase
    finally:
        if mine is not None:
            mine.close()
            _screen = None
        screen.phases.remove(phase)
