"""Results of benchmarks: rows and circumstances of a run as JSON, and comparisons of two runs."""

import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.runner import Row

# Libraries that are measured or decide about speed.
LIBRARIES = (
    "graphsqueak",
    "apxchol",
    "approx-chol",
    "duckdb",
    "graphlearning",
    "networkit",
    "networkx",
    "numba",
    "numpy",
    "polars",
    "pyamg",
    "pyarrow",
    "scikit-learn",
    "scikit-network",
    "scipy",
)


@dataclass(frozen=True)
class Circumstances:
    """Where, when and with what a run was made.

    Attributes
    ----------
    date : str
        Day of the run, in UTC.
    processor : str
    n_cores : int
    system, python : str
    load : float
        Processes that were running in the minute before the run: above 0.5, times are not reliable.
    seed : int
    versions : dict of str
        Of installed libraries.
    """

    date: str
    processor: str
    n_cores: int
    system: str
    python: str
    load: float
    seed: int
    versions: dict[str, str]

    @classmethod
    def now(cls, seed: int) -> "Circumstances":
        """Return the circumstances of a run that begins now."""
        versions = {}
        for library in LIBRARIES:
            try:
                versions[library] = version(library)
            except PackageNotFoundError:
                continue
        return cls(
            date=datetime.now(UTC).date().isoformat(),
            processor=_processor(),
            n_cores=os.cpu_count() or 1,
            system=f"{platform.system()} {platform.machine()}",
            python=platform.python_version(),
            load=round(os.getloadavg()[0], 2),
            seed=seed,
            versions=versions,
        )


def _processor():
    description = Path("/proc/cpuinfo")
    lines = description.read_text().splitlines() if description.exists() else []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor()


@dataclass(frozen=True)
class Results:
    """The rows of a run and its circumstances."""

    circumstances: Circumstances
    rows: list[Row]

    def save(self, path: Path) -> None:
        """Write a JSON file with one line per row, so that differences of two files are short."""
        head = json.dumps(asdict(self.circumstances), indent=2)
        rows = ",\n".join(json.dumps(_rounded(row)) for row in self.rows)
        path.write_text(f'{{"circumstances": {head},\n"rows": [\n{rows}\n]}}\n')

    @classmethod
    def load(cls, path: Path) -> "Results":
        """Read a file that `save` has written."""
        content = json.loads(path.read_text())
        rows = [Row(**row) for row in content["rows"]]
        return cls(Circumstances(**content["circumstances"]), rows)


def _rounded(row):
    """Return a row as a dictionary, with values of four digits: more are noise."""
    record = row._asdict()
    for name in ("value", "ratio"):
        if record[name] is not None:
            record[name] = float(f"{record[name]:.4g}")
    return record


def compare(before: Results, after: Results, *, tolerance: float) -> list[str]:
    """Return a line per value of graphsqueak in both runs, and mark changes above the tolerance.

    Parameters
    ----------
    before, after : Results
    tolerance : float
        Relative change that is marked.

    Examples
    --------
    >>> ours = Row("solve", "solve/one", "grid", "graphsqueak", "time", "s", 2.0)
    >>> circumstances = Circumstances("2026-01-01", "", 2, "", "", 0.0, 7, {})
    >>> before = Results(circumstances, [ours])
    >>> after = Results(circumstances, [ours._replace(value=2.5)])
    >>> print(*compare(before, after, tolerance=0.05))
    solve/one  grid  time  2 -> 2.5 s  1.25  changed
    """
    values = {_key(row): row.value for row in before.rows}
    lines = []
    for row in after.rows:
        earlier = values.get(_key(row))
        if row.contender != "graphsqueak" or not earlier or row.value is None:
            continue
        change = row.value / earlier
        line = (
            f"{row.case}  {row.size}  {row.quantity}  {earlier:.4g} -> {row.value:.4g} {row.unit}"
        )
        mark = "  changed" if abs(change - 1) > tolerance else ""
        lines.append(f"{line}  {change:.2f}{mark}")
    return lines


def _key(row):
    return row.case, row.size, row.contender, row.quantity
