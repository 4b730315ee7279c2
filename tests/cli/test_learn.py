"""graphsqueak learn and graphsqueak dictionary: tables in, predictions and atoms out."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from graphsqueak.cli import run
from graphsqueak.online import CONKONS, learn_table
from graphsqueak.online import table as table_module

ROOT = Path(__file__).parent.parent.parent

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
    assert record["constant_loss"] == pytest.approx(PRICE.var(), rel=1e-6)
    assert record["loss"] < 0.15 * record["constant_loss"]
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
    assert "error rate" in capsys.readouterr().out
    wrong = np.mean(pl.read_parquet(out)["prediction"].to_numpy() != KIND)
    assert wrong < 0.15


@pytest.mark.parametrize(
    "learner", ["pros-n-kons", "b-kons", "con-kons --gamma auto", "nogd", "skegd", "bogd"]
)
def test_every_learner_has_a_name(houses, capsys, learner):
    words = ["learn", houses, "--target", "price", "-m", "30", "--json", "--seed", "2"]
    assert run([*words, "--learner", *learner.split()]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["loss"] < record["constant_loss"]


@pytest.mark.parametrize(
    "learner", ["dual-sgd", "rbp", "forgetron", "projectron", "projectron++", "bpa-s"]
)
def test_learners_of_labels_have_names(tmp_path, capsys, learner):
    path = tmp_path / "animals.csv"
    table().drop("price").write_csv(path)
    words = ["learn", str(path), "--target", "kind", "-m", "30", "--json", "--learner", learner]
    assert run(words) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["loss"] < 0.7 * record["constant_loss"]


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
        (["--target", "price", "--features", "a", "--task", "guess"], "--task"),
        (["--target", "price", "--features", "a", "--learner", "svm"], "--learner"),
        (["--target", "price", "--features", "a", "--gamma", "wide"], "neither a number nor auto"),
        (["--target", "price", "--features", "a", "--learner", "rbp"], "'hinge' is for labels"),
        (["--target", "price", "--features", "a", "--resume"], "needs a checkpoint"),
        (["--target", "price", "--features", "a", "-m", "0"], "--n-landmarks 0 must be at least 1"),
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


KILLED = """
import os, sys
from graphsqueak.online import CONKONS, table

batches, left = table.table_batches, int(sys.argv[2])

def until(path, size):
    for number, batch in enumerate(batches(path, size)):
        if number == left:
            os.kill(os.getpid(), 9)
        yield batch

table.table_batches = until
target, suffix = sys.argv[1], sys.argv[3]
table.learn_table(
    CONKONS(n_components=20, random_state=6), "table.parquet", target=target, features=["a", "b"],
    out="out" + suffix, batch_size=100, checkpoint="run.ckpt", checkpoint_interval=0.0, resume=True,
)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "suffix", "kills"), [("price", ".csv", (4, 9)), ("kind", ".parquet", (6,))]
)
def test_killed_and_resumed_the_predictions_are_the_same_bytes(
    tmp_path, monkeypatch, target, suffix, kills
):
    monkeypatch.chdir(tmp_path)
    table().write_parquet("table.parquet")
    settings = {"target": target, "features": ["a", "b"], "batch_size": 100}
    straight = learn_table(
        CONKONS(n_components=20, random_state=6),
        "table.parquet",
        out=f"straight{suffix}",
        **settings,
    )
    for n_batches in kills:
        command = [sys.executable, "-c", KILLED, target, str(n_batches), suffix]
        killed = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert killed.returncode == -signal.SIGKILL
        assert not Path(f"out{suffix}").exists()
    again = {**settings, "out": f"out{suffix}", "checkpoint": "run.ckpt", "resume": True}
    resumed = learn_table(CONKONS(n_components=20, random_state=6), "table.parquet", **again)
    assert Path(f"out{suffix}").read_bytes() == Path(f"straight{suffix}").read_bytes()
    assert resumed[:-1] == straight[:-1]  # all but the seconds
    Path(f"out{suffix}").unlink()
    learn_table(CONKONS(n_components=20, random_state=6), "table.parquet", **again)  # all is done
    assert Path(f"out{suffix}").read_bytes() == Path(f"straight{suffix}").read_bytes()


