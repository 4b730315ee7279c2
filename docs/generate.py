"""Write the files that are generated from the code: docs/cli.md, docs/api.md and the stubs.

python docs/generate.py            # writes the files that are out of date
python docs/generate.py --check    # exit code 1 if a file is out of date

The stubs (`__init__.pyi`) list the public names of each package for type checkers, which cannot
follow names that are imported when they are first used.
"""

import argparse
import inspect
import re
import sys
import tomllib
from collections import Counter
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import typer

import graphsqueak
from graphsqueak._lazy import tables_of_contents
from graphsqueak.cli import app
from graphsqueak.cli.help_pages import COMMON_PANELS, OTHER_PANELS, panel_of, split_help

ROOT = Path(__file__).parent.parent
TASKS = Path(__file__).parent / "api_tasks.toml"
NOTE = "<!-- written by docs/generate.py; do not edit -->\n"

# Options with the same description in this many commands are described once, at the end of the
# page. Five commands read edge files, and share the options for it.
MIN_COMMANDS_OF_SHARED_OPTION = 5

COMMANDS_INTRODUCTION = """# Commands

All commands of `graphsqueak`, with examples and options. `--help` prints the common options of a
command, and `--help-all` prints all options.

Data goes to standard output and messages go to standard error. The exit code is 0 after success,
2 after an error, 130 after Ctrl-C and 143 after `kill`. An error is one line that names the
problem, its place and the fix ([troubleshooting](reference/troubleshooting.md)).

`graphsqueak --install-completion` sets up completion in bash, zsh, fish and PowerShell.
`graphsqueak --version` prints the version.

"""

SHARED_INTRODUCTION = """
## Shared options

Options that several commands have.
"""

API_INTRODUCTION = """# API by task

The public names of the package, grouped by what they are used for. Import the package with
`import graphsqueak as gs`. `help(gs.certify)` prints the parameters and examples of a name.
"""

# Constants have no docstring.
CONSTANTS = {"datasets.EXAMPLES": "Data sets that `write_example` can write, by name."}


