"""Benchmarks are studies, not tests; where they look for data and how they judge it is tested."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

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
    outside = {path.name for path in FOLDER.glob("*.py") if ".parents[2]" in path.read_text()}
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
