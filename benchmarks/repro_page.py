"""The tables of docs/research/reproduction.md: write them, read them back, and compute their
verdicts.

Each table is between the marks of its name; everything else on the page is left alone.

A verdict compares two means. They agree ("as printed") if they differ by at most twice the printed
standard deviation, or by at most 2 % of the printed mean. Otherwise they differ, in whichever
direction, and the verdict has the difference in percent of the printed mean. Numbers of points kept
that differ by more than 20 % are reported as well. Verdicts are computed from the figures as shown.
"""

import re
from itertools import pairwise
from pathlib import Path

from graphsqueak.report.table import text_table

__all__ = ["read", "verdict", "write"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "research" / "reproduction.md"
HEADER = (
    "data",
    "algorithm",
    "ours",
    "printed",
    "kept",
    "printed kept",
    "s",
    "runs",
    "verdict",
)
DEVIATIONS = 2
RELATIVE_TOLERANCE = 0.02
KEPT_TOLERANCE = 0.2


def verdict(row, *, ours):
    """What the rule above says of a row; `ours` is the algorithm that is compared with the best."""
    if row["printed"] is None:
        return ""
    change = row["ours"] / row["printed"] - 1
    if row["algorithm"] == ours:
        return f"{100 * abs(change):.0f} % {'below' if change < 0 else 'above'} the best"
    tolerance = max(DEVIATIONS * row["printed_sd"], RELATIVE_TOLERANCE * row["printed"])
    agrees = abs(row["ours"] - row["printed"]) <= tolerance
    text = "as printed" if agrees else f"differs, {100 * change:+.0f} %"
    if row["printed_kept"] is not None:
        more = row["kept"] / row["printed_kept"] - 1
        if abs(more) > KEPT_TOLERANCE:
            text += f"; kept {100 * more:+.0f} %"
    return text


def write(name, rows, *, ours):
    """Replace the table of this name on the page."""
    digits = 5 if name == "regression" else 2
    rows = [_rounded(row, digits) for row in rows]

    def pair(mean, spread):
        return "" if mean is None else f"{mean:.{digits}f} ± {spread:.{digits}f}"

    cells = [
        (
            row["data"],
            row["algorithm"],
            pair(row["ours"], row["sd"]),
            _printed(row, pair, digits, ours),
            "" if row["kept"] is None else str(row["kept"]),
            "" if row["printed_kept"] is None else str(row["printed_kept"]),
            f"{row['seconds']:.2g}",
            str(row["runs"]),
            verdict(row, ours=ours),
        )
        for row in rows
    ]
    lines = text_table(cells, header=HEADER).split("\n")
    table = "\n".join(line.rstrip() for line in lines)
    before, _, after = _split(name)
    begin, end = _marks(name)
    PAGE.write_text(f"{before}{begin}\n```text\n{table}\n```\n{end}{after}")


def read(name):
    """The rows of a table on the page, with the numbers that it shows and the verdict in words."""
    lines = _split(name)[1].strip().split("\n")[1:-1]
    # Columns from the third on are set to the right, so they end where their headers do.
    ends = [re.search(rf"(?:^|  ){re.escape(title)}(?=  |$)", lines[0]).end() for title in HEADER]
    rows = []
    for line in lines[1:]:
        cells = [line[start:stop].strip() for start, stop in pairwise(ends[1:])]
        data, algorithm = re.split(r"\s{2,}", line[: ends[1]].strip())
        mean, deviation = _numbers(cells[0])
        printed, printed_deviation = _numbers(cells[1].removeprefix("best "))
        rows.append(
            {
                "data": data,
                "algorithm": algorithm,
                "ours": mean,
                "sd": deviation,
                "printed": printed,
                "printed_sd": printed_deviation,
                "kept": int(cells[2]) if cells[2] else None,
                "printed_kept": int(cells[3]) if cells[3] else None,
                "seconds": float(cells[4]),
                "runs": int(cells[5]),
                "verdict": cells[6],
            }
        )
    return rows


def _rounded(row, digits):
    """The row with its figures as the page shows them."""
    shown = dict(row)
    for name in ("ours", "sd", "printed", "printed_sd"):
        shown[name] = None if row[name] is None else round(row[name], digits)
    shown["kept"] = None if row["kept"] is None else round(row["kept"])
    return shown


def _numbers(cell):
    """Mean and standard deviation of a cell."""
    if not cell:
        return None, None
    mean, _, deviation = cell.partition(" ± ")
    return float(mean), float(deviation or 0.0)


def _marks(name):
    return f"<!-- {name} -->", f"<!-- end of {name} -->"


def _split(name):
    """The page before, between and after the marks."""
    begin, end = _marks(name)
    before, rest = PAGE.read_text().split(begin)
    inside, after = rest.split(end)
    return before, inside, after


def _printed(row, pair, digits, ours):
    if row["algorithm"] == ours and row["printed"] is not None:
        return f"best {row['printed']:.{digits}f}"
    return pair(row["printed"], row["printed_sd"])
