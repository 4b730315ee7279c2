"""Limits on what is read of a mail and of a corpus, which may come from an attacker.

All time and memory of the reader grows at most linearly with these numbers. Content beyond a limit
is dropped and the mail is counted as cut; `tests/mail/test_hostile.py` has a mail for each of them.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of the reader.

    Attributes
    ----------
    mail_bytes : int
        Per mail. The rest of larger mails is attachments, as a rule.
    header_section_bytes : int
        Per header section.
    header_bytes : int
        Per header: eight lines of the longest that RFC 5322 allows.
    nesting : int
        Levels of multipart/* and message/*.
    parts : int
        Per mail.
    html_characters : int
        Per HTML part, with its tags.
    text_characters : int
        Per text part, without tags.
    index_line_bytes : int
        Per line of a TREC index. A longer line is not a valid entry.
    examined_files : int
        Files of a folder by which its layout is detected.
    examined_bytes : int
        Bytes of a table that show whether it has texts.
    """

    mail_bytes: int = 8 << 20
    header_section_bytes: int = 256 << 10
    header_bytes: int = 8 << 10
    nesting: int = 32
    parts: int = 1000
    html_characters: int = 2 << 20
    text_characters: int = 1 << 20
    index_line_bytes: int = 8 << 10
    examined_files: int = 10_000
    examined_bytes: int = 64 << 10


LIMITS = Limits()
