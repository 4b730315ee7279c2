"""README and docs: blocks that run, links that lead somewhere, commands that exist."""

import os
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from graphsqueak.cli import app
from tests.markdown_pages import blocks_of, run_page

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PAGES_WITH_CODE = [
    page
    for page in PAGES
    if any(block.language in ("sh", "python") for block in blocks_of(page.read_text()))
]
COMMANDS = typer.main.get_command(app).commands
PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run_in_the_order_of_the_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(), str(page.relative_to(ROOT)), tmp_path)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```sh\necho 1\n```\n\n```text\n2\n```\n", r"page.md:5 printed\n *1"),
        ("```sh\nfalse\n```\n", "page.md:1 ended with 1"),
        ("```python\n>>> 1\n2\n```\n", r"Expected:\s+2\s+Got:\s+1"),
    ],
)
def test_a_block_that_fails_or_prints_something_else_is_found(page, message, tmp_path):
    with pytest.raises(AssertionError, match=message):
        run_page(page, "page.md", tmp_path)


def test_lines_about_progress_are_not_output(tmp_path):
    lines = ("reading ...", "reading: 25 %, 500 edges, 9 edges/s", "a.tsv/s is not a file")
    printed = "".join(f"echo graphsqueak: {line}\n" for line in lines)
    run_page(f"```sh\n{printed}```\n\n```text\ngraphsqueak: {lines[2]}\n```\n", "page.md", tmp_path)


def test_blocks_share_files_and_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = "```sh\necho 1.234 > a\ncat a\n```\n\n```text\n1.23\n```\n"
    page += "```python\n>>> from pathlib import Path\n>>> text = Path('a').read_text()\n```\n"
    page += "```python\n>>> text.strip()\n'1.23...'\n```\n"
    run_page(page, "page.md", tmp_path)


def test_generated_pages_and_stubs_are_up_to_date():
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@PAGE
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        if "://" in path:
            assert path.startswith("https://")
            continue
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)$", linked.read_text(), re.M)
            assert anchor in {re.sub(r"[^\w-]", "", t.lower().replace(" ", "-")) for t in titles}


@PAGE
def test_files_and_targets_that_are_named_exist(page):
    text = page.read_text()
    named = re.findall(r"\b((?:benchmarks|tests|graphsqueak|docs|notebooks)/[\w/]+\.\w+)", text)
    assert not [name for name in named if not (ROOT / name).exists()]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert set(re.findall(r"(?:`|^    )make ([\w-]+)", text, re.M)) <= set(targets)


@PAGE
def test_commands_and_their_options_exist(page):
    for words in commands_of(page.read_text()):
        name = next((word for word in words if not word.startswith("-")), None)
        if name is None or name.isupper():  # graphsqueak --install-completion; COMMAND
            assert set(words) <= {
                "--help",
                "--version",
                "--install-completion",
                "--show-completion",
            }
            continue
        assert name in COMMANDS, words
        known = {o for p in COMMANDS[name].params for o in (*p.opts, *p.secondary_opts)}
        options = {word for word in words if re.match(r"--?[a-z]", word)}
        assert options <= known | {"--help"}, words


def commands_of(text):
    """The words after `graphsqueak` of every command, in blocks and between backticks."""
    joined = text.replace("\\\n", " ")
    inline = re.findall(r"`(graphsqueak [^`]+)`", joined.replace("\n", " "))
    blocks = "\n".join(
        [
            *re.findall(r"^```\w*\n(.*?)^```$", joined, re.M | re.S),
            *re.findall(r"^    .*$", joined, re.M),
        ]
    )
    in_blocks = re.findall(r"^(?:\s*|.*\| )(graphsqueak [a-z-].*)$", blocks, re.M)
    for command in [*inline, *in_blocks]:
        if not command.startswith("graphsqueak."):
            yield shlex.split(command, comments=True)[1:]


def test_commands_are_found_in_all_their_forms():
    page = "Try `graphsqueak info\nx.tsv`.\n\n    graphsqueak merge a -o b  # c\n"
    page += "```sh\ngzip -c x | graphsqueak info - --json\n```\n"
    found = sorted(commands_of(page))
    assert found == [["info", "-", "--json"], ["info", "x.tsv"], ["merge", "a", "-o", "b"]]


def test_the_page_on_the_core_names_objects_that_exist():
    """Names are those of the stream package, or begin with a package of graphsqueak."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    core = page.partition("## The streaming core on one page")[2].partition("\n## ")[0]
    names = re.findall(r"`((?:[a-z_]+\.)+[A-Za-z_.]+)`", core)
    assert len(names) >= 20
    for name in names:
        package = name.partition(".")[0]
        if package == "graphsqueak":
            full_name = name
        elif package in ("sources", "nodes", "system"):
            full_name = f"graphsqueak.{name}"
        elif package in ("run", "tree"):
            full_name = f"graphsqueak.sparsifiers.{name}"
        else:
            full_name = f"graphsqueak.sparsifiers.stream.{name}"
        assert pkgutil.resolve_name(full_name) is not None


@PAGE
def test_papers_that_are_cited_are_in_the_references(page):
    references = (ROOT / "docs" / "reference" / "references.md").read_text()
    listed = re.findall(r"^\* \[(\w+)\]", references, re.M)
    cited = re.findall(r"\[([A-Z][A-Za-z]*\d\d[a-z]?)[\],]", page.read_text())
    # Docstrings, whose first lines are in api.md, have lists of their own.
    assert page.name == "api.md" or set(cited) <= set(listed)
