"""The runner of benchmarks, files and pages of results, and where benchmarks look for data."""

import importlib.util
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks import page as results_page
from benchmarks import runner
from benchmarks.results import Circumstances, Results, compare
from benchmarks.runner import OURS, Row, Timed, case, run_cases, with_ratios

FOLDER = Path(__file__).parent.parent / "benchmarks"
CODE = """
import argparse, real_data
parser = argparse.ArgumentParser()
real_data.add_data_option(parser)
parser.parse_args()
print(dict(real_data.load_present({"iris": lambda: real_data.data_file("iris", "a.csv").name})))
"""


def look(*options, **environment):
    return subprocess.run(
        [sys.executable, "-c", CODE, *options],
        env={"PYTHONPATH": str(FOLDER), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "iris").mkdir()
    (tmp_path / "iris" / "a.csv").touch()
    return str(tmp_path)


def test_the_option_goes_before_the_variable(folder):
    for done in (
        look(GRAPHSQUEAK_DATA=folder),
        look("--data", folder, GRAPHSQUEAK_DATA="/nowhere"),
    ):
        assert done.stdout == "{'iris': 'a.csv'}\n"
        assert done.stderr == ""


def test_absent_data_are_said_to_be_absent():
    done = look(GRAPHSQUEAK_DATA="/nowhere")
    assert done.stdout == "{}\n"
    assert "iris: left out, /nowhere/iris/a.csv is not there; give --data" in done.stderr
    assert "there is no such folder" in look("--data", "/nowhere").stderr


def test_the_study_of_spam_says_where_its_mails_come_from():
    done = subprocess.run(
        [sys.executable, str(FOLDER / "bench_spam.py")],
        env={"PYTHONPATH": str(FOLDER.parent), "GRAPHSQUEAK_DATA": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0  # make bench goes on without it
    assert "/nowhere/spamassassin is not there" in done.stderr
    assert "how to get the mails" in done.stderr


def test_only_one_module_knows_where_data_are():
    outside = {path.name for path in FOLDER.rglob("*.py") if ".parents[2]" in path.read_text()}
    assert outside == {"real_data.py"}


@pytest.fixture(scope="module")
def page():
    spec = importlib.util.spec_from_file_location("repro_page", FOLDER / "repro_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("ours", "printed", "printed_sd", "expected"),
    [
        (0.85, 1.0, 0.01, "-15 %"),  # far below is a difference, not an improvement
        (1.15, 1.0, 0.01, "+15 %"),
        (1.15, 1.0, 0.08, "as printed"),
        (0.981, 1.0, 0.0, "as printed"),
        (0.979, 1.0, 0.0, "-2 %"),
        (1.0, None, None, ""),
    ],
)
def test_a_verdict_is_the_same_in_both_directions(page, ours, printed, printed_sd, expected):
    row = {"algorithm": "NOGD", "ours": ours, "sd": 0.5, "kept": 30, "printed_kept": 30}
    row |= {"printed": printed, "printed_sd": printed_sd}
    assert page.verdict(row, ours="ours") == expected
    if printed is None:
        return
    assert page.verdict(row | {"kept": 20}, ours="ours") == expected + "; kept -33 %"
    direction = "below" if ours < printed else "above"
    assert page.verdict(row, ours="NOGD").endswith(f"% {direction} the best")


def test_the_page_on_reproduction_is_up_to_date(page):
    assert page.PAGE.read_text() == page.render()


@pytest.mark.parametrize("name", ["regression", "classification", "adversarial"])
def test_the_page_has_a_line_with_a_verdict_for_every_result(page, name):
    rows = page.read(name)
    assert len(rows) > 15
    text = page.render()
    for row in rows:
        start = f"| {row['data']} | {row['algorithm']} | "
        end = f" | {row['runs']} | {page.verdict(row)} |"
        assert any(line.startswith(start) and line.endswith(end) for line in text.splitlines())


def test_the_page_shows_the_printed_step_of_pros_n_kons_next_to_ours(page):
    rows = page.read("regression")
    for algorithm in ("PROS-N-KONS", "CON-KONS", "B-KONS"):
        printed = {row["data"] for row in rows if row["algorithm"] == f"{algorithm}, printed step"}
        automatic = {row["data"] for row in rows if row["algorithm"] == f"{algorithm}, auto step"}
        assert printed == automatic
        assert len(printed) == 10  # five sets of data, in two units


CIRCUMSTANCES = Circumstances(
    date="2026-01-01",
    processor="Example 3000",
    n_cores=2,
    system="Linux x86_64",
    python="3.11.0",
    load=0.0,
    seed=7,
    versions={"numpy": "2.0.0"},
)


@pytest.fixture
def cases(monkeypatch):
    """No cases but those of the test."""
    monkeypatch.setattr(runner, "CASES", {})
    return runner.CASES


def run_one(name="question/example", **options):
    (run,) = run_cases([name], is_full=False, seed=7, **options)
    return run


def test_time_runs_contenders_in_turn_and_records_ratios(cases):
    calls = []

    @case("question", short=(3,), full=(3, 30))
    def example(run, size):
        """Describe an example."""
        contenders = {
            OURS: lambda: calls.append(OURS) or Timed(2.0, "x"),
            "baseline": lambda: calls.append("baseline") or Timed(5.0, "y"),
        }
        assert run.time(contenders, n_rounds=2) == {OURS: "x", "baseline": "y"}
        assert run.folder.is_dir()
        assert (run.seed, size, run.is_full) == (7, 3, False)

    run = run_one()
    assert calls == [OURS, "baseline"] * 3
    assert cases["question/example"].description == "Describe an example."
    assert run.rows == [
        Row("question", "question/example", 3, OURS, "time", "s", 2.0, 1.0),
        Row("question", "question/example", 3, "baseline", "time", "s", 5.0, 2.5),
    ]
    assert not run.folder.exists()
    sizes = [run.size for run in run_cases(["question/example"], is_full=False, seed=7, sizes=[])]
    assert sizes == []


def test_a_contender_that_fails_is_left_out_with_the_reason(cases, monkeypatch):
    monkeypatch.setattr(runner, "MAX_SECONDS_PER_CALL", 0.05)

    def fails():
        raise ArithmeticError("residual 1e-2")

    @case("question", short=("a graph",))
    def example(run, size):
        contenders = {
            OURS: lambda: 1,
            "missing": lambda: importlib.import_module("no_such_library"),
            "fails": fails,
            "slow": lambda: time.sleep(5),
        }
        assert run.time(contenders) == {OURS: 1}
        assert run.time({"missing": fails}, quantity="later") == {}

    run = run_one()
    notes = {row.contender: row.note for row in run.rows if row.value is None}
    assert notes == {
        "missing": "no_such_library is not installed",
        "fails": "residual 1e-2",
        "slow": "no result within 0.05 s",
    }
    (ours,) = [row for row in run.rows if row.value is not None]
    assert (ours.contender, ours.ratio) == (OURS, 1.0)


def test_a_slow_call_is_counted_and_not_repeated(cases, monkeypatch):
    monkeypatch.setattr(runner, "MAX_WARM_UP_SECONDS", 10.0)
    calls = []

    @case("question", short=(1,))
    def example(run, size):
        run.time({OURS: lambda: calls.append(1) or Timed(11.0)})

    (row,) = run_one().rows
    assert calls == [1]
    assert row.value == 11.0


def test_a_case_whose_file_is_missing_is_left_out(cases, capsys):
    @case("question", short=(1,))
    def example(run, size):
        raise FileNotFoundError(2, "no such file", "graph.txt")

    assert run_one().rows == []
    assert "question/example, 1: left out" in capsys.readouterr().err


def test_values_that_are_not_finite_are_missing(cases):
    @case("question", short=(1,))
    def example(run, size):
        run.record(OURS, "error", np.inf, unit="")
        run.record("baseline", "error", 1.0, unit="")

    ours, baseline = run_one().rows
    assert (ours.value, ours.note) == (None, "infinite")
    assert baseline.ratio is None


def test_memory_is_that_of_a_process_of_its_own(cases):
    @case("question", short=(1,))
    def example(run, size):
        run.memory({OURS: list, "numpy": partial(np.ones, 25 * 2**20)})

    ours, numpy = run_one().rows
    # 200 MiB of ones on top of what the process needs; half of it is a wide margin.
    assert numpy.value - ours.value > 100
    assert numpy.ratio > 1


def results(value=2.0):
    rows = [
        Row("solve", "solve/one_column", "grid", OURS, "time", "s", value),
        Row("solve", "solve/one_column", "grid", "scipy", "time", "s", 3.0),
        Row("solve", "solve/one_column", "grid", "pyamg", "time", "s", None, note="residual 1e-2"),
        Row("shrink", "shrink/text", 2000, OURS, "peak memory", "MiB", 400.0),
        Row("shrink", "shrink/text", 2000, "polars", "peak memory", "MiB", 100.0),
        Row("shrink", "shrink/text", 2000, "duckdb", "peak memory", "MiB", None, note="infinite"),
    ]
    return Results(CIRCUMSTANCES, with_ratios(rows))


def test_results_are_stored_with_four_digits(tmp_path):
    path = tmp_path / "results.json"
    results(value=2.00049).save(path)
    assert Results.load(path) == results(value=2.0)


def test_two_runs_are_compared():
    lines = compare(results(), results(value=2.2), tolerance=0.05)
    assert lines == [
        "solve/one_column  grid  time  2 -> 2.2 s  1.10  changed",
        "shrink/text  2000  peak memory  400 -> 400 MiB  1.00",
    ]


def test_the_page_has_a_chart_and_a_table_with_ratios_and_commands(tmp_path):
    results_page.write(results(), tmp_path)
    text = (tmp_path / "benchmarks.md").read_text()
    # Questions are in the order of the page, not of the run.
    assert text.index("## Shrink a file") < text.index("## Solve Laplacian systems")
    for line in (
        "| size | quantity | graphsqueak | scipy | pyamg |",
        "| grid | time | 2 s | 3 s (1.5x) | - |",
        "| 2,000 | peak memory | 400 MiB | 100 MiB (0.25x) | infinite |",
        "`python -m benchmarks run --full --case solve/one_column`",
        "No value: pyamg, grid: residual 1e-2.",
    ):
        assert line in text.splitlines()
    assert text.count("No value:") == 1
    for question in ("solve", "shrink"):
        assert f"(benchmarks_{question}.svg)" in text
        assert (tmp_path / f"benchmarks_{question}.svg").read_text().startswith("<?xml")


def test_the_command_line_stores_results_and_writes_a_page(tmp_path):
    path = tmp_path / "results.json"
    command = [sys.executable, "-m", "benchmarks"]
    options = ["--case", "resistance/all_edges", "--size", "grid 60x60", "-o", str(path)]
    for words in (["run", *options], ["page", str(path), "-o", str(tmp_path)]):
        subprocess.run([*command, *words], cwd=FOLDER.parent, check=True, capture_output=True)
    values = {(row.contender, row.quantity): row.value for row in Results.load(path).rows}
    assert values[OURS, "time"] > 0
    assert values[OURS, "mean relative error"] > 0
    assert "resistance/all_edges" in (tmp_path / "benchmarks.md").read_text()
    done = subprocess.run(
        [*command, "run", "--case", "no/such"],
        cwd=FOLDER.parent,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "no case no/such" in done.stderr


def test_every_case_is_described_and_has_sizes():
    for name, one in runner.load_cases().items():
        assert name.startswith(f"{one.question}/")
        assert one.question in results_page.TITLES
        assert one.description.endswith((".", "?"))
        assert one.full


def test_commands_of_the_documentation_name_cases_that_exist():
    names = runner.load_cases()
    questions = {one.question for one in names.values()}
    root = FOLDER.parent
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    n_found = 0
    for path in pages:
        text = path.read_text()
        for name in re.findall(r"--case ([a-z]\w*/\w+)", text):
            assert name in names, path
            n_found += 1
        for name in re.findall(r"--question ([a-z]\w*)", text):
            assert name in questions, path
            n_found += 1
        for module in re.findall(r"python -m benchmarks\.(\w+)", text):
            assert (FOLDER / f"{module}.py").exists(), path
    assert n_found > 10
