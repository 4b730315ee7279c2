"""Closed standard streams, interrupts while the program starts, and odd names in messages."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

from graphsqueak import StreamSparsifier, read_edges, sources, write_edges
from graphsqueak.cli import run
from graphsqueak.sources import write_columns

PROGRAM = [sys.executable, "-m", "graphsqueak"]
SPARSIFY = ["sparsify", "edges.tsv", "-o", "-", "--n-edges", "300", "--seed", "8"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_edges(sources.erdos_renyi(60, 900, random_state=77), "edges.tsv")
    return tmp_path


def shell(words, redirection):
    """Run the program as a shell does, with streams redirected or closed."""
    script = f'exec "$@" {redirection}'
    return subprocess.run(
        ["sh", "-c", script, "sh", *PROGRAM, *words],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.mark.slow
def test_data_on_standard_output_is_not_mixed_with_messages(folder):
    """With standard error closed there is no place for messages but standard output."""
    assert run([*SPARSIFY[:3], "out.tsv", *SPARSIFY[4:]]) == 0
    closed = shell(SPARSIFY, "2>&-")
    assert closed.returncode == 0
    assert closed.stdout == (folder / "out.tsv").read_bytes()
    described = shell(["info", "edges.tsv", "--json"], "2>&- <&-")
    assert json.loads(described.stdout)["edges"] == 900


def test_an_error_with_all_streams_closed(folder):
    done = shell(["info", "missing.tsv"], "<&- >&- 2>&-")
    assert done.returncode == 2
    assert done.stdout == b""


@pytest.mark.slow
def test_standard_output_that_is_closed(folder):
    for words in (SPARSIFY, ["info", "edges.tsv", "--json"]):
        done = shell(words, ">&-")
        assert done.returncode == 2
        assert re.fullmatch(rb"graphsqueak: .*standard output.* closed; .*\n", done.stderr)
    done = shell([*SPARSIFY[:3], "out.tsv", *SPARSIFY[4:]], ">&-")
    assert done.returncode == 0
    assert read_edges("out.tsv").to_edge_list().n_edges <= 300


@pytest.mark.parametrize("redirection", ["2</dev/null", "2>/dev/full"])
def test_messages_that_cannot_be_printed_do_not_end_a_run(folder, redirection):
    """Standard error is a log on a full disk, or open for reading only.

    The latter happens in a bash script that is started with `2>&-`.
    """
    done = shell(["info", "edges.tsv", "--json"], redirection)
    assert done.returncode == 0
    assert json.loads(done.stdout)["edges"] == 900
    assert shell(["info", "missing.tsv"], redirection).returncode == 2


def test_standard_output_that_is_open_for_reading_only(folder):
    done = shell(["info", "edges.tsv", "--json"], "1</dev/null")
    assert done.returncode == 2
    assert re.fullmatch(rb"graphsqueak: .*standard output.* closed; .*\n", done.stderr)


INTERRUPTED = """
import importlib.abc, os, signal, sys

class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == awaited:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

awaited = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupting())
from graphsqueak.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "module", ["graphsqueak.system.terminal", "typer", "graphsqueak.cli.sparsify", "numpy"]
)
def test_an_interrupt_while_the_program_starts(folder, module):
    """A signal arrives just when a module is about to be imported."""
    words = [*SPARSIFY[:3], "out.tsv", *SPARSIFY[4:]]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130
    assert re.fullmatch("graphsqueak: (interrupted|stopped; nothing was written)\n", done.stderr)
    assert not (folder / "out.tsv").exists()


def test_an_interrupt_while_the_program_starts_with_standard_error_closed(folder):
    command = [
        sys.executable,
        "-c",
        INTERRUPTED,
        "graphsqueak.system.terminal",
        "info",
        "edges.tsv",
    ]
    done = subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *command], check=False)
    assert done.returncode == 130


