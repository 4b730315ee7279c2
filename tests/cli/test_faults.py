"""Full disks, signals, files that vanish, closed pipes: one line, no half-written output."""

import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from graphsqueak import InputError, StreamSparsifier, read_edges, sources, write_edges
from graphsqueak.cli import run
from graphsqueak.demo import page
from graphsqueak.errors import SavingWarning
from graphsqueak.sources.files.reading import FileSource
from graphsqueak.sources.files.writing import write_columns
from graphsqueak.sparsifiers import run_page
from graphsqueak.sparsifiers.run import run_stream
from graphsqueak.system import atomic

PROGRAM = [sys.executable, "-m", "graphsqueak"]
BUDGET = ["--n-edges", "20000", "--seed", "8"]


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    path = tmp_path_factory.mktemp("edges") / "edges.tsv"
    write_edges(sources.erdos_renyi(300, 60_000, random_state=77), path)
    return path


@pytest.fixture
def small_files():
    """A limit on the size of files ends a write as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", ["out.tsv", "out.parquet", "out.arrow", "out.csv.gz"])
def test_a_file_that_does_not_fit_leaves_nothing(edges, tmp_path, small_files, capsys, name):
    assert run(["sparsify", str(edges), *BUDGET, "-o", str(tmp_path / name), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert "could not be written: File too large; no part of it was left behind" in said
    assert len(said.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_table_that_does_not_fit_leaves_nothing(edges, tmp_path, small_files, capsys):
    assert run(["resistance", str(edges), "-o", str(tmp_path / "r.csv")]) == 2
    assert "r.csv could not be written" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_keeps_the_output_of_the_last_run(edges, small_disk, capsys):
    out = small_disk / "out.tsv"
    assert run(["sparsify", str(edges), "--n-edges", "400", "-o", str(out), "--quiet"]) == 0
    before = out.read_bytes()
    (small_disk / "filler").write_bytes(bytes(1_000_000))
    assert run(["sparsify", str(edges), *BUDGET, "-o", str(out), "--force"]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert out.read_bytes() == before
    assert sorted(path.name for path in small_disk.iterdir()) == ["filler", "out.tsv"]


def test_a_checkpoint_that_does_not_fit_does_not_end_the_run(small_disk):
    stream = StreamSparsifier(n_edges=20_000, random_state=5)
    (small_disk / "filler").write_bytes(bytes(1_000_000))
    source = sources.erdos_renyi(300, 60_000, random_state=77)
    with pytest.warns(SavingWarning, match="No space left on device"):
        run_stream(stream, source, checkpoint=small_disk / "run.ckpt", checkpoint_interval=0.0)
    assert stream.n_edges_seen_ == 60_000
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("sparsify", BUDGET),
        ("sparsify", [*BUDGET, "--checkpoint", "ok"]),
        ("resistance", []),
        ("merge", []),
    ],
)
def test_an_output_that_cannot_be_is_told_before_the_input_is_read(
    tmp_path, capsys, command, options
):
    """The input here is no graph at all: nobody has looked at it."""
    path = tmp_path / "edges.tsv"
    path.write_text("this is no edge\n")
    for out, words in (("no/out.tsv", "does not exist"), ("", "format"), ("out", "format")):
        assert run([command, str(path), *options, "-o", str(tmp_path / out)]) == 2
        assert words in capsys.readouterr().err


def test_a_folder_that_may_not_be_written_to(edges, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    assert run(["sparsify", str(edges), *BUDGET, "-o", str(tmp_path / "out.tsv")]) == 2
    assert "cannot be written to" in capsys.readouterr().err


def test_a_file_that_is_cut_while_it_is_read(tmp_path):
    path = tmp_path / "edges.tsv"
    path.write_text("1 2\n" * 15_000_000)
    batches = iter(read_edges(path, batch_size=100_000))
    next(batches)
    os.truncate(path, 56_000_000)
    with pytest.raises(InputError, match=r"edges\.tsv ended after .* it was cut while it was read"):
        list(batches)


def test_a_file_that_is_deleted_while_it_is_read_is_read_to_its_end(tmp_path):
    path = tmp_path / "edges.tsv"
    path.write_text("1 2\n" * 5_000_000)
    batches = iter(read_edges(path, batch_size=10**6))
    next(batches)
    path.unlink()
    assert sum(batch.n_edges for batch in batches) == 4_000_000


@pytest.mark.parametrize("change", [os.unlink, lambda path: os.truncate(path, 40)])
def test_a_file_that_changes_between_two_passes(tmp_path, change):
    path = tmp_path / "edges.tsv"
    path.write_text("1 2\n" * 50)
    source = read_edges(path)
    list(source)
    change(path)
    with pytest.raises(InputError, match=r"edges\.tsv .*(changed|No such file)"):
        list(source)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_what_was_seen_and_the_command_it_prints_goes_on(tmp_path, number, code):
    """The input is a pipe that falls silent, so that the signal certainly comes before the end."""
    text = "".join(f"{u} {(u * u + 7 * v) % 997}\n" for v in range(2600) for u in range(1000))
    saved, out, straight = tmp_path / "my run.ckpt", tmp_path / "out.tsv", tmp_path / "straight.tsv"
    command = [*PROGRAM, "sparsify", "-", "--n-edges", "90000", "--seed", "8"]
    saving = ["-o", str(out), "--checkpoint", str(saved), "--checkpoint-interval", "0"]
    process = subprocess.Popen(
        [*command, *saving], stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    feeder = threading.Thread(target=lambda: process.stdin.write(text.encode()))
    feeder.start()
    while not saved.exists() and process.poll() is None:
        time.sleep(0.01)
    feeder.join()
    process.send_signal(number)
    said = process.stderr.read().decode()
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()
    assert process.wait() == code
    lines = [line for line in said.splitlines() if " sparsifying" not in line]
    assert [line.partition(":")[0] for line in lines] == ["standard input", "graphsqueak"]
    assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my run.ckpt"]
    assert 0 < StreamSparsifier.load(saved).n_edges_seen_ < 2_600_000
    again = shlex.split(said.partition("resume with: ")[2])
    assert again[0] == "graphsqueak"
    if number == signal.SIGINT:
        return  # one way round is enough
    subprocess.run([*PROGRAM, *again[1:], "--quiet"], input=text.encode(), check=True)
    subprocess.run([*command, "-o", straight, "--quiet"], input=text.encode(), check=True)
    assert out.read_bytes() == straight.read_bytes()


@pytest.fixture
def stop_at(monkeypatch):
    """A function that stops the next run by SIGTERM in its n-th pass over the edges."""

    def plan(number):
        n_passes = 0
        read = FileSource.batches

        def read_or_stop(source):
            nonlocal n_passes
            n_passes += 1
            if n_passes == number:
                signal.raise_signal(signal.SIGTERM)
            return read(source)

        monkeypatch.setattr(FileSource, "batches", read_or_stop)
        return lambda: monkeypatch.setattr(FileSource, "batches", read)

    return plan


@pytest.mark.parametrize(
    "options",
    [
        ["--n-edges", "4000", "--certify"],
        ["--n-edges", "600", "--method", "subgraph", "--certify"],
        ["--n-edges", "4000", "--certify", "--tree", "balanced", "--parts", "2"],
        ["--epsilon", "0.5"],
    ],
    ids=["certify", "subgraph", "tree", "epsilon"],
)
def test_a_run_is_resumed_from_any_later_pass(
    edges, tmp_path, monkeypatch, stop_at, capsys, options
):
    """The first pass fills the checkpoint; later ones certify, or sample again with more edges."""
    monkeypatch.chdir(tmp_path)
    command = ["sparsify", str(edges), *options, "--seed", "8", "--quiet"]
    assert run([*command, "-o", "straight.tsv"]) == 0
    straight = (tmp_path / "straight.tsv").read_bytes()
    n_stops = 0
    for number in range(2, 20):
        saved = f"{number}.ckpt"
        cancel = stop_at(number)
        code = run([*command, "-o", "out.tsv", "--checkpoint", saved])
        cancel()
        if code == 0:
            break
        assert code == 143
        said = capsys.readouterr().err
        assert f"stopped and saved in {saved}; resume with: graphsqueak sparsify" in said
        assert not (tmp_path / "out.tsv").exists()
        again = shlex.split(said.partition("resume with: ")[2])
        assert again[-1] == "--resume"
        assert run(again[1:]) == 0
        assert (tmp_path / "out.tsv").read_bytes() == straight
        (tmp_path / "out.tsv").unlink()
        n_stops += 1
    assert n_stops >= 1


@pytest.mark.parametrize("where", ["sparsifier", "report"])
def test_a_stop_after_the_passes_names_the_checkpoint(edges, tmp_path, monkeypatch, capsys, where):
    """While edges are resampled to the budget, or while the report is drawn."""
    monkeypatch.chdir(tmp_path)
    command = ["sparsify", str(edges), "--n-edges", "4000", "--seed", "8", "--quiet"]
    command += ["--report", "report.html", "--checkpoint", "run.ckpt", "-o", "out.tsv"]

    def stop(*args, **kwargs):
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        if where == "sparsifier":
            patch.setattr(StreamSparsifier, "sparsifier", stop)
        else:
            patch.setattr(run_page, "html_page", stop)
        assert run(command) == 130
    assert "stopped and saved in run.ckpt; resume with: " in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["run.ckpt"]
    assert run([*command, "--resume"]) == 0
    assert (tmp_path / "report.html").exists()


def test_a_stop_without_a_checkpoint_tells_what_was_written(tmp_path, monkeypatch, capsys):
    """A stop between two outputs that do not wait for each other."""
    monkeypatch.chdir(tmp_path)

    def stop(*args, **kwargs):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(page, "describe_dense_graph", stop)
    assert run(["demo", "--quick", "-o", "folder", "--quiet"]) == 130
    said = capsys.readouterr().err
    assert said.startswith("graphsqueak: stopped; folder/dense.parquet, ")
    assert said.endswith("had been written\n")
    monkeypatch.setattr(page, "open_folder", stop)
    assert run(["demo", "--quick", "-o", "other", "--quiet"]) == 130
    assert capsys.readouterr().err == "graphsqueak: stopped; nothing was written\n"


@pytest.mark.slow
def test_control_c_ends_a_run_on_workers_and_names_the_finished_parts(tmp_path):
    """The signal goes to all processes, as from a terminal, long before the last part is read."""
    parts, leaves = tmp_path / "parts", tmp_path / "leaves"
    parts.mkdir()
    for number in range(2):
        write_edges(sources.erdos_renyi(300, 20_000, random_state=number), parts / f"{number}.tsv")
    write_edges(sources.erdos_renyi(3000, 6_000_000, random_state=2), parts / "2.tsv")
    options = ["--n-edges", "2000", "--seed", "8", "--workers", "2", "--checkpoint", str(leaves)]
    process = subprocess.Popen(
        [*PROGRAM, "sparsify", str(parts), "-o", str(tmp_path / "out.tsv"), *options],
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    while not any(leaves.glob("*.ckpt")) and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "Traceback" not in said
    assert f"saved in {leaves}; resume with: graphsqueak sparsify" in said
    assert said.rstrip().endswith("--resume")


def test_a_signal_waits_for_the_end_of_what_is_held():
    done = []

    def work():
        with atomic.stoppable(), atomic.hold_signals():
            signal.raise_signal(signal.SIGTERM)
            done.append("work")

    with pytest.raises(atomic.Stopped) as caught:
        work()
    assert done == ["work"]
    assert caught.value.number == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


class RaisingFinalizer:
    """An object during whose finalizer a signal arrives."""

    def __del__(self):
        signal.raise_signal(signal.SIGTERM)


def test_a_signal_that_a_finalizer_loses_is_sent_again():
    """Python ignores exceptions in finalizers."""

    def work():
        with atomic.stoppable():
            RaisingFinalizer()
            threading.Event().wait(20)

    with pytest.raises(atomic.Stopped) as caught:
        work()
    assert caught.value.number == signal.SIGTERM


KILLED = """
import os, signal, sys
from graphsqueak.system.atomic import atomic_file

