"""Mails of one's own, however they lie: neighbors lists them all, the user labels a few."""

import mailbox
import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from graphsqueak.cli import run

COMMAND = "neighbors my-mails -k 10 -o mails.parquet --label-template labels.csv --headers"
SPAM, HAM = "cheap pills, win money now !!!", "lunch at noon? see the report of the meeting"
SENDERS = ["Ann <ann@a.example>", "=?utf-8?q?J=C3=BCrgen?= <j@b.example>"]
MAILS = [
    (f"{'win' if i % 2 else 'lunch'} no. {i}", SENDERS[i % 2], f"{SPAM if i % 2 else HAM} {i}")
    for i in range(14)
]


def raw(i):
    subject, sender, body = MAILS[i]
    return f"From: {sender}\nSubject: {subject}\n\n{body}\n"


def as_flat_eml(folder):
    folder.mkdir()
    for i in range(14):
        (folder / f"{i:02d}.eml").write_text(raw(i))
    (folder / "README.txt").write_text("exported on Monday")
    return folder


def as_eml_of_two_years(folder):
    for i in range(14):
        year = folder / str(2023 + i // 7)
        year.mkdir(parents=True, exist_ok=True)
        (year / f"mail {i}").write_text(raw(i))
    return folder


def as_mbox(folder):
    box = mailbox.mbox(folder)
    for i in range(14):
        box.add(raw(i))
    box.close()
    return folder


def as_two_mboxes(folder):
    folder.mkdir()
    for name, part in (("Inbox", range(7)), ("Sent", range(7, 14))):
        box = mailbox.mbox(folder / name)
        for i in part:
            box.add(raw(i))
        box.close()
    return folder


def as_maildir(folder):
    box = mailbox.Maildir(folder)
    for i in range(14):
        box.add(raw(i))
    return folder


def as_csv(folder):
    path = folder.with_suffix(".csv")
    senders = ["Ann <ann@a.example>", "Jürgen <j@b.example>"]
    rows = [(s, senders[i % 2], text) for i, (s, _, text) in enumerate(MAILS)]
    pl.DataFrame(rows, schema=["Subject", "From", "Text"], orient="row").write_csv(path)
    return path


WAYS = [as_flat_eml, as_eml_of_two_years, as_mbox, as_two_mboxes, as_maildir, as_csv]


@pytest.mark.parametrize("save", WAYS)
def test_every_mail_is_listed_and_a_few_labels_do(save, tmp_path, monkeypatch, capsys):
    """Two labels are filled in, and the command that is printed next runs."""
    monkeypatch.chdir(tmp_path)
    mails = save(tmp_path / "my-mails")
    words = [mails.name if word == "my-mails" else word for word in shlex.split(COMMAND)]
    assert run(words) == 0
    printed = capsys.readouterr().out
    assert "Fill in some of the 14 empty labels in labels.csv" in printed
    table = pl.read_csv("labels.csv")
    assert table.columns == ["node", "label", "subject", "sender"]
    assert table["label"].null_count() == 14
    assert sorted(table["subject"]) == sorted(subject for subject, _, _ in MAILS)
    assert set(table["sender"]) == {"Ann <ann@a.example>", "Jürgen <j@b.example>"}
    assert '""' not in Path("labels.csv").read_text()

    kind = {"lunch no. 0": "ham", "win no. 1": "spam"}
    label = table["subject"].replace_strict(kind, default=None)
    table.with_columns(label=label).write_csv("labels.csv")
    assert run(shlex.split(re.search(r"Then: graphsqueak (.*)", printed)[1])) == 0
    found = pl.read_csv("labeled.csv").join(table, on="node", how="inner")
    assert found.height == 14
    is_spam = found["subject"].str.starts_with("win")
    assert ((found["label"] == "spam") == is_spam).all()


def test_labels_that_folders_tell_are_there_and_the_others_empty(tmp_path, capsys):
    """An inbox beside a folder called spam: its mails are listed as well."""
    for i in range(14):
        folder = tmp_path / "mails" / ("spam" if i % 2 else "inbox")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i}.eml").write_text(raw(i))
    (tmp_path / "mails" / "notes.txt").write_text("no mail")
    labels = tmp_path / "labels.csv"
    outputs = ["-o", str(tmp_path / "e.tsv"), "--label-template", str(labels)]
    assert run(["neighbors", str(tmp_path / "mails"), "-k", "3", *outputs]) == 0
    assert "the 7 empty labels" in capsys.readouterr().out
    rows = pl.read_csv(labels).select("node", "label").rows()
    assert [label for node, label in sorted(rows)] == [None] * 7 + [1] * 7


def test_a_subject_is_no_formula_and_one_line(tmp_path):
    folder = tmp_path / "mails"
    folder.mkdir()
    subjects = ['=HYPERLINK("http://x")', "a,\n b", '"quoted"', ""]
    for i, subject in enumerate(subjects):
        (folder / f"{i}.eml").write_text(f"Subject: {subject}\n\nbody {i}\n")
    labels = tmp_path / "labels.csv"
    outputs = ["-o", str(tmp_path / "e.tsv"), "--label-template", str(labels)]
    assert run(["neighbors", str(folder), "-k", "2", *outputs, "--quiet"]) == 0
    found = pl.read_csv(labels)["subject"].to_list()
    assert found == ['\'=HYPERLINK("http://x")', "a, b", '"quoted"', "body 3"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("id,v1,v2\na,1,2\nb,3,4\nc,5,7\n", "2 coordinates"),
        ("id,text\na,lunch at noon\nb,cheap pills\nc,cheap lunch at noon\n", "layout csv"),
    ],
)
def test_a_csv_of_numbers_is_points_and_one_of_texts_is_mail(tmp_path, capsys, table, said):
    path = tmp_path / "table.csv"
    path.write_text(table)
    out = ["-o", str(tmp_path / "e.tsv")]
    assert run(["neighbors", str(path), "-k", "1", *out, "--dry-run"]) == 0
    assert said in capsys.readouterr().out
    assert run(["neighbors", str(path), "-k", "1", *out]) == 0


def test_mails_of_which_no_word_is_left_are_explained(tmp_path, capsys):
    (tmp_path / "texts.csv").write_text("text\nhi\nhi\n")
    out = ["-o", str(tmp_path / "e.tsv")]
    assert run(["neighbors", str(tmp_path / "texts.csv"), "-k", "1", *out, "--min-mails", "3"]) == 2
    assert "drop fewer, with --min-mails 1" in capsys.readouterr().err


def test_a_folder_without_mails_says_what_was_looked_for(tmp_path, capsys):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "1").write_text("Legitimate: 1\n")
    assert run(["neighbors", str(tmp_path / "notes"), "-k", "1", "-o", "e.tsv", "--quiet"]) == 2
    complaint = capsys.readouterr().err
    assert "no .eml and no file that begins with the headers of a mail" in complaint
    assert complaint.count("\n") == 1
