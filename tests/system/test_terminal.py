"""Text from files is escaped before it reaches a terminal."""

import os
import re
import time
import unicodedata

import pytest

from graphsqueak.report.page import html_page
from graphsqueak.report.table import html_table
from graphsqueak.system.progress import reporter
from graphsqueak.system.terminal import printable

ODD = "a\x1b[31m\r\n\x07\x7f\x9b\u202e\u2066\u2028" + os.fsdecode(b"\xe9")


def test_every_control_character_is_escaped():
    for code in [*range(0x250), *range(0x2000, 0x2070), 0x61C, *range(0xD800, 0xE000, 97)]:
        shown = printable(chr(code))
        is_control = unicodedata.category(chr(code)) in ("Cc", "Cs", "Zl", "Zp")
        is_control |= unicodedata.bidirectional(chr(code)) in (
            *("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"),
        )
        if is_control:
            assert re.fullmatch(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}", shown)
        elif code not in (0x61C, 0x200E, 0x200F):
            assert shown == chr(code)


def test_what_people_write_stays_as_it_is():
    text = "M\u00fcnchen \u05d0\u05d1 \u6771 \U0001f468\u200d\U0001f469 a\\b"
    assert printable(text) == text
    assert printable("a\tb\nc\x1b", keep="\n\t") == "a\tb\nc\\x1b"
    assert printable(3) == "3"


def test_pages_and_tables_are_utf8_without_control_characters():
    parts = [("heading", ODD), ("text", ODD), ("code", ODD), ("html", html_table([(ODD, 3)]))]
    page = html_page(ODD, [*parts, ("command", "ls 'a\x1bb'")])
    page.encode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2066]", page)
    assert page.count(r"a\x1b[31m") == 6


@pytest.mark.parametrize("is_terminal", [False, True])
def test_progress_escapes_names(capsys, monkeypatch, is_terminal):
    if is_terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
    with reporter(True, f"reading {ODD}[red].tsv", patience=0.001) as report:
        report(3, 0.5, ODD)
        for _ in range(100):
            if "red" in (said := capsys.readouterr().err):
                break
            time.sleep(0.02)
    assert r"reading a\x1b[31m\x0d\x0a\x07\x7f\x9b\u202e" in said
    assert "[red].tsv" in said
