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
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks import cases

OURS = "graphsqueak"
# Rounds of a measurement end after this time, but not before the first round.
MAX_SECONDS_PER_MEASUREMENT = 60.0


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
        None if the contender failed or was too slow for this size.
    ratio : float or None
        Value divided by that of graphsqueak.
    """

    question: str
    case: str
    size: int | str
    contender: str
    quantity: str
    unit: str
    value: float | None
    ratio: float | None = None


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
    """What a case needs: a seed, a folder for its files, and where results go.

    Attributes
    ----------
    case : Case
    size : int or str
    seed : int
    folder : Path
        Empty at the start of the case, and removed after it.
    rows : list of Row
    left_out : dict
        Why a contender was not measured.
    """

    case: Case
    size: int | str
    seed: int
    folder: Path
    rows: list[Row] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    def record(self, contender: str, quantity: str, value: float | None, *, unit: str) -> None:
        """Add a value; values that are not finite are stored as missing."""
        if value is not None and not math.isfinite(value):
            value = None
        row = Row(
            question=self.case.question,
            case=self.case.name,
            size=self.size,
            contender=contender,
            quantity=quantity,
            unit=unit,
            value=value,
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
            Functions without arguments. One that raises an ImportError is left out.
        n_rounds : int
            All contenders run once per round. A round before the first is not counted: it loads
            compiled code and fills the caches of files.
        quantity : str
        """
        outputs = {}
        seconds: dict[str, list[float]] = {}
        began = time.perf_counter()
        for number in range(n_rounds + 1):
            spent = time.perf_counter() - began
            if number > 1 and spent > MAX_SECONDS_PER_MEASUREMENT:
                break
            for name, contender in contenders.items():
                if name in self.left_out:
                    continue
                started = time.perf_counter()
                try:
                    outputs[name] = contender()
                except ImportError as missing:
                    self.left_out[name] = f"{missing.name} is not installed"
                    continue
                if number > 0:
                    seconds.setdefault(name, []).append(time.perf_counter() - started)
        for name, times in seconds.items():
            self.record(name, quantity, statistics.median(times), unit="s")
        return outputs

    def memory(self, contenders: Mapping[str, Callable]) -> None:
        """Record the peak memory of every contender, each in a process of its own.

        Functions must be importable, such as `functools.partial` of functions of a module.
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
            self.record(name, "peak memory", peak and peak / 2**20, unit="MiB")


def _send_peak_memory(contender, sender):
    from graphsqueak.system.memory import peak_rss

    contender()
    sender.send(peak_rss())


def run_cases(
    names: list[str], *, is_full: bool, seed: int, report: Callable[[Run], None]
) -> list[Row]:
    """Run cases at all their sizes; return their rows with ratios.

    Parameters
    ----------
    names : list of str
    is_full : bool
        Whether to use the sizes of a full run.
    seed : int
    report : callable
        Called with the `Run` of every size when it has ended.
    """
    rows = []
    for name in names:
        chosen = CASES[name]
        for size in chosen.full if is_full else chosen.short:
            with tempfile.TemporaryDirectory() as folder:
                run = Run(case=chosen, size=size, seed=seed, folder=Path(folder))
                try:
                    chosen.function(run, size)
                except FileNotFoundError as missing:
                    print(f"{name}, {size}: left out, {missing}", file=sys.stderr)
                run.rows[:] = with_ratios(run.rows)
                report(run)
                rows += run.rows
    return rows


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
