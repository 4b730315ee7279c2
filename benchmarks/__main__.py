"""Command line of the benchmarks: list, run, compare, page."""

import argparse
import sys
import time
from pathlib import Path

from benchmarks.real_data import add_data_option
from benchmarks.results import Circumstances, Results, compare
from benchmarks.runner import OURS, load_cases, run_cases

SEED = 662_607
EXPLANATION = Path(__file__).parent.parent / "docs" / "explanation"


def main() -> None:
    """Run the chosen subcommand."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="list the cases")
    listing.set_defaults(function=list_cases)
    running = commands.add_parser("run", help="run cases and store their results")
    running.add_argument("--full", action="store_true", help="all sizes instead of the short set")
    running.add_argument("--question", metavar="NAME", help="cases of one question only")
    running.add_argument(
        "--case", metavar="NAME", action="append", help="one case; may be repeated"
    )
    running.add_argument(
        "--size", metavar="SIZE", action="append", help="one size or graph; may be repeated"
    )
    running.add_argument(
        "--processor-time", action="store_true", help="measure processor time: for a busy machine"
    )
    running.add_argument("--seed", metavar="N", type=int, default=SEED)
    running.add_argument("-o", "--out", metavar="FILE", type=Path, help="JSON file for the results")
    add_data_option(running)
    running.set_defaults(function=run)
    comparing = commands.add_parser("compare", help="compare two runs")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--tolerance", metavar="FRACTION", type=float, default=0.05)
    comparing.set_defaults(function=compare_files)
    page = commands.add_parser("page", help="write a page with charts from a file of results")
    page.add_argument("results", type=Path)
    page.add_argument("-o", "--out", metavar="FOLDER", type=Path, default=EXPLANATION)
    page.set_defaults(function=write_page)
    arguments = parser.parse_args()
    arguments.function(arguments)


def list_cases(arguments):
    """Print every case, what it measures, and its sizes."""
    for name, case in load_cases().items():
        print(f"{name}: {case.description}")
        print(f"    short: {_listed(case.short)}; full: {_listed(case.full)}")


def run(arguments):
    """Run the chosen cases and store their results."""
    chosen = list(load_cases())
    if arguments.question is not None:
        chosen = [name for name in chosen if name.startswith(f"{arguments.question}/")]
    if arguments.case is not None:
        unknown = set(arguments.case).difference(chosen)
        if unknown:
            sys.exit(f"no case {', '.join(sorted(unknown))}; python -m benchmarks list shows all")
        chosen = arguments.case
    circumstances = Circumstances.now(arguments.seed)
    if circumstances.load > 0.5 and not arguments.processor_time:
        print(f"load {circumstances.load}: the machine is busy, times vary", file=sys.stderr)
    runs = run_cases(
        chosen,
        is_full=arguments.full,
        seed=arguments.seed,
        sizes=arguments.size,
        clock=time.process_time if arguments.processor_time else time.perf_counter,
    )
    rows = []
    failures = []
    for one_run in runs:
        print_run(one_run)
        rows += one_run.rows
        if OURS in one_run.left_out:
            failures.append(f"{one_run.case.name}, {one_run.size}: {one_run.left_out[OURS]}")
        if arguments.out is not None:
            # After every case, so that an interrupted run is not lost.
            Results(circumstances, rows).save(arguments.out)
    if failures:
        sys.exit("graphsqueak failed: " + "; ".join(failures))


def print_run(one_run):
    """Print the rows of one case at one size."""
    print(f"{one_run.case.name}, {_readable(one_run.size)}")
    for row in one_run.rows:
        value = "-" if row.value is None else f"{row.value:.4g} {row.unit}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}x"
        line = f"    {row.contender:28} {row.quantity:28} {value:>16} {ratio:>10}  {row.note}"
        print(line.rstrip())
    sys.stdout.flush()


def compare_files(arguments):
    """Print the changes between two files of results."""
    before = Results.load(arguments.before)
    after = Results.load(arguments.after)
    print(*compare(before, after, tolerance=arguments.tolerance), sep="\n")


def write_page(arguments):
    """Write benchmarks.md and its charts into a folder."""
    from benchmarks.page import write

    load_cases()
    write(Results.load(arguments.results), arguments.out)


def _listed(sizes):
    return ", ".join(map(_readable, sizes)) or "none"


def _readable(size):
    return f"{size:,}" if isinstance(size, int) else size


if __name__ == "__main__":
    main()
