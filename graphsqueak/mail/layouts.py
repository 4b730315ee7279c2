"""How corpora of mail lie on disk, and the raw messages in them, one after the other.

    trec       full/index, lines "spam ../data/inmail.1" (TREC 2005-2007)
    folders    one file a message, perhaps below folders called spam..., ham... (SpamAssassin,
               Enron-Spam), perhaps all side by side (*.eml)
    sms        one file, lines "ham<tab>text" (SMS Spam Collection)
    mbox       one file of messages, each after a line "From ...", or a folder of such files
    maildir    folders cur, new, tmp, and subfolders of the same kind
    csv        one table with a column of texts and perhaps of labels, subjects and senders

Labels are 1 for spam, 0 for ham, -1 where nothing says. Files and folders tell by a name that has
the word spam, junk or ham in it: easy_ham_2, spam-1, .Junk, my-spam.mbox.

A corpus may come from others. Entries of an index and links are followed only to regular files
inside the corpus, and at most 8 MiB of a mail are read.
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
from graphsqueak.mail.text import MAX_RAW_BYTES, read_bytes_as_text
from graphsqueak.system.paths import local_path, resolved
from graphsqueak.validation import check_choice

__all__ = [
    "LAYOUTS",
    "RawMail",
    "find_layout",
    "has_mail_texts",
    "label_of_name",
    "label_of_word",
    "raw_mails",
]

LAYOUTS = ("trec", "folders", "sms", "mbox", "maildir", "csv")
_SPAM, _HAM, _UNKNOWN = 1, 0, -1
_KIND = {"spam": _SPAM, "junk": _SPAM, "ham": _HAM}
_NO_MAIL = (".json", ".md", ".zip", ".gz", ".bz2", ".tgz")
_TREC_FOLDERS = ("full", "partial", "delay")  # each holds an index
_MOST_NAMES_LOOKED_AT = 10_000
_MAX_LINE_BYTES = 1 << 13  # of an index
_TEXT_NAMES = ("text", "message", "body", "mail", "email", "content", "sms", "v2")
_LABEL_NAMES = ("label", "class", "category", "type", "spam", "is_spam", "target", "v1")
_ID_NAMES = ("id", "name", "file", "message_id")
_SUBJECT_NAMES, _SENDER_NAMES = ("subject", "title"), ("from", "sender", "author")
_LABELS = {"spam": 1, "1": 1, "true": 1, "junk": 1, "1.0": 1}
_LABELS |= {"ham": 0, "0": 0, "false": 0, "nonspam": 0, "not spam": 0, "0.0": 0}
_UNSAID = {"", "-1", "?", "nan", "none", "unknown"}
_SMS_LINE = re.compile(rb"(ham|spam)\t")
_HEADER = re.compile(
    rb"(from|to|subject|date|received|return-path|delivered-to|message-id|mime-version|x-[\w-]+"
    rb"|content-[\w-]+|reply-to|sender|dkim-signature|arc-[\w-]+|authentication-results):",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\s*([-+]?[\d.]+([eE][-+]?\d+)?)?\s*")  # or nothing
_LOOKED_AT = 1 << 16  # bytes at the beginning of a table


class RawMail(NamedTuple):
    """One message: bytes as sent, text as given, or None where the file cannot be read."""

    id: str
    label: int
    content: bytes | str | None
    subject: str = ""  # where the layout says more than the message
    sender: str = ""


def raw_mails(path, layout="auto"):
    """Iterate over the messages of a corpus, in the order of their names or of the file."""
    path = local_path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist; give the folder or file that holds the mails")
    if not path.is_dir() and not path.is_file():
        raise InputError(f"{path} is not a regular file or folder; save the mails to a file first")
    check_choice("layout", layout, ("auto", *LAYOUTS))
    layout = find_layout(path) if layout == "auto" else layout
    return (RawMail(*found) for found in _READERS[layout](path))


def find_layout(path: Path) -> str:
    """The layout that a file or folder looks like."""
    if path.is_dir():
        if _trec_index(path):
            return "trec"
        if _is_maildir(path) or any(_is_maildir(child) for child in _folders(path)):
            return "maildir"
        if any(_label_of(path, file) != _UNKNOWN for file in _some_files(path)):
            return "folders"
        if any(_is_mbox(file) for file in _some_files(path)):
            return "mbox"
        if any(_is_mail(file) for file in _some_files(path)):
            return "folders"
        raise InputError(
            f"{path} does not look like a corpus of mail: no full/index, no cur and "
            "new, no folder called spam or ham, no .eml and no file that begins with the "
            "headers of a mail; say ",
            Parameter("layout"),
            f" one of {', '.join(LAYOUTS)}",
        )
    with path.open("rb") as file:
        first = file.read(4096)
    if first.startswith(b"From "):
        return "mbox"
    if _looks_like_sms(first):
        return "sms"
    if path.suffix.lower() in (".csv", ".tsv"):
        return "csv"
    if path.name == "index":
        return "trec"
    raise InputError(
        f"{path} is no mbox, SMS collection or csv; say ", Parameter("layout"), " if it is one"
    )


def label_of_name(name):
    """1, 0 or -1 by the words of a file's or folder's name.

    >>> [label_of_name(name) for name in ("easy_ham_2", "spam-1", ".Junk", "hamburg")]
    [0, 1, 1, -1]
    """
    found = [_KIND[word] for word in re.split(r"[^a-z]+", name.lower()) if word in _KIND]
    return found[-1] if found else _UNKNOWN


def _label_of(root, file):
    """The nearest folder that says it; the corpus folder itself may."""
    for name in reversed([root.name, *file.relative_to(root).parts[:-1]]):
        if (label := label_of_name(name)) != _UNKNOWN:
            return label
    return _UNKNOWN


def _folder_messages(path):
    """Files outside the labeled folders that do not look like mails are notes, if others do."""
    files = [(file, _label_of(path, file)) for file in sorted(_mail_files(path))]
    mails = [(file, label) for file, label in files if label != _UNKNOWN or _is_mail(file)]
    for file, label in mails or files:
        name = file.relative_to(path).as_posix()
        yield name, label, _mail_bytes(file, path, place=str(file))


def _trec_messages(path):
    index = path if path.is_file() else _trec_index(path)
    if index is None:
        raise InputError(f"{path} has no full/index; give the folder that trec07p.tgz unpacks to")
    root = _trec_root(index) if path.is_file() else path
    if index != path:
        _refuse_outside(index, root, place=str(index))
    for number, line in enumerate(_lines(index), start=1):
        fields = line.split()
        place = f"{index}, line {number}"
        if len(fields) < 2 or fields[0].lower() not in _KIND or "\0" in line:
            raise InputError(f"{place}: {line[:60]!r} is not 'spam|ham <file>'")
        content = _mail_bytes(index.parent / fields[1], root, place=f"{place}: {fields[1]}")
        yield fields[1], _KIND[fields[0].lower()], content


def _lines(index):
    """The lines of an index; a line beyond the limit is cut, and so not a valid entry."""
    with index.open("rb") as file:
        while line := file.readline(_MAX_LINE_BYTES):
            yield line.decode("utf-8", "replace").rstrip("\r\n")


def _mbox_messages(path):
    import mailbox

    files = sorted(filter(_is_mbox, _mail_files(path))) if path.is_dir() else [path]
    for file in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        _refuse_outside(file, path, place=str(file))
        box = mailbox.mbox(file, create=False)
        try:
            for key in box.iterkeys():
                yield f"{name}/{key}", label_of_name(name), _mbox_mail(box, key)
        finally:
            box.close()


def _maildir_messages(path):
    for folder in sorted([path, *_folders(path)]):
        if _is_maildir(folder):
            files = [file for part in ("cur", "new") for file in _mail_files(folder / part)]
            for file in sorted(files):
                name = file.relative_to(path).as_posix()
                content = _mail_bytes(file, path, place=str(file))
                yield name, _label_of(path, file), content


def _sms_messages(path):
    """(id, label, text) of each line "ham<tab>text"."""
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        if not _SMS_LINE.match(line):
            raise InputError(f"{path}, line {number}: starts with neither 'ham' nor 'spam' and tab")
        label, text = read_bytes_as_text(line.rstrip(b"\r"))[0].split("\t", 1)
        yield str(number), _LABELS[label], text


def has_mail_texts(path: Path) -> bool:
    """Whether a csv or tsv is a table of texts and not of numbers: by names of columns, and cells.

    >>> from pathlib import Path
    >>> written = Path("texts.csv").write_text("id,text\\na,lunch?\\n")
    >>> more = Path("numbers.csv").write_text("v1,v2\\n0.5,1.5\\n")
    >>> has_mail_texts(Path("texts.csv")), has_mail_texts(Path("numbers.csv"))
    (True, False)
    """
    if path.suffix.lower() not in (".csv", ".tsv") or not path.is_file():
        return False
    try:
        names, rows = _table(_beginning(path, _LOOKED_AT))
        column = _column(names, _TEXT_NAMES)
        return any(not _NUMBER.fullmatch(_cell(row, column)) for row in islice(rows, 100))
    except csv.Error:
        return False


def _table(data):
    """Names of the columns, in lower case, and the rows."""
    csv.field_size_limit(1 << 27)
    text = read_bytes_as_text(data)[0].replace("\0", "").removeprefix("\ufeff")
    header = text.partition("\n")[0]
    separator = max(",;\t", key=header.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    return [name.strip().lower() for name in next(rows, [])], rows


def _csv_messages(path):
    """Each row of a table with a header; columns are told by their names."""
    names, rows = _table(path.read_bytes())
    of_text, of_label, of_id = (_column(names, k) for k in (_TEXT_NAMES, _LABEL_NAMES, _ID_NAMES))
    of_subject, of_sender = (_column(names, k) for k in (_SUBJECT_NAMES, _SENDER_NAMES))
    if of_text is None:
        raise InputError(
            f"{path} has the columns {', '.join(names) or '(none)'}; one of them must be called "
            f"{', '.join(_TEXT_NAMES)}, and labels {', '.join(_LABEL_NAMES)}"
        )
    for row in rows:
        if not row:
            continue
        label = -1 if of_label is None else _label_in(_cell(row, of_label), path, rows.line_num)
        name = str(rows.line_num) if of_id is None else _cell(row, of_id)
        yield name, label, _cell(row, of_text), _cell(row, of_subject), _cell(row, of_sender)


_READERS = {
    "trec": _trec_messages,
    "folders": _folder_messages,
    "sms": _sms_messages,
    "mbox": _mbox_messages,
    "maildir": _maildir_messages,
    "csv": _csv_messages,
}


def _trec_index(path):
    paths = (path / "full" / "index", path / "trec07p" / "full" / "index", path / "index")
    return next((index for index in paths if index.is_file()), None)


def _trec_root(index):
    """The corpus of an index that is given by itself: full/index names ../data/inmail.1."""
    return index.parent.parent if resolved(index).parent.name in _TREC_FOLDERS else index.parent


def _looks_like_sms(first):
    """Whether the first bytes of a file are labels and texts, a tab between them."""
    lines = [line for line in first.split(b"\n")[:5] if line.strip()]
    return bool(lines) and all(_SMS_LINE.match(line) for line in lines)


def _is_mbox(path):
    return _beginning(path, 5) == b"From "


def _is_mail(path):
    return path.suffix.lower() == ".eml" or bool(_HEADER.match(_beginning(path, 64)))


def _beginning(path, n_bytes):
    """The first bytes of a regular file; none if it is something else or cannot be read."""
    try:
        with _opened_regular(path) as file:
            return file.read(n_bytes)
    except OSError:
        return b""


def _opened_regular(path):
    """Open a regular file; an OSError for anything else. A named pipe does not block."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _NotRegularError(f"{path} is not a regular file")
    return open(descriptor, "rb")


