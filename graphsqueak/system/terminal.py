"""What the terminal gets: printable text, and standard streams that exist.

Names of files, columns and nodes come from the input. Control characters in them would move the
cursor, change colors or reverse the text of a message, so that it says something else; `printable`
escapes them.

A program may be started with closed streams (`2>&-`). The next file that it opens then gets the
number of the closed stream, and Python's `sys.stderr` is None, for which `print` takes standard
output: messages end up in the data. `open_closed_streams` prevents both.
"""

import os
import re
import sys

__all__ = ["is_open_at_start", "open_closed_streams", "print_message", "printable"]

# C0 and C1 control characters, marks and overrides of direction, line separators, surrogates
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_closed_at_start: set[int] = set()


def printable(text: object, *, keep: str = "") -> str:
    r"""Return a text with its control characters escaped, except those in `keep`.

    A byte that is not UTF-8 in the name of a file is shown as this byte.

    >>> print(printable("a\x1b[31m.tsv"), printable("b\udce9.tsv"), printable("c\u202evst"))
    a\x1b[31m.tsv b\xe9.tsv c\u202evst
    """
    return _UNPRINTABLE.sub(
        lambda found: found[0] if found[0] in keep else _escape(found[0]), str(text)
    )


def _escape(character):
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # what Python makes of a byte that is not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def open_closed_streams() -> None:
    """Open the null device for standard streams that are closed; call before other files open.

    A stream that is open for reading only counts as closed: if standard error is closed, bash
    opens the script that it runs in its place.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            if name == "stdin":
                os.fstat(number)
            else:
                os.write(number, b"")
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)  # gets `number` if that is free
            if null != number:
                os.dup2(null, number)
                os.close(null)
            _closed_at_start.add(number)
        if getattr(sys, name) is None:
            _closed_at_start.add(number)
            if name != "stdin":
                setattr(sys, name, _null_stream())


def print_message(line: str) -> None:
    """Print a line on standard error; a log on a full disk or a closed pipe does not end a run."""
    try:
        print(line, file=sys.stderr)  # noqa: T201
    except OSError:
        # Python would try again to write the line at exit, and change the exit code.
        sys.stderr = _null_stream()


def _null_stream():
    return open(os.devnull, "w", encoding="utf-8")


def is_open_at_start(number: int) -> bool:
    """Whether a standard stream was open when the program began.

    >>> is_open_at_start(1)
    True
    """
    return number not in _closed_at_start