def test_a_stop_is_saved_and_told_how_to_go_on(houses, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["learn", houses, "--target", "price", "--seed", "3", "--quiet"]
    assert run([*words, "-o", "straight.csv"]) == 0
    batches = table_module.table_batches

    def stopped(path, size):
        yield next(batches(path, 500))
        os.kill(os.getpid(), signal.SIGTERM)
        yield from ()

    words += ["-o", "out.csv", "--checkpoint", "run.ckpt"]
    with monkeypatch.context() as patch:
        patch.setattr(table_module, "table_batches", stopped)
        assert run(words) == 143
    assert "resume with: graphsqueak learn" in capsys.readouterr().err
    assert not Path("out.csv").exists()


def test_a_checkpoint_goes_on_only_with_its_own_run(houses, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["learn", houses, "--target", "price", "--seed", "3", "--checkpoint", "run.ckpt"]
    assert run([*words, "-o", "out.csv"]) == 0
    assert run([*words, "-o", "out.csv"]) == 2  # it is there
    assert "--resume to continue from it" in capsys.readouterr().err
    again = [*words, "--resume"]
    assert run([*again, "-o", "out.csv"]) == 0
    capsys.readouterr()
    assert run([*again, "-m", "7"]) == 2
    assert "by a run with another learner" in capsys.readouterr().err
    assert run([*again, "--target", "a"]) == 2
    assert "by a run with another target" in capsys.readouterr().err
    Path("run.ckpt.predictions").write_bytes(b"")
    assert run([*again, "-o", "other.csv"]) == 2
    assert "lacks predictions" in capsys.readouterr().err
    assert run(again) == 0  # without them
    frame = pl.read_csv(houses)
    frame[:1000].write_csv(houses)
    assert run(again) == 2
    assert "was written after 1,500 rows" in capsys.readouterr().err
    frame.with_columns(a=pl.col("a") * 2).write_csv(houses)
    assert run(again) == 2
    assert "has changed since" in capsys.readouterr().err
    Path("run.ckpt").write_bytes(b"nothing")
    assert run(again) == 2
    assert "run.ckpt" in capsys.readouterr().err


def test_rows_that_were_appended_are_learned_once(houses, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pl.read_csv(houses)
    frame[:1000].write_csv(houses)
    settings = {"target": "price", "out": "out.csv", "checkpoint": "run.ckpt"}
    first = learn_table(CONKONS(random_state=3), houses, **settings)
    before = pl.read_csv("out.csv")
    frame.write_csv(houses)
    Path("out.csv").unlink()
    second = learn_table(CONKONS(random_state=3), houses, resume=True, **settings)
    assert (first.n_rows, second.n_rows) == (1000, 1500)
    after = pl.read_csv("out.csv")
    assert len(after) == 1500
    assert after[:1000].equals(before)


def test_holes_are_told_by_row(tmp_path, capsys):
    path = tmp_path / "holes.csv"
    path.write_text("a,y\n1,2.5\n,3.5\n2,4.5\n")
    assert run(["learn", str(path), "--target", "y"]) == 2
    assert "column 'a' is empty or infinite in row 2" in capsys.readouterr().err
    path.write_text("a,y\n")
    assert run(["learn", str(path), "--target", "y"]) == 2
    assert "no rows" in capsys.readouterr().err
    assert run(["learn", str(tmp_path / "missing.csv"), "--target", "y"]) == 2
    assert "is not a file" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["squeak", "kors", "rp-cholesky", "uniform"])
def test_atoms_are_points_of_the_table(tmp_path, capsys, method):
    np.save(tmp_path / "points.npy", POINTS)
    out = tmp_path / "atoms.parquet"
    words = ["dictionary", str(tmp_path / "points.npy"), "-m", "60", "-o", str(out)]
    assert run([*words, "--method", method, "--seed", "5", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    atoms = pl.read_parquet(out)
    assert atoms.columns == ["row", "weight", "x0", "x1", "x2"]
    assert len(atoms) == record["landmarks"] == 60
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
    assert "is not one of 'squeak'" in capsys.readouterr().err


def test_a_resumed_run_has_the_seed_that_was_drawn(houses, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["learn", houses, "--target", "price", "--features", "a,b", "--checkpoint", "run.ckpt"]
    seeds = []
    for _ in range(2):
        assert run([*words, "--resume", "--json"]) == 0
        seeds.append(json.loads(capsys.readouterr().out)["seed"])
    assert seeds[0] == seeds[1] is not None
