"""Outputs: none is an input, existing files are kept, all files of a run appear together."""

import json
import os
import resource
import subprocess
import sys

import pytest

from graphsqueak import InputError, sources, write_edges
from graphsqueak.cli import run
from graphsqueak.online import CONKONS
from graphsqueak.online.table import learn_table
from graphsqueak.system import atomic


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_edges(sources.erdos_renyi(60, 900, random_state=77), "edges.tsv")
    return tmp_path


COMMAND = ["sparsify", "edges.tsv", "-o", "out.tsv", "--n-edges", "300", "--seed", "8", "--quiet"]


@pytest.mark.parametrize("how", [[], ["--tree", "balanced", "--parts", "2"]], ids=["one", "tree"])
def test_a_resumed_run_replaces_what_it_has_written_itself(folder, how, capsys):
    command = [*COMMAND, *how, "--checkpoint", "run.ckpt"]
    assert run(command) == 0
    first = (folder / "out.tsv").read_bytes()
    assert run(command) == 2
    assert "--resume to continue from it" in capsys.readouterr().err
    assert run([*command, "--resume"]) == 0
    assert (folder / "out.tsv").read_bytes() == first
    (folder / "out.tsv").write_text("changed by hand")
    assert run([*command, "--resume"]) == 2
    assert "--out out.tsv already exists" in capsys.readouterr().err
    assert (folder / "out.tsv").read_text() == "changed by hand"


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2)])
def test_a_person_at_a_terminal_is_asked(folder, monkeypatch, capsys, answer, code):
    (folder / "out.tsv").write_text("mine")
    answers = iter(answer.splitlines())
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda text, err: next(answers) == "y")
    command = [word for word in COMMAND if word != "--quiet"]
    assert run([*command, "--json"]) == code
    assert ((folder / "out.tsv").read_text() == "mine") == (code == 2)
    monkeypatch.setattr("typer.confirm", lambda text, err: pytest.fail("asked though quiet"))
    (folder / "out.tsv").write_text("mine")
    assert run(COMMAND) == 2
    assert (folder / "out.tsv").read_text() == "mine"


def test_a_table_goes_to_standard_output(folder, capsysbinary):
    (folder / "small.tsv").write_text("ann\tbob\nbob\tcy\n")
    assert run(["resistance", "small.tsv", "-o", "-", "--quiet"]) == 0
    header, *rows = capsysbinary.readouterr().out.decode().splitlines()
    assert header.split("\t") == ["source", "target", "weight", "resistance"]
    assert rows[0].split("\t")[:2] == ["ann", "bob"]


def test_a_result_that_its_format_cannot_hold_replaces_nothing(folder, capsys):
    (folder / "named.tsv").write_text("".join(f"u{i % 30}\tv{i % 29}\n" for i in range(800)))
    (folder / "out.mtx.parquet").write_text("mine")
    assert run(["sparsify", "named.tsv", "-o", "out.mtx", "--n-edges", "100", "--seed", "8"]) == 2
    assert "The result is in out.mtx.2.parquet" in capsys.readouterr().err
    assert (folder / "out.mtx.parquet").read_text() == "mine"


