"""Mail corpora as streams of texts.

    for mail in read_mail("trec07p"): mail.id, mail.label, mail.text

`layouts` finds the raw messages on disk, `text` extracts the text of a message, and `words` turns
texts into points. `graphsqueak.datasets.load_mail` does all three.
"""

import hashlib
from collections.abc import Container, Iterator
from pathlib import Path
from typing import NamedTuple

from graphsqueak.mail.layouts import raw_mails
from graphsqueak.mail.text import MailText, mail_text
from graphsqueak.mail.words import words


class Mail(NamedTuple):
    """A mail as text.

    Attributes
    ----------
    id : str
    label : int
        1 for spam, 0 for ham, -1 if unknown.
    text : str
        Subject and body.
    subject : str
        The beginning of the text if the mail has no subject.
    sender : str
        Empty if unknown.
    headers : str
        Words of the headers, such as the servers that the mail passed.
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
        A TREC index with labels; a folder of mails, maybe with folders called spam... and ham...;
        lines "ham<tab>text"; an mbox file or a folder of them; a Maildir; a table with a column of
        texts. "auto" detects the layout.
    deduplicate : bool
        Leave out a mail with the same words in the same order as an earlier one.

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
    """Stream of the mails in a corpus, which can be iterated over again.

    Attributes
    ----------
    counts : dict of str to int
        Numbers of mails in the latest pass:

        * mails: returned;
        * unreadable: left out, as the file is missing or locked;
        * duplicates: left out because of `deduplicate`;
        * guessed: returned although a charset was missing, unknown or wrong;
        * cut: returned without the content beyond a limit (docs/tutorials/spam.md);
        * empty: returned without any text.
    """

    def __init__(self, path: str | Path, *, layout: str, deduplicate: bool) -> None:
        self.path = path
        self.layout = layout
        self.deduplicate = deduplicate
        self.counts = _no_counts()
        # A wrong path is an error now, not when the first mail is read.
        raw_mails(path, layout)

    def __iter__(self) -> Iterator[Mail]:
        return (mail for _, _, mail in self.read_new(()) if mail is not None)

    def read_new(self, known: Container[str]) -> Iterator[tuple[str, str, Mail | None]]:
        """Iterate over (id, digest, mail), without reading mails whose digest is known.

        The digest is that of the message on disk, so that it stays the same when the file is moved.

        Parameters
        ----------
        known : set or mapping of str
            Digests of mails that are not read: `mail` is None.
        """
        counts = self.counts = _no_counts()
        digests_of_words: set[bytes] = set()
        for raw in raw_mails(self.path, self.layout):
            digest = _digest(raw)
            if digest in known:
                yield raw.id, digest, None
                continue
            read = _read(raw)
            if read is None:
                counts["unreadable"] += 1
                continue
            # A digest takes less memory than the words.
            if self.deduplicate:
                of_words = hashlib.blake2b(" ".join(words(read.text)).encode(), digest_size=16)
                if of_words.digest() in digests_of_words:
                    counts["duplicates"] += 1
                    continue
                digests_of_words.add(of_words.digest())
            counts["mails"] += 1
            counts["guessed"] += read.is_guessed
            counts["cut"] += read.is_cut
            counts["empty"] += not read.text.strip()
            mail = Mail(
                id=raw.id,
                label=raw.label,
                text=read.text,
                subject=_one_line(read.subject) or _one_line(read.text),
                sender=_one_line(read.sender),
                headers=read.headers,
            )
            yield raw.id, digest, mail


def _no_counts():
    return dict.fromkeys(("mails", "unreadable", "duplicates", "guessed", "cut", "empty"), 0)


def _digest(raw):
    content = raw.content
    if isinstance(content, str):
        content = "\0".join([raw.subject, raw.sender, content]).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content or b"", digest_size=16).hexdigest()


def _read(raw):
    if isinstance(raw.content, str):
        return MailText(raw.content, subject=raw.subject, sender=raw.sender)
    return None if raw.content is None else mail_text(raw.content)


def _one_line(text, max_length=99):
    """Return the beginning of a text as a table cell that spreadsheets do not run as a formula.

    >>> _one_line("  Re:\\r\\n\\tlunch\\0 ?"), _one_line("=1+1"), _one_line("word " * 99)[-9:]
    ('Re: lunch ?', "'=1+1", 'word word')
    """
    # Four times the length, since runs of blanks become one.
    beginning = text[: 4 * max_length]
    printable = "".join(letter if letter.isprintable() else " " for letter in beginning)
    line = " ".join(printable.split())[:max_length].strip()
    return f"'{line}" if line.startswith(("=", "+", "-", "@")) else line
