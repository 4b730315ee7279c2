"""Layouts of mail corpora on disk, and the raw messages in them.

    trec       full/index, lines "spam ../data/inmail.1" (TREC 2005-2007)
    folders    one file per message: in folders called spam..., ham... (SpamAssassin, Enron-Spam)
               or in one folder (*.eml)
    sms        one file, lines "ham<tab>text" (SMS Spam Collection)
    mbox       one file of messages, each after a line "From ...", or a folder of such files
    maildir    folders cur, new, tmp, and subfolders of the same kind
    csv        one table with a column of texts, and maybe of ids, labels, subjects and senders

Labels are 1 for spam, 0 for ham and -1 if unknown. In folders, Maildirs and mbox files the label is
that of the nearest name with the word spam, junk or ham: easy_ham_2, spam-1, .Junk, my-spam.mbox.

A corpus may come from an attacker. Entries of an index and links are followed to regular files
inside the corpus only, and at most `Limits.mail_bytes` of a mail are read.
"""

import csv
import io
import os
import re
import stat
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from graphsqueak.errors import InputError, Parameter
from graphsqueak.mail.limits import LIMITS
from graphsqueak.mail.text import read_bytes_as_text
from graphsqueak.system.paths import local_path, resolved
from graphsqueak.validation import check_choice

_LABEL_IN_NAMES = {"spam": 1, "junk": 1, "ham": 0}
_LABEL_IN_TABLES = {
    **_LABEL_IN_NAMES,
    **dict.fromkeys(("1", "1.0", "true"), 1),
    **dict.fromkeys(("0", "0.0", "false", "nonspam", "not spam"), 0),
    **dict.fromkeys(("", "-1", "?", "nan", "none", "unknown"), -1),
}
# If a table has several of these columns, the first one here is read.
_COLUMN_NAMES = {
    "text": ("text", "message", "body", "mail", "email", "content", "sms", "v2"),
    "label": ("label", "class", "category", "type", "spam", "is_spam", "target", "v1"),
    "id": ("id", "name", "file", "message_id"),
    "subject": ("subject", "title"),
    "sender": ("from", "sender", "author"),
}
_SUFFIXES_NOT_MAIL = (".json", ".md", ".zip", ".gz", ".bz2", ".tgz")
# SpamAssassin's corpus has a script of this name in every folder.
_NAMES_NOT_MAIL = ("cmds",)
_TREC_INDEXES = ("full/index", "trec07p/full/index", "index")
# In these folders of a TREC corpus lies an index.
_TREC_INDEX_FOLDERS = ("full", "partial", "delay")
_SMS_LINE = re.compile(rb"(ham|spam)\t")
_MAIL_HEADER = re.compile(
    rb"(from|to|subject|date|received|return-path|delivered-to|message-id|mime-version|x-[\w-]+"
    rb"|content-[\w-]+|reply-to|sender|dkim-signature|arc-[\w-]+|authentication-results):",
    re.IGNORECASE,
)
# Folder and unique name of a file in a Maildir. Mail programs move files from new to cur and append
# flags such as ":2,S".
_MAILDIR_FILE = re.compile(r"((?:.*/)?)(?:cur|new)/([^/]+?)(?::2,[^/]*)?")
_NUMBER_OR_BLANK = re.compile(r"\s*([-+]?[\d.]+([eE][-+]?\d+)?)?\s*")


class RawMail(NamedTuple):
    """A message as it is on disk.

    `content` is bytes as sent, text as given in a table, or None if the file cannot be read.
    `subject` and `sender` are those of a table.
    """

    id: str
    label: int
    content: bytes | str | None
    subject: str = ""
    sender: str = ""


def raw_mails(path, layout="auto"):
    """Iterate over the messages of a corpus, in the order of their names or of the file."""
    path = local_path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist; give the folder or file that holds the mails")
    if not path.is_dir() and not path.is_file():
        raise InputError(f"{path} is not a regular file or folder; save the mails to a file first")
    check_choice("layout", layout, ("auto", *LAYOUTS))
    if layout == "auto":
        layout = find_layout(path)
    return _READERS[layout](path)


def stable_name(mail_id: str) -> str:
    """Return the id of a mail without what a mail program changes in a Maildir.

    Parameters
    ----------
    mail_id : str

    Examples
    --------
    >>> [stable_name(n) for n in ("new/1.host", "cur/1.host:2,S", ".Junk/cur/7:2,", "box/3")]
    ['1.host', '1.host', '.Junk/7', 'box/3']
    """
    found = _MAILDIR_FILE.fullmatch(mail_id)
    return found[1] + found[2] if found else mail_id


def find_layout(path: Path) -> str:
    """Detect the layout of a mail corpus.

    Parameters
    ----------
    path : Path
        A folder or file.

    Returns
    -------
    {"trec", "folders", "sms", "mbox", "maildir", "csv"}
    """
    return _find_layout_of_folder(path) if path.is_dir() else _find_layout_of_file(path)


