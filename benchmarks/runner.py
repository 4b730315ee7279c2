"""Measure cases: functions that compare graphsqueak with baselines on inputs of given sizes.

A case is a function of a `Run` and a size. It prepares an input, and measures *contenders*, which
do the same work in different ways. Times are taken in turn (one contender after the other, several
rounds), so that a busy moment of the machine does not hit one contender only. Every result is a
row, and its ratio is the value divided by that of graphsqueak in the same run.
"""

import importlib
import math
import multiprocessing
import pkgutil
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks import cases

OURS = "graphsqueak"
# Note of a row whose value is infinite.
INFINITE = "infinite"
# Rounds of a measurement end after this time, but not before every contender has run once.
MAX_SECONDS_PER_MEASUREMENT = 60.0
# A contender that takes longer than this is interrupted and has no result.
MAX_SECONDS_PER_CALL = 300.0
# The first call of a contender loads compiled code, which takes up to a second or two, and is not
# counted. A call that takes this long is counted and not repeated.
MAX_WARM_UP_SECONDS = 20.0


class Timed(NamedTuple):
    """A result of a contender that reports its own time, for example without preparations.

    Attributes
    ----------
    seconds : float
    output : object
        What `Run.time` returns for the contender.
    """

    seconds: float
    output: object = None


class OutOfTimeError(Exception):
    """A contender has been interrupted."""


class Row(NamedTuple):
    """One measured value.

    Attributes
    ----------
    question, case : str
    size : int or str
        Number of edges, or the name of a graph.
    contender : str
        What was measured: graphsqueak or a baseline.
    quantity, unit : str
    value : float or None
        None if the contender is not installed, failed, or was too slow for this size.
    ratio : float or None
        Value divided by that of graphsqueak.
    note : str
        Why the value is missing.
    """

    question: str
    case: str
    size: int | str
    contender: str
    quantity: str
    unit: str
    value: float | None
    ratio: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Case:
    """A function to run, and the sizes that it has in a short and in a full run."""

    question: str
    name: str
    function: Callable
    short: tuple
    full: tuple

    @property
    def description(self) -> str:
        """First line of the docstring."""
        return self.function.__doc__.splitlines()[0]


CASES: dict[str, Case] = {}


def case(question: str, *, short: tuple = (), full: tuple = ()):
    """Register a function of (run, size) as a case.

    Parameters
    ----------
    question : str
        The question that the case helps to answer: "shrink", "solve", ...
    short, full : tuple
        Sizes of a short run (all cases together take less than ten minutes) and of a full one.
    """

    def register(function):
        name = f"{question}/{function.__name__}"
        CASES[name] = Case(question, name, function, short=short, full=full)
        return function

    return register


def load_cases() -> dict[str, Case]:
    """Import all modules of cases; return the cases by name."""
    for module in pkgutil.iter_modules(cases.__path__):
        importlib.import_module(f"{cases.__name__}.{module.name}")
    return CASES


