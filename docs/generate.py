"""Write cli.md and api.md from the code.

python docs/generate.py            # writes both
python docs/generate.py --check    # exit code 1 if one is out of date
"""

import argparse
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

import typer

import graphsqueak
from graphsqueak.cli import app

DOCS = Path(__file__).parent
NOTE = "<!-- written by docs/generate.py; do not edit -->\n"


def main():
    """Write, or compare, both pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    wanted = parser.parse_args()
    stale = []
    for name, text in (("cli.md", commands()), ("api.md", names())):
        path = DOCS / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not wanted.check:
                path.write_text(text)
    if wanted.check and stale:
        sys.exit(f"out of date: {', '.join(stale)}; run python docs/generate.py")


def commands():
    """A section per command: what it does, an example, its arguments and options."""
    parts = [f"{NOTE}# Commands\n\nEvery command exits with 0, or with 2 and one line on standard "]
    parts += ["error where the input needs a look. Completion for your shell: "]
    parts += ["[tour.md](tour.md#completion).\n"]
    for name, command in sorted(typer.main.get_command(app).commands.items()):
        parts.append(f"\n## {name}\n\n{_described(command.help)}\n")
        parts.append("| | meaning | default |\n| --- | --- | --- |\n")
        parts += [_row(parameter) for parameter in command.params if parameter.name != "help"]
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


def _packages():
    """The modules of the package that are public by themselves."""
    return [n for n in graphsqueak.__all__ if inspect.ismodule(getattr(graphsqueak, n))]


def _own_names():
    return [n for n in graphsqueak.__all__ if n not in _packages()]


def _described(help_text):
    """The docstring, its example as a block."""
    text, _, example = inspect.cleandoc(help_text).partition("Example: ")
    return f"{_escaped(text.strip())}\n\n    {' '.join(example.split())}\n"


def _row(parameter):
    options = [*parameter.opts, *parameter.secondary_opts]
    is_option = parameter.opts[0].startswith("-")
    shown = ", ".join(f"`{option}`" for option in options) if is_option else parameter.metavar
    is_silent = any(parameter.default is nothing for nothing in (None, False, ...))
    default = "" if is_silent else f"`{parameter.default}`"
    if parameter.required:
        default = "needed"
    return f"| {shown} | {_escaped(parameter.help or '')} | {default} |\n"


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