def test_an_ignored_interrupt_stays_ignored_while_the_program_starts(folder):
    """As for a command that a shell runs in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = subprocess.run(
            [sys.executable, "-c", INTERRUPTED, "typer", "info", "edges.tsv", "--json"],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.returncode == 0
    assert json.loads(done.stdout)["edges"] == 900


ODD = os.fsdecode(b"a\x1b[31m\x9b\xe9") + "\u202e"
SHOWN = r"a\x1b[31m\x9b\xe9\u202e"


def test_names_of_files_reach_the_terminal_without_control_characters(folder, capsys):
    source = f"{ODD}.tsv"
    (folder / "edges.tsv").rename(folder / source)
    report = [source, "-o", f"out{ODD}.tsv", "--report", f"r{ODD}.html", "--checkpoint", ODD]
    options = ["--n-edges", "300", "--seed", "8"]
    assert run(["sparsify", *report, *options]) == 0
    printed = capsys.readouterr()
    assert f"in out{SHOWN}.tsv" in printed.out
    assert f"{SHOWN}.tsv: undirected" in printed.err
    assert run(["sparsify", *report, *options]) == 2
    assert run(["sparsify", *report, *options, "--resume", "--json", "--quiet"]) == 0
    printed_later = capsys.readouterr()
    assert f"--checkpoint {SHOWN} already exists" in printed_later.err
    assert json.loads(printed_later.out)["input"]["name"] == source
    assert run(["info", f"missing {ODD}"]) == 2
    assert run(["sparsify", source, "-o", f"new{ODD}.tsv", *options, "--dry-run"]) == 0
    printed_last = capsys.readouterr()
    assert f"would write  new{SHOWN}.tsv" in printed_last.out
    for text in (*printed, *printed_later, *printed_last):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", text)
    page = (folder / f"r{ODD}.html").read_text(encoding="utf-8")
    assert f"Sparsifier of {SHOWN}.tsv" in page


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_command_that_resumes_a_run_can_be_pasted(folder, monkeypatch, capsys):
    names = [f"{ODD}'\\ .ckpt", "two  blanks.ckpt", "new\nline.ckpt"]
    for name in names:
        monkeypatch.setattr(
            StreamSparsifier, "sparsifier", lambda *_, **__: os.kill(os.getpid(), 2)
        )
        words = ["sparsify", "edges.tsv", "-o", "out.tsv", "--n-edges", "300", "--checkpoint", name]
        assert run([*words, "--quiet"]) == 130
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        command = said.partition("resume with: ")[2].strip()
        shown = subprocess.run(
            ["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True
        ).stdout
        assert shown.split(b"\0")[:-1] == [
            os.fsencode(word) for word in ["graphsqueak", *words, "--quiet", "--resume"]
        ]


def test_columns_and_ids_reach_the_terminal_without_control_characters(folder, capsys):
    (folder / "columns.csv").write_text("so\x1b[1mu,tar\u202eget,we\x9bight\n1,2,3\n2,3,4\n")
    (folder / "ids.csv").write_text("source,target\na\x1b[1m,b\n")
    (folder / "pairs.csv").write_text("source,target\nc\x1b[1m,b\n")
    assert run(["info", "columns.csv"]) == 2
    assert run(["learn", "columns.csv", "--target", "x"]) == 2
    assert run(["resistance", "ids.csv", "-o", "out.csv", "--node-pairs", "pairs.csv"]) == 2
    assert run(["sparsify", "ids.csv", "-o", "out.csv", "--keep", "0.5", "--dry-run"]) == 0
    printed = capsys.readouterr()
    assert r"so\x1b[1mu" in printed.err
    assert r"a\x1b[1m - b" in printed.out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", printed.err + printed.out)


NOT_UTF8 = os.fsdecode(b"caf\xe9")


@pytest.mark.parametrize("suffix", [".tsv", ".tsv.zst", ".parquet", ".arrow", ".mtx", ".graph"])
def test_edge_files_whose_names_are_not_utf8(folder, capsys, suffix):
    write_edges(sources.erdos_renyi(60, 900, random_state=77).to_edge_list(), f"{NOT_UTF8}{suffix}")
    assert run(["info", f"{NOT_UTF8}{suffix}"]) == 0
    assert rf"caf\xe9{suffix}: undirected" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_whose_names_are_not_utf8(folder, capsys, suffix):
    table = f"{NOT_UTF8}{suffix}"
    write_columns({"node": range(60), "label": [n % 2 for n in range(60)]}, table)
    out = ["-o", f"out{NOT_UTF8}{suffix}", "--quiet", "--force"]
    assert run(["label", "edges.tsv", table, *out]) == 0
    write_columns({"x": [n * n % 61 for n in range(60)], "y": range(60)}, table)
    assert run(["neighbors", table, "-k", "2", *out]) == 0
    assert run(["neighbors", table, "-k", "2", *out, "--dry-run"]) == 0
    assert run(["dictionary", table, "-m", "5", *out]) == 0
    checkpoint = ["--checkpoint", f"{NOT_UTF8}.ckpt"]
    assert run(["learn", table, "--target", "y", *out, *checkpoint]) == 0
    assert run(["learn", table, "--target", "y", *out, *checkpoint, "--resume"]) == 0


def test_a_home_folder_that_does_not_exist(folder, capsys):
    nowhere = "~nobody-of-this-name/x.tsv"
    for words in (
        ["info", nowhere],
        ["sparsify", "edges.tsv", "--keep", "0.5", "-o", nowhere],
        ["sparsify", "edges.tsv", "--keep", "0.5", "-o", "out.tsv", "--report", nowhere],
        ["sparsify", "edges.tsv", "--keep", "0.5", "-o", "out.tsv", "--checkpoint", nowhere],
        ["label", "edges.tsv", nowhere, "-o", "out.tsv"],
        ["neighbors", nowhere, "-k", "2", "-o", "out.tsv"],
        ["learn", nowhere, "--target", "x"],
        ["spam", nowhere, "--labels", nowhere],
        ["demo", "--quick", "-o", nowhere],
    ):
        assert run([*words, "--quiet"]) == 2
        said = capsys.readouterr().err
        assert "no home folder for ~nobody-of-this-name" in said
        assert said.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["edges.tsv"]


def test_warnings_are_messages_of_the_program(folder):
    script = (
        "import warnings; from graphsqueak import cli; from graphsqueak.__main__ import main\n"
        "cli.run = lambda: warnings.warn('no checkpoint: a\\x1bb')\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr == "graphsqueak: warning: no checkpoint: a\\x1bb\n"
