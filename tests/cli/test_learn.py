"""graphsqueak learn and graphsqueak dictionary: tables in, predictions and atoms out."""

import json

import numpy as np
import polars as pl
import pytest

from graphsqueak.cli import run
from graphsqueak.online import CONKONS, learn_table

RNG = np.random.default_rng(70_418)
POINTS = RNG.normal(size=(1500, 3))
PRICE = 250 + 80 * np.sin(POINTS[:, 0]) + RNG.normal(size=1500)
KIND = np.array(["ant", "bee", "cat"])[np.digitize(POINTS[:, 0], [-0.5, 0.5])]


def table():
    frame = pl.DataFrame(POINTS, schema=["a", "b", "c"])
    return frame.with_columns(price=pl.Series(PRICE), kind=pl.Series(KIND))


@pytest.fixture
def houses(tmp_path):
    table().drop("kind").write_csv(tmp_path / "houses.csv")
    return str(tmp_path / "houses.csv")


def test_numbers_are_predicted_before_they_are_learnt(houses, tmp_path, capsys):
    out = tmp_path / "predictions.csv"
    words = ["learn", houses, "--target", "price", "-o", str(out), "--seed", "3", "--json"]
    assert run(words) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["task"], record["n_rows"], record["n_features"]) == ("regression", 1500, 3)
    predicted = pl.read_csv(out)["prediction"].to_numpy()
    assert np.mean((predicted - PRICE) ** 2) == pytest.approx(record["loss"], rel=1e-6)
    assert record["guess"] == pytest.approx(PRICE.var(), rel=1e-6)
    assert record["loss"] < 0.15 * record["guess"]
    scaled = (POINTS - POINTS.mean(axis=0)) / POINTS.std(axis=0)
    y = (PRICE - PRICE.mean()) / PRICE.std()
    scores = CONKONS(n_components=100, clip=None, random_state=3).predict_then_learn(scaled, y)
    np.testing.assert_allclose(predicted, PRICE.mean() + PRICE.std() * scores, rtol=1e-6)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_every_format_is_the_same_table(tmp_path, capsys, suffix):
    path = tmp_path / f"animals{suffix}"
    frame = table().drop("price")
    if suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if suffix == ".tsv" else ",")
    out = tmp_path / "out.parquet"
    assert run(["learn", str(path), "--target", "kind", "-o", str(out), "--seed", "1"]) == 0
    assert "wrong labels" in capsys.readouterr().out
    wrong = np.mean(pl.read_parquet(out)["prediction"].to_numpy() != KIND)
    assert wrong < 0.15


@pytest.mark.parametrize("learner", ["pros-n-kons", "b-kons", "width-mixture", "nogd", "skegd"])
def test_every_learner_has_a_name(houses, capsys, learner):
    words = ["learn", houses, "--target", "price", "--learner", learner, "-m", "30", "--json"]
    assert run([*words, "--seed", "2"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["loss"] < record["guess"]


def test_batches_change_nothing_but_the_scale(tmp_path):
    path = tmp_path / "houses.parquet"
    table().drop("kind").write_parquet(path, row_group_size=700)
    settings = {"n_components": 30, "random_state": 4}
    runs = [
        learn_table(CONKONS(**settings), path, target="price", batch_size=size)
        for size in (1500, 400)
    ]
    assert [r.n_rows for r in runs] == [1500, 1500]
    assert runs[1].loss < 1.3 * runs[0].loss


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "cost"], "no column 'cost'; its columns are a, b, c, price, kind"),
        (["--target", "price"], "column 'kind' holds String, not numbers"),
        (["--target", "price", "--features", "a,z"], "no column 'z'"),
        (["--target", "price", "--features", "a", "--task", "guess"], "--task 'guess'"),
        (["--target", "price", "--features", "a", "--learner", "svm"], "--learner svm is not one"),
        (["--target", "price", "--features", "a", "-m", "0"], "--atoms 0 must be at least 1"),
        (["--target", "kind", "--features", "a", "--classes", "ant,bee"], "label 'cat' in row"),
        (["--target", "price", "--features", "a", "-o", "x.mtx"], "x.mtx"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    table().write_csv("table.csv")
    out = [] if "-o" in words else ["-o", "out.csv"]
    assert run(["learn", "table.csv", *words, *out]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_holes_are_told_by_row(tmp_path, capsys):
    path = tmp_path / "holes.csv"
    path.write_text("a,y\n1,2.5\n,3.5\n2,4.5\n")
    assert run(["learn", str(path), "--target", "y"]) == 2
    assert "column 'a' is empty or infinite in row 2" in capsys.readouterr().err
    path.write_text("a,y\n")
    assert run(["learn", str(path), "--target", "y"]) == 2
    assert "no rows" in capsys.readouterr().err
    assert run(["learn", str(tmp_path / "missing.csv"), "--target", "y"]) == 2
    assert "is no file" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["squeak", "kors", "rp-cholesky", "uniform"])
def test_atoms_are_points_of_the_table(tmp_path, capsys, method):
    np.save(tmp_path / "points.npy", POINTS)
    out = tmp_path / "atoms.parquet"
    words = ["dictionary", str(tmp_path / "points.npy"), "-m", "60", "-o", str(out)]
    assert run([*words, "--method", method, "--seed", "5", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    atoms = pl.read_parquet(out)
    assert atoms.columns == ["row", "weight", "x0", "x1", "x2"]
    assert len(atoms) == record["atoms"] == 60
    np.testing.assert_array_equal(atoms.select("x0", "x1", "x2").to_numpy(), POINTS[atoms["row"]])
    assert record["held_out"] == 150
    assert 0 < record["unexplained"] < 0.05


def test_more_atoms_explain_more(tmp_path, capsys):
    pl.DataFrame(POINTS, schema=["a", "b", "c"]).with_columns(
        id=pl.Series([f"p{i}" for i in range(1500)])
    ).write_csv(tmp_path / "points.csv")
    rest = []
    for m in ("10", "80"):
        words = [
            "dictionary",
            str(tmp_path / "points.csv"),
            "-m",
            m,
            "--seed",
            "5",
            "--force",
            "--json",
        ]
        assert run([*words, "--force", "-o", str(tmp_path / "atoms.csv")]) == 0
        rest.append(json.loads(capsys.readouterr().out)["unexplained"])
    assert rest[1] < 0.3 * rest[0]
    assert pl.read_csv(tmp_path / "atoms.csv")["id"][0].startswith("p")
    words = ["dictionary", str(tmp_path / "points.csv"), "-m", "5", "-o", "x.csv"]
    assert run([*words, "--method", "best"]) == 2
    assert "--method best is not one of squeak" in capsys.readouterr().err
