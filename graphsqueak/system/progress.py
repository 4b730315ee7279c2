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
from contextlib import contextmanager, nullcontext, suppress
from typing import TypeAlias

from graphsqueak.system.terminal import printable

Progress: TypeAlias = bool | Callable[[int, float, str], None]

# Longest pause between two lines of a log, so that a run of hours is seen to be alive. The pauses
# double until then: 1, 3, 7, 15, ... seconds after the start. Halved or doubled, a run of hours
# prints twice or half as many lines.
_MAX_PAUSE_SECONDS = 300.0


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
        phase = _Phase(what, unit)
        # Nested phases share one display.
        display = nullcontext() if _phases else _displayed(patience)
        _phases.append(phase)
        # The display reads the last phase, so that it ends before the list is empty.
        try:
            with display:
                yield phase
        finally:
            _phases.remove(phase)
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


_phases: list[_Phase] = []


@contextmanager
def _displayed(patience):
    """Print the innermost phase during the block, in a thread; there is at least one phase."""
    from rich.console import Console

    console = Console(stderr=True)
    # A bar in a log file would be a mess of control characters.
    is_seen = console.is_terminal or console.is_jupyter
    is_closed = threading.Event()
    # Importing numba is slow; without it, nothing is compiled.
    listening = nullcontext()
    if "numba" in sys.modules:
        from numba.core import event

        listening = event.install_recorder("numba:compile")
    with listening as recorder:
        thread = threading.Thread(
            target=_draw_bar if is_seen else _print_lines,
            args=(console, patience, is_closed, recorder),
            daemon=True,
        )
        thread.start()
        try:
            yield
        finally:
            is_closed.set()
            thread.join()


def _print_lines(console, patience, is_closed, recorder):
    # A log is seldom watched: it gets its first line later than a bar, and then ever fewer.
    pause = 2 * patience
    # The log may be a closed pipe or on a full disk.
    with suppress(OSError, ValueError):
        while not is_closed.wait(pause):
            phase = _phases[-1]
            compiling = _compilation(recorder)
            line = f"{phase.what}: {compiling}" if compiling else phase.line()
            console.file.write(f"graphsqueak: {line}\n")
            console.file.flush()
            pause = min(2 * pause, _MAX_PAUSE_SECONDS)


def _draw_bar(console, patience, is_closed, recorder):
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    if is_closed.wait(patience):
        return
    # Without markup: a file may be called [red].tsv.
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TimeRemainingColumn(),
        TextColumn("{task.fields[details]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        phase = None
        while not is_closed.wait(1 / bar.live.refresh_per_second):
            # Another phase begins or ends: its bar replaces the old one.
            if _phases[-1] is not phase:
                phase = _phases[-1]
                for task in bar.task_ids:
                    bar.remove_task(task)
                bar.add_task(phase.what, total=None, details="")
            bar.update(
                bar.task_ids[0],
                completed=phase.fraction or 0,
                total=None if phase.fraction is None else 1,
                details=_compilation(recorder) or "  ".join(phase.details()),
            )


def _compilation(recorder):
    """Return a message with the number of compiled functions; empty if nothing is compiled."""
    if recorder is None:
        return ""
    is_start = [found.is_start for _, found in recorder.buffer]
    n_started = sum(is_start)
    n_finished = len(is_start) - n_started
    if n_started <= n_finished:
        return ""
    return f"compiling, once on this machine (up to half a minute), function {n_started}"
