"""graphsqueak sparsify: files in, files out, stopped and resumed."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from graphsqueak import read_edges, sources, write_edges
from graphsqueak.cli import run
from tests import reference


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    path = tmp_path_factory.mktemp("edges") / "edges.tsv"
    write_edges(sources.erdos_renyi(300, 60_000, random_state=77), path)
    return path


def test_the_file_is_a_sparsifier_of_the_file(edges, tmp_path, capsys):
    out = tmp_path / "sparse.parquet"
    arguments = [
        "sparsify",
        str(edges),
        "-o",
        str(out),
        "--epsilon",
        "0.5",
        "--seed",
        "3",
        "--json",
    ]
    assert run(arguments) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["edges_read"] == 60_000
    assert record["components"] == 1
    assert record["edges_kept"] <= 1.11 * 300 * (2 / 0.5) ** 2 / 2
    assert record["epsilon_predicted"] <= 0.5
    result = read_edges(out).to_edge_list()
    assert result.n_edges == record["edges_kept"]
    assert reference.epsilon(*aligned(read_edges(edges).to_edge_list(), result)) <= 0.5


def test_keep_and_edges_are_promises(edges, tmp_path, capsys):
    for option, value, most in (("--keep", "0.1", 6000), ("--n-edges", "4000", 4000)):
        out = tmp_path / f"out{option}.tsv"
        assert run(["sparsify", str(edges), "-o", str(out), option, value]) == 0
        assert 0.9 * most <= read_edges(out).to_edge_list().n_edges <= most
        assert "(predicted, not measured)" in capsys.readouterr().out


def test_keeping_every_edge_is_an_error_of_0(edges, tmp_path, capsys):
    for extra in ([], ["--certify"], ["--tree", "balanced", "--parts", "3"]):
        out = tmp_path / f"all{len(extra)}.parquet"
        assert run(["sparsify", str(edges), "-o", str(out), "--keep", "1.0", *extra]) == 0
        printed = capsys.readouterr().out
        assert "Error 0: nothing was dropped" in printed
        kept = read_edges(out).to_edge_list()
        assert f"{60_000 - kept.n_edges:,} edges that repeat others were added" in printed
        assert reference.epsilon(*aligned(read_edges(edges).to_edge_list(), kept)) < 1e-9


def test_an_error_on_a_sparse_graph_is_met_with_fewer_edges(tmp_path, capsys):
    """Five edges per node; counted as for a dense graph, 0.3 would take 24 edges per node."""
    path, out = tmp_path / "sparse.tsv", tmp_path / "out.tsv"
    write_edges(sources.erdos_renyi(1000, 5000, random_state=78), path)
    assert run(["sparsify", str(path), "-o", str(out), "--epsilon", "0.3", "--seed", "4"]) == 0
    assert "(measured, exact)" in capsys.readouterr().out
    kept = read_edges(out).to_edge_list()
    assert kept.n_edges < 0.95 * 5000
    assert reference.epsilon(*aligned(read_edges(path).to_edge_list(), kept)) <= 0.3


def test_an_error_that_needs_every_edge_is_explained(tmp_path, capsys):
    path, out = tmp_path / "cycle.tsv", tmp_path / "out.tsv"
    write_edges(sources.cycle(60), path)
    assert run(["sparsify", str(path), "-o", str(out), "--epsilon", "0.9"]) == 0
    assert "No edge can be dropped at an error of 0.9" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::graphsqueak.errors.AccuracyWarning")
def test_an_error_above_1_is_told_in_words(edges, tmp_path, capsys):
    """A forest and a few edges: some cuts weigh many times as much as in the graph."""
    arguments = ["--n-edges", "330", "--method", "stream", "--certify", "--seed", "3"]
    assert run(["sparsify", str(edges), "-o", str(tmp_path / "out.tsv"), *arguments]) == 0
    printed = capsys.readouterr().out
    error = re.search(r"error ([\d.]+), kappa [\d.,]+ \(measured, exact\)", printed)[1]
    most = re.search(r"between [\d.e-]+ and ([\d.]+) times the graph's total weight", printed)[1]
    assert float(error) > 1
    assert abs(float(most) - 1 - float(error)) <= 0.05 * float(most)  # to two digits
    assert "Inaccurate even for typical quantities" in printed
    advised = int(re.search(r"--n-edges (\d+) would bring the worst-case error", printed)[1])
    assert 1_500 < advised < 3_000  # a dense graph takes 2,400


def test_ids_come_back_as_they_were(tmp_path):
    path, out = tmp_path / "names.csv", tmp_path / "out.csv"
    names = [f"user {i:03d}" for i in range(60)]
    rows = [f"{a},{b}" for i, a in enumerate(names) for b in names[:i]]
    path.write_text("\n".join(rows))
    assert run(["sparsify", str(path), "-o", str(out), "--n-edges", "400", "--quiet"]) == 0
    assert sorted(read_edges(out).to_edge_list().ids.tolist()) == names


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ([], "exactly one"),
        (["--keep", "0.1", "--n-edges", "5"], "exactly one"),
        (["--keep", "2"], "at most 1"),
        (["--n-edges", "100"], "too few to keep 300 nodes connected"),
        (["--keep", "0.1", "--resume"], "--resume needs --checkpoint"),
    ],
)
def test_mistakes(edges, tmp_path, capsys, extra, message):
    out = tmp_path / "out.tsv"
    assert run(["sparsify", str(edges), "-o", str(out), *extra]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_of_another_run_is_refused(edges, tmp_path, capsys):
    other, saved, out = tmp_path / "other.tsv", tmp_path / "run.ckpt", str(tmp_path / "out.tsv")
    write_edges(sources.erdos_renyi(300, 60_000, random_state=78), other)
    base = ["-o", out, "--checkpoint", str(saved), "--checkpoint-interval", "0", "--seed", "5"]
    assert run(["sparsify", str(edges), "--keep", "0.1", *base, "--quiet"]) == 0
    resume = [*base, "--resume"]
    for arguments, message in (
        (["sparsify", str(other), "--keep", "0.1", *resume], "another input"),
        (["sparsify", str(edges), "--keep", "0.2", *resume], "written with --keep 0.1"),
        (["sparsify", str(edges), "--keep", "0.1", *resume, "--seed", "6"], "another --seed"),
    ):
        assert run(arguments) == 2
        assert message in capsys.readouterr().err
    saved.write_bytes(saved.read_bytes()[:1000])
    assert run(["sparsify", str(edges), "--keep", "0.1", *resume]) == 2
    assert "is not a complete checkpoint" in capsys.readouterr().err


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed_the_bytes_are_the_same(tmp_path):
    path = tmp_path / "edges.parquet"
    write_edges(sources.erdos_renyi(2000, 3_000_000, random_state=79), path)
    command = [sys.executable, "-m", "graphsqueak", "sparsify", str(path), "--n-edges", "30000"]
    straight, resumed = tmp_path / "straight.tsv", tmp_path / "resumed.tsv"
    subprocess.run([*command, "-o", str(straight), "--seed", "8", "--quiet"], check=True)
    checkpoint = tmp_path / "run.ckpt"
    command += ["-o", str(resumed), "--seed", "8", "--quiet"]
    command += ["--checkpoint", str(checkpoint), "--checkpoint-interval", "0", "--resume"]
    moments, kills = random.Random(99_118), 0
    for _ in range(6):
        if not killed_after_a_checkpoint(command, checkpoint, moments.uniform(0.0, 0.03)):
            break
        kills += 1
    else:
        subprocess.run(command, check=True)
    assert kills > 0
    assert resumed.read_bytes() == straight.read_bytes()


def killed_after_a_checkpoint(command, checkpoint, delay):
    """Kill a run `delay` seconds after it wrote a checkpoint; False if it ended before that."""

    def written():
        return checkpoint.stat().st_mtime_ns if checkpoint.exists() else None

    before = written()
    process = subprocess.Popen(command)
    while written() == before and process.poll() is None:
        time.sleep(0.001)
    time.sleep(delay)
    if process.poll() is not None:
        return False
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return True


def aligned(graph, result):
    """Both graphs over the ids in one order."""
    order = np.argsort(graph.ids)
    place = np.empty(graph.n_nodes, dtype=int)
    place[order] = np.arange(graph.n_nodes)
    other = np.argsort(np.argsort(result.ids))
    return (
        type(graph)(tail=place[graph.tail], head=place[graph.head], weight=graph.weight),
        type(graph)(tail=other[result.tail], head=other[result.head], weight=result.weight),
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--n-edges", "100000000", "--memory", "2GB"], "at most 16,854,272 fit"),
        (["--n-edges", "1000", "--memory", "100MB"], "allow at least 600 MiB"),
        (["--n-edges", "1000", "--memory", "much"], "'much' is not a memory size"),
    ],
)
def test_a_memory_limit_that_is_too_small_is_refused_before_the_run(
    tmp_path, capsys, options, words
):
    path = tmp_path / "edges.tsv"
    path.write_text("this is no edge\n")
    assert run(["sparsify", str(path), "-o", str(tmp_path / "out.tsv"), *options]) == 2
    assert words in capsys.readouterr().err


def sections_of(edges, tmp_path, capsys, *options):
    out = tmp_path / "out.tsv"
    assert run(["sparsify", str(edges), "-o", str(out), "--force", *options]) == 0
    captured = capsys.readouterr()
    return captured.out.splitlines(), captured.err.splitlines()


def test_the_verdict_begins_with_the_typical_error_then_the_worst_case_then_advice(
    edges, tmp_path, capsys
):
    out, err = sections_of(edges, tmp_path, capsys, "--keep", "0.02", "--seed", "1")
    assert err[0] == f"{edges}: undirected; columns source, target; ids integer; weights none"
    assert re.match(r"[\d,]+ of 60,000 edges on 300 nodes in [\d.]+ s, in ", out[0])
    number = r"[\d.]+ %"
    rows = ", ".join(
        rf"{name} {number} \(random edges {number}\)"
        for name in ("cuts", "degrees", "effective resistances")
    )
    assert re.match(rf"Typical error: {rows}\. .*Worst case: error about 0\.", out[1])
    assert re.fullmatch(r"--keep 0\.0\d+ would bring the worst-case error to about 0\.5\.", out[2])
    assert len(out) == 3


def test_advice_is_about_right(edges, tmp_path, capsys):
    """The suggested fraction has the suggested error."""
    out, _ = sections_of(edges, tmp_path, capsys, "--keep", "0.02", "--seed", "1")
    keep = re.match(r"--keep ([\d.]+)", out[-1])[1]
    out, _ = sections_of(edges, tmp_path, capsys, "--keep", keep, "--seed", "1", "--json")
    assert json.loads(out[0])["epsilon_predicted"] == pytest.approx(0.5, abs=0.05)


def test_typical_errors_are_in_the_record_and_resistances_need_a_file(edges, tmp_path, capsys):
    options = ["--keep", "0.1", "--json", "--seed", "1"]
    out, _ = sections_of(edges, tmp_path, capsys, *options)
    record = json.loads(out[0])
    for name in ("typical_error", "typical_error_of_random_edges"):
        assert list(record[name]) == ["cuts", "degrees", "resistances"]
        assert all(0 < error < 1 for error in record[name].values())
    with edges.open("rb") as file:
        command = [sys.executable, "-m", "graphsqueak", "sparsify", "-", "-o", "pipe.tsv"]
        printed = subprocess.run(
            [*command, *options], stdin=file, capture_output=True, check=True, cwd=tmp_path
        )
    piped = json.loads(printed.stdout)
    assert piped["typical_error"] == record["typical_error"] | {"resistances": None}


def test_a_drawn_seed_is_printed_and_repeats_the_run(edges, tmp_path, capsys):
    _, err = sections_of(edges, tmp_path, capsys, "--keep", "0.1")
    first = (tmp_path / "out.tsv").read_bytes()
    seed = re.fullmatch(r"seed (\d+); --seed \1 gives the same result again", err[-1])[1]
    assert int(seed) < 2**32
    out, err = sections_of(edges, tmp_path, capsys, "--keep", "0.1", "--seed", seed, "--json")
    assert (tmp_path / "out.tsv").read_bytes() == first
    assert json.loads(out[0])["seed"] == int(seed)
    assert not any(line.startswith("seed") for line in err)
    out, err = sections_of(edges, tmp_path, capsys, "--keep", "0.1", "--json")
    assert json.loads(out[0])["seed"] not in (None, int(seed))


@pytest.mark.parametrize("parts", [[], ["--tree", "balanced", "--parts", "3"]])
def test_a_resumed_run_has_the_seed_with_which_it_began(edges, tmp_path, capsys, parts):
    saved = tmp_path / "run.ckpt"
    options = ["--keep", "0.1", "--json", "--checkpoint", str(saved), "--resume", *parts]
    seeds = []
    for _ in range(2):
        out, err = sections_of(edges, tmp_path, capsys, *options)
        seeds.append(json.loads(out[0])["seed"])
        missing = any("does not exist; starting from the beginning" in line for line in err)
        assert missing == (len(seeds) == 1)
    assert seeds[0] == seeds[1]
    assert seeds[0] is not None
