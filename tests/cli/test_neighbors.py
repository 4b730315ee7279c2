"""graphsqueak neighbors: points and mail in every form to an edge file."""

import json

import numpy as np
import polars as pl
import pytest
import scipy.sparse

from graphsqueak import neighbor_edges, read_edges
from graphsqueak.cli import run
from graphsqueak.datasets import shipped_file

POINTS = np.random.default_rng(20_771).standard_normal((40, 3)).round(6)
NAMES = [f"p{i}" for i in range(40)]


def save_csv(path):
    pl.DataFrame(POINTS, schema=["x", "y", "z"]).write_csv(path)


def save_headless(path):
    np.savetxt(path, POINTS, delimiter=",")


def save_named(path):
    table = pl.DataFrame(POINTS, schema=["x", "y", "z"])
    table.with_columns(id=pl.Series(NAMES), label=pl.Series(["ham", "spam"] * 20)).write_parquet(
        path
    )


def save_npy(path):
    np.save(path, POINTS)


def save_dense_npz(path):
    np.savez(path, points=POINTS, labels=np.zeros(40))


def save_sparse_npz(path):
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(POINTS))


@pytest.mark.parametrize(
    ("name", "save"),
    [
        ("points.csv", save_csv),
        ("points.csv", save_headless),
        ("points.parquet", save_named),
        ("points.npy", save_npy),
        ("points.npz", save_dense_npz),
        ("points.npz", save_sparse_npz),
    ],
)
def test_every_format_gives_the_same_graph(tmp_path, capsys, name, save):
    save(tmp_path / name)
    out = tmp_path / "edges.parquet"
    assert run(["neighbors", str(tmp_path / name), "-k", "4", "-o", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    expected = neighbor_edges(POINTS, 4).to_edge_list()
    assert (record["nodes"], record["edges"]) == (40, expected.n_edges)
    written = pl.read_parquet(out)
    np.testing.assert_allclose(written["weight"], expected.weight, rtol=1e-9)
    numbers = np.array(NAMES) if save is save_named else np.arange(40)
    assert written["source"].to_list() == numbers[expected.tail].tolist()
    assert written["target"].to_list() == numbers[expected.head].tolist()


def test_shipped_points_can_be_given_by_their_file(tmp_path, capsys):
    out = tmp_path / "spam.parquet"
    assert run(["neighbors", str(shipped_file("spam.npz")), "-k", "5", "-o", str(out)]) == 0
    assert "edges between 5,876 points" in capsys.readouterr().out
    assert pl.read_parquet(out)["source"][0] == "easy-ham-1/00001"


def test_a_corpus_of_mail_becomes_a_graph_with_labels(tmp_path, capsys):
    path, out, labels = tmp_path / "sms.txt", tmp_path / "sms.tsv", tmp_path / "labels.csv"
    lines = ["spam\twin cheap money", "spam\twin money now", "ham\tlunch today", "ham\tlunch soon"]
    path.write_text("\n".join([*lines, lines[0]]))
    options = ["--deduplicate", "--label-template", str(labels)]
    command = ["neighbors", str(path), "-k", "1", "-o", str(out), "--weight", "unit", *options]
    assert run([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["nodes"], record["edges"], record["duplicates"]) == (4, 2, 1)
    assert read_edges(out).to_edge_list().n_edges == 2
    table = pl.read_csv(labels)
    assert table.select("node", "label").rows() == [(1, 1), (2, 1), (3, 0), (4, 0)]
    assert table["subject"].to_list() == [line.partition("\t")[2] for line in lines]
    assert run([*command, "--force"]) == 0
    assert "1 duplicates" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("x,y\n1,2\n3,4\n", ["-k", "2"], "below the number of points, 2"),
        ("x,word\n1,a\n3,b\n", ["-k", "1"], "column 'word' has type"),
        ("x,y\n1,\n3,4\n", ["-k", "1"], "column 'y' is empty in row 1"),
        ("x,y\n1,2\n3,4\n", ["-k", "1", "--metric", "manhattan"], "--metric"),
        ("x,y\n1,2\n3,4\n", ["-k", "1", "--layout", "csv"], "must be called text"),
        (
            "x,y\n1,2\n3,4\n",
            ["-k", "1", "--label-template", "l.csv"],
            "--label-template is for mail",
        ),
        ("x,y\n1,2\n3,4,5\n", ["-k", "1"], "cannot be read as csv"),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_written(tmp_path, capsys, content, options, message):
    (tmp_path / "points.csv").write_text(content)
    out = tmp_path / "edges.tsv"
    assert (
        run(["neighbors", str(tmp_path / "points.csv"), "-o", str(out), *options, "--quiet"]) == 2
    )
    complaint = capsys.readouterr().err
    assert message in complaint
    assert complaint.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["points.csv"]


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.parquet"])
def test_damaged_files_are_explained(tmp_path, capsys, name):
    (tmp_path / name).write_bytes(b"not what the name says")
    arguments = ["neighbors", str(tmp_path / name), "-k", "1", "-o", str(tmp_path / "o.tsv")]
    assert run(arguments) == 2
    assert "cannot be read as" in capsys.readouterr().err


def test_pickles_are_refused(tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.array([{}, {}], dtype=object), allow_pickle=True)
    arguments = ["neighbors", str(tmp_path / "a.npy"), "-k", "1", "-o", str(tmp_path / "o.tsv")]
    assert run(arguments) == 2
    assert "allow_pickle=False" in capsys.readouterr().err


def test_an_npz_of_several_tables_must_name_one(tmp_path, capsys):
    np.savez(tmp_path / "a.npz", left=POINTS, right=POINTS)
    arguments = ["neighbors", str(tmp_path / "a.npz"), "-k", "1", "-o", str(tmp_path / "o.tsv")]
    assert run(arguments) == 2
    assert "has the arrays left, right" in capsys.readouterr().err


def test_the_name_of_the_output_is_checked_first(tmp_path, capsys):
    assert run(["neighbors", "nowhere.npy", "-k", "1", "-o", str(tmp_path / "edges.xyz")]) == 2
    assert "does not say the format" in capsys.readouterr().err
    assert run(["neighbors", "nowhere.npy", "-k", "1", "-o", str(tmp_path / "edges.tsv")]) == 2
    assert "nowhere.npy is not a file" in capsys.readouterr().err


def test_mails_are_joined_by_their_headers_too(tmp_path, capsys):
    """Two mails that share no word came by the same way; the third by none."""
    (tmp_path / "box").mkdir()
    mails = ["Received: mx.example\n\nlunch", "Received: mx.example\n\npills", "\nlunch"]
    for number, mail in enumerate(mails):
        (tmp_path / "box" / f"{number}.eml").write_text(mail)
    box, found = str(tmp_path / "box"), []
    how = ["-k", "2", "--quiet"]
    for more in ([], ["--headers"]):
        out = str(tmp_path / f"edges{len(more)}.csv")
        assert run(["neighbors", box, "-o", out, *how, *more]) == 0
        found.append(set(pl.read_csv(out).iter_rows()))
    assert found[0] == {("0.eml", "2.eml", 1.0)}
    assert found[1] == {*found[0], ("0.eml", "1.eml", 0.5)}

    np.save(tmp_path / "points.npy", POINTS)
    out = str(tmp_path / "none.csv")
    assert run(["neighbors", str(tmp_path / "points.npy"), "-k", "2", "-o", out, "--headers"]) == 2
    assert "--headers is for mail" in capsys.readouterr().err
