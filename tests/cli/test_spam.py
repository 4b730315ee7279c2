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


@pytest.fixture
def daily(box, tmp_path):
    """The command of every day, with 16 of 20 mails labeled, and the box."""
    path, folder, keys = box
    names = [f"new/{key}" for key in keys]
    labels = {number: "spam" if number % 2 else "ham" for number in range(16)}
    known = write_known(tmp_path / "known.csv", names, labels)
    return ["spam", str(path), "--labels", known, "--model", str(tmp_path / "spam.model")], folder


def test_a_model_is_updated_every_day_without_force(daily, tmp_path, capsys):
    command, folder = daily
    model = tmp_path / "spam.model"
    assert run([*command, "--json"]) == 0
    first = model.read_bytes()
    folder.add(message(21))
    assert run([*command, "--json"]) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["new"], last["known_mails"]) == (1, 21)
    assert model.read_bytes() != first
    assert not list(tmp_path.glob(".*.part"))

    # Other outputs keep the rule.
    out = ["-o", str(tmp_path / "scores.csv")]
    assert run([*command, *out, "--quiet"]) == 0
    assert run([*command, *out, "--quiet"]) == 2
    assert "scores.csv already exists; use --force" in capsys.readouterr().err
    listed = ["--label-template", str(tmp_path / "scores.csv")]
    assert run([*command, *listed, "--quiet"]) == 2
    assert "--label-template" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_a_model_of_another_seed_is_refused_and_kept(daily, tmp_path, capsys, options):
    command, _ = daily
    assert run([*command, "--quiet", "-o", str(tmp_path / "scores.csv")]) == 0
    before = (tmp_path / "spam.model").read_bytes()
    assert run([*command, "--seed", "3", "--quiet", *options]) == 2
    said = capsys.readouterr().err
    assert "spam.model was made with --seed 0; give the same, or remove the file" in said
    assert (tmp_path / "spam.model").read_bytes() == before


def test_a_model_survives_a_run_that_fails(daily, tmp_path, capsys):
    command, folder = daily
    assert run([*command, "--json"]) == 0
    before = (tmp_path / "spam.model").read_bytes()
    folder.add(message(21))
    missing = str(tmp_path / "missing" / "scores.csv")
    assert run([*command, "-o", missing, "--quiet"]) == 2
    (tmp_path / "known.csv").write_text("node,label\nx,ham\ny,spam\n")
    assert run([*command, "--json"]) == 2
    assert (tmp_path / "spam.model").read_bytes() == before


