"""Mail corpora as texts: read any of the usual layouts, count what could not be read.

    for mail in read_mail("trec07p"): mail.id, mail.label, mail.text

`mail_layouts` says how corpora lie on disk, `mail_text` what becomes of a message, `mail_words`
how texts become points. `graphsqueak.datasets.load_mail` does all of it.
"""

import hashlib
from typing import NamedTuple

from graphsqueak.sources.mail.layouts import raw_mails
from graphsqueak.sources.mail.text import MailText, mail_text
from graphsqueak.sources.mail.words import words

__all__ = ["Mail", "MailSource", "read_mail"]


class Mail(NamedTuple):
    """A message that was read; `label` is 1 for spam, 0 for ham, -1 where nothing says."""

    id: str
    label: int
    text: str


def read_mail(path, *, layout="auto", deduplicate=False):
    """Open a corpus of mail as a stream of texts.

    Parameters
    ----------
    path : str or Path
        A folder or file in one of the layouts of `mail_layouts`.
    layout : {"auto", "trec", "folders", "sms", "mbox", "maildir", "csv"}
        "auto" looks.
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
        Left out: the file is missing or locked, or no parser makes sense of it.
    n_duplicates : int
        Left out on request.
    n_guessed : int
        Handed out although a charset was missing, unknown or wrong.
    n_cut : int
        Handed out without their end, being larger than 8 MiB.
    n_empty : int
        Handed out without a single word of text.
    """

    def __init__(self, path, *, layout, deduplicate):
        self.path, self.layout, self.deduplicate = path, layout, deduplicate
        self._reset()
        raw_mails(path, layout)  # a wrong path is told at once

    def _reset(self):
        self.n_mails = self.n_unreadable = self.n_duplicates = 0
        self.n_guessed = self.n_cut = self.n_empty = 0

    @property
    def counts(self):
        """All counters by name."""
        names = ("mails", "unreadable", "duplicates", "guessed", "cut", "empty")
        return {name: getattr(self, f"n_{name}") for name in names}

    def __iter__(self):
        self._reset()
        seen = set()
        for raw in raw_mails(self.path, self.layout):
            read = _read(raw.content)
            if read is None:
                self.n_unreadable += 1
            elif self.deduplicate and self._was_seen(read.text, seen):
                self.n_duplicates += 1
            else:
                self.n_mails += 1
                self.n_guessed += read.guessed
                self.n_cut += read.cut
                self.n_empty += not read.text.strip()
                yield Mail(raw.id, raw.label, read.text)

    @staticmethod
    def _was_seen(text, seen):
        digest = hashlib.blake2b(" ".join(words(text)).encode(), digest_size=16).digest()
        known = digest in seen
        seen.add(digest)
        return known


def _read(content):
    if isinstance(content, str):
        return MailText(content, False, False)
    return None if content is None else mail_text(content)
