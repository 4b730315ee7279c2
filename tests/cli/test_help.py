"""Help pages, their examples, completion, and checks of output paths before the work."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer

from graphsqueak import StreamSparsifier, write_edges
from graphsqueak.cli import app, help_pages, run
from graphsqueak.cli.help_pages import split_help
from graphsqueak.sources import block_model

ROOT = Path(__file__).parents[2]
COMMANDS = typer.main.get_command(app).commands
EXAMPLES = [
    (name, example)
    for name, command in sorted(COMMANDS.items())
    for example in split_help(command.help).examples
]
OPTIONS = [
    (name, option)
    for name, command in sorted(COMMANDS.items())
    for option in command.params
    if option.param_type_name == "option"
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the examples of the help speak of."""
    folder = tmp_path_factory.mktemp("examples")
    graph = block_model(100, 2_000, random_state=7).to_edge_list()
    for name in ("edges.tsv.gz", "edges.tsv", "sparse.tsv", "north.tsv", "south.tsv"):
        write_edges(graph, folder / name)
    (folder / "labels.csv").write_text("node,label\n0,red\n1,blue\n2,green\n3,gray\n")
    rows = "".join(f"{t % 9},{100 + 3.5 * (t % 9)}\n" for t in range(60))
    (folder / "houses.csv").write_text("rooms,price\n" + rows)
    for part in ("cur", "new", "tmp"):
        (folder / "Maildir" / part).mkdir(parents=True)
    texts = {"a": "lunch at noon", "b": "cheap pills", "c": "lunch?", "d": "noon", "e": "pills now"}
    box = ""
    for name, text in (texts | {"f": "cheap lunch", "g": "now or never"}).items():
        mail = f"Subject: {text}\n\n{text}\n"
        (folder / "Maildir" / "new" / name).write_text(mail)
        box += f"From {name}@example.org Thu Jan  1 00:00:00 1970\n{mail}\n"
    (folder / "archive.mbox").write_text(box)
    (folder / "known.csv").write_text("node,label\nnew/a,ham\nnew/b,spam\n")
    np.save(folder / "points.npy", np.random.default_rng(7).normal(size=(40, 3)))
    for name in ("monday.ckpt", "tuesday.ckpt"):
        StreamSparsifier(n_edges=500, random_state=7).partial_fit(graph).save(folder / name)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_help_lists_the_examples(command, capsys):
    examples = split_help(COMMANDS[command].help).examples
    assert len(examples) == 3
    assert run([command, "--help"]) == 0
    printed = capsys.readouterr().out
    assert all(f"\n  {example}\n" in printed for example in examples)


# test_demo.py runs the demo, and test_example.py writes the examples.
@pytest.mark.parametrize(
    ("command", "example"), [one for one in EXAMPLES if one[0] not in ("demo", "example")], ids=str
)
def test_the_examples_of_the_help_work(command, example, folder, monkeypatch):
    program, *arguments = shlex.split(example)
    assert (program, arguments[0]) == ("graphsqueak", command)
    monkeypatch.chdir(folder)
    has_output = "-o" in arguments or "--report" in arguments
    assert run([*arguments, *(["--force"] if has_output else [])]) == 0


def test_the_help_of_sparsify_fits_a_screen(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["sparsify", "--help"]) == 0
    assert len(capsys.readouterr().out.splitlines()) <= 40


