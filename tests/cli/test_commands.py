"""The command line: what it prints, what it writes, how it fails."""

import io
import json

import numpy as np
import polars as pl
import pytest

import graphsqueak as gs
from graphsqueak import __version__
from graphsqueak.cli import run
from graphsqueak.sources import read_edges
from graphsqueak.sparsifiers import StreamSparsifier

SQUARE = "# a square, and a tail\nann\tbob\nbob\tcy\ncy\tdan\ndan\tann\ndan\teve\n"


@pytest.fixture
def square(tmp_path):
    path = tmp_path / "square.tsv"
    path.write_text(SQUARE)
    return path


def test_info_describes_a_file(square, capsys):
    assert run(["info", str(square)]) == 0
    printed = capsys.readouterr().out
    assert "nodes" in printed
    assert "1 to 3, median 2" in printed
    assert "all 1" in printed


def test_info_writes_a_total_weight_out(tmp_path, capsys):
    path = tmp_path / "heavy.tsv"
    path.write_text("source\ttarget\tweight\n0\t1\t40000.5\n1\t2\t20000\n")
    assert run(["info", str(path)]) == 0
    assert "60,000.5" in capsys.readouterr().out


def test_info_speaks_json(square, capsys):
    assert run(["info", str(square), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["nodes"], record["edges"], record["components"]) == (5, 5, 1)
    assert record["id_kind"] == "text"


def test_info_tells_how_far_a_checkpoint_is(square, tmp_path, capsys):
    path = tmp_path / "run.ckpt"
    StreamSparsifier(n_edges=10, random_state=5).partial_fit(read_edges(square)).save(path)
    assert run(["info", str(path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["nodes"], record["edges_seen"], record["edges_kept"]) == (5, 5, 5)
    assert run(["info", str(path)]) == 0
    assert "edges seen" in capsys.readouterr().out


def test_a_first_line_of_counts_is_asked_about_and_can_be_skipped(tmp_path, capsys):
    path = tmp_path / "counted.txt"
    path.write_text("3 2\n0 1\n1 2\n")
    assert run(["info", str(path)]) == 2
    assert "header" in one_line(capsys)
    assert run(["info", str(path), "--header", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["edges"] == 2


def test_bad_lines_can_be_skipped(tmp_path, capsys):
    path = tmp_path / "bad.tsv"
    path.write_text("0\t1\t1.5\n1\t2\tabc\n2\t3\t2.0\n")
    assert run(["info", str(path)]) == 2
    assert "line 2" in one_line(capsys)
    assert run(["info", str(path), "--on-bad-line", "skip", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bad_lines"] == 1


def test_quiet_says_nothing(square, capsys):
    assert run(["info", str(square), "--quiet"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["out.tsv", "out.csv", "out.parquet", "out.arrow", "out.csv.gz"])
def test_resistance_of_every_edge(square, tmp_path, capsys, name):
    out = tmp_path / name
    assert run(["resistance", str(square), "-o", str(out)]) == 0
    assert "5 resistances" in capsys.readouterr().out
    table = read_table(out)
    assert table.columns == ["source", "target", "weight", "resistance"]
    assert table["source"].to_list() == ["ann", "bob", "cy", "dan", "dan"]
    assert table["resistance"].to_list() == pytest.approx([0.75] * 4 + [1.0])


@pytest.mark.parametrize("name", ["r.csv", "r.parquet", "r.arrow"])
def test_resistances_of_edges_that_are_only_read(tmp_path, capsys, name):
    """In batches, in the order of the file; sketched, so within six sigma of exact."""
    graph = gs.sources.erdos_renyi(60, 600, random_state=96_001).to_edge_list()
    edges, out = tmp_path / "edges.tsv", tmp_path / name
    gs.write_edges(graph, edges)
    truth = gs.effective_resistance(gs.read_edges(edges), method="exact")
    words = ["resistance", str(edges), "-o", str(out), "--keep", "0.4", "--seed", "5"]
    assert run([*words, "--rtol", "0.2"]) == 0
    assert "600 resistances" in capsys.readouterr().out
    found = read_table(out)
    assert found.columns == ["source", "target", "weight", "resistance"]
    assert found["source"].to_list() == graph.tail.tolist()
    sigma = np.sqrt(2 / 32)  # 4 / pi / 0.2^2 probes
    assert (np.abs(found["resistance"].to_numpy() / truth - 1) <= 6 * sigma).all()
    assert run([*words, "--bounds", "--force"]) == 0
    found = read_table(out)
    assert found.columns == ["source", "target", "weight", "lower", "upper"]
    assert (found["lower"].to_numpy() <= truth).all()
    assert (truth <= found["upper"].to_numpy()).all()


def test_bounds_need_a_sparsifier_and_reading_needs_a_file(tmp_path, capsys, monkeypatch):
    edges = tmp_path / "edges.tsv"
    edges.write_text("0 1\n1 2\n")
    assert run(["resistance", str(edges), "-o", str(tmp_path / "r.tsv"), "--bounds"]) == 2
    assert "--bounds needs a sparsifier; give --keep" in capsys.readouterr().err
    both = ["--keep", "0.5", "--n-edges", "3"]
    assert run(["resistance", str(edges), "-o", str(tmp_path / "r.tsv"), *both]) == 2
    assert "give --keep 0.1 or --n-edges 100000, not both" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"0 1\n1 2\n")))
    assert run(["resistance", "-", "-o", str(tmp_path / "r.tsv"), "--keep", "0.9"]) == 2
    assert "a pipe can be read once: write it to a file first" in capsys.readouterr().err
    assert not (tmp_path / "r.tsv").exists()


def test_resistance_of_pairs_keeps_their_order(square, tmp_path, capsys):
    pairs, out = tmp_path / "pairs.csv", tmp_path / "out.parquet"
    pairs.write_text("eve,ann\nbob,bob\nann,cy\neve,ann\n")
    assert (
        run(["resistance", str(square), "--node-pairs", str(pairs), "-o", str(out), "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["resistances"] == 3
    table = pl.read_parquet(out)
    assert table["source"].to_list() == ["eve", "ann", "eve"]
    assert table["resistance"].to_list() == pytest.approx([1.75, 1.0, 1.75])


def test_unknown_nodes_among_the_pairs_are_named(square, tmp_path, capsys):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("ann\tbob\nann\tzoe\n")
    code = run(
        ["resistance", str(square), "--node-pairs", str(pairs), "-o", str(tmp_path / "o.tsv")]
    )
    assert code == 2
    assert "'zoe' is not in" in one_line(capsys)
    assert not (tmp_path / "o.tsv").exists()


def test_same_seed_same_file(tmp_path):
    graph = tmp_path / "graph.tsv"
    graph.write_text("".join(f"{i}\t{(i * 7 + 3) % 1500}\n{i}\t{i + 1}\n" for i in range(1500)))
    files = []
    for name in ("a.tsv", "b.tsv"):
        out = tmp_path / name
        assert run(["resistance", str(graph), "-o", str(out), "--seed", "11", "--quiet"]) == 0
        files.append(out.read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "no-such-file.tsv"],
        ["info"],
        ["info", "a.tsv", "--color"],
        ["fly"],
        ["resistance", "no-such-file.tsv", "-o", "out.tsv"],
    ],
)
def test_mistakes_are_one_line_and_exit_2(arguments, capsys):
    assert run(arguments) == 2
    one_line(capsys)


@pytest.mark.parametrize("method", ["exact", "guess"])
def test_bad_choices_and_places_are_refused(square, tmp_path, capsys, method):
    missing = tmp_path / "missing" / "out.tsv"
    assert run(["resistance", str(square), "-o", str(missing), "--method", method]) == 2
    one_line(capsys)


def test_every_command_is_listed_with_its_help(capsys):
    assert run(["--help"]) == 0
    commands = [
        line.split()[0]
        for line in capsys.readouterr().out.split("Commands:")[1].splitlines()
        if line.strip()
    ]
    assert {"info", "resistance", "demo"} <= set(commands)
    for command in commands:
        assert run([command, "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"Usage: graphsqueak {command}")


def test_version(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


def one_line(capsys):
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("graphsqueak: ")
    assert captured.err.count("\n") == 1
    return captured.err


def read_table(path):
    if path.suffix == ".parquet":
        return pl.read_parquet(path)
    if path.suffix == ".arrow":
        return pl.read_ipc(path)
    return pl.read_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
