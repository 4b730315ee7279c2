"""Detection of one class: flags and measures agree with those by hand, also in the command."""

import json

import numpy as np
import polars as pl
import pytest

import graphsqueak as gs
from graphsqueak.cli import run
from graphsqueak.ssl import detection_report, flag_positives
from tests.ssl.graphs import uneven_blocks


def test_flags_by_number_score_and_recall():
    scores = np.array([0.2, 0.9, 0.4, 0.5])
    assert flag_positives(scores, top=2).tolist() == [False, True, False, True]
    assert flag_positives(scores, min_score=0.4).tolist() == [False, True, True, True]
    # At position (1 - 0.5) (3 + 1) = 2, and at 1.2: between 0.3 and 0.45.
    left_out = [0.8, 0.3, 0.45]
    assert flag_positives(scores, recall=0.5, left_out=left_out).tolist() == [
        False,
        True,
        False,
        True,
    ]
    assert flag_positives(scores, recall=0.7, left_out=left_out).sum() == 3


def test_the_expected_recall_is_that_asked_for():
    """Scores of k labeled nodes and of further ones, drawn alike: 2,000 draws.

    The recall of a draw has a standard deviation below sqrt(R (1 - R) / (k + 2)) (a beta
    distribution) plus that of 50 nodes.
    """
    rng = np.random.default_rng(61_020)
    for n_labels, recall in ((4, 0.8), (10, 0.8), (30, 0.9), (5, 0.5)):
        found = []
        for _ in range(2000):
            left_out = rng.normal(size=n_labels)
            found.append(
                flag_positives(rng.normal(size=50), recall=recall, left_out=left_out).mean()
            )
        deviation = np.sqrt(recall * (1 - recall) * (1 / (n_labels + 2) + 1 / 50))
        assert abs(np.mean(found) - recall) < 6 * deviation / np.sqrt(2000)


def test_recall_is_refused_with_too_few_labels_and_without_left_out_scores():
    with pytest.raises(
        gs.InputError, match="needs 4 labels of the class that can be left out, and"
    ):
        flag_positives([0.5], recall=0.8, left_out=[0.1, 0.2, 0.3])
    assert flag_positives([0.5], recall=0.8, left_out=[0.1, 0.2, 0.3, 0.4]).all()
    with pytest.raises(gs.InputError, match="give left_out, or top or min_score"):
        flag_positives([0.5], recall=0.8)


@pytest.mark.parametrize(
    ("criteria", "match"),
    [
        ({}, "exactly one"),
        ({"top": 1, "recall": 0.5}, "exactly one"),
        ({"recall": 1.0}, "less than 1"),
    ],
)
def test_contradictory_criteria_are_refused(criteria, match):
    with pytest.raises(gs.InputError, match=match):
        flag_positives([0.5], **criteria)


def test_the_report_agrees_with_measures_by_hand():
    found = detection_report([1, 0, 1, 0, 0], [0.9, 0.8, 0.6, 0.4, 0.1], [1, 1, 0, 0, 0])
    assert found["auc"] == pytest.approx(5 / 6)
    assert found["average_precision"] == pytest.approx((1 + 2 / 3) / 2)
    assert (found["precision"], found["recall"]) == (0.5, 0.5)
    assert found["confusion"] == {
        "true_positives": 1,
        "false_positives": 1,
        "false_negatives": 1,
        "true_negatives": 2,
    }
    assert found["calibration_error"] == pytest.approx((0.1 + 0.8 + 0.4 + 0.4 + 0.1) / 5)
    assert detection_report([0, 0], [0.1, 0.2], [0, 0])["auc"] is None


@pytest.fixture
def fraud(tmp_path):
    """The words of the command, the truth, and where it writes."""
    graph, truth = uneven_blocks(71_993, 0.6, shares=(0.9, 0.1), degree=30)
    names = np.array(["fine", "fraud"])[truth]
    known = np.zeros(600, dtype=bool)
    known[np.random.default_rng(5).choice(600, 150, replace=False)] = True
    gs.write_edges(graph, tmp_path / "edges.tsv")
    rows = [f"{i},{names[i] if known[i] else ''},{names[i]}" for i in range(600)]
    (tmp_path / "labels.csv").write_text("\n".join(["node,label,truth", *rows]))
    paths = [str(tmp_path / name) for name in ("edges.tsv", "labels.csv", "out.csv")]
    return ["label", *paths[:2], "-o", paths[2], "--seed", "7"], truth, known, paths[2]


def test_the_command_writes_flags_and_prints_the_report(fraud, capsys):
    words, truth, known, out = fraud
    assert run([*words, "--positive-class", "fraud", "--top", "40", "--per-class", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    table = pl.read_csv(out)
    node = table["node"].to_numpy()
    flagged = table["flagged"].to_numpy() & ~known[node]
    assert flagged.sum() == record["flagged"] == 40
    assert record["precision"] == (truth[node] == 1)[flagged].mean()
    assert record["auc"] > 0.9
    assert table["probability_fraud"].to_list() == table["score"].to_list()
    assert np.allclose(table["probability_fraud"] + table["probability_fine"], 1)


def test_the_recall_that_is_asked_for_is_reached(fraud, capsys):
    """Within six standard deviations of a binomial number of hits."""
    words, truth, known, _ = fraud
    assert run([*words, "--positive-class", "fraud", "--recall", "0.8"]) == 0
    said = capsys.readouterr().out
    assert "flagged as fraud" in said
    assert "average_precision" in said
    recall = float(said.split(", recall ")[1].split(",")[0])
    n_fraud = np.count_nonzero(truth[~known] == 1)
    assert abs(recall - 0.8) < 6 * np.sqrt(0.16 / n_fraud)


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (["--top", "5"], "need --positive-class"),
        (["--positive-class", "frod"], "not a class of the labels"),
        (
            ["--positive-class", "fraud", "--recall", "0.5", "--baseline", "hfs"],
            "--recall is not for baselines",
        ),
    ],
)
def test_wrong_options_of_the_command_are_refused(fraud, capsys, more, match):
    assert run([*fraud[0], *more]) == 2
    assert match in capsys.readouterr().err
