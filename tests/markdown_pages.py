"""Run the code blocks of a Markdown page in the order of the page, in one folder.

- `sh`: run by bash, which stops at the first error; its files stay for the blocks that follow.
- `text` directly below an `sh` block: the expected output of that block, standard error included.
- `python` with `>>>`: run as a doctest; its names stay for the blocks that follow.
- Any other block is shown only.

In expected output `...` stands for any text, and a number is compared to the digits that it is
printed with.
"""

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DECIMAL = re.compile(r"(?<![\w.])-?\d[\d,]*\.(\d+)(?![\w.])")
# Lines about the progress of a run, which depend on how fast it is.
PROGRESS = re.compile(
    r"^graphsqueak: .*(?: \.\.\.|\d \w+/s\b.*|: compiling, once .*)\n", re.MULTILINE
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, the line on which it begins, and whether it shows output."""

    language: str
    code: str
    line: int
    is_output: bool


def blocks_of(text):
    """Return the fenced blocks of a page.

    >>> text = "Run:\\n\\n```sh\\nls\\n```\\n\\n```text\\na.tsv\\n```\\n"
    >>> [(block.language, block.line, block.is_output) for block in blocks_of(text)]
    [('sh', 3, False), ('text', 7, True)]
    """
    blocks = []
    end_of_shell = None
    for match in BLOCK.finditer(text):
        language = match[1]
        is_below_shell = end_of_shell is not None and not text[end_of_shell : match.start()].strip()
        block = Block(
            language=language,
            code=match[2],
            line=text.count("\n", 0, match.start()) + 1,
            is_output=language == "text" and is_below_shell,
        )
        blocks.append(block)
        end_of_shell = match.end() if language == "sh" else None
    return blocks


class Checker(doctest.OutputChecker):
    """Compares output, and numbers to the digits that are expected."""

    def check_output(self, want, got, optionflags):
        """Return whether `got` is what is wanted."""
        return super().check_output(want, round_like(want, got), optionflags)


def round_like(want, got):
    """Replace numbers of `got` by those of `want` that agree to the printed digits.

    >>> round_like("error 0.31 of 7 edges", "error 0.3124 of 7 edges")
    'error 0.31 of 7 edges'
    >>> round_like("error 0.31", "error 0.35")
    'error 0.35'
    """
    wanted = list(DECIMAL.finditer(want))
    found = list(DECIMAL.finditer(got))
    if len(wanted) != len(found):
        return got
    for expected, actual in reversed(list(zip(wanted, found, strict=True))):
        difference = float(expected[0].replace(",", "")) - float(actual[0].replace(",", ""))
        if abs(difference) <= 10.0 ** -len(expected[1]):
            got = got[: actual.start()] + expected[0] + got[actual.end() :]
    return got


def run_page(text, name, folder):
    """Run all blocks of a page in `folder`, which the process must be in.

    Raises `AssertionError` with the place and the output if a block fails or prints something else.
    """
    checker = Checker()
    runner = doctest.DocTestRunner(checker=checker, optionflags=FLAGS, verbose=False)
    parser = doctest.DocTestParser()
    names = {"__name__": "__main__"}
    printed = ""
    for block in blocks_of(text):
        place = f"{name}:{block.line}"
        if block.language == "sh":
            printed = run_shell(block.code, folder, place)
        elif block.is_output:
            assert checker.check_output(block.code, printed, FLAGS), f"{place} printed\n{printed}"
        elif block.language == "python" and ">>>" in block.code:
            example = parser.get_doctest(block.code, names, name, name, block.line)
            report = []
            failures = runner.run(example, out=report.append, clear_globs=False).failed
            names.update(example.globs)
            assert not failures, "".join(report)


def run_shell(code, folder, place):
    """Run a block of shell commands and return what it printed, without progress."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{place} ended with {done.returncode}\n{done.stdout}"
    return PROGRESS.sub("", done.stdout)
