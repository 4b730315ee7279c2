"""Each layout of a corpus, written small, is recognized and read with its labels."""

import mailbox

import numpy as np
import pytest

from graphsqueak import InputError, datasets
from graphsqueak.mail.corpus import read_mail


def write(root, files):
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def mail(subject, body="body"):
    return f"From: a@b\nSubject: {subject}\n\n{body}\n"


def read(path, **options):
    return [(m.id, m.label, m.text.split()) for m in read_mail(path, **options)]


def test_trec(tmp_path):
    write(
        tmp_path / "trec07p",
        {
            "full/index": "spam ../data/inmail.1\nham ../data/inmail.2\nham ../data/inmail.3\n",
            "data/inmail.1": mail("win"),
            "data/inmail.2": mail("lunch"),
        },
    )
    expected = [
        ("../data/inmail.1", 1, ["win", "body"]),
        ("../data/inmail.2", 0, ["lunch", "body"]),
    ]
    for path in ("trec07p", ".", "trec07p/full/index"):
        source = read_mail(tmp_path / path)
        assert [(m.id, m.label, m.text.split()) for m in source] == expected
        assert source.counts["unreadable"] == 1  # the third is not there


def test_spamassassin_folders(tmp_path):
    write(
        tmp_path,
        {
            "easy_ham/0001.aa": mail("lunch"),
            "easy_ham/cmds": "mv 1 2",
            "hard_ham_2/0001.bb": mail("news"),
            "spam_2/0001.cc": mail("win"),
            "README.txt": "not a mail",
        },
    )
    assert read(tmp_path) == [
        ("easy_ham/0001.aa", 0, ["lunch", "body"]),
        ("hard_ham_2/0001.bb", 0, ["news", "body"]),
        ("spam_2/0001.cc", 1, ["win", "body"]),
    ]


def test_enron_folders(tmp_path):
    write(
        tmp_path,
        {
            "enron1/ham/0001.farmer.ham.txt": "Subject: gas deal\nplease : see\n",
            "enron1/spam/0006.GP.spam.txt": b"Subject: d\xf3lares\nwin\n",
            "enron1/Summary.txt": "Legitimate: 1",
        },
    )
    assert read(tmp_path) == [
        ("enron1/ham/0001.farmer.ham.txt", 0, ["gas", "deal", "please", ":", "see"]),
        ("enron1/spam/0006.GP.spam.txt", 1, ["dólares", "win"]),
    ]


def test_one_labeled_folder_is_a_corpus(tmp_path):
    write(tmp_path, {"spam/1": mail("win")})
    assert read(tmp_path / "spam") == [("1", 1, ["win", "body"])]


def test_sms_collection(tmp_path):
    path = tmp_path / "SMSSpamCollection"
    path.write_bytes("ham\tsee you\tlater\r\nspam\tWIN £5\n\nham\t".encode() + b"\xa35\n")
    assert read(path) == [
        ("1", 0, ["see", "you", "later"]),
        ("2", 1, ["WIN", "£5"]),
        ("4", 0, ["£5"]),
    ]


def test_mbox(tmp_path):
    box = mailbox.mbox(tmp_path / "my-spam.mbox")
    for subject in ("win", "lose"):
        box.add(mail(subject, "From here on\nbody"))
    box.close()
    texts = [(label, text[0]) for _, label, text in read(tmp_path / "my-spam.mbox")]
    assert texts == [(1, "win"), (1, "lose")]


def test_maildir(tmp_path):
    box = mailbox.Maildir(tmp_path / "Maildir")
    box.add(mail("lunch"))
    box.add_folder("Junk").add(mail("win"))
    labels = {text[0]: label for _, label, text in read(tmp_path / "Maildir")}
    assert labels == {"lunch": -1, "win": 1}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("label,text\nspam,win\nham,'a, b'\n", [("2", 1, ["win"]), ("3", 0, ["a,", "b"])]),
        ("id;Body;Spam\nx;win;1\ny;so;0\n", [("x", 1, ["win"]), ("y", 0, ["so"])]),
        ("text\tclass\nwhat\t\n", [("2", -1, ["what"])]),
        ("\ufeffv1,v2,\r\nham,'two\r\nlines',\r\n", [("3", 0, ["two", "lines"])]),
        ("message\nhi\n", [("2", -1, ["hi"])]),
    ],
)
def test_csv(tmp_path, table, expected):
    path = tmp_path / "texts.csv"
    path.write_bytes(table.replace("'", '"').encode())
    assert read(path) == expected


def test_duplicates_are_left_out_on_request(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("text\nCheap pills!\ncheap  PILL\npills cheap\n")
    source = read_mail(path, deduplicate=True)
    assert [m.text for m in source] == ["Cheap pills!", "pills cheap"]
    assert source.counts["duplicates"] == 1
    assert len(list(read_mail(path))) == 3


def test_a_corpus_becomes_points(tmp_path):
    write(
        tmp_path, {"spam/1": mail("win money"), "ham/1": mail("lunch"), "ham/2": mail("lunch", "")}
    )
    mails = datasets.load_mail(tmp_path, min_mails=2)
    assert mails.columns.tolist() == ["body", "lunch"]
    assert mails.labels.tolist() == [0, 0, 1]
    half = 2**-0.5
    np.testing.assert_allclose(mails.points.toarray(), [[half, half], [0, 1], [1, 0]], rtol=1e-6)


@pytest.mark.parametrize(
    ("files", "layout", "message"),
    [
        ({"notes/1": "x"}, "auto", "does not look like a corpus"),
        ({"full/index": "maybe ../data/1\n"}, "auto", "line 1: 'maybe"),
        ({"a": "x"}, "trec", "no full/index"),
        ({"a": "x"}, "tar", "layout='tar'"),
        ({"spam/.hidden": "x"}, "folders", "no readable mail"),
    ],
)
def test_mistakes_are_explained(tmp_path, files, layout, message):
    write(tmp_path, files)
    with pytest.raises(InputError, match=message):
        datasets.load_mail(tmp_path, layout=layout)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "label,words\nspam,win\n", "one of them must be called text"),
        ("a.csv", "label,text\nperhaps,win\n", "line 2: label 'perhaps'"),
        ("sms", "ham\tx\nspam\ty\nham\tx\nham\tx\nham\tx\nwhat\tz\n", "line 6"),
        ("notes", "nothing special", "does not look like an mbox file, SMS"),
    ],
)
def test_files_that_are_no_corpus_are_explained(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        datasets.load_mail(tmp_path / name)


def test_a_missing_corpus_is_told_at_once(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_mail(tmp_path / "nowhere")