def test_a_threshold_and_what_it_is_expected_to_do(daily, tmp_path, capsys):
    command, _ = daily
    assert run([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["calibrated"]
    assert record["threshold"] == 0.5
    assert record["caught_spam"]["n_labeled"] == record["flagged_ham"]["n_labeled"] == 8
    assert record["flagged_ham"]["fraction"] == 0.0
    assert record["flagged_ham"]["high"] == pytest.approx(1 - 0.025 ** (1 / 8))

    assert run([*command, "--threshold", "1", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["spam"], record["caught_spam"]["n_flagged"]) == (8, 0)

    # A fifth takes four; 0.5 % take 199.
    assert run([*command, "--max-false-positives", "20%", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["enough_ham"], record["ham_needed"]) == (True, 4)
    assert record["spam"] == 10
    out = ["-o", str(tmp_path / "scores.csv")]
    assert run([*command, "--max-false-positives", "0.005", *out]) == 0
    said = capsys.readouterr().out
    assert "100.0 % of spam (8 of 8 labeled, 95 % interval 63.1 to 100.0 %)" in said
    assert "0.0 % of ham (0 of 8 labeled, 95 % interval 0.0 to 36.9 %)" in said
    assert "8 labeled ham scored without their label are too few for 0.5 % false" in said
    assert "which take 199: the threshold is their largest score or 0.5, for about 11 %" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--threshold", "1.5"], "less than or equal to 1"),
        (["--max-false-positives", "0"], "--max-false-positives 0.0 must be above 0"),
        (["--max-false-positives", "x"], "'x' is not a fraction"),
        (["--max-false-positives", "0.1", "--threshold", "0.5"], "give one"),
    ],
)
def test_thresholds_that_make_no_sense_are_refused(daily, tmp_path, capsys, options, said):
    command, _ = daily
    assert run([*command, *options]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "spam.model").exists()


def test_few_labels_are_reported(box, tmp_path, capsys):
    path, _, keys = box
    known = write_known(tmp_path / "k.csv", [f"new/{k}" for k in keys], {0: "ham", 1: "spam"})
    out = ["-o", str(tmp_path / "scores.csv"), "--max-false-positives", "0.3"]
    assert run(["spam", str(path), "--labels", known, *out]) == 0
    said = capsys.readouterr().out
    assert (
        "too few labels to calibrate scores and to estimate errors; label 8 different mails or more"
        in said
    )
    assert "0 labeled ham scored without their label are too few for 30 % false" in said
    assert pl.read_csv(tmp_path / "scores.csv")["label"].to_list().count("spam") == 1


def test_the_list_of_mails_to_label_is_edited_and_given_back(daily, tmp_path, capsys):
    command, _ = daily
    with (tmp_path / "known.csv").open("a") as known:
        known.write("new/deleted,ham\n")
    listed = tmp_path / "next.csv"
    options = ["--json", "--label-template"]
    assert run([*command, *options, str(listed)]) == 0
    table = pl.read_csv(listed)
    assert table.columns == ["node", "label", "score", "subject", "sender"]
    assert table["label"].to_list()[:4] == [None] * 4
    assert table["label"].to_list()[4:] == [*table["label"].to_list()[4:20], "ham"]
    assert table["node"].to_list()[20] == "new/deleted"
    numbers = [int(subject[4:]) for subject in table["subject"].to_list()[:20]]
    assert sorted(numbers[:4]) == [16, 17, 18, 19]
    assert set(table["sender"].to_list()[:20]) == {"a@b.example"}

    table[0, "label"] = "spam" if numbers[0] % 2 else "ham"
    table.write_csv(listed)
    command[command.index("--labels") + 1] = str(listed)
    capsys.readouterr()
    assert run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labelled"] == 17
    assert run([*command, *options, str(listed), "--force"]) == 2  # an input is never an output


def test_the_first_table_to_fill_in_needs_no_labels(box, tmp_path, capsys):
    path, folder, keys = box
    table_path = tmp_path / "known.csv"
    command = ["spam", str(path), "--label-template", str(table_path)]
    assert run([*command, "--dry-run"]) == 0
    assert "would write" in capsys.readouterr().out
    assert not table_path.exists()
    assert run(command) == 0
    told = capsys.readouterr().out
    assert f"20 mails, in {table_path}. Label 20 or more of them from the top" in told
    assert f"graphsqueak spam {path} --labels {table_path} -o scores.csv" in told
    table = pl.read_csv(table_path)
    assert table.columns == ["node", "label", "subject", "sender"]
    assert table["label"].null_count() == 20
    assert sorted(table["node"]) == sorted(f"new/{key}" for key in keys)
    assert table["node"].to_list() != sorted(table["node"])
    numbers = [int(subject[4:]) for subject in table["subject"]]
    labels = ["spam" if number % 2 else "ham" for number in numbers[:8]] + [None] * 12
    table.with_columns(pl.Series("label", labels)).write_csv(table_path)
    assert run(["spam", str(path), "--labels", str(table_path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["labelled"], record["spam"]) == (8, 10)
    assert run(command) == 2
    assert "already exists" in capsys.readouterr().err
    # The names of folders are labels.
    folder.add_folder("Junk").add(message(1))
    assert run([*command, "--force", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record == {"mails": 21, "labelled": 1, "label_template": str(table_path)}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "scores need --labels"),
        (["-o", "scores.csv"], "-o needs --labels"),
        (["--label-template", "a.csv", "--model", "spam.model"], "--model needs --labels"),
    ],
)
def test_scores_need_labels(box, capsys, options, reason):
    assert run(["spam", str(box[0]), *options]) == 2
    assert f"{reason}, a table of known mails" in capsys.readouterr().err


def test_the_only_labeled_spam_gives_no_rate(daily, tmp_path, capsys):
    command, _ = daily
    lines = (tmp_path / "known.csv").read_text().splitlines()
    is_spam = [line.endswith(",spam") for line in lines]
    first = is_spam.index(True)
    kept = [line for n, line in enumerate(lines) if not is_spam[n] or n == first]
    (tmp_path / "known.csv").write_text("\n".join(kept) + "\n")
    assert run([*command, "-o", str(tmp_path / "scores.csv")]) == 0
    said = capsys.readouterr().out
    assert "expected to catch an unknown fraction of spam (no labeled one has another" in said
    assert "of ham (0 of 8 labeled" in said
