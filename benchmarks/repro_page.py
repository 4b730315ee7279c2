"""docs/reproduction.md: each table between the marks of its name, everything else left alone."""

from pathlib import Path

from graphsqueak.report.table import text_table

__all__ = ["write"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reproduction.md"


def write(name, rows, *, ours):
    """The table into the page, between the marks of its name."""
    header = (
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
    digits = 5 if name == "regression" else 2

    def pair(mean, spread):
        return "" if mean is None else f"{mean:.{digits}f} ± {spread:.{digits}f}"

    cells = [
        (
            row["data"],
            row["algorithm"],
            pair(row["ours"], row["sd"]),
            _printed(row, pair, digits, ours),
            "" if row["algorithm"] == "BATCH" else f"{row['kept']:.0f}",
            "" if row["printed_kept"] is None else str(row["printed_kept"]),
            f"{row['seconds']:.2g}",
            str(row["runs"]),
            row["verdict"],
        )
        for row in rows
    ]
    lines = text_table(cells, header=header).split("\n")
    table = "\n".join(line.rstrip() for line in lines)
    page = PAGE.read_text()
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    PAGE.write_text(f"{before}{begin}\n```text\n{table}\n```\n{end}{after}")


def _printed(row, pair, digits, ours):
    if row["algorithm"] == ours and row["printed"] is not None:
        return f"best {row['printed']:.{digits}f}"
    return pair(row["printed"], row["printed_sd"])