def main():
    """Write the generated files, or compare them with what is on disk."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    options = parser.parse_args()

    files = {
        "docs/cli.md": NOTE + commands_page(),
        "docs/api.md": NOTE + api_page(),
        **stubs(),
    }
    # Stubs of packages that no longer import names lazily are deleted.
    for path in ROOT.glob("graphsqueak/**/__init__.pyi"):
        files.setdefault(path.relative_to(ROOT).as_posix(), None)

    stale = {name: text for name, text in files.items() if _read(ROOT / name) != text}
    if options.check and stale:
        sys.exit(f"out of date: {', '.join(stale)}; run python docs/generate.py")
    for name, text in stale.items():
        if text is None:
            (ROOT / name).unlink()
        else:
            (ROOT / name).write_text(text)


def _read(path):
    return path.read_text() if path.exists() else None


# Commands


def commands_page():
    """Return the page of commands: a section per command, then the options that they share."""
    commands = dict(sorted(typer.main.get_command(app).commands.items()))
    rows = {name: option_rows(command) for name, command in commands.items()}
    count = Counter(row for of_command in rows.values() for row in of_command)
    is_shared = {row: n >= MIN_COMMANDS_OF_SHARED_OPTION for row, n in count.items()}

    page = [COMMANDS_INTRODUCTION, "| command | purpose |\n| --- | --- |\n"]
    for name, command in commands.items():
        summary = split_help(command.help).summary
        page.append(f"| [{name}](#{name}) | {_markdown(summary)} |\n")
    for name, command in commands.items():
        page += command_section(name, command, rows[name], is_shared)
    page.append(SHARED_INTRODUCTION)
    page += options_tables([row for row in count if is_shared[row]], heading="### {}")
    return "".join(page)


def command_section(name, command, rows, is_shared):
    """Return the description of a command, its examples, its arguments and its options."""
    text = split_help(command.help)
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    usage = " ".join(["graphsqueak", name, *(one.metavar for one in arguments), "[OPTIONS]"])
    section = [f"\n## {name}\n\n{_markdown(text.summary)}\n"]
    section.append("\n```text\n" + usage + "\n```\n")
    if text.details:
        section.append(f"\n{_markdown(text.details)}\n")
    section.append("\nExamples:\n\n```bash\n" + "\n".join(text.examples) + "\n```\n")

    if arguments:
        section.append("\n| argument | meaning |\n| --- | --- |\n")
        section += [f"| {one.metavar} | {_markdown(one.help)} |\n" for one in arguments]
    section += options_tables([row for row in rows if not is_shared[row]], heading="**{}**")

    shared = [row for row in rows if is_shared[row]]
    section.append("\nShared options:\n\n")
    for panel in _panels_of(shared):
        names = ", ".join(row_names for row_panel, row_names, *_ in shared if row_panel == panel)
        section.append(f"* [{panel}](#{panel.lower()}): {names}\n")
    return section


def options_tables(rows, heading):
    """Return a table of options for each panel, below a heading."""
    tables = []
    for panel in _panels_of(rows):
        tables.append(f"\n{heading.format(panel)}\n\n")
        tables.append("| option | meaning | default |\n| --- | --- | --- |\n")
        for row_panel, names, value, meaning, default in rows:
            if row_panel == panel:
                tables.append(f"| {f'{names} {value}'.strip()} | {meaning} | {default} |\n")
    return tables


def option_rows(command):
    """Return panel, names, value, meaning and default of each option of a command."""
    context = typer.Context(command)
    rows = []
    for option in command.params:
        # The introduction of the page describes --help-all.
        if option.param_type_name == "argument" or option.is_eager:
            continue
        names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
        value = (
            "" if option.is_flag else _markdown(option.display_type_rich(ctx=context).strip("<>"))
        )
        meaning = _markdown(option.help)
        rows.append((panel_of(option), names, value, meaning, default_of(option)))
    return rows


def default_of(option):
    """Return the default of an option as it is written in the table."""
    if option.required:
        return "required"
    if isinstance(option.show_default, str):
        return _markdown(option.show_default)
    if option.default is None or option.default is False:
        return ""
    return f"`{option.default}`"


def _panels_of(rows):
    """Return the panels of the rows in the order of --help-all."""
    used = {panel for panel, *_ in rows}
    return [panel for panel in (*COMMON_PANELS, *OTHER_PANELS) if panel in used]


# Public names


def api_page(link=None):
    """Return the page of public names, grouped by task.

    Parameters
    ----------
    link : callable, optional
        Returns the address of the page of a name, which is given as "sparsify" or
        "kernel.SQUEAK". Without it, names are not links.
    """
    tasks = tomllib.loads(TASKS.read_text())["task"]
    listed = Counter(name for task in tasks for name in task["names"])
    public = public_names()
    if listed.keys() != public or max(listed.values()) > 1:
        missing = sorted(public - listed.keys())
        unknown = sorted(listed.keys() - public)
        repeated = sorted(name for name, n in listed.items() if n > 1)
        sys.exit(f"{TASKS.name}: missing {missing}, not public {unknown}, repeated {repeated}")

    page = [API_INTRODUCTION]
    for task in tasks:
        page.append(f"\n## {task['title']}\n\n{task['about']}\n\n")
        page.append("| name | description |\n| --- | --- |\n")
        for name in task["names"]:
            shown = f"`gs.{name}`"
            if link is not None:
                shown = f"[{shown}]({link(name)})"
            page.append(f"| {shown} | {describe(name)} |\n")
    return "".join(page)


def public_names():
    """Return all public names, such as "sparsify" and "kernel.SQUEAK".

    A name that the package exports as well as one of its modules is listed once, without the
    module.
    """
    names = {name for name in graphsqueak.__all__ if not _is_module(name)}
    exported = [getattr(graphsqueak, name) for name in names]
    for module in filter(_is_module, graphsqueak.__all__):
        package = import_module(f"graphsqueak.{module}")
        for name in package.__all__:
            value = getattr(package, name)
            if not any(value is other for other in exported):
                names.add(f"{module}.{name}")
    return names


def describe(name):
    """Return the first paragraph of the docstring of a public name."""
    if name in CONSTANTS:
        return CONSTANTS[name]
    docstring = inspect.getdoc(attrgetter(name)(graphsqueak))
    summary = docstring.partition("\n\n")[0]
    return _markdown(" ".join(summary.split()))


def _is_module(name):
    return inspect.ismodule(getattr(graphsqueak, name))


# Stubs


def stubs():
    """Return `__init__.pyi` of every package that imports its names when they are first used."""
    tables = tables_of_contents("graphsqueak")
    return {f"{name.replace('.', '/')}/__init__.pyi": stub(name, tables[name]) for name in tables}


def stub(package, table):
    """Return the table of contents of a package as imports, for type checkers."""
    homes = sorted((home, name) for name, home in table.items() if home)
    modules = sorted(name for name, home in table.items() if not home)

    lines = ["# written by docs/generate.py; do not edit"]
    lines += [f"from {package}.{home} import {name} as {name}" for home, name in homes]
    if modules:
        lines += ["", *(f"from . import {name} as {name}" for name in modules)]
    if hasattr(import_module(package), "__version__"):
        lines += ["", "__version__: str"]
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in sorted(table)), "]", ""]
    return "\n".join(lines)


def _markdown(text):
    """Write options as code, and escape characters that tables of Markdown would interpret."""
    text = re.sub(r"(?<![\w-])(--[a-z][\w-]*)", r"`\1`", text)
    return re.sub(r"([|<*])", r"\\\1", text)


if __name__ == "__main__":
    main()