def _find_layout_of_folder(path):
    if _trec_index(path):
        return "trec"
    if any(_is_maildir(folder) for folder in [path, *_folders(path)]):
        return "maildir"
    files = list(islice(_mail_files(path), LIMITS.examined_files))
    if any(_label_of(path, file) >= 0 for file in files):
        return "folders"
    if any(_is_mbox(file) for file in files):
        return "mbox"
    if any(_is_mail(file) for file in files):
        return "folders"
    raise InputError(
        f"{path} does not look like a corpus of mail: no full/index, no cur and "
        "new, no folder called spam or ham, no .eml and no file that begins with the "
        "headers of a mail; say ",
        Parameter("layout"),
        f" one of {', '.join(LAYOUTS)}",
    )


def _find_layout_of_file(path):
    with path.open("rb") as file:
        beginning = file.read(4096)
    if beginning.startswith(b"From "):
        return "mbox"
    lines = [line for line in beginning.split(b"\n")[:5] if line.strip()]
    if lines and all(_SMS_LINE.match(line) for line in lines):
        return "sms"
    if path.suffix.lower() in (".csv", ".tsv"):
        return "csv"
    if path.name == "index":
        return "trec"
    raise InputError(
        f"{path} does not look like an mbox file, SMS collection, csv or index; say ",
        Parameter("layout"),
        " if it is one",
    )


def has_mail_texts(path: Path) -> bool:
    """Return whether a csv or tsv has texts rather than numbers, by its header and first rows.

    Parameters
    ----------
    path : Path

    Examples
    --------
    >>> written = Path("texts.csv").write_text("id,text\\na,lunch?\\n")
    >>> written = Path("numbers.csv").write_text("v1,v2\\n0.5,1.5\\n")
    >>> has_mail_texts(Path("texts.csv")), has_mail_texts(Path("numbers.csv"))
    (True, False)
    """
    if path.suffix.lower() not in (".csv", ".tsv") or not path.is_file():
        return False
    try:
        table = _Table(_beginning(path, LIMITS.examined_bytes))
        cells = (table.cell(row, "text") for row in islice(table.rows, 100))
        return any(not _NUMBER_OR_BLANK.fullmatch(cell) for cell in cells)
    except csv.Error:
        return False


def label_of_name(name):
    """Return the label in the name of a file or folder: the last of the words spam, junk and ham.

    >>> [label_of_name(name) for name in ("easy_ham_2", "spam-1", ".Junk", "hamburg")]
    [0, 1, 1, -1]
    """
    words = re.split(r"[^a-z]+", name.lower())
    labels = [_LABEL_IN_NAMES[word] for word in words if word in _LABEL_IN_NAMES]
    return labels[-1] if labels else -1


def label_of_word(value):
    """Return the label in a cell of a table: 1, 0 or -1, or None if it is not understood.

    >>> [label_of_word(value) for value in ("Spam", "0", "", "work")]
    [1, 0, -1, None]
    """
    return _LABEL_IN_TABLES.get(value.strip().lower())


def _read_trec(path):
    index = path if path.is_file() else _trec_index(path)
    if index is None:
        raise InputError(f"{path} has no full/index; give the folder that trec07p.tgz unpacks to")
    root = path
    if index != path:
        _check_inside(index, root, place=str(index))
    elif resolved(index).parent.name in _TREC_INDEX_FOLDERS:
        # The index is given by itself: full/index has entries such as ../data/inmail.1.
        root = index.parent.parent
    else:
        root = index.parent
    for number, line in enumerate(_index_lines(index), start=1):
        fields = line.split()
        place = f"{index}, line {number}"
        if len(fields) < 2 or fields[0].lower() not in _LABEL_IN_NAMES or "\0" in line:
            raise InputError(f"{place}: {line[:60]!r} is not 'spam|ham <file>'")
        entry = fields[1]
        content = _read_mail_file(index.parent / entry, root, place=f"{place}: {entry}")
        yield RawMail(entry, _LABEL_IN_NAMES[fields[0].lower()], content)


def _read_folders(path):
    files = [(file, _label_of(path, file)) for file in sorted(_mail_files(path))]
    # Files outside the labeled folders may be notes. Without any file that is labeled or looks like
    # a mail, all files are read.
    mails = [(file, label) for file, label in files if label >= 0 or _is_mail(file)]
    for file, label in mails or files:
        yield _raw_mail(file, path, label)


def _read_maildir(path):
    for folder in sorted([path, *_folders(path)]):
        if _is_maildir(folder):
            for file in sorted([*_mail_files(folder / "cur"), *_mail_files(folder / "new")]):
                yield _raw_mail(file, path, _label_of(path, file))


def _read_mbox(path):
    import mailbox

    files = sorted(filter(_is_mbox, _mail_files(path))) if path.is_dir() else [path]
    for file in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        # A link may lead to any file of the user.
        _check_inside(file, path, place=str(file))
        box = mailbox.mbox(file, create=False)
        try:
            for key in box.iterkeys():
                try:
                    content = box.get_file(key).read(LIMITS.mail_bytes + 1)
                except (OSError, ValueError, KeyError):
                    content = None
                yield RawMail(f"{name}/{key}", label_of_name(name), content)
        finally:
            box.close()