@pytest.mark.parametrize("command", COMMANDS)
def test_the_complete_help_has_all_options(command, capsys):
    assert run([command, "--help-all"]) == 0
    complete = capsys.readouterr().out
    assert "More options" not in complete
    assert run([command, "--help"]) == 0
    short = capsys.readouterr().out
    for option in COMMANDS[command].params:
        if option.param_type_name == "option" and not option.is_eager:
            assert option.opts[-1] in short
            assert f"  {', '.join(option.opts)}" in complete


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=lambda one: getattr(one, "name", one))
def test_options_have_a_metavar_a_help_text_and_one_form_of_default(command, option):
    assert option.help[0].isupper()
    assert "default" not in option.help
    if not option.is_flag:
        text = option.display_type_rich(ctx=None) if option.metavar is None else option.metavar
        assert text.isupper() or text.startswith("<") or "|" in text
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    assert names in (ROOT / "docs/cli.md").read_text()


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=lambda one: getattr(one, "name", one))
def test_defaults_have_one_form_and_ranges_are_in_words(command, option):
    context = COMMANDS[command].make_context(command, [], resilient_parsing=True)
    _, text = help_pages._describe(option, context)
    brackets = re.findall(r"  \[(.*)\]$", text)
    has_default = option.default is not None and not option.is_flag and not option.required
    assert has_default <= any("default: " in one for one in brackets)
    forms = r"(default: [^;\[\]]+)?(; )?(at least [\d.]+|[\d.]+ to [\d.]+)?|required"
    assert all(re.fullmatch(forms, one) for one in brackets)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_section_of_a_command_in_the_documentation_has_its_options(command):
    page = (ROOT / "docs/cli.md").read_text()
    section = page.partition(f"\n## {command}\n")[2].partition("\n## ")[0]
    for option in COMMANDS[command].params:
        if option.param_type_name == "option" and not option.is_eager:
            assert f"`{option.opts[-1]}`" in section


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("graphsqueak spar", "sparsify"), ("graphsqueak sparsify --dry", "--dry-run")],
)
def test_the_shell_completes_commands_and_options(typed, offered):
    environment = os.environ | {
        "_GRAPHSQUEAK_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
        "PYTHONPATH": str(ROOT),
    }
    code = "from graphsqueak.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [offered]


@pytest.mark.parametrize(
    "arguments",
    [
        ["sparsify", "edges.tsv", "--keep", "0.5"],
        ["label", "edges.tsv", "labels.csv"],
        ["neighbors", "points.npy", "-k", "3"],
        ["resistance", "edges.tsv"],
        ["learn", "houses.csv", "--target", "price"],
        ["dictionary", "points.npy", "-m", "5"],
        ["merge", "monday.ckpt"],
    ],
)
def test_a_missing_folder_is_told_before_the_work(arguments, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert run([*arguments, "-o", "missing/out.tsv"]) == 2
    assert "the folder missing does not exist; create it first" in capsys.readouterr().err
    assert run([*arguments, "-o", str(folder)]) == 2


def test_no_command_at_all_is_answered_with_help(capsys):
    assert run([]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Usage: graphsqueak")
    assert all(f"\n  {command}" in said for command in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "look"),
    [
        (["fly"], "See graphsqueak --help."),
        (["info"], "See graphsqueak info --help."),
        (["certify", "a.tsv", "b.tsv", "--color"], "See graphsqueak certify --help."),
    ],
)
def test_a_slip_is_answered_with_where_to_look(arguments, look, capsys):
    assert run(arguments) == 2
    assert capsys.readouterr().err.strip().endswith(look)


@pytest.mark.parametrize("given", [[], ["--keep", "0.1", "--n-edges", "9"]])
def test_one_size_is_needed(given, folder, capsys):
    path = str(folder / "edges.tsv")
    assert run(["sparsify", path, "-o", str(folder / "out.tsv"), *given]) == 2
    said = capsys.readouterr().err
    assert "specify exactly one of --keep, --n-edges and --epsilon" in said
    assert "n_edges" not in said


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        ("a b 3 2024\nb c 4 2025\n", "--columns SOURCE,TARGET", ["--columns", "0,1,2"]),
        (
            "source,target,distance\na,b,3\n",
            "--columns source,target ",
            ["--columns", "source,target"],
        ),
        ("a|b\nb|c\n", "--delimiter", ["--delimiter", "|"]),
    ],
)
def test_a_message_names_the_option_that_helps(text, said, remedy, tmp_path, capsys):
    path = tmp_path / "odd.txt"
    path.write_text(text)
    assert run(["info", str(path)]) == 2
    assert said in capsys.readouterr().err
    assert run(["info", str(path), *remedy, "--quiet"]) == 0


def test_columns_of_the_graph_are_not_those_of_the_sparsifier(tmp_path, capsys):
    (tmp_path / "graph.txt").write_text("0 1 2024\n1 2 2025\n2 0 2025\n")
    (tmp_path / "same.txt").write_text("0 1 1\n1 2 1\n2 0 1\n")
    paths = [str(tmp_path / name) for name in ("graph.txt", "same.txt")]
    assert run(["certify", *paths, "--columns", "0,1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon_upper"] < 1e-9
