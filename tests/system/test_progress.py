"""Progress of long work: lines in a log, and reports to a function."""

import time

import numpy as np
import pytest
from numba.core import event

from graphsqueak.cli.groups import Printing
from graphsqueak.sources import erdos_renyi
from graphsqueak.sparsifiers import certify, uniform_sparsifier
from graphsqueak.system.progress import reporter


@pytest.fixture
def next_line(capsys):
    """Wait for the next line on standard error; a minute without one is a failure."""

    def wait():
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if printed := capsys.readouterr().err:
                return printed
            time.sleep(0.01)
        raise AssertionError("nothing was printed")

    return wait


def test_work_that_never_reports_is_named(next_line):
    with reporter(True, "factorizing", patience=0.005):
        assert next_line() == "graphsqueak: factorizing ...\n"


def test_a_line_has_fraction_count_note_and_time_left(next_line):
    with reporter(True, "reading", unit="mails", patience=0.05) as report:
        report(1500, 0.25, "kept 20")
        printed = next_line()
    assert printed.startswith("graphsqueak: reading: 25 %, 1,500 mails, ")
    assert "mails/s, kept 20, about " in printed


def test_the_innermost_phase_is_printed(next_line):
    with reporter(True, "outer", patience=0.05), reporter(True, "inner"):
        assert "inner" in next_line()


def test_compilation_is_reported(next_line):
    with reporter(True, "reading", patience=0.05):
        event.start_event("numba:compile", data={})
        printed = next_line()
        event.end_event("numba:compile", data={})
    assert printed.startswith("graphsqueak: reading: compiling, once on this machine")


def test_short_work_prints_nothing(capsys):
    with reporter(True, "short"):
        pass
    assert capsys.readouterr().err == ""


def test_commands_print_progress_without_a_terminal():
    assert Printing(quiet=False, as_json=False).progress
    assert not Printing(quiet=True, as_json=False).progress
    assert not Printing(quiet=False, as_json=True).progress


def test_a_certificate_reports_the_fraction_of_its_steps():
    graph = erdos_renyi(400, 20_000, random_state=91_540)
    sparsifier = uniform_sparsifier(graph.to_edge_list(), 6000, seed=5)
    calls = []
    found = certify(
        graph,
        sparsifier,
        method="lanczos",
        random_state=3,
        progress=lambda *report: calls.append(report),
    )
    edges, shares = np.array([call[0] for call in calls]), np.array([call[1] for call in calls])
    assert found.steps > 5
    assert edges[-1] == 20_000 * found.steps
    assert np.all(np.diff(edges) >= 0)
    # the bounds may stand still for some steps before they close in
    known = shares[shares.size // 2 :]
    assert not np.any(np.isnan(known))
    assert np.all((known > 0) & (known <= 1))
    # bounds that close in geometrically foretell the end to a few steps
    assert known[0] < 1
    assert known[-1] > 1 - 3 / found.steps