def test_addresses_on_disk_are_read_and_written_as_paths(folder, capsys):
    command = ["sparsify", "--n-edges", "300", "--seed", "8", "--quiet"]
    assert run([*command, "edges.tsv", "-o", "plain.tsv"]) == 0
    address = f"file://localhost{folder}/two%20words.tsv"
    assert run([*command, f"file://{folder}/edges.tsv", "-o", address]) == 0
    assert (folder / "two words.tsv").read_bytes() == (folder / "plain.tsv").read_bytes()
    assert run([*command, "local://edges.tsv", "-o", address]) == 2
    assert "two%20words.tsv already exists; use --force" in capsys.readouterr().err
    assert run(["info", address, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == 60


@pytest.mark.parametrize(
    "content",
    [
        "mine",
        "",
        f"{64 * 'a'}  run.ckpt\n",
        "# outputs of another program\n",
        "# outputs of a graphsqueak run, noted for --resume\nmine\n",
    ],
    ids=["text", "empty", "sha256sum", "comment", "edited"],
)
def test_the_note_of_a_checkpoint_replaces_no_other_file(folder, capsys, content):
    note = folder / "run.ckpt.sha256"
    note.write_text(content)
    command = [*COMMAND, "--checkpoint", "run.ckpt"]
    for resume in ([], ["--resume"]):
        assert run([*command, *resume]) == 2
        said = capsys.readouterr().err
        assert "run.ckpt.sha256 already exists and is not the list of digests" in said
        assert "--force" in said
        assert sorted(path.name for path in folder.iterdir()) == ["edges.tsv", note.name]
        assert note.read_text() == content
    assert run([*command, "--force"]) == 0
    assert run([*command, "--resume"]) == 0
    assert run([*command[:3], "other.tsv", *command[4:], "--resume"]) == 0


def test_a_note_is_what_sha256sum_checks(folder):
    names = ["out.tsv", "r\\e\n.html"]
    assert run([*COMMAND, "--report", names[1], "--checkpoint", "run.ckpt"]) == 0
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "run.ckpt.sha256"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stdout.count("OK") == 2
    assert not done.stderr


def test_predictions_of_a_checkpoint_replace_no_other_file(folder, capsys):
    rows = "".join(f"{t % 7},{t % 5},{(t % 7) ** 2}.5\n" for t in range(300))
    (folder / "table.csv").write_text(f"a,b,c\n{rows}")
    kept = folder / "run.ckpt.predictions"
    kept.write_bytes(b"mine" * 1000)
    command = ["learn", "table.csv", "--target", "c", "-o", "out.csv", "--checkpoint", "run.ckpt"]
    for resume in ([], ["--resume"]):
        assert run([*command, "--quiet", *resume]) == 2
        said = capsys.readouterr().err
        assert "run.ckpt.predictions already exists and is not the list of predictions" in said
        assert kept.read_bytes() == b"mine" * 1000
    with pytest.raises(InputError, match=r"run\.ckpt\.predictions already exists"):
        learn_table(CONKONS(), "table.csv", target="c", out="out.csv", checkpoint="run.ckpt")
    assert kept.read_bytes() == b"mine" * 1000
    assert run([*command, "--quiet", "--force"]) == 0
    first = (folder / "out.csv").read_bytes()
    assert run([*command, "--quiet", "--resume"]) == 0  # its own predictions are recognized
    assert (folder / "out.csv").read_bytes() == first
    (folder / "run.ckpt").unlink()
    assert run([*command, "--quiet", "--force"]) == 0


def test_learn_from_python_does_not_replace_its_table(folder):
    (folder / "table.csv").write_text("a,c\n1,2.5\n2,3.5\n")
    for outputs in ({"out": "file:table.csv"}, {"checkpoint": "table.csv"}):
        with pytest.raises(InputError, match="is an input of this run"):
            learn_table(CONKONS(), "table.csv", target="c", **outputs)
    assert (folder / "table.csv").read_text() == "a,c\n1,2.5\n2,3.5\n"


@pytest.fixture
def small_files():
    """A limit on the size of files, as a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_report_that_cannot_be_written_leaves_no_output(folder, small_files, capsys):
    """OUT fits on the disk, the report with its figures does not."""
    assert run([*COMMAND, "--report", "report.html"]) == 2
    said = capsys.readouterr().err
    assert "report.html could not be written: File too large; no part of it was left behind" in said
    assert [path.name for path in folder.iterdir()] == ["edges.tsv"]
    (folder / "out.tsv").write_text("of the last run")
    assert run([*COMMAND, "--report", "report.html", "--force"]) == 2
    assert (folder / "out.tsv").read_text() == "of the last run"
    assert sorted(path.name for path in folder.iterdir()) == ["edges.tsv", "out.tsv"]


def test_outputs_of_a_checkpoint_are_resumed_after_a_report_that_failed(folder, capsys):
    command = [*COMMAND, "--report", "report.html", "--checkpoint", "run.ckpt"]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, before[1]))
    try:
        assert run(command) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert sorted(path.name for path in folder.iterdir()) == ["edges.tsv", "run.ckpt"]
    assert run([*command, "--resume"]) == 0
    assert (folder / "out.tsv").exists()
    assert (folder / "report.html").exists()


def test_files_that_are_written_together(folder):
    def write(name, text):
        with atomic.atomic_file(name) as file:
            file.write(text)

    def write_and_fail():
        with atomic.written_together():
            write("one", b"1")
            raise KeyError

    with pytest.raises(KeyError):
        write_and_fail()
    with atomic.written_together():
        write("one", b"1")
        with atomic.written_together():
            write("at once", b"2")
        assert not (folder / "one").exists()
        assert (folder / "at once").exists()
    assert (folder / "one").read_bytes() == b"1"
    write("last", b"3")
    assert (folder / "last").exists()
    assert sorted(path.name for path in folder.iterdir()) == ["at once", "edges.tsv", "last", "one"]


def test_a_rename_that_fails_tells_what_was_written(folder, monkeypatch):
    rename = os.replace

    def fail_for_two(source, target):
        if target.name == "two":
            raise OSError(5, "Input/output error")
        rename(source, target)

    def write_both():
        with atomic.written_together():
            for name in ("one", "two", "three"):
                with atomic.atomic_file(name) as file:
                    file.write(b"1")

    monkeypatch.setattr(os, "replace", fail_for_two)
    with pytest.raises(InputError, match=r"two could not be written: Input.* one had been written"):
        write_both()
    assert sorted(path.name for path in folder.iterdir()) == ["edges.tsv", "one"]


def test_labels_and_edges_of_mails_appear_together(folder, capsys):
    """The labels are ready first, and the edges turn out to be impossible."""
    mails = ["spam,cheap pills offer money", "ham,see you at lunch tomorrow"]
    rows = "".join(f"{mails[number % 2]} {number}\n" for number in range(16))
    (folder / "mails.csv").write_text(f"label,text\n{rows}")
    command = [
        "neighbors",
        "mails.csv",
        "-o",
        "mails.tsv",
        "--label-template",
        "labels.csv",
        "--quiet",
    ]
    assert run([*command, "-k", "50"]) == 2
    assert "must be below the number of points" in capsys.readouterr().err
    assert not (folder / "labels.csv").exists()
    assert run([*command, "-k", "2"]) == 0
    assert (folder / "labels.csv").exists()
    assert (folder / "mails.tsv").exists()


def test_a_missing_checkpoint_to_resume_is_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.tsv").write_text("a\tb\nb\tc\nc\ta\n")
    command = ["sparsify", "edges.tsv", "-o", "out.tsv", "--keep", "1", "--checkpoint", "run.ckpt"]
    assert run([*command, "--resume"]) == 0
    assert "run.ckpt does not exist; starting from the beginning" in capsys.readouterr().err
    assert run([*command, "--resume", "--force"]) == 0
    assert "does not exist" not in capsys.readouterr().err
