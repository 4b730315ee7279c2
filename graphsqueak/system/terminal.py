"""Terminal output: printable text, and standard streams that are open.

Names of files, columns and nodes come from the input. Control characters in them would move the
cursor, change colors or reverse the text of a message. `printable` escapes them.

A program may be started with closed streams (`2>&-`). The next file that it opens then gets the
number of the closed stream. Python's `sys.stderr` is None, and `print` writes to standard output
instead, into the data. `open_closed_streams` prevents both.
"""

import os
import re
import sys

# C0 and C1 control characters, marks and overrides of direction, line separators, surrogates
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_closed_at_start: set[int] = set()


def printable(text: object, *, keep: str = "") -> str:
    r"""Return a text with its control characters escaped, except those in `keep`.

    A byte of a file name that is not UTF-8 is shown as \xNN.

    >>> print(printable("a\x1b[31m.tsv"), printable("b\udce9.tsv"), printable("c\u202evst"))
    a\x1b[31m.tsv b\xe9.tsv c\u202evst
    """
    return _UNPRINTABLE.sub(
        lambda found: found[0] if found[0] in keep else _escape(found[0]), str(text)
    )


def _escape(character):
    code = ord(character)
    # Python decodes a byte b of a file name that is not UTF-8 as 0xDC00 + b.
    if 0xDC80 <= code <= 0xDCFF:
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
            # The new descriptor is `number` itself if that is free.
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            _closed_at_start.add(number)
        if getattr(sys, name) is None:
            _closed_at_start.add(number)
            if name != "stdin":
                setattr(sys, name, _null_stream())


def print_message(line: str) -> None:
    """Print a line on standard error; ignore a full disk or a closed pipe."""
    try:
        print(line, file=sys.stderr)  # noqa: T201
    except OSError:
        # At exit, Python would write the line again, fail, and change the exit code.
        sys.stderr = _null_stream()


def _null_stream():
    return open(os.devnull, "w", encoding="utf-8")


def is_open_at_start(number: int) -> bool:
    """Return whether a standard stream was open when the program began.

    >>> is_open_at_start(1)
    True
    """
    return number not in _closed_at_start