@dataclass
class Run:
    """The arguments of a case: a seed, a folder for its files, and methods that record results.

    Attributes
    ----------
    case : Case
    size : int or str
    seed : int
    folder : Path
        Empty at the start of the case, and removed after it.
    is_full : bool
        Whether the run is a full one. Short runs use fewer random seeds or labels.
    clock : callable
        Returns seconds: `time.perf_counter`, or `time.process_time` on a busy machine.
    rows : list of Row
    left_out : dict
        Why a contender was not measured.
    """

    case: Case
    size: int | str
    seed: int
    folder: Path
    is_full: bool = False
    clock: Callable[[], float] = time.perf_counter
    rows: list[Row] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    def record(
        self, contender: str, quantity: str, value: float | None, *, unit: str, note: str = ""
    ) -> None:
        """Add a value; values that are not finite are stored as missing."""
        if value is not None and not math.isfinite(value):
            note = INFINITE if math.isinf(value) else "not a number"
            value = None
        row = Row(
            question=self.case.question,
            case=self.case.name,
            size=self.size,
            contender=contender,
            quantity=quantity,
            unit=unit,
            value=value,
            note=note,
        )
        self.rows.append(row)

    def time(
        self,
        contenders: Mapping[str, Callable],
        *,
        n_rounds: int = 3,
        quantity: str = "time",
    ) -> dict:
        """Record the median seconds of every contender; return what each of them returned.

        Parameters
        ----------
        contenders : mapping of str to callable
            Functions without arguments. One that raises an exception, an ImportError for example,
            is left out of this measurement and of the later ones of the case.
        n_rounds : int
            All contenders run once per round. A round before the first is not counted: it loads
            compiled code and fills the caches of files.
        quantity : str
        """
        outputs = {}
        seconds: dict[str, list[float]] = {}
        is_slow = set()
        began = time.perf_counter()
        for number in range(n_rounds + 1):
            spent = time.perf_counter() - began
            if number > 1 and spent > MAX_SECONDS_PER_MEASUREMENT:
                break
            for name, contender in contenders.items():
                if name in self.left_out or name in is_slow:
                    continue
                try:
                    outputs[name], taken = self._timed(contender)
                except Exception as error:
                    outputs.pop(name, None)
                    seconds.pop(name, None)
                    self.left_out[name] = _reason(error)
                    continue
                if taken > MAX_WARM_UP_SECONDS:
                    is_slow.add(name)
                if number > 0 or name in is_slow:
                    seconds.setdefault(name, []).append(taken)
        for name in contenders:
            if name in seconds:
                self.record(name, quantity, statistics.median(seconds[name]), unit="s")
            else:
                self.record(name, quantity, None, unit="s", note=self.left_out[name])
        return outputs

    def _timed(self, contender):
        with _time_limit(MAX_SECONDS_PER_CALL):
            started = self.clock()
            output = contender()
            taken = self.clock() - started
        if isinstance(output, Timed):
            return output.output, output.seconds
        return output, taken

    def memory(self, contenders: Mapping[str, Callable]) -> None:
        """Record the peak memory of every contender, each in a process of its own.

        Functions must be importable, such as `functools.partial` of functions of a module. The
        libraries that this module imports, 200 to 350 MiB, are included for every contender.
        """
        context = multiprocessing.get_context("spawn")
        for name, contender in contenders.items():
            if name in self.left_out:
                continue
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_send_peak_memory, args=(contender, sender))
            process.start()
            sender.close()
            peak = None
            with suppress(EOFError):
                peak = receiver.recv()
            process.join()
            note = "" if peak else "failed"
            self.record(name, "peak memory", peak and peak / 2**20, unit="MiB", note=note)


def _reason(error):
    if isinstance(error, ImportError):
        return f"{error.name} is not installed"
    if isinstance(error, OutOfTimeError):
        return f"no result within {MAX_SECONDS_PER_CALL:g} s"
    return str(error).partition("\n")[0] or type(error).__name__


@contextmanager
def _time_limit(seconds):
    """Raise OutOfTimeError after this time, as soon as compiled code returns to Python."""

    def interrupt(signal_number, frame):
        raise OutOfTimeError

    is_possible = threading.current_thread() is threading.main_thread()
    if not (is_possible and hasattr(signal, "setitimer")):
        yield
        return
    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _send_peak_memory(contender, sender):
    from graphsqueak.system.memory import peak_rss

    contender()
    sender.send(peak_rss())


def run_cases(
    names: list[str],
    *,
    is_full: bool,
    seed: int,
    sizes: list[str] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Run]:
    """Run cases at all their sizes; yield each run, with its rows, when it has ended.

    Parameters
    ----------
    names : list of str
    is_full : bool
        Whether to use the sizes of a full run.
    seed : int
    sizes : list of str or None
        Only these sizes, short or full, as they are printed.
    clock : callable
    """
    for name in names:
        chosen = CASES[name]
        all_sizes = chosen.full if is_full else chosen.short
        if sizes is not None:
            both = dict.fromkeys((*chosen.short, *chosen.full))
            all_sizes = [size for size in both if str(size) in sizes]
        for size in all_sizes:
            with tempfile.TemporaryDirectory() as folder:
                run = Run(
                    case=chosen,
                    size=size,
                    seed=seed,
                    folder=Path(folder),
                    is_full=is_full,
                    clock=clock,
                )
                try:
                    chosen.function(run, size)
                except FileNotFoundError as missing:
                    # A real graph that is not on this machine.
                    print(f"{name}, {size}: left out, {missing}", file=sys.stderr)
                run.rows[:] = with_ratios(run.rows)
                yield run


def with_ratios(rows: list[Row]) -> list[Row]:
    """Return rows with their ratio to graphsqueak.

    >>> ours = Row("shrink", "shrink/text", 100, "graphsqueak", "time", "s", 2.0)
    >>> [row.ratio for row in with_ratios([ours, ours._replace(contender="duckdb", value=3.0)])]
    [1.0, 1.5]
    """
    ours = {(row.size, row.quantity): row.value for row in rows if row.contender == OURS}
    result = []
    for row in rows:
        reference = ours.get((row.size, row.quantity))
        is_comparable = reference not in (None, 0.0) and row.value is not None
        result.append(row._replace(ratio=row.value / reference if is_comparable else None))
    return result
