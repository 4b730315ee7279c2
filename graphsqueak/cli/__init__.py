"""The command line: read arguments, call the library, print. No mathematics here.

A mistake of the user's is one line on standard error, in the words of the command line
(columns=(0, 1) is --columns 0,1), and exit code 2.
"""

import re
import shlex
import sys
from typing import Annotated

import typer
from typer.exceptions import Abort, Exit, TyperException

from graphsqueak import __version__
from graphsqueak.cli.certify import certify
from graphsqueak.cli.demo import demo
from graphsqueak.cli.dictionary import dictionary
from graphsqueak.cli.info import info
from graphsqueak.cli.label import label
from graphsqueak.cli.learn import learn
from graphsqueak.cli.merge import merge
from graphsqueak.cli.neighbors import neighbors
from graphsqueak.cli.resistance import resistance
from graphsqueak.cli.spam import spam
from graphsqueak.cli.sparsify import sparsify
from graphsqueak.errors import InputError
from graphsqueak.system.atomic import Stopped, stoppable

__all__ = ["app", "in_options", "run"]

_EXACT = {
    "weighted=False": "--no-weights",
    "certify=True": "--certify",
    "resume=True": "--resume",
    "random_state": "--seed",
    "memory_limit": "--memory",
    "weighted=True": "--weights",
    "n_edges=": "--edges ",
    "n_components=": "--atoms ",
    "n_neighbors=": "--neighbors ",
    "half_life=": "--half-life ",
    "window=...": "--window",
    "time=...": "--time COLUMN",
}
_SAME_NAME = (
    "columns|delimiter|layout|epsilon|keep|method|ids|delta|steps|rtol|ridge|eta|metric|weight"
)
_SAME_NAME += "|checkpoint|symmetrize|sigma|tree|workers|scheduler|classes|task|discount"
_SAME_NAME += "|time|slack|window|buckets"

app = typer.Typer(
    name="graphsqueak",
    help="Graphs too large to keep: read, measure, sparsify and label edge files of any size.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in (
    certify,
    demo,
    dictionary,
    info,
    label,
    learn,
    merge,
    neighbors,
    resistance,
    spam,
    sparsify,
):
    app.command()(command)


def _print_version(wanted: bool):
    if wanted:
        print(__version__)  # noqa: T201
        raise Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="And stop.")
    ] = False,
):
    pass


def run(arguments=None):
    """Run one command and return its exit code; no command at all asks for help."""
    arguments = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        with stoppable():
            return app(arguments, prog_name="graphsqueak", standalone_mode=False) or 0
    except Exit as stop:
        return stop.exit_code
    except TyperException as mistake:
        return _complain(mistake.format_message() + _where_to_look(mistake), 2)
    except InputError as mistake:
        return _complain(in_options(str(mistake)), 2)
    except OSError as failure:
        return _complain(f"{failure.filename or 'input or output'}: {failure.strerror}", 2)
    except Stopped as stop:
        return _complain(_how_to_go_on(stop, arguments), 128 + stop.number)
    except (Abort, KeyboardInterrupt):
        return _complain("interrupted", 130)


def in_options(message):
    """The message, with names of arguments as options.

    >>> in_options("4 columns; choose them, e.g. columns=(0, 1), or give weighted=False")
    '4 columns; choose them, e.g. --columns 0,1, or give --no-weights'
    >>> in_options("keep=5.0 is a share of the edges, at most 1")
    '--keep 5.0 is a share of the edges, at most 1'
    >>> in_options("give header=True (--header) or ids='text' (--ids text)")
    'give --header or --ids text'
    >>> in_options("name it (delimiter=)")
    'name it (--delimiter)'
    """
    message = re.sub(r"\b\w+='?\w+'? \((--[^)]+)\)", r"\1", message)  # where both are named
    for name, option in _EXACT.items():
        message = message.replace(name, option)
    message = re.sub(
        r"\bcolumns=\(([^)]*)\)", lambda found: "--columns " + found[1].replace(" ", ""), message
    )
    message = re.sub(rf"(?<![\w-])({_SAME_NAME})=(?=[)\s;]|$)", r"--\1", message)
    return re.sub(rf"(?<![\w-])({_SAME_NAME})=", r"--\1 ", message)


def _where_to_look(mistake):
    """The help of the command that was meant, as far as it is known."""
    context = getattr(mistake, "ctx", None)
    return f" See {context.command_path} --help." if context else ""


def _how_to_go_on(stop, arguments):
    if stop.checkpoint is None:
        return "stopped; nothing was written"
    words = list(arguments)
    words += [] if "--resume" in words else ["--resume"]
    again = shlex.join(["graphsqueak", *words])
    return f"stopped and saved in {stop.checkpoint}; go on with: {again}"


def _complain(message, code):
    print("graphsqueak: " + " ".join(message.split()), file=sys.stderr)  # noqa: T201
    return code