with atomic_file(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("name", ["out.tsv", "\u00e9" * 125 + ".tsv"])
def test_what_a_killed_run_leaves_is_removed_by_the_next_one(tmp_path, monkeypatch, name):
    """Partial files that a process still writes, and files of others, stay."""
    monkeypatch.chdir(tmp_path)
    others = [".out.tsv.part", ".other.tsv.01234567.part", ".out.tsv.0123456x.part"]
    for other in others:
        (tmp_path / other).write_bytes(b"")
    killed = subprocess.run([sys.executable, "-c", KILLED, name], check=False)
    assert killed.returncode == -signal.SIGKILL
    (abandoned,) = {path.name for path in tmp_path.iterdir()} - set(others)
    with atomic.atomic_file(name) as first:
        assert not (tmp_path / abandoned).exists()
        first.write(b"first")
        with atomic.written_together():
            with atomic.atomic_file(name) as second:
                second.write(b"second")
            with atomic.atomic_file(name) as third:  # the second is complete and waits
                third.write(b"third")
        assert (tmp_path / name).read_bytes() == b"third"
    assert (tmp_path / name).read_bytes() == b"first"
    assert {path.name for path in tmp_path.iterdir()} == {*others, name}


def test_a_folder_that_cannot_be_listed_is_written_to(tmp_path, monkeypatch):
    def refuse(folder):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", refuse)
        with atomic.atomic_file(tmp_path / "out.tsv") as file:
            file.write(b"42")
    assert (tmp_path / "out.tsv").read_bytes() == b"42"


def test_the_last_checkpoint_holds_the_whole_input(edges, tmp_path):
    saved, out = tmp_path / "run.ckpt", tmp_path / "out.tsv"
    command = ["sparsify", str(edges), *BUDGET, "-o", str(out), "--checkpoint", str(saved)]
    assert run([*command, "--quiet"]) == 0
    assert StreamSparsifier.load(saved).n_edges_seen_ == 60_000


def test_a_clock_that_jumps_changes_nothing(tmp_path, monkeypatch):
    """Waits are measured by a clock that cannot be set; the time of day is never asked."""
    monkeypatch.setattr(time, "time", lambda: pytest.fail("the time of day was asked"))
    moments = iter([0.0, 1e9, -1e9, *range(1000)])
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))
    stream = StreamSparsifier(n_edges=4000, random_state=5)
    source = sources.erdos_renyi(300, 60_000, random_state=77)
    run_stream(stream, source, checkpoint=tmp_path / "run.ckpt", checkpoint_interval=30.0)
    assert StreamSparsifier.load(tmp_path / "run.ckpt").n_edges_seen_ == 60_000


