"""Mail corpora as texts: read any of the usual layouts, count what could not be read.

    for mail in read_mail("trec07p"): mail.id, mail.label, mail.text

`layouts.py` says how corpora lie on disk, `text.py` what becomes of a message, `words.py` how texts
become points. `graphsqueak.datasets.load_mail` does all of it.
"""

import hashlib
from collections.abc import Container, Iterator
from pathlib import Path
from typing import NamedTuple

from graphsqueak.mail.layouts import raw_mails
from graphsqueak.mail.text import MailText, mail_text
from graphsqueak.mail.words import words

__all__ = ["Mail", "MailSource", "read_mail"]

_LONGEST = 99  # letters of a subject or sender


class Mail(NamedTuple):
    """A message that was read; `label` is 1 for spam, 0 for ham, -1 where nothing says.

    `subject` is the beginning of the text where there is no subject; `sender` may be empty, and so
    may `headers`, words about the way that it came.
    """

    id: str
    label: int
    text: str
    subject: str = ""
    sender: str = ""
    headers: str = ""


def read_mail(path: str | Path, *, layout: str = "auto", deduplicate: bool = False) -> "MailSource":
    """Open a corpus of mail as a stream of texts.

    Parameters
    ----------
    path : str or Path
        A folder or file in one of the layouts below.
    layout : {"auto", "trec", "folders", "sms", "mbox", "maildir", "csv"}
        A TREC index with labels; a folder of mails, perhaps below folders called spam... and
        ham...; lines "ham<tab>text"; an mbox file or a folder of them; a Maildir; a table with a
        column of texts. "auto" looks.
    deduplicate : bool
        Leave out a mail whose words are those of an earlier one, in the same order.

    Returns
    -------
    MailSource

    Examples
    --------
    >>> from pathlib import Path
    >>> written = Path("SMSSpamCollection").write_text("ham\\tsee you\\nspam\\tWIN! £1,000\\n")
    >>> [(mail.label, mail.text) for mail in read_mail("SMSSpamCollection")]
    [(0, 'see you'), (1, 'WIN! £1,000')]
    """
    return MailSource(path, layout=layout, deduplicate=deduplicate)


class MailSource:
    """A re-iterable stream of `Mail`; the counters tell of the latest pass.

    Attributes
    ----------
    n_mails : int
        Handed out.
    n_unreadable : int
        Left out: the file is missing or locked.
    n_duplicates : int
        Left out on request.
    n_guessed : int
        Handed out although a charset was missing, unknown or wrong.
    n_cut : int
        Handed out without what exceeds a limit: 8 MiB per mail, 1 Mi characters per text part,
        256 KiB of headers, 8 KiB per header, 1,000 parts, 32 levels of nesting.
    n_empty : int
        Handed out without a single word of text.
    """

    def __init__(self, path: str | Path, *, layout: str, deduplicate: bool) -> None:
        self.path, self.layout, self.deduplicate = path, layout, deduplicate
        self._reset()
        raw_mails(path, layout)  # a wrong path is an error at once

    def _reset(self) -> None:
        self.n_mails = self.n_unreadable = self.n_duplicates = 0
        self.n_guessed = self.n_cut = self.n_empty = 0

    @property
    def counts(self) -> dict[str, int]:
        """All counters by name."""
        names = ("mails", "unreadable", "duplicates", "guessed", "cut", "empty")
        return {name: getattr(self, f"n_{name}") for name in names}

    def __iter__(self) -> Iterator[Mail]:
        return (mail for _, _, mail in self.read_new(()) if mail is not None)

    def read_new(self, known: Container[str]) -> Iterator[tuple[str, str, Mail | None]]:
        """Iterate over (id, digest, mail); mails whose digest is known are not read, and None.

        The digest is that of the message as it lies on disk: it stays when its file is moved.

        Parameters
        ----------
        known : set or mapping of str
        """
        self._reset()
        seen: set[bytes] = set()
        for raw in raw_mails(self.path, self.layout):
            digest = _digest(raw)
            if digest in known:
                yield raw.id, digest, None
                continue
            read = _read(raw)
            if read is None:
                self.n_unreadable += 1
            elif self.deduplicate and self._was_seen(read.text, seen):
                self.n_duplicates += 1
            else:
                self.n_mails += 1
                self.n_guessed += read.guessed
                self.n_cut += read.cut
                self.n_empty += not read.text.strip()
                subject = _one_line(read.subject) or _one_line(read.text)
                sender = _one_line(read.sender)
                about = subject, sender, read.headers
                yield raw.id, digest, Mail(raw.id, raw.label, read.text, *about)

    @staticmethod
    def _was_seen(text, seen):
        digest = hashlib.blake2b(" ".join(words(text)).encode(), digest_size=16).digest()
        known = digest in seen
        seen.add(digest)
        return known


def _digest(raw):
    content = raw.content
    if isinstance(content, str):
        content = "\0".join([raw.subject, raw.sender, content]).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content or b"", digest_size=16).hexdigest()


def _read(raw):
    if isinstance(raw.content, str):
        return MailText(raw.content, subject=raw.subject, sender=raw.sender)
    return None if raw.content is None else mail_text(raw.content)


def _one_line(text):
    """The beginning of a text as a cell of a table, which no spreadsheet takes for a formula.

    >>> _one_line("  Re:\\r\\n\\tlunch\\0 ?"), _one_line("=1+1"), _one_line("word " * 99)[-9:]
    ('Re: lunch ?', "'=1+1", 'word word')
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * _LONGEST]).split())
    text = text[:_LONGEST].strip()
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
