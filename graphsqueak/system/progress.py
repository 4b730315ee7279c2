"""Progress of long work: a bar or lines on standard error, or a function of the caller.

Long-running functions take `progress=`. False prints nothing. True prints the progress, the rate
and the time left on standard error. A function is called as progress(done, fraction, note): the
number of finished items, their fraction of all items (NaN if unknown), and a short text.

A separate thread prints, so that work that never reports is named too. A terminal shows a bar, a
log gets lines at increasing intervals. While numba compiles, the output says so: this happens once
per machine, when a function is first used.
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

_REDRAW_SECONDS = 0.1
# A log gets its first line after this many times the patience of a bar. The pause then doubles
# after each line, within these limits: 2, 10, 26, 58, ... seconds after the start.
_PATIENCE_FACTOR_OF_LOGS = 4
_MIN_PAUSE_SECONDS = 8.0
_MAX_PAUSE_SECONDS = 300.0
_COMPILE_EVENT = "numba:compile"
_COMPILING = "compiling, once on this machine (up to half a minute)"


@contextmanager
def reporter(
    progress: Progress, what: str, *, unit: str = "edges", patience: float = 0.5
) -> Iterator[Callable]:
    """Yield a function report(done, fraction, note="") for the work in the block.

    Parameters
    ----------
    progress : bool or callable
    what : str
        Description of the work.
    unit : str
        Name of the items that are counted.
    patience : float
        Seconds before a bar appears; shorter work prints nothing.

    Examples
    --------
    >>> with reporter(lambda done, fraction, note: print(done, fraction, note), "read") as report:
    ...     report(3, 0.5, "3 nodes")
    3 0.5 3 nodes
    """
    if callable(progress):
        yield lambda done, fraction, note="": progress(done, fraction, note)
    elif progress:
        with _displayed(_Phase(what, unit), patience) as phase:
            yield phase
    else:
        yield lambda done, fraction, note="": None


class _Phase:
    """Description and progress of one piece of work."""

    def __init__(self, what, unit):
        self.what = printable(what)
        self.fraction = None
        self._unit = unit
        self._start = time.monotonic()
        self._done = 0
        self._note = ""

    def __call__(self, done, fraction, note=""):
        self.fraction = None if math.isnan(fraction) else fraction
        self._done = done
        self._note = printable(note)

    def details(self):
        """Return the count, the rate and the note, if they are known."""
        if not self._done:
            return [self._note] if self._note else []
        rate = self._done / max(time.monotonic() - self._start, 1e-9)
        rate_text = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
        details = [f"{self._done:,} {self._unit}", f"{rate_text} {self._unit}/s", self._note]
        return [detail for detail in details if detail]

    def line(self):
        """Return a line for a log.

        >>> phase = _Phase("reading", "edges")
        >>> phase(500, 0.25, "kept 20")
        >>> phase.line()
        'reading: 25 %, 500 edges, ... edges/s, kept 20, about ... s left'
        """
        details = self.details()
        if self.fraction:
            elapsed = time.monotonic() - self._start
            details.insert(0, f"{100 * self.fraction:.0f} %")
            details.append(f"about {elapsed * (1 / self.fraction - 1):,.0f} s left")
        return f"{self.what}: {', '.join(details)}" if details else f"{self.what} ..."


class _Display:
    """Thread that prints the innermost phase until it is closed."""

    def __init__(self, patience):
        from rich.console import Console

        self.phases: list[_Phase] = []
        self._console = Console(stderr=True)
        self._patience = patience
        self._compilation = _Compilation()
        self._closed = threading.Event()
        # A bar in a log file would be a mess of control characters.
        is_seen = self._console.is_terminal or self._console.is_jupyter
        target = self._draw_bar if is_seen else self._print_lines
        self._thread = threading.Thread(target=target, daemon=True)

    def open(self):
        """Start the thread; there is at least one phase."""
        self._compilation.listen()
        self._thread.start()

    def close(self):
        """Stop the thread."""
        self._closed.set()
        self._thread.join()
        self._compilation.stop_listening()

    def _print_lines(self):
        pause = _PATIENCE_FACTOR_OF_LOGS * self._patience
        # The log may be a closed pipe or on a full disk.
        with suppress(OSError, ValueError):
            while not self._closed.wait(pause):
                phase = self.phases[-1]
                compiling = self._compilation.text()
                line = f"{phase.what}: {compiling}" if compiling else phase.line()
                self._console.file.write(f"graphsqueak: {line}\n")
                self._console.file.flush()
                pause = min(max(2 * pause, _MIN_PAUSE_SECONDS), _MAX_PAUSE_SECONDS)

    def _draw_bar(self):
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        if self._closed.wait(self._patience):
            return
        # Without markup: a file may be called [red].tsv.
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TimeRemainingColumn(),
            TextColumn("{task.fields[details]}", markup=False),
        )
        with Progress(*columns, console=self._console, transient=True) as bar:
            phase = None
            task = None
            while not self._closed.wait(_REDRAW_SECONDS):
                # Another phase begins or ends: its bar replaces the old one.
                if self.phases[-1] is not phase:
                    if task is not None:
                        bar.remove_task(task)
                    phase = self.phases[-1]
                    task = bar.add_task(phase.what, total=None, details="")
                bar.update(
                    task,
                    completed=phase.fraction or 0,
                    total=None if phase.fraction is None else 1,
                    details=self._compilation.text() or "  ".join(phase.details()),
                )


class _Compilation:
    """State of numba's compiler, if numba has been imported."""

    def __init__(self):
        self._events = None

    def listen(self):
        # Importing numba is slow; without it, nothing is compiled.
        if "numba" in sys.modules:
            from numba.core import event

            self._events = event.RecordingListener()
            event.register(_COMPILE_EVENT, self._events)

    def stop_listening(self):
        if self._events is not None:
            from numba.core import event

            event.unregister(_COMPILE_EVENT, self._events)

    def text(self):
        """Return a message with the number of functions so far; empty if nothing is compiled."""
        if self._events is None:
            return ""
        is_start = [found.is_start for _, found in self._events.buffer]
        n_started = sum(is_start)
        n_finished = len(is_start) - n_started
        return f"{_COMPILING}, function {n_started}" if n_started > n_finished else ""


_display: _Display | None = None


@contextmanager
def _displayed(phase: _Phase, patience: float) -> Iterator[_Phase]:
    """Show a phase during the block; nested phases share one display."""
    global _display
    is_outermost = _display is None
    if _display is None:
        _display = _Display(patience)
    display = _display
    display.phases.append(phase)
    try:
        if is_outermost:
            display.open()
        yield phase
    finally:
        # The thread reads the last phase, so that it ends before the list is empty.
        if is_outermost:
            display.close()
            _display = None
        display.phases.remove(phase)