@pytest.mark.slow
def test_a_reader_that_leaves_early(edges, tmp_path):
    """`graphsqueak ... | head`: no word about the pipe on standard error; the output is there."""
    out = tmp_path / "out.tsv"
    command = [*PROGRAM, "sparsify", str(edges), *BUDGET, "-o", str(out)]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert not re.search(rb"Traceback|[Pp]ipe", done.stderr)
    assert read_edges(out).to_edge_list().n_edges <= 20_000


def test_a_table_whose_reader_leaves_early(monkeypatch):
    """`graphsqueak label ... -o - | head`: an error that says what it is, and so ends quietly."""
    read, write = os.pipe()
    os.close(read)
    with open(write, "w", closefd=False) as nobody, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", nobody)
        with pytest.raises(BrokenPipeError):
            write_columns({"node": np.arange(30_000), "label": np.zeros(30_000)}, "-")
        os.dup2(os.open(os.devnull, os.O_WRONLY), write)  # what is left is flushed there
    os.close(write)


def test_closed_standard_input(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert run(["info", "-"]) == 2
    assert "standard input is closed" in capsys.readouterr().err


@pytest.mark.slow
def test_two_runs_that_write_one_output(edges, tmp_path):
    out = tmp_path / "out.tsv"
    command = [*PROGRAM, "sparsify", str(edges), "--n-edges", "20000", "-o", str(out), "--quiet"]
    # One of the two may begin when the other has ended already.
    command.append("--force")
    both = [subprocess.Popen([*command, "--seed", seed]) for seed in ("1", "2")]
    assert [process.wait() for process in both] == [0, 0]
    for seed in ("1", "2"):
        assert run([*command[3:], "--seed", seed, "-o", f"{tmp_path}/{seed}.tsv"]) == 0
    assert out.read_bytes() in [(tmp_path / f"{seed}.tsv").read_bytes() for seed in ("1", "2")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.tsv", "2.tsv", "out.tsv"]


def test_a_result_that_its_format_cannot_hold_is_written_beside(tmp_path, capsys):
    """Matrix Market has no text ids; that is no reason to lose the run."""
    named, out = tmp_path / "named.tsv", tmp_path / "out.mtx"
    named.write_text("".join(f"u{i % 30}\tv{i % 29}\n" for i in range(800)))
    assert run(["sparsify", str(named), "-o", str(out), "--n-edges", "100", "--seed", "8"]) == 2
    assert f"The result is in {out}.parquet" in capsys.readouterr().err
    assert not out.exists()
    assert read_edges(f"{out}.parquet").to_edge_list().n_edges <= 100
