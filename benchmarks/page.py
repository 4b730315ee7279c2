"""Write benchmarks.md: for each question a chart, tables with ratios, and the commands."""

from pathlib import Path

from matplotlib import pyplot as plt

from benchmarks.figure_style import BLUE, GRAY, RED, save, style
from benchmarks.results import Circumstances, Results
from benchmarks.runner import CASES, INFINITE, OURS, Row

# Titles of the questions, in the order of the page.
TITLES = {
    "read": "Read a file",
    "shrink": "Shrink a file",
    "quality": "What the sparsifier preserves",
    "certify": "Certify a sparsifier",
    "solve": "Solve Laplacian systems",
    "resistance": "Effective resistances",
    "label": "Label nodes",
    "window": "Sliding windows",
    "project": "Graphs of shared attributes",
    "outofcore": "Graphs that do not fit in memory",
    "distributed": "Several processes",
}


def write(results: Results, folder: Path) -> None:
    """Write benchmarks.md and one chart per question into a folder.

    Parameters
    ----------
    results : Results
    folder : Path
    """
    lines = ["# Benchmarks", "", *_introduction(results.circumstances)]
    questions = dict.fromkeys(row.question for row in results.rows)
    for question in sorted(questions, key=_position):
        rows = [row for row in results.rows if row.question == question]
        title = TITLES.get(question, question)
        lines += ["", f"## {title}", ""]
        if _comparable(rows):
            chart = f"benchmarks_{question}.svg"
            save(_chart(rows), chart, folder)
            lines += [f"![{title}: values divided by those of graphsqueak]({chart})", ""]
        for case in dict.fromkeys(row.case for row in rows):
            lines += _section([row for row in rows if row.case == case])
    (folder / "benchmarks.md").write_text("\n".join(lines).rstrip() + "\n")


def _position(question):
    titles = list(TITLES)
    return titles.index(question) if question in titles else len(titles)


def _introduction(circumstances: Circumstances):
    versions = ", ".join(f"{name} {number}" for name, number in circumstances.versions.items())
    return [
        "This page is generated from one run: `make bench ARGS=--full`, then "
        "`python -m benchmarks page build/benchmarks.json`.",
        "Values in parentheses are ratios to graphsqueak in the same run. In the charts, each dot "
        "is one case at one size; dots left of the line are smaller than the value of graphsqueak.",
        "",
        f"{circumstances.date}, {circumstances.processor}, {circumstances.n_cores} cores, "
        f"{circumstances.system}, Python {circumstances.python}, load {circumstances.load:g} at "
        f"the start, seed {circumstances.seed}. {versions}.",
    ]


def _section(rows: list[Row]):
    """Return the description of a case, its command and its table."""
    name = rows[0].case
    description = CASES[name].description if name in CASES else ""
    contenders = list(dict.fromkeys([OURS, *(row.contender for row in rows)]))
    lines = [
        f"**{name}.** {description}",
        "",
        f"`python -m benchmarks run --full --case {name}`",
        "",
        "| size | quantity | " + " | ".join(contenders) + " |",
        "| --- | --- |" + " ---: |" * len(contenders),
    ]
    cells = {(row.size, row.quantity, row.contender): row for row in rows}
    for size, quantity in dict.fromkeys((row.size, row.quantity) for row in rows):
        shown = [_cell(cells.get((size, quantity, contender))) for contender in contenders]
        size_text = f"{size:,}" if isinstance(size, int) else size
        lines.append(f"| {size_text} | {quantity} | " + " | ".join(shown) + " |")
    notes = dict.fromkeys(
        f"{row.contender}, {row.size}: {row.note}"
        for row in rows
        if row.note and row.note != INFINITE
    )
    if notes:
        lines += ["", "No value: " + "; ".join(notes) + "."]
    return [*lines, ""]


def _cell(row: Row | None):
    """Return value, unit and ratio; or a dash, which a note below the table explains.

    >>> _cell(Row("solve", "solve/one", "grid", "scipy", "time", "s", 2.0, 4.0))
    '2 s (4x)'
    """
    if row is None or row.value is None:
        return "infinite" if row is not None and row.note == INFINITE else "-"
    value = f"{row.value:,.3g} {row.unit}".strip()
    if row.contender == OURS or row.ratio is None:
        return value
    return f"{value} ({row.ratio:.2g}x)"


def _comparable(rows):
    return [row for row in rows if row.contender != OURS and row.ratio]


def _chart(rows):
    """Return a figure with a panel per unit and a line per baseline."""
    compared = _comparable(rows)
    units = list(dict.fromkeys(row.unit for row in compared))[:3]
    panels = [[row for row in compared if row.unit == unit] for unit in units]
    heights = [len({row.contender for row in panel}) + 1 for panel in panels]
    with style():
        figure, axes = plt.subplots(
            len(panels),
            figsize=(7.0, 0.3 * sum(heights) + 0.8 * len(panels)),
            height_ratios=heights,
            squeeze=False,
            layout="constrained",
        )
        for ax, panel in zip(axes[:, 0], panels, strict=True):
            _draw_panel(ax, panel)
    return figure


def _draw_panel(ax, rows):
    contenders = list(dict.fromkeys(row.contender for row in rows))[::-1]
    for row in rows:
        color = GRAY if row.ratio >= 1 else RED
        ax.plot(row.ratio, contenders.index(row.contender), "o", color=color, alpha=0.8)
    ax.axvline(1.0, color=BLUE)
    ax.set_yticks(range(len(contenders)), contenders)
    ax.set_ylim(-0.6, len(contenders) - 0.4)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda ratio, position: f"{ratio:g}x")
    # "time, 16 columns" and "time, 1 column" are both "time".
    kinds = dict.fromkeys(row.quantity.partition(",")[0] for row in rows)
    named = next(iter(kinds)) if len(kinds) == 1 else f"{len(kinds)} quantities"
    ax.set_xlabel(f"{named}, relative to graphsqueak")
