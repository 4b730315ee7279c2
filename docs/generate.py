"""Write from the code: cli.md, api.md, and the stubs by which type checkers see lazy names.

python docs/generate.py            # writes what is out of date
python docs/generate.py --check    # exit code 1 if something is
"""

import argparse
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

import typer

import graphsqueak
from graphsqueak._lazy import tables_of_contents
from graphsqueak.cli import app
from graphsqueak.cli.help_pages import panel_of, split_help

ROOT = Path(__file__).parent.parent
NOTE = "<!-- written by docs/generate.py; do not edit -->\n"


def main():
    """Write, or compare, both pages and every stub."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    files = {"docs/cli.md": commands(), "docs/api.md": names(), **stubs()}
    for path in ROOT.glob("graphsqueak/**/__init__.pyi"):
        files.setdefault(path.relative_to(ROOT).as_posix(), None)  # of a table that is gone
    stale = {name: text for name, text in files.items() if _content(ROOT / name) != text}
    if options.check and stale:
        sys.exit(f"out of date: {', '.join(stale)}; run python docs/generate.py")
    for name, text in stale.items():
        if text is None:
            (ROOT / name).unlink()
        else:
            (ROOT / name).write_text(text)


def commands():
    """Return a section per command: what it does, examples, its arguments and options."""
    parts = [f"{NOTE}# Commands\n\nEvery command exits with 0, or with 2 and one line on standard "]
    parts += ["error where the input needs a look. Completion for your shell: "]
    parts += ["[start/tour.md](start/tour.md#completion).\n"]
    for name, command in sorted(typer.main.get_command(app).commands.items()):
        parts.append(f"\n## {name}\n\n{_describe(command.help)}\n")
        parts.append("| | | meaning | default |\n| --- | --- | --- | --- |\n")
        parts += [_row(parameter) for parameter in command.params]
    return "".join(parts)


def names():
    """Tables of all public names: those of the package itself, then those of its modules."""
    parts = [
        f"{NOTE}# Public names\n\n`import graphsqueak as gs`; each name is imported when first "
    ]
    parts += ["used. `help(gs.certify)` tells the rest.\n"]
    parts += ["\n## graphsqueak\n\n", _table(graphsqueak, _own_names())]
    for name in _packages():
        module = import_module(f"graphsqueak.{name}")
        parts += [f"\n## graphsqueak.{name}\n\n", _table(module, module.__all__)]
    return "".join(parts)


def stubs():
    """`__init__.pyi` of every package that imports its names when they are first used."""
    tables = tables_of_contents("graphsqueak")
    return {f"{name.replace('.', '/')}/__init__.pyi": stub(name, tables[name]) for name in tables}


def stub(package, table):
    """Its table of contents as plain imports, which is what type checkers understand."""
    lines = ["# written by docs/generate.py; do not edit"]
    homes = sorted((home, name) for name, home in table.items() if home)
    lines += [f"from {package}.{home} import {name} as {name}" for home, name in homes]
    modules = sorted(name for name, home in table.items() if not home)
    lines += ["", *(f"from . import {name} as {name}" for name in modules)] if modules else []
    if hasattr(import_module(package), "__version__"):
        lines += ["", "__version__: str"]
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in sorted(table)), "]", ""]
    return "\n".join(lines)


def _content(path):
    return path.read_text() if path.exists() else None


def _packages():
    """The modules of the package that are public by themselves."""
    return [n for n in graphsqueak.__all__ if inspect.ismodule(getattr(graphsqueak, n))]


def _own_names():
    return [n for n in graphsqueak.__all__ if n not in _packages()]


def _describe(help_text):
    """Return the help of a command, with its examples as a block."""
    text = split_help(help_text)
    examples = "\n".join(f"    {example}" for example in text.examples)
    return f"{_escaped(text.summary)}\n\n{_escaped(text.details)}\n\n{examples}\n"


def _row(parameter):
    options = [*parameter.opts, *parameter.secondary_opts]
    is_option = parameter.opts[0].startswith("-")
    names = ", ".join(f"`{option}`" for option in options) if is_option else parameter.metavar
    has_default = not any(parameter.default is value for value in (None, False, ...))
    default = f"`{parameter.default}`" if has_default else ""
    if isinstance(parameter.show_default, str):
        default = _escaped(parameter.show_default)
    if parameter.required:
        default = "required"
    panel = panel_of(parameter) if is_option else ""
    return f"| {names} | {panel} | {_escaped(parameter.help)} | {default} |\n"


def _table(module, public):
    rows = ["| name | what it is |\n| --- | --- |\n"]
    for name in sorted(public, key=str.lower):
        thing = getattr(module, name)
        said = inspect.getdoc(thing)
        first = " ".join(said.partition("\n\n")[0].split())
        rows.append(f"| `{name}` | {_escaped(first)} |\n")
    return "".join(rows)


def _escaped(text):
    return re.sub(r"([|<*])", r"\\\1", text)


if __name__ == "__main__":
    main()
