"""Times at the command line: windows, half-lives, and files that grow while they are read."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from graphsqueak import EdgeList, InputError, TimedSparsifier, read_edges, sparsify
from graphsqueak.cli import run
from graphsqueak.sources import follow_edges, recent_edges

ROOT = Path(__file__).parents[2]


def rows(n_rows, start=0, seed=5):
    rng = np.random.default_rng(seed + start)
    ends = rng.integers(60, size=(n_rows, 2))
    return "".join(f"{u},{v},{start + k}\n" for k, (u, v) in enumerate(ends.tolist()))


@pytest.fixture
def events(tmp_path, monkeypatch):
    """Three thousand edges, one a second."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "events.csv"
    path.write_text("src,dst,ts\n" + rows(3000))
    return path


def said(capsys, *arguments):
    assert run([*arguments, "--json", "--quiet", "--seed", "4"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_window_and_a_half_life_are_certified_against_their_own_graph(events, capsys):
    for forgets in (["--window", "1000"], ["--half-life", "300"]):
        told = said(
            capsys, "sparsify", "events.csv", "-o", "out.csv", "--n-edges", "400", "--time", "ts",
            *forgets, "--certify", "--force",
        )  # fmt: skip
        assert told["epsilon_upper"] < 0.8
        assert told["edges_kept"] <= 400
        assert told["until"] == 2999
        total = read_edges("out.csv").to_edge_list().weight.sum()
        expected = 2999 - told["since"] if "--window" in forgets else 300 / np.log(2)
        assert abs(total / expected - 1) < 0.1
    assert told["input"]["times"] == "ts"


def test_it_ends_where_it_would_have_ended(events, capsys):
    """Stopped in the middle and resumed with the rest: the same bytes."""
    plain = ["sparsify", "events.csv", "--n-edges", "300", "--time", "ts", "--window", "1500"]
    said(capsys, *plain, "-o", "once.csv")
    text = events.read_text()
    events.write_text("".join(text.splitlines(keepends=True)[:1800]))
    said(capsys, *plain, "-o", "twice.csv", "--checkpoint", "run.ckpt")
    assert run(["info", "run.ckpt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["edges_seen"] < 1800
    events.write_text(text)
    said(capsys, *plain, "-o", "twice.csv", "--checkpoint", "run.ckpt", "--resume")
    assert Path("once.csv").read_bytes() == Path("twice.csv").read_bytes()
    again = [*plain, "-o", "other.csv", "--checkpoint", "run.ckpt", "--resume", "--seed", "4"]
    assert run([*again, "--window", "900"]) == 2
    assert "--window 1500" in capsys.readouterr().err
    events.write_text(text.replace(",7\n", ",7.5\n"))
    assert run(again) == 2
    assert "another input" in capsys.readouterr().err


def test_labels_over_time(events, capsys):
    """Nodes are of two kinds by parity at first, by size from 1500 on."""
    rng = np.random.default_rng(8)
    tail, head = rng.integers(60, size=(2, 3000))
    late = np.arange(3000) >= 1500
    head = np.where(late, head % 30 + 30 * (tail >= 30), head // 2 * 2 + tail % 2)
    lines = [f"{u},{v},{k}\n" for k, (u, v) in enumerate(zip(tail, head, strict=True))]
    events.write_text("src,dst,ts\n" + "".join(lines))
    truth = "".join(
        f"{n},{'ab'[n >= 30] if n % 7 == 0 else ''},{'ab'[n >= 30]}\n" for n in range(60)
    )
    Path("labels.csv").write_text("node,label,truth\n" + truth)
    plain = ["label", "events.csv", "labels.csv", "-o", "out.csv", "--force", "--time", "ts"]
    assert said(capsys, *plain, "--window", "1000")["accuracy"] == 1.0
    assert said(capsys, *plain, "--half-life", "150")["accuracy"] == 1.0
    assert said(capsys, *plain, "--window", "999", "--method", "in-memory")["accuracy"] == 1.0
    assert said(capsys, *plain)["accuracy"] < 1.0


def test_mistakes_are_one_line(events, capsys):
    Path("labels.csv").write_text("node,label\n1,a\n2,b\n")
    start = ["sparsify", "events.csv", "-o", "out.csv", "--n-edges", "400"]
    for arguments, expected in (
        ([*start, "--window", "5"], "--time COLUMN"),
        ([*start, "--time", "ts", "--window", "-5"], "window"),
        ([*start, "--time", "ts", "--window", "5", "--workers", "2"], "one pass"),
        ([*start, "--time", "ts", "--follow", "--certify"], "--follow"),
        ([*start, "--time", "when"], "no column named 'when'"),
        ([*start], "--time"),
        (["label", "events.csv", "labels.csv", "-o", "o.csv", "--window", "9"], "--time COLUMN"),
    ):
        assert run(arguments) == 2
        told = capsys.readouterr().err
        assert expected in told
        assert told.count("\n") == 1
        assert not Path("out.csv").exists()


def test_lines_are_given_as_they_come(tmp_path):
    """Comments and halves of lines wait; a cut is an error; compressed files are refused."""
    path = tmp_path / "grows.tsv"
    path.write_text("# the first lines\n1\t2\n2\t3\n3")
    seen, source = [], follow_edges(path, poll=0.01)
    steps = iter(["\t4\n", "4\t5\n5\t1", "", "\n"])
    for batch in source:
        seen += batch.tail.tolist()
        if (more := next(steps, None)) is None and len(seen) == 5:
            break
        with open(path, "a") as file:
            file.write(more or "")
    assert source.ids.tolist() == [1, 2, 3, 4, 5]
    assert seen == [0, 1, 2, 3, 4]
    batches = iter(follow_edges(path, poll=0.01))
    while next(batches).n_edges == 0:
        pass
    path.write_text("1\t2\n")
    with pytest.raises(InputError, match="truncated while it was followed"):
        list(batches)
    path.write_bytes(b"\x1f\x8b" + bytes(50) + b"\n" * 30)
    with pytest.raises(InputError, match="not plain text"):
        next(iter(follow_edges(path, poll=0.01)))


def wait_until(test, process):
    began = time.monotonic()
    while not test():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() - began < 120
        time.sleep(0.02)


@pytest.mark.slow
def test_a_growing_file_is_followed_killed_resumed_and_ended(events):
    """A real process and a real file: fresh results, kill -9 in between, an end by SIGTERM."""
    command = [
        sys.executable, "-m", "graphsqueak", "sparsify", "events.csv", "--follow",
        "--interval", "0.2", "--checkpoint-interval", "0.1", "-o", "live.csv",
        "--n-edges", "300", "--time", "ts", "--window", "1500", "--seed", "4",
        "--checkpoint", "run.ckpt",
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(ROOT)}

    def start(*more):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([*command, *more], env=environment, **streams)

    live, saved = Path("live.csv"), Path("run.ckpt")
    process = start()
    wait_until(saved.exists, process)
    first = live.read_bytes()
    with events.open("a") as file:
        file.write(rows(1000, start=3000))
        file.flush()
        wait_until(lambda: live.read_bytes() != first, process)
        process.kill()
        process.communicate()
        assert read_edges(live).to_edge_list().n_edges <= 300  # whole, whenever it is looked at
        file.write(rows(1000, start=4000))
    process = start("--resume")
    whole = read_edges(events, time="ts")
    n_edges = sum(batch.n_edges for batch in whole)
    wait_until(lambda: TimedSparsifier.load(saved).n_edges_seen_ == n_edges, process)
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert "so far, in live.csv" in told
    stream = TimedSparsifier(n_edges=300, window=1500.0, random_state=4).partial_fit(whole)
    ends, result = stream.sparsifier(), read_edges(live, ids="integer").to_edge_list()
    assert isinstance(ends, EdgeList)
    assert (result.ids[result.tail] == ends.ids[ends.tail]).all()
    assert (result.weight == ends.weight).all()
    assert not list(Path().glob(".live.csv*"))


HOUR = 3600
START = 1_700_000_000
ENDS = ["--columns", "src,dst"]


@pytest.fixture
def dated(tmp_path, monkeypatch):
    """One edge per hour for 30 days, with its time as Unix seconds, as a date, and otherwise."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(11)
    rows = ["src,dst,unix,date,milli,number"]
    for k, (u, v) in enumerate(rng.integers(30, size=(720, 2)).tolist()):
        second = START + k * HOUR
        date = datetime.fromtimestamp(second, UTC).isoformat()
        rows.append(f"{u},{v + 30},{second},{date},{1000 * second},{k}")
    Path("events.csv").write_text("\n".join(rows) + "\n")
    pl.read_csv("events.csv", try_parse_dates=True).write_parquet("events.parquet")
    return tmp_path / "events.csv"


def keep_all(capsys, *arguments, file="events.csv"):
    """The record of a run that drops no edge but those that are too old."""
    plain = ["sparsify", file, "-o", "out.csv", "--n-edges", "5000", "--force", *ENDS]
    return said(capsys, *plain, *arguments)


@pytest.mark.parametrize("span", ["7d", "1w", "168h", "10080m", "604800s", "604800", "7 d", "7.0d"])
def test_a_window_has_a_unit_or_that_of_its_column(span, dated, capsys):
    for column in ("unix", "date"):
        told = keep_all(capsys, "--time", column, "--window", span, "--n-panes", "7")
        assert told["until"] - told["since"] <= 8 * 24 * HOUR
        assert 7 * 24 <= told["edges_in_window"] <= 8 * 24
        assert told["edges_read"] == 720
        # Parallel edges are added up, each of weight 1.
        assert read_edges("out.csv").to_edge_list().weight.sum() == told["edges_in_window"]


def test_a_window_over_timestamps_of_a_table(dated, capsys):
    expected = keep_all(capsys, "--time", "date", "--window", "7d")
    for column in ("unix", "date"):
        told = keep_all(capsys, "--time", column, "--window", "7d", file="events.parquet")
        assert told["edges_in_window"] == expected["edges_in_window"]
        assert told["since"] == expected["since"]


@pytest.mark.parametrize("option", ["--window", "--half-life", "--allowed-lateness"])
def test_a_unit_needs_times_in_seconds(option, dated, capsys):
    plain = ["sparsify", "events.csv", "-o", "out.csv", "--n-edges", "500", *ENDS]
    plain += ["--half-life", "10"] if option == "--allowed-lateness" else []
    assert run([*plain, "--time", "milli", option, "7d"]) == 2
    assert "in milliseconds, and a span such as 7d needs dates" in (told := capsys.readouterr().err)
    assert "an hour is 3,600,000" in told
    assert run([*plain, "--time", "number", option, "7d"]) == 2
    assert "times such as 0 are numbers of an unknown unit" in capsys.readouterr().err
    assert not Path("out.csv").exists()
    assert run([*plain, "--time", "unix", option, "7 parsecs"]) == 2
    assert "'7 parsecs' is not a span of time" in (told := capsys.readouterr().err)
    assert "45s, 30m, 12h, 7d, 2w" in told


def test_half_lives_and_labels_take_units(dated, capsys):
    told = [
        keep_all(capsys, "--time", "date", "--half-life", span) and Path("out.csv").read_bytes()
        for span in ("2d", "172800")
    ]
    assert told[0] == told[1]
    Path("labels.csv").write_text("node,label\n1,a\n2,b\n40,a\n")
    words = ["label", "events.csv", "labels.csv", "-o", "out.csv", "--force", *ENDS, "--time"]
    for method in ("streaming", "in-memory"):
        outputs = []
        for span in ("7d", "604800"):
            assert run([*words, "date", "--window", span, "--method", method, "--seed", "1"]) == 0
            outputs.append(Path("out.csv").read_bytes())
        assert outputs[0] == outputs[1]
        assert run([*words, "number", "--window", "7d", "--method", method]) == 2
        assert "unknown unit" in capsys.readouterr().err


def test_a_pipe_and_a_growing_file_take_units(dated, capsys):
    """What can be read once is looked at when its first edges come."""
    expected = keep_all(capsys, "--time", "unix", "--window", "7d")["edges_in_window"]
    for read in (read_edges, follow_edges):
        pipe = read(io.BytesIO(dated.read_bytes()), columns=(0, 1), time="unix")
        assert sparsify(pipe, n_edges=5000, window="7d").weight.sum() == expected
        pipe = read(io.BytesIO(dated.read_bytes()), columns=(0, 1), time="number")
        with pytest.raises(InputError, match="unknown unit"):
            sparsify(pipe, n_edges=5000, window="7d")


def test_spans_with_units_in_python(dated):
    source = read_edges("events.csv", columns=("src", "dst"), time="date")
    recent = recent_edges(source, window="7d").to_edge_list()
    assert recent.n_edges == 7 * 24
    H = sparsify(source, n_edges=5000, window="7d", n_panes=7, random_state=1)
    assert H.weight.sum() >= 7 * 24
    assert (
        read_edges("events.csv", columns=(0, 1), time=3, allowed_lateness="1h")
        .to_edge_list()
        .n_edges
        == 720
    )
    for span in ("7 days", "d", "", "7M", "-7d"):
        with pytest.raises(InputError, match=r"window=.* is not a span of time"):
            recent_edges(source, window=span)
    with pytest.raises(InputError, match="unknown unit"):
        sparsify(read_edges("events.csv", columns=(0, 1), time=5), n_edges=50, window="7d")


def test_messages_of_a_window_count_its_edges(dated, capsys):
    words = ["sparsify", "events.csv", "-o", "out.csv", "--time", "unix", "--seed", "1", *ENDS]
    window = ["--window", "7d", "--n-panes", "7"]
    told = keep_all(capsys, "--time", "unix", *window)
    n_recent = told["edges_in_window"]
    assert run([*words, *window, "--n-edges", "80", "--force", "--report", "page.html"]) == 0
    summary = capsys.readouterr().out
    assert f" of {n_recent} edges of times " in summary
    assert not re.search(r"\b720\b", summary)
    page = Path("page.html").read_text()
    assert re.search(rf">{n_recent} → \d+<", page)
    assert "% of those that are not too old)" in page
    assert run([*words, *window, "--epsilon", "0.01", "--force"]) == 0
    summary = capsys.readouterr().out
    edges_per_node = f"{n_recent / 60:.1f} edges per node"
    assert f"No edge can be dropped at an error of 0.01: {edges_per_node}" in summary
    assert run([*words, *window, "--keep", "30%", "--dry-run", "--json", "--force"]) == 0
    table = json.loads(capsys.readouterr().out)["forecast"]
    assert max(row["n_edges"] for row in table) <= n_recent / 2 + 1


def test_a_fraction_is_a_number_or_a_percentage(dated, capsys):
    words = ["sparsify", "events.csv", "-o", "out.csv", *ENDS, "--force"]
    outputs = []
    for keep in ("0.3", "30%", "30 %"):
        told = said(capsys, *words, "--keep", keep)
        assert told["edges_kept"] <= 216
        outputs.append(Path("out.csv").read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]
    for keep, message in (("130%", "1.3"), ("a third", "'a third' is not a fraction"), ("%", "%")):
        assert run([*words, "--keep", keep]) == 2
        assert message in capsys.readouterr().err
    assert run(["resistance", "events.csv", *ENDS, "-o", "r.csv", "--keep", "90%"]) == 0
    assert run(["merge", "out.csv", "-o", "merged.csv", "--keep", "50%"]) == 0
    assert read_edges("merged.csv").to_edge_list().n_edges <= 108


def test_a_followed_file_is_written_and_saved_at_intervals_of_their_own(events, monkeypatch):
    """Ten batches, one per second of a fake clock."""
    from graphsqueak.sparsifiers import SparsifyConfig, run

    whole = read_edges(events, time="ts").to_edge_list()
    size = whole.n_edges // 10 + 1
    now = [0.0]

    class Batches:
        fraction_read = float("nan")

        def batches(self):
            for start in range(0, whole.n_edges, size):
                now[0] += 1.0
                yield whole.part(start, min(start + size, whole.n_edges))

    monkeypatch.setattr(run.time, "monotonic", lambda: now[0])
    stream = SparsifyConfig(n_edges=300, random_state=1).new_stream()
    n_saved = []
    monkeypatch.setattr(type(stream), "save", lambda self, path: n_saved.append(now[0]))
    n_written = []
    run.run_stream(
        stream,
        Batches(),
        checkpoint="run.ckpt",
        checkpoint_interval=4.5,
        write=lambda stream: n_written.append(now[0]),
        write_interval=1.5,
    )
    assert n_written == [2.0, 4.0, 6.0, 8.0, 10.0]
    assert n_saved == [5.0, 10.0]
