"""Write docs/research/reproduction.md: the tables of the papers next to our results.

    python benchmarks/repro_page.py [--check]

The text is `reproduction_template.md`, in which {{regression}}, {{classification}} and
{{adversarial}} stand for the tables. Results are in `reproduction.csv`, which
`repro_tables.py --write` fills. Verdicts are computed here.

A verdict compares two means. They agree ("as printed") if they differ by at most twice the printed
standard deviation, or by at most 2 % of the printed mean. Otherwise the verdict is the difference
in percent of the printed mean, in whichever direction. Numbers of points kept that differ by more
than 20 % are reported as well. Verdicts are computed from the figures as shown.
"""

import argparse
import csv
import sys
from pathlib import Path

__all__ = ["read", "render", "verdict", "write"]

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER.parent / "docs" / "research" / "reproduction.md"
TEMPLATE = FOLDER / "reproduction_template.md"
RESULTS = FOLDER / "reproduction.csv"
TABLES = ("regression", "classification", "adversarial")
# The algorithm that is compared with the best printed figure of any algorithm.
OURS = "ours, defaults"
HEADER = (
    "data",
    "algorithm",
    "ours",
    "printed",
    "kept",
    "printed kept",
    "seconds",
    "runs",
    "verdict",
)
TEXT_COLUMNS = ("data", "algorithm")
FIGURE_COLUMNS = ("ours", "sd", "printed", "printed_sd", "seconds")
COUNT_COLUMNS = ("kept", "printed_kept", "runs")
COLUMNS = (*TEXT_COLUMNS, *FIGURE_COLUMNS, *COUNT_COLUMNS)
# Digits after the point: the papers print losses with five and percentages with two.
DIGITS = {"regression": 5, "classification": 2, "adversarial": 2}
DEVIATIONS = 2
RELATIVE_TOLERANCE = 0.02
KEPT_TOLERANCE = 0.2


def main():
    """Write the page, or compare it with what would be written."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only report whether it is current")
    if parser.parse_args().check:
        sys.exit(PAGE.read_text() != render())
    PAGE.write_text(render())


def verdict(row, *, ours=OURS):
    """Compare a row with the printed figure; see the module docstring for the rule."""
    if row["printed"] is None:
        return ""
    change = row["ours"] / row["printed"] - 1
    if row["algorithm"] == ours:
        return f"{100 * abs(change):.0f} % {'below' if change < 0 else 'above'} the best"
    tolerance = max(DEVIATIONS * row["printed_sd"], RELATIVE_TOLERANCE * row["printed"])
    agrees = abs(row["ours"] - row["printed"]) <= tolerance
    text = "as printed" if agrees else f"{100 * change:+.0f} %"
    if row["printed_kept"] is not None:
        more = row["kept"] / row["printed_kept"] - 1
        if abs(more) > KEPT_TOLERANCE:
            text += f"; kept {100 * more:+.0f} %"
    return text


def write(name, rows):
    """Replace the results of one table, and write the page."""
    digits = DIGITS[name]
    tables = {table: read(table) for table in TABLES}
    tables[name] = [_rounded(row, digits) for row in rows]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, ("table", *COLUMNS), lineterminator="\n")
        writer.writeheader()
        for table, rows_of_table in tables.items():
            writer.writerows({"table": table} | row for row in rows_of_table)
    PAGE.write_text(render())


def read(name):
    """Return the rows of a table; figures that a paper does not print are None."""
    with RESULTS.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.pop("table") == name]
    for row in rows:
        for column in FIGURE_COLUMNS:
            row[column] = float(row[column]) if row[column] else None
        for column in COUNT_COLUMNS:
            row[column] = int(row[column]) if row[column] else None
    return rows


def render():
    """Return the text of the page."""
    text = TEMPLATE.read_text()
    for name in TABLES:
        text = text.replace(f"{{{{{name}}}}}", _table(name))
    return text


def _table(name):
    """Return a table in Markdown."""
    lines = [_line(HEADER), _line(["---"] * 2 + ["---:"] * 6 + ["---"])]
    for row in read(name):
        printed = _mean_and_sd(row["printed"], row["printed_sd"], DIGITS[name])
        if row["algorithm"] == OURS and row["printed"] is not None:
            printed = f"best {row['printed']:.{DIGITS[name]}f}"
        cells = (
            row["data"],
            row["algorithm"],
            _mean_and_sd(row["ours"], row["sd"], DIGITS[name]),
            printed,
            "" if row["kept"] is None else str(row["kept"]),
            "" if row["printed_kept"] is None else str(row["printed_kept"]),
            f"{row['seconds']:.2g}",
            str(row["runs"]),
            verdict(row),
        )
        lines.append(_line(cells))
    return "\n".join(lines)


def _line(cells):
    return f"| {' | '.join(cells)} |"


def _mean_and_sd(mean, deviation, digits):
    return "" if mean is None else f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def _rounded(row, digits):
    """Return the row with its figures as the page shows them."""
    shown = {column: row[column] for column in COLUMNS}
    for column in ("ours", "sd", "printed", "printed_sd"):
        shown[column] = None if row[column] is None else round(row[column], digits)
    for column in ("kept", "printed_kept"):
        shown[column] = None if row[column] is None else round(row[column])
    shown["seconds"] = float(f"{row['seconds']:.2g}")
    return shown


if __name__ == "__main__":
    main()
