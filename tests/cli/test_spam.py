"""graphsqueak spam: a Maildir that fills, and mistakes that are explained."""

import json
import mailbox

import polars as pl
import pytest

from graphsqueak.cli import run

HAM, SPAM = "lunch at noon? the report of the meeting", "win money: cheap pills, free offer !!!"


def message(number):
    body = SPAM if number % 2 else HAM
    return f"From: a@b.example\nSubject: no. {number}\n\n{body} {'x' * (number % 5)}\n"


@pytest.fixture
def box(tmp_path):
    """Twenty mails and the names of their files, ham and spam in turn."""
    folder = mailbox.Maildir(tmp_path / "box")
    keys = [folder.add(message(number)) for number in range(20)]
    return tmp_path / "box", folder, keys


def write_known(path, keys, rows):
    lines = [f'"{keys[number]}",{label}' for number, label in rows.items()]
    path.write_text("\n".join(["node,label", *lines]) + "\n")
    return str(path)


def test_a_maildir_is_scored_and_later_only_what_is_new_is_read(box, tmp_path, capsys):
    path, folder, keys = box
    labels = dict(zip(range(4), ["ham", "spam"] * 2, strict=True))
    names = [f"cur/{key}:2,RS" for key in keys]  # as they were called when somebody read them
    known = write_known(tmp_path / "known.csv", names, labels)
    out, model = tmp_path / "scores.csv", tmp_path / "spam.model"
    command = ["spam", str(path), "--labels", known, "-o", str(out), "--model", str(model)]
    assert run([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["mails"], told["labelled"], told["new"]) == (20, 4, 20)
    table = pl.read_csv(out)
    assert table.columns == ["id", "label", "score"]
    right = {f"new/{key}": "spam" if n % 2 else "ham" for n, key in enumerate(keys)}
    assert dict(table.select("id", "label").iter_rows()) == right

    for key in keys:  # a mail program shows them: they move, and their names change
        shown = folder.get_message(key)
        shown.set_subdir("cur")
        shown.set_flags("S")
        folder[key] = shown
    fresh = [folder.add(message(number)) for number in (21, 22)]
    assert run([*command, "--json", "--force"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["mails"], told["labelled"], told["new"]) == (22, 4, 2)
    found = dict(pl.read_csv(out).select("id", "label").iter_rows())
    assert found[f"new/{fresh[0]}"] == "spam"
    assert found[f"new/{fresh[1]}"] == "ham"
    assert sum(label == "spam" for label in found.values()) == 11


def test_without_an_output_the_table_is_printed(tmp_path, capsys):
    box = mailbox.mbox(tmp_path / "box.mbox")
    for number in range(8):
        box.add(message(number))
    box.close()
    keys = [f"box.mbox/{number}" for number in range(8)]
    known = write_known(tmp_path / "known.csv", keys, {0: 0, 1: 1})
    assert run(["spam", str(tmp_path / "box.mbox"), "--labels", known]) == 0
    printed = capsys.readouterr()
    rows = [line.split("\t") for line in printed.out.splitlines()]
    assert rows[0] == ["id", "label", "score"]
    assert [label for _, label, _ in rows[1:]] == ["ham", "spam"] * 4
    assert "8 mails, 2 of them labeled and 8 read in this run: 4 spam, 4 ham" in printed.err


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({0: "ham"}, "no spam; label some mails of both kinds"),
        ({0: "ham", 1: "private"}, "'private'; say spam or ham"),
    ],
)
def test_bad_labels_are_one_line_and_nothing_is_written(box, tmp_path, capsys, rows, said):
    path, _, keys = box
    known = write_known(tmp_path / "known.csv", [f"new/{key}" for key in keys], rows)
    outputs = ["-o", str(tmp_path / "s.csv"), "--model", str(tmp_path / "m")]
    assert run(["spam", str(path), "--labels", known, "--quiet", *outputs]) == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert complaint.count("\n") == 1
    assert {file.name for file in tmp_path.iterdir()} == {"box", "known.csv"}


def test_files_of_another_kind_are_refused(box, tmp_path, capsys):
    path, _, keys = box
    names = [f"new/{key}" for key in keys]
    known = write_known(tmp_path / "known.csv", names, {0: "ham", 1: "spam"})
    (tmp_path / "other").write_text("no model")
    model = ["--model", str(tmp_path / "other"), "--quiet"]
    assert run(["spam", str(path), "--labels", known, *model]) == 2
    assert "another kind of file" in capsys.readouterr().err
    assert (tmp_path / "other").read_text() == "no model"
    assert run(["spam", str(tmp_path / "none"), "--labels", known, "--quiet"]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert run(["spam", str(path), "--labels", str(tmp_path / "none"), "--quiet"]) == 2
    assert "check the path of the labels" in capsys.readouterr().err