class _NotRegularError(OSError):
    """A folder, device or named pipe in the place of a mail."""


def _is_maildir(path):
    return (path / "cur").is_dir() and (path / "new").is_dir()


def _folders(path):
    return [child for child in path.iterdir() if child.is_dir()]


def _mail_files(path):
    for file in path.rglob("*"):
        hidden = file.name.startswith(".") or file.name == "cmds"  # SpamAssassin's own script
        if not hidden and file.suffix.lower() not in _NO_MAIL and not file.is_dir():
            yield file


def _some_files(path):
    return islice(_mail_files(path), _MOST_NAMES_LOOKED_AT)


def _mail_bytes(file, root, *, place):
    """The first MAX_RAW_BYTES + 1 bytes of a mail; None if its file is missing or locked."""
    _refuse_outside(file, root, place=place)
    try:
        with _opened_regular(resolved(file)) as opened:
            return opened.read(MAX_RAW_BYTES + 1)
    except _NotRegularError:
        raise InputError(f"{place} is not a regular file; remove it from the corpus") from None
    except OSError:
        return None


def _refuse_outside(file, root, *, place):
    file = resolved(file)
    root = resolved(root)
    if not file.is_relative_to(root):
        raise InputError(
            f"{place} leads out of the corpus {root}, to {file}; copy the mail into the corpus"
        )


def _mbox_mail(box, key):
    try:
        return box.get_file(key).read(MAX_RAW_BYTES + 1)
    except (OSError, ValueError, KeyError):
        return None


def _column(names, wanted):
    return next((names.index(name) for name in wanted if name in names), None)


def _cell(row, column):
    return row[column] if column is not None and column < len(row) else ""


def label_of_word(value):
    """1, 0 or -1 by what a table says of a mail; None where it says something else.

    >>> [label_of_word(value) for value in ("Spam", "0", "", "work")]
    [1, 0, -1, None]
    """
    value = value.strip().lower()
    return -1 if value in _UNSAID else _LABELS.get(value)


def _label_in(value, path, line):
    label = label_of_word(value)
    if label is None:
        value = value.strip().lower()
        raise InputError(f"{path}, line {line}: label {value!r} is neither spam nor ham (1 nor 0)")
    return label