def _read_sms(path):
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        if not _SMS_LINE.match(line):
            raise InputError(f"{path}, line {number}: starts with neither 'ham' nor 'spam' and tab")
        label, text = read_bytes_as_text(line.rstrip(b"\r"))[0].split("\t", 1)
        yield RawMail(str(number), _LABEL_IN_NAMES[label], text)


def _read_csv(path):
    table = _Table(path.read_bytes())
    if "text" not in table.columns:
        raise InputError(
            f"{path} has the columns {', '.join(table.names) or '(none)'}; one of them must be "
            f"called {', '.join(_COLUMN_NAMES['text'])}, and labels "
            f"{', '.join(_COLUMN_NAMES['label'])}"
        )
    for row in table.rows:
        if not row:
            continue
        line = table.rows.line_num
        label = label_of_word(table.cell(row, "label"))
        if label is None:
            value = table.cell(row, "label").strip().lower()
            raise InputError(
                f"{path}, line {line}: label {value!r} is neither spam nor ham (1 nor 0)"
            )
        yield RawMail(
            id=table.cell(row, "id") if "id" in table.columns else str(line),
            label=label,
            content=table.cell(row, "text"),
            subject=table.cell(row, "subject"),
            sender=table.cell(row, "sender"),
        )


_READERS = {
    "trec": _read_trec,
    "folders": _read_folders,
    "sms": _read_sms,
    "mbox": _read_mbox,
    "maildir": _read_maildir,
    "csv": _read_csv,
}
LAYOUTS = tuple(_READERS)


class _Table:
    """Rows of a csv or tsv, and the columns whose names are known."""

    def __init__(self, data):
        # The default of 128 KiB is less than a long mail.
        csv.field_size_limit(128 << 20)
        text = read_bytes_as_text(data)[0].replace("\0", "").removeprefix("\ufeff")
        # The header shows the separator: the most frequent candidate.
        header = text.partition("\n")[0]
        separator = max(",;\t", key=header.count)
        self.rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        self.names = [name.strip().lower() for name in next(self.rows, [])]
        self.columns = {}
        for role, known in _COLUMN_NAMES.items():
            found = [name for name in known if name in self.names]
            if found:
                self.columns[role] = self.names.index(found[0])

    def cell(self, row, role):
        """Return a cell, empty if the column does not exist or the row is too short."""
        column = self.columns.get(role, len(row))
        return row[column] if column < len(row) else ""


def _trec_index(path):
    return next((path / name for name in _TREC_INDEXES if (path / name).is_file()), None)


def _index_lines(index):
    with index.open("rb") as file:
        while line := file.readline(LIMITS.index_line_bytes):
            yield line.decode("utf-8", "replace").rstrip("\r\n")


def _label_of(root, file):
    """Return the label of the nearest folder that has one; the corpus folder itself may."""
    folders = [root.name, *file.relative_to(root).parts[:-1]]
    labels = (label_of_name(name) for name in reversed(folders))
    return next((label for label in labels if label >= 0), -1)


def _is_mbox(path):
    return _beginning(path, 5) == b"From "


def _is_mail(path):
    return path.suffix.lower() == ".eml" or bool(_MAIL_HEADER.match(_beginning(path, 64)))


def _is_maildir(path):
    return (path / "cur").is_dir() and (path / "new").is_dir()


def _folders(path):
    return [child for child in path.iterdir() if child.is_dir()]


def _mail_files(path):
    for file in path.rglob("*"):
        is_skipped = file.name.startswith(".") or file.name in _NAMES_NOT_MAIL
        if not is_skipped and file.suffix.lower() not in _SUFFIXES_NOT_MAIL and not file.is_dir():
            yield file


def _raw_mail(file, root, label):
    name = file.relative_to(root).as_posix()
    return RawMail(name, label, _read_mail_file(file, root, place=str(file)))


def _read_mail_file(file, root, *, place):
    """Return the mail, with one byte beyond the limit; None if its file is missing or locked."""
    _check_inside(file, root, place=place)
    try:
        return _read_regular(resolved(file), LIMITS.mail_bytes + 1)
    except _NotRegularError:
        raise InputError(f"{place} is not a regular file; remove it from the corpus") from None
    except OSError:
        return None


def _check_inside(file, root, *, place):
    file = resolved(file)
    root = resolved(root)
    if not file.is_relative_to(root):
        raise InputError(
            f"{place} leads out of the corpus {root}, to {file}; copy the mail into the corpus"
        )


def _beginning(path, n_bytes):
    """Return the first bytes of a file, none if it cannot be read or is not a regular file."""
    try:
        return _read_regular(path, n_bytes)
    except OSError:
        return b""


def _read_regular(path, n_bytes):
    """Return the first bytes of a regular file; an OSError for anything else."""
    # A named pipe would block without O_NONBLOCK. Windows has O_BINARY instead of the others.
    flags = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    descriptor = os.open(path, os.O_RDONLY | flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _NotRegularError(f"{path} is not a regular file")
    with open(descriptor, "rb") as file:
        return file.read(n_bytes)


class _NotRegularError(OSError):
    """A folder, device or named pipe in the place of a mail."""
