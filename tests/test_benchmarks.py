"""Benchmarks are studies, not tests; only where they look for their data is tested."""

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
